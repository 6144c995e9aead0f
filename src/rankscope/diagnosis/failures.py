"""Failures: which questions a system fails, and why, one cause for each.

A question fails if nothing relevant is among the first k documents, or if what is there has a lower
grade than the best documents that there are. k is the cutoff of the main measure.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from pydantic import Field

from rankscope.diagnosis.registry import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.document.blocks import Block, Cell, Column, Notes, Section, Table, text_columns
from rankscope.errors import counted
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.measures.language import Measure
from rankscope.part import Part
from rankscope.scoring.align import align

if TYPE_CHECKING:
    from rankscope.collection.corpus import Corpus
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray, JudgedRun
    from rankscope.runs.table import Run
    from rankscope.scoring.judgments import Judgments

RELEVANT = 1.0
"""From this grade on a document is relevant, as for RR and R."""

LONGEST_TITLE = 80
"""So many characters of a title are shown."""

DEFAULT_CUTOFF = 10
"""Where the main measure has no cutoff."""

Cause = Literal[
    "no relevant document",
    "gold not in the corpus",
    "query missing",
    "empty answer",
    "same text under another id",
    "top results unjudged",
    "decided by a tie",
    "below the cutoff",
    "not retrieved",
    "only lower grades on top",
]
"""Why a question fails; of several causes the first."""

_MEANINGS: dict[Cause, str] = {
    "no relevant document": "nothing is judged relevant, so no system can do well",
    "gold not in the corpus": "none of the relevant documents is in the corpus",
    "query missing": "the run lacks the query",
    "empty answer": "the run has no document for the query",
    "same text under another id": "a document on top has exactly the text of a relevant one",
    "top results unjudged": "at least half of the first k were not judged, though others were",
    "decided by a tie": "a relevant document below k has the score of the one at k",
    "below the cutoff": "the best relevant document is retrieved below k",
    "not retrieved": "no relevant document is in the run",
    "only lower grades on top": "relevant documents are on top, but not the best there are",
}

MANY = 0.1
"""From this share of all queries on a cause that no ranking can mend is worth a finding."""

_NOT_THE_RANKING: tuple[Cause, ...] = (
    "no relevant document",
    "gold not in the corpus",
    "query missing",
    "same text under another id",
    "top results unjudged",
)

NOT_THE_RANKING = declare(
    "RS631",
    "failures-outside-ranking",
    "warning",
    unit="system",
    advice="mend the data first: these questions say nothing about how well the system ranks",
    meaning="""At least a tenth of all queries fail for a reason that no better ranking can mend:
    missing or unjudged documents, missing queries, copies of the text under another id.""",
)


class CauseCount(Part):
    """How often a cause is why a question fails."""

    cause: Cause
    """Why."""
    queries: int
    """How many questions."""
    share: float
    """Of all queries."""


class Expected(Part):
    """A document that would have been right."""

    doc_id: str
    """The document."""
    grade: float
    """Its grade."""
    title: str | None = None
    """Its title, or the beginning of its text; null if it is not known."""
    ranks: dict[str, int | None]
    """By system: its rank; null where the system did not retrieve it."""


class Above(Part):
    """A document where a better one should be."""

    doc_id: str
    """The document."""
    grade: float | None
    """Its grade; null: unjudged."""
    title: str | None = None
    """Its title, or the beginning of its text; null if it is not known."""


class FailingQuery(Part):
    """A question that a system fails."""

    query_id: str
    """The question."""
    text: str | None
    """What is asked; null if it is not known."""
    value: float | None
    """The main measure."""
    cause: Cause
    """Why it fails."""
    expected: tuple[Expected, ...]
    """The best documents there are, at most three."""
    above: tuple[Above, ...]
    """What is on top, at most three."""


class SystemFailures(Part):
    """What one system fails."""

    system: str
    """The system."""
    failing: int
    """How many questions fail."""
    causes: tuple[CauseCount, ...]
    """Why, the most frequent first."""
    worst: tuple[FailingQuery, ...]
    """The worst questions that fail, worst first."""


class Failures(Analysed):
    """Which questions fail, and why."""

    measure: str
    """The main measure, by which questions are ordered."""
    cutoff: int
    """k: how many documents of an answer are looked at."""
    queries: int
    """How many questions there are."""
    corpus: bool
    """Whether the corpus was looked at; without it two causes cannot be seen."""
    systems: tuple[SystemFailures, ...]
    """By system."""


class FailuresConfig(AnalysisConfig):
    """What is shown of failing questions."""

    show: int = Field(default=10, ge=0)
    """How many questions are shown for each system."""
    cutoff: int | None = Field(default=None, ge=1)
    """How many documents of an answer are looked at; null: as many as the main measure does."""


@dataclass(frozen=True, eq=False)
class _Run:
    """One run, ranked and judged, and what is seen in it for all queries at once."""

    name: str
    run: Run
    judged: JudgedRun
    cutoff: int

    @cached_property
    def is_relevant(self) -> BoolArray:
        relevant: BoolArray = self.judged.hit_grade >= RELEVANT
        return relevant

    @cached_property
    def best_rank(self) -> IntArray:
        """By query: the rank of the first relevant document; 0 if none is retrieved."""
        ranks = np.zeros(len(self.judged), np.int64)
        queries = self.judged.hit_query[self.is_relevant]
        first = np.unique(queries, return_index=True)
        ranks[first[0]] = self.judged.hit_rank[self.is_relevant][first[1]]
        return ranks

    def highest(self, queries: IntArray, grades: FloatArray) -> FloatArray:
        """By query: the highest of some grades; 0 where there is none."""
        highest = np.zeros(len(self.judged))
        np.maximum.at(highest, queries, grades)
        return highest

    @cached_property
    def best_on_top(self) -> FloatArray:
        on_top = self.judged.hit_rank <= self.cutoff
        return self.highest(self.judged.hit_query[on_top], self.judged.hit_grade[on_top])

    @cached_property
    def best_there_is(self) -> FloatArray:
        return self.highest(self.judged.judged_query, self.judged.judged_grade)

    @cached_property
    def fails(self) -> BoolArray:
        fails: BoolArray = (self.best_on_top < RELEVANT) | (self.best_on_top < self.best_there_is)
        return fails

    @cached_property
    def is_unjudged_on_top(self) -> BoolArray:
        """Whether half of the first k are unjudged, of queries of which others were judged bad."""
        judged = self.judged
        shown = np.minimum(judged.retrieved, self.cutoff)
        known = judged.hit_rank[judged.hit_grade >= 0] <= self.cutoff
        seen = judged.count(judged.hit_query[judged.hit_grade >= 0][known])
        pooled = judged.judged_grade < RELEVANT
        was_pooled = judged.count(judged.judged_query[pooled & (judged.judged_grade >= 0)]) > 0
        unjudged: BoolArray = was_pooled & (shown > 0) & (2 * (shown - seen) >= shown)
        return unjudged


class _Texts:
    """What documents are called, and which have the same text."""

    def __init__(self, corpus: Corpus | None, titles: Callable[[str], str | None] | None) -> None:
        self.corpus = corpus
        self._titles = titles
        self._hashes: dict[str, bytes] = {}

    def title(self, doc_id: str) -> str | None:
        if self.corpus is not None and doc_id in self.corpus:
            document = self.corpus[doc_id]
            title: str | None = document.title or document.text
        else:
            title = None if self._titles is None else self._titles(doc_id)
        return title[:LONGEST_TITLE] if title else None

    def has(self, doc_id: str) -> bool:
        return self.corpus is None or doc_id in self.corpus

    def text_hash(self, doc_id: str) -> bytes | None:
        """Hash a document's words, whatever their case and spacing; None if it has none."""
        if self.corpus is None or doc_id not in self.corpus:
            return None
        if doc_id not in self._hashes:
            document = self.corpus[doc_id]
            words = unicodedata.normalize("NFKC", f"{document.title} {document.text}")
            joined = " ".join(words.casefold().split())
            self._hashes[doc_id] = hashlib.sha256(joined.encode()).digest() if joined else b""
        return self._hashes[doc_id] or None


