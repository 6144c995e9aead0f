"""E-values and confidence sequences: exact expectations, monotony, and error rates over commits."""

from __future__ import annotations

import doctest
import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics import sequential as module
from rankscope.statistics.sequential import (
    STAKES,
    EProcess,
    confidence_sequence,
    log_e_value,
    mean_interval,
    spending,
)


def test_an_e_value_by_hand() -> None:
    """The mean over the shares g of Π (1 − g·d) for bounds −1 and 1 and mean 0."""
    row = [-0.5, 0.25, -1.0]
    expected = np.mean([(1 + g / 2) * (1 - g / 4) * (1 + g) for g in STAKES])
    assert log_e_value(row) == pytest.approx(math.log(expected))
    upwards = np.mean([(1 - g / 2) * (1 + g / 4) * (1 - g) for g in STAKES])
    assert log_e_value(row, side="above") == pytest.approx(math.log(upwards))
    assert log_e_value([1.0 - number for number in row], bounds=(0, 2), mean=1, side="above") == (
        pytest.approx(log_e_value(row))
    )


@pytest.mark.parametrize(
    ("values", "shares"),
    [((-1.0, 1.0), (0.5, 0.5)), ((-0.5, 0.0, 1.0), (0.4, 0.4, 0.2)), ((-0.2, 0.8), (0.8, 0.2))],
)
def test_the_expected_value_is_1(values: tuple[float, ...], shares: tuple[float, ...]) -> None:
    """All outcomes of four queries whose mean is 0: the e-value is 1 on average, both ways."""
    assert sum(v * s for v, s in zip(values, shares, strict=True)) == pytest.approx(0)
    for side in ("below", "above"):
        total = 0.0
        for outcome in product(range(len(values)), repeat=4):
            chance = math.prod(shares[at] for at in outcome)
            total += chance * math.exp(log_e_value([values[at] for at in outcome], side=side))
        assert total == pytest.approx(1)


def test_order_does_not_matter() -> None:
    row = np.random.default_rng(0).uniform(-1, 1, 40)
    assert log_e_value(row) == log_e_value(row[::-1])


def test_an_interval_holds_exactly_what_is_not_refuted() -> None:
    row = np.random.default_rng(1).uniform(-0.4, 0.8, 60)
    low, high = mean_interval(row)
    assert -1 < low < row.mean() < high < 1
    limit = math.log(2 / 0.05)
    assert log_e_value(row, mean=low, side="above") == pytest.approx(limit, abs=1e-6)
    assert log_e_value(row, mean=high, side="below") == pytest.approx(limit, abs=1e-6)
    wider = mean_interval(row, alpha=0.001)
    assert wider[0] < low < high < wider[1]
    turned = mean_interval(-row)
    assert turned == pytest.approx((-high, -low))


def test_an_interval_of_few_values() -> None:
    assert mean_interval([0.2]) == pytest.approx((-1, 1), abs=0.25)
    low, high = mean_interval([1.0] * 50)
    assert 0.7 < low < 1
    assert high == 1
    assert mean_interval([0.0, 0.0], bounds=(0, 1))[0] == 0


def test_coverage_of_the_interval() -> None:
    """Heavily skewed: 95 % zeros and −1; a guarantee for any n, so never below 0.95."""
    random = np.random.default_rng(2)
    rows = -(random.random((300, 40)) < 0.05).astype(float)
    held = [low <= -0.05 <= high for low, high in map(mean_interval, rows)]
    assert np.mean(held) >= 0.95


