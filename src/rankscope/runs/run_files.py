"""The files that runs are in: what runs are called, and those that are read when needed.

Nothing here loads Polars.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, counted, shown
from rankscope.files import PathLike, is_path, source_name
from rankscope.tables.columns import NO_QUESTIONS

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rankscope.runs.table import Run

LONGEST_NAME = 200
"""Characters that the name of a run may have; a longer tag is no name, and the file's is used."""

REMEDY = "give answers by the id of their question: {query_id: answer}"


# --- names ---------------------------------------------------------------------------------------


class NamedFile(str):
    """The path of a run that the user gave a name; what reads the file calls the run so."""

    __slots__ = ("run_name",)
    run_name: str
    """The name, or '' if the run is called as if its path had none."""

    @classmethod
    def of(cls, path: str, name: str) -> NamedFile:
        """Give a path a name."""
        named = cls(path)
        named.run_name = name
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
