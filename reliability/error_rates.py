"""How often what rankscope concludes is wrong: every promise of its statistics, measured.

``python -m reliability.error_rates [--short] [--only gate] [--write]``, or ``make error-rates``.

Makes the table of docs/explanation/error-rates.md; ``--write`` puts it there. The whole takes most
of an hour of one core, ``--short`` a minute. Everything is decided by the product's own functions:
repetitions take the place of measures in a `Matrix`, so that `family_tests` tests thousands of
simulated comparisons at once, each a family of its own.

- *Worlds*: scores of the official runs of robust03 (eight systems, 100 topics) by five measures,
  and two synthetic ones. Topics are drawn with replacement, so the truth is known.
- *Equal means*: topics are reweighted until all systems have the same mean (exponential tilting,
  which leaves every value and tie as it is). More systems than there are runs are variants of
  these: on three of ten topics each takes the answer of a run drawn at random, which leaves equal
  means equal.
- *Split topics*: two halves of the topics, with the systems as they are; wrong is a difference that
  one half shows and the other shows the other way round.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rankscope.scoring.evaluate import evaluate
from rankscope.statistics.comparison import family_tests
from rankscope.statistics.gate import Rule
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.matrix import Matrix, Scale
from rankscope.statistics.noise import run_noise
from rankscope.statistics.power import detectable_like
from rankscope.statistics.settings import Settings

Floats = npt.NDArray[np.float64]

SIZES = (10, 25, 50, 100)
MEASURES = ("nDCG@10", "AP", "RR@10", "R@100", "Success@10")
REPETITIONS = {2: 20_000, 8: 10_000, 26: 2_000, 126: 300}
VARIED = 0.3
"""On this share of the topics a variant of a run answers as another run does."""
MARGIN = 0.01
"""The gate's default."""
REBUILD = 0.01
"""By how much (s.d.) the mean of a noisy system moves from one build to the next."""
BATCH = 20_000_000
"""How many numbers of differences are simulated at once."""

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "error-rates.md"
MARKS = "<!-- error rates: start -->", "<!-- error rates: end -->"


# --- worlds --------------------------------------------------------------------------------------


def tilted_weights(changes: Floats, truth: float | Floats = 0.0) -> Floats | None:
    """Return weights of topics under which each row of ``changes`` has the mean ``truth``.

    Exponential tilting, w ∝ exp(λ·d), nearest to equal weights in relative entropy; λ by Newton's
    method. None if no weights do it, or if the best leave fewer than a third of the topics' worth.
    """
    tilt = np.zeros(len(changes))
    for _ in range(100):
        weights = np.exp(tilt @ changes - (tilt @ changes).max())
        weights /= weights.sum()
        slope = changes @ weights - truth
        if np.abs(slope).max() < 1e-12:
            return weights if 1 / float((weights**2).sum()) >= changes.shape[1] / 3 else None
        centred = changes - (changes @ weights)[:, np.newaxis]
        curvature = (centred * weights) @ centred.T + 1e-12 * np.eye(len(tilt))
        step = np.linalg.solve(curvature, slope)
        tilt -= step / max(1.0, float(np.abs(step).max()) / 4)
    return None


