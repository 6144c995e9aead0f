"""Ontologies for tests, made of what is above what."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ontology.plain import Plain
from rankscope.ontology.graph import FloatArray, Graph
from rankscope.ontology.nearness import Way, all_similarities, from_annotations, from_structure
from rankscope.ontology.terms import Ontology, read_ontology

NAMES = [similarity.name for similarity in all_similarities()]


def graph_of(plain: Plain) -> Graph:
    return Graph.of(plain.parents, [str(term) for term in plain.terms], "test")


def ways(name: str) -> list[Way]:
    """Every way to compute a similarity."""
    if Way(name).similarity.basis == "information":
        return [Way(name, ic="structure"), Way(name, ic="annotations")]
    return [Way(name, depth="longest"), Way(name, depth="shortest")]


def basis_of(way: Way) -> str:
    return way.ic if way.similarity.basis == "information" else way.depth


def values_of(way: Way, graph: Graph, plain: Plain) -> FloatArray:
    if way.similarity.basis == "information":
        if way.ic == "structure":
            return from_structure(graph)
        return from_annotations(graph, plain.annotated)
    return graph.depths[way.depth].astype(np.float64)


def ontology_of(
    folder: Path, above: Mapping[str, str], annotated: Mapping[str, str] | None = None
) -> Ontology:
    """Make an ontology of terms and their parents, separated by commas, and of annotations."""
    rows = [
        f"{term}\t{parent}" for term, parents in above.items() for parent in (parents.split(","))
    ]
    table = folder / "terms.tsv"
    table.write_text("\n".join(rows), "utf-8")
    if annotated is None:
        return read_ontology(table)
    things = folder / "things.tsv"
    lines = [f"{thing}\t{term}" for thing, terms in annotated.items() for term in terms.split(",")]
    things.write_text("\n".join(lines), "utf-8")
    return read_ontology(table, annotations=things)
