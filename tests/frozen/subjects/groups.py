"""Means of systems in groups of queries."""

from __future__ import annotations

import json
from typing import Any

from frozen.diagnosed import (
    as_cases,
    ask,
    clinical_cases,
    collection,
    ends,
    recipe_corpus,
    recipe_qrels,
    recipe_queries,
    some_runs,
)
from frozen.subjects import subject

FIELDS: Any = {"category": [], "difficulty": [], "length": [6, 9, 13]}
BINNED = "length"


@subject
def segments() -> Any:
    """Recipes by category, difficulty and length: means, differences by Holm, cost of a group.

    Oracle: SciPy (`test_oracles_diagnosis`).
    """
    groups: dict[str, Any] = {}
    costs: dict[str, Any] = {}
    for field, cuts in FIELDS.items():
        for measure in ("nDCG@10", "RR@10"):
            answer = _by_field({field: cuts}, some_runs(), measure, baseline="lexical")
            for group in answer.groups:
                row = groups.setdefault(field, {}).setdefault(group.label, {"queries": group.n})
                row |= {f"{name} {measure}": _mean(group, name) for name in group.means}
        for system in some_runs():
            answer = _by_field({field: cuts}, some_runs(system), "nDCG@10")
            costs[f"{field} of {system}"] = {group.label: _cost(group) for group in answer.groups}
    groups[BINNED] = list(groups[BINNED].values())
    return {
        "groups": groups,
        "costs": {
            name: sorted(rows.values()) if name.startswith(BINNED) else rows
            for name, rows in costs.items()
        },
    }


def _by_field(fields: Any, runs: Any, measure: str, **more: Any) -> Any:
    configs = {"segments": fields}
    more = {"queries": recipe_queries(), **more}
    return ask("segments", recipe_qrels(), runs, measure, configs=configs, **more)


def _mean(group: Any, system: str) -> Any:
    mean, change = group.means[system], group.changes.get(system)
    return {
        "mean": mean.value,
        "interval": ends(mean),
        "difference": change and change.value,
        "p": change and change.p_corrected,
    }


def _cost(group: Any) -> Any:
    return [group.n, group.mean, group.rest, group.difference.value, group.p, group.cost]


@subject
def query_traits() -> Any:
    """Groups by what texts, judgments and documents say of queries.

    The rules have no oracle but the examples in their docstrings and tests.
    """
    texts: Any = {"corpus": recipe_corpus()}
    fields: Any = {"constraints": [], "overlap": []}
    answer = _by_field(fields, some_runs("lexical"), "nDCG@10", **texts)
    return {
        field: {
            "queries": [group.n for group in answer.groups if group.field == field],
            "means": [
                group.means["lexical"].value for group in answer.groups if group.field == field
            ],
            "unknown": answer.unlabelled[field],
        }
        for field in fields
    }


HITS = {"de": [1, 1, 1, 1, 1], "en": [0, 0, 0, 0, 0], "fr": [1, 0, 1, 0, 1]}


@subject
def languages() -> Any:
    """Clinical phrases in five languages, and values planted by hand; the worst pair of languages.

    Oracle: SciPy (`test_oracles_diagnosis`).
    """
    cases = clinical_cases()
    measures = ["RR@10", "Success@5"]
    clinical = ask("languages", cases.qrels, cases.runs, measures, queries=cases.queries)
    hits = {f"{name}{n}": hit for name, row in HITS.items() for n, hit in enumerate(row)}
    qrels = {query_id: {"d": 1} for query_id in hits}
    run = {query_id: ["d"] if hit else ["x"] for query_id, hit in hits.items()}
    queries = {query_id: {"text": query_id, "language": query_id[:2]} for query_id in hits}
    planted = ask("languages", qrels, {"s": run}, "Success@5", queries=queries)
    return {"clinical phrases": _languages(clinical), "planted": _languages(planted)}


def _languages(answer: Any) -> Any:
    return {
        f"{row.measure} {row.system}": {
            "languages": {
                language: [row.queries[language], mean.value, ends(mean)]
                for language, mean in row.means.items()
            },
            "mean": row.mean,
            "variance": row.variance,
            "spread": row.spread,
            "worst pair": row.worst
            and [row.worst.difference.value, row.worst.p, row.worst.p_corrected],
            "pairs, differing": [row.pairs, row.differing],
        }
        for row in answer.systems
    }


LENGTHS = {70: [3, 4], 200: [2, 3, 4]}
"""Where ranges of words begin, by the number of cases."""


@subject
def hpo_german() -> Any:
    """German clinical phrases in two sets, of 70 and of 200 cases: gaps, failures, words."""
    folder = collection("hpo-german")
    return {
        name: _german(json.loads((folder / f"{name}_gemini_v1.json").read_text()))
        for name in ("70cases", "200cases")
    }


def _german(content: Any) -> Any:
    listed = content["test_cases"] if isinstance(content, dict) else content
    cases = as_cases([{"case_id": f"case {n}", **case} for n, case in enumerate(listed, 1)])
    asked = ["RR@10", "Success@5", "AP"]
    gaps = ask("gaps", cases.qrels, cases.runs, asked)
    failures = ask("failures", cases.qrels, cases.runs, asked)
    by_length = [
        ask(
            "segments",
            cases.qrels,
            cases.runs,
            measure,
            queries={query_id: query["text"] for query_id, query in cases.queries.items()},
            configs={"segments": {"length": LENGTHS[len(cases.qrels)]}},
        )
        for measure in asked
    ]
    return {
        "cases": len(cases.qrels),
        "gaps": {
            row.system: {
                "now": row.now,
                "ideal": row.ideal,
                "ranking": row.ranking.value,
                "retrieval": row.retrieval.value,
                "success by rank": list(row.success.values()),
            }
            for row in gaps.systems
        },
        "failures": {
            row.system: {cause: len(query_ids) for cause, query_ids in row.causes.items()}
            for row in failures.systems
        },
        "words": [
            {"cases": groups[0].n}
            | {
                f"{system} {measure}": mean.value
                for measure, group in zip(asked, groups, strict=True)
                for system, mean in group.means.items()
            }
            for groups in zip(*(answer.groups for answer in by_length), strict=True)
        ],
    }
