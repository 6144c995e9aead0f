"""Information content: how much a term says, from 0 for a root upwards.

From structure (Seco, Veale & Hayes 2004): 1 − ln(terms below + 1) / ln(all terms), from 0 for a
root that is above everything to 1 for a term with nothing below. From annotations (Resnik 1995):
−ln(n / N), where n of N annotated things have the term or one below it. A term that nothing is
annotated with counts as if one thing were: nothing is infinite, and no term says less than one
above it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankscope.errors import InputError

if TYPE_CHECKING:
    from rankscope.ontology.graph import FloatArray, Graph

Information = Literal["structure", "annotations"]
"""Where information content comes from."""


def from_structure(graph: Graph) -> FloatArray:
    """Return by term what it says, judging by how many terms are below it."""
    if len(graph) < 2:
        return np.ones(len(graph))
    size = graph.descendants + 1
    information = 1.0 - np.log(size) / math.log(len(graph))
    # a root above everything says nothing at all, whatever the two logarithms round to
    return np.where(size == len(graph), 0.0, np.clip(information, 0.0, 1.0))


def from_annotations(graph: Graph, annotated: Mapping[str, Iterable[int]]) -> FloatArray:
    """Return by term what it says, judging by how many things have it or a term below it.

    ``annotated`` are the terms of each thing: of each disease, gene or text.
    """
    counts = np.zeros(len(graph), np.int64)
    total = 0
    for terms in annotated.values():
        direct = list(terms)
        if direct:
            total += 1
            counts[np.unique(np.concatenate([graph.ancestors[term] for term in direct]))] += 1
    if total < 2:
        raise InputError(
            f"information content needs annotations of at least two things, not {total}; give a "
            "file with a thing and a term on each line"
        )
    return np.log(total / np.maximum(counts, 1))