@dataclass(frozen=True, slots=True)
class Runs:
    """Official runs by one measure: ``scores[systems, topics]``."""

    name: str
    measure: str
    scores: Floats

    @property
    def means(self) -> Floats:
        """The true mean of each system."""
        return np.asarray(self.scores.mean(axis=1))

    def equal(self) -> tuple[Floats, Floats]:
        """Return the runs that some weights of topics make equal, as many as can be, and these."""
        chosen = list(range(len(self.scores)))
        while True:
            scores = self.scores[chosen]
            weights = tilted_weights(scores[1:] - scores[:1])
            if weights is not None:
                return scores, weights
            means = self.means[chosen]
            del chosen[int(np.argmax(np.abs(means - np.median(means))))]

    def null(self, systems: int, count: int, n: int, random: np.random.Generator) -> Floats:
        """Draw ``[count, systems, n]`` of systems with equal means."""
        if systems == 2:
            pairs = [
                (self.scores[list(pair)], weights)
                for pair in combinations(range(len(self.scores)), 2)
                if (weights := tilted_weights(np.diff(self.scores[list(pair)], axis=0))) is not None
            ]
            parts = np.array_split(np.arange(count), len(pairs))
            return np.concatenate(
                [
                    drawn(scores, len(part), n, random, weights)
                    for (scores, weights), part in zip(pairs, parts, strict=True)
                ]
            )
        scores, weights = self.equal()
        topics = random.choice(scores.shape[1], size=(count, n), p=weights)
        return variants(scores, systems, topics, random)

    def actual(self, systems: int, count: int, n: int, random: np.random.Generator) -> Floats:
        """Draw systems as they are, ``[count, systems, 2n]``: two halves of different topics."""
        topics = random.random((count, self.scores.shape[1])).argsort(axis=1)[:, : 2 * n]
        scores = self.scores
        if systems == 2:
            scores = scores[random.choice(len(scores), size=2, replace=False)]
        return variants(scores, systems, topics, random)


def drawn(
    scores: Floats, count: int, n: int, random: np.random.Generator, weights: Floats | None = None
) -> Floats:
    """Draw topics with replacement: ``[count, systems, n]``."""
    topics = random.choice(scores.shape[1], size=(count, n), p=weights)
    return np.moveaxis(scores[:, topics], 0, 1)


def variants(
    scores: Floats, systems: int, topics: npt.NDArray[np.int64], random: np.random.Generator
) -> Floats:
    """Return ``[count, systems, n]``: runs on these topics, and variants where they are too few."""
    shape = (len(topics), systems, topics.shape[1])
    chosen = np.broadcast_to((np.arange(systems) % len(scores))[:, np.newaxis], shape)
    if systems > len(scores):
        other = random.integers(len(scores), size=shape)
        chosen = np.where(random.random(shape) < VARIED, other, chosen)
    return np.asarray(scores[chosen, topics[:, np.newaxis, :]])


@dataclass(frozen=True, slots=True)
class Zeros:
    """Six of ten scores are 0, the others Beta(0.5, 2); half of the zeros all systems share."""

    name: str = "60 % zeros"
    measure: str = "nDCG@10"

    def null(self, systems: int, count: int, n: int, random: np.random.Generator) -> Floats:
        """Draw ``[count, systems, n]``."""
        shape = (count, systems, n)
        zero = (random.random((count, 1, n)) < 0.5) | (random.random(shape) < 0.2)
        return np.where(zero, 0.0, random.beta(0.5, 2.0, size=shape))

    def mean(self) -> float:
        """The true mean of each system."""
        return 0.5 * 0.8 * 0.2


@dataclass(frozen=True, slots=True)
class Skewed:
    """Differences have a skewness: sums of two gamma variables, around 0.

    Those of the official runs have one of 0.2 (RR@10) to 0.7 (AP) in the median, and of up to 1.5
    in the most skewed tenth of the pairs by AP.
    """

    skewness: float
    measure: str = "nDCG@10"

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"differences of skewness {self.skewness:g}"

    def null(self, systems: int, count: int, n: int, random: np.random.Generator) -> Floats:
        """Draw ``[count, systems, n]``; every second system has few low scores, the others high."""
        shape = 2 / self.skewness**2
        away = (random.gamma(shape, 1.0, (count, systems, n)) - shape) / np.sqrt(shape)
        return np.asarray(0.5 + 0.05 * away * np.where(np.arange(systems) % 2, 1, -1)[:, None])

    def mean(self) -> float:
        """The true mean of each system."""
        return 0.5


World = Runs | Zeros | Skewed


