"""Plans: measures as a profile means them, by the rules that count for each.

Made once for the same question: a training loop asks it thousands of times. Where no measure is
named, those are taken that lists of this length can tell apart (`usual_measures`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError
from rankscope.measures.language import (
    DEFAULT_MEASURES,
    Measure,
    parse_measures,
    strict_and_soft,
)
from rankscope.measures.registry import computation
from rankscope.runs.run_files import LazyRun
from rankscope.scoring.rules import profile_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.measures.language import Parsed
    from rankscope.scoring.rules import Profile

Measures = str | Measure | Iterable[str | Measure]
"""Measures as a call names them."""

_ABOVE_ZERO = float(np.nextafter(0.0, 1.0))


class Group:
    """Measures to which the same rules apply, and what is known of them before any run is."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        named = {str(measure): measure for measure in measures}
        gaining = {name for name, measure in named.items() if _has_gain(measure)}
        levels = {name: measure.options.get("rel") for name, measure in named.items()}
        self.measures = tuple(measures)
        self.names = list(named)
        self.computations = list(map(computation, measures))
        self.cutoffs = {name: m.cutoff for name, m in named.items() if m.cutoff is not None}
        """By name, for those with a cutoff, where it is."""
        self.ranks = tuple(sorted(set(self.cutoffs.values())))
        """The cutoffs, rising."""
        self.levels = set(map(relevance_level_of, measures)) or {1.0}
        """The grades from which on they count a document as relevant."""
        self.has_gains = bool(gaining)
        """Whether one of them looks at every grade above 0."""
        self.thresholds = {
            name: level
            for name, level in levels.items()
            if isinstance(level, float) and name not in gaining
        }
        """By name, for those that count documents, the grade from which on."""
        self.sums_gains = [
            measure.definition.factors is not None and measure.options.get("gain") != "binary"
            for measure in measures
        ]
        """For each whether it sums up gains, so that a gold span may gain in parts."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """All measures of a call, and the rules for each."""

    asked: dict[str, str]
    """The measures by their canonical names, with the names they were asked for."""
    main: Profile
    groups: list[tuple[Profile, Group]]
    """The main rules first, where any measure goes by them; some tools have others for some."""
    everything: Group


@lru_cache(maxsize=256)
def plan_of(
    measures: tuple[str | Measure, ...],
    profile: str | Profile,
    changes: tuple[tuple[str, Any], ...],
    relevance_level: float | None,
    of_terms: bool,
) -> Plan:
    """Return the plan of a question; ``changes`` replace rules of the profile.

    Where documents are terms of an ontology, measures of nearness and exact ones go together.
    """
    rules = profile_named(profile)
    parsed = strict_and_soft(meant(measures, rules, relevance_level), of_terms=of_terms)
    groups: dict[Profile, list[Measure]] = {}
    for each in parsed:
        groups.setdefault(rules.rules_for(each.measure), []).append(each.measure)
    return Plan(
        {str(each.measure): each.asked for each in parsed},
        replace(rules, **dict(changes)),
        [
            (replace(each, **dict(changes)), Group(groups[each]))
            for each in sorted(groups, key=lambda each: each is not rules)
        ],
        Group([each.measure for each in parsed]),
    )


def meant(measures: Measures, rules: Profile, relevance_level: float | None = None) -> list[Parsed]:
    """Return what a profile means by the measures asked for, each once."""
    by_meaning: dict[Measure, Parsed] = {}
    for parsed in parse_measures(measures, relevance_level=relevance_level):
        measure = rules.meaning(parsed.measure)
        is_ours = measure is parsed.measure
        by_meaning.setdefault(measure, parsed if is_ours else replace(parsed, measure=measure))
    if not by_meaning:
        raise InputError("no measure was asked for; name one such as nDCG@10")
    return list(by_meaning.values())


def _has_gain(measure: Measure) -> bool:
    return measure.options.get("gain", "binary") != "binary"


@lru_cache(maxsize=1024)
def relevance_level_of(measure: Measure) -> float:
    """Return the grade from which on a measure counts a document as relevant."""
    rel = measure.options.get("rel", 1.0)
    return _ABOVE_ZERO if _has_gain(measure) or not isinstance(rel, float) else rel


# --- where no measure is named ------------------------------------------------------------------

LONG = 50
"""Lists of more documents get `DEFAULT_MEASURES`."""


def usual_measures(runs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what is measured of these runs when nothing is asked for."""
    return usual_to(map(longest, runs.values()))


def usual_to(lengths: Iterable[int | None]) -> tuple[str, ...]:
    """Return what is measured of runs whose longest lists have these lengths; None: not known.

    Three documents for each question say nothing about the first hundred: cutoffs go no deeper than
    the longest list. Where nobody knows how long lists are, they are taken as long.
    """
    depths = list(lengths)
    if not depths or None in depths:
        return DEFAULT_MEASURES
    depth = max(filter(None, depths), default=0)
    if not 0 < depth <= LONG:
        return DEFAULT_MEASURES
    if depth < 10:
        first = ("Success@1",) if depth > 1 else ()
        return (f"nDCG@{depth}", "RR", *first, f"Success@{depth}")
    deepest = next(cutoff for cutoff in (50, 20, 10) if cutoff <= depth)
    return ("nDCG@10", "RR@10", f"R@{deepest}", "Success@1", "Success@10")


def longest(run: Any) -> int | None:
    """Return how many documents the longest list of a run has; None if that is not known."""
    if isinstance(run, LazyRun):
        return run.depth
    lists = run if isinstance(run, Mapping) else getattr(run, "pieces", None)
    if lists is not None:
        return max(map(len, lists.values()), default=0)
    return int(run.sizes.max(initial=0))
