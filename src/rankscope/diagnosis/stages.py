"""Stages: what each step of a pipeline adds, loses, and could reach at most.

After `evaluation` and `statistics`, before `records`: retrieval sets the ceiling, a reranker works
within it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.diagnosis.values import Table, changes_between, intervals_of, pair_test
from rankscope.diagnosis.views import View, best_order
from rankscope.errors import UnknownNameError, counted
from rankscope.findings import PLACES_SHOWN, Finding, Place
from rankscope.measures.language import Measure
from rankscope.measures.parts import gains_of
from rankscope.measures.registry import aggregate, compute
from rankscope.scoring.inputs import as_judgments, without_identical
from rankscope.statistics.arrays import row_means
from rankscope.statistics.paired import paired_tests
from rankscope.statistics.pairwise import Settings

if TYPE_CHECKING:
    from rankscope.collection.qrels import Qrels
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.runs.table import Run
    from rankscope.scoring.evaluate import Scores
    from rankscope.scoring.judgments import Judgments
    from rankscope.statistics.intervals import Interval

__all__ = ["Change", "Stage", "StageSpec", "stage_table"]


@dataclass(frozen=True, slots=True)
class StageSpec:
    """A system as a stage: its kind, the systems it builds on, and how deep a reranker looks."""

    system: str
    kind: str
    of: tuple[str, ...] = ()
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What a stage changed in one measure, against one system it builds on."""

    measure: str
    of: str
    difference: float
    interval: Interval
    p: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "measure": self.measure,
            "of": self.of,
            "difference": self.difference,
            "interval": self.interval.to_dict(),
            "p": self.p,
        }


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: its means, what it changed, and for a reranker what it could reach."""

    system: str
    kind: str
    of: tuple[str, ...]
    depth: int | None
    measures: dict[str, float]
    changes: tuple[Change, ...]
    cutoff: int
    ceiling: dict[str, float] = field(default_factory=dict)
    input_recall: float | None = None
    output_recall: float | None = None
    lost: int = 0
    promoted: int = 0
    labels: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "system": self.system,
            "kind": self.kind,
            "of": list(self.of),
            "depth": self.depth,
            "measures": dict(self.measures),
            "changes": [one.to_dict() for one in self.changes],
            "ceiling": dict(self.ceiling),
            "input_recall": self.input_recall,
            "output_recall": self.output_recall,
            "cutoff": self.cutoff,
            "lost": self.lost,
            "promoted": self.promoted,
            "labels": dict(self.labels),
        }


def stage_table(
    qrels: Judgments | Qrels,
    runs: Mapping[str, Run],
    stages: Sequence[StageSpec],
    scores: Scores,
    *,
    cutoff: int = 10,
    settings: Settings = Settings(),  # noqa: B008  (frozen)
    depth: int | None = None,
) -> tuple[list[Stage], list[Finding]]:
    """Say of each stage what it changed, and of a reranker whether it kept what it was given.

    ``scores`` are those of all ``runs``. ``depth`` is how many documents the runs were asked for;
    without it, the longest answer of a reranker and its input stands for it.

    - ``changes``: mean paired difference to each system the stage builds on, with the interval and
      the test of ``settings``, over the queries all runs have; p is not corrected. Measures that
      are no mean over queries (sums, GMAP) are left out.
    - ``ceiling``: the means if the first ``spec.depth`` documents of the input stood by grade from
      high to low, unjudged and negative ones as 0 and in the order they had, those below as they
      were. Left out: measures for which less is better, that may fall when a relevant document
      moves up, or that need subtopics or lengths.
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
    known = _known(stages, runs, scores)
    judgments = as_judgments(qrels)
    keep_identical = scores.profile.identical_ids
    views: dict[str, View] = {}
    for name in known:
        run: Any = runs[name] if keep_identical else without_identical(runs[name])
        views[name] = View.of(judgments, run)
    grades = judgments.judged_grade
    changes = _changes(stages, scores, settings)
    rows, findings = [], []
    for spec in stages:
        own = views[spec.system]
        row = Stage(
            system=spec.system,
            kind=spec.kind,
            of=spec.of,
            depth=spec.depth,
            measures=dict(scores.run(spec.system).means),
            changes=tuple(changes[spec.system]),
            cutoff=cutoff,
            labels=own.labels(cutoff, grades),
        )
        if spec.of:
            base = views[_best(spec.of, scores)]
            row = replace(row, lost=base.only(own, cutoff), promoted=own.only(base, cutoff))
        if _is_reranker(spec):
            below = views[spec.of[0]]
            row = _with_ceiling(row, below, own, scores)
            findings += _checked(row, below, own, asked=depth, removed=int(not keep_identical))
        rows.append(row)
    return rows, findings


def _known(stages: Sequence[StageSpec], runs: Mapping[str, Run], scores: Scores) -> dict[str, None]:
    """Return the systems that are looked at; one without run or scores is an error."""
    named = dict.fromkeys(name for spec in stages for name in (spec.system, *spec.of))
    for name in named:
        if name not in runs:
            raise UnknownNameError("run", name, runs)
        scores.run(name)
    return named


def _is_reranker(spec: StageSpec) -> bool:
    return spec.kind == "rerank" and spec.depth is not None and len(spec.of) == 1


def _best(names: Sequence[str], scores: Scores) -> str:
    """Return the run with the best mean of the first measure; of equal ones the first."""
    first = scores.measures[0]
    sign = 1 if Measure.parse(first).definition.higher_is_better else -1
    return max(names, key=lambda name: sign * scores.run(name).means[first])


