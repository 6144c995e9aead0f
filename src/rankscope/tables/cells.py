"""A query's list in one cell of a table or one JSON string.

It is written as JSON or Python writes a list, or as ids between separators: line ends, semicolons,
bars, or commas where no id holds a blank; under a name that promises ids (``expected_ids``) also
blanks, where every part looks like an id. Only under a name that promises a list is a text taken
apart; an id that holds a separator is written in a JSON list there: ``["a;b"]``.
"""

from __future__ import annotations

import re
from typing import Any

from rankscope.errors import RankscopeError
from rankscope.tables.jsontext import parse_json

_ITEM = re.compile(r"""\s*(?:'([^'\\]*)'|"([^"\\]*)"|(-?\d+))\s*(?:,|$)""")
_BRACKETS = {"[": "]", "{": "}"}
_ID = re.compile(r"\S{1,3}|\S*[\d_:/#]\S*")


def looks_like_id(item: object) -> bool:
    """Tell what is hardly a word: without a blank, short, or with a digit or a sign in it."""
    return not isinstance(item, str) or _ID.fullmatch(item) is not None


def listed(text: str, *, blanks: bool = False) -> Any:
    """Return the documents that a text under the name of a list names.

    They are a list, or a dict if the text is a JSON object. The text itself is returned if it is
    one id, and an empty list if it is blank. ``blanks`` may separate ids, too.
    """
    text = text.strip()
    if not text:
        return []
    if _BRACKETS.get(text[0]) == text[-1] and len(text) > 1:
        return written_list(text, bare=True)
    ids = _separated(text)
    parts = text.split()
    if blanks and ids is text and len(parts) > 1 and all(map(looks_like_id, parts)):
        return parts
    return ids


def written_list(text: str, *, bare: bool = False) -> Any:
    """Return the list that a text in brackets writes; what cannot be parsed stays text.

    With ``bare``, ids without quotes are a list too: ``[d1, d2]``.
    """
    if not text:
        return []
    try:
        return parse_json(text, source="")
    except RankscopeError:
        inner = text.strip()[1:-1].strip()
    items = _python_list(inner)
    if items or not bare or not inner:
        return items or text
    ids = _separated(inner)
    return text if isinstance(ids, str) and any(map(str.isspace, ids)) else _as_list(ids)


def _as_list(ids: object) -> object:
    return [ids] if isinstance(ids, str) else ids


def _separated(text: str) -> object:
    for separator in "\n;|,":
        if separator in text:
            ids = [part for item in text.split(separator) if (part := item.strip())]
            if separator != "," or not any(any(map(str.isspace, part)) for part in ids):
                return ids if len(ids) > 1 else next(iter(ids), text)
    return text


def _python_list(text: str) -> list[str]:
    """Return the texts and whole numbers of a flat list as Python writes it; [] if it is none."""
    items, begin = [], 0
    while begin < len(text.rstrip()):
        item = _ITEM.match(text, begin)
        if item is None:
            return []
        items.append(next(value for value in item.groups() if value is not None))
        begin = item.end()
    return items
