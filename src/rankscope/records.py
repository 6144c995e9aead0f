"""Records: what a benchmark leaves behind, versioned and documented field by field.

Between what computes (`statistics`, `diagnosis`) and what shows (`reports`): a report reads records
and computes nothing. Each record is one JSON file that names its schema, ``rankscope/<kind>/<n>``.
A later version of rankscope reads earlier ones; one that is too new is refused with a sentence.

- `EvaluationReport`: how good one system is, on one collection
- `BenchmarkReport`: all systems of an experiment, compared
- `ExperimentManifest`: what is needed to repeat the experiment, and to see that nothing changed
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rankscope.errors import FormatError, shown

__all__ = [
    "BenchmarkReport",
    "CollectionInfo",
    "EvaluationReport",
    "ExperimentManifest",
    "FileRef",
    "FindingRecord",
    "IntervalRecord",
    "Kpi",
    "MeanRecord",
    "MeasureInfo",
    "MeasureValue",
    "PairRecord",
    "Record",
    "RunInfo",
    "Segment",
    "SegmentGroup",
    "SegmentMean",
    "StageChange",
    "StageRow",
    "Status",
    "SystemRecord",
    "TimingRecord",
    "status_of",
]

Status = Literal["pass", "warn", "fail", "unknown"]

WARN = 0.9
"""A value of at least this share of its target is a warning, below it a failure."""


def status_of(value: float, target: float | None, *, higher_is_better: bool = True) -> Status:
    """Say how a value stands to its target: pass, warn (within a tenth of it), fail, or unknown.

    >>> status_of(0.38, 0.40), status_of(0.35, 0.40), status_of(0.35, None)
    ('warn', 'fail', 'unknown')
    """
    if target is None or not math.isfinite(value):
        return "unknown"
    if higher_is_better:
        return "pass" if value >= target else "warn" if value >= WARN * target else "fail"
    return "pass" if value <= target else "warn" if value * WARN <= target else "fail"


class Part(BaseModel):
    """Something inside a record."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


class IntervalRecord(Part):
    """Where a mean lies."""

    low: float | None
    """The lower end; null if there is none."""
    high: float | None
    """The upper end; null if there is none."""
    level: float
    """The confidence, such as 0.95."""
    method: str
    """How it was found: bca, percentile, t, wilson, …"""
    note: str = ""
    """Why the method is not the one asked for, or what is special."""


class MeasureValue(Part):
    """One system's mean of one measure."""

    measure: str
    """The measure by its canonical name."""
    asked: str
    """The name it was asked for."""
    value: float
    """The mean over ``n`` queries."""
    interval: IntervalRecord | None
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
    low: float | None
    """The smallest value possible; null if there is none."""
    high: float | None
    """The largest value possible; null if there is none."""
    target: float | None = None
    """What a system should reach."""
    best: list[str] = Field(default_factory=list)
    """The systems with the best mean."""


class FileRef(Part):
    """A file of the experiment, relative to its folder."""

    path: str
    """Where it is, with forward slashes."""
    sha256: str
    """The hash of its bytes."""
    bytes: int
    """Its size."""


class PlaceRecord(Part):
    """Where something was seen."""

    source: str
    """The file, or what it is called."""
    line: int | None = None
    """The line, counted from 1."""
    query_id: str | None = None
    """The query."""
    doc_id: str | None = None
    """The document."""


class FindingRecord(Part):
    """Something a reader should know, with a stable code."""

    code: str
    """Such as RS101; docs/checks.md lists them."""
    name: str
    """The same in words."""
    severity: Literal["error", "warning", "note"]
    """How bad it is."""
    message: str
    """What was seen."""
    advice: str
    """What to do about it."""
    count: int = 1
    """How many cases there are."""
    unit: str = "line"
    """What is counted."""
    places: list[PlaceRecord] = Field(default_factory=list)
    """The first of them."""
    evidence: dict[str, Any] = Field(default_factory=dict)
    """The numbers behind the message."""
    system: str | None = None
    """The system it is about; null: all of them."""


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


