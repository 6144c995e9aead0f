"""TREC topics: the SGML of the early tracks and the XML of the later ones.

The scanner knows tags, comments and CDATA, nothing else: no DTD, no entities beyond the five of XML
and numbered characters, so that a hostile file can do no harm. SGML topics may
leave tags open; ``&`` is an ordinary character in them, and label words (``Number:``) are dropped.

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

from rankscope.files import decoded
from rankscope.tables.detection import BOM
from rankscope.tables.record_rows import Origin, Row

_TAG = re.compile(r"<(/?)([A-Za-z_][\w.:-]*+)([^<>]*+)>")
_FIRST = re.compile(r"<(topic|top)[\s>]", re.I)
# A name begins where no name is going on: without that, a long one is tried from each character.
_ATTRIBUTE = re.compile(
    r"""(?<![\w.:-])([A-Za-z_][\w.:-]*+)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'/]++))"""
)
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}

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
_KNOWN = {
    "top",
    "topic",
    "subtopic",
    "subtopics",
    *_NUMBERS,
    *_LONG,
    *_LABELS,
    *_TEXTS,
    "narrative",
}
"""Recognised in upper case as well."""
_DEEPEST = 50


# --- reading


@dataclass(slots=True)
class _Element:
    name: str
    attributes: dict[str, str]
    pieces: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Topic:
    line: int
    tag: str
    attributes: dict[str, str]
    elements: list[_Element] = field(default_factory=list)
    body: list[str] = field(default_factory=list)


def read_topics(stream: BinaryIO, origin: Origin) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) for every ``<top>`` or ``<topic>``."""
    text = decoded(stream.read().removeprefix(BOM), source=str(origin.source))
    text = text.replace("\r\n", "\n")
    first = _FIRST.search(text)
    xml = text.lstrip().startswith("<?xml") or (first is not None and first[1].lower() == "topic")
    topic = None
    for topic in _topics(text, origin, xml=xml):
        yield topic.line, _row(topic, xml=xml, origin=origin)
    if topic is None:
        raise origin.error("expected TREC topics, found no <top> or <topic>")


def _tokens(
    text: str, origin: Origin, *, xml: bool
) -> Iterator[tuple[int, str, re.Match[str] | None]]:
    """Yield (position, text, None) for text and (position, "", match) for a tag."""
    start = 0
    while start < len(text):
        opening = text.find("<", start)
        if opening < 0:
            yield start, text[start:], None
            return
        if opening > start:
            yield start, text[start:opening], None
        tag = _TAG.match(text, opening)
        if tag and (not tag[3] or tag[3][0] in " \t\n\r/"):
            yield opening, "", tag
            start = tag.end()
            continue
        start, literal = _passed_over(text, opening, origin, xml=xml)
        yield opening, literal, None


def _passed_over(text: str, opening: int, origin: Origin, *, xml: bool) -> tuple[int, str]:
    """Return where a ``<`` that opens no tag ends, and what of it is text."""
    for mark, end in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!DOCTYPE", ">")):
        if text.startswith(mark, opening):
            closing = text.find(end, opening + len(mark))
            inside = text[opening + len(mark) : closing]
            problem = ""
            if closing < 0:
                problem = f"{mark} is never closed; close it with {end}"
            elif mark == "<!DOCTYPE" and "[" in inside:
                problem = "a DOCTYPE with declarations is not read; remove it"
            if problem:  # only now is the line counted: a file may have very many comments
                raise origin.error(problem, text.count("\n", 0, opening) + 1)
            # the text of CDATA is literal: what would be unescaped later is escaped here
            literal = inside if mark == "<![CDATA[" else ""
            return closing + len(end), literal.replace("&", "&amp;") if xml else literal
    return opening + 1, "<"


def _topics(text: str, origin: Origin, *, xml: bool) -> Iterator[_Topic]:
    topic: _Topic | None = None
    open_elements: list[_Element] = []
    line, counted = 1, 0
    for position, piece, tag in _tokens(text, origin, xml=xml):
        if tag is None:
            if topic is not None:
                (open_elements[0].pieces if open_elements else topic.body).append(piece)
            continue
        name = tag[2].lower()
        if name in ("top", "topic") and not (name == "topic" and topic and topic.tag == "top"):
            if topic is not None:
                yield topic
            topic, open_elements = None, []
            if not tag[1]:
                line, counted = line + text.count("\n", counted, position), position
                topic = _Topic(line, name, _attributes(tag[3]))
        elif topic is not None:
            _step(topic, open_elements, tag, nested=xml)
            if len(open_elements) > _DEEPEST:
                raise origin.error("a topic is nested too deeply; close its tags", topic.line)
    if topic is not None:
        yield topic


def _step(topic: _Topic, opened: list[_Element], tag: re.Match[str], *, nested: bool) -> None:
    """Open or close an element; where elements do not nest, opening one closes the last."""
    name = tag[2]
    if tag[1]:
        for depth in range(len(opened) - 1, -1, -1):
            if opened[depth].name.lower() == name.lower():
                del opened[depth:]
                break
        return
    element = _Element(name, _attributes(tag[3]))
    if not nested or name.lower() == "subtopic":  # a subtopic never belongs to another element
        opened.clear()
    if not opened:
        topic.elements.append(element)
    if not tag[3].endswith("/"):
        opened.append(element)


def _attributes(text: str) -> dict[str, str]:
    return {
        match[1]: unescaped(next(value for value in match.groups()[1:] if value is not None))
        for match in _ATTRIBUTE.finditer(text)
    }


def unescaped(text: str) -> str:
    """Return text with the characters that XML's five entities and numbers stand for."""
    return _ENTITY.sub(_character, text)


def _character(entity: re.Match[str]) -> str:
    if entity[1]:
        return _NAMED[entity[1]]
    code = int(entity[2]) if entity[2] else int(entity[3], 16)
    valid = code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
    return chr(code) if valid else entity[0]


def _text(pieces: list[str], *, xml: bool) -> str:
    text = "".join(pieces).strip(" \t\n\r")
    return unescaped(text) if xml else text


def _row(topic: _Topic, *, xml: bool, origin: Origin) -> Row:
    """Return the fields of a topic, under the names that `Queries` knows."""
    fields: dict[str, list[object]] = {name: [v] for name, v in topic.attributes.items()}
    for element in topic.elements:
        text = _text(element.pieces, xml=xml)
        lower = element.name.lower()
        if topic.tag == "top" and lower in _LABELS:
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
    row["text"] = fields[key].pop(0) if key else _text(topic.body, xml=xml)
    if key is None and not row["text"]:
        raise origin.error("a topic without text; give it <title> or <query>", topic.line)
    for name, values in fields.items():
        if values:
            row[name] = values[0] if len(values) == 1 and name != "subtopics" else values
    return row
