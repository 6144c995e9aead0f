"""Attribution: why one run gets different numbers from different tools.

A tool is a set of rules. Changing one rule at a time from ours to the tool's shows what each is
worth; trying sets of rules finds the one that reproduces a given number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.alignment import align
from rankscope.errors import InputError
from rankscope.inputs import as_judgments, as_runs, without_identical
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.profiles import PROFILES, Profile, profile_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rankscope.alignment import Judgments
    from rankscope.judged import JudgedRun

__all__ = ["Effect", "Outcome", "Reproduction", "reproduce", "why"]


@dataclass(frozen=True, slots=True)
class Effect:
    """What one rule is worth: the value with this rule alone changed, minus ours."""

    rule: str
    ours: str
    theirs: str
    change: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """One profile's value and where it parts from ours.

    ``value`` is None where the tool stops instead of answering; ``stops`` then says why.
    ``together`` is what remains of the difference once single effects are added up.
    """

    profile: str
    measure: str
    value: float | None
    difference: float | None
    effects: tuple[Effect, ...]
    together: float
    stops: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "profile": self.profile,
            "measure": self.measure,
            "value": self.value,
            "difference": self.difference,
            "effects": [
                {"rule": e.rule, "ours": e.ours, "theirs": e.theirs, "change": e.change}
                for e in self.effects
            ],
            "together": self.together,
            "stops": self.stops,
        }


@dataclass(frozen=True, slots=True)
class _Rules:
    """One complete set of rules."""

    ties: str = "trec"
    precision: str = "double"
    queries: str = "all"
    identical_ids: bool = True
    measure: Measure | None = None


_WORDS: dict[str, tuple[str, dict[Any, str]]] = {
    "ties": ("ties", {"trec": "higher id first", "id-asc": "lower id first", "given": "as given"}),
    "precision": ("score precision", {"double": "double", "single": "single (float32)"}),
    "queries": ("missing queries", {"all": "count as 0", "both": "left out"}),
    "identical_ids": ("documents with the query's id", {True: "kept", False: "left out"}),
}


class _Bench:
    """One run and its judgments, aligned under any rules; alignments are kept."""

    def __init__(self, judgments: Judgments, run: Any) -> None:
        self._judgments = judgments
        self._run = run
        self._plain: Any = None
        self._aligned: dict[tuple[str, str, bool], JudgedRun] = {}

    def judged(self, rules: _Rules) -> JudgedRun:
        """Return the run aligned under some rules, all judged queries in it."""
        key = (rules.ties, rules.precision, rules.identical_ids)
        if key not in self._aligned:
            run = self._run
            if not rules.identical_ids:
                self._plain = self._plain or without_identical(run)
                run = self._plain
            ties: Any = rules.ties
            precision: Any = rules.precision
            found = align(self._judgments, run, ties=ties, precision=precision)
            self._aligned[key] = found.judged
        return self._aligned[key]

    def value(self, rules: _Rules) -> float:
        """Return the mean under some rules."""
        judged = self.judged(rules)
        assert rules.measure is not None
        values = compute(rules.measure, judged)
        kept = judged.in_run if rules.queries == "both" else np.ones(len(judged), np.bool_)
        return aggregate(rules.measure, values[kept])

    def missing(self) -> int:
        """Count judged queries the run lacks."""
        return int(np.count_nonzero(~self.judged(_Rules()).in_run))


def _bench(qrels: Any, run: Any) -> _Bench:
    named, single = as_runs(run)
    if not single and len(named) != 1:
        raise InputError("one run can be looked into at a time; call it once for each")
    return _Bench(as_judgments(qrels), next(iter(named.values())))


def why(
    qrels: Any,
    run: Any,
    measure: str | Measure,
    *,
    profiles: Iterable[str | Profile] = tuple(PROFILES),
) -> list[Outcome]:
    """Score one run under several tools' rules, and say which rule causes each difference."""
    bench = _bench(qrels, run)
    asked = Measure.parse(measure)
    ours = _Rules(measure=asked)
    base = bench.value(ours)
    return [_outcome(bench, ours, base, profile_named(profile)) for profile in profiles]


