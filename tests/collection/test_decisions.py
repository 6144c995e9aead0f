"""Decisions: made from anything, read from any table, and refused in one sentence with the line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from rankscope.collection.decisions import COLUMNS, as_decisions
from rankscope.errors import InputError

ROWS: list[dict[str, Any]] = [
    {
        "query_id": "q1",
        "route": "law",
        "best": ["law", "tax"],
        "allowed": ["law"],
        "routes": ["law", "tax", "it"],
        "retrieved": True,
        "needed": False,
    },
    {"query_id": "q2", "route": "tax", "best": ["it"], "retrieved": False, "needed": True},
]
TEXT = f"""{",".join(["query_id", *COLUMNS])}
q1,law,law|tax,law,law;tax;it,yes,no
q2,tax,it,,,0,1
"""


def written(folder: Path, form: str) -> Path:
    path = folder / f"decisions.{form}"
    if form == "parquet":
        pl.DataFrame(ROWS).write_parquet(path)
        return path
    lines = "\n".join(map(json.dumps, ROWS))
    texts = {"csv": TEXT, "tsv": TEXT.replace(",", "\t"), "jsonl": lines, "json": json.dumps(ROWS)}
    path.write_text(texts[form], "utf-8")
    return path


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_every_format_says_the_same(tmp_path: Path, form: str) -> None:
    decisions = as_decisions(written(tmp_path, form))
    assert decisions.to_polars().equals(as_decisions(ROWS).to_polars())
    assert decisions.query_ids == ["q1", "q2"]
    assert decisions.columns == tuple(COLUMNS)
    assert decisions.column("best").to_list() == [["law", "tax"], ["it"]]
    assert decisions.column("routes").to_list() == [["law", "tax", "it"], None]
    assert decisions.column("retrieved").to_list() == [True, False]


@pytest.mark.parametrize(
    "data",
    [
        {row["query_id"]: {**row} for row in ROWS},
        {"version": 1, "decisions": ROWS},
        pd.DataFrame(ROWS),
        as_decisions(ROWS),
    ],
    ids=lambda data: type(data).__name__,
)
def test_every_object_says_the_same(data: Any) -> None:
    assert as_decisions(data).to_polars().equals(as_decisions(ROWS).to_polars())


@pytest.mark.parametrize(
    ("column", "name", "value", "kept"),
    [
        ("route", "Routed To", " law ", "law"),
        ("route", "expert", 3, "3"),
        ("route", "expert", 3.0, "3"),  # as pandas has numbers with gaps
        ("best", "gold_route", "Paris, France", ["Paris, France"]),  # commas are no separators
        ("best", "best", '["a;b", "c"]', ["a;b", "c"]),
        ("allowed", "allowed", "a; b;;a", ["a", "b"]),
        ("retrieved", "gate", "Skip", False),
        ("retrieved", "gate", 1.0, True),
        ("needed", "should_retrieve", "f", False),
    ],
)
def test_names_and_words(column: str, name: str, value: Any, kept: Any) -> None:
    decisions = as_decisions([{"qid": "q", name: value}])
    assert decisions.column(column).to_list() == [kept]
    assert decisions.columns == (column,)


def test_what_is_not_there_is_named() -> None:
    decisions = as_decisions(ROWS[1:])
    assert decisions.lacking("route", "needed") is None
    assert "allowed" in (decisions.lacking("route", "allowed") or "")
    assert decisions.column("allowed").to_list() == [None]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("query_id,route\nq1,a\nq2,b\nq1,b\n", ":4: the query_id 'q1' was given before, at line 2"),
        ("query_id,gate\nq1,maybe\n", ":2: query 'q1': 'gate' is 'maybe'"),
        ("query_id,text\nq1,hello\n", "no decision among the columns"),
        ([], "no decision"),
        ([{"query_id": "q", "route": {"a": 1}}], "route"),
        ([{"query_id": "q", "best": [[1]]}], "route"),
        ([{"query_id": "q", "retrieved": ["d1"]}], "yes or no"),
        ([{"query_id": "q", "expert": "law", "route": "law"}], "as is another column"),
        (pl.DataFrame({"query_id": ["q"], "gate": [float("nan")]}), "row 1: query 'q'"),
        ({"q": 3}, "row 1: expected named fields"),
        ({"q": {"text": "law"}}, "no decision"),
        ([("q", "law")], "row 1"),
        (3, "expected decisions"),
    ],
)
def test_what_is_refused(tmp_path: Path, data: Any, problem: str) -> None:
    path = tmp_path / "d.csv"
    if isinstance(data, str):
        path.write_text(data, "utf-8")
    with pytest.raises(InputError) as refused:
        as_decisions(path if isinstance(data, str) else data)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not isinstance(data, str) or str(refused.value).startswith(str(path))


def test_what_is_not_known_is_left_out_of_its_column_only() -> None:
    rows = [{"id": "q", "route": "", "best": [], "needed": 1}, {"id": "r", "needed": None}]
    assert as_decisions(rows).columns == ("needed",)
    assert as_decisions(rows).column("needed").to_list() == [True, None]


def test_only_some_queries() -> None:
    decisions = as_decisions([{"query_id": "q", "needed": 1}, {"query_id": "r", "route": "a"}])
    assert decisions.only(["r", "x"]).query_ids == ["r"]
    assert decisions.only([]).columns == decisions.columns
