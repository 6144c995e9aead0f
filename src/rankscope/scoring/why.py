"""Why: what makes different tools give one run different numbers.

A tool is a set of rules, and each that differs from ours is a `_Change`. Making one change at a
time shows what each is worth; making several together finds those that reproduce a given number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import cache, partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from pydantic import Field

from rankscope.document.views import Shown
from rankscope.errors import InputError, shown
from rankscope.findings import Finding
from rankscope.measures.language import Measure
from rankscope.part import Part
from rankscope.scoring.bounds import World
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.inputs import as_judgments, as_one_run
from rankscope.scoring.rules import OURS, PROFILES, Profile, profile_named
from rankscope.scoring.scoring_options import Scoring, ScoringOptions

if TYPE_CHECKING:
    from rankscope.scoring.judgments import Judgments

__all__ = ["Why", "why"]

_OF_NO_USE = (
    *("profile", "ties", "precision", "queries", "corpus", "executor", "overlap"),
    "ontology",
)
"""Options of `evaluate` that are compared, or of no use here."""

MOST = 5
"""How many sets of changes are named for a number."""

TOGETHER = 3
"""How many changes are made together to find a number."""

COARSE = 0.005
"""A share is met to this at least: 0.5 is not all between 0.45 and 0.55."""


class RuleEffect(Part):
    """What one rule is worth."""

    rule: str
    """The rule, in words."""
    theirs: str
    """What it says there."""
    change: float
    """The value with this rule alone changed, minus ours."""


class Outcome(Part):
    """One profile's value and where it parts from ours."""

    profile: str
    """Whose rules."""
    measure: str
    """What the profile means by the measure."""
    value: float | None
    """The mean by these rules; null where the tool stops instead of answering."""
    difference: float | None
    """To ours; null likewise."""
    effects: tuple[RuleEffect, ...]
    """What each rule that differs is worth by itself."""
    stops: str = ""
    """Why the tool stops; '' if it does not."""

    @property
    def together(self) -> float:
        """What remains of the difference once single effects are added up."""
        explained = sum(effect.change for effect in self.effects)
        return 0.0 if self.difference is None else self.difference - explained


class Reproduction(Part):
    """A set of rules under which the run scores a given number."""

    value: float
    """The value by these rules."""
    measure: str
    """The measure by these rules."""
    changes: tuple[str, ...]
    """What differs from our own rules; empty if nothing does."""


class Why(Part, Shown):
    """Why tools give one run different numbers."""

    outcomes: tuple[Outcome, ...]
    """One for each profile."""
    reproduced: dict[str, tuple[Reproduction, ...]] = Field(default_factory=dict)
    """By number that was asked about: the rules that give it."""
    findings: tuple[Finding, ...] = ()
    """What makes the run's numbers mean less than they seem."""


def why(
    qrels: Any,
    run: Any,
    measure: str | Measure,
    *,
    profiles: Iterable[str | Profile] = tuple(PROFILES),
    numbers: Iterable[str | float] = (),
    **options: Unpack[ScoringOptions],
) -> Why:
    """Score one run under several tools' rules, and say which rule causes each difference.

    ``numbers`` are results that somebody got: the rules that give them are named too, those nearest
    to ours. The digits of a number, best given as text, say how exactly it must be met. Where a
    measure cannot be above 1, a number above 1 is taken for a percentage. ``options`` are those
    of `evaluate` that say how files are read.
    """
    scoring = Scoring.of("why", options, without=_OF_NO_USE)
    judgments = as_judgments(qrels, scoring)
    name, given = as_one_run(run, judgments, scoring)
    ours, bench = Measure.parse(measure), _Bench(judgments, given)
    findings = evaluate(judgments, {name: given}, ours).findings  # unless nothing can be scored
    return Why(
        outcomes=tuple(bench.outcome(ours, profile_named(each)) for each in profiles),
        reproduced={number: bench.reproduced(ours, number) for number in map(str, numbers)},
        findings=findings,
    )


class _Change(NamedTuple):
    """One thing that is done differently elsewhere: a rule, or what a measure's name means."""

    rule: str
    theirs: str
    field: str = ""
    """The field of a profile that it changes,"""
    value: Any = None
    """and to what."""
    measure: Measure | None = None
    ideal_at: float | None = None
    """As if only what was retrieved down to this rank were judged: a common fault."""


