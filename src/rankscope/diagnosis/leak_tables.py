"""The section of leaks: how many questions leak in which way, with means and examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.diagnosis.shares import share_of
from rankscope.document.blocks import (
    Block,
    Cell,
    Column,
    Section,
    Table,
    marked,
    marker_note,
    shortened,
    text_columns,
)
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.diagnosis.leaks import LeakCount, LeakedMeans, Leaks

TITLE = "Leaks"

_MEANINGS = {
    "quotes a relevant document": "its words, in their order, are in a document judged relevant",
    "quotes another document": "its words are only in documents not judged relevant",
    "is a document": "its words are all of a document's title or text",
    "is a training question": "the same words, whatever case and punctuation",
}


def leak_section(result: Leaks) -> Section:
    """Make the section."""
    blocks: list[Block] = [_counts(result)]
    if any(count.means for count in result.kinds):
        blocks.append(_means(result))
    if any(count.examples for count in result.kinds):
        blocks.append(_examples(result))
    return Section(TITLE, details=tuple(blocks))


def _counts(result: Leaks) -> Table:
    notes = [
        f"{kind}: {meaning}"
        for kind, meaning in _MEANINGS.items()
        if any(count.kind == kind for count in result.kinds)
    ]
    if result.corpus is None:
        notes.append("no corpus was given: documents were not looked at")
    else:
        which = (
            f"in all {counted(result.corpus, 'document')}"
            if result.looked_at == result.corpus
            else f"in {counted(result.looked_at, 'document')} of {result.corpus:,} (judged ones "
            "and those in answers first)"
        )
        short = counted(result.short, "question")
        notes.append(
            f"looked for {which}, without {short} of fewer than {result.words} words"
            if result.short
            else f"looked for {which}"
        )
    if result.training is None:
        notes.append("no training questions were given")
    else:
        notes.append(
            f"is nearly a training question: {result.similarity:g} or more (Jaccard) of all their "
            f"{result.shingle} words in a row are the same; of "
            f"{counted(result.training, 'training question')}"
        )
    return Table(
        (Column("a question", "text"), Column("questions", digits=0)),
        tuple(
            (Cell(count.kind), Cell(count.queries, note=share_of(count.queries, result.queries)))
            for count in result.kinds
        ),
        notes=tuple(notes),
    )


def _means(result: Leaks) -> Table:
    rows = [_mean_row(result, count, row) for count in result.kinds for row in count.means]
    return Table(
        (
            Column("a question", "text"),
            Column("system", "text"),
            Column("on them"),
            Column("on the others"),
            Column("difference", signed=True),
        ),
        tuple(rows),
        title=f"{result.measure} on questions that leak",
        notes=(
            (
                "difference: with its interval by Welch's t; p corrected by Holm over all rows; "
                + marker_note("on the others", alpha=result.alpha)
            ),
            (
                "a difference need not come from the leak: such questions may be easier for other "
                "reasons"
            ),
        ),
        name_columns=2,
    )


def _mean_row(result: Leaks, count: LeakCount, row: LeakedMeans) -> tuple[Cell, ...]:
    difference = row.leaked - row.others
    interval = None if row.low is None or row.high is None else (row.low, row.high)
    cell = marked(
        Cell(difference, interval),
        row.p_corrected,
        alpha=result.alpha,
        is_better=(difference > 0) == result.higher_is_better,
    )
    return Cell(count.kind), Cell(row.system), Cell(row.leaked), Cell(row.others), cell


def _examples(result: Leaks) -> Table:
    rows = [
        (
            Cell(count.kind),
            Cell(shortened(example.text or "")),
            Cell(
                shortened(f"{example.source}: {example.source_text or ''}".rstrip(": ")),
                note="" if example.similarity is None else f"{example.similarity:.2f}",
            ),
        )
        for count in result.kinds
        for example in count.examples
    ]
    return Table(
        text_columns("a question", "text", "source"),
        tuple(rows),
        title="Examples",
        notes=("source: the document, or the training question; in brackets, how alike they are",),
    )
