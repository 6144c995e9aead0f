"""Leaks: questions whose words are in the corpus, or that something was trained on.

A question that was made of a document repeats its words, and a lexical system finds it without
understanding anything; a question that is a document of the corpus finds itself; a question that a
model was trained on is no test of it. Texts are compared by their words, without case, spacing and
punctuation. Questions of fewer than five words are passed over where words are looked for in
documents: short phrases occur by themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import (
    Advice,
    Analysed,
    Analysis,
    AnalysisConfig,
    Inputs,
    register,
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
from rankscope.diagnosis.leak_tables import leak_section
from rankscope.diagnosis.likeness import near_copies
from rankscope.diagnosis.ranked_run import counts_as_relevant
from rankscope.errors import counted
from rankscope.findings import Code, Finding, NotApplicable, declare
from rankscope.part import Part, PrivateText
from rankscope.statistics.correction import corrected
from rankscope.statistics.pairwise import agreeing
from rankscope.statistics.unpaired import group_difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankscope.diagnosis.labels import Query
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.statistics.intervals import Interval

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
"""How a question leaks; one may leak in several ways."""

KINDS: tuple[LeakKind, ...] = get_args(LeakKind)


class LeakedMeans(Part):
    """One system on questions that leak, and on all that do not leak in this way."""

    system: str
    """The system."""
    leaked: float
    """The mean of the main measure over the questions that leak."""
    others: float
    """The mean over the others."""
    low: float | None
    """Lower end of the interval of the difference, by Welch's t; null where it cannot be known."""
    high: float | None
    """Upper end."""
    p_corrected: float | None
    """Of the difference, by Welch's t, corrected by Holm over kinds and systems; null where there
    are fewer than five questions on a side, or values do not vary."""


class LeakExample(Part):
    """A question that leaks."""

    query_id: str
    """The question."""
    text: PrivateText
    """What is asked."""
    source: str
    """The document, or the training question, by its id."""
    source_text: PrivateText
    """Its title, the beginning of its text, or what was asked in training."""
    similarity: float | None = None
    """For near copies: how much is the same."""


class LeakCount(Part):
    """Questions that leak in one way."""

    kind: LeakKind
    """The way."""
    queries: int
    """How many questions."""
    share: float
    """Of all questions with a text."""
    means: tuple[LeakedMeans, ...]
    """By system; none where fewer than five questions are on a side."""
    examples: tuple[LeakExample, ...]
    """The first of them."""


class Leaks(Analysed):
    """Questions that leak."""

    measure: str
    """The main measure."""
    higher_is_better: bool
    """Whether more of it is better."""
    alpha: float
    """A corrected p-value up to this counts."""
    queries: int
    """Judged questions with a text."""
    words: int
    """Questions with fewer words are not looked for in documents."""
    short: int
    """How many questions have fewer."""
    corpus: int | None
    """Documents in the corpus; null: none was given."""
    looked_at: int
    """How many of them were looked at."""
    training: int | None
    """Training questions; null: none were given."""
    similarity: float
    """From this Jaccard similarity on questions are nearly the same."""
    shingle: int
    """Of so many words in a row."""
    kinds: tuple[LeakCount, ...]
    """By kind, those that could be looked for."""
    own_documents: dict[str, int]
    """By system: how many questions find themselves, as a document that nobody judged, in the first
    k."""


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
class _Leaked:
    """Pairs of a question and where it leaks from."""

    question: IntArray
    source: list[LeakExample]
    """By pair, of the first only: described."""


def _look(config: LeaksConfig, inputs: Inputs) -> Leaks | NotApplicable:
    assert inputs.scores is not None
    if inputs.corpus is None and inputs.training is None:
        return LEAKS.not_applicable("neither a corpus nor training questions were given")
    questions = _Questions.of(inputs)
    if not len(questions):
        return LEAKS.not_applicable("no judged query has a text")
    leaked: dict[LeakKind, _Leaked] = {}
    looked_at = 0
    own_documents: dict[str, int] = {}
    if inputs.corpus is not None:
        quotes = _Quotes.of(config, inputs, questions)
        looked_at = quotes.looked_at
        own_documents = quotes.own_documents(inputs, questions)
        leaked |= quotes.leaked(questions, config.show)
    if inputs.training is not None:
        leaked |= _trained(config, inputs.training, questions)
    kinds = _counts(leaked, questions, inputs, config.show)
    result = Leaks(
        measure=str(inputs.main),
        higher_is_better=inputs.main.definition.higher_is_better,
        alpha=inputs.settings.alpha,
        queries=len(questions),
        words=config.words,
        short=int(np.count_nonzero(questions.words.sizes < config.words)),
        corpus=None if inputs.corpus is None else len(inputs.corpus),
        looked_at=looked_at,
        training=None if inputs.training is None else len(inputs.training),
        similarity=config.similarity,
        shingle=config.shingle,
        kinds=kinds,
        own_documents=own_documents,
    )
    return result.model_copy(
        update={
            "findings": tuple(_findings(result)),
            "advice": _advice(result, inputs),
        }
    )


