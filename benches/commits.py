"""False alarms over 50 commits that change nothing on average, and how soon erosion is seen.

``python benches/commits.py [--repetitions 400]``

The same n queries are asked at every commit; the anchor's scores are Beta(0.8, 0.8). Commits:

- *jitter*: each commit's scores are the anchor's, with 20 % of the queries moved at random.
- *walk*: each commit moves 5 % of the queries of the commit before: null, but it adds up.
- *erosion*: like walk, and each commit loses 0.004 on average.
- *fresh*: as jitter, but each commit is asked new queries.

Rules: a t test of each commit against the anchor at 0.05 (one-sided); t at what `spending` leaves;
e-values added up (`EProcess`); e-values multiplied, for new queries only.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import numpy.typing as npt

from populations import marked, table
from rankscope.statistics.paired import paired_tests
from rankscope.statistics.sequential import EProcess, spending

Floats = npt.NDArray[np.float64]
COMMITS = 50


def moved(scores: Floats, share: float, drop: float, random: np.random.Generator) -> Floats:
    """Move a share of the scores up or down alike, within 0 and 1, and lose ``drop`` on average."""
    room = np.minimum(scores, 1 - scores)
    change = np.where(random.random(len(scores)) < share, random.uniform(-1, 1, len(scores)), 0.0)
    changed = scores + change * room
    falls = random.random(len(scores)) < drop / 0.1
    return np.asarray(np.where(falls, np.maximum(changed - 0.1, 0.0), changed))


def history(world: str, n: int, random: np.random.Generator) -> list[Floats]:
    """Return candidate − anchor for each commit."""
    anchor = random.beta(0.8, 0.8, n)
    changes, scores = [], anchor
    for _ in range(COMMITS):
        if world in ("jitter", "fresh"):
            anchor = random.beta(0.8, 0.8, n) if world == "fresh" else anchor
            scores = moved(anchor, 0.2, 0.0, random)
        else:
            scores = moved(scores, 0.05, 0.0042 if world == "erosion" else 0.0, random)
        changes.append(scores - anchor)
    return changes


def first_alarms(changes: list[Floats]) -> dict[str, int | None]:
    """Return at which commit each rule raises its first alarm."""
    results = paired_tests(np.stack(changes), test="t")
    tails = [
        result.p / 2 if row.mean() < 0 else 1.0
        for result, row in zip(results, changes, strict=True)
    ]
    added, multiplied = EProcess(), EProcess(fresh=True)
    alarms: dict[str, int | None] = dict.fromkeys(("t", "spent", "added", "multiplied"))
    for commit, row in enumerate(changes, start=1):
        added, multiplied = added.update(row), multiplied.update(row)
        raised = {
            "t": tails[commit - 1] <= 0.05,
            "spent": tails[commit - 1] <= 0.05 * spending(commit),
            "added": added.alarm,
            "multiplied": multiplied.alarm,
        }
        for rule, now in raised.items():
            if now and alarms[rule] is None:
                alarms[rule] = commit
    return alarms


RULES = {
    "t": "t at every commit",
    "spent": "t, alpha spent",
    "added": "e-values added",
    "multiplied": "e-values multiplied",
}


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("--repetitions", type=int, default=400)
    count = reader.parse_args().repetitions
    begun = time.perf_counter()
    sizes = (50, 200, 1_000)
    rows = []
    for world in ("jitter", "walk", "fresh", "erosion"):
        cells: dict[str, list[str]] = {rule: [] for rule in RULES}
        for n in sizes:
            random = np.random.default_rng([n, 10])
            alarms = [first_alarms(history(world, n, random)) for _ in range(count)]
            for rule, texts in cells.items():
                seen = [alarm[rule] for alarm in alarms if alarm[rule] is not None]
                rate = len(seen) / count
                if world == "erosion":
                    when = f" (commit {np.median(seen):.0f})" if seen else ""  # type: ignore[arg-type]
                    texts.append(f"{rate:.2f}{when}")
                else:
                    texts.append(marked(rate, 0, 0.06))
        for rule, name in RULES.items():
            if rule != "multiplied" or world == "fresh":
                rows.append([f"{world}, {name}", *cells[rule]])
    print(f"**An alarm within {COMMITS} commits: false for jitter, walk and fresh (above 0.06 in")
    print("bold); for erosion of 0.004 a commit the share seen and the median commit,")
    print(
        f"{count:,} repetitions**\n\n{table(['commits, rule', *map('n = {}'.format, sizes)], rows)}"
    )
    print(f"\n({time.perf_counter() - begun:.0f} s)")


if __name__ == "__main__":
    main()
