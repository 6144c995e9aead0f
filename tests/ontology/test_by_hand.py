"""Similarities of terms in small graphs, derived by hand."""

from __future__ import annotations

from math import log, log10
from pathlib import Path
from typing import Any

import pytest

from ontology.world import ontology_of
from rankscope.ontology.graph import Graph
from rankscope.ontology.nearness import Way, from_structure, to_all
from rankscope.ontology.terms import Ontology

# R ┬ A ┬ C ── F        F is below C and D (a diamond under A),
#   │   └ D ┬ F         D below A and B
#   └ B ┬ D └ G
#       └ E             S ── T are apart
FAMILY = dict(
    edge.split(":")
    for edge in ["R:", "A:R", "B:R", "C:A", "D:A,B", "E:B", "F:C,D", "G:D", "S:", "T:S"]
)
THINGS = {"w": "C", "x": "F", "y": "G", "z": "E"}


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Ontology:
    return ontology_of(tmp_path_factory.mktemp("family"), FAMILY, THINGS)


def check(ontology: Ontology, pair: str, name: str, expected: float, **options: Any) -> None:
    got = ontology.similarity(pair[0], pair[1], name, **options)
    assert got == pytest.approx(expected, abs=1e-12)


def test_graph_of_the_family(family: Ontology) -> None:
    depths = dict(zip(family.ids, family.graph.depths["longest"].tolist(), strict=True))
    assert depths == dict(zip("RABCDEFGST", [0, 1, 1, 2, 2, 2, 3, 3, 0, 1], strict=True))
    assert depths == dict(zip(family.ids, family.graph.depths["shortest"].tolist(), strict=True))
    assert family.roots == ("R", "S")
    assert family.ancestors("F") == ("C", "D", "A", "B", "R")  # the nearest first
    assert family.ancestors("R") == ()
    below = {family.ids[term] for term in family.graph.below(family.number("A"))[0].tolist()}
    assert below == set("ACDFG")


def test_information_content(family: Ontology) -> None:
    """By structure: of 10 terms, by how many are below, itself included; 1 - ln(k)/ln(10).

    By annotations: of 4 things, by how many have it; what none has counts as if one had it.
    """
    below, having = [8, 5, 5, 2, 3, 1, 1, 1, 2, 1], [4, 3, 3, 2, 2, 1, 1, 1, 1, 1]
    structure, annotations = family.information("structure"), family.information("annotations")
    assert structure.tolist() == pytest.approx([1 - log10(size) for size in below], abs=1e-12)
    assert annotations.tolist() == pytest.approx([log(4 / n) for n in having], abs=1e-12)


@pytest.mark.parametrize(
    ("pair", "name", "expected"),
    [
        ("FG", "hybrid", 0.7 * 2 / 3 + 0.3 * 4 / 6),  # D, at 2 of 3, is above both, which are at 3
        ("CD", "hybrid", 0.7 / 3 + 0.3 / 2),  # A
        ("CF", "hybrid", 0.7 * 2 / 3 + 0.3 * 4 / 5),  # C itself
        ("CE", "hybrid", 0.0),  # only the root
        ("FG", "resnik-like", 2 / 3),
        ("AF", "resnik-like", 1 / 3),
        ("FG", "wu-palmer", 4 / 6),
        ("DE", "wu-palmer", 2 / 4),
        ("FG", "path", 1 / 3),
        ("CE", "path", 1 / 5),
        ("FR", "path", 1 / 4),
        ("DF", "path", 1 / 2),
        ("FG", "resnik", 0.5),  # by annotations F and G say ln 4 each, and D ln 2
        ("FG", "lin", 0.5),
        ("FG", "jiang-conrath", 1 / (1 + 2 * log(2))),
        ("FG", "simgic", (log(2) + 2 * log(4 / 3)) / (2 * log(2) + 2 * log(4 / 3) + 2 * log(4))),
        ("CE", "lin", 0.0),
        ("CE", "jiang-conrath", 1 / (1 + log(2) + log(4))),
        ("DF", "credit", 0.95),  # retrieved F is a child of the expected D
        ("AF", "credit", 0.90),  # a grandchild, by way of C
        ("FD", "credit", 0.85),  # a parent
        ("FA", "credit", 0.77),  # a grandparent
        ("FR", "credit", 0.69),
        ("CD", "credit", 0.65),  # siblings under A; hybrid is .383
        ("FG", "credit", 0.7 * 2 / 3 + 0.2),  # siblings under D; hybrid is .667
        ("CE", "credit", 0.45),  # cousins: R is a grandparent of both; hybrid is 0
        ("GC", "credit", 0.7 / 3 + 0.3 * 2 / 5),  # neither; hybrid is .353
        ("BC", "credit", 0.0),  # neither; hybrid is 0
    ],
)
def test_similarities(family: Ontology, pair: str, name: str, expected: float) -> None:
    check(family, pair, name, expected, ic="annotations")
    if name != "credit":
        check(family, pair[::-1], name, expected, ic="annotations")


