"""Cutoffs: the main measure at every cutoff, to see at which depth systems differ.

Where one system is best for the first documents and another deeper down, a single cutoff hides it.
The queries are those of the scores, by their rules; at the cutoff of the main measure the means are
those of the scores.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pydantic import Field

from rankscope.diagnosis.ranked_run import judged_as_scored
from rankscope.diagnosis.registry import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.document.blocks import Cell, Column, Curve, Plot, Section, Table
from rankscope.errors import counted
from rankscope.findings import NotApplicable
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.part import Part, left_out
from rankscope.scoring.plans import relevance_level_of

if TYPE_CHECKING:
    from rankscope.measures.judged import JudgedRun

SHOWN = (1, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""The cutoffs of the table."""

SOME = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""The cutoffs that are looked at where all would take long."""

MOST_CURVES = 7
"""Of more systems than this, the plot shows the best."""

ALL_UP_TO = 60_000_000
"""Where more entries would be looked at, over all systems and cutoffs, only `SOME` cutoffs are."""


class SystemCutoffs(Part):
    """One system at every cutoff."""

    system: str
    """The system."""
    deepest: int
    """How deep its answers are known: what it was asked for or, where nobody said, the length of
    the longest."""
    means: tuple[float, ...]
    """The means at the ``cutoffs``, down to ``deepest``."""


class Cutoffs(Analysed):
    """The main measure by cutoff."""

    measure: str
    """What is measured, with k for the cutoff, such as nDCG@k."""
    instead_of: str | None = left_out()
    """The main measure, where that cannot be measured at any cutoff; recall takes its place."""
    reason: str | None = left_out()
    """Why it cannot."""
    main_cutoff: int | None
    """The cutoff of the main measure; null if it has none."""
    higher_is_better: bool
    """Whether more of it is better."""
    asked: int | None
    """How many documents the systems were asked for; null if that is not known."""
    most: int
    """The largest cutoff that was wanted."""
    cutoffs: tuple[int, ...]
    """The cutoffs, from 1 on: all, or some where all would take long."""
    systems: tuple[SystemCutoffs, ...]
    """By system."""


class CutoffsConfig(AnalysisConfig):
    """How deep is looked."""

    most: int = Field(default=100, ge=1, le=1000)
    """The largest cutoff."""


def _look(config: CutoffsConfig, inputs: Inputs) -> Cutoffs | NotApplicable:
    assert inputs.scores is not None
    main = inputs.main
    reason = why_no_cutoff(main)
    pattern = Measure.of("R", cutoff=1, rel=relevance_level_of(main)) if reason else main
    runs: dict[str, JudgedRun] = {}
    for name in inputs.scores.runs:
        judged, _ = judged_as_scored(inputs, name, main)
        if not len(judged):
            return CUTOFFS.not_applicable(f"no query of {name} counts")
        runs[name] = judged
    depths = {
        name: inputs.depth or int(judged.retrieved.max(initial=1)) for name, judged in runs.items()
    }
    last = min(config.most, max(depths.values()))
    entries = sum(len(judged.hit_query) + len(judged.judged_query) for judged in runs.values())
    is_costly = bool(pattern.needs) or last * entries > ALL_UP_TO
    cutoffs = [k for k in SOME if k <= last] if is_costly else list(range(1, last + 1))
    cutoffs = sorted({*cutoffs, last, *(k for k in [main.cutoff] if k is not None and k <= last)})
    return Cutoffs(
        measure=f"{str(pattern).removesuffix(f'@{pattern.cutoff}')}@k",
        instead_of=str(main) if reason else None,
        reason=reason or None,
        main_cutoff=None if reason else main.cutoff,
        higher_is_better=pattern.definition.higher_is_better,
        asked=inputs.depth,
        most=config.most,
        cutoffs=tuple(cutoffs),
        systems=tuple(
            SystemCutoffs(
                system=name,
                deepest=depths[name],
                means=_means(pattern, judged, [k for k in cutoffs if k <= depths[name]]),
            )
            for name, judged in runs.items()
        ),
    )


def why_no_cutoff(measure: Measure) -> str:
    """Say why a measure cannot be measured at any cutoff; '' if it can."""
    definition = measure.definition
    if definition.cutoff == "none":
        return "it has no cutoff"
    if definition.aggregate != "mean":
        return "it is no mean over queries"
    if definition.family == "own":
        return "its function is not one of rankscope's, and may take long"
    return ""


def _means(measure: Measure, judged: JudgedRun, cutoffs: list[int]) -> tuple[float, ...]:
    means = []
    for cutoff in cutoffs:
        at_cutoff = measure.replaced(cutoff=cutoff)
        means.append(aggregate(at_cutoff, compute(at_cutoff, judged)))
    return tuple(mean if math.isfinite(mean) else 0.0 for mean in means)


# --- the section ---------------------------------------------------------------------------------


def _section(result: Cutoffs) -> Section:
    return Section(CUTOFFS.title, details=(_plot(result), _table(result)))


def _table(result: Cutoffs) -> Table:
    wanted = {*SHOWN, result.cutoffs[-1], result.main_cutoff}
    places = [place for place, cutoff in enumerate(result.cutoffs) if cutoff in wanted]
    rows = []
    for system in result.systems:
        means = dict(enumerate(system.means))
        rows.append((Cell(system.system), *(Cell(means.get(place)) for place in places)))
    return Table(
        (
            Column("system", "text"),
            *(Column(f"k = {result.cutoffs[place]:,}", digits=3) for place in places),
        ),
        tuple(rows),
        title=f"{result.measure} at some cutoffs",
        notes=tuple(_notes(result)),
        columns_are="cutoff",
    )


def _notes(result: Cutoffs) -> list[str]:
    notes = []
    if result.instead_of is not None:
        notes.append(
            f"{result.instead_of} cannot be measured at any cutoff ({result.reason}); "
            f"{result.measure} is shown in its place"
        )
    last = result.cutoffs[-1]
    if last < result.most:
        why = (
            "the longest answer has no more documents"
            if result.asked is None
            else f"systems were asked for {counted(result.asked, 'document')}"
        )
        notes.append(f"cutoffs end at {last:,}, not at {result.most:,}: {why}")
    shorter = [system for system in result.systems if system.deepest < last]
    if shorter:
        ends = ", ".join(f"{system.system} {system.deepest:,}" for system in shorter[:10])
        notes.append(f"– below the longest answer of a system: {ends}")
    return notes


def _plot(result: Cutoffs) -> Plot:
    sign = -1 if result.higher_is_better else 1
    main = result.main_cutoff
    place = result.cutoffs.index(main) if main in result.cutoffs else len(result.cutoffs) - 1

    def order(system: SystemCutoffs) -> float:
        return sign * system.means[min(place, len(system.means) - 1)]

    best = sorted(result.systems, key=order)[:MOST_CURVES]
    more = len(result.systems) - len(best)
    return Plot(
        title=f"{result.measure} by cutoff",
        x="cutoff k",
        y=result.measure,
        curves=tuple(
            Curve(
                system.system,
                tuple(zip(map(float, result.cutoffs), system.means, strict=False)),
            )
            for system in result.systems
            if system in best
        ),
        log_x=True,
        note=f"the {len(best)} best of {len(result.systems):,} systems" if more else "",
    )


CUTOFFS = register(
    Analysis(
        name="cutoffs",
        title="By cutoff",
        summary="The main measure at cutoffs from 1 on, to see at which depth systems differ.",
        config=CutoffsConfig,
        written="cutoffs: {most: 50}",
        result=Cutoffs,
        needs=("scores", "runs", "qrels"),
        look=_look,
        section=_section,
        place=12,
    )
)
