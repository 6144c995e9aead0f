"""TREC topics: the SGML of the early tracks and the XML of the later ones.

SGML topics may leave tags open; ``&`` is an ordinary character in them, and label words
(``Number:``) are dropped.

A topic becomes a row: its number is the id, its title or ``<query>`` the text, and every other
element a field (``desc`` is called ``description``, ``narr`` ``narrative``, an element that repeats
is a list, ``<subtopic>`` elements are the list ``subtopics``). Attributes of a topic are fields
too. Tags inside an element's text are dropped, their text is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from rankscope.collection.markup import TAG, attributes, unescaped, without_comments
from rankscope.files import decoded
from rankscope.tables.detection import BOM
from rankscope.tables.record_rows import Origin, Row

_FIRST = re.compile(r"<(topic|top)[\s>]", re.I)
_DECLARATIONS = re.compile(r"<!DOCTYPE[^>\[]{0,1000}\[")
_NUMBERS = ("num", "number", "identifier", "id", "qid")
_TEXTS = ("title", "query", "question", "summary", "description")
_LONG = {"desc": "description", "narr": "narrative"}
_LABELS = {
    "num": "Number",
    "title": "Topic",
    "desc": "Description",
    "narr": "Narrative",
    "dom": "Domain",
    "smry": "Summary",
    "con": "Concept(s)",
    "fac": "Factor(s)",
    "def": "Definition(s)",
}
_KNOWN = {"subtopics", *_NUMBERS, *_LABELS, *_TEXTS, "narrative"}
"""Recognised in upper case as well."""


@dataclass(slots=True)
class _Element:
    name: str
    attributes: dict[str, str]
    text: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Topic:
    line: int
    top: _Element
    """The topic's own tag; its text is what is in no element."""
    elements: list[_Element] = field(default_factory=list)


def read_topics(stream: BinaryIO, origin: Origin) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) for every ``<top>`` or ``<topic>``."""
    text = decoded(stream.read().removeprefix(BOM), source=str(origin.source))
    text = text.replace("\r\n", "\n")
    first = _FIRST.search(text)
    xml = text.lstrip().startswith("<?xml") or (first is not None and first[1].lower() == "topic")
    if _DECLARATIONS.search(text):
        raise origin.error("a DOCTYPE with declarations is not read; remove it")
    plain, unclosed = without_comments(text, escape=xml)
    if unclosed >= 0:
        line = text.count("\n", 0, unclosed) + 1
        raise origin.error("a comment or CDATA is never closed; close it", line)
    topic = None
    for topic in _topics(plain, xml=xml):
        yield topic.line, _row(topic, xml=xml, origin=origin)
    if topic is None:
        raise origin.error("expected TREC topics, found no <top> or <topic>")


def _topics(text: str, *, xml: bool) -> Iterator[_Topic]:
    topic: _Topic | None = None
    element: _Element | None = None
    end, line, counted = 0, 1, 0
    for tag in TAG.finditer(text):
        if topic is not None:
            (element or topic.top).text.append(text[end : tag.start()])
        end = tag.end()
        name = tag[2].lower()
        if name == "top" or (name == "topic" and not (topic and topic.top.name == "top")):
            if topic is not None:
                yield topic
            topic = element = None
            if not tag[1]:
                line, counted = line + text.count("\n", counted, end), end
                topic = _Topic(line, _Element(name, attributes(tag[3])))
        elif topic is not None and tag[1]:
            if element is not None and name == element.name.lower():
                element = None
        elif topic is not None and (element is None or not xml or name == "subtopic"):
            # in SGML opening an element closes the last; in XML this is a tag in its text
            element = _Element(tag[2], attributes(tag[3]))
            topic.elements.append(element)
            if tag[3].endswith("/"):
                element = None
    if topic is not None:
        (element or topic.top).text.append(text[end:])
        yield topic


def _row(topic: _Topic, *, xml: bool, origin: Origin) -> Row:
    """Return the fields of a topic, under the names that `Queries` knows."""

    def text_of(element: _Element) -> str:
        text = "".join(element.text).strip(" \t\n\r")
        return unescaped(text) if xml else text

    fields: dict[str, list[object]] = {name: [v] for name, v in topic.top.attributes.items()}
    for element in topic.elements:
        text, lower = text_of(element), element.name.lower()
        if topic.top.name == "top" and lower in _LABELS:
            text = re.sub(rf"\A{re.escape(_LABELS[lower])}:[ \t\n]*", "", text, flags=re.I)
        if lower == "subtopic":
            fields.setdefault("subtopics", []).append({**element.attributes, "text": text})
            continue
        name = _LONG.get(lower, lower if lower in _KNOWN else element.name)
        fields.setdefault(name, []).append(text)
    number = next((fields.pop(name) for name in _NUMBERS if name in fields), None)
    if number is None:
        raise origin.error("a topic without a number; give it <num> or number=", topic.line)
    row: Row = {"_id": number[0]}
    key = next((name for name in _TEXTS if name in fields), None)
    row["text"] = fields[key].pop(0) if key else text_of(topic.top)
    if key is None and not row["text"]:
        raise origin.error("a topic without text; give it <title> or <query>", topic.line)
    for name, values in fields.items():
        if values:
            row[name] = values[0] if len(values) == 1 and name != "subtopics" else values
    return row
