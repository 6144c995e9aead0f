"""Runs in TREC files that the native library scans for some judgments, and that are not read.

What scoring needs is known from one pass over the file's bytes, in little memory whatever its size;
rows are read only if something else asks for them (`LazyFile`). A block of whole lines is scanned
without the interpreter's lock, so that threads scan several at once; those of a compressed file as
they are decompressed. What the library refuses gives None, and is then read in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.runs.run_files import LazyFile, name_in_file
from rankscope.scoring.scans import BY_HIT, Scan, merge
from rankscope.tables.columns import RUN
from rankscope.tables.native import address_of, library, taken
from rankscope.tables.native_files import TrecFile, map_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankscope.files import PathLike
    from rankscope.measures.judged import IntArray
    from rankscope.runs.order import Precision
    from rankscope.scoring.judged_pairs import NativePairs
    from rankscope.scoring.judgments import Judgments
    from rankscope.tables.native import Result

RISES, FALLS, RANKS_GO_BY_SCORE = 1, 2, 4
_HIT = np.dtype([(name, np.int32) for name in BY_HIT])


def scan_block(
    data: Any,
    size: int,
    pairs: NativePairs,
    precision: Precision = "double",
    *,
    ranks: bool = False,
) -> Scan | None:
    """Scan a block of whole lines: bytes, or an array of NumPy, of which ``size`` bytes count.

    ``ranks`` asks whether the ranks in the file go by score.
    """
    made = library().rs_scan(pairs.handle, address_of(data), size, precision == "single", ranks)
    return next(map(_scan_of, taken(made)), None)


def _scan_of(result: Result) -> Scan:
    stretches = result.stretches
    flags = result.array("flags", np.uint8, stretches)
    hits = result.array("hit_rows", _HIT, result.hits)
    return Scan(
        query_ids=tuple(result.query_ids()),
        sizes=result.array("sizes", np.int64, stretches),
        first_score=result.array("first_score", np.float64, stretches),
        last_score=result.array("last_score", np.float64, stretches),
        rises=(flags & RISES) != 0,
        falls=(flags & FALLS) != 0,
        **{name: hits[name] for name in BY_HIT},
        tied_across=result.array("tied_across", np.int64, result.deepest),
        ranks_go_by_score=bool((flags & RANKS_GO_BY_SCORE).all()),
    )


def scan_file(
    file: TrecFile, pairs: NativePairs, precision: Precision = "double", *, ranks: bool = False
) -> Scan | None:
    """Scan a file; None if the library refuses it, queries take turns, or it changed meanwhile."""

    def scan(data: Any, size: int) -> Scan | None:
        return scan_block(data, size, pairs, precision, ranks=ranks)

    parts = map_blocks(file, scan)
    names = [query_id for part in parts or () for query_id in part.query_ids]
    if not parts or len(set(names)) < len(names):
        return None
    return merge(parts)


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
        with TrecFile.recognised(path, RUN) as file:
            if file is None:
                return None
            pairs = judgments.native_pairs
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
            scanned = scan_file(self._file, judgments.native_pairs, precision)
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
