"""Guessing between copies: what a system can expect that knows texts only.

Where the corpus holds a relevant text under several ids, and these are not judged alike, nothing in
the text says which id is meant. The best such a system can do is to return the copies in random
order, all of a text together, texts with the highest mean grade first. What it can expect is the
mean over these orders: over every place if one copy of one text is meant, else over drawn orders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.measures.judged import place_in
from rankscope.measures.registry import compute
from rankscope.statistics.arrays import random_source

if TYPE_CHECKING:
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray, JudgedRun
    from rankscope.measures.language import Measure
    from rankscope.scoring.judgments import Judgments

ORDERS = 200
"""How many orders are drawn, and up to how many copies every place is tried."""

FEWEST = 4
"""So many orders are drawn of each query however many queries there are."""

MOST_ROWS = 500_000
"""About so many documents in all orders are looked at: of many queries fewer orders each do."""

PURPOSE = 11
"""Of the random numbers, so that no other use of the seed has the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Guesses:
    """Queries whose gold has copies that are not judged alike, each in several orders."""

    queries: IntArray
    """The numbers of these queries."""
    orders: JudgedRun
    """A query for each of them and each order of its copies."""
    of: IntArray
    """By query of ``orders``: its place in ``queries``."""

    def is_affected(self, queries: int) -> BoolArray:
        """By judged query: whether it is one of these."""
        affected = np.zeros(queries, np.bool_)
        affected[self.queries] = True
        return affected

    def values(self, measure: Measure, depth: int) -> FloatArray:
        """By query of ``queries``: the mean over the orders."""
        values = compute(measure, self.orders.cut(depth))
        counts = np.bincount(self.of, minlength=len(self.queries))
        sums = np.bincount(self.of, values, minlength=len(self.queries))
        return np.asarray(sums / counts)


def guesses(
    judgments: Judgments,
    judged: JudgedRun,
    copies: pl.DataFrame,
    *,
    reachable: BoolArray,
    seed: int = 0,
) -> Guesses | None:
    """Return the queries of which only a guess tells gold from its copies; None: there are none.

    ``copies`` has doc_id and group of every document with copies; ``reachable`` says by row of the
    judgments' pairs whether its document can be returned.
    """
    documents = _documents(judgments, copies, reachable)
    if not len(documents):
        return None
    queries, number = np.unique(documents["query"].to_numpy(), return_inverse=True)
    times = np.zeros(len(queries), np.int64)
    times[number] = documents["orders"].to_numpy()
    # each query again for each of its orders, and its documents with it
    of = np.repeat(np.arange(len(queries)), times)
    rows = np.repeat(np.arange(len(documents)), times[number])
    turn = place_in(rows) - 1
    order = (np.cumsum(times) - times)[number[rows]] + turn
    table = {
        name: documents[name].to_numpy()[rows]
        for name in ("grade", "size", "offset", "in_turn", "orders", "is_simple")
    }
    rank = table["offset"] + _slots(table, order, turn, seed) + 1
    is_hit = table["grade"] > 0
    hits = np.flatnonzero(is_hit)[np.lexsort((rank[is_hit], order[is_hit]))]
    listed = np.zeros(len(of), np.int64)
    np.maximum.at(listed, order, table["offset"] + table["size"])
    return Guesses(
        queries,
        replace(
            _repeated(judged, queries, of),
            retrieved=listed,
            hit_query=order[hits],
            hit_rank=rank[hits],
            hit_grade=table["grade"][hits],
        ),
        of,
    )


