"""HTTP for everything that asks over the network: one client, bounded in time and size.

An answer is whole, of a sane size and within its time, or it is a `WebError`: one sentence, with
whether it is worth asking again and how long the server asks to be left alone. No redirect is
followed, as it could carry a key elsewhere, and no sentence holds the value of a header.
"""

from __future__ import annotations

import json
import logging
import math
import re
import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from threading import Lock
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakSet, finalize

from pydantic import Field, field_validator

from rankscope.errors import InputError, shown
from rankscope.retrieval.hiding import Hider
from rankscope.retrieval.options import RemoteOptions, Secret, SpecError, Text, Unexpanded
from rankscope.retrieval.protocol import Component, UnansweredError, sentence
from rankscope.retrieval.registry import check_engine, engine
from rankscope.retrieval.trust import certificate_problem, is_proxied, trusted, untrusted
from rankscope.retrieval.waiting import TimedOutError, within

LARGEST_ANSWER = 64 * 2**20
"""Bytes of an answer; more is refused."""

LONGEST_ANSWER = 60.0
"""Seconds for a whole answer, where nobody says otherwise."""

AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""States of a server that may be different the next time."""

_UNSENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "LocalProtocolError"})
"""What goes wrong before a server has got a request."""

REFUSED = frozenset({401, 403, 404, 405, 407, 410})
"""States that are about the address or the key rather than about the question."""

Params = Mapping[str, str | Sequence[str]]
"""What is sent after the ? of an address; a name with several values is sent several times."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")


class WebOptions(RemoteOptions):
    """Where something is asked over HTTP, and with which key."""

    url: Text
    """Where it is: http:// or https://, without a user and password (use headers)."""
    headers: dict[str, Secret] = Field(default_factory=dict)
    """Sent with every request, such as Authorization: Bearer ${KEY}; never recorded."""
    verify: bool | Text = True
    """Whose certificates are trusted: true for those that the system trusts, the file of a
    certificate authority, or false for any, which is for a server of your own in a test only."""

    @field_validator("url")
    @classmethod
    def _web_address(cls, url: str | None) -> str | None:
        if url is not None and not isinstance(url, Unexpanded):
            _check_url(url)
        return url

    @field_validator("headers")
    @classmethod
    def _sendable_headers(cls, headers: dict[str, Secret]) -> dict[str, Secret]:
        for name, value in headers.items():
            if not _HEADER_NAME.fullmatch(name):
                raise InputError(f"{shown(name)} cannot be the name of a header; write X-My-Name")
            if not _HEADER_VALUE.fullmatch(value.get_secret_value()):
                raise SpecError(
                    f"the value of the header {name} begins or ends with a space, or holds a line "
                    "break or another sign that cannot be sent; is there one at the end of the "
                    "variable?",
                    (name,),
                )
        return headers


