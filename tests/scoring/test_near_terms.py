"""Measures of nearness against naive twins, and what evaluate says about terms."""

from __future__ import annotations

import math
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.errors import InputError, InvalidDataError
from rankscope.measures.definition import SIMILARITIES
from rankscope.measures.language import Measure, parse_measures, strict_and_soft
from rankscope.measures.registry import computation
from rankscope.ontology.nearness import all_similarities

# root ─ a ─ b ─ c
#      │   └ d
#      └ e ─ f      (f is also below d)
TREE = "a\troot\nb\ta\nc\tb\nd\ta\ne\troot\nf\te\nf\td\n"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> rs.Ontology:
    path = tmp_path_factory.mktemp("tree") / "tree.tsv"
    path.write_text(TREE)
    return rs.read_ontology(path)


def run_of(*lists: list[str]) -> dict[str, dict[str, float]]:
    return {
        f"q{number}": {term: -float(place) for place, term in enumerate(terms)}
        for number, terms in enumerate(lists, start=1)
    }


def values(
    measure: str, qrels: Any, run: Any, ontology: rs.Ontology, **options: Any
) -> dict[str, float]:
    return rs.evaluate(qrels, run, [measure], ontology=ontology, **options).values(measure)


# --- by hand -------------------------------------------------------------------------------------


def test_the_names_of_measures_and_similarities_are_the_same() -> None:
    assert [similarity.name for similarity in all_similarities()] == list(SIMILARITIES)


def test_hybrid_by_hand(tree: rs.Ontology) -> None:
    # depths: root 0, a 1, b 2, c 3, d 2, e 1, f 3; b and d meet in a:
    # 0.7 · 1/3 + 0.3 · (1 − (2 + 2 − 2)/4)
    near = values("MaxOntSim@5", {"q1": {"b": 1}}, run_of(["d"]), tree)
    assert near == {"q1": pytest.approx(0.7 / 3 + 0.3 * 0.5)}
    # by shortest paths f has depth 2, and so D is 3 (c): f and c meet in a
    near = values("MaxOntSim(depth=shortest)@5", {"q1": {"c": 1}}, run_of(["f"]), tree)
    assert near == {"q1": pytest.approx(0.7 / 3 + 0.3 * (1 - (3 + 2 - 2) / 5))}


def test_an_exact_match_is_1_and_the_cutoff_counts(tree: rs.Ontology) -> None:
    qrels, run = {"q1": {"c": 1}}, run_of(["e", "b", "c"])
    found = [values(f"MaxOntSim@{k}", qrels, run, tree)["q1"] for k in (1, 2, 3)]
    # e shares the root with c; b is the parent of c: 0.7·2/3 + 0.3·(1 − 1/5)
    assert found == [pytest.approx(0.0), pytest.approx(0.7 * 2 / 3 + 0.3 * 0.8), 1.0]


def test_credit_by_relation(tree: rs.Ontology) -> None:
    for expected, retrieved, earned in (
        ("b", "b", 1.0),
        ("a", "b", 0.95),
        ("a", "c", 0.90),
        ("b", "a", 0.85),
        ("c", "a", 0.77),
        ("c", "root", 0.69),
        ("b", "d", 0.65),  # siblings; hybrid is 0.383
        ("c", "f", 0.45),  # their parents b and d share a: cousins; hybrid is 0.333
        ("b", "e", 0.0),  # b is a nephew of e: hybrid is 0, below .30
    ):
        near = values("SoftR@1", {"q1": {expected: 1}}, run_of([retrieved]), tree)
        assert near == {"q1": pytest.approx(earned)}, (expected, retrieved)


def test_grades_scale_nearness(tree: rs.Ontology) -> None:
    qrels, run = {"q1": {"c": 3}}, run_of(["b"])
    near = tree.similarity("c", "b")
    assert values("DCG(sim=hybrid)@1", qrels, run, tree)["q1"] == pytest.approx(3 * near)
    assert values("MaxOntSim@1", qrels, run, tree)["q1"] == pytest.approx(near)


# --- twins ---------------------------------------------------------------------------------------

