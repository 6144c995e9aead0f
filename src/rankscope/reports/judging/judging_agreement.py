"""What is judged so far, how far raters agree, and which pairs are worth judging again.

The statistics are those of `rankscope.statistics.rater_agreement`; `rankscope diagnose --ratings`
says much more of an exported file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.document.blocks import (
    Cell,
    Column,
    Document,
    Section,
    Table,
    cells,
    sentences,
    text_columns,
)
from rankscope.errors import counted
from rankscope.statistics.rater_agreement import RaterAgreement, krippendorff_alpha

if TYPE_CHECKING:
    from rankscope.reports.judging.judgment_log import JudgmentLog, Judgments, Pair


@dataclass(frozen=True, slots=True)
class Disputed:
    """A pair on which raters differ."""

    pair: Pair
    grades: dict[str, int]
    """By rater."""

    @property
    def span(self) -> int:
        """The highest grade minus the lowest."""
        return max(self.grades.values()) - min(self.grades.values())


@dataclass(frozen=True, slots=True)
class JudgingAgreement:
    """How far all raters agree."""

    shared: int
    """Pairs that at least two graded."""
    alpha: RaterAgreement
    """Krippendorff's alpha, of grades in an order."""
    again: tuple[Disputed, ...]
    """What to judge again: the largest differences first."""


def judging_agreement(judgments: Judgments, *, seen_by: str | None = None) -> JudgingAgreement:
    """Compare all raters; with ``seen_by``, on the pairs alone that this rater judged too."""
    grades: dict[Pair, dict[str, int]] = {}
    for judgment in judgments.all():
        is_open = seen_by is None or judgments.has(seen_by, judgment.pair)
        if judgment.grade is not None and is_open:
            grades.setdefault(judgment.pair, {})[judgment.rater] = judgment.grade
    given = {name for by_rater in grades.values() for name in by_rater}
    raters = [name for name in judgments.raters if name in given]
    table = np.array(
        [[by_rater.get(name, np.nan) for by_rater in grades.values()] for name in raters], float
    ).reshape(len(raters), len(grades))
    disputed = [Disputed(*item) for item in grades.items() if len(set(item[1].values())) > 1]
    disputed.sort(key=lambda each: (-each.span, each.pair))
    return JudgingAgreement(
        shared=sum(len(by_rater) > 1 for by_rater in grades.values()),
        alpha=krippendorff_alpha(table, level="ordinal"),
        again=tuple(disputed),
    )


MOST_AGAIN = 20
"""How many pairs to judge again are listed."""


def status_document(log: JudgmentLog) -> Document:
    """Return what a log holds."""
    judgments = log.judgments
    agreed = judging_agreement(judgments)
    rows = []
    for rater in judgments.raters:
        given = judgments.of(rater).values()
        cannot = sum(judgment.cannot for judgment in given)
        rows.append(cells(rater, len(given) - cannot, cannot))
    total = sum(1 for _ in judgments.all())
    lines = [
        f"{log.path}: {counted(total, 'judgment')} by {counted(len(rows), 'rater')}"
        if total
        else f"{log.path}: nothing is judged yet"
    ]
    if log.cut_short:
        lines.append(f"{counted(log.cut_short, 'line')} of a killed process passed over")
    sections = [Section("", (sentences(lines),))]
    if rows:
        columns = (*text_columns("rater"), Column("graded"), Column("cannot judge"))
        sections.append(Section("Raters", (Table(columns, tuple(rows)),)))
    if len(rows) > 1:
        alpha = agreed.alpha
        value = alpha.reason if alpha.value is None else f"{alpha.value:.3f}"
        pairs = counted(agreed.shared, "shared pair")
        line = f"Krippendorff's alpha (ordinal) on {pairs}: {value}"
        sections.append(Section("Agreement", (sentences([line]),)))
    if agreed.again:
        sections.append(_again(agreed))
    return Document("Judgments", tuple(sections))


def _again(agreed: JudgingAgreement) -> Section:
    """List where raters differ most."""
    rows = tuple(
        (
            *cells(each.pair.query_id, each.pair.doc_id),
            Cell(", ".join(f"{rater} {grade}" for rater, grade in each.grades.items())),
        )
        for each in agreed.again[:MOST_AGAIN]
    )
    more = len(agreed.again) - len(rows)
    notes = (f"and {counted(more, 'pair')} more",) if more > 0 else ()
    table = Table(text_columns("query", "document", "grades"), rows, notes=notes, name_columns=2)
    return Section("What to judge again, the largest differences first", (table,))