def test_a_confidence_sequence_holds_all_the_way() -> None:
    random = np.random.default_rng(3)
    missed = 0
    for _ in range(150):
        row = np.clip(random.normal(0.1, 0.3, 120), -1, 1)
        sequence = confidence_sequence(row, looks=[5, 10, 20, 40, 80, 120])
        missed += any(not low <= 0.1 <= high for _, low, high in sequence)
        lows = [low for _, low, _ in sequence]
        assert lows == sorted(lows)
    assert missed / 150 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 150)
    assert [look for look, _, _ in confidence_sequence([0.1, 0.2, 0.3])] == [1, 2, 3]
    many = confidence_sequence(np.zeros(400), bounds=(-1, 1))
    assert len(many) <= module.LOOKS
    assert many[-1][0] == 400
    last = confidence_sequence([0.1, 0.5, 0.3] * 20)[-1]
    alone = mean_interval([0.1, 0.5, 0.3] * 20)
    assert (last[1], last[2]) == pytest.approx(alone, abs=0.02)


def test_shares_of_alpha_add_up_to_one() -> None:
    assert sum(spending(commit) for commit in range(1, 10_000)) == pytest.approx(1, abs=2e-4)
    assert sum(spending(commit, horizon=20) for commit in range(1, 100)) == pytest.approx(1)
    with pytest.raises(InputError, match="from 1"):
        spending(0)


def test_evidence_is_added_or_multiplied() -> None:
    rows = np.random.default_rng(4).uniform(-0.5, 0.4, (3, 20))
    logs = [log_e_value(row) for row in rows]
    added, multiplied = EProcess(), EProcess(fresh=True)
    assert added.p == multiplied.p == 1
    for row in rows:
        added, multiplied = added.update(row), multiplied.update(row)
    weights = (1 / 2, 1 / 6, 1 / 12)
    expected = sum(w * math.exp(log) for w, log in zip(weights, logs, strict=True))
    assert added.evidence == pytest.approx(math.log(expected))
    assert multiplied.evidence == pytest.approx(sum(logs))
    assert added.estimate == pytest.approx(rows[2].mean())
    assert added.commits == 3
    assert added.p == pytest.approx(min(1, 1 / expected))
    low, high = added.interval(rows[2])
    assert (low, high) == mean_interval(rows[2], alpha=0.05 / 12)
    past = EProcess(horizon=2)
    for row in rows:
        past = past.update(row)
    assert past.interval(rows[2]) == (-1, 1)
    expected = sum(math.exp(log) / 2 for log in logs[:2])
    assert past.evidence == pytest.approx(math.log(expected))


def test_the_state_is_kept_as_json() -> None:
    fresh = EProcess(alpha=0.01, low=-2, high=2)
    assert fresh.to_dict()["evidence"] is None
    assert EProcess.model_validate(fresh.to_dict()) == fresh
    later = fresh.update([0.5, -0.5])
    assert fresh.commits == 0
    assert EProcess.model_validate_json(later.to_json()) == later


def commit_changes(drop: float, random: np.random.Generator) -> list[Any]:
    """30 commits of 100 queries; each moves 5 % of them and lowers the mean by ``drop``."""
    scores = anchor = random.random(100)
    changes = []
    for _ in range(30):
        moved = random.random(100) < 0.05
        scores = np.clip(scores + moved * random.uniform(-0.3, 0.3, 100) - drop, 0, 1)
        changes.append(scores - anchor)
    return changes


def raised(changes: list[Any]) -> bool:
    process = EProcess()
    for row in changes:
        process = process.update(row)
    return process.alarm


def test_false_alarms_and_power_over_commits() -> None:
    random = np.random.default_rng(5)
    null = np.mean([raised(commit_changes(0.0, random)) for _ in range(60)])
    eroded = np.mean([raised(commit_changes(0.008, random)) for _ in range(20)])
    assert null <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 60)
    assert eroded == 1


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: log_e_value([0.2, 1.2]), "between -1 and 1, got 0.2 to 1.2"),
        (lambda: log_e_value([0.2], bounds=(1, -1)), "bounds"),
        (lambda: mean_interval([0.2], alpha=0), "alpha"),
        (lambda: confidence_sequence([0.2], looks=[2]), "looks must be from 1 to 1"),
        (lambda: EProcess().interval([0.2]), "no commit"),
        (lambda: EProcess(alpha=2).update([0.2]), "alpha"),
    ],
)
def test_what_is_refused(call: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        call()


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
