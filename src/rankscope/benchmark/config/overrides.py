"""Settings: values of a config that are set outside its file.

``--set systems.lexical.bm25.k1=1.2`` changes one value; of several settings the last one counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from rankscope.benchmark.config.syntax import DEEPEST, ConfigFile, dotted, parse_value, path_of
from rankscope.errors import FormatError, InputError, UnknownNameError, shown
from rankscope.retrieval.options import Keys, SpecError, given_as


@dataclass(frozen=True, slots=True)
class Override:
    """One value set from outside."""

    keys: Keys
    value: Any

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"--set {dotted(self.keys)}"


@dataclass(frozen=True, slots=True)
class Origins:
    """Where each value of a config was given: on a line of the file, or in a setting."""

    file: ConfigFile
    overrides: list[Override] = field(default_factory=list)

    def error(self, error: SpecError) -> FormatError:
        """Return the error that a value is wrong, with the place where it was given."""
        keys, path = error.keys, path_of(error)
        for override in reversed(self.overrides):
            sets_it = keys[: len(override.keys)] == override.keys
            creates_it = keys not in self.file.lines and override.keys[: len(keys)] == keys
            if sets_it or creates_it:
                is_inside = len(path) > len(override.keys)  # of what the label names already
                text = f"{dotted(path)}: {error.problem}" if is_inside else error.problem
                return FormatError(text, source=override.label)
        return self.file.error(error)


def _holds(holder: Any, key: str | int) -> bool:
    if isinstance(holder, list):
        return isinstance(key, int) and key < len(holder)
    return isinstance(holder, dict) and key in holder


def apply_overrides(origins: Origins, settings: Sequence[str]) -> dict[str, Any]:
    """Return the file's data with all settings applied, and note them in ``origins``."""
    data = deepcopy(origins.file.data)
    for setting in settings:
        keys, text = _split(setting.strip(), data)
        if not keys:
            raise InputError(
                f"--set {shown(setting)}: expected a key and a value, such as depth=50 or "
                "statistics.seed=3"
            )
        label = f"--set {dotted(keys)}"
        override = Override(keys, parse_value(text, source=label))
        _apply(data, override)
        origins.overrides.append(override)
    return data


_NEW_KEY = re.compile(r"(?:\([^()]*\)|[^.=()])*")
"""A key that is not there yet: nDCG(gain=exp)@10 is one."""


def _split(setting: str, data: Any) -> tuple[Keys, str]:
    """Split a setting into the path of keys, none if it is no setting, and the text of the value.

    Known keys come first, the longest of them: a system's name may hold a dot or an equals sign.
    """
    keys: list[str | int] = []
    rest = setting
    while len(keys) < DEEPEST:
        known = [
            key
            for key in _keys_of(data)
            if rest.startswith(key) and rest[len(key) :].lstrip().startswith((".", "="))
        ]
        new = _NEW_KEY.match(rest)
        key = max(known, key=len, default=new[0] if new else "")
        rest, key = rest[len(key) :].lstrip(), key.rstrip()
        if not key or not rest.startswith((".", "=")):
            break
        keys.append(int(key) if isinstance(data, list) and key.isdecimal() else key)
        if rest.startswith("="):
            return tuple(keys), rest[1:].strip()
        data = data[keys[-1]] if _holds(data, keys[-1]) else None
        rest = rest[1:]
    return (), ""


def _keys_of(data: Any) -> list[str]:
    if isinstance(data, dict):
        return list(data)
    return [data] if isinstance(data, str) else []  # a system given by name only: lexical: bm25


def _apply(data: dict[str, Any], override: Override) -> None:
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
    else:
        expected = f"it has no {shown(key)}"
        if isinstance(holder, list):
            is_what = f"a list of {len(holder)}, numbered from 0"
        else:
            is_what, expected = given_as(holder), "it has no keys that could be set"
        raise FormatError(f"{dotted(tuple(above))} is {is_what}; {expected}", source=label)
