"""What a benchmark leaves: a report of each system, one of all compared, times, and a manifest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from rankscope.diagnosis.analysis import analyses_model
from rankscope.diagnosis.pareto import Pareto, pareto
from rankscope.diagnosis.summary import SummaryLine
from rankscope.document.views import Shown
from rankscope.findings import Finding, NotApplicable
from rankscope.part import FileRef, High, Low, Part, left_out
from rankscope.records.experiment_files import TIMINGS, FileRecord
from rankscope.records.kpis import FigureKpi, Status
from rankscope.records.origin import EngineFacts, Identity, ModelUsage, Timings
from rankscope.runs.collapsing import Chunks
from rankscope.scoring.score_files import Accounting
from rankscope.statistics.comparison import Comparison
from rankscope.statistics.intervals import Interval

NO_TIME = Timings(index=0.0, search=0.0, p50=None, p95=None, p99=None, asked=0, stored=0, retried=0)
"""Where it is not known how long a system took."""


class MeasureValue(Part):
    """One system's mean of one measure."""

    measure: str
    """The measure by its canonical name."""
    asked: str
    """The name it was asked for."""
    value: float
    """The mean over ``n`` queries."""
    interval: Interval | None
    """Of the mean; null for what is no mean, such as a sum or a geometric mean."""
    n: int
    """How many queries were averaged."""
    target: float | None = None
    """What it should reach."""
    status: Status = "unknown"
    """pass: the target is reached; warn: at least 0.9 of it; fail; unknown: no target."""
    bands: dict[str, str] = Field(default_factory=dict)
    """By set of bands, the one the value falls in."""


class MeasureInfo(Part):
    """What a measure is."""

    measure: str
    """The canonical name."""
    asked: str
    """The name it was asked for."""
    title: str
    """What it measures, in one sentence."""
    higher_is_better: bool
    """Whether more is better."""
    low: Low
    """The smallest value possible; null if there is none."""
    high: High
    """The largest value possible; null if there is none."""
    target: float | None = None
    """What a system should reach."""
    best: list[str] = Field(default_factory=list)
    """The systems with the best mean."""


class OntologyInfo(Part):
    """The ontology that documents are terms of."""

    source: str
    """The file, as the config names it."""
    version: str
    """What it says its version is."""
    sha256: str
    """The hash of its content and of the relations that count."""
    terms: int
    """Terms that are not obsolete."""
    relations: tuple[str, ...]
    """What puts a term below another."""
    annotations_sha256: str = ""
    """The hash of the file of annotations, if there is one."""
    undefined: tuple[str, ...] = left_out(())
    """Ids that terms are said to be below and that are not defined."""


class CollectionInfo(Part):
    """What was searched and judged, by content."""

    name: str
    """What it is called."""
    split: str | None
    """The part of the judgments that was used; null: there is only one."""
    documents: int | None
    """How many documents there are; null: no corpus was given."""
    queries: int
    """How many queries were asked: those that are judged."""
    judgments: int
    """How many pairs are judged."""
    corpus_sha256: str | None
    """A hash of all documents: ids and fields."""
    queries_sha256: str
    """A hash of the queries asked: ids, texts and metadata."""
    qrels_sha256: str
    """A hash of the judgments; the same as in a score file."""
    training: str | None = None
    """What trained parts learn from: a split, or cross-validation; null: nothing is trained."""
    no_answer: tuple[str, ...] = left_out(())
    """The queries that are meant to have no answer, if there are any: asked, and in no mean."""
    chunks_sha256: str | None = left_out()
    """A hash of what says which document a chunk is of, if systems return chunks."""
    decisions_sha256: str | None = left_out()
    """A hash of the file of decisions, if there is one."""
    ratings_sha256: str | None = left_out()
    """A hash of the file of ratings, if there is one."""
    ontology: OntologyInfo | None = left_out()
    """What the documents are terms of, if they are."""
    language: str | None = left_out()
    """The language of the questions, where those of one language were asked."""


