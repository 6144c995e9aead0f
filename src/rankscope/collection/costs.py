"""Costs: what each system costs, as numbers by name: latency, money, memory.

A table has a row for each system (``system,latency_ms,euros``), a mapping the same by system.
Nothing is guessed: what is no finite number from 0 up is refused with its place, and so is a system
that nobody knows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from rankscope.collection import single_cells as cells
from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import is_path, source_name
from rankscope.tables.columns import RecordLayout
from rankscope.tables.record_rows import identified, rows_from

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
    for (origin, position, _), system, fields in identified(rows_from(data, COSTS), COSTS):
        if system not in costs:
            raise origin.error(str(UnknownNameError("system", system, known)), position)
        for name, value in fields.items():
            if not str(name).strip():
                raise origin.error("a cost has no name; name each column", position)
            if cells.is_empty(value):
                continue
            number = cells.number(value)
            if number is None or not 0 <= number < math.inf:
                raise origin.error(
                    f"system {shown(system)}: {shown(name)} is {shown(value)}; expected a finite "
                    "number from 0 up, without a unit",
                    position,
                )
            costs[system][str(name)] = abs(number)  # no minus in front of a 0
    if not any(costs.values()):
        where = f"{source_name(data)}: " if is_path(data) else ""
        raise InputError(f"{where}the costs hold no number; expected one for each system and cost")
    return {system: numbers for system, numbers in costs.items() if numbers}
