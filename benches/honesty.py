"""How often the tests, intervals and corrections err, measured on scores like those of real runs.

``python benches/honesty.py [--repetitions 4000] [--write]`` prints the tables; ``--write`` puts
them into docs/statistics.md between its markers. Populations:

- *robust03*: per-query scores of eight official TREC runs on 100 topics
  (``../shared/collections/robust03``), three measures. A sample of n queries is drawn with
  replacement, so the truth (the mean over all 100) is known.
- *skewed*: 60 % zeros, the rest Beta(0.5, 2): synthetic, worse than real scores usually are.

Every repetition draws new queries. A hundred repetitions at a time share a test's own resamples;
more would let the chance in one set of resamples show in a rate.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankscope.scoring.evaluate import evaluate
from rankscope.statistics import intervals
from rankscope.statistics.choices import TESTS, Method, Test
from rankscope.statistics.correction import corrected
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.many import range_tests
from rankscope.statistics.paired import paired_tests

ROOT = Path(__file__).parents[1]
ROBUST = ROOT.parent / "shared" / "collections" / "robust03"
PAGE = ROOT / "docs" / "statistics.md"
START, END = "<!-- honesty: start -->", "<!-- honesty: end -->"

SIZES = (10, 25, 50, 100, 200)
MEASURES = ("nDCG@10", "AP", "RR@10")
RESAMPLES = 1_999
TOGETHER = 100
INTERVALS: tuple[Method, ...] = ("bca", "percentile", "t")
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Population:
    """Scores of some systems on the same queries: ``[systems, queries]``."""

    name: str
    scores: Floats

    def draw(self, random: np.random.Generator, count: int, n: int) -> Floats:
        """Draw ``count`` samples of n queries: ``[count, systems, n]``."""
        picks = random.integers(0, self.scores.shape[1], size=(count, n))
        return np.moveaxis(self.scores[:, picks], 0, 1)


def real() -> list[Population]:
    paths = sorted(str(path) for path in ROBUST.glob("*.run.gz"))
    scores = evaluate(str(ROBUST / "qrels.txt.gz"), paths, MEASURES)
    queries = sorted(scores.run(scores.runs[0]).query_ids)
    return [
        Population(
            f"robust03 {measure}",
            np.array([[scores.values(measure, run)[q] for q in queries] for run in scores.runs]),
        )
        for measure in scores.measures
    ]


def skewed() -> Population:
    """Eight systems that are hardly different, on 100,000 queries with many zeros."""
    random = np.random.default_rng(99)
    zero = random.random((1, 100_000)) < 0.5
    own = random.random((8, 100_000)) < 0.2
    values = random.beta(0.5, 2.0, size=(8, 100_000))
    return Population("skewed, 60 % zeros", np.where(zero | own, 0.0, values))


def rate(p_values: Floats, alpha: float = 0.05) -> float:
    return float(np.mean(p_values <= alpha))


def seeded(rows: Floats) -> Iterator[tuple[int, Floats]]:
    """Split rows into parts, each with a seed of its own."""
    for seed, start in enumerate(range(0, len(rows), TOGETHER)):
        yield seed, rows[start : start + TOGETHER]


def p_of(rows: Floats, test: Test) -> Floats:
    found = [
        result.p
        for seed, part in seeded(rows)
        for result in paired_tests(part, test=test, resamples=RESAMPLES, seed=seed)
    ]
    return np.array(found)


def covered(rows: Floats, method: Method, truth: float) -> list[bool]:
    options: Any = {"method": method, "resamples": RESAMPLES, "bounds": (0, 1)}
    return [
        one.low <= truth <= one.high
        for seed, part in seeded(rows)
        for one in mean_intervals(part, seed=seed, **options)
    ]


def differences(population: Population, random: np.random.Generator, count: int, n: int) -> Floats:
    """Draw per-query differences of every pair of systems, shifted such that the truth is 0."""
    pairs = list(combinations(range(len(population.scores)), 2))
    rows = []
    for place, share in enumerate(np.array_split(np.arange(count), len(pairs))):
        one, other = pairs[place]
        change = population.scores[other] - population.scores[one]
        change = change - change.mean()
        rows.append(change[random.integers(0, len(change), size=(len(share), n))])
    return np.concatenate(rows)


def flipped(rows: Floats, random: np.random.Generator) -> Floats:
    """Exchange the two systems on each query by chance: then they really do not differ."""
    return np.asarray(rows * random.choice([-1.0, 1.0], size=rows.shape))


Rows = list[list[str]]


def table(head: list[str], rows: Rows) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    rule = "|" + "---|" + "---:|" * (len(head) - 1)
    return "\n".join([lines[0], rule, *lines[1:]])


def marked(value: float, low: float, high: float) -> str:
    """Return a rate; in bold where it is outside what was promised."""
    return f"{value:.3f}" if low <= value <= high else f"**{value:.3f}**"


def type_one(populations: list[Population], count: int, *, exchange: bool) -> str:
    rows: Rows = []
    for population in populations:
        for test in TESTS:
            cells = []
            for n in SIZES:
                random = np.random.default_rng([n, 1])
                drawn = differences(population, random, count, n)
                drawn = flipped(drawn, random) if exchange else drawn
                found = rate(p_of(drawn, test))
                cells.append(marked(found, 0.04 if n >= 25 else 0.0, 0.06))
            rows.append([f"{population.name}, {test}", *cells])
    return table(["population, test", *(f"n = {n}" for n in SIZES)], rows)


def coverage(populations: list[Population], count: int) -> str:
    rows: Rows = []
    for population in populations:
        truth = population.scores.mean(axis=1)
        for method in INTERVALS:
            cells = []
            for n in SIZES:
                random = np.random.default_rng([n, 2])
                held: list[bool] = []
                for own, mean in zip(population.scores, truth.tolist(), strict=True):
                    picks = random.integers(0, len(own), size=(-(-count // len(truth)), n))
                    held += covered(own[picks], method, mean)
                cells.append(marked(float(np.mean(held)), 0.93 if n >= 25 else 0.0, 0.97))
            rows.append([f"{population.name}, {method}", *cells])
    return table(["population, interval", *(f"n = {n}" for n in SIZES)], rows)


def shuffled_systems(drawn: Floats, random: np.random.Generator) -> Floats:
    """Shuffle the systems' names within each query, so that none differs: ``[count, s, n]``."""
    return np.moveaxis(random.permuted(np.moveaxis(drawn, 1, 2), axis=2), 2, 1)


