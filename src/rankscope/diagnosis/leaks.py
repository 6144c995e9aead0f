"""Leaks: questions whose words are in the corpus, or that something was trained on.

A question that was made of a document repeats its words, and a lexical system finds it without
understanding anything; a question that is a document of the corpus finds itself; a question that a
model was trained on is no test of it. Texts are compared by their words, without case, spacing and
punctuation. Questions of fewer than five words are passed over where words are looked for in
documents: short phrases occur by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import (
    Analysed,
    AnalysisConfig,
    CannotAnalyseError,
    Estimate,
    Inputs,
    Row,
    analysis,
)
from rankscope.diagnosis.document_texts import (
    DocumentTexts,
    Words,
    chunks,
    keyed,
    normal_form,
    occurrences,
    same_keys,
    word_forms,
)
from rankscope.diagnosis.likeness import near_copies
from rankscope.diagnosis.ranked_run import counts_as_relevant
from rankscope.diagnosis.show import part_table
from rankscope.document.blocks import Block, shortened
from rankscope.errors import counted
from rankscope.findings import Code, Finding, declare
from rankscope.part import Part, PrivateText, left_out
from rankscope.statistics.groups import group_difference
from rankscope.statistics.intervals import agreeing
from rankscope.statistics.tests import corrected

if TYPE_CHECKING:
    from rankscope.diagnosis.labels import Query
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray

FEWEST = 5
"""With fewer questions on either side no means are compared."""

MANY = 0.01
"""From this share of questions on quotes are worth a finding: one or the other occurs by itself."""

WORDS_IN_CORPUS = declare(
    "RS646",
    "questions-quote-documents",
    "note",
    unit="query",
    advice=(
        "real users do not quote documents: rephrase these questions, or report them apart from "
        "the others"
    ),
    meaning="""At least one in a hundred questions occurs word for word in a document that is judged
    relevant for it; questions of fewer than five words are passed over.""",
)

QUERY_IN_CORPUS = declare(
    "RS647",
    "questions-are-documents",
    "warning",
    unit="query",
    advice="take these documents out of the corpus, or out of the answers to their own question",
    meaning="""A question of at least five words is itself a document of the corpus: the same words
    are its whole text or its title.""",
)

TRAINED_ON = declare(
    "RS648",
    "questions-in-training",
    "warning",
    unit="query",
    advice="take these questions out of the training data, or out of the test",
    meaning="""A test question is also a training question, with the same words or nearly so: a
    system that learnt from it is not tested by it.""",
)

LeakKind = Literal[
    "quotes a relevant document",
    "quotes another document",
    "is a document",
    "is a training question",
    "is nearly a training question",
]
"""How a question leaks; one may leak in several ways. What quotes another document only is none."""

KINDS: dict[LeakKind, tuple[Code | None, str]] = {
    "quotes a relevant document": (
        WORDS_IN_CORPUS,
        "its words, in their order, are in a relevant document",
    ),
    "quotes another document": (None, "its words are only in other documents"),
    "is a document": (QUERY_IN_CORPUS, "all of a document's title or text"),
    "is a training question": (TRAINED_ON, "the same words as one in training"),
    "is nearly a training question": (TRAINED_ON, "nearly the same words as one in training"),
}
"""By kind: the finding, if it is a leak, and what it means."""


class LeaksConfig(AnalysisConfig):
    """What counts as a leak, and how much is looked at."""

    words: int = Field(default=5, ge=2, le=50)
    """Questions with fewer words are not looked for in documents."""
    similarity: float = Field(default=0.8, ge=0.5, le=1)
    """From this Jaccard similarity on a training question is nearly the same."""
    shingle: int = Field(default=2, ge=1, le=20)
    """Of so many words in a row; questions are short, so fewer than for documents."""
    characters: int = Field(default=10_000_000, ge=0)
    """How much text of documents is looked at: first of those that are judged or in the first k of
    an answer, then of others."""
    show: int = Field(default=3, ge=0)
    """How many examples of each kind are shown."""


class LeakedMeans(Row):
    """One system on questions that leak, and on all that do not leak in this way."""

    kind: LeakKind
    """How they leak."""
    leaked: float
    """The mean of the main measure over the questions that leak."""
    others: float
    """The mean over the others."""
    difference: Estimate | None
    """Their difference, by Welch's t; null where it cannot be known."""
    p_corrected: float | None
    """Of the difference, corrected by Holm over kinds and systems; null where it cannot be
    known."""


