"""A table by column: of a frame, of a file, or of a list of records; lists in cells taken apart.

A cell writes a list as JSON or Python does, or as ids between separators: line ends, semicolons,
bars, or commas where no id holds a blank; under a name that promises ids (``expected_ids``) also
blanks, where every part looks like an id. Only under a name that promises a list is a text taken
apart; an id that holds a separator is written in a JSON list there: ``["a;b"]``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cached_property
from operator import or_
from typing import Any

import polars as pl

from rankscope.errors import InputError, RankscopeError, shown
from rankscope.tables.columns import (
    NO_COLUMNS,
    QUERY_IDS,
    QUESTIONS,
    Columns,
    folded,
    may_list,
    role_of,
    says_ids,
)
from rankscope.tables.documents import is_list, is_missing, looks_like_id
from rankscope.tables.jsontext import parse_json

_SAMPLE = 200
_ITEM = re.compile(r"""\s*(?:'([^'\\]*)'|"([^"\\]*)"|(-?\d+))(?:\s*(?:,|$)|\s+)""")
_BRACKETS = {"[": "]", "{": "}"}
_SENTENCE = re.compile(r"\s*\S+\s.*[.!?][\"'”’)\]]*\s*|\s*(?:\S+\s+){7}\S.*", re.S)
"""Two words or more that end as a sentence does, or eight words."""
_ASSERTION = re.compile(
    r"(?:not-)?(?:i?contains|equals|starts-with|regex|llm-rubric|similar|javascript|python|is-json|"
    r"factuality|answer-relevance|context-recall)[\w-]*:",
)
"""How an assertion of promptfoo begins, which is no id."""
_BETWEEN = re.compile(r"[\s,;|]")
_NUMBERED = re.compile(r"(.*?\D)[\s._-]*(\d{1,4})")


class Table:
    """A table by column; ``line_of`` gives the line of a row in its file, where that is known.

    Columns that number one list (``Result 1``, ``Result 2``, …) are one column more.
    """

    def __init__(
        self,
        data: pl.DataFrame | Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
        source: str,
        *,
        line_of: Callable[[int], int] | None = None,
    ) -> None:
        columns: dict[str, Any]
        if isinstance(data, pl.DataFrame):
            columns = data.to_dict()
        elif isinstance(data, Mapping):
            columns = dict(data)
        else:
            names = dict.fromkeys(name for row in data for name in row)
            columns = {str(name): [row.get(name) for row in data] for name in names}
        self.source, self.line_of = source, line_of
        self.height = len(next(iter(columns.values()), ()))
        self.columns = {name: Column(name, values, source) for name, values in columns.items()}
        for name, group in _numbered_columns(self.names).items():
            cells = zip(*_whole([self.columns[each].values for each in group]), strict=True)
            lists = [[cell for cell in row if not is_missing(cell)] for row in cells]
            self.columns[name] = Column(name, lists, source)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns)

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def records(self) -> list[dict[str, Any]]:
        """Return the rows."""
        rows = zip(*(column.values for column in self.columns.values()), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in rows]

    def place(self, row: int) -> str:
        """Return where a row is, for a message."""
        if self.line_of is not None:
            return f"{self.source}:{self.line_of(row)}"
        return f"{self.source}, record {row + 1}"


