"""The one table behind a decision: systems, best first, each against the baseline on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankscope.document.blocks import Axis, Cell, Column, Table, Tone, ends
from rankscope.document.links import queries_link
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.statistics.intervals import Interval
    from rankscope.statistics.system_pairs import Pair, Verdict

FIRST = 10
"""So many systems are shown at first."""

OUTCOME_TONES: dict[Verdict, Tone] = {
    "better": "good",
    "worse": "bad",
    "equivalent": "plain",
    "can't tell": "quiet",
}


@dataclass(frozen=True, slots=True)
class SystemLine:
    """What a table of a decision says of one system."""

    name: str
    mean: float | None
    """The mean of the main measure; None: it was not scored."""
    interval: Interval | None = None
    pair: Pair | None = None
    """Its comparison with the baseline on the main measure; None: it is the baseline."""
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
        name = Cell(line.name, tone="strong" if line.name == choice else "plain", small=line.about)
        if line.mean is None:
            rest = (Cell("") for _ in range(len(columns) + len(others) - 2))
            rows.append((name, Cell("broken"), *rest))
            continue
        link = queries_link(measure=measure, a=line.name, sort="a")
        row = [name, Cell(line.mean, link=link), Cell(interval=ends(line.interval))]
        row.append(_whisker(line, base))
        if base is not None:
            row += _change_cells(line)
        rows.append((*row, *line.others))
    base_mean = next((line.mean for line in lines if line.name == base), None)
    return Table(
        (*columns, *others),
        tuple(rows),
        notes=(f"{counted(left, 'more system')}: --max-systems 0",) if left else (),
        axis=Axis(base_mean, base or "", higher_is_better),
        picked="start here",
    )


def _whisker(line: SystemLine, base: str | None) -> Cell:
    """Place the interval of the change, or without a baseline that of the mean, at the mean."""
    if line.pair is None:
        return Cell(
            line.mean, None if base else ends(line.interval), tone="quiet" if base else "good"
        )
    change = ends(line.pair.interval)
    tone = OUTCOME_TONES[line.pair.verdict]
    if change is None or line.mean is None:
        return Cell(line.mean, tone=tone)
    at_base = line.mean - line.pair.difference
    return Cell(line.mean, (at_base + change[0], at_base + change[1]), tone=tone)


def _change_cells(line: SystemLine) -> tuple[Cell, ...]:
    """Return the change for forms of text, and for pages with its interval; outcome, p-value."""
    pair = line.pair
    if pair is None:
        return Cell("baseline"), Cell(""), Cell("baseline"), Cell("")
    tone = OUTCOME_TONES[pair.verdict]
    link = queries_link(measure=pair.measure, a=pair.system, b=pair.base)
    return (
        Cell(pair.difference, marker=f" {pair.verdict}", tone=tone),
        Cell(pair.difference, ends(pair.interval), link=link),
        Cell(pair.verdict, tone=tone),
        Cell(pair.p_corrected),
    )