class _Bench:
    """One run and its judgments, scored with any changes."""

    def __init__(self, judgments: Judgments, run: Any) -> None:
        self._highest = judgments.max_grade
        self.world = cache(partial(World, judgments, run))

    def value(self, rules: Profile, measure: Measure, ideal_at: float | None = None) -> float:
        """Return the mean by some rules."""
        world = self.world(rules)
        judged = world.judged
        if ideal_at is not None:
            keep = judged.hit_rank <= ideal_at
            query, grade = judged.hit_query[keep], judged.hit_grade[keep]
            order = np.lexsort((-grade, query))
            judged = replace(judged, judged_query=query[order], judged_grade=grade[order])
        return world.mean(measure, judged)

    def changed(self, ours: Measure, changes: Sequence[_Change]) -> Reproduction:
        """Return the mean with some changes made."""
        rules = replace(OURS, **{each.field: each.value for each in changes if each.field})
        other = next((each for each in changes if each.measure is not None), None)
        measure = ours if other is None or other.measure is None else other.measure
        return Reproduction(
            value=self.value(rules, measure, None if other is None else other.ideal_at),
            measure=str(measure),
            changes=tuple(
                f"{each.rule}: {each.theirs}" if each.field else each.theirs for each in changes
            ),
        )

    def outcome(self, ours: Measure, profile: Profile) -> Outcome:
        """Return a profile's value, and what each change that it makes is worth."""
        meant, base = profile.meaning(ours), self.value(OURS, ours)
        rules = profile.rules_for(meant)
        changes = [each for each in _RULES if getattr(rules, each.field) == each.value]
        if meant != ours:
            changes.append(_Change("definition", str(meant), measure=meant))
        value, stops = None, ""
        try:
            value = self.value(rules, meant)
        except InputError as error:  # ours gave a value, so it is the rules that stop here
            stops = str(error)
        return Outcome(
            profile=profile.name,
            measure=str(meant),
            value=value,
            difference=None if value is None else value - base,
            effects=tuple(
                RuleEffect(
                    rule=each.rule,
                    theirs=each.theirs,
                    change=self.changed(ours, [each]).value - base,
                )
                for each in changes
            ),
            stops=stops,
        )

    def reproduced(self, ours: Measure, number: str) -> tuple[Reproduction, ...]:
        """Find the fewest changes with which the run scores a number."""
        target, tolerance = _read_number(number, ours.definition.range[1])
        known = [*_RULES, *_definitions(ours, self._highest)]
        for together in range(TOGETHER + 1):
            sets = (
                changes
                for changes in combinations(known, together)
                if len({each.rule for each in changes}) == together
            )
            made = (self.changed(ours, changes) for changes in sets)
            close = [result for result in made if abs(result.value - target) <= tolerance]
            if close:
                return tuple(close[:MOST])
        return ()


def _read_number(number: str, highest: float) -> tuple[float, float]:
    """Return a number and half a unit of its last digit; a percentage if it cannot be so high."""
    try:
        exact = Decimal(number.strip())
    except InvalidOperation:
        exact = Decimal("nan")
    unit = exact.as_tuple().exponent
    if not isinstance(unit, int):
        raise InputError(f"expected a number such as 0.4123, not {shown(number)}")
    target, tolerance = float(exact), 0.5 * 10.0**unit
    if abs(target) > 1 >= highest:
        target, tolerance = target / 100, tolerance / 100
    if highest <= 1:
        tolerance = min(tolerance, COARSE)
    return target, tolerance + 1e-9 * max(1.0, abs(target))


# --- rules, definitions and faults that differ between tools -------------------------------------

_RULES = (
    _Change("ties", "lower id first", "ties", "id-asc"),
    _Change("ties", "as given", "ties", "given"),
    _Change("score precision", "single (float32)", "precision", "single"),
    _Change("missing queries", "left out", "queries", "both"),
    _Change("documents with the query's id", "left out", "identical_ids", False),
    _Change("queries without a relevant document", "left out", "no_relevant", "out"),
)

_SAME_NAME = {"R": ("R_cap", "Success"), "R_cap": ("R", "Success"), "Success": ("R",)}
"""What else goes by a measure's name: "recall" may be capped, or a hit rate."""

_CUTOFFS = (10, 100, 1000, 5, 1, 3, 20, 50)


def _definitions(measure: Measure, highest: float) -> Iterator[_Change]:
    """Yield the definitions, and faults, that go by a measure's name."""
    for variant in dict.fromkeys(_variants(measure, highest)):
        if variant != measure:
            yield _Change("definition", "another definition", measure=variant)
    if measure.name in ("nDCG", "nERR"):
        change = _Change("definition", "ideal: of retrieved documents only", measure=measure)
        yield change._replace(ideal_at=np.inf)
        if measure.cutoff is not None:
            words = "ideal: of the first k documents only"
            yield change._replace(theirs=words, ideal_at=measure.cutoff)


def _variants(measure: Measure, highest: float) -> Iterator[Measure]:
    """Yield the definitions that are measures of ours."""
    definition, options = measure.definition, measure.options
    is_binary = options.get("gain", "binary") == "binary"
    for name in _SAME_NAME.get(measure.name, ()) if measure.cutoff is not None else ():
        yield Measure.of(name, cutoff=measure.cutoff, rel=options["rel"])
    for name in ("gain", "norm"):
        parameter = definition.parameter(name)
        for choice in () if parameter is None else parameter.choices:
            changed: dict[str, Any] = {name: choice}
            if name == "gain" and "rel" in options:
                changed["rel"] = 1.0  # a level counts with binary gains only
            yield measure.replaced(**changed)
    if definition.parameter("rule") is not None:
        yield measure.replaced(rule=9)
    if "rel" in options and is_binary:
        yield from (measure.replaced(rel=level) for level in (2, 3) if level <= highest)
    if definition.cutoff == "optional":
        yield Measure(measure.name, measure.params)
    if definition.cutoff != "none":
        yield from (measure.replaced(cutoff=cutoff) for cutoff in _CUTOFFS)
