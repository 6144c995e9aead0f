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
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

import rankscope
from rankscope.benchmark.artifacts import Content, Form, PartForm, Store
from rankscope.benchmark.collection import Collection
from rankscope.benchmark.config.loading import LoadedConfig
from rankscope.benchmark.plan import Output, Plan, Results, Stage, Step
from rankscope.benchmark.systems import Systems, builds_on, naming, rerank_depth
from rankscope.diagnosis.registry import Analysed, AnyAnalysis, Inputs, Need, all_analyses
from rankscope.diagnosis.stages import StageSpec
from rankscope.errors import UnknownNameError
from rankscope.findings import Finding, NotApplicable
from rankscope.measures.language import Measure
from rankscope.retrieval.fetch import Fetched, fetch
from rankscope.retrieval.protocol import System, all_parts, packages_of
from rankscope.retrieval.registry import PythonUse
from rankscope.retrieval.stages.stage import Memory
from rankscope.runs.origin import Identity, Timings, fingerprint
from rankscope.runs.run_codes import EMPTY, NO_DOCUMENT_IN_COMMON, NO_QUERY_IN_COMMON
from rankscope.runs.table import Run
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
    """A config with its collection and systems: all that stages are made of."""

    loaded: LoadedConfig
    collection: Collection
    systems: Systems
    specs: Mapping[str, Any]
    """The systems' specs, with secrets in them."""
    keys: Mapping[str, str]
    """What each system is known by, without the corpus, which is known by its own hash."""
    cache: Path

    @classmethod
    def of(
        cls,
        loaded: LoadedConfig,
        collection: Collection,
        *,
        cache: Path,
        python: PythonUse = "run",
    ) -> Benchmark:
        """Make the systems of a config; the corpus is not read yet."""
        specs = loaded.systems()
        systems = Systems(
            specs,
            collection,
            folder=loaded.folder,
            cache=cache,
            memory=Memory(),
            python=python,
        )
        if not any(systems[name].trained for name in specs):
            info = collection.info.model_copy(update={"training": None})
            collection = replace(collection, info=info)
        keys = {}
        for name in specs:
            with naming(name):
                keys[name] = systems[name].identity().key
        return cls(loaded, collection, systems, specs, keys, cache)

    def packages(self) -> list[str]:
        """Return the distributions that the systems compute with."""
        names = (packages_of(self.systems[name]) for name in self.specs)
        return sorted({package for packages in names for package in packages})

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
        known = Reference.read(queries=ids, corpus=self.collection.corpus)
        return replace(known, qrels=self.collection.judgments.table)

    def parents(self, name: str) -> tuple[str, ...]:
        """Return the systems of the config that a system asks, through unnamed ones too."""
        names: dict[str, None] = {}
        for below in builds_on(self.systems[name]):
            names.update(dict.fromkeys(self._named(below)))
        return tuple(names)

    def share_systems(self, name: str, other: str) -> bool:
        """Tell whether two systems are, or ask, the same one: they are not asked at a time."""
        ids = ({id(part) for part in all_parts(self.systems[each])} for each in (name, other))
        return not set.isdisjoint(*ids)

    def _named(self, system: System) -> list[str]:
        """Return the name of a system of the config; of another, those of the systems it asks."""
        if self._is_named(system):
            return [system.name]
        return [name for below in builds_on(system) for name in self._named(below)]

    def pipeline(self) -> list[StageSpec]:
        """Describe the systems as stages of pipelines."""
        return [
            StageSpec(name, self.kind(name), self.parents(name), self._visible_depth(name))
            for name in self.specs
        ]

    def _visible_depth(self, name: str) -> int | None:
        """Return a reranker's depth, if what it reranks is a system of the config."""
        system = self.systems[name]
        is_visible = all(self._is_named(below) for below in builds_on(system))
        return rerank_depth(system) if is_visible else None

    def _is_named(self, system: System) -> bool:
        return system.name in self.specs and self.systems[system.name] is system

    def kind(self, name: str) -> str:
        """Return what kind of system it is."""
        spec = self.specs[name]
        return spec if isinstance(spec, str) else str(next(iter(spec)))


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

    def plan(self, store: Store) -> Plan:
        """Put the stages in order."""
        stages: list[Stage[Any]] = [*self.fetches.values(), *self.checks.values()]
        stages += [stage for stage in (self.score, self.compare) if stage is not None]
        return Plan([*stages, *(self.analyses or {}).values()], store)


