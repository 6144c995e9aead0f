"""Engines that run in this process, in a folder, or as a server at an address.

The first request to a server is made with our own client, which says in one sentence what is wrong
with an address or a key; then the engine's own client takes over.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from rankscope.errors import InputError
from rankscope.retrieval.options import Secret, SpecError, Text
from rankscope.retrieval.protocol import sentence
from rankscope.retrieval.remote.attached_engine import AttachedOptions
from rankscope.retrieval.remote.web import REFUSED, Web, WebError, WebOptions, check_url
from rankscope.retrieval.waiting import PACE, Stop

Answer = TypeVar("Answer")

ATTEMPTS = 4
"""How often documents are sent before loading is given up."""


class ServedOptions(AttachedOptions):
    """Where an engine is."""

    path: Text | None = None
    """A folder in which the engine keeps its files in this process, from the folder of the config.
    If neither path nor url is given: below the cache."""
    url: Text | None = None
    """The address of a server: http:// or https://, without a user and password."""
    key: Secret | None = None
    """The key the server asks for, such as ${KEY}; never recorded."""
    headers: dict[str, Secret] = Field(default_factory=dict)
    """More that is sent with every request, such as Authorization: Bearer ${KEY}; never
    recorded."""
    verify: bool | Text = True
    """Whose certificates are trusted: true for those of the system, the file of a certificate
    authority, or false for any, which is for a server of your own in a test only."""

    @field_validator("url")
    @classmethod
    def _web_address(cls, url: str | None) -> str | None:
        if url is not None:
            check_url(url)
        return url

    @model_validator(mode="after")
    def _folder_or_server(self) -> Self:
        if self.url is not None and self.path is not None:
            raise SpecError("give either path, a folder, or url, a server")
        if self.url is None and (self.key is not None or self.headers):
            raise SpecError("key and headers are for a server; give its url")
        return self

    def sent_headers(self, key_header: str) -> dict[str, str]:
        """Return what is sent with every request."""
        headers = {name: value.get_secret_value() for name, value in self.headers.items()}
        if self.key is not None:
            headers[key_header] = self.key.get_secret_value()
        return headers


def host_of(url: str) -> str:
    """Return what messages call a server."""
    return urlsplit(url).netloc


def is_loopback(url: str) -> bool:
    """Tell whether an address is on this machine, where no proxy can reach it."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def first_answer(
    options: ServedOptions, path: str, key_header: str, kind: str, *, missing: str = ""
) -> Any:
    """Ask a server for the first time, and return its answer.

    ``missing`` is what to look at if there is nothing at that path.

    Raises:
        InputError: nothing answers there, or it refuses the key.
        WebError: it cannot answer now.
    """
    url = options.url or ""
    headers = {name: Secret(value) for name, value in options.sent_headers(key_header).items()}
    web = Web(
        WebOptions(url=url, headers=headers, verify=options.verify), needed_for=kind, extra=kind
    )
    try:
        web.reach()
        return web.json("GET", path, seconds=30)
    except WebError as error:
        if error.status in REFUSED:
            wrong_key = error.status in (401, 403, 407)
            other = missing or f"is the url right, and {kind} what runs there?"
            raise InputError(f"{error}; {'is the key right?' if wrong_key else other}") from None
        raise
    finally:
        web.close()


def no_answer(url: str, error: BaseException) -> WebError:
    """Return in one sentence why a request to a server has no answer."""
    host, kind = host_of(url), type(error).__name__
    if "Timeout" in kind:
        return WebError(f"{host} did not answer in time")
    if kind == "ConnectError":
        return WebError(f"{host} cannot be reached: {' '.join(str(error).split())}")
    return WebError(f"{host} broke off: {sentence(error)}")


def repeated(call: Callable[[], Answer]) -> Answer:
    """Call until there is an answer, a few times, where asking again may help."""
    for attempt in range(1, ATTEMPTS):
        try:
            return call()
        except WebError as error:
            if not error.may_repeat or hasattr(error, "retry_after"):
                raise
            pace = PACE.get()
            pause = 0.25 * 2**attempt * random.uniform(0.75, 1.25)  # not all at once
            (Stop(None) if pace is None else pace.stop).sleep(pause)
    return call()
