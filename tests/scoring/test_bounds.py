"""Bounds: ties against every order there is, holes against judgments that are filled in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby, permutations, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rankscope as rs
from measures.variants import VARIANTS
from rankscope.measures.language import Measure
from rankscope.measures.registry import compute
from rankscope.scoring.align import align
from rankscope.scoring.bounds import TieBounds
from rankscope.scoring.judgments import Judgments

DOCS = list("abcdefgh")
GRADES = st.dictionaries(
    st.sampled_from(DOCS),
    st.sampled_from([-2.0, -1.0, 0.0, 0.0, 0.5, 1.0, 1.0, 2.0, 3.0]),
    min_size=1,
)
SCORES = st.dictionaries(
    st.sampled_from(DOCS), st.sampled_from([1.0, 1.0, 2.0]), min_size=1, max_size=6
)
MEASURES = [
    *(measure for measure in VARIANTS if not measure.definition.needs),
    *(Measure.parse(f"{text}@2") for text in ("nDCG", "AP", "R", "P", "FallOut", "Judged", "RBP")),
    *(Measure.parse(f"{text}@3") for text in ("Unjudged", "ERR", "Q", "NumRelRet")),
]
UNKNOWN = {"Accuracy", "BPM", "G", "infAP"}
"""Measures of which no few orders hold the lowest and the highest value."""


def orders(scores: dict[str, float]) -> Iterator[dict[str, float]]:
    """Yield the documents of a query in each order their scores allow, without ties."""
    ranked = sorted(scores, key=lambda doc: scores[doc], reverse=True)
    groups = [list(group) for _, group in groupby(ranked, key=lambda doc: scores[doc])]
    for parts in product(*(permutations(group) for group in groups)):
        docs = [doc for part in parts for doc in part]
        yield {doc: float(-rank) for rank, doc in enumerate(docs)}


def tie_band(
    grades: dict[str, float], scores: dict[str, float], measures: list[Measure]
) -> dict[Measure, tuple[float, float]]:
    """Return a query's lowest and highest value: each order is a query of one large run."""
    run = {str(number): ordered for number, ordered in enumerate(orders(scores))}
    judged = align(Judgments(dict.fromkeys(run, grades)), run).judged
    values = {measure: compute(measure, judged) for measure in measures}
    return {measure: (float(v.min()), float(v.max())) for measure, v in values.items()}


@settings(max_examples=30, deadline=None)
@given(grades=GRADES, scores=SCORES)
def test_the_tie_band_is_that_of_all_orders(
    grades: dict[str, float], scores: dict[str, float]
) -> None:
    assume(any(grade > 0 for grade in grades.values()) and grades.keys() & scores.keys())
    brute = tie_band(grades, scores, MEASURES)
    found = rs.bounds({"q": grades}, {"q": scores}, MEASURES, holes=False)
    for measure, bound in zip(dict.fromkeys(MEASURES), found, strict=True):
        assert bound.measure == str(measure)
        if bound.ties is None:
            cut = measure.cutoff is not None
            retrieved = measure.options.get("norm") == "retrieved"
            erratic = measure.name in UNKNOWN
            by_judged = measure.definition.sees_unjudged or measure.options["judged_only"]
            assert erratic or by_judged or (cut and (measure.name == "FallOut" or retrieved))
        elif measure.definition.aggregate != "geometric":
            assert ends(bound.ties) == pytest.approx(brute[measure], abs=1e-9), str(measure)


def ends(ties: TieBounds | None) -> tuple[float, float]:
    assert ties is not None
    return ties.lowest, ties.highest


def test_the_band_of_a_mean_is_the_mean_of_the_bands() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"a": 1}, "q4": {"a": 1}}
    run = {"q1": {"a": 1.0, "b": 1.0}, "q2": {"a": 1.0, "b": 1.0, "c": 1.0}, "q3": {"a": 2.0}}
    [found] = rs.bounds(qrels, run, "RR")
    assert found.value == (1 / 2 + 1 / 2 + 1 + 0) / 4  # the higher id goes first
    assert ends(found.ties) == ((1 / 2 + 1 / 3 + 1 + 0) / 4, (1 + 1 + 1 + 0) / 4)
    [found] = rs.bounds(qrels, run, "RR", queries="both", ties="id-asc")
    assert found.value == (1 + 1 / 2 + 1) / 3
    assert ends(found.ties) == ((1 / 2 + 1 / 3 + 1) / 3, 1.0)


