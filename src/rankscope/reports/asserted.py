"""The assertions of a test session as a document: all at a glance, then each in full."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Cell,
    Code,
    Column,
    Document,
    Section,
    Sentence,
    Sentences,
    Table,
    cells,
    ends,
    good_if,
    named_queries,
    sentences,
    text_columns,
)
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.reports.gating import gate_document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankscope.records.assertions import Assertion, AssertionReport, LimitCheck, Outcome

_SIGNS: dict[Outcome, str] = {"passed": "✓", "undecided": "?", "failed": "✗", "no answer": "✗"}
"""By outcome, the best first."""


@view
def assertions_document(report: AssertionReport) -> Document:
    """Show every assertion in a line, and then what each found."""
    outcomes = [assertion.outcome for assertion in report.assertions]
    tally = ", ".join(f"{outcomes.count(name):,} {name}" for name in _SIGNS if name in outcomes)
    worst = next((name for name in reversed(_SIGNS) if name in outcomes), None)
    sign = f"{_SIGNS[worst]} " if worst else ""
    names = {name for assertion in report.assertions for name in _names(assertion)}
    return Document(
        f"rankscope assertions: {sign}{tally or 'none ran'}",
        (
            Section("", (_summary(report),)),
            *(section for assertion in report.assertions for section in _sections(assertion)),
        ),
        subtitle=f"{counted(len(outcomes), 'assertion')}, {report.created}, "
        f"rankscope {report.rankscope}",
        names=frozenset(names),
    )


def _names(assertion: Assertion) -> set[str]:
    """Return what sentences of an assertion may name."""
    names = {assertion.test}
    for limit in assertion.limits:
        names |= {limit.run, limit.measure}
    if assertion.gate is not None:
        names |= gate_document(assertion.gate).names
    return names


def _summary(report: AssertionReport) -> Sentences:
    if not report.assertions:
        return sentences(["no test called assert_no_regression or assert_at_least"])
    lines = []
    for assertion in report.assertions:
        # an error may hold any text, and is shown as it is, below
        verdict = "no answer" if assertion.outcome == "no answer" else assertion.verdict
        text = f"{_SIGNS[assertion.outcome]} {_title(assertion)}: {verdict}"
        lines.append(Sentence(text))
    return Sentences(tuple(lines), listed=True)


def _title(assertion: Assertion) -> str:
    return assertion.test or "outside of a test"


def _sections(assertion: Assertion) -> list[Section]:
    title = _title(assertion)
    if assertion.gate is not None:
        first, *others = gate_document(assertion.gate, texts=assertion.texts).sections
        return [replace(first, title=title), *others]
    if assertion.limits:
        worst = [_worst_table(limit, assertion.texts) for limit in assertion.limits if limit.worst]
        return [Section(title, (_limits_table(assertion), *worst))]
    return [Section(title, (Code(assertion.verdict),))]


def _limits_table(assertion: Assertion) -> Table:
    rows = tuple(
        (
            *cells(limit.run, limit.measure),
            Cell(limit.mean, None if limit.interval is None else ends(limit.interval)),
            Cell(limit.limit),
            Cell("reached" if limit.reached else "missed", tone=good_if(limit.reached)),
        )
        for limit in assertion.limits
    )
    columns = (
        *text_columns("run", "measure"),
        Column("mean", note="95% interval"),
        Column("limit", digits=None),
        Column("answer", "text"),
    )
    return Table(columns, rows, name_columns=2)


def _worst_table(limit: LimitCheck, texts: Mapping[str, str]) -> Table:
    columns, named = named_queries([query.query_id for query in limit.worst], texts)
    return Table(
        (*columns, Column(limit.measure)),
        tuple((*names, Cell(query.value)) for names, query in zip(named, limit.worst, strict=True)),
        title=f"{limit.run}: {counted(len(named), 'query')} with the worst {limit.measure}",
        name_columns=len(columns),
    )
