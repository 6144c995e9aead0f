"""Similarities of terms in small graphs, derived by hand."""

from __future__ import annotations

from math import log, log10
from pathlib import Path

import numpy as np
import pytest

from ontology.world import NAMES, ontology_of
from rankscope.ontology.graph import Graph
from rankscope.ontology.nearness import Way, of_pairs
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


def check(ontology: Ontology, pair: str, name: str, expected: float, **options: str) -> None:
    first, second = pair[0], pair[1]
    got = ontology.similarity(first, second, name, **options)  # type: ignore[arg-type]
    assert got == pytest.approx(expected, abs=1e-12)


# --- depth: R 0, A B S→0, C D E 2, F G 3; the greatest is 3 --------------------------------------


def test_graph_of_the_family(family: Ontology) -> None:
    depths = dict(zip(family.ids, family.graph.depths["longest"].tolist(), strict=True))
    assert depths == dict(zip("RABCDEFGST", [0, 1, 1, 2, 2, 2, 3, 3, 0, 1], strict=True))
    assert depths == dict(zip(family.ids, family.graph.depths["shortest"].tolist(), strict=True))
    assert family.roots == ("R", "S")
    above = {family.ids[term] for term in family.graph.ancestors[family.number("F")].tolist()}
    assert above == set("FCDABR")
    below = {family.ids[term] for term in family.graph.below(family.number("A"))[0].tolist()}
    assert below == set("ACDFG")


@pytest.mark.parametrize(
    ("pair", "lca", "first", "second"),
    [
        ("FG", 2, 3, 3),  # D
        ("CD", 1, 2, 2),  # A
        ("DE", 1, 2, 2),  # B
        ("CF", 2, 2, 3),  # C itself
        ("AF", 1, 1, 3),  # A itself
        ("CE", 0, 2, 2),  # only the root
        ("RF", 0, 0, 3),
    ],
)
def test_by_depth(family: Ontology, pair: str, lca: int, first: int, second: int) -> None:
    """The formulas with the depth of the deepest shared ancestor; longest and shortest agree."""
    near = 1 - (first + second - 2 * lca) / (first + second)
    for depth in ("longest", "shortest"):
        check(family, pair, "hybrid", 0.7 * lca / 3 + 0.3 * near, depth=depth)
        check(family, pair, "resnik-like", lca / 3, depth=depth)
        check(family, pair, "wu-palmer", 2 * lca / (first + second), depth=depth)


# --- information content -------------------------------------------------------------------------

# Of 10 terms, with everything below and itself: R 8, A B 5, D 3, C S 2, the others 1; Seco gives
# 1 − ln(k)/ln(10).
STRUCTURE = {
    term: 1 - log10(size)
    for term, size in zip("RABCDEFGST", [8, 5, 5, 2, 3, 1, 1, 1, 2, 1], strict=True)
}
# Of 4 things: R has all, A has w x y, B has x y z, C has w x, D has x y, the others one or, as if
# it were one, none.
ANNOTATIONS = {
    term: log(4 / things)
    for term, things in zip("RABCDEFGST", [4, 3, 3, 2, 2, 1, 1, 1, 1, 1], strict=True)
}


@pytest.mark.parametrize(("ic", "says"), [("structure", STRUCTURE), ("annotations", ANNOTATIONS)])
def test_by_information(family: Ontology, ic: str, says: dict[str, float]) -> None:
    values = family.information(ic)  # type: ignore[arg-type]
    assert dict(zip(family.ids, values.tolist(), strict=True)) == pytest.approx(says, abs=1e-12)
    top = max(says.values())
    for pair, shared, union in (
        ("FG", "DABR", "DABRCFG"),
        ("CD", "AR", "ARCBD"),
        ("CF", "CAR", "CARFDB"),
        ("CE", "R", "RCAEB"),
        ("RF", "R", "RFCDAB"),
    ):
        first, second = (says[term] for term in pair)
        mica = max(says[term] for term in shared)
        check(family, pair, "resnik", mica / top, ic=ic)
        check(family, pair, "lin", 2 * mica / (first + second), ic=ic)
        check(family, pair, "jiang-conrath", 1 / (1 + first + second - 2 * mica), ic=ic)
        total = sum(says[term] for term in shared)
        check(family, pair, "simgic", total / sum(says[term] for term in union), ic=ic)


def test_information_in_numbers(family: Ontology) -> None:
    """F and G say ln 4 each; what they share, D, says ln 2."""
    check(family, "FG", "lin", 0.5, ic="annotations")
    check(family, "FG", "resnik", 0.5, ic="annotations")
    check(family, "FG", "jiang-conrath", 1 / (1 + 2 * log(2)), ic="annotations")


# --- steps and relations -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "steps"), [("FG", 2), ("CD", 2), ("CE", 4), ("FR", 3), ("AF", 2), ("GE", 3), ("DF", 1)]
)
def test_path(family: Ontology, pair: str, steps: int) -> None:
    check(family, pair, "path", 1 / (1 + steps))
    check(family, pair[::-1], "path", 1 / (1 + steps))


@pytest.mark.parametrize(
    ("pair", "earned"),
    [
        ("DF", 0.95),  # retrieved F is a child of the expected D
        ("AF", 0.90),  # a grandchild, by way of C
        ("FD", 0.85),  # a parent
        ("FA", 0.77),  # a grandparent
        ("FR", 0.69),
        ("CD", 0.65),  # siblings under A; hybrid is .383
        ("FG", 0.7 * 2 / 3 + 0.2),  # siblings under D; hybrid is .667
        ("CE", 0.45),  # cousins: R is a grandparent of both; hybrid is 0
        ("GC", 0.7 / 3 + 0.3 * 2 / 5),  # neither; hybrid is .353
        ("BC", 0.0),  # neither; hybrid is 0
        ("FT", 0.0),
    ],
)
def test_credit(family: Ontology, pair: str, earned: float) -> None:
    check(family, pair, "credit", earned)


