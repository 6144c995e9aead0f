"""Pairs of systems as tables: differences, unjudged documents; and csv."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Cell,
    Column,
    Lines,
    Table,
    Value,
    cells,
    ends,
    text_columns,
)
from rankscope.document.links import queries_link

if TYPE_CHECKING:
    from rankscope.statistics.comparison import Comparison
    from rankscope.statistics.system_pairs import Pair


def _pair_link(pair: Pair, **shown: str) -> str:
    return queries_link(measure=pair.measure, a=pair.system, b=pair.base, **shown)


def pairs_table(pairs: Sequence[Pair], title: str = "") -> Table:
    """Show differences with intervals, tests and verdicts."""
    rows = tuple(
        (
            *cells(pair.measure, pair.system, pair.base),
            Cell(pair.difference, ends(pair.interval), link=_pair_link(pair, sort="-delta")),
            Cell(pair.wins, link=_pair_link(pair, show="improved")),
            Cell(pair.ties),
            Cell(pair.losses, link=_pair_link(pair, show="worsened")),
            *cells(pair.d, pair.p_corrected, pair.verdict),
        )
        for pair in pairs
    )
    return Table(
        (
            *text_columns("measure", "system", "base"),
            Column("difference", signed=True),
            *map(Column, ("wins", "ties", "losses")),
            Column("d", digits=2, signed=True),
            Column("p", "p"),
            Column("verdict", "text"),
        ),
        rows,
        title,
        notes=(
            (
                "difference: mean of system minus base, with the interval that holds for all pairs "
                "of its family at once; wins, ties, losses: queries on which the system is better, "
                "the same, worse; d: standardised mean difference"
            ),
        ),
        name_columns=3,
    )


_DATA = (
    "measure",
    "base",
    "system",
    "queries",
    "base_mean",
    "system_mean",
    "difference",
    "low",
    "high",
    "level",
    "low_alone",
    "high_alone",
    "relative",
    "wins",
    "ties",
    "losses",
    "d",
    "p",
    "p_corrected",
    "method",
    "correction",
    "verdict",
    "detectable",
)
"""The columns of csv."""


def comparison_data(comparison: Comparison) -> Lines:
    """Return a row for each measure and pair."""
    return Lines(_DATA, lambda: _data_rows(comparison))


def _data_rows(comparison: Comparison) -> Iterator[list[Value]]:
    correction = comparison.settings.correction
    for pair in comparison.pairs:
        row: dict[str, Value] = {name: getattr(pair, name, None) for name in _DATA}
        row["correction"] = correction
        row |= {"low": pair.interval.low, "high": pair.interval.high, "level": pair.interval.level}
        row |= {"low_alone": pair.interval.low, "high_alone": pair.interval.high}
        yield [row[name] for name in _DATA]