class LeakExample(Part):
    """A question that leaks."""

    kind: LeakKind
    """How it leaks."""
    query_id: str
    """The question."""
    text: PrivateText
    """What is asked."""
    source: str
    """The document, or the training question, by its id."""
    source_text: PrivateText
    """Its title, the beginning of its text, or what was asked in training."""
    similarity: float | None = left_out()
    """For near copies: how much is the same."""

    @property
    def question(self) -> str:
        """The question, as far as it may be shown."""
        return shortened(self.text or self.query_id)

    @property
    def origin(self) -> str:
        """Where it leaks from, as far as it may be shown."""
        return shortened(f"{self.source}: {self.source_text or ''}".rstrip(": "))


class LeakCount(Part):
    """Questions that leak in one way."""

    kind: LeakKind
    """The way."""
    queries: int
    """How many questions."""
    share: float
    """Of all questions with a text."""

    @property
    def meaning(self) -> str:
        """What the kind means."""
        return KINDS[self.kind][1]


class Leaks(Analysed):
    """Questions that leak."""

    measure: str
    """The main measure."""
    queries: int
    """Judged questions with a text."""
    short: int
    """How many of them have too few words to be looked for in documents."""
    corpus: int | None
    """Documents in the corpus; null: none was given."""
    looked_at: int
    """How many of them were looked at."""
    training: int | None
    """Training questions; null: none were given."""
    kinds: tuple[LeakCount, ...]
    """By kind, those that could be looked for."""
    means: tuple[LeakedMeans, ...]
    """By kind and system, where at least five questions are on either side."""
    examples: tuple[LeakExample, ...]
    """The first questions of each kind."""
    own_documents: dict[str, int]
    """By system: how many questions find themselves, as a document that nobody judged, in the first
    k."""


@analysis(
    "leaks",
    LeaksConfig,
    Leaks,
    title="Leaks",
    needs=("scores", "runs", "qrels", "queries"),
    uses=("corpus", "training", "titles"),
    written="leaks: {words: 8}",
    codes=(WORDS_IN_CORPUS, QUERY_IN_CORPUS, TRAINED_ON),
    place=80,
)
def leaks(config: LeaksConfig, inputs: Inputs) -> Leaks:
    """Questions whose words are in the corpus, or that something was trained on."""
    if inputs.corpus is None and inputs.training is None:
        raise CannotAnalyseError("neither a corpus nor training questions were given")
    questions = _Questions.of(inputs)
    if not len(questions):
        raise CannotAnalyseError("no judged query has a text")
    leaked: dict[LeakKind, _Leaked] = {}
    quotes = None if inputs.corpus is None else _Quotes.of(config, inputs, questions)
    if quotes is not None:
        leaked |= quotes.leaked(questions, config.show)
    if inputs.training is not None:
        leaked |= _trained(config, inputs.training, questions)
    result = Leaks(
        measure=str(inputs.main),
        queries=len(questions),
        short=int(np.count_nonzero(questions.words.sizes < config.words)),
        corpus=None if inputs.corpus is None else len(inputs.corpus),
        looked_at=0 if quotes is None else quotes.looked_at,
        training=None if inputs.training is None else len(inputs.training),
        kinds=tuple(
            LeakCount(kind=kind, queries=len(asked), share=len(asked) / len(questions))
            for kind, (asked, _) in leaked.items()
        ),
        means=tuple(_means(leaked, questions, inputs)),
        examples=tuple(example for _, examples in leaked.values() for example in examples),
        own_documents={} if quotes is None else quotes.own_documents(inputs, questions),
    )
    return result.model_copy(update={"findings": tuple(_findings(result, inputs))})


