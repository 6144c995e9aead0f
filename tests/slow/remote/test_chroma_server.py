"""The recipe of Chroma, against Chroma's own server."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rankscope.errors import InputError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system
from rankscope.runs.origin import EngineFacts
from remote.engines import DOCUMENTS, Documents, letters, many_letters

httpx = pytest.importorskip("httpx")
chromadb = pytest.importorskip("chromadb")

COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"
QUERIES = [Query("q1", "leek soup"), Query("q2", "bake kale"), Query("q3", "jam")]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the server, and load the documents into a collection."""
    command = Path(sys.executable).parent / "chroma"
    if not command.exists():
        pytest.skip("the command chroma is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("chroma")
    options = ["run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([command, *options], stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(address, process)
        load(address)
        yield address
    finally:
        process.terminate()
        process.wait(10)


def wait_for(address: str, process: Any) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx.get(f"{address}/api/v2/heartbeat", trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.1)
    pytest.fail("chroma did not start")


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
        ({"index": "wine"}, "answered 404: 'Collection [wine] does not exist'; check url, path"),
        ({"embedder": many_letters}, "dimension of 16, got 17"),
        ({"variables": {"tenant": "nobody"}}, "; check url, path and index"),
        ({"ids": "hits[*]"}, "ids: hits[*] leads nowhere: the answer has ids"),
    ],
)
def test_what_the_server_refuses(url: str, options: dict[str, Any], text: str) -> None:
    with build_system(spec(url, **options)) as system, pytest.raises(InputError) as caught:
        fetch(system, QUERIES)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
