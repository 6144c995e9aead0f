"""How often what rankscope shows is wrong, measured on scores of real runs.

``python benches/honesty.py [--runs FOLDER] [--qrels FILE] [--repetitions 1000] [--only gate]
[--jobs 2] [--write]``

One command for every table of docs/explanation/error-rates.md and error-rates-in-use.md;
``--write`` puts them there. Any folder of runs will do; without one it is robust03 (eight official
TREC runs on 100 topics).

- Topics are drawn from a population with replacement, so the truth (the mean over all its topics)
  is known. *skewed* is synthetic: 60 % zeros, the rest Beta(0.5, 2).
- Two nulls. *exchanged*: the two systems change places by chance on each query, so that they do not
  differ at all. *equal means*: topics are drawn with weights under which the two means are equal
  (`populations.tilted_weights`): differences keep their skew, and a tie stays a tie.
- A rate is bold where it is outside what is promised by more than two of its standard errors.

`commits` beside this file has the details.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import commits
from populations import (
    Floats,
    Population,
    arguments,
    marked,
    populations,
    table,
    tilted_weights,
)
from rankscope.scoring.evaluate import evaluate
from rankscope.statistics.choices import TESTS, Method, Test
from rankscope.statistics.gate import gate
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.tests import paired_tests

EXPLANATION = Path(__file__).parents[1] / "docs" / "explanation"
PAGES = EXPLANATION / "error-rates.md", EXPLANATION / "error-rates-in-use.md"
MARKS = "<!-- honesty {}: start -->", "<!-- honesty {}: end -->"
"""Around each table in its page, so that one can be made again alone."""

SIZES = (10, 25, 50, 100, 200)
FEW = (5, *SIZES)
RESAMPLES = 1_999
TOGETHER = 100
"""How many repetitions share a test's own resamples; more would let their chance show in a rate."""
MARGIN = 0.01
Weighted = tuple[Floats, Floats | None]
"""Differences by topic, and how topics are weighed (None: equally)."""


def seeded(rows: Floats) -> Iterator[tuple[int, Floats]]:
    """Split rows into parts, each with a seed of its own."""
    for seed, start in enumerate(range(0, len(rows), TOGETHER)):
        yield seed, rows[start : start + TOGETHER]


def all_pairs(population: Population) -> list[Weighted]:
    """Return the differences of each pair."""
    pairs = combinations(population.scores[:8], 2)
    return [(second - first, None) for first, second in pairs]


def weighted_pairs(population: Population, truth: float) -> list[Weighted]:
    """Return the differences of each pair with weights that make their mean ``truth``."""
    pairs: list[Weighted] = []
    for first, second in combinations(population.scores[:8], 2):
        change = second - first
        for signed in (change, -change):
            weights = tilted_weights(signed[np.newaxis], truth)
            if weights is not None:
                pairs.append((signed, weights))
                break
    return pairs


def drawn(pairs: list[Weighted], random: np.random.Generator, count: int, n: int) -> Floats:
    """Draw samples of n topics, each pair in turn: ``[count, n]``."""
    shares = np.array_split(np.arange(count), len(pairs))
    return np.concatenate(
        [
            change[random.choice(len(change), size=(len(share), n), p=weights)]
            for (change, weights), share in zip(pairs, shares, strict=True)
        ]
    )


