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

if TYPE_CHECKING:
    from rankscope.measures.language import Parsed
    from rankscope.scoring.rules import Profile


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """Measures to which the same rules apply."""

    measures: list[Measure]
    names: list[str]
    cutoffs: tuple[int, ...]
    """Rising."""
    levels: tuple[float, ...]
    """The grades from which on they count a document as relevant."""
    by_gain: list[bool]
    """For each measure whether it sums up gains, so that a gold span may gain in parts."""

    @classmethod
    def of(cls, measures: list[Measure]) -> Wanted:
        """Look at measures."""
        return cls(
            measures,
            [str(measure) for measure in measures],
            tuple(sorted({m.cutoff for m in measures if m.cutoff is not None})),
            tuple({*map(relevance_level_of, measures)} or {1.0}),
            [_sums_gains(measure) for measure in measures],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """All measures that are asked for, and the rules for each."""

    asked: list[Parsed]
    measures: list[Measure]
    main: Profile
    by_rules: dict[Profile, Wanted]
    """Some tools have rules apart for some measures."""
    needs_lengths: bool


def planned(
    measures: str | Measure | Iterable[str | Measure],
    rules: Profile,
    changes: dict[str, Any],
    *,
    of_terms: bool,
    relevance_level: float | None = None,
) -> Plan:
    """Return what a profile means by the measures asked for; ``changes`` replace rules of it.

    Where documents are terms of an ontology, measures of nearness and exact ones go together.
    """
    is_single = isinstance(measures, str | Measure) or not isinstance(measures, Iterable)
    items: tuple[Any, ...] = (measures,) if is_single else tuple(measures)  # type: ignore[arg-type]
    if not all(isinstance(item, str | Measure) for item in items):
        parse_measures(items)  # says what is wrong
    return _planned(items, rules, tuple(changes.items()), of_terms, relevance_level)


@lru_cache(maxsize=256)
def _planned(
    measures: tuple[str | Measure, ...],
    rules: Profile,
    changes: tuple[tuple[str, Any], ...],
    of_terms: bool,
    relevance_level: float | None,
) -> Plan:
    asked = strict_and_soft(meant(measures, rules, relevance_level), of_terms=of_terms)
    main = replace(rules, **dict(changes)) if changes else rules
    by_rules: dict[Profile, list[Measure]] = {}
    for parsed in asked:
        applied = rules.rules_for(parsed.measure)
        key = main if applied is rules else replace(applied, **dict(changes))
        by_rules.setdefault(key, []).append(parsed.measure)
    return Plan(
        asked,
        [parsed.measure for parsed in asked],
        main,
        {applied: Wanted.of(wanted) for applied, wanted in by_rules.items()},
        any(parsed.measure.needs == "lengths" for parsed in asked),
    )


def meant(
    measures: str | Measure | Iterable[str | Measure],
    rules: Profile,
    relevance_level: float | None = None,
) -> list[Parsed]:
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
    """Tell whether a measure is a sum of gains, so that a gold span may gain in parts."""
    return measure.definition.factors is not None and measure.options.get("gain") != "binary"


@lru_cache(maxsize=1024)
def relevance_level_of(measure: Measure) -> float:
    """Return the grade from which on a measure counts a document as relevant."""
    options = measure.options
    by_gain = options.get("gain", "binary") != "binary"
    rel = options.get("rel", 1.0)
    return _ABOVE_ZERO if by_gain or not isinstance(rel, float) else rel


_ABOVE_ZERO = float(np.nextafter(0.0, 1.0))
