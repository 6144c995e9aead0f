"""Rows grouped by query, and documents that appear twice in a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Which rows belong to which query.

    ``query_ids`` in order of first appearance; group i is rows ``offsets[i]:offsets[i + 1]`` once
    the rows are put in ``order`` (None: they are in that order already).
    """

    query_ids: pl.Series
    offsets: Ints
    order: Ints | None


def group_by_query(query_id: pl.Series) -> Groups:
    """Group rows by query; within a query they keep their order."""
    stretches = query_id.rle().struct
    values, lengths = stretches.field("value"), stretches.field("len")
    ids = values.cast(pl.String).alias("query_id")
    if ids.n_unique() == len(ids):
        return Groups(ids, _offsets(lengths.to_numpy()), None)
    unique = ids.unique(maintain_order=True)
    codes = ids.replace_strict(unique, pl.int_range(len(unique), eager=True), return_dtype=pl.Int64)
    rows = np.repeat(codes.to_numpy(), lengths.to_numpy())
    order = np.argsort(rows, kind="stable")
    return Groups(unique, _offsets(np.bincount(rows, minlength=len(unique))), order)


def _offsets(lengths: NDArray[np.integer]) -> Ints:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    offsets.flags.writeable = False
    return offsets


def repeated_rows(offsets: Ints, *keys: pl.Series) -> Ints:
    """Return the rows whose keys appeared in the same group before, in row order.

    Rows are compared by hash; the few of which two hashes meet are compared by their text.
    """
    groups = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint64), np.diff(offsets))
    marks = groups * _SPREAD
    for key in keys:
        marks = marks * _SPREAD + key.hash().to_numpy()
    marked = pl.Series(marks)
    if marked.n_unique() == len(marked):
        return np.empty(0, np.int64)
    suspects = marked.is_duplicated().arg_true()
    rows = pl.DataFrame([pl.Series("group", groups), *keys])[suspects]
    return suspects.filter(~rows.to_struct().is_first_distinct()).to_numpy().astype(np.int64)
