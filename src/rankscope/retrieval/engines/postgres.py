"""PostgreSQL: its full text search or pgvector over a loaded corpus, or your SQL over your tables.

The corpus is copied into a table of its own, with its indexes, in one transaction: a table that is
there is complete. With the option ``sql`` nothing is loaded, and nothing can be changed. Every
value is a parameter; names of tables are quoted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from types import ModuleType
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.retrieval.engines.base import Pairs, Question
from rankscope.retrieval.engines.connections import Connections
from rankscope.retrieval.engines.loaded import Batch, LoadedEngine
from rankscope.retrieval.engines.postgres_options import PostgresOptions, flat, placeholders
from rankscope.retrieval.protocol import UnansweredError, fingerprint, without_secrets
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

_ANY_WORD = (
    "(SELECT string_agg('''' || replace(replace(word, '\\', '\\\\'), '''', '''''') || '''', ' | ')"
    "::tsquery FROM unnest(tsvector_to_array(to_tsvector({language}, %(query)s))) AS word)"
)
"""Each word of the query, quoted as tsquery wants it; null if there is none."""

_NO_IDS = (bytes, bool, float, list, tuple, dict)
"""What a column may hold that has no one spelling as an id."""


class PostgresError(UnansweredError):
    """What the server could not do, in one sentence."""


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
        self._connections = Connections(self._connect)
        self._loading: Any = None
        self._columns: list[str] = []
        self._versions: list[str] = []
        self._search_path = ""

    @property
    def package(self) -> dict[str, str]:
        """What `registry.engine` is told of the package that is needed."""
        return {**super().package, "package": "psycopg[binary]"}

    @property
    def _psycopg(self) -> ModuleType:
        return engine("psycopg", **self.package)

    @property
    def is_exact(self) -> bool:
        """Whether all that matches is compared."""
        return not self.sql and (self.options.vectors == "exact" or not self.needs_vectors)

    @property
    def needs_vectors(self) -> bool:
        """Whether anything is embedded."""
        return "vector" in self._names if self.sql else super().needs_vectors

    @property
    def needs_direction(self) -> bool:
        """Whether a query without a direction finds nothing."""
        return self.needs_vectors and "query" not in self._names

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
            parameters = super().parameters()
            del parameters["sql"]
        parts = self._conninfo()
        host = parts["host"] if parts["host"].startswith(("/", "@")) else parts["host"].lower()
        server = [parts["hostaddr"] or host, parts["port"] or "5432"]
        name = parts["dbname"] or parts["user"]
        database = fingerprint([server, name, parts.get("service", "")])
        return {**parameters, "database": database}

    # --- the server ------------------------------------------------------------------------------

    @property
    def _dsn(self) -> str:
        return "" if self.options.dsn is None else self.options.dsn.get_secret_value()

    def _conninfo(self) -> dict[str, str]:
        """Return how libpq finds the server, by its keywords; refuse a dsn that cannot be read."""
        conninfo = engine("psycopg.pq", **self.package).Conninfo
        with suppress(Exception):  # its message would show a part of the dsn
            given = [part for part in conninfo.parse(self._dsn.encode()) if part.val is not None]
            parts = [*conninfo.get_defaults(), *given]
            return {part.keyword.decode(): (part.val or b"").decode() for part in parts}
        raise InputError(
            "the dsn of postgres cannot be read; expected "
            "postgresql://user:password@host:port/database or host=HOST dbname=NAME user=NAME"
        )

    def _reached(self) -> Any:
        """Return a connection as the server makes it."""
        more: dict[str, Any] = {"client_encoding": "utf8", "application_name": "rankscope"}
        if not self._conninfo()["connect_timeout"]:
            more["connect_timeout"] = _CONNECT_SECONDS
        return self._psycopg.connect(self._dsn, autocommit=True, prepare_threshold=None, **more)

    def _connect(self) -> Any:
        """Return a connection with the settings that searching needs."""
        settings = flat(self.options.params)
        connection = self._reached()
        try:
            if self._search_path:
                connection.execute(f"SET search_path = {self._search_path}")
            if any(name.startswith(("hnsw.", "ivfflat.")) for name in settings):
                connection.execute("SELECT '[1]'::vector")  # loads pgvector, which checks them
            if self.sql:
                settings["default_transaction_read_only"] = "on"
            elif self.needs_vectors and self.options.vectors != "exact":
                settings["enable_seqscan"] = "off"  # the index is measured, however small it is
            for name, value in settings.items():
                text = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
                connection.execute("SELECT set_config(%s, %s, false)", (name, text))
        except BaseException:
            connection.close()
            raise
        return connection

    def connect(self) -> None:
        """Connect, and make sure that the server can do what is wanted."""
        self.disconnect()
        try:
            connection = self._reached()
        except self._psycopg.Error as error:
            problem = f"postgres cannot be reached: {self._reason(error)}"
            raise InputError(f"{problem}; check the dsn, and that the server is running") from None
        with connection:
            (version,) = connection.execute("SHOW server_version").fetchone()
            self._versions = [f"PostgreSQL {version.split()[0]}"]
            if not self.sql and self.needs_vectors:
                self._find_pgvector(connection)
        try:
            self._connect().close()
        except self._psycopg.Error as error:
            raise InputError(f"params: {self._reason(error)}") from None

    def _find_pgvector(self, connection: Any) -> None:
        try:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            version, schema = connection.execute(
                "SELECT extversion, nspname FROM pg_extension JOIN pg_namespace ON "
                "pg_namespace.oid = extnamespace WHERE extname = 'vector'"
            ).fetchone()
        except self._psycopg.Error as error:
            raise InputError(
                f"postgres has no pgvector here: {self._reason(error)}; install it, and run CREATE "
                "EXTENSION vector in this database"
            ) from None
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
        if not isinstance(error, self._psycopg.Error):
            return error
        text, code = self._reason(error), getattr(error, "sqlstate", None) or ""
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
        return without_secrets(text[:300], self) or type(error).__name__

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
        columns = {"position": "bigint PRIMARY KEY", "id": "text NOT NULL"}
        columns |= dict.fromkeys(self.places.values(), "text[] NOT NULL")
        fields = [f"field_{at}" for at in range(len(self.weights))]
        if self.needs_vectors:
            columns["embedding"] = f"{self.options.type}({self.size})"
        else:
            columns |= dict.fromkeys(fields, "text NOT NULL")
        self._columns = [*columns]
        if not self.needs_vectors:
            language, letters = literal(self.options.language), self._letters()
            words = " || ".join(
                f"setweight(to_tsvector({language}::regconfig, {field}), '{letters[weight]}')"
                for field, weight in zip(fields, self.weights, strict=True)
            )
            columns["words"] = f"tsvector GENERATED ALWAYS AS ({words}) STORED"
        written = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        execute(f"CREATE TABLE {self.table} ({written})")

    def _letters(self) -> dict[int, str]:
        """Return the letter of each weight, the highest first."""
        return dict(zip(sorted({*self.weights}, reverse=True), "ABCD", strict=False))

    def add(self, batch: Batch) -> None:
        """Copy documents into the table."""
        odd = next((doc_id for doc_id in batch.doc_ids if "\0" in doc_id), None)
        if odd is not None:
            raise InputError(f"PostgreSQL cannot hold the id {shown(odd)}, which has a NUL in it")
        columns: list[list[Any]] = [
            [without_nul([*values.get(name, ())]) for values in batch.values]
            for name in self.places
        ]
        if batch.vectors is None:
            columns += [without_nul(texts) for texts in batch.fields]
        else:
            columns.append([vector_text(row) if row.any() else None for row in batch.vectors])
        positions = range(batch.first, batch.first + len(batch))
        statement = f"COPY {self.table} ({', '.join(self._columns)}) FROM STDIN"
        try:
            with self._loading.cursor() as cursor, cursor.copy(statement) as copy:
                for row in zip(positions, batch.doc_ids, *columns, strict=True):
                    copy.write_row(row)
        except self._psycopg.Error as error:
            line = re.search(r", line (\d+)", getattr(error.diag, "context", None) or "")
            if line is None or int(line[1]) > len(batch):
                raise
            raise InputError(
                f"PostgreSQL does not take the document {shown(batch.doc_ids[int(line[1]) - 1])}: "
                f"{self._reason(error)}; leave it out, or search other fields"
            ) from None

    def finish(self) -> None:
        """Make the indexes, and end the transaction."""
        indexes = [f"gin ({place})" for place in self.places.values()]
        if not self.needs_vectors:
            indexes.append("gin (words)")
        elif self.options.vectors != "exact":
            given = [
                f"{name} = {literal(str(value))}" for name, value in self.options.create.items()
            ]
            settings = f" WITH ({', '.join(given)})" if given else ""
            column = f"embedding {self.options.type}_cosine_ops"
            indexes.append(f"{self.options.vectors} ({column}){settings}")
        for index in indexes:
            self._loading.execute(f"CREATE INDEX ON {self.table} USING {index}")
        self._loading.execute(f"ANALYZE {self.table}")
        self._loading.commit()
        loading, self._loading = self._loading, None
        loading.close()

    def drop(self) -> None:
        """Take the table away."""
        with self._connections.taken() as connection:
            connection.execute(f"DROP TABLE IF EXISTS {self.table}")

    def attach(self) -> int | None:
        """Let the server plan the SQL once, so that a mistake is said at once."""
        values: dict[str, Any] = {**dict.fromkeys(self._names), "query": "a", "depth": 1}
        if self.embeddings is not None:
            vector = self.embeddings.of([f"{self.options.query_prefix}a"])[0]
            self.size, values["vector"] = len(vector), vector_text(vector)
        try:
            with self._connections.taken() as connection:
                connection.execute(f"EXPLAIN {self.sql}", values)
        except self._psycopg.Error as caught:
            error = self.translated(caught)
            raise InputError(f"the sql of postgres cannot be run: {error}") from None
        return None

    # --- searching -------------------------------------------------------------------------------

    def ask(self, question: Question, depth: int) -> Pairs:
        """Answer with one statement."""
        statement, values = (
            (self.sql, self._values(question, depth))
            if self.sql
            else self._statement(question, depth)
        )
        with self._connections.taken() as connection, connection.cursor() as cursor:
            self._limit(connection)
            cursor.execute(statement, values)
            columns = [column.name for column in cursor.description or ()]
            return _pairs(cursor.fetchmany(depth) if columns else [], columns)

    def ask_stored(self, question: Question, depth: int) -> Pairs | None:
        """Compare all vectors as they are stored, whatever index there is."""
        with self._connections.taken() as connection, connection.transaction():
            connection.execute("SET LOCAL enable_indexscan = off; SET LOCAL enable_seqscan = on")
            rows = connection.execute(*self._statement(question, depth)).fetchall()
        return [(doc_id, float(score)) for doc_id, score in rows]

    def _limit(self, connection: Any) -> None:
        """Let the server end a statement that takes longer than a query may."""
        seconds = self.work.time_limit
        milliseconds = 0 if seconds is None else max(1, round(seconds * 1000))
        if getattr(connection, "limited_to", 0) != milliseconds:
            connection.execute(f"SET statement_timeout = {milliseconds}")
            connection.limited_to = milliseconds

    def _statement(self, question: Question, depth: int) -> tuple[str, dict[str, Any]]:
        """Return the SQL of a search, and its parameters."""
        values: dict[str, Any] = {"depth": depth}
        where = ""
        for name, texts in question.filters.items():
            place = self.places[name]
            where += f" AND {place} && %({place})s::text[]"
            values[place] = without_nul(texts)
        if question.vector is not None:
            values["vector"] = vector_text(question.vector)
            far = f"(embedding <=> %(vector)s::{self.options.type}({self.size}))"
            # an index is used only where the order is that of the distance and of nothing else
            order = f"{far}, position" if self.is_exact else far
            return (
                f"SELECT id, 1 - {far} FROM {self.table} WHERE embedding IS NOT NULL{where} "
                f"ORDER BY {order} LIMIT %(depth)s"
            ), values
        (values["query"],) = without_nul([question.text])
        language = f"{literal(self.options.language)}::regconfig".replace("%", "%%")
        asked = {"any": _ANY_WORD, "websearch": "websearch_to_tsquery({language}, %(query)s)"}
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
        ), values

    def _values(self, question: Question, depth: int) -> dict[str, Any]:
        """Return the values of the user's SQL."""
        query = question.query
        texts = {**query.metadata, "query": query.text, "query_id": query.query_id}
        values = {
            name: without_nul([value])[0] if isinstance(value, str) else value
            for name, value in texts.items()
        }
        vector = vector_text(question.vector) if question.has_direction else None
        values |= {"depth": depth, "vector": vector}
        missing = [name for name in self._names if name not in values]
        if missing:
            problem = f"the sql uses %({missing[0]})s"
            raise PostgresError(f"{problem}, and this query has no metadata of that name")
        return values

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


