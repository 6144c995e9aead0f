"""Leaks: test questions that something was trained on.

A question that a model learnt from is no test of it. Texts are compared by their words, without
case, spacing and punctuation; near copies share most of all two words in a row
(`rankscope.diagnosis.near_copies`). Questions whose words are all in a relevant document are no
leak: they are a group of `rankscope.diagnosis.segments`, by their overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import Analysed, Config, Inputs, analysis
from rankscope.diagnosis.document_texts import Words, normal_form, word_forms
from rankscope.diagnosis.near_copies import near_copies
from rankscope.diagnosis.show import part_table
from rankscope.document.blocks import Block, shortened
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.part import Part, PrivateText, left_out

if TYPE_CHECKING:
    from rankscope.diagnosis.query_fields import Query

TRAINED_ON = declare(
    "RS648",
    "questions-in-training",
    "warning",
    unit="query",
    advice="take these questions out of the training data, or out of the test",
    meaning="""A test question is also a training question, with the same words or nearly so: a
    system that learnt from it is not tested by it.""",
)

LeakKind = Literal["is a training question", "is nearly a training question"]
"""How a question leaks: with the same words as one in training, or nearly the same."""


class LeaksConfig(Config):
    """What counts as a leak, and how many examples are shown."""

    similarity: float = Field(default=0.8, ge=0.5, le=1)
    """From this Jaccard similarity on a training question is nearly the same."""
    shingle: int = Field(default=2, ge=1, le=20)
    """Of so many words in a row; questions are short, so fewer than for documents."""
    show: int = Field(default=3, ge=0)
    """How many examples of each kind are shown."""


class LeakExample(Part):
    """A question that leaks."""

    kind: LeakKind
    """How it leaks."""
    query_id: str
    """The question."""
    text: PrivateText
    """What is asked."""
    source: str
    """The training question, by its id."""
    source_text: PrivateText
    """What was asked in training."""
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


class Leaks(Analysed):
    """Questions that leak."""

    queries: int
    """Judged questions with a text."""
    training: int
    """Training questions."""
    kinds: tuple[LeakCount, ...]
    """By kind."""
    examples: tuple[LeakExample, ...]
    """The first questions of each kind."""


@analysis(
    title="Leaks",
    needs=("qrels", "queries", "training"),
    written="leaks: {similarity: 0.9}",
    place=80,
)
def leaks(config: LeaksConfig, inputs: Inputs) -> Leaks:
    """Test questions that something was trained on."""
    known, training = inputs.query_texts, inputs.training
    texts = {query_id: known[query_id] for query_id in inputs.qrels.query_ids if query_id in known}
    inputs.require(texts, "no judged query has a text")
    leaked = _leaked(config, training, texts)
    return Leaks(
        queries=len(texts),
        training=len(training),
        kinds=tuple(
            LeakCount(kind=kind, queries=len(sources), share=len(sources) / len(texts))
            for kind, sources in leaked.items()
        ),
        examples=tuple(
            LeakExample(
                kind=kind,
                query_id=query_id,
                text=texts[query_id],
                source=source.query_id,
                source_text=source.text,
                similarity=source.similarity,
            )
            for kind, sources in leaked.items()
            for query_id, source in list(sources.items())[: config.show]
        ),
    )


@leaks.find
def _find(result: Leaks, _: Inputs) -> Iterator[Finding]:
    for count in result.kinds:
        is_near = count.kind == "is nearly a training question"
        if count.queries:
            yield TRAINED_ON.finding(
                f"{count.queries:,} of {counted(result.queries, 'question')}: each {count.kind}",
                count=count.queries,
                severity="note" if is_near else None,
            )


@leaks.show
def _show(result: Leaks) -> Iterator[Block | None]:
    yield part_table(
        result.kinds,
        notes=[f"looked for among {counted(result.training, 'training question')}"],
        columns="kind: a question | queries: questions | share",
    )
    yield part_table(
        result.examples,
        "Examples",
        names=2,
        columns="kind: a question | question: text | origin: source | similarity",
    )


class _Source(NamedTuple):
    """The training question that a question is."""

    query_id: str
    text: str
    similarity: float | None = None


def _leaked(
    config: LeaksConfig, training: Sequence[Query], texts: Mapping[str, str]
) -> dict[LeakKind, dict[str, _Source]]:
    """Find the questions that are training questions, exactly or nearly."""
    learnt: dict[str, Query] = {}
    for form, query in zip(word_forms([text for _, text, _ in training]), training, strict=True):
        learnt.setdefault(form, query)
    forms = dict(zip(texts, word_forms(list(texts.values())), strict=True))
    exact = {
        query_id: _Source(*learnt[form][:2])
        for query_id, form in forms.items()
        if form and form in learnt
    }
    # the others together with all training questions: the pairs of one of each are looked at
    left = [query_id for query_id in texts if query_id not in exact]
    both = [*(texts[query_id] for query_id in left), *(text for _, text, _ in training)]
    words = Words.of([normal_form(text) for text in both])
    copies = near_copies(words, width=config.shingle, threshold=config.similarity)
    mixed = np.flatnonzero((copies.left < len(left)) & (copies.right >= len(left)))
    nearest = np.lexsort((copies.right[mixed], -copies.similarity[mixed], copies.left[mixed]))
    near: dict[str, _Source] = {}
    for pair in mixed[nearest].tolist():
        name, text, _ = training[copies.right[pair] - len(left)]
        near.setdefault(left[copies.left[pair]], _Source(name, text, copies.similarity[pair]))
    return {"is a training question": exact, "is nearly a training question": near}
