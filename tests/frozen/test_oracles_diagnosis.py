"""Frozen diagnoses against short derivations of their own: sets, formulas, all ways tried, SciPy.

Nothing here asks an analysis. Values of queries are made by the naive measures below.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from frozen.diagnosed import (
    HOSTILE_QRELS,
    HOSTILE_RUNS,
    clinical_cases,
    recipe_qrels,
    recipe_queries,
    recipe_runs,
)
from frozen.freezing import written
from frozen.subjects import costs, decisions, texts

Judged = Mapping[str, float]
Measure = Callable[[Judged, Sequence[str]], float]


def same(expected: Any) -> Any:
    return pytest.approx(expected, rel=1e-12, abs=1e-12)


# --- naive measures ------------------------------------------------------------------------------


def dcg(grades: Iterable[float], cutoff: int) -> float:
    gains = [max(grade, 0) for grade in grades][:cutoff]
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def ndcg(judged: Judged, ranking: Sequence[str], cutoff: int = 10) -> float:
    ideal = dcg(sorted(judged.values(), reverse=True), cutoff)
    return dcg((judged.get(d, 0) for d in ranking), cutoff) / ideal if ideal else 0.0


def rr(judged: Judged, ranking: Sequence[str], cutoff: int = 10) -> float:
    ranks = [rank for rank, d in enumerate(ranking[:cutoff], 1) if judged.get(d, 0) >= 1]
    return 1 / ranks[0] if ranks else 0.0


def precision(judged: Judged, ranking: Sequence[str], cutoff: int = 3) -> float:
    return sum(judged.get(d, 0) >= 1 for d in ranking[:cutoff]) / cutoff


def mean(values: Iterable[float]) -> float:
    listed = list(values)
    return math.fsum(listed) / len(listed)


@cache
def recipes() -> dict[str, dict[str, float]]:
    judged: dict[str, dict[str, float]] = recipe_qrels().to_dict()
    return judged


def values(system: str, depth: int = 0) -> list[float]:
    """Return nDCG@10 of each query, with so many documents put into the best order."""
    found = []
    for query_id, judged in recipes().items():
        ranking = recipe_runs()[system][query_id]
        best = sorted(ranking[:depth], key=lambda d: -max(judged.get(d, 0), 0))
        found.append(ndcg(judged, [*best, *ranking[depth:]]))
    return found


def relevant_in(system: str, cutoff: int | None = 10) -> set[tuple[str, str]]:
    run = recipe_runs()[system]
    return {
        (query_id, d)
        for query_id, judged in recipes().items()
        for d in run[query_id][:cutoff]
        if judged.get(d, 0) >= 1
    }


# --- gaps, stages, failures ----------------------------------------------------------------------


@pytest.mark.parametrize("system", ["lexical", "hybrid", "reranked"])
def test_gaps(system: str) -> None:
    row = written("gaps")["recipes"]["nDCG@10"]["systems"][system]
    now, best = np.array(values(system)), np.array(values(system, 100))
    for depth, value in row["reranked"].items():
        assert value == same(mean(values(system, int(depth))))
    for part, gains in (("ranking", best - now), ("retrieval", 1 - best)):
        around = stats.t.interval(0.95, len(gains) - 1, gains.mean(), stats.sem(gains))
        assert row[part] == same([gains.mean(), *around])
    hits = [len({q for q, _ in relevant_in(system, k)}) / len(recipes()) for k in (1, 3, 5, 10)]
    assert row["success by rank"][:4] == same(hits)


@pytest.mark.parametrize(
    ("system", "below"),
    [("reranked", "fused"), ("cut", "reranked"), ("sorted", "lexical")],
)
def test_stages(system: str, below: str) -> None:
    row = written("stages")["stages"][system]
    above, base = relevant_in(system), relevant_in(below)
    assert row["relevant in the first 10"] == {
        "kept": len(above & base),
        "lost": len(base - above),
        "promoted": len(above - base),
    }
    gone = relevant_in(below, None) - relevant_in(system, None)
    assert row["dropped"]["documents"] == len(gone)
    difference = mean(values(system)) - mean(values(below))
    assert row["differences"][f"nDCG@10 to {below}"][0] == same(difference)
    assert row["per cent"][f"nDCG@10 to {below}"] == same(100 * difference / mean(values(below)))


def test_failures() -> None:
    for system, row in written("failures")["recipes"].items():
        run, causes = recipe_runs()[system], Counter[str]()
        for query_id, judged in recipes().items():
            top = max((judged.get(d, 0) for d in run[query_id][:10]), default=0)
            missed = {d for d, grade in judged.items() if grade > max(top, 0)}
            if missed and top > 0:
                causes["only lower grades on top"] += 1
            elif missed:
                found = missed & set(run[query_id])
                causes["below the cutoff" if found else "not retrieved"] += 1
        assert row["causes"] == causes


# --- groups of queries ---------------------------------------------------------------------------


def random_subset(whole: Any, part: Any) -> float:
    """Return twice the smaller tail of a random subset's mean: Pearson's type III, 3 moments.

    The normal distribution counts where its tail is larger.
    """
    row, size, total = np.array(whole), len(part), len(whole)
    second, third = (float(((row - row.mean()) ** power).mean()) for power in (2, 3))
    variance = second / size * (total - size) / (total - 1)
    skew = third / size**2 * (total - size) * (total - 2 * size) / ((total - 1) * (total - 2))
    law = stats.pearson3(skew / variance**1.5, row.mean(), math.sqrt(variance))
    at, normal = mean(part), stats.norm(row.mean(), math.sqrt(variance))
    tails = [min(each.cdf(at), each.sf(at)) for each in (law, normal)]
    return float(min(1.0, 2 * max(tails)))


@pytest.mark.parametrize("field", ["category", "difficulty"])
def test_segments(field: str) -> None:
    groups: dict[str, list[int]] = {}
    for place, query_id in enumerate(recipes()):
        label = recipe_queries().metadata_of(query_id)[field]
        groups.setdefault(label, []).append(place)
    frozen = written("segments")
    for system in ("lexical", "hybrid", "reranked"):
        found = np.array(values(system))
        for label, places in groups.items():
            row, inside = frozen["groups"][field][label][f"{system} nDCG@10"], found[places]
            around = stats.t.interval(0.95, len(inside) - 1, inside.mean(), stats.sem(inside))
            assert row["mean"] == same(inside.mean())
            assert row["interval"] == same([max(around[0], 0), min(around[1], 1)])
            rest = np.delete(found, places)
            cost = frozen["costs"][f"{field} of {system}"][label]
            assert cost[1:3] == same([inside.mean(), rest.mean()])
            assert cost[4] == pytest.approx(random_subset(found, inside), rel=1e-9)


def test_languages() -> None:
    cases = clinical_cases()
    groups: dict[str, list[float]] = {}
    for query_id, judged in cases.qrels.items():
        value = rr(judged, cases.runs["letters"][query_id])
        groups.setdefault(cases.queries[query_id]["language"], []).append(value)
    row = written("languages")["clinical phrases"]["RR@10 letters"]
    means = {language: mean(group) for language, group in groups.items()}
    assert {name: each[1] for name, each in row["languages"].items()} == same(means)
    assert row["variance"] == same(float(np.var(list(means.values()))))
    best, worst = (groups[choose(means, key=means.__getitem__)] for choose in (max, min))
    welch = stats.ttest_ind(best, worst, equal_var=False).pvalue
    p = max(welch, random_subset([*best, *worst], best))
    assert row["worst pair"][:2] == pytest.approx([mean(best) - mean(worst), p], rel=1e-9)


# --- baselines, holes, ties ----------------------------------------------------------------------


def test_random_rankings() -> None:
    """Each of 200 recipes is as likely at each rank; R of them are relevant: hypergeometric."""
    rows, documents = written("baselines")["recipes"], 200
    counts = [sum(grade >= 1 for grade in judged.values()) for judged in recipes().values()]
    missed = [[stats.hypergeom.pmf(0, documents, r, k) for k in range(11)] for r in counts]
    assert rows["Success@5"]["random"] == same(mean(1 - row[5] for row in missed))
    first = [sum((row[k - 1] - row[k]) / k for k in range(1, 11)) for row in missed]
    assert rows["RR@10"]["random"] == same(mean(first))
    assert rows["P@5"]["random"] == same(mean(counts) / documents)
    assert rows["P@5"]["ideal"] == same(mean(min(count, 5) / 5 for count in counts))


def test_shares_of_unjudged_documents() -> None:
    for system, row in written("holes")["recipes"]["unjudged"].items():
        for depth, figures in row["by depth"].items():
            tops = [(j, recipe_runs()[system][q][: int(depth)]) for q, j in recipes().items()]
            documents = sum(len(top) for _, top in tops)
            unjudged = sum(d not in judged for judged, top in tops for d in top)
            assert figures == same([documents, unjudged, unjudged / documents])


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("nDCG@3", lambda j, r: ndcg(j, r, 3)),
        ("RR", lambda j, r: rr(j, r, 99)),
        ("P@2", lambda j, r: precision(j, r, 2)),
    ],
)
def test_bounds_over_all_orders_of_ties(name: str, measure: Measure) -> None:
    rows = written("tie_effects")["hostile"][name]["systems"]
    for system, run in HOSTILE_RUNS.items():
        ends = []
        for query_id, judged in HOSTILE_QRELS.items():
            found = run.get(query_id, {})
            scores = sorted(set(found.values()), reverse=True)
            groups = [permutations([d for d in found if found[d] == score]) for score in scores]
            ways = [
                measure(judged, [d for group in way for d in group]) for way in product(*groups)
            ]
            ends.append((min(ways), max(ways)))
        assert rows[system]["bounds"] == same([mean(low) for low in zip(*ends, strict=True)])


# --- decisions, costs, texts ---------------------------------------------------------------------


def share(count: int, total: int) -> list[Any]:
    wilson = stats.binomtest(count, total).proportion_ci(method="wilson")
    return [count, total, same(count / total), same([wilson.low, wilson.high])]


def test_routing() -> None:
    """21 of 30 are sent where they belong: 12 of 17 of a, 9 of 10 of b, none of 3 of c."""
    frozen = written("routing")["confused"]
    assert frozen["accuracy"] == share(21, 30)
    assert frozen["routes"]["a"]["precision"] == share(12, 13)
    assert frozen["routes"]["a"]["recall"] == share(12, 17)
    assert frozen["load"]["busiest"] == same(17 / (30 / 3))


def test_a_gate() -> None:
    rows = [row for row in decisions.gated() if row["needed"] is not None]
    counts = Counter((row["retrieved"], row["needed"]) for row in rows)
    hits, alarms, misses = counts[True, True], counts[True, False], counts[False, True]
    frozen = written("routing")["gate"]
    assert frozen["precision"] == share(hits, hits + alarms)
    assert frozen["recall"] == share(hits, hits + misses)
    assert frozen["F1"][0] == same(2 * hits / (2 * hits + alarms + misses))


def test_refusals_over_all_pairs_and_thresholds() -> None:
    high = [decisions.high(n) for n in range(decisions.ANSWERED)]
    low = [decisions.low(n) if n != 4 else None for n in range(decisions.EMPTY)]
    scores = [[-math.inf if s is None else s for s in part] for part in (high, low)]
    frozen = written("unanswerable")["systems"]["scores"]
    won = [(a > b) + (a == b) / 2 for a, b in product(*scores)]
    assert frozen["AUC"][0] == same(mean(won))
    ways = [
        mean(score < threshold for score in scores[1])
        + mean(score >= threshold for score in scores[0])
        for threshold in {*scores[0], *scores[1]}
    ]
    assert frozen["balanced accuracy"] == same(max(ways) / 2)


def test_fronts_over_all_pairs() -> None:
    priced = {name: each["euros"] for name, each in costs.COSTS.items() if "euros" in each}
    known = {name: (mean(1 / rank for rank in costs.RANKS[name]), priced[name]) for name in priced}
    for name, (quality, price) in known.items():
        above = [(q, c) for q, c in known.values() if q >= quality and c <= price]
        others = len(above) - above.count((quality, price))
        row = written("pareto")["less is better"]["RR and euros"][name]
        assert row == [price, same(quality), int(not others), others]


def test_copies_by_their_shingles() -> None:
    shingles = {}
    for doc_id, document in texts.COPIED.items():
        words = f"{document['title']} {document['text']}".lower().split()
        shingles[doc_id] = {tuple(words[at : at + 5]) for at in range(len(words) - 4)}
    pairs = [pair for pair in combinations(shingles, 2) if shingles[pair[0]] and shingles[pair[1]]]
    near = {
        (a, b): len(shingles[a] & shingles[b]) / len(shingles[a] | shingles[b]) for a, b in pairs
    }
    frozen = written("duplicates")
    for name, least in (("planted", 0.9), ("planted, similarity 0.8", 0.8)):
        alike = {doc_id for pair, share in near.items() if share >= least for doc_id in pair}
        assert frozen[name]["all copies"][0] == len(alike)


def test_an_index() -> None:
    for name, (hits, stored) in costs.HITS.items():
        row = written("approximation")[name]
        shares = [count / 10 for count in hits]
        around = stats.t.interval(0.95, 7, mean(shares), stats.sem(shares))
        assert row["interval"] == same([around[0], min(around[1], 1)])
        if stored is not None:
            assert row["lost by quantisation"] == same(1 - mean(stored) / 10)
            assert row["lost by the index"] == same(mean(stored) / 10 - mean(shares))
