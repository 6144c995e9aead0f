"""Scans: what one pass over part of a run tells, how parts add up, and the hits of the whole.

A *part* is any stretch of a run's rows: a block of a file, a range of its bytes, row groups of a
Parquet file. A scan of it is small: by query the number of rows and how scores go, and for each
judged document how many rows are ahead of it. `merge` puts the scans of parts together. As long as
no query is in two parts, or twice in one, ranks are known then. The rows of queries that are in two
parts are brought together first, and scanned after (`rankscope.scale.partials`).

TREC files are not read for this (`ScannedRun`): the native library passes over their bytes, in
little memory whatever their size, and rows are read only if something else asks for them. A block
of whole lines is scanned without the interpreter's lock, so that threads scan several at once;
those of a compressed file as they are decompressed. What the library refuses gives None, and is
then read in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankscope.errors import InputError
from rankscope.files import source_name
from rankscope.runs.run_files import LazyRun, name_in_file
from rankscope.tables.columns import RUN
from rankscope.tables.native import address_of, library, taken
from rankscope.tables.native_files import map_blocks, opened_for_library

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rankscope.files import PathLike
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.runs.order import Precision, Ties
    from rankscope.runs.table import Run
    from rankscope.scoring.judged_pairs import NativePairs
    from rankscope.scoring.judgments import Judgments
    from rankscope.tables.detection import OpenedFile
    from rankscope.tables.native import Result


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """What one pass over part of a run tells.

    Rows of one query with no other query's row between them are a *stretch*; a query that goes on
    in another part has several. Scores are compared in the precision that the scan was asked for.
    A *hit* is a row whose pair is judged.
    """

    query_ids: tuple[str, ...]
    """By stretch: the query."""
    sizes: IntArray
    """By stretch: how many rows it has."""
    first_score: FloatArray
    last_score: FloatArray
    rises: BoolArray
    """By stretch: whether a score is higher than the one before."""
    falls: BoolArray
    """By stretch: whether a score is lower than the one before."""
    pair: IntArray
    """By hit: the number of its pair in the judgments."""
    above: IntArray
    """By hit: how many rows of the stretch have a higher score."""
    tied: IntArray
    """By hit: how many have the same score, itself included."""
    ahead_by_id: IntArray
    """By hit: how many with the same score have a higher id, by bytes."""
    ahead_as_given: IntArray
    """By hit: how many with the same score are listed before it."""
    tied_across: IntArray
    """At place k: in how many stretches of judged queries the documents at ranks k and k + 1 have
    the same score; place 0 is not used. As long as the deepest such tie needs."""
    ranks_go_by_score: bool = False
    """Whether the ranks that a file gives are in the order of the scores, if that was asked."""


BY_STRETCH = ("sizes", "first_score", "last_score", "rises", "falls")
BY_HIT = ("pair", "above", "tied", "ahead_by_id", "ahead_as_given")


def merge(parts: Sequence[Scan]) -> Scan:
    """Put the scans of parts together that follow each other."""
    if len(parts) == 1:
        return parts[0]
    return Scan(
        query_ids=tuple(query_id for part in parts for query_id in part.query_ids),
        **{
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in (*BY_STRETCH, *BY_HIT)
        },
        tied_across=summed([part.tied_across for part in parts]),
        ranks_go_by_score=all(part.ranks_go_by_score for part in parts),
    )


def summed(counts: Iterable[IntArray]) -> IntArray:
    """Add up counts by place, of which some are longer than others."""
    listed = list(counts)
    total = np.zeros(max(map(len, listed), default=0), np.int64)
    for part in listed:
        total[: len(part)] += part
    return total


class Hits(NamedTuple):
    """Judged retrieved documents by query and rank, and how many documents each query has.

    Queries are numbered as in the judgments, those a run lacks included.
    """

    query: IntArray
    pair: IntArray
    """By hit: the number of its pair in the judgments, which know its document."""
    rank: IntArray
    grade: FloatArray
    tie_first: IntArray
    """By hit: the rank of the first document that has its score."""
    tie_size: IntArray
    """By hit: how many documents of its query have its score, itself included."""
    retrieved: IntArray
    """By query: how many documents it has."""
    tied_at: dict[int, int]
    """By cutoff: how many queries have a tie across it."""
    rises: BoolArray
    """By query: whether a score is higher than the one before it, as given."""
    falls: BoolArray
    """By query: whether a score is lower than the one before it."""

    @classmethod
    def untied(cls, rows: FloatArray, retrieved: IntArray, cutoffs: tuple[int, ...]) -> Hits:
        """Take rows of query, rank and grade that are of no pair, and of answers without ties."""
        query, rank = rows[:, :2].T.astype(np.int64)
        no, none = np.zeros(len(retrieved), np.bool_), np.empty(0, np.int64)
        alone, tied_at = np.ones_like(rank), dict.fromkeys(cutoffs, 0)
        return cls(query, none, rank, rows[:, 2], rank, alone, retrieved, tied_at, no, no)

    @classmethod
    def in_scan(
        cls, judgments: Judgments, scan: Scan, ties: Ties, cutoffs: tuple[int, ...]
    ) -> Hits:
        """Take what a scan found; each query has one stretch."""
        position = {query_id: place for place, query_id in enumerate(scan.query_ids)}
        ids = judgments.query_ids
        stretch = np.fromiter((position.get(query_id, -1) for query_id in ids), np.int64, len(ids))
        pair, above, tied = scan.pair, scan.above.astype(np.int64), scan.tied.astype(np.int64)
        ahead = scan.ahead_as_given if ties == "given" else scan.ahead_by_id
        if ties == "id-asc":
            ahead = tied - 1 - ahead
        query, rank = judgments.query[pair], above + ahead + 1
        place = (query << 32) + rank  # no two are equal
        if (place[1:] < place[:-1]).any():  # a scan has its hits by rank, in the order of the file
            best = np.argsort(place, kind="stable")
            pair, above, tied, query, rank = (
                column[best] for column in (pair, above, tied, query, rank)
            )
        across = scan.tied_across
        return cls(
            query=query,
            pair=pair,
            rank=rank,
            grade=judgments.grade[pair],
            tie_first=above + 1,
            tie_size=tied,
            retrieved=np.append(scan.sizes, 0)[stretch],
            tied_at={k: int(across[k]) if k < len(across) else 0 for k in cutoffs},
            rises=np.append(scan.rises, False)[stretch],
            falls=np.append(scan.falls, False)[stretch],
        )


# --- files that are not read ---------------------------------------------------------------------

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
    file: OpenedFile, pairs: NativePairs, precision: Precision = "double", *, ranks: bool = False
) -> Scan | None:
    """Scan a file; None if the library refuses it, queries take turns, or it changed meanwhile."""

    def scan(data: Any, size: int) -> Scan | None:
        return scan_block(data, size, pairs, precision, ranks=ranks)

    parts = map_blocks(file, scan)
    names = [query_id for part in parts or () for query_id in part.query_ids]
    if not parts or len(set(names)) < len(names):
        return None
    return merge(parts)


class ScannedRun(LazyRun):
    """Stands for the run in a file, of which a scan is known."""

    is_list: bool
    """Whether the order of rows is meant: false for a file whose ranks go by score."""

    def __init__(self, file: OpenedFile, scan: Scan, judgments: Judgments) -> None:
        super().__init__(name_in_file(file.path, file.first_tag))
        self._file, self._scan = file, scan
        self._scans = {(id(judgments), "double"): (judgments, scan)}

    @classmethod
    def of(cls, path: PathLike, judgments: Judgments) -> ScannedRun | None:
        """Scan a file; None if it is not plainly right, or is to be read otherwise."""
        if judgments.gold is not None or judgments.ontology is not None:
            return None
        with opened_for_library(path, RUN) as file:
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

    @property
    def depth(self) -> int:
        """How many documents the longest list has."""
        return int(self._scan.sizes.max())

    def _load(self) -> Run:
        from rankscope.runs.table import read_run  # noqa: PLC0415

        if self._file.has_changed:
            name = source_name(self._file.path)
            raise InputError(f"{name}: was changed while it was read; try again")
        return read_run(self._file.path, name=self.name)

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
