"""Repeats: how far the answers of a system move when nothing changed but the asking.

Each query is compared with its first answer: other documents, the same in another order, or the
same with other scores alone, which change no measure. What the measures do is the noise floor: a
difference between systems has to be larger than that to mean anything, and all tests of a
benchmark count it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rankscope.diagnosis.analysis import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.document.blocks import Cell, Column, Section, Table
from rankscope.errors import counted
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.measures.language import Measure
from rankscope.part import Part
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.noise import run_noise

if TYPE_CHECKING:
    from rankscope.runs.table import Run

VARYING = declare(
    "RS741",
    "answers-vary",
    "note",
    unit="query",
    advice="ask more often (repeat) to know the noise better, or fix what varies: a seed, a single "
    "segment, an exact search",
    meaning="""A system that was asked the same queries again gave other documents, or the same in
    another order. How far its measures move is counted as noise in all comparisons.""",
)

SAME_SCORE = 1e-6
"""Scores that differ by less than this, relative to their size, are the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """Runs of systems that were asked again; the first time is not among them."""

    runs: Mapping[str, Sequence[Run]]
    is_rebuilt: bool
    """Whether engines made their indexes anew each time."""


class RepeatedMeasure(Part):
    """One measure of one system, each time it was asked."""

    measure: str
    """The measure."""
    means: tuple[float, ...]
    """The mean of each time."""
    deviation: float
    """Their standard deviation: what one sees when the same system is asked again."""


class RepeatedSystem(Part):
    """One system that was asked more than once."""

    system: str
    """The system."""
    times: int
    """How often it was asked, the first time included."""
    queries: int
    """Queries that were answered each time."""
    unanswered: int
    """Queries that were answered the first time or later, but not each time."""
    same: int
    """Queries with the same documents, order and scores each time."""
    other_scores: int
    """Queries with the same documents in the same order, and other scores."""
    other_below: int
    """Queries whose first k are the same in the same order, and something below is not."""
    other_order: int
    """Queries with the same first k in another order."""
    other_ids: int
    """Queries with other documents among the first k."""
    overlap: float
    """The mean share of the first k that is among the first k of another time."""
    measures: tuple[RepeatedMeasure, ...]
    """What the measures do."""


class RepeatedAnswers(Analysed):
    """How far systems move by themselves."""

    k: int
    """How many documents are looked at first."""
    rebuilt: bool
    """Whether engines made their indexes anew each time."""
    systems: tuple[RepeatedSystem, ...]
    """By system."""


class RepeatsConfig(AnalysisConfig):
    """Nothing can be configured here; ``repeat`` says how often systems are asked."""


def _look(_: RepeatsConfig, inputs: Inputs) -> RepeatedAnswers | NotApplicable:
    assert inputs.scores is not None
    assert inputs.runs is not None
    assert inputs.repeats is not None
    scores = inputs.scores
    known = {name: runs for name, runs in inputs.repeats.runs.items() if name in scores.runs}
    if not known:
        return REPEATS.not_applicable("no system that could be scored was asked again")
    matrix = Matrix.of_scores(scores, only_means=True)
    systems = []
    for name, again in known.items():
        counts = _compared(inputs.runs[name], again, inputs.cutoff)
        measures = [
            RepeatedMeasure(
                measure=scale.name,
                means=tuple(row.mean() for row in matrix.repeats[name][place]),
                deviation=run_noise(matrix.repeats[name][place]).deviation,
            )
            for place, scale in enumerate(matrix.scales)
            if name in matrix.repeats
        ]
        systems.append(
            RepeatedSystem(system=name, times=1 + len(again), measures=tuple(measures), **counts)
        )
    return RepeatedAnswers(
        k=inputs.cutoff,
        rebuilt=inputs.repeats.is_rebuilt,
        systems=tuple(systems),
        findings=tuple(finding for row in systems for finding in _findings(row, inputs.cutoff)),
    )


_Change = Literal["same", "other_scores", "other_below", "other_order", "other_ids"]
_CHANGES: tuple[_Change, ...] = (
    "same",
    "other_scores",
    "other_below",
    "other_order",
    "other_ids",
)
"""From nothing to the most."""


def _compared(first: Run, again: Sequence[Run], k: int) -> dict[str, Any]:
    """Count queries by the most that changed at any time."""
    runs = [first, *again]
    answered = set(first.query_ids).intersection(*(run.query_ids for run in again))
    everything = set(first.query_ids).union(*(run.query_ids for run in again))
    counts: dict[str, int] = dict.fromkeys(_CHANGES, 0)
    overlap = 0.0
    for query_id in sorted(answered):
        answers = [list(run[query_id].items()) for run in runs]
        changes = [_change(answers[0], other, k) for other in answers[1:]]
        counts[max(changes, key=_CHANGES.index)] += 1
        shares = [_overlap(answers[0], other, k) for other in answers[1:]]
        overlap += sum(shares) / len(shares)
    return {
        **counts,
        "queries": len(answered),
        "unanswered": len(everything - answered),
        "overlap": overlap / len(answered) if answered else 1.0,
    }