class RunInfo(Part):
    """A run and where it came from."""

    system: str
    """The system's name in the config."""
    run_id: str
    """The hash of the run's content: query ids, document ids and scores."""
    file: FileRef
    """The run as a TREC file."""
    queries: int
    """Queries that were answered, perhaps without documents."""
    rows: int
    """Documents in all answers."""
    depth: int
    """How many documents were asked for at most."""
    failures: dict[str, str] = Field(default_factory=dict)
    """Queries that could not be answered, with a sentence each; they are not in the run."""
    identity: dict[str, Any]
    """What exactly answered: kind, version, parameters, snapshot of the index."""


class TimingRecord(Part):
    """How long a system took, in seconds."""

    index: float
    """To make or load the index."""
    search: float
    """From the first question to the last answer."""
    p50: float | None
    """Half of the queries took no longer."""
    p95: float | None
    """19 of 20 queries took no longer."""
    p99: float | None
    """99 of 100 queries took no longer."""
    asked: int
    """Queries put to the system."""
    stored: int
    """Queries whose answers were kept from an earlier call."""
    retried: int
    """Questions that were repeated."""


class AccountingRecord(Part):
    """What a mean is made of."""

    queries: int
    """Queries that were averaged."""
    judged: int
    """Queries in the judgments."""
    missing: int
    """Judged queries that the run lacks."""
    missing_queries: list[str]
    """The first hundred of them."""
    missing_policy: str
    """What happens to them: count as 0 (all), left out (both), an error (strict)."""
    unjudged: int
    """Queries of the run that nobody judged; they are left out."""
    without_relevant: int
    """Queries that have no document relevant to some measure."""
    without_relevant_policy: str
    """What happens to them: they score 0 (zero), or are left out of the mean (out)."""
    tied_hits: int
    """Judged documents that share their score with another document of the query."""
    tied_across_cutoff: dict[str, int]
    """By cutoff: queries with a tie across it, where the order of equal scores decides."""


class Diagnostics(Part):
    """What happened on the way."""

    versions: dict[str, str]
    """Packages that took part."""
    seconds: dict[str, float]
    """How long each stage took."""
    timing: TimingRecord
    """How long the system took."""
    findings: list[FindingRecord]
    """What the checks of the run say."""
    notes: list[str] = Field(default_factory=list)
    """Sentences of the system about what it indexed."""


class Record(Part):
    """A file that names its schema."""

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    upgrades: ClassVar[Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]]] = {}
    """From a version, how its data becomes that of the next."""

    @classmethod
    def schema_name(cls) -> str:
        """Return the schema this version writes."""
        return f"rankscope/{cls.kind}/{cls.version}"

    def to_json(self) -> str:
        """Return the file's text."""
        data = {"schema": self.schema_name(), **self.model_dump(mode="json")}
        return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_data(cls, data: object, *, source: str) -> Self:
        """Check what a file holds; one of an earlier version is brought up to date."""
        family = f"rankscope/{cls.kind}/"
        schema = data.get("schema") if isinstance(data, dict) else None
        number = schema.removeprefix(family) if isinstance(schema, str) else ""
        if not isinstance(data, dict) or not number.isdecimal() or schema == number:
            came = "none" if schema is None else shown(schema)
            raise FormatError(
                f"expected the schema {cls.schema_name()!r}, came {came}", source=source
            )
        if int(number) > cls.version:
            raise FormatError(
                f"has the schema {shown(schema)}, and this version of rankscope reads up to "
                f"{cls.schema_name()!r}; use a newer one",
                source=source,
            )
        for version in range(int(number), cls.version):
            data = cls.upgrades[version](data)
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise FormatError(
                f"{where}: {first['msg'].lower()}; the file was changed, or is of another program",
                source=source,
            ) from None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a record from its file."""
        from rankscope.files import read_bytes  # noqa: PLC0415
        from rankscope.tables.delimited import decoded  # noqa: PLC0415
        from rankscope.tables.jsontext import parse_json  # noqa: PLC0415

        source = str(path)
        return cls.from_data(
            parse_json(decoded(read_bytes(path), source=source), source=source), source=source
        )

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of the file."""
        made = cls.model_json_schema()
        named = {
            "const": cls.schema_name(),
            "description": "Which record this is, and of what form.",
        }
        made["properties"] = {"schema": named, **made["properties"]}
        made["required"] = ["schema", *made["required"]]
        made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        return made


