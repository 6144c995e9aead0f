"""How alike two orders are: Kendall's τ, τ_AP, rank-biased overlap; how stable an order is.

Two uses: the order of *systems* under two measures, two sets of judgments or two halves of the
topics (`kendall`, `tau_ap`, `swap_rate`), and two *rankings* of documents, which need not hold the
same ones (`rbo`).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from rankscope.errors import InputError
from rankscope.part import Part
from rankscope.statistics.arrays import as_rows, check_name, random_source

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray

Variant = Literal["a", "b"]

PURPOSE = 12
"""What the random halves are for; see `rankscope.statistics.arrays.random_source`."""


def _paired(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    left, right = as_rows(first, "scores")[0], as_rows(second, "scores")[0]
    if len(left) != len(right):
        raise InputError(f"both orders need the same systems, got {len(left)} and {len(right)}")
    if len(left) < 2:
        raise InputError("at least two systems are needed to have an order")
    return left, right


def kendall(first: npt.ArrayLike, second: npt.ArrayLike, *, variant: Variant = "b") -> float | None:
    """Return Kendall's τ between two lists of scores of the same systems.

    With C pairs in the same order and D in opposite ones, of P = n(n−1)/2: ``a``: (C − D) / P;
    ``b``: (C − D) / √((P − T₁)(P − T₂)), T₁ and T₂ the pairs tied in each list,
    so that two equal lists with ties have τ = 1.

    Edges: ``b`` of a list in which all are tied has no value: None.

    Reference: Kendall, A new measure of rank correlation, Biometrika 1938; The treatment of ties in
    ranking problems, Biometrika 1945.

    >>> kendall([0.1, 0.2, 0.3, 0.4], [0.1, 0.3, 0.2, 0.4], variant="a")
    0.6666666666666666
    """
    check_name("variant", variant, get_args(Variant))
    lists = _paired(first, second)
    upper = np.triu_indices(len(lists[0]), 1)
    signs = [np.sign(scores[upper[0]] - scores[upper[1]]) for scores in lists]
    agreement = float((signs[0] * signs[1]).sum())
    if variant == "a":
        return agreement / len(upper[0])
    untied = [int(np.count_nonzero(sign)) for sign in signs]
    return agreement / math.sqrt(untied[0] * untied[1]) if all(untied) else None


def tau_ap(estimate: npt.ArrayLike, truth: npt.ArrayLike, *, symmetric: bool = False) -> float:
    """Return τ_AP: Kendall's τ in which mistakes near the top count more.

    Going down the ``estimate``, from its second system on, p_i is the share of the systems above
    the i-th that the ``truth`` also has above it; τ_AP = 2·mean(p_i) − 1. It is 1 for the same
    order, −1 for the opposite one, and 0 on average for a random one. Which list is the truth
    matters; ``symmetric`` is the mean of both.

    Ties in the estimate are broken at random and the mean of all such orders is returned; a pair
    tied in the truth counts half.

    Reference: Yilmaz, Aslam and Robertson, A new rank correlation coefficient for information
    retrieval, SIGIR 2008; Urbano and Marrero, The treatment of ties in AP correlation, ICTIR 2017.

    >>> round(tau_ap([4, 3, 2, 1], [4, 3, 1, 2]), 4), round(tau_ap([4, 3, 2, 1], [3, 4, 2, 1]), 4)
    (0.7778, 0.3333)
    """
    guess, right_order = _paired(estimate, truth)
    if symmetric:
        return (tau_ap(guess, right_order) + tau_ap(right_order, guess)) / 2
    # agree[i, j]: is j above i in the truth (a half if tied)?
    agree = (np.sign(right_order - right_order[:, np.newaxis]) + 1) / 2
    total = 0.0
    for score in np.unique(guess):
        group = np.flatnonzero(guess == score)
        above = np.flatnonzero(guess > score)
        right = agree[np.ix_(group, above)].sum(axis=1)
        # within the tie: the mean share of the others that the truth has above
        inside = agree[np.ix_(group, group)].sum(axis=1) - 0.5
        inside = inside / (len(group) - 1) if len(group) > 1 else inside * 0
        for place in range(len(group)):  # at each place of the tie each system is equally often
            before = len(above) + place
            if before:
                total += float((right + place * inside).mean()) / before
    return 2 * total / (len(guess) - 1) - 1


def rbo(
    first: Sequence[Sequence[Hashable]],
    second: Sequence[Sequence[Hashable]],
    *,
    p: float = 0.9,
) -> float:
    """Return rank-biased overlap of two rankings, extrapolated, between 0 and 1.

    Each ranking is a list of ties, best first: ``[["a"], ["b", "c"]]``; a plain list of ids is one
    without ties (see `untied`). A reader goes one rank deeper with probability ``p``, and compares
    what both lists hold so far: RBO = (1−p) Σ p^(d−1)·A_d, A_d the overlap at depth d over d. The
    first 10 ranks have 86 % of the weight at p = 0.9. Below the end of the lists the agreement is
    taken to stay as it was at the last depth seen (extrapolation), for lists of unequal length as
    Webber et al. do in their equation 32.

    Ties are broken at random in both lists and the mean over all such orders is returned: a
    document in a tie that straddles depth d is above it with the share of the tie that is.

    Edges: two empty lists are the same, 1; one empty list, 0. A document twice in a list is refused.

    Reference: Webber, Moffat and Zobel, A similarity measure for indefinite rankings, TOIS 2010;
    Corsi and Urbano, The treatment of ties in rank-biased overlap, SIGIR 2024.

    >>> round(rbo(untied("abc"), untied("acb")), 4), round(rbo([["a"], ["b", "c"]], untied("abc")), 4)
    (0.955, 0.9775)
    """  # noqa: E501
    if not 0 < p < 1:
        raise InputError(f"p must be strictly between 0 and 1, such as 0.9, got {p}")
    places = [_places(ranking) for ranking in (first, second)]
    short, long = sorted(sum(len(tie) for tie in ranking) for ranking in (first, second))
    if not short:
        return 1.0 if not long else 0.0
    overlaps = _overlaps(places[0], places[1], long)
    depths = np.arange(1, long + 1)
    at_short, at_long = float(overlaps[short - 1]), float(overlaps[-1])
    unseen = np.where(depths > short, at_short * (depths - short) / short, 0.0)
    seen = float(((overlaps + unseen) / depths * p**depths).sum()) * (1 - p) / p
    return seen + ((at_long - at_short) / long + at_short / short) * p**long


def untied(ids: Sequence[Hashable]) -> list[list[Hashable]]:
    """Return a plain ranking as `rbo` takes it: every document in a tie of its own.

    >>> untied(["d1", "d2"])
    [['d1'], ['d2']]
    """
    return [[identifier] for identifier in ids]


def _places(ranking: Sequence[Sequence[Hashable]]) -> dict[Hashable, tuple[int, int]]:
    """Return how many documents are above each one's tie, and how many are in the tie."""
    places: dict[Hashable, tuple[int, int]] = {}
    above = 0
    for tie in ranking:
        for identifier in tie:
            if identifier in places:
                raise InputError(f"the document {identifier!r} appears twice in one ranking")
            places[identifier] = (above, len(tie))
        above += len(tie)
    return places


