"""Sweeps: one system of a config tried with several values of its options.

``dense: {qdrant: {search: vector, sweep: {ef: [16, 64, 256]}}}`` stands for three systems, ``dense
ef=16``, ``dense ef=64`` and ``dense ef=256``, which differ in that option alone; with two options
for all combinations. An option inside another is named with dots, as in ``embedder.wordllama``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import product
from typing import Any

from rankscope.benchmark.config.sections import Section, refuse
from rankscope.retrieval.options import given_as

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
        kind, options = _options(spec)
        if options is None or SWEEP not in options:
            specs[name] = spec
            continue
        rest = {key: value for key, value in options.items() if key != SWEEP}
        for point in _points(options[SWEEP], ("systems", name, kind, SWEEP)):
            own_name = _name(str(name), point)
            if own_name in systems or own_name in specs:
                refuse(
                    f"the sweep makes a second system {own_name}; give its values names that "
                    "differ, or rename the system",
                    *("systems", name, kind, SWEEP),
                )
            specs[own_name] = {kind: _with(rest, point)}
            swept[own_name] = {"of": str(name), "options": point}
    return specs, swept


def _options(spec: Any) -> tuple[str, Mapping[str, Any] | None]:
    """Return the kind of a system and its options, if it has a table of them."""
    if isinstance(spec, Mapping) and len(spec) == 1:
        ((kind, options),) = spec.items()
        if isinstance(options, Mapping):
            return str(kind), options
    return "", None


def _points(sweep: Any, keys: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """Yield all combinations of values."""
    if not isinstance(sweep, Mapping) or not sweep:
        refuse(f"expected options with lists of values, got {given_as(sweep)}", *keys)
    for option, values in sweep.items():
        if not isinstance(values, list) or not values:
            refuse(f"expected a list of values, got {given_as(values)}", *keys, option)
        seen = [_same(value) for value in values]
        if len({*seen}) < len(seen):
            refuse("a value is listed twice; list each once", *keys, option)
    count = math.prod(map(len, sweep.values()))
    if count > MOST:
        refuse(
            f"the sweep stands for {count:,} systems, and {MOST} are the most; list fewer values",
            *keys,
        )
    for values in product(*sweep.values()):
        yield dict(zip(map(str, sweep), values, strict=True))


def _same(value: Any) -> str:
    """Return what is the same for values that mean the same, such as 1 and 1.0."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return json.dumps(float(value) if number else value, sort_keys=True, default=str)


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
    """Return a value as a part of a file name."""
    if isinstance(value, list) and all(isinstance(entry, str | int | float) for entry in value):
        return "+".join(map(_value, value))[:40].strip(". ") or "_"
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    kept = "".join(sign if sign.isalnum() or sign in "-_.+" else "_" for sign in text)
    return kept[:40].strip(". ") or "_"
