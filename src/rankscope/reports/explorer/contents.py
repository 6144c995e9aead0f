"""Contents: all that the explorer of a page knows, as columns.

They are gathered of an experiment's folder, or of runs that were just scored (`gathering`), and
packed (`packing`). Nothing is tested or averaged here: a page shows what records say, and beside it
queries and documents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.measures.language import Measure

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray

MOST_FIELDS = 40
"""So many fields of metadata are in a page."""

MOST_CATEGORIES, LONGEST_CATEGORY = 50, 40
"""A field with more values than this, or with a longer one, is text and not a category."""

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
    """doc_id, title, text."""
    ideal: pl.DataFrame
    """Judged documents that gain something, best first: query, doc, rank, grade."""
    relevant: IntArray
    """By query: how many documents gain something, those that are not listed too."""
    causes: tuple[str, ...] = ()
    baseline: str | None = None
    focus: str | None = None
    """The system that is looked at first: the best one."""
    cutoff: int = 10
    """How many documents of an answer the main measure looks at."""
    top: int = 20
    """How many documents of an answer are there at most."""
    with_text: bool = True
    """Whether texts and titles are there; otherwise they were left out on purpose."""

    def counts(self, results: pl.DataFrame) -> IntArray:
        """By query: how many results there are."""
        return np.bincount(results["query"].to_numpy(), minlength=len(self.query_ids))

    def unjudged(self, system: System) -> IntArray:
        """By query: how many of the first documents nobody judged."""
        judged = pl.col("grade") >= 0
        held = pl.col("grade").is_nan() | ~judged
        return self.counts(system.results.filter(held & (pl.col("rank") <= self.cutoff)))

    def cut(self, top: int) -> Contents:
        """Return the contents with the first documents of each answer only."""
        first = pl.col("rank") <= top
        systems = (replace(each, results=each.results.filter(first)) for each in self.systems)
        return replace(
            self,
            systems=tuple(systems),
            cutoff=min(top, self.cutoff),
            top=min(top, self.top),
            ideal=self.ideal.filter(first),
        ).only_shown()

    def without_text(self) -> Contents:
        """Return the contents without what may be private: texts, titles, long metadata."""
        kept = {
            name: values
            for name, values in self.fields.items()
            if len(set(values)) <= min(MOST_CATEGORIES, max(len(values) // 2, 2))
            and all(len(value or "") <= LONGEST_CATEGORY for value in values)
        }
        nothing = pl.lit(None, pl.String)
        return replace(
            self,
            texts=(None,) * len(self.texts),
            fields=kept,
            documents=self.documents.with_columns(title=nothing, text=nothing),
            with_text=False,
        )

    def only_shown(self) -> Contents:
        """Number documents by where they are first shown, and leave the others out.

        So the documents of one query are near each other.
        """
        frames = [*(system.results for system in self.systems), self.ideal]
        shown = pl.concat([frame.select("query", "doc") for frame in frames])
        old = shown.sort("query", maintain_order=True)["doc"].unique(maintain_order=True)
        new = pl.col("doc").replace_strict(old, np.arange(len(old)), return_dtype=pl.Int64)
        return replace(
            self,
            systems=tuple(
                replace(system, results=system.results.with_columns(doc=new))
                for system in self.systems
            ),
            ideal=self.ideal.with_columns(doc=new),
            documents=self.documents[old],
        )


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
) -> Contents:
    """Put tables together.

    ``queries`` has the columns query_id, text and metadata (JSON, or null); ``judged`` the best
    judged documents: query_id, doc_id, grade, rank, and in ``count`` how many there are of the
    query. ``document`` returns title and text.
    """
    query_ids = queries["query_id"].to_list()
    place = pl.DataFrame({"query_id": queries["query_id"], "query": np.arange(len(query_ids))})
    seen = pl.concat([*(answer.top["doc_id"] for answer in answers), judged["doc_id"]])
    doc_ids = seen.unique(maintain_order=True)
    number = pl.DataFrame({"doc_id": doc_ids, "doc": np.arange(len(doc_ids))})
    causes = tuple(dict.fromkeys(cause for answer in answers for cause in answer.failed))
    described = [document(doc_id) for doc_id in doc_ids]

    def numbered(table: pl.DataFrame, *columns: str) -> pl.DataFrame:
        numbers = (pl.col(name).cast(pl.Float64).fill_null(np.nan) for name in columns)
        rows = table.join(place, on="query_id").join(number, on="doc_id").sort("query", "rank")
        return rows.select("query", "doc", pl.col("rank").cast(pl.Int64), *numbers)

    relevant = np.zeros(len(query_ids), np.int64)
    counts = judged.join(place, on="query_id")
    relevant[counts["query"].to_numpy()] = counts["count"].to_numpy()
    cutoff = Measure.parse(measures[0]).cutoff if measures else None
    contents = Contents(
        query_ids=tuple(query_ids),
        texts=tuple(queries["text"].to_list()),
        fields=_fields(queries["metadata"].to_list()),
        measures={name: Measure.parse(name).definition.higher_is_better for name in measures},
        systems=tuple(
            System(
                name=answer.name,
                values=_values(answer.values, place, measures),
                results=numbered(answer.top, "score", "grade", "adds"),
                cause=_causes(answer.failed, place, causes),
            )
            for answer in answers
        ),
        documents=pl.DataFrame(
            {
                "doc_id": doc_ids,
                "title": pl.Series([title for title, _ in described], dtype=pl.String),
                "text": pl.Series([text for _, text in described], dtype=pl.String),
            }
        ),
        ideal=numbered(judged, "grade"),
        relevant=relevant,
        causes=causes,
        baseline=baseline,
        focus=focus,
        cutoff=min(cutoff or 10, top),
        top=top,
    )
    return contents.only_shown()


def _values(table: pl.DataFrame, place: pl.DataFrame, measures: Sequence[str]) -> FloatArray:
    values = np.full((len(measures), len(place)), np.nan)
    order = pl.DataFrame({"measure": list(measures), "row": np.arange(len(measures))})
    known = table.join(place, on="query_id").join(order, on="measure")
    values[known["row"].to_numpy(), known["query"].to_numpy()] = known["value"].to_numpy()
    return values


def _causes(
    failed: Mapping[str, Iterable[str]], place: pl.DataFrame, causes: Sequence[str]
) -> IntArray:
    made, at = np.full(len(place), NO_CAUSE), dict(place.iter_rows())
    for name, failing in failed.items():
        made[[at[query_id] for query_id in failing if query_id in at]] = causes.index(name)
    return made


def _fields(metadata: Sequence[str | None]) -> dict[str, list[str | None]]:
    """Return metadata by field; the fields that most queries have first."""
    parsed = [_object(text) for text in metadata]
    counts: dict[str, int] = {}
    for entry in parsed:
        for name in entry:
            counts[name] = counts.get(name, 0) + 1
    names = sorted(counts, key=lambda name: -counts[name])[:MOST_FIELDS]
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
