"""Laws that hold for every registered measure."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measures.naive import ranked
from measures.variants import BUILT_IN, EXAMPLES, VARIANTS, measures
from measures.worlds import World, worlds
from rankscope.errors import InputError
from rankscope.measures.judged import JudgedRun
from rankscope.measures.language import Measure
from rankscope.measures.names import fold
from rankscope.measures.registry import aggregate, all_definitions, compute

Key = TypeVar("Key")
Value = TypeVar("Value")


@settings(max_examples=30, deadline=None)
@given(world=worlds())
def test_stays_in_its_range(world: World) -> None:
    for measure in VARIANTS:
        lowest, highest = measure.definition.range
        values = compute(measure, world.judged_run)
        assert np.isfinite(values).all(), measure
        assert (values >= lowest - 1e-9).all(), measure
        assert (values <= highest + 1e-9).all(), measure


@settings(max_examples=150, deadline=None)
@given(world=worlds(), measure=measures(deepest=5000))
def test_any_valid_parameters_give_a_number(world: World, measure: Measure) -> None:
    lowest, highest = measure.definition.range
    try:
        values = compute(measure, world.judged_run)
    except InputError as error:
        assert "must be above min_rel" in str(error)  # noqa: PT017
        return
    assert np.isfinite(values).all()
    assert (values >= lowest - 1e-9).all()
    assert (values <= highest + 1e-9).all()


@settings(max_examples=25, deadline=None)
@given(world=worlds(), seed=st.randoms(use_true_random=False))
def test_order_of_input_does_not_matter(world: World, seed: Random) -> None:
    def shuffled(mapping: dict[Key, Value]) -> dict[Key, Value]:
        items = list(mapping.items())
        seed.shuffle(items)
        return dict(items)

    other = World(
        shuffled({query: shuffled(docs) for query, docs in world.qrels.items()}),
        shuffled({query: shuffled(docs) for query, docs in world.run.items()}),
        shuffled({query: shuffled(docs) for query, docs in world.subtopics.items()}),
    )
    places = [other.judged_run.query_ids.index(query) for query in world.judged_run.query_ids]
    for measure in EXAMPLES:
        assert compute(measure, other.judged_run)[places].tolist() == pytest.approx(
            compute(measure, world.judged_run).tolist(), abs=1e-12
        ), measure


@settings(max_examples=20, deadline=None)
@given(world=worlds())
def test_a_query_does_not_depend_on_the_others(world: World) -> None:
    for measure in EXAMPLES:
        together = compute(measure, world.judged_run)
        for at, query in enumerate(world.judged_run.query_ids):
            alone = World(
                {query: world.qrels[query]},
                {query: world.run[query]} if query in world.run else {},
                world.subtopics,
            )
            judged_run = replace(alone.judged_run, max_grade=world.judged_run.max_grade)
            assert compute(measure, judged_run)[0] == pytest.approx(together[at]), measure


@settings(max_examples=25, deadline=None)
@given(world=worlds(), data=st.data())
def test_leaving_queries_out_changes_no_other(world: World, data: st.DataObject) -> None:
    run = world.judged_run
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(run), max_size=len(run))))
    some = run.only(keep)
    assert some.query_ids == tuple(q for q, stays in zip(run.query_ids, keep, strict=True) if stays)
    for measure in VARIANTS:
        assert compute(measure, some).tolist() == pytest.approx(
            compute(measure, run)[keep].tolist(), abs=1e-12
        ), measure


@settings(max_examples=25, deadline=None)
@given(world=worlds())
def test_blind_below_the_cutoff(world: World) -> None:
    for measure in VARIANTS:
        if measure.cutoff is not None and not measure.options["judged_only"]:
            cut = world.judged_run.cut(measure.cutoff)
            assert compute(measure, cut).tolist() == pytest.approx(
                compute(measure, world.judged_run).tolist(), abs=1e-12
            ), measure


NOT_MONOTONE = {
    "AP(norm=retrieved)@4": "a relevant document that enters may lower the mean over those found",
    "nDCG(gain={0:1,1:3,2:2,3:0})@4": "grade 0 gains more than grade 3",
    "G(gain={0:1,1:3,2:2,3:0})": "grade 0 gains more than grade 3",
    "nDCG_rel(gain={0:1,1:3,2:2,3:0})": "grade 0 gains more than grade 3",
    "RnDCG(gain={0:1,1:3,2:2,3:0})": "grade 0 gains more than grade 3",
}
"""Variants exempt from the law though their measure obeys it as it is written by default."""


def moved_up(world: World, subtopics: bool) -> list[tuple[str, World]]:
    """Return each world in which one relevant document has passed a nonrelevant one."""
    changed = []
    for query, scores in world.run.items():
        docs = ranked(scores)
        grades = world.qrels[query]
        served = {doc for (doc, _), grade in world.subtopics[query].items() if grade >= 1}
        for at in range(len(docs) - 1):
            above, below = docs[at], docs[at + 1]
            passes = grades.get(above, 0.0) <= 0 and grades.get(below, 0.0) >= 3
            if subtopics:
                passes = above not in served and below in served
            if passes:
                order = [*docs[:at], below, above, *docs[at + 2 :]]
                run = {**world.run, query: {doc: float(-n) for n, doc in enumerate(order)}}
                changed.append((query, World(world.qrels, run, world.subtopics)))
    return changed


def check_monotone(measures: list[Measure], world: World, *, subtopics: bool) -> None:
    for query, better in moved_up(world, subtopics):
        at = world.judged_run.query_ids.index(query)
        for measure in measures:
            before, after = (compute(measure, w.judged_run)[at] for w in (world, better))
            gain = after - before if measure.definition.higher_is_better else before - after
            assert gain >= -1e-9, (str(measure), before, after)


def monotone(*, subtopics: bool) -> list[Measure]:
    return [
        measure
        for measure in VARIANTS
        if not measure.definition.not_monotone
        and str(measure) not in NOT_MONOTONE
        and (measure.definition.needs == "subtopics") == subtopics
    ]


@settings(max_examples=40, deadline=None)
@given(world=worlds())
def test_not_lower_when_a_relevant_document_moves_up(world: World) -> None:
    check_monotone(monotone(subtopics=False), world, subtopics=False)


@settings(max_examples=40, deadline=None)
@given(world=worlds())
def test_not_lower_when_a_document_that_serves_subtopics_moves_up(world: World) -> None:
    check_monotone(
        [m for m in monotone(subtopics=True) if not m.options["judged_only"]],
        world,
        subtopics=True,
    )


def empty() -> JudgedRun:
    return World({}, {}, {}).judged_run


def test_no_query_gives_no_value() -> None:
    for measure in VARIANTS:
        values = compute(measure, empty())
        assert values.shape == (0,)
        assert np.isnan(aggregate(measure, values)) == (measure.definition.aggregate != "sum")


@settings(max_examples=15, deadline=None)
@given(world=worlds())
def test_measuring_changes_nothing(world: World) -> None:
    run = world.judged_run
    first = {measure: compute(measure, run).copy() for measure in VARIANTS}
    for measure in reversed(VARIANTS):
        assert compute(measure, run).tolist() == first[measure].tolist()


def test_every_measure_is_documented() -> None:
    for definition in (each for each in all_definitions() if each.family != "own"):
        for said in ("summary", "formula", "reference", "no_relevant", "short_run", "example"):
            assert getattr(definition, said), (definition.name, said)
        assert definition.summary.endswith("."), definition.name
        assert str(Measure.parse(definition.example)) == definition.example


def test_names_differ_by_more_than_case() -> None:
    assert len({fold(definition.name) for definition in BUILT_IN}) == len(BUILT_IN)
