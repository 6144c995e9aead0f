"""Do the ranks of a run in parts go by score? The twin of what `read_run` finds out in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.errors import RankscopeError
from rankscope.runs import order
from rankscope.runs.table import ranks_follow, scores_of
from rankscope.scale.partials import PartError
from rankscope.scale.spool import SPOOL, Spool
from rankscope.tables.rows import as_numbers
from rankscope.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rankscope.scale.executors import Workers
    from rankscope.scale.run_cuts import Part
    from rankscope.scoring.scans import Scan


def ranks_go_by_score(scan: Scan, parts: Callable[[], Iterable[Part]], workers: Workers) -> bool:
    """Tell whether lines are in no order, and the ranks in that of the scores."""
    names = pl.Series("query_id", scan.query_ids, dtype=pl.String)
    numbers = pl.DataFrame({"query_id": names, "query": np.arange(len(names))})
    unsettled = 0
    with temporary_folder(SPOOL) as folder:
        spool = Spool(folder, scan.sizes)
        for rows in workers.map(ranked_rows, parts()):
            if rows is None:
                return False
            spool.add(rows.join(numbers, on="query_id", maintain_order="left").drop("query_id"))
        for rows in spool.buckets():
            sizes = np.unique(rows["query"].to_numpy(), return_counts=True)[1]
            offsets = np.concatenate([[0], np.cumsum(sizes)])
            scores = rows["score"].to_numpy()
            unsettled += int(np.count_nonzero(order.unsettled(offsets, scores, ties=False)))
            if not ranks_follow(rows.select("query", "score", "rank")):
                return False
    return bool(2 * unsettled > np.count_nonzero(scan.sizes > 1))


def ranked_rows(part: Part) -> pl.DataFrame | None:
    """Return query_id, rank and score of the rows of a part; None if it has no ranks.

    Raises:
        PartError: the part breaks a rule of runs.
    """
    try:
        rows = part.rows(("query_id", "doc_id", "rank", "score"))
        if not {"rank", "score"} <= set(rows.frame.columns):
            return None
        return pl.DataFrame(
            [
                rows.ids("query_id"),
                as_numbers(rows.frame["rank"]).cast(pl.Float64).alias("rank"),
                scores_of(rows),
            ]
        )
    except RankscopeError as error:
        raise PartError(str(error)) from None
