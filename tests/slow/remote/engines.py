"""A stand-in for Elasticsearch: it answers, in a thread, in the documented shape.

It refuses what the engine refuses: another path or method, a missing key. What it finds is real:
words counted in texts, or the angle between vectors of letters.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

LETTERS = "abcdefghijklmnop"

DOCUMENTS: dict[str, dict[str, Any]] = {
    f"doc-{n}": {
        "title": title,
        "text": f"{title} {text}",
        "lang": lang,
    }
    for n, (title, text, lang) in enumerate(
        [
            ("leek soup", "slice the leek and boil it in a big pot with salt", "en"),
            ("apple pie", "bake the apples under a lid of dough", "en"),
            ("soup", "any soup needs a pot", "de"),
            ("bread", "flour and water and salt and time", "en"),
            ("leek", "a leek is an onion that grew up", "fr"),
            ("kale chips", "bake kale with oil and salt until it is crisp", "de"),
        ]
    )
}


def letters(texts: list[str]) -> list[list[float]]:
    """Embed texts by the letters they have."""
    return [[float(text.lower().count(letter)) for letter in LETTERS] for text in texts]


def many_letters(texts: list[str]) -> list[list[float]]:
    """Embed texts in a space of another size."""
    return [[*vector, 1.0] for vector in letters(texts)]


Hits = list[tuple[str, float]]


@dataclass
class Documents:
    """What a stand-in searches."""

    documents: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: DOCUMENTS)

    def texts(self) -> Iterator[tuple[str, str]]:
        for doc_id, fields in self.documents.items():
            yield doc_id, f"{fields.get('title', '')} {fields.get('text', '')}".lower()

    def by_words(self, query: str, lang: str | None = None) -> Hits:
        words = query.lower().split()
        hits = []
        for doc_id, text in self.texts():
            held = text.split()
            count = sum(held.count(word) for word in words)
            if count and lang in (None, self.documents[doc_id].get("lang")):
                hits.append((doc_id, round(count / (10 + len(held)), 9)))
        return sorted(hits, key=lambda hit: -hit[1])

    def by_vector(self, vector: list[float], lang: str | None = None) -> Hits:
        hits = []
        for doc_id, text in self.texts():
            own = letters([text])[0]
            lengths = math.hypot(*vector) * math.hypot(*own)
            if lengths and lang in (None, self.documents[doc_id].get("lang")):
                dot = sum(a * b for a, b in zip(vector, own, strict=True))
                hits.append((doc_id, round(dot / lengths, 9)))
        return sorted(hits, key=lambda hit: -hit[1])


@dataclass
class Asked:
    """A request as it arrived; the names of headers in lower case."""

    method: str
    path: str
    params: dict[str, list[str]]
    headers: Mapping[str, str]
    body: Any


class RefusedError(Exception):
    """What an engine does not answer: its status and what it says."""

    def __init__(self, status: int, data: Any) -> None:
        self.status, self.data = status, data
        super().__init__(str(status))


class StandIn(ThreadingHTTPServer):
    """A server in a thread; subclasses say how an engine answers."""

    daemon_threads = True
    request_queue_size = 128
    index = "food"
    key = ("Authorization", "")

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Requests)
        self.documents = Documents()
        self.asked: list[Asked] = []
        self.busy: list[tuple[int, dict[str, str]]] = []
        """For each of the next searches, a status and headers to answer with instead."""
        self.lasts = math.inf
        """After so many searches it goes away: every connection is broken off."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def is_search(self, asked: Asked) -> bool:
        """Tell whether a request is a search, rather than a question about the engine."""
        return "search" in asked.path

    def searches(self) -> list[Asked]:
        return [asked for asked in self.asked if self.is_search(asked)]

    def written(self, data: Any) -> bytes:
        return b"" if data is None else json.dumps(data).encode()

    def no_key(self) -> RefusedError:
        return RefusedError(401, {"error": {"reason": "missing authentication credentials"}})

    def answer(self, asked: Asked) -> Any:
        raise NotImplementedError

    def checked(self, asked: Asked) -> Any:
        name, value = self.key
        if value and asked.headers.get(name.lower()) != value:
            raise self.no_key()
        if asked.method == "POST":
            assert asked.headers.get("content-type") == "application/json"
        return self.answer(asked)


