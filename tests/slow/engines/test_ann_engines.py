"""What qdrant, lancedb and chroma have in common, each as it really runs."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engines.ann_world import (
    assert_same,
    built,
    chroma_server,
    corpus_of,
    exact_answers,
    queries_of,
    recall,
    shared_qdrant,
)
from rankscope.errors import InputError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.options import SpecError
from rankscope.retrieval.protocol import Query, System
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.remote.filters import passes, texts_of
from rankscope.retrieval.remote.loaded_engine import Batch, LoadedEngine
from rankscope.runs.origin import EngineFacts

SPECS: dict[str, Any] = {
    "qdrant": ("qdrant_client", lambda: {"qdrant": {}}),
    "qdrant-server": (
        "qdrant_client",
        lambda: {"qdrant": {"url": shared_qdrant().url, "exact": True}},
    ),
    "lancedb": ("lancedb", lambda: {"lancedb": {}}),
    "chroma": ("chromadb", lambda: {"chroma": {}}),
    "chroma-server": ("chromadb", lambda: {"chroma": {"url": chroma_server().url}}),
}
EXACT = ("qdrant", "qdrant-server", "lancedb")
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


def test_the_same_as_comparing_every_vector(name: str, system: System) -> None:
    queries = queries_of(SIZE)
    answers, expected = system.search(queries, 10), exact_answers(CORPUS, queries, 10)
    if name in EXACT:
        assert system.capabilities.exact
        assert_same(answers, expected)
    else:
        assert not system.capabilities.exact
        assert not system.capabilities.deterministic
        assert recall(answers, expected) > 0.9
        for answer, wanted in zip(answers, expected, strict=True):
            known = dict(wanted.pairs())
            for doc_id, score in answer.pairs():
                assert score == pytest.approx(known.get(doc_id, score), abs=1e-5)
    deep = system.search(queries[:1], SIZE)[0]
    assert "d00000" not in deep.doc_ids  # it has no direction
    if name in EXACT:
        assert len(deep.doc_ids) == SIZE - 1


def test_equal_documents_are_cut_by_id(name: str, spec: dict[str, Any]) -> None:
    if name not in EXACT:
        return
    with built(with_options(spec, drop=True), CORPUS) as system:
        for depth in (1, 2, 3):
            (answer,) = system.search([Query("q", f"2 of {SIZE}")], depth)
            assert list(answer.doc_ids) == ["d00004", "d00003", "d00002"][:depth]


def test_what_is_recorded(name: str, system: System) -> None:
    (facts,) = fetch(system, queries_of(SIZE, 3), depth=5).facts
    assert isinstance(facts, EngineFacts)
    assert facts.engine == name.partition("-")[0]
    assert facts.version.partition(" ")[2] or facts.version == "1.15.4"
    assert facts.documents in (SIZE, SIZE - 1)
    assert facts.loaded == SIZE
    assert facts.snapshot == system.identity().snapshot
    assert facts.settings["search"] == "vector"
    json.dumps(facts.settings)


def test_several_threads_give_the_same_answers(name: str, system: System) -> None:
    queries = queries_of(SIZE, 40)
    alone = fetch(system, queries, depth=10, batch=2)
    together = fetch(system, queries, depth=10, batch=2, jobs=4)
    assert alone.failures == together.failures == {}
    if name in EXACT:
        assert together.run == alone.run
    else:
        for query in queries:
            shared = {*together.run[query.query_id]} & {*alone.run[query.query_id]}
            assert len(shared) >= 8


@pytest.mark.parametrize(
    "metadata",
    [
        {"lang": "de"},
        {"lang": ["de", "en"], "tag": "t3"},
        {"tag": ['it\'s "odd"; DROP', "t1"], "when": 2001},
        {"tag": "x" * 5000},
        {"tag": []},
        {"tag": "') OR 1=1 --"},
        {"tag": "\x00`$}{"},
        {},
    ],
)
def test_filters(name: str, spec: dict[str, Any], metadata: dict[str, Any], tmp_path: Path) -> None:
    filters = {"language": "lang", "tags": "tag", "year": "when"}
    wanted = {
        field: texts_of(metadata[source]) for field, source in filters.items() if source in metadata
    }
    expected = {
        document.doc_id
        for document in CORPUS.documents()
        if document.doc_id != "d00000"
        and passes({field: texts_of(document.fields[field]) for field in filters}, wanted)
    }
    with built(with_options(spec, filters=filters), CORPUS, tmp_path) as system:
        (answer,) = system.search(queries_of(SIZE, 1, **metadata), SIZE)
    assert answer.error is None
    assert {*answer.doc_ids} <= expected
    if name in EXACT:
        assert {*answer.doc_ids} == expected
    else:
        assert len(answer.doc_ids) >= 0.9 * len(expected)


def test_a_filter_on_a_field_that_is_not_there(spec: dict[str, Any]) -> None:
    with (
        pytest.raises(InputError, match="no document has the field 'colour'"),
        built(with_options(spec, filters={"colour": "colour"}), CORPUS) as system,
    ):
        system.prepare()


def test_a_load_that_broke_off_goes_on(
    spec: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = queries_of(SIZE)
    options = with_options(spec, batch=100, index=f"broken-{tmp_path.name}")
    first = built(options, CORPUS, tmp_path)
    assert isinstance(first, LoadedEngine)
    add = first.add

    def breaks(batch: Batch) -> None:
        if batch.first == 300:
            raise ConnectionResetError("gone")
        add(batch)

    monkeypatch.setattr(first, "add", breaks)
    with pytest.raises(InputError, match=r"could not be loaded to the end \(300 documents are"):
        first.prepare()
    first.close()
    with built(options, CORPUS, tmp_path) as again:
        answers = again.search(queries, 10)
        assert isinstance(again, LoadedEngine)
        assert again.loaded == SIZE - 300
        assert again.count() in (SIZE, SIZE - 1)
    with built(with_options(spec, drop=True, batch=100), CORPUS) as whole:
        if whole.capabilities.exact:
            assert [answer.pairs() for answer in whole.search(queries, 10)] == [
                answer.pairs() for answer in answers
            ]
    with built(with_options(options, drop=True), CORPUS, tmp_path) as third:
        third.prepare()
        assert isinstance(third, LoadedEngine)
        assert third.loaded == 0


def test_an_index_that_holds_something_else(spec: dict[str, Any], tmp_path: Path) -> None:
    options = with_options(spec, index=f"mine-{tmp_path.name}")
    with built(options, corpus_of(20), tmp_path) as system:
        system.prepare()
    other = built(options, corpus_of(30), tmp_path)
    with other, pytest.raises(InputError, match="is there already and holds something else"):
        other.prepare()
    with built(with_options(options, drop=True), corpus_of(20), tmp_path) as system:
        system.prepare()
        assert isinstance(system, LoadedEngine)
        assert system.loaded == 0


def test_dropping_takes_the_index_away(spec: dict[str, Any], tmp_path: Path) -> None:
    for _ in range(2):
        with built(with_options(spec, drop=True), corpus_of(20), tmp_path) as system:
            system.prepare()
            assert isinstance(system, LoadedEngine)
            assert system.loaded == 20


def test_two_systems_share_a_folder(spec: dict[str, Any], tmp_path: Path) -> None:
    queries = queries_of(20, 3)
    with (
        built(spec, corpus_of(20), tmp_path) as first,
        built(spec, corpus_of(20), tmp_path) as second,
    ):
        answers = [[r.doc_ids for r in system.search(queries, 5)] for system in (first, second)]
        assert answers[0] == answers[1]
        first.close()
        assert second.search(queries, 5)[0].error is None


def test_copies_are_built_beside_the_first_and_dropped(
    spec: dict[str, Any], tmp_path: Path
) -> None:
    queries, corpus = queries_of(20, 3), corpus_of(20)
    for index in (f"mine-{tmp_path.name}", None):
        options = with_options(spec, index=index)
        with built(options, corpus, tmp_path) as first:
            expected = [answer.doc_ids[0] for answer in first.search(queries, 5)]
            there = sorted((tmp_path / "engines").glob("*"))
            for attempt in (1, 2):
                again = {"attempt": attempt, "rebuild": True}
                with (
                    built(options, corpus, tmp_path, **again) as copy,
                    built(options, corpus, tmp_path, **again) as same,
                ):
                    assert isinstance(first, LoadedEngine)
                    assert isinstance(copy, LoadedEngine)
                    assert isinstance(same, LoadedEngine)
                    assert copy.index_name != first.index_name
                    if index is not None:
                        assert copy.index_name == f"{index}-{attempt + 1}"
                    for system in (copy, same):
                        answers = system.search(queries, 5)
                        assert [answer.doc_ids[0] for answer in answers] == expected
                    assert (copy.loaded, same.loaded) == (20, 0)
                assert sorted((tmp_path / "engines").glob("*")) == there
                with built(options, corpus, tmp_path, **again) as gone:
                    assert isinstance(gone, LoadedEngine)
                    gone.prepare()
                    assert gone.loaded == 20
            assert first.search(queries, 5)[0].error is None
        with built(with_options(options, drop=True), corpus, tmp_path) as unasked:
            pass
        assert not list((tmp_path / "engines").glob("*"))
        assert isinstance(unasked, LoadedEngine)
        assert unasked.loaded == 0
        with built(options, corpus, tmp_path) as anew:
            anew.prepare()
            assert isinstance(anew, LoadedEngine)
            assert anew.loaded == 20
        with built(with_options(options, drop=True), corpus, tmp_path):
            pass


def test_dropping_what_is_not_there_makes_nothing(spec: dict[str, Any], tmp_path: Path) -> None:
    place = {} if any("url" in options for options in spec.values()) else {"path": "here"}
    for options in ({}, place):
        with built(
            with_options(spec, drop=True, **options), corpus_of(20), tmp_path, folder=tmp_path
        ):
            pass
    assert not list(tmp_path.iterdir())


def test_ids_with_odd_characters(spec: dict[str, Any], tmp_path: Path) -> None:
    ids = ["a b", "日本/x", "it's", '"q"', "a\\b", "é", "e\u0301", "x" * 3000, "$[0]#?", "\u2028n"]
    from rankscope import Corpus

    corpus = Corpus({doc_id: {"text": f"{at + 5} of 20"} for at, doc_id in enumerate(ids)})
    with built(with_options(spec, drop=True), corpus, tmp_path) as system:
        (answer,) = system.search([Query("q", "7 of 20")], 20)
    assert {*answer.doc_ids} == {*ids}
    assert answer.doc_ids[0] == "it's"


LOADS = """
import sys
sys.path[:0] = {path!r}
from pathlib import Path
from engines import ann_world
from rankscope.retrieval.remote.loaded_engine import LoadedEngine
system = ann_world.built({spec!r}, ann_world.corpus_of({size}), Path({cache!r}))
add = type(system).add
def slow(self, batch):
    add(self, batch)
    print(batch.first, flush=True)
