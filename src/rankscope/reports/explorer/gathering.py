"""Where contents come from: an experiment's folder, runs that were just scored, or a score file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from rankscope.diagnosis.failures import Failures, failures
from rankscope.errors import InputError
from rankscope.measures.language import Measure
from rankscope.records.table_names import DOCUMENTS, QRELS, QUERIES
from rankscope.records.tops import SCHEMA, best_judged, tops
from rankscope.reports.explorer.contents import Answers, Contents, gathered
from rankscope.reports.verdict import decision_of
from rankscope.runs.table import Run, as_run

if TYPE_CHECKING:
    from rankscope.collection.corpus import Corpus
    from rankscope.records.report import BenchmarkReport
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.scores import Scored, Scores

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


# --- runs that were just scored ------------------------------------------------------------------

LONGEST = 1_000
"""So many characters of a document are kept."""

TOP = 20
"""So many documents of each answer are shown, unless told otherwise."""

_TOP_COLUMNS = {**SCHEMA, "grade": pl.Float64}
_GRADED = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}

QueryRow = tuple[str, str, Mapping[str, Any]]
"""A query: id, text and metadata."""


def contents_of_scored(
    scored: Scored,
    *,
    queries: Iterable[QueryRow] = (),
    corpus: Corpus | None = None,
    baseline: str | None = None,
    failures: Failures | None = None,
    top: int = TOP,
) -> Contents:
    """Gather what an explorer shows of scores and the runs behind them."""
    scores, judgments = scored.scores, scored.judgments
    failed = failed_queries(failures)
    answers = [
        Answers(name, values, _top(scored, name, top), failed.get(name, {}))
        for name, values in _values(scores, scored.runs)
    ]
    pairs = _graded(judgments)
    main = Measure.parse(scores.measures[0])
    return gathered(
        _queries(judgments, queries),
        answers,
        scores.measures,
        counted_best(pairs, top),
        document=_known_documents(judgments, corpus),
        baseline=baseline,
        focus=_best(scores, main),
        top=top,
    )


def _best(scores: Scores, main: Measure) -> str | None:
    if len(scores.runs) < 2:
        return None
    pick = max if main.definition.higher_is_better else min
    return pick(scores.runs, key=lambda name: scores.run(name).means[str(main)])


def _values(scores: Scores, runs: Mapping[str, Any]) -> Iterable[tuple[str, pl.DataFrame]]:
    """Return the values of each run."""
    for name in runs:
        yield name, scores.run(name).rows().drop("run")


def _top(scored: Scored, name: str, top: int) -> pl.DataFrame:
    """Return the first documents of each answer, with their grades."""
    judgments, run = scored.judgments, scored.runs[name]
    if judgments.gold is not None:  # pieces of text have no ids to show
        return pl.DataFrame(schema=_TOP_COLUMNS)
    table = run if isinstance(run, Run) else as_run(run, name=name)
    main = Measure.parse(scored.scores.measures[0])
    first = tops(judgments, table, main, profile=scored.scores.profile, depth=top)
    judged = first.filter(pl.col("query_id").is_in(list(judgments.query_ids)))
    return judged.join(
        _graded(judgments), on=["query_id", "doc_id"], how="left", maintain_order="left"
    )


def _graded(judgments: Judgments) -> pl.DataFrame:
    if judgments.gold is not None:
        return pl.DataFrame(schema=_GRADED)
    return judgments.pairs.select("query_id", "doc_id", pl.col("grade").cast(pl.Float64))


def _queries(judgments: Judgments, queries: Iterable[QueryRow]) -> pl.DataFrame:
    known = {query_id: (text, metadata) for query_id, text, metadata in queries}
    rows = []
    for query_id in judgments.query_ids:
        text, metadata = known.get(query_id, (None, {}))
        plain = json.dumps(dict(metadata), ensure_ascii=False, default=str) if metadata else None
        rows.append((query_id, text, plain))
    columns = dict.fromkeys(("query_id", "text", "metadata"), pl.String)
    return pl.DataFrame(rows, schema=columns, orient="row")


def _known_documents(
    judgments: Judgments, corpus: Corpus | None
) -> Callable[[str], tuple[str | None, str | None]]:
    """Return what looks titles and texts up: in the corpus, or in the ontology."""
    ontology = judgments.ontology

    def document(doc_id: str) -> tuple[str | None, str | None]:
        if corpus is not None and doc_id in corpus:
            known = corpus[doc_id]
            return known.title or None, known.body[:LONGEST] or None
        if ontology is not None and doc_id in ontology:
            return ontology[doc_id].label or None, None
        return None, None

    return document
