"""Costs: what each system costs, as numbers by name: latency, money, memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def as_costs(data: Any, systems: Iterable[str]) -> Mapping[str, Mapping[str, float]]:
    """Take costs by system in any form: a file, a frame, a mapping."""
    raise NotImplementedError(data, systems)
