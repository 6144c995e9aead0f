"""Why: what makes different tools give one run different numbers.

A tool is a set of rules. Changing one rule at a time from ours to the tool's shows what each is
worth; trying sets of rules, and definitions that go by the same name, finds those that reproduce a
given number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from pydantic import Field

from rankscope.document.views import Shown
from rankscope.errors import InputError, shown
from rankscope.findings import Finding
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.part import Part
from rankscope.scoring.align import align
from rankscope.scoring.bounds import counting
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.inputs import as_judgments, as_one_run, has_identical
from rankscope.scoring.options import Scoring, ScoringOptions
from rankscope.scoring.rules import OURS, PROFILES, Profile, profile_named

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, JudgedRun

__all__ = ["Why", "why"]

_OF_NO_USE = (
    *("profile", "ties", "precision", "queries", "corpus", "executor", "overlap"),
    "ontology",
)
"""Options of `evaluate` that are compared, or of no use here."""

MOST = 5
"""How many sets of rules are named for a number."""

COARSE = 0.005
"""A share is met to this at least: 0.5 is not all between 0.45 and 0.55."""

_RULES: dict[str, tuple[str, dict[Any, str]]] = {
    "ties": ("ties", {"trec": "higher id first", "id-asc": "lower id first", "given": "as given"}),
    "precision": ("score precision", {"double": "double", "single": "single (float32)"}),
    "queries": ("missing queries", {"all": "count as 0", "both": "left out"}),
    "identical_ids": ("documents with the query's id", {True: "kept", False: "left out"}),
    "no_relevant": (
        "queries without a relevant document",
        {"zero": "count as 0", "out": "left out"},
    ),
}
"""The rules of a profile in words, ours first."""

_PARAMETERS = {
    "cutoff": "cut",
    "gain": "gain",
    "norm": "denominator",
    "rel": "relevance level",
    "rule": "recall points",
}
"""What it is called when a tool means the same measure with one parameter changed."""


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
    bench = _Bench(qrels, run, Scoring.of("why", options, without=_OF_NO_USE))
    ours = Measure.parse(measure)
    findings = evaluate(bench.judgments, {bench.name: bench.run}, ours).findings
    return Why(
        outcomes=tuple(bench.outcome(ours, profile_named(name)) for name in profiles),
        reproduced={number: bench.reproduced(ours, number) for number in map(str, numbers)},
        findings=findings,
    )


_Compute = Callable[[Measure, "JudgedRun"], "FloatArray"]


class _Bench:
    """One run and its judgments, scored under any rules."""

    def __init__(self, qrels: Any, run: Any, scoring: Scoring) -> None:
        self.judgments = as_judgments(qrels, scoring)
        self.name, self.run = as_one_run(run, self.judgments, scoring)
        self._aligned = cache(
            lambda ties, precision, identical_ids: (
                align(
                    self.judgments,
                    self.run,
                    replace(OURS, ties=ties, precision=precision, identical_ids=identical_ids),
                    name=self.name,
                ).judged
            )
        )

    def judged(self, rules: Profile) -> JudgedRun:
        """Return the run as some rules see it; of these only some matter for alignment."""
        return self._aligned(rules.ties, rules.precision, rules.identical_ids)

    def value(self, rules: Profile, measure: Measure, how: _Compute = compute) -> float:
        """Return the mean under some rules."""
        judged = self.judged(rules)
        return aggregate(measure, how(measure, judged)[counting(judged, rules)])

    def outcome(self, ours: Measure, profile: Profile) -> Outcome:
        """Return a profile's value, and what each rule that differs is worth."""
        meant = profile.meaning(ours)
        rules, stops = profile.rules_for(meant), ""
        if rules.queries == "strict":
            rules = replace(rules, queries="all")
            judged = self.judged(rules)
            missing = int(np.count_nonzero(~judged.in_run))
            if missing:
                queries = "query is" if missing == 1 else "queries are"
                stops = f"{missing:,} judged {queries} missing from the run, and it stops"
        base = self.value(OURS, ours)
        changed = [
            (title, theirs, replace(OURS, **{field: getattr(rules, field)}), ours)
            for field, (title, words) in _RULES.items()
            if (theirs := words[getattr(rules, field)]) != next(iter(words.values()))
        ]
        if meant != ours:
            title = "definition"
            if meant.name == ours.name:
                before = {**ours.options, "cutoff": ours.cutoff}
                after = {**meant.options, "cutoff": meant.cutoff}
                others = (name for name in before if before[name] != after[name])
                title = ", ".join(_PARAMETERS.get(name, name) for name in others)
            changed.append((title, str(meant), OURS, meant))
        value = None if stops else self.value(rules, meant)
        return Outcome(
            profile=profile.name,
            measure=str(meant),
            value=value,
            difference=None if value is None else value - base,
            effects=tuple(
                RuleEffect(rule=rule, theirs=theirs, change=self.value(by, measure) - base)
                for rule, theirs, by, measure in changed
            ),
            stops=stops,
        )

    def reproduced(self, ours: Measure, number: str) -> tuple[Reproduction, ...]:
        """Find the rules under which the run scores a number, those nearest to ours first."""
        target, tolerance = _read_number(number, ours.definition.range[1])
        plain = self.judged(OURS)
        matters = {
            "queries": not plain.in_run.all(),
            "identical_ids": has_identical(self.run),
            "no_relevant": bool((plain.graded(1.0) == 0).any()),
        }
        choices = [  # ours alone where no other could matter
            [
                (field, value, "" if value == getattr(OURS, field) else f"{title}: {word}")
                for value, word in list(words.items())[: None if matters.get(field, True) else 1]
            ]
            for field, (title, words) in _RULES.items()
        ]
        close = []
        for chosen in product(*choices):
            profile = replace(OURS, **{field: value for field, value, _ in chosen})
            changes = [change for *_, change in chosen if change]
            for measure, how, change in _meanings(ours, self.judgments.max_grade):
                value = self.value(profile, measure, how)
                if abs(value - target) <= tolerance:
                    named = tuple(filter(None, (*changes, change)))
                    close.append(Reproduction(value=value, measure=str(measure), changes=named))
        fewest = min((len(rules.changes) for rules in close), default=0)
        return tuple(rules for rules in close if len(rules.changes) == fewest)[:MOST]


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


