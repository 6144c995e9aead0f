"""The page of a report with its explorer: contents as blocks of compressed columns.

The page takes a block apart when it needs it.

A block is a line of JSON, which holds texts and says where each column is, and behind it the
columns' bytes; all of it compressed (gzip, as browsers can read it) and written in base64.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.document.pages import Explorer, page

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    from rankscope.document.blocks import Document
    from rankscope.reports.explorer.contents import Contents

QUERIES_A_BLOCK = 128
DOCUMENTS_A_BLOCK = 512

LONGEST_QUERY = 2_000
LONGEST_TITLE = 300
LONGEST_VALUE = 500
LONGEST_ID = 1_000
"""Characters of each that a page shows; what is longer ends in an ellipsis."""

MOST_TEXT, LEAST_TEXT, ALL_TEXTS = 400, 60, 24_000_000
"""Characters of a document's text: at most, at least, and in all, whichever is reached first."""

_SCRIPTS = ("data.js", "texts.js", "list.js", "explorer.js")

_BODY = (
    '<div id="explorer"><p class="quiet">A script shows the questions; it did not run.</p></div>'
)

_TYPES = {"f8": "<f8", "f4": "<f4", "i4": "<i4", "i1": "<i1", "u1": "<u1"}


@cache
def _asset(name: str) -> str:
    return (files("rankscope.reports.explorer") / name).read_text("utf-8")


def report_page(document: Document, contents: Contents | None) -> str:
    """Return the page of a document; without contents it has no explorer."""
    if contents is None:
        return page(document)
    explorer = Explorer(
        title="Questions",
        body=_BODY,
        script="".join(map(_asset, _SCRIPTS)),
        style=_asset("explorer.css"),
        data=blocks(contents),
    )
    return page(document, explorer)


def blocks(contents: Contents) -> Iterator[tuple[str, str]]:
    """Yield the name of each block and its text; the first is all that a list of queries needs."""
    yield "overview", packed(*_overview(contents))
    for number, start in enumerate(range(0, len(contents.query_ids), QUERIES_A_BLOCK)):
        yield f"answers-{number}", packed(*_answers(contents, start, start + QUERIES_A_BLOCK))
    longest = text_length(contents)
    for number, part in enumerate(contents.documents.iter_slices(DOCUMENTS_A_BLOCK)):
        texts = {
            "ids": _short(part["doc_id"].to_list(), LONGEST_ID),
            "titles": _short(part["title"].to_list(), LONGEST_TITLE),
            "texts": _short(part["text"].to_list(), longest),
        }
        yield f"documents-{number}", packed(texts, {})


def text_length(contents: Contents) -> int:
    """Return how many characters of a document's text there is room for."""
    documents = max(contents.documents["text"].count(), 1)
    return min(max(ALL_TEXTS // documents, LEAST_TEXT), MOST_TEXT)


def packed(texts: Mapping[str, Any], columns: Mapping[str, tuple[str, npt.NDArray[Any]]]) -> str:
    """Return a block; each column comes with its type."""
    where, parts, offset = {}, [], 0
    for name, (kind, values) in columns.items():
        content = np.ascontiguousarray(values, _TYPES[kind]).tobytes()
        where[name] = [kind, offset, len(values)]
        parts.append(content)
        offset += len(content)
    head = json.dumps({**texts, "columns": where}, ensure_ascii=False, separators=(",", ":"))
    line = head.encode("utf-8", "replace") + b"\n"
    content = gzip.compress(line + b"".join(parts), 6, mtime=0)
    return base64.b64encode(content).decode("ascii")


def unpacked(block: str) -> bytes:
    """Return what a block holds."""
    return gzip.decompress(base64.b64decode(block))


_BLOCK = re.compile(r'(<script type="text/plain" id="data-[a-z0-9-]+">)([A-Za-z0-9+/=]*)(</s)')


def without_compression(page: str) -> str:
    """Return a page with what its blocks hold in the place of how it is compressed.

    Two builds of zlib may write the same content differently.
    """
    return _BLOCK.sub(lambda match: f"{match[1]}{unpacked(match[2]).hex()}{match[3]}", page)


def _short(texts: Sequence[str | None], longest: int) -> list[str | None]:
    """Cut what is too long."""

    def cut(text: str) -> str:
        return text if len(text) <= longest else f"{text[: longest - 1]}…"

    return [None if text is None else cut(text) for text in texts]


def _overview(contents: Contents) -> tuple[dict[str, Any], dict[str, Any]]:
    columns: dict[str, tuple[str, npt.NDArray[Any]]] = {
        "relevant": ("i4", contents.relevant),
    }
    for at, system in enumerate(contents.systems):
        for row, values in enumerate(system.values):
            columns[f"value-{at}-{row}"] = ("f8", values)
        columns[f"cause-{at}"] = ("i1", system.cause)
        columns[f"unjudged-{at}"] = ("i4", contents.unjudged(system))
        columns[f"retrieved-{at}"] = ("i4", contents.counts(system.results))
    fields = []
    for at, (name, values) in enumerate(contents.fields.items()):
        known: dict[str | None, int] = {None: -1}
        short = _short(values, LONGEST_VALUE)
        codes = np.array([known.setdefault(value, len(known) - 1) for value in short], np.int64)
        fields.append({"name": name[:LONGEST_VALUE], "values": list(known)[1:]})
        columns[f"field-{at}"] = ("i4", codes)
    texts: dict[str, Any] = {
        "queries": _short(contents.query_ids, LONGEST_ID),
        "texts": _short(contents.texts, LONGEST_QUERY),
        "fields": fields,
        "systems": [system.name for system in contents.systems],
        "measures": [{"name": name, "up": up} for name, up in contents.measures.items()],
        "causes": list(contents.causes),
        "baseline": contents.baseline,
        "focus": contents.focus,
        "cutoff": contents.cutoff,
        "top": contents.top,
        "withText": contents.with_text,
        "documents": len(contents.documents),
        "queriesABlock": QUERIES_A_BLOCK,
        "documentsABlock": DOCUMENTS_A_BLOCK,
        "textLength": text_length(contents),
    }
    return texts, columns


def _answers(contents: Contents, low: int, high: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the answers to some queries, and the best order of what is judged."""
    high = min(high, len(contents.query_ids))
    bounds = np.arange(low, high + 1)
    columns: dict[str, tuple[str, npt.NDArray[Any]]] = {}
    for at, system in enumerate(contents.systems):
        columns |= _results(system.results, bounds, str(at), ("score", "f8"), ("adds", "f4"))
    return {}, columns | _results(contents.ideal, bounds, "ideal")


def _results(
    results: pl.DataFrame, bounds: npt.NDArray[Any], name: str, *more: tuple[str, str]
) -> dict[str, tuple[str, npt.NDArray[Any]]]:
    """Return the columns of some queries' results, and where those of each query begin."""
    offsets = np.searchsorted(results["query"].to_numpy(), bounds)
    part = results[int(offsets[0]) : int(offsets[-1])]
    columns = {
        f"{column}-{name}": (kind, part[column].to_numpy())
        for column, kind in (("doc", "i4"), ("grade", "f4"), *more)
    }
    return {f"offsets-{name}": ("i4", offsets - offsets[0]), **columns}