# --- in the corpus -------------------------------------------------------------------------------


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
        in_relevant = self._leaked(quoted & self.is_relevant, questions, show)
        elsewhere = quoted & ~np.isin(self.question, in_relevant.question)
        return {
            "quotes a relevant document": in_relevant,
            "quotes another document": self._leaked(elsewhere, questions, show),
            "is a document": self._leaked(self.is_whole, questions, show),
        }

    def _leaked(self, mask: BoolArray, questions: _Questions, show: int) -> _Leaked:
        assert self.documents.corpus is not None
        pairs = np.flatnonzero(mask)
        asked, first = np.unique(self.question[pairs], return_index=True)
        ids = self.documents.corpus.ids if len(asked) else []
        examples = []
        for pair in pairs[first[:show]].tolist():
            doc_id, question = ids[self.place[pair]], self.question[pair]
            examples.append(
                LeakExample(
                    query_id=questions.ids[question],
                    text=questions.texts[question],
                    source=doc_id,
                    source_text=self.documents.title(doc_id),
                )
            )
        return _Leaked(asked, examples)

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


# --- in training ---------------------------------------------------------------------------------


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

    def example(question: int, place: int, similarity: float | None = None) -> LeakExample:
        return LeakExample(
            query_id=questions.ids[question],
            text=questions.texts[question],
            source=training[place][0],
            source_text=training[place][1],
            similarity=similarity,
        )

    show = config.show
    return {
        "is a training question": _Leaked(
            np.array(list(exact), np.int64),
            [example(*pair) for pair in list(exact.items())[:show]],
        ),
        "is nearly a training question": _Leaked(
            np.array(list(near), np.int64),
            [example(question, *pair) for question, pair in list(near.items())[:show]],
        ),
    }


# --- what it means -------------------------------------------------------------------------------


def _counts(
    leaked: Mapping[LeakKind, _Leaked], questions: _Questions, inputs: Inputs, show: int
) -> tuple[LeakCount, ...]:
    """Count, and compare the means of questions that leak with those of the others."""
    assert inputs.scores is not None
    measure = str(inputs.main)
    is_mean = inputs.main.definition.aggregate == "mean"
    values = {name: inputs.scores.values(measure, name) for name in inputs.scores.runs}
    groups: list[tuple[LeakKind, str, FloatArray, FloatArray]] = []
    for kind, pairs in leaked.items():
        ids = {questions.ids[question] for question in pairs.question.tolist()}
        for name, by_query in values.items():
            on_them = np.array([value for query_id, value in by_query.items() if query_id in ids])
            on_others = np.array([v for query_id, v in by_query.items() if query_id not in ids])
            if is_mean and min(len(on_them), len(on_others)) >= FEWEST:
                groups.append((kind, name, on_them, on_others))
    compared = _compared(groups, inputs)
    return tuple(
        LeakCount(
            kind=kind,
            queries=len(leaked[kind].question),
            share=len(leaked[kind].question) / len(questions),
            means=tuple(row for of, row in compared if of == kind),
            examples=tuple(leaked[kind].source[:show]),
        )
        for kind in KINDS
        if kind in leaked
    )


