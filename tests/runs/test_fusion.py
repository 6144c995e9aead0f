"""Fusion: the edges of the definitions, forms of input, and mistakes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError, UnknownNameError
from rankscope.runs.fusion.fuse import fuse
from rankscope.runs.fusion.normalisation import NORMALISATIONS
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
    assert fused.query_ids == ["q2", "q1", "q3"]  # as the first run has them
    assert fused["q1"] == {}
    assert fuse([{}, {}]).query_ids == []
    assert fuse([{"q": {}}], method="condorcet").to_dict() == {"q": {}}


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


def test_a_draw_by_weights_is_a_draw() -> None:
    runs = [{"q": ["a", "b"]}, {"q": ["a", "b"]}, {"q": ["b", "a"]}]
    fused = fuse(runs, method="condorcet", weights=[0.1, 0.2, 0.3])["q"]
    assert fused == {"b": 0, "a": 0}  # though 0.1 + 0.2 > 0.3


def test_sigma_keeps_the_order_of_documents_found_once() -> None:
    runs = [{"q": ["a", "b", "z"]}, {"q": ["a"]}]
    assert list(fuse(runs, method="logisr")["q"]) == ["a", "z", "b"]
    assert list(fuse(runs, method="logisr", sigma=0.01)["q"]) == ["a", "b", "z"]


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
        ({"weights": [1, "2"]}, "not 2"),
        ({"weights": [0, 0]}, "all weights"),
        ({"weights": {"run1": 1}}, "'run2'"),
        ({"weights": {"run1": 1, "run": 1}}, "nearest"),
        ({"k": 0}, "not 0"),
        ({"k": math.inf}, "inf"),
        ({"method": "rbc", "p": 1}, "not 1"),
        ({"method": "logisr", "sigma": -1}, "-1"),
        ({"method": "probfuse", "segments": 0}, "segments"),
        ({"depth": 0}, "not 0"),
        ({"depth": 2.5}, "2.5"),
        ({"normalise": "minmax"}, "no normalise"),
        ({"method": "combsum", "k": 10}, "no k"),
        ({"method": "combmax", "weights": [1, 2]}, "no weights"),
        ({"method": "probfuse"}, "give qrels"),
        ({"method": "probfuse", "qrels": {"other": {"a": 1}}}, "nothing to learn"),
        ({"method": "probfuse", "qrels": {"q": {"a": 1}}}, "at least two"),
        ({"method": "rff"}, "rrf"),
        ({"method": "combsum", "normalise": "zscor"}, "zscore"),
    ]
    for options, word in mistakes:
        with pytest.raises((InputError, UnknownNameError), match=word):
            fuse([ONE, TWO], **options)
    runs: list[tuple[Any, str]] = [([], "no run"), ({}, "no run"), (ONE, "numbers"), (3, "'int'")]
    for given, word in runs:
        with pytest.raises(InputError, match=word):
            fuse(given)
