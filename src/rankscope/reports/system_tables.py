"""Systems as tables: the one behind a decision, the means of all measures, pairs; and which show.

What is not shown is still counted: p-values are corrected over all systems. What is
said beside means, names of measures and methods of intervals, is here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Axis,
    Cell,
    Column,
    Lines,
    Table,
    Tone,
    Value,
    cells,
    ends,
    text_columns,
)
from rankscope.document.links import queries_link
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.statistics.comparison import Comparison
    from rankscope.statistics.gate import MeasureCheck
    from rankscope.statistics.intervals import Interval
    from rankscope.statistics.system_pairs import Pair, Verdict

FIRST, FEW = 10, 3
"""So many rows are shown, and so many notes or names said, before the rest is counted."""

OUTCOME_TONES: dict[Verdict, Tone] = {
    "better": "good",
    "worse": "bad",
    "equivalent": "plain",
    "can't tell": "quiet",
}

_INTERVALS = {
    "bca": "BCa bootstrap",
    "percentile": "percentile bootstrap",
    "t": "Student t",
    "wilson": "Wilson",
    "cluster t": "Student t over clusters",
    "t, with noise": "Student t, with noise of runs",
}
"""What the methods that answered are called; values that do not vary have no method."""


def aliases(asked: Mapping[str, str]) -> Iterator[str]:
    """Say which measures were asked for under other names."""
    for measure, name in asked.items():
        if measure != name:
            yield f"{name} is reported as {measure}"


def interval_methods(intervals: Iterable[Interval]) -> str:
    """Return the methods that made some intervals; '' if none varies."""
    methods = dict.fromkeys(interval.method for interval in intervals)
    return " or ".join(_INTERVALS[method] for method in methods if method in _INTERVALS)


def best_of(
    ranked: Sequence[str], always: Collection[str | None] = (), most: int = FIRST
) -> list[str]:
    """Return the first of ``ranked`` systems, and those of ``always``, in their order.

    >>> best_of(["a", "b", "c", "d"], ["d"], most=2)
    ['a', 'b', 'd']
    """
    return [name for place, name in enumerate(ranked) if place < most or name in always]


def left_out(count: int, noun: str) -> tuple[str, ...]:
    """Say how many systems the first table does not show, and where they are."""
    return (f"{counted(count, f'more {noun}')}: in the table of all means (--full)",) * (count > 0)


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of one measure for one system, and what is known about it."""

    value: Value
    """None: there is none; text: why."""
    interval: Interval | None = None
    best: bool = False
    pair: Pair | None = None
    """Its comparison with the baseline; None: it is the baseline, or there is none."""


@dataclass(frozen=True, slots=True)
class SystemLine:
    """What the table of a decision says of one system."""

    name: str
    mean: Mean
    about: str = ""
    """How it searches, in a few words."""
    others: tuple[Cell, ...] = ()
    """One cell for each of the other columns."""


def decision_table(
    measure: str,
    lines: Sequence[SystemLine],
    others: Sequence[Column] = (),
    *,
    base: str | None,
    choice: str | None,
    higher_is_better: bool = True,
    left: int = 0,
) -> Table:
    """Show what a decision rests on; ``left`` systems more are not shown.

    On pages a whisker is the interval of the change from the baseline, placed at the mean: it
    clears the baseline's line exactly when the outcome is better or worse. Without a baseline it is
    the interval of the mean.
    """
    columns = [
        Column("system", "text"),
        Column(measure),
        Column("95% interval", "interval", only="text" if base else ""),
        Column("", "whisker"),
    ]
    if base is not None:
        columns += [
            Column(f"vs {base}", signed=True, only="text"),
            Column(f"change from {base} [95%]", signed=True, only="page"),
            Column("result", "outcome", only="page"),
            Column("p", "p"),
        ]
    rows = []
    for line in lines:
        mean, name = line.mean, Cell(line.name, small=line.about)
        name = replace(name, tone="strong") if line.name == choice else name
        if mean.value is None or isinstance(mean.value, str):
            rest = (Cell("") for _ in range(len(columns) + len(others) - 2))
            rows.append((name, Cell("broken", tone="bad"), *rest))
            continue
        link = queries_link(measure=measure, a=line.name, sort="a")
        row = [name, Cell(mean.value, link=link), Cell(interval=ends(mean.interval))]
        row.append(_whisker(float(mean.value), mean, base))
        if base is not None:
            row += _change_cells(mean.pair)
        rows.append((*row, *line.others))
    base_mean = next((line.mean.value for line in lines if line.name == base), None)
    return Table(
        (*columns, *others),
        tuple(rows),
        notes=left_out(left, "system"),
        axis=Axis(None if isinstance(base_mean, str) else base_mean, base or "", higher_is_better),
        picked="start here",
    )


def _whisker(value: float, mean: Mean, base: str | None) -> Cell:
    """Place the interval of the change, or without a baseline that of the mean, at the mean."""
    if mean.pair is None:
        interval = None if base else ends(mean.interval)
        return Cell(value, interval, tone="quiet" if base else "good")
    change, tone = ends(mean.pair.interval), OUTCOME_TONES[mean.pair.verdict]
    if change is None:
        return Cell(value, tone=tone)
    at_base = value - mean.pair.difference
    return Cell(value, (at_base + change[0], at_base + change[1]), tone=tone)


