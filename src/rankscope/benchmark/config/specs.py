"""The systems of a config: their names, and their specs, which the register of systems checks."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator

from rankscope.benchmark.config.sections import refuse
from rankscope.errors import MissingExtraError, shown
from rankscope.retrieval.options import Reading, SpecError, UnknownSpecNameError
from rankscope.retrieval.registry import SYSTEMS

_INSIDE = "-_.+ ,="
_LONGEST = 80
_MOST_BYTES = 200


def _checked_names(systems: dict[str, Any]) -> dict[str, Any]:
    """Refuse names that cannot be file names everywhere."""
    if not systems:
        refuse("expected at least one system, such as lexical: bm25, got an empty mapping")
    by_file: dict[str, str] = {}
    for name in systems:
        problem = _name_problem(name)
        if problem is not None:
            refuse(f"the name becomes a file name: {problem}", name)
        other = by_file.setdefault(name.casefold(), name)
        if other != name:
            refuse(f"the systems {other} and {name} differ by case only; rename one", name)
    return systems


SystemSpecs = Annotated[dict[str, Any], AfterValidator(_checked_names)]
"""The specs of systems by name."""


def _name_problem(name: str) -> str | None:
    """Say why a name cannot be a file name; None if it can."""
    if not name or len(name) > _LONGEST or len(name.encode()) > _MOST_BYTES:
        return f"expected 1 to {_LONGEST} characters, got {shown(name)}"
    others = [letter for letter in name if letter not in _INSIDE and not _is_letter(letter)]
    if others:
        return f"expected letters, digits and {_INSIDE.strip()}, got {shown(others[0])}"
    if not _is_letter(name[0]) or name[-1] in ". ":
        return "it must begin with a letter or digit, and not end with a dot or space"
    return None


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNM"


def check_specs(systems: Mapping[str, Any], swept: Mapping[str, str]) -> None:
    """Check kinds, options and references to other systems; nothing is built.

    ``swept`` says which system of the file one stands for, where that is another.

    Raises:
        SpecError: what does not fit, and where.
    """
    reading = Reading(systems=systems, unexpanded=True, as_written=True)
    for name, spec in systems.items():
        try:
            SYSTEMS.read(spec, reading)
        except MissingExtraError:
            continue  # said when the system is made
        except SpecError as error:
            unknown = error.name if isinstance(error, UnknownSpecNameError) else ""
            points = [point for point, of in swept.items() if of == unknown]
            if points:
                problem = f"{unknown} is a sweep; name a system it stands for, such as {points[0]}"
                error = SpecError(problem, error.keys)
            raise error.inside("systems", swept.get(name, name)) from None
