"""What passes and what fails, what guards add, and what is refused."""

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

from gate.worlds import record
from rankscope.document.terminal import as_text
from rankscope.errors import InputError, RankscopeError
from rankscope.reports.gating import gate_document
from rankscope.scoring.evaluate import evaluate
from rankscope.statistics.gate import MeasureCheck, gate

stats: Any = import_module("scipy.stats")


def only(checks: tuple[MeasureCheck, ...]) -> MeasureCheck:
    [check] = checks
    return check


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
        (-0.034, 0.0336, 0.05, "can't tell", "small drop"),
        (-0.034, 0.0336, 0.02, "regression", "dropped"),
        (-0.034, 0.012, 0.05, "no regression", "not inferior"),
        (0.0295, 0.0294, 0.01, "no regression", "improved"),
        (0.02, 0.025, 0.01, "no regression", "not inferior"),
        (-0.2, 0.25, 0.01, "can't tell", "too uncertain"),
    ],
)
def test_the_interval_decides(
    mean: float, reach: float, max_drop: float, answer: str, reason: str
) -> None:
    sides = moved(spread(mean, reach, 80))
    check = only(gate(*sides, "AP", max_drop=max_drop, test="t").checks)
    assert check.interval.low == pytest.approx(mean - reach, abs=1e-6)
    assert (check.answer, check.reason) == (answer, reason)
    assert gate(*sides, "AP", max_drop=max_drop).answer == answer, "the default test agrees"
    strict = gate(*sides, "AP", max_drop=max_drop, cant_tell="fail")
    assert strict.passed == (answer == "no regression")


def test_where_lower_is_better_a_rise_is_a_drop() -> None:
    low, high = record({"Unjudged@10": [0.1] * 7}), record({"Unjudged@10": [0.3] * 7})
    worse = only(gate(low, high, "Unjudged@10").checks)
    assert (worse.reason, worse.losses, worse.wins) == ("dropped", 7, 0)
    assert worse.difference == worse.drop == worse.worst[0].change == pytest.approx(0.2)
    better = only(gate(high, low, "Unjudged@10").checks)
    assert (better.reason, better.losses, better.worst) == ("improved", 0, ())


def test_all_measures_at_once() -> None:
    """Six drops of six: p = 2/64 alone; Holm doubles it over two measures."""
    high, low = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0], [0.4, 0.3, 0.2, 0.1, 0.3, 0.2]
    baseline, candidate = record({"AP": high, "RR": high}), record({"AP": low, "RR": low})
    assert only(gate(baseline, candidate, "AP").checks).p == 2 / 64
    both = gate(baseline, candidate, ["AP", "RR"])
    assert [check.p_corrected for check in both.checks] == [4 / 64, 4 / 64]
    assert both.answer == "can't tell"


def test_identical_values() -> None:
    values = {"nDCG@10": np.linspace(0, 1, 12).tolist()}
    result = gate(record(values), record(values), cant_tell="fail")
    check = only(result.checks)
    assert (result.answer, result.passed) == ("no regression", True)
    assert (check.difference, check.drop, check.p, check.reason) == (0.0, 0.0, 1.0, "identical")
    assert math.copysign(1, check.drop) == 1


@pytest.mark.parametrize("count", [1, 3, 5])
def test_too_few_queries_for_any_answer(count: int) -> None:
    """Five queries that fall from 0.91 to 0 are no pass, and no test shows a regression."""
    random = np.random.default_rng(3)
    before = (0.91 + 0.02 * random.random(count)).tolist()
    sides = record({"AP": before}), record({"AP": [0.0] * count})
    result = gate(*sides, "AP")
    check = only(result.checks)
    assert (check.answer, check.reason) == ("can't tell", "too few queries differ")
    assert check.interval.low < 0 <= check.interval.high
    broken = gate(*sides, "AP", max_query_drop=0.5)
    assert broken.answer == "regression"
    assert only(broken.checks).broken_queries == count


# --- guards --------------------------------------------------------------------------------------


def test_a_floor_of_a_measure_that_is_not_compared() -> None:
    one, other = (record({"AP": [0.5, 0.6] * 10, "RR": [value, 0.4] * 10}) for value in (0.9, 0.1))
    result = gate(one, other, "AP", minimum={"RR": 0.3})
    assert [check.measure for check in result.checks] == ["AP"]
    assert result.answer == "regression"
    assert only(result.checks).answer == "no regression"


def test_lost_queries_are_not_comparable() -> None:
    qrels = {f"q{number}": {"d": 1} for number in range(12)}
    whole = {query_id: {"d": 1.0} for query_id in qrels}
    part = {query_id: whole[query_id] for query_id in list(qrels)[2:]}
    with pytest.raises(InputError, match="'q0', 'q1'"):
        gate(whole, part, qrels=qrels)
    assert gate(part, whole, qrels=qrels).lost == 0, "more answers than before are welcome"
    result = gate(whole, part, qrels=qrels, missing="zero")
    assert (result.lost, result.lost_queries) == (2, ("q0", "q1"))
    recorded = evaluate(qrels, part, "nDCG@10").to_dict(per_query=True)
    with pytest.raises(InputError, match="'q0', 'q1'"):
        gate(evaluate(qrels, whole, "nDCG@10").to_dict(per_query=True), recorded)