def _change_cells(pair: Pair | None) -> tuple[Cell, ...]:
    """Return the change for forms of text, and for pages with its interval; outcome, p-value."""
    if pair is None:
        return Cell("baseline"), Cell(""), Cell("baseline"), Cell("")
    tone = OUTCOME_TONES[pair.verdict]
    return (
        Cell(pair.difference, marker=f" {pair.verdict}", tone=tone),
        Cell(pair.difference, ends(pair.interval), link=_pair_link(pair)),
        Cell(pair.verdict, tone=tone),
        Cell(pair.p_corrected),
    )


def means_table(
    systems: Sequence[str],
    measures: Sequence[Column],
    mean_of: Callable[[str, str], Mean],
    *,
    head: str = "system",
    baseline: str | None = None,
    notes: Iterable[str] = (),
) -> Table:
    """Show all means, a row for each system; a word says what differs from the baseline.

    The title of a column is the measure that ``mean_of`` is asked for.
    """
    rows = []
    for name in systems:
        row = [Cell(name, note="baseline" if name == baseline else "")]
        for column in measures:
            mean = mean_of(name, column.title)
            differs = mean.pair is not None and mean.pair.verdict in ("better", "worse")
            row.append(
                Cell(
                    mean.value,
                    ends(mean.interval),
                    marker=f" {mean.pair.verdict}" if mean.pair and differs else "",
                    best=mean.best,
                    tone=OUTCOME_TONES[mean.pair.verdict] if mean.pair and differs else "plain",
                    link=queries_link(measure=column.title, a=name, sort="a"),
                )
            )
        rows.append(tuple(row))
    has_words = any(cell.marker for row in rows for cell in row)
    words = [f"better, worse: than {baseline}; others: can't tell"] if has_words else []
    return Table(
        (Column(head, "text"), *measures),
        tuple(rows),
        notes=(*words, *notes),
        best="best mean" if len(systems) > 1 else "",
        columns_are="measure",
    )


def _pair_link(pair: Pair, **shown: str) -> str:
    return queries_link(measure=pair.measure, a=pair.system, b=pair.base, **shown)


def pairs_table(pairs: Sequence[Pair], title: str = "") -> Table:
    """Show differences with intervals, tests and outcomes."""
    rows = tuple(
        (
            *cells(pair.measure, pair.system, pair.base),
            Cell(pair.difference, ends(pair.interval), link=_pair_link(pair)),
            Cell(pair.wins, link=_pair_link(pair, show="improved")),
            Cell(pair.ties),
            Cell(pair.losses, link=_pair_link(pair, show="worsened")),
            *cells(pair.d, pair.p_corrected),
            Cell(pair.verdict, tone=OUTCOME_TONES[pair.verdict]),
        )
        for pair in pairs
    )
    columns = (
        *text_columns("measure", "system", "base"),
        Column("difference", signed=True),
        *map(Column, ("wins", "ties", "losses")),
        Column("d", digits=2, signed=True),
        Column("p", "p"),
        Column("result", "outcome"),
    )
    note = (
        "difference: mean of system minus base, with the interval that holds for all pairs of its "
        "family at once; wins, ties, losses: queries on which the system is better, the same, "
        "worse; d: standardised mean difference"
    )
    return Table(columns, rows, title, notes=(note,), name_columns=3)


def outcome_of(pair: Pair) -> str:
    """Return the verdict, or that there is no difference on any question."""
    return "the same" if pair.is_same else pair.verdict


def change_columns(before: str, after: str, outcome: str, level: str = "95%") -> list[Column]:
    """Return the columns of a change from one mean to another: those of `change_cells`."""
    return [
        *map(Column, (before, after)),
        Column("change", signed=True),
        Column("", "whisker"),
        Column(f"{level} interval", "interval", signed=True),
        Column("p", "p"),
        Column(outcome, "outcome"),
    ]


def change_cells(change: Pair | MeasureCheck, outcome: str, tone: Tone) -> list[Cell]:
    """Return both means, the change with its interval, the p-value and the outcome."""
    interval = ends(change.interval)
    return [
        *cells(change.base_mean, change.system_mean, change.difference),
        Cell(change.difference, interval, tone=tone),
        Cell(interval=interval),
        Cell(change.p_corrected),
        Cell(outcome, tone=tone),
    ]


_DATA = (
    *("measure", "base", "system", "queries", "base_mean", "system_mean", "difference"),
    *("low", "high", "level", "relative", "wins", "ties", "losses", "d"),
    *("p", "p_corrected", "method", "correction", "verdict", "detectable"),
)
"""The columns of csv."""


def comparison_data(comparison: Comparison) -> Lines:
    """Return a row for each measure and pair."""
    return Lines(_DATA, lambda: _data_rows(comparison))


def _data_rows(comparison: Comparison) -> Iterator[list[Value]]:
    correction = comparison.settings.correction
    for pair in comparison.pairs:
        row: dict[str, Value] = {name: getattr(pair, name, None) for name in _DATA}
        interval = pair.interval
        row |= {"low": interval.low, "high": interval.high, "level": interval.level}
        row["correction"] = correction
        yield [row[name] for name in _DATA]
