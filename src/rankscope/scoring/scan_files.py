"""Scan a whole file with the native library, in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.scoring.scan_native import NativeScan, scan_block
from rankscope.scoring.scans import in_order, merge
from rankscope.tables.gathering import map_gathered
from rankscope.tables.native import QueryComesBackError
from rankscope.tables.native_blocks import map_blocks

if TYPE_CHECKING:
    from rankscope.runs.order import Precision
    from rankscope.scoring.scan_native import NativePairs
    from rankscope.tables.trec_file import TrecFile


def scan_file(
    file: TrecFile, pairs: NativePairs, precision: Precision = "double", *, ranks: bool = False
) -> NativeScan | None:
    """Scan a file, also one in which queries take turns.

    None if the library refuses it or it changed meanwhile.
    """

    def scan(data: Any, size: int) -> NativeScan | None:
        return scan_block(data, size, pairs, precision, ranks=ranks)

    try:
        parts = map_blocks(file, scan)
        whole = merge([part.scan for part in parts]) if parts else None
        if whole is not None and whole.is_interleaved:  # they come back in other blocks
            raise QueryComesBackError
    except QueryComesBackError:
        parts = map_gathered(file, scan)
        whole = None
        if parts:
            step = len(parts)
            numbers = [np.arange(len(part.scan.query_ids)) * step for part in parts]
            place = np.concatenate([first + number for first, number in enumerate(numbers)])
            whole = in_order(merge([part.scan for part in parts]), place)
    if whole is None or not parts:
        return None
    return NativeScan(whole, all(part.ranks_go_by_score for part in parts))
