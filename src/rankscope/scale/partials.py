"""Partials: what is known of a run after some of its parts, and how such things add up.

`partial` looks at one part, anywhere; `merged` puts together what is known of stretches that follow
each other. Queries that were in one part only are settled. The others are *open*: `settled` brings
their rows together in temporary files. A bucket holds all rows of some queries, about a million
rows; it is then a run of its own, in which no query is open. What is in memory at a time is one
bucket, so only a single query with very many rows needs more.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.errors import InputError, RankscopeError
from rankscope.runs import order
from rankscope.runs.table import Run
from rankscope.scoring.judged_pairs import FilePairs, PackedPairs
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.scan_tables import scan_of, ties_by_place
from rankscope.scoring.scans import BY_HIT, Scan, scan_block, summed
from rankscope.tables.detection import BOM
from rankscope.tables.native import library
from rankscope.tables.pairs import repeated_rows
from rankscope.temporary import room_needed, temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from rankscope.measures.judged import IntArray
    from rankscope.runs.order import Precision
    from rankscope.scale.run_cuts import Part

BUCKET_ROWS = 1 << 20
"""About so many rows are in a bucket."""


class PartError(InputError):
    """A part that cannot be scanned; the ordinary reader says what is wrong with the file."""


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """What is known of a run after some of its parts."""

    queries: pl.DataFrame
    """By query, in order of first appearance: query_id; size, the number of its rows; first and
    last, the scores of its first and last row; rises and falls, whether a score is higher or lower
    than the one before; parts, in how many parts the query is."""
    hits: pl.DataFrame
    """By judged document retrieved: pair, above, tied, ahead_by_id, ahead_as_given, as in
    `rankscope.scoring.scans.Scan`; of open queries what holds in one of their parts."""
    tied_across: IntArray
    """As in `Scan`, over the stretches of all parts."""


def partial(part: Part, pairs: PackedPairs, precision: Precision = "double") -> Partial:
    """Look at one part of a run.

    Raises:
        PartError: it breaks a rule of runs.
    """
    judgments = _judgments(
        pairs.query_text,
        pairs.doc_text,
        *(ends.tobytes() for ends in (pairs.query_ends, pairs.pair_offsets, pairs.doc_ends)),
    )
    try:
        scan = _native(part, judgments, precision) or scan_of(part.run(), judgments, precision)
        return partial_of(scan)
    except RankscopeError as error:
        raise PartError(str(error)) from None  # others cannot all be sent from process to process


@lru_cache(maxsize=2)  # the parts of a run share it, also where each brings a copy of the bytes
def _judgments(
    query_text: bytes, doc_text: bytes, query_ends: bytes, pair_offsets: bytes, doc_ends: bytes
) -> Judgments:
    """Return judgments of these pairs; their grades make no difference to a scan."""
    queries, offsets, documents = (
        np.frombuffer(ends, np.int64) for ends in (query_ends, pair_offsets, doc_ends)
    )
    pairs = PackedPairs(query_text, queries, offsets, doc_text, documents)
    return Judgments(FilePairs(pairs, np.ones(len(documents) - 1)))


def _native(part: Part, judgments: Judgments, precision: Precision) -> Scan | None:
    """Return the scan of a part by the native library; None if it refuses it, or is not there."""
    if library() is None or part.format != "trec":
        return None
    data: Any = part.block()
    if data.startswith(BOM) and part.low:
        return None
    data = data.removeprefix(BOM)
    return scan_block(data, len(data), judgments.native_pairs, precision)


def partial_of(scan: Scan) -> Partial:
    """Return a scan as a partial; each query has one stretch."""
    queries = pl.DataFrame(
        {
            "query_id": pl.Series(scan.query_ids, dtype=pl.String),
            "size": scan.sizes,
            "first": scan.first_score,
            "last": scan.last_score,
            "rises": scan.rises,
            "falls": scan.falls,
            "parts": np.ones(len(scan.query_ids), np.int64),
        }
    )
    hits = pl.DataFrame({name: getattr(scan, name).astype(np.int64) for name in BY_HIT})
    return Partial(queries, hits, scan.tied_across)


def merged(partials: Sequence[Partial]) -> Partial:
    """Put together what is known of stretches of a run that follow each other."""
    if len(partials) == 1:
        return partials[0]
    queries = pl.concat([part.queries for part in partials])
    if queries["query_id"].n_unique() < queries.height:
        before = pl.col("last").shift()
        queries = queries.group_by("query_id", maintain_order=True).agg(
            pl.col("size").sum(),
            pl.col("first").first(),
            pl.col("last").last(),
            rises=pl.col("rises").any() | (pl.col("first") > before).fill_null(False).any(),
            falls=pl.col("falls").any() | (pl.col("first") < before).fill_null(False).any(),
            parts=pl.col("parts").sum(),
        )
    return Partial(
        queries,
        pl.concat([part.hits for part in partials]),
        summed([part.tied_across for part in partials]),
    )


def as_scan(whole: Partial) -> Scan:
    """Return what is known of a whole run as a scan; no query is open any more."""
    queries = whole.queries
    by_hit: dict[str, Any] = {name: whole.hits[name].to_numpy() for name in BY_HIT}
    return Scan(
        query_ids=queries["query_id"],  # type: ignore[arg-type]  # a series takes less room
        sizes=queries["size"].to_numpy(),
        first_score=queries["first"].to_numpy(),
        last_score=queries["last"].to_numpy(),
        rises=queries["rises"].to_numpy(),
        falls=queries["falls"].to_numpy(),
        **by_hit,
        tied_across=whole.tied_across,
    )


# --- open queries --------------------------------------------------------------------------------


class Spool:
    """Rows put aside in buckets, by the number of their query."""

    def __init__(self, folder: Path, sizes: IntArray) -> None:
        self._folder = folder
        self._bucket = (np.cumsum(sizes) - sizes) // BUCKET_ROWS
        self._pieces: dict[int, list[int]] = {}

    def add(self, rows: pl.DataFrame) -> None:
        """Put rows aside; the column ``query`` has the number of their query."""
        bucket = pl.Series("bucket", self._bucket[rows["query"].to_numpy()])
        parts = rows.with_columns(bucket).partition_by(
            "bucket", as_dict=True, include_key=False, maintain_order=True
        )
        with room_needed(self._folder):
            for (number,), part in parts.items():
                buffer = io.BytesIO()
                part.write_ipc_stream(buffer, compression="uncompressed")
                self._pieces.setdefault(number, []).append(buffer.tell())
                with open(self._folder / f"{number}.rows", "ab") as file:
                    file.write(buffer.getbuffer())

    def buckets(self) -> Iterator[pl.DataFrame]:
        """Yield the rows of each bucket by query, within a query as they were added."""
        for number, lengths in sorted(self._pieces.items()):
            path = self._folder / f"{number}.rows"
            with open(path, "rb") as file:
                pieces = [pl.read_ipc_stream(io.BytesIO(file.read(size))) for size in lengths]
            path.unlink()
            yield pl.concat(pieces).sort("query", maintain_order=True)


@dataclass(frozen=True, slots=True, eq=False)
class OpenRows:
    """The rows of open queries in one part."""

    rows: pl.DataFrame
    """query, the number of the open query; doc_id; score."""
    tied_across: IntArray
    """What their stretches in this part counted for in `Partial.tied_across`."""


def open_rows(part: Part, queries: pl.DataFrame, precision: Precision) -> OpenRows:
    """Return the rows of open queries in a part; ``queries`` has query_id, query and judged.

    Raises:
        PartError: the part breaks a rule of runs.
    """
    try:
        run = part.run()
    except RankscopeError as error:
        raise PartError(str(error)) from None
    here = pl.DataFrame({"query_id": pl.Series(run.query_ids, dtype=pl.String)})
    known = here.with_row_index("group").join(queries, on="query_id", maintain_order="left")
    groups = known["group"].cast(pl.Int64).to_numpy()
    rows, _ = order.rows_of(run.offsets, groups)
    number = np.repeat(known["query"].to_numpy(), run.sizes[groups])
    scores = order.compared(run.scores.to_numpy(), precision)
    return OpenRows(
        pl.DataFrame(
            {"query": number, "doc_id": run.doc_ids.gather(rows), "score": run.scores.gather(rows)}
        ),
        ties_by_place(run.offsets, scores, groups[known["judged"].to_numpy()]),
    )


def settled(
    whole: Partial,
    judgments: Judgments,
    precision: Precision,
    collect: Callable[[pl.DataFrame], Iterable[OpenRows]],
) -> Partial:
    """Return what is known of a run after its open queries were brought together.

    ``collect`` returns the open rows of all parts that have some, in the order of the parts.

    Raises:
        PartError: a document is in two parts of a query.
    """
    names = pl.Series(judgments.query_ids, dtype=pl.String)
    queries = whole.queries.filter(pl.col("parts") > 1).select("query_id", "size")
    queries = queries.with_columns(
        query=pl.int_range(queries.height, dtype=pl.Int64, eager=True),
        judged=queries["query_id"].is_in(names.implode()),
    )
    query_ids, taken_back, hits, added = queries["query_id"], [], [], []
    with temporary_folder("rankscope-spool-") as folder:
        spool = Spool(folder, queries["size"].to_numpy())
        for found_rows in collect(queries.drop("size")):
            spool.add(found_rows.rows)
            taken_back.append(found_rows.tied_across)
        for rows in spool.buckets():
            numbers, sizes = np.unique(rows["query"].to_numpy(), return_counts=True)
            ids = query_ids.gather(numbers)
            run = Run.trusted(ids, sizes, rows["doc_id"], rows["score"], name="bucket")
            if repeated_rows(run.offsets, run.doc_ids).size:
                raise PartError("a document is twice in a query")
            bucket = partial_of(scan_of(run, judgments, precision))
            hits.append(bucket.hits)
            added.append(bucket.tied_across)
    is_open = names.is_in(query_ids.implode()).gather(judgments.query)
    kept = whole.hits.filter(~is_open.gather(whole.hits["pair"]))
    ties = summed([whole.tied_across, -summed(taken_back), *added])
    return Partial(
        whole.queries.with_columns(parts=pl.lit(1, pl.Int64)), pl.concat([kept, *hits]), ties
    )
