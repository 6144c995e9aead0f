"""Rows grouped by query, and documents that appear twice in a group."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_BLOCK = 1 << 16
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

    Rows are compared by hash, block by block and on all cores; the few groups in which two hashes
    meet are compared by their text.
    """
    suspects = _groups_with_equal_hashes(keys, offsets)
    repeated = [
        np.flatnonzero(~_part(keys, low, high).is_first_distinct().to_numpy()) + low
        for low, high in ((int(offsets[g]), int(offsets[g + 1])) for g in suspects)
    ]
    return np.concatenate(repeated) if repeated else np.empty(0, np.int64)


def _part(keys: tuple[pl.Series, ...], low: int, high: int) -> pl.Series:
    parts = [key.slice(low, high - low) for key in keys]
    return parts[0] if len(parts) == 1 else pl.DataFrame(parts).to_struct("key")


def _hashes(keys: tuple[pl.Series, ...], low: int, high: int) -> NDArray[np.uint64]:
    first, *others = (key.slice(low, high - low).hash().to_numpy() for key in keys)
    for other in others:
        first = first * _SPREAD + other
    return first


def _groups_with_equal_hashes(keys: tuple[pl.Series, ...], offsets: Ints) -> list[int]:
    """Return the groups that may hold a repetition."""
    last_group = len(offsets) - 1
    # blocks of whole groups, about _BLOCK rows each: block b is groups edges[b]:edges[b + 1]
    edges = np.searchsorted(offsets, np.arange(0, offsets[-1] + _BLOCK, _BLOCK))
    edges = np.unique(np.clip(np.append(edges, last_group), 0, last_group))
    lengths = np.diff(offsets)

    def repeats(blocks: range) -> list[int]:
        table = _Slots()
        groups: list[int] = []
        for block in blocks:
            first, last = int(edges[block]), int(edges[block + 1])
            low, high = int(offsets[first]), int(offsets[last])
            # one mark for each row, of its group and its keys: equal marks may be a repetition
            spread = np.arange(first, last, dtype=np.uint64) * _SPREAD
            marks = np.repeat(spread, lengths[first:last])
            marks += _hashes(keys, low, high)
            rows = table.rows_with_equal(marks) + low
            groups += np.unique(np.searchsorted(offsets, rows, side="right") - 1).tolist()
        return groups

    count = len(edges) - 1
    if count < 4:
        return repeats(range(count))
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    workers = os.cpu_count() or 1
    shares = [range(count * n // workers, count * (n + 1) // workers) for n in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        return [group for groups in pool.map(repeats, shares) for group in groups]


class _Slots:
    """Finds equal marks: rows are thrown into slots, and only those that meet are compared.

    That takes a fraction of the time of a sort. The slots are used again and need not be empty:
    each is written before it is read.
    """

    def __init__(self) -> None:
        self._table: NDArray[np.uint32] = np.empty(0, np.uint32)

    def rows_with_equal(self, marks: NDArray[np.uint64]) -> Ints:
        """Return the rows whose marks are not the only ones of their kind."""
        rows = np.arange(len(marks), dtype=np.uint32)
        bits = len(marks).bit_length() + 3
        if len(self._table) < 1 << bits:
            self._table = np.empty(1 << bits, np.uint32)
        slots = (marks >> np.uint64(64 - bits)).view(np.int64)
        self._table[slots] = rows  # of rows that meet the last one stays
        stayed = self._table[slots]
        gone = np.flatnonzero(stayed != rows)
        if not gone.size:
            return gone
        has_met = np.zeros(len(marks), np.bool_)
        has_met[gone] = True
        has_met[stayed[gone]] = True
        met = np.flatnonzero(has_met)
        ordered = np.sort(marks[met])
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        return met[np.isin(marks[met], twice)] if twice.size else twice.astype(np.int64)
