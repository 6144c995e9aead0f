"""Risk and orders as analyses: against the functions they are made of, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankscope as rs
from rankscope.diagnosis.orders import ORDERS, Orders, OrdersConfig
from rankscope.diagnosis.registry import Inputs
from rankscope.diagnosis.risks import RISKS, Risks, RisksConfig
from rankscope.document.blocks import Table
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
    "worse": ranked(9, None),
    "worst": ranked(10, None),
}
FIVE = ["base", "steady", "risky", "bad", "worse"]


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
    assert (risky.wins, risky.losses) == (20, 16)
    assert risky.reward - risky.loss == pytest.approx(0.05)
    assert risky.u_risk == pytest.approx((5 * 0.5 - 2 * 4 * 0.5) / 10)
    interval = rows["risky", "RR"].interval
    assert interval is not None
    assert interval.low < risky.u_risk < interval.high
    assert answer.critical == pytest.approx(2.0227, abs=1e-4)  # t, 39 degrees of freedom
    assert answer.measure == "RR"
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
    [finding] = answer.findings
    assert finding.code == "RS611"
    assert "mixed gains 0.2917 on RR against base, and loses on 20 queries" in finding.message
    assert [(loss.text, loss.after) for loss in answer.losses] == [
        ("about q01", 0.25),
        ("about q03", 0.25),
    ]
    [row] = [row for row in answer.systems if row.system == "mixed"]
    assert row.interval is not None
    assert row.interval.high < 0, "it agrees with the corrected p-value"
    [_, table] = RISKS.section(answer).details
    assert isinstance(table, Table)
    assert table.title == "Where mixed lost most"


def test_risk_of_a_measure_for_which_less_is_better() -> None:
    answer = RISKS.answer(RisksConfig(), inputs(measures=["Unjudged@2"], baseline="base"))
    if isinstance(answer, NotApplicable):
        pytest.fail(answer.reason)
    rows = {row.system: row for row in answer.systems}
    assert rows["steady"].geo_risk is None
    assert rows["steady"].against is not None
    assert (rows["steady"].against.wins, rows["steady"].against.losses) == (10, 0)


def test_risk_without_a_baseline() -> None:
    answer = RISKS.answer(RisksConfig(), inputs())
    assert isinstance(answer, Risks)
    assert all(row.against is None and row.geo_risk is not None for row in answer.systems)
    [table] = RISKS.section(answer).details
    assert isinstance(table, Table)
    assert [column.title for column in table.columns] == ["system", "mean", "GeoRisk"]


def test_orders_by_hand() -> None:
    """RR: risky 0.55, steady 0.625, base 0.5; R@10: risky 0.6, and all three others 1."""
    answer = ORDERS.answer(OrdersConfig(splits=50), inputs(FIVE))
    assert isinstance(answer, Orders)
    by_rank, by_set = answer.orders
    assert by_rank.order == ("steady", "risky", "base", "bad", "worse")
    assert by_set.order == ("bad", "base", "steady", "risky", "worse")
    [pair] = answer.pairs
    # of ten pairs three are tied by R@10, two are turned (risky and base, risky and bad)
    assert pair.tau == pytest.approx((5 - 2) / np.sqrt(10 * 7))
    assert by_rank.swaps.splits == 50
    assert answer.findings == ()  # steady is among the best of both
    other = ORDERS.answer(
        OrdersConfig(splits=5), inputs(["risky", "bad", "base", "worse", "worst"])
    )
    assert isinstance(other, Orders)
    [finding] = other.findings
    assert finding.message == (
        "the best by RR is risky, and another by other measures (R@10: bad, base)"
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            lambda: ORDERS.answer(OrdersConfig(), inputs(["base", "risky"])),
            (
                "it needs 5 systems and 10 queries with averaged measures; given: 2 systems, "
                "40 queries, 2 measures"
            ),
        ),
        (
            lambda: RISKS.answer(RisksConfig(), inputs(["base", "risky"])),
            "it needs a baseline and another system, or three systems",
        ),
        (
            lambda: RISKS.answer(RisksConfig(), inputs(measures=["GMAP"])),
            "no measure is a mean over queries",
        ),
    ],
)
def test_where_they_cannot_look(answer: Any, reason: str) -> None:
    silence = answer()
    assert isinstance(silence, NotApplicable)
    assert silence.reason == reason


def test_one_of_each_is_counted_as_one() -> None:
    scores = rs.evaluate({"q": {"d": 1}}, {"s": {"q": ["d"]}}, ["RR"])
    answer = ORDERS.answer(OrdersConfig(), Inputs(scores=scores))
    assert isinstance(answer, NotApplicable)
    assert answer.reason.endswith("; given: 1 system, 1 query, 1 measure")
    two = rs.evaluate({"q": {"d": 1}}, {"s": {"q": ["d"]}, "t": {"q": ["d"]}}, ["RR"])
    risks = RISKS.answer(RisksConfig(), Inputs(scores=two, baseline="s"))
    assert isinstance(risks, NotApplicable)
    assert risks.reason.endswith(" queries, and there is 1")
