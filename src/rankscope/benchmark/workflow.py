"""The workflow: which stages a benchmark has, and what each of them does.

Fetch and check each run, score all of them, compare them, and ask every registered analysis. Stages
share their results: a run is one `Run` for all of them, its judgments are prepared once, and it is
aligned with them once.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib import metadata
from typing import Any, TypeVar

import numpy as np
import polars as pl

import rankscope
from rankscope.benchmark.artifacts import Content, Form, PartForm, Store
from rankscope.benchmark.collection import Collection
from rankscope.benchmark.config.loading import LoadedConfig
from rankscope.benchmark.folders import slug
from rankscope.benchmark.plan import Output, Plan, Results, Stage, Step
from rankscope.benchmark.systems import Description
from rankscope.benchmark.targets import Targets
from rankscope.diagnosis.registry import Analysed, AnyAnalysis, Inputs, Need, all_analyses
from rankscope.diagnosis.stages import StageSpec
from rankscope.errors import UnknownNameError
from rankscope.findings import Finding, NotApplicable
from rankscope.measures.language import Measure
from rankscope.retrieval.fetch import Fetched
from rankscope.runs.origin import fingerprint
from rankscope.runs.run_codes import EMPTY, NO_DOCUMENT_IN_COMMON, NO_QUERY_IN_COMMON
from rankscope.runs.validation import Reference, Validation
from rankscope.scoring.evaluate import RunScores, Scores, evaluate, meant
from rankscope.scoring.rules import profile_named
from rankscope.scoring.soundness import KnownCorpus, Remark
from rankscope.statistics.compare import Comparison, compare_scores
from rankscope.statistics.settings import Settings

Made = TypeVar("Made")
Answer = Analysed | NotApplicable
"""What an analysis says."""

_PACKAGES = ("numpy", "polars", "scipy")


@dataclass(frozen=True, eq=False)
class Benchmark:
    """A config with its collection and what is known of its systems: all that stages are made of.

    Nothing in it can be asked: runs come from systems, or from the files of an experiment.
    """

    loaded: LoadedConfig
    collection: Collection
    systems: Mapping[str, Description]
    keys: Mapping[str, str]
    """What each system is known by, without the corpus, which is known by its own hash."""
    versions: Mapping[str, str]
    """rankscope, Python, and the packages that take part."""
    targets: Targets

    @cached_property
    def settings(self) -> Settings:
        """How systems are compared."""
        return self.loaded.config.statistics.settings

    @cached_property
    def clusters(self) -> dict[str, object] | None:
        """The cluster of each query, where queries belong together."""
        field = self.loaded.config.statistics.cluster
        if field is None:
            return None
        known = dict.fromkeys(name for query in self.collection.queries for name in query.metadata)
        if field not in known:
            raise UnknownNameError("field of the queries (statistics.cluster)", field, known)
        return {query.query_id: query.metadata.get(field) for query in self.collection.queries}

    @cached_property
    def reference(self) -> Reference:
        """What runs are checked against."""
        ids = [query.query_id for query in self.collection.queries]
        corpus: Any = self.collection.corpus
        if corpus is not None and self.collection.chunking is not None:
            corpus = list(dict.fromkeys(self.collection.chunking.documents(corpus.ids)[0]))
        known = Reference.read(queries=ids, corpus=corpus)
        return replace(known, qrels=self.collection.judgments.table)

    @cached_property
    def experiment(self) -> str:
        """The id: the config's name, and a hash of config, data, systems, versions and targets.

        How many queries are asked at a time decides nothing, and may differ between machines.
        """
        config = {key: value for key, value in self.loaded.plain().items() if key != "fetch"}
        key = fingerprint(
            config,
            self.collection.info.model_dump(),
            dict(self.keys),
            dict(self.versions),
            asdict(self.targets),
        )
        return f"{slug(self.loaded.config.name)}-{key[:12]}"

    def pipeline(self) -> list[StageSpec]:
        """Describe the systems as stages of pipelines."""
        return [
            StageSpec(name, system.kind, system.of, system.depth)
            for name, system in self.systems.items()
        ]


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of what always takes part, and of some packages if they are there."""
    known = {"rankscope": rankscope.__version__, "python": platform.python_version()}
    for package in (*_PACKAGES, *packages):
        try:
            known[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return known


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

    def stages(self) -> list[Stage[Any]]:
        """Return the stages in an order in which they can be done."""
        stages: list[Stage[Any]] = [*self.fetches.values(), *self.checks.values()]
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
) -> Workflow:
    """Make the stages that follow from runs; ``only_runs``: they are checked, and no more.

    ``reference`` says what the run of a system is checked against; if not given, the collection.
    """
    against = reference or (lambda _: benchmark.reference)
    checks = {name: _check(benchmark, name, stage, against) for name, stage in fetches.items()}
    if only_runs:
        return Workflow(fetches, checks)
    score = _score(benchmark, fetches, checks)
    compare = None
    if len(fetches) > 1 and _tested(benchmark.loaded.config.measures):
        compare = _compare(benchmark, score)
    analyses = {
        analysis.name: _analyse(benchmark, analysis, fetches, score) for analysis in all_analyses()
    }
    return Workflow(fetches, checks, score, compare, analyses)


