"""What Python code returns for a query, made into (doc_id, score) pairs or refused."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from rankscope.errors import InputError, shown

__all__ = ["pairs_of"]

_IDS = ("doc_id", "_id", "id", "docid", "docno")
_SCORES = ("score", "relevance_score", "similarity")


def pairs_of(answer: Any) -> list[tuple[str, float]]:
    """Take ids, (id, score) pairs, a dict of scores, or records; scores are all or none.

    Raises:
        InputError: it is something else; says in one sentence what.

    >>> pairs_of(["d2", "d1"]), pairs_of([{"id": 7, "score": 0.5}])
    ([('d2', -1.0), ('d1', -2.0)], [('7', 0.5)])
    """
    if isinstance(answer, Mapping):
        answer = list(answer.items())
    if answer is None or isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise InputError(f"expected a list of documents, but the function returned {_seen(answer)}")
    found = [_pair(item) for item in answer]
    scored = sum(score is not None for _, score in found)
    if 0 < scored < len(found):
        raise InputError(
            f"{scored} of {len(found)} documents have a score; give one to all or none"
        )
    pairs = [
        (doc_id, -float(rank) if score is None else score)
        for rank, (doc_id, score) in enumerate(found, start=1)
    ]
    _refuse_twice(pairs)
    return pairs


def _pair(item: Any) -> tuple[str, float | None]:
    if isinstance(item, Mapping):
        name = next((name for name in _IDS if name in item), None)
        if name is None:
            raise InputError(f"a document has no id; expected a field {' or '.join(_IDS[:3])}")
        score = next((item[name] for name in _SCORES if item.get(name) is not None), None)
        return doc_id_of(item[name]), None if score is None else score_of(score)
    if isinstance(item, list | tuple):
        if len(item) != 2:
            raise InputError(f"expected (id, score) pairs, but the function returned {_seen(item)}")
        return doc_id_of(item[0]), score_of(item[1])
    return doc_id_of(item), None


def doc_id_of(value: Any) -> str:
    """Take an id: text, or a whole number."""
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, str) or not value:
        raise InputError(f"expected the id of a document, but the function returned {_seen(value)}")
    return value


def score_of(value: Any) -> float:
    """Take a finite number."""
    is_number = hasattr(value, "__float__") and not isinstance(value, bool | str)
    if not is_number or not math.isfinite(float(value)):
        raise InputError(f"expected a finite score, but the function returned {_seen(value)}")
    return float(value)


def _refuse_twice(pairs: list[tuple[str, float]]) -> None:
    seen: set[str] = set()
    for doc_id, _ in pairs:
        if doc_id in seen:
            raise InputError(f"the function returned the document {shown(doc_id)} twice")
        seen.add(doc_id)


def _seen(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__} {shown(value)}"
