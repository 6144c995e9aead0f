"""The tables of the analysis of unjudged documents (`rankscope.diagnosis.holes`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Block,
    Cell,
    Column,
    Notes,
    Section,
    Table,
    text_columns,
)
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.diagnosis.hole_values import HoleValue
    from rankscope.diagnosis.holes import Holes
    from rankscope.diagnosis.judge_next import ToJudge

BRIEF = 45
"""So many characters of questions and titles are shown."""

SHOWN = 10
"""So many of the pairs to judge are shown; the JSON and the pool hold all."""


def holes_section(result: Holes, title: str) -> Section:
    """Show what is unjudged, what it could change, and what to judge next."""
    details: list[Block] = [_values(result)]
    if result.conclusions:
        details.append(_conclusions(result))
    if result.judge:
        details.append(_judge(result))
    if result.notes:
        details.append(Notes(result.notes))
    return Section(title, (_shares(result),), tuple(details))


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.1%}"


def _shares(result: Holes) -> Table:
    depths = [share.depth for share in result.systems[0].shares]
    rows = tuple(
        (
            Cell(system.system),
            *(Cell(_percent(share.share)) for share in system.shares),
            Cell(system.half_unjudged),
            Cell(system.all_unjudged),
        )
        for system in result.systems
    )
    notes = [
        "share of the first documents of each answer that nobody judged",
        (
            f"half, all: queries of which half or all of the first {result.cutoff} are unjudged, "
            f"of {counted(result.queries, 'query')}"
        ),
    ]
    if result.by_design:
        notes.append(
            f"hardly anything but relevant documents was judged ({result.nonrelevant:,} of "
            f"{counted(result.judgments, 'judgment')} are nonrelevant): what is unjudged counts as "
            "nonrelevant by design, and these shares are no cause for alarm"
        )
    return Table(
        (
            Column("system", "text"),
            *(Column(f"first {depth:,}") for depth in depths),
            Column("half"),
            Column("all"),
        ),
        rows,
        notes=tuple(notes),
    )


def _values(result: Holes) -> Table:
    """List every measure of every system; with several measures each row says which."""
    names = list(dict.fromkeys(row.measure for row in result.values))
    several = len(names) > 1
    rows = tuple(
        (
            *((Cell(row.measure),) if several else ()),
            Cell(row.system),
            Cell(row.value),
            Cell(row.condensed, change=_change(row)),
            Cell(row.lowest),
            Cell(row.highest),
            Cell(row.relevant),
        )
        for row in result.values
    )
    return Table(
        (
            *(text_columns("measure") if several else ()),
            Column("system", "text"),
            Column("as it is" if several else names[0]),
            Column("condensed"),
            Column("lowest"),
            Column("highest"),
            Column("all relevant"),
        ),
        rows,
        title="What unjudged documents could make of each mean",
        notes=(
            "condensed: unjudged documents left out, the others moved up; it tends to be too high",
            (
                "lowest, highest: over all ways to judge the unjudged documents that the measure "
                f"looks at, each nonrelevant or of grade {result.grade:g}; all relevant: every one "
                "of that grade, which also counts where relevant documents are counted"
            ),
        ),
        name_columns=2 if several else 1,
    )


def _change(row: HoleValue) -> float | None:
    return None if row.condensed is None or row.value is None else row.condensed - row.value


def _conclusions(result: Holes) -> Table:
    rows = tuple(
        (
            Cell(row.better),
            Cell(row.worse),
            Cell(row.difference),
            Cell(row.lowest),
            Cell(row.verdict),
            Cell(None if row.needed is None else f"{row.needed:,} of {row.unjudged:,}"),
            Cell(None if row.chance is None else f"{row.chance:.0%}"),
            Cell(row.p_corrected),
        )
        for row in result.conclusions
    )
    return Table(
        (
            *text_columns("better", "worse"),
            Column("difference", signed=True),
            Column("worst case", signed=True),
            Column("verdict", "text"),
            Column("needed"),
            Column("chance"),
            Column("p", "p"),
        ),
        rows,
        title=f"Could unjudged documents change who is better? ({result.judged_by})",
        notes=(
            "worst case: the difference if they are judged as badly for the better as can be",
            (
                "certain: the worse system stays behind, whatever the unjudged documents are; "
                "open: the difference is gone, or reversed, if about so many (needed) of the "
                "unjudged documents of both systems are relevant; unknown: neither could be shown"
            ),
            (
                "chance: that it would be reversed if each of them were relevant as often as "
                "judged ones that as many systems rank there (a rough guide)"
            ),
            (
                "p: of the difference, corrected over the pairs; where it is not significant, more "
                "queries matter and not what is unjudged"
            ),
        ),
        name_columns=2,
    )


def _judge(result: Holes) -> Table:
    shown = result.judge[:SHOWN]
    with_text = any(pair.text for pair in shown)
    rows = tuple(
        (
            Cell(pair.query_id),
            *((Cell(_brief(pair.text or "")),) if with_text else ()),
            Cell(_brief(f"{pair.doc_id} {pair.title or ''}")),
            Cell(_ranks(pair)),
            Cell(pair.change),
            Cell(f"{pair.probability:.0%}"),
        )
        for pair in shown
    )
    several = len(result.systems) > 1
    what = "the differences between systems in" if several else "the mean of"
    is_settled = [row.verdict == "certain" for row in result.conclusions]
    open_only = " that are not certain, added up," if several and not all(is_settled) else ""
    return Table(
        (
            *text_columns("query", *(("text",) if with_text else ()), "document", "ranks"),
            Column("change", digits=5),
            Column("relevant"),
        ),
        rows,
        title="What to judge next",
        notes=(
            (
                f"{len(shown)} of {len(result.judge)} pairs, chosen from "
                f"{counted(result.candidates, 'unjudged document')} among the first "
                f"{result.depth} of any system; diagnose --pool FILE writes them all"
            ),
            (
                f"change: of {what} {result.judged_by}{open_only} if the document is relevant; "
                "relevant: how often documents that the same systems rank there are known to be; "
                "pairs come by the product of both"
            ),
        ),
    )


def _brief(text: str) -> str:
    """Return the beginning of a text, so that a row is one or two lines."""
    line = " ".join(text.split())
    return line if len(line) <= BRIEF else f"{line[: BRIEF - 1]}…"


def _ranks(pair: ToJudge) -> str:
    return ", ".join(f"{name} {rank}" for name, rank in pair.ranks.items())
