"""Targets and bands: what a measure should reach, and what a value is called.

A set is a YAML, JSON or TOML file. Those in ``rankscope/data/targets`` go by their names, any other
by its path::

    name: ours
    source: the team's goals for 2025
    measures:
      nDCG@10: {target: 0.35, bands: {baseline: 0.30, competitive: 0.35, strong: 0.40}}
    figures:
      routing_accuracy: {above: 0.75}
      gate_false_positive_rate: {target: 0.1}

A band is entered at its bound: 0.30 is baseline, 0.29 is "below baseline". Where less is better the
bands are entered from above: with ``{fair: 20, good: 5}`` a value of 5 is good, 6 fair, and 21
"below fair". Measures are compared by their canonical names. Figures are single numbers of analyses
(`rankscope.diagnosis.figures`): a ``target`` is reached by the value itself, too, ``above`` and
``below`` are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, TypeAdapter, model_validator

from rankscope.benchmark.config.sections import Section, entries_of, read_section, refuse
from rankscope.benchmark.config.syntax import read_config_file
from rankscope.diagnosis.figures import FIGURES
from rankscope.errors import InputError, RankscopeError, UnknownNameError, shown
from rankscope.measures.definition import written
from rankscope.measures.language import Measure
from rankscope.records.kpis import FigureGoal
from rankscope.retrieval.options import SpecError, Text, given_as

BUILT_IN = Path(__file__).parents[1] / "data" / "targets"
"""The sets that go by their names."""

SUFFIXES = (".yaml", ".yml", ".json", ".toml")

Bands = tuple[tuple[str, float], ...]
"""Names and bounds, from the band that is easiest to enter to the hardest."""


# --- what a config says --------------------------------------------------------------------------


def _checked_targets(value: Any) -> Any:
    """Check what a config says: numbers by measure, a set's name or path, or a list of these."""
    for keys, entry in entries_of(value):
        if isinstance(entry, dict):
            _check_names(entry, *keys, figures=True)
            for name, number in entry.items():
                _check_number(name, number, *keys, name)
        elif not isinstance(entry, str) or not entry.strip():
            example = "numbers such as nDCG@10: 0.4, or the name or file of a set"
            refuse(f"expected {example}, got {given_as(entry)}", *keys)
    return value


TargetsGiven = Annotated[
    dict[str, float] | Text | list[dict[str, float] | Text], BeforeValidator(_checked_targets)
]
"""The key ``targets`` of a config."""


def _check_names(names: Iterable[str], *keys: str | int, figures: bool = False) -> None:
    """Refuse what is no measure, and a measure under two names."""
    first: dict[Measure, str] = {}
    for name in names:
        if figures and name in FIGURES:
            continue
        try:
            measure = Measure.parse(name)
        except RankscopeError as error:
            refuse(str(error), *keys, name)
        if first.setdefault(measure, name) != name:
            both = f"{shown(name)} and {shown(first[measure])}"
            refuse(f"{both} are the same measure; keep one", *keys, name)


