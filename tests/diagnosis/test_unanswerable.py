"""Questions without an answer: what is returned for them, and what a threshold would do."""

from __future__ import annotations

import math
from typing import Any

import pytest

import rankscope as rs
from rankscope.diagnosis.unanswerable import NoAnswer
from rankscope.findings import NotApplicable
from rankscope.statistics.classification import proportion


def golden(answerable: int, unanswerable: int) -> list[dict[str, Any]]:
    with_answer = [{"query_id": f"a{n}", "relevant_ids": ["d"]} for n in range(answerable)]
    without = [
        {"query_id": f"u{n}", "relevant_ids": [], "no_answer": True} for n in range(unanswerable)
    ]
    return with_answer + without


def look(qrels: Any, runs: Any, measure: str = "RR", **options: Any) -> NoAnswer:
    diagnosis = rs.diagnose(qrels, runs, [measure], only="no_answer", **options)
    answer = getattr(diagnosis.analyses, "no_answer")  # noqa: B009
    assert isinstance(answer, NoAnswer), answer
    assert NoAnswer.model_validate(answer.to_dict()).to_dict() == answer.to_dict()
    return answer


def scored(high: list[float], low: list[float]) -> dict[str, dict[str, float]]:
    """Make a run whose best scores are these; −∞ is an empty answer."""
    pairs = [
        *((f"a{n}", s) for n, s in enumerate(high)),
        *((f"u{n}", s) for n, s in enumerate(low)),
    ]
    return {
        query_id: {} if score == -math.inf else {"d": score, "x": score - 1}
        for query_id, score in pairs
    }


def test_what_is_returned_by_hand() -> None:
    run = scored([3.0, 2.0, -math.inf, 1.0], [-math.inf, 2.0, 0.5])
    del run["u2"]
    run["u3"] = {"x": 5.0}
    result = look(golden(4, 5), {"s": run})
    assert (result.unanswerable, result.answerable) == (5, 4)
    [system] = result.systems
    # u0 is empty, u2 and u4 are not in the run
    assert system.rightly_nothing == proportion(3, 5)
    assert system.answered == 2
    assert system.missing == 2
    assert system.wrongly_nothing == proportion(1, 4)


RISING = [n / 100 for n in range(40)]


@pytest.mark.parametrize(
    ("high", "low", "code"),
    [
        ([1 + n / 37 % 1 for n in range(60)], [1 + n / 23 % 1 for n in range(40)], "RS696"),
        ([1 + step for step in RISING], [2 + step for step in RISING], "RS696"),  # even higher
        ([2 + step for step in RISING], [1 + step for step in RISING], "RS697"),
        ([1.0, 2.0] * 10 + [-math.inf] * 10, [-math.inf] * 20, "RS698"),  # refuses too much
        ([1.0, 2.0, 3.0], [], "RS699"),  # may not have been asked
    ],
)
def test_what_scores_tell(high: list[float], low: list[float], code: str) -> None:
    result = look(golden(len(high), len(low) or 2), {"s": scored(high, low)})
    assert [finding.code for finding in result.findings] == [code]


def test_scores_that_tell_are_worth_a_threshold() -> None:
    high, low = [2.0 + n / 100 for n in range(50)], [1.0 + n / 100 for n in range(40)]
    result = look(golden(50, 40), {"s": scored(high, low)})
    assert [finding.gain for finding in result.findings] == [pytest.approx(40 / 90)]
    [row] = result.systems
    assert row.auc is not None
    assert (row.auc.value, row.balanced_accuracy, row.held_out) == (1, 1, 1)
    assert row.threshold == pytest.approx((1.39 + 2.0) / 2)


def test_a_threshold_that_is_not_shown_to_hold_is_a_note() -> None:
    """Of four questions three lie among the others: the AUC is sure, and no threshold is."""
    high, low = [2.0 + n / 100 for n in range(50)], [1.0, 2.05, 2.1, 2.2]
    result = look(golden(50, 4), {"s": scored(high, low)})
    [finding] = result.findings
    assert (finding.code, finding.severity) == ("RS697", "note")
    assert finding.gain is None
    assert look(golden(50, 4), {"s": scored(high, [1.0, *[-math.inf] * 3])}).findings == ()


def test_lists_have_no_threshold() -> None:
    qrels = golden(10, 8)
    run = {row["query_id"]: ["d", "x"] for row in qrels}
    result = look(qrels, {"s": run, "t": {q: [] if q != "a0" else ["d"] for q in run}})
    listed, silent = result.systems
    assert (listed.threshold, silent.threshold) == (None, None)
    assert listed.reason
    [finding] = [finding for finding in result.findings if finding.code == "RS696"]
    assert finding.severity == "note"


def test_where_it_cannot_look() -> None:
    diagnosis = rs.diagnose({"q": {"d": 1}}, {"s": {"q": ["d"]}}, ["RR"], only="no_answer")
    answer = getattr(diagnosis.analyses, "no_answer")  # noqa: B009
    assert isinstance(answer, NotApplicable)
