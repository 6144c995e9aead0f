"""Every similarity beside a plain answer, over random graphs."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from ontology.plain import Plain, ontologies
from ontology.world import NAMES, basis_of, graph_of, values_of, ways
from rankscope.ontology.nearness import from_annotations, from_structure, to_all


@settings(max_examples=60, deadline=None)
@given(plain=ontologies())
def test_similarity_is_as_in_plain_python(plain: Plain) -> None:
    count = len(plain.parents)
    first, second = (side.ravel() for side in np.indices((count, count)))
    for way in (way for name in NAMES for way in ways(name)):
        graph = graph_of(plain)
        values = values_of(way, graph, plain)
        expected = [
            plain.similarity(way.name, basis_of(way), int(a), int(b))
            for a, b in zip(first, second, strict=True)
        ]
        rows = np.concatenate([to_all(way, graph, values, term) for term in plain.terms])
        np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-12, err_msg=str(way))


@settings(max_examples=30, deadline=None)
@given(plain=ontologies())
def test_graph_is_as_in_plain_python(plain: Plain) -> None:
    graph = graph_of(plain)
    for term in plain.terms:
        above, up = graph.above(term)
        assert dict(zip(above.tolist(), up.tolist(), strict=True)) == plain.steps[term]
        below, down = graph.below(term)
        steps = {other: plain.steps[other][term] for other in plain.below(term)}
        assert dict(zip(below.tolist(), down.tolist(), strict=True)) == steps
        assert set(graph.parents[term].tolist()) == set(plain.parents[term])
        assert graph.descendants[term] == len(plain.below(term)) - 1
        for rule in ("longest", "shortest"):
            assert graph.depths[rule][term] == plain.depth(term, rule)
    for values, basis in (
        (from_structure(graph), plain.structure),
        (from_annotations(graph, plain.annotated), plain.annotation),
    ):
        np.testing.assert_allclose(values, list(map(basis, plain.terms)), rtol=0, atol=1e-12)


def test_every_similarity_is_defined_in_plain_python() -> None:
    """A new similarity needs a plain answer, or it is taken for `credit`."""
    known = "hybrid resnik-like wu-palmer resnik lin jiang-conrath simgic path credit"
    assert " ".join(NAMES) == known
