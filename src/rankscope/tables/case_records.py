"""Cases: texts, each with the ids that it should find, such as the terms of an ontology.

``{"text": "Anasarka", "expected_hpo_ids": ["HP:0012050"]}``, or with any other
``expected_…_ids``, in a list, on lines, in the columns of a table, or in an object beside what
holds for all of them: ``{"metadata": {"language": "de"}, "test_cases": [case, …]}``. One reading
serves judgments and queries alike, so that both know a case by the same id: its ``case_id``, or
else its text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from rankscope.errors import shown
from rankscope.tables.cells import listed
from rankscope.tables.columns import (
    QRELS,
    PairLayout,
    Questions,
    are_case_names,
    expected_names,
    find_name,
    names_list,
)
from rankscope.tables.ids import id_text
from rankscope.tables.language_codes import language_code
from rankscope.tables.rows import Rows
from rankscope.tables.table_options import named_keys, saw_columns
from rankscope.tables.unanswered import find_mark, is_marked, refuse_answer

if TYPE_CHECKING:
    from rankscope.errors import InputError
    from rankscope.tables.columns import Layout
    from rankscope.tables.record_rows import Origin, Placed, Row

    _Refuse = Callable[[str], InputError]

_IDS = ("case_id", "id", "_id", "query_id")
_TEXTS = ("text", "query", "question", "query_text", "user_input", "user_query")
LOOKED_AT = 10
"""So many records tell whether a list holds cases."""


@dataclass(frozen=True, slots=True)
class Case:
    """A text and what it should find; ``fields`` are all but its id and text."""

    case_id: str
    is_named: bool  # it has an id of its own, and is not known by its text
    text: str
    text_name: str
    expected: tuple[str, ...]
    no_answer: bool
    language: str | None
    fields: Row
    origin: Origin
    position: int

    def error(self, problem: str) -> InputError:
        """Return the error to raise for a problem with this case."""
        return self.origin.error(problem, self.position)

    @property
    def place(self) -> str:
        """Where the case was read, within its file."""
        return f"{self.origin.unit} {self.position}"


# --- noticing ------------------------------------------------------------------------------------


def is_case(record: object) -> bool:
    """Tell a case from other records; ids with grades are those of another golden set."""
    if not isinstance(record, Mapping) or not are_case_names(record):
        return False
    name = expected_names(record)[0]
    return not names_list(name, QRELS) or not _is_graded(record[name])


def _is_graded(value: object) -> bool:
    if isinstance(value, list | tuple):
        first = value[0] if value else None
        is_pair = isinstance(first, list | tuple) and len(first) == 2
        return isinstance(first, Mapping) or (is_pair and isinstance(first[1], int | float))  # type: ignore[index]
    return isinstance(value, Mapping)


def hold_cases(records: Iterable[object]) -> bool:
    """Tell whether records are cases, by the first of them."""
    return any(map(is_case, islice(records, LOOKED_AT)))


def holds_cases(data: object) -> bool:
    """Tell whether data, as a JSON file has it, are cases."""
    if isinstance(data, Mapping):
        return is_case(data) or _wrapped(data) is not None
    return isinstance(data, list | tuple) and hold_cases(data)


def _wrapped(data: Mapping[Any, Any]) -> Sequence[Any] | None:
    """Return the cases in an object: its test_cases, or the only list in it."""
    lists = [value for value in data.values() if isinstance(value, list)]
    records = data.get("test_cases") if "test_cases" in data or len(lists) != 1 else lists[0]
    if not isinstance(records, list):
        return None
    is_empty = not records and "test_cases" in data
    return records if is_empty or hold_cases(records) else None


# --- reading -------------------------------------------------------------------------------------


def cases_in(
    data: object, origin: Origin, layout: Layout, *, language: str | None = None
) -> list[Case] | None:
    """Return the cases that data holds, as a JSON file has it; None if it holds others.

    ``language`` is that of cases for which neither they nor the file name one.
    """
    if not isinstance(data, Mapping):
        if not isinstance(data, list | tuple) or not hold_cases(data):
            return None
        return read_cases(enumerate(data, start=1), origin, layout, language=language)
    if is_case(data):
        numbered = enumerate(_columns_or_one(data, origin), start=1)
        return read_cases(numbered, origin, layout, language=language)
    records = _wrapped(data)
    if records is None:
        is_golden = layout.kind != "run"
        if is_golden and not isinstance(data.get("test_cases", []), list):
            raise origin.error(
                f"test_cases is {_given(data['test_cases'])}; expected a list of cases"
            )
        return None
    metadata = data.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise origin.error(
            f"the metadata are {_given(metadata)}; expected an object such as "
            '{"language": "de"}, or none'
        )
    named = None
    if metadata is not None:
        named = _language(metadata.get("language"), origin.error)
    return read_cases(enumerate(records, start=1), origin, layout, language=named or language)


def _columns_or_one(data: Mapping[Any, Any], origin: Origin) -> Iterator[Mapping[Any, Any]]:
    """Yield the one case that a mapping is, or those in the columns of a table."""
    columns = list(data.values())
    if not all(isinstance(column, list | tuple) for column in columns):
        yield data
        return
    if len(set(map(len, columns))) > 1:
        raise origin.error("the columns are not equally long; give every case all fields")
    yield from (dict(zip(data, row, strict=True)) for row in zip(*columns, strict=True))


def read_cases(
    numbered: Iterable[tuple[int, object]],
    origin: Origin,
    layout: Layout,
    *,
    language: str | None = None,
    cells: bool = False,
) -> list[Case]:
    """Read records with their positions as cases, of which no two have the same id.

    ``cells`` says that they are rows of a table, in which what is missing is an empty cell.
    """
    reader = _Reader(origin, layout, language, cells)
    cases: dict[str, Case] = {}
    for position, record in numbered:
        case = reader.read(position, record)
        first = cases.setdefault(case.case_id, case)
        if first is not case:
            raise _refuse_twice(first, case)
    return list(cases.values())


def _refuse_twice(first: Case, case: Case) -> InputError:
    if first.is_named or case.is_named:
        return case.error(
            f"the id {shown(case.case_id)} is that of {first.place} too; give every case its own"
        )
    return case.error(
        f"the text {shown(case.text)} is that of {first.place} too, and neither has an id; give "
        "each of them a case_id"
    )


class _Names(NamedTuple):
    """What the fields of a record are for."""

    query_id: str | None
    text: str | None
    expected: str | None
    language: str | None
    mark: str | None


class _Reader:
    """Reads the cases of one file."""

    def __init__(self, origin: Origin, layout: Layout, language: str | None, cells: bool) -> None:
        self.origin, self.language, self.cells = origin, language, cells
        self.required: frozenset[str] = frozenset()
        if isinstance(layout, PairLayout):
            self.keys: Mapping[str, str] = layout.keys
            self.required = layout.required
            if layout.kind == "run":  # in which a document is one that was retrieved
                self.keys = {role: key for role, key in layout.keys.items() if role == "query_id"}
                self.required &= {"query_id"}
        else:
            named = {} if layout.key is None else {"query_id": layout.key}
            self.keys = {**named_keys(), **named}
        self._known: dict[tuple[object, ...], _Names] = {}

    def read(self, position: int, record: object) -> Case:
        if not isinstance(record, Mapping):
            raise self.origin.error(
                f"expected a case, an object with text and expected ids, got {_given(record)}",
                position,
            )
        known = tuple(record)
        names = self._known.get(known)
        if names is None:
            names = self._known[known] = self._names(record, position)

        def error(problem: str) -> InputError:
            return self.origin.error(problem, position)

        text = self._text(record, names, error)
        case_id, is_named = self._id(record, names, text, error)
        where = f"{self.origin.source or 'cases'}, {self.origin.unit} {position}"
        no_answer = names.mark is not None and is_marked(names.mark, record[names.mark], where)
        expected = self._expected(record, names, case_id, error, may_be_missing=no_answer)
        if no_answer and expected:
            raise refuse_answer(case_id, where)
        language = self._language_of(record, names, error)
        left_out = {names.query_id, names.text, names.language}
        fields: Row = {str(name): value for name, value in record.items() if name not in left_out}
        if language is not None:
            fields["language"] = language
        return Case(
            case_id,
            is_named,
            text,
            str(names.text),
            expected,
            no_answer,
            language,
            fields,
            self.origin,
            position,
        )

    def _names(self, record: Mapping[Any, Any], position: int) -> _Names:
        """Find out what the fields of records with these names are for."""
        names = [name for name in record if isinstance(name, str)]
        saw_columns(names, {role: key for role, key in self.keys.items() if key in names})
        for role in ("query_id", "doc_id"):
            if role in self.required and self.keys[role] not in names:
                raise self.origin.error(
                    f"no field {shown(self.keys[role])} among {shown(', '.join(names))}", position
                )
        query_key, doc_key = self.keys.get("query_id"), self.keys.get("doc_id")
        expected = expected_names(names)
        if doc_key in names:
            expected = [str(doc_key)]
        elif len(expected) > 1 and not names_list(expected[0], QRELS):
            raise self.origin.error(
                f"{shown(expected[0])} and {shown(expected[1])} both hold expected ids; say which "
                "count (--doc-key), or keep one of them",
                position,
            )
        return _Names(
            query_key if query_key in names else find_name(names, _IDS),
            find_name(names, _TEXTS),
            next(iter(expected), None),
            find_name(names, ("language",)),
            find_mark(names),
        )

    def _text(self, record: Mapping[Any, Any], names: _Names, error: _Refuse) -> str:
        text = None if names.text is None else record[names.text]
        if text is None and self.cells:
            return ""
        if isinstance(text, str):
            return _unicode(text, "text", error)
        fields = shown(", ".join(map(str, record)))
        given = f"among the fields {fields}" if names.text is None else f"but {_given(text)}"
        raise error(f"a case has no text, {given}; write what to look for as text")

    def _id(
        self, record: Mapping[Any, Any], names: _Names, text: str, error: _Refuse
    ) -> tuple[str, bool]:
        """Return the id, and whether it is the case's own and not its text."""
        value = None if names.query_id is None else record[names.query_id]
        if names.query_id is None or (self.cells and value is None):
            if not text.strip():
                raise error("a case has neither an id nor a text; give it both")
            return text, False
        try:
            case_id = id_text(value)
        except ValueError as problem:
            raise error(
                f"the {names.query_id} is {problem}, or no such field: then the text is the id"
            ) from None
        if not case_id.strip():
            raise error(f"the {names.query_id} is empty; fill it in, or leave the field out")
        return _unicode(case_id, names.query_id, error), names.query_id != names.text

    def _expected(
        self,
        record: Mapping[Any, Any],
        names: _Names,
        case_id: str,
        error: _Refuse,
        *,
        may_be_missing: bool,
    ) -> tuple[str, ...]:
        case = f"case {shown(case_id)}"
        if names.expected is None:
            if self.cells or may_be_missing:
                return ()
            raise error(
                f"{case} has no expected ids among the fields {shown(', '.join(map(str, record)))};"
                " name them expected_ids, and write [] if there are none"
            )
        name, value = names.expected, record[names.expected]
        if isinstance(value, str):
            value = listed(value)
            value = [value] if isinstance(value, str) else value
        if value is None and (self.cells or may_be_missing):
            return ()
        if isinstance(value, Mapping | bytes) or not isinstance(value, Iterable):
            raise error(
                f"{case}: {name} is {_given(value)}; expected a list of ids, [] if there are none"
            )
        expected = []
        for item in value:
            try:
                term = id_text(item)
            except ValueError as problem:
                raise error(f"{case}: an id in {name} is {problem}") from None
            if not term.strip():
                raise error(f"{case}: an id in {name} is empty; take it out, or write it")
            expected.append(_unicode(term, f"id in {name}", error))
            if expected[-1] in expected[:-1]:
                raise error(f"{case} expects {shown(expected[-1])} twice; keep it once")
        return tuple(expected)

    def _language_of(self, record: Mapping[Any, Any], names: _Names, error: _Refuse) -> str | None:
        """Return the language of a case: its own, or the file's."""
        value = None if names.language is None else record[names.language]
        nested = record.get("metadata")
        if value is None and isinstance(nested, Mapping):
            value = nested.get("language")
        return _language(value, error) or self.language


