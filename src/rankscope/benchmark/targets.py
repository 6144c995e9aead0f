"""Targets and bands: what a measure should reach, and what a value is called.

A set is a YAML, JSON or TOML file. Those in ``rankscope/data/targets`` go by their names, any other
by its path::

    name: ours
    source: the team's goals for 2025
    measures:
      nDCG@10: {target: 0.35, bands: {baseline: 0.30, competitive: 0.35, strong: 0.40}}

A band is entered at its bound: 0.30 is baseline, 0.29 is "below baseline". Where less is better the
bands are entered from above: with ``{fair: 20, good: 5}`` a value of 5 is good, 6 fair, and 21
"below fair". Measures are compared by their canonical names.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from rankscope.benchmark.config_keys import ConfigFile, Keys
from rankscope.benchmark.configfile import read_config_file
from rankscope.errors import FormatError, InputError, RankscopeError, UnknownNameError, shown
from rankscope.measures.definition import written
from rankscope.measures.language import Measure

__all__ = ["Targets", "load_targets"]

BUILT_IN = Path(__file__).parents[1] / "data" / "targets"
"""The sets that go by their names."""

SUFFIXES = (".yaml", ".yml", ".json", ".toml")

Bands = tuple[tuple[str, float], ...]
"""Names and bounds, from the band that is easiest to enter to the hardest."""


@dataclass(frozen=True, slots=True)
class TargetSet:
    """What a file says, by canonical measure."""

    name: str
    source: str
    targets: dict[str, float]
    bands: dict[str, Bands]


@dataclass(frozen=True, slots=True)
class Targets:
    """All targets and bands of a config."""

    by_measure: dict[str, float] = field(default_factory=dict)
    """The target of each measure, by its canonical name."""
    band_sets: tuple[TargetSet, ...] = ()

    @property
    def sets(self) -> tuple[str, ...]:
        """The names of the sets that bands come from."""
        return tuple(one.name for one in self.band_sets)

    def target_of(self, measure: str) -> float | None:
        """Return what a measure should reach, if anything says so."""
        return self.by_measure.get(str(Measure.parse(measure)))

    def bands_of(self, measure: str, value: float) -> dict[str, str]:
        """Return by set the band that a value falls in; sets without bands for it are left out."""
        meant = Measure.parse(measure)
        upwards = meant.definition.higher_is_better
        found = {}
        for one in self.band_sets:
            bands = one.bands.get(str(meant))
            if bands and not math.isnan(value):
                entered = [
                    name for name, end in bands if (value >= end if upwards else value <= end)
                ]
                found[one.name] = entered[-1] if entered else f"below {bands[0][0]}"
        return found


def load_targets(targets: Any, bands: Any, folder: Path) -> Targets:
    """Make sense of the config's keys ``targets`` and ``bands``; a path is relative to ``folder``.

    ``targets`` is a mapping from measure to number, a set's name or path, or a list of these, of
    which a later one wins. ``bands`` is a set's name or path, or a list of these. Either may be
    None.

    >>> found = load_targets({"ndcg_cut_10": 0.4}, "trec-kpi", Path())
    >>> found.target_of("nDCG@10"), found.bands_of("nDCG@10", 0.36)
    (0.4, {'trec-kpi': 'competitive'})
    """
    wanted: dict[str, float] = {}
    for entry in _listed(targets):
        if isinstance(entry, Mapping):
            wanted.update(_given(entry))
            continue
        found = _set(entry, "targets", folder)
        if not found.targets:
            raise InputError(f"targets: the set {shown(found.name)} has bands only, no target")
        wanted.update(found.targets)
    sets: dict[str, TargetSet] = {}
    for entry in _listed(bands):
        found = _set(entry, "bands", folder)
        if not found.bands:
            raise InputError(f"bands: the set {shown(found.name)} has targets only, no band")
        if sets.setdefault(found.name, found) != found:
            raise InputError(f"bands: two sets are called {shown(found.name)}; rename one")
    return Targets(wanted, tuple(sets.values()))


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _given(entry: Mapping[Any, Any]) -> dict[str, float]:
    """Read targets that stand in the config itself."""
    found: dict[str, float] = {}
    for name, value in entry.items():
        try:
            measure = _measure(name, found)
            found[str(measure)] = _number(measure, value, "the target")
        except RankscopeError as error:
            raise InputError(f"targets: {error}") from None
    return found


def _measure(name: object, known: Mapping[str, object]) -> Measure:
    """Read a measure that is not among the known ones yet."""
    measure = Measure.parse(name if isinstance(name, str) else str(name))
    if str(measure) in known:
        raise InputError(f"{shown(name)} is {measure}, which stands here already; keep one")
    return measure


def _number(measure: Measure, value: object, what: str) -> float:
    """Read a number that the measure can have."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{measure}: {what} must be a number, not {shown(value)}")
    low, high = measure.definition.range
    if not low <= value <= high:
        hint = f"; write {value / 100:g} for {value:g} %" if low <= value / 100 <= high else ""
        limits = f"{_end(low)} to {_end(high)}"
        raise InputError(f"{measure}: {what} {value:g} is outside of {limits}{hint}")
    return float(value)


