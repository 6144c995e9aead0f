"""Report lint: five things that make a report of search quality hard to believe.

One cutoff only, no baseline, no segments, too few queries for what is claimed, and numbers from
different collections side by side. Each is a question with an answer, whatever it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from rankscope.diagnosis.baselines import BaselinesConfig
from rankscope.diagnosis.registry import (
    Advice,
    Analysed,
    Analysis,
    AnalysisConfig,
    Inputs,
    register,
)
from rankscope.diagnosis.same_collection import queries_apart, strangers
from rankscope.document.blocks import Cell, Section, Table, text_columns
from rankscope.errors import InputError, counted
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.measures.language import Measure
from rankscope.part import Part, left_out
from rankscope.statistics.arrays import SAME
from rankscope.statistics.compared import compare_with_all
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.pairwise import repeat_noises
from rankscope.statistics.reach import about as two_digits
from rankscope.statistics.reach import queries_like_these
from rankscope.statistics.sentences import about, listed

if TYPE_CHECKING:
    from rankscope.findings import Code

ROUGHLY = 2
"""A mean that is known to so many times the difference that matters is a note: by itself it claims
little."""

LITTLE = 0.005
"""A lead below this part of the measure's range is not worth more queries, unless a smaller one is
said to matter."""

NEARLY_SAME = 0.05
"""Nor is one where no more than this share of the queries, or one of them, has another value."""

ONE_CUTOFF = declare(
    "RS665",
    "one-cutoff",
    "note",
    unit="measure",
    advice="measure at several depths, such as R@1, R@5 and RR: they tell ranking from finding",
    meaning="""All measures look equally deep, so nobody can tell documents that are not found from
    documents that are ranked low.""",
)

NO_BASELINE = declare(
    "RS666",
    "no-baseline",
    "note",
    unit="system",
    advice="give a second run, or corpus and queries: BM25 is made of these",
    meaning="There is one system only, and nothing to say whether its numbers are good.",
)

NO_SEGMENTS = declare(
    "RS667",
    "no-segments",
    "note",
    unit="query",
    advice="give the queries with what is known about them: category, language, difficulty",
    meaning="""Nothing is known about the queries, so means cannot be taken apart, and kinds of
    queries that fail stay hidden in them.""",
)

TOO_FEW_QUERIES = declare(
    "RS668",
    "too-few-queries",
    "warning",
    unit="query",
    advice="add queries before you decide by this, or say that no difference is shown",
    meaning="""The difference between the best system and the one it is compared with is smaller
    than what so many queries can show; or the mean of a single system is known too roughly. A note
    where the queries would show a difference that matters (``difference``), or nearly so; and where
    the lead is below 0.005 of the measure's range, or hardly any query has another value.""",
)

DIFFERENT_COLLECTIONS = declare(
    "RS669",
    "different-collections",
    "warning",
    unit="system",
    advice="compare systems on the same queries and documents only",
    meaning="""Systems answer different queries, or return documents that the corpus, the judgments
    and the other systems do not know: their numbers are about different collections.""",
)

Question = Literal[
    "several cutoffs", "a baseline", "segments", "enough queries", "the same collection"
]


class LintAnswer(Part):
    """The answer to one question."""

    question: Question
    """What a report should have."""
    good: bool | None
    """Whether it has; null: that cannot be told."""
    text: str
    """What was seen, in one sentence."""


class NeededQueries(Part):
    """What the queries can show of the main claim."""

    measure: str
    """The measure."""
    queries: int
    """How many there are."""
    system: str
    """The best system."""
    against: str | None
    """What it is compared with: the baseline, or the second best; null: it is the only one."""
    difference: float
    """How far it is above that; for a single system, half the width of its mean's interval."""
    differing: int | None
    """For how many queries both have different values; null for a single system."""
    detectable: float | None
    """About the smallest true difference that these queries show with power 0.8; null: none, or a
    single system."""
    p_corrected: float | None
    """Of the difference, corrected over the other systems; null for a single system."""
    shown: bool | None
    """Whether the test shows the difference; null for a single system."""
    needed: int | None
    """About how many queries like these would show the difference; for a single system, would give
    its mean as exactly as is asked for. Null: no number would, or it cannot be told."""
    moving: bool | None = left_out()
    """Whether one of the two moves by itself when it is asked again, so that more queries alone may
    not show the difference; left out if not."""


