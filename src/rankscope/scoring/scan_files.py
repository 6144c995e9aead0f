"""Scan a whole file with the native library, in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankscope.scoring.scan_native import NativeScan, scan_block
from rankscope.scoring.scans import merge
from rankscope.tables.native_blocks import map_blocks

if TYPE_CHECKING:
    from rankscope.runs.order import Precision
    from rankscope.scoring.scan_native import NativePairs
    from rankscope.tables.trec_file import TrecFile


def scan_file(
    file: TrecFile, pairs: NativePairs, precision: Precision = "double", *, ranks: bool = False
) -> NativeScan | None:
    """Scan a file; None if the library refuses it or it changed meanwhile."""

    def scan(data: Any, size: int) -> NativeScan | None:
        block = scan_block(data, size, pairs, precision, ranks=ranks)
        # rows of many queries in turn: each would be a stretch, and there may be any number
        return None if block is None or block.scan.is_interleaved else block

    parts = map_blocks(file, scan)
    if not parts:
        return None
    whole = merge([part.scan for part in parts])
    return NativeScan(whole, all(part.ranks_go_by_score for part in parts))
