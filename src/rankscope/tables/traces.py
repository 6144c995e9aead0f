"""Traces as runs: what a retriever in production was asked and returned, as OpenTelemetry has it.

Spans come as OTLP writes them (``resourceSpans``, a batch on each line or one in a file), or one by
one, with attributes nested, dotted, or as columns (``attributes.input.value``), as Phoenix exports
them. A retrieval is a span with documents, OpenInference's ``retrieval.documents.N.document.id`` or
the ``gen_ai.retrieval.documents`` of OpenTelemetry, or one that says that it is a retrieval and has
none. All other spans are passed over.

The id of a query is the attribute that the user names, or else the span's trace id; the second
retrieval of a trace has ``-2`` after it, and so on. Spans without a trace id are numbered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from rankscope.errors import FormatError, RankscopeError, counted, shown
from rankscope.tables.jsontext import parse_json

_BATCHES = ("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "spans", "data")
_TRACE_IDS = ("context.trace_id", "trace_id", "traceId", "context.traceId")
_KINDS = ("openinference.span.kind", "span_kind", "spanKind")
_TEXTS = ("gen_ai.retrieval.query.text", "gen_ai.retrieval.query", "input.value")
_QUESTION = re.compile(r"(?:gen_ai\.retrieval\.query|input\.value)\.(?:query|question|input|text)")
_DOCUMENT = re.compile(r"(?:gen_ai\.)?retrieval\.documents\.(\d{1,9})\.(?:document\.)?(.+)", re.S)
_JSON = ("retrieval.documents", "document.metadata", "retrieval.query", "input.value")
"""How attributes end that may be JSON text."""


class Retrieval(NamedTuple):
    """One retrieval: where it was read, what was asked, and the documents, best first."""

    line: int | None
    query_id: str
    text: str | None
    documents: list[dict[str, Any]]


def are_traces(data: object) -> bool:
    """Tell whether data are spans, or batches of them."""
    span = next(_spans(data), {})
    has_attributes = any(str(name).startswith("attributes") for name in span)
    return has_attributes and not _fields(span).keys().isdisjoint(_TRACE_IDS)


def retrievals(
    values: Iterable[tuple[int | None, Any]], *, source: str, query: str | None
) -> Iterator[Retrieval]:
    """Yield the retrievals among the spans of JSON values, each with its line."""
    of_trace: Counter[str] = Counter()
    spans = count = 0
    for line, span in ((line, span) for line, value in values for span in _spans(value)):
        spans += 1
        fields = _fields(span)
        documents = _documents(fields)
        kind = str(next((fields[name] for name in _KINDS if name in fields), "")).upper()
        is_retrieval = kind == "RETRIEVER" or fields.get("gen_ai.operation.name") == "retrieval"
        if not documents and not is_retrieval:
            continue
        count += 1
        ids = (fields.get(name) for name in (_TRACE_IDS if query is None else (query,)))
        query_id = next((str(each) for each in ids if each != "" and type(each) in (str, int)), "")
        if not query_id and query is not None:
            others = [shown(name, 40) for name in fields if not _DOCUMENT.match(name)]
            raise FormatError(
                f"a retrieval has no attribute {shown(query)} (query=); it has "
                f"{', '.join(others[:12])}",
                source=source,
                line=line,
            )
        query_id = query_id or str(count)
        of_trace[query_id] += query is None
        if of_trace[query_id] > 1:
            query_id = f"{query_id}-{of_trace[query_id]}"
        names = (name for name in fields if name in _TEXTS or _QUESTION.fullmatch(name))
        texts = (fields[name] for name in names if isinstance(fields[name], str))
        yield Retrieval(line, query_id, next(texts, None), documents)
    if not count:
        raise FormatError(
            f"has no retrieval among its {counted(spans, 'span')}; one has "
            "retrieval.documents.0.document.id and so on, or gen_ai.retrieval.documents",
            source=source,
        )


def _spans(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the spans of a batch, of a list, or the one that this is."""
    for item in value if isinstance(value, list | tuple) else [value]:
        if isinstance(item, Mapping):
            batches = (item[name] for name in _BATCHES if isinstance(item.get(name), list | tuple))
            batch = None if "attributes" in item else next(batches, None)
            yield from [item] if batch is None else _spans(batch)


def _fields(span: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a span and its attributes, by dotted names."""
    fields: dict[str, Any] = {}
    attributes = span.get("attributes")
    if isinstance(attributes, list):  # as OTLP has them
        span = {**span, "attributes": _plain({"kvlistValue": {"values": attributes}})}

    def flatten(value: Any, name: str) -> None:
        value = _parsed(value) if name.endswith(_JSON) else value
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            value = dict(enumerate(value))
        if isinstance(value, Mapping) and value:
            for key, inner in value.items():
                flatten(inner, f"{name}.{key}" if name else str(key))
        else:
            fields[name.removeprefix("attributes.")] = value

    flatten(span, "")
    return fields


def _plain(value: Any) -> Any:
    """Return a typed value of OTLP as plain data."""
    kind, inner = next(iter(value.items()), ("", None)) if isinstance(value, Mapping) else ("", "")
    items = inner.get("values") if isinstance(inner, Mapping) else None
    listed = items if isinstance(items, list) else []
    if kind == "arrayValue":
        return [_plain(item) for item in listed]
    if kind == "kvlistValue":
        pairs = [pair for pair in listed if isinstance(pair, Mapping)]
        return {str(pair.get("key")): _plain(pair.get("value")) for pair in pairs}
    # whole numbers are text in OTLP, as 64 bits are too many for JSON
    is_whole = kind == "intValue" and re.fullmatch(r"-?\d{1,20}", str(inner))
    return int(str(inner)) if is_whole else inner


def _documents(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the documents in their order: id, score, content and metadata."""
    by_place: dict[int, dict[str, Any]] = {}
    for name, value in fields.items():
        match = _DOCUMENT.fullmatch(name)
        if match is not None and value is not None:
            document = by_place.setdefault(int(match[1]), {"metadata": {}})
            field = match[2].removeprefix("metadata.")
            (document if field == match[2] else document["metadata"])[field] = value
    return [by_place[place] for place in sorted(by_place)]


def _parsed(value: Any) -> Any:
    """Return the JSON in a text; what is none stays as it is."""
    try:
        is_json = isinstance(value, str) and value.lstrip().startswith(("{", "["))
        return parse_json(value, source="") if is_json else value
    except RankscopeError:
        return value
