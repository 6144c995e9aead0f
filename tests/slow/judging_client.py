"""A client of the judging server as its page is, and a server in a process that can be killed."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

POOL = [
    {"query_id": f"q{query}", "doc_id": f"d{document}", "text": f"question {query}",
     "title": f"Title {document}", "ranks": {"bm25": document}, "priority": 0.5}
    for query in (1, 2, 3)
    for document in (1, 2, 3, 4)
]  # fmt: skip


def write_pool(path: Path, rows: list[dict[str, Any]] | None = None) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows or POOL), encoding="utf-8")
    return path


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Client:
    """Sends what a browser would send from the page; headers may be changed, or left out (None)."""

    link: str

    @property
    def host(self) -> str:
        return urlsplit(self.link).netloc

    @property
    def token(self) -> str:
        return self.link.rpartition("=")[2]

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str | None] | None = None,
    ) -> Answer:
        sent = {"Host": self.host, **(headers or {})}
        connection = http.client.HTTPConnection(self.host, timeout=3000)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None and "Content-Length" not in sent:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders()
            if body is not None:
                connection.send(body)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def post(self, request: str, body: Any, headers: dict[str, str | None] | None = None) -> Answer:
        usual = {
            "Origin": f"http://{self.host}",
            "X-Rankscope-Token": self.token,
            "Content-Type": "application/json",
        }
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.send("POST", f"/api/{request}", content, {**usual, **(headers or {})})

    def ask(self, request: str, **body: Any) -> Any:
        answer = self.post(request, body)
        assert answer.status == 200, answer.content
        return answer.json

    def keys(self, rater: str) -> list[str]:
        """Return the keys of all pairs that the rater has not judged, in their order."""
        keys: list[str] = []
        while True:
            skip = keys[-1] if keys else None
            item = self.ask("next", rater=rater, skip=skip)["item"]
            if item is None or item["key"] in keys:
                return keys
            keys.append(item["key"])

    def judge(self, rater: str, key: str, grade: int, **more: Any) -> Any:
        body = {"rater": rater, "key": key, "grade": grade, "id": str(uuid.uuid4()), **more}
        return self.ask("judge", **body)


@dataclass
class Served:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    client: Client


def start(folder: Path, *arguments: str) -> Served:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "rankscope", "judge", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    link = process.stdout.readline().strip()
    if not link:
        assert process.stderr is not None
        raise AssertionError(process.stderr.read())
    return Served(process, Client(link))


def stop(served: Served) -> tuple[int, str]:
    """End a server politely; return its exit code and what it said."""
    served.process.terminate()
    _, said_last = served.process.communicate(timeout=300)
    return served.process.returncode, said_last


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Served]:
    served = start(folder, *arguments)
    try:
        yield served
    finally:
        if served.process.poll() is None:
            served.process.kill()
        served.process.communicate(timeout=300)