def test_without_measures_all_that_both_sides_hold_are_compared() -> None:
    """A run cut to depth 10 keeps its nDCG@10 and loses recall."""
    qrels = {f"q{number}": {f"d{place}": 1 for place in range(20)} for number in range(20)}
    whole = {query_id: [f"d{place}" for place in range(20)] for query_id in qrels}
    cut = {query_id: documents[:10] for query_id, documents in whole.items()}
    assert gate(whole, cut, "nDCG@10", qrels=qrels).answer == "no regression"
    result = gate(whole, cut, qrels=qrels)
    assert result.answer == "regression"
    assert {c.measure for c in result.checks if c.reason == "dropped"} == {"R@20"}
    stored = evaluate(qrels, whole, ["R@100", "GMAP", "P@5"]).to_dict(per_query=True)
    result = gate(stored, evaluate(qrels, cut, ["R@100", "GMAP", "RR"]))
    assert [check.measure for check in result.checks] == ["R@100"]
    assert {name: reason.split()[-1] for name, reason in result.not_compared.items()} == {
        "GMAP": "means", "P@5": "it", "RR": "it"
    }  # fmt: skip
    assert "not compared: GMAP" in as_text(gate_document(result))
    assert result.answer == gate(stored, cut, qrels=qrels).answer == "regression"
    with pytest.raises(InputError, match="no measure can be compared"):
        gate(record({"AP": [0.5] * 8}), record({"RR": [0.5] * 8}))


def test_only_what_the_baseline_answers_is_missing() -> None:
    """A score file lists a hundred missing queries; the others are no loss if both lack them."""
    qrels = {f"q{number:03}": {"d": 1} for number in range(400)}
    run = {query_id: ["d"] for query_id in list(qrels)[150:]}
    stored = evaluate(qrels, run, "RR").to_dict(per_query=True)
    assert len(stored["runs"]["run"]["accounting"]["missing_queries"]) == 100
    assert gate(stored, run, qrels=qrels).lost == 0
    del run["q399"]
    with pytest.raises(InputError, match=r"lacks 1 query .*'q399'"):
        gate(stored, run, qrels=qrels)


def test_noise_of_the_engine_widens_the_interval() -> None:
    sides = moved(spread(-0.03, 0.01, 80))
    alone = only(gate(*sides, "AP").checks)
    assert alone.answer == "regression"
    runs = [record({"AP": [0.5 + shift] * 80}) for shift in (-0.03, 0.0, 0.03)]
    result = gate(*sides, "AP", noise=runs)
    check = only(result.checks)
    assert check.answer == "can't tell"
    assert check.interval.low < alone.interval.low
    assert check.p > alone.p
    assert result.noise[0].deviation == pytest.approx(0.03)
    quiet = gate(*sides, "AP", noise=[sides[0], sides[0]])
    assert only(quiet.checks).interval.low == pytest.approx(alone.interval.low)
    assert check.settled_by is None, "no number of queries settles it"
    assert math.isinf(check.detectable)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30),
    st.sampled_from(["permutation", "t", "bootstrap"]),
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
        gate(GOOD, BAD, "nDCG@10", qrels=QRELS),
        gate(good, bad, "nDCG@10"),
        gate(good, BAD, "nDCG@10", qrels=QRELS),
        gate(good.named("x"), bad.to_dict(per_query=True), "nDCG@10"),
        gate(paths[0], str(paths[1]), "nDCG@10", qrels=qrels),
        gate(stored, paths[1], "nDCG@10", qrels=qrels),
        gate(stored, bad, "nDCG@10"),
        gate({"a": GOOD, "b": BAD}, BAD, "nDCG@10", qrels=QRELS, baseline_run="a"),
    ]
    assert not results[0].passed
    unnamed = {"base": "", "system": ""}
    found = [only(result.checks).model_copy(update=unnamed) for result in results]
    assert all(check == found[0] for check in found)


def test_a_measure_means_what_the_rules_mean() -> None:
    scores = evaluate(QRELS, GOOD, "nDCG@10", profile="sentence-transformers")
    result = gate(scores, BAD, "ndcg_cut_10", qrels=QRELS)
    assert only(result.checks).measure == "nDCG(gain=binary)@10"
    assert result.profile == "sentence-transformers"


NONE_RELEVANT = {query_id: {"d1": 0.75} for query_id in QRELS}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_drop": math.nan}, "max_drop"),
        ({"max_drop": 5}, "more than 1"),
        ({"max_query_drop": 3}, "more than 1"),
        ({"minimum": {"nDCG@10": 40}}, "from 0 to 1"),
        ({"alpha": 0}, "alpha"),
        ({"power": 1.5}, "power"),
        ({"noise": [GOOD]}, "two or more"),
        ({"weights": {"q0": 1.0}}, "7 compared queries"),
        ({"clusters": dict.fromkeys(QRELS, "same")}, "one cluster"),
        ({"measures": []}, "no measure"),
        ({"measures": "nDCH@10"}, "nDCH"),
        ({"measures": "NumRet"}, "summed"),
        ({"measures": "GMAP"}, "geometric"),
        ({"qrels": None}, "qrels"),
        ({"qrels": NONE_RELEVANT, "measures": "P@1"}, r"0\.75"),
    ],
)
def test_what_is_refused(options: Any, said: str) -> None:
    with pytest.raises(RankscopeError, match=said):
        gate(GOOD, BAD, **{"qrels": QRELS, **options})


def test_a_broken_side_is_named_by_its_file(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.run", tmp_path / "bad.run"
    queries = [f"q{number}" for number in range(10)]
    good.write_text("".join(f"{query} Q0 d1 1 2.0 x\n" for query in queries))
    bad.write_text("".join(f"{query} Q0 doc:d1 1 2.0 x\n" for query in queries))
    with pytest.raises(InputError, match=r"bad\.run"):
        gate(good, bad, qrels={query: {"d1": 1} for query in queries})
