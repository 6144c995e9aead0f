"""Repeats: how far the answers of a system move when nothing changed but the asking.

The first k of each query are compared with those of its first answer. What the measures do is the
noise floor: a difference between systems has to be larger than that to mean anything, and all tests
of a benchmark count it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankscope.diagnosis.analysis import Analysed, Config, Inputs, Row, analysis, found
from rankscope.diagnosis.show import part_table, system_table
from rankscope.document.blocks import Block
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.noise import run_noise
from rankscope.statistics.sentences import listed

if TYPE_CHECKING:
    from rankscope.runs.table import Run

CHANGES = ("same", "other_order", "other_ids")
"""What may change in the first k of the answer to a query, from nothing to the most."""

VARYING = declare(
    "RS741",
    "answers-vary",
    "note",
    unit="system",
    advice="ask more often (repeat) to know the noise better, or fix what varies: a seed, a single "
    "segment, an exact search",
    meaning="""A system that was asked the same queries again gave other documents, or the same in
    another order. How far its measures move is counted as noise in all comparisons.""",
)


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """Runs of systems that were asked again; the first time is not among them."""

    runs: Mapping[str, Sequence[Run]]
    is_rebuilt: bool
    """Whether engines made their indexes anew each time."""


class RepeatedMeasure(Row):
    """One measure of one system, each time it was asked."""

    measure: str
    """The measure."""
    means: tuple[float, ...]
    """The mean of each time."""
    deviation: float
    """Their standard deviation: what one sees when the same system is asked again."""

    @property
    def lowest(self) -> float:
        """The lowest mean."""
        return min(self.means)

    @property
    def highest(self) -> float:
        """The highest mean."""
        return max(self.means)


class RepeatedSystem(Row):
    """One system that was asked more than once."""

    times: int
    """How often it was asked, the first time included."""
    queries: int
    """Queries that were answered each time."""
    unanswered: int
    """Queries that were answered the first time or later, but not each time."""
    same: int
    """Queries with the same first k in the same order each time."""
    other_order: int
    """Queries with the same first k in another order."""
    other_ids: int
    """Queries with other documents among the first k."""
    measures: tuple[RepeatedMeasure, ...]
    """What the measures do."""

    @property
    def noise(self) -> str:
        """How far the main measure moves by itself; '' if it does not."""
        if not self.measures or not self.measures[0].deviation:
            return ""
        main = self.measures[0]
        return f"{main.measure} moves by {main.deviation:.4f} (s.d. of {self.times} times)"


class RepeatedAnswers(Analysed):
    """How far systems move by themselves."""

    k: int
    """How many documents are looked at first."""
    rebuilt: bool
    """Whether engines made their indexes anew each time."""
    systems: tuple[RepeatedSystem, ...]
    """By system."""

    @property
    def sentence(self) -> str:
        """What the main measure does by itself, for a verdict; '' where it does not move."""
        moving = [row for row in self.systems if row.noise]
        if not moving:
            return ""
        phrases = listed([f"{row.system}'s {row.noise}" for row in moving], 3)
        return f"Asked again, {phrases}; the differences count this as noise."


@analysis(
    title="Asked again",
    needs=("scores", "runs", "repeats"),
    place=42,
)
def repeats(_: Config, inputs: Inputs) -> RepeatedAnswers:
    """How far the answers of a system move when it is asked again, as ids and scores."""
    runs, k = inputs.repeats.runs, inputs.cutoff
    matrix = Matrix.of_scores(inputs.scores, only_means=True)
    systems = [
        RepeatedSystem(
            system=name,
            times=1 + len(runs[name]),
            measures=tuple(
                RepeatedMeasure(
                    system=name,
                    measure=scale.name,
                    means=tuple(row.mean() for row in values),
                    deviation=run_noise(values).deviation,
                )
                for scale, values in zip(matrix.scales, matrix.repeats.get(name, ()), strict=False)
            ),
            **_changes([inputs.runs[name], *runs[name]], k),
        )
        for name in runs
        if name in inputs.scores.runs
    ]
    inputs.require(systems, "no system that could be scored was asked again")
    return RepeatedAnswers(k=k, rebuilt=inputs.repeats.is_rebuilt, systems=tuple(systems))


@repeats.find
def _find(result: RepeatedAnswers, inputs: Inputs) -> Iterator[Finding]:
    yield from found(
        VARYING,
        [row for row in result.systems if row.other_ids + row.other_order],
        lambda row: (
            f"{row.system}, asked {row.times} times: {counted(row.other_ids, 'query')} of "
            f"{row.queries:,} with other documents in the first {result.k}, {row.other_order:,} "
            f"with the same in another order{row.noise and '; '}{row.noise}"
        ),
        focus=inputs.focus,
    )


@repeats.show
def _show(result: RepeatedAnswers) -> Iterator[Block | None]:
    how = "with a new index each time" if result.rebuilt else "of the same index"
    yield system_table(
        result.systems,
        "Queries asked again",
        notes=[f"asked {how}; each query counts once, by the most that changed"],
        columns=(
            f"times: asked | queries | same: same first {result.k} | other_order | "
            "other_ids: other documents | unanswered: not always answered"
        ),
    )
    yield part_table(
        [measure for row in result.systems for measure in row.measures],
        "The noise floor",
        names=2,
        notes=[
            "all comparisons count the s.d. as noise; the table of results shows the first time"
        ],
        columns="system | measure | lowest: lowest mean | highest: highest mean | deviation: s.d.",
    )


def _changes(runs: Sequence[Run], k: int) -> dict[str, Any]:
    """Count queries by the most that changed from the first run to any other."""
    answered = set.intersection(*(set(run.query_ids) for run in runs))
    counts = dict.fromkeys(CHANGES, 0)
    for query_id in answered:
        first, *others = (list(run[query_id])[:k] for run in runs)
        counts[max((_change(first, other) for other in others), key=CHANGES.index)] += 1
    everything = set.union(*(set(run.query_ids) for run in runs))
    return {**counts, "queries": len(answered), "unanswered": len(everything - answered)}


def _change(first: Sequence[str], other: Sequence[str]) -> str:
    """Say what changed from one answer to another."""
    if {*first} != {*other}:
        return "other_ids"
    return "same" if first == other else "other_order"
