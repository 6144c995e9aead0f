"""Decisions: what a router, a gate or an adaptive depth decided for each query."""

from __future__ import annotations

from typing import Any


class Decisions:
    """Decisions by query."""


def as_decisions(data: Any) -> Decisions:
    """Take decisions in any form: a file, a frame, records."""
    raise NotImplementedError(data)
