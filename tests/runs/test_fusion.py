"""Fusion: the edges of the definitions, forms of input, and mistakes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankscope.errors import InputError, UnknownNameError
from rankscope.runs.fusion.fuse import fuse, normalize
from rankscope.runs.fusion.methods import METHODS
from rankscope.runs.fusion.pooling import NORMALISATIONS
from rankscope.runs.table import Run, read_run
from rankscope.runs.validation import validate_run

List = dict[str, float]
Lists = dict[str, List]

ONE: Lists = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 0.0}}
TWO: Lists = {"q": {"b": 10.0, "e": 6.0, "a": 2.0}}


def test_same_ranks_in_another_order_tie_exactly() -> None:
    """Added from the left, 1/61 + 1/62 + 1/67 is not 1/67 + 1/61 + 1/62."""
    between = ["v", "w", "x", "y"]
    runs = [{"q": [*two, *between, last]} for two, last in (("ab", "c"), ("bc", "a"), ("ca", "b"))]
    fused = fuse(runs)["q"]
    assert fused["a"] == fused["b"] == fused["c"]
    assert [doc_id for doc_id in fused if doc_id in "abc"] == ["c", "b", "a"]
    assert 1 / 61 + 1 / 62 + 1 / 67 != 1 / 67 + 1 / 61 + 1 / 62


def test_queries_that_only_some_runs_have() -> None:
    fused = fuse([{"q1": ["a"], "q2": ["b"]}, {"q3": ["c"], "q2": ["d"]}])
    assert fused.query_ids == ["q1", "q2", "q3"]
    assert fused.to_dict() == {"q1": {"a": 1 / 61}, "q2": {"d": 1 / 61, "b": 1 / 61},
                               "q3": {"c": 1 / 61}}  # fmt: skip


def test_queries_without_documents_stay_in_their_place() -> None:
    fused = fuse([Run({"q1": {}, "q2": ["a"], "q3": {}}), Run({"q3": ["b"]})])
    assert fused.query_ids == ["q1", "q2", "q3"]  # as the first run has them
    assert fused["q1"] == {}
    assert fuse([{}, {}]).query_ids == []
    assert fuse([{"q": {}}], method="condorcet").to_dict() == {"q": {}}


def test_a_single_document_counts_for_something() -> None:
    """The one document that a run is sure of gains by every normalisation."""
    runs = [{"q": {"b": 0.2}}, {"q": {"a": 3, "b": 2.9, "c": 1}}]
    for name in set(NORMALISATIONS) - {"minmaxinverted", "zscore"}:
        fused = fuse(runs, method="combsum", normalise=name)["q"]
        assert next(iter(fused)) == "b", name
    assert next(iter(fuse(runs, method="zscore")["q"])) == "b"


def test_a_returned_document_is_never_worth_less_than_one_that_is_not() -> None:
    runs = [{"q": {"a": -1.0, "b": -5.0}}, {"q": {"c": -3.0}}]
    asked = [("combsum", name) for name in set(NORMALISATIONS) - {"minmaxinverted", "zscore"}]
    for method, name in [*asked, ("zscore", None)]:
        fused = fuse(runs, method=method, normalise=name, weights=[1, 0])["q"]
        assert fused["a"] > fused["b"] >= fused["c"], name


def test_a_draw_by_weights_is_a_draw() -> None:
    runs = [{"q": ["a", "b"]}, {"q": ["a", "b"]}, {"q": ["b", "a"]}]
    fused = fuse(runs, method="condorcet", weights=[0.1, 0.2, 0.3])["q"]
    assert fused == {"b": 0, "a": 0}  # though 0.1 + 0.2 > 0.3


def test_sigma_keeps_the_order_of_documents_found_once() -> None:
    runs = [{"q": ["a", "b", "z"]}, {"q": ["a"]}]
    assert list(fuse(runs, method="logisr")["q"]) == ["a", "z", "b"]
    assert list(fuse(runs, method="lognisr")["q"]) == ["a", "b", "z"]


LEARNT_FROM: tuple[Lists, Lists] = (
    {
        "q1": {"a": 3, "b": 2, "c": 1},
        "q2": {"a": 3, "b": 2, "c": 1},
        "new": {"x": 3, "y": 2, "z": 1},
    },
    {"q1": {"b": 2, "a": 1}, "q2": {"c": 2, "b": 1}, "new": {"y": 5, "x": 4}},
)
JUDGED = {"q1": {"a": 1}, "q2": {"b": 2, "not found": 1}}

ODDS = math.log(0.2 / 0.8)
"""One relevant document among the first five ranks, of each run and query."""

TRAINED: dict[str, tuple[dict[str, Any], List]] = {
    "bayesfuse": ({}, {"x": 2 * ODDS, "y": 2 * ODDS, "z": ODDS + math.log(0.001 / 0.999)}),
    # MAP of the first: (1 + (1/2)/2) / 2 = 0.625; of the second: (1/2 + (1/2)/2) / 2 = 0.375
    "mapfuse": ({}, {"x": 0.625 + 0.375 / 2, "y": 0.625 / 2 + 0.375, "z": 0.625 / 3}),
    # relevant at ranks 1, 2, 3 of the first: 1/2, 1/2, 0; at ranks 1, 2 of the second: 0, 1
    "posfuse": ({}, {"x": 1.5, "y": 0.5, "z": 0.0}),
    "slidefuse": ({"window": 1}, {"x": 0.5 + 0.5, "y": 1 / 3 + 0.5, "z": 0.25}),
    "segfuse": ({}, {"x": 0.2 * 4 + 0.2 * 5, "y": 0.2 * 3 + 0.2 * 6, "z": 0.2 * 2}),
    # lists of 3 in pieces of 2: 1/2, 0; lists of 2 in pieces of 1: 0, 1
    "probfuse": ({"segments": 2}, {"x": 0.5 + 1 / 2, "y": 0.5, "z": 0.0}),
}


def test_every_trained_method_is_among_them() -> None:
    assert set(TRAINED) == {name for name, method in METHODS.items() if method.learns}


@pytest.mark.parametrize("name", TRAINED)
def test_trained_methods_by_hand(name: str) -> None:
    options, expected = TRAINED[name]
    fused = fuse(LEARNT_FROM, method=name, qrels=JUDGED, **options)["new"]
    assert fused == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", TRAINED)
def test_a_query_is_never_fused_by_its_own_judgments(name: str) -> None:
    """Whatever is judged for it, its list is the same to the last digit; others' are not."""
    random = np.random.default_rng(3)
    docs = [f"d{number}" for number in range(30)]
    runs: list[Lists] = [
        {q: dict(zip(random.permutation(docs)[:20].tolist(), random.random(20), strict=True))
         for q in ("q1", "q2", "q3", "q4")}
        for _ in range(3)
    ]  # fmt: skip
    judged = {
        q: dict.fromkeys(random.permutation(docs)[:7].tolist(), 1) for q in ("q1", "q2", "q3")
    }
    before = fuse(runs, method=name, qrels=judged)
    other = {**judged, "q1": dict.fromkeys(docs[:20], 1)}
    after = fuse(runs, method=name, qrels=other)
    assert after["q1"] == before["q1"]
    assert after["q4"] != before["q4"]


