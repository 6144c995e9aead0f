"""How gaps are shown: the section of the analysis in `gaps`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Block,
    Cell,
    Column,
    Curve,
    Plot,
    Section,
    Table,
    cells,
    ends,
    sentences,
    text_columns,
)
from rankscope.errors import counted
from rankscope.statistics.sentences import listed

if TYPE_CHECKING:
    from rankscope.diagnosis.gaps import GapPart, Gaps, SystemGaps

TITLE = "Ranking or retrieval"

MOST_CURVES = 5
"""More curves than this run into each other: those of the best systems are drawn."""


def gaps_section(result: Gaps) -> Section:
    """Show what the problem is, how much is lost where, and what each fix would win."""
    details: list[Block] = [sentences([_sentence(result, each) for each in result.systems])]
    if not result.single:
        details.append(_recall_table(result))
    details += [_steps_table(result), _parts_table(result), _plot(result)]
    return Section(TITLE, (_kinds_table(result),), tuple(details))


def _kinds_table(result: Gaps) -> Table:
    """Return where the first relevant document is, and what follows from it."""
    limits = result.thresholds
    several = "" if result.single else f" (of those that fit in the first {result.cutoff:,})"
    notes = [
        (
            f"over {counted(result.queries - result.without_relevant, 'query')} with relevant "
            f"documents; RR down to rank {result.depth:,}"
        ),
        (
            f"loses by: where most of the loss in {result.measure} is (at least "
            f"{limits.mostly:.0%} of it); little: neither part is {limits.worth:.0%} of the best "
            "possible mean"
        ),
        (
            f"lower: share of queries with a relevant document in the first {result.depth:,} but "
            f"not on top; many from {limits.not_first:g} on"
        ),
        (
            f"missing: share of the relevant documents{several} that are not in the first "
            f"{result.depth:,}; many from {limits.not_retrieved:g} on"
        ),
        *_lacking(result),
    ]
    if result.without_relevant:
        notes.append(_left_out(result.without_relevant))
    rows = [
        (
            *cells(system.system, system.loss),
            *cells(*system.success, system.rr, system.not_first, system.not_retrieved),
        )
        for system in result.systems
    ]
    return Table(
        (
            *text_columns("system", "loses by"),
            *_at(result, "Success"),
            *(Column(title, digits=3) for title in ("RR", "lower", "missing")),
        ),
        tuple(rows),
        notes=tuple(notes),
    )


def _lacking(result: Gaps) -> list[str]:
    """Say which queries are left out because a run lacks them."""
    lacking = [
        f"{counted(system.left_out, 'query')} that {system.system} lacks"
        for system in result.systems
        if system.left_out
    ]
    if not lacking:
        return []
    return [f"left out of all numbers here: {listed(lacking, 5)} (see failures)"]


def _left_out(count: int) -> str:
    have = "has" if count == 1 else "have"
    return f"{counted(count, 'query')} {have} no relevant document: no fix can win anything there"


def _at(result: Gaps, name: str) -> tuple[Column, ...]:
    """Return a column for each cutoff; only the first names the measure, to save room."""
    return tuple(
        Column(f"{name}@{cutoff}" if place == 0 else f"@{cutoff}", digits=3)
        for place, cutoff in enumerate(result.cutoffs)
    )


def _sentence(result: Gaps, system: SystemGaps) -> str:
    """Say in words what the problem of a system is, and what it favours."""
    depth, measure = min(result.depth, max(system.run_depth, 1)), result.measure
    order = (
        f"for {system.not_first:.0%} of the queries a relevant document is in its first {depth:,} "
        "but not on top"
    )
    lacks = (
        f"{system.missing:,} of {counted(system.relevant, 'relevant document')} are not in its "
        f"first {depth:,}"
    )
    problem = {
        "mostly ranking": f"mostly a ranking problem: {order}",
        "mostly retrieval": f"mostly a retrieval problem: {lacks}",
        "both": f"a ranking and a retrieval problem: {order}, and {lacks}",
        "little": "little is lost by either ranking or retrieval",
        "too short to tell": f"the run holds only {counted(system.run_depth, 'document')} per "
        "query: fetch deeper before concluding",
    }[system.loss]
    parts = (("the order", system.ranking), ("what is not retrieved", system.retrieval))
    shares = " and ".join(
        f"{part.share:.0%} by {noun}" for noun, part in parts if part.share is not None
    )
    lost = system.ideal - system.now
    loss = (
        f"; of {measure} it loses {lost:.3f} against the best possible, {shares}" if shares else ""
    )
    style = ""
    if system.style is not None:
        favours = {
            "precision": ("precision over recall", "high", "moderate"),
            "recall": ("recall over precision", "moderate", "high"),
        }[system.style]
        style = (
            f"; it favours {favours[0]} (RR of {system.rr:.2f} is {favours[1]}, Success@5 of "
            f"{system.success_5:.2f} {favours[2]})"
        )
    return f"{system.system}: {problem}{loss}{style}"


def _recall_table(result: Gaps) -> Table:
    """Return recall, where queries have several relevant documents."""
    rows = [(Cell(system.system), *cells(*system.recall)) for system in result.systems]
    return Table(
        (Column("system", "text"), *_at(result, "R")),
        tuple(rows),
        title="Recall",
        notes=("R@k: the mean share of a query's relevant documents that are in the first k",),
    )


def _steps_table(result: Gaps) -> Table:
    """Return what each fix would win, a column for each system."""
    depths = sorted({step.depth for system in result.systems for step in system.reranked})
    rows = [(Cell("now"), *(Cell(system.now) for system in result.systems))]
    for depth in depths:
        row = [Cell(f"first {depth:,} in best order")]
        for system in result.systems:
            step = next((step for step in system.reranked if step.depth == depth), None)
            row.append(Cell() if step is None else Cell(step.value, change=step.gain))
        rows.append(tuple(row))
    ideal = [Cell(system.ideal, change=system.ideal - system.now) for system in result.systems]
    rows.append((Cell("all found, in best order"), *ideal))
    notes = [f"mean {result.measure}, in parentheses what it would gain"]
    if result.instead_of is not None:
        notes.append(f"not {result.instead_of}: {result.reason}")
    notes += _lacking(result)
    ends_at = {system.run_depth for system in result.systems}
    if len(ends_at) == 1:
        notes.append(
            f"no answer has more than {max(ends_at):,} documents; what is below is unknown"
        )
    else:
        notes.append("a line ends (–) where a run does: what is below is unknown")
    if result.without_relevant:
        notes.append(_left_out(result.without_relevant))
    return Table(
        (
            Column("documents", "text"),
            *(Column(system.system, digits=3) for system in result.systems),
        ),
        tuple(rows),
        title="What each fix would win",
        notes=tuple(notes),
        columns_are="system",
    )


def _parts_table(result: Gaps) -> Table:
    """Return how much is lost where."""
    level = result.systems[0].ranking.interval.level
    rows = [
        (
            Cell(system.system),
            Cell(system.ideal - system.now),
            _part(system.ranking),
            _part(system.retrieval),
        )
        for system in result.systems
    ]
    return Table(
        (
            Column("system", "text"),
            Column("lost", digits=3),
            Column("by the order", digits=3),
            Column("by what is not retrieved", digits=3),
        ),
        tuple(rows),
        title=f"Where {result.measure} is lost",
        notes=(
            (
                "lost: the best possible mean minus the mean now; in brackets intervals by "
                f"Student's t over the queries ({level:.0%})"
            ),
            (
                f"by the order: up to the best order of the first {result.depth:,}; by what is not "
                "retrieved: from there to everything found and in the best order"
            ),
        ),
    )


def _part(part: GapPart) -> Cell:
    note = "" if part.share is None else f"{part.share:.0%}"
    return Cell(part.gain, ends(part.interval), note=note)


def _plot(result: Gaps) -> Plot:
    """Return what a perfect reranker would give, by how deep it looks, of the best systems."""
    best = sorted(result.systems, key=lambda system: -system.now)[:MOST_CURVES]
    systems = [system for system in result.systems if system in best]
    of_best = f" ({len(best)} best systems)" if len(best) < len(result.systems) else ""
    return Plot(
        title=f"A perfect reranker: {result.measure} by how many documents it looks at{of_best}",
        x="documents reranked",
        y=result.measure,
        curves=tuple(
            Curve(
                system.system,
                ((0.0, system.now), *((float(step.depth), step.value) for step in system.reranked)),
            )
            for system in systems
        ),
    )