type(system).add = slow
system.prepare()
print("ready", system.loaded, flush=True)
"""


def loader(spec: dict[str, Any], cache: Path) -> subprocess.Popen[str]:
    code = LOADS.format(path=sys.path, spec=spec, size=SIZE, cache=str(cache))
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


IN_PROCESSES = pytest.mark.parametrize(
    "name", ["qdrant", "lancedb", "chroma-server"], indirect=True
)
"""One of each; a process takes a second to begin."""


@IN_PROCESSES
def test_killed_while_it_loads(spec: dict[str, Any], tmp_path: Path) -> None:
    options = with_options(spec, batch=50, index=f"killed-{tmp_path.name}")
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
        assert 0 < system.loaded <= SIZE - 150
        assert system.count() in (SIZE, SIZE - 1)
        if system.capabilities.exact:
            assert_same(answers, exact_answers(CORPUS, queries, 10))


@IN_PROCESSES
def test_two_processes_load_the_same(spec: dict[str, Any], tmp_path: Path) -> None:
    options = with_options(spec, batch=50, index=f"twice-{tmp_path.name}")
    processes = [loader(options, tmp_path) for _ in range(2)]
    loaded = []
    for process in processes:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        loaded.append(int(output.split()[-1]))
    assert sum(loaded) >= SIZE
    with built(with_options(options, drop=True), CORPUS, tmp_path) as system:
        system.prepare()
        assert isinstance(system, LoadedEngine)
        assert (system.loaded, system.count()) in ((0, SIZE), (0, SIZE - 1))


@IN_PROCESSES
def test_nobody_else_is_called(name: str, tmp_path: Path) -> None:
    """With no way out but to this machine, all of it works, and no attempt is made."""
    spec = SPECS[name][1]()
    code = """
        import socket, sys, logging
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
    body = LOADS.format(path=sys.path, spec=spec, size=30, cache=str(tmp_path))
    body += "system.search(ann_world.queries_of(30, 3), 3)\nsystem.close()\nimport time\n"
    body += "time.sleep(0.2)\nprint('tried', tried)\n"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code) + body],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "HTTP_PROXY": "", "http_proxy": ""},
    )
    assert run.stdout.splitlines()[-1] == "tried []", run.stderr
    assert run.stderr == ""


