"""PostgreSQL: its full text search or pgvector over a loaded corpus, or your SQL over your tables.

The corpus is copied into a table of its own, with its indexes, in one transaction: a table that is
there is complete. With the option ``sql`` nothing is loaded, and nothing can be changed. Every
value is a parameter; names of tables are quoted.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.retrieval.engines.base import Pairs, Question
from rankscope.retrieval.engines.connections import Connections
from rankscope.retrieval.engines.loaded import Batch, LoadedEngine
from rankscope.retrieval.engines.postgres_options import PostgresOptions, flat, placeholders
from rankscope.retrieval.engines.postgres_sql import (
    ANY_WORD,
    PostgresError,
    identifier,
    literal,
    pairs_of,
    setting_text,
    vector_text,
    without_nul,
)
from rankscope.retrieval.hiding import Hider
from rankscope.retrieval.protocol import fingerprint
from rankscope.retrieval.registry import SYSTEMS, Context, engine

_CONNECT_SECONDS = 10
_SCHEMA = "rankscope"
_MAKING = 7_268_277_036  # any number, the same for all who make tables
_WRONG_LENGTH = re.compile(r"different \w+ dimensions|expected \d+ dimensions")
"""What pgvector says of vectors that do not fit; its code says nothing more than bad data."""
_SPEC_AT_FAULT = (
    *("25006", "28", "3D", "3F", "42501", "42703", "42883", "42P01", "42704", "22023", "54000"),
)
"""Beginnings of the codes of errors that no other query would be spared: what may be read or
changed, who may come in, which database, schema, column, function, table or setting."""


@SYSTEMS.add(
    "postgres", PostgresOptions, summary="PostgreSQL full text search or pgvector, or your SQL"
)
class Postgres(LoadedEngine):
    """A corpus in PostgreSQL, or a SELECT that answers queries."""

    kind, module, packages = "postgres", "psycopg", ("psycopg",)
    options: PostgresOptions

    def __init__(self, options: PostgresOptions, context: Context) -> None:
        self.sql = (options.sql or "").strip().rstrip("; \t\r\n")
        self._names = placeholders(self.sql) if self.sql else []
        super().__init__(options, context)
        is_exact = not self.is_attached and (options.vectors == "exact" or not self.needs_vectors)
        self.promise(exact=is_exact, deterministic=is_exact, remote=True)
        self._connections = Connections(self._connect)
        self._loading: Any = None
        self._versions: list[str] = []
        self._filters = sorted(options.filters)
        self._search_path, self._has_pgvector = "", False
        self._named: list[str] = []

    @property
    def package(self) -> dict[str, str]:
        """What `registry.engine` is told of the package that is needed."""
        return {**super().package, "package": "psycopg[binary]"}

    @property
    def needs_vectors(self) -> bool:
        """Whether anything is embedded."""
        return "vector" in self._names if self.sql else super().needs_vectors

    @property
    def source(self) -> str:
        """What messages call what is searched."""
        return "what the sql searches" if self.sql else super().source

    def shape(self) -> dict[str, Any]:
        """Return the options that shape what is stored."""
        names = ("vectors", "type") if self.needs_vectors else ("language",)
        return {**super().shape(), **{name: getattr(self.options, name) for name in names}}

    def parameters(self) -> dict[str, Any]:
        """Return what changes answers; of the server, a hash of which database it is."""
        parameters = {"sql": self.sql, "params": self.options.params}
        if not self.sql:
            parameters = {**super().parameters()}
            parameters.pop("sql", None)
        return {**parameters, "database": self._place()}

    def _place(self) -> str:
        """Return a hash of hosts, ports and name as libpq finds them; no password is in it."""
        conninfo = engine("psycopg.pq", **self.package).Conninfo
        dsn = "" if self.options.dsn is None else self.options.dsn.get_secret_value()
        parsed = conninfo.parse(dsn.encode()) if self._has_dsn(conninfo) else []
        given = [*conninfo.get_defaults(), *(part for part in parsed if part.val is not None)]
        parts = {part.keyword.decode(): (part.val or b"").decode() for part in given}
        host = parts["host"] if parts["host"].startswith(("/", "@")) else parts["host"].lower()
        server = [parts["hostaddr"] or host, parts["port"] or "5432"]
        name = parts["dbname"] or parts["user"]
        return fingerprint([server, name, parts.get("service", "")])

    def _has_dsn(self, conninfo: Any) -> bool:
        """Tell whether there is a dsn; refuse one that cannot be read."""
        if self.options.dsn is None:
            return False
        with suppress(Exception):  # its message would show a part of it
            conninfo.parse(self.options.dsn.get_secret_value().encode())
            return True
        raise InputError(
            "the dsn of postgres cannot be read; expected "
            "postgresql://user:password@host:port/database or host=HOST dbname=NAME user=NAME"
        )

    # --- the server ------------------------------------------------------------------------------

    def _reached(self) -> Any:
        """Return a connection as the server makes it."""
        package = engine("psycopg", **self.package)
        self._has_dsn(engine("psycopg.pq", **self.package).Conninfo)
        given = "" if self.options.dsn is None else self.options.dsn.get_secret_value()
        more: dict[str, Any] = {"client_encoding": "utf8", "application_name": "rankscope"}
        if "connect_timeout" not in given and "PGCONNECT_TIMEOUT" not in os.environ:
            more["connect_timeout"] = _CONNECT_SECONDS
        return package.connect(given, autocommit=True, prepare_threshold=None, **more)

    def _connect(self) -> Any:
        """Return a connection with the settings that searching needs."""
        connection = self._reached()
        try:
            if self._search_path:
                connection.execute(f"SET search_path = {self._search_path}")
            if self._has_pgvector:  # it has to be there before its settings are checked
                connection.execute("SELECT '[1]'::vector")
            for name, value in self._session().items():
                connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        except BaseException:
            connection.close()
            raise
        return connection

    def _session(self) -> dict[str, str]:
        """Return what is set in each session."""
        settings = {name: setting_text(value) for name, value in flat(self.options.params).items()}
        if self.sql:
            return {**settings, "default_transaction_read_only": "on"}
        if self.needs_vectors and self.options.vectors != "exact":
            settings["enable_seqscan"] = "off"  # the index is measured, however small it is
        return settings

    def connect(self) -> None:
        """Connect, and make sure that the server can do what is wanted."""
        self.disconnect()
        try:
            connection = self._reached()
        except engine("psycopg", **self.package).Error as error:
            problem = f"postgres cannot be reached: {self._reason(error)}"
            raise InputError(f"{problem}; check the dsn, and that the server is running") from None
        with connection:
            (version,) = connection.execute("SHOW server_version").fetchone()
            self._versions = [f"PostgreSQL {version.split()[0]}"]
            if not self.sql and self.needs_vectors:
                self._find_pgvector(connection)
            (kind,) = connection.execute("SELECT to_regtype('vector')").fetchone()
            self._has_pgvector = bool(self._search_path) or kind is not None
        try:
            self._connect().close()
        except engine("psycopg", **self.package).Error as error:
            raise InputError(f"params: {self._reason(error)}") from None

    def _find_pgvector(self, connection: Any) -> None:
        statement = (
            "SELECT extversion, nspname FROM pg_extension JOIN pg_namespace ON "
            "pg_namespace.oid = extnamespace WHERE extname = 'vector'"
        )
        try:
            row = connection.execute(statement).fetchone()
            if row is None:
                with connection.transaction():
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
                    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                row = connection.execute(statement).fetchone()
        except Exception as error:
            raise InputError(
                f"postgres has no pgvector here: {self._reason(error)}; install it, and run CREATE "
                "EXTENSION vector in this database"
            ) from None
        version, schema = row
        self._versions.append(f"pgvector {version}")
        self._search_path = f"pg_catalog, {identifier(schema)}"

    def disconnect(self) -> None:
        """Close all connections; what was not loaded to the end is rolled back."""
        self._connections.close()
        loading, self._loading = self._loading, None
        if loading is not None:
            loading.close()

    def translated(self, error: Exception) -> Exception:
        """Say in one sentence, without a password, what the server could not do."""
        if not isinstance(error, engine("psycopg", **self.package).Error):
            return error
        text = self._reason(error)
        code = getattr(error, "sqlstate", None) or ""
        if _WRONG_LENGTH.search(text):
            made = "" if self.embeddings is None else f" of length {self.size:,}"
            remedy = f"the embedder makes vectors{made}; name the one that made those of your table"
            return InputError(f"postgres cannot answer: {text}; {remedy}")
        if code == "42501":
            grant = f"GRANT CREATE ON DATABASE, or USAGE, CREATE ON SCHEMA {_SCHEMA}"
            return InputError(f"postgres may not: {text}; {grant if not self.sql else 'GRANT it'}")
        if code.startswith(_SPEC_AT_FAULT):
            return InputError(f"postgres cannot answer: {text}")
        return PostgresError(text)

    def _reason(self, error: Exception) -> str:
        """Return what an error says as one sentence, without passwords."""
        primary = getattr(getattr(error, "diag", None), "message_primary", None)
        lines = [line.strip() for line in (primary or str(error)).splitlines()]
        text = " ".join(line for line in lines if line and not line.endswith("?")).rstrip(".")
        secrets = Hider(dict.fromkeys(self.options.secrets(), "…"))
        return secrets.hide(text[:300]) or type(error).__name__

    # --- loading ---------------------------------------------------------------------------------

    @property
    def table(self) -> str:
        """The table, as SQL writes it."""
        return f"{identifier(_SCHEMA)}.{identifier(self.index_name)}"

    def is_loaded(self) -> bool:
        """Tell whether there is a table; it is there only when it is complete."""
        with self._connections.taken() as connection:
            (table,) = connection.execute("SELECT to_regclass(%s)", (self.table,)).fetchone()
        return table is not None

    def create(self) -> None:
        """Begin a transaction, and make the table; one who does the same is waited for."""
        self._loading = connection = self._connect()
        connection.autocommit = False
        execute = connection.execute
        execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
        if execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (_SCHEMA,)).fetchone() is None:
            execute(f"CREATE SCHEMA {identifier(_SCHEMA)}")
        connection.commit()
        execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (self.index_name,))
        if self.is_loaded():
            self.disconnect()
            return
        columns = ["position bigint PRIMARY KEY", "id text NOT NULL"]
        self._named = ["position", "id"]
        if self.needs_vectors:
            columns.append(f"embedding {self.options.type}({self.size})")
            self._named.append("embedding")
        else:
            fields = [f"field_{at}" for at in range(len(self.weights))]
            columns += [f"{field} text NOT NULL" for field in fields]
            language, letters = literal(self.options.language), self._letters()
            words = " || ".join(
                f"setweight(to_tsvector({language}::regconfig, {field}), '{letters[weight]}')"
                for field, weight in zip(fields, self.weights, strict=True)
            )
            columns.append(f"words tsvector GENERATED ALWAYS AS ({words}) STORED")
            self._named += fields
        places = [f"allowed_{at}" for at in range(len(self._filters))]
        columns += [f"{place} text[] NOT NULL" for place in places]
        self._named += places
        execute(f"CREATE TABLE {self.table} ({', '.join(columns)})")

    def _letters(self) -> dict[int, str]:
        """Return the letter of each weight, the highest first."""
        return dict(zip(sorted({*self.weights}, reverse=True), "ABCD", strict=False))

    def add(self, batch: Batch) -> None:
        """Copy documents into the table."""
        texts = [] if self.needs_vectors else self.field_texts(batch)
        statement = f"COPY {self.table} ({', '.join(self._named)}) FROM STDIN"
        try:
            with self._loading.cursor() as cursor, cursor.copy(statement) as copy:
                for at, doc_id in enumerate(batch.doc_ids):
                    if "\0" in doc_id:
                        problem = f"the id {shown(doc_id)}, which has a NUL in it"
                        raise InputError(f"PostgreSQL cannot hold {problem}")
                    row: list[Any] = [batch.first + at, doc_id]
                    if batch.vectors is not None:
                        vector = batch.vectors[at]
                        row.append(vector_text(vector) if vector.any() else None)
                    row += [without_nul(column[at]) for column in texts]
                    row += [
                        [without_nul(text) for text in batch.values[at].get(name, ())]
                        for name in self._filters
                    ]
                    copy.write_row(row)
        except engine("psycopg", **self.package).Error as error:
            line = re.search(r", line (\d+)", getattr(error.diag, "context", None) or "")
            if line is None or int(line[1]) > len(batch):
                raise
            raise InputError(
                f"PostgreSQL does not take the document {shown(batch.doc_ids[int(line[1]) - 1])}: "
                f"{self._reason(error)}; leave it out, or search other fields"
            ) from None

    def finish(self) -> None:
        """Make the indexes, and end the transaction."""
        execute = self._loading.execute
        if not self.needs_vectors:
            execute(f"CREATE INDEX ON {self.table} USING gin (words)")
        for at in range(len(self._filters)):
            execute(f"CREATE INDEX ON {self.table} USING gin (allowed_{at})")
        if self.needs_vectors and self.options.vectors != "exact":
            given = ", ".join(
                f"{name} = {literal(str(value))}" for name, value in self.options.create.items()
            )
            column = f"embedding {self.options.type}_cosine_ops"
            execute(
                f"CREATE INDEX ON {self.table} USING {self.options.vectors} ({column})"
                f"{f' WITH ({given})' if given else ''}"
            )
        execute(f"ANALYZE {self.table}")
        self._loading.commit()
        loading, self._loading = self._loading, None
        loading.close()

    def drop(self) -> None:
        """Take the table away."""
        with self._connections.taken() as connection:
            connection.execute(f"DROP TABLE IF EXISTS {self.table}")

    def attach(self) -> int | None:
        """Let the server plan the SQL once, so that a mistake is said at once."""
        assert self.embeddings is None or self.options.sql
        values: dict[str, Any] = {**dict.fromkeys(self._names), "query": "a", "depth": 1}
        if self.embeddings is not None:
            vector = self.embeddings.of([f"{self.options.query_prefix}a"])[0]
            self.size = len(vector)
            values["vector"] = vector_text(vector)
        try:
            with self._connections.taken() as connection:
                connection.execute(f"EXPLAIN {self.sql}", values)
        except engine("psycopg", **self.package).Error as caught:
            error = self.translated(caught)
            raise InputError(f"the sql of postgres cannot be run: {error}") from None
        return None

    # --- searching -------------------------------------------------------------------------------

    def ask(self, question: Question, depth: int) -> Pairs:
        """Answer with one statement."""
        if self.sql:
            return self._ask_sql(question, depth)
        statement, parameters = self._statement(question, depth)
        if not statement:
            return []
        with self._connections.taken() as connection:
            self._limit(connection)
            rows = connection.execute(statement, parameters).fetchall()
        return [(doc_id, float(score)) for doc_id, score in rows]

    def ask_stored(self, question: Question, depth: int) -> Pairs | None:
        """Compare all vectors as they are stored, whatever index there is."""
        statement, parameters = self._statement(question, depth)
        if not statement:
            return []
        with self._connections.taken() as connection, connection.transaction():
            connection.execute("SET LOCAL enable_indexscan = off; SET LOCAL enable_seqscan = on")
            rows = connection.execute(statement, parameters).fetchall()
        return [(doc_id, float(score)) for doc_id, score in rows]

    def _limit(self, connection: Any) -> None:
        """Let the server end a statement that takes longer than a query may."""
        seconds = self.work.time_limit
        milliseconds = 0 if seconds is None else max(1, round(seconds * 1000))
        if getattr(connection, "limited_to", 0) != milliseconds:
            connection.execute(f"SET statement_timeout = {milliseconds}")
            connection.limited_to = milliseconds

    def _statement(self, question: Question, depth: int) -> tuple[str, dict[str, Any]]:
        """Return the SQL of a search, and its parameters; no SQL: nothing can be found."""
        parameters: dict[str, Any] = {"depth": depth}
        where = ""
        for name, texts in question.filters.items():
            place = f"allowed_{self._filters.index(name)}"
            where += f" AND {place} && %({place})s::text[]"
            parameters[place] = [without_nul(text) for text in texts]
        if not self.needs_vectors:
            parameters["query"] = without_nul(question.text)
            language = f"{literal(self.options.language)}::regconfig".replace("%", "%%")
            asked = {"any": ANY_WORD, "websearch": "websearch_to_tsquery({language}, %(query)s)"}
            by_letter = {letter: weight for weight, letter in self._letters().items()}
            top = max(self.weights)
            factors = ",".join(repr(by_letter.get(letter, 0) / top) for letter in "DCBA")
            score = (
                f"{self.options.rank}('{{{factors}}}'::real[], words, asked.query, "
                f"{self.options.normalization})::double precision"
            )
            return (
                f"WITH asked AS MATERIALIZED (SELECT "
                f"{asked[self.options.match].format(language=language)} AS query) "
                f"SELECT id, {score} AS score FROM asked CROSS JOIN {self.table} WHERE words @@ "
                f"asked.query{where} ORDER BY score DESC, position LIMIT %(depth)s"
            ), parameters
        if not question.has_direction:
            return "", {}
        parameters["vector"] = vector_text(question.vector)
        far = f"(embedding <=> %(vector)s::{self.options.type}({self.size}))"
        # an index is used only where the order is that of the distance and of nothing else
        order = f"{far}, position" if self.options.vectors == "exact" else far
        return (
            f"SELECT id, 1 - {far} FROM {self.table} WHERE embedding IS NOT NULL{where} "
            f"ORDER BY {order} LIMIT %(depth)s"
        ), parameters

    def _ask_sql(self, question: Question, depth: int) -> Pairs:
        vector = vector_text(question.vector) if question.has_direction else None
        if vector is None and "query" not in self._names:
            return []
        metadata = {
            name: without_nul(value) if isinstance(value, str) else value
            for name, value in question.query.metadata.items()
        }
        text, query_id = without_nul(question.text), without_nul(question.query.query_id)
        values = {**metadata, "query": text, "query_id": query_id, "depth": depth, "vector": vector}
        missing = [name for name in self._names if name not in values]
        if missing:
            problem = f"the sql uses %({missing[0]})s"
            raise PostgresError(f"{problem}, and this query has no metadata of that name")
        with self._connections.taken() as connection, connection.cursor() as cursor:
            self._limit(connection)
            cursor.execute(self.sql, values)
            columns = [column.name for column in cursor.description or ()]
            return pairs_of(cursor.fetchmany(depth) if columns else [], columns)

    # --- what it says ----------------------------------------------------------------------------

    def version(self) -> str:
        """Say which versions PostgreSQL and pgvector are."""
        return ", ".join(self._versions)

    def count(self) -> int | None:
        """Count the documents of the index."""
        if self.sql:
            return None
        with self._connections.taken() as connection:
            return int(connection.execute(f"SELECT count(*) FROM {self.table}").fetchone()[0])

    def settings(self) -> dict[str, Any]:
        """Say how words or vectors are searched, or the SQL that does."""
        if self.sql:
            return {"sql": self.sql, "params": self.options.params}
        names = () if self.needs_vectors else ("match", "rank", "normalization")
        return {**super().settings(), **{name: getattr(self.options, name) for name in names}}
