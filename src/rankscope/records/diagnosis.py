"""Diagnose: from qrels and runs to what every registered analysis says about them.

An analysis that is registered (`rankscope.diagnosis.registry`) is asked here without a word more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ValidationError

from rankscope.diagnosis.registry import Analysed, Inputs, all_analyses
from rankscope.diagnosis.stages import StageSpec
from rankscope.diagnosis.summary import SummaryLine, summarise
from rankscope.document.views import Shown
from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import is_path
from rankscope.findings import Finding, NotApplicable, worst_first
from rankscope.measures.language import DEFAULT_MEASURES, Measure
from rankscope.part import Record, dotted, left_out_if_empty
from rankscope.records.figure_kpis import as_goals, figure_kpis
from rankscope.records.report import Analyses, BenchmarkReport, FigureKpi
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.inputs import as_judgments, as_runs
from rankscope.statistics.settings import Settings

if TYPE_CHECKING:
    from rankscope.diagnosis.labels import Query
    from rankscope.diagnosis.registry import AnalysisConfig, AnyAnalysis, Search
    from rankscope.records.figure_kpis import FigureGoal
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.rules import Profile

__all__ = ["Diagnosis", "diagnose"]


class Diagnosis(Record, Shown):
    """What analyses say about some systems: found, nothing found, or not applicable and why."""

    kind: ClassVar[str] = "diagnosis"

    runs: tuple[str, ...]
    """The systems."""
    measures: tuple[str, ...]
    """The measures."""
    queries: int
    """Judged queries."""
    baseline: str | None
    """The system that others are compared with; null: none."""
    profile: str
    """Whose rules counted."""
    settings: Settings
    """How differences were tested."""
    summary: tuple[SummaryLine, ...] = ()
    """What would gain most, in at most five sentences; none: nothing stands out."""
    remarks: tuple[Finding, ...] = ()
    """What should be known of the runs themselves beside all numbers."""
    figure_kpis: tuple[FigureKpi, ...] = left_out_if_empty()
    """Figures of analyses beside their targets, if there are any."""
    analyses: Analyses
    """By name; null: it was not asked for."""

    @classmethod
    def of_report(cls, report: BenchmarkReport, only: Iterable[str] = ()) -> Diagnosis:
        """Return what a benchmark's report holds, of all analyses or ``only`` some."""
        known = {analysis.name: analysis for analysis in all_analyses()}
        names = _asked(only, known) or list(known)
        comparison = report.comparison
        return cls(
            runs=tuple(system.name for system in report.systems),
            measures=tuple(info.measure for info in report.measures),
            queries=report.collection.queries - len(report.collection.no_answer),
            baseline=report.baseline,
            profile=report.profile,
            settings=Settings() if comparison is None else comparison.settings,
            summary=report.summary,
            figure_kpis=tuple(report.figure_kpis),
            analyses=Analyses(**{name: getattr(report.analyses, name) for name in names}),
        )

    def answers(self) -> list[tuple[AnyAnalysis, Analysed | NotApplicable]]:
        """Return each analysis that was asked, with its answer, in the order of reports."""
        pairs = [(analysis, getattr(self.analyses, analysis.name)) for analysis in all_analyses()]
        return [(analysis, answer) for analysis, answer in pairs if answer is not None]

    @property
    def findings(self) -> list[Finding]:
        """All findings, worst first."""
        answers = [answer for _, answer in self.answers() if isinstance(answer, Analysed)]
        return worst_first(
            [*self.remarks, *(finding for answer in answers for finding in answer.findings)]
        )


def diagnose(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    baseline: str | None = None,
    only: str | Iterable[str] = (),
    queries: Any = None,
    corpus: Any = None,
    stages: str | Sequence[str | StageSpec] | None = None,
    decisions: Any = None,
    ratings: Any = None,
    training: Any = None,
    costs: Any = None,
    targets: Mapping[str, float | FigureGoal] | None = None,
    configs: Mapping[str, Any] | None = None,
    profile: str | Profile = "rankscope",
    **options: Any,
) -> Diagnosis:
    """Ask every analysis (or ``only`` some, by name) about one or several runs.

    What an analysis needs and was not given makes it not applicable, with the reason. Each is a
    file, or the object: ``queries``, ``corpus``, ``decisions`` (of a router or gate), ``ratings``
    (of several judges), ``training`` (questions that something learnt from) and ``costs``
    (``{system: {"latency_ms": 12}}``). ``stages`` names the runs that build on each other, first to
    last (``["bm25", "reranked"]``, or ``"bm25,reranked"``). ``targets`` says what figures should
    reach (``{"routing_accuracy": 0.75}``). ``configs`` holds what can be configured, by analysis, as
    in a benchmark's config: ``{"segments": ["category", "words"]}``. ``options`` are those of
    `rankscope.statistics.settings.Settings`: alpha, resamples, seed, …

    >>> qrels = {f"q{n}": {"d": 1} for n in range(12)}
    >>> runs = {"a": {q: ["d", "x"] for q in qrels}, "b": {q: ["x", "d"] for q in qrels}}
    >>> diagnosis = diagnose(qrels, runs, ["RR"], baseline="a")
    >>> diagnosis.analyses.risk.systems[1].against.losses
    12
    >>> diagnosis.analyses.orders.reason
    'it needs 5 systems and 10 queries with averaged measures, and there are 2 systems, 12 queries and 1 measure'
    """  # noqa: E501
    analyses = {analysis.name: analysis for analysis in all_analyses()}
    asked = _asked(only, analyses)
    _asked(configs or (), analyses)
    prepared = {
        name: _config(analyses[name], (configs or {}).get(name, {})) for name in asked or analyses
    }
    settings = Settings.of(**options)
    goals = as_goals(targets or {})
    judgments = as_judgments(qrels)
    if judgments.alignments is None:
        judgments.alignments = {}  # each run is aligned once for all that look at it
    named, _ = as_runs(runs, judgments)
    if baseline is not None and baseline not in named:
        raise UnknownNameError("run", baseline, named)
    tables = _tables(named)
    documents = None if corpus is None else _corpus(corpus)
    scores = evaluate(judgments, tables, measures, profile=profile, corpus=documents)
    asked_queries = None if queries is None else _queries(queries)
    inputs = Inputs(
        scores=scores,
        runs=tables,
        qrels=judgments,
        queries=asked_queries,
        corpus=documents,
        pipeline=None if stages is None else _pipeline(stages, tables),
        decisions=None if decisions is None else _decisions(decisions),
        ratings=None if ratings is None else _ratings(ratings),
        training=None if training is None else _queries(training),
        costs=None if costs is None else _costs(costs, tables),
        search=_search(documents, asked_queries, judgments),
        baseline=baseline,
        documents=None if documents is None else len(documents),
        settings=settings,
    )
    answers = {name: analyses[name].answer(config, inputs) for name, config in prepared.items()}
    record = Analyses(**answers)
    named_answers = [(analyses[name], answer) for name, answer in answers.items()]
    return Diagnosis(
        runs=tuple(scores.runs),
        measures=tuple(scores.measures),
        queries=len(judgments.query_ids),
        baseline=baseline,
        profile=scores.profile.name,
        settings=settings,
        summary=summarise(named_answers),
        remarks=scores.findings,
        figure_kpis=figure_kpis(record, goals),
        analyses=record,
    )


