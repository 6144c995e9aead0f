"""Qdrant as it really runs in a folder, and as a server of its shape."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engines.qdrant_server import QdrantServer, qdrant_server
from engines.world import (
    EMBEDDER,
    assert_same,
    built,
    corpus_of,
    exact_answers,
    facts_of,
    made_up,
    queries_of,
    recall,
    stored_recall,
)
from rankscope.errors import InputError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.remote.loaded_engine import LoadedEngine
from rankscope.retrieval.remote.qdrant import Qdrant

qdrant_client = pytest.importorskip("qdrant_client")

SIZE = 600
CORPUS = corpus_of(SIZE)
QUERIES = queries_of(SIZE)


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    with qdrant_server() as server:
        yield server


def at(server: QdrantServer, **options: Any) -> Qdrant:
    system = built({"qdrant": {"url": server.url, **options}}, CORPUS)
    assert isinstance(system, Qdrant)
    return system


def test_what_the_server_is_told(server: QdrantServer) -> None:
    options: dict[str, Any] = {
        "m": 8,
        "ef_construct": 50,
        "indexing_threshold": 1,
        "full_scan_threshold": 10,
    }
    options |= {"quantisation": "scalar", "quantile": 0.99, "hnsw_ef": 77, "rescore": True}
    server.slow_to_index = 2
    with at(server, **options, oversampling=2.0, filters={"language": "lang"}) as system:
        system.search(queries_of(SIZE, 1, lang="de"), 5)
        facts = facts_of(system)
    ((name, collection),) = server.collections.items()
    assert name == system.index_name
    config = collection["config"]
    assert config["vectors"] == {"size": 64, "distance": "Cosine"}
    assert config["hnsw_config"] == {"m": 8, "ef_construct": 50, "full_scan_threshold": 10}
    assert config["optimizers_config"] == {"indexing_threshold": 1}
    assert config["quantization_config"] == {"scalar": {"type": "int8", "quantile": 0.99}}
    assert collection["indexes"] == {"f0": "keyword"}
    asked = next(body for _, path, body in server.asked if path.endswith("/query"))
    assert asked["params"]["hnsw_ef"] == 77
    quantised = {"ignore": False, **asked["params"]["quantization"]}
    assert quantised == {"ignore": False, "rescore": True, "oversampling": 2.0}
    assert asked["filter"] == {"must": [{"key": "f0", "match": {"any": ["de"]}}]}
    assert facts.version == "1.15.4"
    assert facts.settings["engine"]["hnsw"]["m"] == 8
    assert facts.settings["engine"]["indexed_vectors"] == SIZE


def test_loss_is_split_into_quantisation_and_graph(server: QdrantServer) -> None:
    expected = exact_answers(CORPUS, QUERIES, 10)

    def recalls(**options: Any) -> tuple[float, float]:
        with at(server, **options) as system:
            found = recall(system.search(QUERIES, 10), expected)
            return found, stored_recall(system, QUERIES, expected)

    by_graph, stored = recalls(hnsw_ef=50)
    assert by_graph < stored == 1
    assert by_graph < recalls(hnsw_ef=200)[0]
    assert len(server.collections) == 1  # a sweep over candidates uses one index
    by_graph, stored = recalls(hnsw_ef=50, quantisation="scalar", rescore=False)
    assert by_graph < stored < 1
    with at(server, exact=True, quantisation="scalar") as system:
        assert_same(system.search(QUERIES, 10), expected)


def test_the_key_is_sent_and_seen_nowhere(
    server: QdrantServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.key = "hush-hush"
    with at(server, key="hush-hush", headers={"x-extra": "psst-psst"}) as system:
        server.next_answers = []
        assert fetch(system, QUERIES[:2], store=tmp_path / "store").failures == {}
        server.next_answers = [(500, {})] * 20
        failed = fetch(system, QUERIES[2:3], store=tmp_path / "store", pause=0)
        assert "answered 500" in failed.failures["q2"]
        seen = [repr(system.options), repr(system.identity()), repr(system.facts()), repr(failed)]
    wrong = at(server, key="wrong-key")
    with wrong, pytest.raises(InputError, match="answered 401") as caught:
        fetch(wrong, QUERIES[:1])
    seen += [str(caught.value), caplog.text]
    seen += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    for secret in ("hush-hush", "psst-psst", "wrong-key"):
        assert secret not in "".join(seen)


def test_busy_and_unwell(server: QdrantServer, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("rankscope.retrieval.waiting.Stop.sleep", lambda _, s: waits.append(s))
    with at(server) as system:
        server.next_answers = [(500, {})]
        system.prepare()
        waits.clear()
        server.next_answers = [(429, {"Retry-After": "7"})]
        assert fetch(system, QUERIES[:1], pause=0).failures == {}
        assert sum(waits) > 6, "as long as it asked for"
        server.next_answers = [(503, {})]
        fetched = fetch(system, QUERIES[:1], pause=0)
        assert (fetched.failures, fetched.timings.retried) == ({}, 1)
        server.key = "withdrawn"
        with pytest.raises(InputError, match="answered 401"):
            fetch(system, QUERIES[1:2], pause=0)


def test_it_goes_away_and_comes_back(server: QdrantServer) -> None:
    with at(server, exact=True) as system:
        before = system.search(QUERIES[:3], 5)
        port, collections = server.server_address[1], server.collections
        server.shutdown()
        server.server_close()
        (gone,) = system.search(QUERIES[:1], 5)
        assert gone.error is not None
        assert "cannot be reached" in gone.error
        with qdrant_server(port, collections):
            assert [r.pairs() for r in system.search(QUERIES[:3], 5)] == [r.pairs() for r in before]


def test_a_gap_is_filled(server: QdrantServer) -> None:
    """A batch may have been stored in part, where a server has several shards."""
    with at(server, exact=True) as system:
        system.prepare()
        points = server.collections[system.index_name]["points"]
        for number in [450, *range(500, SIZE)]:
            del points[number]
    with at(server, exact=True) as system:
        assert_same(system.search(QUERIES, 10), exact_answers(CORPUS, QUERIES, 10))
        assert system.loaded == SIZE - 450


def collection_of_the_user(server: QdrantServer, **vectors: Any) -> None:
    points = {
        number: {
            "id": number,
            "vector": made_up(SIZE)[number].tolist(),
            "payload": {"name": f"d{number // 2:05d}", "year": 2000 + number % 2, "ok": True},
        }
        for number in range(1, 200)
    }
    config = {"vectors": {"size": 64, "distance": "Cosine", **vectors}}
    server.collections["mine"] = {"config": config, "points": points, "indexes": {}}


def test_a_collection_of_the_user(server: QdrantServer) -> None:
    collection_of_the_user(server)
    spec = {"url": server.url, "embedder": EMBEDDER, "collection": "mine", "exact": True}
    query = Query("q", f"7 of {SIZE}", {"year": 2001, "ok": True})
    with build_system({"qdrant": {**spec, "snapshot": "monday"}}) as system:
        (answer,) = system.search([query], 5)
        assert answer.doc_ids[0] == "7"
        assert (system.identity().snapshot, system.notes) == ("monday", ())
        facts = facts_of(system)
        assert (facts.documents, facts.loaded, facts.snapshot) == (199, 0, "monday")
    with build_system({"qdrant": {**spec, "id_field": "name"}}) as system:
        system.index(CORPUS)
        assert "has no stated snapshot" in system.notes[0]
        (answer,) = system.search([query], 5)
        assert answer.doc_ids[0] == "d00003"
        assert len({*answer.doc_ids}) == len(answer.doc_ids)
    with build_system({"qdrant": {**spec, "filters": {"year": "year", "ok": "ok"}}}) as system:
        (answer,) = system.search([query], 200)
        assert all(int(doc_id) % 2 for doc_id in answer.doc_ids)
        assert len(answer.doc_ids) == 100
    assert {method for method, path, _ in server.asked if "/points" not in path} == {"GET"}
    for options, problem in (
        ({"collection": "nope"}, "'nope'"),
        ({"embedder": "wordllama"}, "length 64"),
        ({"vector": "title"}, "no named vectors"),
        ({"id_field": "colour"}, "'colour'"),
    ):
        with (
            build_system({"qdrant": {**spec, **options}}) as system,
            pytest.raises(InputError, match=problem),
        ):
            fetch(system, QUERIES[:1])


def test_a_folder_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rankscope.retrieval.remote import engine_folder
    from rankscope.temporary import lock, unlock

    handle = lock(tmp_path)
    if handle is None:
        pytest.skip("there are no locks here")
    monkeypatch.setattr(engine_folder, "PATIENCE", 0.1)
    with built({"qdrant": {"path": str(tmp_path)}}, CORPUS) as system:
        with pytest.raises(InputError, match="in use"):
            system.prepare()
        unlock(handle)
        system.prepare()
        assert isinstance(system, LoadedEngine)
        assert system.loaded == SIZE
