"""What passes and what fails: planted drops are caught, noise is not, and power is told."""

from __future__ import annotations

import json
import math
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.worlds import record, world
from rankscope.errors import InputError
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.score_files import RecordedScores
from rankscope.statistics.gate import MeasureCheck, gate
from rankscope.statistics.paired import paired_tests

stats: Any = import_module("scipy.stats")


def only(checks: tuple[MeasureCheck, ...]) -> MeasureCheck:
    [check] = checks
    return check


def test_a_planted_drop_is_caught() -> None:
    result = gate(*world(200, drop=0.05))
    check = only(result.checks)
    assert not result.passed
    assert (check.verdict, check.reason) == ("fail", "regression")
    assert check.drop == pytest.approx(0.05, abs=0.02)
    assert check.interval.high < 0
    assert check.warning == ""


def test_noise_rarely_fails() -> None:
    """Two-sided at 0.05: a drop is found by chance in 2.5 % of cases; 400 worlds give 10 ± 3."""
    failed = 0
    for seed in range(400):
        baseline, candidate = world(40, drop=0.0, seed=seed)
        failed += not gate(baseline, candidate, max_drop=0, test="t", resamples=100).passed
    assert 2 <= failed <= 20


def test_drops_are_found_as_often_as_the_power_says() -> None:
    """80 % at the smallest visible drop; 200 worlds give 160 ± 5.7."""
    sd, count = 0.1, 60
    drop = 0.0369  # detectable at n = 60, sd = 0.1: checked against the noncentral t below
    critical = stats.t.isf(0.025, count - 1)
    assert stats.nct.sf(critical, count - 1, drop * math.sqrt(count) / sd) == pytest.approx(
        0.8, abs=0.005
    )
    found = 0
    for seed in range(200):
        baseline, candidate = world(count, drop=drop, sd=sd, seed=seed)
        found += not gate(baseline, candidate, max_drop=0, test="t", resamples=100).passed
    assert 140 <= found <= 180


def test_two_sided_strays_less_than_one_sided_where_differences_are_skewed() -> None:
    """The numbers of docs/gate.md: 25 exponential differences around 0, 4,000 times."""
    differences = 1 - np.random.default_rng(0).exponential(1, (4000, 25))
    p = np.array([result.p for result in paired_tests(differences, test="t")])
    falls = differences.mean(axis=1) < 0
    one_sided = np.mean((p <= 0.1) & falls), np.mean((p <= 0.1) & ~falls)
    two_sided = np.mean(p <= 0.05)
    assert one_sided == (pytest.approx(0.02, abs=0.005), pytest.approx(0.11, abs=0.005))
    assert two_sided == pytest.approx(0.08, abs=0.005)
    assert np.mean((p <= 0.05) & ~falls) == pytest.approx(0.07, abs=0.005)


def test_p_value_and_interval_of_student() -> None:
    baseline, candidate = world(30, drop=0.02, seed=3)
    check = only(gate(baseline, candidate, test="t").checks)
    one, other = (
        [row["nDCG@10"] for row in side["runs"]["bm25"]["per_query"].values()]
        for side in (baseline, candidate)
    )
    assert check.p == pytest.approx(stats.ttest_rel(one, other).pvalue)
    assert check.baseline == pytest.approx(np.mean(one))
    assert check.difference == pytest.approx(np.mean(other) - np.mean(one))


def test_a_significant_drop_within_the_margin_passes() -> None:
    check = only(gate(*world(100, drop=0.006, sd=0.005)).checks)
    assert check.significant
    assert (check.verdict, check.reason) == ("pass", "within margin")
    assert check.explanation.startswith("dropped by 0.00")


def test_a_large_drop_that_may_be_chance_passes_with_a_warning() -> None:
    check = only(gate(record({"AP": [0.9, 0.5] * 4}), record({"AP": [0.1, 0.9] * 4}), "AP").checks)
    assert check.drop == pytest.approx(0.2)
    assert (check.verdict, check.reason, check.significant) == ("pass", "not significant", False)
    assert "a drop of 0.01 could pass unseen" in check.warning


@pytest.mark.parametrize(("drop", "verdict"), [(0.01, "pass"), (0.0101, "fail")])
def test_a_drop_of_just_the_margin_passes(drop: float, verdict: str) -> None:
    values = np.linspace(0.2, 0.9, 20)
    sides = record({"AP": values.tolist()}), record({"AP": (values - drop).tolist()})
    assert only(gate(*sides, "AP").checks).verdict == verdict


