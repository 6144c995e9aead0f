"""Duplicates: copies of texts in the corpus, in answers, and under contradicting grades.

Exact copies have the same title and text but for case and spacing. Near copies share at least 0.9
(Jaccard) of all their five words in a row; `rankscope.diagnosis.likeness` finds every such pair.
What counts in an answer or a judgment is that two documents are copies themselves, not that they
are linked by a third.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

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
from rankscope.diagnosis.document_texts import DocumentTexts, Words, keyed, same_keys
from rankscope.diagnosis.duplicate_tables import duplicate_section
from rankscope.diagnosis.likeness import NearCopies, near_copies
from rankscope.diagnosis.ranked_run import counts_as_relevant
from rankscope.diagnosis.shares import share_of
from rankscope.errors import counted
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.part import Part, PrivateText
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.judgments import Judgments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankscope.diagnosis.rankings import Ranking
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray

MANY = 0.01
"""From this share of documents or of places on copies are worth a finding."""

DEEP = 100
"""How far down an answer copies of judged documents are looked for, where the main measure has no
cutoff."""

COPIES_IN_CORPUS = declare(
    "RS643",
    "copies-in-corpus",
    "note",
    unit="document",
    advice="keep one of each group in the index, or judge and count them as one document",
    meaning="""At least one in a hundred documents is a copy of another one, exact or nearly so.""",
)

WASTED_PLACES = declare(
    "RS644",
    "copies-in-answers",
    "note",
    unit="place",
    advice="show one document of each group of copies",
    meaning="""At least one in a hundred places of the first k repeats the text of a document that
    is higher up in the same answer.""",
)

CONTRADICTING_GRADES = declare(
    "RS645",
    "copies-graded-apart",
    "warning",
    unit="pair",
    advice="give copies the same grade",
    meaning="""For the same query a document is judged relevant, and a copy of it nonrelevant or not
    at all: which of them a system returns decides its score.""",
)


class CopyCount(Part):
    """How many copies there are."""

    documents: int
    """Documents with at least one copy."""
    groups: int
    """Groups of them; those of near copies are linked, each with at least one other."""
    superfluous: int
    """Documents that could go, if one of each group stayed."""


class CopyMember(Part):
    """One of several copies."""

    doc_id: str
    """The document."""
    title: PrivateText
    """Its title, or the beginning of its text."""


class CopyGroup(Part):
    """Documents that are copies."""

    kind: Literal["exact", "near"]
    """Whether all have the same text."""
    size: int
    """How many there are."""
    documents: tuple[CopyMember, ...]
    """The first of them, at most three."""


class SystemCopies(Part):
    """Copies in the answers of one system."""

    system: str
    """The system."""
    places: int
    """Documents in the first k of all answers."""
    wasted: int
    """How many of them are copies of a document higher up in the same answer."""
    wasted_exact: int
    """How many of these are exact copies."""
    queries: int
    """In how many answers."""
    value: float | None
    """The mean of the main measure."""
    shared_value: float | None
    """What it would be if copies shared the highest of their grades; null where that cannot be
    measured."""


class GradedApart(Part):
    """Two copies with grades that contradict each other."""

    query_id: str
    """The query."""
    text: PrivateText
    """What is asked; null if it is not known."""
    relevant: str
    """The document that is judged relevant."""
    grade: float
    """Its grade."""
    copy_id: str
    """Its copy."""
    copy_grade: float | None
    """The copy's grade; null: unjudged."""
    similarity: float
    """How much of their texts is the same; 1 for exact copies, and where they differ in nothing but
    punctuation or the order of longer passages."""
    title: PrivateText
    """Title of the copy, or the beginning of its text."""


class Duplicates(Analysed):
    """Copies in the corpus, in answers and in judgments."""

    measure: str
    """The main measure."""
    cutoff: int
    """k: how many documents of an answer are looked at."""
    queries: int
    """Judged queries."""
    corpus: int
    """Documents in the corpus."""
    looked_at: int
    """How many of them were looked at for exact copies."""
    without_text: int
    """How many of these have neither title nor text; they are copies of nothing."""
    looked_near: int
    """How many for near copies."""
    pairs_left_out: int
    """How many pairs of texts were too many to be compared; 0: no near copy can be missing."""
    similarity: float
    """From this Jaccard similarity on texts are near copies."""
    shingle: int
    """Of so many words in a row."""
    exact: CopyCount
    """Exact copies."""
    all_copies: CopyCount
    """Exact and near copies together."""
    groups: tuple[CopyGroup, ...]
    """The largest groups."""
    systems: tuple[SystemCopies, ...]
    """By system."""
    contradicting: int
    """Pairs of copies of which one is judged relevant and the other nonrelevant for one query."""
    unjudged: int
    """Pairs of which one is judged relevant and the other is in an answer and not judged."""
    graded_apart: tuple[GradedApart, ...]
    """The first of both, those that are judged first."""


