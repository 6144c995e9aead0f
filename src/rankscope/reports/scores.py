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
from rankscope.document.links import queries_link
from rankscope.document.text import interval, number
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.measures.language import Measure, parse_trec_measures
from rankscope.measures.names import NICKNAMES
from rankscope.printing import visible
from rankscope.reports.asked import aliases, interval_methods
from rankscope.reports.definitions import definitions_section
from rankscope.reports.mean_coverage import Covered, coverage_section, data_sentences
from rankscope.reports.shown_systems import MOST_SYSTEMS, not_shown, shown_systems
from rankscope.scoring.inputs import documents_of

if TYPE_CHECKING:
    from rankscope.scoring.bounds import Bounds, BoundsTable
    from rankscope.scoring.score_files import Accounting
    from rankscope.scoring.scores import RunScores, Scores

FEW = 2_000
"""Up to so many values of a measure, means have intervals unless told otherwise: more take longer
to resample than to read and score."""

_MISSING = {"all": "counted as 0", "both": "left out of the means", "strict": "an error"}


@view
def scores_document(
    scores: Scores,
    *,
    per_query: bool = False,
    bounds: Mapping[str, Sequence[Bounds]] | None = None,
    intervals: bool | None = None,
    worst: int = 0,
    texts: Mapping[str, str] | None = None,
    answers: Mapping[str, Any] | None = None,
    max_systems: int | None = None,
) -> Document:
    """Show means, a row for each run, the best first; behind it all intervals and counts.

    ``per_query`` shows the values of every query. ``intervals`` says whether means have their
    confidence intervals (None: up to `FEW` values of a measure), and ``worst`` how many of the
    hardest queries are listed: with their ``texts``, and with what is expected and, where the runs
    are given as ``answers``, retrieved. ``max_systems``: how many runs are shown, the best by the
    first measure; None: up to 10, and up to 50 behind it; 0: all.
    """
    if intervals is None:
        intervals = sum(len(scores.run(name).query_ids) for name in scores.runs) <= FEW
    ranked = _ranked(scores)
    shown = shown_systems(ranked, max_systems)
    runs = [scores.run(name) for name in shown]
    bounds = {name: (bounds or {})[name] for name in shown if name in (bounds or {})}
    first: list[Block] = [
        _short_table(scores, shown_systems(ranked, max_systems, most=FIRST), intervals)
    ]
    if worst:
        first.append(_hardest_table(scores, runs[0], worst, texts or {}))
    first.append(Points(tuple(_points(scores, shown, bounds))))
    if per_query:
        tables = (
            _per_query_table(scores, run, title=run.name if len(runs) > 1 else "") for run in runs
        )
        first[:0] = tables
    blocks: list[Block] = [
        _means_table(scores, shown, intervals=intervals),
        *warning_lines(scores.findings, several=len(scores.runs) > 1),
        *_bounds_tables(bounds),
    ]
    if worst:
        blocks += [
            _worst_table(scores, run, worst, texts or {}, (answers or {}).get(run.name))
            for run in runs
        ]
    return Document(
        f"Scores of {_title(scores)}",
        (
            Section("All means", tuple(blocks)),
            coverage_section(
                {run.name: Covered(run.accounting) for run in runs}, profile=scores.profile.name
            ),
            definitions_section(scores.measures, asked=scores.asked, profile=scores.profile.name),
        ),
        answer=_answer(scores, ranked[0], tuple(first), intervals=intervals),
        names=frozenset([*shown, *scores.measures]),
        data=lambda: _per_query_data(scores) if per_query else _means_data(scores),
    )


def _title(scores: Scores) -> str:
    few = len(scores.runs) <= MOST_SYSTEMS
    return ", ".join(scores.runs) if few else f"{len(scores.runs):,} runs"


def _ranked(scores: Scores) -> list[str]:
    """Return the runs, the best by the first measure first."""
    first = scores.measures[0]
    sign = -1 if Measure.parse(first).definition.higher_is_better else 1

    def key(name: str) -> float:
        mean = scores.run(name).means[first]
        return math.inf if math.isnan(mean) else sign * mean

    return sorted(scores.runs, key=key)


def _answer(scores: Scores, best: str, blocks: tuple[Block, ...], *, intervals: bool) -> Answer:
    run, measure = scores.run(best), scores.measures[0]
    if len(scores.runs) == 1:
        mean = _value(measure, run.means[measure])
        value = "no value" if mean is None else number(mean)
        known = scores.intervals_of(best).get(measure) if intervals else None
        ends = "" if known is None else f" {interval((known.low, known.high))}"
        headline = f"{best} scores {measure} {value}{ends}"
    else:
        headline = f"{len(scores.runs):,} runs"
    counts = {name: scores.run(name).accounting for name in scores.runs}
    sentences = {name: "; ".join(accounting_sentences(each)) for name, each in counts.items()}
    if len(set(sentences.values())) == 1:
        return Answer(f"{headline} on {sentences[best]}", blocks=blocks)
    return Answer(headline, blocks=blocks)


