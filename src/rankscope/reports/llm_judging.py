"""Judging by a language model as a document: what it says, whom it agrees with, what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.diagnosis.judges import judges
from rankscope.document.blocks import (
    Block,
    Code,
    Column,
    Document,
    Findings,
    Section,
    Table,
    plain_rows,
    sentences,
    shortened,
    text_columns,
)
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.reports.system_tables import FIRST
from rankscope.reports.what_ran import usage_table

if TYPE_CHECKING:
    from rankscope.retrieval.llm.llm_judge import JudgingPlan, LlmJudging


@view
def judging_document(judging: LlmJudging) -> Document:
    """Show the grades, the agreement with people and with itself, and what it took."""
    grades = Table(
        (Column("grade", "text"), Column("ratings", digits=0), Column("share", digits=3)),
        plain_rows(
            (grade, count, count / max(judging.ratings, 1))
            for grade, count in judging.grades.items()
        ),
    )
    times = "once" if judging.repeats == 1 else f"{judging.repeats} times"
    whole = (
        f"{judging.model} judged {counted(judging.pairs, 'pair')} of query and document {times}; "
        f"{counted(judging.ratings, 'rating')} in all"
    )
    usage = usage_table([(judging.model, judging.usage)]).turned()
    prompt = f"the prompt has the SHA-256 {judging.prompt}"
    sections = [
        Section("Grades", (sentences([whole]), grades)),
        _agreement(judging),
        *([_unjudged(judging)] if judging.unjudged else []),
        Section("What it took", (usage, sentences([prompt]))),
    ]
    return Document(f"Judged by {judging.model}", tuple(sections), data=lambda: grades)


def _agreement(judging: LlmJudging) -> Section:
    if judging.agreement is None:
        return Section("Agreement", (sentences([judging.agreement_reason]),))
    findings = judging.agreement.findings
    first: tuple[Block, ...] = (Findings(findings),) if findings else ()
    return Section("Agreement", (*first, *judges.section(judging.agreement).all_blocks))


def _unjudged(judging: LlmJudging) -> Section:
    rows = plain_rows(
        (row.query_id, row.doc_id, str(row.repeat or "all"), shortened(row.reason))
        for row in judging.unjudged[:FIRST]
    )
    more = judging.unjudged_count - len(rows)
    notes = (f"{more:,} more; the JSON holds up to 1,000",) if more > 0 else ()
    columns = text_columns("query", "document", "repeat", "why")
    return Section("Without a grade", (Table(columns, rows, notes=notes, name_columns=2),))


@view
def plan_document(plan: JudgingPlan) -> Document:
    """Show what judging would take, and the first request."""
    times = "once" if plan.repeats == 1 else f"{plan.repeats} times"
    pairs = f"{counted(plan.pairs, 'pair')} of query and document"
    tokens = f"about {counted(plan.prompt_tokens, 'token')} at most"
    lines = [
        f"{pairs} would be judged {times} by {plan.model}",
        f"{counted(plan.requests, 'request')} to {plan.url}, with {tokens}",
    ]
    if plan.cost is not None:
        lines.append(f"the cost would be about {plan.cost:.4g} at most")
    if plan.without_texts:
        lines.append(f"{counted(plan.without_texts, 'pair')} cannot be judged: a text is missing")
    lines.append("nothing was sent; replies that are kept from before cost nothing")
    return Document(
        "Plan",
        (
            Section("What it would take", (sentences(lines),)),
            Section("The first request", (Code(plan.example or ""),)),
        ),
    )
