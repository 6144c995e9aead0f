"""Frozen: the means of the demo's five systems on its test questions.

Asked through `run_benchmark` with the systems of the bundled config: nDCG@10, RR@10 and R@100.
Three of the systems have vectors of single precision: where two documents of a question differ
in the last digits only, another machine may order them differently.

Oracle: the lists of "lexical" and "hybrid" are those of the bundled runs, which
`tests/frozen/test_retrieval_oracles.py` checks, as it does vectors; none for XGBoost's trees.
"""

from __future__ import annotations

from typing import Any

import yaml

from frozen.benchmarks import answers, means, need
from frozen.bundled import DATA


def numbers() -> Any:
    """Ask the demo's systems."""
    need("bm25s", "Stemmer", "wordllama", "xgboost")
    demo = yaml.safe_load((DATA / "demo.yaml").read_text())
    return {name: means(run) for name, run in answers(demo["systems"]).items()}