def _compared(
    groups: Sequence[tuple[LeakKind, str, FloatArray, FloatArray]], inputs: Inputs
) -> list[tuple[LeakKind, LeakedMeans]]:
    """Compare two groups of questions for each kind and system.

    Intervals hold for all of them at once, and agree with the corrected p-values.
    """
    alpha = inputs.settings.alpha
    tests = [
        group_difference(
            on_them,
            on_others,
            level=1 - alpha / len(groups),
            bounds=inputs.main.definition.range,
        )
        for _, _, on_them, on_others in groups
    ]
    known = iter(corrected([test.p for test in tests if test.p is not None], "holm").tolist())
    rows = []
    for (kind, name, *_), test in zip(groups, tests, strict=True):
        interval, p = test.interval, None if test.p is None else next(known)
        if interval is not None and p is not None:
            interval = agreeing(interval, test.difference, p, alpha)
        row = LeakedMeans(
            system=name,
            leaked=test.first,
            others=test.second,
            low=_end(interval, "low"),
            high=_end(interval, "high"),
            p_corrected=p,
        )
        rows.append((kind, row))
    return rows


def _end(interval: Interval | None, end: Literal["low", "high"]) -> float | None:
    """Return an end of an interval; None where it is not known."""
    value = math.inf if interval is None else float(getattr(interval, end))
    return value if math.isfinite(value) else None


_CODES: dict[LeakKind, Code] = {
    "quotes a relevant document": WORDS_IN_CORPUS,
    "is a document": QUERY_IN_CORPUS,
    "is a training question": TRAINED_ON,
    "is nearly a training question": TRAINED_ON,
}

_SENTENCES: dict[LeakKind, tuple[str, str]] = {
    "quotes a relevant document": (
        "occurs word for word in a document that is relevant for it",
        "occur word for word in a document that is relevant for them",
    ),
    "is a document": ("is a document of the corpus", "are documents of the corpus"),
    "is a training question": ("is also a training question", "are also training questions"),
    "is nearly a training question": (
        "is nearly a training question",
        "are nearly training questions",
    ),
}
"""Of one question, and of several; what quotes another document only is no leak."""


def _sentence(result: Leaks, count: LeakCount) -> str:
    return (
        f"{counted(count.queries, 'question')} of {result.queries:,} "
        f"{_SENTENCES[count.kind][count.queries != 1]}"
    )


def _findings(result: Leaks) -> list[Finding]:
    findings = []
    for count in result.kinds:
        code = _CODES.get(count.kind)
        is_quote = count.kind == "quotes a relevant document"
        if code is None or not count.queries or (is_quote and count.share < MANY):
            continue
        message = _sentence(result, count)
        if count.kind == "is a document" and any(result.own_documents.values()):
            most = max(result.own_documents, key=result.own_documents.__getitem__)
            message += (
                f"; {most} has {result.own_documents[most]:,} of them, unjudged, on top of their "
                "own answer"
            )
        findings.append(
            code.finding(
                message,
                count=count.queries,
                evidence={"kind": count.kind, "queries": count.queries, "share": count.share},
                severity="note" if count.kind == "is nearly a training question" else None,
            )
        )
    return findings


def _advice(result: Leaks, inputs: Inputs) -> tuple[Advice, ...]:
    """Say how much of the best system's mean comes from questions that leak, if that is certain."""
    assert inputs.scores is not None
    sign = 1 if inputs.main.definition.higher_is_better else -1
    mean = inputs.scores.run(inputs.focus).means[result.measure]
    advice = []
    for count in result.kinds:
        for row in count.means:
            is_certain = row.p_corrected is not None and row.p_corrected <= result.alpha
            if (
                row.system == inputs.focus
                and count.kind in _SENTENCES
                and is_certain
                and sign * (row.leaked - row.others) > 0
            ):
                doubt = sign * (mean - row.others)
                advice.append(
                    Advice(
                        text=f"Leaks: {_sentence(result, count)}; {row.system} has "
                        f"{result.measure} of {row.leaked:.3f} on them and {row.others:.3f} on the "
                        f"others, so {doubt:.3f} of its mean is in doubt",
                        gain=doubt,
                    )
                )
    return tuple(advice)


LEAKS = register(
    Analysis(
        name="leaks",
        title="Leaks",
        summary="Questions whose words are in the corpus, or that something was trained on.",
        config=LeaksConfig,
        written="leaks: {words: 8}",
        result=Leaks,
        needs=("scores", "runs", "qrels", "queries"),
        uses=("corpus", "training", "titles"),
        look=_look,
        section=leak_section,
        codes=(WORDS_IN_CORPUS, QUERY_IN_CORPUS, TRAINED_ON),
        place=80,
    )
)
