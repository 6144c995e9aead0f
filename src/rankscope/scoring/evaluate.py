"""Evaluate: from judgments, runs and measures to scores with their accounting.

Arguments → `Scoring` → judgments → runs → align → measures → `Scores`. Whatever a call does not
ask for (languages, an ontology, an executor) is neither loaded nor passed through.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from rankscope.errors import InputError, RankscopeError, shown
from rankscope.measures.language import DEFAULT_MEASURES, parse_measures
from rankscope.scoring.align import align
from rankscope.scoring.inputs import (
    as_judgments,
    as_runs,
    corpus_ids,
    read_inputs,
    reading_of,
    without_identical,
)
from rankscope.scoring.options import DEFAULT, Scoring, ScoringOptions
from rankscope.scoring.plans import plan_of
from rankscope.scoring.rules import PROFILES
from rankscope.scoring.scores import RunScores, Scored, Scores
from rankscope.scoring.soundness import (
    KnownCorpus,
    check_levels,
    refuse_repeat,
    refuse_swapped,
    refuse_swapped_numbers,
    remarks,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.scoring.align import Aligned
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.plans import Asked, Plan, Wanted
    from rankscope.scoring.rules import Profile

__all__ = ["evaluate"]


def evaluate(
    gold: Any,
    run: Any = None,
    measures: Asked = DEFAULT_MEASURES,
    **options: Unpack[ScoringOptions],
) -> Scores:
    """Score one run or several.

    ``gold`` and each run may be a table, plain dicts, a frame or a path; several runs are a dict
    by name or a list. The options:

    - Rules: ``profile`` names a tool's; ``ties``, ``precision`` and ``queries`` change single rules
      of it. ``order="given"`` takes documents as they are listed, whatever their scores.
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
    scoring = Scoring.of("evaluate", options) if options else DEFAULT
    return score(gold, run, measures, scoring).scores


def score(gold: Any, runs: Any, measures: Asked, scoring: Scoring, *, apart: bool = True) -> Scored:
    """Score runs as a call of `evaluate` asks; also return what was scored.

    Cases in several languages have rows of their own, or are refused if not ``apart``.
    """
    plan = _plan(measures, scoring)
    judgments, named, single = inputs_of(gold, runs, scoring, plan)
    judge = Judge(plan, scoring, _known_corpus(judgments, scoring))
    is_apart = False
    if judgments.languages and not judgments.may_mix_languages:
        from rankscope.scoring.by_language import (  # noqa: PLC0415
            by_language,
            refuse_mixed,
            rows_by_language,
        )

        if not apart:
            refuse_mixed(judgments)
        parts = by_language(judgments)
        is_apart = len(parts) > 1
        if not is_apart:
            (judgments,) = parts.values()
    rows = (
        rows_by_language(judgments, parts, named, judge)
        if is_apart
        else [row for name, run in named.items() for row in judge.scored(judgments, run, name)]
    )
    scores = Scores(
        rows,
        plan.asked,
        plan.main,
        judgments=judgments,
        single=single and not is_apart,
        is_by_language=is_apart,
        readings=[reading_of(run) for run in named.values()],
    )
    return Scored(scores, judgments, named)


def _plan(measures: Asked, scoring: Scoring) -> Plan:
    """Return what is asked for; the same question has the same plan."""
    asked: tuple[Any, ...] = (measures,)
    if isinstance(measures, Iterable) and not isinstance(measures, str):
        asked = tuple(measures)
    is_known = PROFILES.get(scoring.profile.name) is scoring.profile  # a name is hashed faster
    rules = scoring.profile.name if is_known else scoring.profile
    of_terms = scoring.ontology is not None
    try:
        return plan_of(asked, rules, scoring.changes, scoring.relevance_level, of_terms)
    except TypeError:  # something that cannot be hashed
        parse_measures(asked)  # says what is wrong
        raise


def inputs_of(
    gold: Any, runs: Any, scoring: Scoring, plan: Plan | None = None
) -> tuple[Judgments, dict[str, Any], bool]:
    """Take judgments and runs, by name; also tell whether there was a single one.

    With a plan an executor scores the runs that it can.
    """
    try:
        if scoring.executor is None or plan is None:
            judgments, named, single = read_inputs(gold, runs, scoring)
        else:
            scale = import_module("rankscope.scale.evaluating")  # which comes later in the flow
            wanted = tuple(plan.asked.values())
            judgments = as_judgments(gold, scoring)
            spread = scale.spread(runs, scale.Question(judgments, wanted, scoring))
            named, single = as_runs(spread, judgments, scoring)
    except RankscopeError as error:
        refuse_swapped(gold, runs, error)
        raise
    if not judgments.query_ids:
        what = "every question has no answer" if judgments.no_answer else "the qrels are empty"
        raise InputError(f"{what}; give judgments to score against")
    return judgments, named, single