class RunInfo(Part):
    """A run and where it came from."""

    system: str
    """The system's name in the config."""
    run_id: str
    """The hash of the run's content: query ids, document ids and scores."""
    file: FileRef
    """The run: TREC lines, or JSON lines where an id holds white space."""
    queries: int
    """Queries that were answered, perhaps without documents."""
    rows: int
    """Documents in all answers."""
    depth: int
    """How many documents were asked for at most."""
    failures: dict[str, str] = Field(default_factory=dict)
    """Queries that could not be answered, with a sentence each; they are not in the run."""
    identity: Identity
    """What exactly answered: kind, version, parameters, snapshot of the index."""
    collapsed: Chunks | None = left_out()
    """How the chunks that the system returned became the documents of the run, if they did."""
    engines: tuple[EngineFacts, ...] = left_out(())
    """The engines that were asked, if any: version, documents, settings, snapshot."""
    usage: tuple[ModelUsage, ...] = left_out(())
    """What asking language models took, if any were asked."""


class Diagnostics(Part):
    """What happened on the way."""

    versions: dict[str, str]
    """Packages that took part."""
    findings: list[Finding]
    """What the checks of the run say."""
    notes: list[str] = Field(default_factory=list)
    """Sentences of the system about what it indexed."""


class ScoredSystem(Part):
    """What a system answered, and how good that is."""

    run: RunInfo
    """What it answered."""
    measures: list[MeasureValue]
    """Its means, in the order asked; none for a system that is broken."""
    accounting: Accounting | None
    """What the means are made of; null for a system that is broken."""
    broken: str | None = left_out()
    """Why it was not scored: its run is empty, or has nothing in common with the qrels."""
    per_query: FileRef
    """Parquet with the columns query_id, measure, value: every value behind the means."""


class EvaluationReport(ScoredSystem, FileRecord):
    """How good one system is on one collection."""

    kind: ClassVar[str] = "evaluation"

    experiment: str
    """The experiment it belongs to."""
    collection: CollectionInfo
    """What it was scored on."""
    profile: str
    """Whose rules counted."""
    rules: dict[str, str]
    """The single rules: ties, precision, queries, no_relevant."""
    diagnostics: Diagnostics
    """Versions, findings, notes."""


class SystemRecord(ScoredSystem):
    """One system of a benchmark."""

    name: str
    """What it is called."""
    kind: str
    """bm25, vector, fuse, rerank, …"""
    spec: Any
    """What the config says about it."""
    of: list[str]
    """The systems of this benchmark that it builds on."""
    report: str
    """Its EvaluationReport, relative to the folder."""
    timing: SkipJsonSchema[Timings] = Field(default=NO_TIME, exclude=True)
    """How long it took; kept in Timings.json."""
    again: tuple[RunInfo, ...] = left_out(())
    """Its other runs, where it was asked more than once."""
    results: FileRef
    """Parquet with the top of each answer: query_id, rank, doc_id, title, score, grade (null: not
    judged), adds (what the document adds to the main measure)."""


class Kpi(MeasureValue):
    """One measure of one system beside its target."""

    system: str
    """The system."""


if TYPE_CHECKING:
    Analyses: TypeAlias = Part
else:
    Analyses = analyses_model()
"""What analyses found, in a field for each that is registered; `Analysis.of` reads it."""


class ExperimentTimings(FileRecord):
    """What the clock says of an experiment: nothing else of it changes from one run to the next."""

    kind: ClassVar[str] = "timings"

    started: str
    """In UTC (ISO 8601)."""
    created: str
    """When the report was made, in UTC (ISO 8601)."""
    seconds: dict[str, float]
    """How long each stage took."""
    systems: dict[str, Timings]
    """How long each system took."""
    pareto: Pareto | NotApplicable | None
    """Quality against time: which systems are worth what they take; null: it was not asked for."""
    pages: list[FileRef]
    """The pages, which show times."""

    @classmethod
    def of(cls, report: BenchmarkReport, started: str, pages: list[FileRef]) -> Self:
        """Take the times out of a report."""
        return cls(
            pages=pages,
            started=started,
            created=report.created,
            seconds=report.seconds,
            systems={system.name: system.timing for system in report.systems},
            pareto=getattr(report.analyses, pareto.name),
        )