def _changes(
    stages: Sequence[StageSpec], scores: Scores, settings: Settings
) -> dict[str, list[Change]]:
    """Compare each stage with what it builds on, all rows at once."""
    found: dict[str, list[Change]] = {spec.system: [] for spec in stages}
    pairs = [(below, spec.system) for spec in stages for below in spec.of]
    if not pairs:
        return found
    table = Table(scores)
    if not table.scales:
        return found
    at = {name: place for place, name in enumerate(table.systems)}
    places = [(below, own, row) for below, own in pairs for row in range(len(table.scales))]
    rows = np.array(
        [
            changes_between(table.values[row, at[below]], table.values[row, at[own]])
            for below, own, row in places
        ]
    )
    bounds = [table.scales[row].change for _, _, row in places]
    by_bootstrap = replace(settings, interval="bca") if settings.interval == "wilson" else settings
    intervals = intervals_of(rows, bounds, by_bootstrap)
    tests = paired_tests(rows, test=pair_test(settings), **settings.resampling)
    means = row_means(rows).tolist()
    for (below, own, row), mean, interval, test in zip(
        places, means, intervals, tests, strict=True
    ):
        found[own].append(Change(table.scales[row].name, below, mean, interval, test.p))
    return found


def _with_ceiling(row: Stage, below: View, own: View, scores: Scores) -> Stage:
    """Add what a reranker was given, kept, and could have made of it."""
    assert row.depth is not None
    counted_in = set(scores.run(row.system).query_ids)
    ids = below.judged.query_ids
    keep = np.fromiter((query_id in counted_in for query_id in ids), np.bool_, len(ids))
    given, kept = (one.judged.only(keep) for one in (below, own))
    best = best_order(given, row.depth)
    recall = Measure.of("R", cutoff=row.depth)
    measures = [Measure.parse(name) for name in scores.measures]
    return replace(
        row,
        ceiling={
            str(one): aggregate(one, compute(one, best))
            for one in measures
            if _grades_rule(one, given.judged_grade)
        },
        input_recall=aggregate(recall, compute(recall, given)),
        output_recall=aggregate(recall, compute(recall, kept)),
    )


def _grades_rule(measure: Measure, grades: FloatArray) -> bool:
    """Tell whether no order is better than the one by grade from high to low."""
    definition = measure.definition
    if not definition.higher_is_better or definition.not_monotone or definition.needs:
        return False
    gain: Any = measure.options.get("gain")
    if not isinstance(gain, tuple):
        return True
    gains = gains_of(np.unique(grades), gain, 1.0)
    return bool((np.diff(gains) >= 0).all())


def _checked(
    row: Stage, below: View, own: View, *, asked: int | None, removed: int
) -> list[Finding]:
    """Look whether a reranker added or dropped a relevant document, where that can be seen.

    ``removed`` is how many documents of a query the profile may have left out.
    """
    assert row.depth is not None
    ends = below.judged.retrieved, own.judged.retrieved
    asked = asked or int(max(one.max(initial=0) for one in ends))
    seen = below.judged.in_run & own.judged.in_run
    hidden = seen & (ends[0] + removed >= asked) if row.depth > asked else np.zeros_like(seen)
    return [
        *_recall_changed(row, below, own, seen & ~hidden),
        *_too_shallow(row, below, np.flatnonzero(hidden), asked),
    ]


def _recall_changed(row: Stage, below: View, own: View, looked_at: BoolArray) -> list[Finding]:
    assert row.depth is not None
    given, kept = below.top(row.depth), own.top(row.depth)
    numbers = below.pairs["query"].to_numpy()
    dropped, added = (
        part[looked_at[numbers[part]]]
        for part in (given[~np.isin(given, kept)], kept[~np.isin(kept, given)])
    )
    changed = np.sort(np.concatenate([dropped, added]))
    if not len(changed):
        return []
    queries, first = np.unique(numbers[changed], return_index=True)
    places = tuple(
        Place(row.system, None, below.judged.query_ids[query], below.pairs["doc_id"][doc])
        for query, doc in zip(
            queries[:PLACES_SHOWN].tolist(), changed[first][:PLACES_SHOWN].tolist(), strict=True
        )
    )
    have = "has" if len(queries) == 1 else "have"
    return [
        Finding(
            code="RS701",
            name="reranker-changed-recall",
            severity="error",
            message=(
                f"{counted(len(queries), 'query')} {have} other relevant documents in the first "
                f"{row.depth:,} of {row.system} than of {row.of[0]}: {len(dropped):,} dropped, "
                f"{len(added):,} added"
            ),
            advice=(
                "a reranker may reorder what it is given and not add or drop a document; check "
                "that both runs are of the same queries, index and depth"
            ),
            count=len(queries),
            unit="query",
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


def _too_shallow(row: Stage, below: View, queries: IntArray, asked: int) -> list[Finding]:
    if not len(queries):
        return []
    return [
        Finding(
            code="RS702",
            name="too-shallow-to-check",
            severity="note",
            message=(
                f"{row.system} reranks {row.depth:,} documents and the runs hold {asked:,}, so "
                f"what it was given cannot be seen for {counted(len(queries), 'query')}; recall "
                "and ceiling are those of the part that is seen"
            ),
            advice="let the runs hold as many documents as the reranker looks at",
            count=len(queries),
            unit="query",
            places=tuple(
                Place(row.system, query_id=below.judged.query_ids[query])
                for query in queries[:PLACES_SHOWN].tolist()
            ),
            evidence={"system": row.system, "depth": row.depth, "run_depth": asked},
        )
    ]
