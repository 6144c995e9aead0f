"""Baselines: is a number good? Beside it: chance, plain search, and the best there is.

A random ranking (by formula), BM25 over titles and over all text where there is a corpus, and the
judged documents in perfect order. Each baseline is compared with the one before it, and systems
with the last: the ladder from chance to a perfect ranking.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import (
    Analysed,
    AnalysisConfig,
    CannotAnalyseError,
    Estimate,
    Inputs,
    Row,
    analysis,
    found,
)
from rankscope.diagnosis.reference_rankings import (
    RANDOM,
    TEXTS,
    TITLES,
    ideal_values,
    plain_search,
    random_rankings,
    scored_as_systems,
)
from rankscope.diagnosis.show import part_table, system_table
from rankscope.document.blocks import Block
from rankscope.errors import InputError, counted
from rankscope.findings import Finding, declare
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate
from rankscope.part import Part
from rankscope.statistics.arrays import SAME, SMALLEST
from rankscope.statistics.intervals import agreeing
from rankscope.statistics.matrix import Matrix, Scale
from rankscope.statistics.paired_differences import Differences
from rankscope.statistics.system_pairs import Verdict
from rankscope.statistics.tests import corrected

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray

PERFECT = "perfect order"
"""What the judged documents in the best order are called."""

NOT_BETTER_THAN_RANDOM = declare(
    "RS661",
    "not-better-than-random",
    "warning",
    unit="system",
    advice="check the ids and the order of scores (distances are upside down): working search is "
    "far above chance",
    meaning="""By the main measure, documents in random order could do as well as a system: its mean
    is not so far above theirs that chance is ruled out, whatever the distribution (Cantelli's
    inequality).""",
)
NOT_BETTER_THAN_BM25 = declare(
    "RS663",
    "not-better-than-bm25",
    "note",
    unit="system",
    advice="plain lexical search is cheaper; find out which queries gain before you build on more",
    meaning="""The best system is not shown to be better, by the main measure, than BM25 with
    nothing tuned, over the full text (or titles, if there is nothing else).""",
)
WORSE_THAN_BM25 = declare(
    "RS664",
    "worse-than-bm25",
    "warning",
    unit="system",
    advice="use plain lexical search, or put it beside the system and fuse both",
    meaning="""BM25 with nothing tuned is significantly better than the best system, by the main
    measure.""",
)


class BaselinesConfig(AnalysisConfig):
    """What baselines are made of."""

    documents: int | None = Field(default=None, ge=1)
    """How many documents there are to be found, where no corpus is given."""
    search_up_to: int = Field(default=50_000, ge=0)
    """A corpus of more documents is not searched for baselines; 0: none is."""
    language: str = "english"
    """Whose stemmer and stop words BM25 uses: one of PyStemmer's languages, or none for neither."""


class Rung(Row):
    """A baseline or a system, and how far it is above the baseline before it."""

    mean: float
    """By the main measure."""
    over: str | None = None
    """The baseline it is compared with; null: there is none before it."""
    gained: Estimate | None = None
    """Its mean minus that of this baseline."""
    p: float | None = None
    """Of the paired test, corrected over the systems; over random rankings a bound of how often
    they are as good; null: no test."""
    verdict: Verdict | Literal["the same"] | None = None
    """What that shows; the same: the same value for every query."""

    @property
    def percent(self) -> str | None:
        """What is gained in per cent of the baseline; None over chance: that is next to nothing."""
        if self.gained is None or self.over == RANDOM or self.mean <= self.gained.value:
            return None
        return f"{self.gained.value / (self.mean - self.gained.value):+.1%}"


class MeasureMeans(Part):
    """Means by one measure."""

    measure: str
    """The measure."""
    random: float | None
    """Expected of all documents in random order; null: no formula, or it is not known how many
    documents there are."""
    deviation: float | None
    """How far that mean lies from one random order to the next (a standard deviation)."""
    title_only: float | None
    """Of BM25 over titles; null if it could not be made."""
    full_text: float | None
    """Of BM25 over all text; null if it could not be made."""
    systems: dict[str, float]
    """By system."""
    ideal: float | None
    """Of the judged documents in perfect order; null where a measure needs more than grades."""


class Baselines(Analysed):
    """Means of systems beside those of baselines."""

    measure: str
    """The main measure."""
    queries: int
    """How many queries the means are over."""
    documents: int | None
    """How many documents there are; null: not known."""
    absent: dict[str, str]
    """Which baselines could not be made, and why."""
    ladder: tuple[Rung, ...]
    """By the main measure: each baseline over the one before it, systems over the last."""
    means: tuple[MeasureMeans, ...]
    """By measure."""
    level: float
    """The confidence of intervals."""


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """The values of a baseline or a system by the main measure."""

    name: str
    values: FloatArray
    mean: float
    repeats: FloatArray | None = None
    """All its runs, ``[r, n]``, if it was asked more than once."""


