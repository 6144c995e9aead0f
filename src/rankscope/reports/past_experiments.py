"""Several experiments as one document: the main measure over time, and all of them side by side.

Everything shown is in the records. Differences between experiments are plain ones: whether they
could be chance is the question of ``rankscope benchmark compare``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from shlex import quote
from typing import TYPE_CHECKING, Any

from rankscope.document.blocks import (
    Block,
    Cell,
    Code,
    Column,
    Curve,
    Document,
    Plot,
    Section,
    Table,
    ends,
    sentences,
    shortened,
    text_columns,
)
from rankscope.document.links import queries_link
from rankscope.document.views import view
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.records.manifest import ExperimentManifest
    from rankscope.records.report import BenchmarkReport, MeasureValue


_MOST_SAID = 6
"""So many of the newest values are said of each system."""

_LEAST = 0.00005
"""A smaller change is none."""

_MOST_CHANGES = 60
"""So many changed settings are listed."""


@dataclass(frozen=True, slots=True)
class Past:
    """An experiment of a history, and what it is called there."""

    number: int
    label: str
    report: BenchmarkReport
    manifest: ExperimentManifest | None = None
    folder: str = ""

    @property
    def place(self) -> str:
        """Where it is, as a command names it."""
        return quote(self.folder or self.label)

    @property
    def group(self) -> str:
        """What its systems are called after where those of several experiments are listed."""
        return f"#{self.number}"

    def link(self, system: str, measure: str) -> str:
        """Return a link to the queries behind a mean."""
        return queries_link(measure=measure, a=f"{self.group} {system}", sort="a")

    @property
    def commit(self) -> str | None:
        """What was checked out, if that is known; a plus sign: with changes."""
        git = None if self.manifest is None else self.manifest.git
        return None if git is None else f"{git.commit[:10]}{'+' if git.dirty else ''}"

    def value(self, system: str, measure: str) -> MeasureValue | None:
        """Return a mean."""
        for record in self.report.systems:
            if record.name == system:
                return next((each for each in record.measures if each.measure == measure), None)
        return None


@dataclass(frozen=True, slots=True)
class History:
    """Experiments, oldest first."""

    experiments: tuple[Past, ...]

    @classmethod
    def of(
        cls, reports: Sequence[tuple[BenchmarkReport, ExperimentManifest | None, str]]
    ) -> History:
        """Order experiments by time, and give each a name of its own."""
        ordered = sorted(reports, key=lambda each: each[0].created)
        labels: list[str] = []
        for report, _, _ in ordered:
            label, number = report.experiment, 2
            while label in labels:
                label, number = f"{report.experiment} ({number})", number + 1
            labels.append(label)
        return cls(
            tuple(
                Past(number, label, report, manifest, folder)
                for number, (label, (report, manifest, folder)) in enumerate(
                    zip(labels, ordered, strict=True), start=1
                )
            )
        )

    @property
    def main(self) -> str:
        """The measure that is shown over time: the main one of the newest experiment."""
        return self.experiments[-1].report.measures[0].measure

    @property
    def systems(self) -> list[str]:
        """The systems of all experiments."""
        names = (system.name for past in self.experiments for system in past.report.systems)
        return list(dict.fromkeys(names))

    @property
    def measures(self) -> list[str]:
        """The measures of all experiments, those of the newest first."""
        newest_first = reversed(self.experiments)
        return list(dict.fromkeys(i.measure for past in newest_first for i in past.report.measures))


@view
def history_document(history: History) -> Document:
    """Show the main measure over time, and every number of all experiments side by side."""
    first, last = history.experiments[0], history.experiments[-1]
    return Document(
        f"History of {counted(len(history.experiments), 'experiment')}",
        (
            Section("What it says", (sentences(list(_says(history)), listed=True),)),
            Section("Over time", (_plot(history), _table(history))),
            Section("What was changed", (), _changed(history)),
            Section("Side by side", (), _side_by_side(history)),
            Section("Verdicts", (), tuple(_verdicts(history)), part="diagnosis"),
            Section("Is a difference real?", (), _ask(history), part="method"),
        ),
        subtitle=f"From {first.report.created[:10]} to {last.report.created[:10]}, "
        f"{counted(len(history.systems), 'system')}.",
        names=frozenset([*history.systems, *history.measures]),
        data=lambda: _data(history),
    )


def _says(history: History) -> Iterator[str]:
    """Say what changed from the first to the last, and what makes them hard to compare."""
    main, first, last = history.main, history.experiments[0], history.experiments[-1]
    best = last.report.measures[0].best
    value = last.value(best[0], main) if best else None
    if value is not None:
        have = "has" if len(best) == 1 else "have"
        yield (
            f"In {last.group}, the newest, {', '.join(best)} {have} the best {main}: "
            f"{value.value:.4f}"
        )
    for system in history.systems:
        known = [
            (past.group, value.value)
            for past in history.experiments
            if (value := past.value(system, main)) is not None
        ]
        if len(known) > 1:
            course = ", ".join(f"{group} {number:.4f}" for group, number in known[-_MOST_SAID:])
            change = known[-1][1] - known[0][1]
            yield f"{system}: {course} ({change:+.4f} since {known[0][0]}; not tested)"
    for other in history.measures[1:]:
        moved = [
            f"{system} {after.value - before.value:+.4f}"
            for system in history.systems
            if (before := first.value(system, other)) is not None
            and (after := last.value(system, other)) is not None
            and abs(after.value - before.value) >= _LEAST
        ]
        if moved:
            yield f"{other} since {first.group}: {', '.join(moved)}"
    for what in ("queries", "qrels", "corpus"):
        hashes = {getattr(past.report.collection, f"{what}_sha256") for past in history.experiments}
        if len(hashes) > 1:
            noun = {"qrels": "judgments", "corpus": "documents"}.get(what, what)
            yield f"The {noun} are not the same in all of them: some of a change may be theirs."


def _plot(history: History) -> Plot:
    main = history.main
    curves = []
    systems = history.systems
    for place, system in enumerate(systems):
        beside = 0.02 * (place - (len(systems) - 1) / 2)  # or one whisker would hide another
        values = [(past.number, past.value(system, main)) for past in history.experiments]
        known = [(number, value) for number, value in values if value is not None]
        curves.append(
            Curve(
                system,
                tuple((number + beside, value.value) for number, value in known),
                intervals=tuple(ends(value.interval) for _, value in known),
            )
        )
    return Plot(
        f"{main} over time",
        "experiment, oldest first",
        main,
        tuple(curves),
        x_range=(0.9, max(len(history.experiments), 2) + 0.1),
        counted=True,
    )


def _table(history: History) -> Table:
    main = history.main
    rows = []
    previous: Past | None = None
    for past in history.experiments:
        cells = []
        for system in history.systems:
            value = past.value(system, main)
            if value is None:
                cells.append(Cell())
                continue
            before = None if previous is None else previous.value(system, main)
            cell = Cell(
                value.value,
                ends(value.interval),
                link=past.link(system, main),
            )
            cells.append(
                cell if before is None else replace(cell, change=value.value - before.value)
            )
        about = (
            Cell(past.group),
            Cell(past.label),
            Cell(past.report.created.replace("T", " ")[:16]),
        )
        rows.append((*about, Cell(past.commit), *cells))
        previous = past
    return Table(
        (
            *text_columns("#", "experiment", "made", "commit"),
            *(Column(system) for system in history.systems),
        ),
        tuple(rows),
        title=main,
        notes=(
            (
                "in brackets: interval of the mean; in parentheses: change against the experiment "
                "before, not tested"
            ),
        ),
        name_columns=2,
    )


def _side_by_side(history: History) -> tuple[Block, ...]:
    """Show every mean of every system, a column for each experiment."""
    rows = []
    for system in history.systems:
        for measure in history.measures:
            values = [past.value(system, measure) for past in history.experiments]
            if not any(values):
                continue
            cells = (
                Cell()
                if value is None
                else Cell(
                    value.value,
                    ends(value.interval),
                    link=past.link(system, measure),
                )
                for past, value in zip(history.experiments, values, strict=True)
            )
            rows.append((Cell(system), Cell(measure), *cells))
    columns = (
        *text_columns("system", "measure"),
        *(Column(past.group, note=past.label) for past in history.experiments),
    )
    return (Table(columns, tuple(rows), name_columns=2),)


def _changed(history: History) -> tuple[Block, ...]:
    """Show how the configs and versions of each experiment differ from those before it."""
    rows = []
    for before, after in pairwise(history.experiments):
        if before.manifest is None or after.manifest is None:
            continue
        old, new = (
            {**_flat(past.manifest.config), **_flat(past.manifest.versions, "version of ")}
            for past in (before, after)
            if past.manifest is not None
        )
        for key in dict.fromkeys([*old, *new]):
            if old.get(key) != new.get(key):
                values = (shortened(str(side.get(key, "–"))) for side in (old, new))
                rows.append(tuple(map(Cell, (after.group, key, *values))))
    columns = text_columns("#", "setting", "before", "now")
    more = len(rows) - _MOST_CHANGES
    notes = (f"{more:,} more",) if more > 0 else ()
    table = Table(columns, tuple(rows[:_MOST_CHANGES]), notes=notes, name_columns=2)
    return (table,) if rows else ()


def _flat(value: Any, name: str = "") -> dict[str, str]:
    """Return nested settings as one level, by their paths."""
    if isinstance(value, Mapping) and value:
        dot = "." if name and not name.endswith(" ") else ""
        parts = (_flat(inner, f"{name}{dot}{key}") for key, inner in value.items())
        return {key: text for part in parts for key, text in part.items()}
    return {name: json.dumps(value, ensure_ascii=False, default=str)}


def _verdicts(history: History) -> Iterator[Block]:
    for past in history.experiments:
        rows = tuple((Cell(sentence),) for sentence in past.report.verdict)
        if rows:
            yield Table(text_columns("verdict"), rows, title=past.label)


def _ask(history: History) -> tuple[Block, ...]:
    text = (
        "The numbers here are those of the records. Whether a change is more than chance is "
        "answered by this command, for any two of the folders:"
    )
    first, last = history.experiments[-2:] if len(history.experiments) > 1 else (None, None)
    if first is None or last is None:
        return ()
    return (
        sentences([text]),
        Code(f"rankscope benchmark compare {first.place} {last.place}", "sh"),
    )


def _data(history: History) -> Table:
    rows = []
    for past in history.experiments:
        for system in past.report.systems:
            for value in system.measures:
                low, high = ends(value.interval) or (None, None)
                about = (past.label, past.report.created, past.commit, system.name)
                rows.append(
                    tuple(map(Cell, (*about, value.measure, value.value, low, high, value.n)))
                )
    titles = ("experiment", "created", "commit", "system", "measure", "value", "low", "high")
    return Table(text_columns(*titles, "queries"), tuple(rows))
