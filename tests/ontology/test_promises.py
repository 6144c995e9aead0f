"""What every similarity promises, over random graphs, and which promise what about distance."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from ontology.plain import Plain, ontologies
from ontology.world import NAMES, graph_of, values_of, ways
from rankscope.ontology.graph import FloatArray
from rankscope.ontology.nearness import Way, to_all
from rankscope.ontology.terms import Ontology, read_ontology

WAYS = [way for name in NAMES for way in ways(name)]


def matrix(way: Way, plain: Plain) -> FloatArray:
    """Return the similarity of every term, by row, with every term."""
    graph = graph_of(plain)
    values = values_of(way, graph, plain)
    return np.stack([to_all(way, graph, values, term) for term in plain.terms])


@settings(max_examples=25, deadline=None)
@given(plain=ontologies())
def test_every_similarity(plain: Plain) -> None:
    for way in WAYS:
        near = matrix(way, plain)
        assert np.all((near >= 0) & (near <= 1)), way
        assert not np.any(np.signbit(near)), "−0 would be printed as such"
        assert np.all(np.diag(near) == 1), way
        assert np.all(np.diag(near) == near.max(axis=1)), "a term is its own best match"
        if way.similarity.is_symmetric:
            np.testing.assert_allclose(near, near.T, rtol=0, atol=1e-14, err_msg=str(way))


# --- distance ------------------------------------------------------------------------------------

PROMISES = [
    way
    for way in WAYS
    if way.similarity.basis == "information"
    or (way.similarity.basis == "depth" and way.depth == "longest" and way.name != "credit")
]
"""Of two ancestors of a term, one above the other, the upper is not nearer.

Information content and longest depths grow on the way down, so what is shared with the upper one
says less or is less deep. Steps and shortest depths know shortcuts: a term may be one step below a
root and three below its grandparent.
"""


@settings(max_examples=25, deadline=None)
@given(plain=ontologies())
def test_an_ancestor_of_an_ancestor_is_not_nearer(plain: Plain) -> None:
    for way in PROMISES:
        near = matrix(way, plain)
        for term in plain.terms:
            for ancestor in plain.above(term):
                for upper in plain.above(ancestor):
                    assert near[term, upper] <= near[term, ancestor] + 1e-12, way


# --- ids -----------------------------------------------------------------------------------------

TERMS = """id\tparent\talt_id\tobsolete\treplaced_by
X:1\t\tX:11|X:12
X:2\tX:1
X:3\tX:1
X:90\t\t\ttrue\tX:2
X:91\t\t\ttrue\tX:2|X:3
X:92\t\t\ttrue
X:93\t\tX:930\ttrue\tX:90
X:94\t\t\ttrue\tX:2|X:90
X:95\t\t\ttrue\tX:96
X:96\t\t\ttrue\tX:95
X:97\t\t\ttrue\tX:12
"""


@pytest.fixture(scope="module")
def with_old_ids(tmp_path_factory: pytest.TempPathFactory) -> Ontology:
    folder = tmp_path_factory.mktemp("ids")
    (folder / "x.tsv").write_text(TERMS, "utf-8")
    return read_ontology(folder / "x.tsv")


@pytest.mark.parametrize(
    ("term_id", "status", "means"),
    [
        ("X:2", "current", "X:2"),
        ("X:11", "alternative", "X:1"),
        ("X:90", "replaced", "X:2"),
        ("X:91", "obsolete", None),  # two replacements
        ("X:92", "obsolete", None),  # no replacement
        ("X:93", "replaced", "X:2"),  # its replacement is obsolete, and has one
        ("X:930", "replaced", "X:2"),  # another id of it
        ("X:94", "replaced", "X:2"),  # two replacements that mean one term
        ("X:95", "obsolete", None),  # round and round
        ("X:97", "replaced", "X:1"),  # replaced by another id of a term
        ("X:404", "unknown", None),
    ],
)
def test_what_an_id_means(
    with_old_ids: Ontology, term_id: str, status: str, means: str | None
) -> None:
    assert with_old_ids.status(term_id) == status
    number = with_old_ids.number(term_id)
    assert (with_old_ids.ids[number] if number >= 0 else None) == means
    assert (term_id in with_old_ids) == (means is not None)
    for name in NAMES:
        for other in ("X:1", "X:2", "X:3"):
            expected = 0.0 if means is None else with_old_ids.similarity(means, other, name)
            assert with_old_ids.similarity(term_id, other, name) == expected


def test_an_id_that_is_not_known_is_like_itself(with_old_ids: Ontology) -> None:
    assert with_old_ids.similarity(["X:404", "X:404"], ["X:404", "X:405"]).tolist() == [1.0, 0.0]
    assert with_old_ids.similarities(Way("lin"), -1).tolist() == [0.0, 0.0, 0.0]


def test_ids_of_two_terms_and_two_ids_of_one(tmp_path: Path) -> None:
    source = tmp_path / "x.obo"
    source.write_text("[Term]\nid: A\nalt_id: C\n[Term]\nid: B\nalt_id: C\nalt_id: A\n", "utf-8")
    ontology = read_ontology(source)
    assert "C" not in ontology
    assert ontology.number("A") == 0  # a term's own id is never another's
    source.write_text("[Term]\nid: A\nalt_id: B\n[Term]\nid: C\nis_a: A\nis_a: B\n", "utf-8")
    assert read_ontology(source)["C"].parents == ("A",)


def test_what_is_returned_cannot_be_changed(with_old_ids: Ontology) -> None:
    """Rows are remembered: a change of one would be a wrong answer the next time."""
    row = with_old_ids.similarities(Way("path"), 0)
    with pytest.raises(ValueError, match="read-only"):
        row[0] = 7.0
    assert with_old_ids.similarities(Way("path"), 0) is row
    again = pickle.loads(pickle.dumps(with_old_ids))
    assert again.similarity("X:2", "X:3", "lin") == with_old_ids.similarity("X:2", "X:3", "lin")
