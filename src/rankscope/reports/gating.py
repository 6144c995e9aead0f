"""A gate's answer as a document: verdict, warnings, each measure, and the worst losses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Case,
    Cell,
    Code,
    Column,
    Document,
    Notes,
    Section,
    Sentence,
    Sentences,
    Table,
    cells,
    ends,
    good_if,
    warning_lines,
)
from rankscope.document.text import percent, plain_cell, title_of
from rankscope.document.views import view
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.statistics.gate import GateResult, MeasureCheck, Reason

SUITE = "rankscope gate"
"""What the test suite is called in JUnit's XML."""

_VERDICTS: dict[Reason, str] = {
    "regression": "FAIL",
    "no power": "FAIL: power",
    "improved": "pass: better",
    "within margin": "pass: small",
    "not significant": "pass",
    "identical": "pass: equal",
}


@view
def gate_document(result: GateResult) -> Document:
    """Show whether the candidate may pass; what is significant comes first."""
    apart = {
        "Significant": [check for check in result.checks if check.significant],
        "Not significant": [check for check in result.checks if not check.significant],
    }
    answer = Sentence(result.sentence, good_if(result.passed))
    losses = tuple(_losses_table(result, check) for check in result.checks if check.worst)
    names = {result.baseline, result.candidate, *(check.measure for check in result.checks)}
    return Document(
        f"{SUITE}: {'✓ passed' if result.passed else '✗ failed'}",
        (
            Section("", (Sentences((answer, *_remarks(result))), *warning_lines(result.findings))),
            *(
                Section(title, (_checks_table(result, checks),))
                for title, checks in apart.items()
                if checks
            ),
            Section("Worst losses by query", details=losses),
            Section("", (Notes((how_tested(result),)),)),
        ),
        subtitle=f"{result.candidate} against {result.baseline}, "
        f"{counted(result.queries, 'query')}",
        names=frozenset(names),
        data=lambda: _checks_table(result, result.checks),
        cases=tuple(_case(result, check) for check in result.checks),
        properties={
            "baseline": result.baseline,
            "candidate": result.candidate,
            "queries": str(result.queries),
            "qrels_sha256": result.qrels.sha256,
            "profile": result.profile,
            "test": how_tested(result),
        },
    )


def no_answer_document(message: str) -> Document:
    """Show that a gate could not answer, and why."""
    return Document(
        f"{SUITE}: no answer",
        (Section("Reason", (Code(message),)),),
        cases=(Case("gate", "error", message, "not-comparable"),),
    )


def how_tested(result: GateResult) -> str:
    """Return how the p-values were made."""
    count = len(result.checks)
    over = f", corrected by Holm over {count} measures" if count > 1 else ""
    is_lower_better = any(not check.higher_is_better for check in result.checks)
    arrow = "; ↓ lower is better, so that a rise counts as a drop" if is_lower_better else ""
    test = f"two-sided paired test ({result.test.method}, seed {result.test.seed})"
    return (
        f"{test}{over}, significant up to "
        f"{result.alpha:g}; visible: the smallest drop found with {percent(result.power)} "
        f"probability{arrow}"
    )


def _remarks(result: GateResult) -> Iterator[Sentence]:
    """Yield what should be known beside the verdict: warnings first, then notes."""
    for check in result.checks:
        if check.warning:
            yield Sentence(f"warning: {check.measure} {check.warning}", "warning")
    for check in result.checks:
        if check.note:
            yield Sentence(f"note: {check.measure} {check.note}", "quiet")


def _columns(result: GateResult) -> tuple[Column, ...]:
    level = percent(1 - result.alpha)
    return (
        Column("measure", "text"),
        *map(Column, ("baseline", "candidate")),
        Column("difference", note=f"{level} interval", signed=True),
        Column("p", "p"),
        Column("margin", digits=None),
        Column("visible"),
        Column("verdict", "text"),
    )


def _row(check: MeasureCheck) -> tuple[Cell, ...]:
    seen = check.visible_drop
    visible = "unknown" if seen is None else "none" if seen == float("inf") else seen
    return (
        Cell(check.measure if check.higher_is_better else f"{check.measure} ↓"),
        Cell(check.baseline),
        Cell(check.candidate),
        Cell(check.difference, ends(check.interval)),
        Cell(check.corrected_p),
        Cell(check.max_drop),
        Cell(visible),
        Cell(_VERDICTS[check.reason], tone=good_if(check.verdict == "pass")),
    )


def _checks_table(result: GateResult, checks: Sequence[MeasureCheck]) -> Table:
    return Table(_columns(result), tuple(map(_row, checks)))


def _losses_table(result: GateResult, check: MeasureCheck) -> Table:
    return Table(
        (Column("query", "text"), *map(Column, ("baseline", "candidate")),
         Column("change", signed=True)),
        tuple(
            cells(loss.query_id, loss.baseline, loss.candidate, loss.change)
            for loss in check.worst
        ),
        title=f"{check.measure}: {check.losses:,} of {counted(result.queries, 'query')} lost, "
        f"{check.wins:,} gained",
    )  # fmt: skip


def _case(result: GateResult, check: MeasureCheck) -> Case:
    cells = zip(_columns(result), _row(check), strict=True)
    output = [f"{title_of(column)}: {plain_cell(cell, column)}" for column, cell in cells]
    output += [f"warning: {check.warning}"] * bool(check.warning)
    output += [f"note: {check.note}"] * bool(check.note)
    losses = (
        f"query {loss.query_id}: {loss.baseline:.4f} to {loss.candidate:.4f}"
        for loss in check.worst
    )
    return Case(
        check.measure,
        "failed" if check.verdict == "fail" else "passed",
        f"{check.measure} {check.explanation}",
        check.reason.replace(" ", "-"),
        tuple(losses),
        tuple(output),
    )
