"""Tables of routing: load by route, confusion, and how well confidences say what is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.diagnosis.decided import gap_sentence, left_out_in_words
from rankscope.diagnosis.figures import percent_cell
from rankscope.document.blocks import (
    Block,
    Cell,
    Column,
    Notes,
    Section,
    Table,
    ends,
    sentences,
    shortened,
)
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.diagnosis.routing import Routing
    from rankscope.statistics.calibration import Calibration
    from rankscope.statistics.proportions import LoadBalance

SHOWN_ROUTES = 7
"""Up to so many routes the confusion is a table of all pairs; of more, the most frequent errors."""

SHOWN_ERRORS = 10


def routing_section(result: Routing, title: str) -> Section:
    """Show how many questions go right, then load, confusion and calibration."""
    rows = [("sent to a right route (top-1)", result.accuracy)]
    if result.allowed is not None:
        rows.append(("sent to an allowed route", result.allowed))
    rows += [(f"right route in the first {top.n}", top.right) for top in result.top if top.n > 1]
    notes = [
        "Wilson's interval in brackets; right: the best route, or one of several that are as good"
        if result.against == "best"
        else "Wilson's interval in brackets; right: one of the allowed routes"
    ]
    if result.unknown:
        notes.append(
            f"{counted(result.unknown, 'question')} left out: no right route is known for them"
        )
    if result.other_queries:
        notes.append(left_out_in_words(result.other_queries))
    summary = Table(
        (Column("questions", "text"), Column("count"), Column("of"), Column("%", digits=1)),
        tuple(
            (Cell(title), Cell(share.count), Cell(share.total), percent_cell(share))
            for title, share in rows
        ),
        notes=tuple(notes),
    )
    details: list[Block] = [_routes_table(result), _confusion_table(result)]
    if result.calibration is not None:
        details += calibration_blocks(result.calibration, "router")
    if result.quality is not None:
        sentence = gap_sentence(result.quality, "rightly routed questions", "wrongly routed ones")
        details.append(sentences([sentence]))
    return Section(title, (summary,), tuple(details))


def _routes_table(result: Routing) -> Table:
    rows = [
        (
            Cell(shortened(route.route)),
            Cell(route.sent.count),
            Cell(None if route.sent.share is None else 100 * route.sent.share),
            percent_cell(route.precision),
            percent_cell(route.recall),
        )
        for route in result.routes
    ]
    notes = [
        "right there: of the questions sent there; found: of the questions that belong there",
        _balance("load", result.load),
    ]
    if result.load_if_right is not None:
        notes.append(_balance("if all were routed rightly", result.load_if_right))
    return Table(
        (
            Column("route", "text"),
            Column("sent"),
            Column("load, %", digits=1),
            Column("right there, %", digits=1),
            Column("found, %", digits=1),
        ),
        tuple(rows),
        title="Load by route",
        notes=tuple(notes),
    )


def _balance(what: str, load: LoadBalance) -> str:
    entropy = "" if load.entropy is None else f"entropy {load.entropy:.3f} (1: even), "
    return (
        f"{what}: {load.used:,} of {counted(load.places, 'route')} used, {entropy}the busiest has "
        f"{load.busiest:.2f} times the mean, Gini {load.gini:.3f}"
    )


def _confusion_table(result: Routing) -> Block:
    homes = {pair.right for pair in result.confusion} | {pair.sent for pair in result.confusion}
    names = [route.route for route in result.routes if route.route in homes]
    counts = {(pair.right, pair.sent): pair.count for pair in result.confusion}
    wrong = [pair for pair in result.confusion if pair.right != pair.sent]
    if not wrong:
        return Notes(("every question was sent to a right route",))
    if len(names) <= SHOWN_ROUTES:
        rows = tuple(
            (
                Cell(shortened(home)),
                *(
                    Cell(
                        counts.get((home, sent), 0),
                        tone="good" if home == sent else "plain",
                        marker="✓" if home == sent else "",
                    )
                    for sent in names
                ),
            )
            for home in names
        )
        return Table(
            (Column("belongs to", "text"), *(Column(f"→ {shortened(name)}") for name in names)),
            rows,
            title="Confusion",
            notes=("rows: where questions belong; columns: where they were sent; ✓ right",),
        )
    more = len(wrong) - SHOWN_ERRORS
    return Table(
        (Column("belongs to", "text"), Column("sent to", "text"), Column("questions")),
        tuple(
            (Cell(shortened(pair.right)), Cell(shortened(pair.sent)), Cell(pair.count))
            for pair in wrong[:SHOWN_ERRORS]
        ),
        title="The most frequent errors",
        name_columns=2,
        notes=(f"{more:,} more pairs of routes are confused; the JSON holds all",)
        if more > 0
        else (),
    )


def calibration_blocks(result: Calibration, who: str) -> list[Block]:
    """Show the reliability table."""
    used = [part for part in result.bins if part.right.total]
    rows = tuple(
        (
            Cell(f"{part.low:g} to {part.high:g}"),
            Cell(part.right.total),
            Cell(part.confidence),
            Cell(part.right.share, ends(part.right.interval)),
        )
        for part in used
    )
    table = Table(
        (
            Column("confidence", "text"),
            Column("decisions"),
            Column("mean confidence", digits=3),
            Column("right", digits=3),
        ),
        rows,
        title=f"Calibration of the {who}",
        notes=(
            (
                f"ECE {result.ece:.3f} over bins of equal width; exact confidences would give "
                f"{result.expected:.3f} on as many decisions, and as much as here with a chance "
                f"of {result.p:.2g}"
            ),
        ),
    )
    return [table]
