"""What trained parts learn from, and how they are kept from questions they are judged on.

`Training` holds questions with known answers, dealt to folds. A query that is among them, by its id
or by its words, must be answered by a model that has not seen the folds it is in; any other by one
that has seen all. `Training.unseen_folds` says which these are, `Training.without` what such a
model may learn from. So nothing is ever judged on what it was trained with, whether a collection
has a split for training or the judged questions have to serve for both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from rankscope.collection.qrels import Qrels
from rankscope.errors import InputError, shown
from rankscope.retrieval.protocol import Query, fingerprint

FOLDS = 5
"""How many folds, where nobody says otherwise."""

Folds = frozenset[int]
"""Folds that a model has not seen; the empty set is the model of all questions."""


@dataclass(frozen=True)
class Training:
    """Questions with judgments to learn from, dealt to folds by what they say.

    Questions without judgments are left out; those left are in the order of their ids.
    """

    queries: tuple[Query, ...]
    qrels: Qrels
    folds: int = FOLDS
    seed: int = 0
    to_answer: tuple[Query, ...] | None = None
    """The questions that will be asked, where they are known: what no model is needed for is not
    learnt beforehand."""

    def __post_init__(self) -> None:
        if not isinstance(self.folds, int) or isinstance(self.folds, bool) or self.folds < 2:
            raise InputError(f"folds must be a whole number from 2 up, not {shown(self.folds)}")
        judged: dict[str, Query] = {}
        for query in self.queries:
            if query.query_id in judged:
                raise InputError(f"the training question {shown(query.query_id)} appears twice")
            if query.query_id in self.qrels:
                judged[query.query_id] = query
        different = len({_words(query) for query in judged.values()})
        if different < self.folds:
            raise InputError(
                f"training in {self.folds} folds needs as many judged questions in different "
                f"words, got {different}; give more, or fewer folds"
            )
        ordered = tuple(judged[query_id] for query_id in sorted(judged))
        object.__setattr__(self, "queries", ordered)

    @cached_property
    def _fold_by_words(self) -> dict[str, int]:
        """Deal the questions out, in the order of a hash; the same words share a fold."""
        texts = {_words(query) for query in self.queries}

        def place(text: str) -> str:
            return hashlib.sha256(f"{self.seed} {text}".encode("utf-8", "replace")).hexdigest()

        return {text: at % self.folds for at, text in enumerate(sorted(texts, key=place))}

    @cached_property
    def _fold_by_id(self) -> dict[str, int]:
        return {query.query_id: self._fold_by_words[_words(query)] for query in self.queries}

    def unseen_folds(self, query: Query) -> Folds:
        """Return the folds that the model for this query must not have seen.

        One for a training question, none for a new one, and two for a query that has the id of one
        training question and the words of another.
        """
        by_id = self._fold_by_id.get(query.query_id)
        by_words = self._fold_by_words.get(_words(query))
        return frozenset(fold for fold in (by_id, by_words) if fold is not None)

    def without(self, folds: Folds) -> tuple[Query, ...]:
        """Return the questions of all other folds."""
        return tuple(
            query for query in self.queries if self._fold_by_id[query.query_id] not in folds
        )

    def models(self) -> Iterator[Folds]:
        """Yield what models are kept from: each fold, then nothing; those that will be needed."""
        if self.to_answer is not None:
            yield from dict.fromkeys(map(self.unseen_folds, self.to_answer))
            return
        yield from (frozenset({fold}) for fold in range(self.folds))
        yield frozenset()

    def grades(self, query: Query) -> dict[str, float]:
        """Return the grades of a training question; of several subtopics the highest."""
        judged: Mapping[str, object] = self.qrels[query.query_id]
        return {doc_id: _highest(grade) for doc_id, grade in judged.items()}

    @cached_property
    def key(self) -> str:
        """A hash of everything that is learnt from, for the identity of what learns."""
        questions = [(query.query_id, query.text, dict(query.metadata)) for query in self.queries]
        judgments = {query.query_id: self.qrels[query.query_id] for query in self.queries}
        return fingerprint(questions, judgments, self.folds, self.seed)


def _words(query: Query) -> str:
    return " ".join(query.text.casefold().split())


def _highest(grade: object) -> float:
    if isinstance(grade, Mapping):
        return max(map(float, grade.values()))
    return float(grade)  # type: ignore[arg-type]
