"""Failures: which questions a system fails, and why, one cause for each.

A question fails if nothing relevant is among the first k documents, or if what is there has a lower
grade than the best documents that there are. k is the cutoff of the main measure, and relevant is
what the main measure gains something from. Causes are about the documents that are *missed*: the
relevant ones with a higher grade than anything among the first k. A relevant document that is among
the first k only because of a tie is luck, not a failure; see `rankscope.diagnosis.ties`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import Analysed, Config, Inputs, Row, analysis, found
from rankscope.diagnosis.failure_causes import CAUSES, OUTSIDE, Cause, Gold, causes_of
from rankscope.diagnosis.ranked_run import counts_as_relevant, first_ranks
from rankscope.diagnosis.show import percent, query_table
from rankscope.document.blocks import Block, Cell, Column, Notes, Table, shortened
from rankscope.document.links import queries_link
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.part import Part, PrivateText
from rankscope.statistics.sentences import listed

if TYPE_CHECKING:
    from rankscope.diagnosis.rankings import Ranking
    from rankscope.measures.judged import IntArray

_MEANINGS: dict[Cause, str] = {
    "no relevant document": "nothing is judged relevant, so no system can do well",
    "gold not in the corpus": "none of the documents that are missed is in the corpus",
    "query missing": "the run lacks the query",
    "empty answer": "the run has no document for the query",
    "same text under another id": "a document on top has exactly the text of one that is missed",
    "decided by a tie": "a better document below k has the score of the one at k",
    "top results unjudged": "most on top is unjudged, though much else was judged",
    "only lower grades on top": "relevant documents are on top, but not the best there are",
    "below the cutoff": "the best relevant document is retrieved below k",
    "not retrieved": "no relevant document is in the run",
}

MANY = 0.1
"""From this share of all queries on causes that no ranking can mend are worth a finding."""

NOT_THE_RANKING = declare(
    "RS631",
    "failures-outside-ranking",
    "warning",
    unit="system",
    advice="mend the data first: these questions say nothing about how well the system ranks; mark "
    "those that are meant to have no answer (--no-answer empty)",
    meaning="""At least a tenth of all queries fail for a reason that no better ranking can mend:
    no relevant document, gold that is not in the corpus, missing queries, empty answers, copies of
    the text under another id.""",
)


class FailuresConfig(Config):
    """What is shown of failing questions."""

    show: int = Field(default=5, ge=0)
    """How many questions are shown for each system."""
    cutoff: int | None = Field(default=None, ge=1)
    """How many documents of an answer are looked at; null: as many as the main measure does."""


class ShownDocument(Part):
    """A document that a failing question is explained by."""

    doc_id: str
    """The document."""
    grade: float | None
    """Its grade; null: unjudged."""
    title: PrivateText
    """Its title, or the beginning of its text; null if it is not known."""

    @property
    def name(self) -> str:
        """Its id and title, as a table shows them."""
        return shortened(f"{self.doc_id} {self.title or ''}", 45)


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
    ranks: dict[str, int | None]
    """By system: the rank of its first relevant document; null where it retrieved none."""
    expected: ShownDocument | None
    """The best document there is; of equal grades the one that this system ranks highest."""
    first: ShownDocument | None
    """What is first in the answer."""

    @property
    def wanted(self) -> str:
        """The best document, and how many others are relevant."""
        if self.expected is None:
            return "nothing"
        more = f", {self.relevant - 1:,} more" if self.relevant > 1 else ""
        return self.expected.name + more

    @property
    def on_top(self) -> str:
        """The first document and its grade."""
        if self.first is None:
            return "nothing"
        grade = "unjudged" if self.first.grade is None else f"grade {self.first.grade:g}"
        return f"{self.first.name} ({grade})"

    @property
    def places(self) -> str:
        """Where systems have the first relevant document, the best system first."""
        ranks = sorted((rank, name) for name, rank in self.ranks.items() if rank is not None)
        return listed([f"{rank} in {name}" for rank, name in ranks], 3) if ranks else "nowhere"


class SystemFailures(Row):
    """What one system fails."""

    causes: dict[Cause, tuple[str, ...]]
    """By cause: which questions fail for it; the most frequent cause first."""
    worst: tuple[FailingQuery, ...]
    """The worst questions that fail, worst first."""

    @property
    def failing(self) -> int:
        """How many questions fail."""
        return sum(map(len, self.causes.values()))

    @property
    def outside(self) -> dict[Cause, int]:
        """How many questions fail for causes that no better ranking can mend."""
        return {cause: len(self.causes[cause]) for cause in OUTSIDE if cause in self.causes}


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


@analysis(
    title="Failing questions",
    needs=("scores", "runs", "qrels"),
    written="failures: {show: 20}",
    place=10,
)
def failures(config: FailuresConfig, inputs: Inputs) -> Failures:
    """Which questions fail, where their best documents are instead, and why."""
    rankings, measure = inputs.rankings, str(inputs.main)
    inputs.require(rankings.query_ids, "no query is judged")
    gold, cutoff = Gold.of(inputs), config.cutoff or inputs.cutoff
    answers = {
        name: _Answers.of(ranking, gold, cutoff, inputs, inputs.scores.values(measure, name))
        for name, ranking in rankings.systems.items()
    }
    systems = []
    for name, seen in answers.items():
        failed = {
            cause: tuple(rankings.query_ids[query] for query in np.flatnonzero(seen.cause == at))
            for at, cause in enumerate(CAUSES)
        }
        by_count = sorted(CAUSES, key=lambda cause: -len(failed[cause]))
        worst = _worst_first(seen, inputs)[: config.show]
        systems.append(
            SystemFailures(
                system=name,
                causes={cause: failed[cause] for cause in by_count if failed[cause]},
                worst=tuple(_failing_query(query, name, answers, gold, inputs) for query in worst),
            )
        )
    return Failures(
        measure=measure,
        cutoff=cutoff,
        queries=len(rankings.query_ids),
        corpus=inputs.has("corpus"),
        systems=tuple(systems),
    )


@failures.find
def _find(result: Failures, inputs: Inputs) -> Iterator[Finding]:
    definition = inputs.main.definition
    best = definition.range[1] if definition.higher_is_better else definition.range[0]
    has_gain = definition.aggregate == "mean" and np.isfinite(best)

    def gain(row: SystemFailures) -> float:
        """Return what the mean gains if every question the data spoils were answered ideally."""
        values = inputs.scores.values(result.measure, row.system)
        spoilt = [query_id for cause in row.outside for query_id in row.causes[cause]]
        return sum(abs(best - values.get(each, best)) for each in spoilt) / max(len(values), 1)

    yield from found(
        NOT_THE_RANKING,
        [r for r in result.systems if sum(r.outside.values()) >= max(1, MANY * result.queries)],
        lambda row: (
            f"{row.system} fails {counted(sum(row.outside.values()), 'query')} of "
            f"{result.queries:,} for reasons that no better ranking can mend "
            f"({', '.join(f'{cause}: {count:,}' for cause, count in row.outside.items())})"
        ),
        gain if has_gain else None,
        focus=inputs.focus,
    )


@failures.show
def _show(result: Failures) -> Iterator[Block | None]:
    causes = [cause for cause in CAUSES if any(cause in row.causes for row in result.systems)]
    yield _counts(result, causes)
    meanings = [f"{cause}: {_MEANINGS[cause]}" for cause in causes]
    if causes and not result.corpus:
        meanings.append("missing gold and copies under other ids are seen with a corpus only")
    yield Notes(tuple(meanings)) if meanings else None
    for row in result.systems:
        more = row.failing - len(row.worst)
        yield query_table(
            row.worst,
            {question.query_id: question.text for question in row.worst if question.text},
            f"The worst questions of {row.system}",
            notes=[f"{more:,} more fail"] if more else (),
            columns=(
                f"value: {result.measure} | cause | wanted: expected | on_top | "
                "places: first relevant at rank"
            ),
        )


def _counts(result: Failures, causes: list[Cause]) -> Table:
    """Count the questions of each cause, with links to them."""

    def cell(count: int, **shown: str) -> Cell:
        if not count:
            return Cell(0)
        return Cell(count, note=percent(count, result.queries), link=queries_link(**shown))

    rows = [
        (
            Cell(cause),
            *(
                cell(len(row.causes.get(cause, ())), a=row.system, cause=cause)
                for row in result.systems
            ),
        )
        for cause in causes
    ]
    failing = [cell(row.failing, a=row.system, show="failing") for row in result.systems]
    hold = "document holds" if result.cutoff == 1 else f"{result.cutoff} documents hold"
    fails = f"the first {hold} nothing relevant, or nothing as good as the best there is"
    return Table(
        (Column("cause", "text"), *(Column(row.system) for row in result.systems)),
        (*rows, (Cell("questions that fail", tone="strong"), *failing)),
        notes=(
            f"of {counted(result.queries, 'query')}; a question fails if {fails}",
            "each failing question has one cause: the first in this list that applies",
        ),
    )


# --- the worst questions -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Answers:
    """What one system answers."""

    ranking: Ranking
    values: Mapping[str, float]
    """By query id: the main measure; none where the query is left out of the mean."""
    first_rank: IntArray
    """By query: the rank of the first relevant document; 0 if none is retrieved."""
    cause: IntArray
    """By query: the number of its cause in `CAUSES`; -1: it does not fail."""

    @classmethod
    def of(
        cls,
        ranking: Ranking,
        gold: Gold,
        cutoff: int,
        inputs: Inputs,
        values: Mapping[str, float],
    ) -> _Answers:
        hits = np.flatnonzero(counts_as_relevant(inputs.main, ranking.grade))
        first = first_ranks(ranking.query[hits], ranking.rank[hits], len(gold.count))
        return cls(ranking, values, first, causes_of(ranking, hits, gold, cutoff, inputs))


def _worst_first(seen: _Answers, inputs: Inputs) -> list[int]:
    """Order the questions that fail; of equal values those that no system can answer come last."""

    def badness(query: int) -> tuple[float, bool]:
        value = seen.values.get(inputs.rankings.query_ids[query])
        is_hopeless = CAUSES[seen.cause[query]] == "no relevant document"
        return np.inf if value is None else inputs.sign * value, is_hopeless

    return sorted(np.flatnonzero(seen.cause >= 0).tolist(), key=badness)


def _failing_query(
    query: int,
    system: str,
    answers: Mapping[str, _Answers],
    gold: Gold,
    inputs: Inputs,
) -> FailingQuery:
    """Describe a question that fails."""
    seen, query_id = answers[system], inputs.rankings.query_ids[query]
    ranking = seen.ranking
    rows = np.arange(*ranking.offsets[query : query + 2])
    order = {doc_id: rank for rank, doc_id in enumerate(ranking.doc_ids(rows))}
    judged = slice(*np.searchsorted(gold.query, [query, query + 1]).tolist())
    grades = dict(zip(gold.ids[judged], gold.grade[judged].tolist(), strict=True))
    best = min(grades, key=lambda each: (-grades[each], order.get(each, np.inf)), default=None)

    def shown(doc_id: str, grade: float) -> ShownDocument:
        known = None if np.isnan(grade) else grade
        return ShownDocument(doc_id=doc_id, grade=known, title=inputs.texts.title(doc_id))

    return FailingQuery(
        query_id=query_id,
        text=inputs.query_texts.get(query_id),
        value=seen.values.get(query_id),
        cause=CAUSES[seen.cause[query]],
        relevant=len(grades),
        ranks={name: int(other.first_rank[query]) or None for name, other in answers.items()},
        expected=None if best is None else shown(best, grades[best]),
        first=shown(next(iter(order)), float(ranking.grade[rows[0]])) if order else None,
    )