def familywise(populations: list[Population], count: int) -> str:
    """Eight systems, 28 pairs: how often any pair is called different where none is."""
    pairs = list(combinations(range(8), 2))
    rows: Rows = []
    for population in populations:
        cells: dict[str, list[str]] = {"Holm": [], "Tukey": [], "none": []}
        for n in SIZES:
            random = np.random.default_rng([n, 3])
            drawn = shuffled_systems(population.draw(random, count, n), random)
            changes = np.stack([drawn[:, b] - drawn[:, a] for a, b in pairs], axis=1)
            p_values = p_of(changes.reshape(-1, n), "permutation").reshape(count, -1)
            smallest = p_values.min(axis=1)
            holm = np.array([corrected(row, "holm").min() for row in p_values])
            tukey = [
                range_tests(one, resamples=499, seed=seed).min() for seed, one in enumerate(drawn)
            ]
            cells["none"].append(f"{rate(smallest):.3f}")
            cells["Holm"].append(marked(rate(holm), 0.0, 0.06))
            cells["Tukey"].append(marked(rate(np.array(tukey)), 0.0, 0.06))
        names = {"none": "uncorrected", "Holm": "Holm", "Tukey": "randomised Tukey"}
        rows += [[f"{population.name}, {names[key]}", *found] for key, found in cells.items()]
    return table(["population, correction", *(f"n = {n}" for n in SIZES)], rows)


def gate(populations: list[Population], count: int) -> str:
    """A true drop of 0.03: how often it is significant (0.05) and larger than 0.01."""
    rows: Rows = []
    sizes = (*SIZES, 400, 800)
    for population in populations:
        cells = []
        for n in sizes:
            random = np.random.default_rng([n, 4])
            drawn = differences(population, random, count, n) - 0.03
            seen = (p_of(drawn, "permutation") <= 0.05) & (drawn.mean(axis=1) < -0.01)
            cells.append(f"{np.mean(seen):.2f}")
        rows.append([population.name, *cells])
    return table(["population", *(f"n = {n}" for n in sizes)], rows)


