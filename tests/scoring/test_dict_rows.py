"""Dicts are scored as rows of a table: short rows, batches and both ways to find hits agree."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.runs.order import Precision, Ties
from rankscope.runs.table import Run
from rankscope.scoring import align_dicts, plain
from rankscope.scoring.align import align
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.plans import planned
from rankscope.scoring.rules import profile_named
from scoring.worlds import World, hits_of, naive_hits

SCORES = st.sampled_from([0.0, -0.0, 0.5, 1.0, 3.0, -1e300, 1e300, 2e300, 1e-9, 2e-9])
NAMES = [f"d{number}" for number in range(12)]


@st.composite
def ragged(draw: st.DrawFn) -> World:
    """Queries of very different lengths, with many or few judgments."""
    judged = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([0.0, 1.0, 2.0]),
                             max_size=draw(st.sampled_from([1, 12])))  # fmt: skip
    scored = st.dictionaries(st.sampled_from(NAMES), SCORES)
    queries = [f"q{number}" for number in range(draw(st.integers(1, 6)))]
    qrels = {query: draw(judged) for query in queries}
    run = {query: draw(scored) for query in queries if draw(st.booleans())}
    return World({**qrels, "sound": {"d1": 1.0}}, {**run, "sound": {"d1": 1.0}})


@settings(max_examples=60, deadline=None)
@given(
    world=ragged(),
    batch=st.sampled_from([1, 7, 20, 1 << 16]),
    packed=st.sampled_from([1, 7, 1 << 16]),
    ties=st.sampled_from(["trec", "id-asc", "given"]),
    precision=st.sampled_from(["double", "single"]),
)
def test_rows_of_any_length_rank_as_the_naive_way_does(
    world: World, batch: int, packed: int, ties: Ties, precision: Precision
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(align_dicts, "_BATCH", batch)
        patch.setattr(plain, "_PACKED", packed)
        aligned = align(Judgments(world.qrels), world.run, ties=ties, precision=precision,
                        cutoffs=(1, 2, 5))  # fmt: skip
    table = align(Judgments(world.qrels), Run(world.run), ties=ties, precision=precision,
                  cutoffs=(1, 2, 5))  # fmt: skip
    assert sorted(hits_of(aligned)) == sorted(naive_hits(world, ties, precision))
    hits, other = aligned.hits, table.hits
    assert hits.doc_ids() == other.doc_ids()
    assert (hits.lists, hits.tied_at) == (other.lists, other.tied_at)
    for field in ("query", "rank", "grade", "tie_first", "tie_size", "retrieved"):
        assert getattr(hits, field).tolist() == getattr(other, field).tolist(), field


# --- what is kept between evaluations ------------------------------------------------------------


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
            known = rs.evaluate(prepared, run, measures, profile=profile)
            fresh = rs.evaluate(qrels, run, measures, profile=profile)
            assert known.run().query_ids == fresh.run().query_ids
            assert known.run().values.tobytes() == fresh.run().values.tobytes()
            assert known.run().counts == fresh.run().counts


def test_the_same_question_is_prepared_once() -> None:
    rules = profile_named("rankscope")
    first = planned(["nDCG@10", "RR"], rules, {}, of_terms=False)
    assert planned(("nDCG@10", "RR"), rules, {}, of_terms=False) is first
    assert planned(iter(["nDCG@10", "RR"]), rules, {}, of_terms=False) is first
    other = planned(["nDCG@10", "RR"], rules, {"ties": "given"}, of_terms=False)
    assert (first.main.ties, other.main.ties) == ("trec", "given")


@pytest.mark.parametrize(
    "grades", [[0, 1, 254], [0, 1, 255], [0, 1, 2.0], [0.5, 1, 2], [-1, 1, 0], [True, 1, 300]]
)
def test_grades_that_are_bytes_are_those_that_are_not(grades: list[float]) -> None:
    qrels: dict[str, dict[str, float]] = {"q": dict(zip("abc", grades, strict=True)), "p": {"c": 1}}
    run = {"q": {"c": 1.0, "x": 3.0, "a": 2.0, "b": 5.0}, "p": {"x": 2.0, "c": 1.0}}
    aligned = align(Judgments(qrels), run)  # as many judgments as documents: asked by document
    assert aligned.hits.doc_ids() == ["b", "a", "c", "c"]
    b, a, c = (float(qrels["q"][doc_id]) for doc_id in "bac")
    assert aligned.judged.hit_grade.tolist() == [b, a, c, 1.0]
    assert aligned.judged.hit_grade.dtype == np.float64
