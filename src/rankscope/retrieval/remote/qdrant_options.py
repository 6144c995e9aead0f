"""Options of qdrant: where it is, its graph and quantisation, and how they are searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from rankscope.retrieval.options import Text
from rankscope.retrieval.remote.idle_options import OnlyFor
from rankscope.retrieval.remote.served import ServedOptions


class QdrantOptions(ServedOptions):
    """Where Qdrant is, its index, and how it is searched."""

    attached: ClassVar[str] = "collection"
    with_attached: ClassVar[tuple[str, ...]] = ("id_field", "snapshot", "vector")
    without_attached: ClassVar[tuple[str, ...]] = (
        *("m", "ef_construct", "full_scan_threshold", "indexing_threshold"),
        *("quantisation", "quantile", "compression", "document_prefix"),
    )
    of_index: ClassVar[tuple[OnlyFor, ...]] = (
        OnlyFor(("hnsw_ef", "rescore", "oversampling"), "exact", (False,)),
        OnlyFor(("quantile",), "quantisation", ("scalar",)),
        OnlyFor(("compression",), "quantisation", ("product",)),
        OnlyFor(("rescore", "oversampling"), "quantisation", ("scalar", "product", "binary")),
    )

    search: Literal["vector"] = "vector"
    """Vectors are compared."""
    collection: Text | None = None
    """A collection of yours, which is searched as it is; nothing is loaded, and no corpus needed.
    If not given, the corpus is loaded into one of its own."""
    id_field: Text | None = None
    """In a collection of yours, the field of the payload with the document id. If not given, the
    id of the point. Of several points with one document id the best counts."""
    vector: Text | None = None
    """In a collection of yours with named vectors, which one is searched."""
    exact: bool = False
    """Whether a server compares every vector, rather than follow its graph."""
    hnsw_ef: int | None = Field(default=None, ge=1)
    """How many candidates a search of the graph keeps; if not given, the server's choice."""
    m: int | None = Field(default=None, ge=0)
    """Edges of each point of the graph; if not given, the server's choice (16)."""
    ef_construct: int | None = Field(default=None, ge=4)
    """Candidates that are looked at while the graph is built; if not given, the server's choice
    (100)."""
    full_scan_threshold: int | None = Field(default=None, ge=0)
    """Kilobytes of vectors below which a server compares all of them; if not given, its choice
    (10,000)."""
    indexing_threshold: int | None = Field(default=None, ge=0)
    """Kilobytes of vectors in a segment from which on a graph is built; 0: never. If not given, the
    server's choice (some 10,000 to 20,000), so that a small corpus has no graph."""
    quantisation: Literal["none", "scalar", "product", "binary"] = "none"
    """How vectors are stored for the search: as they are, as bytes (scalar), as the nearest of 256
    for each part (product), or as signs (binary)."""
    quantile: float | None = Field(default=None, ge=0.5, le=1)
    """Of scalar: the share of values that the 256 steps span; if not given, all."""
    compression: Literal["x4", "x8", "x16", "x32", "x64"] = "x16"
    """Of product: how much smaller vectors become."""
    rescore: bool | None = None
    """Whether what quantised vectors find is ordered by the whole ones; if not given, the server's
    choice."""
    oversampling: float | None = Field(default=None, ge=1)
    """How many times more quantised vectors than asked for are taken before rescoring."""

    def idle_rules(self) -> Sequence[OnlyFor]:
        """Return what options have an effect only with which others.

        Of a collection of the user's, nobody knows here how it is quantised.
        """
        rules = super().idle_rules()
        if self.collection is None:
            return rules
        return [rule for rule in rules if rule.choice != "quantisation"]
