"""What passes and what fails: planted drops are caught, noise is not, and power is told."""

from __future__ import annotations

import json
import math
import os
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
    assert (result.answer, result.passed) == ("regression", False)
    assert (check.answer, check.reason) == ("regression", "dropped")
    assert check.drop == pytest.approx(0.05, abs=0.02)
    assert check.interval.high < 0


def moved(differences: list[float], measure: str = "AP") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two sides with these differences."""
    base = [0.5] * len(differences)
    after = [0.5 + change for change in differences]
    return record({measure: base}), record({measure: after})


def spread(mean: float, reach: float, count: int) -> list[float]:
    """Return differences with this mean whose 95 % interval reaches so far to each side."""
    row = np.tile([1.0, -1.0], count // 2)
    sd = reach * math.sqrt(count) / stats.t.isf(0.025, count - 1)
    changes: list[float] = (mean + sd * row * math.sqrt((count - 1) / count)).tolist()
    return changes


@pytest.mark.parametrize(
    ("mean", "reach", "max_drop", "answer", "reason"),
    [
        (-0.034, 0.0336, 0.05, "undecided", "small drop"),
        (-0.034, 0.0336, 0.02, "regression", "dropped"),
        (-0.034, 0.012, 0.05, "no regression", "not inferior"),
        (0.0295, 0.0294, 0.01, "no regression", "improved"),
        (-0.001, 0.005, 0.01, "no regression", "not inferior"),
        (-0.001, 0.02, 0.01, "undecided", "too uncertain"),
        (0.02, 0.05, 0.01, "undecided", "too uncertain"),
        (0.02, 0.025, 0.01, "no regression", "not inferior"),
        (-0.2, 0.25, 0.01, "undecided", "too uncertain"),
    ],
)
def test_the_interval_decides(
    mean: float, reach: float, max_drop: float, answer: str, reason: str
) -> None:
    sides = moved(spread(mean, reach, 80))
    check = only(gate(*sides, "AP", max_drop=max_drop, test="t").checks)
    assert check.interval.low == pytest.approx(mean - reach, abs=1e-6)
    assert (check.answer, check.reason) == (answer, reason)
    check = only(gate(*sides, "AP", max_drop=max_drop).checks)
    assert check.answer == answer, "the default test agrees"


def test_an_undecided_answer_says_what_would_settle_it() -> None:
    sides = moved(spread(-0.034, 0.0336, 80))
    result = gate(*sides, "AP", max_drop=0.05)
    assert result.answer == "undecided"
    assert result.passed
    assert "passed" not in result.sentence
    assert "worse, but not shown to be so by more than 0.05" in result.sentence
    assert not gate(*sides, "AP", max_drop=0.05, undecided="fail").passed
    wide = gate(*moved(spread(-0.005, 0.1, 80)), "AP")
    assert only(wide.checks).settled_by == pytest.approx(80 * (0.1 / 0.005) ** 2, rel=0.05)
    assert "queries would settle it if the difference stays what it is" in wide.sentence


@pytest.mark.parametrize(
    ("drop", "answer"), [(0.01, "undecided"), (0.0101, "regression"), (0.005, "undecided")]
)
def test_a_drop_must_be_larger_than_the_margin(drop: float, answer: str) -> None:
    """The same drop everywhere is shown by the signs; without a spread nothing is ruled out."""
    values = np.linspace(0.2, 0.9, 20)
    sides = record({"AP": values.tolist()}), record({"AP": (values - drop).tolist()})
    assert only(gate(*sides, "AP").checks).answer == answer


def test_where_lower_is_better_a_rise_is_a_drop() -> None:
    low, high = record({"Unjudged@10": [0.1] * 7}), record({"Unjudged@10": [0.3] * 7})
    worse = only(gate(low, high, "Unjudged@10").checks)
    assert (worse.reason, worse.losses, worse.wins) == ("dropped", 7, 0)
    assert worse.difference == pytest.approx(0.2)
    assert worse.drop == pytest.approx(0.2)
    assert worse.worst[0].change == pytest.approx(0.2)
    better = only(gate(high, low, "Unjudged@10").checks)
    assert (better.reason, better.losses, better.worst) == ("improved", 0, ())


def test_all_measures_at_once() -> None:
    """Six drops of six: p = 2/64 alone; a copy of the measure costs nothing, Holm would double."""
    high, low = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0], [0.4, 0.3, 0.2, 0.1, 0.3, 0.2]
    baseline, candidate = record({"AP": high, "RR": high}), record({"AP": low, "RR": low})
    alone = gate(baseline, candidate, "AP")
    assert only(alone.checks).p == 2 / 64
    assert alone.answer == "regression"
    both = gate(baseline, candidate, ["AP", "RR"])
    assert [check.corrected_p for check in both.checks] == [2 / 64, 2 / 64]
    holm = gate(baseline, candidate, ["AP", "RR"], test="permutation")
    assert [check.corrected_p for check in holm.checks] == [4 / 64, 4 / 64]
    assert holm.answer == "undecided"


def test_identical_values() -> None:
    values = {"nDCG@10": np.linspace(0, 1, 12).tolist()}
    result = gate(record(values), record(values), undecided="fail")
    check = only(result.checks)
    assert (result.answer, result.passed) == ("no regression", True)
    assert (check.difference, check.drop, check.p, check.reason) == (0.0, 0.0, 1.0, "identical")
    assert math.copysign(1, check.drop) == 1
    assert math.isinf(check.visible_drop)
    assert check.note.startswith("is identical in all 12 queries; over other queries the mean may")


@pytest.mark.parametrize("count", [1, 3, 5])
def test_too_few_queries_for_any_answer(count: int) -> None:
    """Five queries that fall from 0.91 to 0 are no pass, and no test shows a regression."""
    random = np.random.default_rng(3)
    before = (0.91 + 0.02 * random.random(count)).tolist()
    sides = record({"AP": before}), record({"AP": [0.0] * count})
    result = gate(*sides, "AP")
    check = only(result.checks)
    assert (check.answer, check.reason) == ("undecided", "too few queries differ")
    assert "at least 6 must for any outcome to be significant" in check.explanation
    assert check.interval.low < 0 <= check.interval.high
    broken = gate(*sides, "AP", max_query_drop=0.5)
    assert broken.answer == "regression"
    assert only(broken.checks).broken_queries == count
    tiny = record({"AP": before}), record({"AP": [value - 0.001 for value in before]})
    assert gate(*tiny, "AP").answer == "undecided", "so few queries rule nothing out"


def test_few_queries_that_differ() -> None:
    """4 of 50: no outcome could be significant, and the answer is not that chance explains it."""
    check = only(gate(*moved([0.0] * 46 + [-0.4, -0.3, -0.5, -0.45]), "AP").checks)
    assert (check.answer, check.reason) == ("undecided", "too few queries differ")
    assert "4 of 50 queries differ" in check.explanation
    small = only(gate(*moved([0.0] * 96 + [-0.04, 0.03, -0.05, 0.04]), "AP").checks)
    assert (small.answer, small.reason) == ("no regression", "not inferior")


def test_the_visible_drop_keeps_ties() -> None:
    """Against the noncentral t: a share u differs, the variance is u·s² + δ²·(1/u − 1)."""
    changes = [0.0] * 30 + np.random.default_rng(2).normal(0, 0.2, 20).tolist()
    check = only(gate(*moved(changes), "AP").checks)
    moving = np.array([change for change in changes if change])
    share, drop = len(moving) / 50, check.visible_drop
    variance = share * moving.var(ddof=1) + drop**2 * (1 / share - 1)
    critical = stats.t.isf(0.025, 49)
    shift = drop * math.sqrt(50 / variance)
    power = stats.nct.sf(critical, 49, shift) + stats.nct.cdf(-critical, 49, shift)
    assert power == pytest.approx(0.8, abs=0.02), "the critical value is that of the flips"


def test_a_margin_of_nothing() -> None:
    check = only(gate(*world(40, drop=0.0), max_drop=0).checks)
    assert check.answer == "undecided"


def test_a_margin_outside_the_range_is_refused() -> None:
    with pytest.raises(InputError, match=r"nDCG@10 cannot drop by more than 1; .* such as 0.01"):
        gate(*world(40, drop=0.0), max_drop=5)


# --- guards --------------------------------------------------------------------------------------


def test_a_floor() -> None:
    sides = world(60, drop=0.0, sd=0.001)
    mean = only(gate(*sides).checks).candidate
    assert gate(*sides, minimum={"nDCG@10": mean - 0.01}).answer == "no regression"
    result = gate(*sides, minimum={"ndcg_cut_10": mean + 0.01})
    assert (result.answer, result.passed) == ("regression", False)
    [floor] = result.floors
    assert (floor.measure, floor.reached) == ("nDCG@10", False)
    assert "and its floor is" in result.sentence
    with pytest.raises(InputError, match="its values are from 0 to 1"):
        gate(*sides, minimum={"nDCG@10": 40})


def test_a_floor_of_a_measure_that_is_not_compared() -> None:
    one, other = (record({"AP": [0.5, 0.6] * 10, "RR": [value, 0.4] * 10}) for value in (0.9, 0.1))
    result = gate(one, other, "AP", minimum={"RR": 0.3})
    assert [check.measure for check in result.checks] == ["AP"]
    assert result.answer == "regression"
    assert only(result.checks).answer == "no regression"


def test_a_query_that_broke_is_named() -> None:
    changes = [0.001, -0.001] * 30
    changes[7] = -0.45
    assert gate(*moved(changes), "AP", max_drop=0.05).answer == "no regression"
    result = gate(*moved(changes), "AP", max_drop=0.05, max_query_drop=0.3)
    assert result.answer == "regression"
    assert "AP lost more than 0.3 on 1 query: q0007 (-0.4500)" in result.sentence
    assert [loss.query_id for loss in only(result.checks).broken] == ["q0007"]


def test_lost_queries_are_not_comparable() -> None:
    qrels = {f"q{number}": {"d": 1} for number in range(12)}
    whole = {query_id: {"d": 1.0} for query_id in qrels}
    part = {query_id: whole[query_id] for query_id in list(qrels)[2:]}
    with pytest.raises(InputError, match=r"not comparable: .* lacks 2 queries .*'q0', 'q1'"):
        gate(whole, part, qrels=qrels)
    assert gate(part, whole, qrels=qrels).lost == 0, "more answers than before are welcome"
    result = gate(whole, part, qrels=qrels, missing="zero")
    assert (result.lost, result.lost_queries) == (2, ("q0", "q1"))
    assert "they count as 0" in result.notes[0]
    recorded = evaluate(qrels, part, "nDCG@10").to_dict(per_query=True)
    with pytest.raises(InputError, match="lacks 2 queries"):
        gate(evaluate(qrels, whole, "nDCG@10").to_dict(per_query=True), recorded)


def test_an_old_baseline_is_said(tmp_path: Path) -> None:
    baseline, candidate = world(40, drop=0.0)
    path = tmp_path / "base.json"
    path.write_text(json.dumps(baseline))
    os.utime(path, (0, 0))
    assert gate(path, candidate).notes == ()
    [note] = gate(path, candidate, max_age=30).notes
    assert "days old, more than 30" in note
    [note] = gate(baseline, candidate, max_age=30).notes
    assert "nothing says how old" in note


def test_noise_of_the_engine_widens_the_interval() -> None:
    sides = moved(spread(-0.03, 0.01, 80))
    alone = only(gate(*sides, "AP").checks)
    assert alone.answer == "regression"
    runs = [record({"AP": [0.5 + shift] * 80}) for shift in (-0.03, 0.0, 0.03)]
    result = gate(*sides, "AP", noise=runs)
    check = only(result.checks)
    assert check.answer == "undecided"
    assert check.interval.low < alone.interval.low
    assert check.p > alone.p
    assert result.noise[0].deviation == pytest.approx(0.03)
    quiet = gate(*sides, "AP", noise=[sides[0], sides[0]])
    assert only(quiet.checks).interval.low == pytest.approx(alone.interval.low)
    with pytest.raises(InputError, match="two or more runs"):
        gate(*sides, "AP", noise=runs[:1])


def test_an_anchor_shows_erosion() -> None:
    """Ten commits of −0.004 each: none is a regression, the whole is."""
    random = np.random.default_rng(4)
    anchor = random.uniform(0.3, 0.9, 200)
    before = anchor - 0.036 + random.normal(0, 0.005, 200)
    after = before - 0.004 + random.normal(0, 0.005, 200)
    scores = [record({"AP": values.tolist()}) for values in (anchor, before, after)]
    assert gate(scores[1], scores[2], "AP").answer == "no regression"
    result = gate(scores[1], scores[2], "AP", anchor=scores[0])
    assert result.answer == "regression"
    assert result.anchor is not None
    assert result.anchor.checks[0].drop == pytest.approx(0.04, abs=0.005)
    assert "against the anchor" in result.sentence


def test_clusters_and_weights() -> None:
    """Ten paraphrases of eight questions are eight queries, not eighty."""
    random = np.random.default_rng(6)
    by_question = random.normal(-0.02, 0.05, 8)
    changes = np.repeat(by_question, 10) + random.normal(0, 0.002, 80)
    sides = moved(changes.tolist())
    clusters = {f"q{number:04}": number // 10 for number in range(80)}
    alone, together = gate(*sides, "AP"), gate(*sides, "AP", clusters=clusters)
    assert together.clusters == 8
    assert together.checks[0].interval.low < alone.checks[0].interval.low
    assert together.checks[0].p > alone.checks[0].p
    weights = {f"q{number:04}": 1.0 if number < 10 else 0.0 for number in range(80)}
    first = gate(*sides, "AP", weights=weights)
    assert first.checks[0].difference == pytest.approx(changes[:10].mean())
    assert first.weighted
    with pytest.raises(InputError, match="79 compared queries without a weight"):
        gate(*sides, "AP", weights={"q0000": 1.0})


def test_noise_rarely_fails() -> None:
    """Two-sided at 0.05: a drop is found by chance in 2.5 % of cases; 400 worlds give 10 ± 3."""
    failed = 0
    for seed in range(400):
        baseline, candidate = world(40, drop=0.0, seed=seed)
        answer = gate(baseline, candidate, max_drop=0, test="t", resamples=100).answer
        failed += answer == "regression"
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
    """The numbers of docs/explanation/gate.md: 25 exponential differences around 0, 4,000 times."""
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


# --- what would settle it ------------------------------------------------------------------------


@pytest.mark.parametrize(("mean", "max_drop"), [(-0.03, 0.05), (-0.01, 0.02), (0.01, 0.02)])
def test_settled_by_so_many_queries(mean: float, max_drop: float) -> None:
    """With that many queries of the same spread and difference the answer is there."""
    check = only(gate(*moved(spread(mean, 0.06, 80)), "AP", max_drop=max_drop, test="t").checks)
    assert check.answer == "undecided"
    assert check.settled_by is not None
    assert check.settled_by > 80
    count = check.settled_by + 2 + check.settled_by % 2
    sd = 0.06 * math.sqrt(80) / stats.t.isf(0.025, 79)
    reach = sd * stats.t.isf(0.025, count - 1) / math.sqrt(count)
    more = moved(spread(mean, reach, count))
    assert gate(*more, "AP", max_drop=max_drop, test="t").answer != "undecided"


def test_clusters_are_what_differs() -> None:
    sides = moved([-0.1, -0.2, -0.3, -0.1] * 5)
    clusters = {f"q{number:04}": number // 5 for number in range(20)}
    check = only(gate(*sides, "AP", clusters=clusters).checks)
    assert "4 of 4 clusters of queries differ, and at least 6 must" in check.explanation
    with pytest.raises(InputError, match="all compared queries are in one cluster"):
        gate(*sides, "AP", clusters=dict.fromkeys(clusters, "same"))


def test_noise_is_settled_by_no_number_of_queries() -> None:
    runs = [record({"AP": [0.5 + shift] * 80}) for shift in (-0.03, 0.0, 0.03)]
    check = only(gate(*moved(spread(-0.03, 0.01, 80)), "AP", noise=runs).checks)
    assert check.settled_by is None
    assert math.isinf(check.visible_drop)


def test_impossible_limits() -> None:
    sides = moved(spread(-0.03, 0.01, 80))
    with pytest.raises(InputError, match="max_query_drop is 3, and AP cannot drop by more than 1"):
        gate(*sides, "AP", max_query_drop=3)
    with pytest.raises(InputError, match="max_age must be a number of days"):
        gate(*sides, "AP", max_age=-3)


def test_a_broken_side_is_named_by_its_file(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.run", tmp_path / "bad.run"
    good.write_text("q1 Q0 d1 1 2.0 x\n")
    bad.write_text("q1 Q0 doc:d1 1 2.0 x\n")
    with pytest.raises(InputError, match=r"bad\.run: run 'x': no document id in common"):
        gate(good, bad, qrels={"q1": {"d1": 1}})


def test_grades_that_no_measure_counts_are_refused() -> None:
    """Nothing is relevant to P@1: both sides would be 0 and identical."""
    qrels = {f"q{number}": {"d": 0.75} for number in range(20)}
    run = {query_id: ["d", "x"] for query_id in qrels}
    with pytest.raises(InputError, match=r"no document is relevant to P@1: .* highest is 0\.75"):
        gate(run, run, "P@1", qrels=qrels)
