"""When queries arrive: at the rate asked for, the same for the same seed, within bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from load.virtual import settings
from rankscope.errors import InputError
from rankscope.retrieval.load.arrivals import check_settings, counts, make_schedule


def test_constant_gaps_and_the_warm_up_first() -> None:
    schedule = make_schedule(settings(rate=10, seconds=2, warm_up=0.5), 3)
    assert schedule.warm_up == 5
    assert schedule.times.tolist() == pytest.approx(
        [0, 0.1, 0.2, 0.3, 0.4, *(0.5 + place / 10 for place in range(20))]
    )


def test_queries_are_in_a_random_order_that_is_repeated() -> None:
    places = make_schedule(settings(rate=10, seconds=2, seed=5), 6).places.tolist()
    assert sorted(places[:6]) == list(range(6))
    assert places[6:12] == places[:6]
    assert places[:6] != list(range(6))
    assert places != make_schedule(settings(rate=10, seconds=2, seed=6), 6).places.tolist()


def test_random_times_are_those_of_a_poisson_process() -> None:
    wanted = settings(rate=1000, seconds=50, arrivals="poisson", seed=3)
    times = make_schedule(wanted, 5).times
    assert len(times) == 50_000
    assert times[0] >= 0
    assert times[-1] < 50
    gaps = np.diff(times)
    assert (gaps >= 0).all()
    # of exponential gaps, mean and deviation are the same, and 1/e are longer than the mean
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, abs=0.03)
    assert (gaps > gaps.mean()).mean() == pytest.approx(np.exp(-1), abs=0.01)


def test_the_same_seed_gives_the_same_times() -> None:
    wanted = settings(arrivals="poisson", seed=9)
    assert (make_schedule(wanted, 4).times == make_schedule(wanted, 4).times).all()
    other = make_schedule(settings(arrivals="poisson", seed=10), 4)
    assert (make_schedule(wanted, 4).times != other.times).any()


def test_rounding_loses_no_query() -> None:
    assert counts(settings(rate=0.1, seconds=30)) == (0, 3)
    assert counts(settings(rate=50, seconds=30, warm_up=5)) == (250, 1500)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"rate": 0}, "rate must be a number above 0 and up to 1,000,000, not 0"),
        ({"rate": -1}, "rate must be"),
        ({"rate": float("nan")}, "rate must be a number above 0 and up to 1,000,000, not nan"),
        ({"rate": float("inf")}, "rate must be"),
        ({"seconds": 0}, "seconds must be a number above 0 and up to 3,600, not 0"),
        ({"seconds": 3601}, "seconds must be"),
        ({"warm_up": -1}, "warm_up must be a number from 0 to 600, not -1"),
        ({"grace": 601}, "grace must be a number from 0 to 600, not 601"),
        ({"most_in_flight": 0}, "most_in_flight must be a number from 1 to 10,000, not 0"),
        ({"seed": -1}, "seed must be a whole number from 0 up, not -1"),
        ({"rate": 0.1, "seconds": 1}, "make less than one query"),
        (
            {"rate": 500, "seconds": 3600},
            "500 queries a second for 3600 s make 1,800,000 queries, and a load test may send 1,0",
        ),
    ],
)
def test_what_is_out_of_bounds_is_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        check_settings(settings(**changes))
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_million_queries_are_allowed() -> None:
    check_settings(settings(rate=1000, seconds=1000))
    with pytest.raises(InputError, match="may send"):
        check_settings(settings(rate=1000, seconds=1000, warm_up=1))
