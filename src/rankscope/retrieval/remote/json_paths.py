"""Paths into an answer: ``hits.hits[*]._id`` leads to the ids in what a search engine says.

A path is a row of steps: a key (``hits``), a place in a list counted from 0 (``[0]``), or all of a
list (``[*]``). A key with other signs than letters, digits, ``_``, ``-``, ``@`` and ``$`` is
quoted: ``["@odata.count"]``. A ``?`` after a step says that it may lead nowhere, and that there is
nothing to be found then: ``root.children?[*].id``. The empty path is the whole answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rankscope.errors import InputError, shown

_STEP = re.compile(
    r"""(?P<all>\[\*\])
      | \[(?P<place>\d{1,9})\]
      | \[(?P<quoted>"(?:[^"\\]|\\.)*")\]
      | (?P<dot>\.?)(?P<key>(?:[\w@$-]|\{\{[^{}]*\}\})+)""",
    re.VERBOSE,
)
_MOST_KEYS = 8


class NoPathError(InputError):
    """A path that leads nowhere in an answer; says how far it goes, and what is there."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a key, a place in a list, or all of a list (None)."""

    to: str | int | None
    may_miss: bool = False

    def __str__(self) -> str:
        mark = "?" if self.may_miss else ""
        if self.to is None:
            return f"[*]{mark}"
        if isinstance(self.to, int):
            return f"[{self.to}]{mark}"
        if re.fullmatch(r"[\w@$-]+", self.to):
            return f"{self.to}{mark}"
        return f"[{json.dumps(self.to, ensure_ascii=False)}]{mark}"


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path that was read; its text is how it is written.

    >>> str(JsonPath.parse('value[*]["@search.score"]'))
    'value[*]["@search.score"]'
    """

    steps: tuple[Step, ...]

    @classmethod
    def parse(cls, text: str) -> JsonPath:
        """Read a path.

        Raises:
            InputError: it is none; says from where on.
        """
        steps: list[Step] = []
        at = 0
        while at < len(text):
            match = _STEP.match(text, at)
            dot_is_wrong = match and match["key"] and bool(match["dot"]) is not bool(steps)
            if match is None or dot_is_wrong:
                raise InputError(
                    f"expected a path such as hits.hits[*]._id, got {shown(text)}, which cannot be "
                    f"read from {shown(text[at:], 30)} on"
                )
            at = match.end()
            may_miss = text[at : at + 1] == "?"
            at += may_miss
            steps.append(Step(_target(match), may_miss))
        return cls(tuple(steps))

    def __str__(self) -> str:
        return _written(self.steps)

    def keys(self) -> list[str]:
        """Return the keys on the way."""
        return [step.to for step in self.steps if isinstance(step.to, str)]

    def with_keys(self, change: Callable[[str], str]) -> JsonPath:
        """Return the same path with its keys changed."""
        return JsonPath(
            tuple(
                Step(change(step.to), step.may_miss) if isinstance(step.to, str) else step
                for step in self.steps
            )
        )

    def find(self, data: Any) -> list[Any]:
        """Return all that the path leads to, in order.

        Raises:
            NoPathError: it leads nowhere; names keys of the answer, and no value.
        """
        values = [data]
        for at, step in enumerate(self.steps):
            values = [inner for value in values for inner in self._next(value, step, at)]
        return values

    def find_some(self, data: Any) -> list[Any]:
        """Return all that the path leads to; nothing where it leads nowhere."""
        values = [data]
        for step in self.steps:
            values = [inner for value in values for inner in _taken(value, step.to) or ()]
        return values

    def _next(self, value: Any, step: Step, at: int) -> list[Any]:
        inner = _taken(value, step.to)
        if inner is not None:
            return inner
        if step.may_miss:
            return []
        before = _written(self.steps[:at])
        where = f"at {before} the answer" if before else "the answer"
        raise NoPathError(f"{self} leads nowhere: {where} {_content(value)}")


def _target(match: re.Match[str]) -> str | int | None:
    if match["all"]:
        return None
    if match["place"] is not None:
        return int(match["place"])
    try:
        return match["key"] or str(json.loads(match["quoted"]))
    except ValueError:
        raise InputError(f"expected a quoted key, got {shown(match['quoted'])}") from None


def _written(steps: tuple[Step, ...]) -> str:
    text = ""
    for step in steps:
        part = str(step)
        text += part if part.startswith("[") or not text else f".{part}"
    return text


def _taken(value: Any, to: str | int | None) -> list[Any] | None:
    """Return what a step leads to; None if it leads nowhere. Null leads nowhere, too."""
    if isinstance(to, str):
        return [value[to]] if isinstance(value, Mapping) and to in value else None
    if not isinstance(value, list):
        return None
    if to is None:
        return value
    return [value[to]] if to < len(value) else None


def _content(value: Any) -> str:
    """Say what is there, for a message: keys, and never values."""
    if isinstance(value, Mapping):
        keys = [key if len(key) <= 30 and key.isprintable() else shown(key, 30) for key in value]
        more = f" and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
        return f"has {', '.join(keys[:_MOST_KEYS])}{more}" if keys else "is empty"
    if isinstance(value, list):
        return f"is a list of {len(value):,}" if value else "is an empty list"
    if value is None or isinstance(value, bool):
        return f"is {json.dumps(value)}"
    return f"is a {'text' if isinstance(value, str) else 'number'}"