def _stage(  # noqa: PLR0917
    name: str,
    work: Callable[[Results, Step], Output[Made]],
    form: Form[Made],
    needs: Sequence[Stage[Any]],
    parts: Sequence[Any],
    about: str = "",
) -> Stage[Made]:
    """Make a stage that is known by what it needs and by some more parts."""
    key = fingerprint(name, versions(), [stage.key for stage in needs], list(parts))
    return Stage(name, key, work, form, tuple(needs), about=about)


# --- runs ----------------------------------------------------------------------------------------


def _check(
    benchmark: Benchmark,
    name: str,
    fetched: Stage[Fetched],
    reference: Callable[[str], Reference],
) -> Stage[Validation]:
    depth = benchmark.loaded.config.depth
    documents = benchmark.collection.info.documents
    if documents:
        depth = min(depth, documents)  # nobody can find more

    def work(results: Results, _: Step) -> Output[Validation]:
        return Output(reference(name).validate(results[fetched].run, depth=depth))

    info = benchmark.collection.info
    parts = (depth, info.corpus_sha256, info.qrels_sha256)
    return _stage(f"check {name}", work, PartForm(Validation), [fetched], parts)


BROKEN = frozenset(code.code for code in (EMPTY, NO_QUERY_IN_COMMON, NO_DOCUMENT_IN_COMMON))
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
                }
            )
            for run in runs
        }
        return Content(data, tables)

    def unpack(self, content: Content, /) -> Scores:
        """Make the scores again."""
        config = self.benchmark.loaded.config
        profile = profile_named(config.profile)
        runs = []
        for name, table in content.tables.items():
            values = np.ascontiguousarray(table.drop("query_id").to_numpy().T, dtype=np.float64)
            query_ids = tuple(table["query_id"].to_list())
            kept = content.data[name]
            about = tuple(
                Remark(**{**remark, "query_ids": tuple(remark["query_ids"])})
                for remark in kept["remarks"]
            )
            runs.append(RunScores(name, query_ids, values, kept["means"], kept["counts"], about))
        measures = meant(config.measures, profile)
        return Scores(
            runs, measures, profile, judgments=self.benchmark.collection.judgments, single=False
        )


