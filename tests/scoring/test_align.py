"""Dicts, tables and a naive ranking agree, whatever the ties, the precision and the gaps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rankscope.collection.qrels import Qrels
from rankscope.errors import InputError
from rankscope.runs.order import Precision, Ties
from rankscope.runs.table import Run
from rankscope.scoring import scan_tables as tables
from rankscope.scoring.align import align
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.inputs import as_judgments, as_runs
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.rules import OURS, PROFILES, Profile
from scoring.worlds import World, hits_of, naive_hits, naive_tied, worlds

TIES = st.sampled_from(["trec", "id-asc", "given"])
PRECISION = st.sampled_from(["double", "single"])


def by(ties: Any = "trec", precision: Any = "double") -> Profile:
    """Return our rules but for these."""
    return replace(OURS, ties=ties, precision=precision)


def sources(world: World) -> Iterator[tuple[Judgments, Any]]:
    """Yield judgments and run as dicts, as tables, and mixed."""
    for qrels in (world.qrels, Qrels(world.qrels)):
        for run in (world.run, Run(world.run)):
            yield Judgments(qrels), run


@settings(max_examples=100, deadline=None)
@given(
    world=worlds(),
    ties=TIES,
    precision=PRECISION,
    rows=st.sampled_from([1, 7, 1 << 17]),
)
def test_all_ways_rank_as_the_naive_one(
    world: World, ties: Ties, precision: Precision, rows: int
) -> None:
    """Whatever number of rows tables are taken by at once."""
    expected = sorted(naive_hits(world, ties, precision))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "SMALL", 0 if rows < 1 << 17 else rows)
        patch.setattr(tables, "_BLOCK", rows)
        for judgments, run in sources(world):
            found = align(judgments, run, by(ties, precision), cutoffs=(1, 2, 5))
            assert sorted(hits_of(found)) == expected
            sizes = dict(zip(found.judged.query_ids, found.judged.retrieved.tolist(), strict=True))
            assert sizes == {query: len(world.run.get(query, {})) for query in world.qrels}
            assert found.hits.tied_at == {k: naive_tied(world, k, precision) for k in (1, 2, 5)}


@settings(max_examples=30, deadline=None)
@given(world=worlds(), random=st.randoms(use_true_random=False))
def test_interleaved_rows_rank_as_grouped_ones(world: World, random: Random) -> None:
    rows = [(q, d, s) for q, docs in world.run.items() for d, s in docs.items()]
    random.shuffle(rows)
    for ties in ("trec", "id-asc"):
        found = align(Judgments(world.qrels), Run(rows), by(ties))
        assert sorted(hits_of(found)) == sorted(naive_hits(world, ties, "double"))


@settings(max_examples=30, deadline=None)
@given(world=worlds(), precision=PRECISION)
def test_ties_are_placed_where_they_begin_and_end(world: World, precision: Precision) -> None:
    for judgments, run in sources(world):
        hits = align(judgments, run, by(precision=precision)).hits
        rows = zip(
            hits.query.tolist(),
            judgments.doc_ids_of(hits.pair),
            hits.tie_first.tolist(),
            strict=True,
        )
        for place, (number, doc, first) in enumerate(rows):
            scores = world.run[judgments.query_ids[number]]
            every: Any = np.array([scores[doc], *scores.values()])
            with np.errstate(over="ignore"):
                every = every.astype(np.float32 if precision == "single" else np.float64)
            own, every = every[0], every[1:]
            assert first == 1 + np.count_nonzero(every > own)
            assert hits.tie_size[place] == np.count_nonzero(every == own)


# --- accounting ----------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(world=worlds())
def test_queries_on_one_side_only_are_counted(world: World) -> None:
    for judgments, run in sources(world):
        found = align(judgments, run)
        assert sorted(found.missing) == sorted(set(world.qrels) - set(world.run))
        assert found.unjudged == len(set(world.run) - set(world.qrels))
        in_run = dict(zip(found.judged.query_ids, found.judged.in_run.tolist(), strict=True))
        assert in_run == {query: query in world.run for query in world.qrels}
        counts = found.counting(PROFILES["beir"]).tolist()
        assert counts == list(in_run.values())
        if found.missing:
            with pytest.raises(InputError, match="missing from the run"):
                align(judgments, run, strict=True)


def test_a_query_with_no_documents_is_not_missing() -> None:
    empty: dict[str, dict[str, float]] = {"q": {}}
    for run in (empty, Run(empty)):
        found = align(Judgments({"q": {"a": 1}, "p": {"b": 1}}), run, sound=False)
        assert found.missing == ("p",)
        assert found.judged.retrieved.tolist() == [0, 0]


def test_subtopics_keep_their_ranks_and_the_plain_grade_is_the_highest() -> None:
    qrels = {
        "q2": {"b": {"s1": 1, "s2": 0}, "a": {"s2": 2}},
        "q1": {"a": {"s9": 1}, "c": {"s9": 0}},
    }
    run = {"q1": {"x": 3.0, "a": 1.0}, "q2": {"a": 1.0, "b": 1.0}}
    for source in (run, Run(run)):
        judged = align(as_judgments(qrels), source).judged
        topics = judged.subtopics
        assert topics is not None
        columns = (topics.query.tolist(), topics.grade.tolist(), topics.rank.tolist())
        # among equal scores b goes before a; c is not retrieved
        assert sorted(zip(*columns, strict=True)) == [
            *((0, 0.0, 1), (0, 1.0, 1), (0, 2.0, 2)),
            *((1, 0.0, 0), (1, 1.0, 2)),
        ]
        assert sorted(zip(judged.hit_query, judged.hit_rank, judged.hit_grade, strict=True)) == [
            (0, 1, 1.0),
            (0, 2, 2.0),
            (1, 2, 1.0),
        ]
        doc = dict(zip(zip(*columns, strict=True), topics.doc.tolist(), strict=True))
        assert doc[0, 2.0, 2] < doc[0, 1.0, 1]  # document numbers rise with the id
        more = align(as_judgments({**qrels, "q0": {"a": {"s": 1}}}), source).judged
        kept = more.only(more.in_run)
        assert kept.query_ids == ("q2", "q1")
        assert kept.subtopics is not None
        assert kept.subtopics.rank.tolist() == topics.rank.tolist()


# --- plain dicts as they are ---------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(world=worlds(), ties=TIES, precision=PRECISION)
def test_a_dict_run_is_neither_changed_nor_copied(
    world: World, ties: Ties, precision: Precision
) -> None:
    assert as_runs(world.run, Judgments(world.qrels))[0]["run"] is world.run
    before = json.dumps([world.qrels, world.run])
    evaluate(world.qrels, world.run, ties=ties, precision=precision)
    assert json.dumps([world.qrels, world.run]) == before


def test_any_kind_of_number_is_a_score() -> None:
    def array(score: int) -> Any:
        return np.array(float(score))

    for kind in (int, np.float32, np.float64, np.int64, Decimal, array):
        run: Any = {"q": {"a": kind(3), "b": kind(1), "c": kind(1), "d": kind(7)}}
        hits = hits_of(align(Judgments({"q": {"b": 1, "d": 2}}), run))
        assert hits == [("q", 1, 2.0), ("q", 4, 1.0)]
    mixed: Any = {"q": {"a": Decimal("0.5"), "b": 0.25, "c": np.float32(0.75)}}
    assert hits_of(align(Judgments({"q": {"a": 1}}), mixed)) == [("q", 2, 1.0)]


@pytest.mark.parametrize("score", [Decimal("0.1"), 2**60 + 1, np.float32(0.1), True])
def test_equal_numbers_tie_though_a_float_cannot_hold_them(score: Any) -> None:
    run = {"q": {"a": score, "b": score}}
    for precision in ("double", "single"):
        found = align(Judgments({"q": {"a": 1}}), run, by(precision=precision))
        assert hits_of(found) == [("q", 2, 1.0)]


def test_the_largest_floats_are_scores_though_their_sum_is_not_finite() -> None:
    for run in ({"q": {"a": 1.7e308, "b": 1.6e308}}, {"q": {"b": -1.7e308, "a": 1.7e308}}):
        for source in (run, Run(run)):
            assert hits_of(align(Judgments({"q": {"a": 1}}), source)) == [("q", 1, 1.0)]


BAD = [float("nan"), float("inf"), -float("inf"), "high", b"1", None, 10**400, 1j, [1.0],
       Decimal("NaN"), Decimal("sNaN"), np.float32("nan"), np.array([1.0, 2.0])]  # fmt: skip


def test_what_is_no_finite_number_is_refused_with_its_place() -> None:
    for score in BAD:
        documents: tuple[Any, ...] = ({"bad": score, "fine": 1.0}, {"fine": 1.0, "bad": score})
        for answer in documents:
            run: Any = {"q1": {"d": 1.0}, "q2": answer}
            with pytest.raises(InputError, match=r"query 'q2'.*'bad'"):
                evaluate({"q1": {"d": 1}, "q2": {"fine": 1}}, run)
            with pytest.raises(InputError, match=r"query 'q2'.*'bad'"):
                evaluate(run, {"q1": {"d": 1.0}})


IDS = ["7", "-3", "007", "a", "12", "0"]


def some_as_numbers(documents: dict[str, float], chosen: dict[str, bool]) -> dict[Any, float]:
    """Give some of the ids that are a whole number's digits as this number."""
    return {
        int(doc) if chosen[doc] and doc not in ("a", "007") else doc: number
        for doc, number in documents.items()
    }