class Column:
    """A column: its values, what its name says of them, and what its first ones tell."""

    def __init__(self, name: str, data: pl.Series | Sequence[Any], source: str) -> None:
        self.name, self.role, self.says_ids = name, role_of(name), says_ids(name)
        self.series = data.alias("values") if isinstance(data, pl.Series) else None
        self._data, self._source = data, source

    @property
    def values(self) -> list[Any]:
        """All values; what is missing is None."""
        values = self._data if self.series is None else self.series.to_list()
        return list(map(_present, values))

    def cell(self, value: Any) -> Any:
        """Return a value with a list in it taken apart, if it is a text that writes one."""
        if not isinstance(value, str):
            return value
        if not may_list(self.name):
            if value.lstrip().startswith("[") and value.strip() != "[]":
                return written_list(value)
            parts = _separated(value) if self.role in ("relevant", "retrieved") else value
            if isinstance(parts, list) and len(parts) > 1 and all(map(looks_like_id, parts)):
                raise self._doubtful(value)
            return value
        promised = self.says_ids and folded(self.name).endswith("s")
        ids = listed(value, blanks=promised)
        is_open = promised and isinstance(ids, str) and " " in ids and not is_sentence(ids)
        if is_open or (isinstance(ids, str) and ids.startswith("[{")):
            raise self._doubtful(ids)
        return ids

    def _doubtful(self, ids: str) -> InputError:
        return InputError(
            f"{self._source}: {shown(ids)} in {shown(self.name)} may be one id or several; write "
            'a JSON list there, such as ["a b"] or ["a", "b"]'
        )

    @cached_property
    def sample(self) -> list[Any]:
        """The first values that are there, with lists in cells taken apart."""
        if self.series is None:
            first = list(self._data[: 10 * _SAMPLE])
        else:
            first = self.series.drop_nulls().head(_SAMPLE).to_list()
        there = [value for value in map(_present, first) if not is_missing(value)]
        return [self.cell(value) for value in there[:_SAMPLE]]

    @cached_property
    def items(self) -> list[Any]:
        """What the first values name: the items of lists, and single values."""
        several = (list(value)[:20] if is_list(value) else [value] for value in self.sample)
        items = (item for values in several for item in values)
        first = [item[0] if isinstance(item, tuple | list) and item else item for item in items]
        return first[:_SAMPLE]

    @property
    def first_ids(self) -> frozenset[str]:
        """What its first values name, as text; of a record all that it says."""
        texts = (item.values() if isinstance(item, Mapping) else [item] for item in self.items)
        return frozenset(str(value) for each in texts for value in each if _may_be_id(value))

    @property
    def doubtful(self) -> tuple[str, ...]:
        """Its first texts that may list several ids, and were not taken apart."""
        texts = (value for value in self.sample if isinstance(value, str))
        return tuple(text for text in texts if _BETWEEN.search(text.strip()))

    @property
    def holds_lists(self) -> bool:
        """Whether it has lists, or texts that write them."""
        return any(map(is_list, self.sample))

    @property
    def holds_numbers(self) -> bool:
        """Whether all values are numbers, or the text of one in a cell."""
        is_numeric = self.series is not None and self.series.dtype.is_numeric()
        return is_numeric or (bool(self.sample) and all(map(is_number, self.sample)))

    @property
    def lists_numbers(self) -> bool:
        """Whether all values are lists of numbers, or numbers."""
        lists = [value if isinstance(value, list | tuple) else [value] for value in self.sample]
        return bool(lists) and all(is_number(number) for numbers in lists for number in numbers)

    @cached_property
    def holds_texts(self) -> bool:
        """Whether half of what it holds, or more, is text in words.

        What is called a context is a text, even if it is a single word, unless all look like ids.
        """
        texts = [item for item in self.items if isinstance(item, str)]
        if texts and 2 * sum(map(is_sentence, texts)) >= len(texts):
            return True
        is_context = folded(self.name).endswith(("context", "contexts"))
        return is_context and not all(map(looks_like_id, self.items))

    @property
    def may_hold_ids(self) -> bool:
        """Whether the values can be ids of documents."""
        return not self.holds_texts and not any(
            isinstance(item, bool) or (isinstance(item, str) and _ASSERTION.match(item))
            for item in self.items
        )


def _present(value: Any) -> Any:
    """Return a value; NaN, by which pandas says that there is none, is None."""
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124


def _numbered_columns(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns that number one list, by the name of the list."""
    groups: dict[str, dict[int, str]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        stem = match[1].strip(" ._-") if match else ""
        if match and (role_of(stem) or folded(stem) in ("rank", "top", "position")):
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


def _may_be_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _whole(columns: list[list[Any]]) -> list[list[Any]]:
    """Return columns of one list of ids as whole numbers, where gaps made pandas write ``7.0``."""
    numbers = [[each for each in values if not is_missing(each)] for values in columns]
    are_whole = [all(re.fullmatch(r"\d+", str(each)) for each in values) for values in numbers]
    are_real = [all(re.fullmatch(r"\d+\.0", str(each)) for each in values) for values in numbers]
    if not any(are_whole) or not all(map(or_, are_whole, are_real)):
        return columns
    return [
        [None if is_missing(each) else str(each).removesuffix(".0") for each in values]
        for values in columns
    ]


# --- columns by name


def names_of(names: Sequence[str]) -> str:
    """Return some names for a message."""
    return ", ".join(shown(name, 30) for name in names[:12]) + (", …" if len(names) > 12 else "")


def refuse_unknown(parameter: str, name: str, names: Sequence[str], source: str) -> InputError:
    """Return the error for a column that a table does not have, the nearest names first."""
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    others = [*near, *(each for each in names if each not in near)]
    return InputError(f"{source}: no column {shown(name)} ({parameter}=) among {names_of(others)}")


def one_column(names: Sequence[str], what: str, option: str, table: Table) -> str | None:
    """Return the only name; None if there is none."""
    if len(names) > 1:
        raise InputError(
            f"{table.source}: {shown(names[0], 30)} and {shown(names[1], 30)} could both {what}; "
            f"say which ({option}={shown(names[0], 60)})"
        )
    return names[0] if names else None


def query_names(names: Iterable[str], columns: Columns = NO_COLUMNS) -> set[str]:
    """Return the columns that are of the query, and so not of its documents."""
    known = {folded(name) for name in (*QUERY_IDS, *QUESTIONS)}
    return {name for name in names if folded(name) in known or name == columns.query}


# --- what is in a cell


def is_sentence(text: str) -> bool:
    """Tell a text in words from an id, which may hold a blank."""
    return _SENTENCE.fullmatch(text[:2000]) is not None


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
    if inner.startswith("{"):  # records, as Python prints them
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return ast.literal_eval(text.strip())
    ids = _separated(inner) if bare else inner
    return ids if isinstance(ids, list) else [ids] if bare and " " not in ids else text


def _separated(text: str) -> list[str] | str:
    for separator in "\n;|,":
        if separator in text:
            ids = [part for item in text.split(separator) if (part := item.strip())]
            if separator != "," or not any(any(map(str.isspace, part)) for part in ids):
                return ids if len(ids) > 1 else next(iter(ids), text)
    return text
