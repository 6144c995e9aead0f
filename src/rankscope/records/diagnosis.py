"""Diagnose: from qrels and runs to what every registered analysis says about them.

An analysis that is registered (`rankscope.diagnosis.analysis`) is asked here without a word more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, ValidationError

from rankscope.collection.corpus import Corpus, read_corpus
from rankscope.collection.costs import as_costs
from rankscope.collection.decisions import as_decisions
from rankscope.collection.queries import Queries, read_queries
from rankscope.collection.ratings import as_ratings
from rankscope.diagnosis.analysis import Analysed, Inputs, all_analyses
from rankscope.diagnosis.query_fields import UNKNOWN_QUERIES
from rankscope.diagnosis.stages import StageSpec
from rankscope.diagnosis.summary import SummaryLine, summarise
from rankscope.document.views import Shown
from rankscope.errors import InputError, UnknownNameError, counted, shown
from rankscope.files import is_path
from rankscope.findings import Finding, NotApplicable, worst_first
from rankscope.part import Record, dotted, left_out
from rankscope.records.kpis import FigureKpi, as_goals, figure_kpis
from rankscope.records.report import Analyses, BenchmarkReport
from rankscope.runs.table import as_run
from rankscope.scoring.evaluate import score
from rankscope.scoring.inputs import read_inputs
from rankscope.scoring.scoring_options import Scoring, ScoringOptions
from rankscope.statistics.settings import Settings

if TYPE_CHECKING:
    from rankscope.diagnosis.analysis import AnyAnalysis, Config, Search
    from rankscope.diagnosis.query_fields import Query
    from rankscope.measures.language import Measure
    from rankscope.records.kpis import FigureGoal
    from rankscope.scoring.judgments import Judgments

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
    no_answer: int = Field(default=0, exclude_if=lambda count: count == 0)
    """Queries that are meant to have no answer, if there are any; they are in no mean."""
    summary: tuple[SummaryLine, ...] = ()
    """What would gain most, in at most five sentences; none: nothing stands out."""
    remarks: tuple[Finding, ...] = ()
    """What should be known of the runs themselves beside all numbers."""
    figure_kpis: tuple[FigureKpi, ...] = left_out(())
    """Figures of analyses beside their targets, if there are any."""
    analyses: Analyses
    """By name; null: it was not asked for."""

    def __str__(self) -> str:
        """Return what a terminal shows."""
        from rankscope.document.terminal import as_text  # noqa: PLC0415
        from rankscope.document.views import document_of  # noqa: PLC0415

        return as_text(document_of(self))

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
    measures: str | Measure | Iterable[str | Measure] | None = None,
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
    **options: Any,
) -> Diagnosis:
    """Ask every analysis (or ``only`` some, by name) about one or several runs.

    What an analysis needs and was not given makes it not applicable, with the reason. Each is a
    file, or the object: ``queries``, ``corpus``, ``decisions`` (of a router or gate), ``ratings``
    (of several judges), ``training`` (questions that something learnt from) and ``costs``
    (``{system: {"latency_ms": 12}}``). ``stages`` names the runs that build on each other, first to
    last (``["bm25", "reranked"]``, or ``"bm25,reranked"``). ``targets`` says what figures should
    reach (``{"routing_accuracy": 0.75}``). ``configs`` holds what can be configured, by analysis,
    as in a benchmark's config: ``{"segments": ["category", "words"]}``. ``options`` are those of
    `rankscope.evaluate` (profile, ontology, language, …) and of
    `rankscope.statistics.settings.Settings`: alpha, resamples, seed, …

    >>> qrels = {f"q{n}": {"d": 1} for n in range(12)}
    >>> runs = {"a": {q: ["d", "x"] for q in qrels}, "b": {q: ["x", "d"] for q in qrels}}
    >>> diagnosis = diagnose(qrels, runs, ["RR"], baseline="a")
    >>> diagnosis.analyses.failures.systems[1].system
    'b'
    >>> diagnosis.analyses.routing.reason
    'no decisions were given'
    """
    analyses = {analysis.name: analysis for analysis in all_analyses()}
    asked = _asked(only, analyses) or list(analyses)
    _asked(configs or (), analyses)
    prepared = {name: _config(analyses[name], (configs or {}).get(name, {})) for name in asked}
    rules = {name: options.pop(name) for name in ScoringOptions.__annotations__ if name in options}
    settings = Settings.of(**options)
    scoring = Scoring.of("diagnose", rules, without=("executor", "overlap"))
    goals = as_goals(targets or {})
    judgments, named, _ = read_inputs(qrels, runs, scoring)
    if judgments.gold is not None:
        raise InputError(
            "diagnose needs judgments of documents, and the golden set holds spans or texts; use "
            "evaluate or compare"
        )
    if judgments.alignments is None:
        judgments.alignments = {}  # each run is aligned once for all that look at it
    if baseline is not None and baseline not in named:
        raise UnknownNameError("run", baseline, named)
    tables = {name: as_run(run, name=name) for name, run in named.items()}
    documents = read_corpus(corpus) if is_path(corpus) else corpus
    if documents is not None and not isinstance(documents, Corpus):
        documents = Corpus(documents)
    scoring = replace(scoring, corpus=documents, ontology=None)  # which the judgments know
    scores = score(judgments, tables, measures, scoring).scores
    asked_queries = None if queries is None else _judged(_queries(queries), judgments)
    given: dict[str, Any] = {
        "queries": asked_queries,
        "corpus": documents,
        "pipeline": None if stages is None else _pipeline(stages, tables),
        "decisions": None if decisions is None else as_decisions(decisions),
        "ratings": None if ratings is None else as_ratings(ratings),
        "training": None if training is None else _queries(training),
        "costs": None if costs is None else as_costs(costs, tables),
        "search": _search(documents, asked_queries, judgments),
    }
    inputs = Inputs(
        scores=scores,
        runs=tables,
        qrels=judgments,
        **given,
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
        no_answer=len(judgments.no_answer),
        summary=summarise(named_answers),
        remarks=(*scores.findings, *_unknown(asked_queries, judgments)),
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


def _queries(queries: Any) -> list[Query]:
    table = read_queries(queries) if is_path(queries) else queries
    if not isinstance(table, Queries):
        table = Queries(table)
    return [(query_id, text, table.metadata_of(query_id)) for query_id, text in table.items()]


def _judged(queries: list[Query], judgments: Judgments) -> list[Query]:
    """Return the queries; none of them judged is an error."""
    judged = dict.fromkeys([*judgments.query_ids, *judgments.no_answer])
    if queries and judged and not any(query_id in judged for query_id, _, _ in queries):
        raise InputError(
            f"none of {counted(len(queries), 'query')} is judged (the first is "
            f"{shown(queries[0][0])}, and {shown(next(iter(judged)))} is judged); check that both "
            "use the same ids"
        )
    return queries


def _unknown(queries: list[Query] | None, judgments: Judgments) -> list[Finding]:
    """Remark judged queries of which no text is known, where queries were given."""
    if queries is None:
        return []
    known = {query_id for query_id, _, _ in queries}
    missing = [query_id for query_id in judgments.query_ids if query_id not in known]
    if not missing:
        return []
    total = len(judgments.query_ids)
    return [
        UNKNOWN_QUERIES.finding(
            f"the text of {len(missing):,} of {counted(total, 'judged query')} is not known, "
            f"{shown(missing[0])} first; what looks at texts or metadata looks at the others",
            count=len(missing),
            evidence={"queries": len(missing), "judged": total},
        )
    ]


def _config(analysis: AnyAnalysis, given: Any) -> Config:
    try:
        config: Config = analysis.config.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        known = ", ".join(analysis.config.model_fields) or "nothing"
        where = f".{dotted(first['loc'])}" if first["loc"] else ""
        problem = first["msg"].lower() if where else f"expected options, got {shown(given, 40)}"
        raise InputError(f"{analysis.name}{where}: {problem}; what can be set: {known}") from None
    return config


def _pipeline(stages: str | Sequence[str | StageSpec], runs: Mapping[str, Any]) -> list[StageSpec]:
    """Return the stages as specs: each of some names builds on the one before it."""
    names = [name.strip() for name in stages.split(",")] if isinstance(stages, str) else stages
    specs: dict[str, StageSpec] = {}
    for stage in names:
        if not isinstance(stage, StageSpec):
            below = tuple(specs)[-1:]
            stage = StageSpec(stage, "stage" if specs else "retrieval", below)  # noqa: PLW2901
        if stage.system not in runs:
            raise UnknownNameError("run (stages)", stage.system, runs)
        if stage.system in specs:
            raise InputError(f"stages: {shown(stage.system)} appears twice; name each run once")
        specs[stage.system] = stage
    return list(specs.values())


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
