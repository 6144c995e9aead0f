"""A comparison as a document: the decision, means with intervals, pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Answer,
    Axis,
    Cell,
    Column,
    Document,
    Notes,
    Point,
    Points,
    Section,
    Table,
    finding_lines,
)
from rankscope.document.links import queries_link
from rankscope.document.text import p_value
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.measures.language import Measure
from rankscope.reports.definitions import (
    accounting_sentences,
    coverage_section,
    meanings,
    said_once,
)
from rankscope.reports.system_tables import (
    FEW,
    FIRST,
    OUTCOME_TONES,
    Mean,
    SystemLine,
    aliases,
    best_of,
    change_cells,
    change_columns,
    comparison_data,
    decision_table,
    interval_methods,
    means_table,
    outcome_of,
    pairs_table,
)
from rankscope.statistics.choices import METHODS, TESTS
from rankscope.statistics.comparison import LETTERED
from rankscope.statistics.decision import decide
from rankscope.statistics.sentences import differ, listed

if TYPE_CHECKING:
    from rankscope.statistics.comparison import Comparison
    from rankscope.statistics.settings import Settings


PAIRED = 50
"""So many systems are paired with the baseline; without one pairs of the first ten are listed."""


@view
def comparison_document(comparison: Comparison) -> Document:
    """Show the decision and the numbers behind it: all means, and the pairs of the best systems."""
    first = next(iter(comparison.measures))
    means = [mean for mean in comparison.means if mean.measure == first]
    best = next((mean.mean for mean in means if mean.best), 0.0)
    order = [mean.run for mean in sorted(means, key=lambda mean: abs(mean.mean - best))]
    few = best_of(order, [comparison.baseline])
    decision = decide(comparison, first)
    if len(order) == 2:
        table = _two_systems(comparison)
    else:
        table = _decision_table(comparison, few, decision.choice, len(order) - len(few))
    sections = (
        Section("Means", (_means_table(comparison, order),)),
        _pairs_section(comparison, order),
        coverage_section(comparison.accounting),
    )
    points = Points(tuple(_points(comparison)))
    return Document(
        f"Comparison of {listed(comparison.runs, FIRST)}",
        tuple(section for section in sections if section.all_blocks),
        answer=Answer(decision.headline, decision.reason, decision.evidence, (table, points)),
        names=frozenset([*order, *comparison.measures]),
        data=lambda: comparison_data(comparison),
    )


def _mean(comparison: Comparison, run: str, measure: str) -> Mean:
    mean, base = comparison.mean(run, measure), comparison.baseline
    pair = None if base in (None, run) else comparison.pair(run, base or "", measure)
    return Mean(mean.mean, mean.interval, mean.best, pair)


def _decision_table(
    comparison: Comparison, shown: Sequence[str], choice: str | None, left: int
) -> Table:
    """Show what the decision rests on: the first measure, and a few others."""
    first, *others = list(comparison.measures)[: FEW + 1]
    base = comparison.baseline
    lettered = 2 < len(comparison.runs) <= LETTERED and any(m.letters for m in comparison.means)
    columns, lines = [Column(measure) for measure in others], []
    if base is None:
        columns.insert(0, Column("letters" if lettered else "near the best", "text"))
    for run in shown:
        mean = comparison.mean(run, first)
        row = [Cell(comparison.mean(run, measure).mean) for measure in others]
        if base is None:
            row.insert(0, Cell(mean.letters if lettered else "yes" if mean.near_best else ""))
        lines.append(SystemLine(run, _mean(comparison, run, first), others=tuple(row)))
    higher = Measure.parse(first).definition.higher_is_better
    return decision_table(
        first, lines, columns, base=base, choice=choice, higher_is_better=higher, left=left
    )


def _two_systems(comparison: Comparison) -> Table:
    """Show of two systems each measure."""
    pairs = [comparison.pairs.select(measure=measure)[0] for measure in comparison.measures]
    rows = []
    for pair in pairs:
        row = change_cells(pair, outcome_of(pair), OUTCOME_TONES[pair.verdict])
        link = queries_link(measure=pair.measure, a=pair.system, b=pair.base)
        row[2] = Cell(pair.difference, link=link)
        rows.append((Cell(pair.measure), *row))
    columns = change_columns(pairs[0].base, pairs[0].system, "result")
    return Table((Column("measure", "text"), *columns), tuple(rows), axis=Axis(0.0))


def _points(comparison: Comparison) -> Iterator[Point]:
    """Yield what should be known beside the decision, and what comes next."""
    careful = finding_lines(comparison.findings)
    if len(comparison.runs) == 2:  # of more there are too many to speak of
        careful += [
            f"{each.measure}: only {differ(each)}, too few for any test"
            for each in comparison.pairs
            if not each.decidable and not each.is_same
        ]
    if careful:
        yield Point("Careful", tuple(careful[:FEW]), "warning")
    notes = [*aliases(comparison.measures), *_about_data(comparison)]
    notes += [
        f"{each.measure}: no test gives less than p = {p_value(each.p)} where {differ(each)}"
        for each in comparison.pairs
        if each.is_least_p and each.decidable and len(comparison.runs) == 2
    ]
    if notes:
        yield Point("Note", tuple(notes[:FEW]))
    yield Point("Test", (f"{how_tested(comparison.settings)}; {comparison.family}",), "quiet")
    yield Point("Next", ("rankscope diagnose, with the same files, shows where losses are",))


def _pairs_section(comparison: Comparison, ranked: Sequence[str]) -> Section:
    """List the pairs of the best systems; say how many are not listed."""
    base = comparison.baseline
    among = best_of(ranked) if base is None else best_of(ranked, [base], most=PAIRED)
    pairs = comparison.pairs.select(among=among)
    left = len(comparison.pairs) - len(pairs)
    text = (
        f"{left:,} of {len(comparison.pairs):,} pairs are not listed, those of systems with a "
        "lower rank: --format json and csv hold all; tests and corrections are over all of them"
    )
    return Section("Pairs", (pairs_table(pairs), *([Notes((text,))] if left else [])))


def how_tested(settings: Settings) -> str:
    """Return the test, and how it was computed."""
    drawn = ""
    if settings.test != "t":
        drawn = f", {settings.resamples:,} resamples, seed {settings.seed}"
    return f"{TESTS[settings.test]}, two-sided{drawn}"


def _about_data(comparison: Comparison) -> Iterator[str]:
    """Say what was done to the data, and what is missing from it."""
    if comparison.clusters is not None:
        yield f"in {counted(comparison.clusters, 'cluster')}, which are the unit of chance"
    if comparison.weighted:
        yield "weighted"
    if len(comparison.accounting) > len(comparison.runs):
        yield "systems of several runs: for new queries and new runs"
    if comparison.left_out:
        yield f"{counted(comparison.left_out, 'judged query')} left out"
    known = comparison.accounting.items()
    yield from said_once({name: accounting_sentences(each)[1:] for name, each in known})
    if comparison.profile != "rankscope":
        yield f"rules of {comparison.profile}"


def _means_table(comparison: Comparison, ranked: Sequence[str]) -> Table:
    settings = comparison.settings
    methods = interval_methods(mean.interval for mean in comparison.means)
    made = "weighted Student t" if comparison.weighted else methods or METHODS[settings.interval]
    questions = f"{counted(comparison.queries, 'question')}, the same for all runs"
    return means_table(
        ranked,
        list(map(Column, comparison.measures)),
        lambda run, measure: _mean(comparison, run, measure),
        head="run",
        baseline=comparison.baseline,
        notes=(
            *aliases(comparison.measures),
            f"in brackets: {settings.level:.0%} interval of the mean ({made})",
            f"{how_tested(settings)}; {comparison.family}",
            "intervals of differences: at the level that the correction leaves each pair",
            *meanings(comparison.measures, comparison.profile),
            "; ".join([questions, *list(_about_data(comparison))[:FEW]]),
        ),
    )
