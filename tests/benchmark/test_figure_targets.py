"""Targets of figures: the set rag-moe, files that are wrong, and figures beside their targets."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from rankscope.benchmark.targets import Targets, load_targets
from rankscope.diagnosis.stages import StageSpec
from rankscope.errors import FormatError
from rankscope.records.kpis import FigureGoal, figure_kpis, status_of
from rankscope.records.report import BenchmarkReport
from rankscope.reports.verdict import verdict
from reports.sample import sample

HERE = Path()
HEAD = "name: ours\nsource: the team's goals\n"
MOE = {
    "routing_accuracy": FigureGoal(0.75, strict=True),
    "gate_precision": FigureGoal(0.80, strict=True),
    "gate_efficiency": FigureGoal(0.30, strict=True),
    "reranking_improvement": FigureGoal(0.10, strict=True),
}


# --- sets


def test_rag_moe_alone_and_with_others() -> None:
    found = load_targets("rag-moe", [], HERE, measured=frozenset({"P@5"}))
    assert (found.figure_goals, found.by_measure) == (MOE, {})
    found = load_targets(["trec-kpi", "rag-moe", {"gate_precision": 0.9, "P@5": 0.2}], [], HERE)
    assert (found.target_of("nDCG@10"), found.target_of("P@5")) == (0.35, 0.2)
    assert found.figure_goals == {**MOE, "gate_precision": FigureGoal(0.9)}


def test_they_are_kept_in_a_manifest() -> None:
    found = load_targets("rag-moe", ["trec-kpi"], HERE)
    assert Targets.from_plain(asdict(found)) == found
    assert Targets.from_plain({"by_measure": {}, "band_sets": {}}) == Targets()


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("figures: {gate_precison: {target: 1}}\n", 3, "unknown figure 'gate_precison'"),
        ("figures:\n  gate_recall: {below: 0.5}\n", 4, "write above"),
        ("figures:\n  gate_wrongly_skipped: {above: 0.5}\n", 4, "write below"),
        ("figures:\n  gate_recall: {target: 0.5, above: 0.5}\n", 4, "one of target and above"),
        ("figures:\n  gate_recall: {above: 80}\n", 4, "write 0.8 for 80 %"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, text: str, line: int, problem: str) -> None:
    (tmp_path / "ours.yaml").write_text(HEAD + text, encoding="utf-8")
    with pytest.raises(FormatError) as refused:
        load_targets("ours.yaml", [], tmp_path)
    assert problem in refused.value.problem
    assert refused.value.line == line


# --- figures beside them


def test_strict_targets() -> None:
    for value, target, higher, strict, status in (
        (0.75, 0.75, True, False, "pass"),
        (0.75, 0.75, True, True, "warn"),  # exactly 75 % is not above 75 %
        (0.751, 0.75, True, True, "pass"),
        (0.67, 0.75, True, True, "fail"),
        (200.0, 200.0, False, False, "pass"),
        (200.0, 200.0, False, True, "warn"),
        (220.0, 200.0, False, True, "warn"),
        (220.1, 200.0, False, True, "fail"),
    ):
        assert status_of(value, target, higher_is_better=higher, strict=strict) == status


QRELS = {f"q{n}": {"d": 2, "e": 1} for n in range(12)}
RUNS = {
    "first": {q: {"x": 3.0, "e": 2.0, "d": 1.0} for q in QRELS},
    "second": {q: {"d": 3.0, "x": 2.0, "e": 1.0} for q in QRELS},
}
DECISIONS = [
    {
        "query_id": query_id,
        "route": "a",
        "best": "b" if n < 3 else "a",
        "retrieved": n < 8,
        "needed": n < 6,
    }
    for n, query_id in enumerate(QRELS)
]


def analyses(**given: Any) -> Any:
    stages = [StageSpec("first", "bm25"), StageSpec("second", "rerank", ("first",), 3)]
    wanted = ["routing", "gating", "stages"]
    options = {"stages": stages, "decisions": DECISIONS, "only": wanted, "resamples": 100, **given}
    return rs.diagnose(QRELS, RUNS, ["RR", "nDCG@3"], **options).analyses


def test_figures_beside_their_targets() -> None:
    kpis = {kpi.figure: kpi for kpi in figure_kpis(analyses(), MOE)}
    assert list(kpis) == list(MOE)
    assert (kpis["routing_accuracy"].value, kpis["routing_accuracy"].status) == (0.75, "warn")
    assert (kpis["gate_precision"].value, kpis["gate_precision"].status) == (0.75, "warn")
    assert (kpis["gate_efficiency"].value, kpis["gate_efficiency"].status) == (4 / 12, "pass")
    assert kpis["gate_efficiency"].interval is not None
    # reranking: (nDCG after − before) / before, as the specification has it
    scores = rs.evaluate(QRELS, RUNS, ["nDCG@3"])
    before, after = (scores.run(name).means["nDCG@3"] for name in ("first", "second"))
    reranked = kpis["reranking_improvement"]
    assert reranked.value == pytest.approx((after - before) / before)
    assert (reranked.system, reranked.status) == ("second", "pass")


def test_a_figure_that_was_not_measured_is_unknown_and_says_why() -> None:
    rows = figure_kpis(analyses(decisions=None), MOE)
    assert [kpi.status for kpi in rows] == ["unknown", "unknown", "unknown", "pass"]
    assert rows[0].reason == "no decisions were given"
    assert figure_kpis(analyses(only=["gating"]), MOE)[0].status == "unknown"
    assert figure_kpis(analyses(stages=None), MOE)[3].status == "unknown"
    ungraded = rs.diagnose(QRELS, RUNS, ["RR"], stages="first,second", only="stages").analyses
    [kpi] = figure_kpis(ungraded, {"reranking_improvement": FigureGoal(0.1)})
    assert kpi.reason == "no stage is a reranker, or no nDCG is measured"
    assert figure_kpis(analyses(), {}) == ()


def test_a_report_names_what_is_missed_and_keeps_it() -> None:
    kpis = figure_kpis(analyses(), MOE)
    report = sample().model_copy(update={"figure_kpis": kpis})
    missed = verdict(report)[-1]
    assert "routing accuracy (top-1) 75.0 % (target > 75 %)" in missed
    assert "gate precision 75.0 % (target > 80 %)" in missed
    assert BenchmarkReport.model_validate(report.to_dict()).figure_kpis == kpis
    assert "figure_kpis" not in sample().to_dict()