def worlds(folder: Path, measures: tuple[str, ...] = MEASURES) -> list[World]:
    """Score the runs of a folder; one world for each measure, and the synthetic ones."""
    runs = sorted(str(path) for path in folder.glob("*.run*"))
    scores = evaluate(str(folder / "qrels.txt.gz"), runs, list(measures))
    queries = sorted(scores.run(scores.runs[0]).query_ids)
    real = []
    for measure in scores.measures:
        values = [scores.values(measure, run) for run in scores.runs]
        real.append(Runs(measure, measure, np.array([[row[q] for q in queries] for row in values])))
    return [*real, Zeros(), Skewed(0.7), Skewed(1.4)]


# --- promises ------------------------------------------------------------------------------------


def matrix_of(values: Floats, measure: str) -> Matrix:
    """Put repetitions ``[count, systems, n]`` where measures are, each a family of its own."""
    count, systems, n = values.shape
    return Matrix(
        systems=tuple(f"s{system:03}" for system in range(systems)),
        scales=(Scale.of(measure),) * count,
        query_ids=tuple(f"q{query:03}" for query in range(n)),
        values=values,
    )


def verdicts(values: Floats, measure: str) -> npt.NDArray[np.int64]:
    """Compare all systems: ``[count, pairs]``, 1 better, −1 worse, 0 can't tell."""
    pairs = list(combinations(range(values.shape[1]), 2))
    tested = family_tests(matrix_of(values, measure), pairs, Settings())
    shown = tested.rows.shown(tested.corrected, 0.05)
    return np.where(shown, np.sign(tested.rows.mean), 0).reshape(len(values), -1).astype(np.int64)


