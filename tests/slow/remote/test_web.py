"""The HTTP client against servers that are slow, huge, broken, busy or not to be trusted."""

from __future__ import annotations

import gzip
import re
import socket
import ssl
import subprocess
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from rankscope.errors import InputError
from rankscope.retrieval.options import SpecError, read_options
from rankscope.retrieval.remote import web as web_module
from rankscope.retrieval.remote.reasons import reason_of
from rankscope.retrieval.remote.web import Web, WebError, WebOptions, seconds_to_wait

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
            connection.settimeout(5)
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


def client(server: Server, scheme: str = "http", retries: int = 0, **options: Any) -> Web:
    table = {"url": f"{scheme}://127.0.0.1:{server.port}", **options}
    return Web(read_options(WebOptions, table), needed_for="a test", retries=retries, pause=0.001)


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
    assert "accept-encoding: gzip\r\n" in request
    assert "x-key: k" in request


def test_no_content_is_null() -> None:
    with serving(says("204 No Content", b"")) as server:
        assert client(server).json("GET") is None


# --- slow ----------------------------------------------------------------------------------------


def drip(before: bytes) -> Answer:
    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(before)
        for _count in range(400):
            connection.sendall(b" ")
            time.sleep(0.02)

    return answer


@pytest.mark.parametrize(
    "before",
    [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 O"],
    ids=["body", "headers", "status"],
)
def test_an_answer_that_drips_ends_in_time(before: bytes) -> None:
    with serving(drip(before)) as server:
        began = time.monotonic()
        error = failure(server, seconds=0.4)
        assert time.monotonic() - began < 3
    assert str(error) == f"127.0.0.1:{server.port} did not finish its answer within 0.4 s"
    assert (error.status, error.may_repeat) == (None, True)


def test_silence_ends_in_time() -> None:
    with serving(lambda *_: time.sleep(3)) as server:
        error = failure(server, seconds=0.3)
    assert "within 0.3 s" in str(error)


# --- large ---------------------------------------------------------------------------------------


@pytest.fixture
def _small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_module, "LARGEST_ANSWER", 2**21)


@pytest.mark.usefixtures("_small_limit")
def test_too_much() -> None:
    with serving(says("200 OK", b" " * (2**21 + 1))) as server:
        error = failure(server)
    assert "answered with more than 2 MB; ask for fewer documents" in str(error)
    assert not error.may_repeat


@pytest.mark.usefixtures("_small_limit")
def test_a_bomb_is_not_unpacked() -> None:
    bomb = zlib.compressobj(9, wbits=31)
    zeros = b"0" * 2**20
    packed = b"".join([*(bomb.compress(zeros) for _ in range(256)), bomb.flush()])
    assert len(packed) < 300_000
    with serving(says("200 OK", packed, "Content-Encoding: gzip\r\n")) as server:
        tracemalloc.start()
        error = failure(server)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert "answered with more than 2 MB" in str(error)
    assert peak < 20 * 2**20


def test_what_is_packed_is_unpacked() -> None:
    text = b'{"a": "' + b"soup " * 10**5 + b'"}'
    with serving(says("200 OK", gzip.compress(text), "Content-Encoding: gzip\r\n")) as server:
        assert len(client(server).json("GET")["a"]) == 5 * 10**5


@pytest.mark.parametrize(
    ("body", "packing", "text"),
    [
        (b"{}", "zstd", "packed its answer as 'zstd', which nobody asked for"),
        (b"{}", "gzip, gzip", "packed its answer as 'gzip, gzip', which nobody asked for"),
        (b"no gzip", "gzip", "sent an answer that cannot be unpacked"),
        (gzip.compress(b'{"a": 1}', mtime=0)[:-9], "gzip", "the packed answer is not complete"),
    ],
)
def test_other_packings(body: bytes, packing: str, text: str) -> None:
    with serving(says("200 OK", body, f"Content-Encoding: {packing}\r\n")) as server:
        assert text in str(failure(server))


# --- refused and broken --------------------------------------------------------------------------