_Pairs = Sequence[tuple[str, float]]


def _change(first: _Pairs, other: _Pairs, k: int) -> _Change:
    """Say what changed at most from one answer to another."""
    ids, other_ids = ([doc_id for doc_id, _ in answer] for answer in (first, other))
    if {*ids[:k]} != {*other_ids[:k]}:
        return "other_ids"
    if ids[:k] != other_ids[:k]:
        return "other_order"
    if ids != other_ids:
        return "other_below"
    scores = zip(first, other, strict=True)
    is_same = all(
        math.isclose(before, after, rel_tol=SAME_SCORE, abs_tol=SAME_SCORE)
        for (_, before), (_, after) in scores
    )
    return "same" if is_same else "other_scores"


def _overlap(first: _Pairs, other: _Pairs, k: int) -> float:
    ids, other_ids = ({doc_id for doc_id, _ in answer[:k]} for answer in (first, other))
    most = max(len(ids), len(other_ids))
    return len(ids & other_ids) / most if most else 1.0


def _findings(row: RepeatedSystem, k: int) -> Iterator[Finding]:
    moved = row.other_ids + row.other_order
    if not moved:
        return
    main = row.measures[0] if row.measures else None
    noise = "" if main is None else f"; {main.measure} moves by {main.deviation:.4f} (s.d.)"
    yield VARYING.finding(
        f"{row.system}, asked {row.times} times: {counted(row.other_ids, 'query')} of "
        f"{row.queries:,} with other documents in the first {k}, {row.other_order:,} with the "
        f"same in another order{noise}",
        count=moved,
        evidence={"times": row.times, "ids": row.other_ids, "order": row.other_order},
        system=row.system,
    )


# --- the section ---------------------------------------------------------------------------------


def _section(result: RepeatedAnswers) -> Section:
    return Section(REPEATS.title, (_queries_table(result),), (_measures_table(result),))


def _queries_table(result: RepeatedAnswers) -> Table:
    titles: dict[str, Callable[[RepeatedSystem], int]] = {
        "asked": lambda row: row.times,
        "queries": lambda row: row.queries,
        "all the same": lambda row: row.same,
        "other scores only": lambda row: row.other_scores,
        f"other below {result.k}": lambda row: row.other_below,
        "other order": lambda row: row.other_order,
        "other documents": lambda row: row.other_ids,
        "not always answered": lambda row: row.unanswered,
    }
    rows = [
        (
            Cell(row.system),
            *(Cell(number(row)) for number in titles.values()),
            Cell(row.overlap),
        )
        for row in result.systems
    ]
    how = "with a new index each time" if result.rebuilt else "of the same index"
    return Table(
        (
            Column("system", "text"),
            *(Column(title, digits=0) for title in titles),
            Column(f"overlap@{result.k}", digits=3),
        ),
        tuple(rows),
        title="Queries asked again",
        notes=(
            f"asked {how}; each query counts once, by the most that changed from its first answer",
        ),
    )


def _measures_table(result: RepeatedAnswers) -> Table:
    rows = [
        (
            Cell(row.system),
            Cell(measure.measure),
            Cell(min(measure.means)),
            Cell(max(measure.means)),
            Cell(measure.deviation),
        )
        for row in result.systems
        for measure in row.measures
    ]
    return Table(
        (
            Column("system", "text"),
            Column("measure", "text"),
            Column("lowest mean"),
            Column("highest mean"),
            Column("s.d."),
        ),
        tuple(rows),
        title="The noise floor",
        notes=(
            (
                "s.d.: of the means of the single times; all comparisons count it as noise of each "
                "system, and the table of results shows the first time"
            ),
        ),
    )


REPEATS = register(
    Analysis(
        name="repeats",
        title="Asked again",
        summary="How far the answers of a system move when it is asked again, as ids and scores.",
        config=RepeatsConfig,
        written="",
        result=RepeatedAnswers,
        needs=("scores", "runs", "repeats"),
        look=_look,
        section=_section,
        codes=(VARYING,),
        brief=True,
        place=42,
    )
)


def noise_sentence(result: RepeatedAnswers | None) -> str:
    """Say what the main measure does by itself, for a verdict; '' where it does not move."""
    if result is None:
        return ""
    moving = [row for row in result.systems if row.measures and row.measures[0].deviation > 0]
    if not moving:
        return ""
    phrases = [
        f"{row.system}'s {measure_name(row)} moves by {row.measures[0].deviation:.4f} (s.d. of "
        f"{row.times} times)"
        for row in moving[:3]
    ]
    more = f", and {counted(len(moving) - 3, 'more system')} move" if len(moving) > 3 else ""
    twice = ""
    if any(row.times == 2 for row in moving):
        twice = ", of which two times tell little: with three or more, smaller ones can be shown"
    return f"Asked again, {', '.join(phrases)}{more}; the differences count this as noise{twice}."


def measure_name(row: RepeatedSystem) -> str:
    """Return the name of the main measure."""
    return str(Measure.parse(row.measures[0].measure))
