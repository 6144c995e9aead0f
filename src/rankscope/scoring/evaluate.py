"""Evaluate: from qrels, runs and measures to scores with their accounting."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import numpy as np

from rankscope.document.views import Shown, document_of
from rankscope.errors import InputError, RankscopeError, UnknownNameError, shown
from rankscope.measures.language import DEFAULT_MEASURES, Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.runs.collapsing import collapsing
from rankscope.runs.lazy_run import LazyRun
from rankscope.scoring.align import align
from rankscope.scoring.by_language import (
    about_languages,
    by_language,
    languages_without,
    speaking,
    unjudged_anywhere,
)
from rankscope.scoring.inputs import as_judgments, as_runs, corpus_ids, without_identical
from rankscope.scoring.judged_terms import (
    about_terms,
    counts_of,
    near_in,
    refuse_unrelated,
)
from rankscope.scoring.judgments import unanswered
from rankscope.scoring.lengths import lengths_by_rank
from rankscope.scoring.overlap import overlapping
from rankscope.scoring.parted import current_executor, working_on
from rankscope.scoring.plans import planned
from rankscope.scoring.rules import profile_named
from rankscope.scoring.scored import Scored, keep
from rankscope.scoring.soundness import (
    KnownCorpus,
    check_levels,
    nearly_found,
    refuse_repeat,
    remarks,
)
from rankscope.tables.table_options import check_keys, check_options, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    import polars as pl

    from rankscope.findings import Finding
    from rankscope.measures.judged import FloatArray
    from rankscope.measures.language import Parsed
    from rankscope.runs.collapsing import Chunks, Collapse
    from rankscope.runs.order import Order, Precision, Ties
    from rankscope.scoring.accounting import Accounting
    from rankscope.scoring.bounds import BoundsTable
    from rankscope.scoring.by_language import Languages
    from rankscope.scoring.judgments import Judgments, NoAnswer
    from rankscope.scoring.plans import Plan, Wanted
    from rankscope.scoring.rules import Profile, QueryPolicy
    from rankscope.scoring.score_files import ScoreRecord
    from rankscope.scoring.soundness import Remark
    from rankscope.statistics.intervals import Interval
    from rankscope.tables.table_options import TableOptions

__all__ = ["Scores", "evaluate"]

_V = TypeVar("_V")


@dataclass(frozen=True, eq=False)
class RunScores:
    """One run's values: a row for each measure, a column for each query.

    A value is NaN where a measure leaves a query out that another counts (profile beir).
    """

    name: str
    query_ids: tuple[str, ...]
    values: FloatArray
    means: dict[str, float]
    counts: dict[str, Any]
    """The fields of `accounting`, as plain data."""
    remarks: tuple[Remark, ...] = ()
    """What should be known beside the means: `findings` before they are made."""
    again: tuple[FloatArray, ...] = ()
    """The values of other runs of the same system, where it was asked more than once."""

    @cached_property
    def accounting(self) -> Accounting:
        """What the means are made of.

        Made when it is asked for: loading pydantic takes longer than a small evaluation.
        """
        from rankscope.scoring.accounting import Accounting  # noqa: PLC0415

        return Accounting(**self.counts)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What makes the means mean less than they seem."""
        return tuple(remark.finding(self.name) for remark in self.remarks)

    def complete(self) -> RunScores:
        """Return the values of the queries that every measure counts."""
        counts = ~np.isnan(self.values).any(axis=0)
        if counts.all():
            return self
        query_ids = tuple(self.query_ids[place] for place in np.flatnonzero(counts).tolist())
        again = tuple(values[:, counts] for values in self.again)
        return replace(self, query_ids=query_ids, values=self.values[:, counts], again=again)

    def with_again(self, others: Sequence[RunScores]) -> RunScores:
        """Return these with the values of other runs of the same system, query by query."""
        columns = [
            {query_id: column for column, query_id in enumerate(run.query_ids)} for run in others
        ]
        again = tuple(
            run.values[:, [column[query_id] for query_id in self.query_ids]]
            for run, column in zip(others, columns, strict=True)
        )
        return replace(self, again=again)