FIRST = 10
"""So many runs are shown at first."""


def _short_table(scores: Scores, shown: Sequence[str], intervals: bool) -> Table:
    """Show the means; where there are many measures, the interval of the first one alone."""
    with_interval = scores.measures if len(scores.measures) <= 3 else scores.measures[:1]
    means = {name: scores.run(name).means for name in shown}
    known = {name: scores.intervals_of(name) if intervals else {} for name in shown}

    def cell(name: str, measure: str) -> Cell:
        held = known[name].get(measure) if measure in with_interval else None
        ends = None if held is None else (held.low, held.high)
        link = queries_link(measure=measure, a=name, sort="a")
        return Cell(_value(measure, means[name][measure]), ends, link=link)

    has_ends = any(known[name].get(measure) for name in shown for measure in with_interval)
    columns = [
        Column(measure, note="95%" if has_ends and measure in with_interval else "")
        for measure in scores.measures
    ]
    left = len(scores.runs) - len(shown)
    return Table(
        (Column("run", "text"), *columns),
        tuple(
            (Cell(name), *(cell(name, measure) for measure in scores.measures)) for name in shown
        ),
        notes=(f"{counted(left, 'more run')}: --max-systems 0",) if left else (),
    )


def _points(
    scores: Scores, shown: Sequence[str], bounds: Mapping[str, Sequence[Bounds]]
) -> Iterator[Point]:
    """Yield what should be known beside the means, and what comes next."""
    careful = finding_lines(scores.findings, several=len(scores.runs) > 1)
    if careful:
        yield Point("Careful", tuple(careful), "warning")
    notes = [*_counts(scores, shown), *_tie_notes(scores, bounds), *_rule_notes(scores)]
    if notes:
        yield Point("Note", tuple(notes))
    if scores.reading:
        yield Point("Read", (scores.reading,), "quiet")
    if len(scores.runs) > 1:
        yield Point("Next", ("rankscope compare, with the same files, tests the differences",))
    else:
        yield Point("Next", ("rankscope diagnose, with the same files, shows what to fix",))


def _counts(scores: Scores, shown: Sequence[str]) -> Iterator[str]:
    """Say what the means of each run are made of, where runs differ in that."""
    by_run = {name: "; ".join(accounting_sentences(scores.run(name).accounting)) for name in shown}
    if len(set(by_run.values())) > 1:
        few = list(by_run.items())[:MOST_NOTES]
        yield from (f"{name}: {sentence}" for name, sentence in few)
        if len(by_run) > len(few):
            yield f"and so on for {counted(len(by_run) - len(few), 'more run')}: --full"


MOST_NOTES = 3
"""So many notes of one kind are shown at first."""


def _tie_notes(scores: Scores, bounds: Mapping[str, Sequence[Bounds]]) -> Iterator[str]:
    """Say how far tied scores could move the first measure."""
    lines = []
    for name, table in bounds.items():
        for bound in table:
            if bound.measure != scores.measures[0] or bound.ties is None:
                continue
            low, high = number(bound.ties.lowest), number(bound.ties.highest)
            if low != high:
                lines.append(
                    f"ties in {name} put its {bound.measure} anywhere from {low} to {high}"
                )
    yield from lines[:MOST_NOTES]


def _rule_notes(scores: Scores) -> Iterator[str]:
    yield from aliases(scores.asked)
    if scores.profile.name != "rankscope":
        yield f"rules of {scores.profile.name}: {scores.profile.summary}"
    for measure, reason in scores.not_promised.items():
        yield f"{measure} may differ from that of {scores.profile.name}: {reason}"


def _hardest_table(scores: Scores, run: RunScores, count: int, texts: Mapping[str, str]) -> Table:
    """List the hardest queries of the best run, with what they expect."""
    worst = scores.worst(count, run=run.name)
    columns, named = named_queries(worst, texts)
    has_gold = scores.judgments.gold is None
    title = f"hardest for {run.name}"
    rows = []
    for (query_id, value), names in zip(worst.items(), named, strict=True):
        expected = (Cell(_expected(scores.judgments.by_query[query_id])),) if has_gold else ()
        rows.append((*names, Cell(_value(scores.measures[0], value)), *expected))
    return Table(
        (
            replace(columns[0], title=title),
            *columns[1:],
            Column(scores.measures[0]),
            *text_columns(*["expected"] * has_gold),
        ),
        tuple(rows),
        name_columns=len(columns),
    )


