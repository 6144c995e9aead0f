"""The sum of inverse squares that INST cuts short, against Hurwitz's zeta function."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import zeta  # type: ignore[import-untyped]

from rankscope.measures.user_models import SMOOTH, _inverse_squares


def test_inverse_squares_are_a_zeta_function() -> None:
    starts = SMOOTH + np.array([0.0, 0.25, 1.0, 3.5, 17.0, 80.0, 980.0, 1e5])
    assert _inverse_squares(starts) == pytest.approx(zeta(2.0, starts), rel=1e-14, abs=0)
