"""Forms of answers: what a model is asked to write, and the strict reading of it.

An answer is one JSON object with exactly the keys asked for. It may be in one code fence, and a
model that thinks aloud may do so before it, up to ``</think>`` (what opens that is often part of a
prompt that the endpoint adds); anything else around it is refused. So
is a number that is not whole, an id that was not given, one that is missing, and one that occurs
twice. What is wrong is one sentence, which is sent back to the model.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rankscope.errors import counted
from rankscope.retrieval.llm.prompts import seen_only

T = TypeVar("T")

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


class Form(Generic[T]):
    """What an answer must look like."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the answer."""

    @abstractmethod
    def read(self, content: str) -> T:
        """Read an answer.

        Raises:
            UnreadableError: it is something else.
        """


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise UnreadableError("a key occurs twice")
    return table


def read_object(content: str, *keys: str) -> dict[str, Any]:
    r"""Return the JSON object that an answer is; it has exactly these keys.

    >>> read_object('```json\n{"grade": 2}\n```', "grade")
    {'grade': 2}
    """
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
    if {*data} != {*keys}:
        raise UnreadableError(f"expected exactly the keys {', '.join(keys)}")
    return data


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Terms(Form[list[str]]):
    """A list of words or short phrases under one key."""

    key: str

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the answer."""
        return _object(**{self.key: {"type": "array", "items": {"type": "string"}}})

    def read(self, content: str) -> list[str]:
        """Read the terms; spaces around them are dropped."""
        terms = read_object(content, self.key)[self.key]
        if not isinstance(terms, list) or not all(isinstance(term, str) for term in terms):
            raise UnreadableError(f"{self.key} must be a list of texts")
        cleaned = [" ".join(seen_only(term).split()) for term in terms]
        if not cleaned or not all(cleaned):
            raise UnreadableError(f"{self.key} must hold terms, and none may be empty")
        if len(cleaned) > MOST_TERMS or max(map(len, cleaned)) > LONGEST_TERM:
            raise UnreadableError(
                f"{self.key} must hold at most {MOST_TERMS} terms of at most {LONGEST_TERM} "
                "characters"
            )
        return cleaned


@dataclass(frozen=True, slots=True)
class Passage(Form[str]):
    """A text under the key ``passage``."""

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the answer."""
        return _object(passage={"type": "string"})

    def read(self, content: str) -> str:
        """Read the passage."""
        passage = read_object(content, "passage")["passage"]
        cleaned = seen_only(passage).strip() if isinstance(passage, str) else ""
        if not cleaned:
            raise UnreadableError("passage must be a text that is not empty")
        if len(passage) > LONGEST_PASSAGE:
            raise UnreadableError(f"passage must have at most {LONGEST_PASSAGE} characters")
        return cleaned


@dataclass(frozen=True, slots=True)
class Permutation(Form[list[int]]):
    """The numbers from 1 to ``count``, each once, best first, under the key ``ranking``."""

    count: int

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the answer."""
        return _object(ranking={"type": "array", "items": {"type": "integer"}})

    def read(self, content: str) -> list[int]:
        """Read the order."""
        ranking = read_object(content, "ranking")["ranking"]
        if not isinstance(ranking, list) or not all(map(_is_whole, ranking)):
            raise UnreadableError("ranking must be a list of whole numbers")
        _check_numbers(ranking, self.count)
        return ranking


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


@dataclass(frozen=True, slots=True)
class Better(Form[int]):
    """Which of two documents is better, under the key ``better``: 1 or 2."""

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the answer."""
        return _object(better={"type": "integer", "enum": [1, 2]})

    def read(self, content: str) -> int:
        """Read the choice."""
        better = read_object(content, "better")["better"]
        if not _is_whole(better) or better not in (1, 2):
            raise UnreadableError("better must be 1 or 2")
        return int(better)


@dataclass(frozen=True, slots=True)
class Grades(Form[list[int]]):
    """A grade from 0 to ``highest`` for each of ``count`` documents, under the key ``grades``."""

    count: int
    highest: int

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the answer."""
        grade = {"type": "integer", "minimum": 0, "maximum": self.highest}
        rows = _object(document={"type": "integer"}, grade=grade)
        return _object(grades={"type": "array", "items": rows})

    def read(self, content: str) -> list[int]:
        """Read the grades, and return them in the order of the documents."""
        rows = read_object(content, "grades")["grades"]
        if not isinstance(rows, list) or not all(
            isinstance(row, dict) and {*row} == {"document", "grade"} for row in rows
        ):
            raise UnreadableError(
                'grades must be a list of {"document": …, "grade": …} for '
                f"{counted(self.count, 'document')}"
            )
        if not all(_is_whole(row["document"]) and _is_whole(row["grade"]) for row in rows):
            raise UnreadableError("documents and grades must be whole numbers")
        _check_numbers([row["document"] for row in rows], self.count)
        by_number = {row["document"]: row["grade"] for row in rows}
        for grade in by_number.values():
            if not 0 <= grade <= self.highest:
                raise UnreadableError(f"there is no grade {grade}; there are 0 to {self.highest}")
        return [by_number[number] for number in range(1, self.count + 1)]
