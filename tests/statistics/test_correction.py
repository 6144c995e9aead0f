"""Corrections for many tests: by hand, against SciPy, and laws."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import InputError, UnknownNameError
from rankscope.statistics.choices import CORRECTIONS, Correction
from rankscope.statistics.tests import corrected

stats: Any = import_module("scipy.stats")

p_values = st.lists(st.floats(0, 1), max_size=20)


def test_by_hand() -> None:
    raw = [0.04, 0.01, 0.03, 0.5]
    assert corrected(raw, "none").tolist() == raw
    assert corrected(raw, "bonferroni") == pytest.approx([0.16, 0.04, 0.12, 1.0])
    assert corrected(raw, "holm") == pytest.approx([0.09, 0.04, 0.09, 0.5])
    assert corrected(raw, "bh") == pytest.approx([0.16 / 3, 0.04, 0.16 / 3, 0.5])


@settings(deadline=None)
@given(p_values, st.sampled_from(list(CORRECTIONS)))
def test_laws(raw: list[float], method: Correction) -> None:
    found = corrected(raw, method)
    assert ((found >= np.array(raw)) & (found <= 1)).all()
    order = np.argsort(raw, kind="stable")
    assert (np.diff(found[order]) >= 0).all()
    backwards = corrected(raw[::-1], method)[::-1]
    assert (found == backwards).all()


def test_edges() -> None:
    assert corrected([], "holm").tolist() == []
    assert corrected([0.2], "holm").tolist() == [0.2]
    with pytest.raises(InputError, match="between 0 and 1"):
        corrected([1.5])
    with pytest.raises(UnknownNameError, match="nearest: holm"):
        corrected([0.5], "holms")  # type: ignore[arg-type]
