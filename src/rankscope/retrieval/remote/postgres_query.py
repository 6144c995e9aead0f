"""The user's SQL over tables that are there: nothing is loaded, and nothing can be changed."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, RankscopeError, shown
from rankscope.records.origin import EngineFacts
from rankscope.retrieval.protocol import (
    Capabilities,
    Component,
    Identity,
    Query,
    Ranking,
    System,
    check_depth,
    snapshot_of,
)
from rankscope.retrieval.registry import Context, engine_version
from rankscope.retrieval.remote.postgres_options import PostgresOptions, placeholders
from rankscope.retrieval.remote.postgres_server import LengthError, PostgresError, Server
from rankscope.retrieval.remote.postgres_statements import vector_text, without_nul
from rankscope.retrieval.vector.embedders import EMBEDDERS
from rankscope.retrieval.vector.embeddings import Embeddings
from rankscope.retrieval.vector.query_vectors import query_vectors

log = logging.getLogger(__name__)


_NO_IDS = (bytes, bool, float, list, tuple, dict)
"""What a column may hold that has no one spelling as an id."""


class PostgresQuery(System):
    """A SELECT that answers queries."""

    packages = ("psycopg",)
    capabilities = Capabilities(deterministic=False, exact=False, concurrent=True, remote=True)
    options: PostgresOptions

    def __init__(self, options: PostgresOptions, context: Context) -> None:
        self.options = options
        self._sql = (options.sql or "").strip().rstrip("; \t\r\n")
        self._names = placeholders(self._sql)
        self.server = Server(options)
        self.owned: list[Component] = []
        self.embeddings: Embeddings | None = None
        if "vector" in self._names:
            embedder = context.make(EMBEDDERS, options.embedder, self.owned)
            self.embeddings = Embeddings(embedder, context.cache)
        self._snapshot, self.notes = snapshot_of(options.snapshot, "what postgres searches")
        self._size = 0
        self._version = ""

    def parts(self) -> Sequence[Component]:
        """Return the embedder, if there is one."""
        return [] if self.embeddings is None else [self.embeddings.embedder]

    def index(self, corpus: Corpus) -> None:
        """Leave the corpus alone: what is searched is in the database."""

    def identity(self) -> Identity:
        """Say what exactly answers; of the server, a hash of which database it is."""
        parameters: dict[str, Any] = {"sql": self._sql, "database": self.server.place()}
        if self.embeddings is not None:
            parameters["embedder"] = self.embeddings.embedder.described()
            parameters["query_prefix"] = self.options.query_prefix
        return Identity(
            kind="postgres",
            name=self.name,
            version=engine_version("psycopg"),
            parameters=parameters,
            snapshot=self._snapshot,
        )

    def prepare(self) -> None:
        """Connect, and let the server plan the SQL once, so that a mistake is said at once."""
        if self._version:
            return
        began = time.perf_counter()
        self.server.settings = {"default_transaction_read_only": "on"}
        self.server.reach()
        values: dict[str, Any] = dict.fromkeys(self._names)
        values |= {"query": "a", "depth": 1, "query_id": "a"}
        if self.embeddings is not None:
            vector = self.embeddings.of([f"{self.options.query_prefix}a"])[0]
            self._size = len(vector)
            values["vector"] = vector_text(vector)
        try:
            with self.server.changed() as link:
                link.connection.execute(f"EXPLAIN {self._sql}", values)
                (version,) = link.row("SHOW server_version")
        except LengthError as error:
            raise self._wrong_length(f"the sql of postgres cannot be run: {error}") from None
        except PostgresError as error:
            raise InputError(f"the sql of postgres cannot be run: {error}") from None
        self._version = f"PostgreSQL {version.split()[0]}"
        self.seconds_indexing = time.perf_counter() - began

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Run the SQL once for each query."""
        depth = check_depth(depth)
        answers = [Ranking() for _ in queries]
        chosen = [at for at, query in enumerate(queries) if query.text.strip()]
        if not chosen:
            return answers
        self.prepare()
        began = time.perf_counter()
        vectors: Any = None
        errors: list[str | None] = [None] * len(chosen)
        if self.embeddings is not None:
            texts = [self.options.query_prefix + queries[at].text for at in chosen]
            vectors, errors = query_vectors(self.embeddings, texts, self._size)
        share = (time.perf_counter() - began) / len(chosen)
        for place, at in enumerate(chosen):
            vector = None if vectors is None else vectors[place]
            error = errors[place]
            if error is not None:
                answers[at] = Ranking.failed(error, share)
            elif vector is None or vector.any() or "query" in self._names:
                answers[at] = self._answer(queries[at], vector, depth, share)
        return answers

    def _answer(self, query: Query, vector: Any, depth: int, share: float) -> Ranking:
        began = time.perf_counter()
        try:
            rows, columns = self._rows(query, vector, depth)
            pairs = pairs_of(rows, columns)
            return Ranking.of(pairs, depth, seconds=share + time.perf_counter() - began)
        except RankscopeError:
            raise
        except Exception as error:
            log.debug("query %s failed", query.query_id, exc_info=True)
            return Ranking.failed_by(error, share + time.perf_counter() - began)

    def _rows(self, query: Query, vector: Any, depth: int) -> tuple[list[Any], list[str]]:
        values = self._values(query, vector, depth)
        try:
            with self.server.asked() as link, link.connection.cursor() as cursor:
                cursor.execute(self._sql, values)
                columns = [column.name for column in cursor.description or ()]
                return cursor.fetchmany(depth) if columns else [], columns
        except LengthError as error:
            raise self._wrong_length(str(error)) from None

    def _wrong_length(self, problem: str) -> InputError:
        if self.embeddings is None:  # the vectors are all the user's
            return InputError(problem)
        name = self.embeddings.embedder.name
        return InputError(
            f"{problem}; the embedder {name} makes vectors of length {self._size:,}, so name as "
            "embedder what made those of your table"
        )

    def _values(self, query: Query, vector: Any, depth: int) -> dict[str, Any]:
        given = {
            "query": without_nul(query.text),
            "query_id": without_nul(query.query_id),
            "depth": depth,
            "vector": None if vector is None or not vector.any() else vector_text(vector),
        }
        missing = [name for name in self._names if name not in given and name not in query.metadata]
        if missing:
            raise PostgresError(
                f"the sql uses %({missing[0]})s, and this query has no metadata of that name"
            )
        return {**_plain(query.metadata), **given}

    def facts(self) -> Sequence[EngineFacts]:
        """Say what the server says of itself, if it was asked."""
        if not self._version:
            return ()
        facts = EngineFacts(
            engine="postgres",
            version=self._version,
            documents=None,
            settings={"sql": self._sql},
            snapshot=self.options.snapshot,
        )
        return (facts,)

    def close(self) -> None:
        """Close all connections."""
        super().close()
        self.server.close()


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: without_nul(value) if isinstance(value, str) else value
        for name, value in metadata.items()
    }


