"""Fusion: values by hand, a plain twin of every method, ranx, and the edges of the definitions."""

from __future__ import annotations

import doctest
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankscope.collection.qrels import read_qrels
from rankscope.errors import InputError, UnknownNameError
from rankscope.evaluation import evaluate
from rankscope.runs import pooling
from rankscope.runs.fusion import fuse
from rankscope.runs.fusion_methods import METHODS
from rankscope.runs.normalisation import NORMALISATIONS
from rankscope.runs.run import Run, read_run
from rankscope.runs.validation import validate_run

DOCS = Path(__file__).parents[2] / "docs" / "fusion.md"
ROBUST = Path(__file__).parents[3] / "shared" / "collections" / "robust03"

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


# ---------------------------------------------------------------------------- plain twins

Twin = Callable[[list[List], list[float]], List]


def ranks(documents: List) -> dict[str, int]:
    return {doc_id: at for at, doc_id in enumerate(order_of(documents), start=1)}


def normal(name: str, documents: List) -> tuple[List, float]:
    """Normalise a list; also return what a document is worth that is not in it."""
    if not documents:
        return {}, 0.0
    values, size = list(documents.values()), len(documents)
    high, low = max(values), min(values)
    if name == "rank":
        return {d: 1 - (r - 1) / size for d, r in ranks(documents).items()}, 0.0
    if name == "zscore":
        if high == low:
            return dict.fromkeys(documents, 0.0), -1.0
        mean = math.fsum(values) / size
        sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / size)
        return {d: (v - mean) / sd for d, v in documents.items()}, (low - mean) / sd
    zero = min(0.0, low) if name == "max" else low
    below = math.fsum(v - zero for v in values) if name == "sum" else high - zero
    if below == 0:
        return dict.fromkeys(documents, 1 / size if name == "sum" else 1.0), 0.0
    return {d: (v - zero) / below for d, v in documents.items()}, 0.0


def everything(lists: list[List]) -> set[str]:
    return {doc_id for documents in lists for doc_id in documents}


def by_rank(points: Callable[[int], float]) -> Twin:
    def twin(lists: list[List], weights: list[float]) -> List:
        ranked = [ranks(documents) for documents in lists]
        return {
            d: math.fsum(w * points(r[d]) for r, w in zip(ranked, weights, strict=True) if d in r)
            for d in everything(lists)
        }

    return twin


def times_found(twin: Twin, factor: Callable[[int], float]) -> Twin:
    def multiplied(lists: list[List], weights: list[float]) -> List:
        return {
            d: value * factor(sum(d in documents for documents in lists))
            for d, value in twin(lists, weights).items()
        }

    return multiplied


def mix(name: str) -> Twin:
    def twin(lists: list[List], weights: list[float]) -> List:
        made = [normal(name, documents) for documents in lists]
        return {
            d: math.fsum(
                w * values.get(d, absent) for (values, absent), w in zip(made, weights, strict=True)
            )
            for d in everything(lists)
        }

    return twin


def comb(combine: Callable[[list[float]], float], normalise: str | None = None) -> Twin:
    def twin(lists: list[List], weights: list[float]) -> List:
        made = [normal(normalise, one)[0] if normalise else one for one in lists]
        return {
            d: combine([w * one[d] for one, w in zip(made, weights, strict=True) if d in one])
            for d in everything(lists)
        }

    return twin


def borda(lists: list[List], weights: list[float]) -> List:
    candidates = everything(lists)
    count = len(candidates)
    ranked = [ranks(documents) for documents in lists]
    return {
        d: math.fsum(
            w * (count - r[d] + 1 if d in r else (count - len(r) + 1) / 2)
            for r, w in zip(ranked, weights, strict=True)
        )
        for d in candidates
    }


def condorcet(lists: list[List], weights: list[float]) -> List:
    candidates = everything(lists)
    ranked = [ranks(documents) for documents in lists]
    far = 1 + max((len(r) for r in ranked), default=0)

    def sign(x: str, y: str) -> int:
        lead = math.fsum(
            w * np.sign(r.get(y, far) - r.get(x, far)) for r, w in zip(ranked, weights, strict=True)
        )
        return int(np.sign(round(lead, 9)))

    return {x: float(sum(sign(x, y) for y in candidates)) for x in candidates}


COMBINATIONS: dict[str, Callable[[list[float]], float]] = {
    "combsum": math.fsum,
    "combmnz": lambda found: len(found) * math.fsum(found),
    "combanz": lambda found: math.fsum(found) / len(found),
    "combmax": max,
    "combmin": min,
    "combmed": statistics.median,
}