@settings(max_examples=40, deadline=None)
@given(
    grades=st.dictionaries(st.sampled_from(IDS), st.sampled_from([0, 1, 2]), min_size=1),
    scores=st.dictionaries(st.sampled_from(IDS), st.sampled_from([1.0, 2.0]), min_size=1),
    judged=st.fixed_dictionaries(dict.fromkeys(IDS, st.booleans())),
    retrieved=st.fixed_dictionaries(dict.fromkeys(IDS, st.booleans())),
    ties=TIES,
)
def test_whole_numbers_and_text_are_the_same_ids(
    grades: dict[str, float],
    scores: dict[str, float],
    judged: dict[str, bool],
    retrieved: dict[str, bool],
    ties: Ties,
) -> None:
    assume(any(grade > 0 for grade in grades.values()) and grades.keys() & scores.keys())
    expected = align(Judgments({"q": grades}), {"q": scores}, by(ties))
    mixed: Any = {"q": some_as_numbers(scores, retrieved)}
    for qrels in (grades, some_as_numbers(grades, judged)):
        found = align(Judgments({"q": qrels}), mixed, by(ties))
        assert hits_of(found) == hits_of(expected)
        assert found.hits.grade.tolist() == expected.hits.grade.tolist()
        [told] = evaluate({"q": qrels}, mixed, "RR", ties=ties).values("RR").values()
        assert told == evaluate({"q": grades}, {"q": scores}, "RR", ties=ties)["RR"]


