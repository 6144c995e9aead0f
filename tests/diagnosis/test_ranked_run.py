"""The best ranking there could be: every ranking of small worlds is tried."""

from __future__ import annotations

from itertools import permutations

import pytest

import rankscope as rs
from rankscope.diagnosis.ranked_run import ideal_values, why_not_by_grade
from rankscope.measures.language import Measure
from rankscope.measures.registry import all_definitions, compute
from rankscope.scoring.align import align
from rankscope.scoring.inputs import as_judgments

WORLDS: list[dict[str, float]] = [
    {"a": 2, "b": 1, "c": 0},
    {"a": 1, "b": 1, "c": 0, "e": -1},
    {"a": 3, "b": 0.5},
    {"a": 1},
    {"a": 0, "b": 0},
]


@pytest.mark.parametrize("grades", WORLDS, ids=str)
def test_no_ranking_is_better_and_one_is_as_good(grades: dict[str, float]) -> None:
    """All rankings of the judged and of two unjudged documents, by every measure."""
    documents = [*grades, "u1", "u2"]
    sizes = range(len(documents) + 1)
    rankings = [ranking for size in sizes for ranking in permutations(documents, size)]
    judgments = as_judgments({str(place): grades for place in range(len(rankings))})
    run = rs.Run({str(place): list(ranking) for place, ranking in enumerate(rankings)})
    judged = align(judgments, run, sound=False).judged
    looked_at = 0
    for definition in all_definitions():
        names = [definition.example]
        if definition.cutoff != "none":
            names += [f"{definition.name}@1", f"{definition.name}@3"]
        for measure in map(Measure.parse, names):
            if definition.aggregate == "sum" or definition.family == "own":
                continue
            if not why_not_by_grade(measure, judgments.judged_grade):
                best = compute(measure, judged).max()
                assert ideal_values(measure, judged)[0] == pytest.approx(best, abs=1e-12), measure
                looked_at += 1
    assert looked_at > 60
