"""The one order of documents: score from high to low, and among equal scores the tie rule.

Alignment, fusion, retrieval and everything that writes ranks order documents here. Ids are
compared by their bytes in UTF-8, which is how Python compares text. They are looked at only where
scores are equal, and what is in order already is not sorted.

Rows come grouped by query: the rows of group i are ``offsets[i]:offsets[i + 1]``. Only
`best_first` loads Polars, and only to compare ids; scoring plain dicts never gets there.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

BLOCK = 1 << 17
"""About how many rows are looked at together: they fit the cache, and memory does not grow."""

Ties = Literal["trec", "id-asc", "given"]
"""Who goes first among equal scores: the higher id by bytes, the lower id, or as given."""

Order = Literal["score", "given"]
"""What ranks documents: their scores, or their places in the list as it is given."""

Precision = Literal["double", "single"]
"""In which precision scores are compared; trec_eval 9 uses single."""


def compared(score: Floats, precision: Precision) -> Floats:
    """Return scores in the precision they are compared in; what is too large becomes infinite."""
    if precision == "double":
        return score
    with np.errstate(over="ignore"):
        return score.astype(np.float32)


# --- one query, in plain Python or NumPy ---------------------------------------------------------


def ranked(
    pairs: Iterable[tuple[str, float]], *, ties: Ties = "trec", precision: Precision = "double"
) -> list[tuple[str, float]]:
    """Return the (doc_id, score) pairs of one query, best first; each document occurs once.

    >>> ranked([("a", 1.0), ("c", 2.0), ("b", 1.0)])
    [('c', 2.0), ('b', 1.0), ('a', 1.0)]
    """
    ordered = list(pairs)
    if ties != "given":
        ordered.sort(key=lambda pair: pair[0], reverse=ties == "trec")
    score = compared(np.array([float(score) for _, score in ordered]), precision)
    return [ordered[place] for place in np.argsort(-score, kind="stable").tolist()]


def by_id_descending(ids: Sequence[str]) -> list[int]:
    """Return the positions of ids from high to low.

    What holds its documents in this order breaks ties by position (see `best_positions`).
    """
    return sorted(range(len(ids)), key=ids.__getitem__, reverse=True)


def best_positions(scores: NDArray[Any], depth: int) -> NDArray[np.intp]:
    """Return the positions of the highest scores, best first; of equal ones the first position.

    Exact at the cut: whatever has the score of the last place takes part in the tie.

    >>> best_positions(np.array([1.0, 3.0, 2.0, 3.0, 2.0]), 3).tolist()
    [1, 3, 2]
    """
    if 0 < depth < len(scores):
        last = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        positions = np.flatnonzero(scores >= last)
    else:
        positions = np.arange(len(scores))
    return positions[np.argsort(-scores[positions], kind="stable")[:depth]]


# --- many queries, in columns --------------------------------------------------------------------


def falling(offsets: Ints, score: Floats) -> Ints | None:
    """Return the rows of each group by score from high to low, equal scores in no order.

    None says that they are in such an order already.
    """
    rises = score[1:] > score[:-1]
    rises[offsets[(offsets > 0) & (offsets < len(score))] - 1] = False  # from group to group
    if not rises.any():
        return None
    groups = len(offsets) - 1
    narrow = np.uint16 if groups <= 1 << 16 else np.int64  # NumPy sorts 16 bits by radix
    group = np.repeat(np.arange(groups, dtype=narrow), np.diff(offsets))
    order = np.argsort(-score)
    return order[np.argsort(group[order], kind="stable")]


def tie_starts(offsets: Ints, score: Floats) -> Bools:
    """Return for rows in falling order whether each begins a new tie (of one document, or more)."""
    starts = np.ones(len(score), np.bool_)
    np.not_equal(score[1:], score[:-1], out=starts[1:])
    starts[offsets[offsets < len(score)]] = True
    return starts


def best_first(
    offsets: Ints,
    score: Floats,
    ids_at: Callable[[Ints], pl.Series],
    *,
    ties: Ties = "trec",
) -> Ints | None:
    """Return the rows of each group best first; None says that they are in this order already.

    ``ids_at`` returns the document ids of some rows.
    """
    order = falling(offsets, score)
    if order is None and ties == "given":
        return None
    starts = tie_starts(offsets, score if order is None else score[order])
    members = np.flatnonzero(~starts | np.append(~starts[1:], False))  # of ties of two or more
    rows = members if order is None else order[members]
    if not members.size:
        return order
    in_order = _ordered(np.cumsum(starts[members]), rows, ids_at, ties)
    if order is None:
        if (in_order == rows).all():
            return None
        order = np.arange(len(score))
    order[members] = in_order
    return order


def _ordered(tie: Ints, rows: Ints, ids_at: Callable[[Ints], pl.Series], ties: Ties) -> Ints:
    """Return the rows of each tie in the order of the tie rule."""
    if ties == "given":
        return rows[np.lexsort((rows, tie))]
    import polars as pl  # noqa: PLC0415

    table = pl.DataFrame({"tie": tie, "doc_id": ids_at(rows), "row": rows})
    return table.sort("tie", "doc_id", descending=[False, ties == "trec"])["row"].to_numpy()


def rows_of(offsets: Ints, groups: Ints) -> tuple[Ints, Ints]:
    """Return the rows of some groups one after the other, and the offsets of the groups in them."""
    sizes = offsets[groups + 1] - offsets[groups]
    inner = np.concatenate([[0], np.cumsum(sizes)])
    return np.arange(inner[-1]) + np.repeat(offsets[groups] - inner[:-1], sizes), inner


def best_first_rows(
    offsets: Ints,
    groups: Ints,
    score: Floats,
    doc_ids: pl.Series,
    *,
    ties: Ties = "trec",
) -> tuple[Ints, Ints, Ints]:
    """Return the rows of some groups, the offsets of the groups in them, and the rows best first.

    The numbers of the groups rise.
    """
    rows, inner = rows_of(offsets, groups)
    places = best_first(inner, score[rows], lambda at: doc_ids.gather(rows[at]), ties=ties)
    return rows, inner, rows if places is None else rows[places]


def blocks(sizes: Ints) -> Iterator[tuple[int, int]]:
    """Yield ranges of groups, of about `BLOCK` rows each, that are looked at together."""
    if len(sizes):
        block = (np.cumsum(sizes) - sizes) // BLOCK
        yield from pairwise([0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(sizes)])


def groups_of(offsets: Ints, rows: Ints) -> Ints:
    """Return the group that each row belongs to."""
    return np.searchsorted(offsets, rows, side="right") - 1


def unsettled(offsets: Ints, score: Floats, *, ties: bool) -> Bools:
    """Return by group whether a score rises from row to row or, with ``ties``, is repeated."""
    loose = score[1:] >= score[:-1] if ties else score[1:] > score[:-1]
    rows = np.flatnonzero(loose) + 1
    groups = groups_of(offsets, rows)
    is_unsettled = np.zeros(len(offsets) - 1, np.bool_)
    is_unsettled[groups[offsets[groups] != rows]] = True  # not from group to group
    return is_unsettled
