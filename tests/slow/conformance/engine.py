"""A search engine over HTTP, and a system that asks it: what the protocol must bear.

The engine runs in a thread of this process. Like an approximate index, it finds something for every
query, looks at a part of the documents only, and puts equal scores in another order each time. It
wants a key, and can be told to be busy or slow.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from rankscope import Corpus
from rankscope.retrieval.options import Text
from rankscope.retrieval.protocol import (
    Capabilities,
    Identity,
    Query,
    Ranking,
    RemoteOptions,
    RetryLater,
    Secret,
    System,
    check_depth,
    fingerprint,
    snapshot_of,
    time_limit,
)
from rankscope.retrieval.registry import Context, Entry


class Engine(ThreadingHTTPServer):
    """The engine: documents by the name of an index, and what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Requests)
        self.indexes: dict[str, dict[str, str]] = {}
        self.keys = {"key"}
        self.asked: list[str] = []
        self.busy: list[float] = []
        """For each of the next requests, the seconds it is told to wait."""
        self.numbers = count()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def best(self, index: str, query: str, size: int) -> list[list[Any]]:
        words = set(query.lower().split())
        scored: list[list[Any]] = [
            [doc_id, len(words & set(text.lower().split())) + 0.5]
            for at, (doc_id, text) in enumerate(self.indexes[index].items())
            if text.strip() and (at % 7 or words & set(text.lower().split()))
        ]
        turn = next(self.numbers) % max(len(scored), 1)
        turned = scored[turn:] + scored[:turn]
        return sorted(turned, key=lambda pair: -pair[1])[:size]


class _Requests(BaseHTTPRequestHandler):
    """Answers ``PUT /index`` with documents, and ``POST /index`` with the best of them."""

    server: Engine

    def log_message(self, *_: object) -> None:
        pass

    def do_PUT(self) -> None:
        self.server.indexes[self.path] = self._content()
        self._answer(200, None)

    def do_POST(self) -> None:
        asked = self._content()
        if self.headers["Authorization"] not in self.server.keys:
            self._answer(401, f"the key {self.headers['Authorization']} is wrong")
        elif self.server.busy:
            self._answer(429, "busy", {"Retry-After": str(self.server.busy.pop())})
        else:
            self.server.asked.append(asked["query"])
            self._answer(200, self.server.best(self.path, asked["query"], asked["size"]))

    def _content(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(data).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


class EngineOptions(RemoteOptions):
    """Where the engine is."""

    url: Text
    """The address of the engine."""
    key: Secret
    """The key it asks for."""
    boost: float = 1.0
    """What scores are multiplied with."""


class EngineSystem(System):
    """Asks the engine."""

    batch_size = 4
    capabilities = Capabilities(
        deterministic=False, exact=False, ties="any", concurrent=True, remote=True
    )

    def __init__(self, options: EngineOptions, _: Context) -> None:
        self.options: EngineOptions = options
        self._snapshot, self.notes = snapshot_of(options.snapshot, f"the engine {options.url}")
        self._index = "/none"
        self.closed = 0

    def index(self, corpus: Corpus) -> None:
        texts = {
            document.doc_id: f"{document.title} {document.text}" for document in corpus.documents()
        }
        self._index = f"/{fingerprint(texts)}"
        self._ask("PUT", texts)

    def identity(self) -> Identity:
        return Identity(
            kind="engine",
            name=self.name,
            version="engine 1",
            parameters=self.options.plain(),
            snapshot=self._snapshot,
        )

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        return [self._answer(query, check_depth(depth)) for query in queries]

    def close(self) -> None:
        super().close()
        self.closed += 1

    def _answer(self, query: Query, depth: int) -> Ranking:
        if not query.text.strip():
            return Ranking()
        try:
            pairs = self._ask("POST", {"query": query.text, "size": depth})
        except RetryLater as error:
            return Ranking.failed_by(error)
        scores = tuple(self.options.boost * score for _, score in pairs)
        return Ranking(tuple(doc_id for doc_id, _ in pairs), scores)

    def _ask(self, method: str, data: Any) -> Any:
        headers = {"Authorization": self.options.key.get_secret_value()}
        content = json.dumps(data).encode()
        request = Request(self.options.url + self._index, content, headers, method=method)
        try:
            with urlopen(request, timeout=time_limit()) as answer:
                return json.load(answer)
        except HTTPError as error:
            with error:
                if error.code == 429:
                    raise RetryLater(float(error.headers["Retry-After"])) from error
                raise ConnectionError(f"{error.code}: {json.load(error)}") from error


ENTRY: Entry[System] = Entry("engine", "a search engine over HTTP", EngineOptions, EngineSystem)


@contextmanager
def running() -> Iterator[Engine]:
    """Run an engine, for a while."""
    with Engine() as engine:
        thread = threading.Thread(target=engine.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield engine
        finally:
            engine.shutdown()
            thread.join()