def _asked(only: str | Iterable[str], known: Mapping[str, AnyAnalysis]) -> list[str]:
    """Return the names of analyses, each once; a text may name several, with commas."""
    texts = [only] if isinstance(only, str) else list(only)
    names = [name.strip() for text in texts for name in text.split(",")]
    for name in names:
        if name not in known:
            raise UnknownNameError("analysis", name, known)
    return list(dict.fromkeys(names))


def _config(analysis: AnyAnalysis, given: Any) -> AnalysisConfig:
    try:
        config: AnalysisConfig = analysis.config.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        known = ", ".join(analysis.config.model_fields) or "nothing"
        if not first["loc"]:
            raise InputError(
                f"{analysis.name}: expected options by name, got {shown(given, 40)}; what can be "
                f"set: {known}"
            ) from None
        raise InputError(
            f"{analysis.name}.{dotted(first['loc'])}: {first['msg'].lower()}; what can be set: "
            f"{known}"
        ) from None
    return config


def _tables(runs: Mapping[str, Any]) -> dict[str, Any]:
    from rankscope.runs.table import as_run  # noqa: PLC0415

    return {name: as_run(run, name=name) for name, run in runs.items()}


def _queries(queries: Any) -> list[Query]:
    from rankscope.collection.queries import Queries, read_queries  # noqa: PLC0415

    table = read_queries(queries) if is_path(queries) else queries
    if not isinstance(table, Queries):
        table = Queries(table)
    return [(query_id, text, table.metadata_of(query_id)) for query_id, text in table.items()]


def _corpus(corpus: Any) -> Any:
    from rankscope.collection.corpus import Corpus, read_corpus  # noqa: PLC0415

    if is_path(corpus):
        return read_corpus(corpus)
    return corpus if isinstance(corpus, Corpus) else Corpus(corpus)


def _pipeline(stages: str | Sequence[str | StageSpec], runs: Mapping[str, Any]) -> list[StageSpec]:
    """Return the stages as specs: each of some names builds on the one before it."""
    names = [name.strip() for name in stages.split(",")] if isinstance(stages, str) else stages
    specs: list[StageSpec] = []
    for stage in names:
        if not isinstance(stage, StageSpec):
            below = (specs[-1].system,) if specs else ()
            stage = StageSpec(stage, "stage" if specs else "retrieval", below)  # noqa: PLW2901
        if stage.system not in runs:
            raise UnknownNameError("run (stages)", stage.system, runs)
        if stage.system in {spec.system for spec in specs}:
            raise InputError(f"stages: {shown(stage.system)} appears twice; name each run once")
        specs.append(stage)
    return specs


def _decisions(decisions: Any) -> Any:
    from rankscope.collection.decisions import as_decisions  # noqa: PLC0415

    return as_decisions(decisions)


def _ratings(ratings: Any) -> Any:
    from rankscope.collection.ratings import as_ratings  # noqa: PLC0415

    return as_ratings(ratings)


def _costs(costs: Any, runs: Mapping[str, Any]) -> Any:
    from rankscope.collection.costs import as_costs  # noqa: PLC0415

    return as_costs(costs, runs)


def _search(corpus: Any, queries: list[Query] | None, judgments: Judgments) -> Search | None:
    """Return what searches a corpus for the judged queries; None if either is not known."""
    if corpus is None or queries is None:
        return None
    # retrieval comes later in the flow, and is loaded by name as views are
    plain = import_module("rankscope.retrieval.lexical.plain_search")
    protocol = import_module("rankscope.retrieval.protocol")
    judged = frozenset(judgments.query_ids)
    asked = [protocol.Query(*query) for query in queries if query[0] in judged]
    search: Search = plain.PlainSearch(corpus, asked)
    return search
