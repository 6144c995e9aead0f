"""Fusion: values by hand, the edges of the definitions, forms of input, and mistakes."""

from __future__ import annotations

import doctest
import math
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankscope.errors import InputError, UnknownNameError
from rankscope.runs.fusion.fuse import fuse
from rankscope.runs.fusion.methods import METHODS
from rankscope.runs.fusion.normalisation import NORMALISATIONS
from rankscope.runs.table import Run, read_run
from rankscope.runs.validation import validate_run

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "fusion.md"

List = dict[str, float]
Lists = dict[str, List]

ONE: Lists = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 0.0}}
TWO: Lists = {"q": {"b": 10.0, "e": 6.0, "a": 2.0}}

BY_HAND: dict[str, List] = {
    "rrf": {"a": 1 / 61 + 1 / 63, "b": 1 / 62 + 1 / 61, "c": 1 / 63, "d": 1 / 64, "e": 1 / 62},
    "minmax": {"a": 1 + 0, "b": 3 / 4 + 1, "c": 2 / 4, "d": 0, "e": 4 / 8},
    "rank": {"a": 1 + 1 / 3, "b": 3 / 4 + 1, "c": 2 / 4, "d": 1 / 4, "e": 2 / 3},
    "sum": {"a": 4 / 9 + 0, "b": 3 / 9 + 8 / 12, "c": 2 / 9, "d": 0, "e": 4 / 12},
    "max": {"a": 1 + 2 / 10, "b": 3 / 4 + 1, "c": 2 / 4, "d": 0, "e": 6 / 10},
    # the mean of ONE is 9/4 with variance 35/16, that of TWO 6 with variance 32/3; who is not in a
    # list gets its lowest value
    "zscore": {
        "a": (7 / 4) / math.sqrt(35 / 16) - 4 / math.sqrt(32 / 3),
        "b": (3 / 4) / math.sqrt(35 / 16) + 4 / math.sqrt(32 / 3),
        "c": (-1 / 4) / math.sqrt(35 / 16) - 4 / math.sqrt(32 / 3),
        "d": (-9 / 4) / math.sqrt(35 / 16) - 4 / math.sqrt(32 / 3),
        "e": (-9 / 4) / math.sqrt(35 / 16) + 0,
    },
    "combsum": {"a": 6, "b": 13, "c": 2, "d": 0, "e": 6},
    "combmnz": {"a": 12, "b": 26, "c": 2, "d": 0, "e": 6},
    "combanz": {"a": 3, "b": 6.5, "c": 2, "d": 0, "e": 6},
    "combmax": {"a": 4, "b": 10, "c": 2, "d": 0, "e": 6},
    "combmin": {"a": 2, "b": 3, "c": 2, "d": 0, "e": 6},
    "combmed": {"a": 3, "b": 6.5, "c": 2, "d": 0, "e": 6},
    "isr": {"a": 2 * (1 + 1 / 9), "b": 2 * (1 / 4 + 1), "c": 1 / 9, "d": 1 / 16, "e": 1 / 4},
    "logisr": {"a": math.log(2) * 10 / 9, "b": math.log(2) * 5 / 4, "c": 0, "d": 0, "e": 0},
    "rbc": {"a": 0.1 + 0.081, "b": 0.09 + 0.1, "c": 0.081, "d": 0.0729, "e": 0.09},
    # five candidates; ONE leaves 1 point to e, TWO leaves 2 + 1 points to c and d
    "borda": {"a": 5 + 3, "b": 4 + 5, "c": 3 + 1.5, "d": 2 + 1.5, "e": 1 + 4},
    # b beats c d e, and draws with a; a beats c d; a and e, c and e, d and e draw; c beats d
    "condorcet": {"a": 2, "b": 3, "c": -1, "d": -3, "e": -1},
}


def order_of(scores: List) -> list[str]:
    """By score from high to low, then by id from high to low by bytes."""
    return sorted(sorted(scores, key=str.encode, reverse=True), key=lambda d: -scores[d])


def close(found: Run, expected: Lists, tolerance: float = 1e-9) -> None:
    made = found.to_dict()
    assert made.keys() == expected.keys()
    for query_id, scores in expected.items():
        assert made[query_id] == pytest.approx(scores, rel=tolerance, abs=tolerance)
        assert list(made[query_id]) == order_of(made[query_id])


