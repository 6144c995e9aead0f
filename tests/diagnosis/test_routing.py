"""Routing and gates: planted decisions give exactly what was planted."""

from __future__ import annotations

from typing import Any

import pytest

import rankscope as rs
from rankscope.collection.decisions import as_decisions
from rankscope.diagnosis.analysis import Inputs
from rankscope.diagnosis.retrieval_gate import Gating, gating
from rankscope.diagnosis.routing import Routing, routing
from rankscope.findings import NotApplicable
from rankscope.scoring.inputs import as_judgments
from rankscope.scoring.judgments import Judgments
from rankscope.statistics.classification import proportion
from rankscope.statistics.settings import Settings


def inputs(rows: Any, **more: Any) -> Inputs:
    return Inputs(decisions=as_decisions(rows), settings=Settings(resamples=999), **more)


def scored(qrels: Any, run: Any, measure: str = "RR") -> dict[str, Any]:
    return {"scores": rs.evaluate(qrels, {"s": run}, [measure]), "qrels": as_judgments(qrels)}


def routed(rows: Any, **more: Any) -> Routing:
    answer = routing.answer(routing.config(), inputs(rows, **more))
    assert isinstance(answer, Routing), answer
    assert Routing.model_validate(answer.to_dict()).to_dict() == answer.to_dict()
    return answer


def gated(rows: Any, **more: Any) -> Gating:
    answer = gating.answer(gating.config(), inputs(rows, **more))
    assert isinstance(answer, Gating), answer
    return answer


def numbered(pairs: list[tuple[str, Any]], **more: Any) -> list[dict[str, Any]]:
    return [
        {"query_id": f"q{n}", "route": route, "best": best, **more}
        for n, (route, best) in enumerate(pairs)
    ]


CONFUSED = {("a", "a"): 12, ("a", "b"): 5, ("b", "b"): 9, ("b", "a"): 1, ("c", "b"): 3}
"""By where questions belong and where they are sent: how many."""


def confused() -> list[dict[str, Any]]:
    return numbered([(sent, home) for (home, sent), n in CONFUSED.items() for _ in range(n)])


# --- routing


def test_errors_are_a_finding_where_they_are_surely_many() -> None:
    result = routed(confused())
    [finding] = [finding for finding in result.findings if finding.code == "RS691"]
    assert (finding.count, finding.severity) == (9, "warning")
    counts = {(pair.right, pair.sent): pair.count for pair in result.confusion}
    assert counts == CONFUSED
    assert [pair.count for pair in result.confusion] == [12, 9, 5, 3, 1]
    assert routed(numbered([("a", "a")] * 29 + [("a", "b")])).findings == ()