class Lint(Analysed):
    """The questions, each with its answer."""

    answers: tuple[LintAnswer, ...]
    """Of all five questions."""
    needed: NeededQueries | None = left_out()
    """What the queries can show; left out where no measure is a mean over queries."""


class LintConfig(AnalysisConfig):
    """What counts as enough."""

    difference: float = Field(default=0.05, gt=0, le=1)
    """The smallest difference that matters, as a part of the measure's range."""


@dataclass(frozen=True)
class _Outcome:
    """An answer with the finding that follows from it."""

    answer: LintAnswer
    finding: Finding | None = None


def _good(question: Question, text: str) -> _Outcome:
    return _Outcome(LintAnswer(question=question, good=True, text=text))


def _pitfall(question: Question, code: Code, text: str, **more: object) -> _Outcome:
    answer = LintAnswer(question=question, good=False, text=text)
    return _Outcome(answer, code.finding(text, **more))  # type: ignore[arg-type]


def _look(config: LintConfig, inputs: Inputs) -> Lint | NotApplicable:
    assert inputs.scores is not None
    assert inputs.runs is not None
    assert inputs.qrels is not None
    if inputs.qrels.gold is not None:
        return LINT.not_applicable("what is to be found is passages, and not documents")
    claim = _claim(config, inputs)
    outcomes = [
        _cutoffs(inputs.scores.measures),
        _baseline(inputs),
        _segments(inputs),
        _enough(config, claim),
        _collections(inputs),
    ]
    findings = tuple(each.finding for each in outcomes if each.finding is not None)
    return Lint(
        answers=tuple(each.answer for each in outcomes),
        needed=claim,
        findings=findings,
        advice=_advice(findings, claim, inputs),
    )


# --- the questions -------------------------------------------------------------------------------


def _cutoffs(measures: list[str]) -> _Outcome:
    """Ask whether measures look at several depths."""
    cutoffs = sorted({Measure.parse(name).cutoff or math.inf for name in measures})
    if len(cutoffs) > 1:
        depths = [f"{cutoff:g}" for cutoff in cutoffs if cutoff < math.inf]
        depths += ["all" for cutoff in cutoffs if cutoff == math.inf]
        return _good("several cutoffs", f"measured in the first {listed(depths, 6)} documents")
    depth = "all documents" if cutoffs[0] == math.inf else f"the first {cutoffs[0]:g} documents"
    if len(measures) == 1:
        text = f"{measures[0]} is the only measure"
    else:
        text = f"all {len(measures)} measures look at {depth}"
    return _pitfall("several cutoffs", ONE_CUTOFF, text, count=len(measures))


def _baseline(inputs: Inputs) -> _Outcome:
    """Ask whether there is anything to compare with."""
    assert inputs.scores is not None
    names = inputs.scores.runs
    if len(names) > 1:
        text = f"{len(names)} systems are compared"
        if inputs.baseline is not None:
            text += f" with {inputs.baseline}"
        return _good("a baseline", text)
    is_searched = inputs.search is not None and not inputs.search.obstacle
    if is_searched and (inputs.documents or 0) <= BaselinesConfig().search_up_to:
        return _good("a baseline", f"plain BM25 over the corpus is beside {names[0]}")
    text = f"{names[0]} is the only system: nothing says whether its numbers are good"
    return _pitfall("a baseline", NO_BASELINE, text)


def _segments(inputs: Inputs) -> _Outcome:
    """Ask whether anything is known by which queries can be grouped."""
    if inputs.queries is None:
        text = "no queries were given, so no mean can be taken apart by kinds of queries"
        return _pitfall("segments", NO_SEGMENTS, text, count=len(inputs.rankings.query_ids))
    fields = dict.fromkeys(name for _, _, metadata in inputs.queries for name in metadata)
    known = listed(dict.fromkeys([*fields, "words"]), 5)
    return _good("segments", f"queries can be grouped by {known} (segments)")