@pytest.mark.parametrize("name", [name for name in METHODS if name != "probfuse"])
def test_by_hand(name: str) -> None:
    close(fuse([ONE, TWO], method=name), {"q": BY_HAND[name]})


def test_every_method_has_a_value_by_hand() -> None:
    assert {*BY_HAND, "probfuse"} == set(METHODS)


def test_probfuse_by_hand() -> None:
    """Two segments: of a, b, c, d the first is a, b; of b, e, a it is b, e."""
    first = {"t1": ONE["q"], "t2": ONE["q"], "q": ONE["q"]}
    other = {"t1": TWO["q"], "t2": TWO["q"], "q": TWO["q"]}
    qrels = {"t1": {"a": 1, "c": 0}, "t2": {"b": 2, "a": 1, "d": 1}}
    # first: 1/2 and 1 in the first segment, 0 and 1/2 in the second; other: 0, 1/2; 1, 1
    p1, p2, o1, o2 = 3 / 4, 1 / 4, 1 / 4, 1.0
    fused = fuse([first, other], method="probfuse", qrels=qrels, segments=2)
    expected = {"a": p1 + o2 / 2, "b": p1 + o1, "c": p2 / 2, "d": p2 / 2, "e": o1}
    assert fused["q"] == pytest.approx(expected)
    own = {"a": 1 + 1 / 2, "b": 1 + 1 / 2, "c": 1 / 4, "d": 1 / 4, "e": 1 / 2}
    assert fused["t1"] == pytest.approx(own)  # learnt from t2 alone


def test_same_ranks_in_another_order_tie_exactly() -> None:
    """Added from the left, 1/61 + 1/62 + 1/67 is not 1/67 + 1/61 + 1/62."""
    between = ["v", "w", "x", "y"]
    runs = [{"q": [*two, *between, last]} for two, last in (("ab", "c"), ("bc", "a"), ("ca", "b"))]
    fused = fuse(runs)["q"]
    assert fused["a"] == fused["b"] == fused["c"]
    assert [doc_id for doc_id in fused if doc_id in "abc"] == ["c", "b", "a"]
    assert 1 / 61 + 1 / 62 + 1 / 67 != 1 / 67 + 1 / 61 + 1 / 62


def test_ties_are_ranked_by_id_from_high_to_low_by_bytes() -> None:
    ranked = fuse([{"q": {"D10": 1.0, "D9": 1.0, "é": 1.0}}])["q"]
    assert ranked == {"é": 1 / 61, "D9": 1 / 62, "D10": 1 / 63}


def test_queries_that_only_some_runs_have() -> None:
    fused = fuse([{"q1": ["a"], "q2": ["b"]}, {"q3": ["c"], "q2": ["d"]}])
    assert fused.query_ids == ["q1", "q2", "q3"]
    assert fused.to_dict() == {"q1": {"a": 1 / 61}, "q2": {"d": 1 / 61, "b": 1 / 61},
                               "q3": {"c": 1 / 61}}  # fmt: skip


def test_queries_without_documents_stay_in_their_place() -> None:
    fused = fuse([Run({"q1": {}, "q2": ["a"], "q3": {}}), Run({"q3": ["b"]})])
    assert fused.query_ids == ["q2", "q1", "q3"]  # as the first run has them
    assert fused["q1"] == {}
    assert fuse([{}, {}]).query_ids == []
    assert fuse([{"q": {}}], method="condorcet").to_dict() == {"q": {}}


@pytest.mark.parametrize(
    ("name", "value"), [("minmax", 1.0), ("max", 1.0), ("sum", 0.5), ("zscore", 0.0)]
)
@pytest.mark.parametrize("score", [-2.0, 0.0, 0.1, 7.0])
def test_equal_scores(name: str, value: float, score: float) -> None:
    fused = fuse([{"q": {"a": score, "b": score}}, {"q": {"c": 1.0, "a": 0.0}}], method=name)["q"]
    second = fuse([{"q": {"c": 1.0, "a": 0.0}}], method=name)["q"]
    assert fused["b"] == pytest.approx(value + (second["a"] if name == "zscore" else 0))
    assert fused["c"] == second["c"] + (-1 if name == "zscore" else 0)


