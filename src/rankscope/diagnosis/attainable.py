"""The attainable maximum: the best mean that any system could have on these judgments.

A mean of 0.46 is no failure where no system can have more: three relevant documents cannot all be
first, a query without a relevant document gives nothing to anybody, and a document whose text the
corpus holds twice can only be guessed. The maximum of a measure is its mean over ideal rankings,
scored by the same code as the runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from pydantic import Field

from rankscope.diagnosis.attainable_findings import (
    AMBIGUOUS_GOLD,
    AT_MAXIMUM,
    SAME_DOCUMENTS,
    SATURATED,
    attainable_findings,
)
from rankscope.diagnosis.attainable_tables import attainable_section
from rankscope.diagnosis.guessing import Guesses, guesses
from rankscope.diagnosis.ranked_run import ideal_values, why_not_by_grade, without_documents
from rankscope.diagnosis.registry import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.diagnosis.text_copies import text_copies
from rankscope.findings import NotApplicable
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate
from rankscope.part import Part
from rankscope.runs.run_codes import TRIVIAL_CUTOFF
from rankscope.scoring.plans import relevance_level_of
from rankscope.scoring.soundness import FINDS_ALL
from rankscope.statistics.arrays import SAME
from rankscope.statistics.detectable import POWER
from rankscope.statistics.matrix import differences
from rankscope.statistics.reach import detectable_rows, must_differ

if TYPE_CHECKING:
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray, JudgedRun
    from rankscope.scoring.evaluate import RunScores

Limit = Literal[
    "no relevant document",
    "relevant documents not in the corpus",
    "runs shorter than the cutoff",
    "more relevant documents than ranks",
    "fewer relevant documents than ranks",
    "as the measure is defined",
]
"""Why the best ranking of a query does not have the measure's highest value."""

SHARE_OF_ALL = frozenset({"R", "F", "AP", "GMAP", "GAP", "Q", "SetR", "SetF", "SetAP"})
"""Measures that need all relevant documents for their highest value."""

SHARE_OF_RANKS = frozenset({"P", "F", "SDCG", "RBP", "BPM", "INST", "INSQ"})
"""Measures that need a relevant document at every rank for it."""

ORDER_BLIND = FINDS_ALL | {"P", "F", "CG", "NumRelRet", "SetP", "SetR", "SetF", "SetAP"}
"""Measures that see which documents are above the cutoff, and not in which order."""


class AttainedValue(Part):
    """What one system has of what could be had."""

    system: str
    """The system."""
    value: float
    """Its mean."""
    maximum: float
    """The best mean any system could have on the queries that count for this one."""
    share: float | None
    """The value as a share of the maximum; null where that is 0."""
    with_room: int
    """How many queries could have a higher value."""


class Room(Part):
    """Whether a better system could be shown to be better."""

    system: str
    """The baseline, or the best system by this measure where there is none."""
    room: float
    """How much the mean could rise at most."""
    with_room: int
    """How many queries could have a higher value."""
    must_differ: int | None
    """How many queries must differ for any outcome to be significant; null: no number does."""
    detectable: float | None
    """About the smallest difference that is shown with a power of 0.8, from how other systems
    differ from this one (the smallest of all); null where there is none, or none is shown."""
    saturated: bool
    """Whether so few queries have room that no outcome could be significant, or the room is smaller
    than what is detectable."""


class AttainableMeasure(Part):
    """The maximum of one measure."""

    measure: str
    """The measure."""
    maximum: float | None
    """The best mean over all judged queries; null where it is not known (``reason``)."""
    reason: str
    """Why it is not known; '' where it is."""
    highest: float | None
    """The measure's highest value; null where it has none."""
    limits: dict[Limit, int]
    """Why the maximum is below the highest value, by number of queries."""
    by_text: float | None
    """About what a system can expect at most that knows texts only, copies in random order; null
    where copies are no question."""
    systems: tuple[AttainedValue, ...]
    """By system; empty where the maximum is not known."""
    room: Room | None
    """Whether a better system could be shown; null for sums, where the maximum is not known, and
    with so few queries that nothing could be shown at all."""


