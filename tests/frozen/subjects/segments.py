"""Means of systems in groups of queries, and what a group costs.

The bundled recipes by category, difficulty, words and characters: how many queries, means with
Student's intervals, differences to the baseline with p-values by Student's paired t, corrected by
Holm over the groups of a field; and of each group its mean beside that of the rest, and the cost.
Groups by a text are named by it; ranges of numbers come in order.

Checked by grouping in plain Python and by scipy (`test_oracles_diagnosis`).
"""

from __future__ import annotations

from typing import Any

from frozen.diagnosed import ask, ends, recipe_qrels, recipe_queries, some_runs

FIELDS = ["category", "difficulty", "words", "characters"]


def numbers() -> Any:
    answer = ask(
        "segments",
        recipe_qrels(),
        some_runs(),
        ["nDCG@10", "RR@10"],
        queries=recipe_queries(),
        baseline="lexical",
        configs={"segments": {"fields": FIELDS}},
    )
    return {
        "groups": {segment.field: _groups(segment) for segment in answer.segments},
        "costs": _costs(answer),
    }


def _groups(segment: Any) -> Any:
    groups = {group.label: {"queries": group.n, **_means(group)} for group in segment.groups}
    return list(groups.values()) if segment.binned else groups


def _means(group: Any) -> Any:
    return {
        f"{row.system} {row.measure}": {
            "mean": row.mean,
            "interval": ends(row.interval),
            "difference": row.difference,
            "p": row.p_corrected,
        }
        for row in group.means
    }


def _costs(answer: Any) -> Any:
    binned = {segment.field for segment in answer.segments if segment.binned}
    costs: dict[str, Any] = {}
    for row in answer.costs:
        figures = [row.n, row.mean, row.rest, row.difference, row.p, row.cost]
        place = costs.setdefault(f"{row.field} of {row.system}", {})
        place[row.label] = figures
    return {
        name: sorted(groups.values()) if name.split(" of ")[0] in binned else groups
        for name, groups in costs.items()
    }