def pairs_of(rows: Sequence[Sequence[Any]], columns: Sequence[str]) -> list[tuple[str, float]]:
    """Return ids and scores of rows; of ids alone, in the order of the rows.

    Raises:
        InputError: there is no such pair in the columns.
        PostgresError: an id or a score is null, or an id comes twice.
    """
    if len(columns) not in (1, 2):
        raise InputError(
            "the sql of postgres must return an id and a score, or an id alone, but it returns "
            f"{len(columns)} columns: {shown(', '.join(columns))}"
        )
    pairs: dict[str, float] = {}
    for place, row in enumerate(rows):
        if row[0] is None:
            raise PostgresError("the sql returned a row whose id is null")
        if isinstance(row[0], _NO_IDS):
            raise InputError(
                f"the first column of the sql, {shown(columns[0])}, must be an id, but it holds "
                f"{shown(row[0])}; write it as text there"
            )
        doc_id = str(row[0])
        if doc_id in pairs:
            raise PostgresError(f"the sql returned the document {shown(doc_id)} twice")
        score = float(len(rows) - place) if len(row) == 1 else row[1]
        if score is None:
            raise PostgresError(f"the sql returned a null score for the document {shown(doc_id)}")
        if isinstance(score, bool) or not isinstance(score, int | float | Decimal):
            raise InputError(
                f"the second column of the sql, {shown(columns[1])}, must be a score, but it holds "
                f"{shown(score)}"
            )
        pairs[doc_id] = float(score)
    return list(pairs.items())