TWINS: dict[str, Twin] = {
    "rrf": by_rank(lambda r: 1 / (60 + r)),
    "rbc": by_rank(lambda r: 0.1 * 0.9 ** (r - 1)),
    "isr": times_found(by_rank(lambda r: 1 / r**2), float),
    "logisr": times_found(by_rank(lambda r: 1 / r**2), math.log),
    "borda": borda,
    "condorcet": condorcet,
    **{name: mix(name) for name in NORMALISATIONS},
    **{name: comb(combine) for name, combine in COMBINATIONS.items()},
}


def test_every_method_has_a_twin_and_a_value_by_hand() -> None:
    assert {*TWINS, "probfuse"} == {*BY_HAND, "probfuse"} == set(METHODS)


IDS = st.sampled_from(["d1", "d10", "d2", "D9", "é", "z", "😀"])
SCORES = st.one_of(
    st.integers(-3, 3).map(float), st.floats(-1e3, 1e3).filter(lambda x: abs(x) > 1e-3)
)
RUNS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(IDS, SCORES, max_size=6), max_size=3
)


def fused_by_twin(twin: Twin, runs: list[Lists], weights: list[float]) -> Lists:
    queries = dict.fromkeys(q for run in runs for q in run)
    return {q: twin([run.get(q, {}) for run in runs], weights) for q in queries}


@pytest.mark.parametrize("name", TWINS)
@settings(max_examples=40, deadline=None)
@given(
    data=st.data(),
    runs=st.lists(RUNS, min_size=1, max_size=4),
    block=st.sampled_from([1, pooling.BLOCK]),
)
def test_twins(name: str, data: st.DataObject, runs: list[Lists], block: int) -> None:
    weights = [1.0] * len(runs)
    if METHODS[name].is_weighted:
        level = st.sampled_from([0.0, 0.3, 1.0, 2.5])
        drawn = st.lists(level, min_size=len(runs), max_size=len(runs)).filter(any)
        weights = data.draw(drawn)
    given_weights = weights if METHODS[name].is_weighted else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling, "BLOCK", block)
        fused = fuse(runs, method=name, weights=given_weights)
    close(fused, fused_by_twin(TWINS[name], runs, weights))


@settings(max_examples=120, deadline=None)
@given(
    name=st.sampled_from(sorted(COMBINATIONS)),
    normalise=st.sampled_from(sorted(NORMALISATIONS)),
    runs=st.lists(RUNS, min_size=1, max_size=4),
)
def test_twins_of_normalised_scores(name: str, normalise: str, runs: list[Lists]) -> None:
    twin = comb(COMBINATIONS[name], normalise)
    fused = fuse(runs, method=name, normalise=normalise)
    close(fused, fused_by_twin(twin, runs, [1.0] * len(runs)))


@settings(max_examples=60, deadline=None)
@given(
    runs=st.lists(RUNS, min_size=1, max_size=3),
    grades=st.dictionaries(
        st.sampled_from(["q1", "q2", "q3", "q4"]), st.dictionaries(IDS, st.integers(0, 2))
    ),
    segments=st.integers(1, 7),
)
def test_probfuse_twin(runs: list[Lists], grades: dict[str, dict[str, int]], segments: int) -> None:
    queries = list(dict.fromkeys(q for run in runs for q in run))
    judged = [q for q in queries if q in grades]
    if len(judged) < 2:
        with pytest.raises(InputError, match="probfuse"):
            fuse(runs, method="probfuse", qrels=grades, segments=segments)
        return

    def segment(rank: int, size: int) -> int:
        return (rank - 1) * segments // size

    def probability(run: Lists, own: str, which: int) -> float:
        shares = []
        for q in judged:
            if q != own:
                ranked = ranks(run.get(q, {}))
                part = [d for d, r in ranked.items() if segment(r, len(ranked)) == which]
                if part:
                    shares.append(sum(grades[q].get(d, 0) >= 1 for d in part) / len(part))
        return statistics.fmean(shares) if shares else 0.0

    expected: Lists = {}
    for q in queries:
        expected[q] = dict.fromkeys(everything([run.get(q, {}) for run in runs]), 0.0)
        for run in runs:
            ranked = ranks(run.get(q, {}))
            for d, r in ranked.items():
                which = segment(r, len(ranked))
                expected[q][d] += probability(run, q, which) / (which + 1)
    close(fuse(runs, method="probfuse", qrels=grades, segments=segments), expected)


# ---------------------------------------------------------------------------- laws

