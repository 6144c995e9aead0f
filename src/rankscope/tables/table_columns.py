"""A table by column: of a frame, of a file, or of a list of records; lists in cells taken apart.

A cell writes a list as JSON or Python does, or as ids between separators: line ends, semicolons,
bars, or commas where no id holds a blank; under a name that promises ids (``expected_ids``) also
blanks, where every part looks like an id. Only under a name that promises a list is a text taken
apart; an id that holds a separator is written in a JSON list there: ``["a;b"]``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from rankscope.errors import InputError, RankscopeError, shown
from rankscope.tables.columns import folded, may_list, promises_ids, role_of, says_ids
from rankscope.tables.documents import is_list, is_missing
from rankscope.tables.jsontext import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable

_SAMPLE = 200
_ITEM = re.compile(r"""\s*(?:'([^'\\]*)'|"([^"\\]*)"|(-?\d+))(?:\s*(?:,|$)|\s+)""")
_BRACKETS = {"[": "]", "{": "}"}
_ID = re.compile(r"\S{1,3}|\S*[\d_:/#]\S*")
"""What is hardly a word: short, or with a digit or a sign in it."""
_SENTENCE = re.compile(r"\s*\S+\s.*[.!?][\"'”’)\]]*\s*|\s*(?:\S+\s+){7}\S.*", re.S)
"""Two words or more that end as a sentence does, or eight words."""
_NUMBERED = re.compile(r"(.*?\D)[\s._-]*(\d{1,4})")


