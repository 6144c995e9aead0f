"""SQLite: FTS5 for words and sqlite-vec for vectors, in one file, without a server.

Vectors are compared one by one, so nothing is approximate but what quantisation makes so. Equal
scores are decided by id at the cut, exactly, in all but the searches of ``vec0``.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from rankscope.errors import InputError
from rankscope.retrieval.cache_entries import make_folder
from rankscope.retrieval.options import Text
from rankscope.retrieval.protocol import Identity, time_limit
from rankscope.retrieval.registry import SYSTEMS, Context, engine_version
from rankscope.retrieval.remote.connections import Connections
from rankscope.retrieval.remote.idle_options import OnlyFor
from rankscope.retrieval.remote.loaded_engine import Asked, Batch, Loading
from rankscope.retrieval.remote.sql_engine import SqlEngine, SqlOptions, State
from rankscope.retrieval.remote.sqlite_library import SqliteLibrary
from rankscope.retrieval.remote.sqlite_statements import (
    LARGEST_K,
    STATES,
    Layout,
    Match,
    Quantisation,
    Storage,
    Tokenizer,
    match_expression,
)


class SqliteOptions(SqlOptions):
    """Which file, how words are cut and matched, and how vectors are stored."""

    of_words: ClassVar[tuple[str, ...]] = ("tokenizer", "match", "prefix")
    of_vectors: ClassVar[tuple[str, ...]] = ("vectors", "quantisation")
    of_index: ClassVar[tuple[OnlyFor, ...]] = (
        OnlyFor(("rescore",), "quantisation", ("int8", "bit")),
    )

    path: Text | None = None
    """The file, which may hold many indexes. If not given, one in the cache for each index; without
    a cache, a temporary file."""
    tokenizer: Tokenizer = "unicode61"
    """How text is cut into words: unicode61 (no stemming), porter (English stems), or trigram
    (parts of words, for any script)."""
    match: Match = "any"
    """Whether a document needs any word of the query, or all. Of a question, hardly any document
    has all words."""
    prefix: bool = False
    """Whether a word of the query also matches longer words that begin with it."""
    vectors: Storage = "scan"
    """scan: every vector is compared, ties are exact. vec0: the search of sqlite-vec's own tables,
    up to 4096 documents, with ties in any order."""
    quantisation: Quantisation = "none"
    """How vectors are stored for searching: none (float32), int8, or bit."""
    rescore: int = Field(default=4, ge=0, le=1000)
    """With quantisation, how many candidates for each document asked for are compared again by
    their full vectors; 0: none."""


@SYSTEMS.add("sqlite", SqliteOptions, summary="FTS5 and sqlite-vec in one file, without a server")
class Sqlite(SqlEngine):
    """SQLite with FTS5 and sqlite-vec."""

    kind = "sqlite"
    build = ("fields", "tokenizer", "vectors", "quantisation")
    options: SqliteOptions

    def __init__(self, options: SqliteOptions, context: Context) -> None:
        super().__init__(options, context)
        self.library = SqliteLibrary(vectors=self.needs_vectors)
        self.packages = self.library.packages
        plain = options.vectors == "scan" and options.quantisation == "none"
        self.capabilities = self.promised(
            exact=plain or not self.needs_vectors, deterministic=True, remote=False
        )
        if options.match == "all":
            self.advice = "with match: all a document needs all words of a query, any needs one"
        self._connections = Connections(lambda: self.library.open(self.path))
        self._temporary: Path | None = None
        self._number = 0

    @property
    def path(self) -> Path:
        """The file."""
        if self.options.path is not None:
            return (self.context.folder or Path()) / self.options.path
        if self.context.cache is not None:
            return self.context.cache / "engines" / f"{self.content_name}.sqlite"
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="rankscope-sqlite-"))
            weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)
        return self._temporary / "index.sqlite"

    def identity(self) -> Identity:
        """Say what exactly answers."""
        versions = [f"SQLite {self.library.version}", *map(engine_version, self.packages)]
        identity = super().identity()
        parameters = {name: value for name, value in identity.parameters.items() if name != "path"}
        return identity.model_copy(
            update={"version": ", ".join(versions), "parameters": parameters}
        )

    @property
    def _layout(self) -> Layout:
        options = self.options
        return Layout(
            number=self._number,
            columns=0 if options.search == "vector" else len(self.weights),
            size=self.size if self.needs_vectors else 0,
            tokenizer=options.tokenizer,
            storage=options.vectors,
            quantisation=options.quantisation,
        )

    # --- loading ---------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the file, and make sure that it can hold indexes."""
        if self.options.path is None and self.context.cache is not None:
            make_folder(self.path.parent)
        with self._changing() as connection:
            connection.execute(STATES)

    @contextmanager
    def _changing(self) -> Iterator[Any]:
        """Within it, all that is written is written together, and by nobody else meanwhile."""
        with self._connections.taken() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection  # if it fails, the connection is closed, and nothing was written
            connection.execute("COMMIT")

    def _state(self, connection: Any) -> State | None:
        row = connection.execute(
            "SELECT content, documents, complete, number FROM rankscope_indexes WHERE name = ?",
            (self.index_name,),
        ).fetchone()
        return None if row is None else State(row[0], row[1], bool(row[2]), row[3])

    def loading(self) -> Loading | None:
        """Say how far the index is."""
        with self._connections.taken() as connection:
            state = self._state(connection)
        self._number = 0 if state is None else state.number
        return self.checked(state)

    def create(self) -> None:
        """Make the tables, if nobody else does at this moment."""
        if self.needs_vectors and self.options.quantisation == "bit" and self.size % 8:
            raise InputError(
                f"quantisation: bit takes vectors whose length is a multiple of 8, not {self.size}"
                "; use int8 or none"
            )
        with self._changing() as connection:
            state = self._state(connection)
            if state is None:
                connection.execute(
                    "INSERT INTO rankscope_indexes (name, content, documents, complete, made_by) "
                    "VALUES (?, ?, 0, 0, ?)",
                    (self.index_name, self.content_name, engine_version("rankscope")),
                )
                state = self._state(connection)
                self._number = 0 if state is None else state.number
                for statement in self._layout.create():
                    connection.execute(statement)
            self._number = 0 if state is None else state.number

    def add(self, batch: Batch) -> None:
        """Write documents and how many there are now, in one transaction."""
        with self._changing() as connection:
            rest = self.rest_of(batch, self._state(connection))
            if rest is not None:
                self._write(connection, rest)
                connection.execute(
                    "UPDATE rankscope_indexes SET documents = ? WHERE number = ?",
                    (rest.first + len(rest.doc_ids), self._number),
                )

    def _write(self, connection: Any, batch: Batch) -> None:
        layout = self._layout
        positions = range(batch.first, batch.first + len(batch.doc_ids))
        blobs: list[bytes | None] = [None] * len(positions)
        if batch.vectors is not None:
            blobs = [row.tobytes() if row.any() else None for row in batch.vectors]
        keeps = self.options.quantisation != "none"
        connection.executemany(
            f"INSERT INTO {layout.table('documents')} (position, id, embedding) VALUES (?, ?, ?)",
            [
                (position, doc_id, blob if keeps else None)
                for position, doc_id, blob in zip(positions, batch.doc_ids, blobs, strict=True)
            ],
        )
        if layout.columns:
            names = ", ".join(f"field_{at}" for at in range(layout.columns))
            marks = ", ".join("?" * layout.columns)
            rows = zip(positions, self.column_texts(batch), strict=True)
            connection.executemany(
                f"INSERT INTO {layout.table('words')} (rowid, {names}) VALUES (?, {marks})",
                [(position, *texts) for position, texts in rows],
            )
        connection.executemany(
            f"INSERT OR IGNORE INTO {layout.table('values')} (field, value, position) "
            "VALUES (?, ?, ?)",
            [
                (name, text, position)
                for position, values in zip(positions, batch.values, strict=True)
                for name, texts in values.items()
                for text in texts
            ],
        )
        if layout.size:
            connection.executemany(
                f"INSERT INTO {layout.table('vectors')} (position, vector) "
                f"VALUES (?, {layout.stored('?')})",
                [(at, blob) for at, blob in zip(positions, blobs, strict=True) if blob is not None],
            )

    def finish(self) -> None:
        """Merge what FTS5 wrote batch by batch, and mark the index as complete."""
        layout = self._layout
        with self._changing() as connection:
            state = self._state(connection)
            if state is None or state.is_complete:
                return
            if layout.columns:
                words = layout.table("words")
                connection.execute(f"INSERT INTO {words} ({words}) VALUES ('optimize')")
            connection.execute(
                "UPDATE rankscope_indexes SET complete = 1 WHERE number = ?", (self._number,)
            )

    def reach(self) -> bool:
        """Open the file, if there is one."""
        is_kept = self.options.path is not None or self.context.cache is not None
        return is_kept and self.path.is_file() and super().reach()

    def drop(self) -> None:
        """Take away the tables, and the file if it was made for this index alone."""
        with self._changing() as connection:
            for statement in self._layout.drop():
                connection.execute(statement)
            connection.execute("DELETE FROM rankscope_indexes WHERE number = ?", (self._number,))
        self._connections.close()
        if self.options.path is None:
            for ending in ("", "-wal", "-shm"):
                Path(f"{self.path}{ending}").unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file."""
        try:
            super().close()
        finally:
            self._connections.close()
            if self._temporary is not None:
                shutil.rmtree(self._temporary, ignore_errors=True)
                self._temporary, self._ready = None, False

    # --- searching -------------------------------------------------------------------------------

    def ask(self, asked: Asked, depth: int) -> list[tuple[str, float]]:
        """Answer one query with one statement."""
        statement, parameters = self._question(asked, depth)
        if not statement:
            return []
        with self._connections.taken() as connection:
            rows = self.library.rows(connection, statement, parameters, time_limit())
        return [(doc_id, float(score)) for doc_id, score in rows]

    def ask_stored(self, asked: Asked, depth: int) -> list[tuple[str, float]] | None:
        """Search all that is stored; there is no index that could miss something."""
        return self.ask(asked, depth)

    def _question(self, asked: Asked, depth: int) -> tuple[str, dict[str, Any]]:
        """Return the statement that answers a query, and its parameters; empty: it has no words."""
        options, layout = self.options, self._layout
        if self.needs_vectors and options.vectors == "vec0" and depth > LARGEST_K:
            raise InputError(
                f"vec0 finds up to {LARGEST_K:,} documents, not {depth:,}; use vectors: scan, or a "
                "smaller depth"
            )
        limit = options.fusion.candidates if options.search == "hybrid" else depth
        is_rescored = options.quantisation != "none" and options.rescore > 0
        candidates = limit * max(options.rescore, 1)
        if options.vectors == "vec0":
            limit, candidates = min(limit, LARGEST_K), min(candidates, LARGEST_K)
        allowed, parameters = layout.allowed(asked.filters)
        parameters |= {"depth": depth, "limit": limit}
        words = near = ""
        if layout.columns:
            expression = match_expression(
                asked.text, options.match, options.tokenizer, prefix=options.prefix
            )
            if expression:
                words = layout.words(self.weights, allowed)
                parameters["words"] = expression
        if asked.vector is not None and asked.vector.any():
            near = layout.near(allowed, rescored=is_rescored)
            parameters["vector"] = asked.vector.tobytes()
            parameters |= {"candidates": candidates} if is_rescored else {}
        if not words and not near:
            return "", {}
        if options.search == "hybrid":
            return layout.named(layout.hybrid(words, near, options.fusion)), parameters
        return layout.named(words or near), parameters

    # --- what it says of itself ------------------------------------------------------------------

    def version(self) -> str:
        """Say which versions SQLite and sqlite-vec are."""
        if not self.needs_vectors:
            return f"SQLite {self.library.version}"
        with self._connections.taken() as connection:
            (extension,) = connection.execute("SELECT vec_version()").fetchone()
        return f"SQLite {self.library.version}, sqlite-vec {extension.removeprefix('v')}"

    def count(self) -> int | None:
        """Say how many documents the index holds."""
        with self._connections.taken() as connection:
            state = self._state(connection)
        return None if state is None else state.documents

    def settings(self) -> dict[str, Any]:
        """Say how words and vectors are searched."""
        options = self.options
        settings: dict[str, Any] = {"search": options.search}
        if options.search != "vector":
            settings |= {
                "tokenizer": options.tokenizer,
                "match": options.match,
                "prefix": options.prefix,
                "weights": options.fields,
                "bm25": {"k1": 1.2, "b": 0.75},  # fixed in FTS5
            }
        if self.needs_vectors:
            settings |= {
                "vectors": options.vectors,
                "quantisation": options.quantisation,
                "dimensions": self.size,
            }
            settings |= {} if options.quantisation == "none" else {"rescore": options.rescore}
        if options.search == "hybrid":
            settings["fusion"] = options.fusion.plain()
        return settings
