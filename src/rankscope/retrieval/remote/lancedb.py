"""LanceDB: vectors, full text and both, in a folder of this process.

Each batch is one version of the table, so a load that was stopped goes on after the last whole
batch. The index is made when all documents are there. Full text is scored by BM25 (k1 1.2, b 0.75).
Both ways are exact where every vector is compared: documents of equal score are asked for until
their scores fall, and are in the order of ids.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.retrieval.protocol import Capabilities, time_limit
from rankscope.retrieval.registry import SYSTEMS, Context, check_engine, engine, engine_version
from rankscope.retrieval.remote.attached_engine import AttachedEngine
from rankscope.retrieval.remote.cut import Pairs, with_ties
from rankscope.retrieval.remote.engine_folder import (
    engine_folder,
    locked,
    made_folder,
    passing_folder,
)
from rankscope.retrieval.remote.lancedb_options import LanceOptions
from rankscope.retrieval.remote.loaded_engine import Asked, Batch, Loading

_PACKAGE = {"package": "lancedb", "needed_for": "the system lancedb", "extra": "lancedb"}
_LONGEST_LOAD = 3600.0
_MARK = b"rankscope"
_INDEXES = {
    "ivf_flat": "IvfFlat",
    "ivf_sq": "IvfSq",
    "ivf_pq": "IvfPq",
    "ivf_rq": "IvfRq",
    "ivf_hnsw_flat": "HnswFlat",
    "ivf_hnsw_sq": "HnswSq",
    "ivf_hnsw_pq": "HnswPq",
}


@SYSTEMS.add("lancedb", LanceOptions, summary="LanceDB: vectors, full text and both, in a folder")
class Lance(AttachedEngine):
    """A table of LanceDB."""

    kind = "lancedb"
    packages = ("lancedb",)
    build = (
        *("distance", "vectors", "num_partitions", "num_sub_vectors", "num_bits"),
        *("m", "ef_construction"),
        *("tokenizer", "language", "stem", "stop_words", "ascii_folding"),
    )
    options: LanceOptions

    def __init__(self, options: LanceOptions, context: Context) -> None:
        for name in ("lancedb", "pyarrow"):
            check_engine(name, **_PACKAGE)
        super().__init__(options, context)
        scans = options.exact or (options.vectors == "exact" and options.table is None)
        is_exact = scans or options.search == "text"
        self.capabilities = Capabilities(
            deterministic=is_exact,
            exact=is_exact and options.search != "hybrid",  # the depth decides what is fused
            ties="trec",
            concurrent=True,
        )
        self._scans = scans
        self._table: Any = None
        self._database: Any = None
        self._passing: Path | None = None
        self._columns = {"id": "doc_id", "text": "text", "vector": "vector"}
        self._places = {name: f"f{at}" for at, name in enumerate(sorted(options.filters))}

    @property
    def _has_text(self) -> bool:
        return self.options.search != "vector"

    # --- opening and loading ---------------------------------------------------------------------

    @property
    def files(self) -> Path | None:
        """The folder with its tables."""
        return engine_folder(self.context, self.options.path, f"{self.index_name}.lancedb")

    @property
    def _folder(self) -> Path:
        folder = self.files
        if folder is None:
            self._passing = folder = self._passing or passing_folder(self)
        return folder

    def prepare(self) -> None:
        """Load, alone: what another process is loading is waited for, and used."""
        if self._ready or (self.texts is None and not self.is_attached):
            return
        if self.is_attached and not self._folder.is_dir():
            raise InputError(f"the folder {shown(str(self._folder))} is not there; is path right?")
        with locked(made_folder(self._folder), _LONGEST_LOAD):
            super().prepare()

    def open(self) -> None:
        """Open the folder."""
        self.disconnect()
        # its Rust part reads this once, when it is imported, and would else warn on standard error
        os.environ.setdefault("LANCEDB_LOG", "error")
        self._database = engine("lancedb", **_PACKAGE).connect(str(self._folder))

    def disconnect(self) -> None:
        """Forget the table; there is no connection."""
        self._table = self._database = None

    def loading(self) -> Loading | None:
        """Say how many documents there are, in whole batches."""
        try:
            self._table = self._database.open_table(self.index_name)
        except (ValueError, FileNotFoundError):  # there is none
            return None
        if self.options.index is not None:
            stored = (self._table.schema.metadata or {}).get(_MARK, b"")
            self.check_content(stored.decode("utf-8", "replace"))
        rows = self._table.count_rows()
        return Loading(rows, is_complete=rows == self.total and not self._missing())

    def _missing(self) -> list[str]:
        """Return the columns that have no index yet, or not one of all rows."""
        columns = ["text"] if self._has_text else []
        if self.needs_vectors and self.options.vectors != "exact":
            columns.append("vector")
        ready = {
            column
            for entry in self._table.list_indices()
            for column in entry.columns
            if not self._table.index_stats(entry.name).num_unindexed_rows
        }
        return [column for column in columns if column not in ready]

    def _schema(self) -> Any:
        arrow = engine("pyarrow", **_PACKAGE)
        fields = [("doc_id", arrow.string())]
        fields += [("text", arrow.string())] if self._has_text else []
        if self.needs_vectors:
            fields.append(("vector", arrow.list_(arrow.float32(), self.size)))
        fields += [(place, arrow.list_(arrow.string())) for place in self._places.values()]
        return arrow.schema(fields, metadata={_MARK: self.content_name.encode()})

    def create(self) -> None:
        """Make an empty table."""
        self._table = self._database.create_table(self.index_name, schema=self._schema())

    def add(self, batch: Batch) -> None:
        """Append a batch, all of it or nothing."""
        arrow = engine("pyarrow", **_PACKAGE)
        columns: dict[str, Any] = {"doc_id": batch.doc_ids}
        if self._has_text:
            columns["text"] = batch.texts
        if batch.vectors is not None:
            flat = arrow.array(batch.vectors.ravel())
            columns["vector"] = arrow.FixedSizeListArray.from_arrays(flat, self.size)
        for name, place in self._places.items():
            columns[place] = [values.get(name) or [] for values in batch.values]
        self._table.add(arrow.table(columns, schema=self._schema()))

    def finish(self) -> None:
        """Make the indexes."""
        kinds = engine("lancedb.index", **_PACKAGE)
        options = self.options
        for column in self._missing():
            if column == "text":
                config = kinds.FTS(
                    base_tokenizer=options.tokenizer,
                    language=options.language,
                    stem=options.stem,
                    remove_stop_words=options.stop_words,
                    ascii_folding=options.ascii_folding,
                    with_position=False,
                )
            else:
                config = self._vector_index(kinds)
            self._table.create_index(column, config=config)

    def _vector_index(self, kinds: Any) -> Any:
        options = self.options
        kind = getattr(kinds, _INDEXES[options.vectors], None)
        if kind is None:
            raise InputError(
                f"{engine_version('lancedb')} has no index {options.vectors}; install a newer one"
            )
        names = ("num_partitions", "num_sub_vectors", "num_bits", "m", "ef_construction")
        given = {name: getattr(options, name) for name in names}
        chosen = {name: value for name, value in given.items() if value is not None}
        try:
            return kind(distance_type=options.distance, **chosen)
        except TypeError:
            unknown = [name for name in chosen if name not in kind.__dataclass_fields__]
            raise InputError(
                f"the index {options.vectors} has no option {', '.join(unknown)}; leave it out"
            ) from None

    def drop(self) -> None:
        """Drop the table."""
        self._database.drop_table(self.index_name)

    def attach(self) -> int | None:
        """Find the table of the user's, and the columns that are searched."""
        try:
            self._table = self._database.open_table(self.index_name)
        except (ValueError, FileNotFoundError):
            raise InputError(
                f"there is no table {shown(self.index_name)} in {shown(str(self._folder))}"
            ) from None
        schema, options = self._table.schema, self.options
        self._columns["id"] = self._column("id_field", [])
        for name in options.filters:
            if name not in schema.names or "`" in name:
                raise InputError(
                    f"filters: {self.source} has no column {shown(name)}; there are "
                    f"{', '.join(schema.names)}"
                )
        if self._has_text:
            words = [
                column
                for entry in self._table.list_indices()
                if str(entry.index_type).upper() == "FTS"
                for column in entry.columns
            ]
            self._columns["text"] = self._column("text_field", words)
            if self._columns["text"] not in words:
                raise InputError(
                    f"{self.source} has no full-text index of {shown(self._columns['text'])}; "
                    "make one, or name another text_field"
                )
        if not self.needs_vectors:
            return None
        sizes = {
            field.name: field.type.list_size
            for field in schema
            if getattr(field.type, "list_size", 0) > 0
        }
        self._columns["vector"] = self._column("vector_field", [*sizes])
        return sizes.get(self._columns["vector"])

    def _column(self, option: str, candidates: list[str]) -> str:
        """Return the column that an option names, or the only one there is."""
        names = self._table.schema.names
        name: str | None = getattr(self.options, option)
        if name is None and len(candidates) == 1:
            return candidates[0]
        if name is None or name not in names:
            wrong = "" if name is None else f", which has no {shown(name)}"
            raise InputError(
                f"name a column of {self.source} as {option}{wrong}; there are {', '.join(names)}"
            )
        return name

    # --- searching -------------------------------------------------------------------------------

    def ask(self, asked: Asked, depth: int) -> Pairs:
        """Return the best documents by words, by vectors, or both."""
        options = self.options
        return self._ask(asked, depth, nprobes=options.nprobes, ef=options.ef)

    def ask_stored(self, asked: Asked, depth: int) -> Pairs | None:
        """Search all lists, and all of their graphs, with the same refining."""
        if self._scans or self.options.search == "text":
            return self.ask(asked, depth)
        rows = max(self.count() or 1, 1)
        return self._ask(asked, depth, nprobes=rows, ef=rows)

    def _ask(self, asked: Asked, depth: int, *, nprobes: int | None, ef: int | None) -> Pairs:
        if not all(asked.filters.values()):  # a list without a value
            return []
        if self.options.search == "text":
            return self._by_words(asked, depth)
        if self.options.search == "vector":
            return self._by_vector(asked, depth, nprobes=nprobes, ef=ef)
        pool = max(depth, self.options.candidates)
        words = self._by_words(asked, pool)
        near: Pairs = []
        if asked.vector is not None and asked.vector.any():
            near = self._by_vector(asked, pool, nprobes=nprobes, ef=ef)
        return self._fused(asked.text, near, words)

    def _by_words(self, asked: Asked, depth: int) -> Pairs:
        options = {"operator": "AND"} if self.options.match == "all" else {}
        match = engine("lancedb.query", **_PACKAGE).MatchQuery(
            asked.text, self._columns["text"], **options
        )

        def best(limit: int) -> Pairs:
            query = self._table.search(match, query_type="fts")
            return self._answer_of(query, asked, "_score", limit)

        return with_ties(best, depth)

    def _by_vector(self, asked: Asked, depth: int, *, nprobes: int | None, ef: int | None) -> Pairs:
        options = self.options

        def best(limit: int) -> Pairs:
            query = self._table.search(asked.vector, vector_column_name=self._columns["vector"])
            query = query.distance_type(options.distance)
            if self._scans:
                query = query.bypass_vector_index()
            else:
                query = query if nprobes is None else query.nprobes(nprobes)
                query = query if ef is None else query.ef(max(ef, limit))
                if options.refine_factor is not None:
                    query = query.refine_factor(options.refine_factor)
            pairs = self._answer_of(query, asked, "_distance", limit)
            whole = 0.0 if options.distance == "l2" else 1.0
            return [(doc_id, whole - distance) for doc_id, distance in pairs]

        return with_ties(best, depth) if self._scans else best(depth)

    def _answer_of(self, query: Any, asked: Asked, score: str, limit: int) -> Pairs:
        if asked.filters:
            query = query.where(self._condition(asked.filters), prefilter=True)
        seconds = time_limit()
        answer = (
            query.select([self._columns["id"], score])
            .limit(limit)
            .to_arrow(timeout=None if seconds is None else timedelta(seconds=seconds))
        )
        doc_ids = answer[self._columns["id"]].to_pylist()
        return list(zip(map(str, doc_ids), answer[score].to_pylist(), strict=True))

    def _condition(self, filters: Mapping[str, list[str]]) -> str:
        """Return filters as SQL; every value is quoted, and every name one that there is."""
        parts = []
        for name, allowed in filters.items():
            texts = ", ".join("'" + text.replace("'", "''") + "'" for text in allowed)
            if not self.is_attached:
                parts.append(f"array_has_any({self._places[name]}, [{texts}])")
            elif hasattr(self._table.schema.field(name).type, "value_type"):
                parts.append(f"array_has_any(`{name}`, [{texts}])")
            else:
                parts.append(f"CAST(`{name}` AS STRING) IN ({texts})")
        return " AND ".join(parts)

    def _fused(self, text: str, near: Pairs, words: Pairs) -> Pairs:
        """Fuse two rankings by LanceDB's own reranker."""
        arrow = engine("pyarrow", **_PACKAGE)
        rerankers = engine("lancedb.rerankers", **_PACKAGE)
        rows = {doc_id: row for row, (doc_id, _) in enumerate([*near, *words])}

        def table(pairs: Pairs, score: str) -> Any:
            return arrow.table(
                {
                    "_rowid": arrow.array([rows[doc_id] for doc_id, _ in pairs], arrow.uint64()),
                    "doc_id": arrow.array([doc_id for doc_id, _ in pairs], arrow.string()),
                    score: arrow.array([value for _, value in pairs], arrow.float32()),
                }
            )

        fused = rerankers.RRFReranker(K=self.options.k).rerank_hybrid(
            text, table(near, "_distance"), table(words, "_score")
        )
        doc_ids, scores = fused["doc_id"].to_pylist(), fused["_relevance_score"].to_pylist()
        return list(zip(doc_ids, scores, strict=True))

    # --- what it says ----------------------------------------------------------------------------

    def version(self) -> str:
        """Say the version of the library."""
        return engine_version("lancedb")

    def count(self) -> int | None:
        """Count the rows."""
        return int(self._table.count_rows())

    def settings(self) -> dict[str, Any]:
        """Say how it searches, and what indexes there are."""
        options = self.options
        names: list[str] = []
        if self.needs_vectors:
            names += ["distance", "exact", "vectors"]
            if options.vectors != "exact":
                names += ["num_partitions", "num_sub_vectors", "num_bits", "m", "ef_construction"]
            if not self._scans:
                names += ["nprobes", "refine_factor", "ef"]
        if self._has_text:
            names += ["tokenizer", "language", "stem", "stop_words", "ascii_folding", "match"]
        if options.search == "hybrid":
            names += ["k", "candidates"]
        settings = {name: getattr(options, name) for name in ("search", *names)}
        with suppress(Exception):  # what it says of itself is not needed
            settings["engine"] = {
                str(entry.index_type): {
                    name: value
                    for name, value in (getattr(entry, "index_details", None) or {}).items()
                    if name != "runtime_hints"
                }
                for entry in self._table.list_indices()
            }
        return settings