def _end(end: float) -> str:
    return written(end) if math.isfinite(end) else "any number"


def _set(entry: object, key: str, folder: Path) -> TargetSet:
    """Find a set by its name or path, and read it."""
    if not isinstance(entry, str) or not entry.strip():
        raise InputError(f"{key}: expected the name or path of a set, not {shown(entry)}")
    known = sorted(path.stem for path in BUILT_IN.glob("*.yaml"))
    if entry in known:
        return _read(read_config_file(BUILT_IN / f"{entry}.yaml"))
    path = folder / Path(entry).expanduser()
    if not path.is_file() and not entry.endswith(SUFFIXES):
        error = UnknownNameError("set", entry, known)
        nearest = "" if error.nearest else f"; there are: {', '.join(known)}"
        raise InputError(f"{key}: {error}{nearest}; a path such as ours.yaml may be given too")
    return _read(read_config_file(path))


class _File:
    """A set's file; what is wrong with it is said with its line."""

    def __init__(self, file: ConfigFile) -> None:
        self.file = file

    def fail(self, keys: Keys, problem: str) -> NoReturn:
        raise FormatError(problem, source=self.file.source, line=self.file.line(keys))

    def mapping(self, keys: Keys, value: object, allowed: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return a mapping that is not empty and has no other keys than those allowed."""
        if not isinstance(value, dict) or not value:
            name = keys[-1] if keys else "the set"
            self.fail(keys, f"{name} must have keys and values, not {shown(value)}")
        for key in value:
            if allowed and key not in allowed:
                self.fail((*keys, key), str(UnknownNameError("key", key, allowed)))
        return value

    def entries(self) -> Iterator[tuple[Keys, Measure, dict[str, Any]]]:
        """Yield each measure with what is said about it."""
        measures = self.mapping(("measures",), self.file.data.get("measures"))
        known: dict[str, None] = {}
        for name, value in measures.items():
            keys = ("measures", name)
            try:
                measure = _measure(name, known)
            except RankscopeError as error:
                self.fail(keys, str(error))
            known[str(measure)] = None
            yield keys, measure, self.mapping(keys, value, ("target", "bands"))

    def number(self, keys: Keys, measure: Measure, value: object, what: str) -> float:
        try:
            return _number(measure, value, what)
        except RankscopeError as error:
            self.fail(keys, str(error))

    def bands(self, keys: Keys, measure: Measure, value: object) -> Bands:
        """Read bands, in whatever order they stand."""
        found: dict[float, str] = {}
        for name, end in self.mapping(keys, value).items():
            own = (*keys, name)
            bound = self.number(own, measure, end, f"the bound of {shown(name, 40)}")
            if bound in found:
                self.fail(own, f"{measure}: {found[bound]} and {name} begin at the same value")
            found[bound] = name
        ordered = sorted(found, reverse=not measure.definition.higher_is_better)
        return tuple((found[bound], bound) for bound in ordered)


def _read(file: ConfigFile) -> TargetSet:
    """Check a set's file."""
    own = _File(file)
    own.mapping((), file.data, ("name", "source", "measures"))
    texts = []
    for key in ("name", "source"):
        text = file.data.get(key)
        if not isinstance(text, str) or not text.strip():
            why = "says where the numbers come from" if key == "source" else "is shown in reports"
            own.fail((key,), f"{key} must be text ({why}), not {shown(text)}")
        texts.append(text.strip())
    targets: dict[str, float] = {}
    bands: dict[str, Bands] = {}
    for keys, measure, said in own.entries():
        if "target" in said:
            place = (*keys, "target")
            targets[str(measure)] = own.number(place, measure, said["target"], "the target")
        if "bands" in said:
            bands[str(measure)] = own.bands((*keys, "bands"), measure, said["bands"])
    return TargetSet(texts[0], texts[1], targets, bands)
