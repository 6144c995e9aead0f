"""TREC's topics and documents: many records in one file of SGML or XML.

Elements become fields under their names in lower case, a list where a name repeats; tags inside an
element are dropped, their text is kept. Comments go, CDATA and references to characters become
text, and nothing else is known of a DTD, so that a hostile file can do no harm. Every scan takes
time in proportion to the text.
"""

from __future__ import annotations

import re
from html import escape, unescape
from itertools import zip_longest
from typing import TYPE_CHECKING, BinaryIO

from rankscope.errors import FormatError
from rankscope.files import decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rankscope.tables.records import Row

# --- topics

_TOPIC = re.compile(r"<top(?:ic)?((?:\s[^<>]*+)?)>", re.I)
_TOPIC_END = re.compile(r"</top(?:ic)?\s*>", re.I)
_DECLARATIONS = re.compile(r"<!DOCTYPE[^>\[]{0,1000}\[")
_LABEL = re.compile(
    r"\A(Number|Topic|Description|Narrative|Domain|Summary|(Concept|Factor|Definition)\(s\)):\s*",
    re.I,
)
_NUMBERS = ("num", "number", "identifier", "id", "qid")
_QUESTIONS = ("title", "query", "question", "summary", "description", "")
_LONG = {"desc": "description", "narr": "narrative"}


def read_topics(stream: BinaryIO, source: str) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) for every ``<top>`` (SGML) or ``<topic>`` (XML).

    The number of a topic is the id, its title or ``<query>`` the text; attributes are fields too.
    ``desc`` is called ``description``, ``narr`` ``narrative``. An element that is never closed ends
    at the next tag, and labels (``Number:``) are dropped.
    """
    text = decoded(stream.read(), source=source).replace("\r\n", "\n")
    if _DECLARATIONS.search(text):
        raise FormatError("a DOCTYPE with declarations is not read; remove it", source=source)
    unclosed = next((aside for aside in _ASIDE.finditer(text) if aside["open"]), None)
    if unclosed is not None:
        line = text.count("\n", 0, unclosed.start()) + 1
        raise FormatError("a comment or CDATA is never closed; close it", source=source, line=line)
    text = _ASIDE.sub(_replaced, text)
    topics = list(_TOPIC.finditer(text))
    if not topics:
        raise FormatError("expected TREC topics, found no <top> or <topic>", source=source)
    line, counted = 1, 0
    for topic, following in zip_longest(topics, topics[1:]):
        line, counted = line + text.count("\n", counted, topic.end()), topic.end()
        body = text[topic.end() : following.start() if following else len(text)]
        body = _TOPIC_END.split(body, maxsplit=1)[0]
        attributes = [(name, _text("".join(it))) for name, *it in _ATTRIBUTE.findall(topic[1])]
        elements = _elements(body, _tags(body), may_be_open=True)
        contents = [(_LONG.get(name, name), _LABEL.sub("", text)) for name, text in elements]
        fields = _by_name([*attributes, *contents])
        number = next((name for name in _NUMBERS if name in fields), None)
        asked = next((name for name in _QUESTIONS if name in fields), None)
        if number is None or asked is None:
            problem = "a topic without a number; give it <num> or number="
            if number is not None:
                problem = "a topic without text; give it <title> or <query>"
            raise FormatError(problem, source=source, line=line)
        row: Row = {"_id": fields.pop(number)[0], "text": " ".join(fields.pop(asked))}
        fields.pop("", None)
        yield line, row | _single(fields)


# --- documents

_BOUNDARY = re.compile(r"<(/?)DOC\s*>", re.I)
_IDS = ("docno", "docid", "doc_id", "id")
_TITLES = ("title", "headline", "hl", "ttl", "head", "ti")
_HEADERS = ("dochdr", "fileid", "header")


def read_documents(stream: BinaryIO, source: str) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) for every ``<DOC>``, reading one at a time.

    Its id is its ``<DOCNO>``. The first ``<TITLE>``, ``<HEADLINE>``, ``<HL>``, ``<HEAD>``,
    ``<TTL>`` or ``<TI>`` is the title, also inside another element. All ``<TEXT>`` elements and
    what is in no element are the text; in a document without ``<TEXT>`` everything but id, title
    and headers is. A tag that is never closed is no element.
    """

    def refusal(problem: str, line: int | None = None) -> FormatError:
        return FormatError(problem, source=source, line=line)

    pieces: list[str] | None = None
    begun = 0
    for number, line in enumerate(stream, start=1):
        text, *boundaries = _BOUNDARY.split(decoded(line, source=source, line=number))
        if pieces is not None:
            pieces.append(text)
        if not boundaries:
            continue
        for closes, after in zip(boundaries[::2], boundaries[1::2], strict=True):
            if pieces is None and closes:
                raise refusal("</DOC> without a <DOC> before it", number)
            if pieces is None:
                pieces, begun = [after], number
            elif not closes:
                problem = f"<DOC> inside the document of line {begun}; close that with </DOC>"
                raise refusal(problem, number)
            else:
                row = _document("".join(pieces))
                if row["_id"] is None:
                    raise refusal("a document without <DOCNO>; give every document one", begun)
                yield begun, row
                pieces = None
    if pieces is not None:
        raise refusal("the last document is not closed; end it with </DOC>", begun)
    if not begun:
        raise refusal("expected documents, found no <DOC>")


