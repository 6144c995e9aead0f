"""Limits: ``nDCG@10=0.35``, which every run must reach, or ``hybrid:nDCG@10=0.35``."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsFloat

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.measures.language import Measure
from rankscope.scoring.rules import profile_named


@dataclass(frozen=True, slots=True)
class Limit:
    """What a run's mean must reach; without a name, the mean of every run."""

    measure: str
    """By its canonical name, as the profile reads it."""
    value: float
    name: str | None = None
    asked: str = ""
    """The measure as it was asked for."""

    def __post_init__(self) -> None:
        """Refuse a limit that is no number, or that every run or none would reach."""
        definition = Measure.parse(self.measure).definition
        is_number = isinstance(self.value, SupportsFloat) and not isinstance(self.value, bool)
        if not is_number or not math.isfinite(limit := float(self.value)):
            raise InputError(
                f"the limit of {self.measure} must be a finite number, not {self.value!r}"
            )
        if definition.aggregate == "sum":
            raise InputError(f"{self.measure} is summed over queries; set a limit for a mean")
        lowest, highest = definition.range
        if not lowest <= limit <= highest:
            percent = f"; for {limit:g}% write {limit / 100:g}" if highest == 1 < limit else ""
            raise InputError(
                f"the limit of {self.measure} must be from {lowest:g} to {highest:g}, as its "
                f"values are, not {limit:g}{percent}"
            )

    def is_reached(self, mean: float) -> bool:
        """Tell whether a mean is at least the limit; at most, where lower is better."""
        higher_is_better = Measure.parse(self.measure).definition.higher_is_better
        return mean >= self.value if higher_is_better else mean <= self.value

    def sentence(self, mean: float) -> str:
        """Say on which side of the limit a mean is."""
        side = "below" if mean < self.value else "above" if mean > self.value else "at"
        return f"{self.measure} = {mean:.4f}, {side} the limit of {self.value:g}"

    def missed(self, means: Mapping[str, Mapping[str, float]]) -> list[str]:
        """Return a sentence for each run that does not reach it; a broken one has no mean."""
        concerned = {name: means[name] for name in means if self.name in (None, name)}
        return [
            f"{name} has {self.sentence(values[self.measure])}"
            if self.measure in values
            else f"{name} is broken and has no {self.measure}"
            for name, values in concerned.items()
            if self.measure not in values or not self.is_reached(values[self.measure])
        ]


def read_limits(
    texts: Sequence[str],
    names: Collection[str],
    *,
    profile: str,
    measures: Iterable[str] | None = None,
    noun: str = "run",
) -> list[Limit]:
    """Read limits; one may begin with one of ``names`` (each is a ``noun``) and a colon.

    ``measures`` are those there are; without them any may be asked for.
    """
    rules = profile_named(profile)
    known = {str(rules.meaning(Measure.parse(asked))): asked for asked in measures or ()}
    limits = []
    for text in texts:
        left, _, number = text.rpartition("=")
        name = next((name for name in names if left.startswith(f"{name}:")), None)
        asked = left if name is None else left[len(name) + 1 :]
        try:
            value = float(number if asked else "")
        except ValueError:
            raise InputError(
                f"--fail-under {shown(text)}: expected MEASURE=VALUE, such as nDCG@10=0.35"
            ) from None
        if ":" in asked and "{" not in asked:
            raise UnknownNameError(noun, asked.partition(":")[0], names)
        canonical = str(rules.meaning(Measure.parse(asked)))
        if measures is not None and canonical not in known:
            raise UnknownNameError("measure of this benchmark", asked, list(known.values()))
        limits.append(Limit(canonical, value, name, asked))
    return limits
