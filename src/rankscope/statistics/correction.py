"""Many tests at once: p-values corrected for how many questions were asked.

With 20 tests at 0.05 one is expected to be significant by chance. A correction is over a *family*,
the tests that are read together; which one it is must be said beside the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.statistics.arrays import check_name
from rankscope.statistics.choices import CORRECTIONS, Correction

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray


def corrected(p_values: npt.ArrayLike, method: Correction = "holm") -> FloatArray:
    """Return the p-values of one family, corrected; they keep their order and never exceed 1.

    With m tests and p-values p₁ ≤ p₂ ≤ …:

    - ``bonferroni``: m·p. Bounds the chance of any false alarm (family-wise).
    - ``holm``: the largest of (m−j+1)·pⱼ for j ≤ i. Bounds the same, and is never weaker.
    - ``bh`` (Benjamini-Hochberg): the smallest of m·pⱼ/j for j ≥ i. Bounds the expected share of
      false alarms among the alarms, not the chance of one.
    - ``none``: as they are.

    A family of no test gives no p-value.

    Reference: Holm, Scand. J. Statist. 1979; Benjamini and Hochberg, JRSS B 1995.

    >>> corrected([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    check_name("correction", method, CORRECTIONS)
    raw = np.asarray(p_values, dtype=np.float64)
    if raw.ndim != 1 or not ((raw >= 0) & (raw <= 1)).all():
        raise InputError("p-values must be a list of numbers between 0 and 1")
    count = len(raw)
    if method == "none" or not count:
        return raw.copy()
    if method == "bonferroni":
        return np.minimum(raw * count, 1.0)
    order = np.argsort(raw, kind="stable")
    ranked = raw[order]
    if method == "holm":
        ranked = np.maximum.accumulate(ranked * (count - np.arange(count)))
    else:
        scaled = np.maximum(ranked * (count / np.arange(1, count + 1)), ranked)
        ranked = np.minimum.accumulate(scaled[::-1])[::-1]
    result = np.empty(count)
    result[order] = np.minimum(ranked, 1.0)
    return result
