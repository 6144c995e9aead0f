"""False positives where queries are not independent, weigh unequally, or systems are noisy.

``python benches/dependence.py [--runs FOLDER] [--qrels FILE] [--repetitions 4000]``

Differences of all pairs of up to eight runs, drawn with weights under which their mean is 0, are
the truth of *topics*. A false positive is p ≤ 0.05. Beside each method is what one gets without it.

- *paraphrases*: a topic drawn is asked 1 to 9 times; each answer is the topic's difference plus
  noise of half its standard deviation.
- *traffic*: topics weigh as 1/rank (Zipf), in random order; the interval of the weighted mean.
- *seeds*: r runs of both systems; a seed moves all queries by 0.02 (one standard deviation) and
  each query by 0.05.
- *engine*: one run of each system on an engine that moves a run by 0.02 and each query by 0.05; r
  repeated runs of one system show how much.
"""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np

from populations import (
    Floats,
    Population,
    arguments,
    equalising_weights,
    marked,
    populations,
    table,
)
from rankscope.statistics.clusters import cluster_means, cluster_tests
from rankscope.statistics.noise import noisy_difference, run_noise
from rankscope.statistics.paired import paired_tests

Random = np.random.Generator


def null_differences(population: Population, random: Random) -> list[Floats]:
    """Draw topics of each pair such that its mean is 0 and ties stay ties."""
    changes = []
    for first, second in combinations(population.scores[:8], 2):
        weights = equalising_weights(np.stack([first, second]))
        if weights is not None:
            picks = random.choice(len(first), size=20_000, p=weights)
            changes.append((second - first)[picks])
    if not changes:
        raise SystemExit(f"{population.name}: no weights of the topics make two systems equal")
    return changes


def t_of(row: Floats) -> float:
    return paired_tests(row, test="t")[0].p


def paraphrases(change: Floats, random: Random, n: int) -> dict[str, float]:
    topics = change[random.integers(0, len(change), size=n)]
    labels = np.repeat(np.arange(n), random.integers(1, 10, size=n))
    row = topics[labels] + random.normal(0, change.std() / 2, size=len(labels))
    seed = int(random.integers(2**32))
    return {
        "queries as if independent": t_of(row),
        "cluster t": cluster_tests(row, clusters=labels.tolist(), test="t")[0],
        "cluster flips": cluster_tests(row, clusters=labels.tolist(), resamples=999, seed=seed)[0],
    }


def traffic(change: Floats, random: Random, n: int) -> dict[str, float]:
    row = change[random.integers(0, len(change), size=n)]
    weights = random.permutation(1 / np.arange(1, n + 1))
    share = weights / weights.sum()
    mean = float(row @ share)
    error = np.sqrt((share * (row - mean) ** 2).sum() / (n - 1))
    [answer] = cluster_means(row, weights=weights)
    return {
        "error as if weights were equal": 0.0 if abs(mean) > 1.96 * error else 1.0,
        "weighted t": 0.0 if answer.low > 0 or answer.high < 0 else 1.0,
        "weighted flips": cluster_tests(
            row, weights=weights, resamples=999, seed=int(random.integers(2**32))
        )[0],
    }


def noisy(random: Random, runs: int, n: int) -> Floats:
    return random.normal(0, 0.02, size=(runs, 1)) + random.normal(0, 0.05, size=(runs, n))


def seeds(change: Floats, random: Random, n: int, runs: int = 3) -> dict[str, float]:
    first = noisy(random, runs, n)
    second = noisy(random, runs, n) + change[random.integers(0, len(change), size=n)]
    row = second.mean(axis=0) - first.mean(axis=0)
    noises = [(run_noise(values), 1 / runs) for values in (first, second)]
    return {
        "averages over 3 seeds": t_of(row),
        "for new queries and seeds": noisy_difference(row, noises).p,
    }


def engine(change: Floats, random: Random, n: int, runs: int = 5) -> dict[str, float]:
    row = change[random.integers(0, len(change), size=n)]
    row = row + noisy(random, 1, n)[0] - noisy(random, 1, n)[0]
    noise = run_noise(noisy(random, runs, n) + random.random(n))
    return {"one run of each": t_of(row), "5 repeats": noisy_difference(row, [(noise, 2)]).p}


WORLDS = {"paraphrases": paraphrases, "traffic": traffic, "seeds": seeds, "engine": engine}
SIZES = (25, 50, 200)


def rates(population: Population, count: int) -> list[list[str]]:
    changes = null_differences(population, np.random.default_rng(9))
    rows = []
    for world, make in WORLDS.items():
        cells: dict[str, list[str]] = {}
        for n in SIZES:
            random = np.random.default_rng([n, 9])
            found = [make(changes[at % len(changes)], random, n) for at in range(count)]
            for name in found[0]:
                rate = float(np.mean([p_values[name] <= 0.05 for p_values in found]))
                cells.setdefault(name, []).append(marked(rate, 0, 0.06, count))
        rows += [[f"{population.name}, {world}: {name}", *texts] for name, texts in cells.items()]
    return rows


def answers(worlds: list[Population], count: int) -> str:
    rows = [row for world in worlds for row in rates(world, count)]
    return table(["population, world", *(f"n = {n}" for n in SIZES)], rows)


def main() -> None:
    options = arguments("false positives under dependence", 4_000).parse_args()
    begun = time.perf_counter()
    print(f"**False positives at 0.05; above 0.06 in bold, {options.repetitions:,} repetitions**\n")
    print(answers(populations(options), options.repetitions))
    print(f"\n({time.perf_counter() - begun:.0f} s)")


if __name__ == "__main__":
    main()