@view
def bounds_document(bounds: BoundsTable) -> Document:
    """Show how far the means of one run could move."""
    tables = tuple(
        replace(
            table,
            columns=table.columns[1:],  # without that of the run: it is the only one
            rows=tuple(row[1:] for row in table.rows),
            name_columns=table.name_columns - 1,
        )
        for table in _bounds_tables({"": bounds})
    )
    return Document(
        f"Bounds of {', '.join(bound.measure for bound in bounds)}", (Section("", tables),)
    )


def accounting_sentences(accounting: Accounting) -> list[str]:
    """Say what a mean is made of; the first sentence is always there."""
    questions = counted(accounting.queries, "question")
    if accounting.missing:
        missing = (
            f"{accounting.missing:,} missing from the run, {_MISSING[accounting.missing_policy]}"
        )
        parts = [questions, missing]
    else:
        parts = [f"{questions}, none missing"]
    if accounting.without_relevant:
        fate = "scored 0" if accounting.without_relevant_policy == "zero" else "left out"
        parts.append(f"{accounting.without_relevant:,} without a relevant document, {fate}")
    if accounting.unjudged:
        parts.append(f"{accounting.unjudged:,} of the run not judged, left out")
    return parts + data_sentences(accounting)


def _tied(accounting: Accounting) -> str:
    """Say on how many questions tied scores lie across a cutoff; '' if on none."""
    tied = {cutoff: count for cutoff, count in accounting.tied_across_cutoff.items() if count}
    places = ", ".join(f"rank {cutoff} on {count:,}" for cutoff, count in tied.items())
    return f"tied scores lie across {places}" if places else ""


def _notes(scores: Scores, shown: Sequence[str]) -> Iterator[str]:
    yield from not_shown(len(shown), len(scores.runs), scores.measures[0])
    by_run = {name: "; ".join(accounting_sentences(scores.run(name).accounting)) for name in shown}
    if len(set(by_run.values())) == 1:
        yield f"means over {next(iter(by_run.values()))}"
    else:
        yield from (f"{name}: mean over {sentence}" for name, sentence in by_run.items())
    for name in shown:
        if tied := _tied(scores.run(name).accounting):
            yield f"{name}: {tied} questions"
    yield from _rule_notes(scores)
    if scores.reading:
        yield scores.reading


def _value(measure: str, value: float) -> float | None:
    """Return a sum over queries as the count it is, a mean as it is, and None for no value."""
    if math.isnan(value):
        return None
    is_count = Measure.parse(measure).definition.aggregate == "sum" and value == int(value)
    return int(value) if is_count else value


def _means_table(scores: Scores, shown: Sequence[str], *, intervals: bool) -> Table:
    means = {name: scores.run(name).means for name in scores.runs}
    known = {name: scores.intervals_of(name) if intervals else {} for name in shown}
    notes = list(_notes(scores, shown))
    if any(known.values()):
        methods = interval_methods(known[name][m] for name in known for m in known[name])
        made = f" ({methods})" if methods else ""
        notes.append(f"in brackets: 95% interval of the mean{made}")
    best = {}
    for measure in scores.measures:
        choose = max if Measure.parse(measure).definition.higher_is_better else min
        best[measure] = choose(means[name][measure] for name in scores.runs)

    def cell(name: str, measure: str) -> Cell:
        value = means[name][measure]
        is_best = len(scores.runs) > 1 and value == best[measure]
        interval = known[name].get(measure)
        return Cell(
            _value(measure, value),
            interval=None if interval is None else (interval.low, interval.high),
            best=is_best,
            tone="good" if is_best else "plain",
            link=queries_link(measure=measure, a=name, sort="a"),
        )

    return Table(
        (Column("run", "text"), *map(Column, scores.measures)),
        tuple((Cell(name), *(cell(name, m) for m in scores.measures)) for name in shown),
        notes=tuple(notes),
        best="best mean",
        columns_are="measure",
    )


def _worst_table(
    scores: Scores, run: RunScores, count: int, texts: Mapping[str, str], answers: Any
) -> Table:
    worst = scores.worst(count, run=run.name)
    place = {query_id: at for at, query_id in enumerate(run.query_ids)}
    title = f"{counted(len(worst), 'query')} with the worst {scores.measures[0]}"
    columns, named = named_queries(worst, texts)
    has_gold = scores.judgments.gold is None
    is_known = answers is not None and run.counts.get("collapsed") is None
    rows = []
    for query_id, names in zip(worst, named, strict=True):
        values = run.values[:, place[query_id]].tolist()
        row = [*names, *(Cell(_value(*pair)) for pair in zip(scores.measures, values, strict=True))]
        if has_gold:
            row.append(Cell(_expected(scores.judgments.by_query[query_id])))
        if is_known:
            row.append(Cell(_retrieved(answers, query_id)))
        rows.append(tuple(row))
    titles = ["expected"] * has_gold + ["retrieved"] * is_known
    return Table(
        (*columns, *map(Column, scores.measures), *text_columns(*titles)),
        tuple(rows),
        title=f"{run.name}: {title}" if len(scores.runs) > 1 else title,
        name_columns=len(columns),
    )


