"""LanceDB: vectors or full text, in a folder of this process.

Whoever loads a table holds a lock of its folder; a table is complete when it has all rows and the
indexes it needs. Full text is scored by BM25 (k1 1.2, b 0.75). Words, and vectors without an index,
are exact: documents of equal score are asked for until scores fall.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from pydantic import Field

from rankscope.errors import InputError, shown
from rankscope.retrieval.engines.base import Pairs, Question, ties_at_cut
from rankscope.retrieval.engines.engine_folder import locked, made_folder
from rankscope.retrieval.engines.loaded import Batch, Way
from rankscope.retrieval.engines.stored import StoredEngine, StoreOptions
from rankscope.retrieval.options import Text
from rankscope.retrieval.registry import SYSTEMS, Context, check_engine, engine, engine_version

_LONGEST_LOAD = 3600.0
_SEARCHES = (
    *("nprobes", "minimum_nprobes", "maximum_nprobes", "ef", "refine_factor"),
    *("distance_type", "bypass_vector_index", "operator"),
)
"""What ``params`` may hold: methods of a query for vectors, and what joins words."""


class LanceOptions(StoreOptions):
    """Where the tables are, their indexes, and how they are searched."""

    search: Way = "vector"
    """vector, or text."""
    field: Text | None = None
    """In a table of yours, the column that is searched; it must be named if there are several."""
    create: dict[str, Any] = Field(default_factory=dict)
    """The index by its class in lancedb.index, with its options: {IvfPq: {num_partitions: 64}},
    {IvfHnswSq: {m: 20}}, and of text {FTS: {language: German, stem: true}}. Without one of vectors,
    every vector is compared."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Called on each query for vectors: {nprobes: 20, ef: 100, refine_factor: 10,
    bypass_vector_index: true, distance_type: l2}; of text {operator: AND}."""


@SYSTEMS.add("lancedb", LanceOptions, summary="LanceDB: vectors or full text, in a folder")
class Lance(StoredEngine):
    """A table of LanceDB."""

    kind, module, packages = "lancedb", "lancedb", ("lancedb",)
    options: LanceOptions

    def __init__(self, options: LanceOptions, context: Context) -> None:
        check_engine("pyarrow", package="lancedb", needed_for="the system lancedb", extra="lancedb")
        super().__init__(options, context)
        unknown = [name for name in options.params if name not in _SEARCHES]
        if unknown or len(options.create) > 1:
            known = "one index" if not unknown else ", ".join(_SEARCHES)
            got = ", ".join(unknown or options.create)
            raise InputError(f"lancedb: expected {known}, got {got}")
        self._database: Any = None
        self._table: Any = None
        self._id, self._column = "doc_id", "vector" if self.needs_vectors else "text"

    @property
    def is_exact(self) -> bool:
        """Whether all that matches is compared."""
        return self._scans or not self.needs_vectors

    @property
    def _scans(self) -> bool:
        """Whether every vector is compared, without an index."""
        is_indexed = bool(self.options.create) or self.is_attached
        return bool(self.options.params.get("bypass_vector_index")) or not is_indexed

    # --- loading ---------------------------------------------------------------------------------

    def connect(self) -> None:
        """Open the folder."""
        self.disconnect()
        if self.is_attached and not self.folder.is_dir():
            raise InputError(f"the folder {shown(str(self.folder))} is not there; is path right?")
        # its Rust part reads this once, when it is imported, and would else warn on standard error
        os.environ.setdefault("LANCEDB_LOG", "error")
        self._database = engine("lancedb", **self.package).connect(str(self.folder))

    def disconnect(self) -> None:
        """Forget the table; there is no connection."""
        self._table = self._database = None

    def take(self) -> None:
        """Load, alone: what another process is loading is waited for, and used."""
        if self.is_attached:
            super().take()
            return
        with locked(made_folder(self.folder), _LONGEST_LOAD):
            super().take()

    def _opened(self) -> Any:
        """Return the table; None if there is none."""
        try:
            return self._database.open_table(self.index_name)
        except (ValueError, FileNotFoundError):
            return None

    def is_loaded(self) -> bool:
        """Tell whether there are all rows, and an index of all of them if there has to be one."""
        self._table = self._opened()
        if self._table is None or self._table.count_rows() != len(self.doc_ids):
            return False
        if self._scans and self.needs_vectors:
            return True
        return any(
            self._column in entry.columns
            and not self._table.index_stats(entry.name).num_unindexed_rows
            for entry in self._table.list_indices()
        )

    def _schema(self) -> Any:
        arrow = engine("pyarrow", **self.package)
        kind = arrow.list_(arrow.float32(), self.size) if self.needs_vectors else arrow.string()
        fields = [("doc_id", arrow.string()), (self._column, kind)]
        fields += [(place, arrow.list_(arrow.string())) for place in self.places.values()]
        return arrow.schema(fields)

    def create(self) -> None:
        """Make an empty table, in the place of one that was half loaded."""
        self.drop()
        self._table = self._database.create_table(self.index_name, schema=self._schema())

    def add(self, batch: Batch) -> None:
        """Append a batch."""
        arrow = engine("pyarrow", **self.package)
        columns: dict[str, Any] = {"doc_id": batch.doc_ids}
        if batch.vectors is None:
            columns["text"] = batch.texts
        else:
            flat = arrow.array(batch.vectors.ravel())
            columns["vector"] = arrow.FixedSizeListArray.from_arrays(flat, self.size)
        for name, place in self.places.items():
            columns[place] = [values.get(name) or [] for values in batch.values]
        self._table.add(arrow.table(columns, schema=self._schema()))

    def finish(self) -> None:
        """Make the index."""
        if self._scans and self.needs_vectors:
            return
        kinds = engine("lancedb.index", **self.package)
        usual = {"distance_type": "cosine"} if self.needs_vectors else {"with_position": False}
        ((name, options),) = (self.options.create or {"FTS": {}}).items()
        kind = getattr(kinds, name, None) if name in kinds.__all__ else None
        if kind is None or (name == "FTS") is self.needs_vectors:
            known = ", ".join(kinds.__all__)
            raise InputError(f"create: lancedb.index has no {shown(name)} for this; it has {known}")
        try:
            config = kind(**{**usual, **(options or {})})
        except TypeError as error:
            raise InputError(f"create: {name} has no such option: {error}") from None
        self._table.create_index(self._column, config=config)

    def drop(self) -> None:
        """Drop the table."""
        self._database.drop_table(self.index_name, ignore_missing=True)

    def attach(self) -> int | None:
        """Find the table of the user's, and the columns that are searched."""
        self._table = self._opened()
        if self._table is None:
            place = shown(str(self.folder))
            raise InputError(f"there is no table {shown(self.index_name)} in {place}")
        sizes = {field.name: getattr(field.type, "list_size", 0) for field in self._table.schema}
        for name in self.options.filters:
            self._one_of("filters", "column", name, [*sizes])
        self._id = self._one_of("id_field", "column", self.options.id_field, [*sizes])
        what, columns = "vectors of", [name for name, size in sizes.items() if size > 0]
        if not self.needs_vectors:
            what, entries = "full-text index of", self._table.list_indices()
            of_words = [entry for entry in entries if str(entry.index_type).upper() == "FTS"]
            columns = [column for entry in of_words for column in entry.columns]
        self._column = self._one_of("field", what, self.options.field, columns)
        return sizes[self._column] if self.needs_vectors else None

    def _one_of(self, option: str, what: str, name: str | None, known: list[str]) -> str:
        """Return the column that an option names, or the only one there is."""
        if name is None and len(known) == 1:
            return known[0]
        if name is None or name not in known or "`" in name:
            wrong = "needs a name here" if name is None else f"has no {what} {shown(name)}"
            there = ", ".join(known) or "none"
            raise InputError(f"{option}: {self.source} {wrong}; there are {there}")
        return name

    # --- searching -------------------------------------------------------------------------------

    def nearest(self, question: Question, depth: int, params: Mapping[str, Any]) -> Pairs:
        """Return the best rows by words or by vectors."""
        if not self.needs_vectors:
            return ties_at_cut(lambda limit: self._by_words(question, limit), depth)
        if self._scans:
            return ties_at_cut(lambda limit: self._by_vector(question, limit, {}), depth)
        return self._by_vector(question, depth, params)

    def exhaustive(self) -> dict[str, Any]:
        """Search all lists, and all of their graphs."""
        rows = max(self.count() or 1, 1)
        return {"nprobes": rows, "ef": rows}

    def _by_words(self, question: Question, limit: int) -> Pairs:
        match = engine("lancedb.query", **self.package).MatchQuery(
            question.text, self._column, **self.options.params
        )
        query = self._table.search(match, query_type="fts")
        return self._pairs(query, question, "_score", limit)

    def _by_vector(self, question: Question, limit: int, params: Mapping[str, Any]) -> Pairs:
        distance = self.options.params.get("distance_type", "cosine")
        query = self._table.search(question.vector, vector_column_name=self._column)
        query = query.distance_type(distance)
        if self._scans:
            query = query.bypass_vector_index()
        for name in params.keys() - {"distance_type", "bypass_vector_index"}:
            # ef below the limit would find no more than that
            value = max(params[name], limit) if name == "ef" else params[name]
            query = getattr(query, name)(value)
        pairs = self._pairs(query, question, "_distance", limit)
        whole = 0.0 if distance == "l2" else 1.0
        return [(doc_id, whole - far) for doc_id, far in pairs]

    def _pairs(self, query: Any, question: Question, score: str, limit: int) -> Pairs:
        if question.filters:
            query = query.where(self._condition(question.filters), prefilter=True)
        seconds = self.work.time_limit
        timeout = None if seconds is None else timedelta(seconds=seconds)
        answer = query.select([self._id, score]).limit(limit).to_arrow(timeout=timeout)
        doc_ids = map(str, answer[self._id].to_pylist())
        return list(zip(doc_ids, answer[score].to_pylist(), strict=True))

    def _condition(self, filters: Mapping[str, list[str]]) -> str:
        """Return filters as SQL; every value is quoted, and every name one that there is."""
        parts = []
        for name, allowed in filters.items():
            texts = ", ".join("'" + text.replace("'", "''") + "'" for text in allowed)
            if not self.is_attached:
                parts.append(f"array_has_any({self.places[name]}, [{texts}])")
            elif hasattr(self._table.schema.field(name).type, "value_type"):
                parts.append(f"array_has_any(`{name}`, [{texts}])")
            else:
                parts.append(f"CAST(`{name}` AS STRING) IN ({texts})")
        return " AND ".join(parts)

    # --- what it says ----------------------------------------------------------------------------

    def version(self) -> str:
        """Say the version of the library."""
        return engine_version("lancedb")

    def count(self) -> int | None:
        """Count the rows."""
        return None if self._table is None else int(self._table.count_rows())

    def settings(self) -> dict[str, Any]:
        """Say how it searches, and what indexes there are."""
        indexes = {}
        with suppress(Exception):  # what it says of itself is not needed
            for entry in self._table.list_indices():
                details = dict(getattr(entry, "index_details", None) or {})
                details.pop("runtime_hints", None)
                indexes[str(entry.index_type)] = details
        return {**super().settings(), "engine": indexes}
