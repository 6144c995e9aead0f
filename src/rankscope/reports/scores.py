"""Scores as a document: means, what they are made of, and how far they could move."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankscope.document.blocks import (
    Answer,
    Block,
    Cell,
    Column,
    Document,
    Point,
    Points,
    Section,
    Table,
    Value,
    finding_lines,
    named_queries,
    plain_rows,
    text_columns,
    warning_lines,
)
from rankscope.document.text import interval, number
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.measures.language import Measure
from rankscope.printing import visible
from rankscope.reports.definitions import (
    accounting_sentences,
    coverage_section,
    meanings,
    said_once,
)
from rankscope.reports.system_tables import (
    FEW,
    FIRST,
    Mean,
    aliases,
    best_of,
    interval_methods,
    left_out,
    means_table,
)

if TYPE_CHECKING:
    from rankscope.retrieval.golden import RetrieverScores
    from rankscope.scoring.bounds import Bounds, BoundsTable
    from rankscope.scoring.scored_runs import RunScores, Scores
    from rankscope.statistics.intervals import Interval

RESAMPLED = 2_000
"""Up to so many values of a measure, means have intervals unless told otherwise: more take longer
to resample than to read and score."""


@view
def scores_document(
    scores: Scores,
    *,
    per_query: bool = False,
    bounds: Mapping[str, Sequence[Bounds]] | None = None,
    intervals: bool | None = None,
    worst: int = 0,
    texts: Mapping[str, str] | None = None,
) -> Document:
    """Show means, a row for each run, the best first; behind it all intervals and counts.

    ``per_query`` shows the values of every query. ``intervals`` says whether means have their
    confidence intervals (None: up to `RESAMPLED` values of a measure). ``worst``: how many of the
    best run's hardest queries are listed, with their ``texts``.
    """
    if intervals is None:
        intervals = sum(len(scores.run(name).query_ids) for name in scores.runs) <= RESAMPLED
    ranked, bounds = _ranked(scores), bounds or {}
    first: list[Block] = [_means_table(scores, best_of(ranked), intervals=intervals, few=True)]
    if worst:
        first.append(_worst_table(scores, scores.run(ranked[0]), worst, texts or {}))
    first.append(Points(tuple(_points(scores, ranked, bounds))))
    if per_query:
        first[:0] = [_per_query_table(scores, scores.run(name)) for name in ranked]
    means = _means_table(scores, ranked, intervals=intervals, few=False)
    warnings = warning_lines(scores.findings, several=len(ranked) > 1)
    return Document(
        f"Scores of {_title(scores.runs)}",
        (
            Section("All means", (means, *warnings, *_bounds_tables(bounds))),
            coverage_section({name: scores.run(name).accounting for name in ranked}),
        ),
        answer=Answer(_headline(scores, ranked[0], intervals=intervals), blocks=tuple(first)),
        names=frozenset([*ranked, *scores.measures]),
        data=lambda: _per_query_data(scores) if per_query else _means_data(scores),
    )


@view
def retriever_document(result: RetrieverScores, **options: Any) -> Document:
    """Show means with intervals, and what was expected and found where nothing was right."""
    shown = scores_document(result, **options)
    assert shown.answer is not None
    *tables, last = shown.answer.blocks
    if result.failing:
        tables.append(_failing_table(result))
    if result.notes:
        tables.append(Points((Point("Careful", result.notes, "warning"),)))
    answer = replace(shown.answer, blocks=(*tables, last))
    return replace(shown, title="Scores of a retriever", answer=answer)


def _failing_table(result: RetrieverScores) -> Table:
    count = len(result.failing)
    rows = plain_rows(
        (
            question.text,
            ", ".join(question.expected),
            question.error or ", ".join(question.retrieved[:FEW]) or "nothing",
        )
        for question in result.failing[:FIRST]
    )
    questions = counted(len(result.texts), "question")
    return Table(
        text_columns("question", "expected", "retrieved"),
        rows,
        title=f"Nothing relevant in the first {result.k}: {count:,} of {questions}",
        notes=(f"{count - FIRST:,} more in scores.failing",) if count > FIRST else (),
    )


def _title(runs: Sequence[str]) -> str:
    return ", ".join(runs) if len(runs) <= FIRST else f"{len(runs):,} runs"


def _ranked(scores: Scores) -> list[str]:
    """Return the runs, the best by the first measure first."""
    first = scores.measures[0]
    sign = -1 if Measure.parse(first).definition.higher_is_better else 1

    def key(name: str) -> float:
        mean = scores.run(name).means[first]
        return math.inf if math.isnan(mean) else sign * mean

    return sorted(scores.runs, key=key)


def _headline(scores: Scores, best: str, *, intervals: bool) -> str:
    headline, measure = f"{len(scores.runs):,} runs", scores.measures[0]
    if len(scores.runs) == 1:
        mean = _value(measure, scores.run(best).means[measure])
        known = scores.intervals_of(best).get(measure) if intervals else None
        ends = "" if known is None else f" {interval((known.low, known.high))}"
        value = "no value" if mean is None else number(mean)
        headline = f"{best} scores {measure} {value}{ends}"
    made = {"; ".join(_made_of(scores, name)) for name in scores.runs}
    return f"{headline} on {made.pop()}" if len(made) == 1 else headline


def _made_of(scores: Scores, name: str) -> list[str]:
    return accounting_sentences(scores.run(name).accounting)


def _value(measure: str, value: float) -> float | None:
    """Return a sum over queries as the count it is, a mean as it is, and None for no value."""
    if math.isnan(value):
        return None
    is_count = Measure.parse(measure).definition.aggregate == "sum" and value == int(value)
    return int(value) if is_count else value


# --- what is known beside the means --------------------------------------------------------------


def _points(
    scores: Scores, shown: Sequence[str], bounds: Mapping[str, Sequence[Bounds]]
) -> Iterator[Point]:
    """Yield what should be known beside the means, and what comes next."""
    several = len(scores.runs) > 1
    if careful := finding_lines(scores.findings, several=several):
        yield Point("Careful", tuple(careful), "warning")
    by_run = {name: _made_of(scores, name) for name in shown}
    differing = [] if len(set(map(tuple, by_run.values()))) == 1 else list(said_once(by_run))
    notes = differing[:FEW]
    if left := len(differing) - len(notes):
        notes.append(f"{counted(left, 'more note')} like these: --full")
    notes += [*list(_tie_notes(scores, bounds))[:FEW], *_rule_notes(scores)]
    if notes:
        yield Point("Note", tuple(notes))
    if scores.reading:
        yield Point("Read", (scores.reading,), "quiet")
    command = "compare" if several else "diagnose"
    use = "tests the differences" if several else "shows what to fix"
    yield Point("Next", (f"rankscope {command}, with the same files, {use}",))


def _tie_notes(scores: Scores, bounds: Mapping[str, Sequence[Bounds]]) -> Iterator[str]:
    """Say how far tied scores could move the first measure."""
    for name, table in bounds.items():
        for bound in table:
            if bound.measure == scores.measures[0] and bound.ties is not None:
                low, high = number(bound.ties.lowest), number(bound.ties.highest)
                if low != high:
                    yield f"ties in {name} put its {bound.measure} anywhere from {low} to {high}"


def _rule_notes(scores: Scores) -> Iterator[str]:
    yield from aliases(scores.asked)
    if scores.profile.name != "rankscope":
        yield f"rules of {scores.profile.name}: {scores.profile.summary}"
    for measure in scores.asked:
        if reason := scores.profile.doubt(Measure.parse(measure)):
            yield f"{measure} may differ from that of {scores.profile.name}: {reason}"


# --- tables --------------------------------------------------------------------------------------


def _means_table(scores: Scores, shown: Sequence[str], *, intervals: bool, few: bool) -> Table:
    """Show all means; of ``few`` where there are many measures the first interval alone."""
    names, measures = list(scores.runs), scores.measures
    means = {name: scores.run(name).means for name in names}
    ranged = measures[:1] if few and len(measures) > 3 else measures
    known = {name: scores.intervals_of(name) if intervals else {} for name in shown}
    best = {}
    for measure in measures:
        choose = max if Measure.parse(measure).definition.higher_is_better else min
        best[measure] = choose(means[name][measure] for name in names)

    def mean_of(name: str, measure: str) -> Mean:
        value = means[name][measure]
        held = known[name].get(measure) if measure in ranged else None
        is_best = not few and len(names) > 1 and value == best[measure]
        return Mean(_value(measure, value), held, is_best)

    has_ends = {measure: any(known[name].get(measure) for name in shown) for measure in ranged}
    columns = [Column(name, note="95%" if few and has_ends.get(name) else "") for name in measures]
    notes = left_out(len(names) - len(shown), "run") if few else _notes(scores, shown, known)
    return means_table(shown, columns, mean_of, head="run", notes=notes)


def _notes(
    scores: Scores, shown: Sequence[str], known: Mapping[str, Mapping[str, Interval]]
) -> Iterator[str]:
    for name in shown:
        tied = scores.run(name).accounting.tied_across_cutoff
        places = ", ".join(f"rank {at} on {count:,}" for at, count in tied.items() if count)
        if places:
            yield f"{name}: tied scores lie across {places} questions"
    yield from aliases(scores.asked)
    if scores.reading:
        yield scores.reading
    if any(known.values()):
        methods = interval_methods(each for held in known.values() for each in held.values())
        yield f"in brackets: 95% interval of the mean{f' ({methods})' if methods else ''}"
    yield from meanings(scores.measures, scores.profile.name)


def _worst_table(scores: Scores, run: RunScores, count: int, texts: Mapping[str, str]) -> Table:
    """List the hardest queries of a run, and what they expect."""
    worst, measure = scores.worst(count, run=run.name), scores.measures[0]
    worst = {each: value for each, value in worst.items() if value != 1} or worst  # none is perfect
    columns, named = named_queries(worst, texts)
    has_gold = scores.judgments.gold is None
    rows = []
    for (query_id, value), names in zip(worst.items(), named, strict=True):
        expected = (Cell(_expected(scores.judgments.by_query[query_id])),) if has_gold else ()
        rows.append((*names, Cell(_value(measure, value)), *expected))
    first = replace(columns[0], title=f"hardest for {run.name}")
    return Table(
        (first, *columns[1:], Column(measure), *text_columns(*["expected"] * has_gold)),
        tuple(rows),
        name_columns=len(columns),
    )


def _expected(grades: Mapping[str, float]) -> str:
    """Name the best of the relevant documents."""
    relevant = sorted((doc_id for doc_id in grades if grades[doc_id] > 0), key=lambda d: -grades[d])
    more = f", {len(relevant) - FEW:,} more" if len(relevant) > FEW else ""
    return ", ".join(relevant[:FEW]) + more or "nothing"


def _per_query_table(scores: Scores, run: RunScores) -> Table:
    rows: list[list[Value]] = [
        [query_id, *map(_value, scores.measures, values)]
        for query_id, values in zip(run.query_ids, run.values.T.tolist(), strict=True)
    ]
    columns = (Column("query", "text"), *map(Column, scores.measures))
    return Table(columns, plain_rows(rows), title=run.name if len(scores.runs) > 1 else "")


def _means_data(scores: Scores) -> Table:
    runs = [scores.run(name) for name in scores.runs]
    return Table(
        (*text_columns("run", "measure"), Column("value"), Column("queries")),
        plain_rows(
            (run.name, measure, value, run.accounting.queries)
            for run in runs
            for measure, value in run.means.items()
        ),
    )


def _per_query_data(scores: Scores) -> Table:
    return Table(
        (*text_columns("run", "query_id", "measure"), Column("value")),
        plain_rows(scores.per_query.iter_rows()),
    )


# --- bounds --------------------------------------------------------------------------------------


@view
def bounds_document(bounds: BoundsTable) -> Document:
    """Show how far the means of one run could move."""
    title = f"Bounds of {', '.join(bound.measure for bound in bounds)}"
    return Document(title, (Section("", tuple(_bounds_tables({"": bounds}))),))


def _bounds_tables(bounds: Mapping[str, Sequence[Bounds]]) -> Iterator[Table]:
    """Show how far equal scores and unjudged documents could move the means, where they could."""
    ties: list[list[Value]] = []
    holes: list[list[Value]] = []
    grade = 1.0
    for name, bound in ((name, bound) for name, table in bounds.items() for bound in table):
        row: list[Value] = [name, bound.measure, bound.value]
        if bound.ties is None:
            ties.append([*row, "not known", "not known"])
        elif f"{bound.ties.lowest:.4f}" != f"{bound.ties.highest:.4f}":
            ties.append([*row, bound.ties.lowest, bound.ties.highest])
        if bound.holes is not None:
            holes.append([*row, bound.holes.nonrelevant, bound.holes.relevant])
            grade = bound.holes.grade
    for title, rows, ends in (
        ("Equal scores could move these means", ties, ("lowest", "highest")),
        ("If all unjudged documents were", holes, ("nonrelevant", f"relevant ({grade:g})")),
    ):
        if rows:
            skip = 0 if any(bounds) else 1  # the only run is not named
            columns = (*text_columns("run", "measure"), *map(Column, ("value", *ends)))
            shown = plain_rows(row[skip:] for row in rows)
            yield Table(columns[skip:], shown, title=title, name_columns=2 - skip)


# --- trec_eval's lines ---------------------------------------------------------------------------


def scores_as_trec(scores: Scores, *, per_query: bool) -> str:
    """Return trec_eval's lines: name as it was asked for, query or ``all``, value; with tabs."""
    labels = {name: f"{scores.asked.get(name, name):<22}" for name in scores.measures}
    lines = []
    for name in scores.runs:
        run = scores.run(name)
        if len(scores.runs) > 1:
            lines.append(f"{'runid':<22}\tall\t{_trec_id(name)}")
        if per_query:
            lines += [
                f"{labels[measure]}\t{_trec_id(query_id)}\t{_trec_number(measure, value)}"
                for query_id, column in zip(run.query_ids, run.values.T.tolist(), strict=True)
                for measure, value in zip(scores.measures, column, strict=True)
                if Measure.parse(measure).definition.aggregate != "geometric"
                and not math.isnan(value)
            ]
        lines += [
            f"{labels[measure]}\tall\t{_trec_number(measure, value)}"
            for measure, value in run.means.items()
        ]
    return "\n".join(lines) + "\n"


def _trec_id(name: str) -> str:
    """Return an id as it is, unless it would make columns or lines of its own."""
    return visible(name) if any(sign in name for sign in "\t\n\v\f\r") else name


def _trec_number(measure: str, value: float) -> str:
    shown = _value(measure, value)
    return str(shown) if isinstance(shown, int) else f"{value:6.4f}"