SHOWN = 3
"""So many documents of a query are named."""


def _expected(grades: Mapping[str, float]) -> str:
    """Name the best of the relevant documents."""
    relevant = sorted((doc_id for doc_id in grades if grades[doc_id] > 0), key=lambda d: -grades[d])
    more = f", {len(relevant) - SHOWN:,} more" if len(relevant) > SHOWN else ""
    return ", ".join(relevant[:SHOWN]) + more or "nothing"


def _retrieved(run: Any, query_id: str) -> str:
    """Name the first documents of an answer."""
    documents = documents_of(run, query_id)
    by_id = sorted(documents, key=lambda doc_id: doc_id.encode(), reverse=True)
    return ", ".join(sorted(by_id, key=lambda doc_id: -documents[doc_id])[:SHOWN]) or "nothing"


def _per_query_table(scores: Scores, run: RunScores, *, title: str) -> Table:
    rows: list[list[Value]] = [
        [query_id, *map(_value, scores.measures, values)]
        for query_id, values in zip(run.query_ids, run.values.T.tolist(), strict=True)
    ]
    return Table(
        (Column("query", "text"), *map(Column, scores.measures)),
        plain_rows(rows),
        title=title,
    )


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


def _bounds_tables(bounds: Mapping[str, Sequence[Bounds]]) -> Iterator[Table]:
    """Show how far equal scores and unjudged documents could move the means, where they could."""
    named = [(name, bound) for name, run_bounds in bounds.items() for bound in run_bounds]
    ties: list[list[Value]] = [
        [name, bound.measure, bound.value, "not known", "not known"]
        if bound.ties is None
        else [name, bound.measure, bound.value, bound.ties.lowest, bound.ties.highest]
        for name, bound in named
        if bound.ties is None or f"{bound.ties.lowest:.4f}" != f"{bound.ties.highest:.4f}"
    ]
    holes: list[list[Value]] = [
        [name, bound.measure, bound.value, bound.holes.nonrelevant, bound.holes.relevant]
        for name, bound in named
        if bound.holes is not None
    ]
    grade = max((bound.holes.grade for _, bound in named if bound.holes is not None), default=1.0)
    if ties:
        yield _bounds_table("Equal scores could move these means", ties, "lowest", "highest")
    if holes:
        titles = ("nonrelevant", f"relevant ({grade:g})")
        yield _bounds_table("If all unjudged documents were", holes, *titles)


def _bounds_table(title: str, rows: list[list[Value]], low: str, high: str) -> Table:
    return Table(
        (*text_columns("run", "measure"), *map(Column, ("value", low, high))),
        plain_rows(rows),
        title=title,
        name_columns=2,
    )


# --- trec_eval's lines ---------------------------------------------------------------------------

_TREC_CUTS = {
    "AP": "map_cut",
    "P": "P",
    "R": "recall",
    "R_cap": "relative_P",
    "Success": "success",
    "Unjudged": "unj",
    "nDCG": "ndcg_cut",
}


def _trec_names() -> dict[Measure, str]:
    roots = sorted({root for roots in NICKNAMES.values() for root in roots})
    return {parsed.measure: parsed.asked for root in roots for parsed in parse_trec_measures(root)}


def trec_name(measure: Measure, known: dict[Measure, str]) -> str:
    """Return trec_eval's name for a measure, or ours if it has none."""
    if measure.name in _TREC_CUTS and measure.cutoff is not None:
        [parsed] = parse_trec_measures(f"{_TREC_CUTS[measure.name]}.{measure.cutoff}")
        if parsed.measure == measure:
            return parsed.asked
    return known.get(measure, str(measure))


def scores_as_trec(scores: Scores, *, per_query: bool) -> str:
    """Return trec_eval's lines: name, query or ``all``, value, separated by tabs."""
    known = _trec_names()
    labels = {name: f"{trec_name(Measure.parse(name), known):<22}" for name in scores.measures}
    lines = []
    for name in scores.runs:
        run = scores.run(name)
        if len(scores.runs) > 1:
            lines.append(f"{'runid':<22}\tall\t{_trec_name(name)}")
        if per_query:
            lines += [
                f"{labels[measure]}\t{_trec_name(query_id)}\t{_trec_number(measure, value)}"
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


def _trec_name(name: str) -> str:
    """Return an id as it is, unless it would make columns or lines of its own."""
    return visible(name) if any(sign in name for sign in "\t\n\v\f\r") else name


def _trec_number(measure: str, value: float) -> str:
    shown = _value(measure, value)
    return str(shown) if isinstance(shown, int) else f"{value:6.4f}"
