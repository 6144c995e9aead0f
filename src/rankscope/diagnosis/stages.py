"""Stages: what each step of a pipeline adds, loses, and could reach at most.

An analysis: retrieval sets the ceiling, a reranker works within it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.diagnosis.pipeline import Pipeline
from rankscope.diagnosis.ranked_run import is_best_by_grade
from rankscope.diagnosis.stage_advice import (
    RELEVANT_DROPPED,
    STAGE_LOSES,
    stage_advice,
    stage_findings,
)
from rankscope.diagnosis.stage_checks import (
    RERANKER_CHANGED_RECALL,
    TOO_SHALLOW,
    checked_recall,
)
from rankscope.diagnosis.stage_limits import limits
from rankscope.diagnosis.stage_roles import DepthSource, Role
from rankscope.diagnosis.stage_tables import stages_section
from rankscope.findings import Finding, NotApplicable
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.part import Part, left_out, left_out_if_empty
from rankscope.statistics.comparison import compare_with_all
from rankscope.statistics.intervals import Interval
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.paired_differences import Differences
from rankscope.statistics.settings import Settings

if TYPE_CHECKING:
    from rankscope.scoring.scores import Scores


@dataclass(frozen=True, slots=True)
class StageSpec:
    """A system as a stage: its kind, the systems it builds on, and how deep a reranker looks."""

    system: str
    kind: str
    of: tuple[str, ...] = ()
    depth: int | None = None


class StageChange(Part):
    """What a stage changed in one measure, against one system it builds on."""

    measure: str
    """The measure."""
    of: str
    """The system below."""
    difference: float
    """Mean of this stage minus that of the one below."""
    interval: Interval
    """Of the difference; of the main measure the one that agrees with the corrected p-value."""
    p: float
    """Of a paired test, not corrected."""
    p_corrected: float | None = left_out()
    """Of the main measure: corrected over all pairs of systems, as in a comparison of them; left
    out of other measures."""

    @property
    def decisive_p(self) -> float:
        """The p-value that decides: the corrected one, where there is one."""
        return self.p if self.p_corrected is None else self.p_corrected


class Improvement(Part):
    """How many per cent a stage improves one measure, against one system it builds on."""

    measure: str
    """The main measure, or nDCG@10 where that is no nDCG."""
    of: str
    """The system below."""
    base_mean: float
    """The mean of the system below, over the queries that all systems have."""
    mean: float
    """The mean of the stage, over the same queries."""

    @property
    def percent(self) -> float | None:
        """(mean − base mean) / base mean × 100; None where the base mean is not above 0."""
        if self.base_mean <= 0:
            return None
        return 100 * (self.mean - self.base_mean) / self.base_mean


class StageRow(Part):
    """One stage of a pipeline."""

    system: str
    """The stage."""
    kind: str
    """bm25, vector, fuse, rerank, …"""
    of: tuple[str, ...]
    """What it builds on."""
    depth: int | None
    """How many documents a reranker looks at; null for other stages."""
    depth_source: DepthSource | None = left_out()
    """How that is known: given, seen in the runs, or at least this; left out of other stages."""
    role: Role | None = left_out()
    """What it does with what it builds on, as was said or as the runs show; left out of a stage
    that builds on none, and where that cannot be seen."""
    exceptions: int | None = left_out()
    """For a role that was seen: queries for which the stage does something else."""
    measures: dict[str, float]
    """Its means."""
    changes: tuple[StageChange, ...]
    """What it changed."""
    ceiling: dict[str, float] = Field(default_factory=dict)
    """The means that the best order of its input would have; of a reranker, of what it looks at.
    Empty for a stage that has documents from elsewhere."""
    input_recall: float | None = None
    """Recall of its input, the most its own can be; of a reranker at its depth."""
    output_recall: float | None = None
    """Recall of its output, likewise; of a reranker anything but that of its input is an error."""
    improvements: tuple[Improvement, ...] = left_out_if_empty()
    """The main measure and nDCG before and after it."""
    cutoff: int
    """The rank that lost, promoted and labels are counted to."""
    kept: int | None = left_out()
    """Relevant documents that both have up to the cutoff; left out of a stage that builds on
    none."""
    lost: int = 0
    """Relevant documents that the system below has up to the cutoff, and this one not."""
    promoted: int = 0
    """Relevant documents that this one has up to the cutoff, and the system below not."""
    labels: dict[str, int] = Field(default_factory=dict)
    """How many documents up to the cutoff have each grade; 'unjudged' for those nobody judged."""
    dropped: int | None = left_out()
    """Relevant documents that the systems below have at any rank, and this one at none: lost for
    good. Left out of a stage that has documents from elsewhere."""
    dropped_queries: int | None = left_out()
    """Of how many queries."""
    dropped_ceiling: float | None = left_out()
    """How much the best order of its output is below that of its input, in the main measure."""


class Stages(Analysed):
    """What each stage of a pipeline did."""

    measure: str | None
    """The main measure, which reports show; null if there is none."""
    alpha: float
    """A p-value up to this counts as a change."""
    stages: tuple[StageRow, ...]
    """The stages, in the order of the systems."""


class StagesConfig(AnalysisConfig):
    """How stages are looked at."""

    cutoff: int = Field(default=10, ge=1)
    """The rank that documents gained and lost are counted to."""


def stage_table(
    pipeline: Pipeline, *, cutoff: int, settings: Settings, depth: int | None
) -> tuple[list[StageRow], list[Finding]]:
    """Say of each stage what it changed, and of a reranker whether it kept what it was given.

    ``depth`` is how many documents the runs were asked for; without it, the longest answer of a
    reranker and its input is taken for it.

    - ``changes``: mean paired difference to each system the stage builds on, with the interval and
      the test of ``settings``, over the queries all runs have; p is not corrected. Measures that
      are no mean over queries (sums, GMAP) are left out.
    - ``role``: what it does with what it builds on (`rankscope.diagnosis.stage_roles`); where
      nobody said how deep a reranker looks, the runs show it.
    - ``ceiling``: the means if the first ``depth`` documents of the input were ordered by grade
      from high to low, unjudged and negative ones as 0 and in the order they had, those below as
      they were. For filters all documents of the input, for fusions those of all inputs. Left out:
      measures for which less is better, that may fall when a relevant document moves up, or that
      need subtopics or lengths; for stages that choose documents also those that count them.
    - ``input_recall``, ``output_recall``: R at ``depth``. A reranker changes places only, so a
      relevant document that enters or leaves these ranks is an error (RS701), query by query;
      queries that one of the two runs lacks are not looked at. Runs that are cut above ``depth``
      hide what the reranker was given: a relevant document may then rise above the cut, the
      recalls are those of the part that is seen, and a note says so (RS702). Queries with fewer
      documents than the runs were asked for are checked all the same. Only rerankers that were
      said to be some are checked.
    - ``improvements``: (mean − base mean) / base mean × 100 of the main measure (of which higher is
      better), and of nDCG@10 where that is no nDCG.
    - ``kept``, ``lost``, ``promoted``: relevant documents up to ``cutoff`` that both have, that
      only the input has, that only the stage has. Of several inputs the one with the best mean of
      the first measure counts.
    - ``dropped``: relevant documents that the stage has nowhere, though an input has them.
    - ``labels``: the grades up to ``cutoff`` over all judged queries; a negative grade is unjudged.
    """
    scores, ranked = pipeline.scores, pipeline.ranked
    grades = pipeline.judgments.judged_grade
    ordered = {name for name in scores.measures if is_best_by_grade(Measure.parse(name), grades)}
    changes = _changes(pipeline.stages, scores, settings)
    rows, findings = [], []
    for spec in pipeline.stages:
        after = ranked[spec.system]
        seen = pipeline.seen(spec)
        row = StageRow(
            system=spec.system,
            kind=spec.kind,
            of=spec.of,
            depth=spec.depth,
            measures=dict(scores.run(spec.system).means),
            changes=tuple(changes[spec.system]),
            cutoff=cutoff,
            labels=after.labels(cutoff, grades),
        )
        if spec.of:
            base = ranked[pipeline.best(spec.of)]
            lost = base.only(after, cutoff)
            update: dict[str, Any] = {
                "kept": len(base.top(cutoff)) - lost,
                "lost": lost,
                "promoted": after.only(base, cutoff),
                "improvements": tuple(_improvements(pipeline, spec)),
            }
            if seen is not None:
                update |= {
                    "role": seen.role,
                    "depth": seen.depth or spec.depth,
                    "depth_source": seen.source,
                    "exceptions": seen.exceptions or None,
                }
            row = row.model_copy(update=update)
            row = row.model_copy(update=limits(pipeline, row, ordered))
        if row.depth_source == "given":
            removed = int(not pipeline.keeps_identical)
            before = ranked[spec.of[0]]
            findings += checked_recall(row, before, after, asked=depth, removed=removed)
        rows.append(row)
    return rows, findings


def _changes(
    stages: Sequence[StageSpec], scores: Scores, settings: Settings
) -> dict[str, list[StageChange]]:
    """Compare each stage with what it builds on, all rows at once."""
    changes: dict[str, list[StageChange]] = {spec.system: [] for spec in stages}
    names = [(below, spec.system) for spec in stages for below in spec.of]
    if not names:
        return changes
    matrix = Matrix.of_scores(scores, only_means=True)
    if not matrix.scales:
        return changes
    pairs = [(matrix.systems.index(below), matrix.systems.index(above)) for below, above in names]
    differences = Differences.of(matrix, pairs, settings, family=1)
    intervals = differences.intervals(differences.p, settings.alpha)
    compared = compare_with_all(matrix, pairs, settings)
    for place, (below, system) in enumerate(names):
        for measure, scale in enumerate(matrix.scales):
            row = measure * len(pairs) + place
            change = StageChange(
                measure=scale.name,
                of=below,
                difference=float(differences.mean[row]),
                interval=intervals[row],
                p=float(differences.p[row]),
            )
            if scale.name == scores.measures[0]:
                shown = {
                    "interval": compared[place].interval,
                    "p_corrected": compared[place].p_corrected,
                }
                change = change.model_copy(update=shown)
            changes[system].append(change)
    return changes


def _improvements(pipeline: Pipeline, spec: StageSpec) -> Iterator[Improvement]:
    """Yield the main measure and nDCG before and after a stage, over the same queries."""
    main = Measure.parse(pipeline.scores.measures[0])
    measures = [main] if main.name == "nDCG" else [main, Measure.of("nDCG", cutoff=10)]
    for measure in measures:
        definition = measure.definition
        if definition.aggregate == "mean" and definition.higher_is_better:
            mean = _common_mean(pipeline, measure, spec.system)
            for below in spec.of:
                base_mean = _common_mean(pipeline, measure, below)
                yield Improvement(measure=str(measure), of=below, base_mean=base_mean, mean=mean)


def _common_mean(pipeline: Pipeline, measure: Measure, system: str) -> float:
    """Return a mean over the queries that all systems of the scores have."""
    scores = pipeline.scores
    if str(measure) in scores.measures:
        matrix = Matrix.of_scores(scores.only([str(measure)]))
        return matrix.mean(0, matrix.systems.index(system))
    counted = np.logical_and.reduce([pipeline.counted(name) for name in scores.runs])
    return aggregate(measure, compute(measure, pipeline.ranked[system].judged)[counted])


# --- the analysis --------------------------------------------------------------------------------


def _look(config: StagesConfig, inputs: Inputs) -> Stages | NotApplicable:
    assert inputs.scores is not None
    assert inputs.runs is not None
    assert inputs.qrels is not None
    assert inputs.pipeline is not None
    if not any(spec.of for spec in inputs.pipeline):
        return STAGES.not_applicable("no system builds on another")
    shared = None if inputs.qrels.gold is not None else inputs.rankings
    pipeline = Pipeline(inputs.qrels, inputs.runs, inputs.pipeline, inputs.scores, shared)
    settings = inputs.settings
    rows, findings = stage_table(
        pipeline, cutoff=config.cutoff, settings=settings, depth=inputs.depth
    )
    result = Stages(measure=inputs.scores.measures[0], alpha=settings.alpha, stages=tuple(rows))
    return result.model_copy(
        update={
            "findings": (*findings, *stage_findings(result, pipeline)),
            "advice": tuple(stage_advice(result, inputs.focus)),
        }
    )


STAGES = register(
    Analysis(
        name="stages",
        title="Stages",
        summary="What each step of a pipeline adds, loses, and could reach at most.",
        config=StagesConfig,
        written="",
        result=Stages,
        needs=("scores", "runs", "qrels", "pipeline"),
        look=_look,
        section=stages_section,
        codes=(RERANKER_CHANGED_RECALL, TOO_SHALLOW, STAGE_LOSES, RELEVANT_DROPPED),
        brief=True,
        place=10,
    )
)
