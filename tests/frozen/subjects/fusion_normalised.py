"""Frozen: each combination of scores with each normalisation, on the two bundled runs.

Asked through `fuse`: the first ten documents and their scores for a dozen queries, and the mean
nDCG@10 of the fused run.

Oracle: as of `fusion_methods`.
"""

from __future__ import annotations

from typing import Any

from frozen.fusions import NORMALISED, first_ten, fused, mean
from frozen.subjects.fusion_methods import QUERIES, pair


def numbers() -> Any:
    """Fuse the bundled runs by each method and normalisation."""
    qrels, both = pair()
    query_ids = sorted(both["lexical"])[QUERIES : 2 * QUERIES]
    runs = {name: fused(both, **options) for name, options in NORMALISED.items()}
    return {
        name: {"nDCG@10": mean(qrels, run), "first ten": first_ten(run, query_ids)}
        for name, run in runs.items()
    }