def test_ids_that_cannot_be_are_refused() -> None:
    twice: Any = {"q": {"a": 1.0, "5": 1.0, 5: 2.0}}
    with pytest.raises(InputError, match="'5'"):
        evaluate({"q": {"5": 1}}, twice)
    for odd in (5.0, True, None, ("a",)):
        run: Any = {"q": {"a": 1.0, odd: 1.0, "5": 2.0}}
        with pytest.raises(InputError, match=r"doc_id|document"):
            evaluate({"q": {"5": 1, "1": 1, "a": 1}}, run)


def test_a_query_that_is_its_own_document_is_found_whatever_the_id_is_given_as() -> None:
    run: Any = {"5": {"a": 1.0, 5: 2.0}}
    assert evaluate({"5": {"a": 1}}, run, "P@1", profile="beir")["P@1"] == 1.0


# --- what is prepared and taken again ------------------------------------------------------------


def runs() -> Iterator[dict[str, dict[str, float]]]:
    random = np.random.default_rng(5)
    for _ in range(4):
        yield {
            f"q{query}": {f"d{doc}": float(score) for doc, score in enumerate(random.random(9))}
            for query in range(3)
        }


def test_prepared_judgments_give_what_fresh_ones_give_under_any_rules() -> None:
    qrels = {"q0": {"d1": 2, "d5": 1}, "q1": {"d0": 1, "d20": 3}, "q2": {"d2": 0}, "q3": {"d1": 1}}
    measures = ["nDCG@3", "nDCG", "nDCG(gain=exp)@3", "AP", "AP(rel=2)", "Q", "IDCG", "NumRel"]
    prepared = Judgments(qrels)
    for run in runs():
        for profile in ("rankscope", "trec_eval-9", "sentence-transformers"):
            known = evaluate(prepared, run, measures, profile=profile)
            fresh = evaluate(qrels, run, measures, profile=profile)
            assert known.run().query_ids == fresh.run().query_ids
            assert known.run().values.tobytes() == fresh.run().values.tobytes()
            assert known.run().counts == fresh.run().counts
