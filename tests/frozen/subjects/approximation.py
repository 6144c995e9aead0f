"""What an approximate index finds of an exact search's answer, and what loses it.

Planted hits of eight queries by three systems: recall with Student's interval, the parts lost by
quantisation and by the index, recall by how much a filter leaves out, and the front of recall and
time.

Checked by hand (`test_oracles_diagnosis`).
"""

from __future__ import annotations

from typing import Any

import rankscope as rs
from frozen.diagnosed import ends
from rankscope.diagnosis.approximation import APPROXIMATION, ApproximationConfig
from rankscope.diagnosis.registry import Inputs
from rankscope.runs.exactness import Exactness, QueryExactness

QRELS = {f"q{n}": {"d": 1} for n in range(8)}
RUN = {query_id: {"x": 2.0, "d": 1.0} for query_id in QRELS}
HITS = {
    "plain": ([10, 8, 6, 8, 10, 8, 6, 8], None, None),
    "quantised": ([10, 8, 6, 8, 9, 7, 5, 8], [10, 10, 8, 8, 10, 9, 8, 8], None),
    "filtered": ([10, 10, 10, 10, 9, 9, 2, 4], None, [0.0, 0.0, 0.4, 0.4, 0.8, 0.8, 0.95, 0.98]),
}
MILLISECONDS = {"plain": 2.0, "quantised": 1.0, "filtered": 3.0}


def numbers() -> Any:
    inputs = Inputs(
        scores=rs.evaluate(QRELS, dict.fromkeys(HITS, RUN), ["nDCG@10"]),
        exactness={name: _exactness(name) for name in HITS},
        costs={name: {"p50, ms": cost} for name, cost in MILLISECONDS.items()},
    )
    answer: Any = APPROXIMATION.answer(ApproximationConfig(), inputs)
    return {
        row.system: {
            "recall": row.recall,
            "interval": ends(row.interval),
            "lowest": row.lowest,
            "whole answers": row.whole,
            "lost by quantisation": row.lost_to_quantisation,
            "lost by the index": row.lost_to_index,
            "by share left out": [
                [band.more_than, band.up_to, band.queries, band.recall] for band in row.by_filter
            ],
            "quality": row.quality,
            "on the front": int(row.on_front),
        }
        for row in answer.systems
    }


def _exactness(name: str) -> Exactness:
    hits, stored, filtered = HITS[name]
    return Exactness(
        system=name,
        k=10,
        tolerance=1e-5,
        documents=100,
        filters=filtered is not None,
        queries=tuple(
            QueryExactness(
                query_id=f"q{n}",
                wanted=10,
                hits=count,
                stored_hits=None if stored is None else stored[n],
                filtered=0.0 if filtered is None else filtered[n],
            )
            for n, count in enumerate(hits)
        ),
    )
