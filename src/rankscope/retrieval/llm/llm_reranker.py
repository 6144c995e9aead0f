"""Documents reordered by a language model, one by one, in pairs, or as lists.

``{rerank: {of: SYSTEM, llm: {url: http://host/v1, model: NAME, method: listwise}}}``. What the
model cannot order stays as the system below had it, and is counted; no query is lost.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from rankscope.collection.corpus import Corpus
from rankscope.retrieval.llm.answer_forms import Form, read_grades, read_ranking
from rankscope.retrieval.llm.chat import Answer, Asking
from rankscope.retrieval.llm.llm_options import ChatOptions
from rankscope.retrieval.llm.prompts import document_blocks, query_block
from rankscope.retrieval.options import SpecError
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import Context
from rankscope.retrieval.stages.rerank import RERANKERS, Candidates, ReadingReranker, Scored
from rankscope.retrieval.texts import Fields

HIGHEST = 3
"""The highest grade of a document by itself."""


class LlmRerankerOptions(ChatOptions):
    """A model, and how it is asked."""

    method: Literal["listwise", "pointwise"] = "listwise"
    """listwise: lists in a sliding window, from the bottom up; pointwise: a grade for each
    document."""
    window: int = Field(default=20, ge=2, le=100)
    """listwise: how many documents the model sees at once."""
    step: int = Field(default=10, ge=1)
    """listwise: how many documents the window moves up."""
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


@RERANKERS.add("llm", LlmRerankerOptions, summary="a language model, one by one or in lists")
class LlmReranker(Asking, ReadingReranker):
    """A language model after a system."""

    def __init__(self, options: LlmRerankerOptions, context: Context) -> None:
        self.options: LlmRerankerOptions = options
        super().__init__(
            context,
            part=f"the reranker llm ({options.method})",
            prompt=f"rerank-{options.method}",
            places=("query", "documents", "count"),
        )

    def index(self, corpus: Corpus) -> None:
        """Take the texts that are to be read."""
        self.take_texts(corpus, self.options.fields)

    def described(self) -> dict[str, Any]:
        """Say what reorders, and what it reads."""
        options = self.options
        windows = {"window": options.window, "step": options.step}
        return {
            "reranker": "llm",
            "method": options.method,
            **(windows if options.method == "listwise" else {}),
            "prompt": self._prompt.sha256,
            **options.named(),
            "fields": options.fields,
            "texts": self.snapshot,
        }

    def scores(self, batch: Sequence[Candidates]) -> list[Scored]:
        """Reorder the candidates of each query, several queries at a time.

        The time of a query is that of its own questions, though others are asked meanwhile.
        """
        read = [self.read(candidates) for candidates in batch]
        scored = [Scored(each if isinstance(each, str) else (), 0.0) for each in read]
        lists = {
            at: _Texts(batch[at].query, each)
            for at, each in enumerate(read)
            if not isinstance(each, str)
        }
        order = self._listwise if self.options.method == "listwise" else self._pointwise
        for at, (places, seconds) in zip(lists, order([*lists.values()]), strict=True):
            scores = [0.0] * len(places)
            for rank, place in enumerate(places):
                scores[place] = float(len(places) - rank)
            scored[at] = Scored(scores, seconds)
        return scored

    def _listwise(self, lists: Sequence[_Texts]) -> list[tuple[list[int], float]]:
        """Order lists in windows, and say how long each list took: its windows, one by one."""
        options = self.options

        def ordered(texts: _Texts) -> tuple[list[int], float]:
            seconds: list[float] = []

            def ranking(places: Sequence[int]) -> list[int] | None:
                answer = self._ask(texts, places, partial(read_ranking, count=len(places)))
                seconds.append(answer.seconds)
                return None if answer.value is None else [places[n - 1] for n in answer.value]

            count = len(texts.texts)
            order = [*range(count)]
            if count > 1:
                order = listwise(count, ranking, window=options.window, step=options.step)
            return order, sum(seconds)

        return self._chat.client.each(ordered, lists)

    def _pointwise(self, lists: Sequence[_Texts]) -> list[tuple[list[int], float]]:
        """Sort lists by the grades of their documents, of which several are asked at a time."""
        questions = [(texts, place) for texts in lists for place in range(len(texts.texts))]
        form = partial(read_grades, count=1, highest=HIGHEST)
        answers = iter(
            self._chat.client.each(lambda each: self._ask(each[0], [each[1]], form), questions)
        )
        ordered = []
        for texts in lists:
            graded = [next(answers) for _ in texts.texts]
            grades = [None if answer.value is None else answer.value[0] for answer in graded]
            seconds = side_by_side([answer.seconds for answer in graded], self.options.jobs)
            ordered.append((pointwise(grades), seconds))
        return ordered

    def _ask(
        self, texts: _Texts, places: Sequence[int], form: Form[list[int]]
    ) -> Answer[list[int]]:
        values = {
            "query": query_block(texts.query.text),
            "documents": document_blocks(
                [texts.texts[place] for place in places], self.options.characters
            ),
            "count": str(len(places)),
        }
        messages = self._prompt.filled(values)
        answer = self._chat.ask(messages, form, query_id=texts.query.query_id)
        if answer.value is None:
            self._chat.fell_back()
        return answer


class _Texts(NamedTuple):
    """A query, and the texts of its candidates."""

    query: Query
    texts: Sequence[str]


def listwise(
    count: int, ranking: Callable[[Sequence[int]], list[int] | None], *, window: int, step: int
) -> list[int]:
    """Order candidates, by their places, in a window that moves from the bottom to the top.

    The best of a window move up with it, so the top is chosen among all candidates; the last window
    always reaches the first place. A window without an answer stays in its order. Windows:
    1 + ⌈(count − window) / step⌉, one after the other.

    Reference: Sun et al., Is ChatGPT good at search?, EMNLP 2023.

    >>> listwise(5, lambda places: sorted(places, reverse=True), window=3, step=2)
    [4, 1, 0, 3, 2]
    """
    order = [*range(count)]
    end = count
    while True:
        start = max(0, end - window)
        ordered = ranking(order[start:end])
        if ordered is not None:
            order[start:end] = ordered
        if start == 0:
            return order
        end -= step


def pointwise(grades: Sequence[int | None]) -> list[int]:
    """Sort by grade; equal grades stay in the incoming order, no grade stays where it is.

    >>> pointwise([1, None, 2, 1])
    [2, 1, 0, 3]
    """
    graded = [place for place, grade in enumerate(grades) if grade is not None]
    best_first = iter(sorted(graded, key=lambda place: -(grades[place] or 0)))
    return [place if grade is None else next(best_first) for place, grade in enumerate(grades)]


def side_by_side(seconds: Sequence[float], workers: int) -> float:
    """Return how long questions take in all, so many at a time, each begun in its turn.

    >>> side_by_side([3.0, 1.0, 1.0, 1.0], 2), side_by_side([3.0, 1.0], 1)
    (3.0, 4.0)
    """
    busy = [0.0] * workers  # until when each worker is
    for spent in seconds:
        heapq.heapreplace(busy, busy[0] + spent)
    return max(busy)
