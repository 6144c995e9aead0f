"""SQLite itself: which library speaks to it, and how a file is opened.

Python's sqlite3 is used where it can do what is needed. Many builds of Python cannot load
extensions, and so no vectors; there apsw is used, which brings a SQLite of its own. Both have the
same methods for what is done here.
"""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path
from typing import Any

from rankscope.errors import InputError, MissingExtraError
from rankscope.retrieval.protocol import sentence
from rankscope.retrieval.registry import check_engine, engine

_WAIT = 60_000
"""Milliseconds to wait for another process that writes."""


_STEPS = 10_000
"""Between so many steps of SQLite's machine the time is looked at."""


class SqliteLibrary:
    """What speaks to SQLite; ``vectors``: it must be able to load sqlite-vec."""

    def __init__(self, *, vectors: bool) -> None:
        self.vectors = vectors
        if vectors:
            check_engine(
                "sqlite_vec", package="sqlite-vec", needed_for="vectors in sqlite", extra="sqlite"
            )
        self._module = _python_sqlite(vectors=vectors) or _apsw()
        self.is_python = self._module.__name__ == "sqlite3"

    @property
    def packages(self) -> tuple[str, ...]:
        """The distributions that are used."""
        names = ["sqlite-vec"] if self.vectors else []
        return tuple(names if self.is_python else ["apsw", *names])

    @property
    def version(self) -> str:
        """The version of SQLite."""
        module = self._module
        return str(module.sqlite_version if self.is_python else module.sqlitelibversion())

    def open(self, path: Path) -> Any:
        """Open a file, or make it.

        Raises:
            InputError: it cannot be opened, or is no database.
        """
        if not path.parent.is_dir():
            raise InputError(f"{path}: there is no folder {path.parent}; make it first")
        try:
            connection = (
                self._module.connect(path, isolation_level=None, check_same_thread=False)
                if self.is_python
                else self._module.Connection(str(path))
            )
        except self._module.Error as error:
            raise InputError(f"{path}: cannot be opened: {sentence(error)}") from None
        try:
            connection.execute(f"PRAGMA busy_timeout = {_WAIT}").fetchall()
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            connection.execute("PRAGMA synchronous = NORMAL").fetchall()
            if self.vectors:
                self._load_vectors(connection)
        except self._module.Error as error:
            connection.close()
            raise InputError(
                f"{path}: cannot be used as a SQLite database: {sentence(error)}; name another file"
            ) from None
        return connection

    def rows(
        self, connection: Any, statement: str, parameters: dict[str, Any], seconds: float | None
    ) -> list[Any]:
        """Return what a statement gives, or fail when it has taken so many seconds."""
        if seconds is None:
            return list(connection.execute(statement, parameters))
        end = time.monotonic() + seconds
        connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        try:
            return list(connection.execute(statement, parameters))
        except self._module.Error:
            if time.monotonic() > end:
                raise TimeoutError(f"SQLite had no answer within {seconds:g} s") from None
            raise
        finally:
            connection.set_progress_handler(None, _STEPS)

    def _load_vectors(self, connection: Any) -> None:
        package = engine(
            "sqlite_vec", package="sqlite-vec", needed_for="vectors in sqlite", extra="sqlite"
        )
        connection.enable_load_extension(True)
        try:
            connection.load_extension(package.loadable_path())
        finally:
            connection.enable_load_extension(False)


def _python_sqlite(*, vectors: bool) -> Any:
    """Return Python's sqlite3; None if it is missing or cannot load extensions."""
    try:
        module = import_module("sqlite3")
    except ImportError:
        return None
    return None if vectors and not hasattr(module.Connection, "enable_load_extension") else module


def _apsw() -> Any:
    try:
        return engine("apsw", package="apsw", needed_for="sqlite", extra="sqlite")
    except MissingExtraError:
        raise MissingExtraError(
            "apsw",
            needed_for="sqlite, as this Python's sqlite3 cannot load extensions",
            extra="sqlite",
        ) from None
