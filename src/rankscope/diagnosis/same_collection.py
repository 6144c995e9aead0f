"""The same collection? Whether systems answer the same queries out of the same documents.

What can be seen of that in runs, judgments and the corpus. Systems may differ in nearly all that
they return and search the same documents, so only what no such pair shows is named.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.diagnosis.registry import Inputs
    from rankscope.measures.judged import BoolArray

QUERIES_APART = 0.1
"""From this share of queries on that only one of two systems answers, the two are about different
queries; lexical search may lack some for which no document has a word."""

OUTSIDE = 0.01
"""From this share on of documents on top that are not in the corpus, a run is of another one."""

KNOWN = 0.02
"""Of systems that search the same documents, more than this share of those on top is judged or
retrieved by another, however different they are."""

FEWEST_DOCUMENTS = 50
"""Of fewer different documents on top, no share is worth mentioning."""


def queries_apart(inputs: Inputs) -> tuple[list[str], list[str], dict[str, dict[str, float]]]:
    """Name the two systems whose queries differ most, if that is too much."""
    assert inputs.runs is not None
    judged = inputs.rankings.query_ids
    answered: dict[str, BoolArray] = {}
    for name, run in inputs.runs.items():
        known = frozenset(run.query_ids)
        answered[name] = np.fromiter((query in known for query in judged), np.bool_, len(judged))
    worst = (0.0, "", "", 0)
    for (first, mine), (second, theirs) in combinations(answered.items(), 2):
        either = int(np.count_nonzero(mine | theirs))
        alone = int(np.count_nonzero(mine ^ theirs))
        share = alone / either if either else 0.0
        worst = max(worst, (share, first, second, alone))
    share, first, second, alone = worst
    if share < QUERIES_APART:
        return [], [], {}
    text = (
        f"{counted(alone, 'judged query')} ({share:.0%}) are answered by only one of {first} and "
        f"{second}"
    )
    return [text], [first, second], {"queries": {"share": share}}


def strangers(inputs: Inputs) -> list[tuple[str, float, str]]:
    """Name each system most of whose documents on top nobody else knows, with their share."""
    rankings, cutoff = inputs.rankings, inputs.cutoff
    if inputs.corpus is not None:
        return _outside(inputs, cutoff)
    if len(rankings.systems) < 2:
        return []
    keys = {name: pl.Series(ranking.doc_key) for name, ranking in rankings.systems.items()}
    sources = [each.unique() for each in (*keys.values(), pl.Series(rankings.judged_doc_key))]
    counts = pl.concat(sources).alias("key").to_frame().group_by("key").len()
    shared = counts.filter(pl.col("len") > 1)["key"].implode()
    named = []
    for name, ranking in rankings.systems.items():
        top = keys[name].filter(pl.Series(ranking.top(cutoff))).unique()
        if len(top) < FEWEST_DOCUMENTS:
            continue
        share = int(top.is_in(shared).sum()) / len(top)
        if share < KNOWN:
            text = (
                f"of the {len(top):,} different documents that {name} has in the first {cutoff}, "
                f"{share:.1%} are judged or retrieved by another system"
            )
            named.append((name, share, text))
    return named


def _outside(inputs: Inputs, cutoff: int) -> list[tuple[str, float, str]]:
    """Name each system of whose documents on top too many are not in the corpus."""
    assert inputs.corpus is not None
    ids = pl.Series(inputs.corpus.ids, dtype=pl.String).implode()
    named = []
    for name, ranking in inputs.rankings.systems.items():
        rows = ranking.source[np.flatnonzero(ranking.top(cutoff))]
        top = ranking.run.doc_ids.gather(rows).cast(pl.String).unique()
        absent = int((~top.is_in(ids)).sum())
        if absent and absent >= OUTSIDE * len(top):
            text = (
                f"{absent:,} of the {len(top):,} different documents that {name} has in the first "
                f"{cutoff} are not in the corpus"
            )
            named.append((name, absent / len(top), text))
    return named
