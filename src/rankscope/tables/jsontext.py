"""JSON and JSON lines: dicts of dicts, lists of records, records that hold a ranked list."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rankscope.errors import FormatError, shown
from rankscope.tables.delimited import decoded
from rankscope.tables.objects import rows_from_mapping, rows_from_records
from rankscope.tables.whitespace import BOM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankscope.tables.columns import Layout
    from rankscope.tables.rows import Rows

__all__ = ["parse_json", "read_json", "read_json_lines"]


class _DuplicateKeyError(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object, refusing a key that stands twice: one of the two would be lost."""
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKeyError(f"the key {shown(key)} stands twice in one object")
            seen.add(key)
    return made


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)


def parse_json(text: str, *, source: str, line: int | None = None) -> Any:
    """Parse one JSON value; whatever is wrong with it becomes a `FormatError` with its line."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        problem = f"not valid JSON ({error.msg.removesuffix(' at')} at column {error.colno})"
        line = error.lineno + (line - 1 if line else 0)
    except _DuplicateKeyError as error:
        problem = f"{error}; keep one"
    except RecursionError:
        problem = "not usable JSON (nested too deeply)"
    except ValueError:  # all that is left: Python refuses to parse so long an integer
        problem = "not usable JSON (a number has too many digits)"
    raise FormatError(problem, source=source, line=line)


def read_json(data: bytes, layout: Layout, *, source: str) -> Rows:
    """Read a JSON file: ``{query: {doc: value}}``, ``{query: [doc, …]}`` or a list of records."""
    value = parse_json(decoded(data.removeprefix(BOM), source=source), source=source)
    if isinstance(value, dict):
        return rows_from_mapping(value, layout, source=source)
    if isinstance(value, list):
        return rows_from_records(value, layout, source=source)
    raise FormatError(
        f"expected an object or a list, found {shown(type(value).__name__)}", source=source, line=1
    )


def read_json_lines(data: bytes, layout: Layout, *, source: str) -> Rows:
    """Read JSON lines: one record a line."""
    text = decoded(data.removeprefix(BOM), source=source)
    numbers: list[int] = []

    def records() -> Iterator[dict[str, Any]]:
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            record = parse_json(line, source=source, line=number)
            if not isinstance(record, dict):
                raise FormatError(
                    f"expected one object a line, found {shown(line.strip(), 40)}",
                    source=source,
                    line=number,
                )
            numbers.append(number)
            yield record

    return rows_from_records(records(), layout, source=source, lines=numbers)
