"""The tables of the analysis of agreement (`rankscope.diagnosis.agreements`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Block,
    Cell,
    Column,
    Section,
    Table,
    ends,
    shortened,
    text_columns,
)
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.diagnosis.agreements import Agreement
    from rankscope.diagnosis.pair_agreement import PairAgreement, Spread

MOST_APART = 10
"""So many questions are shown that two systems answer differently."""

MOST_PAIRS = 10
"""Of more pairs those with the best system are shown; the JSON holds all."""


def agreement_section(result: Agreement, title: str) -> Section:
    """Show how alike systems are, and what two could reach together."""
    shown = result.pairs
    if len(shown) > MOST_PAIRS:
        shown = tuple(pair for pair in shown if result.focus in {pair.first, pair.second})
    left = len(result.pairs) - len(shown)
    more = (f"pairs with {result.focus}, the best system; the JSON holds all",) if left else ()
    details: list[Block] = []
    if any(pair.together is not None or pair.retrieved is not None for pair in shown):
        details.append(_together(result, shown, more))
    if result.fusions:
        details.append(_fusions(result))
    if any(pair.apart for pair in result.pairs if pair.first == result.focus):
        details.append(_apart(result))
    return Section(title, (_alike(result, shown, more),), tuple(details))


def _spread(spread: Spread) -> Cell:
    if spread.low is None or spread.high is None:
        return Cell(spread.mean)
    return Cell(spread.mean, (spread.low, spread.high))


def _alike(result: Agreement, pairs: tuple[PairAgreement, ...], more: tuple[str, ...]) -> Table:
    rows = tuple(
        (
            Cell(pair.first),
            Cell(pair.second),
            _spread(pair.rbo),
            _spread(pair.jaccard),
            Cell(pair.tau.mean),
            Cell(pair.tau_ap.mean),
            Cell(pair.same),
            Cell(pair.disjoint),
        )
        for pair in pairs
    )
    return Table(
        (
            *text_columns("system", "other"),
            Column("RBO", digits=2),
            Column(f"Jaccard@{result.cutoff}", digits=2),
            Column("tau", digits=2, signed=True),
            Column("tau_AP", digits=2, signed=True),
            Column("same"),
            Column("disjoint"),
        ),
        rows,
        notes=(
            *more,
            (
                f"means over {counted(result.queries, 'query')}, 1: the same; in brackets the "
                "middle 80 % of the queries"
            ),
            (
                f"RBO: rank-biased overlap of the first {result.depth} (p = {result.p:g}); "
                f"Jaccard: documents in both first {result.cutoff}, of those in either; tau, "
                "tau_AP: order of the documents in both, where there are at least two"
            ),
            (
                f"same, disjoint: queries with the same first {result.cutoff} in the same order, "
                "and without a common one"
            ),
        ),
        name_columns=2,
    )


def _fusions(result: Agreement) -> Table:
    rows = tuple(
        (Cell(row.second), Cell(row.mean), Cell(row.change), Cell(row.p_corrected))
        for row in result.fusions
    )
    others = sum(result.focus in {pair.first, pair.second} for pair in result.pairs)
    left = others - len(rows)
    return Table(
        (
            *text_columns("fused with"),
            Column(result.measure),
            Column("change", signed=True),
            Column("p", "p"),
        ),
        rows,
        title=f"What fusing {result.focus} with another system gives",
        notes=(
            (
                "plain reciprocal rank fusion (k = 60) with the best system; change: how much "
                "better than the best system alone; p: paired t test, corrected by Holm over these "
                "systems"
            ),
            *((f"not tried, as runs are long: {counted(left, 'system')}",) if left else ()),
        ),
    )


def _together(result: Agreement, pairs: tuple[PairAgreement, ...], more: tuple[str, ...]) -> Table:
    rows = []
    for pair in pairs:
        reached, recalled = pair.together, pair.retrieved
        rows.append(
            (
                Cell(pair.first),
                Cell(pair.second),
                *(
                    (Cell(), Cell(), Cell())
                    if reached is None
                    else (
                        Cell(reached.mean),
                        Cell(reached.oracle),
                        Cell(reached.gain, ends(reached.interval)),
                    )
                ),
                *(
                    (Cell(), Cell())
                    if recalled is None
                    else (
                        Cell(max(recalled.first_recall, recalled.second_recall)),
                        Cell(recalled.union_recall),
                    )
                ),
            )
        )
    notes = [
        *more,
        (
            f"better: the better {result.measure} of the two; oracle: with the better answer of "
            "the two for each query; gain: the most that choosing one of the two for each query "
            "could gain, with its 95 % interval, though noise alone also gives such a gain; a "
            "fusion may reach more"
        ),
        "recall: of the better of the two over all that it retrieved; union: of both together",
    ]
    return Table(
        (
            *text_columns("system", "other"),
            Column("better"),
            Column("oracle"),
            Column("gain", signed=True),
            Column("recall"),
            Column("union"),
        ),
        tuple(rows),
        title="What two systems could reach together",
        notes=tuple(notes),
        name_columns=2,
    )


def _apart(result: Agreement) -> Table:
    """List the queries on which the best system and another differ most."""
    listed = [
        (pair, row) for pair in result.pairs if pair.first == result.focus for row in pair.apart
    ]
    listed.sort(key=lambda entry: -abs((entry[1].first_value or 0) - (entry[1].second_value or 0)))
    rows = tuple(
        (
            Cell(shortened(row.text or row.query_id)),
            Cell(pair.second),
            Cell(row.second_value),
            Cell(row.first_value),
            Cell(row.rbo),
        )
        for pair, row in listed[:MOST_APART]
    )
    return Table(
        (
            *text_columns("question", "system"),
            Column(f"its {result.measure}"),
            Column(f"{result.focus}'s"),
            Column("RBO", digits=2),
        ),
        rows,
        title=f"Questions that {result.focus} and another system answer most differently",
        notes=(f"by the difference in {result.measure}",),
        name_columns=2,
    )