@pytest.mark.parametrize("name", TRAINED)
def test_a_run_that_returned_nothing_teaches_nothing(name: str) -> None:
    first, _ = LEARNT_FROM
    alone = fuse([first], method=name, qrels=JUDGED)["new"]
    beside = fuse([first, {}], method=name, qrels=JUDGED)["new"]
    absent = math.log(0.001 / 0.999) if name == "bayesfuse" else 0.0
    assert beside == pytest.approx({doc_id: score + absent for doc_id, score in alone.items()})


def test_lists_deeper_than_what_is_learnt() -> None:
    """Behind rank 1000 bayesfuse has the odds of a document that was not returned."""
    long = {f"d{number}": -float(number) for number in range(6000)}
    runs = [{"q1": long, "q2": long, "q3": long}, {"q3": {"e": 1.0}}]
    qrels = {"q1": {"d1200": 1}, "q2": {"d5500": 1}}
    fused = fuse(runs, method="bayesfuse", qrels=qrels)["q3"]
    assert fused["d1200"] == pytest.approx(2 * math.log(0.001 / 0.999))
    assert fuse(runs, method="segfuse", qrels=qrels)["q3"]["d5500"] == 0


def test_a_window_wider_than_the_lists_is_the_whole_list() -> None:
    fused = fuse(LEARNT_FROM, method="slidefuse", qrels=JUDGED, window=10**12)["new"]
    assert fused == pytest.approx({"x": 1 / 3 + 0.5, "y": 1 / 3 + 0.5, "z": 1 / 3})


