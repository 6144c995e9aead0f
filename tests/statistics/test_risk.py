"""Risk: by hand."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import pytest

from rankscope.errors import InputError
from rankscope.statistics.risk import geo_risk, risk, z_risk

stats: Any = import_module("scipy.stats")


def test_u_risk_and_t_risk_by_hand() -> None:
    """δ = 0.2, −0.1, 0, 0.3; alpha 2: x = 0.2, −0.3, 0, 0.3, mean 0.05."""
    answer = risk([0.5, 0.3, 0.4, 0.9], [0.3, 0.4, 0.4, 0.6], alpha=2)
    assert answer.u_risk == pytest.approx(0.05)
    assert (answer.reward, answer.loss) == pytest.approx((0.125, 0.025))
    assert answer.u_risk == pytest.approx(answer.reward - 3 * answer.loss)
    assert (answer.wins, answer.losses) == (2, 1)
    variance = (0.15**2 + 0.35**2 + 0.05**2 + 0.25**2) / 3
    assert answer.t_risk == pytest.approx(0.05 / math.sqrt(variance / 4))


def test_no_spread() -> None:
    assert risk([0.2, 0.3], [0.2, 0.3]).t_risk is None
    assert risk([0.2], [0.1]).t_risk is None
    assert risk([0.2, 0.3], [0.2, 0.3]).to_dict()["t_risk"] is None


def test_z_risk_and_geo_risk_by_hand() -> None:
    """Sums: systems 1 and 1, queries 0.8 and 1.2, all 2; e = 0.4, 0.6 for both."""
    values = [[0.6, 0.4], [0.2, 0.8]]
    up, down = 0.2 / math.sqrt(0.4), -0.2 / math.sqrt(0.6)
    first, second = up + 2 * down, -2 * up - down
    assert z_risk(values).tolist() == pytest.approx([first, second])
    assert z_risk(values, alpha=0).tolist() == pytest.approx([up + down, -up - down])
    expected = [math.sqrt(0.5 * stats.norm.cdf(z / 2)) for z in (first, second)]
    assert geo_risk(values).tolist() == pytest.approx(expected)


def test_rows_and_columns_of_zeros() -> None:
    assert z_risk([[0.0, 0.0], [0.0, 0.0]]).tolist() == [0, 0]
    assert geo_risk([[0.0, 0.0], [0.5, 0.0]])[0] == 0
    assert z_risk([[0.0, 0.0], [0.5, 0.0]]).tolist() == [0, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: risk([0.1], [0.1, 0.2]),
        lambda: risk([0.1], [0.1], alpha=-1),
        lambda: z_risk([[0.1, -0.1]]),
        lambda: geo_risk([[0.1, 0.2]], alpha=math.nan),
    ],
)
def test_what_is_refused(call: Any) -> None:
    with pytest.raises(InputError):
        call()
