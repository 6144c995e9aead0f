"""Risk: by hand, what is remarked, and where it cannot look."""

from __future__ import annotations

from typing import Any

import pytest

import rankscope as rs
from rankscope.diagnosis.registry import Inputs
from rankscope.diagnosis.risks import RISKS, Risks, RisksConfig
from rankscope.findings import NotApplicable
from rankscope.statistics.settings import Settings

QUERIES = [f"q{number:02}" for number in range(40)]
QRELS = {query_id: {"d": 1} for query_id in QUERIES}


def ranked(*ranks: int | None) -> dict[str, list[str]]:
    """Make a run that has the one relevant document at these ranks, again and again."""
    run = {}
    for place, query_id in enumerate(QUERIES):
        rank = ranks[place % len(ranks)]
        run[query_id] = [f"x{n}" for n in range(1, rank or 11)] + ["d"] * (rank is not None)
    return run


RUNS = {
    "base": ranked(2),
    "steady": ranked(2, 2, 2, 1),
    "risky": ranked(1, 1, 1, 1, None, None, None, None, 1, 2),
    "bad": ranked(5, 4),
}


def inputs(names: list[str] | None = None, measures: Any = ("RR", "R@10"), **more: Any) -> Inputs:
    runs = {name: RUNS[name] for name in names or RUNS}
    scores = rs.evaluate(QRELS, runs, list(measures))
    return Inputs(scores=scores, settings=Settings(resamples=999), **more)


def test_risk_by_hand() -> None:
    """Of ten queries of "risky" five gain 0.5, four lose 0.5, one is as before."""
    answer = RISKS.answer(RisksConfig(), inputs(baseline="base"))
    assert isinstance(answer, Risks)
    rows = {(row.system, row.measure): row for row in answer.systems}
    assert rows["base", "RR"].against is None
    risky = rows["risky", "RR"].against
    assert risky is not None
    assert risky.u_risk == pytest.approx((5 * 0.5 - 2 * 4 * 0.5) / 10)
    assert answer.critical == pytest.approx(2.0227, abs=1e-4)  # t, 39 degrees of freedom
    # its gain of 0.05 is not shown, so nothing is said about it, however much losses weigh
    heavier = RISKS.answer(RisksConfig(loss_weight=3), inputs(baseline="base"))
    assert isinstance(heavier, Risks)
    assert heavier.findings == ()
    assert [loss.after for loss in answer.losses if loss.system == "risky"] == [0.0] * 5


def test_a_gain_that_is_shown_and_risky() -> None:
    """Half of the queries gain 2/3, half lose 1/12, which weighs 31 times."""
    runs = {"base": ranked(3), "mixed": ranked(1, 4)}
    scores = rs.evaluate(QRELS, runs, ["RR"])
    given = Inputs(scores=scores, baseline="base", queries=[(q, f"about {q}", {}) for q in QUERIES])
    answer = RISKS.answer(RisksConfig(loss_weight=30, show=2), given)
    assert isinstance(answer, Risks)
    assert [finding.code for finding in answer.findings] == ["RS611"]
    assert [(loss.text, loss.after) for loss in answer.losses] == [
        ("about q01", 0.25),
        ("about q03", 0.25),
    ]
    [row] = [row for row in answer.systems if row.system == "mixed"]
    assert row.interval is not None
    assert row.interval.high < 0, "it agrees with the corrected p-value"


def test_risk_without_a_baseline() -> None:
    answer = RISKS.answer(RisksConfig(), inputs())
    assert isinstance(answer, Risks)
    assert all(row.against is None and row.geo_risk is not None for row in answer.systems)


def test_where_it_cannot_look() -> None:
    one = rs.evaluate({"q": {"d": 1}}, {"s": {"q": ["d"]}, "t": {"q": ["d"]}}, ["RR"])
    for given, word in (
        (inputs(["base", "risky"]), "baseline"),
        (inputs(measures=["GMAP"]), "mean"),
        (Inputs(scores=one, baseline="s"), "queries"),
    ):
        answer = RISKS.answer(RisksConfig(), given)
        assert isinstance(answer, NotApplicable)
        assert word in answer.reason
