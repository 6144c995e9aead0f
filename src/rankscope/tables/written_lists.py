"""Lists in cells: a text that names several documents, and a text in words.

A cell writes a list as JSON or Python does, or as ids between separators: line ends, semicolons,
bars, or commas where no id holds a blank; under a name that promises ids (``expected_ids``) also
blanks, where every part looks like an id. Only under a name that promises a list is a text taken
apart; an id that holds a separator is written in a JSON list there: ``["a;b"]``.
"""

from __future__ import annotations

import re
from typing import Any

from rankscope.errors import RankscopeError
from rankscope.tables.jsontext import parse_json

_ITEM = re.compile(r"""\s*(?:'([^'\\]*)'|"([^"\\]*)"|(-?\d+))(?:\s*(?:,|$)|\s+)""")
_BRACKETS = {"[": "]", "{": "}"}
_ID = re.compile(r"\S{1,3}|\S*[\d_:/#]\S*")
"""What is hardly a word: without a blank, short, or with a digit or a sign in it."""
_SENTENCE = re.compile(r"\s*\S+\s.*[.!?][\"'”’)\]]*\s*|\s*(?:\S+\s+){7}\S.*", re.S)
"""Two words or more that end as a sentence does, or eight words."""


def is_sentence(text: str) -> bool:
    """Tell a text in words from an id, which may hold a blank."""
    return _SENTENCE.fullmatch(text[:2000]) is not None


def looks_like_id(item: object) -> bool:
    """Tell what is hardly a word from what may be one."""
    return not isinstance(item, str) or _ID.fullmatch(item) is not None


def is_number(value: object) -> bool:
    """Tell a number, or the text of one."""
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False
    return True


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
    ids, parts = _separated(text), text.split()
    if blanks and ids is text and len(parts) > 1 and all(map(looks_like_id, parts)):
        return parts
    return ids


def written_list(text: str, *, bare: bool = False) -> Any:
    """Return the list that a text in brackets writes; what cannot be parsed stays text.

    It is one of JSON, of Python, or printed by NumPy. With ``bare``, ids without quotes are a list
    too: ``[d1, d2]``.
    """
    try:
        return parse_json(text, source="") if text else []
    except RankscopeError:
        inner = text.strip()[1:-1].strip()
    items, begin = [], 0
    while (item := _ITEM.match(inner, begin)) is not None:
        items.append(next(value for value in item.groups() if value is not None))
        begin = item.end()
    if begin == len(inner):
        return items or text
    ids = _separated(inner) if bare else inner
    return ids if isinstance(ids, list) else [ids] if bare and " " not in ids else text


def _separated(text: str) -> list[str] | str:
    for separator in "\n;|,":
        if separator in text:
            ids = [part for item in text.split(separator) if (part := item.strip())]
            if separator != "," or not any(any(map(str.isspace, part)) for part in ids):
                return ids if len(ids) > 1 else next(iter(ids), text)
    return text
