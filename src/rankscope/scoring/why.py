"""Why: what makes different tools give one run different numbers.

A tool is a set of rules. Changing one rule at a time from ours to the tool's shows what each is
worth; trying sets of rules finds the one that reproduces a given number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from pydantic import Field

from rankscope.document.views import Shown
from rankscope.errors import InputError, InvalidDataError, shown
from rankscope.files import is_path
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
    named_columns,
    without_identical,
)
from rankscope.scoring.namesakes import computed_otherwise, variants
from rankscope.scoring.options import Scoring, ScoringOptions
from rankscope.scoring.rules import PROFILES, Profile, profile_named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankscope.measures.judged import FloatArray, JudgedRun
    from rankscope.scoring.judgments import Judgments

__all__ = ["Why", "why"]


MOST = 5
"""How many sets of rules are named for a number."""


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
    """Why tools give one run different numbers; goes through its outcomes like a list."""

    outcomes: tuple[Outcome, ...]
    """One for each profile."""
    reproduced: dict[str, tuple[Reproduction, ...]] = Field(default_factory=dict)
    """By number that was asked about: the rules that give it."""
    findings: tuple[Finding, ...] = ()
    """What makes the run's numbers mean less than they seem."""

    def __iter__(self) -> Iterator[Outcome]:  # type: ignore[override]
        return iter(self.outcomes)

    def __len__(self) -> int:
        return len(self.outcomes)

    def __getitem__(self, place: int) -> Outcome:
        return self.outcomes[place]


@dataclass(frozen=True, slots=True)
class _Rules:
    """One complete set of rules."""

    ties: str = "trec"
    precision: str = "double"
    queries: str = "all"
    identical_ids: bool = True
    no_relevant: str = "zero"
    repeats: str = "once"
    measure: Measure | None = None
    values: Callable[[Measure, JudgedRun], FloatArray] = compute
    """How the values by query are computed, where no parameter of ours says it."""


_WORDS: dict[str, tuple[str, dict[Any, str]]] = {
    "ties": ("ties", {"trec": "higher id first", "id-asc": "lower id first", "given": "as given"}),
    "precision": ("score precision", {"double": "double", "single": "single (float32)"}),
    "queries": ("missing queries", {"all": "count as 0", "both": "left out"}),
    "identical_ids": ("documents with the query's id", {True: "kept", False: "left out"}),
    "no_relevant": (
        "queries without a relevant document",
        {"zero": "count as 0", "out": "left out"},
    ),
    "repeats": (
        "documents returned twice",
        {"once": "count once", "every": "count every time"},
    ),
}


_DEFINITION = {
    "cutoff": "cut",
    "gain": "gain",
    "norm": "denominator",
    "rel": "relevance level",
    "rule": "recall points",
}
"""What it is called when a tool means the same measure with one parameter changed."""


def _difference(ours: Measure, theirs: Measure) -> str:
    """Name what sets two definitions apart."""
    if ours.name != theirs.name:
        return "definition"
    mine: dict[str, Any] = {**ours.options, "cutoff": ours.cutoff}
    other: dict[str, Any] = {**theirs.options, "cutoff": theirs.cutoff}
    changed = [name for name in mine if mine[name] != other[name]]
    return ", ".join(_DEFINITION.get(name, name) for name in changed)


_AGAIN = "\x1f"
"""What follows an id where a document is returned again; it sorts behind the id itself."""


def _once(run: Any) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """Take a run that returns documents twice: each once, at its best, and each under a new id."""
    import polars as pl  # noqa: PLC0415

    from rankscope.runs.table import scores_of  # noqa: PLC0415
    from rankscope.tables.columns import RUN  # noqa: PLC0415
    from rankscope.tables.objects import rows_from_object  # noqa: PLC0415
    from rankscope.tables.reading import TableFile  # noqa: PLC0415
    from rankscope.tables.rows import as_ids  # noqa: PLC0415

    (given,) = run if isinstance(run, list) and len(run) == 1 else (run,)
    rows = (
        TableFile.open(given, RUN).rows(("query_id", "doc_id", "score"))
        if is_path(given)
        else rows_from_object(given, RUN, source="run")
    )
    frame = rows.frame
    scores = scores_of(rows)
    once: dict[str, dict[str, float]] = {}
    repeated: dict[str, dict[str, float]] = {}
    for query_id, doc_id, score in zip(
        as_ids(frame["query_id"], rows).cast(pl.String),
        as_ids(frame["doc_id"], rows).cast(pl.String),
        scores,
        strict=True,
    ):
        best = once.setdefault(query_id, {})
        documents = repeated.setdefault(query_id, {})
        again = doc_id in best
        documents[f"{doc_id}{_AGAIN}{len(documents)}" if again else doc_id] = score
        best[doc_id] = max(score, best.get(doc_id, score))
    return once, repeated


