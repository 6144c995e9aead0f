"""What a trained part learns from, and how it is kept from being judged on what it has seen.

`Training` holds questions with known answers, dealt to folds. A query that is among them, by its id
or by its words, must be answered by a model that has not seen the folds it stands in; any other by
one that has seen all. `Training.kept_from` says which folds these are, and `Training.without` what
such a model may learn from. So nothing is ever judged on what it was trained with, whether a
collection has a split for training or the judged questions have to serve for both.

What learns must not stand over something that learns from the same questions: the answers below
would carry judgments upwards. `refuse_trained` says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from rankscope.collection.qrels import Qrels
from rankscope.errors import InputError, shown
from rankscope.retrieval.protocol import Query, System, fingerprint

__all__ = ["FOLDS", "Folds", "Training", "is_trained", "refuse_trained"]

FOLDS = 5
"""How many folds, where nobody says otherwise."""

Folds = frozenset[int]
"""Folds that a model has not seen; the empty set is the model of all questions."""


@dataclass(frozen=True)
class Training:
    """Questions with judgments to learn from, dealt to folds by what they say.

    Questions without judgments are left out; those left stand in the order of their ids.
    """

    queries: tuple[Query, ...]
    qrels: Qrels
    folds: int = FOLDS
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.folds, int) or isinstance(self.folds, bool) or self.folds < 2:
            raise InputError(f"folds must be a whole number from 2 up, not {shown(self.folds)}")
        judged: dict[str, Query] = {}
        for query in self.queries:
            if query.query_id in judged:
                raise InputError(f"the training question {shown(query.query_id)} stands twice")
            if query.query_id in self.qrels:
                judged[query.query_id] = query
        if len({_words(query) for query in judged.values()}) < self.folds:
            raise InputError(
                f"training in {self.folds} folds needs as many judged questions in different "
                f"words, found {len({_words(query) for query in judged.values()})}; give more, "
                "or fewer folds"
            )
        object.__setattr__(self, "queries", tuple(judged[one] for one in sorted(judged)))

    @cached_property
    def _fold_by_words(self) -> dict[str, int]:
        """Deal the questions out, in the order of a hash; the same words share a fold."""
        words = {_words(query) for query in self.queries}

        def place(text: str) -> str:
            return hashlib.sha256(f"{self.seed} {text}".encode("utf-8", "replace")).hexdigest()

        return {text: at % self.folds for at, text in enumerate(sorted(words, key=place))}

    @cached_property
    def _fold_by_id(self) -> dict[str, int]:
        return {query.query_id: self._fold_by_words[_words(query)] for query in self.queries}

    def kept_from(self, query: Query) -> Folds:
        """Return the folds that the model for this query must not have seen.

        One for a training question, none for a new one, and two for a query that has the id of one
        training question and the words of another.
        """
        found = (self._fold_by_id.get(query.query_id), self._fold_by_words.get(_words(query)))
        return frozenset(fold for fold in found if fold is not None)

    def without(self, folds: Folds) -> tuple[Query, ...]:
        """Return the questions of all other folds."""
        return tuple(one for one in self.queries if self._fold_by_id[one.query_id] not in folds)

    def models(self) -> Iterator[Folds]:
        """Yield what most models are kept from: each fold, then nothing."""
        yield from (frozenset({fold}) for fold in range(self.folds))
        yield frozenset()

    def grades(self, query: Query) -> dict[str, float]:
        """Return the grades of a training question; of several subtopics the highest."""
        judged: Mapping[str, object] = self.qrels[query.query_id]
        return {doc_id: _highest(grade) for doc_id, grade in judged.items()}

    @cached_property
    def key(self) -> str:
        """A hash of everything that is learnt from, for the identity of what learns."""
        asked = [(query.query_id, query.text, dict(query.metadata)) for query in self.queries]
        judged = {one.query_id: self.qrels[one.query_id] for one in self.queries}
        return fingerprint(asked, judged, self.folds, self.seed)


def _words(query: Query) -> str:
    return " ".join(query.text.casefold().split())


def _highest(grade: object) -> float:
    if isinstance(grade, Mapping):
        return max(map(float, grade.values()))
    return float(grade)  # type: ignore[arg-type]


def is_trained(part: object) -> bool:
    """Tell whether a system or a part of one has learnt from judged questions."""
    return bool(getattr(part, "trained", False))


def refuse_trained(owner: str, systems: Iterable[System]) -> None:
    """Refuse to learn over systems that have learnt themselves."""
    for system in systems:
        if is_trained(system):
            name = system.name or system.identity().kind
            raise InputError(
                f"{owner} cannot learn over {name}, which is trained itself: its answers carry "
                "judgments that must not be seen; use what it is made of"
            )
