"""From the text of a TOML config to plain data and the lines of its keys; called by `configfile`.

`tomllib` reads the values and does not tell their lines, so lines that begin with a table or a key
are looked for in the text. Dates and times become text, as in YAML.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from rankscope.benchmark.config_keys import DEEPEST, LONGEST_NUMBER, ConfigFile, Keys, dotted
from rankscope.errors import FormatError

__all__ = ["is_toml", "read_toml"]

_BARE_OR_QUOTED = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_BARE_OR_QUOTED}(?:\s*\.\s*{_BARE_OR_QUOTED})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?\s*(?:#.*)?")
_ENTRY = re.compile(rf"\s*({_DOTTED})\s*=")
_PLACE = re.compile(r"(.*) \(at (?:line ([0-9]+), column [0-9]+|end of document)\)", re.DOTALL)


def is_toml(text: str) -> bool:
    """Tell whether text whose suffix says nothing is TOML: its first line is a table or an =."""
    for line in text.split("\n"):
        if line.strip() and not line.lstrip().startswith("#"):
            return bool(_HEADER.fullmatch(line) or _ENTRY.match(line))
    return False


def read_toml(text: str, source: str) -> tuple[Any, dict[Keys, int]]:
    """Return what the text says, None if nothing, and the line of each key that begins one."""
    for number, row in enumerate(text.split("\n"), start=1):  # tomllib is slow on long keys
        if not row.lstrip().startswith("#") and row.partition("=")[0].count(".") > DEEPEST:
            problem = f"a key has more than {DEEPEST} parts"
            raise FormatError(problem, source=source, line=number)
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise FormatError(
            f"values stand inside each other more than {DEEPEST} deep", source=source
        ) from None
    except ValueError as error:
        found = _PLACE.fullmatch(str(error))
        line = None
        if found is not None:
            line = int(found[2]) if found[2] else text.count("\n") + 1
        raise FormatError(_toml_problem(found), source=source, line=line) from None
    lines: dict[Keys, int] = {(): 1}
    lines |= {keys: line for keys, line in _toml_lines(text) if _is_there(data, keys)}
    return _checked_toml(data, ConfigFile(data, source, lines)) or None, lines


def _toml_problem(found: re.Match[str] | None) -> str:
    if found is None:  # not a word about where, or in the language of Python
        return "holds a number that is too long, or another value that cannot be read"
    problem = " ".join(found[1].split())
    if re.match("Cannot (overwrite|declare|mutate|redefine)", problem):
        return f"a key or table stands twice ({problem}); keep one"
    return f"is not TOML here ({problem}); check quotes and brackets"


def _checked_toml(data: dict[str, Any], file: ConfigFile) -> dict[str, Any]:
    """Make dates text; refuse what is too deep and numbers that are too long or not finite."""
    made: dict[str, Any] = {}
    waiting: list[tuple[Any, Any, Keys]] = [(data, made, ())]
    while waiting:
        holder, copy, keys = waiting.pop()
        if len(keys) >= DEEPEST:
            problem = f"values stand inside each other more than {DEEPEST} deep"
            raise FormatError(problem, source=file.source, line=file.line(keys))
        for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
            own: Any = value
            if isinstance(value, dict | list):
                own = {} if isinstance(value, dict) else []
                waiting.append((value, own, (*keys, key)))
            elif isinstance(value, datetime.date | datetime.time):
                own = value.isoformat()
            elif isinstance(value, float | int) and not abs(value) < 10**LONGEST_NUMBER:
                raise FormatError(
                    f"{dotted((*keys, key))} is no finite number, or one that is too long",
                    source=file.source,
                    line=file.line((*keys, key)),
                )
            if isinstance(copy, dict):
                copy[key] = own
            else:
                copy.append(own)
    return made


def _toml_lines(text: str) -> Iterator[tuple[Keys, int]]:
    """Yield the keys that begin lines; those inside a value of several lines are its line's."""
    table: Keys = ()
    counts: dict[Keys, int] = {}
    seen: set[Keys] = set()
    for number, line in enumerate(text.split("\n"), start=1):
        header = _HEADER.fullmatch(line)
        entry = None if header else _ENTRY.match(line)
        if header is not None:
            table = tuple(_toml_keys(header[2]))
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            keys = table
        elif entry is not None:
            keys = (*table, *_toml_keys(entry[1]))
        else:
            continue
        for length in range(1, len(keys) + 1):
            if keys[:length] not in seen:
                seen.add(keys[:length])
                yield keys[:length], number


def _toml_keys(text: str) -> list[str]:
    return [part[1:-1] if part[0] in "\"'" else part for part in re.findall(_BARE_OR_QUOTED, text)]


def _is_there(data: Any, keys: Keys) -> bool:
    for key in keys:
        named = isinstance(data, dict) and key in data
        numbered = isinstance(data, list) and isinstance(key, int) and key < len(data)
        if not named and not numbered:
            return False
        data = data[key]
    return True
