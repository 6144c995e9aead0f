"""The contents of an experiment: its tables, as they are in its folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from rankscope.diagnosis.failures import Failures, failures
from rankscope.errors import InputError
from rankscope.measures.language import Measure
from rankscope.records.table_names import DOCUMENTS, QRELS, QUERIES
from rankscope.records.tops import best_judged
from rankscope.reports.explorer.contents import Answers, Contents, gathered
from rankscope.reports.verdict import decision_of

if TYPE_CHECKING:
    from rankscope.records.report import BenchmarkReport

TableReader = Callable[[str], pl.DataFrame | None]
"""Returns a table of a folder by its name; None if it is not there."""


def contents_of_experiment(
    report: BenchmarkReport, table: TableReader, source: str
) -> Contents | None:
    """Gather what the tables of an experiment hold; None if the main ones are not there.

    ``source`` is what messages call it.

    Raises:
        InputError: the tables are not those of an experiment.
    """
    try:
        return _gathered(report, table)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:100]
        raise InputError(
            f"{source}: its tables are not those of an experiment ({reason}); see what was changed "
            "with 'rankscope benchmark verify'"
        ) from None


def _gathered(report: BenchmarkReport, table: TableReader) -> Contents | None:
    queries, judged = table(QUERIES), table(QRELS)
    answers = _answers(report, table)
    if queries is None or judged is None or not answers or not report.measures:
        return None
    measures = [info.measure for info in report.measures]
    titled = [judged, *(answer.top for answer in answers)]
    titles = pl.concat([each.select("doc_id", "title") for each in titled])
    return gathered(
        queries.select("query_id", "text", "metadata").unique(
            "query_id", keep="last", maintain_order=True
        ),
        answers,
        measures,
        counted_best(
            judged.select("query_id", "doc_id", pl.col("grade").cast(pl.Float64)).unique(
                ["query_id", "doc_id"], keep="last", maintain_order=True
            ),
            report.top,
        ),
        document=_documents(titles, table(DOCUMENTS)),
        baseline=report.baseline,
        focus=_focus(report),
        cutoff=Measure.parse(measures[0]).cutoff,
        top=report.top,
    )


def _focus(report: BenchmarkReport) -> str | None:
    """Return the system to look at first: the one that was decided for, or else the best one."""
    choice = decision_of(report).choice
    best = next(iter(report.measures[0].best), None)
    return best if choice in (None, report.baseline) else choice


def counted_best(pairs: pl.DataFrame, top: int) -> pl.DataFrame:
    """Return the best judged documents, and how many there are of each query."""
    best = best_judged(pairs, len(pairs) + 1)
    return best.with_columns(pl.len().over("query_id").alias("count")).filter(pl.col("rank") <= top)


def failed_queries(result: Failures | None) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return by system and cause which queries fail."""
    return {
        row.system: {str(cause): query_ids for cause, query_ids in row.causes.items()}
        for row in (() if result is None else result.systems)
    }


def _answers(report: BenchmarkReport, table: TableReader) -> list[Answers]:
    failed = failed_queries(failures.of(report.analyses))
    answers = []
    for system in report.systems:
        values, top = table(system.per_query.path), table(system.results.path)
        if values is None or top is None:
            return []
        values = values.select("query_id", "measure", pl.col("value").cast(pl.Float64))
        top = top.select("query_id", "rank", "doc_id", "title", "score", "grade", "adds")
        answers.append(Answers(system.name, values, top, failed.get(system.name, {})))
    return answers


def _documents(
    titled: pl.DataFrame, texted: pl.DataFrame | None
) -> Callable[[str], tuple[str | None, str | None]]:
    """Return what looks titles and texts up."""
    titles = dict(titled.unique("doc_id", keep="first").iter_rows())
    texts = {} if texted is None else dict(texted.select("doc_id", "text").iter_rows())

    def document(doc_id: str) -> tuple[str | None, str | None]:
        return titles.get(doc_id), texts.get(doc_id)

    return document
