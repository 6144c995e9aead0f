"""The workflow: which stages a benchmark has, and what each of them does.

Fetch and check each run, score all of them, compare them, and ask every registered analysis. Stages
share their results: a run is one `Run` for all of them, its judgments are prepared once, and it is
aligned with them once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from rankscope.benchmark.artifacts import Content, PartForm, Store
from rankscope.benchmark.basis import Benchmark, make_stage
from rankscope.benchmark.diagnosing import Answer, Evidence, analysis_stages
from rankscope.benchmark.plan import Output, Plan, Results, Stage, Step
from rankscope.diagnosis.approximation import Exactness
from rankscope.findings import Finding
from rankscope.measures.language import Measure
from rankscope.retrieval.fetch import Fetched
from rankscope.runs.checks import empty, no_document_in_common, no_query_in_common
from rankscope.runs.validation import Reference, Validation
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.plans import meant
from rankscope.scoring.rules import Profile, profile_named
from rankscope.scoring.scores import RunScores, Scores
from rankscope.scoring.soundness import KnownCorpus, Remark
from rankscope.statistics.comparison import Comparison, compare_scores


@dataclass(frozen=True, slots=True, eq=False)
class Workflow:
    """The stages of a benchmark, by what they do."""

    fetches: Mapping[str, Stage[Fetched]]
    """By system: its run."""
    checks: Mapping[str, Stage[Validation]]
    """By system: what the checks of its run say."""
    score: Stage[Scores] | None = None
    """Values by query of all systems; None where only runs are wanted."""
    compare: Stage[Comparison | None] | None = None
    """All systems compared; None if there is one only, or nothing that can be tested."""
    analyses: Mapping[str, Stage[Answer]] | None = None
    """By name: what each analysis says."""
    again: Mapping[str, Sequence[Stage[Fetched]]] = field(default_factory=dict)
    """By system that is asked more than once: its other runs."""
    exactness: Mapping[str, Stage[Exactness]] = field(default_factory=dict)
    """By system that searches vectors approximately: its answers against exact ones."""

    def stages(self) -> list[Stage[Any]]:
        """Return the stages in an order in which they can be done."""
        stages: list[Stage[Any]] = [*self.fetches.values(), *self.checks.values()]
        stages += [stage for again in self.again.values() for stage in again]
        stages += self.exactness.values()
        stages += [stage for stage in (self.score, self.compare) if stage is not None]
        return [*stages, *(self.analyses or {}).values()]

    def plan(self, store: Store) -> Plan:
        """Return the plan by which they are done."""
        return Plan(self.stages(), store)


def make_workflow(
    benchmark: Benchmark,
    fetches: Mapping[str, Stage[Fetched]],
    *,
    only_runs: bool = False,
    reference: Callable[[str], Reference] | None = None,
    known: Mapping[str, Answer | None] | None = None,
    again: Mapping[str, Sequence[Stage[Fetched]]] | None = None,
    exactness: Mapping[str, Stage[Exactness]] | None = None,
) -> Workflow:
    """Make the stages that follow from runs; ``only_runs``: they are checked, and no more.

    ``reference`` says what the run of a system is checked against; if not given, the collection.
    ``known`` are the answers of analyses that are not to be asked again, by name; ``again`` the
    other runs of systems that are asked more than once, and ``exactness`` what approximate ones are
    compared with.
    """
    again, exactness = again or {}, exactness or {}
    against = reference or (lambda _: benchmark.reference)
    checks = {name: _check(benchmark, name, stage, against) for name, stage in fetches.items()}
    if only_runs:
        return Workflow(fetches, checks)
    score = _score(benchmark, fetches, checks, again)
    compare = None
    if len(fetches) > 1 and _tested(benchmark.loaded.config.measures):
        compare = _compare(benchmark, score)
    evidence = Evidence(benchmark, fetches, score, again=again, exactness=exactness)
    analyses = analysis_stages(benchmark, evidence, known or {})
    return Workflow(fetches, checks, score, compare, analyses, again, exactness)


# --- runs ----------------------------------------------------------------------------------------


def _check(
    benchmark: Benchmark,
    name: str,
    fetched: Stage[Fetched],
    reference: Callable[[str], Reference],
) -> Stage[Validation]:
    def work(results: Results, _: Step) -> Output[Validation]:
        return Output(reference(name).validate(results[fetched].run))

    info = benchmark.collection.info
    parts = (info.corpus_sha256, info.qrels_sha256)
    return make_stage(f"check {name}", work, PartForm(Validation), [fetched], parts)


BROKEN = frozenset(code.code for code in (empty, no_query_in_common, no_document_in_common))
"""Errors of a run after which no number about it could mean anything."""


def fault_of(validation: Validation) -> Finding | None:
    """Return why a run cannot be scored; None if it can."""
    faults = (
        finding
        for finding in validation.findings
        if finding.severity == "error" and finding.code in BROKEN
    )
    return next(faults, None)


# --- scores --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScoresForm:
    """Scores are kept as a table for each run, with a row for each query."""

    benchmark: Benchmark

    def pack(self, made: Scores, /) -> Content:
        """Return what is kept: all missing queries too, of which JSON records name the first."""
        runs = [made.run(name) for name in made.runs]
        data = {
            run.name: {
                "means": run.means,
                "counts": run.counts,
                "remarks": [asdict(remark) for remark in run.remarks],
            }
            for run in runs
        }
        tables = {
            run.name: pl.DataFrame(
                {
                    "query_id": pl.Series(run.query_ids, dtype=pl.String),
                    **dict(zip(made.measures, run.values, strict=True)),
                    **{
                        f"again {time}: {measure}": values
                        for time, again in enumerate(run.repeats)
                        for measure, values in zip(made.measures, again, strict=True)
                    },
                }
            )
            for run in runs
        }
        return Content(data, tables)

    def unpack(self, content: Content, /) -> Scores:
        """Make the scores again."""
        config = self.benchmark.loaded.config
        profile = profile_named(config.profile)
        asked = _asked(config.measures, profile)
        runs = []
        for name, table in content.tables.items():
            rows = np.ascontiguousarray(table.drop("query_id").to_numpy().T, dtype=np.float64)
            values, *again = np.split(rows, max(len(rows) // len(asked), 1))
            query_ids = tuple(table["query_id"].to_list())
            kept = content.data[name]
            about = tuple(
                Remark(**{**remark, "query_ids": tuple(remark["query_ids"])})
                for remark in kept["remarks"]
            )
            means, counts = kept["means"], kept["counts"]
            run = RunScores(name, query_ids, values, means, counts, about, tuple(again))
            runs.append(run)
        return Scores(runs, asked, profile, self.benchmark.collection.judgments)


def _asked(measures: Sequence[str], profile: Profile) -> dict[str, str]:
    """Return the measures by their canonical names, with what they were asked for as."""
    return {str(parsed.measure): parsed.asked for parsed in meant(measures, profile)}


def _score(
    benchmark: Benchmark,
    fetches: Mapping[str, Stage[Fetched]],
    checks: Mapping[str, Stage[Validation]],
    again: Mapping[str, Sequence[Stage[Fetched]]],
) -> Stage[Scores]:
    """Make the stage that scores all systems but those whose runs are broken.

    Other runs of a system are scored beside its first one, and say how much noise there is.
    """
    config, info = benchmark.loaded.config, benchmark.collection.info
    corpus = None
    if info.documents is not None and info.chunks_sha256 is None:  # else these are chunks
        corpus = KnownCorpus(depth=min(config.depth, info.documents))

    def work(results: Results, _: Step) -> Output[Scores]:
        runs = {
            name: results[stage].run
            for name, stage in fetches.items()
            if fault_of(results[checks[name]]) is None
        }
        judgments = benchmark.collection.judgments
        profile = profile_named(config.profile)
        if not runs:
            asked = _asked(config.measures, profile)
            return Output(Scores([], asked, profile, judgments))
        scores = evaluate(judgments, runs, config.measures, profile=profile, corpus=corpus)
        for name, stages in again.items():
            if name in runs:
                others = {str(time): results[stage].run for time, stage in enumerate(stages)}
                more = evaluate(judgments, others, config.measures, profile=profile)
                repeated = scores.run(name).with_repeats(more.scored)
                scored = [repeated if run.name == name else run for run in scores.scored]
                scores = replace(scores, scored=scored)
        return Output(scores)

    parts = (info.qrels_sha256, info.documents, config.depth, config.measures, config.profile)
    about = f"{len(config.measures)} measures"
    needs: list[Stage[Any]] = [*fetches.values(), *checks.values()]
    needs += [stage for stages in again.values() for stage in stages]
    return make_stage("score", work, ScoresForm(benchmark), needs, parts, about)


def _tested(measures: Sequence[str]) -> list[str]:
    """Return the measures whose values tests are about: not geometric means."""
    kinds = {measure: Measure.parse(measure).definition.aggregate for measure in measures}
    return [measure for measure, kind in kinds.items() if kind not in ("geometric", "pooled")]


class ComparisonForm:
    """A comparison is kept as its JSON; nothing, where fewer than two systems could be scored."""

    def pack(self, made: Comparison | None, /) -> Content:
        """Return what is kept."""
        return Content({} if made is None else made.model_dump(mode="json"))

    def unpack(self, content: Content, /) -> Comparison | None:
        """Make the comparison again."""
        return Comparison.model_validate(content.data) if content.data else None


def _compare(benchmark: Benchmark, score: Stage[Scores]) -> Stage[Comparison | None]:
    """Make the stage that compares systems; with a broken baseline, all with each other."""
    wanted = benchmark.loaded.config.baseline

    def work(results: Results, _: Step) -> Output[Comparison | None]:
        scores = results[score]
        if len(scores.runs) < 2:
            return Output(None)
        tested = scores.only(_tested(scores.measures))
        comparison = compare_scores(
            tested,
            baseline=wanted if wanted in scores.runs else None,
            settings=benchmark.settings,
            clusters=benchmark.clusters,
            all_pairs=True,
        )
        return Output(comparison)

    parts: list[Any] = [wanted, benchmark.settings.to_dict()]
    if benchmark.clusters is not None:
        parts += [sorted((name, str(label)) for name, label in benchmark.clusters.items())]
    return make_stage("compare", work, ComparisonForm(), [score], parts)