def _look(config: FailuresConfig, inputs: Inputs) -> Failures | NotApplicable:
    assert inputs.scores is not None
    assert inputs.runs is not None
    assert inputs.qrels is not None
    if not inputs.qrels.query_ids:
        return FAILURES.not_applicable("no query is judged")
    measure = inputs.scores.measures[0]
    cutoff = config.cutoff or Measure.parse(measure).cutoff or DEFAULT_CUTOFF
    runs = {
        name: _Run(name, run, align(inputs.qrels, run).judged, cutoff)
        for name, run in inputs.runs.items()
    }
    known = {query_id: text for query_id, text, _ in inputs.queries or ()}
    view = _View(inputs.qrels, runs, known, _Texts(inputs.corpus, inputs.titles))
    systems = tuple(
        _of_system(run, view, inputs.scores.values(measure, name), config.show)
        for name, run in runs.items()
    )
    return Failures(
        measure=measure,
        cutoff=cutoff,
        queries=len(inputs.qrels.query_ids),
        corpus=inputs.corpus is not None,
        systems=systems,
        findings=tuple(_findings(systems, len(inputs.qrels.query_ids))),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """All that is known of queries and documents, beside the runs."""

    qrels: Judgments
    runs: Mapping[str, _Run]
    texts: Mapping[str, str]
    documents: _Texts

    def ranked(self, run: _Run, query_id: str) -> list[tuple[str, float]]:
        """Return a query's documents in the order in which they are scored."""
        if query_id not in run.run:
            return []
        pairs = run.run[query_id].items()
        by_id = sorted(pairs, key=lambda pair: pair[0].encode(), reverse=True)
        return sorted(by_id, key=lambda pair: -pair[1])

    def cause(self, run: _Run, place: int) -> Cause:
        """Say why a query that fails does so."""
        query_id = run.judged.query_ids[place]
        grades = self.qrels.by_query[query_id]
        relevant = [doc_id for doc_id, grade in grades.items() if grade >= RELEVANT]
        if not relevant:
            return "no relevant document"
        if not any(map(self.documents.has, relevant)):
            return "gold not in the corpus"
        if not run.judged.in_run[place]:
            return "query missing"
        if not run.judged.retrieved[place]:
            return "empty answer"
        if run.best_on_top[place] >= RELEVANT:
            return "only lower grades on top"
        ranked = self.ranked(run, query_id)
        if self._has_copy(relevant, [doc_id for doc_id, _ in ranked[: run.cutoff]]):
            return "same text under another id"
        if run.is_unjudged_on_top[place]:
            return "top results unjudged"
        rank = int(run.best_rank[place])
        if not rank:
            return "not retrieved"
        is_tied = ranked[rank - 1][1] == ranked[run.cutoff - 1][1]
        return "decided by a tie" if is_tied else "below the cutoff"

    def _has_copy(self, relevant: list[str], top: list[str]) -> bool:
        if self.documents.corpus is None:
            return False
        texts = {self.documents.text_hash(doc_id) for doc_id in relevant} - {None}
        return any(self.documents.text_hash(doc_id) in texts for doc_id in top)

    def question(self, run: _Run, query_id: str, value: float | None, cause: Cause) -> FailingQuery:
        """Describe a question that fails."""
        grades = self.qrels.by_query[query_id]
        best = sorted(grades.items(), key=lambda pair: -pair[1])
        orders = {
            name: {doc_id: at for at, (doc_id, _) in enumerate(self.ranked(other, query_id), 1)}
            for name, other in self.runs.items()
        }
        return FailingQuery(
            query_id=query_id,
            text=self.texts.get(query_id),
            value=value,
            cause=cause,
            expected=tuple(
                Expected(
                    doc_id=doc_id,
                    grade=grade,
                    title=self.documents.title(doc_id),
                    ranks={name: order.get(doc_id) for name, order in orders.items()},
                )
                for doc_id, grade in best[:3]
                if grade >= RELEVANT
            ),
            above=tuple(
                Above(doc_id=doc_id, grade=grades.get(doc_id), title=self.documents.title(doc_id))
                for doc_id in list(orders[run.name])[:3]
            ),
        )


def _of_system(run: _Run, view: _View, values: Mapping[str, float], show: int) -> SystemFailures:
    causes = {
        run.judged.query_ids[place]: view.cause(run, place)
        for place in np.flatnonzero(run.fails).tolist()
    }
    total = len(run.judged)
    counts = Counter(causes.values())
    worst = sorted(causes, key=lambda query_id: values.get(query_id, 0.0))[:show]
    return SystemFailures(
        system=run.name,
        failing=len(causes),
        causes=tuple(
            CauseCount(cause=cause, queries=count, share=count / total)
            for cause, count in counts.most_common()
        ),
        worst=tuple(
            view.question(run, query_id, values.get(query_id), causes[query_id])
            for query_id in worst
        ),
    )


def _findings(systems: tuple[SystemFailures, ...], total: int) -> list[Finding]:
    """Name each system of which many questions fail for a reason other than its ranking."""
    findings = []
    for system in systems:
        counts = {count.cause: count.queries for count in system.causes}
        outside = {cause: counts[cause] for cause in _NOT_THE_RANKING if cause in counts}
        if outside and sum(outside.values()) >= MANY * total:
            listed = ", ".join(f"{cause}: {count:,}" for cause, count in outside.items())
            findings.append(
                NOT_THE_RANKING.finding(
                    f"{system.system} fails {counted(sum(outside.values()), 'query')} of {total:,} "
                    f"for reasons that no better ranking can mend ({listed})",
                    evidence={"system": system.system, "causes": dict(outside)},
                )
            )
    return findings


def _section(result: Failures) -> Section:
    blocks: list[Block] = []
    causes = [cause for cause in get_args(Cause) if _total(result, cause)]
    if causes:
        rows = []
        for cause in causes:
            counts = [
                next((count for count in system.causes if count.cause == cause), None)
                for system in result.systems
            ]
            rows.append(
                (
                    Cell(cause),
                    *(
                        Cell(0) if count is None else Cell(count.queries, note=f"{count.share:.0%}")
                        for count in counts
                    ),
                )
            )
        failing = [Cell(system.failing) for system in result.systems]
        rows.append((Cell("questions that fail"), *failing))
        note = (
            f"in the first {result.cutoff} documents; of {counted(result.queries, 'query')}; each "
            "failing question has one cause, the first of those that apply"
        )
        blocks.append(
            Table(
                (
                    Column("cause", "text"),
                    *(Column(system.system) for system in result.systems),
                ),
                tuple(rows),
                notes=(note,),
            )
        )
    tables = tuple(_table(result, system) for system in result.systems if system.worst)
    meanings = [f"{cause}: {_MEANINGS[cause]}" for cause in causes]
    if causes and not result.corpus:
        meanings.append("missing gold and copies under other ids are seen by diagnose --corpus")
    explained = (Notes(tuple(meanings)),) if meanings else ()
    return Section(FAILURES.title, tuple(blocks), (*explained, *tables))


def _total(result: Failures, cause: Cause) -> int:
    return sum(
        count.queries
        for system in result.systems
        for count in system.causes
        if count.cause == cause
    )


def _table(result: Failures, system: SystemFailures) -> Table:
    """List the worst questions of one system."""
    rows = []
    for question in system.worst:
        expected = "; ".join(_described(document) for document in question.expected[:2])
        above = "; ".join(
            f"{document.doc_id} {document.title or ''}".strip() for document in question.above[:2]
        )
        rows.append(
            (
                Cell(question.text or question.query_id),
                Cell(question.value),
                Cell(question.cause),
                Cell(expected),
                Cell(above or "nothing"),
            )
        )
    more = system.failing - len(system.worst)
    return Table(
        (
            Column("question", "text"),
            Column(result.measure),
            *text_columns("cause", "expected (rank by system)", "on top instead"),
        ),
        tuple(rows),
        title=f"The worst questions of {system.system}",
        notes=(f"{more:,} more fail",) if more else (),
    )


def _described(document: Expected) -> str:
    ranks = ", ".join(
        f"{name} {'-' if rank is None else rank}" for name, rank in document.ranks.items()
    )
    return f"{document.doc_id} {document.title or ''}".strip() + f" ({ranks})"


FAILURES = register(
    Analysis(
        name="failures",
        title="Failing questions",
        summary="Which questions fail, where their best documents are instead, and why.",
        config=FailuresConfig,
        written="failures: {show: 20}",
        result=Failures,
        needs=("scores", "runs", "qrels"),
        uses=("queries", "corpus", "titles"),
        look=_look,
        section=_section,
        codes=(NOT_THE_RANKING,),
        place=10,
    )
)