def test_a_single_document_counts_for_something() -> None:
    """The one document that a run is sure of gains by every normalisation."""
    for name in NORMALISATIONS:
        fused = fuse([{"q": {"b": 0.2}}, {"q": {"a": 3, "b": 2.9, "c": 1}}], method=name)["q"]
        assert next(iter(fused)) == "b", name


def test_a_returned_document_is_never_worth_less_than_one_that_is_not() -> None:
    negative = {"q": {"a": -1.0, "b": -5.0}}
    for name in NORMALISATIONS:
        fused = fuse([negative, {"q": {"c": -3.0}}], method=name, weights=[1, 0])["q"]
        assert fused["a"] > fused["b"] >= fused["c"], name


def test_a_cycle_is_a_tie() -> None:
    runs = [{"q": ["a", "b", "c", "x"]}, {"q": ["b", "c", "a", "x"]}, {"q": ["c", "a", "b", "x"]}]
    assert fuse(runs, method="condorcet")["q"] == {"c": 1, "b": 1, "a": 1, "x": -3}


def test_a_draw_by_weights_is_a_draw() -> None:
    runs = [{"q": ["a", "b"]}, {"q": ["a", "b"]}, {"q": ["b", "a"]}]
    fused = fuse(runs, method="condorcet", weights=[0.1, 0.2, 0.3])["q"]
    assert fused == {"b": 0, "a": 0}  # though 0.1 + 0.2 > 0.3


def test_sigma_keeps_the_order_of_documents_found_once() -> None:
    runs = [{"q": ["a", "b", "z"]}, {"q": ["a"]}]
    assert list(fuse(runs, method="logisr")["q"]) == ["a", "z", "b"]
    assert list(fuse(runs, method="logisr", sigma=0.01)["q"]) == ["a", "b", "z"]


def test_probfuse_does_not_look_at_a_query_for_itself() -> None:
    runs = [{q: ["a", "b", "c"] for q in ("q1", "q2", "q3")}, {"q1": ["c"], "q3": ["b", "a"]}]
    qrels = {"q1": {"a": 1, "b": 0, "c": 1}, "q2": {"b": 1}, "q3": {"a": 0, "c": 1}}
    before = fuse(runs, method="probfuse", qrels=qrels, segments=3)
    for own, grades in qrels.items():
        turned = {d: 1 - g for d, g in grades.items()}
        after = fuse(runs, method="probfuse", qrels={**qrels, own: turned}, segments=3)
        assert after[own] == before[own]
        assert after != before


def test_many_small_queries() -> None:
    """More queries in a block than 16 bits can number."""
    queries = [f"q{n}" for n in range(70_000)]
    fused = fuse([{q: {"a": 1.0} for q in queries}, {q: {"b": 1.0} for q in queries}])
    assert fused.query_ids == queries
    assert fused.doc_ids.to_list() == ["b", "a"] * 70_000


def test_forms(tmp_path: Path) -> None:
    expected = fuse([ONE, TWO])
    path = tmp_path / "two.run"
    Run(TWO).write(path)
    frame = Run(ONE).to_polars()
    assert fuse([frame, path]) == expected
    assert fuse([Run(ONE), str(path)]) == expected
    assert fuse({"one": Run(ONE).to_pandas(), "two": TWO}, weights={"two": 1, "one": 1}) == expected
    ones: Any = np.array([1, 1])
    assert fuse(iter([ONE, TWO]), weights=ones) == expected
    assert fuse(Run(ONE)) == fuse([ONE])


def test_the_result_is_a_valid_run_under_its_name(tmp_path: Path) -> None:
    fused = fuse([ONE, TWO], method="Comb-MNZ", normalise="min_max")
    assert fused.name == "combmnz"
    assert fuse([ONE], name="hybrid").name == "hybrid"
    fused.write(tmp_path / "fused.run")
    assert validate_run(tmp_path / "fused.run", depth=1).ok
    assert read_run(tmp_path / "fused.run") == fused
    assert Run(fused.to_polars()) == fused


