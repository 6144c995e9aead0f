"""Which systems are on the front of quality and cost.

Six systems with ties in quality and in cost, by two measures and two costs, once with a cost of
which more is better. 1: on the front, 0: dominated, with how many others dominate it.

Checked by comparing all pairs (`test_oracles_diagnosis`).
"""

from __future__ import annotations

from typing import Any

from frozen.diagnosed import ask

QUERIES = [f"q{number:02}" for number in range(40)]
QRELS = {query_id: {"d": 1} for query_id in QUERIES}
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


def numbers() -> Any:
    runs = {name: ranked(ranks) for name, ranks in RANKS.items()}
    asked = {"measures": ["RR", "P@1"]}
    less = ask("pareto", QRELS, runs, ["RR", "P@1"], costs=COSTS, configs={"pareto": asked})
    more = ask(
        "pareto",
        QRELS,
        runs,
        ["RR", "P@1"],
        costs=COSTS,
        configs={"pareto": asked | {"higher": ["ms"]}},
    )
    return {"less is better": _fronts(less), "more is better": _fronts(more)}


def _fronts(answer: Any) -> Any:
    return {
        f"{front.measure} and {front.cost}": {
            row.system: [row.cost, row.quality, int(row.on_front), len(row.dominated_by)]
            for row in sorted(front.systems, key=lambda row: row.system)
        }
        for front in answer.fronts
    }
