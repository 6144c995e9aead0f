"""A gate's answer as a document: what should be known beside it, each measure, the losses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from rankscope.document.blocks import (
    Answer,
    Axis,
    Case,
    Cell,
    Code,
    Column,
    Document,
    Notes,
    Point,
    Points,
    Section,
    Table,
    cells,
    finding_lines,
    named_queries,
)
from rankscope.document.terminal import as_text
from rankscope.document.text import percent
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.reports.system_tables import aliases, change_cells, change_columns
from rankscope.statistics.gate import ORDER
from rankscope.statistics.sentences import about, number

if TYPE_CHECKING:
    from rankscope.document.blocks import Tone
    from rankscope.statistics.gate import Answer as Outcome
    from rankscope.statistics.gate import GateResult, MeasureCheck

SUITE = "rankscope gate"
"""What the test suite is called in JUnit's XML."""

_TONES: dict[Outcome, Tone] = {
    "regression": "bad",
    "no regression": "good",
    "can't tell": "warning",
}
_SIGNS: dict[Outcome, str] = {"regression": "✗", "no regression": "✓", "can't tell": "?"}


@view
def gate_document(result: GateResult, *, texts: Mapping[str, str] | None = None) -> Document:
    """Show the answer, what should be known beside it, and each measure, the worst first.

    ``texts`` are those of queries by id, shown beside the ids of lost ones.
    """
    ranked = [check for answer in ORDER for check in result.checks if check.answer == answer]
    losses = tuple(_losses_table(check, texts or {}) for check in ranked if check.worst)
    names = {result.baseline, result.candidate, *(check.measure for check in result.checks)}
    names |= {loss.query_id for check in result.checks for loss in check.broken}
    names |= {floor.measure for floor in result.floors}
    sections = (
        Section("Floors", (_floors_table(result),) if result.floors else ()),
        Section("Worst losses by query", losses),
        Section("Method", (Notes((*aliases(result.asked), how_tested(result))),)),
    )
    return Document(
        f"{SUITE}: {_SIGNS[result.answer]} {result.answer}",
        tuple(section for section in sections if section.all_blocks),
        subtitle=f"{result.candidate} against {result.baseline}, "
        f"{counted(result.queries, 'question')}",
        answer=Answer(
            _headline(result),
            blocks=(_checks_table(result, ranked), Points(tuple(_points(result)))),
        ),
        names=frozenset(names),
        cases=tuple(_cases(result)),
        properties={
            "answer": result.answer,
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


def failure_text(result: GateResult, texts: Mapping[str, str] | None = None) -> str:
    """Return why a gate stops, as plain text: the answer in the first line, losses at the end."""
    return as_text(gate_document(result, texts=texts), full=True).rstrip()


def _headline(result: GateResult) -> str:
    """Return the answer; of several reasons the first, and how many more there are."""
    failures = result.failures if result.answer == "regression" else []
    if len(failures) > 1:
        return f"Regression: {failures[0]}; {counted(len(failures) - 1, 'more reason')}"
    sentence = result.sentence.removesuffix(".")
    return f"{sentence[:1].upper()}{sentence[1:]}"


def _points(result: GateResult) -> Iterator[Point]:
    """Yield the reasons of a failure, what to be careful about, the margin, what comes next."""
    if result.answer == "regression" and len(result.failures) > 1:
        yield Point("Reasons", tuple(result.failures), "bad")
    careful = [*result.notes, *finding_lines(result.findings)]
    careful += [f"not compared: {name}, {why}" for name, why in result.not_compared.items()]
    if careful:
        yield Point("Careful", tuple(careful), "warning")
    notes = [f"{check.measure} {check.note}" for check in result.checks if check.note]
    notes += [_margin(result), *aliases(result.asked)]
    yield Point("Note", tuple(notes))
    yield Point("Next", ("rankscope diagnose, with judgments and both runs, shows the losses",))


def how_tested(result: GateResult) -> str:
    """Return how the answers were found."""
    count = len(result.checks)
    over = f", for all {count} measures at once" if count > 1 else ""
    methods = " / ".join(dict.fromkeys(check.method for check in result.checks))
    parts = [
        f"{percent(1 - result.settings.alpha)} intervals{over}",
        f"two-sided paired test ({methods}, seed {result.settings.seed})",
    ]
    if result.clusters is not None:
        parts.append(f"{result.clusters:,} clusters of queries, which are the unit of chance")
    if result.weighted:
        parts.append("queries have weights")
    if result.noise:
        parts.append("intervals allow for new runs of the same system")
    parts.append(
        "visible: about the smallest drop that queries like these show with "
        f"{percent(result.power)} probability"
    )
    if any(not check.higher_is_better for check in result.checks):
        parts.append("↓ lower is better, so that a rise counts as a drop")
    if result.max_query_drop is not None and not any(check.broken for check in result.checks):
        parts.append(f"no single query lost more than {result.max_query_drop:g}")
    return "; ".join(parts)


def _margin(result: GateResult) -> str:
    """Say what the margin means for this number of queries."""
    reaches = [
        max(check.interval.high - check.difference, check.difference - check.interval.low)
        for check in result.checks
        if check.reason not in ("identical", "too few queries differ")
    ]
    start = f"margin: a drop up to {result.max_drop:g} is tolerable"
    if not reaches or not math.isfinite(max(reaches)):
        return start
    reach = f"margin of error of {counted(result.queries, 'query')}: ±{number(max(reaches))}"
    if max(reaches) <= result.max_drop or not result.max_drop or result.noise:
        return f"{start}; {reach}"
    needed = math.ceil(result.queries * (max(reaches) / result.max_drop) ** 2)
    return (
        f"{start}; {reach}; one of ±{result.max_drop:g} takes {about(needed)} (compare counts what "
        "the difference that was seen takes)"
    )


# --- tables and cases ----------------------------------------------------------------------------


def _checks_table(result: GateResult, checks: Sequence[MeasureCheck]) -> Table:
    """Return a row for each measure."""
    level = percent(1 - result.settings.alpha).replace(" ", "")
    rows = []
    for check in checks:
        name = check.measure if check.higher_is_better else f"{check.measure} ↓"
        visible = Cell("none" if math.isinf(check.detectable) else check.detectable)
        *change, outcome = change_cells(check, check.answer, _TONES[check.answer])
        rows.append((Cell(name), *change, visible, outcome))
    *columns, last = change_columns("baseline", "candidate", "answer", level)
    columns = [Column("measure", "text"), *columns, Column("visible"), last]
    return Table(tuple(columns), tuple(rows), axis=Axis(0.0))


def _floors_table(result: GateResult) -> Table:
    return Table(
        (Column("measure", "text"), *map(Column, ("candidate", "floor")), Column("answer", "text")),
        tuple(
            (
                *cells(floor.measure, floor.candidate, floor.floor),
                Cell(
                    "reached" if floor.reached else "not reached",
                    tone="good" if floor.reached else "bad",
                ),
            )
            for floor in result.floors
        ),
    )


def _losses_table(check: MeasureCheck, texts: Mapping[str, str]) -> Table:
    losses = check.broken or check.worst
    more = check.broken_queries - len(check.broken)
    columns, named = named_queries([loss.query_id for loss in losses], texts)
    return Table(
        (*columns, *map(Column, ("baseline", "candidate")), Column("change", signed=True)),
        tuple(
            (*names, *cells(loss.baseline, loss.candidate, loss.change))
            for names, loss in zip(named, losses, strict=True)
        ),
        title=f"{check.measure}: {check.losses:,} of {counted(check.queries, 'query')} lost, "
        f"{check.wins:,} gained",
        notes=(f"{more:,} more lost as much as a single query may not",) if more > 0 else (),
        name_columns=len(columns),
    )


def _cases(result: GateResult) -> Iterator[Case]:
    for check in result.checks:
        is_open = check.answer == "can't tell"
        failed = check.answer == "regression" or (is_open and result.cant_tell == "fail")
        yield Case(
            check.measure,
            "failed" if failed else "skipped" if is_open else "passed",
            f"{check.answer}: {check.measure} {check.explanation}",
            check.reason.replace(" ", "-"),
            tuple(
                f"query {loss.query_id}: {loss.baseline:.4f} to {loss.candidate:.4f}"
                for loss in check.broken or check.worst
            ),
        )
    for floor in result.floors:
        message = f"{floor.measure} is {floor.candidate:.4f}, the floor is {floor.floor:.4f}"
        outcome: Literal["passed", "failed"] = "passed" if floor.reached else "failed"
        yield Case(f"{floor.measure} floor", outcome, message, "below-the-floor")
