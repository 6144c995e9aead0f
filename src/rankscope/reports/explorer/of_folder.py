"""The contents of experiments: their tables, as they are in their folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rankscope.diagnosis.failures import FAILURES, Failures
from rankscope.errors import InputError
from rankscope.measures.language import Measure
from rankscope.records.table_names import DOCUMENTS, QRELS, QUERIES
from rankscope.reports.explorer.contents import Answers, Contents, gathered
from rankscope.scoring.tops import best_judged

if TYPE_CHECKING:
    from rankscope.records.report import BenchmarkReport

TableReader = Callable[[str], pl.DataFrame | None]
"""Returns a table of a folder by its name; None if it is not there."""


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """An experiment: its report, its tables, and what its systems are called after."""

    report: BenchmarkReport
    table: TableReader
    group: str = ""
    source: str = ""
    """What messages call it."""


def contents_of_experiments(experiments: Sequence[Kept]) -> Contents | None:
    """Gather what the tables of experiments hold; None if the main ones are not there.

    What judges and documents say is taken from the last one that says it. An experiment that asks
    something else under the same ids, or has other documents, is left out.
    """
    known = [part for kept in experiments if (part := _read(kept)) is not None]
    if not known:
        return None
    parts = [part for part in known if part.fits(known[-1])]
    apart = [part.kept.group for part in known if part not in parts]
    listed = f"{', '.join(apart)}: other queries or documents under the same ids; not listed here."
    queries = pl.concat([part.queries for part in parts]).unique(
        "query_id", keep="last", maintain_order=True
    )
    report = parts[-1].kept.report
    measures = dict.fromkeys(info.measure for part in parts for info in part.kept.report.measures)
    asked = [name for name in measures if all(name in _measures(part) for part in parts)]
    asked = asked or list(measures)
    judged = pl.concat([part.judged for part in parts]).unique(
        ["query_id", "doc_id"], keep="last", maintain_order=True
    )
    top = max(part.kept.report.top for part in parts)
    best = next(iter(report.measures[0].best), None)
    return gathered(
        queries,
        [answer for part in parts for answer in part.answers],
        asked,
        counted_best(judged, top),
        document=_documents(parts),
        baseline=_named(report.baseline if len(parts) == 1 else best, parts[-2:][0].kept),
        focus=_named(best, parts[-1].kept),
        cutoff=Measure.parse(asked[0]).cutoff,
        top=top,
        notes=(listed,) if apart else (),
    )


def _read(kept: Kept) -> _Part | None:
    """Read the tables of an experiment, which may hold anything."""
    try:
        return _Part.of(kept)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:100]
        raise InputError(
            f"{kept.source or kept.report.experiment}: its tables are not those of an experiment "
            f"({reason}); see what was changed with 'rankscope benchmark verify'"
        ) from None


def _measures(part: _Part) -> set[str]:
    return {info.measure for info in part.kept.report.measures}


def _named(system: str | None, kept: Kept) -> str | None:
    """Return what the page calls a system."""
    return f"{kept.group} {system}" if kept.group and system is not None else system


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The tables of one experiment."""

    kept: Kept
    queries: pl.DataFrame
    judged: pl.DataFrame
    answers: list[Answers]
    titles: pl.DataFrame
    texts: pl.DataFrame | None

    def fits(self, other: _Part) -> bool:
        """Tell whether queries and documents with the same ids are the same."""
        if self is other:
            return True
        asked = self.queries.join(other.queries, on="query_id", suffix="_other")
        first, second = (part.titles.unique("doc_id", keep="first") for part in (self, other))
        shown = first.join(second, on="doc_id", suffix="_other")
        return len(asked) > 0 and all(
            bool((pairs[name].eq_missing(pairs[f"{name}_other"])).all())
            for pairs, name in ((asked, "text"), (shown, "title"))
        )

    @classmethod
    def of(cls, kept: Kept) -> _Part | None:
        queries, judged = kept.table(QUERIES), kept.table(QRELS)
        answers = _answers(kept)
        if queries is None or judged is None or not answers or not kept.report.measures:
            return None
        titled = [judged, *(kept.table(system.results.path) for system in kept.report.systems)]
        return cls(
            kept,
            queries.select("query_id", "text", "metadata"),
            judged.select("query_id", "doc_id", pl.col("grade").cast(pl.Float64)),
            answers,
            pl.concat([each.select("doc_id", "title") for each in titled if each is not None]),
            _texts(kept.table(DOCUMENTS)),
        )


def _texts(table: pl.DataFrame | None) -> pl.DataFrame | None:
    return None if table is None else table.select("doc_id", "text")


def counted_best(pairs: pl.DataFrame, top: int) -> pl.DataFrame:
    """Return the best judged documents, and how many there are of each query."""
    best = best_judged(pairs, len(pairs) + 1)
    return best.with_columns(pl.len().over("query_id").alias("count")).filter(pl.col("rank") <= top)


def failed_queries(failures: Failures | None) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return by system and cause which queries fail."""
    return {
        system.system: {str(count.cause): count.query_ids for count in system.causes}
        for system in (() if failures is None else failures.systems)
    }


def _answers(kept: Kept) -> list[Answers]:
    failed = failed_queries(FAILURES.of(kept.report.analyses))
    answers = []
    for system in kept.report.systems:
        values, top = kept.table(system.per_query.path), kept.table(system.results.path)
        if values is None or top is None:
            return []
        if "adds" not in top.columns:
            top = top.with_columns(pl.lit(None, pl.Float64).alias("adds"))
        values = values.select("query_id", "measure", pl.col("value").cast(pl.Float64))
        top = top.select("query_id", "rank", "doc_id", "title", "score", "grade", "adds")
        answers.append(Answers(system.name, values, top, failed.get(system.name, {}), kept.group))
    return answers


def _documents(parts: Iterable[_Part]) -> Callable[[str], tuple[str | None, str | None]]:
    """Return what looks titles and texts up."""
    titles: dict[str, str | None] = {}
    texts: dict[str, str | None] = {}
    for part in parts:
        titles |= dict(part.titles.unique("doc_id", keep="first").iter_rows())
        if part.texts is not None:
            texts |= dict(part.texts.iter_rows())

    def document(doc_id: str) -> tuple[str | None, str | None]:
        return titles.get(doc_id), texts.get(doc_id)

    return document
