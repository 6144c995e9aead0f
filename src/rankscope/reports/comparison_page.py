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
    cells,
    ends,
    finding_lines,
)
from rankscope.document.links import queries_link
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.measures.language import Measure
from rankscope.reports.definitions import definitions_section
from rankscope.reports.mean_coverage import Covered, coverage_section, data_sentences
from rankscope.reports.said_beside import aliases, interval_methods
from rankscope.reports.system_tables import (
    FIRST,
    OUTCOME_TONES,
    Mean,
    SystemLine,
    comparison_data,
    decision_table,
    means_table,
    not_shown,
    pairs_table,
    shown_systems,
)
from rankscope.statistics.choices import METHODS, TESTS
from rankscope.statistics.comparison import LETTERED
from rankscope.statistics.decision import decide
from rankscope.statistics.sentences import differ, listed

if TYPE_CHECKING:
    from rankscope.statistics.comparison import Comparison, SystemMean
    from rankscope.statistics.settings import Settings


NAMED = 10
"""Up to so many runs are named in the title."""

PAIRED = 100
"""Pairs among so many systems are listed at the most (4,950 for each measure)."""

MOST_OTHERS = 3
"""So many measures are shown beside the first one."""

MOST_CAREFUL = 3
"""So many lines of one kind are shown at first."""