def spreads(worlds: list[Population], _: int) -> str:
    """Show how much per-query differences vary, and how many are ties."""
    rows = []
    for population in worlds:
        changes = [second - first for first, second in combinations(population.scores[:8], 2)]
        sizes = sorted(float(change.std(ddof=1)) for change in changes)
        ties = np.mean([np.mean(change == 0) for change in changes])
        cells = [f"{size:.3f}" for size in (sizes[0], sizes[len(sizes) // 2], sizes[-1])]
        rows.append([population.name, *cells, f"{ties:.2f}"])
    return table(["population", "smallest", "median", "largest", "ties"], rows)


def differences(worlds: list[Population], count: int) -> str:
    """Show how often the interval of a difference holds the truth."""
    rows = []
    for population in worlds:
        pairs = all_pairs(population)
        cells: dict[Method, list[str]] = {"t": [], "bca": []}
        for n in FEW:
            for method, texts in cells.items():
                random = np.random.default_rng([n, 2])
                held: list[bool] = []
                for pair in pairs:
                    truth = float(pair[0].mean())
                    sample = drawn([pair], random, -(-count // len(pairs)), n)
                    held += covered(sample, method, truth, (-1.0, 1.0))
                texts.append(marked(float(np.mean(held)), 0.93, 1, count if n > 10 else 0))
        rows += [[f"{population.name}, {method}", *texts] for method, texts in cells.items()]
    return table(["differences, interval", *(f"n = {n}" for n in FEW)], rows)


def covered(rows: Floats, method: Method, truth: float, bounds: tuple[float, float]) -> list[bool]:
    return [
        interval.low - 1e-12 <= truth <= interval.high + 1e-12
        for seed, part in seeded(rows)
        for interval in mean_intervals(
            part, method=method, resamples=RESAMPLES, seed=seed, bounds=bounds
        )
    ]


def means(worlds: list[Population], count: int) -> str:
    """Show how often the interval of a mean holds the truth; below 10 queries t stands in."""
    rows = []
    for population in worlds:
        systems = population.scores[:8]
        for method in ("bca", "t"):
            cells = []
            for n in FEW:
                random = np.random.default_rng([n, 3])
                held: list[bool] = []
                for scores in systems:
                    picks = random.integers(0, len(scores), size=(-(-count // len(systems)), n))
                    held += covered(scores[picks], method, float(scores.mean()), (0.0, 1.0))
                cells.append(marked(float(np.mean(held)), 0.93, 1, count if n > 10 else 0))
            rows.append([f"{population.name}, {method}", *cells])
    return table(["means, interval", *(f"n = {n}" for n in FEW)], rows)


def type_one(worlds: list[Population], count: int, *, exchange: bool) -> str:
    """Show how often each test calls two systems different that are not."""
    rows = []
    for population in worlds:
        pairs = all_pairs(population) if exchange else weighted_pairs(population, 0.0)
        if not pairs:  # no weights make any two systems equal
            rows.append([population.name, *["–"] * len(SIZES)])
            continue
        for test in TESTS:
            cells = []
            for n in SIZES:
                random = np.random.default_rng([n, 1])
                sample = drawn(pairs, random, count, n)
                if exchange:
                    sample = sample * random.choice([-1.0, 1.0], size=sample.shape)
                rate = float(np.mean(p_of(sample, test) <= 0.05))
                cells.append(marked(rate, 0.04 if n > 10 else 0.0, 0.06, count))
            rows.append([f"{population.name}, {test}", *cells])
    return table(["population, test", *(f"n = {n}" for n in SIZES)], rows)


def p_of(rows: Floats, test: Test) -> Floats:
    return np.array(
        [
            result.p
            for seed, part in seeded(rows)
            for result in paired_tests(part, test=test, resamples=RESAMPLES, seed=seed)
        ]
    )


def gate_answers(worlds: list[Population], count: int) -> str:
    """Show what `rankscope.gate` answers, called as a user calls it, for three truths."""
    sizes = (25, 100, 400)
    rows = []
    for population in worlds:
        for truth in (0.0, -MARGIN, -0.05):
            pairs = weighted_pairs(population, truth)
            cells = []
            for n in sizes:
                if not pairs:
                    cells.append("–")
                    continue
                random = np.random.default_rng([n, 4])
                files = _Files(n)
                sample = drawn(pairs, random, count, n)
                answers = [files.answer(change, seed) for seed, change in enumerate(sample)]
                shares = [np.mean([answer == word for answer in answers]) for word in ANSWERS]
                cells.append(" / ".join(f"{share:.2f}" for share in shares))
            rows.append([f"{population.name}, true change {truth:+.2f}", *cells])
    return table(["population, truth", *(f"n = {n}" for n in sizes)], rows)


ANSWERS = ("regression", "can't tell", "no regression")


class _Files:
    """Score files of n queries into which values are put."""

    def __init__(self, n: int) -> None:
        qrels = {f"q{number}": {"d": 1} for number in range(n)}
        scores = evaluate(qrels, {query_id: ["d"] for query_id in qrels}, "nDCG@10")
        self.plain = scores.to_dict(per_query=True)
        self.queries = list(qrels)

    def side(self, values: Floats) -> dict[str, Any]:
        [(name, run)] = self.plain["runs"].items()
        rows = zip(self.queries, values.tolist(), strict=True)
        changed = run | {"per_query": {query_id: {"nDCG@10": value} for query_id, value in rows}}
        changed["means"] = {"nDCG@10": float(values.mean())}
        return self.plain | {"runs": {name: changed}}

    def answer(self, change: Floats, seed: int) -> str:
        """Gate a baseline of which only the difference is known: it is as high as it must be."""
        base = np.clip(-change, 0.0, 1.0)
        result = gate(
            self.side(base), self.side(base + change), "nDCG@10", max_drop=MARGIN, seed=seed,
            resamples=RESAMPLES,
        )  # fmt: skip
        return result.answer


def first_only(worlds: list[Population]) -> list[Population]:
    """Return the first real population and the skewed one, for what takes long."""
    return [worlds[0], worlds[-1]]


SECTIONS: dict[str, tuple[str, Callable[[list[Population], int], str]]] = {
    "spreads": (
        (
            "Standard deviation of per-query differences over the pairs of systems, and the share "
            "of queries on which two systems are the same"
        ),
        spreads,
    ),
    "differences": (
        (
            "Coverage of 95 % intervals of a difference ({double:,} repetitions); promised from "
            "0.93 for 25 queries and more"
        ),
        lambda worlds, count: differences(worlds, 2 * count),
    ),
    "means": (
        (
            "Coverage of 95 % intervals of a mean ({double:,} repetitions); promised from 0.93 for "
            "25 queries and more"
        ),
        lambda worlds, count: means(worlds, 2 * count),
    ),
    "exchanged": (
        (
            "False positives of a single test at 0.05 where systems are exchanged at random on "
            "each query ({double:,} repetitions); promised 0.04 to 0.06 for 25 queries and more"
        ),
        lambda worlds, count: type_one(worlds, 2 * count, exchange=True),
    ),
    "equal-means": (
        (
            "The same where only the means are equal: topics are reweighted, differences keep "
            "their skew and ties stay ties ({double:,} repetitions)"
        ),
        lambda worlds, count: type_one(worlds, 2 * count, exchange=False),
    ),
    "gate": (
        (
            "What the gate answers, regression / can't tell / no regression, with the default "
            "margin of 0.01 ({eighth:,} repetitions). Without a change, regression is wrong; with "
            "a true drop of 0.05, no regression is"
        ),
        lambda worlds, count: gate_answers(first_only(worlds), count // 8),
    ),
    "commits": (
        commits.TITLE,
        lambda worlds, count: commits.alarms_table(worlds[0], count // 10),
    ),
}


def section(name: str, worlds: list[Population], count: int) -> tuple[str, float]:
    """Return a table under its title, and how long it took."""
    begun = time.perf_counter()
    title, make = SECTIONS[name]
    counts = {"count": count, "double": 2 * count, "half": count // 2, "eighth": count // 8}
    if name == "commits":
        counts |= {"count": count // 10}
    text = f"**{title.format(name=worlds[0].name, **counts)}**\n\n{make(worlds, count)}"
    return text, time.perf_counter() - begun


def main() -> None:
    reader = arguments(__doc__.splitlines()[0] if __doc__ else "", 1_000)
    reader.formatter_class = argparse.ArgumentDefaultsHelpFormatter
    reader.add_argument("--only", action="append", choices=list(SECTIONS), help="this table only")
    reader.add_argument("--jobs", type=int, default=2, help="tables made at a time")
    reader.add_argument("--write", action="store_true", help="put the tables into the docs")
    options = reader.parse_args()
    started = time.perf_counter()
    worlds = populations(options)
    names = options.only or list(SECTIONS)
    make = partial(section, worlds=worlds, count=options.repetitions)
    # a forked child would wait for ever for the threads that read the runs
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        for name, (text, seconds) in zip(names, pool.map(make, names), strict=True):
            if options.write:
                write(name, text)
            print(f"{text}\n\n({name}: {seconds:.0f} s)\n", flush=True)
    print(f"{time.perf_counter() - started:.0f} s in all")


def write(name: str, text: str) -> None:
    """Put a table into the page that has a place for it."""
    start, end = (mark.format(name) for mark in MARKS)
    [page] = [page for page in PAGES if start in page.read_text("utf-8")]
    before, _, rest = page.read_text("utf-8").partition(start)
    page.write_text(f"{before}{start}\n\n{text}\n\n{end}{rest.partition(end)[2]}", "utf-8")


if __name__ == "__main__":
    main()
