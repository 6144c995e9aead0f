"""Runs that systems make of the bundled corpus, asked through `run_benchmark`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import rankscope as rs
from frozen.bundled import DATA
from frozen.paired_worlds import bundled

FIELDS = ["title", "text", "ingredients", "steps"]
MEASURES = ["nDCG@10", "RR@10", "R@100"]

Lists = dict[str, dict[str, float]]


def need(*packages: str) -> None:
    """Say what is not installed.

    Raises:
        FileNotFoundError: one of the packages cannot be imported.
    """
    for package in packages:
        if find_spec(package) is None:
            raise FileNotFoundError(f"{package} is not installed; the extra retrieval has it")


def answers(systems: Mapping[str, Any]) -> dict[str, Lists]:
    """Ask systems the bundled test questions; their lists are best first, 100 documents long."""
    collection = {"path": str(DATA / "recipes"), "split": "test"}
    config = {
        "name": "frozen",
        "collection": collection,
        "systems": systems,
        "depth": 100,
        "measures": MEASURES,
        "diagnosis": [],
        "statistics": {"test": "t", "interval": "t"},
    }
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "bench.json").write_text(json.dumps(config))
        made = rs.run_benchmark(
            folder / "bench.json", output=folder / "made", cache=folder / "cache"
        )
        runs = {name: rs.read_run(made.folder / "runs" / f"{name}.run.gz") for name in systems}
        return {
            name: {query_id: dict(run[query_id]) for query_id in run.query_ids}
            for name, run in runs.items()
        }


def means(run: Lists) -> dict[str, float]:
    """Return the means of a run of the bundled questions."""
    qrels, _ = bundled()
    scores = rs.evaluate(qrels, run, MEASURES)
    return {measure: float(scores[measure]) for measure in MEASURES}