class EvaluationReport(Record):
    """How good one system is on one collection."""

    kind: ClassVar[str] = "evaluation"

    experiment: str
    """The experiment it belongs to."""
    created: str
    """When it was made, in UTC (ISO 8601)."""
    run: RunInfo
    """The run that was scored."""
    collection: CollectionInfo
    """What it was scored on."""
    profile: str
    """Whose rules counted."""
    rules: dict[str, str]
    """The single rules: ties, precision, queries, no_relevant."""
    measures: list[MeasureValue]
    """The means, in the order asked."""
    accounting: AccountingRecord
    """What the means are made of."""
    diagnostics: Diagnostics
    """Versions, times, findings."""
    per_query: FileRef
    """Parquet with the columns query_id, measure, value: every value behind the means."""


class SystemRecord(Part):
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
    run: RunInfo
    """What it answered."""
    measures: list[MeasureValue]
    """Its means."""
    accounting: AccountingRecord
    """What they are made of."""
    timing: TimingRecord
    """How long it took."""
    per_query: FileRef
    """Parquet: query_id, measure, value."""
    results: FileRef
    """Parquet with the top of each answer: query_id, rank, doc_id, title, score, grade (null: not
    judged)."""


class MeanRecord(Part):
    """One system's mean in a comparison; systems that share a letter cannot be told apart."""

    run: str
    """The system."""
    measure: str
    """The measure."""
    mean: float
    """Its mean over the compared queries."""
    interval: IntervalRecord
    """Of the mean."""
    letters: str
    """Systems that share one cannot be told apart."""
    best: bool
    """Whether no other mean is better; not whether that is more than chance."""


class PairRecord(Part):
    """One system against another, by one measure."""

    measure: str
    """The measure."""
    base: str
    """The system compared with."""
    system: str
    """The system compared."""
    queries: int
    """Queries compared."""
    base_mean: float
    """Mean of the base."""
    system_mean: float
    """Mean of the system."""
    difference: float
    """Mean of system minus base."""
    interval: IntervalRecord
    """Of the difference."""
    relative: float | None
    """The difference as a part of the base's mean; null where that is 0."""
    wins: int
    """Queries on which the system is better."""
    ties: int
    """Queries on which both are the same."""
    losses: int
    """Queries on which the base is better."""
    effect: dict[str, Any]
    """Effect sizes; docs/statistics.md says which."""
    p: float
    """Of the test, before correction."""
    p_corrected: float
    """Corrected over the family of tests."""
    method: str
    """The test, and how its p-value was found."""
    verdict: str
    """better, worse, equivalent, or no difference shown."""
    detectable: float | None
    """The smallest true difference these queries show with power 0.8; null if none."""
    equivalence: dict[str, Any] | None = None
    """Whether they are the same within the margin, where one was given."""
    sentence: str = ""
    """The same in words."""


class ComparisonRecord(Part):
    """All systems compared, as by `rankscope compare`."""

    runs: list[str]
    """The systems."""
    measures: dict[str, str]
    """The measures compared, with the names they were asked for."""
    baseline: str | None
    """What all others are compared with; null: all with each other."""
    queries: int
    """Queries the comparison is over."""
    family: str
    """Which tests were corrected together, in words."""
    settings: dict[str, Any]
    """Test, correction, interval, level, resamples, seed."""
    means: list[MeanRecord]
    """By system and measure."""
    pairs: list[PairRecord]
    """By pair and measure."""
    anova: dict[str, Any] = Field(default_factory=dict)
    """With three systems or more, by measure: whether any differs."""


class Kpi(Part):
    """One measure of one system beside its target."""

    system: str
    """The system."""
    measure: str
    """The measure."""
    asked: str
    """The name it was asked for."""
    value: float
    """Its mean."""
    target: float | None
    """What it should reach."""
    status: Status
    """pass, warn, fail, unknown."""
    bands: dict[str, str] = Field(default_factory=dict)
    """By set of bands, the one the value falls in."""


class SegmentMean(Part):
    """One system's mean in one group of queries."""

    system: str
    """The system."""
    measure: str
    """The measure."""
    mean: float
    """Over the group's queries."""
    interval: IntervalRecord
    """Of the mean."""
    difference: float | None = None
    """To the baseline in the same group; null for the baseline, or without one."""
    difference_interval: IntervalRecord | None = None
    """Of the difference."""
    p_corrected: float | None = None
    """Of the difference, corrected over the groups."""


class SegmentGroup(Part):
    """Queries that share a label."""

    label: str
    """The label; numbers are binned."""
    n: int
    """How many queries."""
    means: list[SegmentMean]
    """By system and measure."""


