"""A gate over 50 commits: false alarms where nothing changes, and how soon erosion is seen.

``python benches/commits.py [--runs FOLDER] [--qrels FILE] [--repetitions 200]``

A pool of changes is made of the per-query differences of every pair of runs, each topic's changes
drawn with weights under which a pair's mean is 0 (`populations.equalising_weights`), so that ties
stay ties. The anchor has the scores of one run on n topics, drawn with replacement and the same at
every commit. A commit touches 10 % of the queries: each of these gets what a drawn change makes of
it, kept within 0 and 1.

- *null*: commits change nothing on average.
- *erosion*: likewise, and each commit lowers the mean by 0.004: some queries fall by 0.1.

The gate's rule (the 95 % interval by t lies below 0 and the drop is more than 0.01) is applied
against the commit before, and against the anchor.
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
from rankscope.statistics.tests import paired_tests

COMMITS = 50
SIZES = (50, 200, 1_000)
TOUCHED = 0.1
EROSION = 0.004
FALL = 0.1
MARGIN = 0.01
RULES = {
    "commit": "gate against the commit before",
    "anchor": "gate against the anchor",
}


def change_pool(population: Population, random: np.random.Generator, size: int = 20_000) -> Floats:
    """Draw differences between runs whose means are equal; ties stay ties."""
    drawn = []
    for first, second in combinations(population.scores[:8], 2):
        weights = equalising_weights(np.stack([first, second]))
        if weights is not None:
            drawn.append((second - first)[random.choice(len(first), size=1_000, p=weights)])
    if not drawn:
        raise SystemExit(f"{population.name}: no weights of the topics make two systems equal")
    return np.asarray(random.choice(np.concatenate(drawn), size=size))


def moved(scores: Floats, pool: Floats, drop: float, random: np.random.Generator) -> Floats:
    """Return the scores after one commit.

    A change is cut at the nearer end of 0 … 1 and as likely to go up as down, so that the mean
    stays where it is; a score of 0 or 1 does not move.
    """
    touched = random.random(len(scores)) < TOUCHED
    change = np.where(touched, random.choice(pool, size=len(scores)), 0.0)
    room = np.minimum(scores, 1 - scores)
    changed = scores + np.clip(change, -room, room) * random.choice([-1.0, 1.0], size=len(scores))
    able = changed >= FALL
    falls = able & (random.random(len(scores)) < drop / FALL / max(able.mean(), 0.01))
    return np.asarray(np.where(falls, changed - FALL, changed))


def history(
    population: Population, pool: Floats, drop: float, n: int, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return differences to the anchor and to the commit before, ``[commits, n]`` each."""
    system = population.scores[random.integers(len(population.scores))]
    anchor = system[random.integers(0, len(system), size=n)]
    scores = [anchor]
    for _ in range(COMMITS):
        scores.append(moved(scores[-1], pool, drop, random))
    rows = np.stack(scores)
    return rows[1:] - anchor, rows[1:] - rows[:-1]


def tails(changes: Floats) -> Floats:
    """Return the one-sided p-values of a drop."""
    results = paired_tests(changes, test="t")
    return np.array(
        [
            result.p / 2 if row.mean() < 0 else 1.0
            for result, row in zip(results, changes, strict=True)
        ]
    )


def first_alarms(to_anchor: Floats, to_last: Floats) -> dict[str, int | None]:
    """Return at which commit each rule raises its first alarm; None: at none."""
    changes = {"commit": to_last, "anchor": to_anchor}
    alarms: dict[str, int | None] = {}
    for rule, rows in changes.items():
        raised = np.flatnonzero((tails(rows) <= 0.025) & (rows.mean(axis=1) < -MARGIN))
        alarms[rule] = int(raised[0]) + 1 if len(raised) else None
    return alarms


def alarms_table(population: Population, count: int) -> str:
    """Return the share of histories with an alarm; for erosion also the median commit."""
    pool = change_pool(population, np.random.default_rng(11))
    rows = []
    for world, drop in (("null", 0.0), ("erosion", EROSION)):
        cells: dict[str, list[str]] = {rule: [] for rule in RULES}
        for n in SIZES:
            random = np.random.default_rng([n, 10])
            seen = [first_alarms(*history(population, pool, drop, n, random)) for _ in range(count)]
            for rule, texts in cells.items():
                commits = [alarms[rule] for alarms in seen if alarms[rule] is not None]
                share = len(commits) / count
                if world == "null":
                    texts.append(marked(share, 0, 0.06, count))
                else:
                    when = f" (commit {np.median(np.array(commits)):.0f})" if commits else ""
                    texts.append(f"{share:.2f}{when}")
        rows += [[f"{world}: {RULES[rule]}", *texts] for rule, texts in cells.items()]
    return table(["50 commits: rule", *(f"n = {n:,}" for n in SIZES)], rows)


TITLE = (
    "An alarm within 50 commits on {name}: false where nothing changes (above 0.06 in bold); where "
    "each commit loses 0.004, the share seen and the median commit ({count:,} repetitions)"
)


def main() -> None:
    options = arguments("false alarms over 50 commits", 200).parse_args()
    begun = time.perf_counter()
    population = populations(options)[0]
    print(f"**{TITLE.format(name=population.name, count=options.repetitions)}**\n")
    print(alarms_table(population, options.repetitions))
    print(f"\n({time.perf_counter() - begun:.0f} s)")


if __name__ == "__main__":
    main()
