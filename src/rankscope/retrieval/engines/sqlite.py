"""SQLite: FTS5 for words or sqlite-vec for vectors, in a file for each index, without a server.

Every vector is compared, and equal scores are decided by id at the cut, so all of it is exact. The
file is written beside its place and moved there when it is complete.

Words need nothing but Python's sqlite3. Many builds of it cannot load extensions, so vectors are
searched by apsw, which brings a SQLite of its own.
"""

from __future__ import annotations

import json
import os
import re
import time
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from pydantic import Field

from rankscope.errors import InputError
from rankscope.retrieval.engines.base import Pairs, Question
from rankscope.retrieval.engines.connections import Connections
from rankscope.retrieval.engines.engine_folder import made_folder
from rankscope.retrieval.engines.loaded import Batch
from rankscope.retrieval.engines.stored import StoredEngine, StoreOptions
from rankscope.retrieval.options import SpecError
from rankscope.retrieval.protocol import Identity, sentence
from rankscope.retrieval.registry import SYSTEMS, Context, check_engine, engine, engine_version
from rankscope.temporary import new_folder, remove, sweep, unlock

_STEPS = 10_000
"""Between so many steps of SQLite's machine the time is looked at."""
_NAME = re.compile(r"\w+")
_PARTIAL = ".partial-"


class SqliteOptions(StoreOptions):
    """Where the files are, and how words are cut and matched."""

    match: Literal["any", "all"] = "any"
    """Whether a document needs any word of the query, or all. Of a question, hardly any document
    has all words."""
    create: dict[str, Any] = Field(default_factory=dict)
    """Given to FTS5 when its table is made: {tokenize: porter unicode61}, {tokenize: trigram},
    {prefix: 2 3}."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Set on each connection as a PRAGMA: {cache_size: -64000}."""


