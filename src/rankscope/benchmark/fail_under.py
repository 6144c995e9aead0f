"""Limits: ``nDCG@10=0.35`` or ``hybrid:nDCG@10=0.35``, which a benchmark must reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import gt, lt

from rankscope.benchmark.config.model import Config
from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.measures.language import Measure
from rankscope.records import BenchmarkReport
from rankscope.scoring.rules import profile_named


@dataclass(frozen=True, slots=True)
class Limit:
    """What a system's mean must reach; without a system, the best mean must."""

    measure: str
    value: float
    system: str | None = None

    def missed(self, report: BenchmarkReport) -> str | None:
        """Return one sentence if a benchmark does not reach it."""
        means = {
            system.name: next(
                mean.value for mean in system.measures if mean.measure == self.measure
            )
            for system in report.systems
            if self.system in (None, system.name)
        }
        info = next(info for info in report.measures if info.measure == self.measure)
        choose, is_worse, side = (max, lt, "below") if info.higher_is_better else (min, gt, "above")
        best = choose(means, key=means.__getitem__)
        if not is_worse(means[best], self.value):
            return None
        named = self.system is not None or len(report.systems) == 1
        subject = best if named else f"{best}, the best system,"
        return (
            f"{subject} has {self.measure} = {means[best]:.4f}, {side} the limit of {self.value:g}"
        )


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
    system = next((known for known in config.systems if name.startswith(f"{known}:")), None)
    asked = name if system is None else name[len(system) + 1 :]
    if system is None and ":" in name and "{" not in name:
        raise UnknownNameError("system", name.partition(":")[0], config.systems)
    profile = profile_named(config.profile)
    measure = str(profile.meaning(Measure.parse(asked)))
    if measure not in (str(profile.meaning(Measure.parse(known))) for known in config.measures):
        raise UnknownNameError("measure of this benchmark", asked, config.measures)
    return Limit(measure, value, system)
