"""The checks of the systems in a config: names, kinds, options, and references to each other.

`Config` calls `check_systems` while it is read, so nothing is built: the registers of `retrieval`
check specs. `config_schema` says the same to editors.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from rankscope.benchmark.config_sections import refuse
from rankscope.errors import MissingExtraError, shown
from rankscope.retrieval.options import Reading, SpecError
from rankscope.retrieval.registry import SYSTEMS

LONGEST_FILE_NAME = 200
"""No name that becomes one of a file or folder is longer."""

_INSIDE = "-_.+ ,="
_LONGEST_NAME = 80


def check_systems(systems: Mapping[str, Any]) -> None:
    """Refuse names, kinds, options and references that cannot be."""
    if not systems:
        refuse("systems is empty; give at least one, such as lexical: bm25", "systems")
    seen: dict[str, str] = {}
    for name, spec in systems.items():
        problem = _name_problem(name)
        if problem is not None:
            text = f"the system name {shown(name)} {problem}, as it becomes a file name"
            refuse(text, "systems", name)
        other = seen.setdefault(_same_file(name), name)
        if other != name:
            text = f"the systems {other} and {name} differ by case only; rename one"
            refuse(text, "systems", name)
        try:
            SYSTEMS.read(spec, Reading(systems, unexpanded=True))
        except MissingExtraError:
            continue  # said when the system is made
        except SpecError as error:
            refuse(f"system {name}: {error}", "systems", name, *error.keys)


def _name_problem(name: str) -> str | None:
    """Say why a name cannot be a file name everywhere; None if it can."""
    if not name or len(name) > _LONGEST_NAME or len(name.encode()) > LONGEST_FILE_NAME:
        return f"must have 1 to {_LONGEST_NAME} characters"
    wrong = [one for one in name if one not in _INSIDE and not _is_letter(one)]
    if wrong:
        return f"holds {shown(wrong[0])}; use letters, digits and {_INSIDE.strip()}"
    if not _is_letter(name[0]) or name[-1] in ". ":
        return "must begin with a letter or digit, and not end with a dot or space"
    return None


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNM"


def _same_file(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