def test_normalising_alone() -> None:
    run = Run({"q": {"a": 4.0, "b": 2.0, "c": 0.0}, "empty": {}}, name="mine")
    for name in ("minmax", "min-max", "min_max", "Min-Max"):
        assert normalize(run, name).to_dict() == {"q": {"a": 1, "b": 0.5, "c": 0}, "empty": {}}
    assert normalize(run).name == "mine"
    assert normalize(run, "min_max_inverted")["q"] == {"c": 1, "b": 0.5, "a": 0}
    assert list(normalize(run, "zmuv")["q"].values()) == pytest.approx([1.5**0.5, 0, -(1.5**0.5)])
    one, two = normalize([run, {"q": {"d": 1.0}}], "borda")
    assert one["q"] == {"a": 1.0, "b": 0.75, "c": 0.5, "d": 0.25}
    assert two["q"] == {"d": 1.0, "c": 0.5, "b": 0.5, "a": 0.5}
    with pytest.raises(UnknownNameError, match="minmax"):
        normalize(run, "minimax")


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
    assert validate_run(tmp_path / "fused.run").ok
    assert read_run(tmp_path / "fused.run") == fused
    assert Run(fused.to_polars()) == fused


def test_scores_too_large() -> None:
    huge = {"q": {"a": 1e308, "b": 1.0}}
    with pytest.raises(InputError, match="document 'a'"):
        fuse([huge, huge], method="combsum")
    assert fuse([huge, huge], method="combmed")["q"]["a"] == 1e308


def test_mistakes() -> None:
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"weights": [1]}, "2 runs and 1 weights"),
        ({"weights": [1, -0.5]}, "-0.5"),
        ({"weights": [1, math.nan]}, "nan"),
        ({"weights": [1, "2"]}, "not '2'"),
        ({"weights": [0, 0]}, "all weights"),
        ({"weights": {"run1": 1}}, "2 runs and 1 weights"),
        ({"weights": {"run1": 1, "run": 1}}, "nearest"),
        ({"k": 0}, "not 0"),
        ({"k": math.inf}, "inf"),
        ({"method": "rbc", "p": 1}, "not 1"),
        ({"method": "lognisr", "sigma": -1}, "-1"),
        ({"method": "logisr", "sigma": 1}, "no sigma"),
        ({"method": "gmnz", "gamma": -1}, "-1"),
        ({"method": "slidefuse", "window": 0}, "window"),
        ({"method": "probfuse", "segments": 0}, "segments"),
        ({"depth": 0}, "not 0"),
        ({"depth": 2.5}, "2.5"),
        ({"normalise": "minmax"}, "no normalise"),
        ({"method": "combsum", "k": 10}, "no k"),
        ({"method": "combmax", "weights": [1, 2]}, "no weights"),
        ({"method": "probfuse"}, "give qrels"),
        ({"method": "probfuse", "qrels": {"other": {"a": 1}}}, "two queries"),
        ({"method": "probfuse", "qrels": {"q": {"a": 1}}}, "two queries"),
        ({"method": "rff"}, "rrf"),
        ({"method": None}, "None"),
        ({"method": "combsum", "normalise": 3}, "'3'"),
        ({"method": "combsum", "normalise": "zscor"}, "zscore"),
    ]
    for options, word in mistakes:
        with pytest.raises((InputError, UnknownNameError), match=word):
            fuse([ONE, TWO], **options)
    runs: list[tuple[Any, str]] = [([], "no run"), ({}, "no run"), (ONE, "float"), (3, "'int'")]
    for given, word in runs:
        with pytest.raises(InputError, match=word):
            fuse(given)


def test_two_columns_of_documents_are_never_chosen_between_in_silence() -> None:
    rows = [{"qid": "q", "docid": 7, "docno": "a", "score": 2.0},
            {"qid": "q", "docid": 9, "docno": "b", "score": 1.0}]  # fmt: skip
    frame = pl.DataFrame(rows)
    assert list(fuse([frame, frame])["q"]) == ["a", "b"], "PyTerrier's docno"
    other = frame.rename({"docid": "product_id", "docno": "doc_id"})
    with pytest.raises(InputError, match="retrieved="):
        fuse([other, other])
    assert list(fuse([other, other], retrieved="product_id")["q"]) == ["7", "9"]
