"""The recipe of Chroma, against Chroma's own server."""

from __future__ import annotations

from typing import Any

import pytest
from engines.world import chroma_server

from rankscope.errors import InputError
from rankscope.records.origin import EngineFacts
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system
from remote.engines import DOCUMENTS, Documents, letters, many_letters

httpx = pytest.importorskip("httpx")
chromadb = pytest.importorskip("chromadb")

COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"
QUERIES = [Query("q1", "leek soup"), Query("q2", "bake kale"), Query("q3", "jam")]


@pytest.fixture(scope="module")
def url() -> str:
    """Start the server, and load the documents into a collection."""
    address = chroma_server().url
    load(address)
    return address


def load(address: str) -> None:
    with httpx.Client(base_url=address, trust_env=False) as client:
        made = client.post(
            COLLECTIONS, json={"name": "food", "configuration": {"hnsw": {"space": "cosine"}}}
        )
        made.raise_for_status()
        texts = dict(Documents().texts())
        rows = {
            "ids": list(texts),
            "embeddings": letters(list(texts.values())),
            "metadatas": [{"lang": DOCUMENTS[doc_id]["lang"]} for doc_id in texts],
        }
        client.post(f"{COLLECTIONS}/{made.json()['id']}/add", json=rows).raise_for_status()


def spec(url: str, **options: Any) -> dict[str, Any]:
    table = {"recipe": "chroma", "url": url, "index": "food", "embedder": letters}
    return {"http": {**table, "snapshot": "monday", **options}}


def test_neighbours_are_those_of_the_vectors(url: str) -> None:
    with build_system(spec(url)) as system:
        fetched = fetch(system, QUERIES, depth=4, jobs=2, batch=1)
    assert fetched.failures == {}
    for query in QUERIES:
        best = Documents().by_vector(letters([query.text])[0])[:4]
        ranking = fetched.run[query.query_id]
        assert list(ranking) == [doc_id for doc_id, _ in best]
        for doc_id, cosine in best:
            assert ranking[doc_id] == pytest.approx(cosine - 1, abs=1e-5)  # minus the distance
    [fact] = fetched.facts
    assert isinstance(fact, EngineFacts)
    assert fact.documents == len(DOCUMENTS)
    assert fact.version[0].isdigit()
    assert fact.settings["index_settings"]["hnsw"]["space"] == "cosine"


def test_a_filter(url: str) -> None:
    query = Query("q1", "leek soup", {"lang": "de"})
    plain = Query("q2", "leek soup")
    with build_system(spec(url, variables={"filter": {"lang": "{{metadata.lang?}}"}})) as system:
        filtered, whole = system.search([query, plain], 10)
    vector = letters([query.text])[0]
    assert list(filtered.doc_ids) == [doc for doc, _ in Documents().by_vector(vector, "de")]
    assert len(whole.doc_ids) == len(DOCUMENTS)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"index": "wine"}, "wine"),
        ({"embedder": many_letters}, "dimension of 16, got 17"),
        ({"variables": {"tenant": "nobody"}}, "check url"),
        ({"ids": "hits[*]"}, "leads nowhere"),
    ],
)
def test_what_the_server_refuses(url: str, options: dict[str, Any], text: str) -> None:
    with build_system(spec(url, **options)) as system, pytest.raises(InputError) as caught:
        fetch(system, QUERIES)
    assert text in str(caught.value)