class DuplicatesConfig(AnalysisConfig):
    """What counts as a copy, and how much is looked at."""

    similarity: float = Field(default=0.9, ge=0.5, le=1)
    """From this Jaccard similarity on texts are near copies."""
    shingle: int = Field(default=5, ge=1, le=20)
    """Of so many words in a row."""
    documents: int = Field(default=50_000, ge=1)
    """How many documents are looked at: first those that are judged or in the first k of an answer,
    then others."""
    characters: int = Field(default=10_000_000, ge=0)
    """How much text is looked at for near copies."""
    show: int = Field(default=5, ge=0)
    """How many examples are shown."""


# --- copies --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Copies:
    """The documents that were looked at, and which are copies."""

    places: IntArray
    """By document: where it is in the corpus."""
    number: IntArray
    """By place in the corpus: the number of the document here; -1: it was not looked at."""
    text: IntArray
    """By document: the number of its text; exact copies have one."""
    group: IntArray
    """By document: its group."""
    near: NearCopies
    """By text."""
    looked_near: int

    @classmethod
    def of(cls, documents: DocumentTexts, order: IntArray, config: DuplicatesConfig) -> _Copies:
        """Look at documents in some order of importance, as far as the config allows."""
        assert documents.corpus is not None
        places = order[: config.documents]
        number = np.full(len(documents.corpus), -1)
        number[places] = np.arange(len(places))
        forms = pl.Series(documents.forms(places), dtype=pl.String)
        # texts are numbered as they come; a document without one is a copy of nothing
        first, text = np.unique(forms.hash().to_numpy(), return_index=True, return_inverse=True)[1:]
        by_first = np.argsort(first)
        place_of = np.empty_like(by_first)
        place_of[by_first] = np.arange(len(first))
        text, first = place_of[text], first[by_first]
        kept = np.cumsum(forms.str.len_chars().to_numpy()[first].astype(np.int64))
        looked_near = int(np.searchsorted(kept, config.characters, "right"))
        texts = forms.gather(first[:looked_near]).to_list()
        words = Words.of(texts + [""] * (len(first) - looked_near))
        near = near_copies(words, width=config.shingle, threshold=config.similarity)
        group = near.group[text]
        empty = np.flatnonzero((forms == "").to_numpy())
        text[empty] = group[empty] = -1 - empty  # each by itself
        group = np.unique(group, return_inverse=True)[1]
        near_documents = int(np.count_nonzero((text >= 0) & (text < looked_near)))
        return cls(places, number, text, group, near, near_documents)

    def similarity(self, left: IntArray, right: IntArray) -> FloatArray:
        """Return how much pairs of documents have in common."""
        first, second = self.text[left], self.text[right]
        alike: FloatArray = (first == second).astype(np.float64)
        differ = np.flatnonzero((first != second) & (first >= 0) & (second >= 0))
        alike[differ] = self.near.similarity(first[differ], second[differ])
        return alike

    def pairs(
        self, left: tuple[IntArray, IntArray], right: tuple[IntArray, IntArray], threshold: float
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return all pairs of copies under one query, as places in two lists of (query, document).

        A document is not a copy of itself.
        """
        counts = np.bincount(self.group)
        sides = []
        for query, document in (left, right):
            several = np.flatnonzero((document >= 0) & (counts[self.group[document]] > 1))
            key = keyed(query[several], self.group[document[several]])
            sides.append((several, key))
        first, second = same_keys(sides[0][1], sides[1][1])
        first, second = sides[0][0][first], sides[1][0][second]
        differ = left[1][first] != right[1][second]
        first, second = first[differ], second[differ]
        alike = self.similarity(left[1][first], right[1][second])
        keep = alike >= threshold - 1e-9
        return first[keep], second[keep], alike[keep]

    def count(self, group: IntArray) -> CopyCount:
        sizes = np.unique(group, return_counts=True)[1]
        several = sizes[sizes > 1]
        documents, groups = int(several.sum()), len(several)
        return CopyCount(documents=documents, groups=groups, superfluous=documents - groups)


def _look(config: DuplicatesConfig, inputs: Inputs) -> Duplicates | NotApplicable:
    assert inputs.corpus is not None
    assert inputs.scores is not None
    if not len(inputs.corpus):
        return DUPLICATES.not_applicable("the corpus has no document")
    documents = inputs.texts
    rankings, cutoff = inputs.rankings, inputs.cutoff
    depth = inputs.main.cutoff or DEEP
    tops = {
        name: _Top.of(ranking, documents, max(depth, cutoff))
        for name, ranking in rankings.systems.items()
    }
    judged = documents.places(rankings.judged_ids)
    copies = _Copies.of(documents, documents.by_importance(rankings, cutoff), config)
    grades = _Grades.of(inputs, copies, tops, judged, config.similarity)
    shared = grades.shared_values(inputs)
    main = inputs.scores.measures[0]
    systems = []
    for name, top in tops.items():
        wasted, exact, queries = top.wasted(copies, cutoff, config.similarity)
        value = inputs.scores.run(name).means[main]
        systems.append(
            SystemCopies(
                system=name,
                places=int(np.count_nonzero(top.rank <= cutoff)),
                wasted=wasted,
                wasted_exact=exact,
                queries=queries,
                value=value if np.isfinite(value) else None,
                shared_value=shared.get(name),
            )
        )
    result = Duplicates(
        measure=main,
        cutoff=cutoff,
        queries=len(rankings.query_ids),
        corpus=len(inputs.corpus),
        looked_at=len(copies.places),
        without_text=int(np.count_nonzero(copies.text < 0)),
        looked_near=copies.looked_near,
        pairs_left_out=copies.near.left_out,
        similarity=config.similarity,
        shingle=config.shingle,
        exact=copies.count(copies.text),
        all_copies=copies.count(copies.group),
        groups=_groups(copies, documents, config.show),
        systems=tuple(systems),
        contradicting=grades.contradicting,
        unjudged=grades.unjudged,
        graded_apart=grades.examples(inputs, documents, config.show),
    )
    return result.model_copy(
        update={
            "findings": tuple(_findings(result, grades)),
            "advice": _advice(result, grades, inputs),
        }
    )


def _groups(copies: _Copies, documents: DocumentTexts, show: int) -> tuple[CopyGroup, ...]:
    """Describe the largest groups."""
    assert documents.corpus is not None
    ids = documents.corpus.ids
    sizes = np.bincount(copies.group)
    largest = np.argsort(-sizes, kind="stable")[:show]
    described = []
    for group in largest[sizes[largest] > 1].tolist():
        members = np.flatnonzero(copies.group == group)
        is_exact = bool((copies.text[members] == copies.text[members[0]]).all())
        named = [ids[place] for place in np.sort(copies.places[members])[:3]]
        described.append(
            CopyGroup(
                kind="exact" if is_exact else "near",
                size=len(members),
                documents=tuple(
                    CopyMember(doc_id=doc_id, title=documents.title(doc_id)) for doc_id in named
                ),
            )
        )
    return tuple(described)


# --- in answers ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Top:
    """The first documents of all answers of a system, by query and rank."""

    query: IntArray
    rank: IntArray
    place: IntArray
    """In the corpus; -1: it is not there."""
    grade: FloatArray

    @classmethod
    def of(cls, ranking: Ranking, documents: DocumentTexts, depth: int) -> _Top:
        rows = np.flatnonzero(ranking.top(depth))
        ids = ranking.run.doc_ids.gather(ranking.source[rows]).cast(pl.String)
        return cls(
            ranking.query[rows], ranking.rank[rows], documents.places(ids), ranking.grade[rows]
        )

    def documents(self, copies: _Copies) -> IntArray:
        """By row: the number of the document among those looked at; -1: it is not there."""
        return np.where(self.place >= 0, copies.number[self.place], -1)

    def wasted(self, copies: _Copies, cutoff: int, threshold: float) -> tuple[int, int, int]:
        """Count documents in the first k that are copies of a higher one, and their answers."""
        shown = np.flatnonzero(self.rank <= cutoff)
        answer = self.query[shown], self.documents(copies)[shown]
        higher, lower, _ = copies.pairs(answer, answer, threshold)
        below = higher < lower  # rows come by rank
        wasted = np.unique(lower[below])
        same = copies.text[answer[1][higher]] == copies.text[answer[1][lower]]
        exact = np.unique(lower[below & same])
        return len(wasted), len(exact), len(np.unique(answer[0][wasted]))


# --- in judgments --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Grades:
    """Pairs of copies under one query of which one is relevant and the other is not known to be."""

    query: IntArray
    relevant: IntArray
    """The document that is judged relevant, by its place in the corpus."""
    grade: FloatArray
    other: IntArray
    """Its copy, by its place in the corpus."""
    other_grade: FloatArray
    """NaN: unjudged."""
    similarity: FloatArray
    is_apart: BoolArray
    """By pair: whether the copy counts as nonrelevant; otherwise its grade is lower."""

    @classmethod
    def of(
        cls,
        inputs: Inputs,
        copies: _Copies,
        tops: Mapping[str, _Top],
        judged: IntArray,
        threshold: float,
    ) -> _Grades:
        """Pair relevant documents with copies that are judged, or in an answer."""
        rankings, measure = inputs.rankings, inputs.main
        query, grade = rankings.judged_query, rankings.judged_grade
        relevant = np.flatnonzero(counts_as_relevant(measure, grade) & (judged >= 0))
        seen = _Seen.of(query, judged, grade, tops)
        first, second, alike = copies.pairs(
            (query[relevant], copies.number[judged[relevant]]),
            (seen.query, copies.number[seen.place]),
            threshold,
        )
        high, low = grade[relevant[first]], seen.grade[second]
        lower = ~(low >= high)
        first, second, alike = first[lower], second[lower], alike[lower]
        other_grade = seen.grade[second]
        return cls(
            query=seen.query[second],
            relevant=judged[relevant[first]],
            grade=grade[relevant[first]],
            other=seen.place[second],
            other_grade=np.where(other_grade >= 0, other_grade, np.nan),
            similarity=alike,
            is_apart=~counts_as_relevant(measure, other_grade),
        )

    @property
    def contradicting(self) -> int:
        return int(np.count_nonzero(self.is_apart & ~np.isnan(self.other_grade)))

    @property
    def unjudged(self) -> int:
        return int(np.count_nonzero(np.isnan(self.other_grade)))

    def relevant_documents(self, *, unjudged: bool) -> int:
        """Count relevant documents with a copy that is unjudged, or judged nonrelevant."""
        pairs = self.is_apart & (np.isnan(self.other_grade) == unjudged)
        return len(np.unique(keyed(self.query[pairs], self.relevant[pairs])))

    @property
    def queries(self) -> int:
        return len(np.unique(self.query[self.is_apart]))

    def query_ids(self, qrels: Judgments) -> list[str]:
        """Return the queries with such pairs."""
        return [qrels.query_ids[query] for query in np.unique(self.query).tolist()]

    def shared_values(self, inputs: Inputs) -> dict[str, float | None]:
        """Return the mean of the main measure by system, if copies shared their highest grade."""
        assert inputs.qrels is not None
        assert inputs.scores is not None
        assert inputs.runs is not None
        assert inputs.corpus is not None
        scores, qrels, measure = inputs.scores, inputs.qrels, inputs.main
        means = {name: scores.run(name).means[str(measure)] for name in inputs.runs}
        if qrels.has_subtopics or qrels.gold is not None or measure.needs:
            return dict.fromkeys(means)
        if len(self.query):
            ids = inputs.corpus.ids
            grades = dict(qrels.by_query)
            changed = {query_id: dict(grades[query_id]) for query_id in self.query_ids(qrels)}
            for query, place, grade in zip(
                self.query.tolist(), self.other.tolist(), self.grade.tolist(), strict=True
            ):
                documents = changed[qrels.query_ids[query]]
                documents[ids[place]] = max(documents.get(ids[place], grade), grade)
            grades.update(changed)
            # what was asked for is in the names of the measures already
            profile = replace(scores.profile, meaning=lambda measure: measure)
            again = evaluate(Judgments(grades), dict(inputs.runs), [measure], profile=profile)
            means = {name: again.run(name).means[str(measure)] for name in means}
        return {name: mean if np.isfinite(mean) else None for name, mean in means.items()}

    def examples(
        self, inputs: Inputs, documents: DocumentTexts, show: int
    ) -> tuple[GradedApart, ...]:
        assert inputs.corpus is not None
        ids, query_ids = inputs.corpus.ids, inputs.rankings.query_ids
        texts = {query_id: text for query_id, text, _ in inputs.queries or ()}
        apart = np.flatnonzero(self.is_apart)
        judged_first = np.lexsort((-self.grade[apart], np.isnan(self.other_grade[apart])))
        shown = apart[judged_first[:show]].tolist()
        return tuple(
            GradedApart(
                query_id=query_ids[self.query[pair]],
                text=texts.get(query_ids[self.query[pair]]),
                relevant=ids[self.relevant[pair]],
                grade=self.grade[pair],
                copy_id=ids[self.other[pair]],
                copy_grade=None if np.isnan(self.other_grade[pair]) else self.other_grade[pair],
                similarity=self.similarity[pair],
                title=documents.title(ids[self.other[pair]]),
            )
            for pair in shown
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """The documents of each query that are judged or in an answer, each once."""

    query: IntArray
    place: IntArray
    grade: FloatArray

    @classmethod
    def of(
        cls, query: IntArray, place: IntArray, grade: FloatArray, tops: Mapping[str, _Top]
    ) -> _Seen:
        frame = pl.concat(
            [
                pl.DataFrame({"query": q, "place": p, "grade": g})
                for q, p, g in [
                    (query, place, grade),
                    *((top.query, top.place, top.grade) for top in tops.values()),
                ]
            ]
        )
        once = frame.filter(pl.col("place") >= 0).unique(
            ["query", "place"], keep="first", maintain_order=True
        )
        return cls(*(once[name].to_numpy() for name in ("query", "place", "grade")))


def _findings(result: Duplicates, grades: _Grades) -> list[Finding]:
    findings = []
    copies = result.all_copies
    if copies.superfluous >= MANY * result.looked_at:
        findings.append(
            COPIES_IN_CORPUS.finding(
                f"{counted(copies.superfluous, 'document')} of {result.looked_at:,} "
                f"({share_of(copies.superfluous, result.looked_at)}) repeat the text of another "
                f"({result.exact.superfluous:,} of them exactly)",
                count=copies.superfluous,
                evidence={"exact": result.exact.to_dict(), "all": copies.to_dict()},
            )
        )
    findings += [
        WASTED_PLACES.finding(
            f"{system.system} spends {system.wasted:,} of {system.places:,} places "
            f"({share_of(system.wasted, system.places)}) on copies of documents higher up in the "
            f"same answer, in {counted(system.queries, 'query')}",
            count=system.wasted,
            evidence=system.to_dict(),
        )
        for system in result.systems
        if system.wasted and system.wasted >= MANY * system.places
    ]
    pairs = result.contradicting + result.unjudged
    if pairs:
        findings.append(
            CONTRADICTING_GRADES.finding(
                _apart(grades),
                count=pairs,
                evidence={"contradicting": result.contradicting, "unjudged": result.unjudged},
            )
        )
    return findings


def _apart(grades: _Grades) -> str:
    """Say how many relevant documents have which copies."""
    kinds = (
        (False, "a copy that is judged nonrelevant for the same query"),
        (True, "an unjudged copy"),
    )
    parts = []
    for unjudged, words in kinds:
        count = grades.relevant_documents(unjudged=unjudged)
        if count:
            has = "has" if count == 1 else "have"
            parts.append(f"{counted(count, 'relevant document')} {has} {words}")
    return ", and ".join(parts)


def _advice(result: Duplicates, grades: _Grades, inputs: Inputs) -> tuple[Advice, ...]:
    system = next(system for system in result.systems if system.system == inputs.focus)
    if (
        inputs.main.definition.aggregate != "mean"
        or system.value is None
        or system.shared_value in (None, system.value)
        or not grades.queries
    ):
        return ()
    change = system.shared_value - system.value
    kinds = {"judged nonrelevant": grades.contradicting, "unjudged": grades.unjudged}
    are = " or ".join(words for words, count in kinds.items() if count)
    return (
        Advice(
            text=f"Judgments: {counted(grades.queries, 'question')} of {result.queries:,} "
            f"{'has' if grades.queries == 1 else 'have'} copies of relevant documents that are "
            f"{are}; with the same grade {result.measure} of "
            f"{system.system} would be {system.shared_value:.3f} instead of {system.value:.3f} "
            f"({change:+.3f})",
            gain=abs(change),
        ),
    )


DUPLICATES = register(
    Analysis(
        name="duplicates",
        title="Duplicates",
        summary="Copies of texts in the corpus, in answers, and under contradicting grades.",
        config=DuplicatesConfig,
        written="duplicates: {similarity: 0.8}",
        result=Duplicates,
        needs=("scores", "runs", "qrels", "corpus"),
        uses=("queries", "titles"),
        look=_look,
        section=duplicate_section,
        codes=(COPIES_IN_CORPUS, WASTED_PLACES, CONTRADICTING_GRADES),
        place=70,
    )
)
