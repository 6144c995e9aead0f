"""Bounds of a difference: against every way to judge what is unjudged."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.errors import InputError
from rankscope.measures.language import Measure
from rankscope.scoring import difference_bounds as module
from rankscope.scoring.difference_bounds import difference_bounds

DOCS = list("abcdefgh")
GRADES = st.dictionaries(
    st.sampled_from(DOCS), st.sampled_from([-1.0, 0.0, 1.0, 1.0, 2.0]), min_size=1, max_size=3
)
RANKING = st.lists(st.sampled_from(DOCS), unique=True, max_size=6)
EXACT = [
    "P@3", "R@3", "R_cap@2", "F@3", "nDCG@3", "nDCG", "nDCG(gain='exp')@4", "DCG@3", "RBP(p=0.8)",
    "RBP(p=0.8,gain='linear')", "RR", "RR@2", "Success@2", "R(rel=2)@4",
    "nDCG(rel=2,gain='binary')",
]  # fmt: skip
SAFE = ["AP", "AP@3", "AP(rel=2)"]
OTHER = ["Bpref", "ERR@3", "Q@3", "Judged@3", "nDCG(judged_only=True)@3"]


PLENTY = settings(
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.filter_too_much],  # most small worlds have no answer
)


def brute(
    grades: dict[str, float], base: list[str], run: list[str], measure: str, grade: float
) -> tuple[float, float]:
    """Try all ways: every unjudged document of either run down to the cutoff is 0 or ``grade``."""
    known = {doc: value for doc, value in grades.items() if value >= 0}
    depth = Measure.parse(measure).cutoff
    holes = sorted({*base[:depth], *run[:depth]} - set(known))
    ways = list(product([0.0, grade], repeat=len(holes)))
    qrels = {
        f"way{number}": known | dict(zip(holes, way, strict=True))
        for number, way in enumerate(ways)
    } | {"top": {"x": max([grade, *grades.values()])}}  # the highest grade of all judgments
    values = []
    for side in (base, run):
        scores = rs.evaluate(qrels, dict.fromkeys(qrels, side) | {"top": ["x"]}, measure)
        values.append([scores.values(measure)[f"way{number}"] for number in range(len(ways))])
    differences = [after - before for before, after in zip(*values, strict=True)]
    return min(differences), max(differences)


def bound_of(
    grades: dict[str, float], base: list[str], run: list[str], measure: str, grade: float
) -> Any:
    first, second = ({"q": side, "other": ["x"]} for side in (base, run))
    [bound] = difference_bounds({"q": grades}, first, second, measure, hole_grade=grade)
    return bound


def is_sound(grades: dict[str, float], *rankings: list[str]) -> bool:
    """Tell whether a document of grade 2 is known, and each ranking has a judged document."""
    return max(grades.values()) >= 2 and all(set(grades) & set(ranking) for ranking in rankings)


@pytest.mark.parametrize("enumerated", [0, 8])
@settings(PLENTY, max_examples=25)
@given(grades=GRADES, base=RANKING, run=RANKING, grade=st.sampled_from([1.0, 2.0]))
def test_against_all_ways_to_judge(
    enumerated: int, grades: dict[str, float], base: list[str], run: list[str], grade: float
) -> None:
    assume(is_sound(grades, base, run))
    limit = module.ENUMERATED
    module.ENUMERATED = enumerated
    try:
        for measure in (*EXACT, *SAFE):
            bound = bound_of(grades, base, run, measure, grade)
            low, high = brute(grades, base, run, measure, grade)
            if bound.exact:
                assert (bound.lowest, bound.highest) == pytest.approx((low, high)), measure
            else:
                assert measure in SAFE
                assert bound.lowest <= low + 1e-9, measure
                assert bound.highest >= high - 1e-9, measure
    finally:
        module.ENUMERATED = limit


@settings(PLENTY, max_examples=15)
@given(grades=GRADES, base=RANKING, run=RANKING)
def test_any_measure_with_few_unjudged_documents(
    grades: dict[str, float], base: list[str], run: list[str]
) -> None:
    assume(is_sound(grades, base, run))
    for measure in OTHER:
        bound = bound_of(grades, base, run, measure, 1.0)
        low, high = brute(grades, base, run, measure, 1.0)
        assert (bound.lowest, bound.highest) == pytest.approx((low, high)), measure


def test_what_both_runs_share_moves_neither() -> None:
    """Twenty unjudged documents at the same ranks: the bounds of each mean are wide, of the
    difference narrow; with AP too, pair by pair."""
    ranking = [f"x{n:02}" for n in range(20)]
    run = {"q": [*ranking[:10], "a", *ranking[10:]]}
    for measure in ("nDCG@15", "AP", "RR", "R@20"):
        [bound] = difference_bounds({"q": {"a": 1}}, run, run, measure)
        assert (bound.lowest, bound.highest) == pytest.approx((0, 0), abs=1e-12), measure
        assert bound.unjudged in (14, 19, 20)


def test_many_documents_by_a_coarser_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    base = {"q": [f"x{n:02}" for n in range(12)] + ["a"]}
    run = {"q": ["a"] + [f"y{n:02}" for n in range(12)]}
    [close] = difference_bounds({"q": {"a": 1}}, base, run, "AP")
    monkeypatch.setattr(module, "CLOSE", 3)
    [coarse] = difference_bounds({"q": {"a": 1}}, base, run, "AP")
    assert close.lowest is not None
    assert close.highest is not None
    assert coarse.lowest is not None
    assert coarse.highest is not None
    assert coarse.lowest <= close.lowest <= close.highest <= coarse.highest


def test_no_bound_is_known() -> None:
    long = {"q": [*(f"x{n}" for n in range(12)), "a"]}
    [bound] = difference_bounds({"q": {"a": 1}}, long, {"q": ["a"]}, "Bpref")
    assert (bound.lowest, bound.highest, bound.unjudged) == (None, None, 12)
    assert bound.note == "more than 8 documents of a query are unjudged"
    assert not bound.is_certain
    [sums] = difference_bounds({"q": {"a": 1}}, {"q": ["a"]}, {"q": ["x", "a"]}, "NumRelRet")
    assert sums.note == "NumRelRet is no mean over queries"


def test_means_over_queries() -> None:
    """q1: x makes 0 of −0.5; q2 is judged throughout; q3 is missing in the run."""
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    base = {"q1": ["a", "x"], "q2": ["a"], "q3": ["a"]}
    run = {"q1": ["x", "a"], "q2": ["a"]}
    [bound] = difference_bounds(qrels, base, run, "RR")
    assert bound.difference == pytest.approx(-1.5 / 3)
    assert (bound.lowest, bound.highest) == pytest.approx((-1.5 / 3, -1 / 3))
    assert bound.is_certain
    [both] = difference_bounds(qrels, base, run, "RR", queries="both")
    assert (both.lowest, both.highest) == pytest.approx((-0.5 / 2, 0))


def test_bounds_against_another_run() -> None:
    qrels, base, run = {"q": {"a": 1}}, {"q": ["a", "x"]}, {"q": ["x", "a"]}
    table = rs.bounds(qrels, run, iter(["RR", "P@1"]), against=base)
    assert [bound.against for bound in table] == difference_bounds(qrels, base, run, ["RR", "P@1"])
    assert "against" not in rs.bounds(qrels, run, "RR")[0].to_dict()
    page = table._repr_html_()
    assert "Unjudged documents could move these differences" in page
    with pytest.raises(InputError, match="hole_grade"):
        difference_bounds(qrels, base, run, "RR", hole_grade=-1)
