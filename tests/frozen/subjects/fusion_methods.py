"""Frozen: each fusion method on the two bundled runs, scores taken as they are given.

Asked through `fuse`: the first ten documents and their scores for a dozen queries, and the mean
nDCG@10 of the fused run. Weighted, and learnt from judgments (probfuse), as well.

Oracle: ranx and ten-line twins, in `tests/runs/test_fusion_ranx.py` and `test_fusion_twins.py`; the
frozen numbers of those whose formula is a line are computed in `tests/frozen/test_oracles.py`.
"""

from __future__ import annotations

from typing import Any

from frozen.fusions import METHODS, first_ten, fused, mean
from frozen.paired_worlds import bundled

WEIGHTED = ["rrf", "linear, minmax", "linear, zscore", "combsum", "isr", "rbc", "borda"]
WEIGHTS = [0.7, 0.3]
QUERIES = 12


def numbers() -> Any:
    """Fuse the bundled runs by each method."""
    qrels, both = pair()
    query_ids = sorted(both["lexical"])[:QUERIES]
    runs = {name: fused(both, **options) for name, options in METHODS.items()}
    for name in WEIGHTED:
        runs[f"{name}, weights 0.7 0.3"] = fused(both, weights=WEIGHTS, **METHODS[name])
    for segments in (5, 25):
        runs[f"probfuse, {segments} segments"] = fused(
            both, method="probfuse", qrels=qrels, segments=segments
        )
    return {
        name: {"nDCG@10": mean(qrels, run), "first ten": first_ten(run, query_ids)}
        for name, run in runs.items()
    }


def pair() -> tuple[Any, Any]:
    """Return the judgments and the two bundled runs."""
    qrels, runs = bundled()
    return qrels, {name: runs[name] for name in ("lexical", "hybrid")}
