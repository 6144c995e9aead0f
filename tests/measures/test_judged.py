"""The run a measure sees, cut and condensed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measures.naive import make
from measures.worlds import World, worlds
from rankscope.measures.judged import JudgedRun, place_in
from rankscope.measures.trec import relevance_string


def test_place_in() -> None:
    assert place_in(np.array([0, 0, 3, 3, 3, 4])).tolist() == [1, 2, 1, 2, 3, 1]
    assert place_in(np.array([], dtype=np.int64)).tolist() == []


def small() -> JudgedRun:
    qrels = {"a": {"x": 2.0, "y": 0.0, "z": 1.0, "w": -1.0}, "b": {"x": 1.0}, "c": {"x": 0.0}}
    run = {"a": {"u": 9.0, "x": 8.0, "w": 7.0, "v": 6.0, "y": 5.0}, "b": {"x": 1.0}}
    topics = {"a": {("x", "1"): 1.0, ("w", "1"): -1.0, ("y", "2"): 1.0}}
    return make(qrels, run, subtopics=topics)[0]


def test_counts() -> None:
    run = small()
    assert len(run) == 3
    assert run.retrieved.tolist() == [5, 1, 0]
    assert run.in_run.tolist() == [True, True, False]
    assert run.hit_rank.tolist() == [2, 3, 5, 1]
    assert run.graded(1).tolist() == [2, 1, 0]
    assert run.found(1).tolist() == [1, 1, 0]
    assert run.found(0, 2).tolist() == [1, 1, 0]
    assert run.shown(3).tolist() == [3, 1, 0]


def test_cut_keeps_the_judgments() -> None:
    cut = small().cut(2)
    assert cut.retrieved.tolist() == [2, 1, 0]
    assert cut.hit_rank.tolist() == [2, 1]
    assert cut.graded(1).tolist() == [2, 1, 0]
    assert cut.subtopics is not None
    assert cut.subtopics.rank.tolist() == [2, 0, 0]


def test_condensed_drops_unjudged_and_negative() -> None:
    condensed = small().condensed()
    assert condensed.retrieved.tolist() == [2, 1, 0]
    assert condensed.hit_rank.tolist() == [1, 2, 1]
    assert condensed.hit_grade.tolist() == [2, 0, 1]
    assert condensed.graded(-9).tolist() == [4, 1, 1]
    assert condensed.subtopics is not None
    assert condensed.subtopics.rank.tolist() == [1, 0, 2]


def test_things_are_remembered() -> None:
    run = small()
    assert run.relevant(1.0, 5) is run.relevant(1.0, 5)
    assert run.condensed() is run.condensed()
    with pytest.raises(AttributeError):
        run.max_grade = 3.0  # type: ignore[misc]


def test_relevance_string() -> None:
    qrels = {"q": {"a": 0.0, "b": 3.0, "c": 12.0, "d": -1.0}, "none": {"a": 1.0}}
    run, _ = make(qrels, {"q": {"a": 9.0, "b": 8.0, "c": 7.0, "d": 6.0, "e": 5.0}})
    assert [relevance_string(run, query, 10) for query in (0, 1)] == ["03>.-", ""]
    assert [relevance_string(run, query, 2) for query in (0, 1)] == ["03", ""]


@settings(max_examples=30, deadline=None)
@given(world=worlds(), cutoff=st.integers(1, 12))
def test_cut_is_the_run_cut_before(world: World, cutoff: int) -> None:
    cut = world.judged_run.cut(cutoff)
    for at, query in enumerate(world.queries):
        ranking = query.ranking[:cutoff]
        mine = cut.hit_query == at
        expected = [(n + 1, grade) for n, grade in enumerate(ranking) if grade is not None]
        assert list(zip(cut.hit_rank[mine], cut.hit_grade[mine], strict=True)) == expected
        assert cut.retrieved[at] == len(ranking)