def decided_elsewhere(judged: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return 40 decisions, the first ones for judged queries and wrong, and a golden set."""
    rows = [
        {
            "query_id": f"q{n}",
            "route": "a",
            "best": "b" if n < judged else "a",
            "retrieved": n >= judged,
            "needed": True,
        }
        for n in range(40)
    ]
    qrels = {f"q{n}" if n < judged else f"other{n}": {"d": 1} for n in range(20)}
    return rows, scored(qrels, {query_id: ["d"] for query_id in qrels})


def test_decisions_for_other_queries_do_not_count() -> None:
    rows, given = decided_elsewhere(15)
    sent, opened = routed(rows, **given), gated(rows, **given)
    assert sent.accuracy == proportion(0, 15)
    assert opened.recall == proportion(0, 15)
    assert (sent.other_queries, opened.other_queries) == (25, 25)
    for findings in (sent.findings, opened.findings):
        [finding] = [finding for finding in findings if finding.code == "RS720"]
        assert (finding.severity, finding.count) == ("note", 25)
    # without qrels nobody can tell, and all count
    assert routed(rows).accuracy.total == 40


@pytest.mark.parametrize("analysis", [routing, gating])
def test_decisions_of_another_set_say_nothing(analysis: Any) -> None:
    rows, given = decided_elsewhere(0)
    answer = analysis.answer(analysis.config(), inputs(rows, **given))
    assert isinstance(answer, NotApplicable)
    assert "40 decisions" in answer.reason


def test_questions_without_an_answer_count_as_judged() -> None:
    rows, _ = decided_elsewhere(15)
    judgments = Judgments({"q1": {"d": 1}, "q2": {}}, no_answer="empty")
    assert routed(rows, qrels=judgments).decisions == 2


def test_several_right_routes_and_allowed_ones() -> None:
    rows = [
        {"query_id": "1", "route": "a", "best": ["b", "a"]},
        {"query_id": "2", "route": "c", "best": "b|a"},  # wrong; belongs to the first named
        {"query_id": "3", "route": "c", "best": "a", "allowed": ["c", "d"]},
        {"query_id": "4", "route": "d", "allowed": "d"},  # no best: the allowed ones count
        {"query_id": "5", "route": "a"},  # nothing is known
        {"query_id": "6", "best": "a"},  # was not routed
    ]
    result = routed(rows)
    assert (result.decisions, result.unknown) == (5, 1)
    assert result.accuracy == proportion(2, 4)
    assert result.allowed == proportion(3, 4)
    counts = {(pair.right, pair.sent): pair.count for pair in result.confusion}
    assert counts == {("a", "a"): 1, ("b", "c"): 1, ("a", "c"): 1, ("d", "d"): 1}
    assert len(result.routes) == 4
    assert result.busiest == 2 * 4 / 5
    only_allowed = routed([{"query_id": "1", "route": "x", "allowed": ["x", "y"]}])
    assert (only_allowed.against, only_allowed.allowed) == ("allowed", None)


@pytest.mark.parametrize(("belong", "is_named"), [(8, True), (2, False)])
def test_a_route_that_is_never_taken_is_a_finding(belong: int, is_named: bool) -> None:
    result = routed(numbered([("a", "a")] * 30 + [("a", "b")] * belong))
    assert ("RS693" in {finding.code for finding in result.findings}) == is_named


# --- gates

# retrieved, needed: how many
GATE = {(True, True): 40, (True, False): 10, (False, True): 15, (False, False): 35}


def gate_rows(counts: Any = None, **more: Any) -> list[dict[str, Any]]:
    pairs = [pair for pair, n in (counts or GATE).items() for _ in range(n)]
    return [
        {"query_id": f"q{n}", "retrieved": retrieved, "needed": needed, **more}
        for n, (retrieved, needed) in enumerate(pairs)
    ]


def test_a_perfect_gate_and_gates_that_never_or_always_open() -> None:
    perfect = gated(gate_rows({(True, True): 30, (False, False): 30}))
    assert (perfect.precision.share, perfect.recall.share, perfect.f1) == (1.0, 1.0, 1.0)
    assert perfect.efficiency.share == 0.5
    assert perfect.findings == ()
    closed = gated(gate_rows({(False, True): 5, (False, False): 5}))
    assert closed.precision.share is None  # nothing was retrieved
    assert (closed.recall.share, closed.f1) == (0.0, 0.0)
    opened = gated(gate_rows({(True, False): 5}))
    assert (opened.recall.share, opened.precision.share, opened.f1) == (None, 0.0, 0.0)
    result = gated(gate_rows())
    assert [finding.code for finding in result.findings] == ["RS694"]
    assert result.skippable == proportion(45, 100)
    nothing = gated(gate_rows({(False, False): 3}))
    assert (nothing.f1, nothing.f1_interval, nothing.efficiency.share) == (None, None, 1.0)
    assert "gate_f1" not in {figure.name for figure in nothing.figures}


@pytest.mark.parametrize(
    ("analysis", "rows", "word"),
    [
        (routing, [{"query_id": "q", "best": 1}], "selected_route"),
        (routing, [{"query_id": "q", "route": "a"}], "best_route"),
        (routing, [{"query_id": "q", "route": "a"}, {"query_id": "r", "best": "a"}], "both"),
        (gating, [{"query_id": "q", "route": 1}], "did_retrieve"),
        (gating, [{"query_id": "q", "gate": 1}], "should_retrieve"),
        (gating, [{"query_id": "q", "gate": 1}, {"query_id": "r", "needed": 1}], "both"),
    ],
)
def test_where_nothing_can_be_seen(analysis: Any, rows: Any, word: str) -> None:
    answer = analysis.answer(analysis.config(), inputs(rows))
    assert isinstance(answer, NotApplicable)
    assert word in answer.reason
