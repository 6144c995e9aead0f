"""Bounds of a difference: against every way to judge what is unjudged."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import Phase, given, settings
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


Ends = dict[str, tuple[float, float]]


def brute(
    grades: dict[str, float], base: list[str], run: list[str], measures: list[str], grade: float
) -> Ends:
    """Try all ways: every unjudged document of either run down to the cutoff is 0 or ``grade``."""
    known = {doc: value for doc, value in grades.items() if value >= 0}
    ends: Ends = {}
    for depth in {Measure.parse(measure).cutoff for measure in measures}:
        cut = [measure for measure in measures if Measure.parse(measure).cutoff == depth]
        holes = sorted({*base[:depth], *run[:depth]} - set(known))
        ways = [known | dict(zip(holes, way, strict=True))
                for way in product([0.0, grade], repeat=len(holes))]  # fmt: skip
        qrels = {f"way{number}": way for number, way in enumerate(ways)}
        qrels["top"] = {"x": max([grade, *grades.values()])}  # the highest grade of all judgments
        before, after = (
            rs.evaluate(qrels, dict.fromkeys(qrels, side) | {"top": ["x"]}, cut)
            for side in (base, run)
        )
        for measure in cut:
            lower, upper = before.values(measure), after.values(measure)
            changes = [upper[way] - lower[way] for way in qrels if way != "top"]
            ends[measure] = min(changes), max(changes)
    return ends


def bounds_of(
    grades: dict[str, float], base: list[str], run: list[str], measures: list[str], grade: float
) -> dict[str, Any]:
    first, second = ({"q": side, "other": ["x"]} for side in (base, run))
    bounds = difference_bounds({"q": grades}, first, second, measures, hole_grade=grade)
    return dict(zip(measures, bounds, strict=True))


def sound(
    grades: dict[str, float], *rankings: list[str]
) -> tuple[dict[str, float], list[str], list[str]]:
    """Add a relevant document that every ranking ends with: one that finds nothing is refused."""
    base, run = ([*ranking, "zz"] for ranking in rankings)
    return {**grades, "zz": 2.0}, base, run


@pytest.mark.parametrize("enumerated", [0, 8])
@settings(max_examples=15, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(grades=GRADES, base=RANKING, run=RANKING, grade=st.sampled_from([1.0, 2.0]))
def test_against_all_ways_to_judge(
    enumerated: int, grades: dict[str, float], base: list[str], run: list[str], grade: float
) -> None:
    given = (*sound(grades, base, run), [*EXACT, *SAFE], grade)
    ends = brute(*given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ENUMERATED", enumerated)
        bounds = bounds_of(*given)
    for measure, bound in bounds.items():
        if bound.exact:
            assert (bound.lowest, bound.highest) == pytest.approx(ends[measure]), measure
        else:
            assert measure in SAFE
            assert bound.lowest <= ends[measure][0] + 1e-9, measure
            assert bound.highest >= ends[measure][1] - 1e-9, measure


@settings(max_examples=10, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(grades=GRADES, base=RANKING, run=RANKING)
def test_any_measure_with_few_unjudged_documents(
    grades: dict[str, float], base: list[str], run: list[str]
) -> None:
    given = (*sound(grades, base, run), OTHER, 1.0)
    ends = brute(*given)
    for measure, bound in bounds_of(*given).items():
        assert (bound.lowest, bound.highest) == pytest.approx(ends[measure]), measure


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
    assert "8" in bound.note
    assert not bound.is_certain
    [sums] = difference_bounds({"q": {"a": 1}}, {"q": ["a"]}, {"q": ["x", "a"]}, "NumRelRet")
    assert "no mean" in sums.note


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
    with pytest.raises(InputError, match="hole_grade"):
        difference_bounds(qrels, base, run, "RR", hole_grade=-1)
