r"""Templates of requests: plain data in which ``{{query}}`` and the like are filled in for a query.

Values are put in by structure, never by pasting text into JSON, so no query can break out of its
place. A text that is nothing but a placeholder becomes the value itself: ``"{{depth}}"`` a number,
``"{{vector}}"`` a list of numbers, ``"{{metadata.year}}"`` whatever the query has there. Inside a
longer text the value is written as text; where that text is in a language of its own, a way of
quoting is named after a bar:

========== ================================== ==================================
way        writes                             for
========== ================================== ==================================
json       ``"a \"b\""``, numbers as they are  GraphQL, filters of Meilisearch
odata      ``'it''s'``, numbers as they are      filters of Azure AI Search
backticks  ```` `it's` ````                      filters of Typesense
========== ================================== ==================================

A placeholder with ``?`` need not have a value: without one, the entry it is in is left out, and so
is whatever is left empty by that. Without ``?`` it is an error.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from rankscope.errors import InputError, shown

_PLACEHOLDER = re.compile(r"\{\{\s*([^{}|?\s]+)\s*(\?)?\s*(?:\|\s*(\w+)\s*)?\}\}")
_BEGINNING = re.compile(r"\{\{")
_DROPPED = object()


class MissingValueError(InputError):
    """A placeholder without a value; it may have one for another query."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One placeholder: what is put in, whether it may be missing, and how it is quoted."""

    name: str
    may_miss: bool = False
    way: str | None = None

    def __str__(self) -> str:
        mark = "?" if self.may_miss else ""
        return f"{{{{{self.name}{mark}{f'|{self.way}' if self.way else ''}}}}}"


ValueOf = Callable[[str], Any]
"""Returns the value of a placeholder by its name, or None if it has none."""

Wanted = Callable[[str], bool]
"""Tells by its name whether a placeholder is filled in now."""

OF_QUERY = ("query", "depth", "vector", "offset", "page")
"""Placeholders that are filled in for each request."""

_GROUPS = ("metadata", "keys", "asked")
"""Beginnings of placeholders whose second part is a name of the user's, or of a recipe's."""


def _any(_: str) -> bool:
    return True


def placeholders(template: Any) -> Iterator[Placeholder]:
    """Yield every placeholder of a template, those in keys included.

    Raises:
        InputError: a ``{{`` that begins none, or a way of quoting there is not.
    """
    if isinstance(template, str):
        yield from _in_text(template)
    elif isinstance(template, Mapping):
        for key, value in template.items():
            yield from _in_text(key)
            yield from placeholders(value)
    elif isinstance(template, list | tuple):
        for value in template:
            yield from placeholders(value)


def _in_text(text: str) -> Iterator[Placeholder]:
    matches = list(_PLACEHOLDER.finditer(text))
    begins = {match.start() for match in matches}
    for match in _BEGINNING.finditer(text):
        if match.start() not in begins and not any(
            other.start() <= match.start() < other.end() for other in matches
        ):
            raise InputError(
                f"expected a placeholder such as {{{{query}}}} or {{{{metadata.lang?}}}}, got "
                f"{shown(text[match.start() :], 40)}"
            )
    for match in matches:
        placeholder = _of(match)
        if placeholder.way is not None and placeholder.way not in _WAYS:
            raise InputError(
                f"expected {' or '.join(_WAYS)} after the bar of {placeholder}, got "
                f"{shown(placeholder.way)}"
            )
        yield placeholder


def _of(match: re.Match[str]) -> Placeholder:
    return Placeholder(match[1], bool(match[2]), match[3])


def with_variables(template: Any, variables: Mapping[str, Any]) -> Any:
    """Put in what is the same for all queries.

    The value of a variable may hold placeholders of its own, which are filled in for each query.
    """
    result = _filled(template, variables.get, is_variable)
    return None if result is _DROPPED else result


def is_variable(name: str) -> bool:
    """Tell whether a placeholder is a variable: what no query, key or server has a value for."""
    return name not in OF_QUERY and name.partition(".")[0] not in _GROUPS


def filled(template: Any, look_up: ValueOf) -> Any:
    """Put values into a template; a template that is left empty becomes None.

    Raises:
        MissingValueError: a placeholder that must have a value has none.

    >>> filled({"size": "{{depth}}", "q": "about {{query}}"}, {"depth": 3, "query": "x"}.get)
    {'size': 3, 'q': 'about x'}
    >>> filled({"filter": [{"lang": "{{metadata.lang?}}"}], "q": 1}, {}.get)
    {'q': 1}
    """
    result = _filled(template, look_up)
    return None if result is _DROPPED else result


def filled_path(template: str, look_up: ValueOf, only: Wanted = _any) -> str:
    """Put values into the path of an address, each quoted so that it is one part of it."""

    def written(match: re.Match[str]) -> str:
        placeholder = _of(match)
        if not only(placeholder.name):
            return match[0]
        value = _value(placeholder, look_up)
        if value is None:
            raise MissingValueError(_nothing(placeholder))
        return quote(_as_text(value, placeholder.way), safe="", errors="replace")

    return _PLACEHOLDER.sub(written, template)