def test_a_clear_improvement_passes_without_a_warning() -> None:
    baseline, candidate = world(30, drop=-0.2)
    result = gate(baseline, candidate, require_power=True)
    check = only(result.checks)
    assert check.visible_drop is not None
    assert check.visible_drop > check.max_drop
    assert (check.verdict, check.reason, check.warning) == ("pass", "improved", "")


def test_where_lower_is_better_a_rise_is_a_drop() -> None:
    low, high = record({"Unjudged@10": [0.1] * 7}), record({"Unjudged@10": [0.3] * 7})
    worse = only(gate(low, high, "Unjudged@10").checks)
    assert (worse.reason, worse.losses, worse.wins) == ("regression", 7, 0)
    assert worse.difference == pytest.approx(0.2)
    assert worse.drop == pytest.approx(0.2)
    assert worse.worst[0].change == pytest.approx(0.2)
    better = only(gate(high, low, "Unjudged@10").checks)
    assert (better.reason, better.losses, better.worst) == ("improved", 0, ())


def test_holm_over_the_measures() -> None:
    """Six drops of six: p = 2/64 = 0.03125 alone, 0.0625 with another such measure."""
    high, low = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0], [0.4, 0.3, 0.2, 0.1, 0.3, 0.2]
    baseline, candidate = record({"AP": high, "RR": high}), record({"AP": low, "RR": low})
    alone = gate(baseline, candidate, "AP")
    assert only(alone.checks).p == 2 / 64
    assert not alone.passed
    both = gate(baseline, candidate, ["AP", "RR"])
    assert [check.corrected_p for check in both.checks] == [4 / 64, 4 / 64]
    assert both.passed


def test_identical_values() -> None:
    values = {"nDCG@10": np.linspace(0, 1, 12).tolist()}
    result = gate(record(values), record(values), require_power=True)
    check = only(result.checks)
    assert result.passed
    assert (check.difference, check.drop, check.p, check.reason) == (0.0, 0.0, 1.0, "identical")
    assert math.copysign(1, check.drop) == 1
    assert check.visible_drop is None
    assert check.warning == ""
    assert check.note.startswith("is identical in all 12 queries; no spread says what drop")


def test_the_same_change_everywhere_has_no_spread() -> None:
    check = only(
        gate(record({"AP": [0.5, 0.75] * 5}), record({"AP": [0.75, 1.0] * 5}), "AP").checks
    )
    assert check.visible_drop is None
    assert "no spread" in check.note


@pytest.mark.parametrize(("count", "smallest"), [(1, "1"), (3, "0.25"), (5, "0.062")])
def test_too_few_queries_for_any_drop(count: int, smallest: str) -> None:
    sides = record({"AP": [1.0] * count}), record({"AP": [0.0] * count})
    check = only(gate(*sides, "AP").checks)
    assert check.verdict == "pass"
    assert check.visible_drop == math.inf
    assert f"the clearest result there could be has p = {smallest}" in check.warning
    assert check.to_dict()["visible_drop"] is None
    strict = only(gate(*sides, "AP", require_power=True).checks)
    assert (strict.verdict, strict.reason) == ("fail", "no power")


def test_too_few_resamples_for_the_correction() -> None:
    """At most 1/101 of 100 resamples; eight measures need 0.05/8."""
    names = [f"P@{depth}" for depth in range(1, 9)]
    random = np.random.default_rng(1)
    one, other = (record({n: random.random(30).tolist() for n in names}) for _ in range(2))
    result = gate(one, other, names, resamples=100)
    assert all("cannot be" in check.warning for check in result.checks)


def test_smallest_visible_drop_is_that_of_the_noncentral_t() -> None:
    baseline, candidate = world(50, drop=0.0, sd=0.2)
    check = only(gate(baseline, candidate).checks)
    seen, count = check.visible_drop, 50
    assert seen is not None
    one, other = (
        np.array([row["nDCG@10"] for row in side["runs"]["bm25"]["per_query"].values()])
        for side in (baseline, candidate)
    )
    shift = seen * math.sqrt(count) / (other - one).std(ddof=1)
    critical = stats.t.isf(0.025, count - 1)
    power = stats.nct.sf(critical, count - 1, shift) + stats.nct.cdf(-critical, count - 1, shift)
    assert power == pytest.approx(0.8, abs=1e-6)


def test_power_is_reckoned_at_the_hardest_step_of_the_correction() -> None:
    random = np.random.default_rng(5)
    one, other = (
        record({name: random.random(50).tolist() for name in ("AP", "RR")}) for _ in range(2)
    )
    both = gate(one, other, ["AP", "RR"], alpha=0.05).checks[0]
    alone = gate(one, other, "AP", alpha=0.025).checks[0]
    assert both.visible_drop == alone.visible_drop


