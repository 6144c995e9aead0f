"""What is asked for: measures as a profile means them, by the rules that count for each.

Made once for the same question: a training loop asks it thousands of times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError
from rankscope.measures.language import Measure, parse_measures, strict_and_soft
from rankscope.measures.registry import Computation, computation
from rankscope.scoring.rules import profile_named

if TYPE_CHECKING:
    from rankscope.measures.language import Parsed
    from rankscope.scoring.rules import Profile

Asked = str | Measure | Iterable[str | Measure]
"""Measures as they are asked for."""

FINDS_ALL = frozenset({"R", "R_cap", "Success"})
"""Measures that are 1 whatever the order, once every document is looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """Measures to which the same rules apply, and what is known of them before any run is."""

    measures: list[Measure]
    computations: list[Computation]
    names: list[str]
    cutoffs: tuple[int, ...]
    """Rising."""
    levels: tuple[float, ...]
    """The grades from which on they count a document as relevant."""
    by_gain: list[bool]
    """For each measure whether it sums up gains, so that a gold span may gain in parts."""
    thresholds: dict[str, float]
    """For those that count documents, the grade from which on."""
    has_gains: bool
    """Whether one of them looks at every grade above 0."""
    cut: dict[str, int]
    """For those with a cutoff, where it is."""
    finds_all: frozenset[str]
    """Those of `FINDS_ALL`."""

    @classmethod
    def of(cls, measures: list[Measure]) -> Wanted:
        """Look at measures."""
        named = {str(measure): measure for measure in measures}
        levels = {name: _threshold_of(measure) for name, measure in named.items()}
        return cls(
            measures,
            list(map(computation, measures)),
            list(named),
            tuple(sorted({m.cutoff for m in measures if m.cutoff is not None})),
            tuple({*map(relevance_level_of, measures)} or {1.0}),
            [_sums_gains(measure) for measure in measures],
            {name: level for name, level in levels.items() if level is not None},
            any(measure.options.get("gain", "binary") != "binary" for measure in measures),
            {name: m.cutoff for name, m in named.items() if m.cutoff is not None},
            frozenset(name for name, measure in named.items() if measure.name in FINDS_ALL),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """All measures that are asked for, and the rules for each."""

    asked: dict[str, str]
    """The measures by their canonical names, with what they were asked for as."""
    main: Profile
    by_rules: list[tuple[Profile, Wanted]]
    """The main rules first, where any measure goes by them; some tools have others for some."""
    everything: Wanted


@lru_cache(maxsize=256)
def plan_of(
    measures: tuple[str | Measure, ...],
    profile: str | Profile,
    changes: tuple[tuple[str, Any], ...],
    relevance_level: float | None,
    of_terms: bool,
) -> Plan:
    """Return what a profile means by the measures asked for; ``changes`` replace rules of it.

    Where documents are terms of an ontology, measures of nearness and exact ones go together.
    """
    rules = profile_named(profile)
    asked = strict_and_soft(meant(measures, rules, relevance_level), of_terms=of_terms)
    main = replace(rules, **dict(changes))
    groups: dict[Profile, list[Measure]] = {}
    for parsed in asked:
        groups.setdefault(rules.rules_for(parsed.measure), []).append(parsed.measure)
    return Plan(
        {str(parsed.measure): parsed.asked for parsed in asked},
        main,
        [
            (main if each is rules else replace(each, **dict(changes)), Wanted.of(groups[each]))
            for each in sorted(groups, key=lambda each: each is not rules)
        ],
        Wanted.of([parsed.measure for parsed in asked]),
    )


def meant(measures: Asked, rules: Profile, relevance_level: float | None = None) -> list[Parsed]:
    """Return what a profile means by the measures asked for, each once."""
    by_meaning: dict[Measure, Parsed] = {}
    for parsed in parse_measures(measures, relevance_level=relevance_level):
        measure = rules.meaning(parsed.measure)
        is_ours = measure is parsed.measure
        by_meaning.setdefault(measure, parsed if is_ours else replace(parsed, measure=measure))
    if not by_meaning:
        raise InputError("no measure was asked for; name one such as nDCG@10")
    return list(by_meaning.values())


def _sums_gains(measure: Measure) -> bool:
    return measure.definition.factors is not None and measure.options.get("gain") != "binary"


def _threshold_of(measure: Measure) -> float | None:
    """Return the grade from which on a measure counts a document; None if it counts otherwise."""
    rel = measure.options.get("rel")
    is_binary = measure.options.get("gain", "binary") == "binary"
    return rel if isinstance(rel, float) and is_binary else None


@lru_cache(maxsize=1024)
def relevance_level_of(measure: Measure) -> float:
    """Return the grade from which on a measure counts a document as relevant."""
    by_gain = measure.options.get("gain", "binary") != "binary"
    rel = measure.options.get("rel", 1.0)
    return _ABOVE_ZERO if by_gain or not isinstance(rel, float) else rel


_ABOVE_ZERO = float(np.nextafter(0.0, 1.0))