def _check_url(url: str) -> None:
    """Refuse what is no address of HTTP, and one that holds a password."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise InputError(f"{shown(url)} is not a web address: {error}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise InputError(f"expected an address such as https://host:9200, got {shown(url)}")
    if parts.username is not None or parts.password is not None:
        raise InputError(
            "the address holds a user or password, which would be recorded; send it as a header, "
            "such as Authorization: Basic ${KEY}"
        )


class WebError(UnansweredError):
    """A request without a usable answer, in one sentence.

    ``status`` is the state of the answer (None: there was none), ``may_repeat`` whether asking
    again may help, ``retry_after`` how many seconds the server asks to be left alone, and
    ``was_sent`` whether the server may have worked on it.
    """

    def __init__(
        self,
        text: str,
        *,
        status: int | None = None,
        may_repeat: bool = True,
        retry_after: float | None = None,
        was_sent: bool = True,
    ) -> None:
        super().__init__(text)
        self.was_sent = was_sent
        self.status = status
        self.may_repeat = may_repeat
        if retry_after is not None:  # `fetch` heeds it wherever there is one
            self.retry_after = retry_after

    def __str__(self) -> str:
        return str(self.args[0])


_CLIENTS: WeakSet[Web] = WeakSet()
"""All that are in use; what httpx logs of their requests holds none of their secrets."""


def _hide_in_log(record: logging.LogRecord) -> bool:
    for client in list(_CLIENTS):
        record.msg, record.args = client.hide(record.getMessage()), ()
    return True


class Web:
    """A client of one server; several threads may use it at the same time.

    ``needed_for`` is what messages call the component that asks, ``extra`` what brings httpx, and
    ``owner`` the component whose time limit holds. A request is made once: `fetch` repeats queries.
    """

    def __init__(
        self,
        options: WebOptions,
        *,
        needed_for: str,
        extra: str = "http",
        connections: int = 64,
        owner: Component | None = None,
    ) -> None:
        check_engine("httpx", package="httpx", needed_for=needed_for, extra=extra)
        self._options = options
        self._needed_for, self._extra = needed_for, extra
        self._connections, self._owner = connections, owner
        self._client: Any = None
        self._lock = Lock()
        self._has_answered = False
        _CLIENTS.add(self)

    @cached_property
    def _hider(self) -> Hider:
        return Hider(dict.fromkeys(self._options.secrets(), "…"))

    def hide(self, text: str) -> str:
        """Take the secrets of the options out of a text."""
        return self._hider.hide(text)

    @property
    def host(self) -> str:
        """What messages call the server."""
        return urlsplit(self._options.url).netloc

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def reach(self, seconds: float = 10.0) -> None:
        """Make sure that something listens at the address, with a certificate that is trusted.

        Raises:
            InputError: nothing does, or it cannot be trusted.
        """
        parts = urlsplit(self._options.url)
        is_secure = parts.scheme == "https"
        if is_proxied(self._options.url):
            return  # only the proxy can reach it
        try:
            address = (parts.hostname, parts.port or (443 if is_secure else 80))
            with socket.create_connection(address, timeout=seconds) as connection:
                if is_secure:
                    self._trust.wrap_socket(connection, server_hostname=parts.hostname).close()
        except ssl.SSLCertVerificationError as error:
            raise InputError(untrusted(self.host, error.verify_message)) from None
        except (OSError, UnicodeError) as error:
            raise InputError(
                f"nothing answers at {self.host}: {sentence(error)}; is the url right, with its "
                "http or https, and the server running?"
            ) from None

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        if urlsplit(self._options.url).scheme == "http":
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # not used; reading certificates is slow
        return trusted(self._options.verify)

    def json(
        self,
        method: str,
        path: str = "",
        body: Any = None,
        *,
        params: Params | None = None,
        seconds: float | None = None,
    ) -> Any:
        """Ask, and return the answer as plain data, however slowly the server speaks.

        ``path`` is added to the url, ``seconds`` is what the whole answer may take (None: what a
        query may take, or else a minute).

        Raises:
            WebError: there is no answer, or none that can be read.
        """
        owned = None if self._owner is None else self._owner.work.time_limit
        limit = seconds or owned or LONGEST_ANSWER
        client = self._opened()
        request = {
            "method": method,
            "url": self._options.url.rstrip("/") + path if path else self._options.url,
            "json": body,
            "params": dict(params) if params else None,
            "timeout": limit,
        }
        try:
            status, headers, content = within(limit, lambda: self._exchange(client, request), None)
        except TimedOutError:
            raise WebError(f"{self.host} did not finish its answer within {limit:g} s") from None
        except WebError:
            raise
        except Exception as error:
            raise self._failure(error, limit) from None
        if not 200 <= status < 300:
            refusal = refused(self.host, status, headers, content)
            refusal.args = (self._hider.hide(str(refusal)),)
            raise refusal
        try:
            return json.loads(content) if content.strip() else None
        except (ValueError, RecursionError):
            start = content[:80].decode("utf-8", "replace")
            text = self._hider.hide(f"{self.host} did not answer with JSON: {shown(start)}")
            raise WebError(text, status=200) from None

    def _opened(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._made()
                finalize(self, self._client.close)  # where nobody closes it
            return self._client

    def _made(self) -> Any:
        httpx = engine("httpx", package="httpx", needed_for=self._needed_for, extra=self._extra)
        logging.getLogger("httpx").addFilter(_hide_in_log)  # it logs addresses; once is enough
        given = {
            name.lower(): key.get_secret_value() for name, key in self._options.headers.items()
        }
        headers = {"accept": "application/json", "user-agent": "rankscope", **given}
        headers["accept-encoding"] = "identity"  # a small one could unpack to a huge one
        try:
            return httpx.Client(
                headers=headers,
                verify=self._trust,
                follow_redirects=False,
                trust_env=is_proxied(self._options.url),
                limits=httpx.Limits(max_connections=self._connections),
            )
        except (ImportError, ValueError) as error:  # its text may hold the proxy's password
            raise InputError(
                f"the proxy that the environment names for {self.host} cannot be used "
                f"({type(error).__name__}); look at HTTP_PROXY, HTTPS_PROXY and ALL_PROXY"
            ) from None

    def _exchange(self, client: Any, request: Any) -> tuple[int, Mapping[str, str], bytes]:
        """Send a request and read the whole answer, unless it is too large."""
        parts, size = [], 0
        with client.stream(**request) as answer:
            self._has_answered = True
            packing = answer.headers.get("content-encoding", "").strip().lower()
            if packing not in ("", "identity"):
                problem = f"{self.host} packed its answer as {shown(packing)}, and was asked not to"
                raise WebError(problem, may_repeat=False)
            for part in answer.iter_raw():
                size += len(part)
                if size > LARGEST_ANSWER:
                    raise WebError(
                        f"{self.host} answered with more than {LARGEST_ANSWER / 2**20:.0f} MB; ask "
                        "for fewer documents or fields",
                        may_repeat=False,
                    )
                parts.append(part)
            return answer.status_code, answer.headers, b"".join(parts)

    def _failure(self, error: Exception, limit: float) -> WebError:
        """Say in one sentence why there was no answer."""
        kind = type(error).__name__
        text, was_sent = " ".join(str(error).split()), kind not in _UNSENT
        if "Timeout" in kind:
            return WebError(f"{self.host} did not answer within {limit:g} s", was_sent=was_sent)
        if "CERTIFICATE_VERIFY_FAILED" in text:
            return WebError(untrusted(self.host, certificate_problem(text)), may_repeat=False)
        if kind == "ConnectError":
            problem = f"{self.host} cannot be reached: {text or 'no connection'}"
            return WebError(problem, was_sent=False)
        may_repeat = kind not in ("InvalidURL", "UnsupportedProtocol", "LocalProtocolError")
        may_repeat = may_repeat and not isinstance(error, ValueError | TypeError)
        scheme = "" if self._has_answered else "; is it http or https?"
        text = self._hider.hide(f"{self.host} broke off: {sentence(error).rstrip('.')}{scheme}")
        return WebError(text, may_repeat=may_repeat, was_sent=was_sent)


def refused(host: str, status: int, headers: Mapping[str, str], content: bytes) -> WebError:
    """Return an answer that is none as an error: what the server says, and if to ask again."""
    reason = reason_of(content)
    text = f"{host} answered {status}"
    if 300 <= status < 400:
        place = shown(headers.get("location", ""))
        text = f"{text}, a redirect to {place}, which is not followed; name that url"
    elif reason:
        text = f"{text}: {reason}"
    may_repeat = status in AGAIN
    wait = seconds_to_wait(headers.get("retry-after")) if may_repeat else None
    return WebError(text, status=status, may_repeat=may_repeat, retry_after=wait)


def seconds_to_wait(header: str | None) -> float | None:
    """Read ``Retry-After``: seconds, or a date; None if it says neither.

    >>> seconds_to_wait("2"), seconds_to_wait("soon")
    (2.0, None)
    """
    if header is None:
        return None
    with suppress(ValueError):
        seconds = float(header)
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    with suppress(ValueError, TypeError, OverflowError):
        moment = parsedate_to_datetime(header)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    return None


_REASONS = (
    *("root_cause", "message", "msg", "reason", "detail", "description"),
    *("error", "errors", "root", "title", "status"),
)
"""Where errors say what is wrong, best first; many are inside others."""


def reason_of(content: bytes) -> str:
    """Return what an error page says, as short as possible."""
    text = content[:4096].decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        data = json.loads(content[: 64 * 1024])
        for _ in range(8):  # the message is often inside: {"error": {"reason": …}}
            if isinstance(data, list) and data:
                data = data[0]
            if not isinstance(data, Mapping):
                break
            inner = next((data[name] for name in _REASONS if data.get(name)), None)
            if inner is None:
                break
            data = inner
        if isinstance(data, str):
            text = data
    text = " ".join(text.split())
    return shown(text, 240) if text else ""
