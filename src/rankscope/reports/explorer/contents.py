"""Contents: all that the explorer of a page knows, as columns.

They are gathered of an experiment's folder, or of runs that were just scored, and packed for a page
(`packing`). Nothing is tested or averaged here: a page shows what records say, and beside it
queries and documents.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.diagnosis.failures import Failures, failures
from rankscope.errors import InputError
from rankscope.measures.language import Measure
from rankscope.records.experiment_files import DOCUMENTS, QRELS, QUERIES
from rankscope.records.tops import SCHEMA, best_judged, tops
from rankscope.reports.verdict import decision_of
from rankscope.runs.table import Run, as_run

if TYPE_CHECKING:
    from rankscope.collection.corpus import Corpus
    from rankscope.measures.judged import FloatArray, IntArray
    from rankscope.records.report import BenchmarkReport
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.scored_runs import Scored

MOST_FIELDS = 40
"""So many fields of metadata are in a page."""

NO_CAUSE = -1


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """What one system answered, and what that was worth."""

    name: str
    values: FloatArray
    """By measure and query; NaN: no value."""
    results: pl.DataFrame
    """By query and rank: query and doc (numbers), rank, score, grade (NaN: nobody judged it), adds
    (to the main measure; NaN: that is not known)."""
    cause: IntArray
    """By query: the number of what it fails by; `NO_CAUSE`: it does not."""


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """Queries, documents and systems."""

    query_ids: tuple[str, ...]
    texts: tuple[str | None, ...]
    fields: Mapping[str, Sequence[str | None]]
    """By field of the queries' metadata: its values as text."""
    measures: Mapping[str, bool]
    """Whether more is better; the first is the main one."""
    systems: tuple[System, ...]
    documents: pl.DataFrame
    """doc_id, title, text: by where they are first shown, so that those of a query are together."""
    ideal: pl.DataFrame
    """Judged documents that gain something, best first: query, doc, rank, grade."""
    relevant: IntArray
    """By query: how many documents gain something, those that are not listed too."""
    causes: tuple[str, ...]
    baseline: str | None
    focus: str | None
    """The system that is looked at first: the best one."""
    cutoff: int
    """How many documents of an answer the main measure looks at."""
    top: int
    """How many documents of an answer are there at most."""
    with_text: bool
    """Whether texts and titles are there; otherwise they were left out on purpose."""

    def counts(self, results: pl.DataFrame) -> IntArray:
        """By query: how many results there are."""
        return np.bincount(results["query"].to_numpy(), minlength=len(self.query_ids))

    def unjudged(self, system: System) -> IntArray:
        """By query: how many of the first documents nobody judged."""
        is_judged = pl.col("grade").is_not_nan() & (pl.col("grade") >= 0)
        return self.counts(system.results.filter(~is_judged & (pl.col("rank") <= self.cutoff)))


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The tables of one system, as an experiment keeps them."""

    name: str
    values: pl.DataFrame
    """query_id, measure, value."""
    top: pl.DataFrame
    """query_id, rank, doc_id, score, grade, adds."""
    failed: Mapping[str, Iterable[str]] = field(default_factory=dict)
    """By cause: the queries that fail by it."""


def gathered(
    queries: pl.DataFrame,
    answers: Sequence[Answers],
    measures: Sequence[str],
    judged: pl.DataFrame,
    *,
    document: Callable[[str], tuple[str | None, str | None]],
    baseline: str | None = None,
    focus: str | None = None,
    top: int,
    with_text: bool = True,
) -> Contents:
    """Put tables together.

    ``queries`` has the columns query_id, text and metadata (JSON, or null); ``judged`` the best
    judged documents: query_id, doc_id, grade, rank, and in ``count`` how many there are of the
    query. ``document`` returns title and text. ``top``: how many documents of each answer are
    shown; without texts what may be private is left out: texts, titles, metadata.
    """
    place = queries.select("query_id").with_row_index("query")
    relevant = np.zeros(len(queries), np.int64)
    counts = judged.join(place, on="query_id")
    relevant[counts["query"].to_numpy()] = counts["count"].to_numpy()
    *tables, best = (
        table.filter(pl.col("rank") <= top).join(place, on="query_id").sort("query", "rank")
        for table in (*(answer.top for answer in answers), judged)
    )
    shown = pl.concat([table.select("query", "doc_id") for table in (*tables, best)])
    doc_ids = shown.sort("query", maintain_order=True)["doc_id"].unique(maintain_order=True)
    number = pl.DataFrame({"doc_id": doc_ids}).with_row_index("doc")

    def numbered(table: pl.DataFrame, *columns: str) -> pl.DataFrame:
        numbers = (pl.col(name).cast(pl.Float64).fill_null(np.nan) for name in columns)
        rows = table.join(number, on="doc_id", how="left", maintain_order="left")
        return rows.select(pl.col("query", "doc", "rank").cast(pl.Int64), *numbers)

    causes = tuple(dict.fromkeys(cause for answer in answers for cause in answer.failed))
    described = [document(doc_id) if with_text else (None, None) for doc_id in doc_ids]
    cutoff = Measure.parse(measures[0]).cutoff if measures else None
    return Contents(
        query_ids=tuple(queries["query_id"].to_list()),
        texts=tuple(queries["text"].to_list() if with_text else [None] * len(queries)),
        fields=_fields(queries["metadata"].to_list()) if with_text else {},
        measures={name: Measure.parse(name).definition.higher_is_better for name in measures},
        systems=tuple(
            System(
                name=answer.name,
                values=_values(answer.values, place, measures),
                results=numbered(table, "score", "grade", "adds"),
                cause=_causes(answer.failed, place, causes),
            )
            for answer, table in zip(answers, tables, strict=True)
        ),
        documents=pl.DataFrame(
            [(doc_id, *texts) for doc_id, texts in zip(doc_ids, described, strict=True)],
            schema=dict.fromkeys(("doc_id", "title", "text"), pl.String),
            orient="row",
        ),
        ideal=numbered(best, "grade"),
        relevant=relevant,
        causes=causes,
        baseline=baseline,
        focus=focus,
        cutoff=min(cutoff or 10, top),
        top=top,
        with_text=with_text,
    )


def _values(table: pl.DataFrame, place: pl.DataFrame, measures: Sequence[str]) -> FloatArray:
    values = np.full((len(measures), len(place)), np.nan)
    rows = pl.DataFrame({"measure": list(measures)}).with_row_index("row")
    known = table.join(place, on="query_id").join(rows, on="measure")
    values[known["row"].to_numpy(), known["query"].to_numpy()] = known["value"].to_numpy()
    return values


def _causes(
    failed: Mapping[str, Iterable[str]], place: pl.DataFrame, causes: Sequence[str]
) -> IntArray:
    made = np.full(len(place), NO_CAUSE)
    at = dict(place.select("query_id", "query").iter_rows())
    for name, failing in failed.items():
        made[[at[query_id] for query_id in failing if query_id in at]] = causes.index(name)
    return made


def _fields(metadata: Sequence[str | None]) -> dict[str, list[str | None]]:
    """Return metadata by field; the fields that most queries have first."""
    parsed: list[dict[str, Any]] = [json.loads(text) if text else {} for text in metadata]
    counts = Counter(name for entry in parsed for name in entry)
    names = [name for name, _ in counts.most_common(MOST_FIELDS)]
    return {name: [_plain(entry.get(name)) for entry in parsed] for name in names}


def _plain(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)


# --- an experiment's folder ----------------------------------------------------------------------

TableReader = Callable[[str], pl.DataFrame | None]
"""Returns a table of a folder by its name; None if it is not there."""


def contents_of_experiment(
    report: BenchmarkReport,
    table: TableReader,
    source: str,
    *,
    top: int | None = None,
    with_text: bool = True,
) -> Contents | None:
    """Gather what the tables of an experiment hold; None if the main ones are not there.

    ``source`` is what messages call it; ``top``: how many documents of each answer are shown, at
    most as many as were recorded.

    Raises:
        InputError: the tables are not those of an experiment.
    """
    top = min(top or report.top, report.top)
    try:
        return _of_tables(report, table, top=top, with_text=with_text)
    except (pl.exceptions.PolarsError, AttributeError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:100]
        raise InputError(
            f"{source}: its tables are not those of an experiment ({reason}); see what was changed "
            "with 'rankscope benchmark verify'"
        ) from None


def _of_tables(
    report: BenchmarkReport, table: TableReader, *, top: int, with_text: bool
) -> Contents | None:
    queries, judged, documents = table(QUERIES), table(QRELS), table(DOCUMENTS)
    failed = failed_queries(failures.of(report.analyses))
    answers = []
    for system in report.systems:
        values, results = table(system.per_query.path), table(system.results.path)
        if values is None or results is None:
            return None
        values = values.select("query_id", "measure", pl.col("value").cast(pl.Float64))
        results = results.select("query_id", "rank", "doc_id", "title", "score", "grade", "adds")
        answers.append(Answers(system.name, values, results, failed.get(system.name, {})))
    if queries is None or judged is None or not answers or not report.measures:
        return None
    titled = (table.select("doc_id", "title") for table in (judged, *(a.top for a in answers)))
    titles = dict(pl.concat(titled).unique("doc_id", keep="first").iter_rows())
    texts = {} if documents is None else dict(documents.select("doc_id", "text").iter_rows())
    choice, best = decision_of(report).choice, report.measures[0].best
    pairs = judged.select("query_id", "doc_id", pl.col("grade").cast(pl.Float64))
    return gathered(
        queries.select("query_id", "text", "metadata").unique(
            "query_id", keep="last", maintain_order=True
        ),
        answers,
        [info.measure for info in report.measures],
        counted_best(pairs.unique(["query_id", "doc_id"], keep="last", maintain_order=True)),
        document=lambda doc_id: (titles.get(doc_id), texts.get(doc_id)),
        baseline=report.baseline,
        focus=next(iter(best), None) if choice in (None, report.baseline) else choice,
        top=top,
        with_text=with_text,
    )


def counted_best(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return judged documents, the best first, and how many there are of each query."""
    best = best_judged(pairs, len(pairs) + 1)
    return best.with_columns(pl.len().over("query_id").alias("count"))


