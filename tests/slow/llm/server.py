"""A language model over HTTP, as an OpenAI-compatible endpoint has it, with scripted faults.

It runs in a thread of this process. Its model is honest and simple: a document is as good as it
has words of the query. It reads the prompts that it is sent, and answers in the form that they ask
for. Before that it does what its script says: fail, hang, drip, lie.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

QUERY = re.compile(r"^<query>\n(.*?)\n</query>$", re.DOTALL | re.MULTILINE)
DOCUMENT = re.compile(r'^<document id="(\d+)">\n(.*?)\n</document>$', re.DOTALL | re.MULTILINE)

Fault = Callable[["Requests", dict[str, Any]], bool]
"""Does something to a request; True if that was all, else it is answered as usual."""


class Server(ThreadingHTTPServer):
    """The endpoint: what it was sent, and what it does next."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Requests)
        self.calm()

    def calm(self) -> None:
        """Forget everything."""
        self.key: str | None = None
        self.model = "small"
        self.sent: list[dict[str, Any]] = []
        """The bodies of all requests."""
        self.times: list[float] = []
        self.faults: list[Fault] = []
        """What happens to the next requests, one each."""
        self.always: Fault | None = None
        """What happens to every request without a fault of its own."""
        self.answer: Callable[[dict[str, Any]], str] = honest
        self.usage: dict[str, int] | None = {"prompt_tokens": 100, "completion_tokens": 10}
        self.dimensions = 16
        self.lock = threading.Lock()
        self.at_once = 0
        self.most_at_once = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, *_: Any) -> None:
        """Say nothing about clients that hang up."""


class Requests(BaseHTTPRequestHandler):
    """Answers ``POST /v1/chat/completions`` and ``POST /v1/embeddings``."""

    server: Server
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.sent.append(body)
            server.times.append(time.monotonic())
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
            fault = server.faults.pop(0) if server.faults else server.always
        try:
            self._respond(body, fault)
        finally:
            with server.lock:
                server.at_once -= 1

    def _respond(self, body: dict[str, Any], fault: Fault | None) -> None:
        server = self.server
        if fault is not None and fault(self, body):
            return
        key = self.headers["Authorization"]
        if server.key is not None and key != f"Bearer {server.key}":
            self.error(401, f"Incorrect API key provided: {key}")
        elif self.path.partition("?")[0] not in ("/v1/chat/completions", "/v1/embeddings"):
            self.error(404, "Not Found")
        elif body["model"] != server.model:
            self.error(404, f"The model `{body['model']}` does not exist")
        elif "embeddings" in self.path:
            self.send(200, embeddings(body, server))
        else:
            self.say(server.answer(body))

    def say(self, content: str | None, finish: str = "stop", **more: Any) -> bool:
        message = {"role": "assistant", "content": content, **more}
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = self.server.usage
        data = {"choices": [choice], **({} if usage is None else {"usage": usage})}
        return self.send(200, data)

    def error(self, status: int, text: str, **headers: str) -> bool:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send(status, {"error": {"message": text, "code": status}}, named)

    def send(self, status: int, data: Any, headers: dict[str, str] | None = None) -> bool:
        content = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        return True


# --- an honest model -----------------------------------------------------------------------------


def honest(body: dict[str, Any]) -> str:
    """Answer by the number of words that query and document share."""
    text = next(m["content"] for m in body["messages"] if m["role"] == "user")
    form = text[text.rindex("\n{") :]
    query = QUERY.findall(text)[0].lower().split()
    documents = {int(number): words.lower().split() for number, words in DOCUMENT.findall(text)}
    shared = {number: sum(word in words for word in query) for number, words in documents.items()}
    if "ranking" in form:
        answer: Any = {"ranking": sorted(shared, key=lambda number: (-shared[number], number))}
    elif "grades" in form:
        rows = [{"document": number, "grade": min(3, count)} for number, count in shared.items()]
        answer = {"grades": rows}
    elif "keywords" in form:
        answer = {"keywords": sorted(query, key=len)[-1:]}
    elif "terms" in form:
        answer = {"terms": ["number", "bowl"]}
    else:
        answer = {"passage": f"A number of things about {' '.join(query)}."}
    return json.dumps(answer)


def embeddings(body: dict[str, Any], server: Server) -> dict[str, Any]:
    size = body.get("dimensions", server.dimensions)
    letters = "abcdefghijklmnopqrstuvwxyz"[:size]
    rows = [
        {"index": at, "embedding": [float(text.lower().count(letter)) + 0.5 for letter in letters]}
        for at, text in enumerate(body["input"])
    ]
    return {"data": rows[::-1], "usage": {"prompt_tokens": 7, "total_tokens": 7}}


# --- faults --------------------------------------------------------------------------------------


def status(code: int, text: str = "no", **headers: str) -> Fault:
    return lambda request, _: request.error(code, text, **headers)


def says(content: str | None, finish: str = "stop", **more: Any) -> Fault:
    return lambda request, _: request.say(content, finish, **more)


def raw(content: bytes) -> Fault:
    return lambda request, _: request.send(200, content)


def silent(request: Requests, _: dict[str, Any]) -> bool:
    """Never answer; the client has to hang up."""
    request.connection.recv(1)
    request.close_connection = True
    return True


def reset(request: Requests, _: dict[str, Any]) -> bool:
    """Break the connection off at once."""
    linger = struct.pack("ii", 1, 0)
    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    request.connection.close()
    request.close_connection = True
    request.wfile = open("/dev/null", "wb")  # noqa: SIM115
    return True


def cut_short(request: Requests, _: dict[str, Any]) -> bool:
    """Promise more than is sent."""
    request.send_response(200)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(b'{"choices": [{"mess')
    request.wfile.flush()
    request.close_connection = True
    return True


@contextmanager
def serving() -> Iterator[Server]:
    """Run an endpoint, for a while."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
