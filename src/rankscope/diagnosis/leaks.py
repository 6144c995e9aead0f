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
from typing import TYPE_CHECKING, Literal, NamedTuple

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
    Words,
    chunks,
    keyed,
    normal_form,
    occurrences,
    word_forms,
)
from rankscope.diagnosis.near_copies import near_copies
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
    from rankscope.diagnosis.query_fields import Query
    from rankscope.measures.judged import FloatArray, IntArray

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
    "is a document",
    "is a training question",
    "is nearly a training question",
]
"""How a question leaks; one may leak in several ways."""

KINDS: dict[LeakKind, tuple[Code, str]] = {
    "quotes a relevant document": (
        WORDS_IN_CORPUS,
        "its words, in their order, are in a relevant document",
    ),
    "is a document": (QUERY_IN_CORPUS, "all of a document's title or text"),
    "is a training question": (TRAINED_ON, "the same words as one in training"),
    "is nearly a training question": (TRAINED_ON, "nearly the same words as one in training"),
}
"""By kind: its finding, and what it means."""


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
    if not questions.ids:
        raise CannotAnalyseError("no judged query has a text")
    leaked: dict[LeakKind, dict[int, _Source]] = {}
    looked_at = 0
    if inputs.corpus is not None:
        leaked, looked_at = _quoted(config, inputs, questions)
    if inputs.training is not None:
        leaked |= _trained(config, inputs.training, questions)
    result = Leaks(
        measure=str(inputs.main),
        queries=len(questions.ids),
        short=int(np.count_nonzero(questions.words.sizes < config.words)),
        corpus=None if inputs.corpus is None else len(inputs.corpus),
        looked_at=looked_at,
        training=None if inputs.training is None else len(inputs.training),
        kinds=tuple(
            LeakCount(kind=kind, queries=len(sources), share=len(sources) / len(questions.ids))
            for kind, sources in leaked.items()
        ),
        means=tuple(_means(leaked, questions, inputs)),
        examples=tuple(
            LeakExample(
                kind=kind,
                query_id=questions.ids[question],
                text=questions.texts[question],
                source=source.name,
                source_text=source.text,
                similarity=source.similarity,
            )
            for kind, sources in leaked.items()
            for question, source in list(sources.items())[: config.show]
        ),
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
    leaked: Mapping[LeakKind, Mapping[int, _Source]], questions: _Questions, inputs: Inputs
) -> Iterator[LeakedMeans]:
    """Compare questions that leak with the others, for each kind and system.

    Intervals hold for all of them at once, and agree with the corrected p-values.
    """
    assert inputs.scores is not None
    if inputs.main.definition.aggregate != "mean":
        return
    groups: list[tuple[LeakKind, str, FloatArray, FloatArray]] = []
    for kind, sources in leaked.items():
        ids = {questions.ids[question] for question in sources}
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
        if not count.queries or (is_rare and not doubt):
            continue
        message = f"{count.queries:,} of {counted(result.queries, 'question')}: each {kind}"
        if row is not None and doubt:
            message += (
                f"; {row.system} has {result.measure} of {row.leaked:.3f} on them and "
                f"{row.others:.3f} on the others, so {doubt:.3f} of its mean is in doubt"
            )
        is_near = kind == "is nearly a training question"
        finding = code.finding(message, count=count.queries, severity="note" if is_near else None)
        yield finding.model_copy(update={"gain": doubt or None})


# --- what leaks ----------------------------------------------------------------------------------


class _Source(NamedTuple):
    """Where a question leaks from."""

    name: str
    text: str | None
    similarity: float | None = None


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


def _quoted(
    config: LeaksConfig, inputs: Inputs, questions: _Questions
) -> tuple[dict[LeakKind, dict[int, _Source]], int]:
    """Find the questions that occur word for word in documents, and how many were looked at."""
    assert inputs.corpus is not None
    documents, rankings, corpus = inputs.texts, inputs.rankings, inputs.corpus
    order = documents.by_importance(rankings, inputs.cutoff)
    sizes = corpus.texts().str.len_chars().to_numpy().astype(np.int64)
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
    is_relevant = np.isin(keyed(questions.query[question], place), gold)
    leaked: dict[LeakKind, dict[int, _Source]] = {
        "quotes a relevant document": {},
        "is a document": {},
    }
    ids = corpus.ids if len(question) else ()
    forms = word_forms(questions.texts)
    for pair in np.argsort(question, kind="stable").tolist():
        number, doc_id = int(question[pair]), ids[place[pair]]
        title, body = word_forms([corpus[doc_id].title, corpus[doc_id].text])
        if forms[number] in (title, body, f"{title} {body}".strip()):
            kind: LeakKind = "is a document"
        elif is_relevant[pair]:
            kind = "quotes a relevant document"
        else:
            continue
        leaked[kind].setdefault(number, _Source(doc_id, documents.title(doc_id)))
    return leaked, len(order)


def _trained(
    config: LeaksConfig, training: Sequence[Query], questions: _Questions
) -> dict[LeakKind, dict[int, _Source]]:
    """Find the questions that are training questions, exactly or nearly."""
    texts = [text for _, text, _ in training]
    learnt: dict[str, int] = {}
    for place, form in enumerate(word_forms(texts)):
        if form:
            learnt.setdefault(form, place)
    exact = {
        question: _Source(*training[learnt[form]][:2])
        for question, form in enumerate(word_forms(questions.texts))
        if form in learnt
    }
    # the others together with all training questions: the pairs of one of each are looked at
    left = [question for question in range(len(questions.ids)) if question not in exact]
    forms = [normal_form(questions.texts[question]) for question in left]
    words = Words.of([*forms, *map(normal_form, texts)])
    copies = near_copies(words, width=config.shingle, threshold=config.similarity)
    mixed = np.flatnonzero((copies.left < len(left)) & (copies.right >= len(left)))
    nearest = np.lexsort((copies.right[mixed], -copies.similarity[mixed], copies.left[mixed]))
    near: dict[int, _Source] = {}
    for pair in mixed[nearest].tolist():
        name, text, _ = training[copies.right[pair] - len(left)]
        near.setdefault(left[copies.left[pair]], _Source(name, text, copies.similarity[pair]))
    return {"is a training question": exact, "is nearly a training question": near}
