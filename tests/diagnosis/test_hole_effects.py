"""Ways to judge: the change by one document is that of judging it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.diagnosis.hole_effects import changes_of_one
from rankscope.measures.judged import JudgedRun
from rankscope.measures.language import Measure, parse_measures
from rankscope.measures.registry import compute
from rankscope.scoring.align import align
from rankscope.scoring.inputs import as_judgments

DOCS = list("abcdefg")
GRADES = st.dictionaries(st.sampled_from(DOCS), st.sampled_from([-1, 0, 1, 1, 2, 3]), max_size=6)
ORDER = st.permutations(DOCS).flatmap(
    lambda docs: st.integers(1, 6).map(lambda size: list(docs)[:size])
)
NAMES = (
    "P@2 P@5 R@3 R@6 R_cap@3 F@3 Success@2 RR RR@3 CG@3 DCG@3 DCG(gain=exp) nDCG@2 nDCG@4 nDCG "
    "nDCG(gain=exp)@3 nDCG(gain=binary)@3 AP AP@3 AP(norm=min)@3 AP(norm=retrieved)@3 Rprec "
    "RBP(p=0.8) RBP(p=0.8)@3 AP(rel=2) R(rel=2)@4"
)
BOUNDED = [parsed.measure for parsed in parse_measures(NAMES)]
OTHERS = [Measure.parse(text) for text in ("Bpref", "ERR@3", "P(judged_only=True)@3", "infAP")]


def judged(grades: Mapping[str, float], order: list[str]) -> JudgedRun:
    qrels = {"q": grades, "sound": {"a": 3}}
    scores = {doc_id: -float(place) for place, doc_id in enumerate(order)}
    return align(as_judgments(qrels), {"q": scores, "sound": {"a": 1.0}}).judged


def value(measure: Measure, grades: Mapping[str, float], order: list[str]) -> float:
    return float(compute(measure, judged(grades, order))[0])


def unjudged(grades: Mapping[str, float], order: list[str], depth: int | None) -> list[str]:
    return [doc_id for doc_id in order[:depth] if grades.get(doc_id, -1) < 0]


@settings(max_examples=15, deadline=None)
@given(grades=GRADES, order=ORDER)
def test_the_change_by_one_document_is_that_of_judging_it(
    grades: dict[str, float], order: list[str]
) -> None:
    here = judged(grades, order)
    for measure in (*BOUNDED, *OTHERS):
        plain = value(measure, {d: g for d, g in grades.items() if g >= 0}, order)
        for doc_id in [*unjudged(grades, order, None), "elsewhere"]:
            rank = order.index(doc_id) + 1 if doc_id in order else 0
            [change] = changes_of_one(measure, here, np.array([0]), np.array([rank]), 1.0)
            known = {other: each for other, each in grades.items() if each >= 0}
            expected = value(measure, {**known, doc_id: 1.0}, order) - plain
            assert change == pytest.approx(expected, abs=1e-12), (measure, doc_id)
