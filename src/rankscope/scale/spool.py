"""The rows of queries that are in several parts, brought together in temporary files.

A bucket holds all rows of some queries, about a million rows; it is then a run of its own, in which
no query is open. What is in memory at a time is one bucket, so only a single query with very many
rows needs more.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.errors import RankscopeError
from rankscope.runs import order
from rankscope.runs.table import Run
from rankscope.scale.partials import PartError, Partial, partial_of
from rankscope.scoring.scan_tables import scan_of, ties_by_place
from rankscope.scoring.scans import summed
from rankscope.tables.pairs import repeated_rows
from rankscope.temporary import room_needed, temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from rankscope.measures.judged import IntArray
    from rankscope.runs.order import Precision
    from rankscope.scale.run_cuts import Part
    from rankscope.scoring.judgments import Judgments

BUCKET_ROWS = 1 << 20
"""About so many rows are in a bucket."""


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
