"""The judging server: for this machine and its page only, and kill -9 loses nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPException
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from judging_client import Client, serving, start, stop, write_pool

from rankscope.reports.judging.judging_desk import GRADES, Desk, Terms
from rankscope.reports.judging.judging_pool import read_pool
from rankscope.reports.judging.judging_server import JudgingServer, judging_page
from rankscope.reports.judging.judgment_log import JudgmentLog


@pytest.fixture
def server(tmp_path: Path) -> Iterator[JudgingServer]:
    pool = read_pool(write_pool(tmp_path / "pool.jsonl"))
    log = JudgmentLog(tmp_path / "log.jsonl")
    log.create()
    server = JudgingServer(Desk(pool, log, Terms(grades=GRADES)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def client(server: JudgingServer) -> Client:
    return Client(server.link)


def first_key(client: Client) -> str:
    return str(client.ask("next", rater="ann", tab="t")["item"]["key"])


def judgment(client: Client) -> dict[str, Any]:
    return {"rater": "ann", "key": first_key(client), "grade": 1, "id": str(uuid.uuid4())}


def test_it_listens_on_loopback_only(server: JudgingServer) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"


def test_the_page_needs_the_token(client: Client) -> None:
    assert client.send("GET", f"/?token={client.token}").status == 200
    for path in ("/", "/?token=", "/?token=wrong", f"/?token={client.token}x", "/?a=1"):
        answer = client.send("GET", path)
        assert answer.status == 403, path
        assert b"open the whole link" in answer.content


HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@pytest.mark.parametrize("path", ["/?token=TOKEN", "/", "/nothing", "/api/state"])
def test_every_answer_forbids_framing_keeping_and_reading(client: Client, path: str) -> None:
    answer = client.send("GET", path.replace("TOKEN", client.token))
    assert HEADERS.items() <= answer.headers.items()
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]
    assert client.token not in answer.content.decode()


def test_the_policy_allows_this_script_and_this_style_only() -> None:
    page, policy = judging_page()
    html = page.decode()
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        [text] = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.S)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert parts[directive] == f"'sha256-{digest}'"
    assert "unsafe" not in policy
    assert (parts["form-action"], parts["base-uri"], parts["default-src"]) == ("'none'",) * 3
    for sink in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "Function(",
    ):
        assert sink not in html
    assert not re.findall(r"""(?:src|href)=["'](?!data:,)""", html), "nothing is fetched"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": None},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"X-Rankscope-Token": None},
        {"X-Rankscope-Token": "wrong"},
        {"X-Rankscope-Token": ""},
        {"Sec-Fetch-Site": "cross-site"},
    ],
    ids=str,
)
def test_strangers_are_refused(
    server: JudgingServer, client: Client, headers: dict[str, str | None]
) -> None:
    for request in ("state", "next", "judge", "undo", "export"):
        assert client.post(request, {"rater": "ann"}, headers).status == 403
    assert server.desk.log.path.read_bytes() == b""


def test_another_name_that_leads_here_gets_no_page(client: Client) -> None:
    path = f"/?token={client.token}"
    port = client.host.rpartition(":")[2]
    assert client.send("GET", path, headers={"Host": f"localhost:{port}"}).status == 200
    for host in (f"evil.example:{port}", "127.0.0.1:1", f"127.0.0.1.evil.example:{port}", ""):
        assert client.send("GET", path, headers={"Host": host}).status == 403
    origin = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
    assert client.post("state", {}, dict(origin)).status == 200
    assert client.post("state", {}, {"Host": f"localhost:{port}"}).status == 403, "other origin"


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "HEAD", "TRACE", "X"])
def test_other_methods_are_refused(client: Client, method: str) -> None:
    answer = client.send(method, f"/?token={client.token}")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, POST")


