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

FIELDS = ["category", "difficulty", "words", "characters"]


@subject
def segments() -> Any:
    """Recipes by category, difficulty and length: means, differences by Holm, cost of a group.

    Oracle: SciPy (`test_oracles_diagnosis`).
    """
    options: Any = {"queries": recipe_queries(), "baseline": "lexical", "configs": _by(FIELDS)}
    answer = ask("segments", recipe_qrels(), some_runs(), ["nDCG@10", "RR@10"], **options)
    return {
        "groups": {segment.field: _segment(segment) for segment in answer.segments},
        "costs": _costs(answer),
    }


def _by(fields: list[str]) -> dict[str, Any]:
    return {"segments": {"fields": fields}}


def _segment(segment: Any) -> Any:
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


TRAITS = ["complexity", "question word", "rarity", "relevant documents", "overlap"]


@subject
def query_traits() -> Any:
    """Groups by what texts, judgments and documents say of queries.

    The rules have no oracle but the examples in their docstrings and tests.
    """
    texts: Any = {"queries": recipe_queries(), "corpus": recipe_corpus()}
    recipes = ask("segments", recipe_qrels(), some_runs("lexical"), configs=_by(TRAITS), **texts)
    cases = clinical_cases()
    letters, options = {"letters": cases.runs["letters"]}, {"configs": _by(TRAITS[:3])}
    clinical = ask("segments", cases.qrels, letters, "RR@10", queries=cases.queries, **options)
    return {"recipes": _by_trait(recipes), "clinical phrases": _by_trait(clinical)}


def _by_trait(answer: Any) -> Any:
    return {
        segment.field: {
            "queries": [group.n for group in segment.groups],
            "means": [group.means[0].mean for group in segment.groups],
            "unknown": segment.unlabelled,
        }
        for segment in answer.segments
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
                each.language: [each.n, each.mean, ends(each.interval)] for each in row.languages
            },
            "mean": row.mean,
            "variance": row.variance,
            "spread": row.spread,
            "worst pair": row.worst and [row.worst.difference, row.worst.p, row.worst.p_corrected],
            "pairs, differing": [row.pairs, row.differing],
        }
        for row in answer.systems
    }


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
    segments = ask(
        "segments",
        cases.qrels,
        cases.runs,
        asked,
        queries={query_id: query["text"] for query_id, query in cases.queries.items()},
        configs={"segments": {"fields": ["words"]}},
    )
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
            {"cases": group.n} | {f"{row.system} {row.measure}": row.mean for row in group.means}
            for group in segments.segments[0].groups
        ],
    }
