"""compare: numbers against SciPy and the measures' own values, alignment, verdicts, displays."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError, UnknownNameError
from rankscope.scoring.evaluate import evaluate
from rankscope.statistics.choices import TESTS
from rankscope.statistics.comparison import Comparison, compare

stats: Any = import_module("scipy.stats")

COUNT = 60
World = tuple[dict[str, Any], dict[str, Any]]


def made(quality: dict[str, float], seed: int = 1, count: int = COUNT) -> World:
    """Make judgments and a run for each system: the better, the nearer its document to the top."""
    random = np.random.default_rng(seed)
    qrels = {f"q{n}": {"good": 1, "fair": 1} for n in range(count)}
    runs: dict[str, Any] = {}
    for name, level in quality.items():
        runs[name] = {}
        for query_id in qrels:
            scores = {f"d{n}": float(10 - n) for n in range(8)}
            scores["good"] = float(random.normal(level * 10, 3))
            scores["fair"] = float(random.normal(level * 10, 3))
            runs[name][query_id] = scores
    return qrels, runs


QRELS, RUNS = made({"weak": 0.2, "middle": 0.5, "strong": 1.0})


@pytest.fixture(scope="module")
def three() -> Comparison:
    return compare(QRELS, RUNS, ["nDCG@5", "RR"], resamples=1_000)


def test_baseline_and_all_pairs(three: Comparison) -> None:
    assert len(three.pairs) == 6
    result = compare(QRELS, RUNS, ["RR"], baseline="middle", resamples=200)
    assert [(pair.base, pair.system) for pair in result.pairs] == [
        ("middle", "weak"),
        ("middle", "strong"),
    ]
    assert result.pair("weak").verdict == "worse"


def shuffled(data: dict[str, Any], seed: int) -> dict[str, Any]:
    order = np.random.default_rng(seed).permutation(len(data))
    keys = list(data)
    return {keys[place]: data[keys[place]] for place in order}


def test_order_of_queries_never_matters() -> None:
    runs = {name: shuffled(run, seed) for seed, (name, run) in enumerate(RUNS.items())}
    one = compare(QRELS, RUNS, ["nDCG@5"], resamples=300).to_dict()
    other = compare(shuffled(QRELS, 9), runs, ["nDCG@5"], resamples=300).to_dict()
    assert json.dumps(one) == json.dumps(other)


def test_swapping_the_systems_turns_the_signs() -> None:
    weak = compare(QRELS, RUNS, ["RR"], baseline="weak", resamples=300).pair("strong")
    strong = compare(QRELS, RUNS, ["RR"], baseline="strong", resamples=300).pair("weak")
    assert weak.p == strong.p
    assert weak.difference == -strong.difference
    assert (weak.interval.low, weak.interval.high) == (-strong.interval.high, -strong.interval.low)
    assert (weak.wins, weak.losses) == (strong.losses, strong.wins)
    assert (weak.verdict, strong.verdict) == ("better", "worse")


@pytest.mark.parametrize("test", TESTS)
def test_identical_runs(test: Any) -> None:
    runs = {"one": RUNS["weak"], "two": RUNS["weak"], "three": RUNS["weak"]}
    result = compare(QRELS, runs, ["RR", "nDCG@5"], test=test, resamples=200)
    for pair in result.pairs:
        assert (pair.difference, pair.p, pair.p_corrected) == (0.0, 1.0, 1.0)
        assert (pair.wins, pair.ties, pair.losses) == (0, COUNT, 0)
        assert pair.verdict == "can't tell"
        assert pair.interval.low < 0 < pair.interval.high
    assert {one.letters for one in result.means} == {"a"}
    assert all(one.best for one in result.means)


def test_one_query() -> None:
    result = compare({"q": {"a": 1, "b": 0}}, {"x": {"q": {"a": 1}}, "y": {"q": {"b": 1}}}, ["P@1"])
    pair = result.pair("y", "x")
    assert pair.p == 1.0
    assert pair.verdict == "can't tell"
    assert json.dumps(result.to_dict(), allow_nan=False)


def test_missing_queries_follow_the_policy() -> None:
    part = {query_id: run for n, (query_id, run) in enumerate(RUNS["strong"].items()) if n < 40}
    runs = {"weak": RUNS["weak"], "part": part}
    everything = compare(QRELS, runs, ["RR"], resamples=200)
    assert (everything.queries, everything.left_out) == (COUNT, 0)
    assert everything.accounting["part"].missing == 20
    both = compare(QRELS, runs, ["RR"], resamples=200, queries="both")
    assert (both.queries, both.left_out) == (40, 20)
    assert both.mean("weak").mean != everything.mean("weak").mean
    with pytest.raises(InputError):
        compare(QRELS, runs, ["RR"], queries="strict")


def test_not_comparable() -> None:
    runs = {
        "one": {"q0": RUNS["weak"]["q0"]},
        "other": {"q1": RUNS["weak"]["q1"]},
    }
    with pytest.raises(InputError, match="not comparable"):
        compare(QRELS, runs, ["RR"], queries="both")
    with pytest.raises(InputError, match="two runs"):
        compare(QRELS, {"only": RUNS["weak"]}, ["RR"])
    with pytest.raises(InputError, match="geometric"):
        compare(QRELS, RUNS, ["GMAP"])


def test_unknown_names_say_the_nearest(three: Comparison) -> None:
    with pytest.raises(UnknownNameError, match="nearest: strong"):
        compare(QRELS, RUNS, ["RR"], baseline="stron")
    for option in ({"test": "permutaton"}, {"correction": "holmes"}, {"interval": "bcaa"}):
        with pytest.raises(UnknownNameError):
            compare(QRELS, RUNS, ["RR"], **option)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError):
        three.mean("nobody")
    with pytest.raises(UnknownNameError):
        three.pair("strong", "nobody")
    with pytest.raises(UnknownNameError):
        three.mean("weak", "P@5")


def test_lower_is_better() -> None:
    result = compare(QRELS, RUNS, ["Unjudged@5"], resamples=200)
    pair = result.pair("strong", "weak")
    assert pair.difference < 0
    assert pair.verdict == "better"
    assert pair.wins > pair.losses
    assert result.mean("strong").letters == "a"


def test_a_measure_without_an_upper_bound() -> None:
    runs = {"one": RUNS["weak"], "two": RUNS["weak"]}
    result = compare(QRELS, runs, ["DCG@5"], resamples=200, margin=0.1)
    [pair] = result.to_dict()["pairs"]
    assert (pair["interval"]["low"], pair["interval"]["high"]) == (None, None)
    assert pair["verdict"] == "can't tell"
    assert json.dumps(result.to_dict(), allow_nan=False)


def test_seeds_of_one_system() -> None:
    qrels, runs = made({"base": 0.4, "new-1": 0.6, "new-2": 0.6, "new-3": 0.6})
    seeds = {"new": ["new-1", "new-2", "new-3"]}
    result = compare(qrels, runs, ["RR"], baseline="base", seeds=seeds, resamples=200)
    assert result.runs == ("new", "base")
    single = evaluate(qrels, runs, ["RR"])
    values = np.array([single.run(name).values[0] for name in seeds["new"]])
    new = result.mean("new")
    assert new.mean == pytest.approx(values.mean())
    queries = stats.sem(values.mean(axis=0)) ** 2
    noise = values.mean(axis=1).var(ddof=1) / 3
    free = (queries + noise) ** 2 / (queries**2 / (COUNT - 1) + noise**2 / 2)  # Satterthwaite
    ends = stats.t.interval(0.95, free, values.mean(), (queries + noise) ** 0.5)
    assert (new.interval.low, new.interval.high) == pytest.approx(ends)
    assert result.mean("base").interval.method == "bca"
    with pytest.raises(UnknownNameError):
        compare(qrels, runs, ["RR"], seeds={"new": ["new-9"]})
    with pytest.raises(InputError, match="two systems"):
        compare(qrels, runs, ["RR"], seeds={"a": ["new-1"], "b": ["new-1"]})


def test_clusters_of_unequal_size_do_not_widen_the_mean_of_several_runs() -> None:
    """Runs that are all the same have no noise: what is left is the interval of clusters."""
    qrels, runs = made({"base": 0.4, "new": 0.6})
    clusters = {
        query_id: place // 3 if place < 30 else place for place, query_id in enumerate(qrels)
    }
    runs["again"] = runs["new"]
    options: Any = {"clusters": clusters, "resamples": 200}
    alone = compare(qrels, {name: runs[name] for name in ("base", "new")}, ["RR"], **options)
    twice = compare(qrels, runs, ["RR"], seeds={"both": ["new", "again"]}, **options)
    one, both = alone.mean("new").interval, twice.mean("both").interval
    assert (both.low, both.high) == pytest.approx((one.low, one.high), abs=0.01)
