"""Means that another tool reports, as a document: values, differences, and what they cannot say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Cell,
    Column,
    Document,
    Section,
    Table,
    plain_rows,
    sentences,
    text_columns,
)
from rankscope.document.views import view
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.statistics.reported import ReportedMeans


@view
def reported_document(reported: ReportedMeans) -> Document:
    """Show a row for each task and measure, a column for each system."""
    values = {
        (mean.task, mean.split, mean.subset, mean.measure, mean.run): mean.value
        for mean in reported.means
    }
    keys = dict.fromkeys(
        (mean.task, mean.split, mean.subset, mean.measure)
        for measure in reported.measures
        for mean in reported.means
        if mean.measure == measure
    )
    rows = [
        (
            Cell(_title(key)),
            Cell(key[3]),
            *_cells([values.get((*key, r)) for r in reported.runs], reported),
        )
        for key in keys
    ]
    rows += _averages(keys, values, reported)
    columns = [
        Column(run, note="baseline" if run == reported.baseline else "") for run in reported.runs
    ]
    table = Table((Column("task", "text"), Column("measure", "text"), *columns), tuple(rows))
    honest = (
        "Means as MTEB reports them, with the difference to the baseline. Its files do not hold "
        "the values of queries, so there is no interval and no test: compare the runs themselves "
        "(rankscope compare QRELS RUN RUN) to learn whether a difference is more than chance."
    )
    return Document(
        f"Comparison of {counted(len(reported.runs), 'system')}",
        (Section("", (table, sentences([honest]))),),
        names=frozenset(reported.runs),
        data=lambda: _data(reported),
    )


def _data(reported: ReportedMeans) -> Table:
    """Return a row for each mean."""
    names = ("run", "task", "split", "subset", "measure")
    rows = ([*(getattr(mean, name) for name in names), mean.value] for mean in reported.means)
    return Table((*text_columns(*names), Column("value", digits=None)), plain_rows(rows))


def _title(key: tuple[str, str, str, str]) -> str:
    task, split, subset, _ = key
    return f"{task} ({split})" if subset == "default" else f"{task} ({split}, {subset})"


def _cells(values: list[float | None], reported: ReportedMeans) -> list[Cell]:
    base = values[reported.runs.index(reported.baseline)]
    return [
        Cell(
            value,
            change=None
            if value is None or base is None or run == reported.baseline
            else value - base,
        )
        for run, value in zip(reported.runs, values, strict=True)
    ]


def _averages(
    keys: dict[tuple[str, str, str, str], None],
    values: dict[tuple[str, str, str, str, str], float],
    reported: ReportedMeans,
) -> list[tuple[Cell, ...]]:
    """Return the mean over the tasks that all systems have, for each measure with several."""
    rows: list[tuple[Cell, ...]] = []
    for measure in reported.measures:
        shared = [
            key
            for key in keys
            if key[3] == measure and all((*key, run) in values for run in reported.runs)
        ]
        if len(shared) > 1:
            means: list[float | None] = [
                sum(values[*key, run] for key in shared) / len(shared) for run in reported.runs
            ]
            title = f"mean of {counted(len(shared), 'task')} that all have"
            rows.append((Cell(title), Cell(measure), *_cells(means, reported)))
    return rows