def test_float32_ties_are_ties_under_its_profile() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 20000001.0, "b": 20000000.0}}
    assert ends(rs.bounds(qrels, run, "RR")[0].ties) == (1.0, 1.0)
    assert ends(rs.bounds(qrels, run, "RR", profile="trec_eval-9")[0].ties) == (0.5, 1.0)


def test_a_document_with_the_querys_own_id_is_left_out_as_beir_does() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"q": 1.0, "a": 1.0}}
    assert ends(rs.bounds(qrels, run, "RR")[0].ties) == (0.5, 1.0)
    assert ends(rs.bounds(qrels, run, "RR", profile="beir")[0].ties) == (1.0, 1.0)


# --- holes ---------------------------------------------------------------------------------------

Grades = Mapping[str, Mapping[str, float]]


def filled(qrels: Grades, run: Grades, grade: float, depth: int | None) -> Grades:
    """Judge every unjudged document of the first ``depth``, straight from the words."""
    done = {}
    for query, grades in qrels.items():
        docs = run.get(query, {})
        ranked = sorted(docs, key=lambda doc: (docs[doc], doc), reverse=True)
        holes = [doc for doc in ranked[:depth] if grades.get(doc, -1) < 0]
        done[query] = {**grades, **dict.fromkeys(holes, grade)}
    return done


@settings(max_examples=20, deadline=None)
@given(
    qrels=st.fixed_dictionaries({"q1": GRADES, "q2": GRADES}),
    run=st.fixed_dictionaries({"q1": SCORES}, optional={"q2": SCORES}),
    grade=st.sampled_from([0.0, 1.0, 2.0, 5.0]),
)
def test_hole_bounds_are_the_values_of_filled_judgments(
    qrels: Grades, run: Grades, grade: float
) -> None:
    qrels, run = {**qrels, "sound": {"a": 5.0}}, {**run, "sound": {"a": 1.0}}
    expected: dict[Measure, tuple[float, ...]] = {}
    for cutoff in {measure.cutoff for measure in MEASURES}:
        cut = [measure for measure in MEASURES if measure.cutoff == cutoff]
        levels = [filled(qrels, run, level, cutoff) for level in (0.0, grade)]
        judged = [rs.evaluate(judgments, run, cut) for judgments in levels]
        expected |= {measure: tuple(one[measure] for one in judged) for measure in cut}
    found = rs.bounds(qrels, run, MEASURES, hole_grade=grade)
    for measure, bound in zip(dict.fromkeys(MEASURES), found, strict=True):
        assert bound.holes is not None
        holes = (bound.holes.nonrelevant, bound.holes.relevant)
        assert holes == pytest.approx(expected[measure], abs=1e-9), str(measure)


def test_documents_pooled_and_not_retrieved_stay_pooled_when_holes_are_filled() -> None:
    qrels = {"q": {"a": 1.0, "c": -1.0, "d": 1.0}}
    [found] = rs.bounds(qrels, {"q": {"a": 1.0, "b": 1.0}}, "Bpref(pooled=True)", hole_grade=0.0)
    assert found.holes is not None
    assert found.holes.nonrelevant == 0.25  # c and b are nonrelevant: 1 - 1/2 for a, and 0 for d


def test_holes_say_nothing_about_measures_by_subtopic() -> None:
    qrels = {"q": {"a": {"1": 1, "2": 0}, "b": {"2": 1}}}
    run = {"q": {"a": 1.0, "b": 1.0, "x": 2.0}}
    [found] = rs.bounds(qrels, run, "alpha_nDCG@5")
    assert found.holes is None
    assert found.ties is None
    judged = align(Judgments(rs.Qrels(qrels)), run).judged
    assert found.value == compute(Measure.parse("alpha_nDCG@5"), judged)[0]


def test_bounds_are_of_one_run_and_of_a_grade_that_can_be() -> None:
    run = {"q": {"a": 1.0}}
    assert rs.bounds({"q": {"a": 1}}, {"bm25": run}, "RR")[0].value == 1.0
    with pytest.raises(rs.InputError, match="one run"):
        rs.bounds({"q": {"a": 1}}, {"x": run, "y": run})
    for grade in (-1.0, float("inf"), float("nan")):
        with pytest.raises(rs.InputError, match="from 0"):
            rs.bounds({"q": {"a": 1}}, run, hole_grade=grade)
