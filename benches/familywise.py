"""How often max-T separates systems that do not differ, and how much it sees.

``python benches/familywise.py [--runs FOLDER] [--qrels FILE] [--repetitions 2000]``

Each repetition draws n topics and tests all pairs of up to eight systems. Four truths:

- *exchanged*: system names are shuffled within each topic, so that no system differs.
- *equal means*: topics are drawn with weights under which all systems have the same mean; ties and
  skew stay as they are in the runs.
- *half equal*: likewise, but only the first half of the systems has equal means; the other half is
  moved up by 0.3, 0.35, …. Only pairs of the first half can be false alarms.
- *as they are*: the runs' own differences are the truth; how often all intervals hold at once, and
  what share of the pairs that differ is separated, beside Holm over t tests and over permutation
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
from rankscope.statistics.max_t import MaxT, max_t
from rankscope.statistics.paired import paired_tests

SIZES = (10, 25, 50, 100)
RESAMPLES = 1_999


def tested(drawn: Floats) -> list[MaxT]:
    return [max_t(values, resamples=RESAMPLES, seed=seed) for seed, values in enumerate(drawn)]


def exchanged(population: Population, random: np.random.Generator, count: int, n: int) -> float:
    drawn = np.moveaxis(population.draw(random, count, n), 1, 2)
    drawn = np.moveaxis(random.permuted(drawn, axis=2), 2, 1)
    return float(np.mean([result.separated.any() for result in tested(drawn)]))


def tilted(
    population: Population, random: np.random.Generator, count: int, n: int, equal: int
) -> float | None:
    weights = equalising_weights(population.scores[:equal])
    if weights is None:
        return None
    drawn = population.draw(random, count, n, weights)
    for place in range(equal, drawn.shape[1]):
        drawn[:, place] += 0.3 + 0.05 * (place - equal)
    return float(np.mean([result.table()[:equal, :equal].any() for result in tested(drawn)]))


def holm(values: Floats, test: Test) -> Floats:
    pairs = combinations(range(len(values)), 2)
    changes = np.array([values[b] - values[a] for a, b in pairs])
    results = paired_tests(changes, test=test, resamples=RESAMPLES)
    return corrected([result.p for result in results])


def errors(worlds: list[Population], count: int) -> str:
    rows = []
    for population in worlds:
        half = (len(population.scores) + 1) // 2
        cells: dict[str, list[str]] = {"exchanged": [], "equal means": [], "half equal": []}
        for n in SIZES:
            random = np.random.default_rng([n, 6])
            cells["exchanged"].append(marked(exchanged(population, random, count, n), 0, 0.06))
            for name, equal in (("equal means", len(population.scores)), ("half equal", half)):
                rate = tilted(population, random, count, n, equal)
                cells[name].append("–" if rate is None else marked(rate, 0, 0.06))
        rows += [[f"{population.name}, {name}", *rates] for name, rates in cells.items()]
    return table(["population, truth", *(f"n = {n}" for n in SIZES)], rows)


def holding(worlds: list[Population], count: int) -> str:
    rows = []
    for population in worlds:
        means = population.scores.mean(axis=1)
        cells: dict[str, list[str]] = {}
        for n in SIZES:
            drawn = population.draw(np.random.default_rng([n, 7]), count, n)
            results = tested(drawn)
            truth = (means - means[:, np.newaxis])[results[0].first, results[0].second]
            held = [((r.low <= truth) & (truth <= r.high)).all() for r in results]
            single = [np.abs(r.t) > r.critical for r in results]
            few = drawn[: max(100, count // 10)]
            shares = {
                "all intervals hold": float(np.mean(held)),
                "pairs separated, max-T": float(np.mean([r.separated for r in results])),
                "… in one step": float(np.mean(single)),
                "… Holm, t": float(np.mean([holm(values, "t") <= 0.05 for values in few])),
                "… Holm, permutation": float(
                    np.mean([holm(values, "permutation") <= 0.05 for values in few])
                ),
            }
            for name, share in shares.items():
                text = marked(share, 0.93, 1) if name.startswith("all") else f"{share:.3f}"
                cells.setdefault(name, []).append(text)
        rows += [[f"{population.name}, {name}", *rates] for name, rates in cells.items()]
    return table(["population", *(f"n = {n}" for n in SIZES)], rows)


def main() -> None:
    options = arguments("family-wise error of max-T", 2_000).parse_args()
    worlds = [Population(world.name, world.scores[:8]) for world in populations(options)]
    for title, make in {
        "Any false alarm among all pairs at 0.05; above 0.06 in bold": errors,
        "Simultaneous 95 % intervals (below 0.93 in bold) and pairs separated": holding,
    }.items():
        begun = time.perf_counter()
        print(f"**{title}** ({options.repetitions:,} repetitions)\n")
        print(f"{make(worlds, options.repetitions)}\n\n({time.perf_counter() - begun:.0f} s)\n")


if __name__ == "__main__":
    main()