def test_credit_has_a_least_by_distance(tmp_path: Path) -> None:
    chain = ontology_of(tmp_path, {str(n): str(n - 1) if n else "" for n in range(9)})
    down = [chain.similarity("0", str(n), "credit") for n in range(9)]
    assert down == pytest.approx([1, 0.95, 0.90, 0.85, 0.80, 0.75, 0.75, 0.75, 0.75])
    up = [chain.similarity("8", str(8 - n), "credit") for n in range(9)]
    assert up == pytest.approx([1, 0.85, 0.77, 0.69, 0.61, 0.53, 0.50, 0.50, 0.50])


def test_credit_between_hybrid_below_and_above_its_threshold(tmp_path: Path) -> None:
    """Of depth 5 and 5 with a shared parent at depth d, hybrid is .14·d + .06·d = .2·d."""
    arms = {"0": "", "1": "0", "2": "1", "a3": "1", "b3": "2", "c3": "2"}
    for arm, first in (("a", 3), ("b", 3), ("c", 3)):
        arms |= {f"{arm}{n}": f"{arm}{n - 1}" for n in range(first + 1, 6)}
    # a5 is at depth 4 (1 → a3 → a4 → a5), b5 and c5 at depth 5
    deep = ontology_of(tmp_path, arms)
    assert deep.depth() == 5
    check_near = 0.7 * 2 / 5 + 0.3 * (4 / 10)
    assert deep.similarity("b5", "c5", "credit") == pytest.approx(check_near)
    below_it = 0.7 * 1 / 5 + 0.3 * (2 / 9)
    assert below_it < 0.30
    assert deep.similarity("a5", "b5", "hybrid") == pytest.approx(below_it)
    assert deep.similarity("a5", "b5", "credit") == 0.0


# --- a shortcut, which makes a term less deep than one above it ----------------------------------


def test_shortcut(tmp_path: Path) -> None:
    """R ─ P ─ Q ─ W ─ L, and L is also directly below R: by shortest depths W is at 3, L at 1."""
    short = ontology_of(tmp_path, {"R": "", "P": "R", "Q": "P", "W": "Q", "L": "W,R"})
    depths = {rule: short.graph.depths[rule].tolist() for rule in ("longest", "shortest")}
    assert depths == {"longest": [0, 1, 2, 3, 4], "shortest": [0, 1, 2, 3, 1]}
    # the deepest shared ancestor of W and L is W; longest: depths 3 and 4 of 4
    check(short, "WL", "hybrid", 0.7 * 3 / 4 + 0.3 * 6 / 7)
    check(short, "WL", "resnik-like", 3 / 4)
    check(short, "WL", "wu-palmer", 6 / 7)
    # shortest: depths 3 and 1 of 3, so 2·3/(3 + 1) and .7 + .3·(1 + 2/4) are more than 1
    check(short, "WL", "hybrid", 1.0, depth="shortest")
    check(short, "WL", "resnik-like", 1.0, depth="shortest")
    check(short, "WL", "wu-palmer", 1.0, depth="shortest")
    # P and L share P and R: .7/3 + .3·(1 − (1 + 1 − 2)/2)
    check(short, "PL", "hybrid", 0.7 / 3 + 0.3, depth="shortest")
    # one step from L to R, though W, which is nearer to L by what it means, is one step as well
    check(short, "LR", "path", 1 / 2)
    check(short, "LQ", "path", 1 / 3)
    check(short, "LP", "path", 1 / 3)  # by way of R
    check(short, "RL", "credit", 0.95)
    check(short, "LP", "credit", 0.69)  # three steps up; by way of R it would not be up
    check(short, "PL", "credit", 0.85)


# --- the smallest --------------------------------------------------------------------------------


def test_single_term(tmp_path: Path) -> None:
    single = ontology_of(tmp_path, {"R": ""}, {"x": "R", "y": "R"})
    for name in NAMES:
        for ic in ("structure", "annotations"):
            assert single.similarity("R", "R", name, ic=ic) == 1.0
            assert single.similarity("R", "other", name, ic=ic) == 0.0
    assert single.depth() == 0


def test_terms_under_different_roots_share_nothing(family: Ontology) -> None:
    for name in NAMES:
        for ic in ("structure", "annotations"):
            for pair in ("FT", "RS", "AT", "TF"):
                check(family, pair, name, 0.0, ic=ic)


def test_numbers_of_32_bits_do_not_overflow() -> None:
    """Term numbers times the number of terms are more than 32 bits hold from 46,341 terms on."""
    count = 50_000
    flat = Graph.of([[], *([0] for _ in range(count - 1))], ["t"] * count, "test")
    depths = flat.depths["longest"].astype(np.float64)
    last = np.array([count - 1, count - 2], np.int32)
    near = of_pairs(Way("wu-palmer"), flat, depths, last, last[::-1])
    assert near.tolist() == [0.0, 0.0]
    assert of_pairs(Way("path"), flat, depths, last, last[::-1]).tolist() == [1 / 3, 1 / 3]
    assert of_pairs(Way("credit"), flat, depths, last, last[::-1]).tolist() == [0.65, 0.65]
