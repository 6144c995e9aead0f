"""The systems of a config: their names, sweeps, and specs, which the register of systems checks.

A sweep is one system tried with several values of its options: ``dense: {qdrant: {sweep: {ef: [16,
64]}}}`` stands for two systems, ``dense ef=16`` and ``dense ef=64``; with two options for all
combinations. An option inside another is named with dots, as in ``embedder.wordllama``.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import product
from typing import Annotated, Any

from pydantic import AfterValidator

from rankscope.benchmark.config.sections import Section, refuse
from rankscope.errors import MissingExtraError, shown
from rankscope.retrieval.options import Reading, SpecError, UnknownSpecNameError, given_as
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


# --- sweeps --------------------------------------------------------------------------------------

SWEEP = "sweep"
"""The key beside the options of a system."""

MOST = 200
"""How many systems a sweep may stand for."""


class SweepPoint(Section):
    """A system that a sweep stands for."""

    of: str
    """The name that the sweep has in the config."""
    options: dict[str, Any]
    """The options that were varied, with the values of this system."""


def expanded(systems: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the systems that a config stands for, and those of them that a sweep made.

    >>> expanded({"a": {"bm25": {"b": 0.5, "sweep": {"k1": [0.9, 1.2]}}}})[0]
    {'a k1=0.9': {'bm25': {'b': 0.5, 'k1': 0.9}}, 'a k1=1.2': {'bm25': {'b': 0.5, 'k1': 1.2}}}
    """
    specs: dict[str, Any] = {}
    swept: dict[str, Any] = {}
    for name, spec in systems.items():
        kind = next(iter(spec), "") if isinstance(spec, Mapping) and len(spec) == 1 else ""
        options = spec[kind] if kind else None
        if not isinstance(options, Mapping) or SWEEP not in options:
            specs[name] = spec
            continue
        keys = ("systems", name, kind, SWEEP)
        rest = {key: value for key, value in options.items() if key != SWEEP}
        for point in _points(options[SWEEP], keys):
            own_name = _name(str(name), point)
            if own_name in systems or own_name in specs:
                refuse(
                    f"the sweep makes a second system {own_name}; list each value once, or rename "
                    "the system",
                    *keys,
                )
            specs[own_name] = {kind: _with(rest, point)}
            swept[own_name] = {"of": str(name), "options": point}
    return specs, swept


def _points(sweep: Any, keys: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """Yield all combinations of values."""
    if not isinstance(sweep, Mapping) or not sweep:
        refuse(f"expected options with lists of values, got {given_as(sweep)}", *keys)
    for option, values in sweep.items():
        if not isinstance(values, list) or not values:
            refuse(f"expected a list of values, got {given_as(values)}", *keys, option)
    count = math.prod(map(len, sweep.values()))
    if count > MOST:
        refuse(
            f"the sweep stands for {count:,} systems, and {MOST} are the most; list fewer values",
            *keys,
        )
    for values in product(*sweep.values()):
        yield dict(zip(map(str, sweep), values, strict=True))


def _with(options: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with the values of a point put in."""
    filled: dict[str, Any] = deepcopy(dict(options))
    for path, value in point.items():
        *outer, last = path.split(".")
        table = filled
        for key in outer:
            inner = table.get(key)
            table[key] = dict(inner) if isinstance(inner, Mapping) else {}
            table = table[key]
        table[last] = value
    return filled


def _name(name: str, point: Mapping[str, Any]) -> str:
    """Return the name of a system: that of the sweep, and each option with its value."""
    short = {path: path.rpartition(".")[2] for path in point}
    if len({*short.values()}) < len(short):
        short = {path: path for path in point}
    settings = (f"{short[path]}={_value(value)}" for path, value in point.items())
    return f"{name} {','.join(settings)}"


def _value(value: Any) -> str:
    """Return a value as a part of a file name; 1 and 1.0 are the same."""
    if isinstance(value, list) and all(isinstance(entry, str | int | float) for entry in value):
        return "+".join(map(_value, value))[:40].strip(". ") or "_"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    plain = "".join(sign if sign.isalnum() or sign in "-_.+" else "_" for sign in text)
    return plain[:40].strip(". ") or "_"
