"""Requests to a search API: templates that are filled in and sent, and what is read of answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, time
from typing import Any
from urllib.parse import urlsplit

from rankscope.errors import InputError, shown
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import Context
from rankscope.retrieval.remote.api_options import AskOptions, HttpOptions, check_placeholders
from rankscope.retrieval.remote.json_paths import JsonPath
from rankscope.retrieval.remote.placeholders import (
    ValueOf,
    as_json,
    filled,
    filled_path,
    is_variable,
    placeholders,
    read_template,
    with_variables,
)
from rankscope.retrieval.remote.web import Web

_LARGEST_TEMPLATE = 2**20


@dataclass(frozen=True, slots=True)
class Request:
    """A request with placeholders that each query fills in; variables are in it already."""

    method: str
    path: str
    params: Mapping[str, Any]
    body: Any

    def names(self) -> set[str]:
        """Return the names of its placeholders."""
        return {placeholder.name for placeholder in placeholders(self.plain())}

    def plain(self) -> dict[str, Any]:
        """Return it as plain data, for an identity; no secret is in it."""
        return {
            "method": self.method,
            "path": self.path,
            "params": dict(self.params),
            "body": self.body,
        }

    def filled(self, look_up: ValueOf) -> tuple[str, dict[str, str | list[str]], Any]:
        """Return path, params and body with values in them.

        Raises:
            MissingValueError: there is no value for a placeholder.
        """
        params = filled(self.params, look_up) or {}
        body = None if self.body is None else filled(self.body, look_up)
        texts = {name: _param(value) for name, value in params.items()}
        return filled_path(self.path, look_up), texts, body

    def send(self, web: Web, look_up: ValueOf, *, seconds: float | None = None) -> Any:
        """Fill in, ask, and return the answer.

        Raises:
            MissingValueError: there is no value for a placeholder.
            WebError: there is no usable answer.
        """
        path, params, body = self.filled(look_up)
        return web.json(self.method, path, body, params=params, seconds=seconds)


def _param(value: Any) -> str | list[str]:
    """Write a value as an address has it; a list is sent as several values."""
    if isinstance(value, list) and not all(isinstance(item, float) for item in value):
        return [str(_param(item)) for item in value]
    return value if isinstance(value, str) else as_json(value)


def search_request(options: HttpOptions, context: Context) -> Request:
    """Return the request that each query is asked with."""
    body = options.body
    if isinstance(body, str):
        body = _from_file(body, context)
        check_placeholders(options, body)
    method = options.method or ("GET" if body is None else "POST")
    ask = AskOptions.model_construct(
        path=urlsplit(options.url).path.rstrip("/") + options.path,
        method=method,
        params=options.params,
        body=body,
    )
    return fixed_request(options, ask, at_url=False)


def fixed_request(options: HttpOptions, ask: AskOptions, *, at_url: bool = True) -> Request:
    """Return a request with its variables filled in."""
    variables = options.known_variables()
    path = urlsplit(options.url).path.rstrip("/") + ask.path if at_url else ask.path
    return Request(
        ask.method,
        filled_path(path, variables.get, is_variable),
        with_variables(ask.params, variables) or {},
        None if ask.body is None else with_variables(ask.body, variables),
    )


def path_with_variables(options: HttpOptions, text: str) -> JsonPath:
    """Return a path into answers, with variables filled in."""
    variables = options.known_variables()
    return JsonPath.parse(text).with_keys(lambda key: str(with_variables(key, variables)))


def _from_file(name: str, context: Context) -> Any:
    path = context.path(name)
    try:
        content = path.read_bytes()[: _LARGEST_TEMPLATE + 1]
    except OSError as error:
        raise InputError(
            f"http.body: expected a table, JSON or a file that holds it, and {shown(name)} cannot "
            f"be read: {error.strerror or type(error).__name__}"
        ) from None
    if len(content) > _LARGEST_TEMPLATE:
        raise InputError(f"http.body: the file {shown(name)} is larger than 1 MB")
    try:
        return read_template(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"http.body: the file {shown(name)} is not UTF-8") from None
    except InputError as error:
        raise InputError(f"http.body: {shown(name)}: {error}") from None


@dataclass(frozen=True, slots=True)
class Values:
    """The values of placeholders for one request."""

    query: Query
    depth: int
    offset: int
    vector: list[float] | None
    keys: Mapping[str, str]
    asked: Mapping[str, Any]

    def __call__(self, name: str) -> Any:
        """Return the value of a placeholder; None if it has none."""
        match name:
            case "query":
                return self.query.text
            case "depth":
                return self.depth
            case "offset":
                return self.offset
            case "page":
                return self.offset // self.depth + 1
            case "vector":
                return self.vector
        group, _, key = name.partition(".")
        if group == "metadata":
            return _metadata(self.query.metadata, key)
        return (self.keys if group == "keys" else self.asked).get(key)


def _metadata(metadata: Mapping[str, Any], key: str) -> Any:
    """Return what a query has under a key, or under a key inside another: ``place.city``."""
    if key in metadata:
        return _plain(metadata[key])
    outer, dot, inner = key.partition(".")
    value = metadata.get(outer)
    return _metadata(value, inner) if dot and isinstance(value, Mapping) else None


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, date | time):
        return value.isoformat()
    return value if isinstance(value, str | int | float | bool | None) else str(value)
