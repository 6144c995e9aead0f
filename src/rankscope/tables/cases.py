"""Golden sets in objects, and in folders of files by language.

``{"metadata": {"language": "de"}, "test_cases": [case, …]}`` is a list of records with something
around it, as is any object that holds exactly one list of records; a collection may be in one
object too (``queries``, ``relevant_docs``, ``corpus``). A *case* is a record with a text and
``expected_…_ids``; cases know their language, by a field, their file's metadata, or their folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, shown
from rankscope.files import check_regular, read_bytes, suffix_of
from rankscope.tables.columns import QUERY_IDS, QUESTIONS, find_name, folded, role_of
from rankscope.tables.documents import is_answer
from rankscope.tables.jsontext import read_json
from rankscope.tables.language_codes import folder_language, language_code

if TYPE_CHECKING:
    from rankscope.files import PathLike

Record = dict[str, Any]

_MOST_FILES = 10_000
_LOOKED_AT = 10
_EXPECTED = re.compile(r"expected\w*ids")
_PARTS: Mapping[str, tuple[str, ...]] = {
    "queries": ("queries", "questions"),
    "qrels": ("relevant_docs", "qrels"),
    "corpus": ("corpus",),
}
"""What a collection in one object calls its parts."""
_OF_QUERIES = {folded(name) for name in (*QUERY_IDS, *QUESTIONS)} | {"inputs"}
_NOT_OF_CASES = {folded(name) for name in (*QUERY_IDS, *QUESTIONS)} - {"caseid", "queryid"}


def are_case_names(names: Sequence[object]) -> bool:
    """Tell whether the fields of a record, or the columns of a table, are those of cases.

    A name such as ``expected_hpo_ids`` is enough. One that other golden sets have too
    (``expected_ids``) needs a ``case_id``, or a ``text`` that nothing else could be the query of.
    """
    plain = [folded(name) for name in names if isinstance(name, str)]
    expected = [name for name in plain if name.startswith("expected") and name.endswith("ids")]
    if not expected:
        return False
    if any(len(name) > len("expectedids") and "hpo" in name for name in expected):
        return True
    return "caseid" in plain or ("text" in plain and _NOT_OF_CASES.isdisjoint(plain))


def holds_cases(data: object) -> bool:
    """Tell whether data, as a JSON file has it, are cases."""
    if isinstance(data, Mapping):
        held = data.get("test_cases")
        if held is None:
            lists = [value for value in data.values() if isinstance(value, list)]
            held = lists[0] if len(lists) == 1 else None
            if are_case_names(list(data)):
                return True
        data = held
    return isinstance(data, list | tuple) and any(
        isinstance(record, Mapping) and are_case_names(list(record)) for record in data[:_LOOKED_AT]
    )


def unwrapped(data: Any, kind: str, source: str, language: str | None = None) -> Any:
    """Return the table in an object, or the data if it is the table; cases with their language."""
    if isinstance(data, Mapping):
        parts = {
            each: next((data[name] for name in names if isinstance(data.get(name), Mapping)), None)
            for each, names in _PARTS.items()
        }
        if parts["queries"] is not None and parts["qrels"] is not None and kind in parts:
            return parts[kind]
        held = _records_in(data, source)
        if held is None:
            return data
        metadata = data.get("metadata")
        if "test_cases" in data and metadata is not None and not isinstance(metadata, Mapping):
            raise InputError(
                f"{source}: the metadata are {shown(metadata)}; expected an object such as "
                '{"language": "de"}, or none'
            )
        if isinstance(metadata, Mapping) and isinstance(metadata.get("language"), str):
            language = language_code(metadata["language"]) or language
        data = held
    if holds_cases(data):
        return [_with_language(record, language, source) for record in data]
    return data


def _records_in(data: Mapping[Any, Any], source: str) -> list[Any] | None:
    """Return the only list of records in an object, or its test_cases."""
    if "test_cases" in data:
        if not isinstance(data["test_cases"], list):
            raise InputError(
                f"{source}: test_cases is {shown(data['test_cases'])}; expected a list of cases"
            )
        return data["test_cases"]
    lists = [name for name, value in data.items() if isinstance(value, list)]
    if len(lists) != 1 or not data[lists[0]]:
        return None
    records = data[lists[0]]
    if not all(isinstance(record, Mapping) for record in records):
        return None
    first = records[:_LOOKED_AT]
    if not any(_names_query(record) or is_answer(record) for record in first):
        return None  # the documents of a query that has this key
    return list(records)


def _names_query(record: Mapping[Any, Any]) -> bool:
    names = {folded(str(name)) for name in record}
    if any(map(is_answer, record.values())):
        return True
    return not names.isdisjoint(_OF_QUERIES) or (
        not names.isdisjoint({"id", "text"})
        and any(role_of(str(name)) not in (None, "text") for name in record)
    )


def _with_language(record: Any, language: str | None, source: str) -> Any:
    if not isinstance(record, Mapping):
        raise InputError(f"{source}: expected a case, an object, got {shown(record)}")
    name = find_name([str(each) for each in record], ("language",))
    spoken = None if name is None else record[name]
    nested = record.get("metadata")
    if spoken is None and isinstance(nested, Mapping):
        spoken = nested.get("language")
    if spoken is not None and not isinstance(spoken, str):
        raise InputError(f"{source}: the language is {shown(spoken)}; expected text such as de")
    code = (language_code(spoken) if spoken else None) or language
    others = {name: value for name, value in record.items() if name != "language"}
    return others if code is None else {**others, "language": code}


# --- folders


def case_files_in(folder: PathLike) -> list[Path]:
    """Return the JSON files of a folder and of the folders in it, by path, each file once.

    What begins with a full stop is left out, and so is a link that leads back to the folder.
    """
    home = Path(os.fspath(folder))
    here = os.path.realpath(home)
    files: dict[str, Path] = {}
    for path in _entries(home):
        real = os.path.realpath(path)
        if not os.path.isdir(path):
            inside = iter([path])
        elif os.path.commonpath([here, real]) != real:
            inside = (entry for entry in _entries(path) if not os.path.isdir(entry))
        else:
            continue
        for entry in inside:
            if suffix_of(entry) == ".json":
                files.setdefault(os.path.realpath(entry), entry)
        if len(files) > _MOST_FILES:
            raise InputError(f"{home}: has more than {_MOST_FILES:,} JSON files; name one of them")
    return sorted(files.values())


def _entries(folder: Path) -> Iterator[Path]:
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror})") from None
    return (folder / name for name in names if not name.startswith("."))


def _content(path: Path) -> object:
    check_regular(path)
    return read_json(read_bytes(path), source=str(path))


def has_case_files(folder: PathLike) -> bool:
    """Tell whether a folder holds a case file."""
    return any(holds_cases(_content(path)) for path in case_files_in(folder))


def cases_in_folder(folder: PathLike) -> list[Record] | None:
    """Return the cases of all case files of a folder; None if it holds none.

    JSON files of another kind are passed over. If cases in two languages share an id, all ids of
    that kind (texts of cases without an id, or ``case_id``) begin with the language, as in
    ``de:Anasarka``. In one language that is an error.
    """
    cases: list[tuple[Record, Path]] = []
    has_files = False
    for path in case_files_in(folder):
        content = _content(path)
        if holds_cases(content):
            has_files = True
            held = unwrapped(content, "qrels", str(path), folder_language(path))
            held = [held] if isinstance(held, Mapping) else held
            cases += [(record, path) for record in held]
    if not has_files:
        return None
    expected = [
        [name for name in record if _EXPECTED.fullmatch(folded(name))] for record, _ in cases
    ]
    if len({names[0] for names in expected if names}) > 1 and max(map(len, expected)) == 1:
        cases = [  # files may name their ids by what these are of
            ({("expected_ids" if n in names else n): v for n, v in record.items()}, path)
            for (record, path), names in zip(cases, expected, strict=True)
        ]
    return _distinct(cases, os.fspath(folder))


def _distinct(cases: Sequence[tuple[Record, Path]], folder: str) -> list[Record]:
    """Give cases ids of which none occurs twice, or say which does."""
    seen: dict[tuple[bool, str], dict[str | None, Path]] = {}
    shared = {True: False, False: False}
    for record, path in cases:
        name = _own_id(record)
        case_id = str(record.get(name or _text_name(record)))
        by_language = seen.setdefault((name is not None, case_id), {})
        language = record.get("language")
        if language in by_language:
            what = f"the case {shown(case_id)}" if name else f"the text {shown(case_id)}"
            spoken = "" if language is None else f" in one language ({language})"
            raise InputError(
                f"{folder}: {by_language[language]} and {path} both hold {what}{spoken}; name one "
                "of these files, or give each case a case_id of its own"
            )
        by_language[language] = path
        shared[name is not None] |= len(by_language) > 1
    distinct = []
    for record, _ in cases:
        name, language = _own_id(record), record.get("language")
        case = record
        if shared[name is not None] and language is not None:
            text = record[name or _text_name(record)]
            case = {**record, name or "case_id": f"{language}:{text}"}
        distinct.append(case)
    if any(_own_id(record) is not None for record in distinct):  # then all have one
        distinct = [
            {**r, "case_id": r[_own_id(r) or _text_name(r)]} if "case_id" not in r else r
            for r in distinct
        ]
        ids = [str(record["case_id"]) for record in distinct]
        twice = next((name for name in ids if ids.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{folder}: {shown(twice)} in one language is a case and a text")
    return distinct


def _own_id(record: Record) -> str | None:
    return find_name(record, ("case_id", "id", "_id", "query_id"))


def _text_name(record: Record) -> str:
    return find_name(record, ("text", *QUESTIONS)) or "text"
