"""Records in JSON, which carries everything: a file of them, one on each line, and back to text.

Between `records` and `reading`. `dump_json` is also how `table` keeps the fields that are not text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, time, timedelta
from decimal import Decimal

from rankscope.collection.objects import keyed_rows, listed_rows
from rankscope.collection.records import Kind, Origin, Placed
from rankscope.errors import FormatError, shown
from rankscope.tables.delimited import decoded
from rankscope.tables.jsontext import parse_json

__all__ = ["dump_json", "json_lines_rows", "json_rows"]

_DEEPEST = 100
_FIRST_ID = re.compile(rb'\s*\{\s*"_id"\s*:\s*"([^"\\\x00-\x1f\x80-\xff]+)"\s*,')


def json_lines_rows(lines: Iterator[bytes], source: str, *, ids_only: bool) -> Iterator[Placed]:
    """Yield the row on each line; ``ids_only`` looks no further than a leading ``_id``."""
    origin = Origin(source, "line")
    for number, line in enumerate(lines, start=1):
        if ids_only and (first := _FIRST_ID.match(line)) and line.rstrip().endswith(b"}"):
            yield origin, number, {"_id": first[1].decode()}
            continue
        text = decoded(line, source=source, line=number).strip()
        if not text:
            continue
        row = parse_json(text, source=source, line=number)
        if not isinstance(row, dict):
            raise origin.error(f"came {shown(text)}; expected one JSON object on a line", number)
        yield origin, number, row


def json_rows(text: str, source: str, kind: Kind) -> Iterator[Placed]:
    """Yield the rows of a list of records, or of an object from id to record."""
    data = parse_json(text, source=source)
    items = Origin(source, "item")
    if isinstance(data, dict):
        yield from keyed_rows(data, items, kind)
    elif isinstance(data, list):
        yield from listed_rows(data, items, kind)
    else:
        problem = f"came {shown(text)}; expected a list of objects, or an object by id"
        raise FormatError(problem, source=source)


def dump_json(value: object) -> str:
    """Return JSON text that can be stored as UTF-8; raise ValueError if there is none."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=_plain)
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half a surrogate pair, which is not text") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except TypeError as error:
        raise ValueError(str(error)) from None
    if text.count("[") + text.count("{") > _DEEPEST and _depth(value) > _DEEPEST:
        raise ValueError(f"it is nested more than {_DEEPEST} levels deep")
    return text


def _plain(value: object) -> object:
    """Say what json should write for a value it does not know."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta):
        return str(value)
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be kept as JSON")


def _depth(value: object, left: int = _DEEPEST) -> int:
    if left < 0 or not isinstance(value, dict | list | tuple) or not value:
        return 0
    inside = value.values() if isinstance(value, dict) else value
    return 1 + max(_depth(item, left - 1) for item in inside)
