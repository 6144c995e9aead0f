"""Where a system is asked: on this machine, or elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from rankscope.retrieval.protocol import Component, System, all_parts

_PLACES = ("url", "base_url", "endpoint", "address", "host", "hosts", "dsn", "uri")
"""What an option is called that says where something is asked."""

_HOST = re.compile(r"\bhost(?:addr)?\s*=\s*'?([^\s']*)")
"""Where a connection string of PostgreSQL names a host."""


def elsewhere(system: System) -> list[str]:
    """Return where a system, and all it is made of, is asked that is not this machine.

    A part that asks something outside this process and does not say where is taken to be elsewhere.
    """
    places = [place for part in all_parts(system) for place in _elsewhere(part)]
    return list(dict.fromkeys(places))


def _elsewhere(part: Component) -> Iterator[str]:
    if not part.capabilities.remote or _asks_others(part):
        return
    hosts = [] if part.options is None else list(_hosts(part.options))
    if not hosts:
        yield f"what {type(part).__name__} asks"
    for host in hosts:
        if not is_here(host):
            yield host


def _asks_others(part: Component) -> bool:
    """Tell whether a part is remote because of another one below it."""
    return any(below.capabilities.remote for below in part.parts())


def _hosts(options: Any) -> Iterator[str]:
    """Yield the hosts that options name."""
    for name in _PLACES:
        value = getattr(options, name, None)
        values = value if isinstance(value, list | tuple) else [value]
        for entry in values:
            text = entry.get_secret_value() if isinstance(entry, SecretStr) else entry
            if isinstance(text, str) and text:
                yield _host(text)


def _host(text: str) -> str:
    """Return the host of an address, of a connection string, or of nothing but a host."""
    with suppress(ValueError):
        if "://" in text:
            return urlsplit(text).hostname or ""
        named = _HOST.search(text)
        if named is not None or "=" in text:
            return named[1] if named is not None else ""
        return urlsplit(f"//{text}").hostname or ""
    return "an address that cannot be read"


def is_here(host: str) -> bool:
    """Tell whether a host is this machine: a loopback address, or a socket in a folder.

    >>> is_here("127.0.0.1"), is_here("::1"), is_here("localhost"), is_here("search.example.org")
    (True, True, True, False)
    """
    if not host or host.startswith("/") or host == "localhost" or host.endswith(".localhost"):
        return True
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return False
