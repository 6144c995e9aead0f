"""Similarities of two terms: each is a short function of what the terms have in common.

`define_similarity` adds one. Its function gets, as arrays over pairs, the value of the highest
shared ancestor (−1: there is none) and the values of the two terms, where a value is a depth or an
information content; or what they share and what they have in all; or the steps between them. Then
every similarity is brought to [0, 1], is 1 for a term and itself, and 0 where nothing is shared or
a term is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar, cast

import numpy as np

from rankscope.errors import UnknownNameError

if TYPE_CHECKING:
    from rankscope.ontology.graph import DepthRule, FloatArray, Graph, IntArray, Lists
    from rankscope.ontology.information import Information

Basis = Literal["depth", "information", "ancestors", "steps", "relation"]
"""What a similarity looks at: one shared ancestor by its depth or information content, the
information content of all shared ancestors, steps, or how two terms are related."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """A similarity: its formula and what it is a formula of."""

    name: str
    basis: Basis
    function: Callable[..., FloatArray]
    summary: str
    formula: str
    reference: str
    is_symmetric: bool = True


_SIMILARITIES: dict[str, Similarity] = {}

_F = TypeVar("_F", bound=Callable[..., "FloatArray"])


def define_similarity(
    name: str, basis: Basis, *, formula: str, reference: str, is_symmetric: bool = True
) -> Callable[[_F], _F]:
    """Make a function a similarity that can be asked for by name."""

    def register(function: _F) -> _F:
        summary = (function.__doc__ or "").strip().split("\n\n")[0]
        _SIMILARITIES[name] = Similarity(
            name, basis, function, " ".join(summary.split()), formula, reference, is_symmetric
        )
        return function

    return register


def similarity_named(name: str) -> Similarity:
    """Return a similarity; an unknown name is an error that lists what there is."""
    try:
        return _SIMILARITIES[name]
    except KeyError:
        raise UnknownNameError("similarity", name, _SIMILARITIES) from None


def all_similarities() -> tuple[Similarity, ...]:
    """Return all similarities, in the order they are defined."""
    return tuple(_SIMILARITIES.values())


# --- by depth ------------------------------------------------------------------------------------


@define_similarity(
    "hybrid",
    "depth",
    formula="0.7·d(LCA)/D + 0.3·(1 − (d₁ + d₂ − 2·d(LCA)) / (d₁ + d₂))",
    reference="Phentrieve",
)
def hybrid(shared: FloatArray, first: FloatArray, second: FloatArray, top: float) -> FloatArray:
    """How deep the deepest shared ancestor is, and how near the two terms are to it."""
    apart = _share(first + second - 2 * shared, first + second)
    return 0.7 * _share(shared, top) + 0.3 * (1.0 - apart)


@define_similarity("resnik-like", "depth", formula="d(LCA)/D", reference="Phentrieve")
def resnik_like(
    shared: FloatArray,
    first: FloatArray,  # noqa: ARG001
    second: FloatArray,  # noqa: ARG001
    top: float,
) -> FloatArray:
    """How deep the deepest shared ancestor is, of the deepest there is."""
    return _share(shared, top)


@define_similarity(
    "wu-palmer", "depth", formula="2·d(LCA) / (d₁ + d₂)", reference="Wu & Palmer 1994"
)
def wu_palmer(
    shared: FloatArray,
    first: FloatArray,
    second: FloatArray,
    top: float,  # noqa: ARG001
) -> FloatArray:
    """How deep the deepest shared ancestor is, of the depth of the two terms."""
    return _share(2 * shared, first + second)


# --- by information content ----------------------------------------------------------------------


@define_similarity("resnik", "information", formula="IC(MICA) / max IC", reference="Resnik 1995")
def resnik(
    shared: FloatArray,
    first: FloatArray,  # noqa: ARG001
    second: FloatArray,  # noqa: ARG001
    top: float,
) -> FloatArray:
    """What the most informative shared ancestor says, of the most that any term says."""
    return _share(shared, top)


@define_similarity("lin", "information", formula="2·IC(MICA) / (IC₁ + IC₂)", reference="Lin 1998")
def lin(
    shared: FloatArray,
    first: FloatArray,
    second: FloatArray,
    top: float,  # noqa: ARG001
) -> FloatArray:
    """What the most informative shared ancestor says, of what the two terms say."""
    return _share(2 * shared, first + second)


@define_similarity(
    "jiang-conrath",
    "information",
    formula="1 / (1 + IC₁ + IC₂ − 2·IC(MICA))",
    reference="Jiang & Conrath 1997",
)
def jiang_conrath(
    shared: FloatArray,
    first: FloatArray,
    second: FloatArray,
    top: float,  # noqa: ARG001
) -> FloatArray:
    """One over one plus what the two terms say beyond their most informative shared ancestor."""
    return 1.0 / (1.0 + np.maximum(first + second - 2 * shared, 0.0))


@define_similarity(
    "simgic",
    "ancestors",
    formula="Σ IC of shared ancestors / Σ IC of all ancestors of the two terms",
    reference="Pesquita et al. 2007",
)
def simgic(shared: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """What all shared ancestors say, of what all ancestors say; a term is among its own."""
    return _share(shared, first + second - shared)


# --- by steps and relations ----------------------------------------------------------------------


@define_similarity("path", "steps", formula="1 / (1 + steps)", reference="Rada et al. 1989")
def path(steps: FloatArray) -> FloatArray:
    """One over one plus the fewest steps between the terms by way of a shared ancestor."""
    near: FloatArray = 1.0 / (1.0 + steps)
    return near


DESCENDANT = (0.95, 0.05, 0.75)
"""Of a retrieved term below the expected one: at one step, less for each further, and the least."""
ANCESTOR = (0.85, 0.08, 0.50)
"""Of a retrieved term above the expected one."""
SIBLING = 0.65
"""The least for a term that shares a parent with the expected one."""
COUSIN = 0.45
"""The least for a term that shares a grandparent."""
NEAR = 0.30
"""Below this a term that is none of these earns nothing."""


@define_similarity(
    "credit",
    "relation",
    formula="below by s steps: max(.75, .95 − .05(s − 1)); above: max(.50, .85 − .08(s − 1)); "
    "sibling: max(.65, hybrid); cousin: max(.45, hybrid); else hybrid, 0 below .30",
    reference="Phentrieve",
    is_symmetric=False,
)
def credit(near: FloatArray, down: FloatArray, up: FloatArray, kin: FloatArray) -> FloatArray:
    """What a retrieved term earns beside the expected one: more if it is below it than above.

    ``near`` is the hybrid similarity, ``down`` the steps down to the retrieved term and ``up``
    those up to it (infinite if it is not below or above), ``kin`` the least for siblings and
    cousins.
    """
    earned = np.maximum(near, kin)
    earned = np.where(earned < NEAR, 0.0, earned)
    for steps, (nearest, less, least) in ((up, ANCESTOR), (down, DESCENDANT)):
        related = np.isfinite(steps)
        earned[related] = np.maximum(least, nearest - less * (steps[related] - 1))
    return earned


def _share(part: FloatArray, whole: FloatArray | float) -> FloatArray:
    """Divide, where 0 of 0 is 0; both may be arrays."""
    part, divisor = np.broadcast_arrays(part, np.asarray(whole, np.float64))
    share: FloatArray = np.divide(part, divisor, out=np.zeros(part.shape), where=divisor > 0)
    return share


# --- computed ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Way:
    """A similarity with its choices: how depth is counted, where information content comes from."""

    name: str = "hybrid"
    depth: DepthRule = "longest"
    ic: Information = "structure"

    @classmethod
    def of(cls, name: str, depth: str, ic: str) -> Way:
        """Take a way as a measure's parameters say, which are checked there."""
        return cls(name, cast("DepthRule", depth), cast("Information", ic))

    @property
    def similarity(self) -> Similarity:
        """What is computed."""
        return similarity_named(self.name)


