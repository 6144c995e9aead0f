"""Strata: each is a comparison of its own; Simpson's paradox is seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rankscope.errors import InputError
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.matrix import Matrix, Scale
from rankscope.statistics.settings import Settings
from rankscope.statistics.strata import StratifiedPair, stratify
from rankscope.statistics.tests import corrected, paired_tests

RANDOM = np.random.default_rng(4)
BASE = RANDOM.random(60)
SYSTEM = np.clip(BASE + RANDOM.normal(0.05, 0.2, size=60), 0, 1)
LABELS = ["de"] * 30 + ["en"] * 20 + ["fr"] * 10


def stratified(
    base: npt.ArrayLike, system: npt.ArrayLike, labels: Sequence[object], **settings: Any
) -> StratifiedPair:
    values = np.array([[base, system]], dtype=float)
    query_ids = tuple(f"q{number:03}" for number in range(values.shape[2]))
    matrix = Matrix(("base", "system"), (Scale("AP", (0.0, 1.0)),), query_ids, values)
    [pair] = stratify(matrix, labels, [(0, 1)], Settings(**settings))
    return pair


def test_each_stratum_is_its_own_comparison() -> None:
    found = stratified(BASE, SYSTEM, LABELS)
    assert (found.measure, found.base, found.system) == ("AP", "base", "system")
    assert [(stratum.label, stratum.n) for stratum in found.strata] == [
        ("de", 30),
        ("en", 20),
        ("fr", 10),
    ]
    english = found.strata[1]
    change = (SYSTEM - BASE)[30:50]
    assert english.difference == pytest.approx(change.mean())
    level = 1 - 0.05 * english.p / english.p_corrected
    [alone] = mean_intervals(change, method="t", level=level, bounds=(-1, 1))
    assert (english.interval.low, english.interval.high) == pytest.approx((alone.low, alone.high))
    for values, mean, interval in (
        (BASE[30:50], english.base_mean, english.base_interval),
        (SYSTEM[30:50], english.system_mean, english.system_interval),
    ):
        [expected] = mean_intervals(values, bounds=(0, 1))
        assert mean == pytest.approx(values.mean())
        assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))
    assert english.p == pytest.approx(paired_tests(change, test="t")[0][0])
    raw = [stratum.p for stratum in found.strata]
    assert [stratum.p_corrected for stratum in found.strata] == corrected(raw).tolist()
    assert found.difference == pytest.approx((SYSTEM - BASE).mean())


def test_strata_against_the_whole() -> None:
    base = np.array([0.0] * 4 + [0.5] * 9)
    system = np.array([0.9] * 4 + [0.4] * 9)
    found = stratified(base, system, ["big"] * 4 + ["a"] * 3 + ["b"] * 3 + ["c"] * 3)
    assert found.difference > 0
    assert found.finding is not None
    assert found.finding.code == "RS601"
    assert "3 of 4 strata" in found.finding.message
    assert stratified(base, system, ["big"] * 4 + ["small"] * 9).finding is None


def test_bad_input() -> None:
    with pytest.raises(InputError, match="no label is known"):
        stratified([0.1], [0.2], [None])
    with pytest.raises(InputError, match="at most 200"):
        stratified(np.zeros(201), np.zeros(201), [str(n) for n in range(201)])
