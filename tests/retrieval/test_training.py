"""Folds: no model sees the questions that it answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rankscope import Qrels
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.stages.training import Training

QUERIES = tuple(Query(f"q{n}", f"question number {n}") for n in range(10))
QRELS = Qrels({query.query_id: {"d1": 1} for query in QUERIES})


def test_every_question_is_kept_from_one_fold_and_new_ones_from_none() -> None:
    training = Training(QUERIES, QRELS, folds=3)
    folds = [training.unseen_folds(query) for query in QUERIES]
    assert sorted(len([unseen for unseen in folds if unseen == {fold}]) for fold in range(3)) == [
        3,
        3,
        4,
    ]
    assert training.unseen_folds(Query("new", "another question")) == frozenset()


def test_no_model_sees_what_it_is_kept_from() -> None:
    training = Training(QUERIES, QRELS, folds=3)
    for query in QUERIES:
        seen = training.without(training.unseen_folds(query))
        assert query not in seen
        assert len(seen) in (6, 7)
    models = list(training.models())
    assert models == [frozenset({0}), frozenset({1}), frozenset({2}), frozenset()]
    assert training.without(frozenset()) == QUERIES


def test_only_the_models_that_will_be_asked_are_learnt_beforehand() -> None:
    training = Training(QUERIES, QRELS, folds=3)
    new = Query("new", "another question")
    apart, mixed = (replace(training, to_answer=each) for each in ((new, new), (new, QUERIES[0])))
    assert list(apart.models()) == [frozenset()]
    assert list(mixed.models()) == [frozenset(), training.unseen_folds(QUERIES[0])]
    assert {*replace(training, to_answer=QUERIES).models()} == {frozenset({n}) for n in range(3)}
    assert apart.key == mixed.key == training.key, "what is learnt from is the same"


def test_a_question_is_known_by_id_and_by_words() -> None:
    training = Training(QUERIES, QRELS)
    for disguised in (
        Query("q3", "other words"),
        Query("other", "question number 3"),
        Query("other", "  Question NUMBER\n3 "),
    ):
        assert training.unseen_folds(disguised) == training.unseen_folds(QUERIES[3])


def test_the_id_of_one_and_the_words_of_another_are_kept_from_both() -> None:
    training = Training(QUERIES, QRELS, folds=2)
    first = QUERIES[0]
    other = next(q for q in QUERIES if training.unseen_folds(q) != training.unseen_folds(first))
    mixed = Query(first.query_id, other.text)
    assert training.unseen_folds(mixed) == {0, 1}
    assert training.without(training.unseen_folds(mixed)) == ()


def test_the_same_words_share_a_fold() -> None:
    twins = (*QUERIES, *(Query(f"twin{n}", f"QUESTION number  {n}") for n in range(10)))
    qrels = Qrels({query.query_id: {"d1": 1} for query in twins})
    training = Training(twins, qrels)
    for query in QUERIES:
        twin = Query(query.query_id.replace("q", "twin"), "whatever")
        assert training.unseen_folds(query) == training.unseen_folds(twin)


def test_the_key_holds_what_is_learnt_from() -> None:
    straight, turned = Training(QUERIES, QRELS), Training(QUERIES[::-1], QRELS)
    assert turned.queries == straight.queries == QUERIES
    unjudged = (*QUERIES, Query("unjudged", "nobody knows"))
    others = Qrels({**QRELS.to_dict(), "test": {"d7": 3}})
    for same in (turned, Training(unjudged, QRELS), Training(QUERIES, others)):
        assert same.key == straight.key
    for other in (
        Training(QUERIES, Qrels({**QRELS.to_dict(), "q1": {"d2": 1}})),
        Training(QUERIES, Qrels({**QRELS.to_dict(), "q1": {"d1": 2}})),
        Training(QUERIES[1:], QRELS),
        Training((Query("q0", "changed"), *QUERIES[1:]), QRELS),
        Training(QUERIES, QRELS, folds=4),
        Training(QUERIES, QRELS, seed=1),
    ):
        assert other.key != straight.key


def test_of_several_subtopics_the_highest_grade_counts() -> None:
    qrels = Qrels({query.query_id: {"d1": {"a": 1, "b": 3}} for query in QUERIES})
    assert Training(QUERIES, qrels).grades(QUERIES[0]) == {"d1": 3.0}


@pytest.mark.parametrize(
    ("queries", "folds", "message"),
    [
        (QUERIES, 1, "folds"),
        (QUERIES, True, "folds"),
        (QUERIES, 11, "10"),
        ((QUERIES[0], QUERIES[0]), 2, "'q0'"),
    ],
)
def test_what_cannot_be_learnt_from(queries: Any, folds: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Training(queries, QRELS, folds=folds)


TRAINED = {"rerank": {"of": "bm25", "ltr": {}}}


def test_without_training_there_is_nothing_to_learn_from() -> None:
    with pytest.raises(ValueError, match="judged questions"):
        build_system(TRAINED)


@pytest.mark.parametrize(
    "of",
    [
        TRAINED,
        {"rewrite": {"of": TRAINED, "keywords": {}}},
        {"fuse": {"of": ["bm25", {"fuse": {"of": [TRAINED]}}]}},
    ],
)
def test_what_learns_does_not_stand_over_what_has_learnt(of: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="trained itself"):
        build_system({"rerank": {"of": of, "ltr": {}}}, training=Training(QUERIES, QRELS))
