"""Failures: which questions a system fails, and why, one cause for each.

A question fails if nothing relevant is among the first k documents, or if what is there has a lower
grade than the best documents that there are. k is the cutoff of the main measure, and relevant is
what the main measure gains something from. Causes are about the documents that are *missed*: the
relevant ones with a higher grade than anything among the first k. A relevant document that is among
the first k only because of a tie is luck, not a failure; see `rankscope.diagnosis.tie_effects`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import polars as pl
from pydantic import Field

from rankscope.diagnosis.analysis import (
    Advice,
    Analysed,
    Analysis,
    AnalysisConfig,
    Inputs,
    register,
)
from rankscope.diagnosis.document_texts import DocumentTexts, keyed, same_keys
from rankscope.diagnosis.failure_tables import failure_section
from rankscope.diagnosis.ranked_run import counts_as_relevant, first_ranks
from rankscope.errors import counted
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.part import Part, PrivateText, left_out_if_empty

if TYPE_CHECKING:
    from rankscope.diagnosis.rankings import Ranking, Rankings
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.measures.language import Measure

Cause = Literal[
    "no relevant document",
    "gold not in the corpus",
    "query missing",
    "empty answer",
    "same text under another id",
    "decided by a tie",
    "top results unjudged",
    "only lower grades on top",
    "below the cutoff",
    "not retrieved",
]
"""Why a question fails; of several causes the first. What is wrong with the data comes before what
is wrong with the answer, and what is certain before what may be."""

CAUSES: tuple[Cause, ...] = get_args(Cause)

MANY = 0.1
"""From this share of all queries on a cause that no ranking can mend is worth a finding."""

SHOWN = 3
"""So many documents of a question are named."""

FEWEST_JUDGED = 5
"""With fewer judgments of a question nobody looked for all that is relevant to it."""

_OUTSIDE: dict[Cause, str] = {
    "no relevant document": "without a relevant document",
    "gold not in the corpus": "with gold that is not in the corpus",
    "query missing": "missing from the run",
    "empty answer": "with an empty answer",
    "same text under another id": "with the right text under another id",
}
"""What no better ranking can mend, for certain, and how it is said of questions."""

NOT_THE_RANKING = declare(
    "RS631",
    "failures-outside-ranking",
    "warning",
    unit="system",
    advice="mend the data first: these questions say nothing about how well the system ranks",
    meaning="""At least a tenth of all queries fail for a reason that no better ranking can mend:
    no relevant document, gold that is not in the corpus, missing queries, empty answers, copies of
    the text under another id.""",
)


class CauseCount(Part):
    """How often a cause is why a question fails."""

    cause: Cause
    """Why."""
    queries: int
    """How many questions."""
    share: float
    """Of all queries."""
    query_ids: tuple[str, ...] = left_out_if_empty()
    """Which questions."""


class Expected(Part):
    """A document that would have been right."""

    doc_id: str
    """The document."""
    grade: float
    """Its grade."""
    title: PrivateText = None
    """Its title, or the beginning of its text; null if it is not known."""
    ranks: dict[str, int | None]
    """By system: its rank; null where the system did not retrieve it."""


class Above(Part):
    """A document where a better one should be."""

    doc_id: str
    """The document."""
    grade: float | None
    """Its grade; null: unjudged."""
    title: PrivateText = None
    """Its title, or the beginning of its text; null if it is not known."""


class FailingQuery(Part):
    """A question that a system fails."""

    query_id: str
    """The question."""
    text: PrivateText
    """What is asked; null if it is not known."""
    value: float | None
    """The main measure."""
    cause: Cause
    """Why it fails."""
    relevant: int
    """How many relevant documents there are."""
    best_ranks: dict[str, int | None]
    """By system: the rank of its first relevant document; null where it retrieved none."""
    expected: tuple[Expected, ...]
    """The best documents there are, at most three; of equal grades those that this system ranks
    highest."""
    above: tuple[Above, ...]
    """What is on top, above the first document that is missed; at most three."""


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
class _Gold:
    """The relevant documents, by judgment, and what is known of them."""

    query: IntArray
    grade: FloatArray
    ids: pl.Series
    queries: int

    @classmethod
    def of(cls, rankings: Rankings, measure: Measure) -> _Gold:
        keep = counts_as_relevant(measure, rankings.judged_grade)
        return cls(
            rankings.judged_query[keep],
            rankings.judged_grade[keep],
            rankings.judged_ids.filter(pl.Series(keep)),
            len(rankings.query_ids),
        )

    @cached_property
    def count(self) -> IntArray:
        """By query: how many there are."""
        return np.bincount(self.query, minlength=self.queries)

    @cached_property
    def best(self) -> FloatArray:
        """By query: the highest grade; 0 if there is none."""
        return highest(self.query, self.grade, self.queries)


def highest(query: IntArray, grade: FloatArray, queries: int) -> FloatArray:
    """By query: the highest of some grades; 0 where there is none."""
    best = np.zeros(queries)
    np.maximum.at(best, query, grade)
    return best


@dataclass(frozen=True, eq=False)
class _Answers:
    """What one system answers, and what it misses, for all queries at once."""

    name: str
    ranking: Ranking
    gold: _Gold
    measure: Measure
    cutoff: int

    @cached_property
    def hits(self) -> IntArray:
        """The rows of relevant documents."""
        return np.flatnonzero(counts_as_relevant(self.measure, self.ranking.grade))

    @cached_property
    def best_rank(self) -> IntArray:
        """By query: the rank of the first relevant document; 0 if none is retrieved."""
        ranking, hits = self.ranking, self.hits
        return first_ranks(ranking.query[hits], ranking.rank[hits], self.gold.queries)

    @cached_property
    def best_on_top(self) -> FloatArray:
        """By query: the highest grade of a relevant document in the first k; 0 if there is none."""
        rows = self.hits[self.ranking.rank[self.hits] <= self.cutoff]
        return highest(self.ranking.query[rows], self.ranking.grade[rows], self.gold.queries)

    @cached_property
    def fails(self) -> BoolArray:
        fails: BoolArray = (self.gold.count == 0) | (self.best_on_top < self.gold.best)
        return fails

    @cached_property
    def missed(self) -> IntArray:
        """The judgments of documents that are better than all in the first k."""
        return np.flatnonzero(self.gold.grade > self.best_on_top[self.gold.query])

    @cached_property
    def missed_rows(self) -> IntArray:
        """The rows of those that are retrieved."""
        query = self.ranking.query[self.hits]
        return self.hits[self.ranking.grade[self.hits] > self.best_on_top[query]]

    def has(self, query: IntArray) -> BoolArray:
        """By query: whether it is among some."""
        flags = np.zeros(self.gold.queries, np.bool_)
        flags[query] = True
        return flags

    def in_run(self, query_ids: tuple[str, ...]) -> BoolArray:
        known = set(self.ranking.run.query_ids)
        return np.fromiter((each in known for each in query_ids), np.bool_, len(query_ids))

    @cached_property
    def is_tied(self) -> BoolArray:
        """By query: whether a document that is missed has the score of the one at k."""
        ranking, rows = self.ranking, self.missed_rows
        at_cutoff = ranking.offsets[ranking.query[rows]] + self.cutoff - 1
        return self.has(ranking.query[rows[ranking.score[rows] == ranking.score[at_cutoff]]])

    def is_unjudged(self, rankings: Rankings) -> BoolArray:
        """By query: whether at least half of the first k are unjudged, though others were judged.

        Only where at least `FEWEST_JUDGED` documents were judged, as many of them nonrelevant as
        relevant: judges who note little but what is relevant leave all else unjudged, and that says
        nothing. Nowhere in a collection that is judged so by design.
        """
        if rankings.unjudged_by_design:
            return np.zeros(self.gold.queries, np.bool_)
        ranking = self.ranking
        graded = rankings.judged_grade
        nonrelevant = (graded >= 0) & ~counts_as_relevant(self.measure, graded)
        seen = np.bincount(rankings.judged_query[nonrelevant], minlength=self.gold.queries)
        enough = seen + self.gold.count >= FEWEST_JUDGED
        was_pooled = enough & (seen >= self.gold.count)
        shown = np.minimum(ranking.sizes, self.cutoff)
        judged = ranking.query[ranking.top(self.cutoff) & ranking.is_judged]
        unknown = shown - np.bincount(judged, minlength=len(shown))
        unjudged: BoolArray = was_pooled & (shown > 0) & (2 * unknown >= shown)
        return np.asarray(unjudged & (self.best_on_top == 0))


def _look(config: FailuresConfig, inputs: Inputs) -> Failures | NotApplicable:
    assert inputs.scores is not None
    assert inputs.qrels is not None
    if not inputs.qrels.query_ids:
        return FAILURES.not_applicable("no query is judged")
    rankings, measure = inputs.rankings, inputs.main
    gold = _Gold.of(rankings, measure)
    cutoff = config.cutoff or inputs.cutoff
    answers = {
        name: _Answers(name, ranking, gold, measure, cutoff)
        for name, ranking in rankings.systems.items()
    }
    documents = inputs.texts
    causes = _causes(answers, rankings, documents)
    texts = {query_id: text for query_id, text, _ in inputs.queries or ()}
    view = _View(rankings, answers, texts, documents)
    values = {name: inputs.scores.values(str(measure), name) for name in answers}
    systems = tuple(
        _of_system(name, view, causes[name], values[name], config.show) for name in answers
    )
    queries = len(rankings.query_ids)
    return Failures(
        measure=str(measure),
        cutoff=cutoff,
        queries=queries,
        corpus=inputs.corpus is not None,
        systems=systems,
        findings=tuple(_findings(systems, queries)),
        advice=_advice(inputs, causes[inputs.focus], values[inputs.focus]),
    )


# --- causes --------------------------------------------------------------------------------------


def _causes(
    answers: Mapping[str, _Answers], rankings: Rankings, documents: DocumentTexts
) -> dict[str, IntArray]:
    """Return by system and query the number of its cause in `CAUSES`; -1: it does not fail."""
    gold = next(iter(answers.values())).gold
    places = None if documents.corpus is None else documents.places(gold.ids)
    causes = {}
    for name, seen in answers.items():
        ranking = seen.ranking
        missed = seen.missed
        applies: dict[Cause, BoolArray] = {"no relevant document": gold.count == 0}
        if places is not None:
            there = missed[places[missed] >= 0]
            applies["gold not in the corpus"] = ~seen.has(gold.query[there])
        is_in_run = seen.in_run(rankings.query_ids)
        applies["query missing"] = ~is_in_run
        applies["empty answer"] = is_in_run & (ranking.sizes == 0)
        if places is not None:
            certain = np.logical_or.reduce(list(applies.values()))
            asked = seen.fails & ~certain
            applies["same text under another id"] = _has_copy(seen, asked, places, documents)
        applies["decided by a tie"] = seen.is_tied
        applies["top results unjudged"] = seen.is_unjudged(rankings)
        applies["only lower grades on top"] = seen.best_on_top > 0
        applies["below the cutoff"] = seen.has(ranking.query[seen.missed_rows])
        cause = np.full(gold.queries, CAUSES.index("not retrieved"))
        for earlier in reversed(applies):
            cause[applies[earlier]] = CAUSES.index(earlier)
        causes[name] = np.where(seen.fails, cause, -1)
    return causes


def _has_copy(
    seen: _Answers, asked: BoolArray, places: IntArray, documents: DocumentTexts
) -> BoolArray:
    """By query: whether a document in the first k has exactly the text of one that is missed."""
    ranking, gold = seen.ranking, seen.gold
    wanted = seen.missed[asked[gold.query[seen.missed]] & (places[seen.missed] >= 0)]
    rows = np.flatnonzero(ranking.top(seen.cutoff) & asked[ranking.query])
    at = documents.places(ranking.run.doc_ids.gather(ranking.source[rows]))
    rows, at = rows[at >= 0], at[at >= 0]
    left, right = same_keys(
        keyed(gold.query[wanted], documents.opening_keys(places[wanted])),
        keyed(ranking.query[rows], documents.opening_keys(at)),
    )
    # only texts that begin alike are read in full
    first, has_text = documents.text_keys(places[wanted[left]])
    second, _ = documents.text_keys(at[right])
    return seen.has(ranking.query[rows[right[has_text & (first == second)]]])


# --- what is shown -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """All that is known of queries and documents, beside the causes."""

    rankings: Rankings
    answers: Mapping[str, _Answers]
    texts: Mapping[str, str]
    documents: DocumentTexts

    def question(self, system: str, query: int, value: float | None, cause: Cause) -> FailingQuery:
        """Describe a question that fails."""
        query_id = self.rankings.query_ids[query]
        orders = {
            name: {doc_id: rank for rank, doc_id in enumerate(seen.ranking.of_query(query), 1)}
            for name, seen in self.answers.items()
        }
        seen, order = self.answers[system], orders[system]
        start, end = np.searchsorted(seen.gold.query, [query, query + 1]).tolist()
        ids = seen.gold.ids.slice(start, end - start).to_list()
        grades = dict(zip(ids, seen.gold.grade[start:end].tolist(), strict=True))
        best = sorted(grades, key=lambda doc_id: (-grades[doc_id], order.get(doc_id, np.inf)))
        return FailingQuery(
            query_id=query_id,
            text=self.texts.get(query_id),
            value=value,
            cause=cause,
            relevant=len(grades),
            best_ranks={
                name: int(other.best_rank[query]) or None for name, other in self.answers.items()
            },
            expected=tuple(
                Expected(
                    doc_id=doc_id,
                    grade=grades[doc_id],
                    title=self.documents.title(doc_id),
                    ranks={name: ranks.get(doc_id) for name, ranks in orders.items()},
                )
                for doc_id in best[:SHOWN]
            ),
            above=self._above(seen, query),
        )

    def _above(self, seen: _Answers, query: int) -> tuple[Above, ...]:
        ranking = seen.ranking
        start, end = ranking.offsets[query : query + 2].tolist()
        rows = seen.missed_rows[np.searchsorted(seen.missed_rows, start) :]
        first = int(rows[0]) if len(rows) and rows[0] < end else end
        shown = np.arange(start, min(start + SHOWN, first))
        return tuple(
            Above(
                doc_id=doc_id,
                grade=None if np.isnan(grade) else grade,
                title=self.documents.title(doc_id),
            )
            for doc_id, grade in zip(
                ranking.doc_ids(shown), ranking.grade[shown].tolist(), strict=True
            )
        )


def _of_system(
    system: str, view: _View, causes: IntArray, values: Mapping[str, float], show: int
) -> SystemFailures:
    query_ids, sign = view.rankings.query_ids, _sign(view.answers[system].measure)
    failing = np.flatnonzero(causes >= 0).tolist()

    def badness(query: int) -> tuple[float, bool]:
        # a query that is left out of the mean has no value, and comes last; of equal values those
        # that no system can answer do
        value = sign * values.get(query_ids[query], np.inf * sign)
        return value, CAUSES[causes[query]] == "no relevant document"

    worst = sorted(failing, key=badness)
    failed = {
        cause: tuple(query_ids[query] for query in np.flatnonzero(causes == at).tolist())
        for at, cause in enumerate(CAUSES)
    }
    return SystemFailures(
        system=system,
        failing=len(failing),
        causes=tuple(
            CauseCount(
                cause=cause, queries=len(ids), share=len(ids) / len(query_ids), query_ids=ids
            )
            for cause, ids in sorted(failed.items(), key=lambda item: -len(item[1]))
            if ids
        ),
        worst=tuple(
            view.question(system, query, values.get(query_ids[query]), CAUSES[causes[query]])
            for query in worst[:show]
        ),
    )


def _sign(measure: Measure) -> int:
    return 1 if measure.definition.higher_is_better else -1


def _findings(systems: tuple[SystemFailures, ...], total: int) -> list[Finding]:
    """Name systems of which many questions fail for a reason other than their ranking."""
    alike: dict[tuple[tuple[Cause, int], ...], list[str]] = {}
    for system in systems:
        counts = {count.cause: count.queries for count in system.causes}
        outside = tuple((cause, counts[cause]) for cause in _OUTSIDE if cause in counts)
        if outside and sum(counts[cause] for cause, _ in outside) >= MANY * total:
            alike.setdefault(outside, []).append(system.system)
    findings = []
    for outside, names in alike.items():
        listed = ", ".join(f"{cause}: {count:,}" for cause, count in outside)
        fail = "fails" if len(names) == 1 else "each fail"
        findings.append(
            NOT_THE_RANKING.finding(
                f"{', '.join(names)} {fail} {counted(sum(n for _, n in outside), 'query')} of "
                f"{total:,} for reasons that no better ranking can mend ({listed})",
                count=len(names),
                evidence={"systems": names, "causes": dict(outside)},
            )
        )
    return findings


def _advice(inputs: Inputs, causes: IntArray, values: Mapping[str, float]) -> tuple[Advice, ...]:
    """Say what mending the data could gain, if every question it spoils were answered ideally."""
    definition = inputs.main.definition
    best = definition.range[1] if definition.higher_is_better else definition.range[0]
    if definition.aggregate != "mean" or not np.isfinite(best):
        return ()
    query_ids = inputs.rankings.query_ids
    counts: dict[Cause, int] = {}
    lost = 0.0
    for query in np.flatnonzero(causes >= 0).tolist():
        cause = CAUSES[causes[query]]
        if cause in _OUTSIDE and query_ids[query] in values:
            counts[cause] = counts.get(cause, 0) + 1
            lost += abs(best - values[query_ids[query]])
    if not counts:
        return ()
    gain = lost / len(values)
    listed = ", ".join(
        f"{counts[cause]:,} {words}" for cause, words in _OUTSIDE.items() if cause in counts
    )
    empty = np.bincount(inputs.rankings.judged_query, minlength=len(query_ids)) == 0
    unmarked = any(query_ids[query] in values for query in np.flatnonzero(empty).tolist())
    hint = "; questions meant to have no answer can be marked (--no-answer empty)"
    count = sum(counts.values())
    fail = "fails" if count == 1 else "fail"
    return (
        Advice(
            text=f"Data: {count:,} of {counted(len(values), 'question')} {fail} for reasons "
            f"outside ranking ({listed}); mended, they could add up to {gain:.3f} of {inputs.main}"
            f"{hint if unmarked else ''}",
            gain=gain,
        ),
    )


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
        section=failure_section,
        codes=(NOT_THE_RANKING,),
        brief=True,
        place=10,
    )
)
