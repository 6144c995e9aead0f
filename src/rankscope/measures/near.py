"""Measures of nearness: how close what was retrieved comes to the expected terms of an ontology.

Any other measure takes nearness for a grade with ``sim``: ``nDCG(sim=hybrid)@10``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from rankscope.measures.definition import nearness_parameters
from rankscope.measures.judged import once
from rankscope.measures.parts import ratio
from rankscope.measures.registry import define
from rankscope.measures.term_lists import near_terms
from rankscope.ontology.nearness import Way

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankscope.measures.judged import FloatArray, JudgedRun

NEAR = nearness_parameters("hybrid")
CREDIT = nearness_parameters("credit")


def _by_query(
    run: JudgedRun, way: Way, cutoff: int, value: Callable[[FloatArray], float]
) -> FloatArray:
    """Return by query a value of its matrix of nearness, down to the cutoff; 0 if it is empty."""
    matrices = (near[:, :cutoff] for near in near_terms(run, way))
    return np.array([value(near) if near.size else 0.0 for near in matrices], np.float64)


@define("MaxOntSim", *NEAR, needs="terms", example="MaxOntSim@5", strict="Success")
def max_similarity(run: JudgedRun, *, cutoff: int, sim: str, depth: str, ic: str) -> FloatArray:
    """How near the nearest of the first k terms is to an expected term; 1 if it is one.

    Formula: max over expected e and retrieved t down to k of sim(e, t)
    Reference: Phentrieve
    """
    return _by_query(run, Way.of(sim, depth, ic), cutoff, lambda near: float(near.max()))


@define("MeanOntSim", *NEAR, needs="terms", example="MeanOntSim@5", strict="R")
def mean_similarity(run: JudgedRun, *, cutoff: int, sim: str, depth: str, ic: str) -> FloatArray:
    """How near the first k terms come to each expected term, on average over these.

    Formula: mean over expected e of (max over retrieved t down to k of sim(e, t))
    Reference: best-match average, Azuaje, Wang & Bodenreider 2005
    """
    return _by_query(run, Way.of(sim, depth, ic), cutoff, lambda near: float(near.max(1).mean()))


@once
def _matched(run: JudgedRun, way: Way, cutoff: int) -> FloatArray:
    """By query: what expected and retrieved terms earn together, each matched at most once."""
    return _by_query(run, way, cutoff, _heaviest_matching)


def _heaviest_matching(near: FloatArray) -> float:
    if min(near.shape) == 1:
        return float(near.max())
    optimize = import_module("scipy.optimize")
    return float(near[optimize.linear_sum_assignment(near, maximize=True)].sum())


def _expected(run: JudgedRun) -> FloatArray:
    assert run.terms is not None
    sizes = [len(run.terms.expected(query)[0]) for query in range(len(run))]
    return np.array(sizes, np.float64)


@define("SoftP", *CREDIT, needs="terms", example="SoftP@5", strict="P")
def soft_precision(run: JudgedRun, *, cutoff: int, sim: str, depth: str, ic: str) -> FloatArray:
    """Precision at k where a retrieved term earns what it is near to an expected one.

    Each term is matched with at most one other, such that all earn most together.

    Formula: (heaviest matching of expected and retrieved down to k) / k
    Short run: ranks past its end earn nothing; k stays the divisor
    Reference: Phentrieve
    """
    return _matched(run, Way.of(sim, depth, ic), cutoff) / cutoff


@define("SoftR", *CREDIT, needs="terms", example="SoftR@5", strict="R")
def soft_recall(run: JudgedRun, *, cutoff: int, sim: str, depth: str, ic: str) -> FloatArray:
    """Recall at k where an expected term is found as far as a retrieved one is near to it.

    Formula: (heaviest matching of expected and retrieved down to k) / (expected terms)
    Reference: Phentrieve
    """
    return ratio(_matched(run, Way.of(sim, depth, ic), cutoff), _expected(run))


@define("SoftF", *CREDIT, needs="terms", example="SoftF@5", strict="F")
def soft_f(run: JudgedRun, *, cutoff: int, sim: str, depth: str, ic: str) -> FloatArray:
    """Harmonic mean of soft precision and soft recall at k.

    Formula: 2·(heaviest matching) / (k + expected terms)
    Reference: Phentrieve
    """
    both = 2.0 * _matched(run, Way.of(sim, depth, ic), cutoff)
    return np.where(_expected(run) > 0, both / (cutoff + _expected(run)), 0.0)
