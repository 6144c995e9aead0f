"""Scores as a document: means, what they are made of, and how far they could move."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankscope.document.blocks import (
    Block,
    Cell,
    Column,
    Document,
    Section,
    Table,
    Value,
    named_queries,
    plain_rows,
    text_columns,
    warning_lines,
)
from rankscope.document.links import queries_link
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.measures.language import Measure, parse_trec_measures
from rankscope.measures.names import NICKNAMES
from rankscope.printing import visible
from rankscope.reports.asked import aliases, interval_methods
from rankscope.reports.definitions import definitions_section
from rankscope.reports.mean_coverage import Covered, coverage_section, data_sentences
from rankscope.reports.shown_systems import MOST_SYSTEMS, best_shown, not_shown
from rankscope.scoring.inputs import documents_of

if TYPE_CHECKING:
    from rankscope.scoring.accounting import Accounting
    from rankscope.scoring.bounds import Bounds, BoundsTable
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
    """Show means, a row for each run; ``per_query`` puts the values of every query first.

    ``intervals`` says whether means have their confidence intervals (None: up to `FEW` values of a
    measure), and ``worst`` how many of the worst queries of each run are listed: with their
    ``texts``, and with what is expected and, where the runs are given as ``answers``, retrieved.
    ``max_systems``: how many runs are shown, the best by the first measure; None: up to 50; 0: all.
    """
    first = scores.measures[0]
    shown = best_shown(
        {name: scores.run(name).means[first] for name in scores.runs},
        max_systems,
        higher_is_better=Measure.parse(first).definition.higher_is_better,
    )
    runs = [scores.run(name) for name in shown]
    if intervals is None:
        intervals = sum(len(scores.run(name).query_ids) for name in scores.runs) <= FEW
    blocks: list[Block] = [
        _means_table(scores, shown, intervals=intervals),
        *warning_lines(scores.findings, several=len(scores.runs) > 1),
        *_bounds_tables({name: (bounds or {})[name] for name in shown if name in (bounds or {})}),
    ]
    if worst:
        blocks += [
            _worst_table(scores, run, worst, texts or {}, (answers or {}).get(run.name))
            for run in runs
        ]
    if per_query:
        blocks[:0] = [
            _per_query_table(scores, run, title=run.name if len(runs) > 1 else "") for run in runs
        ]
    return Document(
        f"Scores of {_title(scores)}",
        (Section("", tuple(blocks)),),
        names=frozenset([*shown, *scores.measures]),
        data=lambda: _per_query_data(scores) if per_query else _means_data(scores),
        appendix=(
            coverage_section(
                {run.name: Covered(run.accounting) for run in runs}, profile=scores.profile.name
            ),
            definitions_section(
                scores.measures,
                asked=scores.asked,
                profile=scores.profile.name,
            ),
        ),
    )


def _title(scores: Scores) -> str:
    few = len(scores.runs) <= MOST_SYSTEMS
    return ", ".join(scores.runs) if few else f"{len(scores.runs):,} runs"


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
    parts = [f"mean over {counted(accounting.queries, 'query')}"]
    if accounting.missing:
        missing = counted(accounting.missing, "judged query")
        parts.append(f"{missing} missing from the run, {_MISSING[accounting.missing_policy]}")
    if accounting.without_relevant:
        count = counted(accounting.without_relevant, "query")
        fate = "scored 0" if accounting.without_relevant_policy == "zero" else "left out"
        parts.append(f"{count} without a relevant document, {fate}")
    if accounting.unjudged:
        parts.append(f"{counted(accounting.unjudged, 'query')} of the run not judged, left out")
    parts += data_sentences(accounting)
    tied = {cutoff: count for cutoff, count in accounting.tied_across_cutoff.items() if count}
    if tied:
        places = ", ".join(f"rank {cutoff} in {count:,}" for cutoff, count in tied.items())
        parts.append(f"queries with tied scores across {places}")
    return parts


def _notes(scores: Scores, shown: Sequence[str]) -> Iterator[str]:
    yield from not_shown(len(shown), len(scores.runs), scores.measures[0])
    yield from aliases(scores.asked)
    by_run = {name: "; ".join(accounting_sentences(scores.run(name).accounting)) for name in shown}
    if len(set(by_run.values())) == 1:
        yield next(iter(by_run.values()))
    else:
        yield from (f"{name}: {sentence}" for name, sentence in by_run.items())
    if scores.reading:
        yield scores.reading
    if scores.profile.name != "rankscope":
        yield f"rules of {scores.profile.name}: {scores.profile.summary}"
    for measure, reason in scores.not_promised.items():
        yield f"{measure} may differ from that of {scores.profile.name}: {reason}"


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
