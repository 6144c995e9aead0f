"""Case files of a folder: ``cases/german/standard_v1.json`` and whatever else is beside it.

Where a golden set is expected, a folder that is no collection may hold one in several files. All
their cases are taken together, by path. A file's folder may say its language; see
`rankscope.tables.language_codes`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rankscope.errors import InputError, shown
from rankscope.files import check_regular, read_bytes, suffix_of
from rankscope.tables.case_records import Case, cases_in, holds_cases, qualified
from rankscope.tables.jsontext import read_json
from rankscope.tables.language_codes import folder_language
from rankscope.tables.record_rows import Origin

if TYPE_CHECKING:
    from rankscope.files import PathLike
    from rankscope.tables.columns import Layout

_MOST_FILES = 10_000


def case_files_in(folder: PathLike) -> list[Path]:
    """Return the JSON files of a folder and of the folders in it, by path, each file once.

    What begins with a full stop is left out, and so is a link that leads back to the folder.
    """
    home = Path(os.fspath(folder))
    here = os.path.realpath(home)
    seen: set[str] = set()
    files: list[Path] = []
    for path in _entries(home):
        if not os.path.isdir(path):
            inside = iter([path])
        elif os.path.commonpath([here, os.path.realpath(path)]) != os.path.realpath(path):
            inside = (entry for entry in _entries(path) if not os.path.isdir(entry))
        else:
            continue
        for entry in inside:
            if suffix_of(entry) == ".json" and (real := os.path.realpath(entry)) not in seen:
                seen.add(real)
                files.append(entry)
        if len(files) > _MOST_FILES:
            raise InputError(f"{home}: has more than {_MOST_FILES:,} JSON files; name one of them")
    return sorted(files)


def _entries(folder: Path) -> Iterator[Path]:
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror})") from None
    return (folder / name for name in names if not name.startswith("."))


def has_case_files(folder: PathLike) -> bool:
    """Tell whether a folder holds a case file."""
    return any(holds_cases(_content(path)) for path in case_files_in(folder))


def _content(path: Path) -> object:
    check_regular(path)
    return read_json(read_bytes(path), source=str(path))


def cases_in_folder(folder: PathLike, layout: Layout) -> list[Case] | None:
    """Return the cases of all case files of a folder; None if it holds none.

    JSON files of another kind are passed over. No two cases have the same id: if cases in two
    languages share one, all ids of that kind (texts of cases without an id of their own, or
    ``case_id``) begin with the language, as in ``de:Anasarka``. In one language that is an error.
    """
    cases: list[Case] = []
    has_files = False
    for path in case_files_in(folder):
        origin, language = Origin(str(path), "item"), folder_language(path)
        held = cases_in(_content(path), origin, layout, language=language)
        if held is not None:
            has_files = True
            cases += held
    return _distinct(cases, os.fspath(folder)) if has_files else None


def _distinct(cases: Sequence[Case], folder: str) -> list[Case]:
    """Give cases ids of which none occurs twice, or say which does."""
    clashes = {is_named: _is_shared(cases, folder, is_named=is_named) for is_named in (True, False)}
    distinct: dict[str, Case] = {}
    for case in cases:
        own_case = qualified(case) if clashes[case.is_named] else case
        first = distinct.setdefault(own_case.case_id, own_case)
        if first is not own_case:
            raise _refuse_twice(first, own_case, folder)
    return list(distinct.values())


def _is_shared(cases: Sequence[Case], folder: str, *, is_named: bool) -> bool:
    """Tell whether two languages share an id; one language must not have it twice."""
    seen: dict[str, dict[str | None, Case]] = {}
    for case in cases:
        if case.is_named is is_named:
            by_language = seen.setdefault(case.case_id, {})
            first = by_language.setdefault(case.language, case)
            if first is not case:
                raise _refuse_twice(first, case, folder)
    return any(len(by_language) > 1 for by_language in seen.values())


def _refuse_twice(first: Case, case: Case, folder: str) -> InputError:
    what = f"the case {shown(case.case_id)}" if case.is_named else f"the text {shown(case.text)}"
    language = "" if case.language is None else f" in one language ({case.language})"
    return InputError(
        f"{folder}: {first.origin.source}, {first.place}, and {case.origin.source}, {case.place}, "
        f"both hold {what}{language}; name one of these files, or give each case a case_id of "
        "its own"
    )
