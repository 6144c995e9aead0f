"""The HTTP client against servers that are slow, huge, broken, busy or not to be trusted."""

from __future__ import annotations

import gzip
import re
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from rankscope.errors import InputError
from rankscope.retrieval import web as web_module
from rankscope.retrieval.options import SpecError, read_options
from rankscope.retrieval.web import Web, WebError, WebOptions, reason_of, seconds_to_wait

pytest.importorskip("httpx")

Answer = Callable[[socket.socket, bytes], None]


class Server:
    """Answers each connection as it is told, byte by byte; ``requests`` is what it was sent."""

    def __init__(self, answer: Answer, trust: ssl.SSLContext | None = None) -> None:
        self.answer, self.trust = answer, trust
        self.requests: list[bytes] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(600)
            if self.trust is not None:
                connection = self.trust.wrap_socket(connection, server_side=True)
            data = b""
            while not is_whole(data):
                part = connection.recv(65536)
                if not part:
                    return
                data += part
            self.requests.append(data)
            self.answer(connection, data)
        except OSError:
            pass
        finally:
            connection.close()


def is_whole(request: bytes) -> bool:
    head, end, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    return bool(end) and len(body) >= (int(length[1]) if length else 0)


@contextmanager
def serving(answer: Answer, trust: ssl.SSLContext | None = None) -> Iterator[Server]:
    server = Server(answer, trust)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        server.listener.close()


def says(status: str, body: bytes = b"{}", headers: str = "") -> Answer:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{headers}\r\n"
    return lambda connection, _: connection.sendall(head.encode() + body)


def client(server: Server, scheme: str = "http", **options: Any) -> Web:
    table = {"url": f"{scheme}://127.0.0.1:{server.port}", **options}
    return Web(read_options(WebOptions, table), needed_for="a test")


def failure(server: Server, seconds: float = 5.0, **options: Any) -> WebError:
    web = client(server, **options)
    try:
        with pytest.raises(WebError) as caught:
            web.json("POST", "/x", {"a": 1}, seconds=seconds)
    finally:
        web.close()
    assert "\n" not in str(caught.value)
    return caught.value


def test_an_answer() -> None:
    with serving(says("200 OK", b'{"a": [1, "\xc3\xa9"]}')) as server:
        web = client(server, headers={"Accept": "text/json", "X-Key": "k"})
        assert web.json("GET", "/p%2Fq", params={"a": ["1", "2"], "b": "é &"}) == {"a": [1, "é"]}
        web.close()
        web.close()
    request = server.requests[0].decode().lower()
    assert request.replace("+%26", "%20%26").startswith(
        "get /p%2fq?a=1&a=2&b=%c3%a9%20%26 http/1.1"
    )
    assert request.count("accept: ") == 1
    assert "accept: text/json" in request
    assert "accept-encoding: identity\r\n" in request
    assert "x-key: k" in request


# --- slow ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "before",
    [
        *(b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 O"),
        *(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    ],
    ids=["body", "headers", "status", "nothing", "progress"],
)
def test_an_answer_that_never_ends_is_not_waited_for(before: bytes) -> None:
    def drip(connection: socket.socket, _: bytes) -> None:
        connection.sendall(before)
        while True:  # until the client hangs up
            if before:
                connection.sendall(before if b"102" in before else b" ")
            time.sleep(0.02)

    with serving(drip) as server:
        error = failure(server, seconds=0.4)
    assert "within 0.4 s" in str(error)
    assert (error.status, error.may_repeat) == (None, True)


# --- large ---------------------------------------------------------------------------------------


@pytest.fixture
def _small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_module, "LARGEST_ANSWER", 2**21)


@pytest.mark.usefixtures("_small_limit")
def test_too_much() -> None:
    with serving(says("200 OK", b" " * (2**21 + 1))) as server:
        error = failure(server)
    assert "more than 2 MB" in str(error)
    assert not error.may_repeat


def test_what_is_packed_is_not_unpacked() -> None:
    """A small answer could become a huge one."""
    packed = gzip.compress(b"0" * 2**26)
    with serving(says("200 OK", packed, "Content-Encoding: gzip\r\n")) as server:
        error = failure(server)
    assert "packed its answer as 'gzip'" in str(error)
    assert not error.may_repeat


# --- refused and broken --------------------------------------------------------------------------


def test_no_redirect_is_followed() -> None:
    with serving(says("302 Found", b"", "Location: http://127.0.0.1:9/else\r\n")) as server:
        error = failure(server)
    assert "http://127.0.0.1:9/else" in str(error)
    assert (error.status, error.may_repeat, len(server.requests)) == (302, False, 1)


def reset(connection: socket.socket, _: bytes) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")


def half(connection: socket.socket, _: bytes) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}")


@pytest.mark.parametrize("answer", [reset, half, lambda *_: None], ids=["reset", "half", "none"])
def test_a_connection_that_breaks_off(answer: Answer) -> None:
    with serving(answer) as server:
        error = failure(server)
    assert "broke off" in str(error)
    assert error.may_repeat


def test_nobody_listens() -> None:
    with serving(reset) as server:
        pass
    error = failure(server)
    assert "cannot be reached" in str(error)
    assert error.may_repeat
    for web in (
        client(server),
        Web(read_options(WebOptions, {"url": "http://..:80"}), needed_for="a test"),
    ):
        with pytest.raises(InputError, match="nothing answers"):
            web.reach()


