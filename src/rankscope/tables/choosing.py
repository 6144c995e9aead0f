"""Which column of a table is the query, and which its documents: one, or an error that names both.

A `Table` is what a frame, a file or a list of records holds, by column. `choose` finds the columns
of one role by their names, and by whether their values can be ids at all: a column of passages is
matched as text only when the caller names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.tables.cells import listed, looks_like_id, written_list
from rankscope.tables.columns import (
    ALIASES,
    NO_COLUMNS,
    QUERY_IDS,
    QUESTIONS,
    ROW_IDS,
    WEAK_QUESTIONS,
    Columns,
    PairLayout,
    folded,
    is_weak,
    leave_subject,
    may_list,
    promises_ids,
    rater_columns,
    role_of,
    says_ids,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_SAMPLE = 200
_SENTENCE = re.compile(r"\s*\S+\s.*[.!?][\"'”’)\]]*\s*|\s*(?:\S+\s+){7}\S.*", re.S)
"""Two words or more that end as a sentence does, or eight words."""
_ASSERTION = re.compile(
    r"(?:not-)?(?:i?contains|equals|starts-with|regex|llm-rubric|similar|javascript|python|is-json|"
    r"factuality|answer-relevance|context-recall)[\w-]*:",
)
"""How an assertion of promptfoo begins, which is no id."""
_NUMBERED = re.compile(r"(.*?\D)[\s._-]*(\d{1,4})")


def is_list(value: object) -> bool:
    """Tell a list, a set, a dict, an array or another series from one value."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def is_missing(value: object) -> bool:
    """Tell no value, or an empty cell."""
    return value is None or (isinstance(value, str) and not value)


def is_sentence(value: object) -> bool:
    """Tell a text in words from an id, which may hold a blank."""
    return isinstance(value, str) and _SENTENCE.fullmatch(value[:2000]) is not None


class Table:
    """A table by column; ``lines`` are those of its rows in a file, where that is known.

    Columns that number one list (``Result 1``, ``Result 2``, …) are one column more.
    """

    def __init__(
        self,
        data: pl.DataFrame | Sequence[Mapping[str, Any]],
        source: str,
        *,
        line_of: Callable[[int], int] | None = None,
    ) -> None:
        self.source, self.line_of = source, line_of
        self.frame = data if isinstance(data, pl.DataFrame) else None
        self.records = () if isinstance(data, pl.DataFrame) else data
        self.height = len(data)
        if self.frame is not None:
            self.names = list(self.frame.columns)
        else:
            self.names = list(dict.fromkeys(str(name) for row in self.records for name in row))
        self._wide = _numbered_columns(self.names)
        self.names += self._wide
        self._samples: dict[str, list[Any]] = {}

    def values(self, name: str) -> list[Any]:
        """Return the values of a column; what is missing is None."""
        if name in self._wide:
            parts = [self.values(part) for part in self._wide[name]]
            return [
                [cell for cell in row if cell not in (None, "")] for row in zip(*parts, strict=True)
            ]
        if self.frame is not None:
            return [_present(value) for value in self.frame[name].to_list()]
        return [_present(row.get(name)) for row in self.records]

    def series(self, name: str) -> pl.Series | None:
        """Return a column as a frame holds it; None if the table is no frame."""
        return None if self.frame is None or name in self._wide else self.frame[name]

    def sample(self, name: str) -> list[Any]:
        """Return the first values of a column that are there, with lists in cells taken apart."""
        if name not in self._samples:
            if self.frame is not None and name not in self._wide:
                first = self.frame[name].drop_nulls().head(_SAMPLE).to_list()
            else:
                first = self.values(name)[: 10 * _SAMPLE]
            there = [value for value in map(_present, first) if not is_missing(value)]
            self._samples[name] = [self.cell(name, value) for value in there[:_SAMPLE]]
        return self._samples[name]

    def cell(self, name: str, value: Any) -> Any:
        """Return a value with a list in it taken apart, if it is a text that writes one."""
        if not isinstance(value, str):
            return value
        if may_list(name):
            ids = listed(value, blanks=promises_ids(name))
            if promises_ids(name) and isinstance(ids, str) and " " in ids and not is_sentence(ids):
                raise InputError(
                    f"{self.source}: {shown(ids)} in {shown(name)} may be one id or several; write "
                    'a JSON list there, such as ["a b"] or ["a", "b"]'
                )
            return ids
        return written_list(value) if value.lstrip().startswith("[") else value

    def holds_lists(self, name: str) -> bool:
        """Tell whether a column has lists, or texts that write them."""
        return any(is_list(value) for value in self.sample(name))

    def holds_numbers(self, name: str) -> bool:
        """Tell whether all values of a column are numbers, or the text of one in a cell."""
        series = self.series(name)
        if series is not None and series.dtype.is_numeric():
            return True
        return bool(self.sample(name)) and all(map(_is_number, self.sample(name)))

    def items(self, name: str) -> list[Any]:
        """Return what the first values name: the items of lists, and single values."""
        matching: list[Any] = []
        for value in self.sample(name):
            matching += _items(value) if is_list(value) else [value]
        return matching[:_SAMPLE]

    @cached_property
    def texts(self) -> list[str]:
        """The columns that hold texts under a name of documents."""
        known = [name for name in self.names if role_of(name) is not None]
        return [name for name in known if self.holds_texts(name) or self.holds_passages(name)]

    def holds_passages(self, name: str) -> bool:
        """Tell the contexts of Ragas and DeepEval: texts, even if they are single words.

        They are ids only if all look like ids, or another column has the same.
        """
        if not folded(name).endswith(("context", "contexts")):
            return False
        items = self.items(name)
        if all(map(looks_like_id, items)):
            return False
        others = {
            str(item) for n in self.names if n != name and says_ids(n) for item in self.items(n)
        }
        return others.isdisjoint(map(str, items))

    def holds_texts(self, name: str) -> bool:
        """Tell whether half of what a column holds, or more, is text in words."""
        items = [item for item in self.items(name) if isinstance(item, str)]
        return bool(items) and 2 * sum(map(is_sentence, items)) >= len(items)


