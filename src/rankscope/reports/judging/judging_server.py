"""The server of the judging page: on this machine only, for whoever has the link.

It listens on 127.0.0.1. A request must name this server as its host, so that no other name can be
made to lead here; the page is given for the token in its link; and whatever reads or changes
judgments must come from the page itself (``Origin``) and carry the token in a header, which no
other site can send. No answer may be framed, kept, or read by another site.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socketserver
import zlib
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from rankscope.document.html import PALETTE
from rankscope.document.pages import hashed
from rankscope.errors import RankscopeError
from rankscope.reports.judging.judgment_log import LogError

if TYPE_CHECKING:
    from pathlib import Path

    from rankscope.reports.judging.judging_desk import Desk

HOST = "127.0.0.1"
LARGEST_BODY = 64 << 10
"""Bytes of a request."""
PATIENCE = 20.0
"""Seconds in which a client must send a request."""

_HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_NOTHING = "default-src 'none'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'"


@cache
def judging_page() -> tuple[bytes, str]:
    """Return the page and its policy, which allows its very script and style and nothing else.

    Nothing that a user gave is in it: the script asks the server for everything, and puts it in as
    text.
    """
    html, style, script = (
        (files("rankscope.reports.judging") / f"judging.{kind}").read_text("utf-8")
        for kind in ("html", "css", "js")
    )
    style = PALETTE + style
    policy = (
        f"default-src 'none'; script-src {hashed(script)}; style-src {hashed(style)}; "
        "connect-src 'self'; img-src data:; form-action 'none'; base-uri 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    page = html.replace("/* style */", style).replace("/* script */", script)
    return page.encode(), policy


def usual_port(log: Path) -> int:
    """Return the port that this log's server prefers, so that a restart is at the same place.

    It is below those that systems hand out to connections, which would often be taken.
    """
    return 20_000 + zlib.crc32(str(log.resolve()).encode("utf-8", "surrogateescape")) % 12_000


class _RefusedError(Exception):
    """A request that is not answered: its status, and why."""


def _refuse_if(is_wrong: bool, status: int, sentence: str) -> None:
    if is_wrong:
        raise _RefusedError(status, sentence)


class JudgingServer(ThreadingHTTPServer):
    """Serves one desk."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, desk: Desk, *, port: int | None = None) -> None:
        self.desk = desk
        self.token = secrets.token_urlsafe(32)
        preferred = usual_port(desk.log.path) if port is None else port
        try:
            super().__init__((HOST, preferred), _Handler)
        except OSError:
            if port is not None:
                raise
            super().__init__((HOST, 0), _Handler)

    def server_bind(self) -> None:
        """Bind without asking any name server for the name of this machine."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, int(self.server_address[1])

    @property
    def hosts(self) -> tuple[str, str]:
        """The names under which this server may be asked."""
        return f"{HOST}:{self.server_port}", f"localhost:{self.server_port}"

    @property
    def link(self) -> str:
        """The address of the page; who has it may judge."""
        return f"http://{HOST}:{self.server_port}/?token={self.token}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that goes away is no error."""


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: JudgingServer
    protocol_version = "HTTP/1.1"
    server_version = "rankscope"
    sys_version = ""
    timeout = PATIENCE
    error_content_type = "text/plain; charset=utf-8"

    def log_message(self, *_: object) -> None:
        """Keep no log: addresses hold the token."""

    def version_string(self) -> str:
        """Tell nothing about this Python."""
        return self.server_version

    def do_GET(self) -> None:
        """Give the page."""
        self._handled(self._page)

    def do_POST(self) -> None:
        """Answer the page."""
        self._handled(self._api)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse in words; also what is no HTTP at all, and methods that are not known."""
        del explain
        status = 405 if code == 501 else code
        self.close_connection = True
        self._send(status, f"{message or 'refused'}\n".encode(), "text/plain; charset=utf-8")

    def _handled(self, answer: Any) -> None:
        try:
            self._check_host()
            answer()
        except _RefusedError as refused:
            self.close_connection = True  # what follows may be a body that nobody read
            status, sentence = refused.args
            self._send_json(status, {"error": sentence})
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except LogError as error:
            self._send_json(503, {"error": str(error)})
        except RankscopeError as error:
            self._send_json(400, {"error": str(error)})
        except Exception as error:
            self.close_connection = True
            self._send_json(
                500, {"error": f"this is a fault of rankscope ({type(error).__name__})"}
            )

    def _check_host(self) -> None:
        hosts = self.headers.get_all("Host") or []
        is_own = len(hosts) == 1 and hosts[0].strip().lower() in self.server.hosts
        _refuse_if(not is_own, 403, "this server answers under 127.0.0.1 only")

    def _has_token(self, token: str) -> bool:
        expected = self.server.token.encode()
        return hmac.compare_digest(token.encode("utf-8", "replace"), expected)

    def _page(self) -> None:
        path, _, query = self.path.partition("?")
        _refuse_if(path != "/", 404, "there is nothing here")
        is_known = self._has_token(query.removeprefix("token="))
        _refuse_if(not is_known, 403, "open the whole link that rankscope judge printed")
        page, policy = judging_page()
        self._send(200, page, "text/html; charset=utf-8", policy=policy)

    def _api(self) -> None:
        path = self.path.partition("?")[0]
        request = path.removeprefix("/api/")
        is_known = path != request and request in self.server.desk.requests
        _refuse_if(not is_known, 404, "there is nothing here")
        origin = f"http://{self.headers['Host'].strip().lower()}"
        is_own = self.headers.get("Origin", "").lower() == origin
        is_own &= self.headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"
        _refuse_if(not is_own, 403, "requests must come from the judging page itself")
        has_token = self._has_token(self.headers.get("X-Rankscope-Token", ""))
        _refuse_if(not has_token, 403, "the token is missing or is not that of this server")
        self._send_json(200, self.server.desk.answer(request, self._body()))

    def _body(self) -> dict[str, Any]:
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        _refuse_if(kind != "application/json", 415, "send JSON")
        length = self.headers.get("Content-Length", "")
        is_said = length.isascii() and length.isdigit() and "Transfer-Encoding" not in self.headers
        _refuse_if(not is_said, 411, "say how long the request is")
        is_large = len(length) > 9 or int(length) > LARGEST_BODY
        _refuse_if(is_large, 413, f"a request has at most {LARGEST_BODY:,} bytes")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            body = None
        _refuse_if(not isinstance(body, dict), 400, "the request is not a JSON object")
        return dict(body)

    def _send_json(self, status: int, answer: dict[str, Any]) -> None:
        self._send(status, json.dumps(answer).encode(), "application/json; charset=utf-8")

    def _send(self, status: int, content: bytes, kind: str, *, policy: str = _NOTHING) -> None:
        self.send_response(status)
        for header, value in {
            **_HEADERS,
            "Content-Security-Policy": policy,
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            **({"Allow": "GET, POST"} if status == 405 else {}),
        }.items():
            self.send_header(header, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
