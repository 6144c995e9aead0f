"""Settings: how systems are compared. One place for the defaults of every door.

`compare`, the gate, benchmarks and analyses read the same settings;
docs/explanation/statistics.md says why these are the defaults.
"""

from __future__ import annotations

import math
from typing import Any, Self

from rankscope.errors import InputError
from rankscope.part import Part
from rankscope.statistics.arrays import check_alpha, check_level, check_name, check_resamples
from rankscope.statistics.choices import (
    CORRECTIONS,
    FAMILIES,
    METHODS,
    TESTS,
    Correction,
    Family,
    Method,
    Test,
)

MOST_RESAMPLES = 100_000
"""A test of one pair by itself draws no more than this, however many pairs there are."""

MOST_DRAWN = 10_000_000_000
"""Tests of many pairs draw more, but no more than this in all (minutes): 10,000 at the most for a
million pairs, unless more are asked for."""


class Settings(Part):
    """How systems are compared; docs/explanation/statistics.md says why these are the defaults."""

    test: Test = "t"
    """The paired test."""
    correction: Correction = "holm"
    """How p-values are corrected for how many there are."""
    family: Family = "measure"
    """What they are corrected over: the pairs of one measure, or all pairs of all measures."""
    alpha: float = 0.05
    """A corrected p-value up to this counts as a difference."""
    interval: Method = "auto"
    """The method of intervals of means; those of differences follow the test."""
    level: float = 0.95
    """The confidence of intervals of means."""
    resamples: int = 10_000
    """How many resamples tests and intervals draw; tests of many pairs draw more."""
    seed: int = 0
    """Of all that is drawn."""
    margin: float | None = None
    """Differences within it do not matter: systems can be shown to be equivalent; null: none."""

    @classmethod
    def of(cls, **options: Any) -> Self:
        """Make settings of what a user gave; a name that is not known is refused with the nearest.

        Anything that cannot be computed is an `InputError`.
        """
        options = {name: option for name, option in options.items() if option is not None}
        for option, what, known in (
            ("test", "test", TESTS),
            ("correction", "correction", CORRECTIONS),
            ("family", "family", FAMILIES),
            ("interval", "interval method", METHODS),
        ):
            if option in options:
                check_name(what, options[option], known)
        settings = cls(**options)
        check_alpha(settings.alpha)
        check_level(settings.level)
        check_resamples(settings.resamples)
        if not 0 <= settings.seed < 2**128:
            raise InputError(f"seed must be a whole number from 0 up, not {settings.seed}")
        margin = settings.margin
        if margin is not None and not (math.isfinite(margin) and margin > 0):
            raise InputError(f"margin must be a finite number above 0, such as 0.01, not {margin}")
        return settings

    @property
    def resampling(self) -> dict[str, Any]:
        """The options of functions that resample."""
        return {"resamples": self.resamples, "seed": self.seed}

    def resamples_for(self, tests: int) -> int:
        """Return how many resamples a test of single pairs draws, so that α/tests can be reached.

        Ten times as many as the smallest p-value needs, up to a limit for each and for all.
        """
        if self.correction == "none":
            return self.resamples
        most = min(MOST_RESAMPLES, MOST_DRAWN // max(tests, 1))
        return max(self.resamples, min(round(10 * tests / self.alpha), most))