@SYSTEMS.add("sqlite", SqliteOptions, summary="FTS5 or sqlite-vec in a file, without a server")
class Sqlite(StoredEngine):
    """SQLite with FTS5 or sqlite-vec."""

    kind = "sqlite"
    options: SqliteOptions

    def __init__(self, options: SqliteOptions, context: Context) -> None:
        if options.existing is not None:
            raise SpecError("sqlite searches what it loads only; leave existing out", ("existing",))
        for name in (*options.create, *options.params):
            if not _NAME.fullmatch(name):
                raise SpecError(f"expected the name of an option of SQLite, got {name!r}")
        super().__init__(options, context)
        if self.needs_vectors:
            self.packages = ("apsw", "sqlite-vec")
            check_engine("apsw", **self.package)
            check_engine("sqlite_vec", **{**self.package, "package": "sqlite-vec"})
        self._connections = Connections(lambda: self._open(self.file))
        self._loading: Any = None
        self._partial: tuple[Path, int | None] | None = None

    @property
    def is_exact(self) -> bool:
        """Whether no document is missed: all that matches is compared."""
        return True

    @property
    def file(self) -> Path:
        """The file of the index."""
        return self.folder / f"{self.index_name}.sqlite"

    @property
    def _library(self) -> ModuleType:
        if self.needs_vectors:
            return engine("apsw", **self.package)
        return engine("sqlite3", package="sqlite3", needed_for="the system sqlite")

    @property
    def _version(self) -> str:
        module = self._library
        version = module.sqlitelibversion() if self.needs_vectors else module.sqlite_version
        return f"SQLite {version}"

    def identity(self) -> Identity:
        """Say what exactly answers."""
        version = ", ".join([self._version, *map(engine_version, self.packages)])
        return super().identity().model_copy(update={"version": version})

    # --- the file --------------------------------------------------------------------------------

    def connect(self) -> None:
        """Make sure that there is a folder."""
        made_folder(self.folder)

    def disconnect(self) -> None:
        """Close the file; one that is not complete is removed."""
        self._connections.close()
        loading, self._loading = self._loading, None
        if loading is not None:
            loading.close()
        partial, self._partial = self._partial, None
        if partial is not None:
            remove(partial[0])
            unlock(partial[1])

    def _open(self, path: Path) -> Any:
        module = self._library
        try:
            connection = (
                module.Connection(str(path))
                if self.needs_vectors
                else module.connect(path, isolation_level=None, check_same_thread=False)
            )
            connection.execute("PRAGMA schema_version").fetchall()  # reads it, if it is a database
            for name, value in self.options.params.items():
                connection.execute(f"PRAGMA {name} = {_literal(value)}").fetchall()
            if self.needs_vectors:
                connection.enable_load_extension(True)
                connection.load_extension(engine("sqlite_vec", **self.package).loadable_path())
                connection.enable_load_extension(False)
        except module.Error as error:
            problem = f"{path}: cannot be opened: {sentence(error)}"
            raise InputError(f"{problem}; remove the file, and run again") from None
        return connection

    # --- loading ---------------------------------------------------------------------------------

    def is_loaded(self) -> bool:
        """Tell whether there is a file; it is in its place only when it is complete."""
        return self.file.is_file()

    def exists(self) -> bool:
        """Tell whether there is a file."""
        return self.is_loaded()

    def create(self) -> None:
        """Make a file beside its place; what killed processes left there is removed."""
        sweep(self.folder.glob(f"{_PARTIAL}*"))
        self._partial = new_folder(self.folder, _PARTIAL)
        self._loading = connection = self._open(self._partial[0] / self.file.name)
        connection.execute("PRAGMA journal_mode = OFF").fetchall()
        connection.execute("PRAGMA synchronous = OFF").fetchall()
        connection.execute("BEGIN")
        connection.execute(
            "CREATE TABLE documents (position INTEGER PRIMARY KEY, id TEXT NOT NULL, vector BLOB)"
        )
        connection.execute(
            "CREATE TABLE allowed (field TEXT, value TEXT, position INTEGER, "
            "PRIMARY KEY (field, value, position)) WITHOUT ROWID"
        )
        if not self.needs_vectors:
            options = [f"{name}={_literal(value)}" for name, value in self.options.create.items()]
            columns = ", ".join([*self._fields, *options, "content=''"])
            connection.execute(f"CREATE VIRTUAL TABLE words USING fts5({columns})")

    @property
    def _fields(self) -> list[str]:
        return [f"field_{at}" for at in range(len(self.weights))]

    def add(self, batch: Batch) -> None:
        """Write documents; their positions are in the order of equal scores."""
        positions = range(batch.first, batch.first + len(batch))
        vectors: list[bytes | None] = [None] * len(batch)
        if batch.vectors is not None:
            vectors = [row.tobytes() if row.any() else None for row in batch.vectors]
        self._insert("documents", zip(positions, batch.doc_ids, vectors, strict=True))
        if batch.vectors is None:
            columns = ("rowid", *self._fields)
            self._insert("words", zip(positions, *batch.fields, strict=True), columns)
        values = {
            (name, text, position)
            for position, of_document in zip(positions, batch.values, strict=True)
            for name, texts in of_document.items()
            for text in texts
        }
        self._insert("allowed", values)

    def _insert(self, table: str, rows: Any, columns: tuple[str, ...] = ()) -> None:
        marks = ", ".join("?" * (len(columns) or 3))
        names = f"({', '.join(columns)}) " if columns else ""
        self._loading.executemany(f"INSERT INTO {table} {names}VALUES ({marks})", list(rows))

    def finish(self) -> None:
        """Merge what FTS5 wrote batch by batch, and move the file to its place."""
        if not self.needs_vectors:
            self._loading.execute("INSERT INTO words (words) VALUES ('optimize')")
        self._loading.execute("COMMIT")
        self._loading.close()
        self._loading = None
        assert self._partial is not None
        with suppress(PermissionError):  # Windows: another process has made the same, and open
            os.replace(self._partial[0] / self.file.name, self.file)
        self.disconnect()

    def drop(self) -> None:
        """Remove the file."""
        self._connections.close()
        self.file.unlink(missing_ok=True)

    # --- searching -------------------------------------------------------------------------------

    def nearest(self, question: Question, depth: int, _: Mapping[str, Any]) -> Pairs:
        """Answer with one statement."""
        allowed, parameters = _allowed(question.filters)
        parameters["depth"] = depth
        if question.vector is not None:
            parameters["vector"] = question.vector.tobytes()
            where = f"position IN ({allowed})" if allowed else "1 = 1"
            statement = (
                "SELECT id, 1.0 - vec_distance_cosine(vec_f32(vector), vec_f32(:vector)) AS score "
                f"FROM documents WHERE vector IS NOT NULL AND {where} "
                "ORDER BY score DESC, position LIMIT :depth"
            )
        else:
            parameters["words"] = words = self._match(question.text)
            if not words:
                return []
            factors = "".join(f", {float(weight)!r}" for weight in self.weights)
            # the + keeps FTS5 from searching once for each document that is allowed
            where = f" AND +rowid IN ({allowed})" if allowed else ""
            statement = (
                f"SELECT id, score FROM (SELECT rowid AS place, -bm25(words{factors}) AS score "
                f"FROM words WHERE words MATCH :words{where} ORDER BY score DESC, place "
                "LIMIT :depth) JOIN documents ON position = place"
            )
        with self._connections.taken() as connection:
            rows = self._rows(connection, statement, parameters)
        return [(doc_id, float(score)) for doc_id, score in rows]

    def _match(self, text: str) -> str:
        """Return a query in the language of FTS5: each word once, quoted; empty: no words."""
        if "trigram" in str(self.options.create.get("tokenize", "")):
            words = [word for word in text.replace("\0", " ").split() if len(word) > 2]
        else:
            # a word has letters, and the vowel signs of many scripts, which are marks
            kept = (sign if _is_letter(sign) or _category(sign) == "M" else " " for sign in text)
            words = [word for word in "".join(kept).split() if any(map(_is_letter, word))]
        different = {word.casefold(): word for word in words}.values()  # each costs time
        quoted = ['"' + word.replace('"', '""') + '"' for word in different]
        return (" OR " if self.options.match == "any" else " AND ").join(quoted)

    def _rows(self, connection: Any, statement: str, parameters: dict[str, Any]) -> list[Any]:
        """Return what a statement gives, or fail when it has taken too long."""
        seconds = self.work.time_limit
        if seconds is None:
            return list(connection.execute(statement, parameters))
        end = time.monotonic() + seconds
        connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        try:
            return list(connection.execute(statement, parameters))
        except self._library.Error:
            if time.monotonic() > end:
                raise TimeoutError(f"SQLite had no answer within {seconds:g} s") from None
            raise
        finally:
            connection.set_progress_handler(None, _STEPS)

    # --- what it says ----------------------------------------------------------------------------

    def version(self) -> str:
        """Say which versions SQLite and sqlite-vec are."""
        if not self.needs_vectors:
            return self._version
        return f"{self._version}, {engine_version('sqlite-vec')}"

    def count(self) -> int | None:
        """Say how many documents the index holds."""
        if not self.exists():
            return 0
        with self._connections.taken() as connection:
            return int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])


def _literal(value: object) -> str:
    """Return a setting as SQL."""
    return "'" + str(value).replace("'", "''") + "'"


def _allowed(filters: Mapping[str, list[str]]) -> tuple[str, dict[str, Any]]:
    """Return SQL for the positions of documents that pass filters, and its parameters."""
    parts: list[str] = []
    parameters: dict[str, Any] = {}
    for at, (name, texts) in enumerate(filters.items()):
        parameters |= {f"field_{at}": name, f"allowed_{at}": json.dumps(list(texts))}
        parts.append(
            f"SELECT position FROM allowed WHERE field = :field_{at} AND value "
            f"IN (SELECT json_each.value FROM json_each(:allowed_{at}))"
        )
    return " INTERSECT ".join(parts), parameters


def _category(sign: str) -> str:
    return unicodedata.category(sign)[0]


def _is_letter(sign: str) -> bool:
    """Tell whether FTS5 takes a sign for a part of a word."""
    return _category(sign) in "LN" or unicodedata.category(sign) == "Co"