def _pairs(rows: Sequence[Sequence[Any]], columns: Sequence[str]) -> Pairs:
    """Return ids and scores of rows; of ids alone, in the order of the rows.

    Raises:
        InputError: there is no such pair in the columns.
        PostgresError: an id or a score is null.
    """
    if len(columns) not in (1, 2):
        there = shown(", ".join(columns))
        problem = f"but it returns {len(columns)} columns: {there}"
        raise InputError(f"the sql must return an id and a score, or an id alone, {problem}")
    pairs: Pairs = []
    for place, row in enumerate(rows):
        doc_id, score = row[0], row[1] if len(row) == 2 else float(len(rows) - place)
        if doc_id is None or score is None:
            raise PostgresError("the sql returned a row whose id or score is null")
        if isinstance(doc_id, _NO_IDS):
            problem = f"must be an id, but it holds {shown(doc_id)}; write it as text there"
            raise InputError(f"the first column of the sql, {shown(columns[0])}, {problem}")
        if isinstance(score, bool) or not isinstance(score, int | float | Decimal):
            problem = f"must be a score, but it holds {shown(score)}"
            raise InputError(f"the second column of the sql, {shown(columns[1])}, {problem}")
        pairs.append((str(doc_id), float(score)))
    return pairs


def identifier(name: str) -> str:
    """Return a name as SQL.

    >>> identifier('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL."""
    doubled = text.replace("\\", "\\\\").replace("'", "''")
    return f"E'{doubled}'"


def vector_text(vector: Any) -> str:
    """Return a vector as pgvector reads it."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


def without_nul(texts: Sequence[str]) -> list[str]:
    """Return texts without the one character that PostgreSQL cannot hold."""
    return [text.replace("\0", " ") for text in texts]
