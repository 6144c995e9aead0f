"""What runs are called, and which questions those without query ids answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankscope.errors import InputError, counted, shown
from rankscope.files import PathLike, is_path, source_name


class NamedFile(str):
    """The path of a run that the user gave a name; what reads the file calls the run so."""

    __slots__ = ("given_as", "run_name")
    run_name: str
    """The name, or '' if the run is called as if its path had none."""
    given_as: str
    """What the file is called in messages, where that is not its path."""

    @classmethod
    def of(cls, path: str, name: str, *, given_as: str = "") -> NamedFile:
        """Give a path a name."""
        named = cls(path)
        named.run_name = name
        named.given_as = given_as
        return named


def stem_of(path: PathLike) -> str:
    """Return the name that was given to a file, or its own without folder and suffixes."""
    if isinstance(path, NamedFile) and path.run_name:
        return path.run_name
    name = Path(source_name(path)).name
    return name.split(".")[0] or name


LONGEST_NAME = 200
"""Characters that the name of a run may have; a longer tag is no name, and the file's is used."""


def name_in_file(path: PathLike, tag: str | None) -> str:
    """Return what a run in a file is called: as it was named, by its tag, or as the file."""
    is_named = isinstance(path, NamedFile) and bool(path.run_name)
    if tag and len(tag) <= LONGEST_NAME and not is_named:
        return tag
    return stem_of(path)


def run_names(runs: Sequence[Any], given: Sequence[Any]) -> list[str]:
    """Name runs by their tags; where these are the same by their files, then by whole paths.

    ``given`` is what each run was made of. What is neither a table nor a file gets a number.
    """
    names = [getattr(run, "name", f"run{number}") for number, run in enumerate(runs, start=1)]
    if len(set(names)) < len(names):
        names = [
            stem_of(source) if is_path(source) else name
            for name, source in zip(names, given, strict=True)
        ]
    if len(set(names)) < len(names):
        names = [
            source_name(source) if is_path(source) else f"{name}-{number}"
            for number, (name, source) in enumerate(zip(names, given, strict=True), start=1)
        ]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        in_python = "{name: run, …}"
        names_given = (
            f"NAME=FILE ({in_python} in Python)" if all(map(is_path, given)) else in_python
        )
        raise InputError(f"two runs are called {shown(twice)}; name them: {names_given}")
    return names


REMEDY = "give answers by the id of their question: {query_id: answer}"


def answered_questions(answers: int, listed: Sequence[str], source: str) -> Sequence[str] | None:
    """Return the question that each of so many answers is to; None if numbers are their ids.

    Raises:
        InputError: it is not clear which answer is to which question.

    >>> answered_questions(2, ["Anasarka", "Klonus"], "run")
    ['Anasarka', 'Klonus']
    >>> answered_questions(2, ["1", "2"], "run")
    """
    numbers = [str(number) for number in range(1, len(listed) + 1)]
    if list(listed) == numbers:
        return None
    if answers != len(listed):
        raise InputError(
            f"{source}: has {counted(answers, 'answer')} without query ids to "
            f"{counted(len(listed), 'question')}; give one to each, in the order of the golden "
            f"set, or {REMEDY}"
        )
    if set(listed) == set(numbers):
        raise InputError(
            f"{source}: has answers without query ids, and the golden set numbers its questions "
            f"in another order; {REMEDY}"
        )
    return listed
