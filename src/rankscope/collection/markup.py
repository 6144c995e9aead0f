"""Tags, comments and entities of SGML and XML, as TREC's topics and documents need them.

Nothing else is known: no DTD, no entities beyond the five of XML and numbered characters, so that a
hostile file can do no harm. Every scan takes time in proportion to the text.
"""

from __future__ import annotations

import re

TAG = re.compile(r"<(/?)([A-Za-z_][\w.:-]*+)((?:[\s/][^<>]*+)?)>")
"""A tag: a slash if it closes, its name, and what else is in it."""

# A name begins where no name is going on: without that, a long one is tried from each character.
_ATTRIBUTE = re.compile(
    r"""(?<![\w.:-])([A-Za-z_][\w.:-]*+)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'/]++))"""
)
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_OPENING = re.compile(r"<!--|<\?|<!\[CDATA\[|<!DOCTYPE")
_CLOSING = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>", "<!DOCTYPE": ">"}


def attributes(text: str) -> dict[str, str]:
    """Return the attributes of a tag, whose name is not part of the text."""
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
    is_valid = code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
    return chr(code) if is_valid else entity[0]


def without_comments(text: str, *, escape: bool = True) -> tuple[str, int]:
    """Return text without comments, instructions and a DOCTYPE, and where one is never closed.

    That is −1 if all are closed. CDATA becomes text, with ``escape`` such that `unescaped` returns
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
