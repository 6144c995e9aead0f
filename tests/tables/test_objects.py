"""Tables from Python objects and frames, and what can be done with them once made."""

from __future__ import annotations

import copy
import pickle
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankscope.collection.qrels import Qrels
from rankscope.errors import InputError, InvalidDataError, UnknownNameError
from rankscope.runs.table import Run
from rankscope.scoring.evaluate import evaluate

EXPECTED = {"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d1": 0.5}}
COLUMNS: dict[str, list[Any]] = {
    "query_id": ["q1", "q1", "q2"],
    "doc_id": ["d1", "d2", "d1"],
    "score": [2.5, 1.5, 0.5],
}
Row = namedtuple("Row", ["query_id", "doc_id", "score"])


@dataclass
class Hit:
    query_id: str
    doc_id: str
    score: float


FRAMES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pyarrow": pa.table,
}
every_frame = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)


# --- making


@pytest.mark.parametrize(
    "data",
    [
        EXPECTED,
        COLUMNS,
        list(zip(*COLUMNS.values(), strict=True)),
        iter([list(row) for row in zip(*COLUMNS.values(), strict=True)]),
        [Row(*row) for row in zip(*COLUMNS.values(), strict=True)],
        [Hit(*row) for row in zip(*COLUMNS.values(), strict=True)],
        [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)],
        {"q1": [("d1", 2.5), ("d2", "1.5")], "q2": {"d1": Decimal("0.5")}},
        {"q1": {"d1": np.float32(2.5), "d2": np.float64(1.5)}, "q2": {"d1": np.array(0.5)}},
    ],
    ids=lambda data: type(data).__name__,
)
def test_plain_data(data: Any) -> None:
    assert Run(data).to_dict() == EXPECTED


@every_frame
def test_frames(make: Callable[..., Any]) -> None:
    assert Run(make(COLUMNS)).to_dict() == EXPECTED
    grades = Qrels(make({**COLUMNS, "score": [2, 1, 0]}))
    assert grades.to_dict() == {"q1": {"d1": 2, "d2": 1}, "q2": {"d1": 0}}


@every_frame
def test_whole_numbers_become_their_digits(make: Callable[..., Any]) -> None:
    data = make({"qid": [7, 2**62], "doc": [-1, 2**53 + 1], "score": [1, 2]})
    assert Run(data).to_dict() == {"7": {"-1": 1.0}, str(2**62): {str(2**53 + 1): 2.0}}
    data = make({"qid": [7.0, -0.0], "doc": [2.0**53 - 1, 5.0], "score": [1, 2]})
    assert Run(data).to_dict() == {"7": {str(2**53 - 1): 1.0}, "0": {"5": 2.0}}


@every_frame
def test_other_floats_lost_their_digits(make: Callable[..., Any]) -> None:
    for bad in (1.5, 2.0**53, 1e300):
        with pytest.raises(InputError, match="row 2"):
            Run(make({"qid": ["a", "a"], "doc": [1.0, bad], "score": [1, 2]}))


def test_single_precision_loses_digits_sooner() -> None:
    def run(number: float) -> Run:
        docs = pl.Series([number], dtype=pl.Float32)
        return Run(pl.DataFrame({"qid": ["a"], "doc": docs, "score": [1.0]}))

    assert run(2.0**24 - 1)["a"] == {str(2**24 - 1): 1.0}
    with pytest.raises(InputError, match="too large"):
        run(2.0**24)  # 2 ** 24 + 1 looks the same


@every_frame
def test_missing_values(make: Callable[..., Any]) -> None:
    for role in ("query_id", "doc_id"):
        with pytest.raises(InvalidDataError, match="row 3"):
            Run(make({**COLUMNS, role: ["x", "y", None]}))
        with pytest.raises(InvalidDataError, match="missing"):
            Run(make({**COLUMNS, role: ["x", "", "z"]}))
    with pytest.raises(InvalidDataError, match="row 2"):
        Run(make({**COLUMNS, "score": [1.0, None, 2.0]}))


