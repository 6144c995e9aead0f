"""The files that runs are in: what runs are called, those read when needed, those from a pipe.

Nothing here loads Polars.
"""

from __future__ import annotations

import atexit
import os
import shutil
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, counted, shown
from rankscope.files import PathLike, can_be_read_again, is_path, open_raw, source_name
from rankscope.tables.columns import NO_QUESTIONS
from rankscope.temporary import mark, new_temporary_folder, remove, room_needed, unlock

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rankscope.runs.table import Run
    from rankscope.tables.native_files import TrecFile

LONGEST_NAME = 200
"""Characters that the name of a run may have; a longer tag is no name, and the file's is used."""

REMEDY = "give answers by the id of their question: {query_id: answer}"

_BLOCK = 1 << 20
_BEGINNING = 1 << 16


# --- names ---------------------------------------------------------------------------------------


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


def name_in_file(path: PathLike, tag: str | None = None) -> str:
    """Return what a run in a file is called: as it was named, by its tag, or as the file."""
    if isinstance(path, NamedFile) and path.run_name:
        return path.run_name
    if tag and len(tag) <= LONGEST_NAME:
        return tag
    name = Path(source_name(path)).name
    return name.split(".")[0] or name


def run_names(runs: Sequence[Any], given: Sequence[Any]) -> list[str]:
    """Name runs by their tags; where these are the same by their files, then by whole paths.

    ``given`` is what each run was made of. What is neither a table nor a file gets a number.
    """
    tags = [getattr(run, "name", f"run{number}") for number, run in enumerate(runs, start=1)]
    named = list(zip(tags, given, strict=True))
    files = [name_in_file(source) if is_path(source) else tag for tag, source in named]
    paths = [
        source_name(source) if is_path(source) else f"{tag}-{number}"
        for number, (tag, source) in enumerate(named, start=1)
    ]
    for names in (tags, files, paths):
        if len(set(names)) == len(names):
            return names
    twice = next(name for name in paths if paths.count(name) > 1)
    in_python = "{name: run, …}"
    remedy = f"NAME=FILE ({in_python} in Python)" if all(map(is_path, given)) else in_python
    raise InputError(f"two runs are called {shown(twice)}; name them: {remedy}")


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


# --- runs that are read when something asks for their rows ---------------------------------------


class LazyRun(ABC):
    """Stands for a run that is not in memory; what is not known here is asked of the run."""

    chunks = None
    questions = NO_QUESTIONS
    is_numbered = False
    scored: Any = None
    """Its scores, if they were computed elsewhere."""
    bounds: Any = None
    """How far its means could move, if that was computed elsewhere."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._loaded: Run | None = None

    @property
    def loaded(self) -> Run:
        """The run as a table, read once."""
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    @abstractmethod
    def _load(self) -> Run:
        """Read the run."""

    @property
    def depth(self) -> int | None:
        """How many documents the longest list has, if that is known without reading the run."""
        return None

    def worked_on(self, executor: Executor) -> LazyRun:  # noqa: ARG002
        """Return the run with somebody else to do the work, where it can be shared."""
        return self

    def scan_for(self, judgments: Any, precision: Any) -> Any:  # noqa: ARG002
        """Return the scan of the run for some judgments; None if its table is to be looked at."""
        return None

    def __getattr__(self, name: str) -> Any:
        from rankscope.runs.table import Run  # noqa: PLC0415

        if name.startswith("_") or not hasattr(Run, name):  # asking what this is reads nothing
            raise AttributeError(name)
        return getattr(self.loaded, name)

    def __len__(self) -> int:
        return len(self.loaded)

    def __iter__(self) -> Iterator[str]:
        return iter(self.query_ids)

    def __contains__(self, query_id: object) -> bool:
        return query_id in self.loaded

    def __getitem__(self, query_id: str) -> dict[str, Any]:
        return self.loaded[query_id]


class LazyFile(LazyRun):
    """Stands for the run in a TREC file."""

    def __init__(self, file: TrecFile, name: str) -> None:
        super().__init__(name)
        self._file = file

    @property
    def depth(self) -> int | None:
        """How many documents the longest list has, as the beginning of the file shows."""
        with self._file.opened() as stream:
            lines = stream.read(_BEGINNING).splitlines()
        return max(Counter(line.split(None, 1)[0] for line in lines if line.strip()).values())

    def _load(self) -> Run:
        from rankscope.runs.table import read_run  # noqa: PLC0415

        if self._file.has_changed:
            raise InputError(
                f"{source_name(self._file.path)}: the file was changed while it was read; try "
                "again when it is complete"
            )
        return read_run(self._file.path, name=self.name)


# --- runs that come through a pipe ---------------------------------------------------------------


@cache
def _folder() -> Path:
    """Make the temporary folder of this process; what a killed process left is removed."""
    folder, handle = new_temporary_folder("rankscope-piped-")

    def end(maker: int = os.getpid()) -> None:
        if os.getpid() == maker:  # and not in a copy of the process
            remove(folder)
            unlock(handle)

    atexit.register(end)
    return folder


def spooled(path: PathLike) -> PathLike:
    """Return a path that can be opened again and again: the same, or that of a copy of a pipe.

    The copy is in a temporary file, so that the run need not fit into memory.
    """
    if can_be_read_again(path):
        return path
    text = os.fspath(path)
    target = _folder() / f"{mark()}{''.join(Path(text).suffixes)}"
    raw = open_raw(path)
    try:
        with room_needed(target.parent, "what comes through the pipe"), open(target, "xb") as copy:
            shutil.copyfileobj(raw, copy, _BLOCK)
    except InputError:
        remove(target)
        raise
    finally:
        if text != "-":
            raw.close()
    name = path.run_name if isinstance(path, NamedFile) else ""
    return NamedFile.of(str(target), name, given_as=text)