def _outcome(bench: _Bench, ours: _Rules, base: float, profile: Profile) -> Outcome:
    assert ours.measure is not None
    meant = profile.meaning(ours.measure)
    queries = "all" if profile.queries == "strict" else profile.queries
    theirs = _Rules(profile.ties, profile.precision, queries, profile.identical_ids, meant)
    value = bench.value(theirs)
    effects = []
    for field, (title, words) in _WORDS.items():
        mine, other = getattr(ours, field), getattr(theirs, field)
        if mine != other:
            change = bench.value(replace(ours, **{field: other})) - base
            effects.append(Effect(title, words[mine], words[other], change))
    if meant != ours.measure:
        change = bench.value(replace(ours, measure=meant)) - base
        effects.append(Effect("definition", str(ours.measure), str(meant), change))
    difference = value - base
    together = difference - sum(effect.change for effect in effects)
    if profile.queries == "strict" and bench.missing():
        stops = f"{bench.missing()} judged queries are missing from the run, and it stops"
        return Outcome(profile.name, str(meant), None, None, tuple(effects), 0.0, stops)
    return Outcome(profile.name, str(meant), value, difference, tuple(effects), together)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A set of rules under which the run scores a given number; no changes means our own."""

    number: str
    value: float
    measure: str
    changes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "number": self.number,
            "value": self.value,
            "measure": self.measure,
            "changes": list(self.changes),
        }


def reproduce(
    qrels: Any, run: Any, measure: str | Measure, number: str, *, most: int = 5
) -> list[Reproduction]:
    """Find the rules under which a run scores ``number``, those nearest to ours first.

    The number is given as text: its digits say how exactly it must be met.
    """
    try:
        target = float(number)
    except ValueError:
        raise InputError(f"expected a number such as 0.4123, not {number!r}") from None
    digits = len(number.partition(".")[2].partition("e")[0])
    bench = _bench(qrels, run)
    found = []
    for rules, changes in _sets_of_rules(Measure.parse(measure)):
        value = bench.value(rules)
        if abs(value - target) <= 0.5 * 10.0**-digits * (1 + 1e-9):
            found.append(Reproduction(number, value, str(rules.measure), tuple(changes)))
    found.sort(key=lambda one: len(one.changes))
    fewest = len(found[0].changes) if found else 0
    return [one for one in found if len(one.changes) == fewest][:most]


def _variants(measure: Measure) -> Iterator[tuple[Measure, str]]:
    """Yield the definitions that go by a measure's name."""
    yield measure, ""
    for name, words in (
        ("gain", ("linear", "exp", "binary")),
        ("norm", ("rel", "min", "retrieved")),
    ):
        parameter = measure.definition.parameter(name)
        for word in words if parameter is not None else ():
            if parameter is not None and word in parameter.choices:
                changed: dict[str, Any] = {name: word}
                other = measure.replaced(**changed)
                if other != measure:
                    yield other, f"{name}: {word}"
    if measure.definition.parameter("rel") is not None:
        for level in (2, 3):
            try:
                yield measure.replaced(rel=level), f"relevant from grade {level} up"
            except InputError:
                continue
    yield measure.replaced(judged_only=True), "unjudged documents removed"
    if measure.cutoff is not None and measure.definition.cutoff == "optional":
        yield Measure(measure.name, measure.params), "no cutoff"
    elif measure.definition.cutoff == "optional":
        for cutoff in (10, 100, 1000):
            yield measure.replaced(cutoff=cutoff), f"cut at {cutoff}"


def _sets_of_rules(measure: Measure) -> Iterator[tuple[_Rules, list[str]]]:
    choices = [list(words) for _, words in _WORDS.values()]
    default = _Rules()
    for picked in product(*choices):
        rules = _Rules(*picked)
        said = [
            f"{title}: {words[getattr(rules, field)]}"
            for field, (title, words) in _WORDS.items()
            if getattr(rules, field) != getattr(default, field)
        ]
        for variant, change in _variants(measure):
            yield replace(rules, measure=variant), [*said, *([change] if change else [])]
