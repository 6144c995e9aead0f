"""Learnt weights: that they are the best, and that they are never learnt from what they answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rankscope import Corpus, Qrels, fuse, train_weights
from rankscope.retrieval.protocol import Query, System
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.stages import weights
from rankscope.retrieval.stages.training import Training

DOCS = [f"d{n}" for n in range(8)]
CORPUS = Corpus(dict.fromkeys(DOCS, "text"))
QUERIES = tuple(Query(f"q{n}", f"question {n}") for n in range(20))
RUNS = [
    {
        query.query_id: {
            doc: float((n * step + place * place) % 11) for place, doc in enumerate(DOCS)
        }
        for n, query in enumerate(QUERIES)
    }
    for step in (3, 5)
]


def best_of(number: int, query: Query) -> str:
    scores = RUNS[number][query.query_id]
    return max(scores, key=lambda doc: (scores[doc], doc))


def worst_of_first(query: Query) -> str:
    scores = RUNS[0][query.query_id]
    return min(scores, key=lambda doc: (scores[doc], doc))


FIRST = {query.query_id: {best_of(0, query): 1} for query in QUERIES}
"""Judgments by which the first system is right."""
SECOND = {query.query_id: {best_of(1, query): 1} for query in QUERIES}


def spec(**options: Any) -> dict[str, Any]:
    of = [{"run": {"path": run}} for run in RUNS]
    return {"fuse": {"of": of, "method": "minmax", "weights": "train", **options}}


def trained(grades: dict[str, Any], queries: Any = QUERIES, **options: Any) -> System:
    cache = options.pop("cache", None)
    training = Training(tuple(queries), Qrels(grades))
    system = build_system(spec(**options), training=training, cache=cache)
    system.index(CORPUS)
    return system


def answers(system: System, queries: Any = QUERIES) -> dict[str, dict[str, float]]:
    rankings = system.search(list(queries), 100)
    return {
        query.query_id: dict(ranking.pairs())
        for query, ranking in zip(queries, rankings, strict=True)
    }


def test_weights_are_those_of_training() -> None:
    half = QUERIES[:10]
    grades = {query.query_id: FIRST[query.query_id] for query in half}
    learnt = list(train_weights(grades, RUNS, "nDCG@10", method="minmax").weights.values())
    assert learnt != [0.5, 0.5]
    fused = fuse(RUNS, method="minmax", weights=learnt).to_dict()
    new = QUERIES[10:]
    assert answers(trained(FIRST, half), new) == {
        query.query_id: fused[query.query_id] for query in new
    }


def test_a_training_question_gets_weights_of_the_other_folds() -> None:
    training = Training(QUERIES, Qrels(FIRST))
    system = trained(FIRST)
    for query in QUERIES[:4]:
        others = training.without(training.kept_from(query))
        grades = {query.query_id: FIRST[query.query_id] for query in others}
        runs = [{query.query_id: run[query.query_id] for query in others} for run in RUNS]
        learnt = list(train_weights(grades, runs, method="minmax").weights.values())
        fused = fuse(RUNS, method="minmax", weights=learnt)
        assert answers(system, [query])[query.query_id] == fused[query.query_id]


@pytest.mark.parametrize("fold", [0, 4])
def test_judgments_of_a_fold_do_not_reach_its_own_questions(fold: int) -> None:
    training = Training(QUERIES, Qrels(FIRST))
    inside = [query for query in QUERIES if training.kept_from(query) == {fold}]
    clean = {q.query_id: (FIRST, SECOND)[n % 2][q.query_id] for n, q in enumerate(QUERIES)}
    turned = {**clean, **{query.query_id: {worst_of_first(query): 1} for query in inside}}
    before, after = trained(clean, step=0.05), trained(turned, step=0.05)
    assert answers(before, inside) == answers(after, inside)
    assert answers(before) != answers(after)
    assert before.identity().key != after.identity().key


def test_judgments_of_test_questions_reach_nothing() -> None:
    half = QUERIES[:10]
    poisoned = {**FIRST, **{query.query_id: SECOND[query.query_id] for query in QUERIES[10:]}}
    before, after = trained(FIRST, half), trained(poisoned, half)
    assert answers(before) == answers(after)
    assert before.identity().key == after.identity().key


def test_other_judgments_teach_other_weights() -> None:
    first, second = (trained(grades, measure="RR") for grades in (FIRST, SECOND))
    for query in QUERIES[:3]:
        for system, number in ((first, 0), (second, 1)):
            top = next(iter(answers(system, [query])[query.query_id]))
            assert top == best_of(number, query)


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count what is trained, by the number of questions."""
    seen: list[int] = []

    best = weights._Search.best

    def counted(search: Any, questions: Any) -> Any:
        seen.append(int(questions.sum()))
        return best(search, questions)

    monkeypatch.setattr(weights._Search, "best", counted)
    return seen


def test_weights_are_kept(tmp_path: Path, trainings: list[int]) -> None:
    first = answers(trained(FIRST, cache=tmp_path))
    assert trainings == [16, 16, 16, 16, 16, 20]
    assert answers(trained(FIRST, cache=tmp_path)) == first
    assert len(trainings) == 6
    entries = sorted((tmp_path / "models").iterdir())
    entries[0].write_bytes(b"damaged")
    entries[1].write_bytes(entries[1].read_bytes()[:-1])
    assert answers(trained(FIRST, cache=tmp_path)) == first
    assert len(trainings) == 8
    answers(trained(SECOND, cache=tmp_path))
    answers(trained(FIRST, cache=tmp_path, measure="RR@3"))
    assert len(trainings) == 20


def test_the_identity_says_how_it_was_learnt() -> None:
    identity = trained(FIRST).identity()
    assert identity.parameters["training"] == Training(QUERIES, Qrels(FIRST)).key
    for changed in ({"measure": "RR"}, {"step": 0.5}):
        assert trained(FIRST, **changed).identity().key != identity.key


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "combmed"}, "weights"),
        ({"step": 0.3}, "step"),
        ({"measure": 7}, "fuse.measure: "),
        ({"weights": None, "measure": "RR"}, "measure"),
        ({"weights": "learn"}, "train"),
        ({"of": ["bm25"]}, "two systems"),
        ({"measure": "nDGC@10"}, "nearest"),
    ],
)
def test_what_cannot_be_trained(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, LookupError), match=message):
        trained(FIRST, **options).prepare()