def test_a_folder_that_is_a_file(name: str, tmp_path: Path) -> None:
    if "server" in name:
        return
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(InputError, match="is a file, where a folder is needed"),
        built({name: {"path": str(tmp_path / "file")}}, CORPUS) as system,
    ):
        system.prepare()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"snapshot": "monday"}, r"snapshot is about the option (collection|table); give both"),
        ({"index": "../../x"}, r"index: expected 3 to 200 letters, digits"),
        ({"index": "x"}, r"index: expected 3 to 200 letters, digits"),
        ({"search": "magic"}, r"search: "),
    ],
)
def test_options_that_do_not_fit(name: str, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(SpecError, match=problem):
        build_system({name.partition("-")[0]: options})


SERVED = ("qdrant", "chroma")


@pytest.mark.parametrize("engine", SERVED)
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"url": "localhost:6333"}, "expected an address such as"),
        ({"url": "http://me:secret@localhost"}, "the address holds a user or password"),
        ({"url": "http://localhost", "path": "x"}, "give either path, a folder, or url, a server"),
        ({"key": "x"}, "key and headers are for a server; give its url"),
        ({"collection": "a", "index": "abc"}, "give either collection, .* or index"),
        ({"collection": "a", "drop": True}, "drop is for an index that is made"),
    ],
)
def test_addresses_that_do_not_fit(engine: str, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(SpecError, match=problem) as caught:
        build_system({engine: options})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("engine", SERVED)
def test_nothing_answers(engine: str) -> None:
    pytest.importorskip({"qdrant": "qdrant_client", "chroma": "chromadb"}[engine])
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with (
            built({engine: {"url": url}}, CORPUS) as system,
            pytest.raises(InputError, match=r"nothing answers at 127\.0\.0\.1:.*is the url right"),
        ):
            system.prepare()


@pytest.mark.parametrize(("engine", "other"), [("qdrant", "chroma"), ("chroma", "qdrant")])
def test_something_else_answers(engine: str, other: str) -> None:
    pytest.importorskip("chromadb")
    pytest.importorskip("qdrant_client")
    url = (chroma_server() if other == "chroma" else shared_qdrant()).url
    with built({engine: {"url": url}}, CORPUS) as system:
        with pytest.raises(InputError, match=r"is the url right") as caught:
            system.prepare()
        assert len(str(caught.value)) < 250


def test_progress_is_reported(spec: dict[str, Any], tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with built(with_options(spec, batch=200, drop=True), CORPUS, tmp_path) as system:
        fetch(system, queries_of(SIZE, 1), indexing=lambda done, total: seen.append((done, total)))
    assert seen[-3:] == [(200, SIZE), (400, SIZE), (SIZE, SIZE)]


def test_nothing_is_logged_but_what_is_meant(
    spec: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    began = time.monotonic()
    with built(with_options(spec, drop=True), corpus_of(20), tmp_path) as system:
        system.search(queries_of(20, 2), 5)
    assert caplog.text == ""
    assert time.monotonic() - began < 30
