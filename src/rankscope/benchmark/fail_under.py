"""Limits: ``nDCG@10=0.35``, which every system must reach, or ``hybrid:nDCG@10=0.35``."""

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
    """What a system's mean must reach; without a system, the mean of every system."""

    measure: str
    value: float
    system: str | None = None

    def missed(self, report: BenchmarkReport) -> list[str]:
        """Return a sentence for each system that does not reach it; a broken one does not."""
        info = next(info for info in report.measures if info.measure == self.measure)
        is_worse, side = (lt, "below") if info.higher_is_better else (gt, "above")
        sentences = []
        for system in report.systems:
            if self.system not in (None, system.name):
                continue
            values = [mean.value for mean in system.measures if mean.measure == self.measure]
            if not values:
                sentences.append(f"{system.name} is broken and has no {self.measure}")
            elif is_worse(values[0], self.value):
                mean = f"{self.measure} = {values[0]:.4f}"
                sentences.append(f"{system.name} has {mean}, {side} the limit of {self.value:g}")
        return sentences


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