def _language(value: object, error: _Refuse) -> str | None:
    """Return the code of a language; None if none is given."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise error(f"the language is {_given(value)}; expected text such as de or German")
    return language_code(value) or None


def _unicode(text: str, what: str, error: _Refuse) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise error(
            f"the {what} {shown(text)} is not valid Unicode text (a lone surrogate); write it anew"
        ) from None
    return text


def _given(value: object) -> str:
    return "null" if value is None else f"{shown(value)} ({type(value).__name__})"


# --- as tables -----------------------------------------------------------------------------------


def rows_from_cases(cases: Sequence[Case], layout: PairLayout, *, source: str) -> Rows:
    """Make judgments of cases: every expected id has grade 1."""
    pairs = [(case, term) for case in cases for term in case.expected]
    columns = {
        "query_id": pl.Series([case.case_id for case, _ in pairs], dtype=pl.String),
        "doc_id": pl.Series([term for _, term in pairs], dtype=pl.String),
        "grade": pl.Series([1] * len(pairs), dtype=pl.Int64),
    }
    has_lines = all(case.origin.unit == "line" for case in cases)
    named = {case.case_id: case.text for case in cases if case.is_named}
    return Rows(
        pl.DataFrame(columns),
        source,
        layout,
        line_of=(lambda row: pairs[row][0].position) if has_lines else None,
        empty_queries=tuple(case.case_id for case in cases if not case.expected),
        no_answer=tuple(case.case_id for case in cases if case.no_answer),
        questions=Questions(cases[0].text_name if named else "", named),
        languages={case.case_id: case.language for case in cases if case.language is not None},
        listed=tuple(case.case_id for case in cases),
    )


def placed_cases(cases: Iterable[Case]) -> Iterator[Placed]:
    """Make queries of cases; all but id and text is metadata."""
    for case in cases:
        yield case.origin, case.position, {"text": case.text, **case.fields, "_id": case.case_id}


def answered_cases(cases: Iterable[Case]) -> list[Row]:
    """Return the records of cases that hold what was retrieved, each with its id."""
    rows = []
    for case in cases:
        expected = expected_names(case.fields)
        fields = {name: value for name, value in case.fields.items() if name not in expected}
        rows.append({**fields, "query_id": case.case_id})
    return rows


def qualified(case: Case) -> Case:
    """Return a case whose id says its language; one without a language stays as it is."""
    if case.language is None:
        return case
    return replace(case, case_id=f"{case.language}:{case.case_id}")
