"""How often max-T separates systems that do not differ, and how much it sees.

``python benches/familywise.py [--runs FOLDER] [--qrels FILE] [--repetitions 2000]``

Each repetition draws n topics and tests all pairs of up to eight systems. Four truths:

- *exchanged*: system names are shuffled within each topic, so that no system differs.
- *equal means*: topics are drawn with weights under which systems have the same mean; ties and skew
  stay as they are in the runs. As many systems as there are such weights for, next to each other in
  the order of their means.
- *half equal*: likewise, and as many more systems are moved up by 0.3, 0.35, …. Only pairs of the
  former can be false alarms.

A false alarm is a pair of equal systems that share no letter.
- *as they are*: the runs' own differences are the truth; what share of the pairs that differ is
  separated, beside Holm over t tests and over permutation
  tests with as many resamples.
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
from rankscope.statistics.choices import Test
from rankscope.statistics.correction import corrected
from rankscope.statistics.groups import letters
from rankscope.statistics.max_t import MaxT, max_t
from rankscope.statistics.paired import paired_tests

SIZES = (10, 25, 50, 100)
RESAMPLES = 1_999


def tested(drawn: Floats) -> list[MaxT]:
    return [max_t(values, resamples=RESAMPLES, seed=seed) for seed, values in enumerate(drawn)]


def exchanged(population: Population, random: np.random.Generator, count: int, n: int) -> float:
    drawn = np.moveaxis(population.draw(random, count, n), 1, 2)
    drawn = np.moveaxis(random.permuted(drawn, axis=2), 2, 1)
    return alarms(drawn, len(population.scores))


def alarms(samples: Floats, equal: int) -> float:
    """Return the false alarms among the first systems."""
    return float(np.mean([alarm(result, equal) for result in tested(samples)]))


def closest(scores: Floats) -> tuple[Floats, Floats] | None:
    """Return the most systems (next to each other by mean) that weights make equal, and these."""
    ranked = scores[np.argsort(scores.mean(axis=1))]
    for size in range(len(ranked), 1, -1):
        for start in range(len(ranked) - size + 1):
            chosen = ranked[start : start + size]
            weights = equalising_weights(chosen)
            if weights is not None:
                return chosen, weights
    return None


def tilted(
    population: Population, random: np.random.Generator, count: int, n: int, *, moved: bool
) -> tuple[int, float] | None:
    """Return how many systems are equal, and the false alarms."""
    found = closest(population.scores)
    if found is None:
        return None
    chosen, weights = found
    equal = len(chosen)
    scores = np.vstack([chosen, chosen + 0.3 + 0.05 * np.arange(equal)[:, np.newaxis]])
    world = Population(population.name, scores if moved else chosen)
    samples = world.draw(random, count, n, weights)
    return equal, alarms(samples, equal)


def alarm(result: MaxT, equal: int) -> bool:
    """Tell whether two of the first systems share no letter."""
    named = letters(result.table())[:equal]
    return any(not set(a) & set(b) for a, b in combinations(named, 2))


def holm(values: Floats, test: Test) -> Floats:
    pairs = combinations(range(len(values)), 2)
    changes = np.array([values[b] - values[a] for a, b in pairs])
    results = paired_tests(changes, test=test, resamples=RESAMPLES)
    return corrected([result.p for result in results])


def errors(worlds: list[Population], count: int) -> str:
    rows = []
    for world in worlds:
        population = Population(world.name, world.scores[:8])
        cells: dict[str, list[str]] = {}
        for n in SIZES:
            random = np.random.default_rng([n, 6])
            truths = {
                f"{len(population.scores)} exchanged": exchanged(population, random, count, n)
            }
            for is_moved in (False, True):
                rates = tilted(population, random, count, n, moved=is_moved)
                if rates is not None:
                    more = f", {rates[0]} moved" if is_moved else ""
                    truths[f"{rates[0]} equal means{more}"] = rates[1]
            for name, share in truths.items():
                cells.setdefault(name, []).append(marked(share, 0, 0.06, count))
        rows += [[f"{population.name}, {name}", *texts] for name, texts in cells.items()]
    return table(["population, truth", *(f"n = {n}" for n in SIZES)], rows)


def separating(worlds: list[Population], count: int) -> str:
    rows = []
    for world in worlds:
        population = Population(world.name, world.scores[:8])
        cells: dict[str, list[str]] = {}
        for n in SIZES:
            drawn = population.draw(np.random.default_rng([n, 7]), count, n)
            results = tested(drawn)
            few = drawn[: max(100, count // 10)]
            shares = {
                "pairs separated, max-T": float(np.mean([r.separated for r in results])),
                "… Holm, t": float(np.mean([holm(values, "t") <= 0.05 for values in few])),
                "… Holm, permutation": float(
                    np.mean([holm(values, "permutation") <= 0.05 for values in few])
                ),
            }
            for name, share in shares.items():
                cells.setdefault(name, []).append(f"{share:.3f}")
        rows += [[f"{population.name}, {name}", *rates] for name, rates in cells.items()]
    return table(["population", *(f"n = {n}" for n in SIZES)], rows)


def main() -> None:
    options = arguments("family-wise error of max-T", 2_000).parse_args()
    worlds = [Population(world.name, world.scores[:8]) for world in populations(options)]
    for title, make in {
        "Any false alarm among all pairs at 0.05; above 0.06 in bold": errors,
        "Pairs separated": separating,
    }.items():
        begun = time.perf_counter()
        print(f"**{title}** ({options.repetitions:,} repetitions)\n")
        print(f"{make(worlds, options.repetitions)}\n\n({time.perf_counter() - begun:.0f} s)\n")


if __name__ == "__main__":
    main()
