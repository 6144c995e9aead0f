"""Stages: what each step of a pipeline adds, loses, and could reach at most.

An analysis: retrieval sets the ceiling, a reranker works within it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from rankscope.diagnosis.ranked_run import RankedRun, best_order, is_best_by_grade
from rankscope.diagnosis.registry import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.diagnosis.stage_tables import stages_section
from rankscope.errors import UnknownNameError, counted
from rankscope.findings import PLACES_SHOWN, Finding, NotApplicable, Place, declare
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.part import Part
from rankscope.scoring.inputs import as_judgments, without_identical
from rankscope.statistics.intervals import Interval
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.pairwise import differences_alone
from rankscope.statistics.settings import Settings

if TYPE_CHECKING:
    from rankscope.collection.qrels import Qrels
    from rankscope.measures.judged import BoolArray, IntArray
    from rankscope.runs.table import Run
    from rankscope.scoring.evaluate import Scores
    from rankscope.scoring.judgments import Judgments

RERANKER_CHANGED_RECALL = declare(
    "RS701",
    "reranker-changed-recall",
    "error",
    unit="query",
    advice="a reranker may reorder what it is given and not add or drop a document; check that "
    "both runs are of the same queries, index and depth",
    meaning="""A relevant document enters or leaves the ranks that a reranker looks at. Queries that
    one of the two runs lacks are not looked at.""",
)
TOO_SHALLOW = declare(
    "RS702",
    "too-shallow-to-check",
    "note",
    unit="query",
    advice="let the runs hold as many documents as the reranker looks at",
    meaning="""The runs hold fewer documents than a reranker looks at, so what it was given cannot
    be seen; its recall and ceiling are those of the part that is seen.""",
)


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
    """Of the difference."""
    p: float
    """Of a paired test, not corrected."""


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
    measures: dict[str, float]
    """Its means."""
    changes: tuple[StageChange, ...]
    """What it changed."""
    ceiling: dict[str, float] = Field(default_factory=dict)
    """For a reranker: the means that the best order of its input would have."""
    input_recall: float | None = None
    """For a reranker: recall of its input at its depth, the most its own can be."""
    output_recall: float | None = None
    """For a reranker: recall of its output at that depth; anything else is an error."""
    cutoff: int
    """The rank that lost, promoted and labels are counted to."""
    lost: int = 0
    """Relevant documents that the system below has up to the cutoff, and this one not."""
    promoted: int = 0
    """Relevant documents that this one has up to the cutoff, and the system below not."""
    labels: dict[str, int] = Field(default_factory=dict)
    """How many documents up to the cutoff have each grade; 'unjudged' for those nobody judged."""


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
    qrels: Judgments | Qrels,
    runs: Mapping[str, Run],
    stages: Sequence[StageSpec],
    scores: Scores,
    *,
    cutoff: int = 10,
    settings: Settings | None = None,
    depth: int | None = None,
) -> tuple[list[StageRow], list[Finding]]:
    """Say of each stage what it changed, and of a reranker whether it kept what it was given.

    ``scores`` are those of all ``runs``. ``depth`` is how many documents the runs were asked for;
    without it, the longest answer of a reranker and its input is taken for it.

    - ``changes``: mean paired difference to each system the stage builds on, with the interval and
      the test of ``settings``, over the queries all runs have; p is not corrected. Measures that
      are no mean over queries (sums, GMAP) are left out.
    - ``ceiling``: the means if the first ``spec.depth`` documents of the input were ordered by
      grade from high to low, unjudged and negative ones as 0 and in the order they had, those below
      as they were. Left out: measures for which less is better, that may fall when a relevant
      document moves up, or that need subtopics or lengths.
    - ``input_recall``, ``output_recall``: R at ``spec.depth``. A reranker changes places only, so a
      relevant document that enters or leaves these ranks is an error (RS701), query by query;
      queries that one of the two runs lacks are not looked at. Runs that are cut above
      ``spec.depth`` hide what the reranker was given: a relevant document may then rise above the
      cut, the recalls are those of the part that is seen, and a note says so (RS702). Queries with
      fewer documents than the runs were asked for are checked all the same.
    - ``lost``, ``promoted``: relevant documents up to ``cutoff`` that only the input has, that only
      the stage has. Of several inputs the one with the best mean of the first measure counts.
    - ``labels``: the grades up to ``cutoff`` over all judged queries; a negative grade is unjudged.
    """
    judgments = as_judgments(qrels)
    keep_identical = scores.profile.identical_ids
    ranked: dict[str, RankedRun] = {}
    for name in _systems(stages, runs, scores):
        run: Any = runs[name] if keep_identical else without_identical(runs[name])
        ranked[name] = RankedRun.of(judgments, run)
    grades = judgments.judged_grade
    changes = _changes(stages, scores, settings or Settings())
    rows, findings = [], []
    for spec in stages:
        after = ranked[spec.system]
        update: dict[str, Any] = {}
        if spec.of:
            base = ranked[_best(spec.of, scores)]
            update = {"lost": base.only(after, cutoff), "promoted": after.only(base, cutoff)}
        row = StageRow(
            system=spec.system,
            kind=spec.kind,
            of=spec.of,
            depth=spec.depth,
            measures=dict(scores.run(spec.system).means),
            changes=tuple(changes[spec.system]),
            cutoff=cutoff,
            labels=after.labels(cutoff, grades),
            **update,
        )
        if _is_reranker(spec):
            before = ranked[spec.of[0]]
            row = _with_ceiling(row, before, after, scores)
            findings += _checked(row, before, after, asked=depth, removed=int(not keep_identical))
        rows.append(row)
    return rows, findings


def _systems(stages: Sequence[StageSpec], runs: Mapping[str, Run], scores: Scores) -> list[str]:
    """Return the systems that are looked at; one without run or scores is an error."""
    names = list(dict.fromkeys(name for spec in stages for name in (spec.system, *spec.of)))
    for name in names:
        if name not in runs:
            raise UnknownNameError("run", name, runs)
        scores.run(name)
    return names


def _is_reranker(spec: StageSpec) -> bool:
    return spec.kind == "rerank" and spec.depth is not None and len(spec.of) == 1


def _best(names: Sequence[str], scores: Scores) -> str:
    """Return the run with the best mean of the first measure; of equal ones the first."""
    first = scores.measures[0]
    sign = 1 if Measure.parse(first).definition.higher_is_better else -1
    return max(names, key=lambda name: sign * scores.run(name).means[first])


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
    differences = [
        difference.in_family(difference.test.p, settings.alpha)
        for difference in differences_alone(matrix, pairs, settings)
    ]
    for place, (below, system) in enumerate(names):
        for measure, scale in enumerate(matrix.scales):
            difference = differences[measure * len(pairs) + place]
            changes[system].append(
                StageChange(
                    measure=scale.name,
                    of=below,
                    difference=difference.mean,
                    interval=difference.interval,
                    p=difference.test.p,
                )
            )
    return changes


def _with_ceiling(row: StageRow, before: RankedRun, after: RankedRun, scores: Scores) -> StageRow:
    """Add what a reranker was given, kept, and could have made of it."""
    assert row.depth is not None
    averaged = set(scores.run(row.system).query_ids)
    ids = before.judged.query_ids
    mask = np.fromiter((query_id in averaged for query_id in ids), np.bool_, len(ids))
    given, returned = (run.judged.only(mask) for run in (before, after))
    best = best_order(given, row.depth)
    recall = Measure.of("R", cutoff=row.depth)
    measures = [Measure.parse(name) for name in scores.measures]
    return row.model_copy(
        update={
            "ceiling": {
                str(measure): aggregate(measure, compute(measure, best))
                for measure in measures
                if is_best_by_grade(measure, given.judged_grade)
            },
            "input_recall": aggregate(recall, compute(recall, given)),
            "output_recall": aggregate(recall, compute(recall, returned)),
        }
    )


def _checked(
    row: StageRow, before: RankedRun, after: RankedRun, *, asked: int | None, removed: int
) -> list[Finding]:
    """Look whether a reranker added or dropped a relevant document, where that can be seen.

    ``removed`` is how many documents of a query the profile may have left out.
    """
    assert row.depth is not None
    sizes = before.judged.retrieved, after.judged.retrieved
    asked = asked or int(max(retrieved.max(initial=0) for retrieved in sizes))
    in_both = before.judged.in_run & after.judged.in_run
    hidden = np.zeros_like(in_both)
    if row.depth > asked:
        hidden = in_both & (sizes[0] + removed >= asked)
    return [
        *_recall_changed(row, before, after, in_both & ~hidden),
        *_too_shallow(row, before, np.flatnonzero(hidden), asked),
    ]


def _recall_changed(
    row: StageRow, before: RankedRun, after: RankedRun, looked_at: BoolArray
) -> list[Finding]:
    assert row.depth is not None
    given, returned = before.top(row.depth), after.top(row.depth)  # rows of judgments
    query_of = before.pairs["query"].to_numpy()
    dropped, added = (
        documents[looked_at[query_of[documents]]]
        for documents in (given[~np.isin(given, returned)], returned[~np.isin(returned, given)])
    )
    changed = np.sort(np.concatenate([dropped, added]))
    if not len(changed):
        return []
    queries, first = np.unique(query_of[changed], return_index=True)
    places = tuple(
        Place(row.system, None, before.judged.query_ids[query], before.pairs["doc_id"][doc])
        for query, doc in zip(
            queries[:PLACES_SHOWN].tolist(), changed[first][:PLACES_SHOWN].tolist(), strict=True
        )
    )
    have = "has" if len(queries) == 1 else "have"
    return [
        RERANKER_CHANGED_RECALL.finding(
            f"{counted(len(queries), 'query')} {have} other relevant documents in the first "
            f"{row.depth:,} of {row.system} than of {row.of[0]}: {len(dropped):,} dropped, "
            f"{len(added):,} added",
            count=len(queries),
            places=places,
            evidence={
                "system": row.system,
                "of": row.of[0],
                "depth": row.depth,
                "dropped": len(dropped),
                "added": len(added),
                "input_recall": row.input_recall,
                "output_recall": row.output_recall,
            },
        )
    ]


def _too_shallow(row: StageRow, before: RankedRun, queries: IntArray, asked: int) -> list[Finding]:
    if not len(queries):
        return []
    return [
        TOO_SHALLOW.finding(
            f"{row.system} reranks {row.depth:,} documents and the runs hold {asked:,}, so "
            f"what it was given cannot be seen for {counted(len(queries), 'query')}; recall "
            "and ceiling are those of the part that is seen",
            count=len(queries),
            places=tuple(
                Place(row.system, query_id=before.judged.query_ids[query])
                for query in queries[:PLACES_SHOWN].tolist()
            ),
            evidence={"system": row.system, "depth": row.depth, "run_depth": asked},
        )
    ]


# --- the analysis --------------------------------------------------------------------------------


def _look(config: StagesConfig, inputs: Inputs) -> Stages | NotApplicable:
    assert inputs.scores is not None
    assert inputs.runs is not None
    assert inputs.qrels is not None
    assert inputs.pipeline is not None
    if not any(spec.of for spec in inputs.pipeline):
        return STAGES.not_applicable("no system builds on another")
    rows, findings = stage_table(
        inputs.qrels,
        inputs.runs,
        inputs.pipeline,
        inputs.scores,
        cutoff=config.cutoff,
        settings=inputs.settings,
        depth=inputs.depth,
    )
    return Stages(
        measure=inputs.scores.measures[0],
        alpha=inputs.settings.alpha,
        stages=tuple(rows),
        findings=tuple(findings),
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
        codes=(RERANKER_CHANGED_RECALL, TOO_SHALLOW),
        place=10,
    )
)