def make_workflow(benchmark: Benchmark, *, only: Sequence[str] | None = None) -> Workflow:
    """Make the stages; ``only`` names systems whose runs are fetched and checked, and no more."""
    names = benchmark.specs if only is None else only
    fetches: dict[str, Stage[Fetched]] = {}
    for name in names:
        shared = [fetches[other] for other in fetches if benchmark.share_systems(name, other)]
        fetches[name] = _fetch(benchmark, name, after=shared)
    checks = {name: _check(benchmark, name, stage) for name, stage in fetches.items()}
    if only is not None:
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


class FetchedForm:
    """A fetched run is kept as its columns, best first, and the sizes of its queries."""

    def pack(self, made: Fetched, /) -> Content:
        """Return what is kept."""
        run = made.run
        data = {
            "name": run.name,
            "fingerprint": run.fingerprint(),
            "failures": made.failures,
            "timings": made.timings.to_dict(),
            "identity": made.identity.to_dict(),
            "notes": list(made.notes),
        }
        rows = run.trec_columns().select("doc_id", "score")
        queries = pl.DataFrame(
            {"query_id": pl.Series(run.query_ids, dtype=pl.String), "size": run.sizes}
        )
        return Content(data, {"rows": rows, "queries": queries})

    def unpack(self, content: Content, /) -> Fetched:
        """Make the run again; it was checked when it was made."""
        data, rows, queries = content.data, content.tables["rows"], content.tables["queries"]
        run = Run.trusted(
            queries["query_id"],
            queries["size"].to_numpy(),
            rows["doc_id"],
            rows["score"],
            name=data["name"],
            is_best_first=True,
            fingerprint=data["fingerprint"],
        )
        return Fetched(
            run,
            data["failures"],
            Timings.model_validate(data["timings"]),
            Identity.model_validate(data["identity"]),
            tuple(data["notes"]),
        )


def _fetch(benchmark: Benchmark, name: str, *, after: Sequence[Stage[Any]]) -> Stage[Fetched]:
    """Make the stage of one run.

    What the system says about itself and its failures is rid of secrets before it goes anywhere.
    """
    config, collection = benchmark.loaded.config, benchmark.collection

    def work(_: Results, step: Step) -> Output[Fetched]:
        with naming(name):
            fetched = fetch(
                benchmark.systems.indexed(name),
                collection.queries,
                depth=config.depth,
                batch=config.fetch.batch,
                jobs=config.fetch.jobs,
                retries=config.fetch.retries,
                timeout=config.fetch.timeout,
                stage_timeout=config.fetch.stage_timeout,
                rate=config.fetch.rate,
                store=benchmark.cache,
                progress=step,
                indexing=lambda done, total: step(done, total, "indexing"),
                name=name,
            )
        hide = benchmark.loaded.secrets.hide
        identity = Identity.model_validate(hide(fetched.identity.to_dict()))
        hidden = replace(
            fetched,
            failures=hide(fetched.failures),
            identity=identity,
            notes=tuple(hide(list(fetched.notes))),
        )
        return Output(hidden, complete=not fetched.failures)

    info = collection.info
    searched = (info.corpus_sha256, info.queries_sha256, config.depth)
    key = fingerprint("fetch", versions(), name, benchmark.keys[name], *searched)
    sources = [source for part in all_parts(benchmark.systems[name]) for source in part.sources]
    code = f" ({', '.join(dict.fromkeys(sources))})" if sources else ""
    about = f"{benchmark.kind(name)}{code}"
    return Stage(f"fetch {name}", key, work, FetchedForm(), after=tuple(after), about=about)


def _check(benchmark: Benchmark, name: str, fetched: Stage[Fetched]) -> Stage[Validation]:
    depth = benchmark.loaded.config.depth
    documents = benchmark.collection.info.documents
    if documents:
        depth = min(depth, documents)  # nobody can find more

    def work(results: Results, _: Step) -> Output[Validation]:
        return Output(benchmark.reference.validate(results[fetched].run, depth=depth))

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
    corpus = None if info.documents is None else KnownCorpus(info.documents, depth=config.depth)

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
            queries=[(query.query_id, query.text, query.metadata) for query in collection.queries],
            corpus=collection.corpus if "corpus" in analysis.needs else None,
        )
        return Output(analysis.answer(config, inputs))

    needs: list[Stage[Any]] = [*fetches.values(), score]
    hashes: dict[Need, Any] = {
        "scores": score.key,
        "runs": [stage.key for stage in fetches.values()],
        "qrels": collection.info.qrels_sha256,
        "queries": collection.info.queries_sha256,
        "corpus": collection.info.corpus_sha256,
        "pipeline": [asdict(spec) for spec in given.pipeline or ()],
    }
    parts = analysis.key_parts(config, given, hashes)
    return _stage(analysis.name, work, AnswerForm(analysis), needs, parts)