def failed_queries(result: Failures | None) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return by system and cause which queries fail."""
    return {
        row.system: {str(cause): query_ids for cause, query_ids in row.causes.items()}
        for row in (() if result is None else result.systems)
    }


# --- runs that were just scored ------------------------------------------------------------------

LONGEST = 1_000
"""So many characters of a document are kept."""

TOP = 20
"""So many documents of each answer are shown, unless told otherwise."""

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
    with_text: bool = True,
) -> Contents:
    """Gather what an explorer shows of scores and the runs behind them."""
    scores, judgments = scored.scores, scored.judgments
    failed = failed_queries(failures)
    graded = pl.DataFrame(schema=_GRADED)
    if judgments.gold is None:  # pieces of text have no ids to show
        graded = judgments.pairs.select("query_id", "doc_id", pl.col("grade").cast(pl.Float64))
    answers = [
        Answers(
            name,
            scores.run(name).rows().drop("run"),
            _top(scored, name, graded, top),
            failed.get(name, {}),
        )
        for name in scored.runs
    ]
    main, focus = Measure.parse(scores.measures[0]), None
    if len(scores.runs) > 1:
        pick = max if main.definition.higher_is_better else min
        focus = pick(scores.runs, key=lambda name: scores.run(name).means[str(main)])
    return gathered(
        _queries(judgments, queries),
        answers,
        scores.measures,
        counted_best(graded),
        document=_known_documents(judgments, corpus),
        baseline=baseline,
        focus=focus,
        top=top,
        with_text=with_text,
    )


def _top(scored: Scored, name: str, graded: pl.DataFrame, top: int) -> pl.DataFrame:
    """Return the first documents of each answer, with their grades."""
    judgments, run = scored.judgments, scored.runs[name]
    if judgments.gold is not None:
        return pl.DataFrame(schema={**SCHEMA, "grade": pl.Float64})
    table = run if isinstance(run, Run) else as_run(run, name=name)
    main = Measure.parse(scored.scores.measures[0])
    first = tops(judgments, table, main, profile=scored.scores.profile, depth=top)
    judged = first.filter(pl.col("query_id").is_in(list(judgments.query_ids)))
    return judged.join(graded, on=["query_id", "doc_id"], how="left", maintain_order="left")


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