def _claim(config: LintConfig, inputs: Inputs) -> NeededQueries | None:
    """Return what the queries can show of the best system's lead by the first measure."""
    assert inputs.scores is not None
    try:
        matrix = Matrix.of_scores(inputs.scores, only_means=True)
    except InputError:  # the systems have no query in common: the last question says so
        return None
    if not matrix.scales:
        return None
    means = [matrix.mean(0, system) for system in range(len(matrix.systems))]
    scale = matrix.scales[0]
    order = np.argsort(means, kind="stable").tolist()
    if scale.higher_is_better:
        order = np.argsort([-mean for mean in means], kind="stable").tolist()
    best = order[0]
    if len(order) == 1:
        return _single(config, matrix, inputs.settings.level)
    other = order[1]
    if inputs.baseline is not None and matrix.systems[best] != inputs.baseline:
        other = matrix.systems.index(inputs.baseline)
    settings = inputs.settings
    row = matrix.query_differences([(other, best)])[0]
    [claim] = compare_with_all(matrix, [(other, best)], settings)
    is_moving = (0, 0) in repeat_noises(matrix, [(other, best)])
    family = math.comb(len(order), 2)
    lead = abs(means[best] - means[other])
    return NeededQueries(
        measure=scale.name,
        queries=len(row),
        system=matrix.systems[best],
        against=matrix.systems[other],
        difference=lead,
        differing=int(np.count_nonzero(np.abs(row) > SAME)),
        detectable=claim.detectable if math.isfinite(claim.detectable) else None,
        p_corrected=claim.p_corrected,
        shown=claim.verdict == "better",
        needed=None
        if is_moving
        else queries_like_these(row, lead, alpha=settings.alpha, family=family),
        moving=True if is_moving else None,
    )


def _single(config: LintConfig, matrix: Matrix, level: float) -> NeededQueries:
    """Return how exactly the mean of a single system is known."""
    scale = matrix.scales[0]
    values = matrix.values[0, 0]
    [interval] = mean_intervals(values, method="t", level=level, bounds=scale.bounds)
    half = (interval.high - interval.low) / 2
    wanted = config.difference * (scale.bounds[1] - scale.bounds[0])
    needed = None
    if len(values) > 1 and math.isfinite(half) and 0 < wanted < math.inf:
        needed = math.ceil(len(values) * (half / wanted) ** 2)
    return NeededQueries(
        measure=scale.name,
        queries=len(values),
        system=matrix.systems[0],
        against=None,
        difference=half if math.isfinite(half) else 0.0,
        differing=None,
        detectable=None,
        p_corrected=None,
        shown=None,
        needed=needed,
    )


def _enough(config: LintConfig, claim: NeededQueries | None) -> _Outcome:
    """Ask whether there are enough queries for what the means seem to say."""
    question: Question = "enough queries"
    if claim is None:
        text = "no measure is a mean over queries that all systems answer"
        return _Outcome(LintAnswer(question=question, good=None, text=text))
    low, high = Measure.parse(claim.measure).definition.range
    matters = config.difference * (high - low)
    if claim.against is None:
        return _enough_for_one(claim, matters)
    size = counted(claim.queries, "query")
    do = "does" if claim.queries == 1 else "do"
    pair = f"{claim.system} is better than {claim.against}"
    by = f"by {claim.measure} ({claim.difference:+.4f})"
    if not claim.difference:
        return _good(question, f"no difference is claimed: {claim.measure} is the same")
    if claim.shown:
        return _good(
            question, f"{size} {'shows' if claim.queries == 1 else 'show'} that {pair} {by}"
        )
    if claim.detectable is not None and claim.detectable <= claim.difference:
        able = f"about {two_digits(claim.detectable):g}"
        return _good(question, f"{size} could show {able}, and {do} not show that {pair} {by}")
    smallest = "no difference is within reach"
    if claim.detectable is not None:
        smallest = f"the smallest that can be shown is about {two_digits(claim.detectable):g}"
    elif claim.moving:
        smallest = "systems move by themselves when they are asked again (repeat)"
    more = "" if claim.needed is None else f"; it would take {about(claim.needed)} like these"
    is_able = claim.detectable is not None and claim.detectable <= matters
    alike = claim.differing is not None and claim.differing <= max(1, NEARLY_SAME * claim.queries)
    is_little = claim.difference < min(LITTLE, config.difference) * (high - low)
    if alike:
        more = f"; only {claim.differing:,} of them {'has' if claim.differing == 1 else 'have'} "
        more += "another value"
    elif is_little:
        more = "; so small a lead hardly matters"
    return _pitfall(
        question,
        TOO_FEW_QUERIES,
        f"{size} {do} not show that {pair} {by}: {smallest}{more}",
        count=claim.queries,
        severity="note" if is_able or alike or is_little else None,
        evidence=claim.to_dict(),
    )


