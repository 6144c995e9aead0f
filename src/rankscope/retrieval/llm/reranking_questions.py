"""The questions that a reranker asks a language model about the candidates of one query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rankscope.retrieval.llm.answer_forms import Better, Form, Grades, Permutation, T
from rankscope.retrieval.llm.chat import Chat
from rankscope.retrieval.llm.prompts import Prompt, document_blocks, query_block
from rankscope.retrieval.protocol import Query

HIGHEST = 3
"""The highest grade of a document by itself."""


@dataclass(frozen=True, slots=True)
class Questions:
    """Asks about candidates by their places; what has no answer is counted as fallen back."""

    chat: Chat
    prompt: Prompt
    query: Query
    texts: Sequence[str]

    def _ask(self, places: Sequence[int], form: Form[T]) -> T | None:
        texts = [self.texts[place] for place in places]
        values = {
            "query": query_block(self.query.text),
            "documents": document_blocks(texts, self.chat.options.characters),
            "count": str(len(places)),
        }
        answer = self.chat.ask(self.prompt.filled(values), form, query_id=self.query.query_id)
        if answer is None:
            self.chat.fell_back()
        return answer

    def ranking(self, places: Sequence[int]) -> list[int] | None:
        """Return some places in the order of the model, best first."""
        numbers = self._ask(places, Permutation(len(places)))
        return None if numbers is None else [places[number - 1] for number in numbers]

    def preferred(self, upper: int, lower: int) -> int | None:
        """Return which of two is better, whichever is shown first; None if that depends on it."""
        orders = [(upper, lower), (lower, upper)]
        choices = self.chat.client.each(lambda places: self._ask(places, Better()), orders)
        winners = {
            None if choice is None else places[choice - 1]
            for places, choice in zip(orders, choices, strict=True)
        }
        return winners.pop() if len(winners) == 1 else None

    def grades(self) -> list[int | None]:
        """Return the grade of each candidate."""

        def grade(place: int) -> int | None:
            grades = self._ask([place], Grades(1, HIGHEST))
            return None if grades is None else grades[0]

        return self.chat.client.each(grade, range(len(self.texts)))
