"""Fusion against a plain twin of every method, and laws that all methods keep."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankscope.errors import InputError
from rankscope.runs import order
from rankscope.runs.fusion.fuse import fuse, normalize
from rankscope.runs.fusion.methods import METHODS
from rankscope.runs.fusion.pooling import NORMALISATIONS
from rankscope.runs.table import Run

List = dict[str, float]
Lists = dict[str, List]


def order_of(scores: List) -> list[str]:
    """By score from high to low, then by id from high to low by bytes."""
    return sorted(sorted(scores, key=str.encode, reverse=True), key=lambda d: -scores[d])


def close(found: Run, expected: Lists, tolerance: float = 1e-9) -> None:
    made = found.to_dict()
    assert made.keys() == expected.keys()
    for query_id, scores in expected.items():
        assert made[query_id] == pytest.approx(scores, rel=tolerance, abs=tolerance)
        assert list(made[query_id]) == order_of(made[query_id])


Twin = Callable[[list[List], list[float]], List]


def ranks(documents: List) -> dict[str, int]:
    return {doc_id: at for at, doc_id in enumerate(order_of(documents), start=1)}


def normal(name: str, documents: List) -> tuple[List, float]:
    """Normalise a list; also return what a document is worth that is not in it."""
    if not documents:
        return {}, 0.0
    if name == "minmaxinverted":
        return normal("minmax", {d: -v for d, v in documents.items()})
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


def normalised(lists: list[List], name: str | None) -> list[List]:
    if name != "borda":
        return [normal(name, one)[0] if name else one for one in lists]
    candidates = everything(lists)
    return [
        {d: points / len(candidates) for d, points in borda_points(one, candidates).items()}
        for one in lists
    ]


def comb(combine: Callable[[list[float]], float], normalise: str | None = None) -> Twin:
    def twin(lists: list[List], weights: list[float]) -> List:
        made = normalised(lists, normalise)
        return {
            d: combine([w * one[d] for one, w in zip(made, weights, strict=True) if d in one])
            for d in everything(lists)
        }

    return twin


def borda_points(documents: List, candidates: set[str]) -> List:
    ranked, count = ranks(documents), len(candidates)
    shared = (count - len(ranked) + 1) / 2
    return {d: count - ranked[d] + 1 if d in ranked else shared for d in candidates}


def borda(lists: list[List], weights: list[float]) -> List:
    candidates = everything(lists)
    points = [borda_points(documents, candidates) for documents in lists]
    return {
        d: math.fsum(w * one[d] for one, w in zip(points, weights, strict=True)) for d in candidates
    }


def wmnz(lists: list[List], weights: list[float]) -> List:
    found = {d: [at for at, one in enumerate(lists) if d in one] for d in everything(lists)}
    return {
        d: math.fsum(weights[at] for at in places) * math.fsum(lists[at][d] for at in places)
        for d, places in found.items()
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
    "gmnz": lambda found: len(found) * math.fsum(found),
    "mixed": lambda found: math.sqrt(len(found)) * math.fsum(found),
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
    "lognisr": times_found(by_rank(lambda r: 1 / r**2), lambda n: math.log(n + 0.01)),
    "wmnz": wmnz,
    "borda": borda,
    "condorcet": condorcet,
    "minmax": mix("minmax"),
    "zscore": mix("zscore"),
    **{name: comb(combine) for name, combine in COMBINATIONS.items()},
}


UNTRAINED = [name for name, method in METHODS.items() if method.learns is None]


def test_every_method_has_a_twin() -> None:
    assert set(TWINS) == set(UNTRAINED)


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
@settings(max_examples=15, deadline=None)
@given(
    data=st.data(),
    runs=st.lists(RUNS, min_size=1, max_size=4),
    block=st.sampled_from([1, order.BLOCK]),
)
def test_twins(name: str, data: st.DataObject, runs: list[Lists], block: int) -> None:
    weights = [1.0] * len(runs)
    if METHODS[name].is_weighted:
        level = st.sampled_from([0.0, 0.3, 1.0, 2.5])
        drawn = st.lists(level, min_size=len(runs), max_size=len(runs)).filter(any)
        weights = data.draw(drawn)
    given_weights = weights if METHODS[name].is_weighted else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "BLOCK", block)
        fused = fuse(runs, method=name, weights=given_weights)
    close(fused, fused_by_twin(TWINS[name], runs, weights))


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(sorted(COMBINATIONS)),
    normalise=st.sampled_from(sorted(NORMALISATIONS)),
    runs=st.lists(RUNS, min_size=1, max_size=4),
)
def test_twins_of_normalised_scores(name: str, normalise: str, runs: list[Lists]) -> None:
    twin = comb(COMBINATIONS[name], normalise)
    fused = fuse(runs, method=name, normalise=normalise)
    close(fused, fused_by_twin(twin, runs, [1.0] * len(runs)))


@settings(max_examples=30, deadline=None)
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
        return (rank - 1) // math.ceil(size / segments)

    def probability(run: Lists, own: str, which: int) -> float:
        shares = []
        for q in judged:
            if q != own:
                ranked = ranks(run.get(q, {}))
                part = [d for d, r in ranked.items() if segment(r, len(ranked)) == which]
                hits = sum(grades[q].get(d, 0) >= 1 for d in part)
                shares.append(hits / max(len(part), 1))
        return statistics.fmean(shares)

    expected: Lists = {}
    for q in queries:
        expected[q] = dict.fromkeys(everything([run.get(q, {}) for run in runs]), 0.0)
        for run in runs:
            ranked = ranks(run.get(q, {}))
            for d, r in ranked.items():
                which = segment(r, len(ranked))
                expected[q][d] += probability(run, q, which) / (which + 1)
    close(fuse(runs, method="probfuse", qrels=grades, segments=segments), expected)


@settings(max_examples=30, deadline=None)
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


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(sorted(NORMALISATIONS)), runs=st.lists(RUNS, min_size=1, max_size=3))
def test_normalising_and_fusing_is_fusing_normalised(name: str, runs: list[Lists]) -> None:
    assert fuse(normalize(runs, name), method="combmnz") == fuse(
        runs, method="combmnz", normalise=name
    )


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from([name for name in UNTRAINED if name != "logisr"]), run=RUNS)
def test_one_run_keeps_its_order(name: str, run: Lists) -> None:
    fused = fuse([run], method=name).to_dict()
    assert {q: list(docs) for q, docs in fused.items()} == {
        q: order_of(docs) for q, docs in run.items()
    }


@settings(max_examples=30, deadline=None)
@given(
    name=st.sampled_from(UNTRAINED),
    runs=st.lists(RUNS, min_size=1, max_size=3),
    depth=st.integers(1, 4),
)
def test_depth_keeps_the_best(name: str, runs: list[Lists], depth: int) -> None:
    whole, cut = fuse(runs, method=name).to_dict(), fuse(runs, method=name, depth=depth).to_dict()
    assert cut == {q: dict(list(docs.items())[:depth]) for q, docs in whole.items()}


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(["minmax", "minmaxinverted", "zscore", "sum", "max"]),
    run=st.dictionaries(IDS, st.floats(allow_nan=False, allow_infinity=False), min_size=1),
    exponent=st.integers(-30, 30),
)
@example(name="zscore", run={"a": 1.7e308, "b": -1.7e308}, exponent=0)
@example(name="minmax", run={"a": 5e-324, "b": 0.0}, exponent=0)
@example(name="sum", run={"a": 0.1, "b": 0.1, "z": 0.1}, exponent=0)
def test_normalisation_knows_no_unit_and_never_overflows(
    name: str, run: List, exponent: int
) -> None:
    fused = normalize({"q": run}, name)["q"]
    assert all(math.isfinite(score) for score in fused.values())
    assert name == "zscore" or all(0 <= score <= 1 for score in fused.values())
    if all(score == 0 or 1e-200 < abs(score) < 1e200 for score in run.values()):
        scaled = {"q": {doc_id: math.ldexp(score, exponent) for doc_id, score in run.items()}}
        assert normalize(scaled, name)["q"] == fused