def _overlaps(
    first: dict[Hashable, tuple[int, int]],
    second: dict[Hashable, tuple[int, int]],
    depth: int,
) -> FloatArray:
    """Return the expected number of documents that both hold above each depth."""
    shared = [identifier for identifier in first if identifier in second]
    if not shared:
        return np.zeros(depth)
    depths = np.arange(1, depth + 1)
    inside = []
    for places in (first, second):
        above, size = np.array([places[identifier] for identifier in shared]).T[:, :, np.newaxis]
        inside.append(np.clip((depths - above) / size, 0.0, 1.0))  # [shared, depth]
    return np.asarray((inside[0] * inside[1]).sum(axis=0))


class SwapRate(Part):
    """How often two halves of the topics order two systems differently."""

    splits: int
    """How many random halvings were tried."""
    topics: int
    """How many topics each half holds."""
    swapped: float
    """Share of pairs (and halvings) ordered one way by one half and the other way by the other;
    a pair tied in either half counts half."""
    tau: float | None
    """Mean of Kendall's τ_b between the two orders; None if a half ties all systems."""
    thresholds: tuple[float, ...]
    """Differences in the first half from which a conclusion would be drawn."""
    swapped_above: tuple[float | None, ...]
    """The same share, among pairs that differ by at least each threshold; None if there is none."""


@lru_cache(maxsize=1)
def _sides(topics: int, splits: int, seed: int) -> FloatArray:
    """Return random halvings, ``[2, splits, topics]``: what each topic weighs in a half's mean.

    Every measure of the same topics is split in the same way.
    """
    random = np.random.Generator(random_source(seed, PURPOSE))
    half = topics // 2
    sides = np.zeros((2, splits, topics))
    for split in range(splits):
        order = random.permutation(topics)
        sides[0, split, order[:half]] = sides[1, split, order[half : 2 * half]] = 1 / half
    return sides


def swap_rate(
    values: npt.ArrayLike,
    *,
    splits: int = 1_000,
    seed: int = 0,
    thresholds: Sequence[float] = (0.01, 0.02, 0.05, 0.1),
) -> SwapRate:
    """Split the topics of ``values[s, n]`` into random halves and compare the systems' orders.

    With an odd number of topics one is left out of each halving. Half as many topics make orders
    less stable than the full set is: the rate errs on the safe side for n topics.

    Edges: fewer than two systems or two topics are refused.

    Reference: Voorhees and Buckley, The effect of topic set size on retrieval experiment error,
    SIGIR 2002; Zobel, How reliable are the results of large-scale information retrieval
    experiments?, SIGIR 1998.

    >>> rate = swap_rate([[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]])
    >>> rate.swapped, rate.tau
    (0.0, 1.0)
    """
    rows = as_rows(values)
    systems, topics = rows.shape
    if systems < 2 or topics < 2:
        raise InputError("at least two systems and two topics are needed to compare halves")
    if splits < 1:
        raise InputError(f"splits must be 1 or more, got {splits}")
    half = topics // 2
    upper = np.triu_indices(systems, 1)
    steps = np.asarray(sorted(thresholds), dtype=np.float64)
    counts, swaps = np.zeros(len(steps) + 1), np.zeros(len(steps) + 1)
    correlations: list[float | None] = []
    first, second = (_sides(topics, splits, seed) @ rows.T).round(12)  # [splits, systems]
    for means in zip(first, second, strict=True):
        changes = [(values[upper[0]] - values[upper[1]]).round(12) for values in means]
        swapped = (1 - np.sign(changes[0]) * np.sign(changes[1])) / 2
        for place, step in enumerate((-1.0, *steps)):
            chosen = np.abs(changes[0]) >= step
            counts[place] += np.count_nonzero(chosen)
            swaps[place] += float(swapped[chosen].sum())
        correlations.append(kendall(*means))
    known = [tau for tau in correlations if tau is not None]
    return SwapRate(
        splits=splits,
        topics=half,
        swapped=float(swaps[0] / counts[0]),
        tau=float(np.mean(known)) if len(known) == splits else None,
        thresholds=tuple(steps.tolist()),
        swapped_above=tuple(
            float(swap / count) if count else None
            for swap, count in zip(swaps[1:], counts[1:], strict=True)
        ),
    )