@leaks.show
def _show(result: Leaks) -> Iterator[Block | None]:
    notes = []
    if result.corpus is not None:
        notes.append(
            f"looked for in {result.looked_at:,} of {counted(result.corpus, 'document')}, without "
            f"{counted(result.short, 'question')} of too few words"
        )
    if result.training is not None:
        notes.append(f"looked for among {counted(result.training, 'training question')}")
    yield part_table(
        result.kinds,
        notes=notes,
        kind="a question",
        queries="questions",
        share="share",
        meaning="what it is",
    )
    yield part_table(
        result.means,
        f"{result.measure} on questions that leak",
        notes=["differences by Welch's t, p by Holm; such questions may also be easier by nature"],
        names=2,
        kind="a question",
        system="system",
        leaked="on them",
        others="on the others",
        difference="difference",
        p_corrected="p",
    )
    yield part_table(
        result.examples,
        "Examples",
        names=2,
        kind="a question",
        question="text",
        origin="source",
        similarity="similarity",
    )


def _means(
    leaked: Mapping[LeakKind, _Leaked], questions: _Questions, inputs: Inputs
) -> Iterator[LeakedMeans]:
    """Compare questions that leak with the others, for each kind and system.

    Intervals hold for all of them at once, and agree with the corrected p-values.
    """
    assert inputs.scores is not None
    if inputs.main.definition.aggregate != "mean":
        return
    groups: list[tuple[LeakKind, str, FloatArray, FloatArray]] = []
    for kind, (asked, _) in leaked.items():
        ids = {questions.ids[question] for question in asked.tolist()}
        for name in inputs.scores.runs:
            values = inputs.scores.values(str(inputs.main), name)
            is_leaked = np.array([query_id in ids for query_id in values], np.bool_)
            by_query = np.array(list(values.values()))
            if FEWEST <= np.count_nonzero(is_leaked) <= len(by_query) - FEWEST:
                groups.append((kind, name, by_query[is_leaked], by_query[~is_leaked]))
    alpha, bounds = inputs.settings.alpha, inputs.main.definition.range
    tests = [
        group_difference(on_them, on_others, level=1 - alpha / len(groups), bounds=bounds)
        for _, _, on_them, on_others in groups
    ]
    known = iter(corrected([test.p for test in tests if test.p is not None], "holm").tolist())
    for (kind, name, *_), test in zip(groups, tests, strict=True):
        p, difference = None if test.p is None else next(known), None
        if test.interval is not None and p is not None:
            around = agreeing(test.interval, test.difference, p, alpha)
            difference = Estimate(value=test.difference, low=around.low, high=around.high)
        yield LeakedMeans(
            kind=kind,
            system=name,
            leaked=test.first,
            others=test.second,
            difference=difference,
            p_corrected=p,
        )


def _findings(result: Leaks, inputs: Inputs) -> Iterator[Finding]:
    """Say what leaks, and how much of the best system's mean that puts in doubt, if certain."""
    assert inputs.scores is not None
    sign = 1 if inputs.main.definition.higher_is_better else -1
    best = {row.kind: row for row in result.means if row.system == inputs.focus}
    for count in result.kinds:
        code, kind = KINDS[count.kind][0], count.kind
        row = best.get(kind)
        doubt = 0.0
        if (
            row is not None
            and row.p_corrected is not None
            and row.p_corrected <= inputs.settings.alpha
            and sign * (row.leaked - row.others) > 0
        ):
            doubt = sign * (inputs.scores.run(row.system).means[result.measure] - row.others)
        is_rare = kind == "quotes a relevant document" and count.share < MANY
        if code is None or not count.queries or (is_rare and not doubt):
            continue
        message = f"{count.queries:,} of {counted(result.queries, 'question')}: each {kind}"
        if kind == "is a document" and any(result.own_documents.values()):
            most = max(result.own_documents, key=result.own_documents.__getitem__)
            message += (
                f"; {most} has {result.own_documents[most]:,} of them, unjudged, on top of their "
                "own answer"
            )
        if row is not None and doubt:
            message += (
                f"; {row.system} has {result.measure} of {row.leaked:.3f} on them and "
                f"{row.others:.3f} on the others, so {doubt:.3f} of its mean is in doubt"
            )
        is_near = kind == "is nearly a training question"
        finding = code.finding(message, count=count.queries, severity="note" if is_near else None)
        yield finding.model_copy(update={"gain": doubt or None})