def _documents(judgments: Judgments, copies: pl.DataFrame, reachable: BoolArray) -> pl.DataFrame:
    """Return what the best guess lists for the queries in question, a row for each document.

    ``unit`` is a text: a document, or copies that are not judged alike; ``size`` is how many
    documents it has, and ``offset`` how many are listed before it.
    """
    pairs = judgments.pairs.select(
        "doc_id",
        pl.Series("query", judgments.query, dtype=pl.Int64),
        pl.col("grade").cast(pl.Float64),
    )
    gold = pairs.filter(pl.Series(reachable) & (pairs["grade"] > 0))
    texts = gold.join(copies, on="doc_id").select("query", "group").unique()
    members = (
        texts.join(copies, on="group")
        .join(pairs, on=["query", "doc_id"], how="left")
        .with_columns(grade=pl.col("grade").fill_null(0.0).clip(lower_bound=0.0))
    )
    is_mixed = pl.col("grade").min().over("query", "group") < pl.col("grade").max().over(
        "query", "group"
    )
    mixed = members.filter(is_mixed).select("query", "doc_id", "grade", "group")
    alone = (
        gold.join(mixed.select("query").unique(), on="query", how="semi")
        .join(mixed, on=["query", "doc_id"], how="anti")
        .select("query", "doc_id", "grade", group=pl.lit(-1, pl.Int64))
    )
    rows = pl.concat([mixed, alone]).with_columns(
        # copies of one text are one unit, every other document is one
        unit=pl.when(pl.col("group") < 0).then(pl.col("doc_id")).otherwise(pl.lit("")),
    )
    text = ["query", "group", "unit"]
    rows = rows.with_columns(
        size=pl.len().over(text).cast(pl.Int64),
        mean=pl.col("grade").mean().over(text),
        gold=(pl.col("grade") > 0).sum().over(text).cast(pl.Int64),
    ).sort("query", "mean", "group", "unit", "doc_id", descending=[False, True, True, False, False])
    place = place_in(rows["query"].to_numpy()) - 1
    rows = rows.with_columns(pl.Series("place", place, dtype=pl.Int64)).with_columns(
        offset=pl.col("place").min().over(text),
        # of a text of which one copy is meant, only that one is followed
        in_turn=(pl.col("gold") == 1) & (pl.col("size") > 1),
        texts=pl.col("group").filter(pl.col("group") >= 0).n_unique().over("query"),
    )
    drawn = min(max(MOST_ROWS // max(len(rows), 1), FEWEST), ORDERS)
    is_simple = (pl.col("texts") == 1) & pl.col("in_turn").any().over("query")
    rows = rows.with_columns(
        orders=pl.when(is_simple)
        .then(pl.col("size").max().over("query").clip(upper_bound=ORDERS))
        .otherwise(drawn)
        .cast(pl.Int64),
        is_simple=is_simple,
    )
    return rows.filter((pl.col("grade") > 0) | ~pl.col("in_turn"))


def _slots(table: Mapping[str, Any], order: IntArray, turn: IntArray, seed: int) -> IntArray:
    """By document and order: its place in its text, from 0.

    The one copy that is meant has every place in turn, where it is the only one that is guessed,
    and any place otherwise. Where several are meant, all copies are shuffled.
    """
    size, offset = table["size"], table["offset"]
    keys = np.random.Generator(random_source(seed, PURPOSE)).random(len(size))
    shuffled = np.lexsort((keys, offset, order))
    text = order[shuffled] * (int(offset.max(initial=0)) + 1) + offset[shuffled]
    slot = np.empty(len(size), np.int64)
    slot[shuffled] = place_in(text) - 1
    # of more copies than orders the places are spread evenly
    spread = (2 * turn + 1) * size // (2 * table["orders"])
    anywhere = np.floor(keys * size).astype(np.int64)
    single = np.where(table["is_simple"], spread, anywhere)
    return np.where(table["in_turn"], single, slot)


def _repeated(judged: JudgedRun, queries: IntArray, of: IntArray) -> JudgedRun:
    """Return judgments with each of some queries once for every order."""
    counts = judged.count(judged.judged_query)
    starts = np.cumsum(counts) - counts
    query = np.repeat(np.arange(len(of)), counts[queries][of])
    rows = starts[queries][of][query] + place_in(query) - 1
    names = [judged.query_ids[number] for number in queries.tolist()]
    return replace(
        judged,
        query_ids=tuple(names[place] for place in of.tolist()),
        in_run=np.ones(len(of), np.bool_),
        judged_query=query,
        judged_grade=judged.judged_grade[rows],
    )
