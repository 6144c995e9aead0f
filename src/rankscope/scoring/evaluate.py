"""Evaluate: from judgments, runs and measures to scores with their accounting.

Arguments → `Scoring` → judgments → runs → align → measures → `Scores`. Whatever a call does not
use (an ontology, spans, an executor) is neither loaded nor passed through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from itertools import compress
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from rankscope.errors import InputError, shown
from rankscope.measures.language import DEFAULT_MEASURES, parse_measures
from rankscope.scoring.align import align
from rankscope.scoring.inputs import read_inputs, reading_of
from rankscope.scoring.plans import plan_of, usual_measures
from rankscope.scoring.rules import PROFILES
from rankscope.scoring.scored_runs import RunScores, Scored, Scores
from rankscope.scoring.scoring_options import DEFAULT, Scoring, ScoringOptions
from rankscope.scoring.soundness import (
    KnownCorpus,
    Remark,
    Scene,
    check_levels,
    refuse_repeat,
    refuse_swapped_numbers,
    remarks,
)

if TYPE_CHECKING:
    from rankscope.measures.judged import JudgedRun
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.plans import Measures, Plan

__all__ = ["evaluate"]


def evaluate(
    gold: Any,
    run: Any = None,
    measures: Measures | None = None,
    **options: Unpack[ScoringOptions],
) -> Scores:
    """Score one run or several.

    ``gold`` and each run may be a table, plain dicts, a frame or a path; several runs are a dict
    by name or a list. Without ``measures`` those are taken that lists of this length can tell
    apart: of at least 50 documents nDCG@10, AP@100, RR@10, R@50, R@100 and Success@10, of three
    nDCG@3, RR, Success@1 and Success@3. The options:

    - Rules: ``profile`` names a tool's; ``ties``, ``precision`` and ``queries`` change single rules
      of it. ``order="given"`` takes documents as they are listed, whatever their scores.
    - Chunks: where runs hold chunks and the judgments name documents, ``doc_id_from`` says which
      document a chunk is of (``#``, ``::``, a regular expression, a dict): see `Run.collapsed`.
      Gold may be spans of documents or texts of passages instead of ids; then ``overlap`` is the
      share of one that must be retrieved for it to be found (0.5), and ``corpus`` may give the
      spans or texts of chunks that runs name by id: see docs/how-to/evaluate-chunks.md. Else
      ``corpus`` (a path, a table or ids) says which documents there are to be found.
    - Questions that are marked as having no answer are left out of all means, and counted;
      ``no_answer`` names more of them (``"empty"``: all without judgments). Cases in several
      languages are never averaged unasked: ``language`` names one, or ``"all"``.
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


def score(gold: Any, runs: Any, measures: Measures | None, scoring: Scoring) -> Scored:
    """Score runs as a call of `evaluate` asks; also return what was scored."""
    if measures is None and scoring.executor is not None:  # nobody has looked at the runs yet
        measures = DEFAULT_MEASURES
    plan = None if measures is None else _plan(measures, scoring)
    asked = [] if plan is None else list(plan.asked.values())
    judgments, named, single = read_inputs(gold, runs, scoring, asked)
    plan = plan or _plan(usual_measures(named), scoring)
    corpus = None
    if scoring.corpus is not None and judgments.gold is None:  # else it holds the texts of chunks
        corpus = KnownCorpus.of(scoring, judgments)
    rows = []
    for name, run in named.items():
        elsewhere = getattr(run, "scored", None)
        rows.append(elsewhere or _scores(judgments, run, name, plan, corpus))
    readings = [reading_of(run) for run in named.values()]
    scores = Scores(rows, plan.asked, plan.main, judgments, single, readings)
    return Scored(scores, judgments, named)


def _plan(measures: Measures, scoring: Scoring) -> Plan:
    """Return the plan of a call; the same question has the same plan."""
    listed: tuple[Any, ...] = (measures,)
    if isinstance(measures, Iterable) and not isinstance(measures, str | Mapping):
        listed = tuple(measures)
    if isinstance(measures, Mapping):
        raise InputError(
            "a dict was given in the place of measures; give several runs as one: "
            '{"first": run, "second": run}'
        )
    is_known = PROFILES.get(scoring.profile.name) is scoring.profile  # a name is hashed faster
    rules = scoring.profile.name if is_known else scoring.profile
    of_terms = scoring.ontology is not None
    try:
        return plan_of(listed, rules, scoring.changes, scoring.relevance_level, of_terms)
    except TypeError:  # something that cannot be hashed
        parse_measures(listed)  # says what is wrong
        raise


def _scores(
    judgments: Judgments, run: Any, name: str, plan: Plan, corpus: KnownCorpus | None
) -> RunScores:
    """Return the scores of a run.

    Some tools have other rules for some measures. Then a measure has a column for every query that
    any measure counts, and NaN in those it leaves out; the accounting is that of the main rules.
    """
    refuse_repeat(judgments, plan.everything.measures)
    refuse_swapped_numbers(judgments, run)
    low_grades = check_levels(judgments, plan.everything)
    rows = {measure: row for row, measure in enumerate(plan.everything.names)}
    query_ids, means = judgments.query_ids, dict.fromkeys(rows, 0.0)
    values = np.full((len(rows), len(query_ids)), np.nan)
    averaged, tied_hits = np.zeros(len(query_ids), np.bool_), 0
    counts: dict[str, Any] = {}
    tied: dict[int, int] = {}
    about: dict[Remark, None] = {}
    for rules, group in plan.groups:
        more: Any = {"cutoffs": group.ranks, "name": name, "corpus": corpus}
        aligned = align(judgments, run, rules, strict=rules.queries == "strict", **more)
        scene = Scene(judgments, run, aligned, group, rules, corpus)
        keep = aligned.counting(rules)
        if not keep.any():
            raise InputError(
                f"run {shown(name)} leaves no query to average over; check that it uses the query "
                "ids of the qrels, and that these hold relevant documents"
            )
        judged, by_gain = aligned.judged.only(keep), (aligned.by_gain or aligned.judged).only(keep)
        for measure, computation, sums_gains in zip(
            group.names, group.computations, group.sums_gains, strict=True
        ):
            measured = by_gain if sums_gains else judged
            by_query = computation.values(measured)
            values[rows[measure], keep] = by_query
            means[measure] = computation.mean(by_query, measured)
        averaged |= keep
        tied |= aligned.hits.tied_at
        tied_hits = max(tied_hits, int((aligned.hits.tie_size > 1).sum()))
        about |= dict.fromkeys(remarks(scene))
        counts = counts or _counts(scene, judged, name)
    counts |= {"tied_hits": tied_hits, "tied_across_cutoff": dict(sorted(tied.items()))}
    if "ontology" in counts:
        from rankscope.scoring.judged_terms import about_terms  # noqa: PLC0415

        about |= dict.fromkeys(about_terms(judgments, counts["ontology"]))
    about |= dict.fromkeys(low_grades)
    if not averaged.all():
        query_ids, values = tuple(compress(query_ids, averaged)), values[:, averaged]
    return RunScores(name, query_ids, values, means, counts, tuple(about))


def _counts(scene: Scene, judged: JudgedRun, name: str) -> dict[str, Any]:
    """Return the fields of an `Accounting` that alignment tells; ``judged`` is what counts."""
    judgments, run, aligned = scene.judgments, scene.run, scene.aligned
    looked_at = judged
    if scene.rules.no_relevant == "out":
        looked_at = aligned.judged.only(aligned.counting(replace(scene.rules, no_relevant="zero")))
    counts: dict[str, Any] = {
        "queries": len(judged),
        "judged": len(judgments.query_ids),
        "missing": len(aligned.missing),
        "missing_queries": aligned.missing,
        "missing_policy": scene.rules.queries,
        "unjudged": aligned.unjudged,
        "without_relevant": max(looked_at.without(level) for level in scene.group.levels),
        "without_relevant_policy": scene.rules.no_relevant,
    }
    if judged.terms is not None:
        from rankscope.scoring.judged_terms import counts_of  # noqa: PLC0415

        counts["ontology"] = counts_of(judgments, judged.terms, name)
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
