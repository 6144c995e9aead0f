"""Contents: all that the explorer of a page knows, as columns.

They are gathered of an experiment's folder, or of runs that were just scored (`gathering`), and
packed (`packing`). Nothing is tested or averaged here: a page shows what records say, and beside it
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

from rankscope.measures.language import Measure

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray

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
    parsed = [_object(text) for text in metadata]
    counts = Counter(name for entry in parsed for name in entry)
    names = [name for name, _ in counts.most_common(MOST_FIELDS)]
    return {name: [_plain(entry.get(name)) for entry in parsed] for name in names}


def _object(text: str | None) -> dict[str, Any]:
    try:
        data = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _plain(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)