_TERMS = ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[str, dict[str, Any], dict[str, Any]]:
    rows = ["t0\t"]
    for number in range(1, len(_TERMS)):
        above = draw(st.sets(st.integers(0, number - 1), max_size=2))
        rows += [f"t{number}\tt{parent}" for parent in sorted(above)] or [f"t{number}\t"]
    ids = [*_TERMS, "gone", "lost"]
    queries = [f"q{number}" for number in range(draw(st.integers(1, 3)))]
    qrels = {q: dict.fromkeys(draw(st.sets(st.sampled_from(ids), max_size=3)), 1) for q in queries}
    qrels["q0"]["t1"] = 1
    run = {q: draw(st.permutations(ids))[: draw(st.integers(0, 6))] for q in queries}
    run["q0"] = list(dict.fromkeys([*run["q0"], "t2"]))
    lists = {q: {t: -float(at) for at, t in enumerate(terms)} for q, terms in run.items()}
    return "child\tparent\n" + "\n".join(rows), qrels, lists


def heaviest(near: list[list[float]]) -> float:
    if not near or not near[0]:
        return 0.0
    if len(near) > len(near[0]):
        near = [list(column) for column in zip(*near, strict=True)]
    ways = permutations(range(len(near[0])), len(near))
    return max(sum(near[row][place] for row, place in enumerate(way)) for way in ways)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(world=worlds(), cutoff=st.integers(1, 5), sim=st.sampled_from(SIMILARITIES))
def test_twins(tmp_path: Path, world: Any, cutoff: int, sim: str) -> None:
    table, qrels, run = world
    path = tmp_path / "world.tsv"
    path.write_text(table)
    ontology = rs.read_ontology(path)
    names = ["MaxOntSim", "MeanOntSim", "SoftP", "SoftR", "SoftF", "nDCG", "P"]
    asked = {
        name: f"{name}(sim={sim}{',rel=0.5' if name == 'P' else ''})@{cutoff}" for name in names
    }
    scores = rs.evaluate(qrels, run, list(asked.values()), ontology=ontology)
    tables = rs.evaluate(rs.Qrels(qrels), rs.Run(run), list(asked.values()), ontology=ontology)
    for query, expected in qrels.items():
        terms = list(run[query])[:cutoff]
        near = [[float(ontology.similarity(e, t, sim)) for t in terms] for e in expected]
        matched = heaviest(near)
        everything = [*_TERMS, *(e for e in expected if e not in _TERMS)]
        grade = {
            t: max((float(ontology.similarity(e, t, sim)) for e in expected), default=0.0)
            for t in everything
        }
        best = sorted(grade.values(), reverse=True)[:cutoff]
        discounts = [1 / math.log2(rank + 2) for rank in range(cutoff)]
        ideal = sum(g * d for g, d in zip(best, discounts, strict=False))
        dcg = sum(grade.get(t, 0.0) * d for t, d in zip(terms, discounts, strict=False))
        twins = {
            "MaxOntSim": max((n for row in near for n in row), default=0.0),
            "MeanOntSim": float(np.mean([max(row, default=0.0) for row in near])) if near else 0.0,
            "SoftP": matched / cutoff,
            "SoftR": matched / len(expected) if expected else 0.0,
            "SoftF": 2 * matched / (cutoff + len(expected)),
            "nDCG": dcg / ideal if ideal else 0.0,
            "P": sum(grade.get(t, 0.0) >= 0.5 for t in terms) / cutoff,
        }
        for name, twin in twins.items():
            value = scores.values(asked[name])[query]
            assert value == pytest.approx(twin, abs=1e-12), name
            assert value == pytest.approx(tables.values(asked[name]).get(query, 0.0)), name
            strict = Measure.parse(asked[name]).strict
            if name != "nDCG" and strict is not None:
                assert value >= scores.values(strict)[query] - 1e-12, name


def test_ties_cutoffs_and_condensing_are_those_of_the_ranking(tree: rs.Ontology) -> None:
    qrels = {"q1": {"c": 1, "e": 0}}
    tied = {"q1": {"b": 1.0, "e": 1.0}}
    assert values("MaxOntSim@1", qrels, tied, tree)["q1"] == 0.0  # e first: the higher id
    first = values("MaxOntSim@1", qrels, tied, tree, ties="id-asc")["q1"]
    assert first == pytest.approx(tree.similarity("c", "b"))
    # only e is judged: it moves up to rank 1
    run = run_of(["b", "e"])
    assert values("MaxOntSim(judged_only=True)@5", qrels, run, tree)["q1"] == 0.0


