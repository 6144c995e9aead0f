"""Why: what makes different tools give one run different numbers.

A tool is a set of rules. Changing one rule at a time from ours to the tool's shows what each is
worth; trying sets of rules, and definitions that go by the same name, finds those that reproduce a
given number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
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
from rankscope.scoring.by_language import refuse_mixed
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.inputs import (
    as_judgments,
    as_one_run,
    has_identical,
    without_identical,
)
from rankscope.scoring.options import Scoring, ScoringOptions
from rankscope.scoring.rules import PROFILES, Profile, profile_named

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    ours: str
    """What it says here."""
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
    together: float
    """What remains of the difference once single effects are added up."""
    stops: str = ""
    """Why the tool stops; '' if it does not."""


class Reproduction(Part):
    """A set of rules under which the run scores a given number."""

    number: str
    """The number, as it was given."""
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
    bench = _Bench(qrels, run, scoring)
    asked = Measure.parse(measure)
    findings = evaluate(bench.judgments, {bench.name: bench.run}, asked).findings
    return Why(
        outcomes=tuple(_outcome(bench, asked, profile_named(name)) for name in profiles),
        reproduced={number: _reproduced(bench, asked, number) for number in map(str, numbers)},
        findings=findings,
    )


_OURS = PROFILES["rankscope"]
_Compute = Callable[[Measure, "JudgedRun"], "FloatArray"]


class _Bench:
    """One run and its judgments, aligned under any rules; alignments are kept."""

    def __init__(self, qrels: Any, run: Any, scoring: Scoring) -> None:
        self.judgments = as_judgments(qrels, scoring)
        refuse_mixed(self.judgments)
        self.name, self.run = as_one_run(run, self.judgments, scoring)
        self._judged = cache(self._aligned)
        plain = self._judged("trec", "double", identical_ids=True)
        self.missing = int(np.count_nonzero(~plain.in_run))
        matters = {
            "queries": self.missing > 0,
            "identical_ids": has_identical(self.run),
            "no_relevant": bool((plain.graded(1.0) == 0).any()),
        }
        self.choices = [
            list(words)[: None if matters.get(field, True) else 1]
            for field, (_, words) in _RULES.items()
        ]
        """The choices of each rule; ours alone where no other could matter."""

    def _aligned(self, ties: Any, precision: Any, *, identical_ids: bool) -> JudgedRun:
        run = self.run if identical_ids else without_identical(self.run)
        return align(self.judgments, run, ties=ties, precision=precision, name=self.name).judged

    def value(self, rules: Profile, measure: Measure, how: _Compute = compute) -> float:
        """Return the mean under some rules."""
        judged = self._judged(rules.ties, rules.precision, identical_ids=rules.identical_ids)
        counts = judged.in_run if rules.queries == "both" else np.ones(len(judged), np.bool_)
        if rules.no_relevant == "out":
            counts = counts & (judged.graded(1.0) > 0)
        return aggregate(measure, how(measure, judged)[counts])


def _outcome(bench: _Bench, asked: Measure, profile: Profile) -> Outcome:
    meant = profile.meaning(asked)
    rules = profile.rules_for(meant)
    stops = ""
    if rules.queries == "strict":
        rules = replace(rules, queries="all")
        if bench.missing:
            queries = "query is" if bench.missing == 1 else "queries are"
            stops = f"{bench.missing:,} judged {queries} missing from the run, and it stops"
    base = bench.value(_OURS, asked)
    effects = []
    for field, (title, words) in _RULES.items():
        mine, other = getattr(_OURS, field), getattr(rules, field)
        if mine != other:
            change = bench.value(replace(_OURS, **{field: other}), asked) - base
            effects.append(
                RuleEffect(rule=title, ours=words[mine], theirs=words[other], change=change)
            )
    if meant != asked:
        title = "definition"
        if meant.name == asked.name:
            before = {**asked.options, "cutoff": asked.cutoff}
            after = {**meant.options, "cutoff": meant.cutoff}
            changed = [name for name in before if before[name] != after[name]]
            title = ", ".join(_PARAMETERS.get(name, name) for name in changed)
        change = bench.value(_OURS, meant) - base
        effects.append(RuleEffect(rule=title, ours=str(asked), theirs=str(meant), change=change))
    value = None if stops else bench.value(rules, meant)
    difference = None if value is None else value - base
    explained = sum(effect.change for effect in effects)
    return Outcome(
        profile=profile.name,
        measure=str(meant),
        value=value,
        difference=difference,
        effects=tuple(effects),
        together=0.0 if difference is None else difference - explained,
        stops=stops,
    )


# --- the rules behind a number -------------------------------------------------------------------


def _reproduced(bench: _Bench, asked: Measure, number: str) -> tuple[Reproduction, ...]:
    """Find the rules under which a run scores a number, those nearest to ours first."""
    target, tolerance = _read_number(number, asked.definition.range[1])
    close = []
    for choices in product(*bench.choices):
        profile = replace(_OURS, **dict(zip(_RULES, choices, strict=True)))
        changes = [
            f"{title}: {words[choice]}"
            for choice, (title, words) in zip(choices, _RULES.values(), strict=True)
            if choice != next(iter(words))
        ]
        for measure, how, change in _meanings(asked, bench.judgments.max_grade):
            value = bench.value(profile, measure, how)
            if abs(value - target) <= tolerance:
                named = (*changes, change) if change else tuple(changes)
                close.append(
                    Reproduction(number=number, value=value, measure=str(measure), changes=named)
                )
    fewest = min((len(rules.changes) for rules in close), default=0)
    return tuple(rules for rules in close if len(rules.changes) == fewest)[:MOST]


def _read_number(number: str, highest: float) -> tuple[float, float]:
    """Return a number and half a unit of its last digit; a percentage if it cannot be so high."""
    try:
        exact = Decimal(str(number).strip())
        unit = exact.as_tuple().exponent
    except InvalidOperation:
        unit = "n"
    if not isinstance(unit, int):
        raise InputError(f"expected a number such as 0.4123, not {shown(number)}")
    target, tolerance = float(exact), 0.5 * 10.0**unit
    if abs(target) > 1 >= highest:
        target, tolerance = target / 100, tolerance / 100
    if highest <= 1:
        tolerance = min(tolerance, COARSE)
    return target, tolerance + 1e-9 * max(1.0, math.fabs(target))


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
    "R": ("R_cap", "denominator: min(R, k)"),
    "R_cap": ("R", "denominator: R"),
    "RBP": ("RBG", "gain: grade, not scaled"),
}
"""Measures that go by the same name with another divisor or gain."""

_CUTOFFS = (10, 100, 1000, 5, 1, 3, 20, 50)


def _meanings(measure: Measure, highest: float) -> Iterator[tuple[Measure, _Compute, str]]:
    """Yield the definitions, and faults, that go by a measure's name."""
    for variant, change in _variants(measure, highest):
        yield variant, compute, change
    if measure.name in ("nDCG", "nERR"):
        yield measure, _ideal_of_retrieved, "ideal: of retrieved documents only"
        if measure.cutoff is not None:
            yield measure, _ideal_of_shown, "ideal: of the first k documents only"
    if measure.name == "P":
        retrieved = measure.replaced(norm="retrieved")
        yield retrieved, compute, "denominator: documents retrieved, up to k"


def _variants(measure: Measure, highest: float) -> Iterator[tuple[Measure, str]]:
    """Yield the definitions that are measures of ours."""
    yield measure, ""
    options: dict[str, Any] = dict(measure.options)
    is_binary = options.get("gain", "binary") == "binary"
    if measure.name in _OTHER_NAMES and is_binary:
        name, change = _OTHER_NAMES[measure.name]
        key = "p" if name == "RBG" else "rel"
        yield Measure.of(name, cutoff=measure.cutoff, **{key: options[key]}), change
    for name, words in _OTHER_PARAMETERS.items():
        parameter = measure.definition.parameter(name)
        used = highest if name == "max_rel" and options.get(name) is None else options.get(name)
        for word, change in words.items() if parameter is not None else ():
            fits = parameter is not None and (not parameter.choices or word in parameter.choices)
            if fits and word != used:
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
