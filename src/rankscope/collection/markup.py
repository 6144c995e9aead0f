"""TREC's topics and documents: many records in a file of SGML or XML.

Tags, comments, the five entities of XML and numbered characters are all that is known here: no DTD
and no other entities, so that a hostile file can do no harm. Every scan takes time in proportion to
the text. Elements become fields by their names in lower case, a list where a name repeats; tags
inside an element are dropped, their text is kept.
"""

from __future__ import annotations

import re
from bisect import bisect
from itertools import zip_longest
from typing import TYPE_CHECKING, BinaryIO

from rankscope.errors import FormatError
from rankscope.files import decoded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankscope.tables.record_rows import Row

_TAG = re.compile(r"<(/?)([A-Za-z_][\w.:-]*+)((?:[\s/][^<>]*+)?)>")
"""A tag: a slash if it closes, its name, and what else is in it."""

# A name begins where no name is going on: without that, a long one is tried from each character.
_ATTRIBUTE = re.compile(
    r"""(?<![\w.:-])([A-Za-z_][\w.:-]*+)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'/]++))"""
)
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_OPENING = re.compile(r"<!--|<\?|<!\[CDATA\[|<!DOCTYPE")
_CLOSING = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>", "<!DOCTYPE": ">"}


def _attributes(text: str) -> dict[str, str]:
    """Return the attributes of a tag, whose name is not part of the text."""
    return {
        match[1]: _unescaped(next(value for value in match.groups()[1:] if value is not None))
        for match in _ATTRIBUTE.finditer(text)
    }


def _unescaped(text: str) -> str:
    """Return text with the characters that XML's five entities and numbers stand for."""
    return _ENTITY.sub(_character, text)


def _character(entity: re.Match[str]) -> str:
    if entity[1]:
        return _NAMED[entity[1]]
    code = int(entity[2]) if entity[2] else int(entity[3], 16)
    is_valid = code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
    return chr(code) if is_valid else entity[0]


def _without_comments(text: str, *, escape: bool = True) -> tuple[str, int]:
    """Return text without comments, instructions and a DOCTYPE, and where one is never closed.

    That is −1 if all are closed. CDATA becomes text, with ``escape`` such that `_unescaped` returns
    it; lines keep their numbers.
    """
    pieces = list[str]()
    end = 0
    while opening := _OPENING.search(text, end):
        closing = text.find(_CLOSING[opening[0]], opening.end())
        if closing < 0:
            return "".join([*pieces, text[end:]]), opening.start()
        inside = text[opening.end() : closing]
        if opening[0] != "<![CDATA[":
            inside = "\n" * inside.count("\n")
        elif escape:
            inside = inside.replace("&", "&amp;").replace("<", "&lt;")
        pieces += [text[end : opening.start()], inside]
        end = closing + len(_CLOSING[opening[0]])
    return "".join([*pieces, text[end:]]), -1


# --- topics

_TOPIC = re.compile(r"<(top|topic)((?:\s[^<>]*+)?)>", re.I)
_TOPIC_END = re.compile(r"</(?:top|topic)\s*>|\Z", re.I)
_DECLARATIONS = re.compile(r"<!DOCTYPE[^>\[]{0,1000}\[")
_LABEL = re.compile(
    r"\A(Number|Topic|Description|Narrative|Domain|Summary|(Concept|Factor|Definition)\(s\)):\s*",
    re.I,
)
_NUMBERS = ("num", "number", "identifier", "id", "qid")
_QUESTIONS = ("title", "query", "question", "summary", "description")
_LONG = {"desc": "description", "narr": "narrative"}


