"""From the text of a YAML config to plain data and the lines of its keys; called by `configfile`.

YAML is read as its version 1.2 means it, without tags, anchors and aliases: ``no``, ``on``,
``12:30`` and dates are text, ``1e3`` is a number, and keys are always text. JSON is read here, too.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from rankscope.benchmark.config_keys import DEEPEST, LONGEST_NUMBER, Keys
from rankscope.errors import FormatError, counted, shown

__all__ = ["read_yaml"]


def read_yaml(text: str, source: str) -> tuple[Any, dict[Keys, int]]:
    """Return what the text says, None if nothing, and the line of each key and value."""
    builder = _Builder(source)
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FormatError(
            _yaml_problem(error), source=source, line=None if mark is None else mark.line + 1
        ) from None
    except yaml.reader.ReaderError as error:
        raise FormatError(
            f"the character {shown(chr(int(error.character)))} cannot stand in a config; remove it",
            source=source,
            line=text.count("\n", 0, error.position) + 1,
        ) from None
    except (ValueError, OverflowError) as error:  # an escape beyond Unicode
        if isinstance(error, FormatError):
            raise
        raise FormatError(
            "holds an escape that stands for no character; write the character itself",
            source=source,
            line=builder.line,
        ) from None
    return builder.root, builder.lines


def _yaml_problem(error: yaml.MarkedYAMLError) -> str:
    problem = " ".join(str(error.problem or error.context or "it cannot be read").split())
    if "'\\t'" in problem:
        return "a tab stands where YAML wants spaces; indent with spaces"
    if "mapping values are not allowed" in problem:
        return "a colon stands where no key can; quote the text, or check the indentation"
    if "cannot start any token" in problem:
        return f"is not YAML here ({problem}); put the text in quotes"
    return f"is not YAML here ({problem}); check indentation, quotes and brackets"


@dataclass(slots=True)
class _Open:
    """A mapping or list that has begun and not ended."""

    value: dict[str, Any] | list[Any]
    keys: Keys
    key: str | None = None
    """The key that waits for its value."""


class _Builder:
    """Makes plain data of YAML's events, without calling itself however deep they go."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines: dict[Keys, int] = {}
        self.line = 1
        self.root: Any = None
        self._open: list[_Open] = []
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        """Take the next event."""
        self.line = event.start_mark.line + 1 if event.start_mark is not None else self.line
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._fail("a second document begins (---); a config is one")
        elif isinstance(event, yaml.AliasEvent):
            self._fail("anchors and aliases (&name, *name) are not read; write the value out")
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()
        elif isinstance(event, yaml.NodeEvent):
            self._node(event)

    def _node(self, event: yaml.NodeEvent) -> None:
        if event.anchor is not None:
            self._fail("anchors and aliases (&name, *name) are not read; write the value out")
        tag = getattr(event, "tag", None)
        if tag is not None:
            written = tag.replace("tag:yaml.org,2002:", "!!")
            self._fail(f"the tag {shown(written)} is not read; leave it out")
        is_scalar = isinstance(event, yaml.ScalarEvent)
        holder = self._open[-1] if self._open else None
        if holder is not None and isinstance(holder.value, dict) and holder.key is None:
            if not isinstance(event, yaml.ScalarEvent):
                self._fail("a key must be text, not a list or a mapping; quote it")
            self._key(holder, self._text(event.value))
            return
        value: Any = (
            self._scalar(event)
            if isinstance(event, yaml.ScalarEvent)
            else {}
            if isinstance(event, yaml.MappingStartEvent)
            else []
        )
        keys = self._placed(holder, value)
        if not is_scalar:
            if len(self._open) >= DEEPEST:
                self._fail(f"values stand inside each other more than {DEEPEST} deep")
            self._open.append(_Open(value, keys))

    def _key(self, holder: _Open, key: str) -> None:
        keys = (*holder.keys, key)
        if key in holder.value:
            first = self.lines[keys]
            where = "this line" if first == self.line else f"line {first}"
            self._fail(f"the key {shown(key)} stands twice, first on {where}; keep one")
        holder.key = key
        self.lines[keys] = self.line

    def _placed(self, holder: _Open | None, value: Any) -> Keys:
        """Put a value where it belongs, and return the way to it."""
        if holder is None:
            self.root = value
            self.lines[()] = self.line
            return ()
        if isinstance(holder.value, list):
            keys = (*holder.keys, len(holder.value))
            holder.value.append(value)
            self.lines[keys] = self.line
            return keys
        key = str(holder.key)
        holder.value[key] = value
        holder.key = None
        return (*holder.keys, key)

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        text = self._text(event.value)
        if event.style is not None:
            return text
        try:
            return _plain(text)
        except ValueError as error:
            self._fail(f"{shown(text)} {error}")

    def _text(self, text: str) -> str:
        """Join escaped surrogates (JSON writes some characters as two); refuse a single one."""
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._fail("holds half of a character (a surrogate); write the character itself")

    def _fail(self, problem: str) -> NoReturn:
        raise FormatError(problem, source=self.source, line=self.line)


_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_WHOLE = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def _plain(text: str) -> Any:
    """Return what text without quotes means in YAML 1.2."""
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text) or _FALSE.fullmatch(text):
        return _TRUE.fullmatch(text) is not None
    if _WHOLE.fullmatch(text) or _OTHER_BASE.fullmatch(text):
        return _whole(text)
    if _REAL.fullmatch(text) or _NOT_FINITE.fullmatch(text):
        return _real(text)
    return text


def _whole(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"is a number of {counted(len(text), 'character')}, which is too long")
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


def _real(text: str) -> float:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"is a number of {counted(len(text), 'character')}, which is too long")
    value = math.nan if _NOT_FINITE.fullmatch(text) else float(text)
    if not math.isfinite(value):
        raise ValueError("is no finite number; give one, or quote it if text is meant")
    return value