class BenchmarkReport(FileRecord, Shown):
    """All systems of an experiment, scored and compared: everything a report shows."""

    kind: ClassVar[str] = "benchmark"
    version: ClassVar[int] = 2

    experiment: str
    """The experiment's id."""
    name: str
    """What the config calls it."""
    created: SkipJsonSchema[str] = Field(default="", exclude=True)
    """When it was made, in UTC (ISO 8601); kept in Timings.json."""
    collection: CollectionInfo
    """What was searched and judged."""
    depth: int
    """How many documents were asked for."""
    baseline: str | None
    """The system others are compared with."""
    profile: str
    """Whose rules counted."""
    rules: dict[str, str]
    """The single rules."""
    measures: list[MeasureInfo]
    """What was measured; the first is the main one."""
    systems: list[SystemRecord]
    """Every system, in the config's order."""
    comparison: Comparison | None
    """Differences and how sure they are; null where there is only one system."""
    figure_kpis: tuple[FigureKpi, ...] = left_out(())
    """Figures of analyses beside their targets, if there are any."""
    analyses: Analyses
    """What analyses found, by name."""
    summary: tuple[SummaryLine, ...] = ()
    """What would gain most, in at most five sentences of the analyses; none: nothing stands out."""
    findings: list[Finding]
    """What a reader should know, worst first."""
    verdict: list[str]
    """The result in sentences."""
    queries: FileRef
    """Parquet: query_id, text, metadata (JSON)."""
    top: int
    """How many results of each answer the results files hold."""
    seconds: SkipJsonSchema[dict[str, float]] = Field(default_factory=dict, exclude=True)
    """How long each stage took; kept in Timings.json."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without what was taken by the clock."""
        data = super().to_dict()
        data["analyses"].pop(pareto.name)
        return data

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a report, with the times from the file beside it, if that is there."""
        return super().read(path).timed_by(path)

    def timed_by(self, path: Path) -> Self:
        """Return the report of this file with the times beside it, if there are any."""
        beside = path.with_name(TIMINGS)
        return self.timed(ExperimentTimings.read(beside)) if beside.is_file() else self

    def timed(self, timings: ExperimentTimings) -> Self:
        """Return the report with what was taken by the clock."""
        systems = [
            system.model_copy(update={"timing": timings.systems.get(system.name, NO_TIME)})
            for system in self.systems
        ]
        analyses = self.analyses.model_copy(update={pareto.name: timings.pareto})
        times = {"created": timings.created, "seconds": timings.seconds}
        return self.model_copy(update={"systems": systems, "analyses": analyses, **times})

    @property
    def kpis(self) -> list[Kpi]:
        """Every system's measures beside their targets."""
        return [
            Kpi(system=system.name, **value.model_dump())
            for system in self.systems
            for value in system.measures
        ]


class Machine(Part):
    """Where it ran."""

    system: str
    """Such as Linux."""
    release: str
    """Of the operating system."""
    machine: str
    """Such as x86_64."""
    cores: int
    """How many the process could use."""
    memory: int | None
    """Bytes; null if unknown."""


class ExperimentManifest(FileRecord):
    """What is needed to repeat an experiment, and to see that nothing was changed."""

    kind: ClassVar[str] = "manifest"

    experiment: str
    """The experiment's id: the same for the same config, data and versions."""
    name: str
    """What the config calls it."""
    config: dict[str, Any]
    """The whole config, with what was overridden; secrets stay names of variables."""
    config_sha256: str
    """A hash of it."""
    overrides: dict[str, Any] = Field(default_factory=dict)
    """What the environment and the command line changed."""
    collection: CollectionInfo
    """Hashes of corpus, queries and judgments."""
    keys: dict[str, str]
    """By system: the hash of what it is, without the corpus."""
    targets: dict[str, Any]
    """What should be reached, of the config and the sets it names."""
    versions: dict[str, str]
    """rankscope, Python, and the packages that took part."""
    models: dict[str, Any]
    """By system: the models that took part, by name and hash."""
    seed: int
    """Of everything random."""
    machine: Machine
    """Where it ran."""
    artifacts: list[FileRef]
    """Every other file of the folder, but for what depends on the clock: Timings.json and pages."""