def _known_corpus(judgments: Judgments, scoring: Scoring) -> KnownCorpus | None:
    """Return what is known of the documents there are; those of spans are not to be found."""
    if judgments.gold is not None or scoring.corpus is None:
        return None
    if isinstance(scoring.corpus, KnownCorpus):
        return scoring.corpus
    return KnownCorpus.read(corpus_ids(scoring), judgments)


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """Scores runs by the same measures; some tools have rules by measure."""

    plan: Plan
    scoring: Scoring
    corpus: KnownCorpus | None

    def scored(self, judgments: Judgments, run: Any, name: str) -> Sequence[RunScores]:
        """Return the scores of a run; those of one that was scored elsewhere as they are."""
        elsewhere: Sequence[RunScores] | None = getattr(run, "scored", None)
        if elsewhere is not None:
            return [row for row in elsewhere if row.name == name]
        refuse_repeat(judgments, self.plan.everything.measures)
        refuse_swapped_numbers(judgments, run)
        unheard = check_levels(judgments, self.plan.everything)
        parts = [
            self._scored(judgments, run, name, rules, wanted)
            for rules, wanted in self.plan.by_rules
        ]
        whole = parts[0] if len(parts) == 1 else self._joined(parts, judgments.query_ids)
        return [replace(whole, remarks=(*whole.remarks, *unheard)) if unheard else whole]

    def _scored(
        self, judgments: Judgments, run: Any, name: str, rules: Profile, wanted: Wanted
    ) -> RunScores:
        """Return the scores by one set of rules."""
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
            corpus=self.corpus,
        )
        judged, by_gain = aligned.judged, aligned.by_gain
        without = max(judged.without(level) for level in wanted.levels)
        if without and rules.no_relevant == "out":
            by_gain = None if by_gain is None else by_gain.only(judged.graded(1.0) > 0)
            judged = judged.only(judged.graded(1.0) > 0)
        if not len(judged):
            raise InputError(
                f"run {shown(name)} leaves no query to average over; check that it uses the query "
                "ids of the qrels, and that these hold relevant documents"
            )
        values = np.empty((len(wanted.measures), len(judged)))
        means = {}
        for row, computation in enumerate(wanted.computations):
            measured = by_gain if wanted.by_gain[row] and by_gain is not None else judged
            values[row] = computation.values(measured)
            means[wanted.names[row]] = computation.mean(values[row], measured)
        counts = _counts(judgments, run, aligned, rules)
        counts |= {"queries": len(judged), "without_relevant": without}
        about = list(remarks(judgments, run, aligned, wanted, rules, corpus=self.corpus))
        if judged.terms is not None:
            from rankscope.scoring.judged_terms import (  # noqa: PLC0415
                about_terms,
                counts_of,
                refuse_unrelated,
            )

            refuse_unrelated(judgments, judged.terms, name)
            counts["ontology"] = counts_of(judgments, judged.terms)
            about += about_terms(judgments, counts["ontology"])
        return RunScores(name, judged.query_ids, values, means, counts, tuple(about))

    def _joined(self, parts: list[RunScores], query_ids: tuple[str, ...]) -> RunScores:
        """Put measures together that were computed under different rules, each over its queries.

        A measure has a column for every query that any measure counts, and NaN in those it leaves
        out. The accounting is that of the main rules.
        """
        union = {query_id for part in parts for query_id in part.query_ids}
        columns = {
            query_id: at for at, query_id in enumerate(filter(union.__contains__, query_ids))
        }
        rows = {name: row for row, name in enumerate(self.plan.everything.names)}
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
        counts = {
            **parts[0].counts,
            "tied_hits": max(part.counts["tied_hits"] for part in parts),
            "tied_across_cutoff": dict(sorted(tied.items())),
        }
        return replace(
            parts[0],
            query_ids=tuple(columns),
            values=values,
            means={measure: means[measure] for measure in rows},
            counts=counts,
            remarks=tuple(dict.fromkeys(remark for part in parts for remark in part.remarks)),
        )


def _counts(judgments: Judgments, run: Any, aligned: Aligned, rules: Profile) -> dict[str, Any]:
    """Return the fields of an `Accounting` that alignment tells."""
    counts: dict[str, Any] = {
        "judged": len(judgments.query_ids),
        "missing": len(aligned.missing),
        "missing_queries": aligned.missing,
        "missing_policy": rules.queries,
        "unjudged": aligned.unjudged,
        "without_relevant_policy": rules.no_relevant,
        "tied_hits": int((aligned.hits.tie_size > 1).sum()),
        "tied_across_cutoff": aligned.hits.tied_at,
    }
    if judgments.gold is not None:
        counts["spans"] = {
            "unit": aligned.unit,
            "overlap": 1.0 if aligned.unit == "passages" else judgments.gold.overlap,
            "gold": len(judgments.query),
            "retrieved": len(run),
        }
    if judgments.may_mix_languages:
        counts["languages"] = tuple(dict.fromkeys(judgments.languages.values()))
    if judgments.no_answer:
        counts["no_answer"] = len(judgments.no_answer)
    if getattr(run, "chunks", None) is not None:
        counts["collapsed"] = asdict(run.chunks)
    return counts
