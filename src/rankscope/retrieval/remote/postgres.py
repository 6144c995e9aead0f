"""PostgreSQL: its full text search, pgvector, or both in one statement, over a loaded corpus.

The corpus is copied into a table of its own, with the number of its documents in the same
transaction, so that a load goes on exactly where it was stopped; several processes may load at the
same time. With the option ``sql`` nothing is loaded: `PostgresQuery` answers with the user's SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.retrieval.protocol import Identity, System
from rankscope.retrieval.registry import SYSTEMS, Context, engine_version
from rankscope.retrieval.remote import postgres_copy
from rankscope.retrieval.remote.loaded_engine import Asked, Batch, Doing, Loading
from rankscope.retrieval.remote.postgres_options import LARGEST_NAME, PostgresOptions
from rankscope.retrieval.remote.postgres_query import PostgresQuery
from rankscope.retrieval.remote.postgres_server import DeniedError, Link, PostgresError, Server
from rankscope.retrieval.remote.postgres_statements import (
    LARGEST,
    Statements,
    identifier,
    vector_text,
    without_nul,
)
from rankscope.retrieval.remote.sql_engine import SqlEngine, State

_MAKING = 7_268_277_036  # any number, the same for all who make tables


@SYSTEMS.add(
    "postgres", PostgresOptions, summary="PostgreSQL full text search and pgvector, or your SQL"
)
def postgres(options: PostgresOptions, context: Context) -> System:
    """Make a system that loads the corpus, or one that asks with the user's SQL."""
    if options.sql is None:
        return PostgresIndex(options, context)
    return PostgresQuery(options, context)


