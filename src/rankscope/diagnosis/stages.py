"""Stages: what each step of a pipeline adds, loses, and could reach at most.

Retrieval sets the ceiling, and a reranker works within it. How deep a reranker looks is known from
the config of a benchmark, or was said with the stages; what any other stage does is seen in its
run. Ranks are rankscope's own, whatever the profile of the scores (`ranked_run`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankscope.diagnosis.analysis import Analysed, Config, Inputs, Row, analysis
from rankscope.diagnosis.figures import Figure
from rankscope.diagnosis.ranked_run import RankedRun, best_order, why_not_by_grade
from rankscope.diagnosis.show import part_table, system_table
from rankscope.document.blocks import Block
from rankscope.errors import Place, UnknownNameError, counted
from rankscope.findings import PLACES_SHOWN, Finding, declare
from rankscope.measures.judged import JudgedRun, place_in
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.part import left_out
from rankscope.scoring.inputs import without_identical
from rankscope.statistics.arrays import SAME
from rankscope.statistics.comparison import compare_with_all
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.sentences import listed, p_text
from rankscope.statistics.system_pairs import Pair

if TYPE_CHECKING:
    from rankscope.diagnosis.rankings import Ranking
    from rankscope.measures.judged import BoolArray, IntArray

EXCEPTIONS = 0.05
"""A stage is what it is though this share of the queries is an exception, such as ones that failed.
"""

NOWHERE = -1
"""The rank of a document that is not there."""

Role = Literal["rerank", "filter", "fuse", "other"]
"""What a stage does with what it builds on: rerank (another order, perhaps of fewer documents),
filter (the same order, perhaps of fewer documents), fuse (several systems become one), other (it
has documents from elsewhere)."""

RERANKER_CHANGED_RECALL = declare(
    "RS701",
    "reranker-changed-recall",
    "error",
    unit="stage",
    advice="a reranker may reorder what it is given and not add or drop a document; check that "
    "both runs are of the same queries, index and depth",
    meaning="""The recall of a reranker at the depth that it looks at is not that of its input.
    Looked at where both runs have the same queries and are as deep.""",
)
STAGE_LOSES = declare(
    "RS711",
    "stage-loses",
    "warning",
    unit="stage",
    advice="leave the stage out, or mend it, unless a later one needs what it adds",
    meaning="""A stage is significantly worse in the main measure than the best system it builds on;
    corrected over all pairs of systems.""",
)
RELEVANT_DROPPED = declare(
    "RS712",
    "relevant-dropped",
    "warning",
    unit="query",
    advice="loosen the filter, or return more documents: no later stage can bring them back",
    meaning="""A stage leaves out relevant documents that the system below has retrieved. A warning
    of a filter, which keeps the order of the others; a note of a reranker that returns fewer
    documents than it is given.""",
)


@dataclass(frozen=True, slots=True)
class StageSpec:
    """A system as a stage: its kind, the systems it builds on, and how deep a reranker looks."""

    system: str
    kind: str
    of: tuple[str, ...] = ()
    depth: int | None = None


class StageRow(Row):
    """One stage of a pipeline."""

    kind: str
    """bm25, vector, fuse, rerank, …"""
    of: tuple[str, ...]
    """What it builds on."""
    depth: int | None
    """How many documents a reranker looks at; null: all that it is given."""
    role: Role | None = left_out()
    """What it does with what it builds on, as was said or as the runs show; left out of a stage
    that builds on none, and where that cannot be seen."""
    measures: dict[str, float]
    """Its means; the main measure is the first."""
    changes: tuple[Pair, ...]
    """What it changed against each system it builds on, by measure; corrected over all pairs of
    systems, as in a comparison of them."""
    ceiling: float | None = None
    """The mean of the main measure if what it is given were in the best order; of a reranker, what
    it looks at. Null for a stage that has documents from elsewhere."""
    input_recall: float | None = None
    """The share of relevant documents in what it is given, the most that its own can be; of a
    reranker at its depth."""
    output_recall: float | None = None
    """The same of what it returns; of a reranker anything but that of its input is an error."""
    kept: int | None = left_out()
    """Relevant documents on top that the best system below has there, too; left out of a stage
    that builds on none."""
    promoted: int = 0
    """Relevant documents on top that the system below does not have there."""
    lost: int = 0
    """Relevant documents that the system below has on top, and the stage does not."""
    dropped: int | None = left_out()
    """Relevant documents that the systems below have at some rank and the stage at none: lost for
    good. Left out of a stage that has documents from elsewhere."""
    dropped_queries: int | None = left_out()
    """Of how many queries."""

    @property
    def mean(self) -> float:
        """Its mean of the main measure."""
        return next(iter(self.measures.values()))

    @property
    def headroom(self) -> float | None:
        """How far the mean of the main measure is below the ceiling."""
        return None if self.ceiling is None else self.ceiling - self.mean


class Stages(Analysed):
    """What each stage of a pipeline did."""

    measure: str
    """The main measure."""
    stages: tuple[StageRow, ...]
    """The stages, in the order of the systems."""

    @property
    def figures(self) -> list[Figure]:
        """By how much each reranker raises nDCG, as a share of what it was."""
        ndcg = {
            row.system: [change for change in row.changes if re.match(r"nDCG\b", change.measure)]
            for row in self.stages
            if row.role == "rerank"
        }
        return [
            Figure(name="reranking_improvement", value=changes[0].relative, system=system)
            for system, changes in ndcg.items()
            if changes and changes[0].relative is not None
        ]


@analysis(
    title="Stages",
    needs=("scores", "runs", "qrels", "pipeline"),
    place=10,
)
def stages(_: Config, inputs: Inputs) -> Stages:
    """What each step of a pipeline adds, loses, and could reach at most.

    - ``ceiling``: the mean if the first ``depth`` documents of the input were ordered by grade from
      high to low, unjudged and negative ones as 0 and in the order they had, those below as they
      were. Of a fusion the documents of all inputs count. Null for measures of which less is
      better, that may fall when a relevant document moves up, or that need more than grades; also
      for stages that choose documents, if the measure counts how many there are.
    - ``input_recall``, ``output_recall``: R at ``depth``. A reranker changes places only, so any
      other recall is an error (RS701); runs that are cut above ``depth`` hide what the reranker
      was given, and are not looked at.
    """
    inputs.require(any(spec.of for spec in inputs.pipeline), "no system builds on another")
    ranked = _ranked(inputs)
    changes = _changes(inputs)
    rows: list[StageRow] = []
    findings: list[Finding] = []
    for spec in inputs.pipeline:
        row = _row(spec, ranked, changes.get(spec.system, ()), inputs)
        rows.append(row)
        if row.role == "rerank" and spec.depth is not None:
            findings += _changed_recall(row, ranked)
        elif row.dropped and row.role != "fuse":  # what fusions drop, the depth of runs does
            findings.append(_dropped(row, ranked))
    return Stages(measure=str(inputs.main), stages=tuple(rows), findings=tuple(findings))


@stages.find
def _find(result: Stages, inputs: Inputs) -> Iterator[Finding]:
    """Say which stages are worse than the best system they build on."""
    for row in result.stages:
        for change in row.changes:
            is_main = change.measure == result.measure and change.base == inputs.best_of(row.of)
            if is_main and change.verdict == "worse":
                low, high = change.interval.low, change.interval.high
                yield STAGE_LOSES.finding(
                    f"{row.system} is worse than {change.base}, which it builds on: "
                    f"{change.measure} {change.difference:+.3f} [{low:+.3f}, {high:+.3f}], "
                    f"{p_text(change.p_corrected)} corrected"
                )


@stages.show
def _show(result: Stages) -> Iterator[Block | None]:
    rows = [row for row in result.stages if row.of]
    changes = [change for row in rows for change in row.changes]
    main = [change for change in changes if change.measure == result.measure]
    changed = (
        "base_mean: before | system_mean: after | difference: change | relative: in per cent | "
        "p_corrected: p | verdict: result"
    )
    yield part_table(
        main,
        notes=[f"change in {result.measure}; p is corrected over all pairs of systems"],
        names=2,
        columns=f"system: stage | base: against | {changed}",
    )
    lacking = [
        f"{row.system} has documents that {listed(row.of)} did not retrieve, so it has no ceiling"
        for row in rows
        if row.role == "other"
    ]
    yield system_table(
        rows,
        "What each stage made of its input",
        legend=("ceiling", "kept", "promoted", "lost", "dropped"),
        notes=lacking,
        columns=(
            "role | depth: looks at | input_recall: recall before | "
            f"output_recall: recall after | mean: {result.measure} | ceiling | headroom | "
            "kept | promoted: gained | lost | dropped"
        ),
    )
    yield system_table(result.stages, "What each stage has", columns="kind | measures: {}")
    yield part_table(
        [change for change in changes if change.measure != result.measure],
        "What each stage changed in other measures",
        names=3,
        columns=f"system: stage | base: against | measure | {changed}",
    )


# --- what a stage is given and returns -----------------------------------------------------------


def _ranked(inputs: Inputs) -> dict[str, RankedRun]:
    """By system: its judged documents and their ranks; a system without a run is an error."""
    keeps_identical = inputs.scores.profile.identical_ids
    ranked = {}
    for name in (name for spec in inputs.pipeline for name in (spec.system, *spec.of)):
        if name not in inputs.runs:
            raise UnknownNameError("run", name, inputs.runs)
        run: Any = inputs.runs[name]
        if name not in ranked:
            ranked[name] = RankedRun.of(
                inputs.qrels, run if keeps_identical else without_identical(run)
            )
    return ranked


def _changes(inputs: Inputs) -> dict[str, list[Pair]]:
    """Compare each stage with what it builds on, by every measure that is a mean."""
    matrix = Matrix.of_scores(inputs.scores, only_means=True)
    place = {name: row for row, name in enumerate(matrix.systems)}
    pairs = [(place[below], place[spec.system]) for spec in inputs.pipeline for below in spec.of]
    changes: dict[str, list[Pair]] = {}
    for measure in range(len(matrix.scales)):
        for pair in compare_with_all(matrix.only_measure(measure), pairs, inputs.settings):
            changes.setdefault(pair.system, []).append(pair)
    return changes


def _row(
    spec: StageSpec,
    ranked: Mapping[str, RankedRun],
    changes: Sequence[Pair],
    inputs: Inputs,
) -> StageRow:
    """Say what one stage did."""
    after, cutoff = ranked[spec.system], inputs.cutoff
    row = StageRow(
        system=spec.system,
        kind=spec.kind,
        of=spec.of,
        depth=spec.depth,
        role=_role(spec, inputs),
        measures=dict(inputs.scores.run(spec.system).means),
        changes=tuple(changes),
    )
    if not spec.of:
        return row
    mine, below = after.top(cutoff), ranked[inputs.best_of(spec.of)].top(cutoff)
    kept = len(np.intersect1d(mine, below))
    counts: dict[str, Any] = {
        "kept": kept,
        "promoted": len(mine) - kept,
        "lost": len(below) - kept,
    }
    if row.role not in (None, "other"):
        counts |= _limits(row, ranked, inputs)
    return row.model_copy(update=counts)


def _limits(row: StageRow, ranked: Mapping[str, RankedRun], inputs: Inputs) -> dict[str, Any]:
    """Return what a stage was given, kept, and could have made of it, as fields of its row."""
    averaged = set(inputs.scores.run(row.system).query_ids)
    counts = np.array([query_id in averaged for query_id in inputs.qrels.query_ids], np.bool_)
    after = ranked[row.system]
    returned = after.judged.only(counts)
    inputs_of = [ranked[name] for name in row.of]
    given = (inputs_of[0].judged if len(row.of) == 1 else _together(inputs_of)).only(counts)
    depth = row.depth or max(int(run.retrieved.max(initial=1)) for run in (given, returned))
    recall, best = Measure.of("R", cutoff=depth), best_order(given, depth)
    missing = _missing(row, ranked)
    limits: dict[str, Any] = {
        "input_recall": aggregate(recall, compute(recall, given)),
        "output_recall": aggregate(recall, compute(recall, returned)),
        "dropped": len(missing),
        "dropped_queries": len(np.unique(after.pairs["query"].to_numpy()[missing])),
    }
    main = inputs.main
    if why_not_by_grade(main, inputs.qrels.judged_grade):
        return limits
    values = compute(main, best)
    # of a measure that counts documents, a choice of them may be better than all in the best order
    longer = replace(best, retrieved=best.retrieved + 1)
    if row.role == "rerank" or np.array_equal(values, compute(main, longer)):
        limits["ceiling"] = aggregate(main, values)
    return limits


def _missing(row: StageRow, ranked: Mapping[str, RankedRun]) -> IntArray:
    """Return the relevant documents that a stage dropped, as rows of judgments."""
    below = np.concatenate([ranked[name].top() for name in row.of])
    return np.setdiff1d(below, ranked[row.system].top())


def _together(ranked: Sequence[RankedRun]) -> JudgedRun:
    """Return all documents that several systems have as one run, the best grades first.

    How many documents there are is at most the sum.
    """
    runs = [each.judged for each in ranked]
    doc, where = np.unique(np.concatenate([each.doc for each in ranked]), return_index=True)
    grade = np.concatenate([run.hit_grade for run in runs])[where]
    query = np.concatenate([run.hit_query for run in runs])[where]
    order = np.lexsort((doc, -grade, query))
    return replace(
        runs[0],
        retrieved=np.sum([run.retrieved for run in runs], axis=0),
        in_run=np.logical_or.reduce([run.in_run for run in runs]),
        hit_query=query[order],
        hit_rank=place_in(query[order]),
        hit_grade=grade[order],
        subtopics=None,
        spans=None,
        terms=None,
    )


# --- what a stage does ---------------------------------------------------------------------------


def _role(spec: StageSpec, inputs: Inputs) -> Role | None:
    """Tell what a stage does with what it builds on: as was said, or as its run shows."""
    if spec.of and spec.kind == "rerank" and spec.depth is not None:
        return "rerank"
    if not spec.of or inputs.qrels.gold is not None:  # pieces of text are judged, not documents
        return None
    systems = inputs.rankings.systems
    above, below = systems[spec.system], [systems[name] for name in spec.of]
    answered = (above.sizes > 0) & np.logical_or.reduce([each.sizes > 0 for each in below])
    if not answered.any():
        return None
    ranks = [_ranks_in(each, above) for each in below]
    query = above.query

    def is_usual(rows: BoolArray) -> bool:
        """Whether more than a few queries have such documents."""
        queries = np.unique(query[rows & answered[query]])
        return len(queries) > EXCEPTIONS * int(np.count_nonzero(answered))

    is_new = np.logical_and.reduce([each == NOWHERE for each in ranks])
    if is_usual(is_new):
        return "other"
    if len(below) > 1:
        return "fuse"
    falls = np.zeros(len(query), np.bool_)
    falls[1:] = (query[1:] == query[:-1]) & (ranks[0][1:] < ranks[0][:-1])
    return "rerank" if is_usual(falls) else "filter"


def _ranks_in(below: Ranking, above: Ranking) -> IntArray:
    """By row of one ranking: the rank of the document in another one, or `NOWHERE`."""
    ranks = np.full(len(above.key), NOWHERE, np.int64)
    if len(below.key):
        order = np.argsort(below.key)
        at = order[np.searchsorted(below.key, above.key, sorter=order).clip(max=len(order) - 1)]
        is_there = below.key[at] == above.key
        ranks[is_there] = below.rank[at[is_there]]
    return ranks


# --- findings ------------------------------------------------------------------------------------


def _places(row: StageRow, documents: IntArray, ranked: Mapping[str, RankedRun]) -> Any:
    """Name some judged documents, one of each query."""
    judged, pairs = ranked[row.system].judged, ranked[row.system].pairs
    query_of = pairs["query"].to_numpy()
    _, first = np.unique(query_of[documents], return_index=True)
    return tuple(
        Place(row.system, None, judged.query_ids[query_of[doc]], pairs["doc_id"][doc])
        for doc in documents[first[:PLACES_SHOWN]].tolist()
    )


def _changed_recall(row: StageRow, ranked: Mapping[str, RankedRun]) -> Iterator[Finding]:
    """Look whether a reranker added or dropped relevant documents, where that can be seen."""
    runs = [ranked[name].judged for name in (row.of[0], row.system)]
    is_seen = np.array_equal(runs[0].in_run, runs[1].in_run)
    is_seen &= all(run.retrieved.max(initial=0) >= (row.depth or 0) for run in runs)
    before, after = row.input_recall or 0.0, row.output_recall or 0.0
    if is_seen and abs(after - before) > SAME:
        yield RERANKER_CHANGED_RECALL.finding(
            f"R@{row.depth} of {row.system} is {after:.4f}, and of {row.of[0]}, which it reranks, "
            f"{before:.4f}"
        )


def _dropped(row: StageRow, ranked: Mapping[str, RankedRun]) -> Finding:
    """Say that a stage drops relevant documents."""
    return RELEVANT_DROPPED.finding(
        f"{row.system} drops {counted(row.dropped or 0, 'relevant document')} of "
        f"{counted(row.dropped_queries or 0, 'query')} that {row.of[0]} has retrieved",
        count=row.dropped_queries or 0,
        places=_places(row, _missing(row, ranked), ranked),
        severity="warning" if row.role == "filter" else "note",
    )