def _score(
    benchmark: Benchmark,
    fetches: Mapping[str, Stage[Fetched]],
    checks: Mapping[str, Stage[Validation]],
) -> Stage[Scores]:
    """Make the stage that scores all systems but those whose runs are broken."""
    config, info = benchmark.loaded.config, benchmark.collection.info
    corpus = None
    if info.documents is not None and info.chunks_sha256 is None:  # else these are chunks
        corpus = KnownCorpus(info.documents, depth=config.depth)

    def work(results: Results, _: Step) -> Output[Scores]:
        runs = {
            name: results[stage].run
            for name, stage in fetches.items()
            if fault_of(results[checks[name]]) is None
        }
        judgments = benchmark.collection.judgments
        profile = profile_named(config.profile)
        if not runs:
            asked = meant(config.measures, profile)
            return Output(Scores([], asked, profile, judgments=judgments, single=False))
        scores = evaluate(judgments, runs, config.measures, profile=profile, corpus=corpus)
        return Output(scores)

    parts = (info.qrels_sha256, info.documents, config.depth, config.measures, config.profile)
    about = f"{len(config.measures)} measures"
    needs: list[Stage[Any]] = [*fetches.values(), *checks.values()]
    return _stage("score", work, ScoresForm(benchmark), needs, parts, about)


def _tested(measures: Sequence[str]) -> list[str]:
    """Return the measures whose values tests are about: not geometric means."""
    kinds = {measure: Measure.parse(measure).definition.aggregate for measure in measures}
    return [measure for measure, kind in kinds.items() if kind != "geometric"]


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
    return _stage("compare", work, ComparisonForm(), [score], parts)


# --- analyses ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What an analysis says is kept with whether it is a result or a reason for none."""

    analysis: AnyAnalysis

    def pack(self, made: Answer, /) -> Content:
        """Return what is kept."""
        return Content({"applies": isinstance(made, Analysed), "answer": made.to_dict()})

    def unpack(self, content: Content, /) -> Answer:
        """Make the answer again."""
        model = self.analysis.result if content.data["applies"] else NotApplicable
        answer: Answer = model.model_validate(content.data["answer"])
        return answer


def _analyse(
    benchmark: Benchmark,
    analysis: AnyAnalysis,
    fetches: Mapping[str, Stage[Fetched]],
    score: Stage[Scores],
) -> Stage[Answer]:
    """Make the stage of an analysis; what it needs decides what its key holds."""
    loaded, collection = benchmark.loaded, benchmark.collection
    config = loaded.config.analyses[analysis.name]
    given = Inputs(
        pipeline=benchmark.pipeline(),
        baseline=loaded.config.baseline,
        depth=loaded.config.depth,
        documents=None if collection.info.chunks_sha256 else collection.info.documents,
        settings=benchmark.settings,
    )

    def work(results: Results, _: Step) -> Output[Answer]:
        scores = results[score]
        if not scores.runs:
            reason = "no system could be scored"
            return Output(NotApplicable(name=analysis.name, reason=reason))
        inputs = replace(
            given,
            scores=scores,
            runs={
                name: results[stage].run for name, stage in fetches.items() if name in scores.runs
            },
            pipeline=[
                replace(spec, of=tuple(name for name in spec.of if name in scores.runs))
                for spec in given.pipeline or ()
                if spec.system in scores.runs
            ],
            baseline=given.baseline if given.baseline in scores.runs else None,
            qrels=collection.judgments,
            queries=[
                (query.query_id, query.text, query.metadata)
                for query in collection.queries
                if query.query_id not in collection.judgments.no_answer
            ],
            corpus=collection.corpus if "corpus" in analysis.needs else None,
            titles=collection.title_of,
        )
        return Output(analysis.answer(config, inputs))

    needs: list[Stage[Any]] = [*fetches.values(), score]
    hashes: dict[Need, Any] = {
        "scores": score.key,
        "runs": [stage.key for stage in fetches.values()],
        "qrels": collection.info.qrels_sha256,
        "queries": collection.info.queries_sha256,
        "corpus": collection.info.corpus_sha256,
        "titles": collection.info.corpus_sha256,
        "pipeline": [asdict(spec) for spec in given.pipeline or ()],
        "search": None,  # it needs the corpus, which an experiment does not keep
    }
    parts = analysis.key_parts(config, given, hashes)
    return _stage(analysis.name, work, AnswerForm(analysis), needs, parts)
