"""The checks of the systems in a config: names, kinds, options, and references to each other.

`Config` calls `check_systems` while it is read, so nothing is built: the registers of `retrieval`
tell which kinds and options there are. `config_schema` says the same to editors.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from pydantic_core import PydanticCustomError

from rankscope.benchmark.config.overrides import Origins
from rankscope.benchmark.config.sections import Problem, refuse
from rankscope.benchmark.config.sections import actual as came
from rankscope.benchmark.config.syntax import Keys, dotted
from rankscope.errors import MissingExtraError, RankscopeError, UnknownNameError, shown
from rankscope.retrieval.registry import SYSTEMS, Entry, Registry
from rankscope.retrieval.stages.rerank import RERANKERS
from rankscope.retrieval.stages.rewrite import REWRITERS
from rankscope.retrieval.vector.embedders import EMBEDDERS

__all__ = ["LONGEST_FILE_NAME", "STAGES", "check_systems", "register_of"]

LONGEST_FILE_NAME = 200
"""No name that becomes one of a file or folder is longer."""

STAGES = ("fuse", "rerank", "rewrite")
"""Systems whose option ``of`` names others."""

_INSIDE = "-_.+ ,="
_LONGEST_NAME = 80


def check_systems(systems: Mapping[str, Any], origins: Origins) -> None:
    try:
        _check_systems(systems)
    except PydanticCustomError as error:
        c = error.context
        raise origins.error(Problem(c["problem"], c["keys"], c["keys"])) from None


def _check_systems(systems: Mapping[str, Any]) -> None:
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
        _check_spec(spec, ("systems", name))
    for name, spec in systems.items():
        for reference, keys in _references(spec, ("systems", name)):
            if reference not in systems and reference not in SYSTEMS.names():
                unknown = UnknownNameError("system", reference, [*systems, *SYSTEMS.names()])
                refuse(f"{dotted(keys)}: {unknown}", *keys)


def _check_spec(spec: Any, keys: Keys) -> None:
    """Check one spec: a kind, or a kind with its options."""
    if isinstance(spec, str):
        kind, given, inside = spec, None, keys
    elif isinstance(spec, dict) and len(spec) == 1:
        ((kind, given),) = spec.items()
        inside = (*keys, kind)
    else:
        refuse(
            f"{dotted(keys)} must be a kind of system with its options, such as bm25: {{k1: 1.2}}, "
            f"not {_listed(spec) if isinstance(spec, dict) else came(spec)}",
            *keys,
        )
    if kind not in SYSTEMS.names():
        refuse(f"{dotted(keys)}: {UnknownNameError('system', kind, SYSTEMS.names())}", *inside)
    _check_options(SYSTEMS.entry(kind), given, inside)


def _listed(spec: Mapping[str, Any]) -> str:
    return f"{len(spec)} keys ({', '.join(map(str, spec))})" if spec else "an empty mapping"


def _check_options(entry: Entry[Any], given: Any, keys: Keys) -> None:
    """Check the names of options, that required ones are there, and values that hold no secret."""
    known = {one.name: one for one in fields(entry.options) if "check" in one.metadata}
    if given is None:
        given = {}
    is_table = isinstance(given, dict)
    if not is_table:
        if not known:
            refuse(f"{entry.name} has no options, but {came(given)} was given", *keys)
        given = {next(iter(known)): given}
    for option in entry.described():
        if option.required and option.name not in given:
            refuse(f"{entry.name} needs the option {option.name}: {option.doc}", *keys)
    for name, value in given.items():
        place = (*keys, name) if is_table else keys
        if name not in known:
            refuse(str(UnknownNameError(f"option of {entry.name}", name, known)), *place)
        _check_value(entry, name, value, known[name].metadata["check"], place)


def _check_value(entry: Entry[Any], name: str, value: Any, check: Any, keys: Keys) -> None:
    part = register_of(entry.name, name)
    if name == "of" and entry.name in STAGES:
        _check_inner(value, keys)
    if part is not None and value is not None:
        _check_part(part, value, name, keys)
    if "${" in json.dumps(value):
        return
    try:
        check(value)
    except MissingExtraError:
        return  # said when the system is made
    except (RankscopeError, ValueError) as error:
        if isinstance(error, RankscopeError):
            refuse(str(error), *keys)
        refuse(f"option {name} of {entry.name} must be {error}, not {came(value)}", *keys)


def register_of(kind: str, option: str) -> Registry[Any] | None:
    """Return the register that an option's value, or its name, is looked up in."""
    if (kind, option) == ("vector", "embedder"):
        return EMBEDDERS
    registers: dict[str, Registry[Any]] = {"rerank": RERANKERS, "rewrite": REWRITERS}
    found = registers.get(kind)
    return found if found is not None and option in found.names() else None


def _check_part(registry: Registry[Any], value: Any, option: str, keys: Keys) -> None:
    if registry is not EMBEDDERS:
        _check_options(registry.entry(option), value, keys)
        return
    if isinstance(value, dict) and len(value) == 1:
        ((name, given),) = value.items()
        inside = (*keys, name)
    elif isinstance(value, str) and "${" not in value:
        name, given, inside = value, None, keys
    else:
        return
    if name not in registry.names():
        refuse(str(UnknownNameError(registry.noun, name, registry.names())), *inside)
    _check_options(registry.entry(name), given, inside)


def _check_inner(value: Any, keys: Keys) -> None:
    """Check the specs inside ``of``; names are looked up once all systems are known."""
    for at, one in enumerate(value) if isinstance(value, list) else ((None, value),):
        if isinstance(one, dict):
            _check_spec(one, keys if at is None else (*keys, at))


def _references(spec: Any, keys: Keys) -> Iterator[tuple[str, Keys]]:
    """Yield the names in ``of``, at any depth, with the way to them."""
    if not isinstance(spec, dict):
        return
    for kind, given in spec.items():
        if kind not in STAGES:
            continue
        of = given.get("of") if isinstance(given, dict) else given
        place = (*keys, kind, "of") if isinstance(given, dict) else (*keys, kind)
        for at, one in enumerate(of) if isinstance(of, list) else ((None, of),):
            own = place if at is None else (*place, at)
            if isinstance(one, str):
                yield one, own
            else:
                yield from _references(one, own)


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
