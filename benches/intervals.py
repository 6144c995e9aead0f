"""How often an interval of a mean difference holds the truth: Student t, BCa, bootstrap-t.

``python benches/intervals.py [--runs FOLDER] [--qrels FILE] [--repetitions 2000]``

Differences of all pairs of up to eight runs. Topics are drawn with replacement (any n; the truth
is the mean over all topics), or without replacement, as a smaller collection would hold them; then
every interval is shortened by √(1 − n/N), because part of the population has been seen. Synthetic
differences: *sparse* (90 % zeros, the rest spread over −1 … 1 with mean 0.2), *rare break* (97 %
zeros, the rest −1) and *lognormal* (skewness 6).
"""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np

from populations import Floats, Population, arguments, marked, populations, table
from rankscope.statistics.bootstrap_t import bootstrap_t_intervals
from rankscope.statistics.intervals import Interval, mean_intervals

SIZES = (5, 10, 25, 50, 100, 250)
RESAMPLES = 999
TOGETHER = 50
Change = tuple[str, list[Floats]]


def differences(population: Population) -> Change:
    pairs = combinations(population.scores[:8], 2)
    return population.name, [second - first for first, second in pairs]


def synthetic() -> list[Change]:
    random = np.random.default_rng(1)
    size = 100_000
    sparse = np.where(random.random(size) < 0.1, random.uniform(-0.6, 1.0, size), 0.0)
    broken = np.where(random.random(size) < 0.03, -1.0, 0.0)
    heavy = random.lognormal(0, 1, size) / 10
    return [("sparse", [sparse]), ("rare break", [broken]), ("lognormal", [heavy])]


def intervals(rows: Floats, seed: int) -> dict[str, list[Interval]]:
    bounds = (-1.0, 1.0) if np.abs(rows).max() <= 1 else (-np.inf, np.inf)
    bootstrap = {"resamples": RESAMPLES, "seed": seed}
    return {
        "t": mean_intervals(rows, method="t", bounds=bounds),
        "BCa": mean_intervals(rows, method="bca", bounds=bounds, **bootstrap),
        "bootstrap-t": bootstrap_t_intervals(
            rows, bounds=bounds, symmetric=False, resamples=RESAMPLES, seed=seed
        ),
        "bootstrap-t, symmetric": bootstrap_t_intervals(
            rows, bounds=bounds, resamples=RESAMPLES, seed=seed
        ),
    }


def measured(
    changes: list[Floats], n: int, count: int, *, replace: bool
) -> dict[str, tuple[float, float]]:
    """Return coverage and mean width of each interval."""
    random = np.random.default_rng([n, 8])
    held: dict[str, list[bool]] = {}
    widths: dict[str, list[float]] = {}
    per_pair = -(-count // len(changes))
    for seed, change in enumerate(changes):
        truth = float(change.mean())
        shrink = 1.0 if replace else float(np.sqrt(1 - n / len(change)))
        for start in range(0, per_pair, TOGETHER):
            size = min(TOGETHER, per_pair - start)
            if replace:
                picks = random.integers(0, len(change), size=(size, n))
            else:
                order = np.tile(np.arange(len(change)), (size, 1))
                picks = random.permuted(order, axis=1)[:, :n]
            rows = change[picks]
            for name, found in intervals(rows, seed * 1_000 + start).items():
                for row, interval in zip(rows, found, strict=True):
                    mean = float(row.mean())
                    low = mean - shrink * (mean - interval.low)
                    high = mean + shrink * (interval.high - mean)
                    held.setdefault(name, []).append(low - 1e-12 <= truth <= high + 1e-12)
                    widths.setdefault(name, []).append(high - low)
    return {name: (float(np.mean(held[name])), float(np.mean(widths[name]))) for name in held}


def coverage(worlds: list[Change], count: int, *, replace: bool) -> str:
    rows = []
    for name, changes in worlds:
        cells: dict[str, list[str]] = {}
        for n in SIZES:
            if not replace and n > len(changes[0]) / 2:
                continue
            for method, (share, width) in measured(changes, n, count, replace=replace).items():
                text = f"{marked(share, 0.93, 1)} ({width:.3f})"
                cells.setdefault(method, []).append("–" if method == "BCa" and n < 10 else text)
        for method, texts in cells.items():
            rows.append([f"{name}, {method}", *texts, *[""] * (len(SIZES) - len(texts))])
    return table(["differences, interval", *(f"n = {n}" for n in SIZES)], rows)


def main() -> None:
    options = arguments("coverage of intervals of a difference", 2_000).parse_args()
    runs = [differences(population) for population in populations(options)]
    real = [change for change in runs if not change[0].startswith("skewed")]
    for title, worlds, replace in (
        ("drawn with replacement", [*runs, *synthetic()], True),
        ("drawn without replacement", real, False),
    ):
        begun = time.perf_counter()
        text = coverage(worlds, options.repetitions, replace=replace)
        print(f"**Coverage of 95 % intervals of a difference (mean width), topics {title}; below")
        print(f"0.93 in bold, {options.repetitions:,} repetitions**\n\n{text}\n")
        print(f"({time.perf_counter() - begun:.0f} s)\n", flush=True)


if __name__ == "__main__":
    main()