UNTRAINED = [name for name in METHODS if name != "probfuse"]


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(UNTRAINED),
    runs=st.lists(RUNS, min_size=2, max_size=4),
    random=st.randoms(use_true_random=False),
)
def test_the_order_of_runs_and_rows_makes_no_difference(
    name: str, runs: list[Lists], random: Any
) -> None:
    def shuffled(items: Any) -> list[Any]:
        listed = list(items)
        random.shuffle(listed)
        return listed

    mixed = [
        {q: dict(shuffled(docs.items())) for q, docs in shuffled(run.items())}
        for run in shuffled(runs)
    ]
    straight, other = fuse(runs, method=name).to_dict(), fuse(mixed, method=name).to_dict()
    assert {q: list(docs.items()) for q, docs in straight.items()} == {
        q: list(other[q].items()) for q in straight
    }


@settings(max_examples=120, deadline=None)
@given(name=st.sampled_from([name for name in UNTRAINED if name != "logisr"]), run=RUNS)
def test_one_run_keeps_its_order(name: str, run: Lists) -> None:
    fused = fuse([run], method=name).to_dict()
    assert {q: list(docs) for q, docs in fused.items()} == {
        q: order_of(docs) for q, docs in run.items()
    }


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(UNTRAINED),
    runs=st.lists(RUNS, min_size=1, max_size=3),
    depth=st.integers(1, 4),
)
def test_depth_keeps_the_best(name: str, runs: list[Lists], depth: int) -> None:
    whole, cut = fuse(runs, method=name).to_dict(), fuse(runs, method=name, depth=depth).to_dict()
    assert cut == {q: dict(list(docs.items())[:depth]) for q, docs in whole.items()}


@pytest.mark.parametrize("name", ["minmax", "zscore", "sum", "max"])
@settings(max_examples=60, deadline=None)
@given(
    run=st.dictionaries(IDS, st.floats(allow_nan=False, allow_infinity=False), min_size=1),
    exponent=st.integers(-30, 30),
)
@example(run={"a": 1.7e308, "b": -1.7e308}, exponent=0)
@example(run={"a": 5e-324, "b": 0.0}, exponent=0)
@example(run={"a": 0.1, "b": 0.1, "z": 0.1}, exponent=0)
def test_normalisation_knows_no_unit_and_never_overflows(
    name: str, run: List, exponent: int
) -> None:
    fused = fuse([{"q": run}], method=name)["q"]
    assert all(math.isfinite(score) for score in fused.values())
    assert name == "zscore" or all(0 <= score <= 1 for score in fused.values())
    if all(score == 0 or 1e-200 < abs(score) < 1e200 for score in run.values()):
        scaled = {"q": {doc_id: math.ldexp(score, exponent) for doc_id, score in run.items()}}
        assert fuse([scaled], method=name)["q"] == fused


# ---------------------------------------------------------------------------- edges


def test_same_ranks_in_another_order_tie_exactly() -> None:
    """1/61 + 1/62 + 1/63 is not 1/63 + 1/62 + 1/61 if added from the left."""
    runs = [{"q": ["a", "b", "c"]}, {"q": ["b", "c", "a"]}, {"q": ["c", "a", "b"]}]
    fused = fuse(runs)["q"]
    assert len(set(fused.values())) == 1
    assert list(fused) == ["c", "b", "a"]


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
    run = {f"q{n}": {"b": 1.0, "a": 1.0} for n in range(70_000)}
    fused = fuse([run])
    assert fused.query_ids == list(run)
    assert fused.doc_ids.to_list() == ["b", "a"] * 70_000


# ---------------------------------------------------------------------------- forms and mistakes


def test_forms(tmp_path: Path) -> None:
    expected = fuse([ONE, TWO])
    path = tmp_path / "two.run"
    Run(TWO).write(path)
    frame = Run(ONE).to_polars()
    assert fuse([frame, path]) == expected
    assert fuse([Run(ONE), str(path)]) == expected
    assert fuse({"one": Run(ONE).to_pandas(), "two": TWO}, weights={"two": 1, "one": 1}) == expected
    assert fuse(iter([ONE, TWO]), weights=np.array([1, 1])) == expected
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
            "probfuse learns from judgments; give qrels, of queries the runs answer",
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
    with pytest.raises(InputError, match="expected a list of runs, found 'int'"):
        fuse(3)


def test_scores_too_large() -> None:
    huge = {"q": {"a": 1e308, "b": 1.0}}
    with pytest.raises(InputError, match="query 'q': the fused score of document 'a' is too large"):
        fuse([huge, huge], method="combsum")
    assert fuse([huge, huge], method="combmed")["q"]["a"] == 1e308


