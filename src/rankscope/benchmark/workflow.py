"""The stages of a benchmark: fetch and check each run, score, compare, look into it.

`make_plan` gives every stage its key and its work; the results travel as parcels, which `run_of`
and `scores_of` read back.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rankscope
from rankscope.benchmark.artifacts import Parcel, Store
from rankscope.benchmark.collection import Collection
from rankscope.benchmark.config import LoadedConfig
from rankscope.benchmark.plan import Plan, Stage, Step
from rankscope.benchmark.systems import Systems, builds_on, rerank_depth
from rankscope.diagnosis.registry import Inputs
from rankscope.diagnosis.segments import SEGMENTS as SEGMENTS_ANALYSIS
from rankscope.diagnosis.segments import SegmentsConfig
from rankscope.diagnosis.stages import STAGES as STAGES_ANALYSIS
from rankscope.diagnosis.stages import StagesConfig, StageSpec
from rankscope.errors import InputError
from rankscope.measures.language import Measure
from rankscope.retrieval.fetch import Fetched, fetch
from rankscope.retrieval.protocol import System, fingerprint
from rankscope.retrieval.registry import named
from rankscope.retrieval.stages.learning import is_trained
from rankscope.runs.table import Run
from rankscope.runs.validation import Reference
from rankscope.scoring.evaluate import RunScores, Scores, evaluate, meant
from rankscope.scoring.inputs import as_judgments
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.rules import profile_named
from rankscope.statistics.compare import compare_scores
from rankscope.statistics.pairwise import Settings
from rankscope.tables.columns import RUN
from rankscope.tables.rows import Rows

__all__ = ["Benchmark", "make_plan", "run_of", "versions"]

SCORE, COMPARE, SEGMENTS, STAGES = "score", "compare", "segments", "stages"
_PACKAGES = ("numpy", "polars", "scipy")


@dataclass(frozen=True, slots=True, eq=False)
class Benchmark:
    """A config with its collection and systems: all that stages are made of."""

    loaded: LoadedConfig
    collection: Collection
    systems: Systems
    specs: Mapping[str, Any]
    """The systems' specs, with secrets in them."""
    cache: Path

    @classmethod
    def of(cls, loaded: LoadedConfig, collection: Collection, *, cache: Path) -> Benchmark:
        """Make the systems of a config, and give them the corpus."""
        specs = loaded.systems()
        systems = Systems(specs, collection, folder=loaded.folder, cache=cache)
        if not any(is_trained(systems[name]) for name in specs):
            info = collection.info.model_copy(update={"training": None})
            collection = replace(collection, info=info)
        return cls(loaded, collection, systems, specs, cache)

    def alone(self, name: str) -> System:
        """Make a system, and what it builds on, for one stage's own use."""
        return Systems(self.specs, self.collection, folder=self.loaded.folder, cache=self.cache)[
            name
        ]

    @property
    def settings(self) -> Settings:
        """How systems are compared."""
        return Settings(**self.loaded.config.statistics.model_dump())

    @property
    def judgments(self) -> Judgments:
        """The judgments, prepared."""
        return as_judgments(self.collection.qrels)

    def parents(self, name: str) -> tuple[str, ...]:
        """Return the systems of the config that a system asks, through unnamed ones too."""
        found: dict[str, None] = {}
        for below in builds_on(self.systems[name]):
            if self._is_named(below):
                found[below.name] = None
            else:
                found.update(dict.fromkeys(self._below(below)))
        return tuple(found)

    def _below(self, system: System) -> list[str]:
        names: list[str] = []
        for below in builds_on(system):
            names += [below.name] if self._is_named(below) else self._below(below)
        return names

    def stage_specs(self) -> list[StageSpec]:
        """Describe the systems as stages of pipelines."""
        return [
            StageSpec(name, self.kind(name), self.parents(name), self._visible_depth(name))
            for name in self.specs
        ]

    def _visible_depth(self, name: str) -> int | None:
        """Return a reranker's depth, if what it reranks is a system of the config."""
        system = self.systems[name]
        seen = all(self._is_named(below) for below in builds_on(system))
        return rerank_depth(system) if seen else None

    def _is_named(self, system: System) -> bool:
        return system.name in self.specs and self.systems[system.name] is system

    def kind(self, name: str) -> str:
        """Return what kind of system it is."""
        return named(self.specs[name], "system")[0]


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of what always takes part, and of some packages if they are there."""
    found = {"rankscope": rankscope.__version__, "python": platform.python_version()}
    for package in (*_PACKAGES, *packages):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def make_plan(
    benchmark: Benchmark,
    store: Store,
    *,
    only: Sequence[str] | None = None,
    apart: bool = False,
) -> Plan:
    """Plan the stages; ``only`` names systems whose runs are fetched and checked, and no more.

    ``apart``: every fetch makes its systems anew, so that several can go on at a time.
    """
    config, info = benchmark.loaded.config, benchmark.collection.info
    wanted = list(only or benchmark.specs)
    fetches = [_fetch(benchmark, name, wanted if apart else None) for name in wanted]
    reference = _reference_of(benchmark)
    checks = [_check(benchmark, one, reference) for one in fetches]
    stages = [*fetches, *checks]
    if only is None:
        score = _stage(
            *(SCORE, _scorer(benchmark), fetches),
            (info.qrels_sha256, config.measures, config.profile),
            f"{len(config.measures)} measures",
        )
        stages.append(score)
        statistics = config.statistics.model_dump()
        if len(fetches) > 1 and _can_be_tested(config.measures):
            stages.append(
                _stage(COMPARE, _comparer(benchmark), [score], (config.baseline, statistics))
            )
        if config.segments:
            parts = (config.segments, config.baseline, statistics, info.queries_sha256)
            stages.append(_stage(SEGMENTS, _segmenter(benchmark), [score], parts))
        if any(benchmark.parents(name) for name in benchmark.specs):
            described = [asdict(one) for one in benchmark.stage_specs()]
            needed = [*fetches, score]
            stages.append(_stage(STAGES, _stager(benchmark), needed, (described, statistics)))
    return Plan(stages, store)


def _stage(
    name: str,
    work: Callable[[Mapping[str, Parcel], Step], Parcel],
    needs: Sequence[Stage],
    parts: Sequence[Any],
    about: str = "",
) -> Stage:
    key = fingerprint(name, versions(), [one.key for one in needs], list(parts))
    return Stage(name, key, work, tuple(one.name for one in needs), about)


# ------------------------------------------------------------------------------- runs


def _fetch(benchmark: Benchmark, name: str, beside: Sequence[str] | None) -> Stage:
    """Make the stage of one run.

    ``beside`` names the runs that may be fetched at the same time, None if one is fetched after the
    other. A system waits for those it builds on, as their indexes are then there.
    """
    config, queries = benchmark.loaded.config, benchmark.collection.queries
    needs = tuple(f"fetch {one}" for one in benchmark.parents(name) if one in (beside or ()))

    def work(_: Mapping[str, Parcel], step: Step) -> Parcel:
        system = benchmark.systems[name] if beside is None else benchmark.alone(name)
        try:
            fetched = fetch(
                system,
                queries,
                depth=config.depth,
                batch=config.fetch.batch,
                jobs=config.fetch.jobs,
                retries=config.fetch.retries,
                store=benchmark.cache,
                progress=step,
                indexing=lambda done, total: step(done, total, "indexing"),
                name=name,
            )
        except InputError as error:
            raise InputError(f"system {name}: {error}") from None
        return _fetched_parcel(fetched, benchmark)

    identity = benchmark.systems[name].identity()
    info = benchmark.collection.info
    key = fingerprint("fetch", versions(), name, identity.key, info.queries_sha256, config.depth)
    return Stage(f"fetch {name}", key, work, needs, benchmark.kind(name))


def _fetched_parcel(fetched: Fetched, benchmark: Benchmark) -> Parcel:
    run = fetched.run
    data = {
        "name": run.name,
        "query_ids": run.query_ids,
        "failures": fetched.failures,
        "timings": fetched.timings.to_dict(),
        "identity": benchmark.loaded.secrets.hide(fetched.identity.to_dict()),
        "notes": list(fetched.notes),
    }
    return Parcel(data, {"run": run.to_polars()}, complete=not fetched.failures)


def run_of(parcel: Parcel) -> Run:
    """Return the run that a fetch brought."""
    frame, name = parcel.tables["run"], parcel.data["name"]
    if not parcel.data["query_ids"]:
        return Run(name=name)
    found = set(frame["query_id"].unique().to_list())
    empty = tuple(one for one in parcel.data["query_ids"] if one not in found)
    return Run.from_rows(Rows(frame, name, RUN, ids_complete=True, empty_queries=empty), name=name)


def _reference_of(benchmark: Benchmark) -> Callable[[], Reference]:
    """Return what runs are checked against, made when it is first needed."""
    collection = benchmark.collection
    made: list[Reference] = []

    def reference() -> Reference:
        if not made:
            ids = [query.query_id for query in collection.queries]
            found = Reference.read(queries=ids, corpus=collection.corpus)
            made.append(Reference(found.findings, None, found.query_ids, found.corpus_ids))
        return made[0]

    return reference


def _check(benchmark: Benchmark, fetched: Stage, reference: Callable[[], Reference]) -> Stage:
    depth = benchmark.loaded.config.depth
    documents = benchmark.collection.info.documents
    if documents:
        depth = min(depth, documents)  # nobody can find more

    def work(needed: Mapping[str, Parcel], step: Step) -> Parcel:  # noqa: ARG001
        run = run_of(needed[fetched.name])
        if not len(run):
            return Parcel({"findings": [], "rows": 0})
        validation = reference().validate(run, depth=depth)
        found = [finding.to_dict() for finding in validation.findings]
        return Parcel({"findings": found, "rows": validation.rows})

    name = fetched.name.removeprefix("fetch ")
    corpus = benchmark.collection.info.corpus_sha256
    return _stage(f"check {name}", work, [fetched], (depth, corpus))


# ----------------------------------------------------------------------------- scores


def _scorer(benchmark: Benchmark) -> Callable[[Mapping[str, Parcel], Step], Parcel]:
    config = benchmark.loaded.config

    def work(needed: Mapping[str, Parcel], step: Step) -> Parcel:
        judgments = benchmark.judgments
        data: dict[str, Any] = {}
        tables = {}
        for number, (stage, parcel) in enumerate(needed.items(), start=1):
            name = stage.removeprefix("fetch ")
            scores = evaluate(
                judgments, {name: run_of(parcel)}, config.measures, profile=config.profile
            )
            run = scores.run(name)
            # in Python's form, which keeps all missing queries
            data[name] = {"means": run.means, "accounting": run.accounting.model_dump()}
            columns = {"query_id": pl.Series(run.query_ids, dtype=pl.String)}
            tables[name] = pl.DataFrame(
                {**columns, **dict(zip(scores.measures, run.values, strict=True))}
            )
            step(number, len(needed))
        return Parcel(data, tables)

    return work


def scores_of(parcel: Parcel, benchmark: Benchmark) -> Scores:
    """Return the scores that the score stage made."""
    config = benchmark.loaded.config
    profile = profile_named(config.profile)
    runs = []
    for name, kept in parcel.data.items():
        table = parcel.tables[name]
        values = table.drop("query_id").to_numpy().T
        runs.append(
            RunScores(
                name,
                tuple(table["query_id"].to_list()),
                np.ascontiguousarray(values, dtype=np.float64),
                kept["means"],
                kept["accounting"],
            )
        )
    measures = meant(config.measures, profile)
    return Scores(runs, measures, profile, judgments=benchmark.judgments, single=False)


def _comparer(benchmark: Benchmark) -> Callable[[Mapping[str, Parcel], Step], Parcel]:
    def work(needed: Mapping[str, Parcel], step: Step) -> Parcel:  # noqa: ARG001
        scores = scores_of(needed[SCORE], benchmark)
        baseline = benchmark.loaded.config.baseline
        comparison = compare_scores(
            scores.only(_tested(scores)), baseline=baseline, settings=benchmark.settings
        )
        return Parcel(comparison.to_dict())

    return work


def _can_be_tested(measures: Sequence[str]) -> bool:
    return any(Measure.parse(one).definition.aggregate != "geometric" for one in measures)


def _tested(scores: Scores) -> list[str]:
    """Return the measures whose values tests are about: not geometric means."""
    kinds = {one: Measure.parse(one).definition.aggregate for one in scores.measures}
    return [one for one, kind in kinds.items() if kind != "geometric"]


def _segmenter(benchmark: Benchmark) -> Callable[[Mapping[str, Parcel], Step], Parcel]:
    config = benchmark.loaded.config

    def work(needed: Mapping[str, Parcel], step: Step) -> Parcel:  # noqa: ARG001
        inputs = Inputs(
            scores=scores_of(needed[SCORE], benchmark),
            queries=[
                (query.query_id, query.text, query.metadata)
                for query in benchmark.collection.queries
            ],
            baseline=config.baseline,
            settings=benchmark.settings,
        )
        answer = SEGMENTS_ANALYSIS.answer(SegmentsConfig(fields=tuple(config.segments)), inputs)
        return Parcel(answer.to_dict())

    return work


def _stager(benchmark: Benchmark) -> Callable[[Mapping[str, Parcel], Step], Parcel]:
    def work(needed: Mapping[str, Parcel], step: Step) -> Parcel:  # noqa: ARG001
        inputs = Inputs(
            scores=scores_of(needed[SCORE], benchmark),
            runs={
                name.removeprefix("fetch "): run_of(parcel)
                for name, parcel in needed.items()
                if name != SCORE
            },
            qrels=benchmark.judgments,
            pipeline=benchmark.stage_specs(),
            settings=benchmark.settings,
            depth=benchmark.loaded.config.depth,
        )
        return Parcel(STAGES_ANALYSIS.answer(StagesConfig(), inputs).to_dict())

    return work