class Table:
    """A table by column; ``line_of`` gives the line of a row in its file, where that is known.

    Columns that number one list (``Result 1``, ``Result 2``, …) are one column more.
    """

    def __init__(
        self,
        data: pl.DataFrame | Sequence[Mapping[str, Any]],
        source: str,
        *,
        line_of: Callable[[int], int] | None = None,
    ) -> None:
        self.source, self.line_of, self.height = source, line_of, len(data)
        self.frame = data if isinstance(data, pl.DataFrame) else None
        self.records = () if isinstance(data, pl.DataFrame) else data
        if self.frame is not None:
            self.names = self.frame.columns
        else:
            self.names = list(dict.fromkeys(str(name) for row in self.records for name in row))
        self._wide = _numbered_columns(self.names)
        self.names += self._wide
        self._samples: dict[str, list[Any]] = {}

    def place(self, row: int) -> str:
        """Return where a row is, for a message."""
        if self.line_of is not None:
            return f"{self.source}:{self.line_of(row)}"
        return f"{self.source}, record {row + 1}"

    def is_blank(self, row: int) -> bool:
        """Tell whether a row has nothing in it, as a line of a spreadsheet may."""
        cells = self.records[row].values() if self.frame is None else self.frame.row(row)
        return all(is_missing(_present(cell)) for cell in cells)

    def values(self, name: str) -> list[Any]:
        """Return the values of a column; what is missing is None."""
        if name in self._wide:
            rows = zip(*map(self.values, self._wide[name]), strict=True)
            return [[cell for cell in row if not is_missing(cell)] for row in rows]
        if self.frame is not None:
            return [_present(value) for value in self.frame[name].to_list()]
        return [_present(row.get(name)) for row in self.records]

    def series(self, name: str) -> pl.Series | None:
        """Return a column as a frame holds it; None if the table is no frame."""
        return None if self.frame is None or name in self._wide else self.frame[name]

    def cell(self, name: str, value: Any) -> Any:
        """Return a value with a list in it taken apart, if it is a text that writes one."""
        if not isinstance(value, str):
            return value
        if not may_list(name):
            is_written = value.lstrip().startswith("[") and value.strip() != "[]"
            return written_list(value) if is_written else value
        ids = listed(value, blanks=promises_ids(name))
        if promises_ids(name) and isinstance(ids, str) and " " in ids and not is_sentence(ids):
            raise InputError(
                f"{self.source}: {shown(ids)} in {shown(name)} may be one id or several; write "
                'a JSON list there, such as ["a b"] or ["a", "b"]'
            )
        return ids

    # --- what a column holds, as its first values tell

    def sample(self, name: str) -> list[Any]:
        """Return the first values of a column that are there, with lists in cells taken apart."""
        if name not in self._samples:
            series = self.series(name)
            if series is not None:
                plain = series.alias("column")  # Polars takes a name such as ^a$ for a pattern
                first = plain.drop_nulls().head(_SAMPLE).to_list()
            else:
                first = self.values(name)[: 10 * _SAMPLE]
            there = [value for value in map(_present, first) if not is_missing(value)]
            self._samples[name] = [self.cell(name, value) for value in there[:_SAMPLE]]
        return self._samples[name]

    def items(self, name: str) -> list[Any]:
        """Return what the first values name: the items of lists, and single values."""
        items: list[Any] = []
        for value in self.sample(name):
            several = list(value)[:20] if is_list(value) else [value]
            items += [
                each[0] if isinstance(each, tuple | list) and each else each for each in several
            ]
        return items[:_SAMPLE]

    def holds_lists(self, name: str) -> bool:
        """Tell whether a column has lists, or texts that write them."""
        return any(is_list(value) for value in self.sample(name))

    def holds_numbers(self, name: str) -> bool:
        """Tell whether all values of a column are numbers, or the text of one in a cell."""
        series = self.series(name)
        if series is not None and series.dtype.is_numeric():
            return True
        return bool(self.sample(name)) and all(map(_is_number, self.sample(name)))

    def lists_numbers(self, name: str) -> bool:
        """Tell whether all values of a column are lists of numbers, or numbers."""
        lists = [
            value if isinstance(value, list | tuple) else [value] for value in self.sample(name)
        ]
        return bool(lists) and all(_is_number(number) for numbers in lists for number in numbers)

    def holds_texts(self, name: str) -> bool:
        """Tell whether half of what a column holds, or more, is text in words.

        The contexts of Ragas and DeepEval are texts, even if they are single words, unless all look
        like ids, or another column has the same.
        """
        items = self.items(name)
        texts = [item for item in items if isinstance(item, str)]
        if texts and 2 * sum(map(is_sentence, texts)) >= len(texts):
            return True
        if not folded(name).endswith(("context", "contexts")) or all(map(looks_like_id, items)):
            return False
        others = (self.items(other) for other in self.names if other != name and says_ids(other))
        return {str(item) for several in others for item in several}.isdisjoint(map(str, items))

    @cached_property
    def texts(self) -> list[str]:
        """The columns that hold texts under a name of documents."""
        return [name for name in self.names if role_of(name) and self.holds_texts(name)]


def _present(value: Any) -> Any:
    """Return a value; NaN, by which pandas says that there is none, is None."""
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def is_sentence(value: object) -> bool:
    """Tell a text in words from an id, which may hold a blank."""
    return isinstance(value, str) and _SENTENCE.fullmatch(value[:2000]) is not None


def looks_like_id(item: object) -> bool:
    """Tell what is hardly a word: without a blank, short, or with a digit or a sign in it."""
    return not isinstance(item, str) or _ID.fullmatch(item) is not None


def _numbered_columns(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns that number one list, by the name of the list."""
    groups: dict[str, dict[int, str]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        stem = match[1].strip(" ._-") if match is not None else ""
        if match is not None and (role_of(stem) or folded(stem) in ("rank", "top", "position")):
            groups.setdefault(stem, {})[int(match[2])] = name
    wide = {}
    for stem, group in groups.items():
        numbers = sorted(group)
        if len(numbers) > 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            role = role_of(stem) or "retrieved"
            name = stem if role_of(stem) else f"retrieved {stem}"
            name = f"{name}s" if role_of(f"{name}s") == role else name
            wide[name if name not in names else f"{name} list"] = [group[n] for n in numbers]
    return wide


# --- lists in cells


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
    while begin < len(inner):
        item = _ITEM.match(inner, begin)
        if item is None:
            break
        items.append(next(value for value in item.groups() if value is not None))
        begin = item.end()
    else:
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