@pytest.mark.parametrize("module", ["fusion", "fusion_methods", "normalisation", "pooling"])
def test_examples_run(module: str) -> None:
    found = import_module(f"rankscope.runs.{module}")
    assert doctest.testmod(found, optionflags=doctest.ELLIPSIS).failed == 0


@pytest.mark.parametrize("name", METHODS)
def test_methods_say_what_they_do(name: str) -> None:
    page = DOCS.read_text("utf-8")
    assert f"`{name}`" in page
    said = METHODS[name].function.__doc__ or ""
    if name in NORMALISATIONS:
        said = NORMALISATIONS[name].__doc__ or ""
    assert all(f"{word}: " in said for word in ("Formula", "Not returned", "Reference"))


# ---------------------------------------------------------------------------- ranx

ASK_RANX = """
import json, sys
from ranx import Qrels, Run, fuse
from ranx.fusion import probfuse_train

made = []
for runs, methods, qrels in json.load(sys.stdin):
    made.append({})
    for key, (norm, method, params) in methods.items():
        taken = [Run(run, name="run") for run in runs]
        if method == "probfuse":
            train = [Run({q: run[q] for q in qrels}, name="run") for run in runs]
            params = {"probs": probfuse_train(Qrels(qrels), train, **params)}
        fused = fuse(taken, norm=norm, method=method, params=params)
        scores = {q: {d: float(s) for d, s in docs.items()} for q, docs in fused.run.items()}
        made[-1][key] = scores
print(json.dumps(made))
"""

Asked = dict[str, tuple[str | None, str, dict[str, Any]]]
WEIGHTS = [0.5, 0.2, 0.3]

RANX: dict[str, tuple[str | None, str, dict[str, Any], dict[str, Any]]] = {
    # ours: norm, method and params of ranx, our options
    "rrf": (None, "rrf", {"k": 60}, {}),
    "minmax": ("min-max", "wsum", {"weights": WEIGHTS}, {"weights": WEIGHTS}),
    "rank": ("rank", "wsum", {"weights": WEIGHTS}, {"weights": WEIGHTS}),
    "sum": ("sum", "wsum", {"weights": WEIGHTS}, {"weights": WEIGHTS}),
    "max": ("max", "wsum", {"weights": WEIGHTS}, {"weights": WEIGHTS}),
    "combsum": ("zmuv", "sum", {}, {"normalise": "zscore"}),
    "combmnz": ("min-max", "mnz", {}, {"normalise": "minmax"}),
    "combanz": (None, "anz", {}, {}),
    "combmax": (None, "max", {}, {}),
    "combmin": (None, "min", {}, {}),
    "combmed": ("rank", "med", {}, {"normalise": "rank"}),
    "isr": (None, "isr", {}, {}),
    "logisr": (None, "logn_isr", {"sigma": 0.01}, {"sigma": 0.01}),
    "rbc": (None, "rbc", {"phi": 0.8}, {"p": 0.8}),
    "borda": (None, "w_bordafuse", {"weights": WEIGHTS}, {"weights": WEIGHTS}),
    "condorcet": (None, "condorcet", {}, {}),
    "probfuse": (None, "probfuse", {"n_segments": 5}, {"segments": 5}),
}


def shared_world() -> tuple[list[Lists], dict[str, dict[str, int]]]:
    """Three runs of 8 queries and 10 documents of 15 each, without ties; the first five judged."""
    random = np.random.default_rng(5)
    docs = [f"d{n:02}" for n in range(15)]

    def some(count: int) -> list[str]:
        chosen: list[str] = random.permutation(docs)[:count].tolist()
        return chosen

    runs: list[Lists] = [
        {f"q{q}": dict(zip(some(10), random.gamma(3, size=10), strict=True)) for q in range(8)}
        for _ in range(3)
    ]
    return runs, {f"q{q}": dict.fromkeys(some(4), 1) for q in range(5)}


DIFFERENT: list[Lists] = [
    {
        "one": {"a": 0.9},
        "negative": {"a": -1.0, "b": -2.0},
        "list": {"a": 5.0, "b": 4.0, "c": 0.0},
        "majority": {"a": 3.0, "b": 2.0},
    },
    {
        "one": {"b": 3.0, "a": 2.0, "c": 1.0},
        "negative": {"c": 1.0, "d": 0.5},
        "list": {"d": 5.0, "b": 0.0},
        "majority": {"b": 3.0, "a": 2.0},
    },
]

