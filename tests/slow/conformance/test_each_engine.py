"""What each engine does its own way: options in its own words, servers with faults, your data."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.qdrant_server import QdrantServer, qdrant_server
from conformance.servers import (
    EMBEDDER,
    ChromaServer,
    assert_same,
    built,
    chroma_server,
    corpus_of,
    exact_answers,
    facts_of,
    made_up,
    queries_of,
    recall,
    stored_recall,
)
from rankscope import Corpus
from rankscope.errors import InputError, MissingExtraError
from rankscope.retrieval.engines import engine_folder
from rankscope.retrieval.engines.compared_exactly import Compared, exactness
from rankscope.retrieval.engines.loaded import LoadedEngine
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query, System
from rankscope.retrieval.registry import build_system
from rankscope.temporary import lock, unlock

SIZE = 600
CORPUS = corpus_of(SIZE)
QUERIES = queries_of(SIZE)
RECIPES = Corpus(
    {
        "d1": {"title": "leek soup", "text": "cut and boil the leeks with potatoes"},
        "d2": {"title": "apple pie", "text": "bake apples; nothing like leek or soup"},
        "d3": {"title": "bread", "text": "knead the dough and bake it, then bake it again"},
    }
)


def measured(system: System, k: int = 10) -> tuple[float, float]:
    """Return the share of exact neighbours that is found, and that is where all is compared."""
    assert isinstance(system, LoadedEngine)
    rows = exactness(system, QUERIES, fetch(system, QUERIES).run, Compared(k, k, 1e-6), "it")
    found = [(row.hits / k, (row.stored_hits or 0) / k) for row in rows.queries]
    hits, stored = np.mean(found, axis=0)
    return float(hits), float(stored)


def seen_of(*things: object, folder: Path, caplog: pytest.LogCaptureFixture) -> str:
    """Return all that somebody could read of a system."""
    written = [path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()]
    return "".join([*map(repr, things), caplog.text, *written])


def ids(system: System, text: str, depth: int = 10, **metadata: Any) -> list[str]:
    (ranking,) = system.search([Query("q", text, metadata)], depth)
    assert ranking.error is None
    return list(ranking.doc_ids)


# --- qdrant --------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    pytest.importorskip("qdrant_client")
    with qdrant_server() as server:
        yield server


def at(server: QdrantServer, **options: Any) -> LoadedEngine:
    system = built({"qdrant": {"url": server.url, **options}}, CORPUS)
    assert isinstance(system, LoadedEngine)
    return system


def test_what_qdrant_is_told(server: QdrantServer) -> None:
    create: Any = {
        "hnsw_config": {"m": 8, "ef_construct": 50},
        "quantization_config": {"scalar": {"type": "int8", "quantile": 0.99}},
    }
    params: Any = {"hnsw_ef": 77, "quantization": {"rescore": True, "oversampling": 2.0}}
    server.slow_to_index = 2
    with at(server, create=create, params=params, filters={"language": "lang"}) as system:
        system.search(queries_of(SIZE, 1, lang="de"), 5)
        facts = facts_of(system)
    ((name, collection),) = server.collections.items()
    assert name == system.index_name
    config = collection["config"]
    assert config["vectors"] == {"size": 64, "distance": "Cosine"}
    assert config["hnsw_config"].items() >= create["hnsw_config"].items()
    assert config["quantization_config"] == create["quantization_config"]
    assert collection["indexes"] == {"f0": "keyword"}
    asked = next(body for _, path, body in server.asked if path.endswith("/query"))
    assert asked["params"]["hnsw_ef"] == 77
    assert asked["params"]["quantization"].items() >= params["quantization"].items()
    assert asked["filter"] == {"must": [{"key": "f0", "match": {"any": ["de"]}}]}
    assert facts.settings["engine"]["indexed_vectors"] == SIZE


def test_loss_is_split_into_quantisation_and_graph(server: QdrantServer) -> None:
    few, many = (at(server, params={"hnsw_ef": ef}) for ef in (50, 200))
    by_graph, stored = measured(few)
    assert by_graph < stored == 1
    assert by_graph < measured(many)[0]
    assert len(server.collections) == 1  # a sweep over candidates uses one index
    quantised = {"quantization_config": {"scalar": {"type": "int8"}}}
    with at(server, create=quantised, params={"hnsw_ef": 50}) as system:
        by_graph, stored = measured(system)
        assert by_graph < stored < 1
    for system in (few, many):
        system.close()


def test_a_key_of_qdrant_is_sent_and_seen_nowhere(
    server: QdrantServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.key = "hush-hush"
    with at(server, key="hush-hush", headers={"x-extra": "psst-psst"}) as system:
        assert fetch(system, QUERIES[:2], store=tmp_path / "store").failures == {}
        server.next_answers = [(500, {})] * 20
        failed = fetch(system, QUERIES[2:3], store=tmp_path / "store", pause=0)
        assert "answered 500" in failed.failures["q2"]
        things = [system.options, system.identity(), system.facts(), failed]
    wrong = at(server, key="wrong-key")
    with wrong, pytest.raises(InputError, match="answered 401") as caught:
        fetch(wrong, QUERIES[:1])
    seen = seen_of(*things, caught.value, folder=tmp_path, caplog=caplog)
    for secret in ("hush-hush", "psst-psst", "wrong-key"):
        assert secret not in seen


def test_qdrant_is_busy_and_unwell(server: QdrantServer, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_qdrant_goes_away_and_comes_back(server: QdrantServer) -> None:
    with at(server, params={"exact": True}) as system:
        before = system.search(QUERIES[:3], 5)
        port, collections = server.server_address[1], server.collections
        server.shutdown()
        server.server_close()
        (gone,) = system.search(QUERIES[:1], 5)
        assert "cannot be reached" in (gone.error or "")
        with qdrant_server(port, collections):
            assert [r.pairs() for r in system.search(QUERIES[:3], 5)] == [r.pairs() for r in before]


def test_a_collection_of_the_user(server: QdrantServer) -> None:
    points = {
        number: {
            "id": number,
            "vector": made_up(SIZE)[number].tolist(),
            "payload": {"name": f"d{number // 2:05d}", "year": 2000 + number % 2, "ok": True},
        }
        for number in range(1, 200)
    }
    config = {"vectors": {"size": 64, "distance": "Cosine"}}
    server.collections["mine"] = {"config": config, "points": points, "indexes": {}}
    spec = {"url": server.url, "embedder": EMBEDDER, "existing": "mine", "params": {"exact": True}}
    query = Query("q", f"7 of {SIZE}", {"year": 2001, "ok": True})
    with build_system({"qdrant": {**spec, "snapshot": "monday"}}) as system:
        (answer,) = system.search([query], 5)
        assert answer.doc_ids[0] == "7"
        assert (system.identity().snapshot, system.notes) == ("monday", ())
        facts = facts_of(system)
        assert (facts.documents, facts.loaded, facts.snapshot) == (199, 0, "monday")
    with build_system({"qdrant": {**spec, "id_field": "name"}}) as system:
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
        ({"existing": "nope"}, "'nope'"),
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
    pytest.importorskip("qdrant_client")
    handle = lock(tmp_path)
    if handle is None:
        pytest.skip("there are no locks here")
    monkeypatch.setattr(engine_folder, "PATIENCE", 0.1)
    with built({"qdrant": {"path": str(tmp_path)}}, CORPUS) as system:
        with pytest.raises(InputError, match="in use"):
            system.prepare()
        unlock(handle)
        system.prepare()


# --- chroma --------------------------------------------------------------------------------------


def test_chroma_goes_away_and_comes_back(tmp_path: Path) -> None:
    pytest.importorskip("chromadb")
    server = ChromaServer(tmp_path / "server")
    server.start()
    with built({"chroma": {"url": server.url}}, corpus_of(300)) as system:
        queries = queries_of(300, 3)
        before = fetch(system, queries, depth=5)
        server.stop()
        gone = fetch(system, queries, depth=5, pause=0, retries=1)
        assert {*gone.failures} == {query.query_id for query in queries}
        assert "cannot be reached" in gone.failures["q0"]
        server.start()
        again = fetch(system, queries, depth=5)
        assert (again.failures, again.run) == ({}, before.run)
    server.stop()


def test_a_collection_of_chroma() -> None:
    chromadb = pytest.importorskip("chromadb")
    server = chroma_server()
    made = chromadb.HttpClient(host="127.0.0.1", port=server.port)
    mine = made.get_or_create_collection(
        "mine", embedding_function=None, configuration={"hnsw": {"space": "l2"}}
    )
    rows = range(1, 20)
    about = [{"name": f"n{n // 2}", "year": 2000 + n % 2, "ok": n < 15} for n in rows]
    mine.upsert(ids=[f"r{n}" for n in rows], embeddings=made_up(20)[1:], metadatas=about)
    for part in (made, made._admin_client):
        part._server._session.close()
    spec = {"url": server.url, "existing": "mine", "embedder": EMBEDDER, "snapshot": "monday"}
    query = Query("q", "7 of 20", {"year": 2001, "ok": True})
    with build_system({"chroma": spec}) as system:
        (answer,) = system.search([query], 5)
        assert answer.doc_ids[0] == "r7"
        assert answer.scores[0] == pytest.approx(0, abs=1e-5)
        assert answer.scores[1] < -0.1  # of a distance, less is better
        assert (facts_of(system).documents, facts_of(system).loaded) == (19, 0)
    with build_system({"chroma": {**spec, "id_field": "name"}}) as system:
        assert ids(system, "7 of 20", 19)[0] == "n3"
    with build_system({"chroma": {**spec, "filters": {"year": "year", "ok": "ok"}}}) as system:
        (answer,) = system.search([query], 19)
        assert {*answer.doc_ids} == {f"r{number}" for number in range(1, 15, 2)}
    for options, problem in (
        ({"existing": "nope"}, "nope"),
        ({"embedder": "wordllama"}, "length 64"),
        ({"id_field": "colour"}, "'colour'"),
        ({"tenant": "nobody"}, "'nobody'"),
    ):
        with (
            build_system({"chroma": {**spec, **options}}) as system,
            pytest.raises(InputError, match=problem),
        ):
            fetch(system, queries_of(20, 1))


def test_a_key_of_chroma_is_seen_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("chromadb")
    caplog.set_level(logging.DEBUG)
    options = {"url": chroma_server().url, "key": "hush-hush", "headers": {"x-more": "psst-psst"}}
    with built({"chroma": {**options, "drop": True}}, corpus_of(30), tmp_path) as system:
        fetched = fetch(system, queries_of(30, 2), store=tmp_path / "store")
        things = [fetched, system.options, system.identity(), system.facts()]
    seen = seen_of(*things, folder=tmp_path, caplog=caplog)
    assert fetched.failures == {}
    assert "hush-hush" not in seen
    assert "psst-psst" not in seen


# --- lancedb -------------------------------------------------------------------------------------


def test_lists_of_lancedb_find_more_the_more_are_searched(tmp_path: Path) -> None:
    pytest.importorskip("lancedb")
    expected, recalls = exact_answers(CORPUS, QUERIES, 10), []
    for nprobes in (1, 4, 32):
        options = {"create": {"IvfFlat": {"num_partitions": 32}}, "params": {"nprobes": nprobes}}
        with built({"lancedb": options}, CORPUS, tmp_path) as system:
            assert isinstance(system, LoadedEngine)
            recalls.append(recall(system.search(QUERIES, 10), expected))
            assert system.loaded == (SIZE if nprobes == 1 else 0)
            assert stored_recall(system, QUERIES, expected) == 1
    assert recalls == sorted(recalls)
    assert recalls[0] < recalls[-1] == 1
    options["params"] = {"bypass_vector_index": True}
    with built({"lancedb": options}, CORPUS, tmp_path) as system:
        assert system.capabilities.exact
        assert_same(system.search(QUERIES, 10), expected)
        assert "IvfFlat" in facts_of(system).settings["engine"]


def test_a_table_of_the_user(tmp_path: Path) -> None:
    lancedb, pyarrow = pytest.importorskip("lancedb"), pytest.importorskip("pyarrow")
    rows, vectors = range(20), made_up(20)
    columns = {
        "name": [f"n{number}" for number in rows],
        "body": [f"soup {number}" for number in rows],
        "year": [2000 + number % 2 for number in rows],
        "tags": [["a", f"t{number % 3}"] for number in rows],
        "vec": pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.ravel()), 64),
    }
    table = lancedb.connect(str(tmp_path)).create_table("mine", pyarrow.table(columns))
    table.create_index("body", config=lancedb.index.FTS())
    place: dict[str, Any] = {"path": str(tmp_path), "existing": "mine", "id_field": "name"}
    filters = {"snapshot": "monday", "filters": {"year": "year", "tags": "tag"}}
    query = Query("q", "near soup 7 of 20", {"year": 2001, "tag": ["t1", "t2"]})
    for way in ("text", "vector"):
        embedding = {} if way == "text" else {"embedder": EMBEDDER}
        with build_system({"lancedb": {**place, **filters, **embedding, "search": way}}) as system:
            (answer,) = system.search([query], 20)
            assert {*answer.doc_ids} == {f"n{n}" for n in rows if n % 2 and n % 3}
            assert (facts_of(system).documents, facts_of(system).loaded) == (20, 0)
    for options, problem in (
        ({"existing": "nope"}, "'nope'"),
        ({"id_field": "nope"}, "'nope'"),
        ({"embedder": "wordllama"}, "length 64"),
        ({"filters": {"x": "x"}}, "no column 'x'"),
        ({"search": "text", "field": "name"}, "full-text index"),
        ({"path": "/nowhere/at/all"}, "is path right"),
    ):
        embedding = {} if "search" in options else {"embedder": EMBEDDER}
        with (
            build_system({"lancedb": {**place, **embedding, **options}}) as system,
            pytest.raises(InputError, match=problem),
        ):
            fetch(system, QUERIES[:1])


# --- sqlite --------------------------------------------------------------------------------------


def of_recipes(corpus: Corpus = RECIPES, **options: Any) -> System:
    system = build_system({"sqlite": options})
    system.index(corpus)
    return system


def test_what_matches_in_sqlite() -> None:
    assert set(ids(of_recipes(), "how do I bake leek bread")) == {"d1", "d2", "d3"}
    assert set(ids(of_recipes(match="all"), "leek soup")) == {"d1", "d2"}
    assert ids(of_recipes(match="all"), "leek bread") == []
    assert ids(of_recipes(), "potato") == []
    assert ids(of_recipes(create={"tokenize": "porter unicode61"}), "potato") == ["d1"]
    assert ids(of_recipes(create={"tokenize": "trigram"}), "otato") == ["d1"]
    assert ids(of_recipes(create={"tokenize": "trigram"}), "it") == []  # shorter than any part


def test_scores_are_those_of_fts5() -> None:
    sqlite3 = pytest.importorskip("sqlite3")
    connected = sqlite3.connect(":memory:")
    connected.execute("CREATE VIRTUAL TABLE t USING fts5(title, text)")
    for document in reversed([*RECIPES.documents()]):
        connected.execute("INSERT INTO t VALUES (:title, :text)", dict(document.fields))
    expected = connected.execute(
        "SELECT -bm25(t, 3.0, 1.0) FROM t WHERE t MATCH 'leek OR soup' ORDER BY 1 DESC"
    ).fetchall()
    connected.close()
    system = of_recipes(fields={"title": 3, "text": 1})
    (ranking,) = system.search([Query("q", "leek soup")], 10)
    assert ranking.scores == pytest.approx([score for (score,) in expected])
    assert ranking.doc_ids == ("d1", "d2")


def test_one_folder_holds_many_indexes(tmp_path: Path) -> None:
    place = str(tmp_path / "here")
    other = of_recipes(Corpus({"x": {"text": "leek"}}), path=place)
    with of_recipes(path=place, params={"cache_size": -4000}) as words, other:
        assert set(ids(words, "leek soup")) == {"d1", "d2"}
        assert ids(other, "leek") == ["x"]
        assert "path" not in words.identity().parameters
    assert len(list((tmp_path / "here").iterdir())) == 2
    for file in (tmp_path / "here").iterdir():
        file.write_text("this is no database, but long enough to be looked at")
    with pytest.raises(InputError, match="file is not a database"):
        fetch(of_recipes(path=place), {f"q{n}": "leek" for n in range(5)})
    with pytest.raises(InputError, match="no document has the field 'nothing'"):
        of_recipes(filters={"nothing": "x"}).prepare()


def test_vectors_need_a_library_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apsw", None)
    assert ids(of_recipes(), "knead") == ["d3"]  # words need nothing
    with pytest.raises(MissingExtraError, match=r"rankscope\[sqlite\]"):
        build_system({"sqlite": {"search": "vector"}})
