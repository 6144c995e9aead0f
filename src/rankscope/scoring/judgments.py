"""Judgments: qrels prepared for alignment, once for many runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.measures.judged import OfJudgments, Subtopics
from rankscope.scoring.plain import is_plain, numbers_of, numeric_ids
from rankscope.scoring.qrels_file import QrelsFile
from rankscope.scoring.scans import PackedPairs
from rankscope.tables.columns import LARGEST_GRADE, NO_QUESTIONS, Reading
from rankscope.tables.ids import id_text
from rankscope.tables.unanswered import refuse_answer

if TYPE_CHECKING:
    import polars as pl

    from rankscope.collection.qrels import Qrels
    from rankscope.measures.judged import FloatArray, IntArray
    from rankscope.ontology.terms import Ontology
    from rankscope.scoring.align import Aligned
    from rankscope.scoring.coverage import Gold
    from rankscope.scoring.hits import Hits
    from rankscope.scoring.judged_terms import ExpectedTerms

__all__ = ["Judgments"]

NoAnswer = Literal["empty"] | Iterable[str]
"""Which queries are meant to have no answer, beside those that are marked: all without documents,
or these."""


class JudgedLists(NamedTuple):
    """The judged documents of each query: the grades of query i are offsets[i]:offsets[i + 1]."""

    documents: list[Mapping[str, float]]
    offsets: IntArray
    grades: FloatArray

    def doc_ids(self, pairs: Iterable[int]) -> list[str]:
        """Return the documents of some pairs, which are counted through."""
        listed = list(chain.from_iterable(self.documents))
        return [listed[pair] for pair in pairs]


class Judgments:
    """Qrels as both ways of aligning need them; made of a table or of plain dicts.

    Where judgments have subtopics, a document's plain grade is its highest. With ``remember``, a
    `Run` that was aligned with them is not aligned again while they live. Queries that are marked
    as having no answer, or that ``no_answer`` names (``"empty"``: those without documents), are set
    aside.
    """

    given: Any = None
    """What they were read from."""
    reading = Reading()
    """How they were read."""
    is_numbered = False
    """Whether the queries have no ids, and are known by their place."""

    def __init__(
        self,
        qrels: Qrels | QrelsFile | Mapping[str, Mapping[str, float]],
        *,
        remember: bool = False,
        no_answer: NoAnswer | None = None,
    ) -> None:
        self.gold: Gold | None = None
        """What is to be found, where that is spans or texts and not documents."""
        self.ontology: Ontology | None = None
        """What the documents are terms of, if they are."""
        self.may_mix_languages = False
        """Whether somebody asked for means over cases in several languages."""
        self.alignments: dict[Any, tuple[Any, Aligned]] | None = {} if remember else None
        self._numeric = _numeric_ids(qrels) if isinstance(qrels, Mapping) else None
        if isinstance(qrels, QrelsFile) and no_answer is not None:
            qrels = qrels.table()
        self._qrels = qrels
        if isinstance(qrels, Mapping) and self._numeric is None:
            self._qrels = self.table
        self.listed: tuple[str, ...] = ()
        """All queries in the order of their file, also those set aside, if each has its list."""
        if not isinstance(self._qrels, Mapping) and self._qrels.is_listed:
            self.listed = tuple(self._qrels.query_ids)
        self.no_answer = _set_aside(self._qrels, no_answer)
        """The queries that are meant to have no answer; they are in no mean."""
        if self.no_answer:
            self._qrels = _without(self._qrels, frozenset(self.no_answer))
            self.__dict__.pop("table", None)
        if isinstance(self._qrels, Mapping):
            self.query_ids = tuple(self._qrels)
            lengths, grades = _numbers_in(self._qrels)
        else:
            self.query_ids = tuple(self._qrels.query_ids)
            lengths, grades = np.diff(self._qrels.offsets), self._grades(self._qrels)
            if self.has_subtopics:
                counts = dict(self.pairs.group_by("query_id").len().iter_rows())
                lengths = np.array([counts.get(query_id, 0) for query_id in self.query_ids])
        self.grade = grades
        """By pair: its grade, where `query` is its query."""
        self.questions = NO_QUESTIONS if isinstance(self._qrels, Mapping) else self._qrels.questions
        """What the queries ask, where the qrels were read with ids and words."""
        self.query = np.repeat(np.arange(len(lengths)), lengths)
        order = np.lexsort((-grades, self.query))
        self.judged_query = self.query[order]
        self.judged_grade = grades[order]
        self.max_grade = float(grades.max(initial=0.0))

    @cached_property
    def languages(self) -> Mapping[str, str]:
        """The languages of the queries, as codes such as ``de``, where the qrels know them."""
        known = {} if isinstance(self._qrels, Mapping) else self._qrels.languages
        return {query_id: known[query_id] for query_id in self.query_ids if query_id in known}

    @property
    def has_subtopics(self) -> bool:
        """Whether documents are judged by subtopic."""
        return not isinstance(self._qrels, Mapping) and self._qrels.subtopics is not None

    def _grades(self, qrels: Qrels | QrelsFile) -> FloatArray:
        """Return the grade of each pair."""
        if isinstance(qrels, QrelsFile):
            return qrels.grades
        return self.pairs["grade"].to_numpy().astype(np.float64)

    @cached_property
    def table(self) -> Qrels:
        """The qrels as a table."""
        if isinstance(self._qrels, QrelsFile):
            return self._qrels.table()
        if not isinstance(self._qrels, Mapping):
            return self._qrels
        from rankscope.collection.qrels import Qrels  # noqa: PLC0415

        return Qrels(self._qrels)

    @cached_property
    def expected_terms(self) -> ExpectedTerms | None:
        """The relevant documents as terms of the ontology; None if there is none."""
        if self.ontology is None or self.gold is not None:
            return None
        from rankscope.scoring.judged_terms import ExpectedTerms  # noqa: PLC0415

        return ExpectedTerms(self, self.ontology)

    @cached_property
    def by_query(self) -> Mapping[str, Mapping[str, float]]:
        """The qrels as ``{query_id: {doc_id: grade}}``."""
        if isinstance(self._qrels, Mapping):
            return self._qrels
        nested: Mapping[str, Any] = self._qrels.to_dict()
        if not self.has_subtopics:
            return nested
        return {
            query_id: {doc_id: max(grades.values()) for doc_id, grades in documents.items()}
            for query_id, documents in nested.items()
        }

    @cached_property
    def packed(self) -> PackedPairs:
        """The judged pairs as bytes, for a scan to look for; in the order of `query`."""
        if isinstance(self._qrels, QrelsFile):
            return self._qrels.packed
        if isinstance(self._qrels, Mapping):
            doc_ids = [id_text(doc_id) for docs in self._qrels.values() for doc_id in docs]
        else:
            doc_ids = self.pairs["doc_id"].to_list()
        offsets = np.searchsorted(self.query, np.arange(len(self.query_ids) + 1))
        return PackedPairs.of(self.query_ids, offsets.astype(np.int64), doc_ids)

    @cached_property
    def remembered(self) -> OfJudgments:
        """What measures found out about the judgments, whatever the run."""
        return OfJudgments(len(self.query_ids), self.judged_query, self.judged_grade)

    @cached_property
    def lists(self) -> JudgedLists:
        """The qrels as one list of documents for each query, as `by_query` has them."""
        documents = [self.by_query[query_id] for query_id in self.query_ids]
        offsets = np.zeros(len(documents) + 1, np.int64)
        np.cumsum(list(map(len, documents)), out=offsets[1:])
        values = chain.from_iterable(each.values() for each in documents)
        grades = np.fromiter(values, np.float64, int(offsets[-1]))
        return JudgedLists(documents, offsets, grades)

    @cached_property
    def relevant_ids(self) -> dict[str, None]:
        """The documents that are relevant to some query, in their order."""
        return dict.fromkeys(
            doc_id
            for grades in self.by_query.values()
            for doc_id, grade in grades.items()
            if grade > 0
        )

    @property
    def numeric_ids(self) -> dict[str, frozenset[int]]:
        """By query: the judged ids that are a whole number's digits, as numbers."""
        if self._numeric is None:
            self._numeric = numeric_ids(self.by_query)
        return self._numeric

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """One row for each query and document, in the order of `query`."""
        import polars as pl  # noqa: PLC0415

        frame = self.table.to_polars()
        if not self.has_subtopics:
            return frame
        keys = ("query_id", "doc_id")
        return frame.group_by(keys, maintain_order=True).agg(pl.col("grade").max())

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content: equal for equal judgments, whatever their order and format."""
        import json  # noqa: PLC0415

        from rankscope.scoring.fingerprint import fingerprint  # noqa: PLC0415

        pairs, grades = self.packed, self.grade
        more = sorted(json.dumps({"no_answer": query_id}) for query_id in self.no_answer)
        if self.has_subtopics:
            frame = self.table.to_polars()
            names = (frame["doc_id"] + "\0" + frame["subtopic"]).to_list()
            pairs = PackedPairs.of(self.query_ids, self.table.offsets, names)
            grades = frame["grade"].to_numpy().astype(np.float64)
        if self.gold is not None:
            more += self.gold.lines()
        if self.ontology is not None:  # scores by nearness are of the same judgments and ontology
            more.append(json.dumps({"ontology": self.ontology.key}))
        return fingerprint(pairs, grades, more)

    def subtopics(self, hits: Hits) -> Subtopics | None:
        """Return the judgments by subtopic, with the ranks of those retrieved."""
        if not self.has_subtopics:
            return None
        import polars as pl  # noqa: PLC0415

        lengths = np.diff(self.table.offsets)
        frame = self.table.to_polars().with_columns(
            pl.Series("query", np.repeat(np.arange(len(lengths)), lengths))
        )
        ranks = pl.DataFrame(
            {
                "query": hits.query,
                "doc_id": pl.Series(hits.doc_ids(), dtype=pl.String),
                "rank": hits.rank,
            }
        )
        frame = frame.join(ranks, on=["query", "doc_id"], how="left", maintain_order="left")
        numbers = frame.select(
            pl.struct("query", "doc_id").rank("dense").alias("doc"),
            pl.struct("query", "subtopic").rank("dense").alias("subtopic"),
        )
        return Subtopics(
            query=frame["query"].to_numpy().astype(np.int64),
            doc=numbers["doc"].to_numpy().astype(np.int64),
            subtopic=numbers["subtopic"].to_numpy().astype(np.int64),
            grade=frame["grade"].cast(pl.Float64).to_numpy(),
            rank=frame["rank"].fill_null(0).to_numpy().astype(np.int64),
        )


def _numbers_in(qrels: Mapping[str, Mapping[str, float]]) -> tuple[IntArray, FloatArray]:
    """Return the numbers of documents by query, and the grades of all."""
    documents = list(qrels.values())
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    grades = numbers_of(documents, int(lengths.sum()), qrels, "grade")
    large = np.flatnonzero(np.abs(grades) > LARGEST_GRADE)
    if large.size:
        query_id = list(qrels)[np.searchsorted(np.cumsum(lengths), large[0], "right")]
        raise InputError(
            f"query {shown(query_id)}: the grade is {grades[large[0]]}; write grades from "
            f"{-LARGEST_GRADE:,} to {LARGEST_GRADE:,}"
        )
    return lengths, grades


def _numeric_ids(qrels: Mapping[str, Mapping[str, float]]) -> dict[str, frozenset[int]] | None:
    """Return what `numeric_ids` finds in plain dicts; None if they must be made a table first."""
    try:
        return numeric_ids(qrels) if is_plain(qrels) else None
    except TypeError:  # ids of several kinds
        return None


def _set_aside(qrels: Any, rule: NoAnswer | None) -> tuple[str, ...]:
    """Return the queries that are marked, or that the rule means, as having no answer."""
    marked = {} if isinstance(qrels, Mapping) else dict.fromkeys(qrels.no_answer)
    if rule is None:
        return tuple(marked)
    if isinstance(rule, str):
        if rule != "empty":
            raise UnknownNameError("rule for questions without an answer", rule, ["empty"])
        if isinstance(qrels, Mapping):
            return tuple(query_id for query_id, documents in qrels.items() if not documents)
        sizes = np.diff(qrels.offsets)
        pairs = zip(qrels.query_ids, sizes.tolist(), strict=True)
        return tuple(marked | {query_id: None for query_id, size in pairs if not size})
    for query_id in map(id_text, rule):
        if query_id in qrels and any(_grade(value) > 0 for value in qrels[query_id].values()):
            raise refuse_answer(query_id, "no_answer")
        marked[query_id] = None
    return tuple(marked)


def _grade(value: Any) -> float:
    """Return a grade, or the highest by subtopic."""
    return float(max(value.values()) if isinstance(value, Mapping) else value)


def _without(qrels: Any, query_ids: frozenset[str]) -> Any:
    if not isinstance(qrels, Mapping):
        return qrels.without(query_ids)
    return {query_id: qrels[query_id] for query_id in qrels if query_id not in query_ids}
