"""Ratings: the grades of several judges for the same documents."""

from __future__ import annotations

from typing import Any


class Ratings:
    """Grades by query, document and judge."""


def as_ratings(data: Any) -> Ratings:
    """Take ratings in any form: a file, a frame, records."""
    raise NotImplementedError(data)
