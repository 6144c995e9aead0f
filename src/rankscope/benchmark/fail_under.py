"""Limits: ``nDCG@10=0.35`` or ``hybrid:nDCG@10=0.35``, which a benchmark must reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rankscope.benchmark.config.model import Config
from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.measures.language import Measure
from rankscope.records import BenchmarkReport
from rankscope.scoring.rules import profile_named

__all__ = ["Limit", "read_limits"]


@dataclass(frozen=True, slots=True)
class Limit:
    """What a system's mean must reach; without a system, the best mean must."""

    measure: str
    value: float
    system: str | None = None

    def missed(self, report: BenchmarkReport) -> str | None:
        """Return one sentence if a benchmark does not reach it."""
        means = {
            one.name: next(own.value for own in one.measures if own.measure == self.measure)
            for one in report.systems
            if self.system in (None, one.name)
        }
        info = next(one for one in report.measures if one.measure == self.measure)
        best = (
            max(means, key=means.__getitem__)
            if info.higher_is_better
            else min(means, key=means.__getitem__)
        )
        worse = means[best] < self.value if info.higher_is_better else means[best] > self.value
        if not worse:
            return None
        side = "below" if info.higher_is_better else "above"
        who = best if self.system or len(report.systems) == 1 else f"{best}, the best system,"
        return f"{who} has {self.measure} = {means[best]:.4f}, {side} the limit of {self.value:g}"


def read_limits(texts: Sequence[str], config: Config) -> list[Limit]:
    """Read limits, and check that the benchmark has their measures and systems."""
    return [_limit(text, config) for text in texts]


def _limit(text: str, config: Config) -> Limit:
    name, equals, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not equals or not name or name.endswith(":") or not math.isfinite(value):
        raise InputError(
            f"--fail-under {shown(text)}: expected MEASURE=VALUE, such as nDCG@10=0.35"
        )
    system = next((one for one in config.systems if name.startswith(f"{one}:")), None)
    asked = name if system is None else name[len(system) + 1 :]
    if system is None and ":" in name and "{" not in name:
        raise UnknownNameError("system", name.partition(":")[0], config.systems)
    profile = profile_named(config.profile)
    known = [str(profile.meaning(Measure.parse(one))) for one in config.measures]
    measure = str(profile.meaning(Measure.parse(asked)))
    if measure not in known:
        raise UnknownNameError("measure of this benchmark", asked, config.measures)
    return Limit(measure, value, system)
