"""The trained reranker: that it learns, and that it never sees what it is judged on."""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from rankscope import Corpus, Qrels
from rankscope.collection.corpus import Document
from rankscope.errors import MissingExtraError
from rankscope.retrieval.protocol import Query, System
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.stages import ltr
from rankscope.retrieval.stages.ltr import labels_of
from rankscope.retrieval.stages.ltr_features import WordFeatures, score_rows
from rankscope.retrieval.stages.rerank import Rerank
from rankscope.retrieval.stages.training import Training

draw = random.Random(20)
WORDS = [f"word{letter}" for letter in "abcdefghijklmnopqrstuvwx"]
CORPUS = Corpus(
    {
        f"d{n}": {
            "title": " ".join(draw.choices(WORDS, k=3)),
            "text": " ".join(draw.choices(WORDS, k=draw.randint(5, 20))),
        }
        for n in range(80)
    }
)
QUERIES = tuple(Query(f"q{n}", " ".join(draw.sample(WORDS, 3))) for n in range(40))
DEPTH = 12


def in_title(query: Query, doc_id: str) -> int:
    title = CORPUS[doc_id].title.split()
    return sum(word in title for word in query.text.split())


TITLES = {
    query.query_id: {doc_id: in_title(query, doc_id) for doc_id in CORPUS} for query in QUERIES
}
"""Judgments that a model can learn: a document is relevant if its title has the words."""

Spec = dict[str, Any]
SMALL: Spec = {"rerank": {"of": "bm25", "depth": DEPTH, "ltr": {"trees": 15, "rate": 0.2}}}


def taught(grades: dict[str, Any], queries: tuple[Query, ...] = QUERIES) -> Training:
    return Training(queries, Qrels(grades))


def trained(training: Training, spec: Spec = SMALL, **options: Any) -> System:
    system = build_system(spec, training=training, **options)
    system.index(CORPUS)
    return system


def scores(system: System, queries: Any = QUERIES) -> dict[str, list[tuple[str, float]]]:
    rankings = system.search(list(queries), DEPTH)
    assert [ranking.error for ranking in rankings] == [None] * len(rankings)
    return {
        query.query_id: ranking.pairs() for query, ranking in zip(queries, rankings, strict=True)
    }


def mean(run: dict[str, Any], grades: dict[str, Any]) -> float:
    qrels = Qrels({query_id: grades[query_id] for query_id in run})
    scored = rs.evaluate(
        qrels, {query_id: dict(pairs) for query_id, pairs in run.items()}, "nDCG@5"
    )
    return float(scored["nDCG@5"])


def by_chance(query: Query) -> dict[str, int]:
    """Judge documents in a way that nothing about them tells."""
    chance = random.Random(query.query_id)
    return {doc_id: int(chance.random() < 0.2) for doc_id in CORPUS}


def test_it_learns_what_judgments_say() -> None:
    run = scores(trained(taught(TITLES)))
    before = scores(build(of="bm25"))
    assert mean(run, TITLES) > mean(before, TITLES) + 0.1
    assert {query_id: {doc for doc, _ in pairs} for query_id, pairs in run.items()} == {
        query_id: {doc for doc, _ in pairs} for query_id, pairs in before.items()
    }


def build(of: Any) -> System:
    system = build_system(of)
    system.index(CORPUS)
    return system


def test_new_questions_are_answered_by_the_model_of_all() -> None:
    run = scores(trained(taught(TITLES, QUERIES[:20])), QUERIES[20:])
    before = scores(build(of="bm25"), QUERIES[20:])
    assert mean(run, TITLES) > mean(before, TITLES) + 0.1


@pytest.mark.parametrize("fold", [0, 4])
def test_judgments_of_a_fold_do_not_reach_its_own_questions(fold: int) -> None:
    clean = taught(TITLES)
    inside = [query for query in QUERIES if clean.unseen_folds(query) == {fold}]
    outside = [query for query in QUERIES if query not in inside]
    turned = {
        query.query_id: {doc_id: 3 - grade for doc_id, grade in TITLES[query.query_id].items()}
        for query in inside
    }
    before, after = trained(clean), trained(taught({**TITLES, **turned}))
    assert scores(before, inside) == scores(after, inside)
    changed = scores(after, outside)
    assert all(changed[query_id] != pairs for query_id, pairs in scores(before, outside).items())
    assert before.identity().key != after.identity().key