def small(populations: list[Population], count: int) -> str:
    """The bootstrap interval below its smallest n, and Student's t that stands in for it."""
    sizes = (3, 5, 7, 9)
    rows: Rows = []
    fewest = intervals.FEWEST
    for population in populations:
        truth = float(population.scores[0].mean())
        for method, least in (("bca", 2), ("t", fewest)):
            cells = []
            intervals.FEWEST = least
            for n in sizes:
                drawn = population.draw(np.random.default_rng([n, 5]), count, n)[:, 0]
                held = covered(drawn, "bca", truth)
                cells.append(f"{np.mean(held):.3f}")
            rows.append([f"{population.name}, {method}", *cells])
    intervals.FEWEST = fewest
    return table(["population, interval", *(f"n = {n}" for n in sizes)], rows)


def spreads(populations: list[Population]) -> str:
    """Show how much per-query differences between two systems vary: sd over the 28 pairs."""
    rows: Rows = []
    for population in populations:
        pairs = combinations(population.scores, 2)
        found = sorted(float((b - a).std(ddof=1)) for a, b in pairs)
        cells = [found[0], found[len(found) // 2], found[-1]]
        rows.append([population.name, *(f"{one:.3f}" for one in cells)])
    return table(["population", "smallest", "median", "largest"], rows)


SPREADS = """Standard deviation of per-query differences, over the 28 pairs of systems"""
EXCHANGED = """Type I error at 0.05 where the systems are exchanged at random on each query, so that
they do not differ; promised 0.04 to 0.06 for n ≥ 25, outside in bold"""
SHIFTED = """Type I error at 0.05 where only the means are equal: differences keep their skew and
are shifted to mean 0; outside 0.04 to 0.06 in bold"""
COVERED = """Coverage of 95 % intervals, twice as many repetitions; promised 0.93 to 0.97 for
n ≥ 25, outside in bold"""
FEW = """Coverage of one system's 95 % interval with fewer than 10 queries: BCa as it would be, and
Student's t, which stands in for it"""
FAMILY = """Family-wise error over the 28 pairs of eight systems that do not differ; promised at
most 0.06 (2,000 repetitions)"""
GATE = """Power of a gate (significant at 0.05 and a drop of more than 0.01) against a true drop of
0.03"""


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("--repetitions", type=int, default=4_000)
    reader.add_argument("--write", action="store_true", help="put the tables into the docs")
    options = reader.parse_args()
    count: int = options.repetitions
    started = time.perf_counter()
    runs, fake = real(), skewed()
    both = [*runs, fake]
    one_each = [runs[0], fake]
    error = (0.05 * 0.95 / count) ** 0.5
    sections: dict[str, Callable[[], str]] = {
        SPREADS: lambda: spreads(both),
        EXCHANGED: lambda: type_one(both, count, exchange=True),
        SHIFTED: lambda: type_one(both, count, exchange=False),
        COVERED: lambda: coverage(both, 2 * count),
        FEW: lambda: small(one_each, count),
        FAMILY: lambda: familywise(one_each, min(count, 2_000)),
        GATE: lambda: gate(both, count),
    }
    said = f"standard error of a rate of 0.05: {error:.4f}), {RESAMPLES:,} resamples"
    parts = [f"{count:,} repetitions a cell unless said otherwise ({said}."]
    for title, make in sections.items():
        begun = time.perf_counter()
        parts += ["**" + title.replace("\n", " ") + "**", make()]
        print(f"{parts[-2]}\n\n{parts[-1]}\n\n({time.perf_counter() - begun:.0f} s)\n", flush=True)
    print(f"{time.perf_counter() - started:.0f} s in all")
    if options.write:
        before, _, rest = PAGE.read_text("utf-8").partition(START)
        after = rest.partition(END)[2]
        text = "\n\n".join(parts)
        PAGE.write_text(f"{before}{START}\n\n{text}\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
