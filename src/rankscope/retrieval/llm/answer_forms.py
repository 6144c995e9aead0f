"""Forms of answers: the strict reading of what a model was asked to write.

An answer is one JSON object with exactly the keys asked for. It may be in one code fence, and a
model that thinks aloud may do so before it, up to ``</think>`` (what opens that is often part of a
prompt that the endpoint adds); anything else around it is refused. So is a number that is not
whole, an id that was not given, one that is missing, and one that occurs twice. What is wrong is
one sentence, which is sent back to the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from rankscope.errors import counted
from rankscope.retrieval.llm.prompts import seen_only

T = TypeVar("T")

Form = Callable[[str], T]
"""Reads an answer, or raises an `UnreadableError`."""

MOST_TERMS = 50
"""Keywords or terms of one answer."""

LONGEST_TERM = 200
"""Characters of one of them."""

LONGEST_PASSAGE = 8000
"""Characters of a passage."""

_THOUGHT = re.compile(r"\A\s*(?![\s{`]).*?</think>", re.DOTALL)
_FENCE = re.compile(r"\s*```(?:json)?[ \t]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL | re.IGNORECASE)


class UnreadableError(Exception):
    """An answer that is not what was asked for; says in one sentence why."""


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise UnreadableError("a key occurs twice")
    return table


def _value(content: str, key: str) -> Any:
    """Return the value in the JSON object that an answer is; it has exactly this key."""
    text = _THOUGHT.sub("", content, count=1)
    fenced = _FENCE.fullmatch(text)
    if fenced is not None:
        text = fenced[1]
    if not text.strip():
        raise UnreadableError("it is empty")
    try:
        data = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once_each)
    except (ValueError, RecursionError):
        raise UnreadableError("it is not JSON") from None
    if not isinstance(data, dict):
        raise UnreadableError("it is not a JSON object")
    if {*data} != {key}:
        raise UnreadableError(f"expected exactly the key {key}")
    return data[key]


def read_terms(content: str, key: str) -> list[str]:
    """Read a list of words or short phrases; spaces around them are dropped."""
    terms = _value(content, key)
    if not isinstance(terms, list) or not all(isinstance(term, str) for term in terms):
        raise UnreadableError(f"{key} must be a list of texts")
    cleaned = [" ".join(seen_only(term).split()) for term in terms]
    if not cleaned or not all(cleaned):
        raise UnreadableError(f"{key} must hold terms, and none may be empty")
    if len(cleaned) > MOST_TERMS or max(map(len, cleaned)) > LONGEST_TERM:
        raise UnreadableError(
            f"{key} must hold at most {MOST_TERMS} terms of at most {LONGEST_TERM} characters"
        )
    return cleaned


def read_passage(content: str) -> str:
    r"""Read a text under the key ``passage``.

    >>> read_passage('```json\n{"passage": "Boil leeks."}\n```')
    'Boil leeks.'
    """
    passage = _value(content, "passage")
    cleaned = seen_only(passage).strip() if isinstance(passage, str) else ""
    if not cleaned:
        raise UnreadableError("passage must be a text that is not empty")
    if len(passage) > LONGEST_PASSAGE:
        raise UnreadableError(f"passage must have at most {LONGEST_PASSAGE} characters")
    return cleaned


def read_ranking(content: str, count: int) -> list[int]:
    """Read the numbers from 1 to ``count``, each once, best first, under the key ``ranking``."""
    ranking = _value(content, "ranking")
    if not isinstance(ranking, list) or not all(type(number) is int for number in ranking):
        raise UnreadableError("ranking must be a list of whole numbers")
    _check_numbers(ranking, count)
    return ranking


def read_grades(content: str, count: int, highest: int) -> list[int]:
    """Read a grade from 0 to ``highest`` for each document, in their order, under ``grades``."""
    rows = _value(content, "grades")
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and {*row} == {"document", "grade"} for row in rows
    ):
        raise UnreadableError(
            f'grades must be a list of {{"document": …, "grade": …}} for '
            f"{counted(count, 'document')}"
        )
    if not all(type(row["document"]) is int and type(row["grade"]) is int for row in rows):
        raise UnreadableError("documents and grades must be whole numbers")
    by_number = {row["document"]: row["grade"] for row in rows}
    _check_numbers([row["document"] for row in rows], count)
    for grade in by_number.values():
        if not 0 <= grade <= highest:
            raise UnreadableError(f"there is no grade {grade}; there are 0 to {highest}")
    return [by_number[number] for number in range(1, count + 1)]


def _check_numbers(numbers: list[int], count: int) -> None:
    """Refuse all but the numbers from 1 to ``count``, each once."""
    unknown = [number for number in numbers if not 1 <= number <= count]
    if unknown:
        raise UnreadableError(f"there is no document {unknown[0]}; there are 1 to {count}")
    if len({*numbers}) < len(numbers):
        repeated = next(number for at, number in enumerate(numbers) if number in numbers[:at])
        raise UnreadableError(f"document {repeated} occurs twice")
    missing = sorted({*range(1, count + 1)}.difference(numbers))
    if missing:
        raise UnreadableError(f"document {missing[0]} is missing; name all {count}")