def _check_number(name: str, value: Any, *keys: str | int) -> None:
    """Refuse what a measure or figure cannot be."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse(f"expected a number, got {given_as(value)}", *keys)
    low, high = FIGURES[name].range if name in FIGURES else Measure.parse(name).definition.range
    if not low <= value <= high:
        hint = f"; write {value / 100:g} for {value:g} %" if low <= value / 100 <= high else ""
        expected = f"{written(low)} or more" if math.isinf(high) else f"{low:g} to {high:g}"
        refuse(f"expected {expected}, got {value:g}{hint}", *keys)


# --- files ---------------------------------------------------------------------------------------


class MeasureGoals(Section):
    """What a set says about one measure."""

    target: float | None = None
    """What should be reached."""
    bands: Annotated[dict[str, float], Field(min_length=1)] | None = None
    """The bound of each band, by its name."""


class FigureGoals(Section):
    """What a set says about one figure; one of the three."""

    target: float | None = None
    """What should be reached; where less is better, the most that is allowed."""
    above: float | None = None
    """What should be exceeded."""
    below: float | None = None
    """What it should stay below, where less is better."""


class TargetFile(Section):
    """A set of targets and bands, as it is written."""

    name: Text
    """What reports call the set."""
    source: Text
    """Where the numbers are from."""
    measures: Annotated[dict[str, MeasureGoals], Field(min_length=1)] = Field(default_factory=dict)
    """Targets and bands by measure."""
    figures: Annotated[dict[str, FigureGoals], Field(min_length=1)] = Field(default_factory=dict)
    """Targets of figures of analyses, by name."""

    @property
    def targets(self) -> dict[str, float]:
        """The target of each measure, by its canonical name."""
        return {
            str(Measure.parse(name)): goals.target
            for name, goals in self.measures.items()
            if goals.target is not None
        }

    @property
    def bands(self) -> dict[str, Bands]:
        """The bands of each measure, by its canonical name, the easiest first."""
        bands: dict[str, Bands] = {}
        for name, goals in self.measures.items():
            measure = Measure.parse(name)
            sign = 1 if measure.definition.higher_is_better else -1
            if goals.bands is not None:
                by_bound = sorted(goals.bands.items(), key=lambda band: sign * band[1])
                bands[str(measure)] = tuple(by_bound)
        return bands

    @property
    def figure_goals(self) -> dict[str, FigureGoal]:
        """The goal of each figure; a strict one is not reached by the value itself."""
        return {
            name: FigureGoal(value, strict=key != "target")
            for name, goals in self.figures.items()
            for key, value in goals.model_dump(exclude_none=True).items()
        }

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if not self.measures and not self.figures:
            refuse("key measures is required: targets and bands by measure")
        for name, figure in self.figures.items():
            if name not in FIGURES:
                refuse(str(UnknownNameError("figure", name, FIGURES)), "figures", name)
            strict = "above" if FIGURES[name].higher_is_better else "below"
            given = figure.model_dump(exclude_none=True)
            if len(given) != 1 or not given.keys() <= {"target", strict}:
                refuse(f"expected one of target and {strict}; write {strict}", "figures", name)
            for key, value in given.items():
                _check_number(name, value, "figures", name, key)
        _check_names(self.measures, "measures")
        for name, goals in self.measures.items():
            if goals.target is not None:
                _check_number(name, goals.target, "measures", name, "target")
            bounds: dict[float, str] = {}
            for band, bound in (goals.bands or {}).items():
                keys = ("measures", name, "bands", band)
                _check_number(name, bound, *keys)
                if bounds.setdefault(bound, band) != band:
                    refuse(f"{bounds[bound]} and {band} begin at the same value", *keys)
        return self


def read_targets(entry: str, key: str, folder: Path) -> TargetFile:
    """Find a set by its name or path, and read it.

    Raises:
        InputError: the file is missing or wrong; names the line.
    """
    known = sorted(path.stem for path in BUILT_IN.glob("*.yaml"))
    path = BUILT_IN / f"{entry}.yaml" if entry in known else folder / Path(entry).expanduser()
    if entry not in known and not path.is_file() and not entry.endswith(SUFFIXES):
        error = UnknownNameError("set", entry, known)
        raise InputError(f"{key}: {error}; or give a path such as ours.yaml")
    file = read_config_file(path)
    try:
        return read_section(TargetFile, file.data)
    except SpecError as error:
        raise file.error(error) from None


# --- all of a config -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Targets:
    """All targets and bands of a config."""

    by_measure: dict[str, float] = field(default_factory=dict)
    """The target of each measure, by its canonical name."""
    band_sets: dict[str, dict[str, Bands]] = field(default_factory=dict)
    """By set the bands of each measure, by its canonical name."""
    figure_goals: dict[str, FigureGoal] = field(default_factory=dict)
    """What figures of analyses should reach, by name."""

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> Targets:
        """Make them of what `asdict` returned, as a manifest keeps it."""
        return TypeAdapter(Targets).validate_python(data)

    def target_of(self, *names: str) -> float | None:
        """Return what a measure should reach, if anything says so by one of its names."""
        targets = (self.by_measure.get(str(Measure.parse(name))) for name in names)
        return next((target for target in targets if target is not None), None)

    def bands_of(self, measure: str, value: float) -> dict[str, str]:
        """Return by set the band that a value falls in; sets without bands for it are left out."""
        parsed = Measure.parse(measure)
        upwards = parsed.definition.higher_is_better
        by_set = {}
        for name, by_measure in self.band_sets.items():
            bands = by_measure.get(str(parsed))
            if bands and not math.isnan(value):
                entered = [
                    band for band, bound in bands if (value >= bound if upwards else value <= bound)
                ]
                by_set[name] = entered[-1] if entered else f"below {bands[0][0]}"
        return by_set


def load_targets(
    targets: Mapping[str, float] | str | Sequence[Mapping[str, float] | str],
    bands: Sequence[str],
    folder: Path,
    *,
    measured: frozenset[str] | None = None,
) -> Targets:
    """Read what the keys ``targets`` and ``bands`` of a config name; a path starts in ``folder``.

    Of several targets for a measure the last one counts. A set that has none for what is
    ``measured`` is refused.

    >>> targets = load_targets({"ndcg_cut_10": 0.4}, ["trec-kpi"], Path())
    >>> targets.target_of("nDCG@10"), targets.bands_of("nDCG@10", 0.36)
    (0.4, {'trec-kpi': 'competitive'})
    """
    wanted: dict[str, float] = {}
    figures: dict[str, FigureGoal] = {}
    for entry in [targets] if isinstance(targets, Mapping | str) else targets:
        if isinstance(entry, Mapping):
            figures |= {name: FigureGoal(entry[name]) for name in entry if name in FIGURES}
            names = (name for name in entry if name not in FIGURES)
            wanted |= {str(Measure.parse(name)): entry[name] for name in names}
            continue
        file = read_targets(entry, "targets", folder)
        figures |= file.figure_goals
        if not file.targets and not file.figures:
            raise InputError(f"targets: the set {shown(file.name)} has bands only, no target")
        is_measured = measured is None or measured & file.targets.keys()
        if not is_measured and not file.figures:
            raise InputError(
                f"targets: none of the measures of the set {shown(file.name)} is measured; "
                f"add some of {', '.join(file.targets)} to measures"
            )
        wanted |= file.targets
    sets: dict[str, dict[str, Bands]] = {}
    for entry in bands:
        file = read_targets(entry, "bands", folder)
        if not file.bands:
            raise InputError(f"bands: the set {shown(file.name)} has targets only, no band")
        if sets.setdefault(file.name, file.bands) != file.bands:
            raise InputError(f"bands: two sets are called {shown(file.name)}; rename one")
    return Targets(wanted, sets, figures)