def test_power_is_required_on_request() -> None:
    sides = world(40, drop=0.0)
    assert gate(*sides).passed
    assert not gate(*sides, require_power=True).passed
    assert gate(*sides, require_power=True, max_drop=0.2).passed


def test_a_margin_of_nothing() -> None:
    check = only(gate(*world(40, drop=0.0), max_drop=0).checks)
    assert "a drop of 0 could pass unseen" in check.warning
    assert "it takes" not in check.warning


def test_worst_losses() -> None:
    drops = [0.1, -0.2, 0.3, 0.0, 0.5, 0.3, 0.05, 0.02]
    sides = record({"AP": [0.5] * 8}), record({"AP": [0.5 - drop for drop in drops]})
    check = only(gate(*sides, "AP").checks)
    assert [loss.query_id for loss in check.worst] == ["q0004", "q0002", "q0005", "q0000", "q0006"]
    assert (check.wins, check.losses) == (1, 6)


def test_the_order_of_queries_does_not_matter() -> None:
    baseline, candidate = world(60, drop=0.02)
    per_query = candidate["runs"]["bm25"]["per_query"]
    before = gate(baseline, candidate)
    candidate["runs"]["bm25"]["per_query"] = dict(reversed(per_query.items()))
    assert gate(baseline, candidate).to_dict() == before.to_dict()


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30),
    st.sampled_from(["permutation", "t", "wilcoxon", "sign"]),
)
def test_laws(pairs: list[tuple[float, float]], test: str) -> None:
    """Never both directions fail, and never one in which no query lost."""
    one, other = (record({"AP": [pair[side] for pair in pairs]}) for side in (0, 1))
    options: Any = {"test": test, "resamples": 100, "max_drop": 0.0}
    there, back = gate(one, other, "AP", **options), gate(other, one, "AP", **options)
    assert there.passed or back.passed
    assert there.checks[0].p == back.checks[0].p
    if all(candidate >= baseline for baseline, candidate in pairs):
        assert there.passed


# --- what it takes -------------------------------------------------------------------------------

QRELS = {f"q{number}": {"d1": 1, "d2": 2} for number in range(8)}
GOOD = {query_id: {"d2": 3.0, "d1": 2.0, "d3": 1.0} for query_id in QRELS}
BAD = {query_id: {"d3": 3.0, "d1": 2.0, "d2": 1.0} for query_id in QRELS}


def test_every_form_of_input_gives_the_same_answer(tmp_path: Path) -> None:
    good, bad = evaluate(QRELS, GOOD, "nDCG@10"), evaluate(QRELS, BAD, "nDCG@10")
    paths = []
    for name, run in (("good", GOOD), ("bad", BAD)):
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps(run))
    stored = tmp_path / "scores.json"
    stored.write_text(json.dumps(good.to_dict(per_query=True)))
    qrels = tmp_path / "qrels.json"
    qrels.write_text(json.dumps(QRELS))
    results = [
        gate(GOOD, BAD, qrels=QRELS),
        gate(good, bad),
        gate(good, BAD, qrels=QRELS),
        gate(RecordedScores.of(good, source="x"), bad.to_dict(per_query=True)),
        gate(paths[0], str(paths[1]), qrels=qrels),
        gate(stored, paths[1], qrels=qrels),
        gate(stored, bad),
        gate({"a": GOOD, "b": BAD}, BAD, qrels=QRELS, baseline_run="a"),
    ]
    assert not results[0].passed
    assert all(result.checks == results[0].checks for result in results)


def test_a_measure_means_what_the_rules_mean() -> None:
    scores = evaluate(QRELS, GOOD, "nDCG@10", profile="sentence-transformers")
    result = gate(scores, BAD, "ndcg_cut_10", qrels=QRELS)
    assert only(result.checks).measure == "nDCG(gain=binary)@10"
    assert result.profile == "sentence-transformers"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_drop": -0.1}, "max_drop"),
        ({"max_drop": math.nan}, "max_drop"),
        ({"alpha": 0}, "alpha"),
        ({"power": 1.5}, "power"),
        ({"resamples": 3}, "resamples"),
        ({"measures": []}, "no measure"),
        ({"measures": "NumRet"}, "summed over queries"),
        ({"measures": "GMAP"}, "averaged geometrically"),
    ],
)
def test_impossible_options(options: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        gate(GOOD, BAD, qrels=QRELS, **options)


def test_a_run_needs_judgments() -> None:
    with pytest.raises(InputError, match=r"the baseline is a run, .* give qrels too"):
        gate(GOOD, BAD)