@analysis(
    "baselines",
    BaselinesConfig,
    Baselines,
    title="Baselines",
    needs=("scores", "runs", "qrels"),
    uses=("corpus", "search"),
    written="baselines: {documents: 200}",
    codes=(NOT_BETTER_THAN_RANDOM, NOT_BETTER_THAN_BM25, WORSE_THAN_BM25),
    place=15,
)
def baselines(config: BaselinesConfig, inputs: Inputs) -> Baselines:
    """What chance, plain search over titles and full text, and the best ranking reach."""
    assert inputs.scores is not None
    assert inputs.qrels is not None
    if inputs.qrels.gold is not None:
        raise CannotAnalyseError("what is to be found is passages, and not documents")
    try:
        matrix = Matrix.of_scores(inputs.scores, only_means=True)
    except InputError as error:
        raise CannotAnalyseError(str(error)) from error
    if not matrix.scales:
        raise CannotAnalyseError("no measure is a mean over queries")
    measures = [Measure.parse(scale.name) for scale in matrix.scales]
    number = {query_id: place for place, query_id in enumerate(inputs.qrels.query_ids)}
    at = np.array([number[query_id] for query_id in matrix.query_ids], np.int64)
    sizes = [int(ranking.sizes.max(initial=0)) for ranking in inputs.rankings.systems.values()]
    depth = max(1, *sizes)
    documents = inputs.documents or config.documents
    absent: dict[str, str] = {}
    chance = random_rankings(inputs, documents, depth, absent)
    deepest = max(depth, *(measure.cutoff or 1 for measure in measures))
    searched = plain_search(
        inputs,
        documents,
        deepest,
        absent,
        most=config.search_up_to,
        language=config.language,
    )
    if chance is None and not searched:
        raise CannotAnalyseError("; ".join(dict.fromkeys(absent.values())))
    means: list[MeasureMeans] = []
    rungs: list[_Values] = []
    for place, measure in enumerate(measures):
        moments = None if chance is None else chance.of(measure)
        random = None if moments is None else moments[0][at]
        variance = None if moments is None or moments[1] is None else moments[1][at]
        plain = {
            name: scored_as_systems(measure, run, inputs)[at] for name, run in searched.items()
        }
        below = {RANDOM: random, **plain} if random is not None else plain
        by_name = {name: aggregate(measure, values) for name, values in below.items()}
        ideal = ideal_values(measure, inputs.qrels)
        means.append(
            MeasureMeans(
                measure=str(measure),
                random=by_name.get(RANDOM),
                deviation=None if variance is None else math.sqrt(math.fsum(variance)) / len(at),
                title_only=by_name.get(TITLES),
                full_text=by_name.get(TEXTS),
                systems={name: matrix.mean(place, row) for row, name in enumerate(matrix.systems)},
                ideal=None if ideal is None else aggregate(measure, ideal[at]),
            )
        )
        if place == 0:
            if random is None:
                absent.setdefault(RANDOM, f"no formula is known for {measure}")
            rungs = [_Values(name, below[name], by_name[name]) for name in below]
    result = Baselines(
        measure=str(measures[0]),
        queries=len(at),
        documents=documents,
        absent=absent,
        ladder=tuple(_ladder(rungs, matrix, means[0].deviation, inputs)),
        means=tuple(means),
        level=inputs.settings.level,
    )
    return result.model_copy(update={"findings": _findings(result, matrix.scales[0], inputs)})


@baselines.show
def _show(result: Baselines) -> Iterator[Block | None]:
    reasons: dict[str, list[str]] = {}
    for name, reason in result.absent.items():
        reasons.setdefault(reason, []).append(name)
    notes = [f"{' and '.join(names)} could not be made: {why}" for why, names in reasons.items()]
    made = [row.system for row in result.ladder]
    if RANDOM in made:
        notes.append(f"random: expected of all {result.documents:,} documents in random order")
    if TITLES in made or TEXTS in made:
        notes.append("title-only, full text: BM25 with nothing tuned over these (k1 = 1.5)")
    ideal = result.means[0].ideal
    perfect = [] if ideal is None else [Rung(system=PERFECT, mean=ideal)]
    yield system_table(
        [*result.ladder, *perfect],
        notes=notes,
        mean=result.measure,
        gained="gained",
        over="over",
        percent="in per cent",
        verdict="verdict",
        p="p",
    )
    yield (
        None
        if len(result.means) == 1
        else part_table(
            result.means,
            f"Means over {counted(result.queries, 'query')}",
            measure="measure",
            random="random",
            title_only="title-only",
            full_text="full text",
            systems="{}",
            ideal=PERFECT,
        )
    )


