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
from rankscope.errors import FormatError, InputError, RankscopeError, UnknownNameError, shown
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


_SETTING = re.compile(r"([^=()]*(?:\([^()]*\)[^=()]*)*)=(.*)", re.DOTALL)
_DOT = re.compile(r"\.(?![^()]*\))")
"""Not inside parentheses: nDCG(gain=exp)@10 is one key."""


def apply_overrides(origins: Origins, settings: Sequence[str]) -> dict[str, Any]:
    """Return the file's data with all settings applied, and note them in ``origins``."""
    data = deepcopy(origins.file.data)
    for setting in settings:
        parts = _SETTING.fullmatch(setting)
        keys = [key.strip() for key in _DOT.split(parts[1])] if parts else []
        if parts is None or not all(keys) or len(keys) > DEEPEST:
            raise InputError(
                f"--set {shown(setting)}: expected a key and a value, such as depth=50 or "
                "statistics.seed=3"
            )
        label = f"--set {dotted(tuple(keys))}"
        value = parse_value(parts[2].strip(), source=label)
        try:
            origins.overrides.append(Override(_set(data, keys, value), value))
        except RankscopeError as error:
            raise FormatError(str(error), source=label) from None
    return data


def _set(data: dict[str, Any], keys: list[str], value: Any) -> Keys:
    """Set one value, and return its path; sections that lead to it are made where they lack."""
    if keys[0] == "collection" and len(keys) > 1 and isinstance(data.get("collection"), str):
        data["collection"] = {"path": data["collection"]}
    systems = data.get("systems")
    if keys[0] == "systems" and len(keys) > 2 and isinstance(systems, dict):
        name, kind = keys[1:3]
        if name not in systems:
            raise UnknownNameError("system", name, systems)
        known = [systems[name]] if isinstance(systems[name], str) else list(systems[name] or ())
        if known and kind not in known:
            raise InputError(f"systems.{name} is {' and '.join(known)}, not {shown(kind)}")
    path: list[str | int] = []
    holder: Any = data
    for place, key in enumerate(keys):
        at: Any = key
        if isinstance(holder, list):
            if not key.isdecimal() or int(key) >= len(holder):
                size = f"a list of {len(holder)}, numbered from 0"
                raise InputError(f"{dotted(tuple(path))} is {size}; it has no {shown(key)}")
            at = int(key)
        elif not isinstance(holder, dict):
            above = f"{dotted(tuple(path))} is {given_as(holder)}"
            raise InputError(f"{above}; it has no keys that could be set")
        path.append(at)
        if place == len(keys) - 1:
            holder[at] = value
            break
        below = holder[at] if isinstance(holder, list) else holder.get(at)
        if keys[0] == "systems" and below == keys[place + 1]:  # lexical: bm25
            below = {below: {}}
        holder[at] = {} if below is None else below
        holder = holder[at]
    return tuple(path)
