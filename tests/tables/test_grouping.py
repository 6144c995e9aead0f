"""Documents twice in a group are found whatever their hashes are."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.tables.pairs import repeated_rows


def naive(sizes: list[int], ids: list[str]) -> list[int]:
    rows, row = [], 0
    for size in sizes:
        seen: set[str] = set()
        for _ in range(size):
            if ids[row] in seen:
                rows.append(row)
            seen.add(ids[row])
            row += 1
    return rows


@settings(max_examples=40, deadline=None)
@given(
    groups=st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=20),
    hashes_meet=st.booleans(),
)
def test_repetitions_are_those_a_naive_pass_finds(
    groups: list[list[int]], hashes_meet: bool
) -> None:
    sizes = [len(group) for group in groups]
    ids = [str(number) for group in groups for number in group]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    key = pl.Series(ids, dtype=pl.String)
    with pytest.MonkeyPatch.context() as patch:
        if hashes_meet:
            patch.setattr(pl.Series, "hash", lambda key: pl.Series([0] * len(key), dtype=pl.UInt64))
        assert repeated_rows(offsets, key).tolist() == naive(sizes, ids)