def _present(value: Any) -> Any:
    """Return a value; NaN, by which pandas says that there is none, is None."""
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124


def _items(value: Any) -> list[Any]:
    items = list(value)[:20]
    return [item[0] if isinstance(item, tuple | list) and item else item for item in items]


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return False
        return True
    return hasattr(value, "__float__")


def _numbered_columns(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns that number one list, by the name of the list."""
    groups: dict[str, dict[int, str]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is not None:
            stem = match[1].strip(" ._-")
            if folded(stem) in ("rank", "top", "position") or role_of(stem) is not None:
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


# --- choosing


@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns of a table for one role; ``listed`` says that a row is a query."""

    query: str
    documents: str
    listed: bool
    value: str | None
    rivals: tuple[str, ...] = ()


def names_of(names: Sequence[str]) -> str:
    """Return some names for a message."""
    return ", ".join(shown(name, 30) for name in names[:12]) + (", …" if len(names) > 12 else "")


def refuse_unknown(parameter: str, name: str, names: Sequence[str], source: str) -> InputError:
    """Return the error for a column that a table does not have, the nearest names first."""
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    others = [*near, *(each for each in names if each not in near)]
    return InputError(f"{source}: no column {shown(name)} ({parameter}=) among {names_of(others)}")


def documents_column(
    table: Table, layout: PairLayout, columns: Columns
) -> tuple[str | None, tuple[str, ...]]:
    """Return the column of the documents, and others that could be it had it not been named.

    None if there is no column for this role.

    Raises:
        InputError: two columns could be it.
    """
    named = columns.relevant if layout.kind == "qrels" else columns.retrieved
    if named is not None and named not in table.names:
        raise refuse_unknown(layout.word, named, table.names, table.source)
    query = query_names(table.names, columns)
    mine = [n for n in table.names if role_of(n) == layout.word and n not in query]
    mine = _narrowed([name for name in mine if _may_be_ids(table, name)], table)
    if named is not None:
        return named, ()
    if columns.doc is not None and columns.doc in table.names:
        return columns.doc, tuple(name for name in mine if name != columns.doc)
    neutral = [n for n in table.names if role_of(n) == "neutral" and n not in query]
    neutral = [name for name in neutral if _may_be_ids(table, name)]
    if mine and neutral and not any(map(table.holds_lists, mine)):
        # beside the document of a flat table, numbers under such a name are grades
        mine = [name for name in mine if says_ids(name) or not table.holds_numbers(name)]
    if not mine:
        strong = [name for name in neutral if not is_weak(name)]
        mine = _narrowed(strong or neutral, table)
        plain = {folded(name): name for name in mine}
        if set(plain) == {"docid", "docno"}:  # PyTerrier: the number and the name
            mine = [plain["docno"]]
    if len(mine) > 1:
        raise InputError(
            f"{table.source}: {shown(mine[0], 30)} and {shown(mine[1], 30)} could both hold the "
            f"{layout.word} documents; say which ({layout.word}={mine[0]!r})"
        )
    return (mine[0] if mine else None), ()


def _may_be_ids(table: Table, name: str) -> bool:
    """Tell whether the values of a column can be ids of documents."""
    items = table.items(name)
    if any(isinstance(item, bool) for item in items):
        return False
    if any(isinstance(item, str) and _ASSERTION.match(item) for item in items):
        return False
    return not table.holds_texts(name) and not table.holds_passages(name)


def _narrowed(names: list[str], table: Table) -> list[str]:
    """Leave out what is not the ids: the texts beside them, and the answer in words."""
    if len(names) < 2:
        return names
    plain = {folded(name) for name in names}
    rest = []
    for name in names:
        stem = folded(name).removesuffix("s")
        if {f"{stem}id", f"{stem}ids", f"{stem}sids"} & plain:
            continue
        if stem.endswith("context") and any(map(says_ids, names)):
            continue  # the passages themselves
        rest.append(name)
    telling = [name for name in rest if says_ids(name) or table.holds_lists(name)]
    return telling or rest


def query_names(names: Sequence[str], columns: Columns = NO_COLUMNS) -> set[str]:
    """Return the columns that are of the query, and so not of its documents."""
    known = {folded(name) for name in (*QUERY_IDS, *QUESTIONS)}
    return {name for name in names if folded(name) in known or name == columns.query}


def choose(table: Table, layout: PairLayout, columns: Columns) -> Chosen | None:
    """Find the columns of this role; None if the table has none for its documents or its query."""
    documents, rivals = documents_column(table, layout, columns)
    if documents is None:
        return None
    listed_documents = table.holds_lists(documents)
    is_own = role_of(documents) == layout.word
    value = _value(table, layout, columns, documents, listed=listed_documents)
    by_row = listed_documents or is_own
    query = query_column(table, columns, documents, by_row=by_row, has_value=value is not None)
    if query is None:
        return None
    one_target = is_own and layout.kind == "qrels" and value is None
    return Chosen(query, documents, listed_documents or one_target, value, rivals)


def query_column(
    table: Table, columns: Columns, documents: str, *, by_row: bool, has_value: bool
) -> str | None:
    """Return the column of the query; None if there is none.

    ``by_row`` says that a row is a query, which an ``id`` then identifies.
    """
    if columns.query is not None and columns.query in table.names:
        return columns.query
    by_folded: dict[str, str] = {}
    for name in table.names:
        if name != documents:
            by_folded.setdefault(folded(name), name)
    leave_subject(by_folded)

    def known(names: Iterable[str]) -> list[str]:
        matching = (by_folded[folded(name)] for name in names if folded(name) in by_folded)
        return list(dict.fromkeys(matching))

    ids, rows, texts = known(QUERY_IDS), known(ROW_IDS), known(QUESTIONS)
    ids = [name for name in ids if folded(name) != "topic"] or ids
    if not ids and rows and texts and not by_row:
        ids = [_of_flat(table, rows[0], texts[0], has_value=has_value)]
    if not ids and not (rows and (by_row or not texts)):
        ids = texts or (known(WEAK_QUESTIONS) if by_row else [])
    ids = ids or rows[:1]
    if len(ids) > 1:
        raise InputError(
            f"{table.source}: {shown(ids[0], 30)} and {shown(ids[1], 30)} could both be the query; "
            f"say which (query={ids[0]!r})"
        )
    return ids[0] if ids else None


def _of_flat(table: Table, row: str, text: str, *, has_value: bool) -> str:
    """Tell an id of the query from one of the row, in a table with a row for each document."""
    ids = [str(value) for value in table.values(row)]
    texts = [str(value) for value in table.values(text)]
    if len(set(ids)) == len(set(texts)) == len(set(zip(ids, texts, strict=True))):
        return row
    if len(set(ids)) == len(ids) and has_value:
        return text
    raise InputError(
        f"{table.source}: {shown(row, 30)} may identify the query or the row, as equal texts in "
        f"{shown(text, 30)} have different ids; say which it is (query={row!r} or query={text!r})"
    )


def _value(
    table: Table, layout: PairLayout, columns: Columns, documents: str, *, listed: bool
) -> str | None:
    """Return the column of the grade or score: numbers, or for lists the lists of them."""
    named = columns.grade if layout.kind == "qrels" else columns.score
    if named is not None:
        if named not in table.names and not listed:
            raise refuse_unknown(layout.value, named, table.names, table.source)
        return named if named in table.names else None
    known = {folded(name) for name in ALIASES[layout.value]} | (
        {folded(layout.value) + "s"} if listed else set()
    )
    others = [name for name in table.names if folded(name) in known and name != documents]
    if listed:
        if layout.kind == "run":
            return None  # lists are best first, whatever the scores beside them
        return next((n for n in others if _lists_numbers(table, n) or table.holds_numbers(n)), None)
    exact = [name for name in others if folded(name) in (layout.value, f"{layout.value}s")]
    plain = [name for name in others if folded(name) not in ("score", "value")]
    others = exact or (plain if layout.kind == "qrels" and plain else others)
    if len(others) > 1:
        raise InputError(
            f"{table.source}: {shown(others[0], 30)} and {shown(others[1], 30)} could both be the "
            f"{layout.value}; say which ({layout.value}={others[0]!r})"
        )
    return others[0] if others else None


def _lists_numbers(table: Table, name: str) -> bool:
    values = table.sample(name)
    return bool(values) and all(
        is_list(v) and not isinstance(v, Mapping | Set) and all(map(_is_number, v)) for v in values
    )


# --- refusing


def refuse_columns(table: Table, layout: PairLayout, columns: Columns) -> InputError:
    """Return the error for a table that lacks a column, with what would make it right."""
    names = [name for name in table.names if name not in rater_columns(table.names)]
    other = "retrieved" if layout.word == "relevant" else "relevant"
    taken = [name for name in names if role_of(name) == other]
    texts = [n for n in names if n in table.texts or role_of(n) == "text"]
    documents, _ = documents_column(table, layout, columns)
    there = f"among {names_of(names)}"
    if documents is not None:
        example = next((name for name in names if name != documents), "question")
        return InputError(
            f"{table.source}: no column for the query {there}; say which it is (query={example!r})"
        )
    if any(folded(name) == "expected" and name.startswith("__") for name in names):
        why = "; promptfoo's assertions are no ids"
    elif texts:
        verb = "holds" if len(texts) == 1 else "hold"
        why = f"; {names_of(texts[:3])} {verb} texts, not ids, which count only if named"
    elif taken:
        why = f"; {names_of(taken[:3])} is a name for {other} documents"
    else:
        why = ""
    free = [n for n in names if n not in query_names(names) and folded(n) not in ("id", "score")]
    lists = [name for name in free if table.holds_lists(name)]
    example = (texts or taken or lists or free or ["ids"])[0]
    return InputError(
        f"{table.source}: no column for the {layout.word} documents {there}{why}; say which it is "
        f"({layout.word}={example!r})"
    )
