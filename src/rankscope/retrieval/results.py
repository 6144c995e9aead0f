"""What was retrieved for a query, made into (doc_id, score) pairs or refused.

`rankscope.tables.documents` reads it, as in any other place; here each document counts once, and
has a score.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rankscope.errors import InputError, counted, shown
from rankscope.tables.documents import documents_of, is_answer, is_document, one_document

Pairs = list[tuple[str, float]]

MOST_RISING = 0.9
"""Scores that rise down the list in so many answers are no accident."""

FEWEST_STEPS = 4
"""With fewer steps down the lists they may be one."""


@dataclass(slots=True)
class Remarks:
    """What is odd about the answers of a function, counted over all of them."""

    answers: int = 0
    """Answers of two documents or more, with scores."""
    rising: int = 0
    """Of these: with scores that rise down the list, as distances do."""
    steps: int = 0
    """How many steps down the list these have together."""
    repeated: int = 0
    """Answers that hold a document twice."""

    def take(self, scores: list[float], *, is_repeated: bool) -> None:
        """Look at one answer; ``scores`` are those that it has itself."""
        self.repeated += is_repeated
        if len(scores) > 1:
            self.answers += 1
            if scores[0] < scores[-1] and all(above <= below for above, below in pairwise(scores)):
                self.rising += 1
                self.steps += len(scores) - 1

    def sentences(self) -> tuple[str, ...]:
        """Say what a user should know."""
        sentences = []
        if self.steps >= FEWEST_STEPS and self.rising >= MOST_RISING * self.answers:
            sentences.append(
                f"scores rise down the list in {self.rising:,} of {self.answers:,} answers, as "
                "distances do, and the highest counts as the best; return minus the distance, or "
                "the ids alone"
            )
        if self.repeated:
            sentences.append(
                f"{counted(self.repeated, 'answer')} with a document twice, as where chunks are "
                "mapped to documents; the first counts"
            )
        return tuple(sentences)


def pairs_of(answer: Any, id_field: str | None = None, remarks: Remarks | None = None) -> Pairs:
    """Take ids, (id, score) pairs, a dict of scores, records, or documents of a framework.

    What a Chroma collection answers is taken as well. Scores are all or none; without them they are
    minus the ranks. ``id_field`` is where records and documents have their id. A document twice is
    refused, or with ``remarks`` noted there, and its first place counts.

    Raises:
        InputError: it is something else; says in one sentence what.

    >>> pairs_of(["d2", "d1"]), pairs_of([{"id": 7, "score": 0.5}])
    ([('d2', -1.0), ('d1', -2.0)], [('7', 0.5)])
    """
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise InputError(
            f"expected a list of retrieved documents, got {type(answer).__name__} {shown(answer)}"
        )
    if not isinstance(answer, Mapping | Set) and not is_answer(answer):
        answer = list(answer)
        first = answer[0] if answer else None
        if isinstance(first, list | tuple) and len(first) == 2:
            first = first[0]  # with its score, or distance
        if not isinstance(first, Mapping) and is_document(first):
            return pieces_of(answer, id_field, "function")
    listed = documents_of(answer, "run", id_field, "the answer")
    scores = [score_of(score) for _, score in listed if score is not None]
    pairs = _ranked(listed, scores)
    single = _first(pairs)
    is_repeated = len(single) < len(pairs)
    if remarks is not None:
        remarks.take(scores, is_repeated=is_repeated)
    elif is_repeated:
        ids = [doc_id for doc_id, _ in pairs]
        repeated = next(doc_id for at, doc_id in enumerate(ids) if doc_id in ids[:at])
        raise InputError(
            f"the document {shown(repeated)} is retrieved twice; keep each once, at its first rank"
        )
    return single


def pieces_of(answer: Any, id_field: str | None, noun: str) -> Pairs:
    """Take the documents of a framework, which are often chunks: each document counts once.

    Their order is the retriever's ranking. Scores count where all have one and they go from high to
    low; any other (a distance, a score of an earlier stage) would turn the order round, and minus
    the rank takes its place.
    """
    if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Iterable):
        raise InputError(f"expected a list of documents from the {noun}, got {shown(answer)}")
    listed = [one_document(item, id_field, f"the answer of the {noun}") for item in answer]
    scores = [score_of(score) for _, score in listed if score is not None]
    is_falling = all(above >= below for above, below in pairwise(scores))
    return _first(_ranked(listed, scores if is_falling else []))


def _ranked(listed: list[tuple[Any, Any]], scores: list[float]) -> Pairs:
    """Give each document its score, or minus its rank where not all have one."""
    if len(scores) < len(listed):
        scores = [-float(rank) for rank in range(1, len(listed) + 1)]
    return [(doc_id_of(doc_id), score) for (doc_id, _), score in zip(listed, scores, strict=True)]


def _first(pairs: Pairs) -> Pairs:
    """Keep the first place of each document."""
    scores: dict[str, float] = {}
    for doc_id, score in pairs:
        scores.setdefault(doc_id, score)
    return list(scores.items())


def doc_id_of(value: Any) -> str:
    """Take an id: text, or a whole number."""
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, str) or not value:
        kind = type(value).__name__
        raise InputError(f"expected the id of a document, got {kind} {shown(value)}")
    return value


def score_of(value: Any) -> float:
    """Take a finite number."""
    is_number = hasattr(value, "__float__") and not isinstance(value, bool | str)
    if not is_number or not math.isfinite(float(value)):
        raise InputError(f"expected a finite score, got {type(value).__name__} {shown(value)}")
    return float(value)
