"""The rules of alignment, and what both ways of aligning return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray

__all__ = ["Hits", "NoRelevant", "Precision", "QueryPolicy", "Ties"]

Ties = Literal["trec", "id-asc", "given"]
"""Who goes first among equal scores: the higher id by bytes, the lower id, or as given."""

Precision = Literal["double", "single"]
"""In which precision scores are compared; trec_eval 9 uses single."""

QueryPolicy = Literal["all", "both", "strict"]
"""Which queries count: ``all`` judged ones (missing ones score 0), those judged and in ``both``, or
``strict``ly all, with an error if one is missing from the run."""

NoRelevant = Literal["zero", "out"]
"""What happens to queries without a relevant document: they score 0, or are left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Judged retrieved documents by query and rank, and how many documents each query has.

    A hit's score is shared by ``tie_size`` documents of its query, of which the first has rank
    ``tie_first``.
    """

    query: IntArray
    rank: IntArray
    grade: FloatArray
    tie_first: IntArray
    tie_size: IntArray
    doc_ids: Callable[[], list[str]]  # made when asked for
    retrieved: IntArray
    tied_at: dict[int, int]