class Attainable(Analysed):
    """How much of what any system could have each system has."""

    depth: int
    """How many documents a ranking may have: as many as the runs were asked for, or the longest
    answer."""
    queries: int
    """How many queries are judged."""
    documents: int | None
    """How many documents the corpus has; null if it was not given, and copies were not seen."""
    outside: int
    """How many relevant documents are not in the corpus, nor in any run."""
    ambiguous: int
    """How many queries have a relevant document with copies that are not judged alike."""
    whole_corpus: tuple[str, ...]
    """The measures that find everything by looking at the whole corpus."""
    same_documents: tuple[str, ...]
    """The measures that are the same for all systems, because they return the same documents."""
    measures: tuple[AttainableMeasure, ...]
    """By measure."""


class AttainableConfig(AnalysisConfig):
    """What counts as near the maximum, and as clearly below 1."""

    near: float = Field(default=0.95, gt=0, le=1)
    """From this share of the maximum on a system is at it."""
    clearly: float = Field(default=0.95, gt=0, le=1)
    """Up to this share of a measure's highest value its maximum is clearly below it."""


@dataclass(frozen=True)
class _World:
    """Judgments, and which of the judged documents any system could return."""

    inputs: Inputs
    depth: int

    @cached_property
    def judged(self) -> JudgedRun:
        """All judged queries, with nothing retrieved."""
        assert self.inputs.qrels is not None
        return without_documents(self.inputs.qrels)

    @cached_property
    def order(self) -> IntArray:
        """The rows of the judgments' pairs in the order of ``judged``: by query and grade."""
        qrels = self.inputs.qrels
        assert qrels is not None
        grades = qrels.pairs["grade"].cast(pl.Float64).to_numpy()
        return np.lexsort((-grades, qrels.query))

    @cached_property
    def is_outside(self) -> BoolArray:
        """By judgment: whether its document is neither in the corpus nor in any run."""
        inputs = self.inputs
        assert inputs.qrels is not None
        if inputs.corpus is None:
            return np.zeros(len(self.order), np.bool_)
        ids = inputs.qrels.pairs["doc_id"]
        known = pl.Series(inputs.corpus.ids, dtype=pl.String)
        outside = ~ids.is_in(known.implode()).to_numpy()
        rows = np.flatnonzero(outside)
        for ranking in inputs.rankings.systems.values():
            if len(rows):
                rows = rows[~np.isin(inputs.rankings.judged_key[rows], ranking.key)]
        outside[:] = False
        outside[rows] = True
        return np.asarray(outside[self.order])

    @cached_property
    def reachable(self) -> BoolArray:
        """By judgment: whether a system could return its document and have it counted."""
        inputs = self.inputs
        assert inputs.qrels is not None
        assert inputs.scores is not None
        reachable = ~self.is_outside
        if not inputs.scores.profile.identical_ids:
            pairs = inputs.qrels.pairs
            is_itself = (pairs["doc_id"] == pairs["query_id"]).to_numpy()
            reachable = reachable & ~is_itself[self.order]
        return np.asarray(reachable)

    @cached_property
    def guesses(self) -> Guesses | None:
        """The queries whose gold has copies; None: there are none, or no corpus."""
        inputs = self.inputs
        assert inputs.qrels is not None
        if inputs.corpus is None:
            return None
        by_pair = np.empty_like(self.reachable)
        by_pair[self.order] = self.reachable
        return guesses(
            inputs.qrels,
            self.judged,
            text_copies(inputs.corpus),
            reachable=by_pair,
            seed=inputs.settings.seed,
        )

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each judged query."""
        return {query_id: at for at, query_id in enumerate(self.judged.query_ids)}

    def columns(self, run: RunScores) -> IntArray:
        """Return the numbers of the queries that a run has values for."""
        return np.fromiter((self.number[query_id] for query_id in run.query_ids), np.int64)


def _look(config: AttainableConfig, inputs: Inputs) -> Attainable | NotApplicable:
    assert inputs.scores is not None
    assert inputs.qrels is not None
    if inputs.qrels.gold is not None:
        return MAXIMUM.not_applicable("gold is spans or texts, not documents")
    corpus, measures = inputs.corpus, [Measure.parse(name) for name in inputs.scores.measures]
    lengths = [ranking.sizes.max(initial=0) for ranking in inputs.rankings.systems.values()]
    longest = int(max(lengths, default=0))
    world = _World(inputs, max(inputs.depth or 0, longest))
    result = Attainable(
        depth=world.depth,
        queries=len(world.judged),
        documents=None if corpus is None else len(corpus),
        outside=int(np.count_nonzero(world.is_outside & (world.judged.judged_grade > 0))),
        ambiguous=0 if world.guesses is None else len(world.guesses.queries),
        whole_corpus=() if corpus is None else _whole_corpus(measures, len(corpus)),
        same_documents=_same_documents(inputs, measures, longest),
        measures=tuple(_of_measure(measure, world) for measure in measures),
    )
    known = {finding.code for finding in inputs.scores.findings}
    findings = attainable_findings(result, config, known)
    return result.model_copy(update={"findings": tuple(findings)})


def _of_measure(measure: Measure, world: _World) -> AttainableMeasure:
    """Return the maximum of a measure, and what each system has of it."""
    scores = world.inputs.scores
    assert scores is not None
    row = scores.measures.index(str(measure))
    highest = measure.definition.range[1]
    ideal, reason = _ideal(measure, world)
    values = {name: scores.run(name).values[row] for name in scores.runs}
    columns = {name: world.columns(scores.run(name)) for name in scores.runs}
    if not reason and any(
        (values[name] > ideal[columns[name]] * (1 + SAME) + SAME).any() for name in values
    ):
        reason = "a system has more than the order by grade"  # a measure of somebody else's
    unknown = AttainableMeasure(
        measure=str(measure),
        maximum=None,
        reason=reason,
        highest=highest if math.isfinite(highest) else None,
        limits={},
        by_text=None,
        systems=(),
        room=None,
    )
    if reason:
        return unknown
    by_text = None
    if world.guesses is not None:
        expected = ideal.copy()
        expected[world.guesses.queries] = world.guesses.values(measure, world.depth)
        by_text = aggregate(measure, expected)
    best = {name: ideal[columns[name]] for name in values}
    return unknown.model_copy(
        update={
            "maximum": aggregate(measure, ideal),
            "limits": _limits(measure, world, ideal) if math.isfinite(highest) else {},
            "by_text": by_text,
            "systems": tuple(_attained(measure, name, values[name], best[name]) for name in values),
            "room": _room(measure, world, values, best),
        }
    )


def _ideal(measure: Measure, world: _World) -> tuple[FloatArray, str]:
    """Return the highest value by judged query, or why it is not known."""
    reason = why_not_by_grade(measure, world.judged.judged_grade)
    if measure.definition.aggregate == "sum":
        reason = "it is a sum over queries"
    if reason:
        return np.zeros(len(world.judged)), reason
    return ideal_values(measure, world.judged, depth=world.depth, reachable=world.reachable), ""


def _has_room(values: FloatArray, ideal: FloatArray) -> BoolArray:
    """By query: whether a higher value is possible, beyond rounding."""
    room: BoolArray = differences(values, ideal) > 0
    return room


def _attained(measure: Measure, name: str, values: FloatArray, ideal: FloatArray) -> AttainedValue:
    counts = ~np.isnan(values)
    value, maximum = (aggregate(measure, row[counts]) for row in (values, ideal))
    return AttainedValue(
        system=name,
        value=value,
        maximum=maximum,
        share=value / maximum if maximum > 0 else None,
        with_room=int(np.count_nonzero(_has_room(values[counts], ideal[counts]))),
    )


def _limits(measure: Measure, world: _World, ideal: FloatArray) -> dict[Limit, int]:
    """Count why queries cannot have the highest value; of several reasons the first."""
    judged = world.judged
    level = relevance_level_of(measure)
    wanted = judged.graded(level)
    is_gold = judged.judged_grade >= level
    lost = judged.count(judged.judged_query[is_gold & ~world.reachable])
    ranks = min(measure.cutoff or world.depth, world.depth)
    reasons: dict[Limit, BoolArray] = {
        "no relevant document": wanted == 0,
        "relevant documents not in the corpus": lost > 0,
        "runs shorter than the cutoff": (ranks < (measure.cutoff or 0)) & (wanted > ranks),
        "more relevant documents than ranks": (wanted > ranks) & (measure.name in SHARE_OF_ALL),
        "fewer relevant documents than ranks": (wanted < ranks) & (measure.name in SHARE_OF_RANKS),
        "as the measure is defined": np.ones(len(judged), np.bool_),
    }
    left = ideal < measure.definition.range[1] * (1 - SAME)
    limits: dict[Limit, int] = {}
    for reason, holds in reasons.items():
        count = int(np.count_nonzero(left & holds))
        if count:
            limits[reason] = count
        left &= ~holds
    return limits


def _room(
    measure: Measure,
    world: _World,
    values: Mapping[str, FloatArray],
    ideal: Mapping[str, FloatArray],
) -> Room | None:
    """Tell whether a better system than the baseline, or the best, could be shown to be better."""
    inputs, settings = world.inputs, world.inputs.settings
    if measure.definition.aggregate != "mean":
        return None
    assert inputs.scores is not None
    means = {name: inputs.scores.run(name).means[str(measure)] for name in values}
    name = inputs.baseline or max(means, key=means.__getitem__)
    counts = ~np.isnan(values[name])
    mine, best = values[name][counts], ideal[name][counts]
    least = must_differ(
        alpha=settings.alpha, test=settings.single_test, resamples=settings.resamples
    )
    if least is None or len(mine) < least:
        return None
    with_room = int(np.count_nonzero(_has_room(mine, best)))
    room = max(aggregate(measure, best) - aggregate(measure, mine), 0.0)
    queries = inputs.scores.run(name).query_ids
    rows = [
        differences(mine, values[other][counts])
        for other in values
        if other != name and inputs.scores.run(other).query_ids == queries
    ] or [differences(mine, best)]
    low, high = measure.definition.range
    detectable = float(
        detectable_rows(np.stack(rows), alpha=settings.alpha, power=POWER, largest=high - low).min()
    )
    is_known = math.isfinite(detectable)
    return Room(
        system=name,
        room=room,
        with_room=with_room,
        must_differ=least,
        detectable=detectable if is_known else None,
        saturated=with_room < least or (is_known and room < detectable),
    )


# --- measures that cannot tell -------------------------------------------------------------------


def _whole_corpus(measures: Sequence[Measure], documents: int) -> tuple[str, ...]:
    """Return the measures that find everything, whatever the order."""
    return tuple(
        str(measure)
        for measure in measures
        if measure.name in FINDS_ALL and (measure.cutoff or 0) >= documents
    )


def _same_documents(inputs: Inputs, measures: Sequence[Measure], longest: int) -> tuple[str, ...]:
    """Return the measures that are the same for all systems, as these return the same documents."""
    rankings = list(inputs.rankings.systems.values())
    blind = [
        str(measure)
        for measure in measures
        if measure.name in ORDER_BLIND and (measure.cutoff or longest) >= longest
    ]
    if not blind or len(rankings) < 2:
        return ()
    first = rankings[0]
    if any(not np.array_equal(first.offsets, other.offsets) for other in rankings[1:]):
        return ()
    # a key stands for query and document; sums first, as most systems differ
    if any(first.key.sum() != other.key.sum() for other in rankings[1:]):
        return ()
    keys = np.sort(first.key)
    if any(not np.array_equal(keys, np.sort(other.key)) for other in rankings[1:]):
        return ()
    return tuple(blind)


MAXIMUM = register(
    Analysis(
        name="maximum",
        title="The attainable maximum",
        summary="The best mean any system could have on these judgments, and how near each is.",
        config=AttainableConfig,
        written="maximum: {near: 0.9}",
        result=Attainable,
        needs=("scores", "runs", "qrels"),
        uses=("corpus",),
        look=_look,
        section=attainable_section,
        codes=(AT_MAXIMUM, SATURATED, SAME_DOCUMENTS, AMBIGUOUS_GOLD, TRIVIAL_CUTOFF),
        place=13,
    )
)