def batches(count: int, systems: int, n: int) -> Iterator[int]:
    """Split repetitions such that their differences fit in memory."""
    step = max(1, BATCH // (systems * (systems - 1) // 2 * n))
    for start in range(0, count, step):
        yield min(step, count - start)


def family_error(world: World, systems: int, count: int, n: int, seed: int) -> float:
    """Return how often any difference is shown between systems with equal means."""
    random = np.random.default_rng([seed, systems, n])
    wrong = [
        verdicts(world.null(systems, size, n, random), world.measure).any(axis=1)
        for size in batches(count, systems, n)
    ]
    return float(np.concatenate(wrong).mean())


def contradictions(real: list[Runs], systems: int, count: int, n: int, seed: int) -> float:
    """Return how often two halves of the topics show any difference in opposite directions.

    It is that of the worst measure.
    """
    if 2 * n > real[0].scores.shape[1]:
        return float("nan")
    rates = []
    for world in real:
        random = np.random.default_rng([seed, systems, n, 1])
        wrong = []
        for size in batches(count, systems, n):
            parts = max(1, size // 10) if systems == 2 else 1  # other pairs each time
            for part in np.array_split(np.arange(size), parts):
                values = world.actual(systems, len(part), n, random)
                one, other = (verdicts(half, world.measure) for half in np.split(values, 2, axis=2))
                wrong.append((one * other < 0).any(axis=1))
        rates.append(float(np.concatenate(wrong).mean()))
    return max(rates)


def difference_coverage(world: World, count: int, n: int, seed: int) -> float:
    """Return how often the 95 % interval of a difference holds the true one."""
    random = np.random.default_rng([seed, n, 2])
    held: list[bool] = []
    pairs = list(combinations(range(8), 2))
    for pair in pairs:
        size = -(-count // len(pairs))
        if isinstance(world, Runs):
            scores = world.scores[list(pair)]
            values, truth = drawn(scores, size, n, random), float(np.diff(scores.mean(axis=1))[0])
        else:
            values, truth = world.null(2, size, n, random), 0.0
        tested = family_tests(matrix_of(values, world.measure), [(0, 1)], Settings())
        held += [
            interval.low - 1e-12 <= truth <= interval.high + 1e-12
            for interval in tested.rows.intervals(tested.corrected, 0.05)
        ]
    return float(np.mean(held))


def mean_coverage(world: World, count: int, n: int, seed: int) -> float:
    """Return how often the 95 % interval of a mean holds the true one."""
    random = np.random.default_rng([seed, n, 3])
    held: list[bool] = []
    for part in range(count // 100):  # each with resamples of its own
        system = part % 8
        if isinstance(world, Runs):
            rows = drawn(world.scores[[system]], 100, n, random)[:, 0]
            truth = float(world.means[system])
        else:
            rows, truth = world.null(2, 100, n, random)[:, 1], world.mean()
        intervals = mean_intervals(rows, resamples=2_000, seed=part, bounds=(0.0, 1.0))
        held += [one.low - 1e-12 <= truth <= one.high + 1e-12 for one in intervals]
    return float(np.mean(held))


RULE = Rule(Settings(), MARGIN, None, 0.8)
"""The gate's rule with its defaults; each repetition is a call of its own."""


def gate_alarms(world: World, count: int, n: int, seed: int) -> float:
    """Return how often a candidate as good as its baseline is called a regression."""
    values = world.null(2, count, n, np.random.default_rng([seed, n, 4]))
    checks = RULE.checks(matrix_of(values, world.measure), {})
    return float(np.mean([check.answer == "regression" for check in checks]))


def gate_of_all_measures(real: list[Runs], count: int, n: int, seed: int) -> float:
    """Return that of a gate that compares all measures at once."""
    random = np.random.default_rng([seed, n, 5])
    table = np.stack([world.scores for world in real])  # [measures, systems, topics]
    pairs = []
    for pair in combinations(range(table.shape[1]), 2):
        weights = tilted_weights(table[:, pair[1]] - table[:, pair[0]])
        if weights is not None:
            pairs.append((table[:, list(pair)], weights))
    rule = Rule(Settings(family="all"), MARGIN, None, 0.8)
    wrong = 0
    for number in range(count):
        scores, weights = pairs[number % len(pairs)]
        topics = random.choice(table.shape[2], size=n, p=weights)
        matrix = matrix_of(scores[:, :, topics], "AP")
        scales = tuple(Scale.of(world.measure) for world in real)
        checks = rule.checks(Matrix(matrix.systems, scales, matrix.query_ids, matrix.values), {})
        wrong += any(check.answer == "regression" for check in checks)
    return wrong / count


def gate_power(world: Runs, count: int, n: int, seed: int) -> float:
    """Return how often a drop is called a regression that is said to be seen in 80 %."""
    random = np.random.default_rng([seed, n, 6])
    worlds_of_pairs = []
    for pair in combinations(range(len(world.scores)), 2):
        scores = world.scores[list(pair)]
        for both in (scores, scores[::-1]):
            change = both[1] - both[0]
            differs = change[change != 0]
            share, spread = len(differs) / len(change), float(differs.var())
            size = float(detectable_like(n, share, spread, alpha=0.05, largest=1.0))
            weights = tilted_weights(change[np.newaxis], -size) if np.isfinite(size) else None
            if weights is not None:
                worlds_of_pairs.append((both, weights))
                break
    if len(worlds_of_pairs) < 5:
        return float("nan")
    answers: list[bool] = []
    for scores, weights in worlds_of_pairs:
        values = drawn(scores, -(-count // len(worlds_of_pairs)), n, random, weights)
        checks = RULE.checks(matrix_of(values, world.measure), {})
        answers += [check.answer == "regression" for check in checks]
    return float(np.mean(answers))


def noise_error(world: World, count: int, n: int, seed: int) -> float:
    """Return how often a noisy system with the same mean is shown to differ; three builds of it."""
    random = np.random.default_rng([seed, n, 7])
    values = world.null(2, count, n, random)
    shifts = random.normal(0, REBUILD, (count, 3))
    builds = values[:, 1, np.newaxis] + shifts[:, :, np.newaxis]  # [count, builds, n]
    values = np.stack([values[:, 0], builds[:, 0]], axis=1)
    noises = {(row, 0): [(run_noise(runs), 1.0)] for row, runs in enumerate(builds)}
    matrix = matrix_of(values, world.measure)
    tested = family_tests(matrix, [(0, 1)], Settings(), noises=noises)
    return float(tested.rows.shown(tested.corrected, 0.05).mean())


# --- the table -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Promise:
    """What is promised in one world, and how it is measured."""

    name: str
    world: str
    rate: Callable[[int, int], float]
    """By number of topics and seed."""
    repetitions: int
    low: float = 0.0
    high: float = 1.0
    low_few: float = 0.0
    """The least at ten topics."""

    def misses(self, rate: float, n: int) -> bool:
        """Tell whether a rate is outside what is promised."""
        return not (self.low_few if n <= 10 else self.low) <= rate <= self.high


def promises(everything: list[World], share: float = 1.0) -> Iterator[Promise]:
    """Yield all promises; ``share`` of all repetitions."""
    real = [world for world in everything if isinstance(world, Runs)]
    for systems, repetitions in REPETITIONS.items():
        count = max(40, round(share * repetitions))
        name = f"family-wise error, {systems} systems"
        for world in everything:
            rate = partial(family_error, world, systems, count)
            yield Promise(name, world.name, rate, count, high=0.07)
        name = f"halves that contradict each other, {systems} systems"
        rate = partial(contradictions, real, systems, count)
        yield Promise(name, "worst of five measures", rate, count, high=0.01)
    count = max(200, round(share * 8_000))
    for name, covers in (
        ("interval of a difference holds the truth", difference_coverage),
        ("interval of a mean holds the truth", mean_coverage),
    ):
        for world in everything:
            rate = partial(covers, world, count)
            yield Promise(name, world.name, rate, count, low=0.93, low_few=0.92)
    for name, errs, high in (
        ("gate: false alarms", gate_alarms, 0.035),
        ("noise of three builds: false differences", noise_error, 0.07),
    ):
        for world in everything:
            yield Promise(name, world.name, partial(errs, world, count), count, high=high)
    yield Promise(
        "gate: false alarms", "all five measures at once",
        partial(gate_of_all_measures, real, count // 2), count // 2, high=0.035,
    )  # fmt: skip
    for world in real:
        rate = partial(gate_power, world, count)
        yield Promise("gate: sees drops it says it sees in 0.8", world.name, rate, count, low=0.7)


def main() -> None:
    """Print the table, and put it into the docs if asked to."""
    reader = argparse.ArgumentParser(description="measured error rates")
    collections = os.environ.get("RANKSCOPE_COLLECTIONS", "../shared/collections")
    reader.add_argument("--runs", type=Path, default=Path(collections) / "robust03")
    reader.add_argument("--only", default="", help="rows whose promise holds this text")
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--short", action="store_true", help="a fiftieth of it")
    reader.add_argument("--write", action="store_true", help="put the table into the docs")
    options = reader.parse_args()
    if not options.runs.is_dir():
        raise SystemExit(f"{options.runs} is no folder; name one with runs and qrels by --runs")
    begun = time.perf_counter()
    sizes = SIZES[:2] if options.short else SIZES
    lines = [
        "| promise | world |" + "".join(f" n = {n} |" for n in sizes),
        "|---|---|" + "---:|" * len(sizes),
    ]
    print("\n".join(lines))
    for promise in promises(worlds(options.runs), 0.02 if options.short else 1.0):
        if options.only not in promise.name or (options.short and " 126 " in promise.name):
            continue
        cells = [promise.name, promise.world]
        for n in sizes:
            rate = promise.rate(n, options.seed)
            text = "–" if np.isnan(rate) else f"{rate:.3f}"
            cells.append(f"**{text}**" if promise.misses(rate, n) and text != "–" else text)
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    print(f"\n{time.perf_counter() - begun:.0f} s")
    if options.write:
        start, end = MARKS
        before, _, rest = PAGE.read_text("utf-8").partition(start)
        table = "\n".join(lines)
        PAGE.write_text(f"{before}{start}\n\n{table}\n\n{end}{rest.partition(end)[2]}", "utf-8")


if __name__ == "__main__":
    main()
