"""The section of duplicates: copies in answers, in the corpus and in judgments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.diagnosis.shares import share_of
from rankscope.document.blocks import (
    Block,
    Cell,
    Column,
    Section,
    Table,
    cells,
    sentences,
    shortened,
    text_columns,
)
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.diagnosis.duplicates import CopyGroup, Duplicates

TITLE = "Duplicates"


def duplicate_section(result: Duplicates) -> Section:
    """Make the section."""
    blocks: list[Block] = [sentences(_in_corpus(result)), _answers(result)]
    if result.groups:
        blocks.append(_groups(result))
    if result.graded_apart:
        blocks.append(_apart(result))
    return Section(TITLE, details=tuple(blocks))


def _in_corpus(result: Duplicates) -> list[str]:
    copies, exact = result.all_copies, result.exact
    which = (
        f"all {counted(result.corpus, 'document')}"
        if result.looked_at == result.corpus
        else f"{counted(result.looked_at, 'document')} of {result.corpus:,} (judged ones and those "
        "in answers first)"
    )
    if not copies.documents:
        lines = [f"Nothing in the corpus is a copy of something else; looked at: {which}"]
    else:
        lines = [
            (
                f"{counted(copies.documents, 'document')} of the corpus have copies, in "
                f"{counted(copies.groups, 'group')}: {copies.superfluous:,} "
                f"({share_of(copies.superfluous, result.looked_at)}) could go; exact copies alone: "
                f"{exact.documents:,} in {counted(exact.groups, 'group')}; looked at: {which}"
            )
        ]
    if result.without_text:
        lines.append(f"{counted(result.without_text, 'document')} without title and text left out")
    if result.looked_near < result.looked_at - result.without_text:
        lines.append(
            f"Near copies were looked for among {counted(result.looked_near, 'document')} only; "
            "duplicates.characters says how much text is looked at"
        )
    if result.looked_at < result.corpus:
        lines.append("What was not looked at counts as no copy; duplicates.documents says how many")
    if result.pairs_left_out:
        lines.append(
            f"{counted(result.pairs_left_out, 'pair')} of texts with common passages were too many "
            "to compare: some near copies may be missing"
        )
    return lines


def _answers(result: Duplicates) -> Table:
    rows = [
        (
            Cell(system.system),
            Cell(system.wasted, note=share_of(system.wasted, system.places)),
            Cell(system.wasted_exact),
            Cell(system.queries),
            Cell(system.value),
            Cell(
                system.shared_value,
                change=None
                if system.shared_value is None or system.value is None
                else system.shared_value - system.value,
            ),
        )
        for system in result.systems
    ]
    return Table(
        (
            Column("system", "text"),
            Column("wasted places", digits=0),
            Column("exact", digits=0),
            Column("queries", digits=0),
            Column(result.measure),
            Column("with shared grades"),
        ),
        tuple(rows),
        title="Copies in answers",
        notes=(
            (
                f"wasted places: of the first {result.cutoff}, those with a copy of a document "
                "higher up in the same answer; exact: the same text but for case and spacing; "
                "queries: in so many answers"
            ),
            (
                f"near copies share {result.similarity:g} or more (Jaccard) of all their "
                f"{result.shingle} words in a row, titles included; each pair was compared in full"
            ),
            "with shared grades: if copies had the highest grade of any of them for the query",
        ),
    )


def _groups(result: Duplicates) -> Table:
    more = result.all_copies.groups - len(result.groups)
    return Table(
        (Column("copies"), *text_columns("kind", "documents", "title")),
        tuple(
            cells(group.size, group.kind, _ids(group), shortened(group.documents[0].title or ""))
            for group in result.groups
        ),
        title="The largest groups of copies",
        notes=(f"{counted(more, 'group')} more",) if more else (),
    )


def _ids(group: CopyGroup) -> str:
    more = group.size - len(group.documents)
    return ", ".join(member.doc_id for member in group.documents) + (
        f" and {more:,} more" if more else ""
    )


def _apart(result: Duplicates) -> Table:
    rows = [
        (
            Cell(shortened(pair.text or pair.query_id)),
            Cell(pair.relevant, note=f"grade {pair.grade:g}"),
            Cell(
                pair.copy_id,
                note="unjudged" if pair.copy_grade is None else f"grade {pair.copy_grade:g}",
            ),
            Cell(pair.similarity),
            Cell(shortened(pair.title or "")),
        )
        for pair in result.graded_apart
    ]
    more = result.contradicting + result.unjudged - len(rows)
    return Table(
        (
            *text_columns("question", "relevant", "its copy"),
            Column("similarity", digits=2),
            Column("title of the copy", "text"),
        ),
        tuple(rows),
        title="Copies that are graded apart",
        notes=(
            (
                f"{counted(result.contradicting, 'pair')} with the copy judged nonrelevant, "
                f"{result.unjudged:,} with the copy unjudged and in an answer"
            ),
            *((f"{counted(more, 'pair')} more",) if more else ()),
        ),
    )