class PostgresIndex(SqlEngine):
    """A corpus in PostgreSQL."""

    kind = "postgres"
    packages = ("psycopg",)
    build = (
        *("fields", "language", "vectors", "quantisation"),
        *("m", "ef_construction", "lists"),
    )
    longest_name = LARGEST_NAME
    options: PostgresOptions

    def __init__(self, options: PostgresOptions, context: Context) -> None:
        super().__init__(options, context)
        self.server = Server(options)
        exact = options.vectors == "exact" and options.quantisation == "none"
        exact = exact or not self.needs_vectors
        self.capabilities = self.promised(
            exact=exact,
            deterministic=options.vectors == "exact" or not self.needs_vectors,
            remote=True,
        )
        if options.match != "any":
            self.advice = (
                f"with match: {options.match} a document needs all words of a query, with match: "
                "any one of them"
            )
        self._versions: list[str] = []

    @property
    def statements(self) -> Statements:
        """The SQL for this index."""
        size = self.size if self.needs_vectors else 0
        return Statements(self.options, self.index_name, self.weights, size)

    @property
    def uses_index(self) -> bool:
        """Whether vectors are found through an index."""
        return self.needs_vectors and self.options.vectors != "exact"

    def identity(self) -> Identity:
        """Say what exactly answers; of the server, a hash of which database it is."""
        identity = super().identity()
        unused = ("sql", "snapshot", "schema_name", "maintenance_work_mem")
        parameters = {
            name: value for name, value in identity.parameters.items() if name not in unused
        }
        parameters["database"] = self.server.place()
        return identity.model_copy(update={"parameters": parameters})

    # --- loading ---------------------------------------------------------------------------------

    def open(self) -> None:
        """Connect, and make sure that the server can do what is wanted."""
        self.server.settings = {}
        self.server.reach()
        with self.server.changed() as link:
            (version,) = link.row("SHOW server_version")
            self._versions = [f"PostgreSQL {version.split()[0]}"]
            if self.options.search != "vector":
                known = link.connection.execute(
                    "SELECT cfgname FROM pg_ts_config WHERE pg_ts_config_is_visible(oid)"
                ).fetchall()
                names = [name for (name,) in known]
                if self.options.language not in names:
                    unknown = UnknownNameError("language", self.options.language, sorted(names))
                    raise InputError(
                        f"{unknown}; SELECT cfgname FROM pg_ts_config lists what the server knows"
                    )
        if self.needs_vectors:
            self.server.settings = self._vector_settings()
            self.server.close()  # those that are open do not have the settings

    @contextmanager
    def speaking(self, doing: Doing) -> Iterator[None]:
        """Say in one sentence what could not be done, and what a role needs that may not do it."""
        with super().speaking(doing):
            try:
                yield
            except DeniedError as error:
                raise InputError(
                    f"postgres may not use the schema {shown(self.options.schema_name)}: {error}; "
                    "GRANT CREATE ON DATABASE lets the role make it, GRANT USAGE, CREATE ON SCHEMA "
                    "use one that is there, or give as schema_name one that it may write to"
                ) from None

    def _vector_settings(self) -> dict[str, str]:
        """Make sure that pgvector is there, and return the settings of each session."""
        options = self.options
        query = (
            "SELECT extversion, nspname FROM pg_extension JOIN pg_namespace ON "
            "pg_namespace.oid = extnamespace WHERE extname = 'vector'"
        )
        try:
            with self.server.changed() as link:
                row = link.row(query)
                if row is None:
                    link.row("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
                    link.connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                    row = link.row(query)
        except PostgresError as error:
            raise InputError(
                f"postgres has no pgvector here: {error}; install it, and run CREATE EXTENSION "
                "vector in this database"
            ) from None
        version, schema = row
        self._versions.append(f"pgvector {version}")
        settings = {"search_path": f"pg_catalog, {identifier(schema).replace('%%', '%')}"}
        if not self.uses_index:
            return settings
        kind = options.vectors
        settings |= {"enable_seqscan": "off"}  # the index is what is measured, however small it is
        settings |= (
            {"hnsw.ef_search": str(options.ef_search)}
            if kind == "hnsw"
            else {"ivfflat.probes": str(options.probes)}
        )
        if options.iterative_scan != "off":
            if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < (0, 8):
                raise InputError(
                    f"iterative_scan needs pgvector 0.8, and this is {version}; leave it off, or "
                    "update pgvector"
                )
            settings |= {f"{kind}.iterative_scan": options.iterative_scan}
            settings |= (
                {"hnsw.max_scan_tuples": str(options.max_scan_tuples)}
                if kind == "hnsw"
                else {"ivfflat.max_probes": str(options.max_probes)}
            )
        return settings

    def _state(self, link: Link, *, is_locked: bool = False) -> State | None:
        statement = (
            f"SELECT content, documents, complete FROM {self.statements.states} WHERE name = "
            f"%(name)s{' FOR UPDATE' if is_locked else ''}"
        )
        row = link.row(statement, {"name": self.index_name})
        return None if row is None else State(*row)

    def loading(self) -> Loading | None:
        """Say how far the index is."""
        with self.server.changed() as link:
            (table,) = link.row(
                "SELECT to_regclass(%s)", (self.statements.states.replace("%%", "%"),)
            )
            state = None if table is None else self._state(link)
        return self.checked(state)

    def create(self) -> None:
        """Make the schema and the tables, if nobody else does at this moment."""
        options, statements = self.options, self.statements
        largest = LARGEST[options.quantisation]
        if self.uses_index and self.size > largest:
            raise InputError(
                f"an index of pgvector takes vectors of up to {largest:,} numbers with "
                f"quantisation: {options.quantisation}, and these have {self.size:,}; use vectors: "
                "exact, or quantisation: half (up to 4,000) or bit"
            )
        with self.server.changed() as link:
            link.row("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
            if (
                link.row("SELECT 1 FROM pg_namespace WHERE nspname = %s", (options.schema_name,))
                is None
            ):
                link.connection.execute(
                    f"CREATE SCHEMA {identifier(options.schema_name)}".replace("%%", "%")
                )
            link.connection.execute(statements.make_states(), {})
            if self._state(link) is None:
                link.connection.execute(statements.create(), {})
                link.connection.execute(
                    f"INSERT INTO {statements.states} (name, content, documents, complete, made_by)"
                    " VALUES (%s, %s, 0, false, %s)",
                    (self.index_name, self.content_name, engine_version("rankscope")),
                )

    def add(self, batch: Batch) -> None:
        """Copy documents into the table, and say how many there are now, in one transaction."""
        with self.server.changed() as link:
            rest = self.rest_of(batch, self._state(link, is_locked=True))
            if rest is None:
                return
            with (
                _about(rest),
                link.connection.cursor() as cursor,
                cursor.copy(self.statements.copy().replace("%%", "%")) as copy,
            ):
                copy.write(postgres_copy.SIGNATURE)
                for row in self._rows_of(rest):
                    copy.write(row)
                copy.write(postgres_copy.TRAILER)
            link.connection.execute(
                f"UPDATE {self.statements.states} SET documents = %s WHERE name = %s",
                (rest.first + len(rest.doc_ids), self.index_name),
            )

    def _rows_of(self, batch: Batch) -> Iterator[bytes]:
        has_words = self.options.search != "vector"
        texts = self.column_texts(batch) if has_words else [[] for _ in batch.doc_ids]
        for at, doc_id in enumerate(batch.doc_ids):
            if "\0" in doc_id:
                raise InputError(
                    f"PostgreSQL cannot hold the id {shown(doc_id)}, which has a NUL in it"
                )
            fields: list[bytes | None] = [
                postgres_copy.number(batch.first + at),
                postgres_copy.text(doc_id),
                *(postgres_copy.text(without_nul(text)) for text in texts[at]),
            ]
            if batch.vectors is not None:
                vector, half = batch.vectors[at], self.options.quantisation == "half"
                fields.append(postgres_copy.vector(vector, half=half) if vector.any() else None)
            fields += [
                postgres_copy.texts([without_nul(text) for text in batch.values[at].get(name, ())])
                for name in sorted(self.options.filters)
            ]
            yield postgres_copy.row(fields)

    def finish(self) -> None:
        """Make the indexes, and mark all of it as complete."""
        with self.server.changed() as link:
            state = self._state(link, is_locked=True)
            if state is None or state.is_complete:
                return
            if self.options.maintenance_work_mem is not None:
                memory = {"maintenance_work_mem": self.options.maintenance_work_mem}
                link.set(memory, is_local=True)
            for statement in self.statements.indexes():
                link.connection.execute(statement, {})
            link.connection.execute(f"ANALYZE {self.statements.table}", {})
            link.connection.execute(
                f"UPDATE {self.statements.states} SET complete = true WHERE name = %s",
                (self.index_name,),
            )

    def reach(self) -> bool:
        """Make sure that the server can be asked; pgvector is not needed to drop a table."""
        self.server.settings = {}
        self.server.reach()
        return True

    def drop(self) -> None:
        """Take the table away, and what is said of it."""
        with self.server.changed() as link:
            if self._state(link, is_locked=True) is not None:
                link.connection.execute(f"DROP TABLE IF EXISTS {self.statements.table}", {})
                link.connection.execute(
                    f"DELETE FROM {self.statements.states} WHERE name = %s", (self.index_name,)
                )

    def close(self) -> None:
        """Close all connections."""
        try:
            super().close()
        finally:
            self.server.close()

    # --- searching -------------------------------------------------------------------------------

    def ask(self, asked: Asked, depth: int) -> list[tuple[str, float]]:
        """Answer one query with one statement."""
        self._note_limit(self._limit(depth))
        statement, parameters = self._question(asked, depth)
        with self.server.asked() as link:
            rows = link.connection.execute(statement, parameters).fetchall()
        return [(doc_id, float(score)) for doc_id, score in rows]

    def ask_stored(self, asked: Asked, depth: int) -> list[tuple[str, float]] | None:
        """Compare all vectors as they are stored, whatever index there is."""
        statement, parameters = self._question(asked, depth)
        with self.server.asked() as link, link.connection.transaction():
            link.set({"enable_indexscan": "off", "enable_seqscan": "on"}, is_local=True)
            rows = link.connection.execute(statement, parameters).fetchall()
        return [(doc_id, float(score)) for doc_id, score in rows]

    def _question(self, asked: Asked, depth: int) -> tuple[str, dict[str, Any]]:
        options, statements = self.options, self.statements
        limit = self._limit(depth)
        parameters: dict[str, Any] = {
            "query": without_nul(asked.text),
            "depth": depth,
            "limit": limit,
            "candidates": limit * max(options.rescore, 1),
            **statements.allowed_parameters(asked.filters),
        }
        words = statements.words(asked.filters) if options.search != "vector" else ""
        near = ""
        if asked.vector is not None and asked.vector.any():
            near = statements.near(asked.filters)
            parameters["vector"] = vector_text(asked.vector)
        return statements.answered(words, near), parameters

    def _limit(self, depth: int) -> int:
        """Return how many documents each search is asked for."""
        return self.options.fusion.candidates if self.options.search == "hybrid" else depth

    def _note_limit(self, limit: int) -> None:
        options = self.options
        if not self.uses_index or options.vectors != "hnsw" or options.iterative_scan != "off":
            return
        note = (
            f"hnsw finds up to ef_search documents, {options.ef_search} here, and was asked for "
            f"{limit}; raise ef_search, or set iterative_scan"
        )
        if limit > options.ef_search and note not in self.notes:
            self.notes = (*self.notes, note)

    # --- what it says of itself ------------------------------------------------------------------

    def version(self) -> str:
        """Say which versions PostgreSQL and pgvector are."""
        return ", ".join(self._versions)

    def count(self) -> int | None:
        """Say how many documents the index holds."""
        with self.server.asked() as link:
            state = self._state(link)
        return None if state is None else state.documents

    def settings(self) -> dict[str, Any]:
        """Say how words and vectors are searched."""
        options = self.options
        settings: dict[str, Any] = {"search": options.search}
        if options.search != "vector":
            names = ("language", "match", "rank", "normalization")
            settings |= {name: getattr(options, name) for name in names}
            settings["weights"] = options.fields
        if self.needs_vectors:
            names = (
                *("vectors", "quantisation"),
                *(("rescore",) if options.quantisation == "bit" else ()),
                *(("m", "ef_construction", "ef_search") if options.vectors == "hnsw" else ()),
                *(("lists", "probes") if options.vectors == "ivfflat" else ()),
                *(("iterative_scan",) if self.uses_index else ()),
            )
            settings |= {name: getattr(options, name) for name in names}
            settings["dimensions"] = self.size
        if options.search == "hybrid":
            settings["fusion"] = options.fusion.plain()
        return settings


@contextmanager
def _about(batch: Batch) -> Iterator[None]:
    """Name the document that a server refuses, which it knows as a line of what it is sent."""
    try:
        yield
    except Exception as error:
        diagnosis = getattr(error, "diag", None)
        line = re.search(r", line (\d+)", getattr(diagnosis, "context", None) or "")
        reason = getattr(diagnosis, "message_primary", None)
        if line is None or reason is None or int(line[1]) > len(batch.doc_ids):
            raise
        doc_id = batch.doc_ids[int(line[1]) - 1]
        raise InputError(
            f"PostgreSQL does not take the document {shown(doc_id)}: {reason}; leave it out, or "
            "search other fields"
        ) from None