class _Bench:
    """One run and its judgments, aligned under any rules; alignments are kept."""

    def __init__(self, qrels: Any, run: Any, scoring: Scoring) -> None:
        self._judgments = as_judgments(qrels, scoring)
        refuse_mixed(self._judgments)
        self._qrels = qrels
        self._repeated: dict[str, dict[str, float]] = {}
        try:
            self._name, self._run = as_one_run(run, self._judgments, scoring)
        except InvalidDataError as error:
            if {finding.name for finding in error.findings} != {"duplicate-document"}:
                raise
            self._name = "run"
            self._run, self._repeated = _once(run)
        self.max_grade = self._judgments.max_grade
        self._aligned: dict[tuple[str, str, bool, str], JudgedRun] = {}

    def judged(self, rules: _Rules) -> JudgedRun:
        """Return the run aligned under some rules, all judged queries in it."""
        key = (rules.ties, rules.precision, rules.identical_ids, rules.repeats)
        if key not in self._aligned:
            run = self._run if rules.identical_ids else self._without_identical
            ties: Any = rules.ties
            precision: Any = rules.precision
            options: Any = {"ties": ties, "precision": precision, "name": self._name}
            judged = align(self._judgments, run, **options).judged
            if rules.repeats == "every":
                again = align(self._with_repeats, self._repeated, **options)
                judged = replace(
                    again.judged,
                    judged_query=judged.judged_query,
                    judged_grade=judged.judged_grade,
                )
            self._aligned[key] = judged
        return self._aligned[key]

    def findings(self, measure: Measure) -> tuple[Finding, ...]:
        """Return what makes a mean by our rules mean less than it seems."""
        return evaluate(self._judgments, {self._name: self._run}, measure).findings

    @cached_property
    def _with_repeats(self) -> Judgments:
        """Return the judgments with a grade for every time a document is returned."""
        from rankscope.collection.qrels import as_qrels  # noqa: PLC0415

        qrels = as_qrels(self._qrels)
        grades = {query_id: dict(qrels[query_id]) for query_id in qrels.query_ids}
        for query_id, documents in self._repeated.items():
            known = grades.get(query_id, {})
            for doc_id in documents:
                name, mark, _ = doc_id.partition(_AGAIN)
                if mark and name in known:
                    known[doc_id] = known[name]
        return as_judgments(grades)

    def value(self, rules: _Rules) -> float:
        """Return the mean under some rules."""
        judged = self.judged(rules)
        assert rules.measure is not None
        values = rules.values(rules.measure, judged)
        counts = judged.in_run if rules.queries == "both" else np.ones(len(judged), np.bool_)
        if rules.no_relevant == "out":
            counts = counts & (judged.graded(1.0) > 0)
        return aggregate(rules.measure, values[counts])

    @cached_property
    def _without_identical(self) -> Any:
        return without_identical(self._run)

    @property
    def repeats(self) -> bool:
        """Whether the run returns documents twice."""
        return bool(self._repeated)

    def missing(self) -> int:
        """Count judged queries the run lacks."""
        return int(np.count_nonzero(~self.judged(_Rules()).in_run))

    def choices(self, field: str) -> list[Any]:
        """Return the words of a rule, ours first; ours alone where no other could matter."""
        words = list(_WORDS[field][1])
        matters = {
            "queries": lambda: self.missing() > 0,
            "identical_ids": lambda: has_identical(self._run),
            "repeats": lambda: self.repeats,
            "no_relevant": lambda: bool((self.judged(_Rules()).graded(1.0) == 0).any()),
        }
        return words if field not in matters or matters[field]() else words[:1]


