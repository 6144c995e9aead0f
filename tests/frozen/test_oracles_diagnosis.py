"""Frozen diagnoses against short derivations of their own: sets, formulas, all ways tried, scipy.

Nothing here asks an analysis. Values of queries are made by the naive measures below.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import combinations, permutations, product
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from frozen.diagnosed import (
    HOSTILE_QRELS,
    HOSTILE_RUNS,
    clinical_cases,
    recipe_qrels,
    recipe_queries,
    recipe_runs,
)
from frozen.freezing import written
from frozen.subjects.costs import COSTS, HITS, RANKS
from frozen.subjects.decisions import ANSWERED, EMPTY, gated, high, low
from frozen.subjects.groups import HITS as SPOKEN
from frozen.subjects.texts import COPIED

stats: Any = import_module("scipy.stats")
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


def recall(judged: Judged, ranking: Sequence[str], cutoff: int) -> float:
    relevant = {d for d, grade in judged.items() if grade >= 1}
    return len(relevant & set(ranking[:cutoff])) / len(relevant) if relevant else 0.0


def mean(values: Iterable[float]) -> float:
    listed = list(values)
    return math.fsum(listed) / len(listed)


@cache
def recipes() -> dict[str, dict[str, float]]:
    judged: dict[str, dict[str, float]] = recipe_qrels().to_dict()
    return judged


def values(system: str, measure: Measure = ndcg) -> list[float]:
    run = recipe_runs()[system]
    return [measure(judged, run[query_id]) for query_id, judged in recipes().items()]


def ranked(system: str) -> dict[str, list[str]]:
    """Return the hostile run as lists: by score, equal ones by id, both from high to low."""
    return {
        query_id: sorted(found, key=lambda d: (found[d], d.encode()), reverse=True)
        for query_id, found in HOSTILE_RUNS[system].items()
    }


def reranked(judged: Judged, ranking: Sequence[str], depth: int) -> list[str]:
    first = sorted(ranking[:depth], key=lambda d: -max(judged.get(d, 0), 0))
    return [*first, *ranking[depth:]]


# --- gaps, stages, failures ----------------------------------------------------------------------


@pytest.mark.parametrize("system", ["lexical", "hybrid", "reranked"])
def test_gaps_of_the_recipes(system: str) -> None:
    row = written("gaps")["recipes"]["nDCG@10"]["systems"][system]
    now = values(system)
    best = values(system, lambda judged, found: ndcg(judged, reranked(judged, found, 100)))
    assert row["now"] == same(mean(now))
    for depth, value in row["reranked"].items():
        found = values(system, lambda j, r, k=int(depth): ndcg(j, reranked(j, r, k)))  # type: ignore[misc]
        assert value == same(mean(found))
    for part, gains in (
        ("ranking", np.subtract(best, now)),
        ("retrieval", 1 - np.array(best)),
    ):
        around = stats.t.interval(0.95, len(gains) - 1, gains.mean(), stats.sem(gains))
        assert row[part] == same([gains.mean(), *around])
    assert row["success by rank"][:4] == same(
        [mean(values(system, lambda j, r, k=k: recall(j, r, k) > 0)) for k in (1, 3, 5, 10)]  # type: ignore[misc]
    )
    assert row["recall by rank"][:4] == same(
        [mean(values(system, lambda j, r, k=k: recall(j, r, k))) for k in (1, 3, 5, 10)]  # type: ignore[misc]
    )


def relevant_in(system: str, cutoff: int | None = 10) -> set[tuple[str, str]]:
    run = recipe_runs()[system]
    return {
        (query_id, d)
        for query_id, judged in recipes().items()
        for d in run[query_id][:cutoff]
        if judged.get(d, 0) >= 1
    }


def test_stages_by_sets() -> None:
    stages = written("stages")["stages"]
    for system, below in (
        ("fused", ["hybrid"]),
        ("reranked", ["fused"]),
        ("cut", ["reranked"]),
        ("sorted", ["lexical"]),
    ):
        row, above, base = stages[system], relevant_in(system), relevant_in(below[0])
        assert row["relevant in the first 10"] == {
            "kept": len(above & base),
            "lost": len(base - above),
            "promoted": len(above - base),
        }
        inputs = ["lexical", "hybrid"] if system == "fused" else below
        given = set().union(*(relevant_in(name, None) for name in inputs))
        gone = given - relevant_in(system, None)
        assert row["dropped"]["documents"] == len(gone)
        assert row["dropped"]["queries"] == len({query_id for query_id, _ in gone})
        for name in inputs:
            test = stats.ttest_rel(values(system), values(name))
            difference = mean(values(system)) - mean(values(name))
            p = 1.0 if math.isnan(test.pvalue) else test.pvalue
            assert row["differences"][f"nDCG@10 to {name}"] == same([difference, p])
            assert row["per cent"][f"nDCG@10 to {name}"] == same(
                100 * difference / mean(values(name))
            )


def test_failures_are_counted() -> None:
    rows = written("failures")["recipes"]
    for system, row in rows.items():
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
        assert row["failing"] == causes.total()


# --- groups of queries ---------------------------------------------------------------------------


def holm(p_values: Sequence[float]) -> list[float]:
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, highest = [0.0] * len(p_values), 0.0
    for place, at in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[at]))
        adjusted[at] = highest
    return adjusted


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
def test_segments_by_scipy(field: str) -> None:
    groups: dict[str, list[int]] = {}
    for place, query_id in enumerate(recipes()):
        label = recipe_queries().metadata_of(query_id)[field]
        groups.setdefault(label, []).append(place)
    frozen, costs = written("segments")["groups"][field], written("segments")["costs"]
    assert set(frozen) == set(groups)
    for system in ("lexical", "hybrid", "reranked"):
        found, base = np.array(values(system)), np.array(values("lexical"))
        tests = []
        for label, places in groups.items():
            row, inside = frozen[label][f"{system} nDCG@10"], found[places]
            around = stats.t.interval(0.95, len(inside) - 1, inside.mean(), stats.sem(inside))
            assert row["mean"] == same(inside.mean())
            assert row["interval"] == same([max(around[0], 0), min(around[1], 1)])
            rest = np.delete(found, places)
            lost = (rest.mean() - inside.mean()) * len(inside) / len(found)
            cost = costs[f"{field} of {system}"][label]
            assert cost[:4] == same(
                [len(inside), inside.mean(), rest.mean(), inside.mean() - rest.mean()]
            )
            assert cost[4] == pytest.approx(random_subset(found, inside), rel=1e-9)
            assert cost[5] == same(max(lost, 0))
            tests.append(stats.ttest_rel(inside, base[places]).pvalue)
        if system != "lexical":
            assert [frozen[label][f"{system} nDCG@10"]["p"] for label in groups] == same(
                holm(tests)
            )


def test_languages_by_scipy() -> None:
    cases = clinical_cases()
    groups: dict[str, list[float]] = {}
    for query_id, judged in cases.qrels.items():
        value = rr(judged, cases.runs["letters"][query_id])
        groups.setdefault(cases.queries[query_id]["language"], []).append(value)
    row = written("languages")["clinical phrases"]["RR@10 letters"]
    means = {language: mean(group) for language, group in groups.items()}
    assert {name: each[:2] for name, each in row["languages"].items()} == {
        name: same([len(groups[name]), means[name]]) for name in groups
    }
    assert row["mean"] == same(mean(means.values()))
    assert row["variance"] == same(float(np.var(list(means.values()))))
    assert row["spread"] == same(max(means.values()) - min(means.values()))
    best, worst = (groups[choose(means, key=means.__getitem__)] for choose in (max, min))
    welch = stats.ttest_ind(best, worst, equal_var=False).pvalue
    assert row["worst pair"][0] == same(mean(best) - mean(worst))
    assert row["worst pair"][1] == pytest.approx(
        max(welch, random_subset([*best, *worst], best)), rel=1e-9
    )
    planted = written("languages")["planted"]["Success@5 s"]
    fisher = stats.fisher_exact([[5, 0], [0, 5]]).pvalue
    assert planted["worst pair"] == same([1, fisher, 3 * fisher])
    assert planted["variance"] == same(float(np.var([mean(v) for v in SPOKEN.values()])))


# --- baselines, holes, ties ----------------------------------------------------------------------


def test_random_rankings_by_formula() -> None:
    """Each of 200 recipes is as likely at each rank; R of them are relevant: hypergeometric."""
    rows, documents = written("baselines")["recipes"], 200
    counts = [sum(grade >= 1 for grade in judged.values()) for judged in recipes().values()]
    hits = [1 - stats.hypergeom.pmf(0, documents, count, 5) for count in counts]
    assert rows["Success@5"]["random"] == same(mean(hits))
    assert rows["Success@5"]["deviation of random"] == same(
        math.sqrt(math.fsum(p * (1 - p) for p in hits)) / len(hits)
    )
    assert rows["R@50"]["random"] == same(50 / documents)
    assert rows["P@5"]["random"] == same(mean(counts) / documents)
    first = [
        math.fsum(
            (stats.hypergeom.pmf(0, documents, r, k - 1) - stats.hypergeom.pmf(0, documents, r, k))
            / k
            for k in range(1, 11)
        )
        for r in counts
    ]
    assert rows["RR@10"]["random"] == same(mean(first))
    expected = [
        sum(judged.values())
        / documents
        * dcg([1] * 10, 10)
        / dcg(sorted(judged.values())[::-1], 10)
        for judged in recipes().values()
    ]
    assert rows["nDCG@10"]["random"] == same(mean(expected))
    assert rows["P@5"]["ideal"] == same(mean(min(count, 5) / 5 for count in counts))
    one = written("baselines")["one target of 200"]
    harmonic = math.fsum(1 / rank for rank in range(1, 8))  # the longest answer has 7 documents
    assert one["RR"]["random"] == same(harmonic / 200)
    assert one["Success@5"]["random"] == same(5 / 200)


def test_shares_of_unjudged_documents() -> None:
    for system, row in written("holes")["recipes"]["unjudged"].items():
        for depth, figures in row["by depth"].items():
            tops = [(j, recipe_runs()[system][q][: int(depth)]) for q, j in recipes().items()]
            documents = sum(len(top) for _, top in tops)
            unjudged = sum(d not in judged for judged, top in tops for d in top)
            assert figures == same([documents, unjudged, unjudged / documents])


@pytest.mark.parametrize(
    ("name", "measure", "cutoff"),
    [("nDCG@10", ndcg, 10), ("P@3", precision, 3), ("RR", lambda j, r: rr(j, r, 99), 99)],
)
def test_bounds_over_all_ways_to_judge(name: str, measure: Measure, cutoff: int) -> None:
    """Every subset of what is unjudged on top is relevant, with grade 1; negative is unjudged.

    RR is decided by the first document that is relevant: of a long answer ten are tried.
    """
    rows = written("holes")["hostile"]["means"]
    for system in HOSTILE_RUNS:
        lowest, highest = [], []
        for query_id, grades in HOSTILE_QRELS.items():
            judged = {d: grade for d, grade in grades.items() if grade >= 0}
            found = ranked(system).get(query_id, [])
            holes = [d for d in found[:cutoff] if d not in judged][:10]
            ways = [
                measure({**judged, **dict.fromkeys(some, 1), **dict.fromkeys(rest, 0)}, found)
                for marks in product((0, 1), repeat=len(holes))
                for some in [[d for d, mark in zip(holes, marks, strict=True) if mark]]
                for rest in [[d for d, mark in zip(holes, marks, strict=True) if not mark]]
            ]
            lowest.append(min(ways))
            highest.append(max(ways))
        assert rows[f"{name} {system}"]["bounds"] == same([mean(lowest), mean(highest)])


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
        tied = [n for found in run.values() for n in Counter(found.values()).values() if n > 1]
        assert rows[system]["tied documents"] == sum(tied)


# --- routing, refusals, cost ---------------------------------------------------------------------


def wilson(count: int, total: int) -> list[float]:
    z = NormalDist().inv_cdf(0.975)
    p, centre = count / total, 1 + z * z / total
    middle = (p + z * z / (2 * total)) / centre
    half = z / centre * math.sqrt(p * (1 - p) / total + z * z / (4 * total**2))
    return [middle - half, middle + half]


def test_routing_by_hand() -> None:
    """21 of 30 are sent where they belong: 12 of 17 of a, 9 of 10 of b, none of 3 of c."""
    frozen = written("routing")["confused"]
    assert frozen["accuracy"] == [21, 30, same(0.7), same(wilson(21, 30))]
    assert frozen["routes"]["a"]["precision"][:3] == [12, 13, same(12 / 13)]
    assert frozen["routes"]["a"]["recall"] == [12, 17, same(12 / 17), same(wilson(12, 17))]
    assert frozen["routes"]["b"]["precision"][:3] == [9, 17, same(9 / 17)]
    loads = [0, 13, 17]
    shares = [load / 30 for load in loads if load]
    assert frozen["load"]["entropy"] == same(-sum(p * math.log(p) for p in shares) / math.log(3))
    apart = sum(abs(a - b) for a, b in product(loads, repeat=2))
    assert frozen["load"]["Gini"] == same(apart / (2 * 3 * 30))
    assert frozen["load"]["busiest"] == same(17 / 10)


def test_a_gate_by_counting() -> None:
    rows = [row for row in gated() if row["needed"] is not None]
    counts = Counter((row["retrieved"], row["needed"]) for row in rows)
    hits, alarms, misses = counts[True, True], counts[True, False], counts[False, True]
    frozen = written("routing")["gate"]
    assert frozen["precision"] == [
        hits,
        hits + alarms,
        same(hits / (hits + alarms)),
        same(wilson(hits, hits + alarms)),
    ]
    assert frozen["recall"][:3] == [hits, hits + misses, same(hits / (hits + misses))]
    assert frozen["F1"][0] == same(2 * hits / (2 * hits + alarms + misses))
    around = [2 * j / (1 + j) for j in wilson(hits, hits + alarms + misses)]
    assert frozen["F1"][1] == same(around)


def test_refusals_over_all_pairs_and_thresholds() -> None:
    low = [low(n) if n != 4 else None for n in range(EMPTY)]
    high = [high(n) for n in range(ANSWERED)]
    scores = [[-math.inf if s is None else s for s in part] for part in (high, low)]
    frozen = written("unanswerable")["systems"]["scores"]
    won = [(a > b) + (a == b) / 2 for a, b in product(*scores)]
    assert frozen["AUC"][0] == same(mean(won))
    for given, rightly, wrongly, value in frozen["thresholds"]:
        # the last is just above the highest score, which 15 digits do not tell
        threshold = given if given < max(map(max, scores)) else math.inf
        assert rightly == same(mean(score < threshold for score in scores[1]))
        assert wrongly == same(mean(score < threshold for score in scores[0]))
        kept = [(n, s) for n, s in enumerate(scores[0]) if s >= threshold and s > -math.inf]
        assert value == same(sum(1 if n < 10 else 1 / 2 for n, _ in kept) / ANSWERED)
    best = max((right + 1 - wrong) / 2 for _, right, wrong, _ in frozen["thresholds"])
    assert frozen["balanced accuracy"] == same(best)


def test_fronts_over_all_pairs() -> None:
    for way, sign in (("less is better", 1), ("more is better", -1)):
        for cost in ("ms", "euros"):
            known = {
                name: (
                    mean(1 / rank for rank in ranks),
                    costs[cost] * (sign if cost == "ms" else 1),
                )
                for name, ranks in RANKS.items()
                for costs in [COSTS[name]]
                if cost in costs
            }
            for name, (quality, price) in known.items():
                above = [
                    other
                    for other, (q, c) in known.items()
                    if q >= quality and c <= price and (q, c) != (quality, price)
                ]
                assert written("pareto")[way][f"RR and {cost}"][name] == [
                    COSTS[name][cost],
                    same(quality),
                    int(not above),
                    len(above),
                ]


# --- texts and indexes ---------------------------------------------------------------------------


def test_copies_by_their_shingles() -> None:
    def shingles(doc_id: str) -> set[tuple[str, ...]]:
        document = COPIED[doc_id]
        words = f"{document['title']} {document['text']}".lower().split()
        return {tuple(words[at : at + 5]) for at in range(len(words) - 4)}

    texts = {doc_id: found for doc_id in COPIED if (found := shingles(doc_id))}
    near = {
        frozenset(pair): len(texts[pair[0]] & texts[pair[1]]) / len(texts[pair[0]] | texts[pair[1]])
        for pair in combinations(texts, 2)
    }
    frozen = written("duplicates")
    assert frozen["planted"]["similarity"]["q1 a near"] == same(near[frozenset({"a", "near"})])
    for name, least in (("planted", 0.9), ("planted, similarity 0.8", 0.8)):
        alike = {doc_id for pair, share in near.items() if share >= least for doc_id in pair}
        assert frozen[name]["all copies"][0] == len(alike)
    assert sum(share == 1 for share in near.values()) == frozen["planted"]["exact copies"][1]


def test_an_index_by_hand() -> None:
    for name, (hits, stored, _) in HITS.items():
        row = written("approximation")[name]
        shares = [count / 10 for count in hits]
        around = stats.t.interval(0.95, 7, mean(shares), stats.sem(shares))
        assert row["recall"] == same(mean(shares))
        assert row["interval"] == same([around[0], min(around[1], 1)])
        if stored is not None:
            assert row["lost by quantisation"] == same(1 - mean(stored) / 10)
            assert row["lost by the index"] == same(mean(stored) / 10 - mean(shares))
