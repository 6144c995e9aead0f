"""Judging by a language model as a document: what it says, whom it agrees with, what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.diagnosis.judges import judges
from rankscope.document.blocks import (
    Block,
    Cell,
    Code,
    Column,
    Document,
    Findings,
    Section,
    Table,
    cells,
    sentences,
    shortened,
    text_columns,
)
from rankscope.document.views import view
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.records.origin import KeptUsage, ModelUsage
    from rankscope.retrieval.llm.judging_batches import JudgingPlan
    from rankscope.retrieval.llm.llm_judge import LlmJudging

SHOWN = 10
"""So many pairs without a grade are shown."""


@view
def judging_document(judging: LlmJudging) -> Document:
    """Show the grades, the agreement with people and with itself, and what it took."""
    grades = Table(
        (Column("grade", "text"), Column("ratings", digits=0), Column("share", digits=3)),
        tuple(
            (Cell(grade), Cell(count), Cell(count / max(judging.ratings, 1)))
            for grade, count in judging.grades.items()
        ),
    )
    times = "once" if judging.repeats == 1 else f"{judging.repeats} times"
    whole = (
        f"{judging.model} judged {counted(judging.pairs, 'pair')} of query and document {times}; "
        f"{counted(judging.ratings, 'rating')} in all"
    )
    sections = [
        Section("Grades", (sentences([whole]), grades)),
        *_agreement(judging),
        *_unjudged(judging),
        Section("What it took", (usage_table(judging.usage), sentences(_notes(judging)))),
    ]
    return Document(f"Judged by {judging.model}", tuple(sections), data=lambda: grades)


def _agreement(judging: LlmJudging) -> list[Section]:
    if judging.agreement is None:
        return [Section("Agreement", (sentences([judging.agreement_reason]),))]
    section = judges.section(judging.agreement)
    findings = judging.agreement.findings
    first: tuple[Block, ...] = (Findings(findings),) if findings else ()
    return [Section("Agreement", (*first, *section.all_blocks))]


def _unjudged(judging: LlmJudging) -> list[Section]:
    if not judging.unjudged:
        return []
    rows = tuple(
        cells(row.query_id, row.doc_id, str(row.repeat or "all"), shortened(row.reason))
        for row in judging.unjudged[:SHOWN]
    )
    more = judging.unjudged_count - len(rows)
    notes = (f"{more:,} more; the JSON holds up to 1,000",) if more > 0 else ()
    columns = text_columns("query", "document", "repeat", "why")
    table = Table(columns, rows, notes=notes, name_columns=2)
    return [Section("Without a grade", (table,))]


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


def usage_table(usage: ModelUsage) -> Table:
    """Return what asking a model took, as a table."""
    counts = {
        "requests sent": usage.requests,
        "of them repeated": usage.retried,
        "questions answered": usage.answered,
        "of them kept from before": usage.cached,
        "questions without a usable answer": usage.failed,
        "of them with something else in its place": usage.fallen_back,
        "answers that could not be read": usage.unreadable,
        "tokens sent": usage.prompt_tokens,
        "tokens received": usage.completion_tokens,
        "cost": usage.cost,
        "seconds in all": usage.seconds,
        "seconds of a request, median": usage.p50,
        "seconds of a request, 95th percentile": usage.p95,
        **_kept(usage.kept),
    }
    rows = tuple((Cell(name), Cell(value)) for name, value in counts.items())
    return Table((Column("what", "text"), Column("value", digits=4)), rows)


def _kept(kept: KeptUsage | None) -> dict[str, float | None]:
    """Return what replies had taken that were kept from before, if any were used."""
    if kept is None or not kept.requests:
        return {}
    counts = {
        "kept from before: requests": kept.requests,
        "kept from before: tokens sent": kept.prompt_tokens,
        "kept from before: tokens received": kept.completion_tokens,
        "kept from before: cost": kept.cost,
        "kept from before: seconds in all": kept.seconds,
    }
    if kept.uncounted:
        counts["kept from before: requests whose tokens are not known"] = kept.uncounted
    return counts


def _notes(judging: LlmJudging) -> list[str]:
    notes = [f"the prompt has the SHA-256 {judging.prompt}"]
    if judging.usage.cost is None:
        notes.append("no price was stated, so no cost is known")
    return notes