_RULES = (
    *("profile", "ties", "precision", "queries", "lengths", "corpus", "executor", "overlap"),
    *("ontology",),
)
"""What is compared, or of no use here."""


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
    measure cannot be above 1, a number above 1 is taken for a percentage. ``options`` are
    those of `evaluate` that say how files are read.
    """
    scoring = Scoring.of("why", options, without=_RULES)
    with named_columns(scoring):
        bench = _Bench(qrels, run, scoring)
    asked = Measure.parse(measure)
    findings = bench.findings(asked)
    ours = _Rules(measure=asked)
    base = bench.value(ours)
    return Why(
        outcomes=tuple(_outcome(bench, ours, base, profile_named(name)) for name in profiles),
        reproduced={number: _reproduced(bench, asked, number) for number in map(str, numbers)},
        findings=findings,
    )


def _outcome(bench: _Bench, ours: _Rules, base: float, profile: Profile) -> Outcome:
    assert ours.measure is not None
    meant = profile.meaning(ours.measure)
    rules = profile.rules_for(meant)
    theirs = _Rules(
        rules.ties,
        rules.precision,
        "all" if rules.queries == "strict" else rules.queries,
        rules.identical_ids,
        rules.no_relevant,
        measure=meant,
    )
    effects = []
    for field, (title, words) in _WORDS.items():
        mine, other = getattr(ours, field), getattr(theirs, field)
        if mine != other:
            effects.append(
                RuleEffect(
                    rule=title,
                    ours=words[mine],
                    theirs=words[other],
                    change=bench.value(replace(ours, **{field: other})) - base,
                )
            )
    if meant != ours.measure:
        effects.append(
            RuleEffect(
                rule=_difference(ours.measure, meant),
                ours=str(ours.measure),
                theirs=str(meant),
                change=bench.value(replace(ours, measure=meant)) - base,
            )
        )
    known: dict[str, Any] = {"profile": profile.name, "measure": str(meant), "effects": effects}
    if rules.queries == "strict" and (missing := bench.missing()):
        queries = "query is" if missing == 1 else "queries are"
        stops = f"{missing:,} judged {queries} missing from the run, and it stops"
        return Outcome(**known, value=None, difference=None, together=0.0, stops=stops)
    value = bench.value(theirs)
    difference = value - base
    together = difference - sum(effect.change for effect in effects)
    return Outcome(**known, value=value, difference=difference, together=together)


def _reproduced(bench: _Bench, measure: Measure, number: str) -> tuple[Reproduction, ...]:
    """Find the rules under which a run scores a number, those nearest to ours first."""
    target, tolerance = _read_number(number, math.inf if bench.repeats else _highest(measure))
    close = [
        (rules, value, changes)
        for rules, changes in _sets_of_rules(measure, bench)
        if abs((value := bench.value(rules)) - target) <= tolerance
    ]
    fewest = min((len(changes) for _, _, changes in close), default=0)
    return tuple(
        Reproduction(number=number, value=value, measure=str(rules.measure), changes=tuple(changes))
        for rules, value, changes in close
        if len(changes) == fewest
    )[:MOST]


def _highest(measure: Measure) -> float:
    return measure.definition.range[1]


COARSE = 0.005
"""A share is met to this at least: 0.5 is not all between 0.45 and 0.55."""


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


def _sets_of_rules(measure: Measure, bench: _Bench) -> Iterator[tuple[_Rules, list[str]]]:
    default = _Rules()
    for picked in product(*(bench.choices(field) for field in _WORDS)):
        rules = _Rules(*picked)
        changes = [
            f"{title}: {words[getattr(rules, field)]}"
            for field, (title, words) in _WORDS.items()
            if getattr(rules, field) != getattr(default, field)
        ]
        for variant, change in variants(measure, bench.max_grade):
            yield replace(rules, measure=variant), [*changes, *([change] if change else [])]
        for values, change in computed_otherwise(measure):
            yield replace(rules, measure=measure, values=values), [*changes, change]
