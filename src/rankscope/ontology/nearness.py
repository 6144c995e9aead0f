"""Similarities of two terms: each is a short function of what the terms have in common.

`define_similarity` adds one. Its function gets a `Common`: the expected term beside every term of
the ontology, as arrays. Whatever it returns is brought to [0, 1], is 1 for a term and itself, and 0
where no ancestor is shared.

A value of a term is its depth, or its information content: how much it says, from 0 for a root
upwards. From structure (Seco, Veale & Hayes 2004) that is 1 − ln(terms below + 1) / ln(all terms).
From annotations (Resnik 1995) it is −ln(n / N), where n of N annotated things have the term or one
below it; a term that nothing is annotated with counts as if one thing were, so that nothing is
infinite, and no term says less than one above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from rankscope.errors import InputError, UnknownNameError
from rankscope.ontology.graph import DepthRule, Graph

if TYPE_CHECKING:
    from rankscope.ontology.graph import FloatArray

Basis = Literal["depth", "information", "steps"]
"""What a similarity looks at: depths, information content, or steps between terms."""

Information = Literal["structure", "annotations"]
"""Where information content comes from."""


@dataclass(frozen=True, eq=False)
class Common:
    """What an expected term has in common with every term; arrays are by term."""

    graph: Graph
    term: int
    """The expected term."""
    values: FloatArray
    """The depth or information content of every term."""

    @property
    def first(self) -> float:
        """The value of the expected term."""
        return float(self.values[self.term])

    @property
    def second(self) -> FloatArray:
        """The value of each other term."""
        return self.values

    @property
    def top(self) -> float:
        """The highest value of any term."""
        return float(self.values.max(initial=0.0))

    @cached_property
    def shared(self) -> FloatArray:
        """The highest value of an ancestor that both share."""
        return self.graph.highest_shared(self.term, self.values)


Function: TypeAlias = "Callable[[Common], FloatArray]"


@dataclass(frozen=True, slots=True)
class Similarity:
    """A similarity: its formula and what it is a formula of."""

    name: str
    basis: Basis
    function: Function
    summary: str
    formula: str
    reference: str
    is_symmetric: bool = True


_SIMILARITIES: dict[str, Similarity] = {}


def define_similarity(
    name: str, basis: Basis, *, formula: str, reference: str, is_symmetric: bool = True
) -> Callable[[Function], Function]:
    """Register a function as a similarity under a name."""

    def register(function: Function) -> Function:
        summary = " ".join((function.__doc__ or "").strip().split("\n\n")[0].split())
        _SIMILARITIES[name] = Similarity(
            name, basis, function, summary, formula, reference, is_symmetric
        )
        return function

    return register


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
def hybrid(common: Common) -> FloatArray:
    """How deep the deepest shared ancestor is, and how near the two terms are to it."""
    both = common.first + common.second
    return 0.7 * _share(common.shared, common.top) + 0.3 * (
        1.0 - _share(both - 2 * common.shared, both)
    )


@define_similarity("resnik-like", "depth", formula="d(LCA)/D", reference="Phentrieve")
def resnik_like(common: Common) -> FloatArray:
    """How deep the deepest shared ancestor is, of the deepest there is."""
    return _share(common.shared, common.top)


@define_similarity(
    "wu-palmer", "depth", formula="2·d(LCA) / (d₁ + d₂)", reference="Wu & Palmer 1994"
)
def wu_palmer(common: Common) -> FloatArray:
    """How deep the deepest shared ancestor is, of the depth of the two terms."""
    return _share(2 * common.shared, common.first + common.second)


# --- by information content ----------------------------------------------------------------------


@define_similarity("resnik", "information", formula="IC(MICA) / max IC", reference="Resnik 1995")
def resnik(common: Common) -> FloatArray:
    """What the most informative shared ancestor says, of the most that any term says."""
    return _share(common.shared, common.top)


@define_similarity("lin", "information", formula="2·IC(MICA) / (IC₁ + IC₂)", reference="Lin 1998")
def lin(common: Common) -> FloatArray:
    """What the most informative shared ancestor says, of what the two terms say."""
    return _share(2 * common.shared, common.first + common.second)


@define_similarity(
    "jiang-conrath",
    "information",
    formula="1 / (1 + IC₁ + IC₂ − 2·IC(MICA))",
    reference="Jiang & Conrath 1997",
)
def jiang_conrath(common: Common) -> FloatArray:
    """One over one plus what the two terms say beyond their most informative shared ancestor."""
    return 1.0 / (1.0 + np.maximum(common.first + common.second - 2 * common.shared, 0.0))


@define_similarity(
    "simgic",
    "information",
    formula="Σ IC of shared ancestors / Σ IC of all ancestors of the two terms",
    reference="Pesquita et al. 2007",
)
def simgic(common: Common) -> FloatArray:
    """What all shared ancestors say, of what all ancestors say; a term is among its own."""
    shared = common.graph.shared_total(common.term, common.values)
    everything = common.graph.total(common.values)
    return _share(shared, everything[common.term] + everything - shared)


# --- by steps and relations ----------------------------------------------------------------------


@define_similarity("path", "steps", formula="1 / (1 + steps)", reference="Rada et al. 1989")
def path(common: Common) -> FloatArray:
    """One over one plus the fewest steps between the terms by way of a shared ancestor."""
    near: FloatArray = 1.0 / (1.0 + common.graph.distances(common.term))
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
    "depth",
    formula="below by s steps: max(.75, .95 − .05(s − 1)); above: max(.50, .85 − .08(s − 1)); "
    "sibling: max(.65, hybrid); cousin: max(.45, hybrid); else hybrid, 0 below .30",
    reference="Phentrieve",
    is_symmetric=False,
)
def credit(common: Common) -> FloatArray:
    """What a retrieved term earns beside the expected one: more if it is below it than above."""
    graph, term = common.graph, common.term
    earned = np.clip(hybrid(common), 0.0, 1.0)
    earned[earned < NEAR] = 0.0
    parents = graph.parents[term]
    for above, least in (
        (graph.children.of_all(graph.parents.of_all(parents)), COUSIN),
        (parents, SIBLING),
    ):
        kin = graph.children.of_all(above)
        earned[kin] = np.maximum(earned[kin], least)
    for (terms, steps), (nearest, less, least) in (
        (graph.above(term), ANCESTOR),
        (graph.below(term), DESCENDANT),
    ):
        earned[terms] = np.maximum(least, nearest - less * (steps - 1.0))
    return earned


def _share(part: FloatArray, whole: FloatArray | float) -> FloatArray:
    """Divide, where 0 of 0 is 0."""
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

    def __post_init__(self) -> None:
        for what, value, known in (
            ("similarity", self.name, tuple(_SIMILARITIES)),
            ("rule for depths", self.depth, get_args(DepthRule)),
            ("source of information content", self.ic, get_args(Information)),
        ):
            if value not in known:
                raise UnknownNameError(what, value, known)

    @classmethod
    def of(cls, name: str, depth: str, ic: str) -> Way:
        """Take a way as a measure's parameters have it."""
        return cls(name, depth, ic)  # type: ignore[arg-type]  # checked when made

    @property
    def similarity(self) -> Similarity:
        """The similarity of this name."""
        return _SIMILARITIES[self.name]


