"""A run that is in a file and is read only when something asks for its rows."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError
from rankscope.files import source_name
from rankscope.tables.columns import NO_QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

    from rankscope.runs.table import Run
    from rankscope.tables.trec_file import TrecFile


_OF_RUNS = frozenset(
    {
        *("answering", "answers", "best_first", "collapsed", "collapsed_from", "doc_ids"),
        *("fingerprint", "in_given_order", "is_list", "layout", "named", "offsets"),
        *("query_ids", "reading", "renamed", "unwritable", "scores", "sizes", "to_dict"),
        *("to_pandas", "to_polars", "trec_columns", "values", "write"),
    }
)
"""What a table of a run has, beside what is known here."""


class LazyRun(ABC):
    """Stands for a run that is not in memory; what is not known of it is asked of the run itself.

    Nothing here loads Polars until then.
    """

    chunks = None
    questions = NO_QUESTIONS
    is_numbered = False
    scored: Any = None
    """Its scores, if they were computed elsewhere: one for each language, where these are apart."""
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

    def worked_on(self, executor: Executor) -> LazyRun:  # noqa: ARG002
        """Return the run with somebody else to do the work, where it can be shared."""
        return self

    def scan_for(self, judgments: Any, precision: Any) -> Any:  # noqa: ARG002
        """Return the scan of the run for some judgments; None if its table is to be looked at."""
        return None

    def __getattr__(self, name: str) -> Any:
        if name not in _OF_RUNS:  # asking what this is reads nothing
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

    def _load(self) -> Run:
        """Read the file.

        Raises:
            InputError: it is no longer what it was.
        """
        from rankscope.runs.table import read_run  # noqa: PLC0415

        status = os.stat(self._file.path)
        if (status.st_size, status.st_mtime_ns) != (self._file.size, self._file.modified):
            raise InputError(
                f"{source_name(self._file.path)}: the file was changed while it was read; try "
                "again when it is complete"
            )
        return read_run(self._file.path, name=self.name)