ORDERLY: list[Lists] = [
    {"q": {d: -float(at) for at, d in enumerate(docs)}} for docs in ("abcd", "bacd", "acbd")
]


@pytest.fixture(scope="module")
def ranx() -> list[dict[str, Lists]]:
    """Ask ranx in a Python of its own, without its compiler: that would take a minute."""
    pytest.importorskip("ranx")
    runs, qrels = shared_world()
    agreed: Asked = {name: asked[:3] for name, asked in RANX.items()}
    equal = {"weights": [1, 1]}
    different: Asked = {
        "minmax": ("min-max", "wsum", equal),
        "zscore": ("zmuv", "wsum", equal),
        "max": ("max", "wsum", equal),
        "condorcet": (None, "condorcet", {}),
    }
    majority: Asked = {"condorcet": (None, "condorcet", {})}
    jobs = [(runs, agreed, qrels), (DIFFERENT, different, {}), (ORDERLY, majority, {})]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ASK_RANX],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    found: list[dict[str, Lists]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", [name for name in RANX if name != "condorcet"])
def test_ranx_agrees(name: str, ranx: list[dict[str, Lists]]) -> None:
    """On untied lists with positive scores, and for probfuse on queries not trained on."""
    runs, qrels = shared_world()
    options = RANX[name][3] | ({"qrels": qrels} if name == "probfuse" else {})
    ours = fuse(runs, method=name, **options).to_dict()
    for query_id, scores in ranx[0][name].items():
        if name == "probfuse" and query_id in qrels:
            assert ours[query_id] != pytest.approx(scores)  # ranx tests on what it trained on
        else:
            assert ours[query_id] == pytest.approx(scores)


def test_where_ranx_differs(ranx: list[dict[str, Lists]]) -> None:
    """One query for each difference; ours is what the definition says."""
    theirs = ranx[1]
    ours = {name: fuse(DIFFERENT, method=name).to_dict() for name in theirs}
    # A list of one document is 0/0. ranx makes it 0: as if the document had not been returned.
    assert theirs["minmax"]["one"]["a"] == 0.5
    assert ours["minmax"]["one"]["a"] == 1.5
    # By z-score 0 is the mean of a list. ranx gives it to whatever a list lacks, so that an unseen
    # document stands above the worse half of those seen: d gains 0 where c, which was seen, loses.
    assert theirs["zscore"]["list"]["d"] == pytest.approx(1.0)
    assert theirs["zscore"]["list"]["c"] < -1.0
    assert ours["zscore"]["list"]["d"] == pytest.approx(1.0 + theirs["zscore"]["list"]["c"])
    assert ours["zscore"]["list"]["c"] == pytest.approx(theirs["zscore"]["list"]["c"] - 1.0)
    # ranx divides by the highest score or 1e-9: negative scores explode, below all others.
    assert theirs["max"]["negative"]["a"] == pytest.approx(-1e9)
    assert ours["max"]["negative"] == {"c": 1.0, "a": 1.0, "d": 0.5, "b": 0.0}
    # A draw is won by whoever is compared first, in the order of a set of texts, which Python
    # changes from process to process: ranx always has a winner here, and not always the same.
    assert sorted(theirs["condorcet"]["majority"].values()) == [1, 2]
    assert ours["condorcet"]["majority"] == {"b": 0, "a": 0}


def test_condorcet_agrees_with_ranx_where_majorities_form_an_order(
    ranx: list[dict[str, Lists]],
) -> None:
    theirs = order_of(ranx[2]["condorcet"]["q"])
    assert theirs == list(fuse(ORDERLY, method="condorcet")["q"]) == ["a", "b", "c", "d"]


# ---------------------------------------------------------------------------- the real thing


@pytest.mark.skipif(not ROBUST.is_dir(), reason="needs ../shared/collections/robust03")
def test_fusion_beats_both_official_runs() -> None:
    """TREC 2003 Robust, average precision: the two runs have .3101 and .2998."""
    runs = [read_run(ROBUST / f"{name}.run.gz") for name in ("pircRBa1", "aplrob03a")]
    qrels = read_qrels(ROBUST / "qrels.txt.gz")
    scored = {"first": runs[0], "second": runs[1], "fused": fuse(runs)}
    ap = evaluate(qrels, scored, ["AP"])["AP"]
    assert ap["first"] == pytest.approx(0.3101, abs=5e-5)
    assert ap["fused"] > ap["first"] > ap["second"]
    assert ap["fused"] == pytest.approx(0.3265, abs=5e-5)
