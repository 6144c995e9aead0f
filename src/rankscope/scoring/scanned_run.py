"""A run in a TREC file that was scanned for some judgments, and not read.

What scoring needs is known from one pass over the file's bytes, in little memory whatever its size;
rows are read only if something else asks for them (`LazyFile`). Blocks of the file are scanned in
threads; those of a compressed file as they are decompressed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankscope.runs.lazy_run import LazyFile
from rankscope.runs.naming import name_in_file
from rankscope.scoring.scan_native import NativePairs, scan_file
from rankscope.tables.columns import RUN
from rankscope.tables.trec_file import TrecFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankscope.files import PathLike
    from rankscope.measures.judged import IntArray
    from rankscope.runs.order import Precision
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.scans import Scan


class ScannedRun(LazyFile):
    """Stands for the run in a file, of which a scan is known."""

    is_list: bool
    """Whether the order of rows is meant: false for a file whose ranks go by score."""

    def __init__(self, file: TrecFile, scan: Scan, judgments: Judgments) -> None:
        super().__init__(file, name_in_file(file.path, file.first_tag))
        self._scan = scan
        self._scans = {(id(judgments), "double"): (judgments, scan)}

    @classmethod
    def of(cls, path: PathLike, judgments: Judgments) -> ScannedRun | None:
        """Scan a file; None if it is not plainly right, or is to be read otherwise."""
        if judgments.gold is not None or judgments.ontology is not None:
            return None
        file = TrecFile.recognised(path, RUN)
        if file is None:
            return None
        pairs = NativePairs(judgments.packed)
        scanned = scan_file(file, pairs)
        if scanned is None or not scanned.query_ids:
            return None  # of an empty file the reader says where it is
        run = cls(file, scanned, judgments)
        run.is_list = True
        if 2 * np.count_nonzero(scanned.rises) > np.count_nonzero(scanned.sizes > 1):
            by_rank = scan_file(file, pairs, ranks=True)
            if by_rank is None:
                return None
            run.is_list = not by_rank.ranks_go_by_score
        return run

    def scan_for(self, judgments: Judgments, precision: Precision) -> Scan | None:
        """Return the scan for some judgments; None if the file cannot be scanned any more."""
        key = (id(judgments), precision)  # the judgments are kept too, so their id stays theirs
        if key not in self._scans:
            scanned = scan_file(self._file, NativePairs(judgments.packed), precision)
            if scanned is None:
                return None
            self._scans[key] = judgments, scanned
        return self._scans[key][1]

    @property
    def query_ids(self) -> list[str]:
        """The queries, in the order of the file."""
        return list(self._scan.query_ids)

    @property
    def sizes(self) -> IntArray:
        """How many documents each query has."""
        return self._scan.sizes

    def __len__(self) -> int:
        return int(self._scan.sizes.sum())

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._scan.query_ids

    def documents(self) -> Iterator[str]:
        """Yield the documents of all rows."""
        with self._file.opened() as stream:
            for line in stream:
                fields = line.split(None, 3)
                if fields and not fields[0].startswith(b"#"):
                    yield fields[2].decode()