def _filled(template: Any, look_up: ValueOf, only: Wanted = _any) -> Any:
    if isinstance(template, str):
        return _filled_text(template, look_up, only)
    if isinstance(template, Mapping):
        pairs = {
            _filled_key(key, look_up, only): _filled(value, look_up, only)
            for key, value in template.items()
        }
        kept = {key: value for key, value in pairs.items() if value is not _DROPPED}
        return _DROPPED if pairs and not kept else kept
    if isinstance(template, list | tuple):
        values = [_filled(value, look_up, only) for value in template]
        rest = [value for value in values if value is not _DROPPED]
        return _DROPPED if values and not rest else rest
    return template


def _filled_key(key: str, look_up: ValueOf, only: Wanted = _any) -> str:
    result = _filled_text(key, look_up, only)
    if not isinstance(result, str):
        raise InputError(f"the key {shown(key)} must become a text")
    return result


def _filled_text(text: str, look_up: ValueOf, only: Wanted = _any) -> Any:
    matches = [match for match in _PLACEHOLDER.finditer(text) if only(match[1])]
    if not matches:
        return text
    whole = len(matches) == 1 and matches[0].span() == (0, len(text))
    parts, end = [], 0
    for match in matches:
        placeholder = _of(match)
        value = _value(placeholder, look_up)
        if value is None:
            return _DROPPED
        if whole and placeholder.way is None:
            return value
        parts += [text[end : match.start()], _as_text(value, placeholder.way)]
        end = match.end()
    return "".join([*parts, text[end:]])


def _value(placeholder: Placeholder, look_up: ValueOf) -> Any:
    """Return the value of a placeholder; None: it has none, and need not have."""
    value = look_up(placeholder.name)
    if value is None and not placeholder.may_miss:
        raise MissingValueError(_nothing(placeholder))
    return value


def _nothing(placeholder: Placeholder) -> str:
    name = placeholder.name
    of_query, _, key = name.partition(".")
    if of_query == "metadata":
        return (
            f"the query has no metadata {shown(key)}, which {placeholder} asks for; write "
            f"{{{{{name}?}}}} to leave that part out"
        )
    return f"{placeholder} has no value"


def _as_text(value: Any, way: str | None) -> str:
    if way is not None:
        return _WAYS[way](value)
    return value if isinstance(value, str) else as_json(value)


def as_json(value: Any) -> str:
    """Write plain data as JSON, short and in one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _odata(value: Any) -> str:
    if not isinstance(value, str):
        return as_json(value)
    doubled = value.replace("'", "''")
    return f"'{doubled}'"


def _backticks(value: Any) -> str:
    text = value if isinstance(value, str) else as_json(value)
    if "`" in text:
        raise MissingValueError(f"the value {shown(text)} holds a backtick, which cannot be quoted")
    return f"`{text}`"


_WAYS: dict[str, Callable[[Any], str]] = {
    "json": as_json,
    "odata": _odata,
    "backticks": _backticks,
}


_STRING_OR_PLACEHOLDER = re.compile(r'"(?:[^"\\]|\\.)*"|\{\{[^{}"]*\}\}')


def read_template(text: str) -> Any:
    """Read a template that is written as JSON; a placeholder outside of quotes is taken as quoted.

    Raises:
        InputError: it is not JSON; says where.

    >>> read_template('{"size": {{depth}}}')
    {'size': '{{depth}}'}
    """
    parts, quotes, end = [], [], 0
    for match in _STRING_OR_PLACEHOLDER.finditer(text):
        parts.append(text[end : match.start()])
        end = match.end()
        is_bare = not match[0].startswith('"')
        parts.append(f'"{match[0]}"' if is_bare else match[0])
        quotes += [match.start(), end] if is_bare else []
    try:
        return json.loads("".join([*parts, text[end:]]), parse_constant=_no_number)
    except RecursionError:
        raise InputError("the template is nested too deep") from None
    except json.JSONDecodeError as error:
        # where it is in the text as it was given, without the quotes that were added
        at = error.pos - sum(place + added < error.pos for added, place in enumerate(quotes))
        line = text.count("\n", 0, at) + 1
        column = at - text.rfind("\n", 0, at)
        raise InputError(
            f"the template is not JSON: {error.msg[:1].lower()}{error.msg[1:]} at line {line}, "
            f"column {column}"
        ) from None


def _no_number(name: str) -> float:
    raise InputError(f"the template is not JSON: {name} is no number there")


def check_plain(data: Any) -> None:
    """Refuse what JSON cannot hold."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            if not isinstance(key, str):
                raise InputError(f"expected keys that are text, got {shown(key)}")
            check_plain(value)
    elif isinstance(data, list | tuple):
        for value in data:
            check_plain(value)
    elif isinstance(data, float) and not math.isfinite(data):
        raise InputError(f"expected what JSON can hold, got the number {data}")
    elif data is not None and not isinstance(data, str | int | float | bool):
        raise InputError(f"expected what JSON can hold, got {shown(type(data).__name__)}")