def _enough_for_one(claim: NeededQueries, matters: float) -> _Outcome:
    question: Question = "enough queries"
    size = counted(claim.queries, "query")
    if not math.isfinite(matters):
        text = f"{claim.measure} has no highest value, and there is one system only"
        return _Outcome(LintAnswer(question=question, good=None, text=text))
    gives = "gives" if claim.queries == 1 else "give"
    about_mean = f"the mean {claim.measure} of {claim.system} to ±{claim.difference:.4f}"
    if claim.difference <= matters:
        return _good(question, f"{size} {gives} {about_mean}")
    more = "" if claim.needed is None else f"; ±{matters:g} would take {about(claim.needed)}"
    return _pitfall(
        question,
        TOO_FEW_QUERIES,
        f"{size} {gives} {about_mean} only{more}",
        count=claim.queries,
        severity="note" if claim.difference <= ROUGHLY * matters else None,
        evidence=claim.to_dict(),
    )


# --- the same collection? ------------------------------------------------------------------------


def _collections(inputs: Inputs) -> _Outcome:
    """Ask whether all systems are about the same queries and documents."""
    question: Question = "the same collection"
    texts, systems, evidence = queries_apart(inputs)
    for name, share, text in strangers(inputs):
        systems.append(name)
        texts.append(text)
        evidence.setdefault("documents", {})[name] = share
    if texts:
        return _pitfall(
            question,
            DIFFERENT_COLLECTIONS,
            "; ".join(texts),
            count=len(dict.fromkeys(systems)),
            evidence={"systems": list(dict.fromkeys(systems)), **evidence},
        )
    names = list(inputs.rankings.systems)
    if len(names) == 1 and inputs.corpus is None:
        return _good(question, "one system: nothing is compared")
    if len(names) == 1:
        return _good(question, f"the documents of {names[0]} on top are in the corpus")
    same = "the systems answer the same queries, and "
    where = "in the corpus" if inputs.corpus is not None else "judged or known to another system"
    some = "" if inputs.corpus is not None else "enough of "
    return _good(question, f"{same}{some}their documents on top are {where}")


# --- advice and section --------------------------------------------------------------------------


def _advice(
    findings: tuple[Finding, ...], claim: NeededQueries | None, inputs: Inputs
) -> tuple[Advice, ...]:
    """Say that there are too few queries, where that puts the lead of the best system in doubt."""
    if claim is None or str(inputs.main) != claim.measure:
        return ()
    return tuple(
        Advice(text=f"Queries: {finding.message}", gain=claim.difference)
        for finding in findings
        if finding.code == TOO_FEW_QUERIES.code and finding.severity == "warning"
    )


_SIGNS = {True: "✓", False: "!", None: "·"}


def _section(result: Lint) -> Section:
    rows = tuple(
        (
            Cell(
                f"{_SIGNS[answer.good]} {answer.question}",
                tone="warning" if answer.good is False else "plain",
            ),
            Cell(answer.text),
        )
        for answer in result.answers
    )
    table = Table(
        text_columns("a report should have", "seen here"),
        rows,
        notes=("✓ it has, ! it has not, · cannot be told",),
    )
    return Section(LINT.title, details=(table,))


LINT = register(
    Analysis(
        name="lint",
        title="Report lint",
        summary="Whether a report has what makes its numbers believable: five common pitfalls.",
        config=LintConfig,
        written="lint: {difference: 0.03}",
        result=Lint,
        needs=("scores", "runs", "qrels"),
        uses=("queries", "corpus", "search"),
        look=_look,
        section=_section,
        codes=(ONE_CUTOFF, NO_BASELINE, NO_SEGMENTS, TOO_FEW_QUERIES, DIFFERENT_COLLECTIONS),
        place=90,
    )
)
