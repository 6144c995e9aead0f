"""The order in which a rater sees the pairs of a pool.

Orders are made of hashes and not drawn: each rater has an order that others do not have, it is the
same after a restart, and pairs that are added to a pool later do not move the others.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rankscope.reports.judging.judging_pool import JudgingPool
    from rankscope.reports.judging.judgment_log import Pair

JudgingOrder = Literal["random", "depth", "given"]
"""``random``: queries at random, and at random the documents of each. ``depth``: the documents of
each query by their best rank. ``given``: as in the pool."""


def _drawn(*parts: str) -> bytes:
    """Return what things are ordered by that come in no order."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()


def ordered(pool: JudgingPool, rater: str, order: JudgingOrder) -> list[Pair]:
    """Return the pairs as this rater sees them; all of a query together unless ``given``."""
    pairs = list(pool.ranks)
    if order == "given":
        return pairs
    first: dict[str, int] = {}
    for place, pair in enumerate(pairs):
        first.setdefault(pair.query_id, place)
    if order == "depth":
        last = len(pairs) + max((rank or 0 for rank in pool.ranks.values()), default=0)

        def depth(pair: Pair) -> tuple[int, int]:
            rank = pool.ranks[pair]
            return first[pair.query_id], last if rank is None else rank

        return sorted(pairs, key=depth)
    drawn = {query_id: _drawn(rater, query_id) for query_id in first}
    return sorted(pairs, key=lambda pair: (drawn[pair.query_id], _drawn(rater, *pair)))
