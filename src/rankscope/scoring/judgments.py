"""Judgments: qrels prepared for alignment, once for many runs."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankscope.errors import InputError, UnknownNameError
from rankscope.measures.judged import OfJudgments, Subtopics
from rankscope.scoring.dicts import is_plain, numbers_of
from rankscope.scoring.judged_pairs import FilePairs, NativePairs, PackedPairs, fingerprint
from rankscope.tables.cases import refuse_answer
from rankscope.tables.columns import LARGEST_GRADE, NO_QUESTIONS, Reading, are_whole, id_text

if TYPE_CHECKING:
    import polars as pl

    from rankscope.collection.qrels import Qrels
    from rankscope.measures.judged import FloatArray, IntArray
    from rankscope.ontology.terms import Ontology
    from rankscope.scoring.align import Aligned
    from rankscope.scoring.coverage import Gold
    from rankscope.scoring.judged_terms import ExpectedTerms
    from rankscope.scoring.scans import Hits

__all__ = ["Judgments"]

NoAnswer = Literal["empty"] | Iterable[str]
"""Which queries are meant to have no answer, beside those that are marked: all without documents,
or these."""


class Judgments:
    """Qrels as every way of aligning needs them; made of a table, of a file or of plain dicts.

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
    gold: Gold | None = None
    """What is to be found, where that is spans or texts and not documents."""
    ontology: Ontology | None = None
    """What the documents are terms of, if they are."""
    languages: Mapping[str, str] = {}
    """The languages of the queries, as codes such as ``de``, where the qrels know them."""
    may_mix_languages = False
    """Whether somebody asked for means over cases in several languages."""
    questions = NO_QUESTIONS
    """What the queries ask, where the qrels were read with ids and words."""
    listed: tuple[str, ...] = ()
    """All queries in the order of their file, also those set aside, if each has its list."""
    no_answer: tuple[str, ...] = ()
    """The queries that are meant to have no answer; they are in no mean."""
    has_subtopics = False
    """Whether documents are judged by subtopic."""

    def __init__(
        self,
        qrels: Qrels | FilePairs | Mapping[str, Mapping[str, float]],
        *,
        remember: bool = False,
        no_answer: NoAnswer | None = None,
    ) -> None:
        self.alignments: dict[Any, tuple[Any, Aligned]] | None = {} if remember else None
        self._file = qrels if isinstance(qrels, FilePairs) else None
        plain = None
        if isinstance(qrels, Mapping) and no_answer is None:
            plain = _plain_grades(qrels)
        if isinstance(qrels, FilePairs):
            self.query_ids = qrels.pairs.query_ids()
            lengths, grades = np.diff(qrels.pairs.pair_offsets), qrels.grades
        elif isinstance(qrels, Mapping) and plain is not None:
            self.by_query, self.query_ids = qrels, tuple(qrels)
            lengths, grades = np.fromiter(map(len, qrels.values()), np.int64, len(qrels)), plain
        else:
            lengths, grades = self._take_table(qrels, no_answer)
        self.grade: FloatArray = grades
        """By pair: its grade, where `query` is its query."""
        self.query: IntArray = np.repeat(np.arange(len(lengths)), lengths)
        order = np.lexsort((-grades, self.query))
        self.judged_query = self.query[order]
        self.judged_grade = grades[order]
        self.max_grade = float(grades.max(initial=0.0))
        self.offsets: IntArray = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        """Where the pairs of each query begin."""

    def _take_table(self, qrels: Any, no_answer: NoAnswer | None) -> tuple[IntArray, FloatArray]:
        """Take a table, or dicts that must be made one; return the sizes and grades by query."""
        if isinstance(qrels, Mapping):
            from rankscope.collection.qrels import Qrels  # noqa: PLC0415

            qrels = Qrels(qrels)
        self.listed = tuple(qrels.query_ids) if qrels.is_listed else ()
        self.languages, self.no_answer = qrels.languages, _set_aside(qrels, no_answer)
        self.table = qrels.without(frozenset(self.no_answer)) if self.no_answer else qrels
        self.questions, self.query_ids = self.table.questions, tuple(self.table.query_ids)
        self.has_subtopics = self.table.subtopics is not None
        lengths: IntArray = np.diff(self.table.offsets)
        if self.has_subtopics:
            counts = dict(self.pairs.group_by("query_id").len().iter_rows())
            lengths = np.array([counts.get(query_id, 0) for query_id in self.query_ids], np.int64)
        return lengths, self.pairs["grade"].to_numpy().astype(np.float64)

    # --- parts

    def with_ontology(self, ontology: Ontology) -> Judgments:
        """Return the same judgments, whose documents are terms of an ontology."""
        if self.ontology is not None:
            return self
        of_terms = copy.copy(self)
        of_terms.ontology = ontology
        for remembered in ("expected_terms", "fingerprint"):  # of judgments without an ontology
            of_terms.__dict__.pop(remembered, None)
        if self.alignments is not None:
            of_terms.alignments = {}
        return of_terms

    def in_language(self, language: str | None) -> Judgments:
        """Return the judgments of one language, or of ``all``; nobody mixes languages unasked.

        A mean over languages says nothing about any of them: how many cases each has decides it,
        and not how good a system is.
        """
        known = dict.fromkeys(self.languages.get(query_id, "(none)") for query_id in self.query_ids)
        code = None
        if language not in (None, "all"):
            from rankscope.tables.cases import language_code  # noqa: PLC0415

            code = language_code(str(language))
            if not self.languages:
                raise InputError("the questions have no language; leave out language=")
            if code not in known:
                raise UnknownNameError("language", str(language), known)
        if len(known) < 2 or self.may_mix_languages:
            return self
        if language is None:
            raise InputError(
                f"cases in {len(known)} languages ({', '.join(known)}) are not averaged unasked; "
                f"take one with language={next(iter(known))!r}, or all with language='all'"
            )
        if code is None:
            mixed = copy.copy(self)
            mixed.may_mix_languages = True
            return mixed
        part = Judgments(
            self.table.without(
                [each for each in self.query_ids if self.languages.get(each) != code]
            ),
            remember=self.alignments is not None,
            no_answer=[each for each in self.no_answer if self.languages.get(each) == code],
        )
        part.ontology, part.given, part.reading = self.ontology, self.given, self.reading
        return part

    # --- forms

    @cached_property
    def table(self) -> Qrels:
        """The qrels as a table."""
        from rankscope.collection.qrels import Qrels  # noqa: PLC0415

        if self._file is None:
            return Qrels(self.by_query)
        return Qrels.from_columns(self.query_ids, self.offsets, self._doc_ids(), self.grade)

    @cached_property
    def by_query(self) -> Mapping[str, Mapping[str, float]]:
        """The qrels as ``{query_id: {doc_id: grade}}``, with whole numbers where all are such."""
        grades = (self.grade.astype(np.int64) if are_whole(self.grade) else self.grade).tolist()
        doc_ids, edges = self._doc_ids(), self.offsets.tolist()
        return {
            query_id: dict(zip(doc_ids[low:high], grades[low:high], strict=True))
            for query_id, low, high in zip(self.query_ids, edges, edges[1:], strict=False)
        }

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
    def packed(self) -> PackedPairs:
        """The judged pairs as bytes, for a scan to look for; in the order of `query`."""
        if self._file is not None:
            return self._file.pairs
        return PackedPairs.of(self.query_ids, self.offsets, self._doc_ids())

    def _doc_ids(self) -> list[str]:
        """Return the document of each pair, in the order of `query`."""
        if self._file is not None:
            return self._file.pairs.doc_ids()
        if "by_query" in self.__dict__:
            return list(chain.from_iterable(self.by_query.values()))
        return self.pairs["doc_id"].to_list()

    def doc_ids_of(self, pairs: IntArray) -> list[str]:
        """Return the documents of some pairs."""
        doc_ids = self._doc_ids()
        return [doc_ids[pair] for pair in pairs.tolist()]

    # --- what is known of them, whatever the run

    @cached_property
    def native_pairs(self) -> NativePairs:
        """The judged pairs as the native scan knows them, for all runs in files."""
        return NativePairs(self.packed)

    @cached_property
    def remembered(self) -> OfJudgments:
        """What measures found out about them."""
        return OfJudgments(len(self.query_ids), self.judged_query, self.judged_grade)

    @cached_property
    def expected_terms(self) -> ExpectedTerms | None:
        """The relevant documents as terms of the ontology; None if there is none."""
        if self.ontology is None or self.gold is not None:
            return None
        from rankscope.scoring.judged_terms import ExpectedTerms  # noqa: PLC0415

        return ExpectedTerms(self, self.ontology)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content: equal for equal judgments, whatever their order and format."""
        import json  # noqa: PLC0415

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
                "doc_id": pl.Series(self.doc_ids_of(hits.pair), dtype=pl.String),
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


def _plain_grades(qrels: Mapping[Any, Any]) -> FloatArray | None:
    """Return the grades of dicts whose ids are text; None if a table must be made of them."""
    ids = chain.from_iterable(qrels.values()) if is_plain(qrels) else [None]
    if not set(map(type, ids)) <= {str}:
        return None
    grades = numbers_of(qrels.values())
    return None if grades is None or np.abs(grades).max(initial=0) > LARGEST_GRADE else grades


def _set_aside(qrels: Any, rule: NoAnswer | None) -> tuple[str, ...]:
    """Return the queries that are marked, or that the rule means, as having no answer."""
    marked = dict.fromkeys(getattr(qrels, "no_answer", ()))
    if isinstance(rule, str):
        if rule != "empty":
            raise UnknownNameError("rule for questions without an answer", rule, ["empty"])
        empty = np.flatnonzero(np.diff(qrels.offsets) == 0).tolist()
        return tuple(marked | dict.fromkeys(qrels.query_ids[number] for number in empty))
    for query_id in map(id_text, rule or ()):
        grades = qrels[query_id].values() if query_id in qrels else ()
        if any(float(max(g.values()) if isinstance(g, Mapping) else g) > 0 for g in grades):
            raise refuse_answer(query_id, "no_answer")
        marked[query_id] = None
    return tuple(marked)
