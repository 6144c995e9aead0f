"""The words and signs that all reports share."""

from __future__ import annotations

__all__ = ["DAGGER", "DOUBLE_DAGGER", "INTERVALS", "TESTS"]

DAGGER, DOUBLE_DAGGER = "†", "‡"

TESTS = {
    "permutation": "paired permutation test",
    "bootstrap": "paired bootstrap test",
    "t": "Student's paired t test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "sign": "sign test",
    "tukey": "randomised Tukey HSD",
}

INTERVALS = {
    "bca": "BCa bootstrap",
    "percentile": "percentile bootstrap",
    "t": "Student t",
    "wilson": "Wilson (BCa where values are not 0 and 1)",
}