def _ladder(
    below: Sequence[_Values], matrix: Matrix, deviation: float | None, inputs: Inputs
) -> list[Rung]:
    """Compare each baseline with the one before it, and each system with the last."""
    settings, scale = inputs.settings, matrix.scales[0]
    systems = [
        _Values(
            name,
            matrix.values[0, row],
            matrix.mean(0, row),
            matrix.repeats[name][0] if name in matrix.repeats else None,
        )
        for row, name in enumerate(matrix.systems)
    ]
    if not below:
        return [Rung(system=row.name, mean=row.mean) for row in systems]
    rows, last = [*below, *systems], len(below) - 1
    values = np.stack([row.values for row in rows])[np.newaxis]
    repeats = {row.name: row.repeats[np.newaxis] for row in rows if row.repeats is not None}
    names = tuple(row.name for row in rows)
    whole = Matrix(names, (scale,), matrix.query_ids, values, repeats=repeats)
    pairs = [(min(place - 1, last), place) for place in range(1, len(rows))]
    intervals = Differences.of(whole, pairs, settings).intervals_at(settings.level)
    p_values: list[float | None] = [None] * len(pairs)
    if below[-1].name != RANDOM:
        changes = Differences.of(whole, pairs[last:], settings, family=len(systems))
        adjusted = corrected(changes.p, settings.correction).tolist()
        p_values[last:] = adjusted
        intervals[last:] = changes.intervals(adjusted, settings.alpha)
    elif deviation is not None:
        gains = [row.mean - below[-1].mean for row in systems]
        p_values[last:] = [_by_chance(gain, deviation, scale) for gain in gains]
    ladder = [Rung(system=below[0].name, mean=below[0].mean)]
    for (base, place), interval, p in zip(pairs, intervals, p_values, strict=True):
        row, difference = rows[place], rows[place].mean - rows[base].mean
        is_same = np.allclose(rows[base].values, row.values, rtol=0, atol=SAME)
        agreed = interval if p is None else agreeing(interval, difference, p, settings.alpha)
        verdict = None if p is None else scale.verdict(difference, p, settings.alpha)
        low, high = (0.0, 0.0) if is_same else (agreed.low, agreed.high)
        ladder.append(
            Rung(
                system=row.name,
                mean=row.mean,
                over=rows[base].name,
                gained=Estimate(value=difference, low=low, high=high),
                p=p,
                verdict="the same" if is_same and p is not None else verdict,
            )
        )
    return ladder


def _by_chance(gain: float, deviation: float, scale: Scale) -> float:
    """Bound how often chance gains so much, whatever its distribution (Cantelli's inequality)."""
    away = abs(gain) / max(deviation, SMALLEST)
    return 1 / (1 + min(away, 1e100) ** 2) if scale.is_better(gain) else 1.0


def _findings(result: Baselines, scale: Scale, inputs: Inputs) -> tuple[Finding, ...]:
    """Say which systems chance or plain search could replace."""
    main, alpha, focus = result.means[0], inputs.settings.alpha, inputs.focus
    sign = 1 if scale.higher_is_better else -1
    is_asked = str(inputs.main) == result.measure  # else no gain by the main measure is known
    systems = [row for row in result.ladder if row.system in main.systems]
    random, deviation = main.random, main.deviation
    like_chance, replaceable, worse = [], [], []
    if random is not None and deviation is not None:
        like_chance = [
            row for row in systems if _by_chance(row.mean - random, deviation, scale) > alpha
        ]
    [best] = [row for row in systems if row.system == focus]
    if best.over in (TITLES, TEXTS) and best.verdict == "can't tell":
        replaceable = [best]
    if best.over in (TITLES, TEXTS) and best.verdict == "worse":
        worse = [row for row in systems if row.verdict == "worse"]

    def numbers(row: Rung) -> str:
        gained = 0.0 if row.gained is None else row.gained.value
        return f"{result.measure} of {row.mean:.4f} against {row.mean - gained:.4f} ({gained:+.4f})"

    def loss(row: Rung) -> float:
        return 0.0 if row.gained is None or not is_asked else -sign * row.gained.value

    def lacking(row: Rung) -> float:
        return 0.0 if main.ideal is None or not is_asked else sign * (main.ideal - row.mean)

    return (
        *found(
            NOT_BETTER_THAN_RANDOM,
            like_chance,
            lambda row: (
                f"{row.system} is not shown to be better than a random order of the "
                f"{result.documents:,} documents: {result.measure} of {row.mean:.4f} against "
                f"{random:.4f}"
            ),
            lacking,
            focus=focus,
        ),
        *found(
            NOT_BETTER_THAN_BM25,
            replaceable,
            lambda row: (
                f"{row.system} is not shown to be better than plain BM25 ({row.over}): "
                f"{numbers(row)}"
            ),
            loss,
            focus=focus,
        ),
        *found(
            WORSE_THAN_BM25,
            worse,
            lambda row: f"{row.system} is worse than plain BM25 ({row.over}): {numbers(row)}",
            loss,
            focus=focus,
        ),
    )
