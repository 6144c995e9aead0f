"""Changes in per cent: against a brute-force bootstrap, and beside Student's interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import InputError
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.relative import relative_change


def test_the_interval_holds_what_the_t_test_does_not_reject() -> None:
    """Its ends are where |mean| = t · standard error of (y − x) − δx; t(4, 0.975) = 2.7764451."""
    base = np.array([0.2, 0.5, 0.8, 0.4, 0.6])
    system = np.array([0.3, 0.5, 0.9, 0.35, 0.7])
    interval = relative_change(base, system).interval
    assert interval is not None
    for end in (interval.low, interval.high):
        rest = (system - base) - end / 100 * base
        error = rest.std(ddof=1) / math.sqrt(5)
        assert abs(rest.mean()) == pytest.approx(2.7764451051977987 * error)


@pytest.mark.parametrize("shift", [0.0, -0.1])
def test_a_bootstrap_says_nearly_the_same(shift: float) -> None:
    random = np.random.default_rng(3)
    base = random.random(300)
    system = np.clip(base + random.normal(shift, 0.2, 300), 0, 1)
    drawn = random.integers(0, 300, (10_000, 300))
    ratios = 100 * (system[drawn].mean(axis=1) / base[drawn].mean(axis=1) - 1)
    interval = relative_change(base, system).interval
    assert interval is not None
    width = interval.high - interval.low
    low, high = np.quantile(ratios, [0.025, 0.975])
    assert interval.low == pytest.approx(low, abs=0.05 * width)
    assert interval.high == pytest.approx(high, abs=0.05 * width)


VALUES = st.lists(
    st.tuples(st.sampled_from([0.1, 0.25, 0.5, 1.0]), st.sampled_from([0.0, 0.1, 0.5, 0.9])),
    min_size=2,
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(VALUES)
def test_it_holds_0_if_and_only_if_the_interval_of_the_difference_does(
    pairs: list[tuple[float, float]],
) -> None:
    base, system = np.array(pairs).T
    difference = system - base
    if np.ptp(difference) < 1e-9 or np.ptp(system / base) < 1e-9:
        return  # nothing varies: both say what may have gone unseen
    [student] = mean_intervals(difference, method="t")
    if min(abs(student.low), abs(student.high)) < 1e-9:
        return
    interval = relative_change(base, system).interval
    assert interval is not None
    if interval.high < math.inf:
        assert (interval.low <= 0 <= interval.high) == (student.low <= 0 <= student.high)
    assert interval.low >= -100


def test_no_change_of_nothing() -> None:
    change = relative_change([0.0, 0.0], [0.5, 1.0])
    assert (change.percent, change.interval) == (None, None)
    below = relative_change([-0.5, 0.0], [0.5, 1.0], bounds=(-1.0, 1.0))
    assert below.percent is None


def test_a_base_that_may_be_0_has_no_end() -> None:
    interval = relative_change([0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]).interval
    assert interval is not None
    assert (interval.low, interval.high) == (-100, math.inf)


def test_what_does_not_vary_may_have_gone_unseen() -> None:
    """Of 5 queries all say 20 %; up to 1 − 0.025^(1/5) of all others may say anything."""
    share = 1 - 0.025**0.2
    for base, system in (([0.5] * 5, [0.6] * 5), ([0.25, 0.5, 0.5, 0.5, 0.75], None)):
        values = [1.2 * value for value in base] if system is None else system
        change = relative_change(base, values)
        assert change.percent == pytest.approx(20)
        assert change.interval is not None
        assert change.interval.method == "unseen"
        low = (1 - share) * 0.6 / ((1 - share) * 0.5 + share) - 1
        high = ((1 - share) * 0.6 + share) / ((1 - share) * 0.5) - 1
        assert change.interval.low == pytest.approx(100 * low)
        assert change.interval.high == pytest.approx(100 * high)
    one = relative_change([0.5], [0.6]).interval
    assert one is not None
    unbounded = relative_change([2.0], [3.0], bounds=(0.0, math.inf)).interval
    assert unbounded is not None
    assert (unbounded.low, unbounded.high) == (-100, math.inf)
    both = relative_change([2.0], [3.0], bounds=(-math.inf, math.inf)).interval
    assert both is not None
    assert (both.low, both.high) == (-math.inf, math.inf)


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="for the same queries"):
        relative_change([0.5, 0.2], [0.6])
    with pytest.raises(InputError, match="level"):
        relative_change([0.5], [0.6], level=1.5)