def read_topics(stream: BinaryIO, source: str) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) for every ``<top>`` (SGML) or ``<topic>`` (XML).

    The number of a topic is the id, its title or ``<query>`` the text; attributes are fields too.
    ``desc`` is called ``description``, ``narr`` ``narrative``, and ``subtopics`` are a list. SGML
    may leave tags open, ``&`` is an ordinary character in it, and labels (``Number:``) are dropped.
    """
    text = decoded(stream.read(), source=source).replace("\r\n", "\n")

    def refusal(problem: str, line: int | None = None) -> FormatError:
        return FormatError(problem, source=source, line=line)

    first = _TOPIC.search(text)
    xml = text.lstrip().startswith("<?xml") or (first is not None and first[1].lower() == "topic")
    if _DECLARATIONS.search(text):
        raise refusal("a DOCTYPE with declarations is not read; remove it")
    plain, unclosed = _without_comments(text, escape=xml)
    if unclosed >= 0:
        line = text.count("\n", 0, unclosed) + 1
        raise refusal("a comment or CDATA is never closed; close it", line)
    openings = list(_TOPIC.finditer(plain))
    if not openings:
        raise refusal("expected TREC topics, found no <top> or <topic>")
    line, counted = 1, 0
    for opening, following in zip_longest(openings, openings[1:]):
        line, counted = line + plain.count("\n", counted, opening.end()), opening.end()
        until = len(plain) if following is None else following.start()
        closing = _TOPIC_END.search(plain, opening.end(), until)
        row = _topic(opening, plain[opening.end() : closing.start() if closing else until], xml=xml)
        if row["_id"] is None:
            raise refusal("a topic without a number; give it <num> or number=", line)
        if row["text"] is None:
            raise refusal("a topic without text; give it <title> or <query>", line)
        yield line, row


def _topic(opening: re.Match[str], body: str, *, xml: bool) -> Row:
    """Return the fields of a topic, under the names that `Queries` knows."""
    fields: dict[str, list[object]] = {k: [v] for k, v in _attributes(opening[2]).items()}
    outside = ""
    for name, inside, content in _topic_elements(body, xml=xml):
        text = content.strip(" \t\n\r")
        text = _unescaped(text) if xml else text
        text = _LABEL.sub("", text) if opening[1].lower() == "top" else text
        if name == "subtopic":
            fields.setdefault("subtopics", []).append({**_attributes(inside), "text": text})
        elif name:
            fields.setdefault(_LONG.get(name, name), []).append(text)
        else:
            outside += text
    number = next((fields.pop(name)[0] for name in _NUMBERS if name in fields), None)
    key = next((name for name in _QUESTIONS if name in fields), None)
    row: Row = {"_id": number, "text": fields[key].pop(0) if key else outside or None}
    for name, held in fields.items():
        if held:
            row[name] = held[0] if len(held) == 1 and name != "subtopics" else held
    return row


def _topic_elements(body: str, *, xml: bool) -> Iterator[tuple[str, str, str]]:
    """Yield name, attributes and text of each element; '' is the name of what is in none.

    In SGML opening an element closes the last; in XML it is a tag in its text.
    """
    name, inside, pieces, end = "", "", list[str](), 0
    for tag in _TAG.finditer(body):
        pieces.append(body[end : tag.start()])
        end = tag.end()
        closes = bool(tag[1]) and tag[2].lower() == name
        opens = not tag[1] and (not name or not xml or tag[2].lower() == "subtopic")
        if closes or opens:
            yield name, inside, "".join(pieces)
            is_open = opens and not tag[3].endswith("/")
            name, inside, pieces = (tag[2].lower(), tag[3], []) if is_open else ("", "", [])
    yield name, inside, "".join([*pieces, body[end:]])


# --- documents

_BOUNDARY = re.compile(r"<(/?)DOC\s*>", re.I)
_IDS = ("docno", "docid", "doc_id", "id")
_TITLES = ("title", "headline", "hl", "ttl", "head", "ti")
_HEADERS = ("dochdr", "fileid", "header")
_LARGEST = 1 << 30
"""Characters of one document; more are a file whose tags are not closed."""


def read_documents(stream: BinaryIO, source: str) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) for every ``<DOC>``, reading one at a time.

    Its id is its ``<DOCNO>``. ``<TITLE>``, ``<HEADLINE>``, ``<HL>``, ``<HEAD>``, ``<TTL>`` or
    ``<TI>`` is the title, also inside another element. All ``<TEXT>`` elements and what is in no
    element are the text; in a document without ``<TEXT>`` everything but id, title and headers is.
    A tag that is never closed is no element.
    """

    def refusal(problem: str, line: int | None = None) -> FormatError:
        return FormatError(problem, source=source, line=line)

    pieces: list[str] | None = None
    begun = size = count = 0
    for number, line in enumerate(stream, start=1):
        text = decoded(line, source=source, line=number)
        position = 0
        for tag in _BOUNDARY.finditer(text) if "<" in text else ():
            if not tag[1] and pieces is not None:
                problem = f"<DOC> inside the document of line {begun}; close that with </DOC>"
                raise refusal(problem, number)
            if not tag[1]:
                pieces, begun, size = [], number, 0
            elif pieces is None:
                raise refusal("</DOC> without a <DOC> before it", number)
            else:
                row = _document("".join([*pieces, text[position : tag.start()]]))
                if row["_id"] is None:
                    raise refusal("a document without <DOCNO>; give every document one", begun)
                yield begun, row
                pieces, count = None, count + 1
            position = tag.end()
        if pieces is not None:
            pieces.append(text[position:])
            size += len(text) - position
            if size > _LARGEST:
                raise refusal("a document has more than 1 GiB; close it with </DOC>", begun)
    if pieces is not None:
        raise refusal("the last document is not closed; end it with </DOC>", begun)
    if not count:
        raise refusal("expected documents, found no <DOC>")


def _document(text: str) -> Row:
    """Return the fields of a document; an element ends where its name is closed first."""
    text, _ = _without_comments(text)
    tags = list(_TAG.finditer(text))
    closings: dict[str, list[int]] = {}
    for place, tag in enumerate(tags):
        if tag[1]:
            closings.setdefault(tag[2].lower(), []).append(place)
    texts: dict[str, list[str]] = {}
    in_order: list[tuple[str, str]] = []
    title = ""
    end = last = 0

    def add(name: str, content: str) -> None:
        if content:
            texts.setdefault(name, []).append(content)
            in_order.append((name, content))

    for place, tag in enumerate(tags):
        name, is_inside = tag[2].lower(), place < last
        is_element = not tag[1] and not tag[3].endswith("/")
        if not is_element or (is_inside and (title or name not in _TITLES)):
            continue
        places = closings.get(name, [])
        closing = bisect(places, place)
        if closing == len(places):
            continue
        content = _without_tags(text[tag.end() : tags[places[closing]].start()])
        if is_inside:
            title = content
            continue
        add("", _without_tags(text[end : tag.start()]))
        add(name, content)
        end, last = tags[places[closing]].end(), places[closing]
    add("", _without_tags(text[end:]))

    key = next((name for name in _IDS if name in texts), "")
    heading = next((name for name in _TITLES if name in texts), "")
    title = "\n".join(texts[heading]) if heading else title
    is_text = {"", "text"} if "text" in texts else {*texts} - {heading, *_IDS, *_HEADERS} | {""}
    row: Row = {"_id": texts[key][0] if key else None, **({"title": title} if title else {})}
    row["text"] = "\n".join(content for name, content in in_order if name in is_text)
    for name, held in texts.items():
        if name not in is_text and name not in (key, heading):
            row[name] = held[0] if len(held) == 1 else held
    return row


def _without_tags(text: str) -> str:
    return _unescaped(_TAG.sub("", text) if "<" in text else text).strip()