def test_no_redirect_is_followed() -> None:
    with serving(says("302 Found", b"", "Location: http://127.0.0.1:9/else\r\n")) as server:
        error = failure(server)
    assert str(error) == (
        f"127.0.0.1:{server.port} answered 302, a redirect to 'http://127.0.0.1:9/else', which is "
        "not followed; name that url"
    )
    assert (error.status, error.may_repeat, len(server.requests)) == (302, False, 1)


def reset(connection: socket.socket, _: bytes) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")


def test_a_connection_that_is_reset() -> None:
    with serving(reset) as server:
        error = failure(server)
    assert str(error).startswith(f"127.0.0.1:{server.port} broke off: ")
    assert error.may_repeat


def test_half_an_answer() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}"
    with serving(lambda connection, _: connection.sendall(answer)) as server:
        assert "broke off" in str(failure(server))


def test_nobody_listens() -> None:
    with serving(reset) as server:
        pass
    error = failure(server)
    assert "cannot be reached" in str(error)
    assert error.may_repeat
    with pytest.raises(InputError, match=r"nothing answers at 127\.0\.0\.1:.*is the url right"):
        client(server).reach()


def test_a_name_that_is_none() -> None:
    options = read_options(WebOptions, {"url": "http://..:80"})
    with pytest.raises(InputError, match="nothing answers at"):
        Web(options, needed_for="a test").reach(1)


@pytest.mark.parametrize("body", [b"<html>hello</html>", b'{"a": ', b"\xff\xfe\x00", b"[" * 10**5])
def test_what_is_not_json(body: bytes) -> None:
    with serving(says("200 OK", body)) as server:
        error = failure(server)
    assert "did not answer with JSON" in str(error)
    assert error.status == 200
    assert len(str(error)) < 200


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"error": {"root_cause": [{"reason": "no index"}], "reason": "all"}}', "'no index'"),
        (b'{"error": "NotFoundError", "message": "no collection"}', "'no collection'"),
        (b'{"error": {"message": "no model", "code": 3}}', "'no model'"),
        (b'{"root": {"errors": [{"code": 3, "message": "bad query"}]}}', "'bad query'"),
        (b'{"detail": [{"loc": ["a"], "msg": "field required"}]}', "'field required'"),
        (b'{"responseHeader": {}, "error": {"msg": "undefined field", "code": 400}}', None),
        (b"plain   words\n", "'plain words'"),
        (b"", ""),
    ],
)
def test_reasons(body: bytes, reason: str | None) -> None:
    assert reason_of(body) == ("'undefined field'" if reason is None else reason)


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after(status: int) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    for header, low, high in (("7", 7, 7), (later, 27, 30), ("soon", None, None)):
        with serving(says(f"{status} Busy", b"{}", f"Retry-After: {header}\r\n")) as server:
            error = failure(server)
        wait: Any = getattr(error, "retry_after", None)
        assert wait is None if low is None or high is None else low <= wait <= high
        assert error.may_repeat


def test_what_retry_after_may_say() -> None:
    assert [seconds_to_wait(text) for text in ("0", "1.5", "-3", "nan", "inf", "", None)] == [
        *(0.0, 1.5, None, None, None, None, None),
    ]
    assert seconds_to_wait("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert seconds_to_wait("Wed, 21 Oct 99999999999999999999 07:28:00 GMT") is None


def test_requests_are_repeated_as_often_as_said(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("rankscope.retrieval.waiting.Stop.sleep", lambda _, s: waits.append(s))
    with serving(says("503 Busy", b"{}", "Retry-After: 5\r\n")) as server:
        web = client(server, retries=2)
        with pytest.raises(WebError):
            web.json("GET")
        assert (len(server.requests), waits, web.repeated) == (3, [5.0, 5.0], 2)
    with serving(says("400 Bad", b"{}")) as server:
        failure(server, retries=2)
        assert len(server.requests) == 1


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


@pytest.mark.parametrize("value", ["hush\n", "hush\r\nX: y", "hüsh\u2026", "hush\0"])
def test_a_header_that_cannot_be_sent(value: str) -> None:
    with pytest.raises(
        SpecError, match="the header Authorization begins or ends with a space, or holds"
    ) as caught:
        read_options(WebOptions, {"url": "http://h", "headers": {"Authorization": value}})
    assert "hush" not in str(caught.value)
    with pytest.raises(SpecError, match="cannot be the name of a header"):
        read_options(WebOptions, {"url": "http://h", "headers": {"a b": "x"}})


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("ftp://h", "expected an address such as"),
        ("localhost:9200", "expected an address such as"),
        ("http://", "expected an address such as"),
        ("http://h:99999", "is not a web address"),
        ("http://me:hush@h", "holds a user or password"),
    ],
)
def test_what_is_no_address(url: str, text: str) -> None:
    with pytest.raises(SpecError, match=text) as caught:
        read_options(WebOptions, {"url": url})
    assert "hush" not in str(caught.value)