def test_what_is_no_request_is_refused(server: JudgingServer, client: Client) -> None:
    good = json.dumps({"rater": "ann", "tab": "t"}).encode()
    cases: list[tuple[str, bytes, dict[str, str | None], int]] = [
        ("nothing", good, {}, 404),
        ("../api/next", good, {}, 404),
        ("next", good, {"Content-Type": "text/plain"}, 415),
        ("next", good, {"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ("next", good, {"Content-Type": None}, 415),
        ("next", good, {"Content-Length": "-1"}, 411),
        ("next", good, {"Content-Length": "1e3"}, 411),
        ("next", good, {"Content-Length": "70000"}, 413),
        ("next", good, {"Content-Length": "9" * 400}, 413),
        ("next", good, {"Transfer-Encoding": "chunked"}, 411),
        ("next", b"{", {}, 400),
        ("next", b"[" * 60_000, {}, 400),
        ("next", b"[]", {}, 400),
        ("next", b"\xff", {}, 400),
        ("next", b"{}", {}, 400),
        ("judge", b'{"rater": "ann"}', {}, 400),
    ]
    for request, body, headers, status in cases:
        answer = client.post(request, body, headers)
        assert answer.status == status, (request, headers, answer.content)
        assert set(answer.json) == {"error"}
    assert server.desk.log.path.read_bytes() == b""
    assert client.ask("next", rater="ann", tab="t")["item"]


def test_a_large_body_is_not_read(client: Client) -> None:
    with suppress(ConnectionError):  # closed while we still send
        answer = client.post("judge", b" " * 5_000_000)
        assert answer.status == 413
    assert client.ask("state")["total"] == 12


def test_slow_clients_do_not_block_others(server: JudgingServer, client: Client) -> None:
    began = time.monotonic()
    idle = [socket.create_connection(("127.0.0.1", server.server_port)) for _ in range(140)]
    for each in idle[::2]:
        each.sendall(b"POST /api/judge HTTP/1.1\r\nHost:")
    try:
        client.judge("ann", first_key(client), 2)
        assert time.monotonic() - began < 1, "nobody waits until a connection is tried again"
    finally:
        for each in idle:
            each.close()


def test_a_lost_answer_is_asked_for_again(server: JudgingServer, client: Client) -> None:
    body = judgment(client)
    first, again = client.ask("judge", **body), client.ask("judge", **body)
    assert first["saved"] == again["saved"]
    assert len(server.desk.log.path.read_text().splitlines()) == 1


def test_a_full_disk_is_said_and_may_be_tried_again(
    server: JudgingServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: bytes) -> None:
        raise OSError(28, "No space left on device")

    body = judgment(client)
    monkeypatch.setattr(server.desk.log, "_write", fail)
    answer = client.post("judge", body)
    assert answer.status == 503
    assert "No space left on device" in answer.json["error"]
    monkeypatch.undo()
    assert client.ask("judge", **body)["saved"]["grade"] == 1


def test_many_threads_lose_nothing(server: JudgingServer, client: Client) -> None:
    keys = client.keys("zoe")
    acknowledged: list[str] = []

    def work(rater: str) -> None:
        acknowledged.extend(client.judge(rater, key, 1)["saved"]["id"] for key in keys)

    threads = [threading.Thread(target=work, args=(f"rater{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log = JudgmentLog(server.desk.log.path)
    assert len(acknowledged) == 6 * 12
    assert set(log.judgments.by_id) == set(acknowledged)
    assert len(log.judgments.all()) == 6 * 12


# --- a process that is killed --------------------------------------------------------------------


def test_kill_9_at_any_moment_loses_nothing_acknowledged(tmp_path: Path) -> None:
    write_pool(tmp_path / "pool.jsonl")
    acknowledged: dict[str, tuple[str, int]] = {}
    drawn = random.Random(7)
    for _ in range(4):
        served = start(tmp_path, "pool.jsonl")
        keys = served.client.keys("zoe")
        enough = threading.Event()
        wanted = len(acknowledged) + drawn.randint(1, 60)

        def work(
            client: Client, rater: str, keys: list[str], wanted: int, enough: threading.Event
        ) -> None:
            try:
                for turn in count():
                    grade, name = turn % 4, str(uuid.uuid4())
                    client.judge(rater, keys[turn % len(keys)], grade, id=name, reason="r" * 500)
                    acknowledged[name] = (rater, grade)
                    if len(acknowledged) >= wanted:
                        enough.set()
            except (OSError, HTTPException):
                pass
            finally:
                enough.set()

        threads = [
            threading.Thread(target=work, args=(served.client, rater, keys, wanted, enough))
            for rater in ("ann", "bob")
        ]
        for thread in threads:
            thread.start()
        enough.wait()
        served.process.kill()
        for thread in threads:
            thread.join()
        served.process.communicate()
        assert len(acknowledged) >= wanted
    log = JudgmentLog(tmp_path / "pool.jsonl.judgments.jsonl")
    kept = {each.id: (each.rater, each.grade) for each in log.judgments.by_id.values()}
    assert acknowledged
    assert acknowledged.items() <= kept.items()
    assert len(kept) - len(acknowledged) <= 8, "at most what was on its way, by 2 raters, 4 times"


def test_a_restart_goes_on_and_the_end_says_where_everything_is(tmp_path: Path) -> None:
    write_pool(tmp_path / "pool.jsonl")
    arguments = ("pool.jsonl", "--rater", "ann", "--qrels", "out.qrels")
    with serving(tmp_path, *arguments) as served:
        first = first_key(served.client)
        served.client.judge("ann", first, 3)
        token = served.client.token
    with serving(tmp_path, *arguments) as served:
        assert served.client.token != token
        assert first_key(served.client) != first
        served.client.judge("ann", first_key(served.client), 0)
        code, said_last = stop(served)
    assert code == 0
    assert "out.qrels" in said_last
    assert len((tmp_path / "out.qrels").read_text().splitlines()) == 2
    assert not [path for path in tmp_path.iterdir() if token.encode() in path.read_bytes()]


def test_two_servers_on_one_log(tmp_path: Path) -> None:
    write_pool(tmp_path / "pool.jsonl")
    with (
        serving(tmp_path, "pool.jsonl") as first,
        serving(tmp_path, "pool.jsonl") as second,
    ):
        assert first.client.host != second.client.host
        key = first_key(first.client)
        first.client.judge("ann", key, 3)
        assert first_key(second.client) != key
        second.client.judge("bob", key, 1)
        assert first.client.ask("state")["raters"] == ["ann", "bob"]