def test_credit_has_a_least_by_distance(tmp_path: Path) -> None:
    chain = ontology_of(tmp_path, {str(n): str(n - 1) if n else "" for n in range(9)})
    down = [chain.similarity("0", str(n), "credit") for n in range(9)]
    assert down == pytest.approx([1, 0.95, 0.90, 0.85, 0.80, 0.75, 0.75, 0.75, 0.75])
    up = [chain.similarity("8", str(8 - n), "credit") for n in range(9)]
    assert up == pytest.approx([1, 0.85, 0.77, 0.69, 0.61, 0.53, 0.50, 0.50, 0.50])


def test_credit_between_hybrid_below_and_above_its_threshold(tmp_path: Path) -> None:
    """Of depth 5 and 5 with a shared parent at depth d, hybrid is .14·d + .06·d = .2·d."""
    arms = {"0": "", "1": "0", "2": "1", "a3": "1", "b3": "2", "c3": "2"}
    for arm in "abc":
        arms |= {f"{arm}{n}": f"{arm}{n - 1}" for n in (4, 5)}
    deep = ontology_of(tmp_path, arms)  # a5 is at depth 4, b5 and c5 at depth 5
    assert deep.depth() == 5
    assert deep.similarity("b5", "c5", "credit") == pytest.approx(0.7 * 2 / 5 + 0.3 * 4 / 10)
    assert deep.similarity("a5", "b5", "hybrid") == pytest.approx(0.7 * 1 / 5 + 0.3 * 2 / 9)
    assert deep.similarity("a5", "b5", "credit") == 0.0  # below .30


def test_shortcut(tmp_path: Path) -> None:
    """R ─ P ─ Q ─ W ─ L, and L is also directly below R: by shortest depths W is at 3, L at 1."""
    short = ontology_of(tmp_path, {"R": "", "P": "R", "Q": "P", "W": "Q", "L": "W,R"})
    depths = {rule: short.graph.depths[rule].tolist() for rule in ("longest", "shortest")}
    assert depths == {"longest": [0, 1, 2, 3, 4], "shortest": [0, 1, 2, 3, 1]}
    # the deepest shared ancestor of W and L is W; longest: depths 3 and 4 of 4
    check(short, "WL", "hybrid", 0.7 * 3 / 4 + 0.3 * 6 / 7)
    check(short, "WL", "wu-palmer", 6 / 7)
    # shortest: depths 3 and 1 of 3, so 2·3/(3 + 1) and .7 + .3·(1 + 2/4) are more than 1
    for name in ("hybrid", "resnik-like", "wu-palmer"):
        check(short, "WL", name, 1.0, depth="shortest")
    # P and L share P and R: .7/3 + .3·(1 − (1 + 1 − 2)/2)
    check(short, "PL", "hybrid", 0.7 / 3 + 0.3, depth="shortest")
    # one step from L to R, though W, which is nearer to L by what it means, is one step as well
    check(short, "LR", "path", 1 / 2)
    check(short, "LP", "path", 1 / 3)  # by way of R
    check(short, "RL", "credit", 0.95)
    check(short, "LP", "credit", 0.69)  # three steps up; by way of R it would not be up
    check(short, "PL", "credit", 0.85)


def test_a_root_says_nothing_at_all() -> None:
    """1 − ln(n)/ln(n), where the two logarithms are not rounded alike, is not 0 for these n."""
    for count in (9_170, 19_143):
        flat = Graph.of([[], *([0] for _ in range(count - 1))], ["t"] * count, "test")
        values = from_structure(flat)
        assert values[0] == 0.0
        assert values[1:].tolist() == [1.0] * (count - 1)
        assert to_all(Way("lin"), flat, values, 1)[2] == 0.0
