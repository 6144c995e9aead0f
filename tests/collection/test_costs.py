"""Costs of systems: in every form, and what is refused, with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankscope.collection.costs import as_costs
from rankscope.errors import InputError

SYSTEMS = ["bm25", "dense", "reranked"]
EXPECTED = {"bm25": {"ms": 12.0, "euros": 0.5}, "dense": {"ms": 30.0}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("quoted.csv", '"system","ms","euros"\n"bm25","12"," 0.5 "\n"dense","3e1",\n'),
        ("wide.tsv", "System\tms\teuros\nbm25\t12\t0.5\ndense\t30\t\n"),
        ("object.json", '{"bm25": {"ms": 12, "euros": 0.5}, "dense": {"ms": 30, "euros": null}}'),
    ],
)
def test_files(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    assert as_costs(path, SYSTEMS) == EXPECTED
    assert as_costs(str(path), SYSTEMS) == EXPECTED


def test_objects() -> None:
    frame = pl.DataFrame({"system": ["bm25", "dense"], "ms": [12, 30], "euros": [0.5, None]})
    assert as_costs(frame, SYSTEMS) == EXPECTED
    assert as_costs(EXPECTED, SYSTEMS) == EXPECTED
    numbers: Any = {"dense": {"ms": np.float64(30)}, "bm25": {"ms": np.int64(12), "euros": 0.5}}
    assert list(as_costs(numbers, SYSTEMS)) == ["bm25", "dense"]  # in the order of the systems
    assert as_costs({"bm25": {"ms": -0.0}}, SYSTEMS) == {"bm25": {"ms": 0.0}}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("system,ms\nbm25,12\ndense,NaN\n", ":3: system 'dense': 'ms' is 'NaN'"),
        ("system,ms\nbm25,-1\n", "'-1'"),
        ("system,ms\nbm25,١٢\n", ":2: system 'bm25'"),
        ("system,ms\nbm52,12\n", "nearest: bm25"),
        ("system,ms\nbm25,12\nbm25,13\n", ":3: the system 'bm25' was given before, at line 2"),
        ("system,\nbm25,1\n", "no name"),
        ("system,ms\nbm25,\n", "no number"),
        (Path("none.csv"), "not found"),
        (Path(), "folder"),
        ({}, "no number"),
        (3, "expected costs"),
        ({"bm25": {"ms": 10**400}}, "finite"),
        ({"bm25": {"ms": {"p50": 1}}}, "row 1: system 'bm25'"),
        ({"bm25": {" ": 1}}, "no name"),
        ({"reranker": {"ms": 1}}, "nearest: reranked"),
    ],
)
def test_what_is_refused(tmp_path: Path, data: Any, problem: str) -> None:
    path = tmp_path / "a.csv"
    if isinstance(data, str):
        path.write_text(data, "utf-8")
    with pytest.raises(InputError) as raised:
        as_costs(path if isinstance(data, str) else data, SYSTEMS)
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not isinstance(data, str) or str(raised.value).startswith(str(path))
