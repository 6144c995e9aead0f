"""Frozen: each fusion method and normalisation on two, and on three, small runs that are hard.

Asked through `fuse`: whole lists with their scores, where everything is tied, no document is in
both, scores are negative, a list has one document, or only one run has the query.

Oracle: as of `fusion_methods`.
"""

from __future__ import annotations

from typing import Any

from frozen.fusions import METHODS, NORMALISED, PAIR, QRELS, THREE, first_ten, fused


def numbers() -> Any:
    """Fuse the small runs by each method and normalisation."""
    found: dict[str, Any] = {}
    for name, options in {**METHODS, **NORMALISED}.items():
        found[name] = {
            "two runs": _lists(PAIR, **options),
            "three runs": _lists(THREE, **options),
        }
    found["probfuse, 2 segments"] = {
        "two runs": _lists(PAIR, method="probfuse", qrels=QRELS, segments=2),
        "three runs": _lists(THREE, method="probfuse", qrels=QRELS, segments=2),
    }
    return found


def _lists(runs: Any, **options: Any) -> dict[str, Any]:
    run = fused(runs, **options)
    changed = set(THREE["third"]) if len(runs) == 3 else set(run.query_ids)
    return first_ten(run, sorted(changed))