@view
def comparison_document(comparison: Comparison, *, max_systems: int | None = None) -> Document:
    """Show the decision and the numbers behind it; behind that every pair.

    ``max_systems``: how many systems are shown, the best by the first measure and the baseline;
    None: up to 10, and up to 50 behind the answer; 0: all. What is not shown changes no number.
    """
    first = next(iter(comparison.measures))
    order = [mean.run for mean in ranked(comparison)]
    shown = shown_systems(order, max_systems, [comparison.baseline])
    few = shown_systems(order, max_systems, [comparison.baseline], most=FIRST)
    paired = shown if comparison.baseline is not None else shown[:PAIRED]
    pairs = comparison.pairs.select(among=paired)
    sections = (
        Section("Means", (_means_table(comparison, shown),)),
        Section("Pairs", (pairs_table(pairs), *_pairs_left(comparison, len(pairs)))),
        coverage_section(_covered(comparison, shown), profile=comparison.profile),
        definitions_section(
            list(comparison.measures), asked=comparison.measures, profile=comparison.profile
        ),
    )
    decision = decide(comparison, first)
    table = (
        _two_systems(comparison)
        if len(order) == 2
        else _decision_table(comparison, few, decision.choice, len(order) - len(few))
    )
    return Document(
        f"Comparison of {_few(comparison.runs)}",
        tuple(section for section in sections if section.all_blocks),
        answer=Answer(
            decision.headline,
            decision.reason,
            decision.evidence,
            (table, Points(tuple(_points(comparison)))),
        ),
        names=frozenset([*shown, *comparison.measures]),
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
    first, *others = list(comparison.measures)[: MOST_OTHERS + 1]
    base, lettered = comparison.baseline, shows_letters(comparison)
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
    rows = tuple(
        (
            *cells(pair.measure, pair.base_mean, pair.system_mean),
            Cell(
                pair.difference,
                link=queries_link(measure=pair.measure, a=pair.system, b=pair.base),
            ),
            Cell(pair.difference, ends(pair.interval), tone=OUTCOME_TONES[pair.verdict]),
            Cell(interval=ends(pair.interval)),
            Cell(pair.p_corrected),
            Cell("the same" if pair.is_same else pair.verdict, tone=OUTCOME_TONES[pair.verdict]),
        )
        for pair in pairs
    )
    columns = (
        Column("measure", "text"),
        Column(pairs[0].base),
        Column(pairs[0].system),
        Column("change", signed=True),
        Column("", "whisker"),
        Column("95% interval", "interval", signed=True),
        Column("p", "p"),
        Column("result", "outcome"),
    )
    return Table(columns, rows, axis=Axis(0.0))


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
        yield Point("Careful", tuple(careful[:MOST_CAREFUL]), "warning")
    notes = [*_told_elsewhere(comparison), *aliases(comparison.measures), *_parts(comparison)]
    if notes:
        yield Point("Note", tuple(notes[:MOST_CAREFUL]))
    yield Point("Test", (f"{how_tested(comparison.settings)}; {comparison.family}",), "quiet")
    yield Point("Next", ("rankscope diagnose, with the same files, shows where losses are",))


def _told_elsewhere(comparison: Comparison) -> Iterator[str]:
    """Say which systems another measure tells from the baseline, where the first cannot.

    Of two systems the table shows it.
    """
    first, *others = comparison.measures
    base = comparison.baseline
    if base is None or len(comparison.runs) == 2:
        return
    open_ones = {
        pair.system
        for pair in comparison.pairs.select(measure=first, base=base)
        if pair.verdict == "can't tell"
    }
    for measure in others:
        for pair in comparison.pairs.select(measure=measure, base=base):
            if pair.system in open_ones and pair.verdict in ("better", "worse"):
                yield f"{pair.sentence}, though {first} can't tell"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= NAMED else listed(names, NAMED)


def ranked(comparison: Comparison) -> list[SystemMean]:
    """Return the means of the first measure, best first; of equal ones in the systems' order."""
    first = next(iter(comparison.measures))
    means = [mean for mean in comparison.means if mean.measure == first]
    best = next((mean.mean for mean in means if mean.best), 0.0)
    return sorted(means, key=lambda mean: abs(mean.mean - best))


def _pairs_left(comparison: Comparison, listed_pairs: int) -> tuple[Notes, ...]:
    """Say how many pairs are not listed."""
    left = len(comparison.pairs) - listed_pairs
    text = (
        f"{left:,} of {len(comparison.pairs):,} pairs are not listed, those of systems with a "
        "lower rank: --format json and csv hold all; tests and corrections are over all of them"
    )
    return (Notes((text,)),) if left else ()


def _covered(comparison: Comparison, shown: Sequence[str]) -> dict[str, Covered]:
    """Return what the means of the runs that are shown are made of; a system may be of several."""
    known = comparison.accounting
    names = list(known) if len(shown) == len(comparison.runs) else [n for n in shown if n in known]
    return {name: Covered(known[name]) for name in names}


def shows_letters(comparison: Comparison) -> bool:
    """Tell whether letters say more than the verdict does, and are few enough to be read."""
    is_read = 2 < len(comparison.runs) <= LETTERED
    return is_read and any(mean.letters for mean in comparison.means)


def how_tested(settings: Settings) -> str:
    """Return the test, and how it was computed."""
    drawn = ""
    if settings.test != "t":
        drawn = f", {settings.resamples:,} resamples, seed {settings.seed}"
    return f"{TESTS[settings.test]}, two-sided{drawn}"


def _parts(comparison: Comparison) -> list[str]:
    """Say what was done to the data."""
    parts = []
    if comparison.clusters is not None:
        parts.append(f"in {counted(comparison.clusters, 'cluster')}, which are the unit of chance")
    if comparison.weighted:
        parts.append("weighted")
    if len(comparison.accounting) > len(comparison.runs):
        parts.append("systems of several runs: for new queries and new runs")
    lacking = [each for each in comparison.accounting.values() if each.missing]
    if lacking:
        fates = {"all": "counted as 0", "both": "left out for all runs"}
        most = counted(max(each.missing for each in lacking), "judged query")
        fate = fates.get(lacking[0].missing_policy, "")
        parts.append(f"{counted(len(lacking), 'run')} missing up to {most}, {fate}")
    if comparison.left_out:
        parts.append(f"{counted(comparison.left_out, 'judged query')} left out")
    by_run = {name: data_sentences(run) for name, run in comparison.accounting.items()}
    for sentence in dict.fromkeys(sentence for each in by_run.values() for sentence in each):
        names = [name for name, each in by_run.items() if sentence in each]
        parts.append(sentence if len(names) == len(by_run) else f"{_few(names)}: {sentence}")
    without = max(accounting.without_relevant for accounting in comparison.accounting.values())
    if without:
        parts.append(f"{without:,} without a relevant document, scored 0")
    if comparison.profile != "rankscope":
        parts.append(f"rules of {comparison.profile}")
    return parts


def _means_table(comparison: Comparison, shown: Sequence[str]) -> Table:
    settings, first = comparison.settings, next(iter(comparison.measures))
    methods = interval_methods(mean.interval for mean in comparison.means)
    made = "weighted Student t" if comparison.weighted else methods or METHODS[settings.interval]
    questions = f"{counted(comparison.queries, 'question')}, the same for all runs"
    return means_table(
        shown,
        list(map(Column, comparison.measures)),
        lambda run, measure: _mean(comparison, run, measure),
        head="run",
        baseline=comparison.baseline,
        notes=(
            *not_shown(len(shown), len(comparison.runs), first),
            *aliases(comparison.measures),
            f"in brackets: {settings.level:.0%} interval of the mean ({made})",
            f"{how_tested(settings)}; {comparison.family}",
            "intervals of differences: at the level that the correction leaves each pair",
            "; ".join([questions, *_parts(comparison)]),
        ),
    )
