"""TREC topics: the SGML of the early tracks and the XML of the later ones.

SGML topics may leave tags open; ``&`` is an ordinary character in them, and label words
(``Number:``) are dropped.

A topic becomes a row: its number is the id, its title or ``<query>`` the text, and every other
element a field by its name in lower case (``desc`` is called ``description``, ``narr``
``narrative``, an element that repeats is a list, ``<subtopic>`` elements are the list
``subtopics``). Attributes of a topic are fields too. Tags inside an element's text are dropped,
their text is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import BinaryIO

from rankscope.collection.markup import TAG, attributes, unescaped, without_comments
from rankscope.files import decoded
from rankscope.tables.detection import BOM
from rankscope.tables.record_rows import Origin, Row

_TOPIC = re.compile(r"<(top|topic)((?:\s[^<>]*+)?)>", re.I)
_END = re.compile(r"</(?:top|topic)\s*>|\Z", re.I)
_DECLARATIONS = re.compile(r"<!DOCTYPE[^>\[]{0,1000}\[")
_LABEL = re.compile(
    r"\A(Number|Topic|Description|Narrative|Domain|Summary|(Concept|Factor|Definition)\(s\)):\s*",
    re.I,
)
_NUMBERS = ("num", "number", "identifier", "id", "qid")
_TEXTS = ("title", "query", "question", "summary", "description")
_LONG = {"desc": "description", "narr": "narrative"}


def read_topics(stream: BinaryIO, origin: Origin) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) for every ``<top>`` or ``<topic>``."""
    text = decoded(stream.read().removeprefix(BOM), source=str(origin.source))
    text = text.replace("\r\n", "\n")
    first = _TOPIC.search(text)
    xml = text.lstrip().startswith("<?xml") or (first is not None and first[1].lower() == "topic")
    if _DECLARATIONS.search(text):
        raise origin.error("a DOCTYPE with declarations is not read; remove it")
    plain, unclosed = without_comments(text, escape=xml)
    if unclosed >= 0:
        line = text.count("\n", 0, unclosed) + 1
        raise origin.error("a comment or CDATA is never closed; close it", line)
    openings = list(_TOPIC.finditer(plain))
    if not openings:
        raise origin.error("expected TREC topics, found no <top> or <topic>")
    line, counted = 1, 0
    for opening, following in pairwise([*openings, None]):
        assert opening is not None
        line, counted = line + plain.count("\n", counted, opening.end()), opening.end()
        until = len(plain) if following is None else following.start()
        closing = _END.search(plain, opening.end(), until)
        body = plain[opening.end() : until if closing is None else closing.start()]
        yield line, _row(opening, body, xml, line, origin)


def _elements(body: str, *, xml: bool) -> Iterator[tuple[str, str, str]]:
    """Yield name, attributes and text of each element; '' is the name of what is in none.

    In SGML opening an element closes the last; in XML it is a tag in its text.
    """
    name, inside, pieces, end = "", "", list[str](), 0
    for tag in TAG.finditer(body):
        pieces.append(body[end : tag.start()])
        end = tag.end()
        closes = bool(tag[1]) and tag[2].lower() == name
        opens = not tag[1] and (not name or not xml or tag[2].lower() == "subtopic")
        if closes or opens:
            yield name, inside, "".join(pieces)
            is_open = opens and not tag[3].endswith("/")
            name, inside, pieces = (tag[2].lower(), tag[3], []) if is_open else ("", "", [])
    yield name, inside, "".join([*pieces, body[end:]])


def _row(opening: re.Match[str], body: str, xml: bool, line: int, origin: Origin) -> Row:
    """Return the fields of a topic, under the names that `Queries` knows."""
    fields: dict[str, list[object]] = {k: [v] for k, v in attributes(opening[2]).items()}
    in_none = ""
    for name, inside, content in _elements(body, xml=xml):
        text = content.strip(" \t\n\r")
        text = unescaped(text) if xml else text
        if opening[1].lower() == "top":
            text = _LABEL.sub("", text)
        if not name:
            in_none += text
        elif name == "subtopic":
            fields.setdefault("subtopics", []).append({**attributes(inside), "text": text})
        else:
            fields.setdefault(_LONG.get(name, name), []).append(text)
    number = next((fields.pop(name) for name in _NUMBERS if name in fields), None)
    if number is None:
        raise origin.error("a topic without a number; give it <num> or number=", line)
    key = next((name for name in _TEXTS if name in fields), None)
    if key is None and not in_none:
        raise origin.error("a topic without text; give it <title> or <query>", line)
    row: Row = {"_id": number[0], "text": fields[key].pop(0) if key else in_none}
    for name, values in fields.items():
        if values:
            row[name] = values[0] if len(values) == 1 and name != "subtopics" else values
    return row
