"""Random rankings: formulas against all orders there are, against draws, and at 10⁸ documents."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from statistics import fmean, pvariance

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics.random_ranking import (
    harmonic,
    precision_sum_mean,
    reciprocal_rank_moments,
    success_moments,
    sum_moments,
)

SMALL = [
    (documents, relevant, cutoff)
    for documents in range(1, 8)
    for relevant in range(documents + 1)
    for cutoff in (None, *range(1, documents + 2))
]


def orders(documents: int, relevant: int, cutoff: int | None) -> list[list[int]]:
    """List the ranks of relevant documents in the first k, for all ways to place them."""
    places = itertools.combinations(range(1, documents + 1), relevant)
    return [[rank for rank in place if rank <= (cutoff or documents)] for place in places]


def test_every_formula_agrees_with_all_orders() -> None:
    for documents, relevant, cutoff in SMALL:
        tops = orders(documents, relevant, cutoff)
        precisions = [sum(seen / rank for seen, rank in enumerate(top, 1)) for top in tops]
        twins = {
            success_moments: [float(bool(top)) for top in tops],
            reciprocal_rank_moments: [1 / top[0] if top else 0.0 for top in tops],
        }
        for formula, values in twins.items():
            moments = formula([relevant], documents, cutoff)
            assert moments.mean[0] == pytest.approx(fmean(values), abs=1e-13)
            assert moments.variance[0] == pytest.approx(pvariance(values), abs=1e-12)
        mean = precision_sum_mean([relevant], documents, cutoff)[0]
        assert mean == pytest.approx(fmean(precisions), abs=1e-13)
        ones = np.ones(documents if cutoff is None else cutoff)
        found = sum_moments([relevant], [relevant], ones, documents)
        assert found.mean[0] == pytest.approx(fmean(map(len, tops)), abs=1e-13)
        assert found.variance[0] == pytest.approx(pvariance(list(map(len, tops))), abs=1e-12)


@pytest.mark.parametrize("documents", range(1, 7))
def test_sums_of_gains_agree_with_all_orders(documents: int) -> None:
    gains = [3.0, 1.0, 0.5][:documents]
    weights = [1 / math.log2(rank + 1) for rank in (1, 2, 3)]
    everything = gains + [0.0] * (documents - len(gains))
    sums = [
        sum(gain * weight for gain, weight in zip(order, weights, strict=False))
        for order in itertools.permutations(everything)
    ]
    total, squares = sum(gains), sum(gain**2 for gain in gains)
    moments = sum_moments([total], [squares], weights, documents)
    assert moments.mean[0] == pytest.approx(fmean(sums), abs=1e-12)
    assert moments.variance[0] == pytest.approx(pvariance(sums), abs=1e-12)


def test_many_documents_lose_no_digits() -> None:
    documents = 10**8
    # P(none of 2 in the first 10) = (N−10)(N−11) / (N(N−1)), exactly
    exact = 1 - Fraction((documents - 10) * (documents - 11), documents * (documents - 1))
    chance = success_moments([2], documents, 10).mean[0]
    assert chance == pytest.approx(float(exact), rel=1e-14)
    # H(N) by Euler and Maclaurin
    expansion = math.log(documents) + np.euler_gamma + 1 / (2 * documents)
    assert harmonic(documents) == pytest.approx(expansion, rel=1e-15)
    assert reciprocal_rank_moments([1], documents).mean[0] == pytest.approx(
        expansion / documents, rel=1e-14
    )
    first_ten = sum(Fraction(1, rank) for rank in range(1, 11))
    assert reciprocal_rank_moments([1], documents, 10).mean[0] == pytest.approx(
        float(first_ten / documents), rel=1e-14
    )
    assert precision_sum_mean([1], documents, 10)[0] == pytest.approx(
        float(first_ten / documents), rel=1e-14
    )
    found = sum_moments([3], [3], np.ones(1000), documents)
    assert found.mean[0] == pytest.approx(3e-5, rel=1e-15)


def test_long_sums_agree_with_the_formula_of_all_ranks() -> None:
    documents, counts = 5_000, [1, 2, 17, 400]
    summed = reciprocal_rank_moments(counts, documents, documents - 400).mean  # no rank is cut off
    whole = reciprocal_rank_moments(counts, documents).mean
    assert summed[1:].tolist() == pytest.approx(whole[1:].tolist(), rel=1e-3)
    assert summed[2:].tolist() == pytest.approx(whole[2:].tolist(), rel=1e-12)


def test_more_relevant_documents_than_there_are() -> None:
    with pytest.raises(InputError, match="at least as many documents"):
        success_moments([3], 2, 1)
