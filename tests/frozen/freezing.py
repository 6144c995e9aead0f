"""Making frozen numbers anew, and comparing them with those that were written down."""

from __future__ import annotations

import json
import math
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from frozen import subjects

VALUES = Path(__file__).parent / "values"
TOLERANCE = 1e-12
ABSENT = "absent"

for found in pkgutil.iter_modules(subjects.__path__):
    import_module(f"{subjects.__name__}.{found.name}")

SUBJECTS = sorted(subjects.MADE)


def made(subject: str) -> Any:
    """Ask the product for the numbers of a subject, as JSON holds them.

    Raises:
        FileNotFoundError: it needs a real collection that is not here.
    """
    return json.loads(json.dumps(_plain(subjects.MADE[subject]())))


def written(subject: str) -> Any:
    """Return the numbers that were written down."""
    return json.loads((VALUES / f"{subject}.json").read_text())


def write(subject: str, numbers: Any) -> None:
    """Write numbers down, a line for each list of numbers, so that differences can be read."""
    (VALUES / f"{subject}.json").write_text(_text(numbers) + "\n")


def differences(old: Any, new: Any, place: str = "") -> Iterator[str]:
    """Name each place where two trees of numbers differ by more than the tolerance."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from differences(old.get(key, ABSENT), new.get(key, ABSENT), f"{place}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (was, now) in enumerate(zip(old, new, strict=True)):
            yield from differences(was, now, f"{place}[{at}]")
    elif not _equal(old, new):
        yield f"{place}: {_brief(old)} -> {_brief(new)}"


def _equal(old: Any, new: Any) -> bool:
    if isinstance(old, int | float) and isinstance(new, int | float):
        return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(old) is type(new) and bool(old == new)


def _plain(numbers: Any) -> Any:
    """Turn keys into texts, NumPy's numbers into Python's, and keep 15 digits of each."""
    if isinstance(numbers, dict):
        return {str(key): _plain(value) for key, value in numbers.items()}
    if isinstance(numbers, list | tuple):
        return [_plain(value) for value in numbers]
    if hasattr(numbers, "tolist"):
        return _plain(numbers.tolist())
    if isinstance(numbers, float):
        if not math.isfinite(numbers):
            return str(numbers)
        rounded = float(f"{numbers:.15g}")
        return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
    return numbers


def _text(numbers: Any, indent: str = "") -> str:
    """Write JSON with a line for each list, and for each entry of a dict that is long."""
    line = json.dumps(numbers, ensure_ascii=False)
    if not isinstance(numbers, dict) or len(line) <= 80:
        return line
    inner = indent + " "
    entries = [
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {_text(value, inner)}"
        for key, value in numbers.items()
    ]
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"


def _brief(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
