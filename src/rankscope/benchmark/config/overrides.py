"""Settings: values of a config that are set outside its file.

A setting changes one value: ``--set systems.lexical.bm25.k1=1.2`` on the command line, or the
variable ``RANKSCOPE_SET_SYSTEMS__LEXICAL__BM25__K1=1.2``. The command line wins over the
environment, and the environment over the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from rankscope.benchmark.config.syntax import (
    DEEPEST,
    ConfigFile,
    dotted,
    parse_value,
    path_of,
)
from rankscope.errors import FormatError, InputError, UnknownNameError, shown
from rankscope.retrieval.options import Keys, SpecError, given_as

PREFIX = "RANKSCOPE_SET_"
"""How the names of variables that change a config begin."""


@dataclass(frozen=True, slots=True)
class Override:
    """One value set from outside; ``label`` is how messages call it."""

    keys: Keys
    value: Any
    label: str


@dataclass(frozen=True, slots=True)
class Origins:
    """Where each value of a config was given: on a line of the file, or in a setting."""

    file: ConfigFile
    overrides: list[Override] = field(default_factory=list)

    def error(self, error: SpecError) -> FormatError:
        """Return the error that a value is wrong, with the place where it was given."""
        override = self._override(error.keys)
        if override is None:
            return self.file.error(error)
        path = path_of(error)
        is_inside = len(path) > len(override.keys)  # of what the label names already
        text = f"{dotted(path)}: {error.problem}" if is_inside else error.problem
        return FormatError(text, source=override.label)

    def _override(self, keys: Keys) -> Override | None:
        """Return the last setting that set a value, or that created the section it is about."""
        in_file = _has(self.file.data, keys)
        for override in reversed(self.overrides):
            sets_it = keys[: len(override.keys)] == override.keys
            creates_it = not in_file and override.keys[: len(keys)] == keys
            if sets_it or creates_it:
                return override
        return None


def _has(data: Any, keys: Keys) -> bool:
    for key in keys:
        if not _holds(data, key):
            return False
        data = data[key]
    return True


def _holds(holder: Any, key: str | int) -> bool:
    if isinstance(holder, list):
        return isinstance(key, int) and key < len(holder)
    return isinstance(holder, dict) and key in holder


def apply_overrides(
    origins: Origins, settings: Sequence[str], environment: Mapping[str, str]
) -> dict[str, Any]:
    """Return the file's data with all settings applied, and note them in ``origins``."""
    data = deepcopy(origins.file.data)
    for name in sorted(environment):
        if name.upper().startswith(PREFIX):
            label = f"the environment variable {name}"
            path = name[len(PREFIX) :].casefold()
            keys, text = _split(f"{path}={environment[name]}", data, "__", _as_variable) or ((), "")
            if not keys:
                example = f"{PREFIX}DEPTH or {PREFIX}STATISTICS__SEED"
                raise FormatError(f"names no key; expected a name like {example}", source=label)
            _apply(data, Override(keys, parse_value(text, source=label), label), origins)
    for setting in settings:
        keys, text = _split(setting.strip(), data, ".", str) or ((), "")
        if not keys:
            raise InputError(
                f"--set {shown(setting)}: expected a key and a value, such as depth=50 or "
                "statistics.seed=3"
            )
        label = f"--set {dotted(keys)}"
        _apply(data, Override(keys, parse_value(text, source=label), label), origins)
    return data


def _as_variable(key: str) -> str:
    """Write a key as the name of a variable can hold it."""
    return re.sub(r"\W", "_", key.casefold())


_NEW_KEY = {
    ".": re.compile(r"(?:\([^()]*\)|[^.=()])*"),  # nDCG(gain=exp)@10 is one key
    "__": re.compile(r"(?:(?!__)[^=])*"),
}


def _split(
    setting: str, data: Any, separator: str, spelled: Callable[[str], str]
) -> tuple[Keys, str] | None:
    """Split a setting into the path of keys and the text of the value; None if it is none.

    ``spelled`` is how a setting writes a key.
    """
    keys: list[str | int] = []
    rest = setting
    while len(keys) < DEEPEST:
        key, rest = _next_key(rest, _keys_of(data), separator, spelled)
        if not key or not rest.startswith((separator, "=")):
            return None
        keys.append(int(key) if isinstance(data, list) and key.isdecimal() else key)
        if rest.startswith("="):
            return tuple(keys), rest[1:].strip()
        data = data[keys[-1]] if _holds(data, keys[-1]) else None
        rest = rest[len(separator) :]
    return None


def _next_key(
    text: str, known: Sequence[str], separator: str, spelled: Callable[[str], str]
) -> tuple[str, str]:
    """Return the key that a text begins with, and the rest of the text.

    Known keys come first, the longest of them: a system's name may hold a dot or an equals sign. Of
    two that are spelled alike the one that is written exactly so is meant, or else neither.
    """
    names = {key: spelled(key) for key in known}
    rests = {
        key: text[len(name) :].lstrip() for key, name in names.items() if text.startswith(name)
    }
    matches = [key for key, rest in rests.items() if rest.startswith((separator, "="))]
    longest = [key for key in matches if len(key) == max(map(len, matches))]
    exact = [key for key in longest if text.startswith(key.casefold())]
    if exact or len(longest) == 1:
        key = (exact or longest)[0]
        return key, rests[key]
    new = _NEW_KEY[separator].match(text)
    name = new[0] if new else ""
    return name.rstrip(), text[len(name) :]


def _keys_of(data: Any) -> list[str]:
    if isinstance(data, dict):
        return list(data)
    return [data] if isinstance(data, str) else []  # a system given by name only: lexical: bm25


def _apply(data: dict[str, Any], override: Override, origins: Origins) -> None:
    """Set one value; sections that lead to it are made where they are missing."""
    keys, label = override.keys, override.label
    if keys[0] == "collection" and len(keys) > 1 and isinstance(data.get("collection"), str):
        data["collection"] = {"path": data["collection"]}
    if keys[0] == "systems" and len(keys) > 2:
        _check_system(data.get("systems"), str(keys[1]), str(keys[2]), label)
    holder: Any = data
    for depth, key in enumerate(keys[:-1]):
        below = holder[key] if _holds(holder, key) else None
        if below is None:
            below = {}
        elif keys[0] == "systems" and below == keys[depth + 1]:  # lexical: bm25
            below = {below: {}}
        _put(holder, keys[: depth + 1], below, label)
        holder = below
    _put(holder, keys, override.value, label)
    origins.overrides.append(override)


def _check_system(systems: Any, name: str, kind: str, label: str) -> None:
    """Refuse to set an option of a system that does not exist, or that is of another kind."""
    if not isinstance(systems, dict):
        return
    if name not in systems:
        raise FormatError(str(UnknownNameError("system", name, systems)), source=label)
    kinds = _keys_of(systems[name])
    if kinds and kind not in kinds:
        problem = f"systems.{name} is {' and '.join(kinds)}, not {shown(kind)}"
        raise FormatError(problem, source=label)


def _put(holder: Any, keys: Keys, value: Any, label: str) -> None:
    *above, key = keys
    if isinstance(holder, dict):
        holder[str(key)] = value
    elif _holds(holder, key):
        holder[key] = value
    elif isinstance(holder, list):
        text = f"{dotted(tuple(above))} is a list of {len(holder)}, numbered from 0"
        raise FormatError(f"{text}; it has no {shown(key)}", source=label)
    else:
        text = f"{dotted(tuple(above))} is {given_as(holder)}"
        raise FormatError(f"{text}; it has no keys that could be set", source=label)