def _document(text: str) -> Row:
    text = _ASIDE.sub(_replaced, text) if "<!" in text or "<?" in text else text
    tags = _tags(text)
    contents = _elements(text, tags)
    fields = _by_name(contents)
    key = next((name for name in _IDS if name in fields), "")
    row: Row = {"_id": fields[key][0] if key else None}
    used = {key}
    for name, opening, closing in tags:
        if name in _TITLES and closing is not None:
            title = _text(text[opening.end() : closing.start()])
            row |= {"title": title} if title else {}
            used.add(name)
            break
    is_text = {"", "text"}
    if "text" not in fields:
        is_text |= fields.keys() - {*_IDS, *_TITLES, *_HEADERS}
    row["text"] = "\n".join(content for name, content in contents if name in is_text)
    return row | _single({n: held for n, held in fields.items() if n not in used | is_text})


# --- elements

_TAG = re.compile(r"<(/?)([A-Za-z_][\w.:-]*+)((?:[\s/][^<>]*+)?)>")
"""A tag: a slash if it closes, its name, and what else is in it."""
# A name begins where no name is going on: without that, a long one is tried from each character.
_ATTRIBUTE = re.compile(
    r"""(?<![\w.:-])([A-Za-z_][\w.:-]*+)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'/]++))"""
)
_ASIDE = re.compile(
    r"<!\[CDATA\[(?P<text>.*?)]]>|(?:<!--.*?--|<\?.*?\?|<!DOCTYPE[^>]*)>"
    r"|(?P<open>(?:<!\[CDATA\[|<!--|<\?|<!DOCTYPE).*)",
    re.S,
)
"""What is no element; to the end of the text if it is never closed, so that it is found once."""
_REFERENCE = re.compile(r"&#?\w{1,32};")


_Tag = tuple[str, re.Match[str], re.Match[str] | None]
"""A tag that opens: its name, its place, and the first tag behind it that closes the name."""


def _tags(text: str) -> list[_Tag]:
    tags: list[_Tag] = []
    closing: dict[str, re.Match[str]] = {}
    for tag in reversed(list(_TAG.finditer(text))):
        name = tag[2].lower()
        if tag[1]:
            closing[name] = tag
        elif not tag[3].endswith("/"):
            tags.append((name, tag, closing.get(name)))
    return tags[::-1]


def _elements(text: str, tags: list[_Tag], *, may_be_open: bool = False) -> list[tuple[str, str]]:
    """Return name and text of each element that is in no other; '' names what is in none.

    What has no text is left out. If elements ``may_be_open``, one that is never closed ends at the
    next tag that opens; else it is none.
    """
    pieces: list[tuple[str, str]] = []
    end = 0
    for (name, opening, closing), following in zip_longest(tags, tags[1:]):
        if opening.start() < end or not (closing or may_be_open):
            continue
        pieces.append(("", text[end : opening.start()]))
        until = following[1].start() if following else len(text)
        pieces.append((name, text[opening.end() : closing.start() if closing else until]))
        end = closing.end() if closing else until
    pieces.append(("", text[end:]))
    return [(name, content) for name, piece in pieces if (content := _text(piece))]


def _by_name(contents: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    for name, content in contents:
        fields.setdefault(name, []).append(content)
    return fields


def _single(fields: Mapping[str, list[str]]) -> Row:
    return {name: held[0] if len(held) == 1 else held for name, held in fields.items()}


def _text(piece: str) -> str:
    """Return a piece of markup as text."""
    plain = _TAG.sub("", piece) if "<" in piece else piece
    if "&" in plain:
        plain = _REFERENCE.sub(lambda reference: unescape(reference[0]), plain)
    return plain.strip()


def _replaced(aside: re.Match[str]) -> str:
    """Return what stands in a file instead of an aside, on as many lines."""
    if aside["open"]:
        return aside[0]
    is_text = aside["text"] is not None
    return escape(aside["text"]) if is_text else "\n" * aside[0].count("\n")
