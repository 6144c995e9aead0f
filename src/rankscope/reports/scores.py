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
    sentences,
    text_columns,
    warning_lines,
)
from rankscope.document.text import interval, number
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.measures.language import Measure, parse_trec_measures
from rankscope.measures.names import NICKNAMES
from rankscope.printing import visible
from rankscope.reports.definitions import definitions_section
from rankscope.reports.mean_coverage import Covered, accounting_sentences, coverage_section
from rankscope.reports.said_beside import aliases, interval_methods
from rankscope.reports.system_tables import (
    FIRST,
    MOST_SYSTEMS,
    Mean,
    means_table,
    not_shown,
    shown_systems,
)
from rankscope.scoring.inputs import documents_of

if TYPE_CHECKING:
    from rankscope.scoring.bounds import Bounds, BoundsTable
    from rankscope.scoring.score_files import ScoreRecord
    from rankscope.scoring.scored_runs import RunScores, Scores
    from rankscope.statistics.intervals import Interval

FEW = 2_000
"""Up to so many values of a measure, means have intervals unless told otherwise: more take longer
to resample than to read and score."""

MOST_NOTES = 3
"""So many notes of one kind are shown at first."""

SHOWN = 3
"""So many documents of a query are named."""


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
    few = shown_systems(ranked, max_systems, most=FIRST)
    first: list[Block] = [_means_table(scores, few, intervals=intervals, few=True)]
    blocks: list[Block] = [_means_table(scores, shown, intervals=intervals, few=False)]
    blocks += [*warning_lines(scores.findings, several=len(ranked) > 1), *_bounds_tables(bounds)]
    if worst:
        first.append(_worst_table(scores, runs[0], worst, texts or {}))
        given = answers or {}
        blocks += [
            _worst_table(scores, run, worst, texts or {}, given.get(run.name), full=True)
            for run in runs
        ]
    first.append(Points(tuple(_points(scores, shown, bounds))))
    if per_query:
        titled = len(runs) > 1
        first[:0] = [_per_query_table(scores, run, run.name if titled else "") for run in runs]
    return Document(
        f"Scores of {_title(scores.runs)}",
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


def _title(runs: Sequence[str]) -> str:
    return ", ".join(runs) if len(runs) <= MOST_SYSTEMS else f"{len(runs):,} runs"


def _ranked(scores: Scores) -> list[str]:
    """Return the runs, the best by the first measure first."""
    first = scores.measures[0]
    sign = -1 if Measure.parse(first).definition.higher_is_better else 1

    def key(name: str) -> float:
        mean = scores.run(name).means[first]
        return math.inf if math.isnan(mean) else sign * mean

    return sorted(scores.runs, key=key)


def _answer(scores: Scores, best: str, blocks: tuple[Block, ...], *, intervals: bool) -> Answer:
    headline, measure = f"{len(scores.runs):,} runs", scores.measures[0]
    if len(scores.runs) == 1:
        mean = _value(measure, scores.run(best).means[measure])
        known = scores.intervals_of(best).get(measure) if intervals else None
        ends = "" if known is None else f" {interval((known.low, known.high))}"
        value = "no value" if mean is None else number(mean)
        headline = f"{best} scores {measure} {value}{ends}"
    made = {_made_of(scores, name) for name in scores.runs}
    return Answer(f"{headline} on {made.pop()}" if len(made) == 1 else headline, blocks=blocks)


def _made_of(scores: Scores, name: str) -> str:
    return "; ".join(accounting_sentences(scores.run(name).accounting))


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
    careful = finding_lines(scores.findings, several=len(scores.runs) > 1)
    if careful:
        yield Point("Careful", tuple(careful), "warning")
    notes = [*_counts(scores, shown, MOST_NOTES), *_tie_notes(scores, bounds), *_rule_notes(scores)]
    if notes:
        yield Point("Note", tuple(notes))
    if scores.reading:
        yield Point("Read", (scores.reading,), "quiet")
    if len(scores.runs) > 1:
        yield Point("Next", ("rankscope compare, with the same files, tests the differences",))
    else:
        yield Point("Next", ("rankscope diagnose, with the same files, shows what to fix",))


def _counts(scores: Scores, shown: Sequence[str], most: int) -> Iterator[str]:
    """Say what the means of each run are made of, where runs differ in that."""
    by_run = {name: _made_of(scores, name) for name in shown}
    if len(set(by_run.values())) > 1:
        yield from (f"{name}: {sentence}" for name, sentence in list(by_run.items())[:most])
        if len(by_run) > most:
            yield f"and so on for {counted(len(by_run) - most, 'more run')}: --full"


def _tie_notes(scores: Scores, bounds: Mapping[str, Sequence[Bounds]]) -> Iterator[str]:
    """Say how far tied scores could move the first measure."""
    lines = []
    for name, table in bounds.items():
        for bound in table:
            if bound.measure == scores.measures[0] and bound.ties is not None:
                low, high = number(bound.ties.lowest), number(bound.ties.highest)
                if low != high:
                    between = f"anywhere from {low} to {high}"
                    lines.append(f"ties in {name} put its {bound.measure} {between}")
    yield from lines[:MOST_NOTES]


def _rule_notes(scores: Scores) -> Iterator[str]:
    yield from aliases(scores.asked)
    if scores.profile.name != "rankscope":
        yield f"rules of {scores.profile.name}: {scores.profile.summary}"
    for measure, reason in scores.not_promised.items():
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
    notes = _more(len(names) - len(shown)) if few else _notes(scores, shown, known)
    return means_table(shown, columns, mean_of, head="run", notes=notes)


def _more(left: int) -> list[str]:
    return [f"{counted(left, 'more run')}: --max-systems 0"] if left else []


def _notes(
    scores: Scores, shown: Sequence[str], known: Mapping[str, Mapping[str, Interval]]
) -> Iterator[str]:
    yield from not_shown(len(shown), len(scores.runs), scores.measures[0])
    alike = f"means over {_made_of(scores, shown[0])}"
    yield from list(_counts(scores, shown, len(shown))) or [alike]
    for name in shown:
        tied = scores.run(name).accounting.tied_across_cutoff
        places = ", ".join(f"rank {at} on {count:,}" for at, count in tied.items() if count)
        if places:
            yield f"{name}: tied scores lie across {places} questions"
    yield from _rule_notes(scores)
    if scores.reading:
        yield scores.reading
    if any(known.values()):
        methods = interval_methods(each for held in known.values() for each in held.values())
        yield f"in brackets: 95% interval of the mean{f' ({methods})' if methods else ''}"


def _worst_table(
    scores: Scores,
    run: RunScores,
    count: int,
    texts: Mapping[str, str],
    answers: Any = None,
    *,
    full: bool = False,
) -> Table:
    """List the hardest queries of a run and what they expect; in full: all that is known."""
    worst = scores.worst(count, run=run.name)
    measures = scores.measures if full else scores.measures[:1]
    place = {query_id: at for at, query_id in enumerate(run.query_ids)}
    columns, named = named_queries(worst, texts)
    has_gold = scores.judgments.gold is None
    is_known = answers is not None and run.counts.get("collapsed") is None
    rows = []
    for query_id, names in zip(worst, named, strict=True):
        values = run.values[: len(measures), place[query_id]].tolist()
        row = [*names, *(Cell(_value(*pair)) for pair in zip(measures, values, strict=True))]
        if has_gold:
            row.append(Cell(_expected(scores.judgments.by_query[query_id])))
        if is_known:
            row.append(Cell(_retrieved(answers, query_id)))
        rows.append(tuple(row))
    titles = ["expected"] * has_gold + ["retrieved"] * is_known
    first = replace(columns[0], title=f"hardest for {run.name}")
    return Table(
        (first, *columns[1:], *map(Column, measures), *text_columns(*titles)),
        tuple(rows),
        name_columns=len(columns),
    )


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


def _per_query_table(scores: Scores, run: RunScores, title: str) -> Table:
    rows: list[list[Value]] = [
        [query_id, *map(_value, scores.measures, values)]
        for query_id, values in zip(run.query_ids, run.values.T.tolist(), strict=True)
    ]
    columns = (Column("query", "text"), *map(Column, scores.measures))
    return Table(columns, plain_rows(rows), title=title)


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


@view
def score_record_document(record: ScoreRecord) -> Document:
    """Show the means of each run as they were recorded."""
    notes = [f"{name}: {', '.join(accounting_sentences(run.accounting))}"
             for name, run in record.runs.items()]  # fmt: skip
    findings = [
        finding.model_copy(update={"system": name})
        for name, run in record.runs.items()
        for finding in run.findings
    ]
    table = means_table(
        list(record.runs),
        [Column(measure) for measure in record.measures],
        lambda name, measure: Mean(record.runs[name].means.get(measure)),
        head="run",
        notes=[f"rules of {record.profile}"],
    )
    warnings = warning_lines(findings, several=len(record.runs) > 1)
    return Document(
        f"Scores of {_title(list(record.runs))}",
        (Section("", (table, sentences(notes), *warnings)),),
        names=frozenset([*record.runs, *record.measures]),
    )


# --- bounds --------------------------------------------------------------------------------------


@view
def bounds_document(bounds: BoundsTable) -> Document:
    """Show how far the means of one run could move."""
    title = f"Bounds of {', '.join(bound.measure for bound in bounds)}"
    return Document(title, (Section("", tuple(_bounds_tables({"": bounds}))),))


def _bounds_tables(bounds: Mapping[str, Sequence[Bounds]]) -> Iterator[Table]:
    """Show how far equal scores and unjudged documents could move the means, where they could."""
    named = [(name, bound) for name, run_bounds in bounds.items() for bound in run_bounds]
    unknown = ["not known", "not known"]
    ties: list[list[Value]] = [
        [
            *(name, bound.measure, bound.value),
            *(unknown if bound.ties is None else (bound.ties.lowest, bound.ties.highest)),
        ]
        for name, bound in named
        if bound.ties is None or f"{bound.ties.lowest:.4f}" != f"{bound.ties.highest:.4f}"
    ]
    holes: list[list[Value]] = [
        [name, bound.measure, bound.value, bound.holes.nonrelevant, bound.holes.relevant]
        for name, bound in named
        if bound.holes is not None
    ]
    grade = max((bound.holes.grade for _, bound in named if bound.holes is not None), default=1.0)
    for title, rows, ends in (
        ("Equal scores could move these means", ties, ("lowest", "highest")),
        ("If all unjudged documents were", holes, ("nonrelevant", f"relevant ({grade:g})")),
    ):
        if rows:
            skip = 0 if any(name for name, _ in named) else 1  # the only run is not named
            columns = (*text_columns("run", "measure"), *map(Column, ("value", *ends)))
            kept = plain_rows(row[skip:] for row in rows)
            yield Table(columns[skip:], kept, title=title, name_columns=2 - skip)


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