def test_categories() -> None:
    frame = pl.DataFrame(COLUMNS).with_columns(pl.col("query_id", "doc_id").cast(pl.Categorical))
    enum = pl.DataFrame(COLUMNS).with_columns(pl.col("query_id").cast(pl.Enum(["q2", "q1"])))
    pandas = pd.DataFrame(COLUMNS).astype({"query_id": "category", "doc_id": "category"})
    for data in (frame, enum, pandas):
        run = Run(data)
        assert run.to_dict() == EXPECTED
        assert run.doc_ids.dtype == pl.String
        assert run == Run(EXPECTED)


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"qid": [1, "a"], "doc": ["x", "y"], "score": [1.0, 2.0]}),
        pd.DataFrame([["a", "b", 1.0]], columns=["qid", "qid", "score"]),
        pl.DataFrame({"a": [1]}),
        pl.DataFrame({"qid": [b"x"], "doc": ["d"], "score": [1.0]}),
        pl.DataFrame({"qid": ["x"], "doc": ["d"], "score": [[1.0]]}),
        {"query_id": ["a"], "doc_id": ["b", "c"], "score": [1.0]},
        {"q": {"d1", "d2"}},
        {"q": {"d1": Decimal("NaN")}},
        {"q": {"d1": Decimal("sNaN"), "d2": 1}},
        {1: ["a"], "1": ["b"]},
        {1.5: ["a"]},
        [("q", "d", 1, 2)],
        [("q", "d", 1), {"q": 1}],
        {"\ud800": ["a"]},
        "a.run",
        b"bytes",
        None,
    ],
    ids=lambda data: type(data).__name__,
)
def test_what_is_refused(data: Any) -> None:
    with pytest.raises(InputError):
        Run(data)


@pytest.mark.parametrize("documents", [{1: 1.0, "2": 0.5}, {"2": 0.5, 1: 1.0}])
def test_numbers_and_text_may_be_mixed(documents: dict[Any, float]) -> None:
    """Ids are text; which kind comes first makes no difference, and no match is lost."""
    assert Run({"q": documents})["q"] == {"1": 1.0, "2": 0.5}
    for qrels in ({"q": {"1": 1}}, {"q": {1: 1}}, {"q": {"2": 0, 1: 1}}):
        for run in ({"q": documents}, Run({"q": documents})):
            assert evaluate(qrels, run, ["P@1", "RR"]).means == {"P@1": 1.0, "RR": 1.0}
    with pytest.raises(InvalidDataError, match="'1'"):
        Run({"q": {**documents, "1": 0.5}})
    with pytest.raises(InputError, match="1"):
        evaluate({"q": {"1": 1}}, {"q": {**documents, "1": 0.5}}, ["P@1"])


def test_later_changes_do_not_show() -> None:
    data, frame = copy.deepcopy(EXPECTED), pd.DataFrame(COLUMNS)
    scores = np.array(COLUMNS["score"])
    column = pl.DataFrame({**COLUMNS, "score": scores})
    made = [Run(data), Run(frame), Run(column), Qrels(column)]
    data["q1"]["d1"] = 99.0
    frame.loc[0, "score"] = 99.0
    scores[0] = 99.0
    assert [table.to_dict() for table in made] == [EXPECTED] * 4


# --- using


def test_a_table_cannot_be_changed() -> None:
    run = Run(EXPECTED)
    with pytest.raises(AttributeError, match="cannot be changed"):
        run.name = "x"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        run.offsets[0] = 1
    run.scores[0] = 99.0
    run.to_dict()["q1"]["d1"] = 99.0
    run["q1"]["d1"] = 99.0
    run.query_ids.append("x")
    run.to_polars()[0, "score"] = 99.0
    assert run.to_dict() == EXPECTED


def test_equality() -> None:
    run = Run(EXPECTED)
    backwards = {q: dict(reversed(documents.items())) for q, documents in EXPECTED.items()}
    assert run == Run(dict(reversed(backwards.items())))
    assert run != Run({"q1": {"d1": 2.5, "d2": 1.5}})
    assert run != Run({**EXPECTED, "q3": {}})
    assert run != Run({**EXPECTED, "q2": {"d1": 0.75}})
    assert run != Run({**EXPECTED, "q2": {"d3": 0.5}})
    assert run != Qrels(EXPECTED)
    assert run != EXPECTED
    with pytest.raises(TypeError, match="unhashable"):
        hash(run)


def test_frames_come_back() -> None:
    run = Run(EXPECTED)
    assert run.to_polars().to_dict(as_series=False) == COLUMNS
    pd.testing.assert_frame_equal(run.to_pandas(), pd.DataFrame(COLUMNS), check_dtype=False)
    assert Run(pd.DataFrame(COLUMNS).set_index(["query_id", "doc_id"])) == run
    assert Run([]) == Run({}) == Run()
    assert pickle.loads(pickle.dumps(run)) == copy.deepcopy(run) == run
    with pytest.raises(UnknownNameError, match="nearest: q"):
        run["q4"]
    assert Run({"q": pd.Series(["a", "b"])}) == Run({"q": ["a", "b"]})
    assert Qrels({"q": {"a", "b"}}) == Qrels({"q": ["b", "a"]})


def test_values_that_hold_others_are_refused() -> None:
    """Of values that are nested 90 deep Polars would think for minutes."""
    deep: Any = 1
    for _ in range(90):
        deep = [deep]
    for data in (
        {"q": {"d": deep, "e": 1}},
        [("q", "d", deep)],
        [{"query_id": "q", "doc_id": "d", "score": {"a": 1}}],
    ):
        with pytest.raises(InputError):
            Run(data)
