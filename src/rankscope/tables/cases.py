"""Golden sets in objects, and in folders of files by language.

``{"metadata": {"language": "de"}, "test_cases": [case, …]}`` is a list of records with something
around it, as is any object that holds exactly one list of records; a collection may be in one
object too (``queries``, ``relevant_docs``, ``corpus``). A *case* is a record with a text and
``expected_…_ids``; cases know their language, by a field, their file's metadata, or their folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
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
_OF_QUERIES = {folded(name) for name in (*QUERY_IDS, *QUESTIONS)}


def are_case_names(names: Sequence[object]) -> bool:
    """Tell whether the fields of a record, or the columns of a table, are those of cases.

    A name such as ``expected_hpo_ids`` is enough. One that other golden sets have too
    (``expected_ids``) needs a ``case_id``, or a ``text`` that nothing else could be the query of.
    """
    plain = {folded(name) for name in names if isinstance(name, str)}
    expected = [name for name in plain if _EXPECTED.fullmatch(name)]
    if not expected or any("hpo" in name for name in expected):
        return bool(expected)
    others = _OF_QUERIES - {"caseid", "queryid"}
    return "caseid" in plain or ("text" in plain and others.isdisjoint(plain))


def holds_cases(data: object) -> bool:
    """Tell whether data, as a JSON file has it, are cases."""
    if isinstance(data, Mapping):
        if "test_cases" not in data and are_case_names(list(data)):
            return True
        lists = [value for value in data.values() if isinstance(value, list)]
        data = data.get("test_cases", lists[0] if len(lists) == 1 else None)
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
    lists = [value for value in data.values() if isinstance(value, list)]
    if len(lists) != 1 or not all(isinstance(record, Mapping) for record in lists[0]):
        return None
    if not any(_names_query(record) for record in lists[0][:_LOOKED_AT]):
        return None  # the documents of a query that has this key
    return lists[0]


def _names_query(record: Mapping[Any, Any]) -> bool:
    names = {folded(str(name)) for name in record}
    if is_answer(record) or any(map(is_answer, record.values())):
        return True
    return not names.isdisjoint({*_OF_QUERIES, "inputs"}) or (
        not names.isdisjoint({"id", "text"})
        and any(role_of(str(name)) not in (None, "text") for name in record)
    )


def _with_language(record: Any, language: str | None, source: str) -> Any:
    if not isinstance(record, Mapping):
        raise InputError(f"{source}: expected a case, an object, got {shown(record)}")
    name = find_name([str(each) for each in record], ("language",))
    nested = record.get("metadata")
    spoken = None if name is None else record[name]
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
    files: dict[str, Path] = {}
    try:
        for inside in (home, *(path for path in _entries(home) if path.is_dir())):
            if inside != home and home.resolve().is_relative_to(inside.resolve()):
                continue
            for path in _entries(inside):
                if suffix_of(path) == ".json" and not path.is_dir():
                    files.setdefault(os.path.realpath(path), path)
            if len(files) > _MOST_FILES:
                raise InputError(
                    f"{home}: has more than {_MOST_FILES:,} JSON files; name one of them"
                )
    except OSError as error:
        raise InputError(f"{home}: cannot be read ({error.strerror})") from None
    return sorted(files.values())


def _entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _content(path: Path) -> object:
    check_regular(path)
    return read_json(read_bytes(path), source=str(path))


def has_case_files(folder: PathLike) -> bool:
    """Tell whether a folder holds a case file."""
    return any(holds_cases(_content(path)) for path in case_files_in(folder))


def cases_in_folder(folder: PathLike) -> list[Record] | None:
    """Return the cases of all case files of a folder; None if it holds none.

    JSON files of another kind are passed over. If cases in two languages share an id, or a text
    where they have none, all ids begin with the language, as in ``de:Anasarka``. In one language
    that is an error.
    """
    cases: list[tuple[Record, Path]] = []
    has_files = False
    for path in case_files_in(folder):
        content = _content(path)
        if holds_cases(content):
            has_files = True
            held = unwrapped(content, "qrels", str(path), folder_language(path))
            records = [dict(held)] if isinstance(held, Mapping) else held
            cases += [(record, path) for record in records]
    if not has_files:
        return None
    names = {name for record, _ in cases for name in record if _EXPECTED.fullmatch(folded(name))}
    if len(names) > 1 and all(len(names & record.keys()) <= 1 for record, _ in cases):
        cases = [  # files may name their ids by what these are of
            ({("expected_ids" if n in names else n): v for n, v in record.items()}, path)
            for record, path in cases
        ]
    return _distinct(cases, os.fspath(folder))


def _distinct(cases: Sequence[tuple[Record, Path]], folder: str) -> list[Record]:
    """Give cases ids of which none occurs twice, or say which does."""
    id_names = [find_name(record, ("case_id", "id", "_id", "query_id")) for record, _ in cases]
    ids = []
    first: dict[tuple[Any, str], Path] = {}
    for (record, path), name in zip(cases, id_names, strict=True):
        case_id = str(record.get(name or find_name(record, ("text", *QUESTIONS)) or "text"))
        language = record.get("language")
        if (language, case_id) in first:
            raise InputError(
                f"{folder}: {first[language, case_id]} and {path} both hold the case "
                f"{shown(case_id)} in one language; name one of these files, or give each case a "
                "case_id of its own"
            )
        first[language, case_id] = path
        ids.append(case_id)
    if not any(id_names) and len(set(ids)) == len(ids):
        return [record for record, _ in cases]
    distinct, are_shared = [], len(set(ids)) < len(ids)
    for (record, _), name, case_id in zip(cases, id_names, ids, strict=True):
        language = record.get("language") if are_shared else None
        whole = case_id if language is None else f"{language}:{case_id}"
        distinct.append({**record, name or "case_id": whole, "case_id": whole})
    return distinct