def to_all(way: Way, graph: Graph, values: FloatArray, term: int) -> FloatArray:
    """Return the similarity of one term, the expected one, with every term.

    ``values`` are depths or information contents by term, as the way has it.
    """
    similarity = way.similarity
    if similarity.basis == "steps":
        near = similarity.function(graph.distances(term))
    elif similarity.basis == "ancestors":
        everything = graph.total(values)
        shared = graph.shared_total(term, values)
        near = similarity.function(shared, everything[term], everything)
    else:
        shared = graph.highest_shared(term, values)
        near = _by_highest(similarity, values, shared, values[term], values)
        if similarity.basis == "relation":
            near = similarity.function(near, *_relations(graph, term))
    near[term] = 1.0
    return near


def of_pairs(
    way: Way, graph: Graph, values: FloatArray, first: IntArray, second: IntArray
) -> FloatArray:
    """Return the similarity of pairs of terms, the first of each the expected one."""
    similarity = way.similarity
    if similarity.basis == "steps":
        near = similarity.function(graph.distances_of_pairs(first, second))
    elif similarity.basis == "ancestors":
        everything = graph.total(values)
        shared = graph.shared_total_of_pairs(first, second, values)
        near = similarity.function(shared, everything[first], everything[second])
    else:
        shared = graph.highest_shared_of_pairs(first, second, values)
        near = _by_highest(similarity, values, shared, values[first], values[second])
        if similarity.basis == "relation":
            near = similarity.function(near, *_relations_of_pairs(graph, first, second))
    near[first == second] = 1.0
    return near


def _by_highest(
    similarity: Similarity,
    values: FloatArray,
    shared: FloatArray,
    first: FloatArray,
    second: FloatArray,
) -> FloatArray:
    """Return a similarity by the highest shared ancestor, in [0, 1]; where none is shared, 0.

    By shortest depths a shared ancestor may be deeper than a term below it, so that a formula can
    go beyond 1. What a relation earns rests on the hybrid similarity.
    """
    function = hybrid if similarity.basis == "relation" else similarity.function
    near = function(np.maximum(shared, 0.0), first, second, float(values.max(initial=0.0)))
    return np.where(shared < 0, 0.0, np.clip(near, 0.0, 1.0))


def _relations(graph: Graph, term: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return by term: steps down to it and up to it, and the least it earns as sibling or cousin.

    Siblings share a direct parent, cousins a parent's parent.
    """
    down, up = np.full(len(graph), np.inf), np.full(len(graph), np.inf)
    terms, steps = graph.below(term)
    down[terms] = steps
    terms, steps = graph.above(term)
    up[terms] = steps
    kin = np.zeros(len(graph))
    parents_alike = _of_all(graph.children, graph.grandparents[term])
    kin[_of_all(graph.children, parents_alike)] = COUSIN
    kin[_of_all(graph.children, graph.parents[term])] = SIBLING
    return down, up, kin


def _relations_of_pairs(
    graph: Graph, first: IntArray, second: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return by pair of terms what `_relations` says of it."""
    kin = np.where(graph.grandparents.share(first, second), COUSIN, 0.0)
    kin = np.where(graph.parents.share(first, second), SIBLING, kin)
    return graph.steps_up(second, first), graph.steps_up(first, second), kin


def _of_all(lists: Lists, terms: IntArray) -> IntArray:
    """Return the entries of several lists together, each once."""
    parts = [lists[term] for term in terms.tolist()]
    return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64)
