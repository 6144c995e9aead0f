"""Documents reordered by a language model, one by one, in pairs, or as lists.

``{rerank: {of: SYSTEM, llm: {url: http://host/v1, model: NAME, method: listwise}}}``. What the
model cannot order stays as the system below had it, and is counted; no query is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from rankscope.collection.corpus import Corpus
from rankscope.retrieval.llm.chat import Asking, Chat
from rankscope.retrieval.llm.llm_options import ChatOptions
from rankscope.retrieval.llm.prompts import read_prompt
from rankscope.retrieval.llm.reranking_methods import listwise, pairwise, pointwise
from rankscope.retrieval.llm.reranking_questions import Questions
from rankscope.retrieval.options import SpecError
from rankscope.retrieval.protocol import Capabilities
from rankscope.retrieval.registry import Context
from rankscope.retrieval.stages.rerank import RERANKERS, Candidates, Reranker, Scored
from rankscope.retrieval.texts import Fields, Texts


class LlmRerankerOptions(ChatOptions):
    """A model, and how it is asked."""

    method: Literal["listwise", "pairwise", "pointwise"] = "listwise"
    """listwise: lists in a sliding window, from the bottom up; pairwise: two documents at a time,
    in both orders; pointwise: a grade for each document."""
    window: int = Field(default=20, ge=2, le=100)
    """listwise: how many documents the model sees at once."""
    step: int = Field(default=10, ge=1)
    """listwise: how many documents the window moves up."""
    passes: int = Field(default=5, ge=1)
    """pairwise: how often the list is gone through from the bottom up; so many documents at the
    top are then settled."""
    fields: Fields | None = None
    """What is read of a document, as in bm25. If not given, title and text, under whatever name the
    corpus has them."""

    @model_validator(mode="after")
    def _windows_meet(self) -> Self:
        if self.step >= self.window:
            raise SpecError(
                f"a window of {self.window} documents cannot move by {self.step}; the step must be "
                "smaller, so that windows overlap"
            )
        return self


@RERANKERS.add("llm", LlmRerankerOptions, summary="a language model, one by one, in pairs or lists")
class LlmReranker(Asking, Reranker):
    """A language model after a system."""

    capabilities = Capabilities(deterministic=False, concurrent=True, remote=True)
    seconds_to_answer = 60.0

    def __init__(self, options: LlmRerankerOptions, context: Context) -> None:
        self.options: LlmRerankerOptions = options
        path = None if options.prompt is None else context.path(options.prompt)
        places = ("query", "documents", "count")
        self._prompt = read_prompt(f"rerank-{options.method}", path, places)
        part = f"the reranker llm ({options.method})"
        self._chat = Chat(options, context, part=part, owner=self)
        self._corpus: Corpus | None = None
        self._texts: Texts | None = None

    def index(self, corpus: Corpus) -> None:
        """Take the texts that are to be read."""
        if corpus is not self._corpus:
            self._texts = Texts.of(corpus, self.options.fields)
            self._corpus = corpus

    def described(self) -> dict[str, Any]:
        """Say what reorders, and what it reads."""
        options = self.options
        methods: dict[str, dict[str, Any]] = {
            "listwise": {"window": options.window, "step": options.step},
            "pairwise": {"passes": options.passes},
            "pointwise": {},
        }
        return {
            "reranker": "llm",
            "method": options.method,
            **methods[options.method],
            "prompt": self._prompt.sha256,
            **options.named(),
            "fields": options.fields,
            "texts": None if self._texts is None else self._texts.snapshot,
        }

    def scores(self, batch: Sequence[Candidates]) -> list[Scored]:
        """Reorder the candidates of each query, several queries at a time.

        The time of a query is that of its own questions, though others are asked meanwhile.
        """
        return [
            Scored(scores, seconds)
            for scores, seconds in self._chat.each_timed(self._scored, batch)
        ]

    def _scored(self, candidates: Candidates) -> Sequence[float] | str:
        if self._texts is None:
            return "the reranker llm reads documents, and there is no corpus to read them from"
        texts = candidates.read(self._texts)
        if isinstance(texts, str):
            return texts
        questions = Questions(self._chat, self._prompt, candidates.query, texts)
        scores = [0.0] * len(texts)
        order = self._order(questions, len(texts))
        for rank, place in enumerate(order):
            scores[place] = float(len(texts) - rank)
        return scores

    def _order(self, questions: Questions, count: int) -> list[int]:
        """Return the places of the candidates, best first."""
        options = self.options
        if count < 2:
            return [*range(count)]
        if options.method == "listwise":
            return listwise(count, questions.ranking, window=options.window, step=options.step)
        if options.method == "pairwise":
            return pairwise(count, questions.preferred, passes=options.passes)
        return pointwise(questions.grades())