def test_the_runs_are_not_changed() -> None:
    frame = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, 2.0]})
    copy, plain = frame.clone(), {"q": {"a": 1.0, "b": 2.0}}
    fuse([frame, plain], method="minmax")
    assert frame.equals(copy)
    assert list(plain["q"].items()) == [("a", 1.0), ("b", 2.0)]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"weights": [1]}, "there are 2 runs and 1 weights; give one weight for each run"),
        ({"weights": [1, -0.5]}, "a weight must be a number from 0 up, not -0.5"),
        ({"weights": [1, math.nan]}, "a weight must be a number from 0 up, not nan"),
        ({"weights": [1, "2"]}, "a weight must be a number from 0 up, not 2"),
        ({"weights": [0, 0]}, "all weights are 0; give at least one run a weight above 0"),
        ({"weights": {"run1": 1}}, "run 'run2' has no weight; give one for each run"),
        ({"k": 0}, "k must be a number above 0, not 0"),
        ({"k": -1.5}, "k must be a number above 0, not -1.5"),
        ({"k": math.inf}, "k must be a number above 0, not inf"),
        ({"method": "rbc", "p": 1}, "p must be strictly between 0 and 1, not 1"),
        ({"method": "logisr", "sigma": -1}, "sigma must be a number from 0 up, not -1"),
        ({"method": "probfuse", "segments": 0}, "segments must be a whole number from 1 up, not 0"),
        ({"depth": 0}, "depth must be a whole number from 1 up, not 0"),
        ({"depth": 2.5}, "depth must be a whole number from 1 up, not 2.5"),
        ({"normalise": "minmax"}, "rrf takes no normalise; it takes k and weights"),
        ({"method": "combsum", "k": 10}, "combsum takes no k; it takes normalise and weights"),
        ({"method": "combmax", "weights": [1, 2]}, "combmax takes no weights; it takes normalise"),
        (
            {"method": "probfuse"},
            "probfuse learns from judgments; give qrels of queries in the runs",
        ),
        (
            {"method": "probfuse", "qrels": {"other": {"a": 1}}},
            "probfuse has nothing to learn from: no judged query is in the runs",
        ),
        (
            {"method": "probfuse", "qrels": {"q": {"a": 1}}},
            (
                "probfuse never fuses a query by its own judgments, and 'q' is the only judged "
                "query in the runs; give judgments of at least two"
            ),
        ),
    ],
)
def test_mistakes(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        fuse([ONE, TWO], **options)
    assert str(caught.value) == sentence


def test_unknown_names() -> None:
    with pytest.raises(UnknownNameError, match="unknown fusion method 'rff'; nearest: rrf"):
        fuse([ONE], method="rff")
    with pytest.raises(UnknownNameError, match="unknown normalisation 'zscor'; nearest: zscore"):
        fuse([ONE], method="combsum", normalise="zscor")
    with pytest.raises(UnknownNameError, match="run in the weights 'dens'; nearest: dense"):
        fuse({"dense": ONE}, weights={"dens": 1})


@pytest.mark.parametrize("runs", [[], {}])
def test_no_run(runs: Any) -> None:
    with pytest.raises(InputError, match="there is no run to fuse"):
        fuse(runs)


def test_a_run_in_place_of_runs() -> None:
    with pytest.raises(InputError, match="q holds numbers where lists of documents should be"):
        fuse(ONE)
    with pytest.raises(InputError, match="expected a list of runs, got 'int'"):
        fuse(3)


def test_scores_too_large() -> None:
    huge = {"q": {"a": 1e308, "b": 1.0}}
    with pytest.raises(InputError, match="query 'q': the fused score of document 'a' is too large"):
        fuse([huge, huge], method="combsum")
    assert fuse([huge, huge], method="combmed")["q"]["a"] == 1e308


@pytest.mark.parametrize("module", ["fuse", "methods", "normalisation", "pooling"])
def test_examples_run(module: str) -> None:
    found = import_module(f"rankscope.runs.fusion.{module}")
    assert doctest.testmod(found, optionflags=doctest.ELLIPSIS).failed == 0


@pytest.mark.parametrize("name", METHODS)
def test_methods_say_what_they_do(name: str) -> None:
    page = DOCS.read_text("utf-8")
    assert f"`{name}`" in page
    said = METHODS[name].function.__doc__ or ""
    if name in NORMALISATIONS:
        said = NORMALISATIONS[name].__doc__ or ""
    assert all(f"{word}: " in said for word in ("Formula", "Not returned", "Reference"))