def to_all(way: Way, graph: Graph, values: FloatArray, term: int) -> FloatArray:
    """Return the similarity of one term, the expected one, with every term.

    ``values`` are depths or information contents by term, as the way has it.
    """
    near = np.clip(way.similarity.function(Common(graph, term, values)), 0.0, 1.0)
    near[~graph.related(term)] = 0.0
    near[term] = 1.0
    return near


def from_structure(graph: Graph) -> FloatArray:
    """Return information content by term, judging by how many terms are below it."""
    if len(graph) < 2:
        return np.ones(len(graph))
    size = graph.descendants + 1
    information = 1.0 - np.log(size) / math.log(len(graph))
    # a root above everything says nothing at all, whatever the two logarithms round to
    return np.where(size == len(graph), 0.0, np.clip(information, 0.0, 1.0))


def from_annotations(graph: Graph, annotated: Mapping[str, Iterable[int]]) -> FloatArray:
    """Return information content by term, judging by how many things have it or a term below it.

    ``annotated`` are the terms of each thing: of each disease, gene or text.
    """
    things = [terms for terms in map(list, annotated.values()) if terms]
    if len(things) < 2:
        raise InputError(
            f"information content needs annotations of at least two things, not {len(things)}; "
            "give a file with a thing and a term on each line"
        )
    counts = np.zeros(len(graph), np.int64)
    for terms in things:
        counts[graph.ancestors.of_all(np.array(terms))] += 1
    return np.log(len(things) / np.maximum(counts, 1))
