"""Chroma as it really runs: in a folder, and as a server that is killed and comes back."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engines.world import (
    EMBEDDER,
    ChromaServer,
    built,
    chroma_server,
    corpus_of,
    facts_of,
    made_up,
    queries_of,
)
from rankscope.errors import InputError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system

chromadb = pytest.importorskip("chromadb")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ChromaServer]:
    """A server that a test may kill."""
    server = ChromaServer(tmp_path / "server")
    server.start()
    yield server
    server.stop()


def test_it_goes_away_and_comes_back(server: ChromaServer) -> None:
    with built({"chroma": {"url": server.url}}, corpus_of(300)) as system:
        queries = queries_of(300, 3)
        before = fetch(system, queries, depth=5)
        server.stop()
        gone = fetch(system, queries, depth=5, pause=0, retries=1)
        assert {*gone.failures} == {query.query_id for query in queries}
        assert "cannot be reached" in gone.failures["q0"]
        server.start()
        again = fetch(system, queries, depth=5)
        assert again.failures == {}
        assert again.run == before.run


def collection_of_the_user(**client: Any) -> None:
    made = chromadb.HttpClient(**client)
    mine = made.get_or_create_collection(
        "mine", embedding_function=None, configuration={"hnsw": {"space": "l2"}}
    )
    mine.upsert(
        ids=[f"r{number}" for number in range(1, 20)],
        embeddings=made_up(20)[1:],
        metadatas=[
            {"name": f"n{number // 2}", "year": 2000 + number % 2, "ok": number < 15}
            for number in range(1, 20)
        ],
    )
    for part in (made, made._admin_client):
        part._server._session.close()


def test_a_collection_of_the_user() -> None:
    server = chroma_server()
    collection_of_the_user(host="127.0.0.1", port=server.port)
    spec = {"url": server.url, "collection": "mine", "embedder": EMBEDDER, "snapshot": "monday"}
    query = Query("q", "7 of 20", {"year": 2001, "ok": True})
    with build_system({"chroma": spec}) as system:
        (answer,) = system.search([query], 5)
        assert answer.doc_ids[0] == "r7"
        assert answer.scores[0] == pytest.approx(0, abs=1e-5)
        assert answer.scores[1] < -0.1  # of a distance, less is better
        facts = facts_of(system)
        assert (facts.documents, facts.loaded, facts.snapshot) == (19, 0, "monday")
    with build_system({"chroma": {**spec, "id_field": "name"}}) as system:
        (answer,) = system.search([query], 19)
        assert answer.doc_ids[0] == "n3"
        assert len(answer.doc_ids) == 10
    with build_system({"chroma": {**spec, "filters": {"year": "year", "ok": "ok"}}}) as system:
        (answer,) = system.search([query], 19)
        assert {*answer.doc_ids} == {f"r{number}" for number in range(1, 15, 2)}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"collection": "nope"}, "'nope'"),
        ({"collection": "mine", "embedder": "wordllama"}, "length 64"),
        ({"collection": "mine", "id_field": "colour"}, "'colour'"),
        ({"tenant": "nobody"}, "'nobody'"),
    ],
)
def test_collections_that_do_not_fit(options: dict[str, Any], problem: str) -> None:
    server = chroma_server()
    collection_of_the_user(host="127.0.0.1", port=server.port)
    with build_system({"chroma": {"url": server.url, "embedder": EMBEDDER, **options}}) as system:
        system.index(corpus_of(10))
        with pytest.raises(InputError, match=problem):
            fetch(system, queries_of(20, 1))


def test_a_key_is_seen_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    options = {"url": chroma_server().url, "key": "hush-hush", "headers": {"x-more": "psst-psst"}}
    with built({"chroma": {**options, "drop": True}}, corpus_of(30), tmp_path) as system:
        fetched = fetch(system, queries_of(30, 2), store=tmp_path / "store")
        assert fetched.failures == {}
        seen = [repr(system.options), repr(system.identity()), repr(system.facts()), repr(fetched)]
    seen += [caplog.text]
    seen += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    for secret in ("hush-hush", "psst-psst"):
        assert secret not in "".join(seen)
