"""Golden sets in objects, and in folders of files by language; questions without an answer.

``{"metadata": {"language": "de"}, "test_cases": [case, …]}`` is a list of records with something
around it, as is any object that holds exactly one list of records; a collection may be in one
object too (``queries``, ``relevant_docs``, ``corpus``). A *case* is a record with a text and
``expected_…_ids``; cases know their language, by a field, their file's metadata, or their folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, shown
from rankscope.files import check_regular, read_bytes, suffix_of
from rankscope.tables.columns import ALIASES, QUERY_IDS, QUESTIONS, find_name, folded, role_of
from rankscope.tables.documents import is_answer
from rankscope.tables.jsontext import read_json

if TYPE_CHECKING:
    from rankscope.files import PathLike

_MOST_FILES = 10_000
_FIRST = 10
"""Records that are looked at."""
_EXPECTED = re.compile(r"expected\w*ids")
_PARTS = {
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
        data = _list_in(data)
    return isinstance(data, list | tuple) and any(
        isinstance(record, Mapping) and are_case_names(list(record)) for record in data[:_FIRST]
    )


def _list_in(data: Mapping[Any, Any]) -> Any:
    """Return what an object has as test_cases, or its only list."""
    lists = [value for value in data.values() if isinstance(value, list)]
    return data.get("test_cases", lists[0] if len(lists) == 1 else None)


def unwrapped(data: Any, kind: str, source: str, language: str | None = None) -> Any:
    """Return the table in an object, or the data if it is the table; cases with their language."""
    if isinstance(data, Mapping):
        held = {part: next((n for n in names if n in data), "") for part, names in _PARTS.items()}
        parts = {part: data[name] for part, name in held.items() if name}
        if kind in _PARTS and all(isinstance(parts.get(p), Mapping) for p in ("queries", "qrels")):
            return parts.get(kind)
        records, metadata = _list_in(data), data.get("metadata")
        if "test_cases" not in data:
            if not records or not all(isinstance(record, Mapping) for record in records):
                return data
            if not any(map(_names_query, records[:_FIRST])):
                return data  # or they are the documents of a query that has this key
        elif not isinstance(records, list) or not isinstance(metadata, Mapping | None):
            raise InputError(
                f"{source}: expected test_cases, a list, and metadata, an object such as "
                f'{{"language": "de"}}, if any; got {shown(records)} and {shown(metadata)}'
            )
        if isinstance(metadata, Mapping) and isinstance(metadata.get("language"), str):
            language = language_code(metadata["language"]) or language
        data = records
    if holds_cases(data):
        return [_with_language(record, language, source) for record in data]
    return data


def _names_query(record: Mapping[Any, Any]) -> bool:
    names = {folded(str(name)) for name in record}
    if not names.isdisjoint({*_OF_QUERIES, "inputs"}):
        return True
    if any(map(is_answer, (record, *record.values()))):
        return True
    roles_of_pairs = {"relevant", "retrieved"}
    roles = {role_of(str(name)): held for name, held in record.items()}
    has_documents = not roles_of_pairs.isdisjoint(roles) or isinstance(
        roles.get("neutral"), list | tuple
    )
    return has_documents and not names.isdisjoint({"id", "text"})


# --- questions that are meant to have no answer

YES = frozenset({"true", "t", "yes", "y", "1", "1.0"})
"""The words for yes, as compared: without case."""
NO = frozenset({"false", "f", "no", "n", "0", "0.0"})
"""The words for no."""
_BLANK = frozenset({"", "none", "null", "nan"})
MARKS = ("no_answer", "answerable")
"""The roles of columns that mark such a question, or mark all others."""


def find_mark(names: Iterable[str]) -> str | None:
    """Return the column that marks questions, or None."""
    return find_name(list(names), tuple(name for role in MARKS for name in ALIASES[role]))


def is_marked(name: str, value: Any, source: str) -> bool:
    """Tell whether the value of a column marks a question as having no answer."""
    word = "" if value is None else str(value).strip().casefold()
    if word not in YES | NO | _BLANK:
        raise InputError(f"{source}: {name} is {shown(value)}; expected true or false")
    return word in (YES if find_name([name], ALIASES["answerable"]) is None else NO)


def is_unanswered(fields: Mapping[str, Any], source: str) -> bool:
    """Tell whether the fields of a question mark it as having no answer."""
    name = find_mark(fields)
    return name is not None and is_marked(name, fields[name], source)


def refuse_answer(query_id: str, source: str) -> InputError:
    """Return the error for a marked question that has relevant documents."""
    return InputError(
        f"{source}: query {shown(query_id)} is marked as having no answer, and has a relevant "
        "document; take one of the two away"
    )


# --- languages

_NAMES = (
    "arabic ar bulgarian bg catalan ca chinese zh croatian hr czech cs danish da dutch nl "
    "english en estonian et finnish fi french fr german de greek el hebrew he hindi hi "
    "hungarian hu indonesian id irish ga italian it japanese ja korean ko latvian lv lithuanian "
    "lt maltese mt norwegian no persian fa polish pl portuguese pt romanian ro russian ru "
    "serbian sr slovak sk slovenian sl spanish es swedish sv turkish tr ukrainian uk vietnamese "
    "vi"
)
_CODES = dict(re.findall(r"(\w+) (\w+)", _NAMES))
"""English names of languages, with their codes in ISO 639-1."""
_TAG = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]{1,8})*")


def language_code(text: str) -> str:
    """Return the code of a language that is given by name, by code, or as a tag with a region.

    What is neither a name in the table nor a tag as in BCP 47 is kept, in lower case.

    >>> [language_code(text) for text in ("German", "DE", "de-DE", "Plattdeutsch")]
    ['de', 'de', 'de', 'plattdeutsch']
    """
    name = text.strip().lower()
    tag = _TAG.fullmatch(name)
    return _CODES.get(name) or (tag[1] if tag else name)


def folder_language(path: PathLike) -> str | None:
    """Return the language that the folder of a file is named by; None if it is named otherwise.

    >>> folder_language("cases/german/tiny_v1.json"), folder_language("cases/tiny_v1.json")
    ('de', None)
    """
    name = "" if os.fspath(path) == "-" else Path(os.path.abspath(path)).parent.name.lower()
    return name if name in _CODES.values() else _CODES.get(name)


def _with_language(record: Any, language: str | None, source: str) -> Any:
    if not isinstance(record, Mapping):
        raise InputError(f"{source}: expected a case, an object, got {shown(record)}")
    nested = record.get("metadata")
    spoken = record.get(find_name(record, ("language",)))
    if spoken is None and isinstance(nested, Mapping):
        spoken = nested.get("language")
    if not isinstance(spoken, str | None):
        raise InputError(f"{source}: the language is {shown(spoken)}; expected text such as de")
    code = language_code(spoken or "") or language
    others = {name: value for name, value in record.items() if name != "language"}
    return others if code is None else {**others, "language": code}


# --- folders


def case_files_in(folder: PathLike) -> list[Path]:
    """Return the JSON files of a folder and of the folders in it, by path, each file once.

    What begins with a full stop is left out.
    """
    home = Path(os.fspath(folder))
    files: dict[str, Path] = {}
    for path in sorted((*home.glob("*"), *home.glob("*/*"))):
        is_hidden = any(name[0] == "." for name in path.relative_to(home).parts)
        if suffix_of(path) == ".json" and not is_hidden and not path.is_dir():
            files.setdefault(os.path.realpath(path), path)
    if len(files) > _MOST_FILES:
        raise InputError(f"{home}: has more than {_MOST_FILES:,} JSON files; name one of them")
    return sorted(files.values())


def _cases_by_file(paths: Iterable[Path]) -> Iterable[tuple[Path, Any]]:
    """Yield the case files among some, and what is in them."""
    for path in paths:
        check_regular(path)
        content = read_json(read_bytes(path), source=str(path))
        if holds_cases(content):
            yield path, content


def has_case_files(folder: PathLike) -> bool:
    """Tell whether a folder holds a case file."""
    return any(True for _ in _cases_by_file(case_files_in(folder)))


def cases_in_folder(folder: PathLike) -> list[dict[str, Any]] | None:
    """Return the cases of all case files of a folder; None if it holds none.

    JSON files of another kind are passed over.
    """
    return cases_in_files(case_files_in(folder), os.fspath(folder)) or None


def cases_in_files(paths: Sequence[Path], source: str) -> list[dict[str, Any]]:
    """Return the cases of files, and of folders of files, in the order they are given.

    If cases in two languages share an id, or a text where they have none, all ids begin with the
    language, as in ``de:Anasarka``. In one language that is an error.
    """
    files = [file for path in paths for file in (case_files_in(path) if path.is_dir() else [path])]
    cases: list[dict[str, Any]] = []
    first: dict[tuple[Any, str], Path] = {}
    for path, content in _cases_by_file(files):
        held = unwrapped(content, "qrels", str(path), folder_language(path))
        for record in [held] if isinstance(held, Mapping) else held:
            name = find_name(record, ("case_id", "id", "_id", "query_id", "text", *QUESTIONS))
            key = record.get("language"), str(record.get(name, "text"))
            if first.setdefault(key, path) != path:
                raise InputError(
                    f"{source}: {first[key]} and {path} both hold the case {shown(key[1])} in one "
                    "language; name one of these files, or give each case a case_id of its own"
                )
            cases.append({**record, "case_id": key[1]})
    if len({case["case_id"] for case in cases}) < len(first):
        for case in cases:
            if case.get("language"):
                case["case_id"] = f"{case['language']}:{case['case_id']}"
    return cases
