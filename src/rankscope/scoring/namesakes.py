"""Definitions that go by one name: what another tool may mean by a measure.

`rankscope.scoring.why` tries them until one gives the number that somebody got.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.measures.language import Measure
from rankscope.measures.parts import ratio
from rankscope.measures.registry import compute

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, JudgedRun

_OTHER_MEANINGS: dict[str, dict[Any, str]] = {
    "gain": {"linear": "gain: grade", "exp": "gain: 2^grade − 1", "binary": "gain: 1 or 0"},
    "norm": {
        "rel": "denominator: R",
        "min": "denominator: min(R, k)",
        "retrieved": "denominator: relevant documents found",
    },
    "rule": {9: "recall points: those of trec_eval 9"},
}
"""Parameters that differ between what goes by one name."""


_CUTOFFS = (10, 100, 1000, 5, 1, 3, 20, 50)
_PERSISTENCES = (0.5, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
_HIGHEST_GRADES = (1, 2, 3, 4, 5)


def _ideal_of_retrieved(measure: Measure, judged: JudgedRun) -> FloatArray:
    """Measure as if nothing were judged but what was retrieved."""
    order = np.lexsort((-judged.hit_grade, judged.hit_query))
    return compute(
        measure,
        replace(
            judged,
            judged_query=judged.hit_query[order],
            judged_grade=judged.hit_grade[order],
        ),
    )


def _ideal_of_shown(measure: Measure, judged: JudgedRun) -> FloatArray:
    """Measure as if nothing were judged but what is above the cutoff."""
    assert measure.cutoff is not None
    return _ideal_of_retrieved(measure, judged.cut(measure.cutoff))


def _by_retrieved(measure: Measure, judged: JudgedRun) -> FloatArray:
    """Divide precision by the documents there are, where they are fewer than the cutoff."""
    rel: Any = measure.options["rel"]
    return ratio(judged.found(rel, measure.cutoff), judged.shown(measure.cutoff))


def computed_otherwise(
    measure: Measure,
) -> Iterator[tuple[Callable[[Measure, JudgedRun], FloatArray], str]]:
    """Yield faults and definitions that no parameter of a measure stands for."""
    if measure.name in ("nDCG", "nERR"):
        yield _ideal_of_retrieved, "ideal: of retrieved documents only"
        if measure.cutoff is not None:
            yield _ideal_of_shown, "ideal: of the first k documents only"
    if measure.name == "P":
        yield _by_retrieved, "denominator: documents retrieved, up to k"


def _relatives(measure: Measure, highest: float) -> Iterator[tuple[Measure, str]]:
    """Yield measures that go by the same name with another constant or divisor."""
    options: dict[str, Any] = dict(measure.options)
    if measure.name == "R":
        capped = Measure.of("R_cap", cutoff=measure.cutoff, rel=options["rel"])
        yield capped, "denominator: min(R, k)"
    if measure.name == "R_cap":
        yield Measure.of("R", cutoff=measure.cutoff, rel=options["rel"]), "denominator: R"
    if measure.name in ("ERR", "nERR"):
        used = highest if options["max_rel"] is None else options["max_rel"]
        for grade in _HIGHEST_GRADES:
            if grade != used:
                yield measure.replaced(max_rel=grade), f"highest grade: {grade}"
    if measure.definition.parameter("p") is not None:
        for p in _PERSISTENCES:
            if p != options["p"]:
                yield measure.replaced(p=p), f"p: {p:g}"
    if measure.name == "RBP" and options["gain"] == "binary":
        graded = Measure.of("RBG", cutoff=measure.cutoff, p=options["p"])
        yield graded, "gain: grade, not scaled"


def variants(measure: Measure, highest: float) -> Iterator[tuple[Measure, str]]:
    """Yield the definitions that go by a measure's name."""
    yield measure, ""
    yield from _relatives(measure, highest)
    options: dict[str, Any] = dict(measure.options)
    for name, words in _OTHER_MEANINGS.items():
        parameter = measure.definition.parameter(name)
        for word, change in words.items() if parameter is not None else ():
            fits = parameter is not None and (not parameter.choices or word in parameter.choices)
            if fits and word != options[name]:
                changed = {name: word}
                if name == "gain" and "rel" in options:
                    changed["rel"] = 1.0  # a level counts with binary gains only
                yield measure.replaced(**changed), change
    if "rel" in options and options.get("gain", "binary") == "binary":
        for level in (level for level in (2, 3) if level <= highest):
            yield measure.replaced(rel=level), f"relevant from grade {level} up"
    yield measure.replaced(judged_only=True), "unjudged documents removed"
    if measure.cutoff is not None and measure.definition.cutoff == "optional":
        yield Measure(measure.name, measure.params), "no cutoff"
    if measure.definition.cutoff != "none":
        for cutoff in _CUTOFFS:
            if cutoff != measure.cutoff:
                yield measure.replaced(cutoff=cutoff), f"cut at {cutoff}"