_Leaked = tuple["IntArray", list[LeakExample]]
"""The questions that leak in one way, and the first of them described."""


@dataclass(frozen=True, slots=True, eq=False)
class _Questions:
    """The judged questions whose text is known."""

    query: IntArray
    """By question: the number of its query."""
    ids: list[str]
    texts: list[str]
    words: Words

    @classmethod
    def of(cls, inputs: Inputs) -> _Questions:
        known = {query_id: text for query_id, text, _ in inputs.queries or ()}
        pairs = [
            (query, query_id)
            for query, query_id in enumerate(inputs.rankings.query_ids)
            if query_id in known
        ]
        texts = [known[query_id] for _, query_id in pairs]
        return cls(
            np.array([query for query, _ in pairs], np.int64),
            [query_id for _, query_id in pairs],
            texts,
            Words.of([normal_form(text) for text in texts]),
        )

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True, eq=False)
class _Quotes:
    """Which questions occur word for word in which documents."""

    question: IntArray
    place: IntArray
    """Of the document in the corpus."""
    is_relevant: BoolArray
    is_whole: BoolArray
    """Whether the question is the whole title, the whole text, or both together."""
    documents: DocumentTexts
    looked_at: int

    @classmethod
    def of(cls, config: LeaksConfig, inputs: Inputs, questions: _Questions) -> _Quotes:
        assert inputs.corpus is not None
        documents = inputs.texts
        rankings = inputs.rankings
        order = documents.by_importance(rankings, inputs.cutoff)
        sizes = inputs.corpus.texts().str.len_chars().to_numpy().astype(np.int64)
        ends = np.cumsum(sizes[order])
        order = order[: int(np.searchsorted(ends, config.characters, "right"))]
        asked, places = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for part in chunks(sizes[order]):
            words = Words.of(documents.forms(order[part]))
            question, text = occurrences(questions.words, words, config.words)
            asked.append(question)
            places.append(order[part][text])
        question, place = np.concatenate(asked), np.concatenate(places)
        relevant = counts_as_relevant(inputs.main, rankings.judged_grade)
        judged = documents.places(rankings.judged_ids)
        gold = keyed(rankings.judged_query[relevant], judged[relevant])
        return cls(
            question=question,
            place=place,
            is_relevant=np.isin(keyed(questions.query[question], place), gold),
            is_whole=_is_whole(question, place, questions, documents),
            documents=documents,
            looked_at=len(order),
        )

    def leaked(self, questions: _Questions, show: int) -> dict[LeakKind, _Leaked]:
        """Tell quotes of relevant documents from those of others, and both from own documents."""
        quoted = ~self.is_whole
        in_relevant = quoted & self.is_relevant
        masks: dict[LeakKind, BoolArray] = {
            "quotes a relevant document": in_relevant,
            "quotes another document": quoted & ~np.isin(self.question, self.question[in_relevant]),
            "is a document": self.is_whole,
        }
        return {kind: self._leaked(mask, kind, questions, show) for kind, mask in masks.items()}

    def _leaked(self, mask: BoolArray, kind: LeakKind, questions: _Questions, show: int) -> _Leaked:
        assert self.documents.corpus is not None
        pairs = np.flatnonzero(mask)
        asked, first = np.unique(self.question[pairs], return_index=True)
        ids = self.documents.corpus.ids if len(asked) else []
        examples = []
        for pair in pairs[first[:show]].tolist():
            doc_id, question = ids[self.place[pair]], self.question[pair]
            examples.append(
                LeakExample(
                    kind=kind,
                    query_id=questions.ids[question],
                    text=questions.texts[question],
                    source=doc_id,
                    source_text=self.documents.title(doc_id),
                )
            )
        return asked, examples

    def own_documents(self, inputs: Inputs, questions: _Questions) -> dict[str, int]:
        """By system: how many questions have themselves, unjudged, in the first k."""
        rankings = inputs.rankings
        pairs = np.flatnonzero(self.is_whole)
        keys = keyed(questions.query[self.question[pairs]], self.place[pairs])
        counts = {}
        for name, ranking in rankings.systems.items():
            rows = np.flatnonzero(
                ranking.top(inputs.cutoff)
                & ~ranking.is_judged
                & np.isin(ranking.query, questions.query[self.question[pairs]])
            )
            places = self.documents.places(ranking.run.doc_ids.gather(ranking.source[rows]))
            hits = np.isin(keyed(ranking.query[rows], places), keys)
            counts[name] = len(np.unique(ranking.query[rows[hits]]))
        return counts


