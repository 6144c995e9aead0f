"""Documents of TREC's collections: ``<DOC>`` elements of SGML, many in a file, read one at a time.

A document's id is its ``<DOCNO>``. ``<TITLE>``, ``<HEADLINE>``, ``<HL>``, ``<HEAD>``, ``<TTL>`` or
``<TI>`` is the title, also inside another element. All ``<TEXT>`` elements and what is in no
element are the text, and every other element is a field by its name in lower case, a list where it
repeats; in a document without ``<TEXT>`` everything but id, title and headers is the text. Tags
inside an element are dropped, their text is kept; a tag that is never closed is such a tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from rankscope.collection.markup import TAG, unescaped, without_comments
from rankscope.files import decoded
from rankscope.tables.detection import BOM
from rankscope.tables.record_rows import Origin, Row

_BOUNDARY = re.compile(r"<(/?)DOC\s*>", re.I)
_IDS = ("docno", "docid", "doc_id", "id")
_TITLES = ("title", "headline", "hl", "ttl", "head", "ti")
_HEADERS = ("dochdr", "fileid", "header")
_LARGEST = 1 << 30
"""Characters of one document; more are a file whose tags are not closed."""


def read_documents(stream: BinaryIO, origin: Origin) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) for every ``<DOC>``."""
    pieces: list[str] | None = None
    begun = size = count = 0
    for number, line in enumerate(stream, start=1):
        raw = line.removeprefix(BOM) if number == 1 else line
        text = decoded(raw, source=str(origin.source), line=number)
        position = 0
        for tag in _BOUNDARY.finditer(text) if "<" in text else ():
            if tag[1]:
                if pieces is None:
                    raise origin.error("</DOC> without a <DOC> before it", number)
                pieces.append(text[position : tag.start()])
                yield begun, _row("".join(pieces), begun, origin)
                pieces, count = None, count + 1
            elif pieces is not None:
                raise origin.error(
                    f"<DOC> inside the document of line {begun}; close that with </DOC>", number
                )
            else:
                pieces, begun, size = [], number, 0
            position = tag.end()
        if pieces is not None:
            pieces.append(text[position:])
            size += len(text) - position
            if size > _LARGEST:
                raise origin.error("a document has more than 1 GiB; close it with </DOC>", begun)
    if pieces is not None:
        raise origin.error("the last document is not closed; end it with </DOC>", begun)
    if not count:
        raise origin.error("expected documents, found no <DOC>")


def _row(text: str, line: int, origin: Origin) -> Row:
    """Return the fields of one document."""
    text, _ = without_comments(text)
    tags = list(TAG.finditer(text))
    closed = _closed(tags)
    elements: list[tuple[str, str]] = []  # '' is the name of what is in no element
    title = ""
    end = last = 0
    for place, tag in enumerate(tags):
        closing = closed.get(place)
        if closing is None:
            continue
        name = tag[2].lower()
        inside = place < last
        if inside and (title or name not in _TITLES):
            continue
        content = _without_tags(text[tag.end() : tags[closing].start()]).strip()
        if inside:
            title = content
            continue
        elements += [("", _without_tags(text[end : tag.start()]).strip()), (name, content)]
        end, last = tags[closing].end(), closing
    elements.append(("", _without_tags(text[end:]).strip()))
    return _named([item for item in elements if item[1]], title, line, origin)


def _closed(tags: list[re.Match[str]]) -> dict[int, int]:
    """Return for each tag that is closed where; what is opened later and not closed is left out."""
    closed: dict[int, int] = {}
    opened: list[int] = []
    depths: dict[str, list[int]] = {}  # by name, how deep it is open: no search for each tag
    for place, tag in enumerate(tags):
        name = tag[2].lower()
        if not tag[1]:
            if not tag[3].endswith("/"):
                depths.setdefault(name, []).append(len(opened))
                opened.append(place)
        elif depths.get(name):
            depth = depths[name][-1]
            closed[opened[depth]] = place
            for unclosed in opened[depth:]:
                depths[tags[unclosed][2].lower()].pop()
            del opened[depth:]
    return closed


def _without_tags(text: str) -> str:
    return unescaped(TAG.sub("", text) if "<" in text else text)


def _named(elements: list[tuple[str, str]], title: str, line: int, origin: Origin) -> Row:
    """Return a row of the elements of a document, which have names and text."""
    texts: dict[str, list[str]] = {}
    for name, text in elements:
        texts.setdefault(name, []).append(text)
    number = next((name for name in _IDS if name in texts), None)
    if number is None:
        raise origin.error("a document without <DOCNO>; give every document one", line)
    row: Row = {"_id": texts[number][0]}
    heading = next((name for name in _TITLES if name in texts), "")
    title = "\n".join(texts[heading]) if heading else title
    if title:
        row["title"] = title
    is_text = {"", "text"} if "text" in texts else {*texts} - {heading, *_IDS, *_HEADERS} | {""}
    row["text"] = "\n".join(text for name, text in elements if name in is_text)
    for name, values in texts.items():
        if name not in is_text and name not in (number, heading):
            row[name] = values[0] if len(values) == 1 else values
    return row
