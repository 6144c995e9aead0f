"""Options of lancedb: where its tables are, their indexes, and how they are searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from rankscope.retrieval.options import Text
from rankscope.retrieval.remote.attached_engine import AttachedOptions
from rankscope.retrieval.remote.idle_options import OnlyFor
from rankscope.retrieval.remote.loaded_engine import Way

_GRAPHS = ("ivf_hnsw_flat", "ivf_hnsw_sq", "ivf_hnsw_pq")
_QUANTISED = ("ivf_sq", "ivf_pq", "ivf_rq", "ivf_hnsw_sq", "ivf_hnsw_pq")
_PRODUCTS = ("ivf_pq", "ivf_hnsw_pq")
_LISTS = ("ivf_flat", "ivf_sq", "ivf_pq", "ivf_rq", *_GRAPHS)


class LanceOptions(AttachedOptions):
    """Where the tables are, their indexes, and how they are searched."""

    attached: ClassVar[str] = "table"
    with_attached: ClassVar[tuple[str, ...]] = (
        *("id_field", "snapshot", "text_field", "vector_field"),
    )
    without_attached: ClassVar[tuple[str, ...]] = (
        *("vectors", "num_partitions", "num_sub_vectors", "num_bits", "m", "ef_construction"),
        *("document_prefix", "tokenizer", "language", "stem", "stop_words", "ascii_folding"),
    )
    of_words: ClassVar[tuple[str, ...]] = (
        *("tokenizer", "language", "stem", "stop_words", "ascii_folding", "match"),
    )
    of_vectors: ClassVar[tuple[str, ...]] = (
        *("distance", "vectors", "exact", "nprobes", "refine_factor", "ef"),
    )
    of_fusion: ClassVar[tuple[str, ...]] = ("k", "candidates")
    of_index: ClassVar[tuple[OnlyFor, ...]] = (
        OnlyFor(("nprobes", "refine_factor", "ef"), "exact", (False,)),
        OnlyFor(("num_partitions", "nprobes", "exact"), "vectors", _LISTS),
        OnlyFor(("num_sub_vectors",), "vectors", _PRODUCTS),
        OnlyFor(("num_bits",), "vectors", (*_PRODUCTS, "ivf_rq")),
        OnlyFor(("m", "ef_construction", "ef"), "vectors", _GRAPHS),
        OnlyFor(("refine_factor",), "vectors", _QUANTISED),
    )

    search: Way = "vector"
    """vector, text, or hybrid: both, fused by LanceDB."""
    path: Text | None = None
    """The folder of the tables, from the folder of the config; if not given: below the cache."""
    table: Text | None = None
    """A table of yours, which is searched as it is; nothing is loaded, and no corpus needed. If not
    given, the corpus is loaded into one of its own."""
    id_field: Text | None = None
    """In a table of yours, the column with the document id."""
    text_field: Text | None = None
    """In a table of yours, the column with a full-text index."""
    vector_field: Text | None = None
    """In a table of yours, the column with vectors; it must be named if there are several."""
    distance: Literal["cosine", "l2", "dot"] = "cosine"
    """How vectors are compared."""
    vectors: Literal[
        "exact",
        "ivf_flat",
        "ivf_sq",
        "ivf_pq",
        "ivf_rq",
        "ivf_hnsw_flat",
        "ivf_hnsw_sq",
        "ivf_hnsw_pq",
    ] = "exact"
    """The index of vectors: none (exact), lists of whole vectors (flat) or of quantised ones (sq:
    bytes, pq: products, rq: bits), and in each list a graph (hnsw)."""
    num_partitions: int | None = Field(default=None, ge=1)
    """How many lists there are; if not given, LanceDB's choice."""
    num_sub_vectors: int | None = Field(default=None, ge=1)
    """Of pq: into how many parts a vector is cut; if not given, LanceDB's choice."""
    num_bits: int | None = Field(default=None, ge=1, le=16)
    """Of pq and rq: bits of a part; if not given, LanceDB's choice (8 and 1)."""
    m: int | None = Field(default=None, ge=2)
    """Of hnsw: edges of each point of a graph; if not given, LanceDB's choice (20)."""
    ef_construction: int | None = Field(default=None, ge=1)
    """Of hnsw: candidates that are looked at while a graph is built; if not given, LanceDB's choice
    (300)."""
    exact: bool = False
    """Whether the index of vectors is passed over, and every vector compared."""
    nprobes: int | None = Field(default=None, ge=1)
    """How many lists are searched; if not given, LanceDB's choice."""
    refine_factor: int | None = Field(default=None, ge=1)
    """How many times more quantised vectors than asked for are taken, and compared again whole; if
    not given, none are."""
    ef: int | None = Field(default=None, ge=1)
    """Of hnsw: candidates that a search keeps; if not given, LanceDB's choice."""
    tokenizer: Literal["simple", "whitespace", "raw", "ngram"] = "simple"
    """What words are: letters and digits, all between spaces, the whole text, or runs of 3
    characters."""
    language: Text = "English"
    """Whose stems and stop words are used, such as English or German."""
    stem: bool = True
    """Whether words are cut to their stems."""
    stop_words: bool = True
    """Whether stop words are left out."""
    ascii_folding: bool = True
    """Whether accents are dropped."""
    match: Literal["any", "all"] = "any"
    """Whether a document is found by any word of a query, or must have all of them."""
    k: int = Field(default=60, ge=1)
    """Of hybrid: the constant of reciprocal rank fusion."""
    candidates: int = Field(default=100, ge=1)
    """Of hybrid: how many documents of each way are fused, or the depth if that is more."""

    def idle_rules(self) -> Sequence[OnlyFor]:
        """Return what options have an effect only with which others.

        Of a table of the user's, nobody knows here what index it has.
        """
        rules = super().idle_rules()
        if self.table is None:
            return rules
        return [rule for rule in rules if rule.choice != "vectors"]

    @field_validator("path")
    @classmethod
    def _folder(cls, path: str | None) -> str | None:
        if path is not None and "://" in path:
            raise ValueError("a folder")
        return path
