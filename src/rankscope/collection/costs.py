"""Costs: what each system costs, as numbers by name: latency, money, memory.

A table has a row for each system (``system,latency_ms,euros``) or a row for each number
(``system,name,value``). Nothing is guessed: what is no finite number from 0 up is refused with its
place, and so is a system that nobody knows.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import is_path, source_name
from rankscope.tables.columns import RecordLayout, find_name, folded
from rankscope.tables.reading import read_records
from rankscope.tables.record_rows import Placed, Row, identify, rows_of

_NAMES = ("name", "cost", "metric", "measure", "quantity")
_VALUES = ("value", "amount", "number")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CostLayout(RecordLayout):
    def is_header(self, cells: Sequence[str]) -> bool:
        """Tell whether a cell names the column of systems; its other names may be systems."""
        names = [folded(cell) for cell in cells]
        return "system" in names or names[:1] in [[folded(name)] for name in self.id_names]


COSTS = _CostLayout(
    kind="costs",
    formats=("csv", "tsv", "json", "jsonl", "parquet"),
    suffixes={},
    headerless={3: ("system", "name", "value")},
    noun="cost",
    id_column="system",
    id_names=("system", "system_id", "system_name", "run", "run_name", "model", "id", "name"),
    text_names=(),
    columns=(),
)


def as_costs(data: Any, systems: Iterable[str]) -> dict[str, dict[str, float]]:
    """Take costs by system in any form: a file, a frame, records, a mapping.

    ``systems`` are those that there are; any other is refused. A system without costs, or a cost
    that is not known of a system (an empty cell, null), is simply not there.

    >>> as_costs({"bm25": {"latency_ms": 12}}, ["bm25", "dense"])
    {'bm25': {'latency_ms': 12.0}}
    >>> rows = [{"system": "bm25", "name": "latency_ms", "value": "12"}]
    >>> as_costs(rows, ["bm25", "dense"])
    {'bm25': {'latency_ms': 12.0}}
    """
    known = list(systems)
    costs: dict[str, dict[str, float]] = {}
    first: dict[tuple[str, str], int] = {}
    for placed in _rows(data):
        origin, position, _ = placed
        system, fields = identify(placed, COSTS)
        if system not in known:
            raise origin.error(str(UnknownNameError("system", system, known)), position)
        try:
            numbers = dict(_numbers(fields))
        except ValueError as error:
            raise origin.error(f"system {shown(system)}: {error}", position) from None
        for name, number in numbers.items():
            if (system, name) in first:
                raise origin.error(
                    f"system {shown(system)}: {shown(name)} was given before, at {origin.unit} "
                    f"{first[system, name]}; keep one",
                    position,
                )
            first[system, name] = position
            costs.setdefault(system, {})[name] = number
    if not costs:
        where = f"{source_name(data)}: " if is_path(data) else ""
        raise InputError(f"{where}the costs hold no number; expected one for each system and cost")
    return {system: costs[system] for system in known if system in costs}


def _rows(data: Any) -> Iterator[Placed]:
    if not is_path(data):
        return rows_of(data, COSTS)
    if os.path.isdir(data):
        raise InputError(f"{source_name(data)}: is a folder; name a file with the costs")
    return read_records(data, COSTS)


def _numbers(fields: Row) -> Iterator[tuple[str, float]]:
    """Yield what a row says a system costs."""
    name, value = find_name(fields, _NAMES), find_name(fields, _VALUES)
    if name is not None and value is not None and _is_name(fields[name]):
        others = [key for key in fields if key not in (name, value)]
        if others:
            raise ValueError(
                f"a row with {shown(name)} and {shown(value)} has one cost, and {shown(others[0])} "
                "is not a part of it; leave that column out"
            )
        fields = {str(fields[name]).strip(): fields[value]}
    for key, cost in fields.items():
        if not str(key).strip():
            raise ValueError("a cost has no name; name each column")
        if cost is not None:
            yield str(key), _number(str(key), cost)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and not _NUMBER.fullmatch(value.strip())


def _number(name: str, value: object) -> float:
    """Return a cost as a number; what is none is a ValueError that says so."""
    number = math.nan
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        number = float(value)
    elif not isinstance(value, bool | str | bytes | Mapping) and hasattr(value, "__float__"):
        try:
            number = float(value)
        except (ValueError, OverflowError, TypeError):  # an array; a whole number beyond all bounds
            number = math.nan
    if not math.isfinite(number) or number < 0:
        raise ValueError(
            f"{shown(name)} is {shown(value)}; expected a finite number from 0 up, without a unit"
        )
    return number + 0.0  # no minus in front of a 0
