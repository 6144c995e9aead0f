"""Rows of numbers: checked on the way in, and the few special functions they need.

Every function of this package takes ``values[k, n]``: ``k`` rows that are worked on at once, ``n``
queries. One row may be given without its outer bracket.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankscope.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_SMALLEST_RATE = 1e-9
_MOST_RESAMPLES = 100_000_000

BLOCK = 2_000_000
"""How many numbers a block of resamples or differences may hold (16 MB of float64)."""

SAME = 1e-12
"""Numbers that differ by less than this part of their size differ by rounding only."""

SMALLEST = float(np.finfo(np.float64).tiny)
"""No p-value is smaller."""


def special() -> Any:
    """Return `scipy.special`, imported on first use."""
    return import_module("scipy.special")


def as_rows(values: npt.ArrayLike, what: str = "values") -> FloatArray:
    """Return finite numbers as ``[k, n]`` with at least one column.

    >>> as_rows([0.5, 1.0]).shape
    (1, 2)
    """
    rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if rows.ndim != 2:
        raise InputError(f"{what} must be rows of numbers, not an array of {rows.ndim} dimensions")
    if rows.shape[1] == 0:
        raise InputError(f"{what} are empty; expected at least one query")
    if not np.isfinite(rows).all():
        raise InputError(
            f"{what} contain a NaN or an infinite number; leave the query out, or score it"
        )
    return rows


def constant_rows(rows: FloatArray) -> npt.NDArray[np.bool_]:
    """Tell which rows hold one number only, but for rounding; a row of one number does."""
    spread = rows.max(axis=1) - rows.min(axis=1)
    return np.asarray(spread <= SAME * np.abs(rows).max(axis=1))


def row_means(rows: FloatArray) -> FloatArray:
    """Return the mean of each row; no order of its numbers changes a bit of it.

    Each number is cut into two parts that are multiples of a power of two so large that the sums of
    the parts are exact. What is lost is below 2⁻⁸⁰ of the largest number.

    Reference: Demmel and Nguyen, Fast reproducible floating-point summation, ARITH 2013.
    """
    count = rows.shape[1]
    room = math.ceil(math.log2(count + 2))
    largest = np.abs(rows).max(axis=1, keepdims=True)
    top = np.ldexp(1.0, np.frexp(largest)[1] + room)
    first = (rows + top) - top
    rest, top = rows - first, top * 2.0 ** (room - 53)
    second = (rest + top) - top
    return np.asarray((first.sum(axis=1) + second.sum(axis=1)) / count)


def row_deviations(rows: FloatArray, means: FloatArray | None = None) -> FloatArray:
    """Return the sample standard deviation (n − 1) of each row, likewise."""
    means = row_means(rows) if means is None else means
    count = rows.shape[1]
    return np.asarray(
        np.sqrt(row_means((rows - means[:, np.newaxis]) ** 2) * (count / (count - 1)))
    )


def random_source(seed: int, purpose: int) -> np.random.PCG64:
    """Return random bits for a seed; each purpose has its own, whatever else the seed is for."""
    if not 0 <= seed < 2**128:
        raise InputError(f"seed must be a whole number from 0 up, not {seed}")
    return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(purpose,)))


def check_name(what: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that is not known, with the nearest one."""
    names = list(known)
    if name not in names:
        raise UnknownNameError(what, str(name), names)


def check_level(level: float) -> None:
    """Refuse a confidence level that is not strictly between 0 and 1."""
    check_alpha(level, "level", 0.95)


def check_alpha(alpha: float, name: str = "alpha", example: float = 0.05) -> None:
    """Refuse an error rate that is not strictly between 0 and 1.

    Also what is so close to either that quantiles there are only rounding errors.
    """
    if not _SMALLEST_RATE <= alpha <= 1 - _SMALLEST_RATE:
        raise InputError(
            f"{name} must be strictly between 0 and 1, such as {example}, and at least "
            f"{_SMALLEST_RATE:g} away from both, not {alpha}"
        )


def check_resamples(resamples: int) -> None:
    """Refuse so few resamples that no quantile can be read, or so many that it takes days."""
    if not 100 <= resamples <= _MOST_RESAMPLES:
        raise InputError(
            f"resamples must be a whole number from 100 to {_MOST_RESAMPLES:,}, not {resamples}"
        )


def blocks(count: int, width: int, scale: float = 1) -> Iterator[slice]:
    """Split ``count`` rows of ``width`` numbers into blocks that are made, used and dropped.

    What is kept of a row is a few numbers, so 499,500 pairs take no more memory than one block of
    them: ``scale`` times `BLOCK` numbers, and a few copies of it.
    """
    size = max(1, int(scale * BLOCK) // max(width, 1))
    for start in range(0, count, size):
        yield slice(start, min(count, start + size))


def sizes(count: int, width: int) -> Iterator[int]:
    """Return how many rows are in each of the `blocks`."""
    return (block.stop - block.start for block in blocks(count, width))
