"""Replay: an experiment made again of its own runs, questions and judgments.

What a benchmark computes follows from its config, what the systems answered, and the collection.
All of these are in the folder, but for the corpus; so everything else can be computed again, by the
same stages. What only the systems and the machine know (answers, failures, times, identities,
models, versions) is taken over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from rankscope.benchmark.approximating import exactness_title, without_vectors
from rankscope.benchmark.basis import Benchmark
from rankscope.benchmark.codes import CONFIG_NOTE
from rankscope.benchmark.collection import (
    Collection,
    CorpusFile,
    collection_findings,
    hash_of_queries,
)
from rankscope.benchmark.config.collection_files import CROSS_VALIDATION
from rankscope.benchmark.config.loading import LoadedConfig
from rankscope.benchmark.config.model import Config
from rankscope.benchmark.config.secrets import Secrets
from rankscope.benchmark.config.sections import read_section
from rankscope.benchmark.diagnosing import Answer
from rankscope.benchmark.experiment import (
    Experiment,
    report_file,
    results_file,
    run_file,
)
from rankscope.benchmark.fetching import FetchedForm
from rankscope.benchmark.folders import REPORT, inside, read_table
from rankscope.benchmark.plan import Output, Results, Stage
from rankscope.benchmark.systems import described
from rankscope.benchmark.targets import Targets, load_targets, names_files
from rankscope.benchmark.workflow import make_workflow
from rankscope.collection.qrels import Qrels
from rankscope.diagnosis.analysis import Need, all_analyses
from rankscope.diagnosis.approximation import approximation
from rankscope.errors import InputError, shown
from rankscope.ontology.terms import Ontology, read_ontology
from rankscope.records.manifest import ExperimentManifest
from rankscope.records.origin import fingerprint
from rankscope.records.report import NO_TIME, BenchmarkReport, EvaluationReport, RunInfo
from rankscope.records.table_names import ANNOTATIONS, DOCUMENTS, ONTOLOGY, QRELS, QUERIES
from rankscope.retrieval.fetch import Fetched
from rankscope.retrieval.protocol import Query
from rankscope.runs.checks import gold_outside_corpus, no_document_in_common, unknown_documents
from rankscope.runs.table import Run, read_run
from rankscope.runs.validation import Reference
from rankscope.scoring.judgments import Judgments
from rankscope.tables.jsontext import parse_json


class OtherRunError(InputError):
    """The run in the folder is not the one that was scored."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The records of an experiment, as they are in its folder."""

    folder: Path
    manifest: ExperimentManifest
    report: BenchmarkReport

    def table(self, name: str) -> pl.DataFrame:
        """Read one of its tables."""
        return read_table(self.folder, name, self.manifest)

    def evaluation(self, system: str) -> EvaluationReport:
        """Read the report of a system."""
        return EvaluationReport.read(inside(self.folder, report_file(system)))


@dataclass(frozen=True, slots=True)
class Replay:
    """An experiment that was made again.

    ``out_of_reach`` are the codes of findings that need the corpus, where it was not given.
    ``taken_over`` are the analyses whose answers were not made again, as they looked at something
    that is not here.
    """

    experiment: Experiment
    out_of_reach: frozenset[str]
    taken_over: tuple[str, ...] = ()


def replay(recorded: Recorded, corpus: Path | None = None) -> Replay:
    """Make an experiment again; ``corpus`` is the file that was searched, if it is there.

    Raises:
        InputError: something of the folder cannot be used.
        OtherRunError: a run is not the one that was scored.
    """
    manifest, report = recorded.manifest, recorded.report
    config = read_section(Config, manifest.config)
    benchmark = Benchmark(
        _loaded(config, recorded),
        _collection(recorded, config, corpus),
        described(config.systems),
        manifest.keys,
        manifest.versions,
        _targets(config, manifest),
    )
    fetched = {name: _fetched(recorded, benchmark, name) for name in benchmark.systems}
    fetches = {name: _stage(name, answer) for name, answer in fetched.items()}
    again = {
        system.name: [
            _stage(f"{system.name} again ({time})", _fetched_again(recorded, benchmark, info, time))
            for time, info in enumerate(system.again, start=2)
        ]
        for system in report.systems
        if system.again
    }
    reference = None
    if corpus is None and report.collection.documents is not None:
        runs = {name: answer.run for name, answer in fetched.items()}
        reference = partial(_without_corpus, recorded, benchmark, runs)
    known = _taken_over(recorded, corpus)
    exactness = {  # vectors are in no folder: it is known that they were compared, and how long
        name: without_vectors(name, config.depth)
        for name in fetches
        if exactness_title(name) in report.seconds
    }
    workflow = make_workflow(
        benchmark, fetches, reference=reference, known=known, again=again, exactness=exactness
    )
    results = Results()
    for stage in workflow.stages():
        output = stage.work(results, _no_step)
        results.add(stage, output, report.seconds.get(stage.name, 0.0))
    out_of_reach = frozenset() if reference is None else _NEEDS_CORPUS
    return Replay(Experiment(benchmark, workflow, results), out_of_reach, tuple(known))


