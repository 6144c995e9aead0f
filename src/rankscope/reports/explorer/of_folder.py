"""The contents of an experiment: its tables, as they are in its folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from rankscope.diagnosis.failures import FAILURES
from rankscope.measures.language import Measure
from rankscope.reports.explorer.contents import Answers, Contents, gathered
from rankscope.scoring.tops import best_judged

if TYPE_CHECKING:
    from rankscope.records.report import BenchmarkReport

TableReader = Callable[[str], pl.DataFrame | None]
"""Returns a table of the folder by its name; None if it is not there."""


def contents_of_experiment(
    report: BenchmarkReport, table: TableReader, *, group: str = ""
) -> Contents | None:
    """Gather what the tables of an experiment hold; None if the main ones are not there."""
    queries, judged = table("queries.parquet"), table("qrels.parquet")
    answers = _answers(report, table, group)
    if queries is None or judged is None or not answers:
        return None
    pairs = judged.select("query_id", "doc_id", pl.col("grade").cast(pl.Float64))
    asked = [info.measure for info in report.measures]
    return gathered(
        queries.select("query_id", "text", "metadata"),
        answers,
        asked,
        counted_best(pairs, report.top),
        document=_documents(report, table, judged),
        baseline=report.baseline,
        focus=next(iter(report.measures[0].best), None) if report.measures else None,
        cutoff=Measure.parse(asked[0]).cutoff if asked else None,
        top=report.top,
    )


def counted_best(pairs: pl.DataFrame, top: int) -> pl.DataFrame:
    """Return the best judged documents, and how many there are of each query."""
    best = best_judged(pairs, len(pairs) + 1)
    return best.with_columns(pl.len().over("query_id").alias("count")).filter(pl.col("rank") <= top)


def _answers(report: BenchmarkReport, table: TableReader, group: str) -> list[Answers]:
    failures = FAILURES.of(report.analyses)
    failed: dict[str, dict[str, tuple[str, ...]]] = {
        system.system: {str(count.cause): count.query_ids for count in system.causes}
        for system in (() if failures is None else failures.systems)
    }
    answers = []
    for system in report.systems:
        values, top = table(system.per_query.path), table(system.results.path)
        if values is None or top is None:
            return []
        if "adds" not in top.columns:
            top = top.with_columns(pl.lit(None, pl.Float64).alias("adds"))
        answers.append(Answers(system.name, values, top, failed.get(system.name, {}), group))
    return answers


def _documents(
    report: BenchmarkReport, table: TableReader, judged: pl.DataFrame
) -> Callable[[str], tuple[str | None, str | None]]:
    """Return what looks titles and texts up."""
    tables = [judged, *(table(system.results.path) for system in report.systems)]
    titled = [each.select("doc_id", "title") for each in tables if each is not None]
    titles = dict(pl.concat(titled).unique("doc_id", keep="first").iter_rows())
    kept = table("documents.parquet")
    texts = {} if kept is None else dict(kept.select("doc_id", "text").iter_rows())

    def document(doc_id: str) -> tuple[str | None, str | None]:
        return titles.get(doc_id), texts.get(doc_id)

    return document
