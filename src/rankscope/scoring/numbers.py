"""Numbers of plain dicts: taken at once, and refused with query and document if one is none."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rankscope.measures.judged import FloatArray

    Documents = Mapping[str, float]

__all__ = ["numbers_of"]


def numbers_of(
    documents: Sequence[Documents], size: int, query_ids: Iterable[str], what: str
) -> FloatArray:
    """Return the numbers of some queries one after the other, ``size`` in all.

    Adding them up is the quickest way to find one that is no number (NumPy would read text) or is
    not finite; only then is each looked at.
    """
    try:
        sound = math.isfinite(sum([sum(each.values()) for each in documents]))
    except (TypeError, ValueError, ArithmeticError):
        sound = False
    if not sound:
        _check(documents, query_ids, what)
    values: Any = chain.from_iterable(each.values() for each in documents)
    return np.fromiter(values if sound else map(_as_float, values), np.float64, size)


def _as_float(value: Any) -> float:
    """Return a finite number as a float; NaN for anything else."""
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, ArithmeticError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def _check(documents: Sequence[Documents], query_ids: Iterable[str], what: str) -> None:
    for query_id, each in zip(query_ids, documents, strict=True):
        for doc_id, value in each.items():
            if math.isnan(_as_float(value)):
                raise InputError(
                    f"query {shown(query_id)}, document {shown(doc_id)}: the {what} is "
                    f"{shown(value)}; expected a finite number"
                )
