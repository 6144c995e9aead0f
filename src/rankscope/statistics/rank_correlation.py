"""How alike two orders of systems are: Kendall's τ."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.statistics.arrays import as_rows

if TYPE_CHECKING:
    import numpy.typing as npt


def kendall(first: npt.ArrayLike, second: npt.ArrayLike) -> float | None:
    """Return Kendall's τ_b between two lists of scores of the same systems.

    With C pairs in the same order and D in opposite ones, of P = n(n−1)/2:
    (C − D) / √((P − T₁)(P − T₂)), T₁ and T₂ the pairs tied in each list, so that two equal lists
    with ties have τ = 1.

    Edges: a list in which all are tied has no value: None.

    Reference: Kendall, The treatment of ties in ranking problems, Biometrika 1945.

    >>> kendall([0.1, 0.2, 0.3, 0.4], [0.1, 0.3, 0.2, 0.4])
    0.6666666666666666
    """
    lists = [as_rows(scores, "scores")[0] for scores in (first, second)]
    if len(lists[0]) != len(lists[1]):
        sizes = " and ".join(str(len(scores)) for scores in lists)
        raise InputError(f"both orders need the same systems, got {sizes}")
    if len(lists[0]) < 2:
        raise InputError("at least two systems are needed to have an order")
    upper = np.triu_indices(len(lists[0]), 1)
    signs = [np.sign(scores[upper[0]] - scores[upper[1]]) for scores in lists]
    agreement = float((signs[0] * signs[1]).sum())
    untied = [int(np.count_nonzero(sign)) for sign in signs]
    return agreement / math.sqrt(untied[0] * untied[1]) if all(untied) else None
