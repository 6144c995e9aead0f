"""Where and when a benchmark runs: the machine, and the time."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime

from rankscope.records.report import Machine


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine() -> Machine:
    """Describe this machine."""
    try:
        memory: int | None = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = None
    return Machine(
        system=platform.system(),
        release=platform.release(),
        machine=platform.machine(),
        cores=cores(),
        memory=memory,
    )