class _Requests(BaseHTTPRequestHandler):
    server: StandIn
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one packet

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._respond("GET")

    def do_POST(self) -> None:
        self._respond("POST")

    def _respond(self, method: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        content = self.rfile.read(length)
        parts = urlsplit(self.path)
        asked = Asked(
            method,
            unquote(parts.path),
            parse_qs(parts.query, keep_blank_values=True),
            {name.lower(): value for name, value in self.headers.items()},
            json.loads(content) if content else None,
        )
        if self.server.is_search(asked) and len(self.server.searches()) >= self.server.lasts:
            self.close_connection = True
            return
        self.server.asked.append(asked)
        if self.server.busy and self.server.is_search(asked):
            status, headers = self.server.busy.pop(0)
            self._send(status, {"message": "busy"}, headers)
            return
        try:
            self._send(200, self.server.checked(asked))
        except RefusedError as error:
            self._send(error.status, error.data)
        except (KeyError, TypeError, ValueError, AssertionError) as error:
            self._send(400, {"message": f"malformed request: {error!r}"})

    def _send(self, status: int, data: Any, headers: Mapping[str, str] | None = None) -> None:
        content = self.server.written(data)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


class Elasticsearch(StandIn):
    key = ("Authorization", "ApiKey hush-elastic")

    def no_key(self) -> RefusedError:
        cause = {"type": "security_exception", "reason": "unable to authenticate with API key"}
        return RefusedError(401, {"error": {"root_cause": [cause], **cause}, "status": 401})

    def answer(self, asked: Asked) -> Any:
        if (asked.method, asked.path) == ("GET", "/"):
            return {"name": "node-1", "version": {"number": "9.1.0"}, "tagline": "You Know"}
        index, _, what = asked.path.removeprefix("/").partition("/")
        if index != self.index:
            reason = {"type": "index_not_found_exception", "reason": f"no such index [{index}]"}
            raise RefusedError(404, {"error": {"root_cause": [reason], **reason}, "status": 404})
        if (asked.method, what) == ("GET", "_count"):
            return {"count": len(self.documents.documents), "_shards": {"total": 1, "failed": 0}}
        if (asked.method, what) == ("GET", "_settings"):
            return {self.index: {"settings": {"index": {"number_of_shards": "1"}}}}
        if (asked.method, what) != ("POST", "_search"):
            raise RefusedError(405, {"error": f"Incorrect HTTP method for uri [{asked.path}]"})
        hits = self.hits(asked.body)[: asked.body["size"]]
        return {
            "took": 1,
            "timed_out": False,
            "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
            "hits": {
                "total": {"value": len(self.hits(asked.body)), "relation": "eq"},
                "max_score": hits[0][1] if hits else None,
                "hits": [{"_index": index, "_id": id_, "_score": score} for id_, score in hits],
            },
        }

    def hits(self, body: Any) -> Hits:
        if "knn" in body:
            knn = body["knn"]
            assert knn["field"] == "vector"
            found = self.near(knn["query_vector"], self.term(knn))[: knn["k"]]
            return [(doc_id, (1 + cosine) / 2) for doc_id, cosine in found]
        clauses = body["query"]["bool"]
        [must] = clauses["must"]
        return self.documents.by_words(must["multi_match"]["query"], self.term(clauses))

    def term(self, clause: Any) -> str | None:
        [filtered] = clause.get("filter") or [None]
        return None if filtered is None else str(filtered["term"]["lang"])

    def near(self, vector: list[float], lang: str | None) -> Hits:
        if len(vector) != len(LETTERS):
            reason = (
                f"the query vector has a different dimension [{len(vector)}] than the index "
                f"vectors [{len(LETTERS)}]"
            )
            cause = {"type": "query_shard_exception", "reason": reason}
            error = {
                "root_cause": [cause],
                "type": "search_phase_execution_exception",
                "reason": "all shards failed",
            }
            raise RefusedError(400, {"error": error, "status": 400})
        return self.documents.by_vector(vector, lang)


@contextmanager
def running(server: StandIn) -> Iterator[StandIn]:
    """Let a stand-in answer, for a while."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Shared(Elasticsearch):
    """Holds an index for each corpus, and asks for no key."""

    key = ("Authorization", "")

    def __init__(self) -> None:
        super().__init__()
        self.indexes: dict[str, Documents] = {}

    def answer(self, asked: Asked) -> Any:
        engine = Elasticsearch.__new__(Elasticsearch)
        name = asked.path.split("/")[1]
        engine.index = name if name in self.indexes else ""
        engine.documents = self.indexes.get(name, Documents({}))
        return engine.answer(asked)


_SHARED: list[_Shared] = []


def served(index: str, documents: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the address of an Elasticsearch that has these documents, as long as tests run."""
    if not _SHARED:
        _SHARED.append(_Shared())
        threading.Thread(target=_SHARED[0].serve_forever, daemon=True).start()
    _SHARED[0].indexes[index] = Documents(documents)
    return _SHARED[0].url


def options_of(server: StandIn, **options: Any) -> dict[str, Any]:
    """Return a spec of the system http that asks a stand-in."""
    name, value = server.key
    table: dict[str, Any] = {
        "recipe": "elasticsearch",
        "url": server.url,
        "index": server.index,
        "headers": {name: value},
        "snapshot": "monday",
    }
    return {"http": {**table, **options}}
