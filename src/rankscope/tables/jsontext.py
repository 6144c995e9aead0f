"""JSON and JSON lines as text; `shapes` (pairs) and `records` say what they mean.

`dump_json` is also how records keep fields that are not text.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from datetime import date, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rankscope.errors import FormatError, InputError, shown
from rankscope.files import decoded
from rankscope.tables.detection import BOM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DEEPEST = 100


# --- reading


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object, refusing a key that appears twice: one of the two would be lost."""
    built = dict(pairs)
    if len(built) != len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise InputError(f"the key {shown(twice)} appears twice in one object; keep one")
    return built


def _finite(text: str) -> float:
    """Parse a number; NaN, infinity and what is too large for a float are refused."""
    number = float(text)
    if not math.isfinite(number):
        raise InputError(f"{shown(text, 40)} is not a finite number")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)
_STRICT = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_finite)


def parse_json(
    text: str, *, source: str, line: int | None = None, only_finite: bool = False
) -> Any:
    """Parse one JSON value; whatever is wrong with it becomes a `FormatError` with its line.

    If ``only_finite``, numbers that are not finite are wrong, as they are in JSON's own rules.
    """
    try:
        value = (_STRICT if only_finite else _DECODER).decode(text)
        if not _is_deep(text, value):
            return value
        problem = f"not usable JSON (nested more than {_DEEPEST} levels deep)"
    except json.JSONDecodeError as error:
        problem = f"not valid JSON ({error.msg.removesuffix(' at')} at column {error.colno})"
        line = error.lineno + (line - 1 if line else 0)
    except InputError as error:
        problem = str(error)
    except RecursionError:
        problem = "not usable JSON (nested too deeply)"
    except MemoryError:
        problem = "not enough memory to read it; split it, or use a machine with more"
    except ValueError:  # all that is left: Python refuses to parse so long an integer
        problem = "not usable JSON (a number has too many digits)"
    raise FormatError(problem, source=source, line=line)


def read_json(data: bytes, *, source: str) -> dict[str, Any] | list[Any]:
    """Parse a file that is one object or one list."""
    value = parse_json(decoded(data.removeprefix(BOM), source=source), source=source)
    if isinstance(value, dict | list):
        return value
    problem = f"expected an object or a list, found {shown(value, 40)}"
    raise FormatError(problem, source=source, line=1)


def read_json_lines(lines: Iterable[bytes], *, source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the object on each line."""
    for number, line in enumerate(lines, start=1):
        text = decoded(line, source=source, line=number).strip()
        value = parse_json(text, source=source, line=number) if text else None
        if isinstance(value, dict):
            yield number, value
        elif text:
            problem = f"expected one JSON object on each line, found {shown(text, 40)}"
            raise FormatError(problem, source=source, line=number)


def _is_deep(text: str, value: object) -> bool:
    """Tell whether the value of this JSON text is nested more deeply than is allowed."""

    def is_deeper(value: object, levels: int) -> bool:
        if not isinstance(value, dict | list | tuple):
            return False
        items = value.values() if isinstance(value, dict) else value
        return levels == 0 or any(is_deeper(item, levels - 1) for item in items)

    return text.count("[") + text.count("{") > _DEEPEST and is_deeper(value, _DEEPEST)


# --- writing


def dump_json(value: object) -> str:
    """Return JSON text that can be stored as UTF-8; raise ValueError if there is none."""
    try:
        text = _ENCODER.encode(value)
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half a surrogate pair, which is not text") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except TypeError as error:
        raise ValueError(str(error)) from None
    if _is_deep(text, value):
        raise ValueError(f"it is nested more than {_DEEPEST} levels deep")
    return text


def _plain(value: object) -> object:
    """Return what to write for a value JSON does not know."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta):
        return str(value)
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be kept as JSON")


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=_plain)