class ByMeasure(dict[str, _V]):
    """Values by measure, found under the canonical name and under any other of the measure."""

    def __init__(self, values: Mapping[str, _V], find: Callable[[str], str]) -> None:
        super().__init__(values)
        self._find = find

    def __missing__(self, measure: str) -> _V:
        name = self._find(measure)
        if not super().__contains__(name):
            raise UnknownNameError("measure here", measure, self)
        return self[name]

    def __contains__(self, measure: object) -> bool:
        try:
            return super().__contains__(measure) or super().__contains__(self._find(str(measure)))
        except RankscopeError:
            return False

    def get(self, measure: str, default: Any = None) -> Any:
        """Return the value of a measure, or ``default`` if it is not there."""
        return self[measure] if measure in self else default  # noqa: SIM401

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class Scores(Shown):
    """The result of `evaluate`: means, values by query, and the accounting.

    With one run ``scores["nDCG@10"]`` is a number and ``means`` a dict by measure; with several,
    both go by run first.
    """

    view_in = "rankscope.reports.scores"

    def __init__(
        self,
        runs: Iterable[RunScores],
        measures: Iterable[Parsed],
        profile: Profile,
        *,
        judgments: Judgments,
        single: bool,
        is_by_language: bool = False,
    ) -> None:
        self._runs = {run.name: run for run in runs}
        self._asked = {str(parsed.measure): parsed.asked for parsed in measures}
        self.profile = profile
        self.judgments = judgments
        self._single = single
        self.is_by_language = is_by_language
        """Whether each run has a row for each language; rows are then of different queries."""
        self._intervals: dict[str, dict[str, Interval]] = {}

    def with_again(self, name: str, others: Sequence[RunScores]) -> Scores:
        """Return these scores with those of other runs of the system that a run is of."""
        changed = self.only(self.measures)
        changed._runs = {**self._runs, name: self._runs[name].with_again(others)}
        return changed

    @property
    def runs(self) -> list[str]:
        """The names of the runs."""
        return list(self._runs)

    @property
    def measures(self) -> list[str]:
        """The measures, by their canonical names."""
        return list(self._asked)

    @property
    def asked(self) -> dict[str, str]:
        """For each measure the name it was asked for."""
        return dict(self._asked)

    @property
    def rules(self) -> dict[str, str]:
        """The rules that counted: the profile's, or what replaced them."""
        return {
            "ties": self.profile.ties,
            "precision": self.profile.precision,
            "queries": self.profile.queries,
            "no_relevant": self.profile.no_relevant,
        }

    @property
    def not_promised(self) -> dict[str, str]:
        """The measures that may differ from the numbers of the profile's tool, and why."""
        doubts = {name: self.profile.doubt(Measure.parse(name)) for name in self._asked}
        return {name: doubt for name, doubt in doubts.items() if doubt}

    def run(self, name: str | None = None) -> RunScores:
        """Return one run's scores; the name may be left out where there is only one."""
        if name is None and len(self._runs) == 1:
            return next(iter(self._runs.values()))
        if name not in self._runs:
            raise UnknownNameError("run", str(name), self._runs)
        return self._runs[name]

    def only(self, measures: Iterable[str]) -> Scores:
        """Return the same scores with some of the measures, by their canonical names."""
        wanted = list(measures)
        rows = [self.measures.index(measure) for measure in wanted]
        part = Scores([], [], self.profile, judgments=self.judgments, single=self._single)
        part.is_by_language = self.is_by_language
        part._asked = {measure: self._asked[measure] for measure in wanted}
        part._runs = {
            name: replace(
                run,
                values=run.values[rows],
                means={measure: run.means[measure] for measure in wanted},
                again=tuple(values[rows] for values in run.again),
            )
            for name, run in self._runs.items()
        }
        return part

    def name_of(self, measure: str | Measure) -> str:
        """Find a measure by its canonical name, as it was asked for, or as the profile reads it."""
        text = str(measure)
        if text in self._asked:
            return text
        if text in self._asked.values():
            return next(name for name, asked in self._asked.items() if asked == text)
        parsed = Measure.parse(measure)
        for name in (str(parsed), str(self.profile.meaning(parsed))):
            if name in self._asked:
                return name
        raise UnknownNameError("measure in these scores", text, self._asked)

    def __getitem__(self, measure: str | Measure) -> Any:
        """Return a measure's mean; with several runs, by run."""
        key = self.name_of(measure)
        if self._single:
            return self.run().means[key]
        return {name: run.means[key] for name, run in self._runs.items()}

    @property
    def means(self) -> dict[str, Any]:
        """The means by measure, under any of its names; with several runs by run, then measure."""
        by_run = {name: ByMeasure(run.means, self.name_of) for name, run in self._runs.items()}
        return next(iter(by_run.values())) if self._single else by_run

    @property
    def intervals(self) -> dict[str, Any]:
        """The 95% confidence intervals of the means, as `means` has these; see `intervals_of`."""
        by_run = {name: self.intervals_of(name) for name in self._runs}
        return next(iter(by_run.values())) if self._single else by_run

    def intervals_of(self, run: str | None = None) -> dict[str, Interval]:
        """Return the 95% confidence intervals of one run's means, by measure.

        Those of `rankscope.compare`: BCa bootstrap, 10,000 resamples, seed 0. Measures that are
        summed or averaged geometrically over queries have none.
        """
        scores = self.run(run)
        if scores.name not in self._intervals:
            # statistics come later in the flow, and are loaded by name as views are
            statistics = import_module("rankscope.statistics.intervals")
            measures = [Measure.parse(name) for name in self._asked]
            self._intervals[scores.name] = statistics.run_intervals(measures, scores.values)
        return ByMeasure(self._intervals[scores.name], self.name_of)

    def worst(
        self, count: int = 10, *, measure: str | Measure | None = None, run: str | None = None
    ) -> dict[str, float]:
        """Return the queries with the worst values of a measure (the first), worst first.

        Among equal values the order of the queries counts.
        """
        if count < 1:
            raise InputError(f"the number of worst queries must be at least 1, not {count}")
        name = self.measures[0] if measure is None else self.name_of(measure)
        sign = 1 if Measure.parse(name).definition.higher_is_better else -1
        ranked = sorted(self.values(name, run).items(), key=lambda item: sign * item[1])
        return dict(ranked[:count])

    @property
    def accounting(self) -> Any:
        """What the means are made of; with several runs, by run."""
        if self._single:
            return self.run().accounting
        return {name: run.accounting for name, run in self._runs.items()}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What makes the means mean less than they seem: warnings about each run."""
        return tuple(finding for run in self._runs.values() for finding in run.findings)

    def values(self, measure: str | Measure, run: str | None = None) -> dict[str, float]:
        """Return one run's values of one measure, by query."""
        row = self.measures.index(self.name_of(measure))
        scores = self.run(run)
        values = zip(scores.query_ids, scores.values[row].tolist(), strict=True)
        return {query_id: value for query_id, value in values if not math.isnan(value)}

    @cached_property
    def per_query(self) -> pl.DataFrame:
        """All values as a long Polars frame: run, query_id, measure, value."""
        import polars as pl  # noqa: PLC0415

        names = pl.Series(self.measures, dtype=pl.String)
        texts = dict.fromkeys(("run", "query_id", "measure"), pl.String)
        parts = [pl.DataFrame(schema={**texts, "value": pl.Float64})]
        for name, run in self._runs.items():
            queries = pl.Series(run.query_ids, dtype=pl.String)
            row, column = np.divmod(np.arange(run.values.size), max(len(queries), 1))
            parts.append(
                pl.DataFrame(
                    {
                        "run": pl.repeat(name, run.values.size, dtype=pl.String, eager=True),
                        "query_id": queries.gather(column),
                        "measure": names.gather(row),
                        "value": run.values.ravel(),
                    }
                )
            )
        return pl.concat(parts).filter(pl.col("value").is_not_nan())

    def record(
        self, *, per_query: bool = True, bounds: Mapping[str, BoundsTable] | None = None
    ) -> ScoreRecord:
        """Return the scores as a record; by query it is one to compare with later.

        ``bounds`` are those of some runs, by name.
        """
        from rankscope.scoring.score_files import score_record  # noqa: PLC0415

        return score_record(self, per_query=per_query, bounds=bounds or {})

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Return plain data, ready for JSON; by query it is a record to compare with later."""
        return self.record(per_query=per_query).to_dict()

    def __repr__(self) -> str:
        from rankscope.document.terminal import as_text  # noqa: PLC0415

        return as_text(document_of(self)).rstrip()


def evaluate(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    profile: str | Profile = "rankscope",
    ties: Ties | None = None,
    precision: Precision | None = None,
    queries: QueryPolicy | None = None,
    lengths: Mapping[str, float] | None = None,
    order: Order = "score",
    corpus: Any = None,
    doc_id_from: Any = None,
    collapse: Collapse = "best",
    no_answer: NoAnswer | None = None,
    overlap: float | None = None,
    ontology: Any = None,
    language: str | None = None,
    languages: Languages | None = None,
    executor: Executor | None = None,
    **tables: Unpack[TableOptions],
) -> Scores:
    """Score one run or several.

    ``qrels`` and each run may be a table, plain dicts, a frame or a path; several runs are a dict
    by name or a list. ``profile`` names a tool's rules; ``ties``, ``precision`` and ``queries``
    change single rules of it. ``lengths`` gives the number of words of each document, for measures
    that need it (TBG). ``order="given"`` takes documents as they are listed, whatever their scores;
    ``corpus`` (a path, a table or ids) says which documents there are to be found. Where runs hold
    chunks and the judgments name documents, ``doc_id_from`` says which document a chunk is of
    (``#``, ``::``, a regular expression, a table) and ``collapse`` what its chunks become: see
    `Run.collapsed`. Questions that are marked as having no answer are left out of all means, and
    counted; ``no_answer`` names more of them (``"empty"``: all without judgments). Gold may be
    spans of documents or texts of passages instead of ids; then ``overlap`` is the share of one
    that must be retrieved for it to be found (0.5), and ``corpus`` may give the spans or texts of
    chunks that runs name by id: see docs/how-to/evaluate-chunks.md.
    Where documents are terms of an ``ontology`` (a file, or what `read_ontology` returns), measures
    of nearness count too (``MaxOntSim@5``, ``nDCG(sim=hybrid)@10``), and are reported together with
    those that count exact matches: see docs/how-to/evaluate-ontology-terms.md. Cases in several
    languages are never averaged unasked: each run has a row for each language, unless ``language``
    names one, or ``languages="together"`` asks for all.
    Files of any size are read in bounded memory, and an ``executor`` (of `concurrent.futures`, or
    of a Dask client) shares the work among threads, processes or machines, with the same result:
    see docs/how-to/evaluate-at-scale.md.
    ``query_key``, ``doc_key``, ``score_key`` and ``grade_key`` name columns that go by no known
    name, and ``duplicates`` (``first``, ``best``) which row counts of a document that a run lists
    twice.

    A question that can only be answered with 0 is an `InvalidDataError`: an empty run, qrels in
    which nothing is relevant, a run that shares no query or no document with the qrels. What makes
    a mean mean less than it seems is in `Scores.findings`.

    >>> scores = evaluate({"q1": {"d1": 1}}, {"q1": {"d2": 0.9, "d1": 0.8}}, ["RR@10", "P@1"])
    >>> scores["RR@10"], scores.accounting.queries
    (0.5, 1)
    """
    rules = profile_named(profile)
    changed = {"ties": ties, "precision": precision, "queries": queries}
    changes = {rule: choice for rule, choice in changed.items() if choice is not None}
    plan = planned(measures, rules, changes, of_terms=ontology is not None)
    check_options(evaluate, tables)
    with reading(**tables):
        with (
            unanswered(no_answer),
            overlapping(overlap),
            near_in(ontology),
            speaking(language, languages),
        ):
            judgments = as_judgments(qrels)
        if not judgments.query_ids and judgments.no_answer:
            raise InputError("every question has no answer; give judgments to score against")
        if not judgments.query_ids:
            raise InputError("the qrels are empty; give judgments to score against")
        with collapsing(doc_id_from, collapse), working_on(executor):
            if current_executor() is not None:
                scale = import_module("rankscope.scale.evaluating")  # which comes later in the flow
                options = {
                    "profile": profile, "ties": ties, "precision": precision, "queries": queries,
                    "lengths": lengths, "order": order, "corpus": corpus,
                }  # fmt: skip
                wanted = tuple(parsed.asked for parsed in plan.asked)
                runs = scale.spread(runs, scale.Question(judgments, wanted, options))
            named, single = as_runs(runs, judgments, order=order, corpus=corpus)
            known = corpus
            if judgments.gold is not None:
                known = None  # its documents are not those that are to be found
            elif corpus is not None and not isinstance(corpus, KnownCorpus):
                known = KnownCorpus.read(corpus_ids(corpus), judgments)
        if tables:
            check_keys()
    words = lengths if plan.needs_lengths else None
    of_languages = by_language(judgments)
    judges = {code: _Judge(part, plan, words, known) for code, part in of_languages.items()}
    with working_on(executor):
        results = list(_rows(judgments, of_languages, judges, named))
    apart = len(of_languages) > 1
    if not apart:
        (judgments,) = of_languages.values()
    scores = Scores(
        results,
        plan.asked,
        plan.main,
        judgments=judgments,
        single=single and not apart,
        is_by_language=apart,
    )
    keep(Scored(scores, judgments, named))
    return scores


def _rows(
    judgments: Judgments,
    of_languages: Mapping[str, Judgments],
    judges: Mapping[str, _Judge],
    named: Mapping[str, Any],
) -> Iterator[RunScores]:
    """Yield the scores of each run, for each language that it has."""
    for code, judge in judges.items():
        for name, run in named.items():
            row = f"{name} ({code})" if code else name
            if isinstance(run, LazyRun) and run.scored is not None:  # elsewhere
                yield from (scored for scored in run.scored if scored.name == row)
                continue
            lacking = languages_without(run, of_languages)
            if code in lacking:
                continue
            scored = judge.scored(row, run)
            if code:  # what is asked in other languages is judged there
                more = tuple(about_languages(of_languages, lacking))
                counts = {**scored.counts, "unjudged": unjudged_anywhere(run, judgments)}
                scored = replace(scored, counts=counts, remarks=(*scored.remarks, *more))
            yield scored


@dataclass(frozen=True, slots=True)
class _Judge:
    """Scores runs by the same judgments and measures; some tools have rules by measure."""

    judgments: Judgments
    plan: Plan
    lengths: Mapping[str, float] | None
    corpus: KnownCorpus | None

    def scored(self, name: str, run: Any) -> RunScores:
        """Return the scores of a run."""
        refuse_repeat(self.judgments, self.plan.measures)
        unheard = check_levels(self.judgments, self.plan.measures)
        parts = {
            applied: _scored(
                name,
                self.judgments,
                run,
                wanted,
                applied,
                lengths=self.lengths,
                corpus=self.corpus,
            )
            for applied, wanted in self.plan.by_rules.items()
        }
        scored = parts.get(self.plan.main) or next(iter(parts.values()))
        if len(parts) > 1:
            scored = _joined(scored, [*parts.values()], self.plan.asked, self.judgments.query_ids)
        return replace(scored, remarks=(*scored.remarks, *unheard)) if unheard else scored


def _joined(
    main: RunScores, parts: list[RunScores], asked: list[Parsed], query_ids: tuple[str, ...]
) -> RunScores:
    """Put measures together that were computed under different rules, each over its own queries.

    A measure has a column for every query that any measure counts, and NaN in those it leaves out.
    The accounting is that of the main rules.
    """
    union = {query_id for part in parts for query_id in part.query_ids}
    columns = {query_id: at for at, query_id in enumerate(filter(union.__contains__, query_ids))}
    rows = {str(parsed.measure): row for row, parsed in enumerate(asked)}
    values = np.full((len(rows), len(columns)), np.nan)
    for part in parts:
        at = [columns[query_id] for query_id in part.query_ids]
        values[np.ix_([rows[measure] for measure in part.means], at)] = part.values
    means = {measure: mean for part in parts for measure, mean in part.means.items()}
    tied = {
        cutoff: count
        for part in parts
        for cutoff, count in part.counts["tied_across_cutoff"].items()
    }
    tied_hits = max(part.counts["tied_hits"] for part in parts)
    return replace(
        main,
        query_ids=tuple(columns),
        values=values,
        means={measure: means[measure] for measure in rows},
        counts={
            **main.counts,
            "tied_hits": tied_hits,
            "tied_across_cutoff": dict(sorted(tied.items())),
        },
        remarks=tuple(dict.fromkeys(remark for part in parts for remark in part.remarks)),
    )


def _scored(
    name: str,
    judgments: Judgments,
    run: Any,
    wanted: Wanted,
    rules: Profile,
    *,
    lengths: Mapping[str, float] | None = None,
    corpus: KnownCorpus | None = None,
) -> RunScores:
    chunks: Chunks | None = getattr(run, "chunks", None)
    if not rules.identical_ids and judgments.gold is None:
        run = without_identical(run)
    aligned = align(
        judgments,
        run,
        ties=rules.ties,
        precision=rules.precision,
        queries=rules.queries,
        cutoffs=wanted.cutoffs,
        name=name,
        corpus=corpus,
    )
    judged, by_gain = aligned.judged, aligned.by_gain
    if lengths is not None:
        by_rank = lengths_by_rank(
            judged.query_ids, run, lengths, ties=rules.ties, precision=rules.precision
        )
        judged = replace(judged, lengths=by_rank)
    without = max(judged.without(level) for level in wanted.levels)
    if without and rules.no_relevant == "out":
        by_gain = None if by_gain is None else by_gain.only(judged.graded(1.0) > 0)
        judged = judged.only(judged.graded(1.0) > 0)
    if not len(judged):
        raise InputError(
            f"run {shown(name)} leaves no query to average over; check that it uses the query ids "
            "of the qrels, and that these hold relevant documents"
        )
    values = np.empty((len(wanted.measures), len(judged)))
    means = {}
    for row, measure in enumerate(wanted.measures):
        in_part = by_gain if wanted.by_gain[row] else None
        values[row] = compute(measure, judged if in_part is None else in_part)
        means[wanted.names[row]] = aggregate(measure, values[row])
    counts = {
        "queries": len(judged),
        "judged": len(judgments.query_ids),
        "missing": len(aligned.missing),
        "missing_queries": aligned.missing,
        "missing_policy": rules.queries,
        "unjudged": aligned.unjudged,
        "without_relevant": without,
        "without_relevant_policy": rules.no_relevant,
        "tied_hits": int((aligned.hits.tie_size > 1).sum()),
        "tied_across_cutoff": aligned.hits.tied_at,
    }
    near: tuple[Remark, ...] = ()
    if judged.terms is not None:
        refuse_unrelated(judgments, judged.terms, name)
        of_terms = counts_of(judgments, judged.terms)
        counts["ontology"] = of_terms
        near = tuple(about_terms(judgments, of_terms))
    if judgments.gold is not None:
        counts["spans"] = {
            "unit": aligned.unit,
            "overlap": judgments.gold.overlap,
            "gold": len(judgments.query),
            "retrieved": len(run),
        }
    if judgments.may_mix_languages:
        counts["languages"] = tuple(dict.fromkeys(judgments.languages.values()))
    if judgments.no_answer:
        counts["no_answer"] = len(judgments.no_answer)
    if chunks is not None:
        counts["collapsed"] = chunks.counts()
    about = remarks(
        run,
        aligned.hits,
        aligned.missing,
        wanted.measures,
        judged=len(judgments.query_ids),
        queries=rules.queries,
        ties=rules.ties,
        corpus=corpus,
        chunks=chunks,
    )
    nearly = () if chunks is not None else nearly_found(judgments, run, aligned.hits)
    return RunScores(name, judged.query_ids, values, means, counts, (*about, *near, *nearly))
