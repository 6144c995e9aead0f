"""How exact an approximate search was: what `rankscope.diagnosis.approximation` is made of."""

from __future__ import annotations

from rankscope.part import Part, left_out


class QueryExactness(Part):
    """One query, answered approximately and exactly."""

    query_id: str
    """The query."""
    wanted: int
    """How many documents an exact search finds, up to k."""
    hits: int
    """How many of the first k of the answer are as near as these; near-ties count."""
    stored_hits: int | None = left_out()
    """The same for a search through everything as it is stored, quantised, without the index that
    leads to it; left out where the engine does not let one."""
    filtered: float
    """The share of documents that the query's filter leaves out."""


class Exactness(Part):
    """One system against exact search over the same vectors."""

    system: str
    """The system."""
    k: int
    """How many documents are looked at."""
    tolerance: float
    """Documents whose similarity is less than that of the k-th by no more than this count."""
    documents: int
    """How many documents have a vector."""
    filters: bool
    """Whether queries are filtered."""
    queries: tuple[QueryExactness, ...]
    """Those that were answered, and for which there is something to find."""
