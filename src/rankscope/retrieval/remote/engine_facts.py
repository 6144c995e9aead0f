"""What a search API says of itself before the first query: version, documents, index settings."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from rankscope.errors import InputError
from rankscope.records.origin import EngineFacts
from rankscope.retrieval.options import Options
from rankscope.retrieval.protocol import fingerprint
from rankscope.retrieval.remote.api_options import AskOptions, HttpOptions
from rankscope.retrieval.remote.api_requests import fixed_request, path_with_variables
from rankscope.retrieval.remote.placeholders import ValueOf, as_json
from rankscope.retrieval.remote.web import REFUSED, Web, WebError

_SECONDS = 10.0
"""How long each of these requests may take."""

_LONGEST_SETTINGS = 20_000
"""Characters of settings that are recorded; of longer ones, a hash."""

_MOST_DIGITS = 18
"""Of a number of documents; what is longer counts nothing, and is slow to read."""

_SECRET_NAME = re.compile(r"api[-_]?key|password|passwd|secret|credential|token$", re.IGNORECASE)


def ask_first(options: HttpOptions, web: Web, look_up: ValueOf) -> dict[str, Any]:
    """Ask for the values that requests need.

    Raises:
        InputError: the server refuses, or has no such value.
        WebError: it asks to wait.
    """
    values = {}
    for name, ask in options.ask_first.items():
        try:
            values[name] = _asked(options, ask, web, look_up)
        except WebError as error:
            if hasattr(error, "retry_after"):
                raise
            raise InputError(f"{error}{advice(error)}") from None
    return values


def advice(error: WebError) -> str:
    """Say what to look at when a server refuses; nothing if there is nothing to say."""
    if error.status in (401, 403):
        return "; check the key in headers"
    return "; check url, path and index" if error.status in REFUSED else ""


def engine_facts(
    options: HttpOptions, web: Web, look_up: ValueOf, snapshot: str | None
) -> tuple[EngineFacts, tuple[str, ...]]:
    """Ask an engine what it is; what it does not say is left open, with a note."""
    notes: list[str] = []

    def asked(what: str, ask: AskOptions | None) -> Any:
        if ask is None:
            return None
        try:
            return _asked(options, ask, web, look_up)
        except (WebError, InputError) as error:
            notes.append(f"the engine did not say its {what}: {error}")
            return None

    version = asked("version", options.version)
    count = asked("number of documents", options.count)
    settings = asked("settings", options.settings)
    facts = EngineFacts(
        engine="http",
        version="" if version is None else _whole_text(str(version)[:200]),
        documents=whole_number(count),
        settings=described(options, settings),
        snapshot=snapshot,
    )
    return facts, tuple(notes)


def described(options: HttpOptions, settings: Any = None) -> dict[str, Any]:
    """Return how an engine searches: what it is asked, and what it says of its index."""
    about: dict[str, Any] = {
        name: value
        for name in ("recipe", "search", "index")
        if (value := getattr(options, name)) is not None
    }
    if settings is None:
        return about
    settings = _recordable(_without_secrets(settings, options))
    text = as_json(settings)
    if len(text) > _LONGEST_SETTINGS:
        settings = {"sha256": fingerprint(settings), "characters": len(text)}
    return {**about, "index_settings": settings}


def _asked(options: HttpOptions, ask: AskOptions, web: Web, look_up: ValueOf) -> Any:
    answer = fixed_request(options, ask).send(web, look_up, seconds=_SECONDS)
    values = path_with_variables(options, ask.at).find(answer)
    if len(values) == 1 and values[0] is not None:
        return values[0]
    return values or None


def _without_secrets(data: Any, options: Options) -> Any:
    """Leave out of settings what is, or looks like, a secret."""
    secrets = options.secrets()
    if isinstance(data, Mapping):
        return {
            key: "…" if _SECRET_NAME.search(key) else _without_secrets(value, options)
            for key, value in data.items()
        }
    if isinstance(data, list):
        return [_without_secrets(value, options) for value in data]
    if isinstance(data, str) and any(secret and secret in data for secret in secrets):
        return "…"
    return data


def whole_number(value: Any) -> int | None:
    """Return a count that a server states, as a number or as text; None if it is none.

    >>> whole_number("12"), whole_number(-1), whole_number("9" * 5000)
    (12, None, None)
    """
    text = str(value) if isinstance(value, str | int) else ""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def _recordable(data: Any) -> Any:
    """Return plain data as a record can hold it: JSON reads more than it may write."""
    if isinstance(data, Mapping):
        return {_whole_text(key): _recordable(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_recordable(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return str(data)
    return _whole_text(data) if isinstance(data, str) else data


def _whole_text(text: str) -> str:
    """Return a text with a ? for each half of a character, which cannot be written."""
    return text.encode("utf-8", "replace").decode()