_NEEDS_CORPUS = frozenset({unknown_documents.code, gold_outside_corpus.code})


def _taken_over(recorded: Recorded, corpus: Path | None) -> dict[str, Answer | None]:
    """Return the answers of analyses that looked at what the folder does not hold."""
    info = recorded.report.collection
    gone: list[Need] = []
    if corpus is None and info.documents is not None and info.chunks_sha256 is None:
        gone += ["corpus", "search"]
    if info.training not in (None, CROSS_VALIDATION):
        gone.append("training")
    if approximation.of(recorded.report.analyses) is not None:
        gone.append("exactness")  # vectors are in no folder
    gone += ["decisions"] if info.decisions_sha256 is not None else []
    gone += ["ratings"] if info.ratings_sha256 is not None else []
    return {
        analysis.name: getattr(recorded.report.analyses, analysis.name)
        for analysis in all_analyses()
        if any(map(analysis.looks_at, gone))
    }


def _no_step(done: int, total: int, /, part: str = "") -> None:
    """Show nothing."""


def _loaded(config: Config, recorded: Recorded) -> LoadedConfig:
    notes = [
        finding.message for finding in recorded.report.findings if finding.code == CONFIG_NOTE.code
    ]
    overrides = recorded.manifest.overrides
    return LoadedConfig(config, recorded.folder, overrides, Secrets(), tuple(notes))


def _targets(config: Config, manifest: ExperimentManifest) -> Targets:
    """Return what should be reached: of the manifest where the config names files for it."""
    if names_files(config.targets, config.bands):
        return Targets.from_plain(manifest.targets)
    return load_targets(config.targets, config.bands, Path())


def _collection(recorded: Recorded, config: Config, corpus: Path | None) -> Collection:
    """Put the collection together of the questions and judgments in the folder."""
    info = recorded.report.collection
    queries = tuple(
        Query(query_id, text, _metadata(metadata))
        for query_id, text, metadata in recorded.table(QUERIES)
        .select("query_id", "text", "metadata")
        .iter_rows()
    )
    qrels = Qrels(recorded.table(QRELS))
    mixed = config.collection.languages == "together"
    if mixed:
        spoken = {query.query_id: query.metadata.get("language") for query in queries}
        qrels = qrels.with_languages({name: str(code) for name, code in spoken.items() if code})
    judgments = Judgments(qrels, remember=True, no_answer=info.no_answer)
    judgments.may_mix_languages = mixed
    judgments.ontology = _ontology(recorded)
    contents: dict[str, Any] = {}
    corpus_file = None
    if corpus is not None:
        corpus_file = CorpusFile(corpus, doc=config.collection.columns.doc)
        corpus_now = corpus_file.contents()
        contents = {"documents": corpus_now.documents, "corpus_sha256": corpus_now.sha256}
    return Collection(
        corpus_file,
        queries,
        judgments,
        None,
        info.model_copy(
            update={
                "queries": len(queries),
                "judgments": len(qrels),
                "queries_sha256": hash_of_queries(queries),
                "qrels_sha256": judgments.fingerprint,
                **contents,
            }
        ),
        collection_findings(queries, qrels, source=QUERIES),
        None if corpus is None else config.collection.chunking(recorded.folder),
        _titles(recorded) if corpus is None else {},
        _texts(recorded) if corpus is None else {},
    )


