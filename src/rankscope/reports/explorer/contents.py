"""Contents: all that the explorer of a page knows, as columns.

They are gathered of an experiment's folder, or of runs that were just scored, and packed by
`rankscope.reports.explorer.packing`. Nothing is tested or averaged here: a page shows what records
say, and beside it the single queries and documents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.measures.language import Measure

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray

PERSISTENCE = 0.9
"""How much ranks further down count where rankings are compared: as in rank-biased overlap."""

MOST_FIELDS = 40
"""So many fields of metadata are in a page."""

MOST_CATEGORIES = 50
"""A field with more values than this is text, and not a category."""

LONGEST_CATEGORY = 40
"""And so is a field with a value of more characters."""

NO_CAUSE = -1


@dataclass(frozen=True, slots=True)
class Shown:
    """A measure as the page needs it."""

    name: str
    higher_is_better: bool = True

    @classmethod
    def of(cls, name: str) -> Shown:
        """Look a measure up."""
        return cls(name, Measure.parse(name).definition.higher_is_better)


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """What one system answered, and what that was worth."""

    name: str
    values: FloatArray
    """By measure and query; NaN: no value."""
    query: IntArray
    """By result: the number of its query; results come by query and rank."""
    rank: IntArray
    """By result: the rank."""
    doc: IntArray
    """By result: the number of the document."""
    score: FloatArray
    """By result: the score."""
    grade: FloatArray
    """By result: the grade; NaN: nobody judged it."""
    adds: FloatArray
    """By result: what it adds to the main measure; NaN: that is not known."""
    cause: IntArray
    """By query: the number of what it fails by; `NO_CAUSE`: it does not."""


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """Queries, documents and systems."""

    query_ids: tuple[str, ...]
    texts: tuple[str | None, ...]
    fields: Mapping[str, Sequence[str | None]]
    """By field of the queries' metadata: its values as text."""
    measures: tuple[Shown, ...]
    """The first is the main one."""
    systems: tuple[System, ...]
    doc_ids: tuple[str, ...]
    titles: tuple[str | None, ...]
    beginnings: tuple[str | None, ...]
    """How documents begin."""
    ideal_query: IntArray
    """By judged document that gains something: the number of its query; best first in each."""
    ideal_doc: IntArray
    ideal_grade: FloatArray
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

    def disagreement(self) -> FloatArray:
        """By query: how much the rankings differ, from 0 (the same) to 1 (nothing in common).

        One minus rank-biased overlap (p = 0.9) of the documents shown, averaged over all pairs of
        systems; two empty answers agree.
        """
        queries = len(self.query_ids)
        pairs = list(combinations(range(len(self.systems)), 2))
        if not pairs:
            return np.zeros(queries)
        keys = self._pairs()
        ranks, query = self._ranks(keys), keys // max(len(self.doc_ids), 1)
        depths = np.arange(1, self.top + 1)
        weights = PERSISTENCE ** (depths - 1)
        possible, shares = (
            np.concatenate([[0.0], np.cumsum(terms)]) for terms in (weights, weights / depths)
        )
        total = np.zeros(queries)
        for left, right in pairs:
            longest = np.maximum(self.sizes(left), self.sizes(right))
            both = (ranks[left] > 0) & (ranks[right] > 0)
            deeper = np.maximum(ranks[left], ranks[right])[both]
            # a document is in the overlap from the depth on at which both have it
            worth = shares[longest[query[both]]] - shares[deeper - 1]
            overlap = np.bincount(query[both], worth, queries)
            total += np.where(longest == 0, 0.0, 1 - overlap / np.maximum(possible[longest], 1.0))
        return np.clip(total / len(pairs), 0.0, 1.0)

    def sizes(self, system: int) -> IntArray:
        """By query: how many documents of a system are there."""
        return np.bincount(self.systems[system].query, minlength=len(self.query_ids))

    def unjudged(self, system: System) -> IntArray:
        """By query: how many of the first documents nobody judged."""
        hole = ~(system.grade >= 0) & (system.rank <= self.cutoff)
        return np.bincount(system.query[hole], minlength=len(self.query_ids))

    def _pairs(self) -> IntArray:
        """Return a key for each pair of query and document that any system has."""
        documents = max(len(self.doc_ids), 1)
        keys = [system.query * documents + system.doc for system in self.systems]
        return np.unique(np.concatenate(keys))

    def _ranks(self, keys: IntArray) -> IntArray:
        """By system and pair: the rank; 0: it is not among the first."""
        ranks = np.zeros((len(self.systems), len(keys)), np.int64)
        for number, system in enumerate(self.systems):
            key = system.query * max(len(self.doc_ids), 1) + system.doc
            ranks[number, np.searchsorted(keys, key)] = system.rank
        return ranks

    def cut(self, top: int) -> Contents:
        """Return the contents with the first documents of each answer only."""
        systems = tuple(_cut(system, top) for system in self.systems)
        place = np.arange(len(self.ideal_query)) - np.searchsorted(
            self.ideal_query, self.ideal_query
        )
        keep = place < top
        shorter = replace(
            self,
            systems=systems,
            cutoff=min(top, self.cutoff),
            top=min(top, self.top),
            ideal_query=self.ideal_query[keep],
            ideal_doc=self.ideal_doc[keep],
            ideal_grade=self.ideal_grade[keep],
        )
        return shorter.only_shown()

    def without_text(self) -> Contents:
        """Return the contents without what may be private: texts, titles, long metadata."""
        kept = {
            name: values
            for name, values in self.fields.items()
            if len(set(values)) <= min(MOST_CATEGORIES, max(len(values) // 2, 2))
            and all(len(value or "") <= LONGEST_CATEGORY for value in values)
        }
        return replace(
            self,
            texts=(None,) * len(self.texts),
            fields=kept,
            titles=(None,) * len(self.titles),
            beginnings=(None,) * len(self.beginnings),
            with_text=False,
        )

    def only_shown(self) -> Contents:
        """Number documents by where they are first shown, and leave the others out.

        So the documents of one query are near each other.
        """
        query = np.concatenate([*(system.query for system in self.systems), self.ideal_query])
        doc = np.concatenate([*(system.doc for system in self.systems), self.ideal_doc])
        order = np.argsort(query, kind="stable")
        seen, first = np.unique(doc[order], return_index=True)
        old = seen[np.argsort(first)]
        new = np.full(len(self.doc_ids), -1)
        new[old] = np.arange(len(old))
        return replace(
            self,
            systems=tuple(replace(system, doc=new[system.doc]) for system in self.systems),
            ideal_doc=new[self.ideal_doc],
            doc_ids=tuple(self.doc_ids[at] for at in old.tolist()),
            titles=tuple(self.titles[at] for at in old.tolist()),
            beginnings=tuple(self.beginnings[at] for at in old.tolist()),
        )


def _cut(system: System, top: int) -> System:
    keep = system.rank <= top
    return replace(
        system,
        query=system.query[keep],
        rank=system.rank[keep],
        doc=system.doc[keep],
        score=system.score[keep],
        grade=system.grade[keep],
        adds=system.adds[keep],
    )


# --- gathering -----------------------------------------------------------------------------------


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
    cutoff: int | None = None,
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
    ideal = judged.join(place, on="query_id").join(number, on="doc_id").sort("query", "rank")
    relevant = np.zeros(len(query_ids), np.int64)
    relevant[ideal["query"].to_numpy()] = ideal["count"].to_numpy()
    systems = [
        _system(answer, place, number, measures=measures, causes=causes) for answer in answers
    ]
    contents = Contents(
        query_ids=tuple(query_ids),
        texts=tuple(queries["text"].to_list()),
        fields=_fields(queries["metadata"].to_list()),
        measures=tuple(map(Shown.of, measures)),
        systems=tuple(systems),
        doc_ids=tuple(doc_ids.to_list()),
        titles=tuple(title for title, _ in described),
        beginnings=tuple(text for _, text in described),
        ideal_query=ideal["query"].to_numpy(),
        ideal_doc=ideal["doc"].to_numpy(),
        ideal_grade=ideal["grade"].cast(pl.Float64).to_numpy(),
        relevant=relevant,
        causes=causes,
        baseline=baseline,
        focus=focus,
        cutoff=min(cutoff or 10, top),
        top=top,
    )
    return contents.only_shown()


def _system(
    answer: Answers,
    place: pl.DataFrame,
    number: pl.DataFrame,
    *,
    measures: Sequence[str],
    causes: Sequence[str],
) -> System:
    queries = len(place)
    rows = answer.top.join(place, on="query_id").join(number, on="doc_id").sort("query", "rank")
    values = np.full((len(measures), queries), np.nan)
    order = pl.DataFrame({"measure": list(measures), "row": np.arange(len(measures))})
    known = answer.values.join(place, on="query_id").join(order, on="measure")
    values[known["row"].to_numpy(), known["query"].to_numpy()] = known["value"].to_numpy()
    cause = np.full(queries, NO_CAUSE)
    at = dict(place.iter_rows())
    for name, failing in answer.failed.items():
        cause[[at[query_id] for query_id in failing if query_id in at]] = causes.index(name)

    def numbers(column: str) -> FloatArray:
        return rows[column].cast(pl.Float64).fill_null(np.nan).to_numpy()

    return System(
        name=answer.name,
        values=values,
        query=rows["query"].to_numpy(),
        rank=rows["rank"].to_numpy(),
        doc=rows["doc"].to_numpy(),
        score=numbers("score"),
        grade=numbers("grade"),
        adds=numbers("adds"),
        cause=cause,
    )


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
