"""Costs in every form, and what is refused, with its place."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankscope.collection.costs import as_costs
from rankscope.errors import FormatError, InputError

SYSTEMS = ["bm25", "dense", "reranked"]
EXPECTED = {"bm25": {"ms": 12.0, "euros": 0.5}, "dense": {"ms": 30.0}}


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wide.csv", "system,ms,euros\nbm25,12,0.5\ndense,30,\n"),
        ("order.csv", "ms,system,euros\n12,bm25,0.5\n30,dense,\n"),
        ("semicolons.csv", "system;ms;euros\nbm25;12;0.5\ndense;30;\n"),
        ("quoted.csv", '"system","ms","euros"\n"bm25","12"," 0.5 "\n"dense","3e1",\n'),
        ("wide.tsv", "System\tms\teuros\nbm25\t12\t0.5\ndense\t30\t\n"),
        ("run.tsv", "run\tms\teuros\nbm25\t12\t.5\ndense\t30.\t\n"),
        ("called.csv", "name,ms,euros\nbm25,12,0.5\ndense,30,\n"),
        ("long.csv", "system,name,value\nbm25,ms,12\ndense,ms,30\nbm25,euros,0.5\n"),
        ("metric.csv", "system,metric,amount\nbm25,ms,12\nbm25,euros,0.5\ndense,ms,30\n"),
        ("bare.csv", "bm25,ms,12\nbm25,euros,0.5\ndense,ms,30\n"),
        ("object.json", '{"bm25": {"ms": 12, "euros": 0.5}, "dense": {"ms": 30, "euros": null}}'),
        (
            "list.json",
            '[{"system": "bm25", "ms": 12, "euros": 0.5}, {"system": "dense", "ms": 30}]',
        ),
        (
            "wrapped.json",
            '{"all": [{"system": "bm25", "ms": 12, "euros": 0.5}, {"system": "dense", "ms": 30}]}',
        ),
        (
            "lines.jsonl",
            '{"system": "bm25", "ms": 12, "euros": 0.5}\n\n{"system": "dense", "ms": 30}\n',
        ),
    ],
)
def test_files(tmp_path: Path, name: str, text: str) -> None:
    path = file(tmp_path, name, text)
    assert as_costs(path, SYSTEMS) == EXPECTED
    assert as_costs(str(path), SYSTEMS) == EXPECTED
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert as_costs(packed, SYSTEMS) == EXPECTED


def test_objects() -> None:
    frame = pl.DataFrame({"system": ["bm25", "dense"], "ms": [12, 30], "euros": [0.5, None]})
    assert as_costs(frame, SYSTEMS) == EXPECTED
    assert as_costs(EXPECTED, SYSTEMS) == EXPECTED
    assert as_costs(
        [("bm25", "ms", 12), ("bm25", "euros", "0.5"), ("dense", "ms", 30)], SYSTEMS
    ) == (EXPECTED)
    numbers: Any = {"dense": {"ms": np.float64(30)}, "bm25": {"ms": np.int64(12), "euros": 0.5}}
    assert list(as_costs(numbers, SYSTEMS)) == ["bm25", "dense"]  # in the order of the systems
    assert as_costs({"bm25": {"ms": -0.0}}, SYSTEMS) == {"bm25": {"ms": 0.0}}


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "costs.parquet"
    pl.DataFrame({"system": ["bm25"], "ms": [12]}).write_parquet(path)
    assert as_costs(path, SYSTEMS) == {"bm25": {"ms": 12.0}}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        (
            "a.csv",
            "system,ms\nbm25,12\ndense,NaN\n",
            ":3: system 'dense': 'ms' is 'NaN'; expected a",
        ),
        ("a.csv", "system,ms\nbm25,inf\n", ":2: system 'bm25': 'ms' is 'inf'"),
        ("a.csv", "system,ms\nbm25,-1\n", ":2: system 'bm25': 'ms' is '-1'"),
        ("a.csv", "system,ms\nbm25,12 ms\n", ":2: system 'bm25': 'ms' is '12 ms'"),
        ("a.csv", "system,ms\nbm25,1e9999\n", ":2: system 'bm25': 'ms' is '1e9999'"),
        ("a.csv", "system,ms\nbm25,١٢\n", ":2: system 'bm25': 'ms' is"),
        ("a.csv", "system,ms\nbm52,12\n", ":2: unknown system 'bm52'; nearest: bm25"),
        (
            "a.csv",
            "system,ms\nbm25,12\nbm25,13\n",
            ":3: system 'bm25': 'ms' was given before, at line 2",
        ),
        ("a.csv", "system,name,value\nbm25,ms,1\nbm25,ms,2\n", ":3: system 'bm25': 'ms' was given"),
        ("a.csv", "system,name,value,unit\nbm25,ms,1,ms\n", ":2: system 'bm25': a row with 'name'"),
        ("a.csv", "system,ms\nbm25,1,2\n", ":2: expected 2 cells"),
        ("a.csv", "system,ms,ms\nbm25,1,2\n", ":1: the header names 'ms' twice"),
        ("a.csv", "system,\nbm25,1\n", ":2: system 'bm25': a cost has no name"),
        ("a.csv", "bm25,12\n", ":1: has 2 cells and no header"),
        ("a.csv", "system,ms\n,12\n", ":2: the id is null"),
        ("a.csv", "", "is empty; expected costs"),
        ("a.csv", "system,ms\n", "is empty; expected costs"),
        ("a.csv", "system,ms\nbm25,\n", "a.csv: the costs hold no number"),
        ("a.json", '{"bm25": {"ms": NaN}}', "a.json: item 1: system 'bm25': 'ms' is 'nan'"),
        ("a.json", '{"bm25": {"ms": {"p50": 1}}}', "item 1: system 'bm25': 'ms' is"),
        ("a.json", '{"bm25": {"ms": true}}', "item 1: system 'bm25': 'ms' is 'True'"),
        ("a.json", '{"bm25": {"ms": 1, "ms": 2}}', "the key 'ms' appears twice"),
        ("a.json", '{"bm25": 12}', "item 1: expected text or named fields"),
        ("a.json", '{"bm25": {"ms": 1', "not valid JSON"),
        (
            "a.jsonl",
            '{"system": "bm25", "ms": 1}\n{"system": "dense", "ms": -3}\n',
            ":2: system 'dense'",
        ),
        ("a.jsonl", '{"system": "bm25", "ms": 1}\n{"ms": 3}\n', ":2: no id among the fields"),
        ("a.txt", "hello\n", "does not look like costs"),
    ],
)
def test_what_is_refused(tmp_path: Path, name: str, text: str, problem: str) -> None:
    path = file(tmp_path, name, text)
    with pytest.raises(InputError) as raised:
        as_costs(path, SYSTEMS)
    message = str(raised.value)
    assert problem in message
    assert message.startswith(str(path))
    assert "\n" not in message


def test_what_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="file not found"):
        as_costs(tmp_path / "none.csv", SYSTEMS)
    with pytest.raises(InputError, match="is a folder; name a file with the costs"):
        as_costs(tmp_path, SYSTEMS)
    broken = tmp_path / "broken.csv"
    broken.write_bytes(b"system,ms\nbm25,\xff\n")
    with pytest.raises(FormatError, match=r"broken\.csv:2"):
        as_costs(broken, SYSTEMS)
    for data, problem in (
        ({}, "the costs hold no number"),
        (3, "expected costs as a dict"),
        ({"bm25": {"ms": 10**400}}, "expected a finite number"),
        ({"bm25": {"ms": [1]}}, "expected a finite number"),
        ({"bm25": {"ms": b"1"}}, "expected a finite number"),
        ({"bm25": {" ": 1}}, "a cost has no name"),
        ({"reranker": {"ms": 1}}, "unknown system 'reranker'; nearest: reranked"),
    ):
        with pytest.raises(InputError, match=problem):
            as_costs(data, SYSTEMS)
