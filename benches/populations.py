"""Scores of real runs as populations whose truth is known, for the measured error rates.

A folder of runs (``*.run``, ``*.txt``, compressed or not, or ``input.*``) and a qrels file give a
table ``[systems, topics]`` for each measure. Topics drawn from it with replacement are independent
queries, and the mean over all topics is the truth.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rankscope.scoring.evaluate import evaluate

Floats = npt.NDArray[np.float64]

ROBUST = (
    Path(
        os.environ.get("RANKSCOPE_COLLECTIONS")
        or Path(__file__).parents[2] / "shared" / "collections"
    )
    / "robust03"
)
NOT_RUNS = ("qrels", "license", "source", "readme")


@dataclass(frozen=True, slots=True)
class Population:
    """Scores of some systems on the same topics: ``[systems, topics]``."""

    name: str
    scores: Floats

    def draw(
        self, random: np.random.Generator, count: int, n: int, weights: Floats | None = None
    ) -> Floats:
        """Draw ``count`` samples of n topics, with replacement: ``[count, systems, n]``."""
        topics = self.scores.shape[1]
        picks = random.choice(topics, size=(count, n), p=weights)
        return np.moveaxis(self.scores[:, picks], 0, 1)


def load(folder: Path, qrels: Path | None, measures: Sequence[str]) -> list[Population]:
    """Score every run of a folder; one population for each measure."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    qrels = qrels or next(path for path in files if path.name.startswith("qrels"))
    runs = [str(path) for path in files if not path.name.lower().startswith(NOT_RUNS)]
    if len(runs) < 2:
        raise SystemExit(f"{folder} holds {len(runs)} run; at least two are needed")
    scores = evaluate(str(qrels), runs, measures)
    queries = sorted(scores.run(scores.runs[0]).query_ids)
    return [
        Population(
            f"{folder.name} {measure}",
            np.array([[scores.values(measure, run)[q] for q in queries] for run in scores.runs]),
        )
        for measure in scores.measures
    ]


def skewed(systems: int = 8, topics: int = 20_000) -> Population:
    """Make systems that hardly differ on topics with 60 % zeros; the rest is Beta(0.5, 2)."""
    random = np.random.default_rng(99)
    zero = random.random((1, topics)) < 0.5
    more = random.random((systems, topics)) < 0.2
    values = random.beta(0.5, 2.0, size=(systems, topics))
    return Population("skewed, 60 % zeros", np.where(zero | more, 0.0, values))


def equalising_weights(scores: Floats) -> Floats | None:
    """Return weights of topics under which all systems have the same mean; see `tilted_weights`."""
    return tilted_weights(scores[1:] - scores[:1], 0.0)


def tilted_weights(changes: Floats, truth: float) -> Floats | None:
    """Return weights of topics under which each row of ``changes`` has the mean ``truth``.

    Values stay as they are, ties too. Exponential tilting, w ∝ exp(λ·d), nearest to equal weights
    in relative entropy; λ by Newton's method. None if no weights do it, or if the best leave fewer
    than a third of the topics' worth.
    """
    tilt = np.zeros(len(changes))
    for _ in range(100):
        weights = np.exp(tilt @ changes - (tilt @ changes).max())
        weights /= weights.sum()
        slope = changes @ weights - truth
        if np.abs(slope).max() < 1e-12:
            effective = 1 / float((weights**2).sum())
            return weights if effective >= changes.shape[1] / 3 else None
        centred = changes - (changes @ weights)[:, np.newaxis]
        curvature = (centred * weights) @ centred.T + 1e-12 * np.eye(len(tilt))
        step = np.linalg.solve(curvature, slope)
        tilt -= step / max(1.0, float(np.abs(step).max()) / 4)
    return None


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---|" + "---:|" * (len(head) - 1), *lines[1:]])


def marked(rate: float, low: float, high: float, count: int | None = None) -> str:
    """Return a rate; in bold where it is outside what is promised.

    With ``count`` repetitions, by more than two standard errors; 0: nothing is promised.
    """
    spare = 0.0 if not count else 2 * (rate * (1 - rate) / count) ** 0.5
    is_outside = count != 0 and not low - spare <= rate <= high + spare
    return f"**{rate:.3f}**" if is_outside else f"{rate:.3f}"


def arguments(description: str, repetitions: int) -> argparse.ArgumentParser:
    """Return the options that every measurement takes."""
    reader = argparse.ArgumentParser(description=description)
    reader.add_argument("--runs", type=Path, default=ROBUST, help="folder of runs")
    reader.add_argument("--qrels", type=Path, help="default: qrels* in the folder")
    reader.add_argument("--measure", action="append", help="default: nDCG@10, AP, RR@10")
    reader.add_argument("--repetitions", type=int, default=repetitions)
    return reader


def populations(options: argparse.Namespace) -> list[Population]:
    """Return the populations that were asked for, and the skewed one."""
    if not options.runs.is_dir():
        raise SystemExit(f"{options.runs} is no folder; name one of runs and qrels by --runs")
    measures = options.measure or ["nDCG@10", "AP", "RR@10"]
    return [*load(options.runs, options.qrels, measures), skewed()]