# --- definitions, and faults, that go by one name ------------------------------------------------

_OTHER_PARAMETERS: dict[str, dict[Any, str]] = {
    "gain": {"linear": "gain: grade", "exp": "gain: 2^grade − 1", "binary": "gain: 1 or 0"},
    "norm": {
        "rel": "denominator: R",
        "min": "denominator: min(R, k)",
        "retrieved": "denominator: relevant documents found",
    },
    "rule": {9: "recall points: those of trec_eval 9"},
    "p": {p: f"p: {p:g}" for p in (0.5, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)},
    "max_rel": {grade: f"highest grade: {grade}" for grade in (1, 2, 3, 4, 5)},
}
"""Parameters that differ between definitions that go by one name."""

_OTHER_NAMES = {
    "R": ("R_cap", "rel", "denominator: min(R, k)"),
    "R_cap": ("R", "rel", "denominator: R"),
    "RBP": ("RBG", "p", "gain: grade, not scaled"),
}
"""Measures that go by the same name with another divisor or gain, and the parameter they share."""

_CUTOFFS = (10, 100, 1000, 5, 1, 3, 20, 50)


def _meanings(measure: Measure, highest: float) -> Iterator[tuple[Measure, _Compute, str]]:
    """Yield the definitions, and faults, that go by a measure's name."""
    for variant, change in _variants(measure, highest):
        yield variant, compute, change
    if measure.name == "P":
        retrieved = measure.replaced(norm="retrieved")
        yield retrieved, compute, "denominator: documents retrieved, up to k"
    if measure.name in ("nDCG", "nERR"):
        yield measure, _ideal_of_retrieved, "ideal: of retrieved documents only"
        if measure.cutoff is not None:
            yield measure, _ideal_of_shown, "ideal: of the first k documents only"


def _variants(measure: Measure, highest: float) -> Iterator[tuple[Measure, str]]:
    """Yield the definitions that are measures of ours."""
    yield measure, ""
    options = dict(measure.options)
    is_binary = options.get("gain", "binary") == "binary"
    if measure.name in _OTHER_NAMES and is_binary:
        name, key, change = _OTHER_NAMES[measure.name]
        yield Measure.of(name, cutoff=measure.cutoff, **{key: options[key]}), change
    for name, words in _OTHER_PARAMETERS.items():
        parameter = measure.definition.parameter(name)
        if parameter is None:
            continue
        used = highest if name == "max_rel" and options[name] is None else options[name]
        for word, change in words.items():
            if word != used and (not parameter.choices or word in parameter.choices):
                changed: dict[str, Any] = {name: word}
                if name == "gain" and "rel" in options:
                    changed["rel"] = 1.0  # a level counts with binary gains only
                yield measure.replaced(**changed), change
    if "rel" in options and is_binary:
        for level in (level for level in (2, 3) if level <= highest):
            yield measure.replaced(rel=level), f"relevant from grade {level} up"
    yield measure.replaced(judged_only=True), "unjudged documents removed"
    if measure.cutoff is not None and measure.definition.cutoff == "optional":
        yield Measure(measure.name, measure.params), "no cutoff"
    if measure.definition.cutoff != "none":
        for cutoff in _CUTOFFS:
            if cutoff != measure.cutoff:
                yield measure.replaced(cutoff=cutoff), f"cut at {cutoff}"


def _ideal_of_retrieved(measure: Measure, judged: JudgedRun) -> FloatArray:
    """Measure as if nothing were judged but what was retrieved."""
    order = np.lexsort((-judged.hit_grade, judged.hit_query))
    query, grade = judged.hit_query[order], judged.hit_grade[order]
    return compute(measure, replace(judged, judged_query=query, judged_grade=grade))


def _ideal_of_shown(measure: Measure, judged: JudgedRun) -> FloatArray:
    """Measure as if nothing were judged but what is above the cutoff."""
    assert measure.cutoff is not None
    return _ideal_of_retrieved(measure, judged.cut(measure.cutoff))