def _is_whole(
    question: IntArray, place: IntArray, questions: _Questions, documents: DocumentTexts
) -> BoolArray:
    """By pair: whether the question is all of the document's title, text, or both."""
    assert documents.corpus is not None
    where, pair = np.unique(place, return_inverse=True)
    ids = documents.corpus.ids if len(where) else []
    quoted = [documents.corpus[ids[at]] for at in where.tolist()]
    titles = word_forms([document.title for document in quoted])
    texts = word_forms([document.text for document in quoted])
    asked = word_forms(questions.texts)
    whole = [
        asked[number] in (titles[at], texts[at], f"{titles[at]} {texts[at]}".strip())
        for number, at in zip(question.tolist(), pair.tolist(), strict=True)
    ]
    return np.array(whole, np.bool_)


def _trained(
    config: LeaksConfig, training: Sequence[Query], questions: _Questions
) -> dict[LeakKind, _Leaked]:
    """Find the questions that are training questions, exactly or nearly."""
    texts = [text for _, text, _ in training]
    learnt: dict[str, int] = {}
    for place, form in enumerate(word_forms(texts)):
        if form:
            learnt.setdefault(form, place)
    exact = {
        question: learnt[form]
        for question, form in enumerate(word_forms(questions.texts))
        if form in learnt
    }
    # the others together with all training questions: the pairs of one of each are looked at
    left = np.setdiff1d(np.arange(len(questions)), np.array(list(exact), np.int64))
    forms = [normal_form(questions.texts[question]) for question in left.tolist()]
    forms += [normal_form(text) for text in texts]
    copies = near_copies(Words.of(forms), width=config.shingle, threshold=config.similarity)
    first, second = same_keys(
        copies.group[: len(left)].astype(np.uint64), copies.group[len(left) :].astype(np.uint64)
    )
    alike = copies.similarity(first, second + len(left))
    order = np.lexsort((second, -alike, first))
    order = order[alike[order] >= config.similarity - 1e-9]
    asked, best = np.unique(first[order], return_index=True)
    near = {
        int(left[question]): (int(second[pair]), float(alike[pair]))
        for question, pair in zip(asked.tolist(), order[best].tolist(), strict=True)
    }

    def example(
        kind: LeakKind, question: int, place: int, similarity: float | None = None
    ) -> LeakExample:
        return LeakExample(
            kind=kind,
            query_id=questions.ids[question],
            text=questions.texts[question],
            source=training[place][0],
            source_text=training[place][1],
            similarity=similarity,
        )

    same: LeakKind = "is a training question"
    nearly: LeakKind = "is nearly a training question"
    return {
        same: (
            np.array(list(exact), np.int64),
            [example(same, *pair) for pair in list(exact.items())[: config.show]],
        ),
        nearly: (
            np.array(list(near), np.int64),
            [
                example(nearly, question, *pair)
                for question, pair in list(near.items())[: config.show]
            ],
        ),
    }