# --- what is said --------------------------------------------------------------------------------


def test_strict_and_soft_are_reported_together(tree: rs.Ontology) -> None:
    qrels, run = {"q1": {"c": 1}}, run_of(["b"])
    scores = rs.evaluate(qrels, run, ["MaxOntSim@5", "nDCG(sim=lin)@10"], ontology=tree)
    assert scores.measures == ["MaxOntSim@5", "Success@5", "nDCG(sim=lin)@10", "nDCG@10"]
    scores = rs.evaluate(qrels, run, ["P@3"], ontology=tree)
    assert scores.measures == ["P@3", "MaxOntSim@3", "Success@3"]
    result = rs.compare(qrels, {"a": run, "b": run_of(["c"])}, ["SoftF@5"], ontology=tree)
    assert list(result.measures) == ["SoftF@5", "F@5"]
    many = {f"q{number}": {"c": 1} for number in range(1, 5)}
    gate = rs.gate(run_of(*[["b"]] * 4), run_of(*[["b"]] * 4), "MaxOntSim@5", qrels=many,
                   ontology=tree)  # fmt: skip
    assert [check.measure for check in gate.checks] == ["MaxOntSim@5", "Success@5"]


def test_the_set_hpo() -> None:
    asked = [str(parsed.measure) for parsed in parse_measures("hpo")]
    assert asked[:9] == [
        "RR",
        *(f"Success@{k}" for k in (1, 3, 5, 10)),
        *(f"MaxOntSim@{k}" for k in (1, 3, 5, 10)),
    ]
    assert "AP(norm=min)@10" in asked
    assert len(asked) == 25
    assert [parsed.asked for parsed in parse_measures("hpo")] == asked
    together = strict_and_soft(parse_measures("hpo"), of_terms=True)
    assert [str(parsed.measure) for parsed in together] == asked


def test_what_makes_no_sense_is_refused() -> None:
    for measure, word in {
        "MaxOntSim(sim=leacock)@5": "hybrid",
        "StRecall(sim=lin)@5": "'sim'",
        "SoftP": "cutoff",
        "RR(sim=lin)": "grade 1",
        "P(sim=lin,rel=2)@5": "rel=0.7",
        "nDCG(sim=lin,gain=binary)@5": "no effect",
        "hpo@5": "several",
    }.items():
        with pytest.raises(InputError, match=word):
            Measure.parse(measure)


def test_accuracy_keeps_its_own_depth() -> None:
    measure = Measure.parse("Accuracy(rel=0.5,depth=5,sim=hybrid)")
    assert computation(measure).options == {"rel": 0.5, "depth": 5}
    assert str(measure.strict) == "Accuracy(rel=0.5,depth=5)"


def test_without_what_it_needs(tree: rs.Ontology) -> None:
    with pytest.raises(InputError, match="ontology"):
        rs.evaluate({"q1": {"c": 1}}, run_of(["c"]), ["MaxOntSim@5"])
    with pytest.raises(InputError, match="annotations"):
        values("MaxOntSim(sim=lin,ic=annotations)@5", {"q1": {"c": 1}}, run_of(["b"]), tree)
    with pytest.raises(InvalidDataError, match="none of 1"):
        values("MaxOntSim@1", {"q1": {"HP:1": 1}}, run_of(["HP:1"]), tree)
    with pytest.raises(InvalidDataError, match="none of its ids"):
        values("MaxOntSim@1", {"q1": {"c": 1}}, run_of(["HP:1"]), tree)