def _ontology(recorded: Recorded) -> Ontology | None:
    """Read the ontology again, as far as scores rest on it."""
    info = recorded.report.collection.ontology
    if info is None:
        return None
    annotations = recorded.folder / ANNOTATIONS
    kept = read_ontology(
        inside(recorded.folder, ONTOLOGY),
        annotations=inside(recorded.folder, ANNOTATIONS) if annotations.exists() else None,
    )
    return replace(
        kept,
        source=info.source,
        version=info.version,
        sha256=info.sha256,
        relations=info.relations,
        annotations_sha256=info.annotations_sha256,
        undefined=info.undefined,
    )


def _metadata(text: str) -> dict[str, Any]:
    data = parse_json(text, source=QUERIES)
    if not isinstance(data, dict):
        raise InputError(f"{QUERIES}: expected objects in the column metadata")
    return data


def _titles(recorded: Recorded) -> dict[str, str | None]:
    """Return the titles that the tables give; where they disagree, one of them."""
    names = [system.name for system in recorded.report.systems]
    tables = [recorded.table(QRELS), *(recorded.table(results_file(name)) for name in names)]
    titles = pl.concat([table.select("doc_id", "title") for table in tables])
    return dict(titles.unique("doc_id", keep="first").iter_rows())


def _texts(recorded: Recorded) -> dict[str, str | None]:
    """Return how documents begin."""
    return dict(recorded.table(DOCUMENTS).select("doc_id", "text").iter_rows())


# --- runs ----------------------------------------------------------------------------------------


def _fetched(recorded: Recorded, benchmark: Benchmark, name: str) -> Fetched:
    """Take a run from its file, and what else its system said from the records."""
    system = next((each for each in recorded.report.systems if each.name == name), None)
    if system is None:
        raise InputError(f"{REPORT}: the system {shown(name)} of the config is missing")
    return Fetched(
        _run(recorded, system.run, benchmark),
        dict(system.run.failures),
        system.timing,
        system.run.identity,
        tuple(recorded.evaluation(name).diagnostics.notes),
        (*system.run.engines, *system.run.usage),
    )


def _fetched_again(recorded: Recorded, benchmark: Benchmark, info: RunInfo, time: int) -> Fetched:
    """Take another run of a system from its file."""
    return Fetched(
        _run(recorded, info, benchmark, time),
        dict(info.failures),
        NO_TIME,
        info.identity,
        facts=(*info.engines, *info.usage),
    )


def _stage(name: str, fetched: Fetched) -> Stage[Fetched]:
    """Make a stage that has its run already."""
    return Stage(f"fetch {name}", fingerprint(name), lambda *_: Output(fetched), FetchedForm())


def _run(recorded: Recorded, info: RunInfo, benchmark: Benchmark, time: int = 1) -> Run:
    """Read a run, with the queries that were answered by no document, which a file cannot hold."""
    path = inside(recorded.folder, run_file(info.system, time))
    run = read_run(path) if info.rows else Run()
    if run.fingerprint() != info.run_id:
        raise OtherRunError(info.system)
    asked = [query.query_id for query in benchmark.collection.queries]
    answered = [query_id for query_id in asked if query_id not in info.failures]
    run = run.answers(answered).named(info.system)
    collapsed = info.collapsed
    return run if collapsed is None else run.collapsed_from(collapsed)


def _without_corpus(
    recorded: Recorded, benchmark: Benchmark, runs: Mapping[str, Run], name: str
) -> Reference:
    """Return what a run is checked against where the corpus is not known.

    What was found by looking into the corpus is taken over, and all documents count as its own.
    Only where a run was recorded to share no document with the judgments, it is looked at without.
    """
    findings = recorded.evaluation(name).diagnostics.findings
    reference = replace(
        benchmark.reference,
        findings=tuple(
            finding.model_copy(update={"system": None})
            for finding in findings
            if finding.code in _NEEDS_CORPUS
        ),
    )
    faults = [finding.code for finding in findings if finding.severity == "error"]
    if no_document_in_common.code in faults:
        return reference
    ids = [*benchmark.collection.judgments.table.doc_ids.unique(), *runs[name].doc_ids.unique()]
    return replace(reference, corpus_ids=lambda: ids)
