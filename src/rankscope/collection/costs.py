"""Costs: what each system costs, as numbers by name: latency, money, memory.

A table has a row for each system (``system,latency_ms,euros``), a mapping the same by system.
Nothing is guessed: what is no finite number from 0 up is refused with its place, and so is a system
that nobody knows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from rankscope.collection.cells import number, read_cells
from rankscope.errors import InputError, UnknownNameError
from rankscope.files import is_path, source_name
from rankscope.tables.columns import RecordLayout

COSTS = RecordLayout(
    kind="costs",
    noun="cost",
    id_column="system",
    id_names=("system", "system_id", "system_name", "run", "run_name", "model", "id", "name"),
)


def as_costs(data: Any, systems: Iterable[str]) -> dict[str, dict[str, float]]:
    """Take costs by system in any form: a file, a frame, records, a mapping.

    ``systems`` are those that there are; any other is refused. A system without costs, or a cost
    that is not known of a system (an empty cell, null), is simply not there.

    >>> as_costs({"bm25": {"latency_ms": 12}}, ["bm25", "dense"])
    {'bm25': {'latency_ms': 12.0}}
    """
    known = list(systems)
    costs: dict[str, dict[str, float]] = {system: {} for system in known}
    for record, system, numbers in read_cells(data, COSTS, lambda name: (name, _cost)):
        if system not in costs:
            raise record.error(str(UnknownNameError("system", system, known)))
        if not all(str(name).strip() for name in record.fields):
            raise record.error("a cost has no name; name each column")
        costs[system] = numbers
    if not any(costs.values()):
        where = f"{source_name(data)}: " if is_path(data) else ""
        raise InputError(f"{where}the costs hold no number; expected one for each system and cost")
    return {system: numbers for system, numbers in costs.items() if numbers}


def _cost(value: Any) -> float:
    cost = number(value)
    if cost is None or not 0 <= cost < math.inf:
        raise ValueError("a finite number from 0 up, without a unit")
    return abs(cost)  # no minus in front of a 0
