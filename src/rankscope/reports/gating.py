"""A gate's answer as a document: what should be known beside it, each measure, the losses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

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
    named_queries,
    text_columns,
    warning_lines,
)
from rankscope.document.terminal import as_text
from rankscope.document.text import percent, plain_cell, title_of
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.reports.asked import aliases
from rankscope.statistics.gate import ORDER
from rankscope.statistics.sentences import about, number

if TYPE_CHECKING:
    from rankscope.document.blocks import Block, Tone
    from rankscope.statistics.gate import Answer, GateResult, MeasureCheck

SUITE = "rankscope gate"
"""What the test suite is called in JUnit's XML."""

_TONES: dict[Answer, Tone] = {
    "regression": "bad",
    "no regression": "good",
    "can't tell": "warning",
}
_SIGNS: dict[Answer, str] = {"regression": "✗", "no regression": "✓", "can't tell": "?"}


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
    return Document(
        f"{SUITE}: {_SIGNS[result.answer]} {result.answer}",
        (
            Section("", (*_answer(result), *warning_lines(result.findings))),
            Section("", (_checks_table(result, ranked),)),
            *_floors_section(result),
            Section("Worst losses by query", details=losses),
            Section("", (Notes((*aliases(result.asked), how_tested(result))),)),
        ),
        subtitle=f"{result.candidate} against {result.baseline}, "
        f"{counted(result.queries, 'query')}",
        names=frozenset(names),
        data=lambda: _data(result),
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


def _answer(result: GateResult) -> tuple[Sentences, ...]:
    """Say the answer, and what should be known beside it; of several failures each on its line."""
    remarks = tuple(_remarks(result))
    heading = Sentence(_heading(result), _TONES[result.answer])
    if heading.text == result.sentence:
        return (Sentences((heading, *remarks)),)
    return (
        Sentences((heading,)),
        Sentences(tuple(Sentence(failure) for failure in result.failures), listed=True),
        Sentences(remarks),
    )


def _heading(result: GateResult) -> str:
    """Return the answer; where it has several reasons, how many there are."""
    failures = result.failures if result.answer == "regression" else []
    return result.sentence if len(failures) < 2 else f"regression, for {len(failures)} reasons:"


def no_answer_document(message: str) -> Document:
    """Show that a gate could not answer, and why."""
    return Document(
        f"{SUITE}: no answer",
        (Section("Reason", (Code(message),)),),
        cases=(Case("gate", "error", message, "not-comparable"),),
    )


def how_tested(result: GateResult) -> str:
    """Return how the answers were found."""
    count = len(result.checks)
    over = f", for all {count} measures at once" if count > 1 else ""
    is_lower_better = any(not check.higher_is_better for check in result.checks)
    arrow = "; ↓ lower is better, so that a rise counts as a drop" if is_lower_better else ""
    test = f"two-sided paired test ({result.test.method}, seed {result.test.seed})"
    units = ""
    if result.clusters is not None:
        units = f"; {result.clusters:,} clusters of queries, which are the unit of chance"
    if result.weighted:
        units += "; queries have weights"
    guard = ""
    if result.max_query_drop is not None and not any(check.broken for check in result.checks):
        guard = f"; no single query lost more than {result.max_query_drop:g}"
    noise = "; intervals allow for new runs of the same system" if result.noise else ""
    return (
        f"{percent(1 - result.alpha)} intervals{over}; {test}{units}{noise}; visible: about the "
        f"smallest drop that queries like these show with {percent(result.power)} "
        f"probability{arrow}{guard}"
    )


def _remarks(result: GateResult) -> Iterator[Sentence]:
    """Yield what should be known beside the answer."""
    others = [check for check in result.checks if check.explanation not in result.sentence]
    for check in others:
        if check.answer != "no regression":
            text = f"{check.answer}: {check.measure} {check.explanation}"
            yield Sentence(text, _TONES[check.answer])
    for note in result.notes:
        yield Sentence(f"warning: {note}", "warning")
    if result.not_compared:
        reasons = (f"{name} ({reason})" for name, reason in result.not_compared.items())
        yield Sentence(f"not compared: {'; '.join(reasons)}", "warning")
    for check in result.checks:
        if check.note:
            yield Sentence(f"note: {check.measure} {check.note}", "quiet")
    yield Sentence(_margin(result), "quiet")


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
    queries = counted(result.queries, "query")
    reach = f"the interval from {queries} like these reaches up to {number(max(reaches))}"
    if max(reaches) <= result.max_drop or not result.max_drop or result.noise:
        return f"{start}; {reach} to each side"
    needed = math.ceil(result.queries * (max(reaches) / result.max_drop) ** 2)
    return f"{start}; {reach} to each side, and one of ±{result.max_drop:g} takes {about(needed)}"


def _columns(result: GateResult) -> tuple[Column, ...]:
    level = percent(1 - result.alpha)
    return (
        Column("measure", "text"),
        *map(Column, ("baseline", "candidate")),
        Column("difference", note=f"{level} interval", signed=True),
        Column("p", "p"),
        Column("visible"),
        Column("answer", "text"),
    )


def _row(check: MeasureCheck) -> tuple[Cell, ...]:
    visible = "none" if math.isinf(check.detectable) else check.detectable
    return (
        Cell(check.measure if check.higher_is_better else f"{check.measure} ↓"),
        Cell(check.base_mean),
        Cell(check.system_mean),
        Cell(check.difference, ends(check.interval)),
        Cell(check.p_corrected),
        Cell(visible),
        Cell(check.answer, tone=_TONES[check.answer]),
    )


def _checks_table(result: GateResult, checks: Sequence[MeasureCheck]) -> Table:
    return Table(_columns(result), tuple(map(_row, checks)))


def _data(result: GateResult) -> Table:
    """Return a row for each measure with all that csv can hold."""
    columns = (*_columns(result), *text_columns("reason", "margin", "explanation"))
    rows = tuple(
        (*_row(check), *cells(check.reason, result.max_drop, check.explanation))
        for check in result.checks
    )
    return Table(columns, rows)


def _floors_section(result: GateResult) -> Iterator[Section]:
    if result.floors:
        rows = tuple(
            (
                *cells(floor.measure, floor.candidate, floor.floor),
                Cell("reached" if floor.reached else "not reached", tone=good_if(floor.reached)),
            )
            for floor in result.floors
        )
        columns = (
            Column("measure", "text"),
            *map(Column, ("candidate", "floor")),
            Column("answer", "text"),
        )
        yield Section("Floors", (Table(columns, rows),))


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


def failure_text(result: GateResult, texts: Mapping[str, str] | None = None) -> str:
    """Return why a gate stops, as plain text: the answer in the first line, losses at the end."""
    document = gate_document(result, texts=texts)
    sections = tuple(
        replace(
            section, title="", blocks=_without(section.all_blocks, _heading(result)), details=()
        )
        for section in document.sections
    )
    answer = result.sentence
    if result.answer == "regression" and len(result.failures) > 1:
        more = counted(len(result.failures) - 1, "more reason")
        answer = f"regression: {result.failures[0]}; {more}"
    return f"{answer}\n\n{as_text(replace(document, sections=sections))}".rstrip()


def _without(blocks: Iterable[Block], text: str) -> tuple[Block, ...]:
    """Return blocks without a sentence."""
    others: list[Block] = []
    for block in blocks:
        if isinstance(block, Sentences):
            lines = tuple(line for line in block.sentences if line.text != text)
            others += [replace(block, sentences=lines)] * bool(lines)
        else:
            others.append(block)
    return tuple(others)


def _cases(result: GateResult) -> Iterator[Case]:
    for check in result.checks:
        yield _case(result, check)
    for floor in result.floors:
        message = f"{floor.measure} is {floor.candidate:.4f}, the floor is {floor.floor:.4f}"
        outcome: Literal["passed", "failed"] = "passed" if floor.reached else "failed"
        yield Case(f"{floor.measure} floor", outcome, message, "below-the-floor")


def _case(result: GateResult, check: MeasureCheck) -> Case:
    pieces = zip(_columns(result), _row(check), strict=True)
    output = [f"{title_of(column)}: {plain_cell(cell, column)}" for column, cell in pieces]
    output += [f"note: {check.note}"] * bool(check.note)
    losses = (
        f"query {loss.query_id}: {loss.baseline:.4f} to {loss.candidate:.4f}"
        for loss in check.broken or check.worst
    )
    failed = check.answer == "regression" or (
        check.answer == "can't tell" and result.cant_tell == "fail"
    )
    outcomes: dict[bool, Literal["failed", "skipped", "passed"]] = {
        True: "failed",
        False: "skipped" if check.answer == "can't tell" else "passed",
    }
    return Case(
        check.measure,
        outcomes[failed],
        f"{check.answer}: {check.measure} {check.explanation}",
        check.reason.replace(" ", "-"),
        tuple(losses),
        tuple(output),
    )