@pytest.mark.parametrize("body", [b"<html>hello</html>", b'{"a": ', b"\xff\xfe\x00", b"[" * 10**5])
def test_what_is_not_json(body: bytes) -> None:
    with serving(says("200 OK", body)) as server:
        error = failure(server)
    assert "did not answer with JSON" in str(error)
    assert error.status == 200
    assert len(str(error)) < 200


REASONS: dict[bytes, str] = {
    b'{"error": {"root_cause": [{"reason": "no index"}], "reason": "all"}}': "'no index'",
    b'{"error": "NotFoundError", "message": "no collection"}': "'no collection'",
    b'{"error": {"message": "no model", "code": 3}}': "'no model'",
    b'{"root": {"errors": [{"code": 3, "message": "bad query"}]}}': "'bad query'",
    b'{"detail": [{"loc": ["a"], "msg": "field required"}]}': "'field required'",
    b'{"responseHeader": {}, "error": {"msg": "undefined", "code": 400}}': "'undefined'",
    b"plain   words\n": "'plain words'",
    b"": "",
}


def test_reasons() -> None:
    assert {body: reason_of(body) for body in REASONS} == REASONS


def test_what_retry_after_may_say() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert 0 < (seconds_to_wait(later) or 0) <= 3600
    assert [seconds_to_wait(text) for text in ("0", "1.5", "-3", "nan", "inf", "", None)] == [
        *(0.0, 1.5, None, None, None, None, None),
    ]
    assert seconds_to_wait("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert seconds_to_wait("Wed, 21 Oct 99999999999999999999 07:28:00 GMT") is None


# --- secrets -------------------------------------------------------------------------------------


def test_no_header_is_in_any_sentence() -> None:
    def echo(connection: socket.socket, request: bytes) -> None:
        body = b"you sent " + request.split(b"x-key: ")[1][:30]
        connection.sendall(b"HTTP/1.1 400 Bad\r\nConnection: close\r\n\r\n" + body)

    with serving(echo) as server:
        error = failure(server, headers={"X-Key": "Bearer hush/hush"})
    assert "you sent" in str(error)
    assert "hush" not in repr(error)
    with serving(says("200 OK", b"not json: hush/hush")) as server:
        assert "hush" not in str(failure(server, headers={"X-Key": "hush/hush"}))


# --- proxies -------------------------------------------------------------------------------------


@pytest.fixture
def _proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"url": "ftp://h"}, "an address"),
        ({"url": "localhost:9200"}, "an address"),
        ({"url": "http://h:99999"}, "web address"),
        ({"url": "http://me:hush@h"}, "password"),
        ({"headers": {"Authorization": "hush\n"}}, "Authorization"),
        ({"headers": {"Authorization": "hush\r\nX: y"}}, "Authorization"),
        ({"headers": {"Authorization": " hush"}}, "Authorization"),
        ({"headers": {"Authorization": "hüsh\u2026"}}, "Authorization"),
        ({"headers": {"Authorization": "hush\0"}}, "Authorization"),
        ({"headers": {"a b": "x"}}, "name of a header"),
    ],
)
def test_what_cannot_be_sent(options: dict[str, Any], text: str) -> None:
    with pytest.raises(SpecError, match=text) as caught:
        read_options(WebOptions, {"url": "http://h", **options})
    assert "hush" not in str(caught.value)


@pytest.mark.usefixtures("_proxy")
def test_this_machine_is_asked_without_a_proxy() -> None:
    with serving(says("200 OK")) as server:
        web = client(server)
        web.reach()
        assert web.json("GET") == {}


@pytest.mark.usefixtures("_proxy")
def test_others_are_asked_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(says("200 OK")) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        options = read_options(WebOptions, {"url": "http://search.invalid:9200"})
        web = Web(options, needed_for="a test")
        web.reach()  # only the proxy could
        assert web.json("GET", "/x") == {}
        assert proxy.requests[0].startswith(b"GET http://search.invalid:9200/x HTTP/1.1")
    monkeypatch.setenv("no_proxy", "search.invalid")
    with pytest.raises(InputError, match=r"nothing answers at search\.invalid:9200"):
        Web(options, needed_for="a test").reach(1)


@pytest.mark.usefixtures("_proxy")
def test_a_proxy_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "gopher://me:hush@127.0.0.1:9")
    web = Web(read_options(WebOptions, {"url": "http://search.invalid"}), needed_for="a test")
    with pytest.raises(InputError, match="the proxy that the environment names") as caught:
        web.json("GET")
    assert "hush" not in str(caught.value)


# --- certificates --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Make a certificate for 127.0.0.1 that nobody trusts, and its key."""
    if which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("certificate")
    path, key = folder / "server.pem", folder / "server.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path, key


@pytest.fixture
def secure(certificate: tuple[Path, Path]) -> Iterator[Server]:
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(*certificate)
    with serving(says("200 OK", b'{"safe": true}'), trust) as server:
        yield server


def test_a_certificate_of_ones_own(secure: Server, certificate: tuple[Path, Path]) -> None:
    for verify in (str(certificate[0]), False):
        web = client(secure, "https", verify=verify)
        web.reach()
        assert web.json("GET") == {"safe": True}


def test_a_certificate_that_nobody_trusts(secure: Server) -> None:
    error = failure(secure, scheme="https")
    assert "is not trusted" in str(error)
    assert not error.may_repeat
    with pytest.raises(InputError, match="is not trusted"):
        client(secure, "https").reach()
    assert secure.requests == []
    assert "http or https" in str(failure(secure))  # plain HTTP at a secure port
