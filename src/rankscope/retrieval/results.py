"""What was retrieved for a query, made into (doc_id, score) pairs or refused.

Engines often return chunks: `document_of` leads from a chunk to its document, and `collapse` from
scored chunks to scored documents.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

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

    What a Chroma collection answers is taken as well. Scores are all or none. ``id_field`` is where
    records and documents have their id. A document twice is refused, or with ``remarks`` noted
    there, and its first place counts.

    Raises:
        InputError: it is something else; says in one sentence what.

    >>> pairs_of(["d2", "d1"]), pairs_of([{"id": 7, "score": 0.5}])
    ([('d2', -1.0), ('d1', -2.0)], [('7', 0.5)])
    """
    if is_answer(answer):
        answer = documents_of(answer, "run", id_field, "the answer")
        id_field = None
    if isinstance(answer, Mapping):
        answer = list(answer.items())
    if answer is None or isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise InputError(
            f"expected a list of retrieved documents, got {type(answer).__name__} {shown(answer)}"
        )
    if isinstance(answer, Set):
        raise InputError("expected a list of retrieved documents, got a set, which has no order")
    items = list(answer)
    first = items[0] if items else None
    if isinstance(first, list | tuple) and len(first) == 2:
        first = first[0]  # with its score, or distance
    if not isinstance(first, Mapping) and is_document(first):
        return pieces_of(items, id_field, "function")
    documents = [_document(item, id_field) for item in items]
    scored = sum(score is not None for _, score in documents)
    if 0 < scored < len(documents):
        raise InputError(
            f"{scored} of {len(documents)} documents have a score; give one to all or none"
        )
    pairs = [
        (doc_id, -float(rank) if score is None else score)
        for rank, (doc_id, score) in enumerate(documents, start=1)
    ]
    if remarks is None:
        [(most_frequent, count)] = Counter(doc_id for doc_id, _ in pairs).most_common(1) or [
            ("", 1)
        ]
        if count > 1:
            raise InputError(
                f"the document {shown(most_frequent)} is retrieved twice; keep each once, at its "
                "first rank"
            )
        return pairs
    if scored > 1:
        scores = [score for _, score in pairs]
        remarks.answers += 1
        if scores[0] < scores[-1] and all(above <= below for above, below in pairwise(scores)):
            remarks.rising += 1
            remarks.steps += len(scores) - 1
    single = collapse(pairs, by="first")
    remarks.repeated += len(single) < len(pairs)
    return single


def _document(item: Any, id_field: str | None) -> tuple[str, float | None]:
    if isinstance(item, list | tuple) and len(item) != 2:
        raise InputError(f"expected (id, score) pairs, got {type(item).__name__} {shown(item)}")
    doc_id, score = one_document(item, id_field, "the answer")
    return doc_id_of(doc_id), None if score is None else score_of(score)


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
    if len(scores) < len(listed) or any(above < below for above, below in pairwise(scores)):
        scores = [-float(rank) for rank in range(1, len(listed) + 1)]
    doc_ids = (doc_id_of(doc_id) for doc_id, _ in listed)
    return collapse(zip(doc_ids, scores, strict=True), by="first")


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


def document_of(chunk_id: str) -> str:
    """Return the document of a chunk whose id is the document's, ``#`` and a number.

    >>> document_of("d#1#12")
    'd#1'
    """
    doc_id, sign, number = chunk_id.rpartition("#")
    if not sign or not number.isdecimal():
        raise InputError(f"expected the id of a chunk, such as d1#0, got {shown(chunk_id)}")
    return doc_id


def collapse(
    chunks: Iterable[tuple[str, float]], *, by: Literal["best", "first"] = "best"
) -> Pairs:
    """Return one score for each document from (doc_id, score) pairs of its chunks.

    A document has the score of its best chunk, or of the first that is listed; documents are in
    the order in which they first occur.

    >>> collapse([("a", 0.2), ("b", 0.5), ("a", 0.7)])
    [('a', 0.7), ('b', 0.5)]
    """
    scores: dict[str, float] = {}
    for doc_id, score in chunks:
        known = scores.setdefault(doc_id, score)
        if by == "best" and score > known:
            scores[doc_id] = score
    return list(scores.items())