def test_unknown_ids_are_counted(tree: rs.Ontology) -> None:
    qrels = {"q1": {"c": 1, "gone": 1}, "q2": {"b": 1}}
    scores = rs.evaluate(qrels, run_of(["gone", "x", "b"], ["c"]), ["MeanOntSim@3"], ontology=tree)
    near = tree.similarity("c", "b")
    assert scores.values("MeanOntSim@3")["q1"] == pytest.approx((1 + near) / 2)
    counts = scores.accounting.ontology
    assert (counts.expected, counts.expected_unknown) == (3, 1)
    assert (counts.retrieved, counts.retrieved_unknown) == (4, 2)
    assert counts.unknown_ids == ("gone", "x")
    assert [finding.code for finding in scores.findings] == ["RS181", "RS183"]


def test_obsolete_and_alternative_ids(tmp_path: Path) -> None:
    path = tmp_path / "o.tsv"
    path.write_text(
        "child\tparent\talternatives\tobsolete\treplaced_by\n"
        "r\t\t\t\t\na\tr\ta2\t\t\nold\t\t\ttrue\ta\ndead\t\t\ttrue\t\n"
    )
    ontology = rs.read_ontology(path)
    qrels = {"q1": {"old": 1}, "q2": {"a2": 1}, "q3": {"dead": 1}}
    scores = rs.evaluate(qrels, run_of(["a"], ["a"], ["a"]), ["MaxOntSim@1"], ontology=ontology)
    assert scores.values("MaxOntSim@1") == {"q1": 1.0, "q2": 1.0, "q3": 0.0}
    assert scores.values("Success@1") == {"q1": 0.0, "q2": 0.0, "q3": 0.0}
    assert {finding.code for finding in scores.findings} >= {"RS181", "RS182"}


def test_two_ids_of_one_term_are_expected_and_earn_once(tmp_path: Path) -> None:
    path = tmp_path / "o.tsv"
    path.write_text("child\tparent\talternatives\nr\t\t\na\tr\ta2\nb\tr\t\n")
    ontology = rs.read_ontology(path)
    for measure, expected in {
        "AP(sim=path,rel=0.99)": 1.0,
        "R(sim=path,rel=0.99)@3": 1.0,
        "nDCG(sim=path)@2": 1.0 / (1.0 + 0.5 / math.log2(3)),  # the ideal: a, then r
        "SoftR(sim=path)@2": 1.0,
    }.items():
        found = values(measure, {"q1": {"a": 1}}, run_of(["a", "a2"]), ontology)
        assert found["q1"] == pytest.approx(expected), measure
    found = values("SoftR(sim=path)@2", {"q1": {"a": 1, "a2": 1, "b": 1}}, run_of(["a", "b"]),
                   ontology)  # fmt: skip
    assert found == {"q1": 1.0}
    # the second id of a term is not matched with another expected one
    found = values("SoftR(sim=path)@2", {"q1": {"a": 1, "b": 1}}, run_of(["a", "a2"]), ontology)
    assert found["q1"] == pytest.approx(0.5)


def test_a_run_without_an_exact_match_is_scored(tree: rs.Ontology) -> None:
    scores = rs.evaluate({"q1": {"c": 1}}, run_of(["b"]), ["RR"], ontology=tree)
    assert scores["RR"] == 0.0
    assert scores["MaxOntSim@10"] > 0.7


def test_judgments_that_were_used_before(tree: rs.Ontology) -> None:
    judgments = rs.Judgments({"q1": {"c": 1}})
    before = judgments.fingerprint
    scores = rs.evaluate(judgments, run_of(["b"]), ["MaxOntSim@1"], ontology=tree)
    assert scores["MaxOntSim@1"] > 0
    assert scores.judgments.fingerprint != before, "scores know their ontology"
    assert judgments.ontology is None, "what the caller gave is not changed"


def test_many_queries_come_in_blocks(tree: rs.Ontology, monkeypatch: pytest.MonkeyPatch) -> None:
    terms = ["a", "b", "c", "d", "e", "f"]
    qrels = {f"q{n}": {terms[n % 6]: 1} for n in range(50)}
    run = {f"q{n}": {terms[(n + k) % 6]: -float(k) for k in range(3)} for n in range(50)}
    whole = values("nDCG(sim=hybrid)@3", qrels, run, tree)
    monkeypatch.setattr("rankscope.measures.term_lists._BLOCK", 30)
    assert values("nDCG(sim=hybrid)@3", qrels, run, tree) == whole