class Segment(Part):
    """The queries grouped by one thing that is known about them."""

    field: str
    """Which: a field of the queries' metadata, or ``words`` (how many the query has)."""
    binned: bool
    """Whether labels are ranges of numbers."""
    groups: list[SegmentGroup]
    """The groups, in a sensible order."""
    unlabelled: int
    """Queries of which it is not known."""


class StageChange(Part):
    """What a stage changed in one measure, against one system it builds on."""

    measure: str
    """The measure."""
    of: str
    """The system below."""
    difference: float
    """Mean of this stage minus that of the one below."""
    interval: IntervalRecord
    """Of the difference."""
    p: float
    """Of a paired test, not corrected."""


class StageRow(Part):
    """One stage of a pipeline."""

    system: str
    """The stage."""
    kind: str
    """bm25, vector, fuse, rerank, …"""
    of: list[str]
    """What it builds on."""
    depth: int | None
    """How many documents a reranker looks at; null for other stages."""
    measures: dict[str, float]
    """Its means."""
    changes: list[StageChange]
    """What it changed."""
    ceiling: dict[str, float]
    """For a reranker: the means that the best order of its input would have."""
    input_recall: float | None
    """For a reranker: recall of its input at its depth, the most its own can be."""
    output_recall: float | None
    """For a reranker: recall of its output at that depth; anything else is an error."""
    cutoff: int
    """The rank that lost, promoted and labels are counted to."""
    lost: int
    """Relevant documents that the system below has up to the cutoff, and this one not."""
    promoted: int
    """Relevant documents that this one has up to the cutoff, and the system below not."""
    labels: dict[str, int]
    """How often each grade stands up to the cutoff; 'unjudged' for documents nobody judged."""


class BenchmarkReport(Record):
    """All systems of an experiment, scored and compared: everything a report shows."""

    kind: ClassVar[str] = "benchmark"

    experiment: str
    """The experiment's id."""
    name: str
    """What the config calls it."""
    created: str
    """When it was made, in UTC (ISO 8601)."""
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
    comparison: ComparisonRecord | None
    """Differences and how sure they are; null where there is only one system."""
    kpis: list[Kpi]
    """Every system's measures beside their targets."""
    segments: list[Segment]
    """Groups of queries."""
    stages: list[StageRow]
    """What each stage of a pipeline did."""
    findings: list[FindingRecord]
    """What a reader should know, worst first."""
    verdict: list[str]
    """The result in sentences."""
    queries: FileRef
    """Parquet: query_id, text, metadata (JSON)."""
    top: int
    """How many results of each answer the results files hold."""
    seconds: dict[str, float]
    """How long each stage took."""


class RunRef(Part):
    """A run of an experiment."""

    system: str
    """The system."""
    run_id: str
    """The hash of the run's content."""
    path: str
    """The file, relative to the folder."""


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


class GitState(Part):
    """The repository the config stands in."""

    commit: str
    """What is checked out."""
    dirty: bool
    """Whether files of the config's folder differ from it."""


class ExperimentManifest(Record):
    """What is needed to repeat an experiment, and to see that nothing was changed."""

    kind: ClassVar[str] = "manifest"

    experiment: str
    """The experiment's id: the same for the same config, data and versions."""
    name: str
    """What the config calls it."""
    started: str
    """In UTC (ISO 8601)."""
    finished: str
    """In UTC (ISO 8601)."""
    config: dict[str, Any]
    """The whole config, with what was overridden; secrets stay names of variables."""
    config_sha256: str
    """A hash of it."""
    overrides: dict[str, Any] = Field(default_factory=dict)
    """What the environment and the command line changed."""
    collection: CollectionInfo
    """Hashes of corpus, queries and judgments."""
    runs: list[RunRef]
    """Every run."""
    versions: dict[str, str]
    """rankscope, Python, and the packages that took part."""
    models: dict[str, Any]
    """By system: the models that took part, by name and hash."""
    snapshots: dict[str, str | None]
    """By system: a hash of what was indexed."""
    git: GitState | None
    """Of the config's folder; null if it is in no repository."""
    seed: int
    """Of everything random."""
    machine: Machine
    """Where it ran."""
    seconds: dict[str, float]
    """How long each stage took."""
    artifacts: list[FileRef]
    """Every other file of the folder."""
