"""Evaluate: from judgments, runs and measures to scores with their accounting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from rankscope.errors import InputError, shown
from rankscope.measures.language import DEFAULT_MEASURES, Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.runs.lazy_run import LazyRun
from rankscope.scoring.align import align
from rankscope.scoring.by_language import (
    about_languages,
    by_language,
    languages_without,
    refuse_mixed,
    unjudged_anywhere,
)
from rankscope.scoring.inputs import (
    as_judgments,
    as_runs,
    corpus_ids,
    named_columns,
    without_identical,
)
from rankscope.scoring.judged_terms import (
    about_terms,
    counts_of,
    refuse_unrelated,
)
from rankscope.scoring.lengths import lengths_by_rank
from rankscope.scoring.options import Scoring, ScoringOptions
from rankscope.scoring.plans import planned
from rankscope.scoring.scores import RunScores, Scored, Scores
from rankscope.scoring.soundness import (
    KnownCorpus,
    check_levels,
    nearly_found,
    refuse_repeat,
    remarks,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rankscope.measures.language import Parsed
    from rankscope.runs.collapsing import Chunks
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.plans import Plan, Wanted
    from rankscope.scoring.rules import Profile
    from rankscope.scoring.soundness import Remark

__all__ = ["evaluate"]


def evaluate(
    gold: Any,
    run: Any,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    **options: Unpack[ScoringOptions],
) -> Scores:
    """Score one run or several.

    ``gold`` and each run may be a table, plain dicts, a frame or a path; several runs are a dict
    by name or a list. The options:

    - Rules: ``profile`` names a tool's; ``ties``, ``precision`` and ``queries`` change single rules
      of it. ``lengths`` gives the number of words of each document, for measures that need it
      (TBG). ``order="given"`` takes documents as they are listed, whatever their scores.
    - Chunks: where runs hold chunks and the judgments name documents, ``doc_id_from`` says which
      document a chunk is of (``#``, ``::``, a regular expression, a table) and ``collapse`` what
      its chunks become: see `Run.collapsed`. Gold may be spans of documents or texts of passages
      instead of ids; then ``overlap`` is the share of one that must be retrieved for it to be found
      (0.5), and ``corpus`` may give the spans or texts of chunks that runs name by id: see
      docs/how-to/evaluate-chunks.md. Else ``corpus`` (a path, a table or ids) says which documents
      there are to be found.
    - Questions that are marked as having no answer are left out of all means, and counted;
      ``no_answer`` names more of them (``"empty"``: all without judgments). Cases in several
      languages are never averaged unasked: each run has a row for each language, unless
      ``language`` names one, or ``languages="together"`` asks for all.
    - Where documents are terms of an ``ontology`` (a file, or what `read_ontology` returns),
      measures of nearness count too (``MaxOntSim@5``, ``nDCG(sim=hybrid)@10``), and are reported
      together with those that count exact matches: see docs/how-to/evaluate-ontology-terms.md.
    - Files of any size are read in bounded memory, and an ``executor`` (of `concurrent.futures`, or
      of a Dask client) shares the work among threads, processes or machines, with the same result:
      see docs/how-to/evaluate-at-scale.md.
    - Reading: ``query``, ``relevant``, ``retrieved``, ``doc``, ``score`` and ``grade`` name columns
      that go by no known name, ``labels`` gives the grades of labels, and ``duplicates``
      (``first``, ``best``) says which row counts of a document that a run lists twice.

    A question that can only be answered with 0 is an `InvalidDataError`: an empty run, qrels in
    which nothing is relevant, a run that shares no query or no document with the qrels. What makes
    a mean mean less than it seems is in `Scores.findings`.

    >>> scores = evaluate({"q1": {"d1": 1}}, {"q1": {"d2": 0.9, "d1": 0.8}}, ["RR@10", "P@1"])
    >>> scores["RR@10"], scores.accounting.queries
    (0.5, 1)
    """
    return score(gold, run, measures, Scoring.of("evaluate", options)).scores


def score(
    gold: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure],
    scoring: Scoring,
    *,
    apart: bool = True,
) -> Scored:
    """Score runs as a call of `evaluate` asks; also return what was scored.

    Cases in several languages have rows of their own, or are refused if not ``apart``.
    """
    plan = planned(
        measures,
        scoring.profile,
        scoring.changes,
        of_terms=scoring.ontology is not None,
        relevance_level=scoring.relevance_level,
    )
    with named_columns(scoring):
        judgments = as_judgments(gold, scoring)
        if not judgments.query_ids and judgments.no_answer:
            raise InputError("every question has no answer; give judgments to score against")
        if not judgments.query_ids:
            raise InputError("the qrels are empty; give judgments to score against")
        if not apart:
            refuse_mixed(judgments)
        if scoring.executor is not None:
            scale = import_module("rankscope.scale.evaluating")  # which comes later in the flow
            wanted = tuple(parsed.asked for parsed in plan.asked)
            runs = scale.spread(runs, scale.Question(judgments, wanted, scoring))
        named, single = as_runs(runs, judgments, scoring)
    known = scoring.corpus
    if judgments.gold is not None:
        known = None  # its documents are not those that are to be found
    elif known is not None and not isinstance(known, KnownCorpus):
        known = KnownCorpus.read(corpus_ids(scoring), judgments)
    words = scoring.lengths if plan.needs_lengths else None
    of_languages = by_language(judgments)
    judges = {code: _Judge(part, plan, words, known) for code, part in of_languages.items()}
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
    return Scored(scores, judgments, named)


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
        measured = by_gain if wanted.by_gain[row] and by_gain is not None else judged
        values[row] = compute(measure, measured)
        means[wanted.names[row]] = aggregate(measure, values[row], measured)
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