def test_the_scale_of_grades_in_a_fold_does_not_reach_its_own_questions() -> None:
    clean = taught(TITLES)
    inside = [query for query in QUERIES if clean.unseen_folds(query) == {0}]
    large = {query.query_id: {"d1": 0.5, "d2": 1000.0} for query in inside}
    assert scores(trained(clean), inside) == scores(trained(taught({**TITLES, **large})), inside)


def test_judgments_of_test_questions_reach_nothing() -> None:
    training, test = QUERIES[:25], QUERIES[25:]
    poisoned = {**TITLES, **{query.query_id: by_chance(query) for query in test}}
    clean, other = trained(taught(TITLES, training)), trained(taught(poisoned, training))
    assert scores(clean, test) == scores(other, test)
    assert scores(clean, training) == scores(other, training)
    assert clean.identity().key == other.identity().key


def test_the_identity_says_what_was_learnt_from() -> None:
    system = trained(taught(TITLES))
    parameters = system.identity().parameters["reranker"]
    assert parameters["training"] == taught(TITLES).key
    assert parameters["features"][:4] == ["of: score", "of: share", "of: 1/rank", "title: coverage"]
    deeper = {"rerank": {**SMALL["rerank"], "depth": DEPTH + 1}}
    for other in (trained(taught({**TITLES, "q1": {"d1": 3}})), trained(taught(TITLES), deeper)):
        assert other.identity().key != system.identity().key


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count what is trained, by the number of rows."""
    import xgboost

    seen: list[int] = []
    train = xgboost.train

    def counted(parameters: Any, matrix: Any, *more: Any) -> Any:
        seen.append(matrix.num_row())
        return train(parameters, matrix, *more)

    monkeypatch.setattr(xgboost, "train", counted)
    return seen


def test_models_are_kept(tmp_path: Path, trainings: list[int]) -> None:
    training = taught(TITLES)
    first = scores(trained(training, cache=tmp_path))
    assert len(trainings) == 6
    assert scores(trained(training, cache=tmp_path)) == first
    assert len(trainings) == 6
    models = sorted((tmp_path / "models").iterdir())
    assert len(models) == 6
    for model, damage in zip(models, (b"", b"short", b"\0" * 5000), strict=False):
        model.write_bytes(damage)
    models[3].write_bytes(models[3].read_bytes()[:-1])
    assert scores(trained(training, cache=tmp_path)) == first
    assert len(trainings) == 10
    scores(trained(taught({**TITLES, "q1": {"d1": 3}}), cache=tmp_path))
    assert len(trainings) == 16


def test_where_nothing_can_be_learnt_the_order_stays() -> None:
    for judged in ({"elsewhere": 1}, *(dict.fromkeys(CORPUS, grade) for grade in (1, 0, -1))):
        system = trained(taught({query.query_id: judged for query in QUERIES}))
        assert scores(system) == scores(build(of="bm25"))
        system.prepare()
        assert "6 of 6 models" in " ".join(system.notes)


@pytest.mark.parametrize(
    ("grades", "labels"),
    [
        ([0, 0], [0, 0]),
        ([3, 0, -2, 1], [3, 0, 0, 1]),
        ([0.25, 0.5, 0.51, 1.0, 0.0], [1, 2, 3, 4, 0]),
        ([1, 11], [1, 4]),
        ([1e-300, 1e300], [1, 4]),
    ],
)
def test_labels(grades: list[float], labels: list[int]) -> None:
    assert labels_of(grades) == labels


@pytest.mark.parametrize(
    ("answered", "relevant"),
    [
        ({f"x{n}": float(n) for n in range(9)}, "x3"),  # which the corpus does not have
        ({"d1": 1e300, "d2": -1e300, "d3": 0.0, "d4": 5e-324}, "d3"),
    ],
)
def test_odd_candidates(answered: dict[str, float], relevant: str) -> None:
    run = {query.query_id: answered for query in QUERIES}
    grades = {query.query_id: {relevant: 1} for query in QUERIES}
    spec = {"rerank": {"of": {"run": {"path": run}}, "ltr": {}}}
    rankings = scores(trained(taught(grades), spec))
    assert all(math.isfinite(score) for pairs in rankings.values() for _, score in pairs)
    if relevant == "x3":
        assert all(pairs[0][0] == "x3" for pairs in rankings.values())


def test_the_systems_of_a_fuse_are_looked_at() -> None:
    fused = {"fuse": {"of": ["bm25", {"bm25": {"fields": ["title"]}}]}}
    over_fuse = {"rerank": {"of": {"rewrite": {"of": fused, "keywords": {}}}, "ltr": {"trees": 20}}}
    system = trained(taught(TITLES), over_fuse)
    assert isinstance(system, Rerank)
    names = system.part.described()["features"]
    assert names[3:9] == [
        f"bm25 {n}: {feature}" for n in (1, 2) for feature in ("score", "share", "1/rank")
    ]
    before, after = scores(build(of=fused)), scores(system)
    assert mean(after, TITLES) > mean(before, TITLES)


def test_scores_of_a_system_that_did_not_find_a_document() -> None:
    rows = score_rows(["x", "b", "c"], [("a", 3.0), ("b", 2.0), ("c", 2.0), ("d", 1.0)])
    assert math.isnan(rows[0][0])
    assert rows[0][1:] == [0.0, 0.0]
    assert rows[1] == rows[2] == [2.0, 0.5, 0.5]


def test_word_features_by_hand() -> None:
    words = WordFeatures(None, "none")
    words.count(Corpus({"d1": {"title": "leek soup", "text": "boil leek"}, "d2": {"text": "pie"}}))
    document = Document("d1", {"title": "leek soup", "text": "boil leek"})
    (row,) = words.rows(Query("q", "leek soup pie leek"), [document])
    features = dict(zip(words.names, row, strict=True))
    leek = soup = pie = math.log(1 + 1.5 / 1.5)  # each occurs in one of two documents
    norm = 1.5 * (0.25 + 0.75 * 2 / 1.0)  # two terms, on average one
    assert features == pytest.approx(
        {
            "title: coverage": 2 / 3,
            "title: idf coverage": (leek + soup) / (leek + soup + pie),
            "title: bm25": (leek + soup) / (1 + norm) / (leek + soup + pie),
            "title: pairs": 1 / 3,
            "title: length": math.log(3),
            "text: coverage": 1 / 3,
            "text: idf coverage": 1 / 3,
            "text: bm25": leek / (1 + 1.5 * (0.25 + 0.75 * 2 / 1.5)) / (leek + soup + pie),
            "text: pairs": 0.0,
            "text: length": math.log(3),
            "all: coverage": 2 / 3,
            "all: idf coverage": 2 / 3,
            "all: phrase": 0.0,
        }
    )
    (row,) = words.rows(Query("q", "leek soup"), [document])
    assert row[-1] == 1.0


def test_fields_by_name() -> None:
    words = WordFeatures(("parts", "place"), "none")
    document = Document("d", {"parts": ["leek", "salt"], "metadata": {"place": "Wales"}})
    assert words.texts(document) == ["leek\nsalt", "Wales"]
    spec: Spec = {"rerank": {"of": "bm25", "ltr": {"fields": ["titel"]}}}
    with pytest.raises(LookupError, match="nearest: title"):
        trained(taught(TITLES), spec)


def test_a_training_question_that_cannot_be_answered() -> None:
    def moody(text: str) -> list[str]:
        raise OSError(f"no answer to {text}")

    spec = {"rerank": {"of": {"python": moody}, "ltr": {}}}
    system = trained(taught(TITLES, QUERIES[:5]), spec)
    with pytest.raises(ValueError, match="'q0'"):
        system.prepare()


def test_without_xgboost(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise OSError("libgomp.so.1: cannot open")

    monkeypatch.setattr(ltr, "engine", broken)
    system = trained(taught(TITLES))
    with pytest.raises(ValueError, match="libgomp") as raised:
        system.prepare()
    assert "\n" not in str(raised.value)
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(MissingExtraError, match="pip install"):
        trained(taught(TITLES))
