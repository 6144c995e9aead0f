"""What is frozen: functions that ask the product, each named as the file of its numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Numbers = Callable[[], Any]

MADE: dict[str, Numbers] = {}
"""By the name of the subject."""


def subject(numbers: Numbers) -> Numbers:
    """Register a function that returns numbers by its name."""
    MADE[numbers.__name__] = numbers
    return numbers
