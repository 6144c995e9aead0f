"""Strata: the parts are the whole comparison's own functions; Simpson's paradox is seen."""

from __future__ import annotations

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics.correction import corrected
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.paired import paired_tests
from rankscope.statistics.strata import stratify

RANDOM = np.random.default_rng(4)
BASE = RANDOM.random(60)
SYSTEM = np.clip(BASE + RANDOM.normal(0.05, 0.2, size=60), 0, 1)
LABELS = ["de"] * 30 + ["en"] * 20 + ["fr"] * 10


def test_each_stratum_is_its_own_comparison() -> None:
    found = stratify(BASE, SYSTEM, LABELS, bounds=(0, 1))
    assert [(stratum.label, stratum.n) for stratum in found.strata] == [
        ("de", 30),
        ("en", 20),
        ("fr", 10),
    ]
    english = found.strata[1]
    change = (SYSTEM - BASE)[30:50]
    assert english.difference == pytest.approx(change.mean())
    assert english.interval == mean_intervals(change, bounds=(-1, 1))[0]
    [base] = mean_intervals(BASE[30:50], bounds=(0, 1))
    assert english.base_interval.low == pytest.approx(base.low, rel=1e-12)
    assert english.p == paired_tests(change)[0].p
    raw = [stratum.p for stratum in found.strata]
    assert [stratum.p_corrected for stratum in found.strata] == corrected(raw).tolist()
    assert found.difference == pytest.approx((SYSTEM - BASE).mean())


def test_order_of_queries_does_not_matter() -> None:
    order = RANDOM.permutation(60)
    moved = stratify(BASE[order], SYSTEM[order], [LABELS[place] for place in order])
    for one, other in zip(stratify(BASE, SYSTEM, LABELS).strata, moved.strata, strict=True):
        assert (one.label, one.n, one.p) == (other.label, other.n, other.p)
        assert one.interval == other.interval
        assert one.difference == pytest.approx(other.difference, rel=1e-12)


def test_strata_against_the_whole() -> None:
    base = np.array([0.0] * 4 + [0.5] * 9)
    system = np.array([0.9] * 4 + [0.4] * 9)
    found = stratify(base, system, ["big"] * 4 + ["a"] * 3 + ["b"] * 3 + ["c"] * 3)
    assert found.difference > 0
    assert found.finding is not None
    assert found.finding.code == "RS601"
    assert "3 of 4 strata" in found.finding.message
    assert stratify(base, system, ["big"] * 4 + ["small"] * 9).finding is None


def test_one_query_in_a_stratum() -> None:
    found = stratify([0.1, 0.2], [0.3, 0.9], ["a", "b"], bounds=(0, 1))
    for stratum in found.strata:
        assert stratum.p == 1.0
        assert stratum.interval.method == "unseen"
    assert found.to_dict()["strata"][0]["n"] == 1


def test_bad_input() -> None:
    with pytest.raises(InputError, match="as many labels"):
        stratify([0.1], [0.2], ["a", "b"])
    with pytest.raises(InputError, match="at most 200"):
        stratify(np.zeros(201), np.zeros(201), [str(n) for n in range(201)])