# --- proxies -------------------------------------------------------------------------------------


@pytest.fixture
def _proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")


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
    expected = (
        f"the certificate of 127.0.0.1:{secure.port} is not trusted: self-signed certificate; name "
        "the file of its authority as verify"
    )
    error = failure(secure, scheme="https")
    assert str(error).replace("self signed", "self-signed") == expected
    assert not error.may_repeat
    with pytest.raises(InputError) as caught:
        client(secure, "https").reach()
    assert str(caught.value).replace("self signed", "self-signed") == expected
    assert secure.requests == []


def test_certificates_that_cannot_be_read(secure: Server, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    for name in ("none.pem", "empty.pem"):
        with pytest.raises(InputError, match=rf"the certificates in .*{name}' cannot be read"):
            client(secure, "https", verify=str(tmp_path / name)).json("GET")


def test_plain_http_at_a_secure_port(secure: Server) -> None:
    said = str(failure(secure))
    assert said.startswith(f"127.0.0.1:{secure.port} broke off: ")  # in one of several ways
    assert said.endswith("; if the server speaks TLS there, write https:// in the url, not http://")


def test_a_server_that_hangs_up() -> None:
    with serving(lambda *_: None) as server:
        said = str(failure(server))
    assert said == (
        f"127.0.0.1:{server.port} broke off: RemoteProtocolError: Server disconnected without "
        "sending a response; if the server speaks TLS there, write https:// in the url, not http://"
    )


class Greeting(Server):
    """Answers whatever a connection begins with."""

    hello = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"

    def talk(self, connection: socket.socket) -> None:
        with connection:
            connection.recv(65536)
            connection.sendall(self.hello)


@pytest.fixture
def greeting() -> Iterator[Greeting]:
    server = Greeting(says("200 OK"))
    threading.Thread(target=server.serve, daemon=True).start()
    yield server
    server.listener.shutdown(socket.SHUT_RDWR)
    server.listener.close()


def test_tls_at_a_plain_port(greeting: Greeting) -> None:
    error = failure(greeting, scheme="https")
    assert "127.0.0.1" in str(error)
    assert "cannot be reached: " in str(error)
    assert str(error).endswith("write http:// in the url, not https://")
    with pytest.raises(InputError, match=r"cannot be asked: .*write http:// in the url"):
        client(greeting, "https").reach()


def test_an_alert_of_tls_in_place_of_an_answer(greeting: Greeting) -> None:
    greeting.hello = b"\x15\x03\x01\x00\x02\x02\x46"
    assert str(failure(greeting)).endswith("write https:// in the url, not http://")


def test_a_server_that_has_answered_speaks_what_it_is_asked_in() -> None:
    def once(connection: socket.socket, _: bytes) -> None:
        if len(server.requests) == 1:
            says("200 OK")(connection, b"")

    with serving(once) as server:
        web = client(server)
        assert web.json("GET") == {}
        with pytest.raises(WebError, match="broke off") as caught:
            web.json("GET")
        web.close()
    assert "https" not in str(caught.value)
