"""Baselines: is a number good? Beside it: chance, plain search, and the best there is.

A random ranking (by formula), BM25 over titles and over all text where there is a corpus, and the
judged documents in perfect order. Each baseline is compared with the one before it, and systems
with the last: the ladder from chance to a perfect ranking.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import Analysed, Config, Estimate, Inputs, Row, analysis, found
from rankscope.diagnosis.ranked_run import ideal_values, why_not_by_grade
from rankscope.diagnosis.reference_rankings import (
    RANDOM,
    TEXTS,
    TITLES,
    plain_search,
    random_rankings,
    scored_as_systems,
)
from rankscope.diagnosis.show import system_table
from rankscope.document.blocks import Block
from rankscope.findings import Finding, declare
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate
from rankscope.scoring.align import align
from rankscope.statistics.arrays import SMALLEST
from rankscope.statistics.comparison import compare_pairs
from rankscope.statistics.intervals import Interval, agreeing
from rankscope.statistics.matrix import Matrix, Scale
from rankscope.statistics.system_pairs import Pair, Verdict

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


class BaselinesConfig(Config):
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
    deviation: float | None
    """How far the mean of random rankings lies from one random order to the next (a standard
    deviation); null: not known."""
    ideal: float | None
    """Of the judged documents in perfect order; null where the measure needs more than grades."""


@analysis(
    title="Baselines",
    needs=("scores", "runs", "qrels"),
    written="baselines: {documents: 200}",
    place=15,
)
def baselines(config: BaselinesConfig, inputs: Inputs) -> Baselines:
    """What chance, plain search over titles and full text, and the best ranking reach."""
    inputs.require(inputs.qrels.gold is None, "what is to be found is passages, and not documents")
    matrix = inputs.matrix().only_measure(0)
    measure = Measure.parse(matrix.scales[0].name)
    number = {query_id: place for place, query_id in enumerate(inputs.qrels.query_ids)}
    at = np.array([number[query_id] for query_id in matrix.query_ids], np.int64)
    sizes = [int(ranking.sizes.max(initial=0)) for ranking in inputs.rankings.systems.values()]
    depth = max(1, *sizes)
    documents = inputs.documents or config.documents
    absent: dict[str, str] = {}
    chance = random_rankings(inputs, documents, depth, absent)
    deepest = max(depth, measure.cutoff or 1)
    searched = plain_search(
        inputs, documents, deepest, absent, most=config.search_up_to, language=config.language
    )
    inputs.require(chance is not None or searched, "; ".join(dict.fromkeys(absent.values())))
    below, deviation = {}, None
    moments = None if chance is None else chance.of(measure)
    if moments is not None:
        below[RANDOM] = moments[0][at]
        if moments[1] is not None:
            deviation = math.sqrt(math.fsum(moments[1][at])) / len(at)
    elif chance is not None:
        absent[RANDOM] = f"no formula is known for {measure}"
    for name, run in searched.items():
        below[name] = scored_as_systems(measure, run, inputs)[at]
    ideal = None
    if not why_not_by_grade(measure, inputs.qrels.judged_grade):
        judged = align(inputs.qrels, next(iter(inputs.runs.values())), sound=False).judged
        ideal = aggregate(measure, ideal_values(measure, judged)[at])
    return Baselines(
        measure=str(measure),
        queries=len(at),
        documents=documents,
        absent=absent,
        ladder=tuple(_ladder(below, matrix, deviation, inputs)),
        deviation=deviation,
        ideal=ideal,
    )


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
    perfect = [] if result.ideal is None else [Rung(system=PERFECT, mean=result.ideal)]
    yield system_table(
        [*result.ladder, *perfect],
        notes=notes,
        columns=f"mean: {result.measure} | gained | over | percent: in per cent | verdict | p",
    )


def _ladder(
    below: Mapping[str, FloatArray], matrix: Matrix, deviation: float | None, inputs: Inputs
) -> list[Rung]:
    """Compare each baseline with the one before it, and each system with the last."""
    settings, scale, names = inputs.settings, matrix.scales[0], (*below, *matrix.systems)
    whole = replace(
        matrix, systems=names, values=np.stack([*below.values(), *matrix.values[0]])[np.newaxis]
    )
    if not below:
        return [Rung(system=name, mean=whole.mean(0, row)) for row, name in enumerate(names)]
    last = len(below) - 1
    ladder = [Rung(system=names[0], mean=whole.mean(0, 0))]
    for place in range(1, len(below)):
        [pair] = compare_pairs(whole, [(place - 1, place)], settings)
        ladder.append(_rung(pair, pair.interval))
    of_systems = [(last, place) for place in range(last + 1, len(names))]
    for pair in compare_pairs(whole, of_systems, settings):
        if pair.base != RANDOM:
            verdict = "the same" if pair.is_same else pair.verdict
            ladder.append(_rung(pair, pair.interval, pair.p_corrected, verdict))
        elif deviation is None:
            ladder.append(_rung(pair, pair.interval))
        else:
            p = _by_chance(pair.difference, deviation, scale)
            interval = agreeing(pair.interval, pair.difference, p, settings.alpha)
            verdict = scale.verdict(pair.difference, p, settings.alpha)
            ladder.append(_rung(pair, interval, p, verdict))
    return ladder


def _rung(pair: Pair, interval: Interval, p: float | None = None, verdict: Any = None) -> Rung:
    return Rung(
        system=pair.system,
        mean=pair.system_mean,
        over=pair.base,
        gained=Estimate(
            value=pair.difference,
            low=0.0 if pair.is_same else interval.low,
            high=0.0 if pair.is_same else interval.high,
        ),
        p=p,
        verdict=verdict,
    )


def _by_chance(gain: float, deviation: float, scale: Scale) -> float:
    """Bound how often chance gains so much, whatever its distribution (Cantelli's inequality)."""
    away = abs(gain) / max(deviation, SMALLEST)
    return 1 / (1 + min(away, 1e100) ** 2) if scale.is_better(gain) else 1.0


@baselines.find
def _find(result: Baselines, inputs: Inputs) -> Iterator[Finding]:
    """Say which systems chance or plain search could replace."""
    focus, scale = inputs.focus, Scale.of(result.measure)
    sign = 1 if scale.higher_is_better else -1
    is_asked = str(inputs.main) == result.measure  # else no gain by the main measure is known
    systems = [row for row in result.ladder if row.system in inputs.runs]
    random, deviation = result.ladder[0].mean, result.deviation
    like_chance = []
    if deviation is not None:
        like_chance = [
            row
            for row in systems
            if _by_chance(row.mean - random, deviation, scale) > inputs.settings.alpha
        ]
    beside_bm25 = [row for row in systems if row.over in (TITLES, TEXTS)]
    verdict = next((row.verdict for row in beside_bm25 if row.system == focus), None)

    def gained(row: Rung) -> float:
        return 0.0 if row.gained is None else row.gained.value

    def sentence(row: Rung) -> str:
        what = "is worse" if row.verdict == "worse" else "is not shown to be better"
        return (
            f"{row.system} {what} than plain BM25 ({row.over}): {result.measure} of {row.mean:.4f} "
            f"against {row.mean - gained(row):.4f} ({gained(row):+.4f})"
        )

    def loss(row: Rung) -> float:
        return -sign * gained(row) if is_asked else 0.0

    yield from found(
        NOT_BETTER_THAN_RANDOM,
        like_chance,
        lambda row: (
            f"{row.system} is not shown to be better than a random order of the "
            f"{result.documents:,} documents: {result.measure} of {row.mean:.4f} against "
            f"{random:.4f}"
        ),
        lambda row: (
            0.0 if result.ideal is None or not is_asked else sign * (result.ideal - row.mean)
        ),
        focus=focus,
    )
    if verdict in ("can't tell", "worse"):
        code = WORSE_THAN_BM25 if verdict == "worse" else NOT_BETTER_THAN_BM25
        like = [row for row in beside_bm25 if row.verdict == verdict]
        like = like if verdict == "worse" else [row for row in like if row.system == focus]
        yield from found(code, like, sentence, loss, focus=focus)
