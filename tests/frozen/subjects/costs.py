"""What systems cost, and what an approximate index loses."""

from __future__ import annotations

from typing import Any

import rankscope as rs
from frozen.diagnosed import ask, ends
from frozen.subjects import subject
from rankscope.diagnosis import approximation as index
from rankscope.diagnosis.analysis import Inputs
from rankscope.diagnosis.approximation import Exactness, QueryExactness

QUERIES = [f"q{number:02}" for number in range(40)]
ONE_RELEVANT = {query_id: {"d": 1} for query_id in QUERIES}
RANKS = {
    "bad": (4,),
    "middle": (2,),
    "alike": (2,),
    "near": (*(2,) * 39, 1),
    "good": (1, 2),
    "best": (1,),
}
COSTS = {
    "bad": {"ms": 1.0, "euros": 3.0},
    "middle": {"ms": 2.0, "euros": 3.0},
    "alike": {"ms": 5.0, "euros": 1.0},
    "near": {"ms": 6.0, "euros": 3.0},
    "good": {"ms": 4.0, "euros": 3.0},
    "best": {"ms": 9.0},
}


def ranked(ranks: tuple[int, ...]) -> dict[str, list[str]]:
    """Make a run that has the one relevant document at these ranks, again and again."""
    return {
        query_id: [*(f"x{n}" for n in range(1, ranks[place % len(ranks)])), "d"]
        for place, query_id in enumerate(QUERIES)
    }


@subject
def pareto() -> Any:
    """Fronts of quality and cost: 1 on the front, 0 dominated, and by how many.

    Oracle: all pairs (`test_oracles_diagnosis`).
    """
    runs = {name: ranked(ranks) for name, ranks in RANKS.items()}
    return {"less is better": _fronts(runs)}


def _fronts(runs: Any) -> Any:
    fronts = {}
    for measure in ("RR", "P@1"):
        answer = ask("pareto", ONE_RELEVANT, runs, measure, costs=COSTS)
        for front in answer.fronts:
            fronts[f"{measure} and {front.cost}"] = {
                row.system: [row.cost, row.quality, int(row.on_front), len(row.dominated_by)]
                for row in sorted(front.systems, key=lambda row: row.system)
            }
    return fronts


QRELS = {f"q{n}": {"d": 1} for n in range(8)}
RUN = {query_id: {"x": 2.0, "d": 1.0} for query_id in QRELS}
HITS = {
    "plain": ([10, 8, 6, 8, 10, 8, 6, 8], None),
    "quantised": ([10, 8, 6, 8, 9, 7, 5, 8], [10, 10, 8, 8, 10, 9, 8, 8]),
    "uneven": ([10, 10, 10, 10, 9, 9, 2, 4], None),
}


@subject
def approximation() -> Any:
    """Planted hits of eight queries: recall, what quantisation and the index lose.

    Oracle: by hand (`test_oracles_diagnosis`).
    """
    inputs = Inputs(
        scores=rs.evaluate(QRELS, dict.fromkeys(HITS, RUN), ["nDCG@10"]),
        exactness={name: _exactness(name) for name in HITS},
    )
    answer: Any = index.approximation.answer(index.ApproximationConfig(), inputs)
    return {
        row.system: {
            "recall": row.recall.value,
            "interval": ends(row.recall),
            "lowest": row.lowest,
            "lost by quantisation": row.lost_to_quantisation,
            "lost by the index": row.lost_to_index,
            "quality": row.quality,
        }
        for row in answer.systems
    }


def _exactness(name: str) -> Exactness:
    hits, stored = HITS[name]
    return Exactness(
        system=name,
        k=10,
        tolerance=1e-5,
        documents=100,
        queries=tuple(
            QueryExactness(
                query_id=f"q{n}",
                wanted=10,
                hits=count,
                stored_hits=None if stored is None else stored[n],
            )
            for n, count in enumerate(hits)
        ),
    )
