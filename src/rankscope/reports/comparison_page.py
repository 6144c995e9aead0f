"""A comparison as a document: the verdict, means with intervals, pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Answer,
    Bar,
    Cell,
    Chart,
    Column,
    Document,
    Notes,
    Point,
    Points,
    Section,
    Table,
    ends,
    finding_lines,
    plain_rows,
    sentences,
    text_columns,
)
from rankscope.document.links import queries_link
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.measures.language import Measure
from rankscope.reports.asked import aliases, interval_methods
from rankscope.reports.decision_table import FIRST, OUTCOME_TONES, SystemLine, decision_table
from rankscope.reports.definitions import definitions_section
from rankscope.reports.mean_coverage import Covered, coverage_section, data_sentences
from rankscope.reports.pair_tables import comparison_data, pairs_table
from rankscope.reports.shown_systems import not_shown, shown_systems
from rankscope.statistics.choices import METHODS, TESTS
from rankscope.statistics.comparison import LETTERED
from rankscope.statistics.decision import decide
from rankscope.statistics.letters import letters
from rankscope.statistics.sentences import differ, listed

if TYPE_CHECKING:
    from rankscope.statistics.comparison import Comparison, SystemMean
    from rankscope.statistics.settings import Settings
    from rankscope.statistics.system_pairs import Pair, Verdict


NAMED = 10
"""Up to so many runs are named in the title."""

PAIRED = 100
"""Pairs among so many systems are listed at the most (4,950 for each measure)."""


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
    chart = Chart(
        first,
        tuple(
            Bar(mean.run, mean.mean, ends(mean.interval), "strong" if mean.best else "plain")
            for mean in ranked(comparison)
            if mean.run in set(shown)
        ),
        note="; ".join(not_shown(len(shown), len(order), first)),
    )
    pairs = comparison.pairs.select(among=_paired(comparison, shown))
    sections = (
        Section("By measure", (sentences(verdicts(comparison)),)),
        Section("Means", (chart, _means_table(comparison, shown))),
        *_groups_section(comparison, shown),
        Section("Pairs", (pairs_table(pairs), *_pairs_left(comparison, pairs))),
        coverage_section(_covered(comparison, shown), profile=comparison.profile),
        definitions_section(
            list(comparison.measures), asked=comparison.measures, profile=comparison.profile
        ),
    )
    decision = decide(comparison, first)
    points = Points(tuple(_points(comparison)))
    return Document(
        f"Comparison of {_names(comparison)}",
        tuple(section for section in sections if section.all_blocks),
        answer=Answer(
            decision.headline,
            decision.reason,
            decision.evidence,
            (_decision_table(comparison, few, decision.choice, len(order) - len(few)), points),
        ),
        names=frozenset([*shown, *comparison.measures]),
        data=lambda: comparison_data(comparison),
    )


def _decision_table(
    comparison: Comparison, shown: Sequence[str], choice: str | None, left: int
) -> Table:
    """Show what the decision rests on: of two systems each measure, of more the first measure."""
    if len(comparison.runs) == 2:
        return _two_systems(comparison)
    first, *others = comparison.measures
    base, lettered = comparison.baseline, shows_letters(comparison)
    columns, lines = [Column(measure) for measure in others[:MOST_OTHERS]], []
    if base is None:
        columns.insert(0, Column("letters" if lettered else "near the best", "text"))
    for run in shown:
        mean = comparison.mean(run, first)
        cells = [Cell(comparison.mean(run, measure).mean) for measure in others[:MOST_OTHERS]]
        if base is None:
            cells.insert(0, Cell(mean.letters if lettered else "yes" if mean.near_best else ""))
        pair = None if base is None or run == base else comparison.pair(run, base, first)
        lines.append(SystemLine(run, mean.mean, mean.interval, pair, others=tuple(cells)))
    higher = Measure.parse(first).definition.higher_is_better
    return decision_table(
        first, lines, columns, base=base, choice=choice, higher_is_better=higher, left=left
    )


MOST_OTHERS = 3
"""So many measures are shown beside the first one."""


def _two_systems(comparison: Comparison) -> Table:
    pairs = [comparison.pairs.select(measure=measure)[0] for measure in comparison.measures]
    base, system = pairs[0].base, pairs[0].system
    rows = tuple(
        (
            Cell(pair.measure),
            Cell(pair.base_mean),
            Cell(pair.system_mean),
            Cell(pair.difference, link=_pair_link(pair)),
            Cell(interval=ends(pair.interval)),
            Cell(pair.p_corrected),
            Cell(pair.verdict, tone=OUTCOME_TONES[pair.verdict]),
        )
        for pair in pairs
    )
    columns = (
        Column("measure", "text"),
        Column(base),
        Column(system),
        Column("change", signed=True),
        Column("95% interval", "interval", signed=True),
        Column("p", "p"),
        Column("result", "text"),
    )
    return Table(columns, rows)


def _pair_link(pair: Pair) -> str:
    return queries_link(measure=pair.measure, a=pair.system, b=pair.base, sort="delta")


def _points(comparison: Comparison) -> Iterator[Point]:
    """Yield what should be known beside the decision, and what comes next."""
    careful = finding_lines(comparison.findings)
    undecidable = [pair for pair in _first_pairs(comparison) if not pair.decidable]
    careful += [
        f"{pair.measure}: only {differ(pair)}, too few for any test" for pair in undecidable
    ]
    if careful:
        yield Point("Careful", tuple(careful[:MOST_CAREFUL]), "warning")
    notes = [*aliases(comparison.measures), *_parts(comparison)]
    if notes:
        yield Point("Note", tuple(notes[:MOST_CAREFUL]))
    yield Point("Test", (f"{how_tested(comparison.settings)}; {comparison.family}",), "quiet")
    yield Point("Next", ("rankscope diagnose, with the same files, shows where losses are",))


MOST_CAREFUL = 3
"""So many lines of one kind are shown at first."""


def _first_pairs(comparison: Comparison) -> list[Pair]:
    """Return the pair of two systems by measure; of more systems there are too many to speak of."""
    return list(comparison.pairs) if len(comparison.runs) == 2 else []


def _names(comparison: Comparison) -> str:
    runs = comparison.runs
    return ", ".join(runs) if len(runs) <= NAMED else f"{len(runs):,} runs"


def ranked(comparison: Comparison) -> list[SystemMean]:
    """Return the means of the first measure, best first; of equal ones in the systems' order."""
    first = next(iter(comparison.measures))
    means = [mean for mean in comparison.means if mean.measure == first]
    best = next((mean.mean for mean in means if mean.best), 0.0)
    return sorted(means, key=lambda mean: abs(mean.mean - best))


def _paired(comparison: Comparison, shown: Sequence[str]) -> Sequence[str]:
    """Return the systems whose pairs are listed: those shown, and not so many as to fill a book."""
    if comparison.baseline is not None or len(shown) <= PAIRED:
        return shown
    return shown[:PAIRED]


def _pairs_left(comparison: Comparison, pairs: Sequence[Pair]) -> tuple[Notes, ...]:
    """Say how many pairs are not listed."""
    left = len(comparison.pairs) - len(pairs)
    if not left:
        return ()
    text = (
        f"{left:,} of {len(comparison.pairs):,} pairs are not listed, those of systems with a "
        "lower rank: --format json and csv hold all; tests and corrections are over all of them"
    )
    return (Notes((text,)),)


def _groups_section(comparison: Comparison, shown: Sequence[str]) -> Iterator[Section]:
    """Show letters of the systems that are shown, by measure, where all pairs were compared."""
    if len(shown) < 3 or not any(mean.letters for mean in comparison.means):
        return
    by_measure = []
    for measure in comparison.measures:
        places = [comparison.mean(run, measure).mean for run in shown]
        best = next(mean.mean for mean in comparison.means if mean.measure == measure and mean.best)
        order = sorted(range(len(shown)), key=lambda at: abs(places[at] - best))
        by_measure.append(letters(comparison.pairs.apart(measure, shown), order))
    rows = plain_rows(zip(shown, *by_measure, strict=True))
    note = "same letter: can't tell apart"
    table = Table(text_columns("run", *comparison.measures), rows, notes=(note,))
    yield Section("Groups", details=(table,))


def _covered(comparison: Comparison, shown: Sequence[str]) -> dict[str, Covered]:
    """Return what the means of the runs that are shown are made of; a system may be of several."""
    if len(shown) == len(comparison.runs):
        return {name: Covered(each) for name, each in comparison.accounting.items()}
    known = comparison.accounting
    return {name: Covered(known[name]) for name in shown if name in known}


def shows_letters(comparison: Comparison) -> bool:
    """Tell whether letters say more than the verdict does, and are few enough to be read."""
    is_read = 2 < len(comparison.runs) <= LETTERED
    return is_read and any(mean.letters for mean in comparison.means)


def notes(comparison: Comparison) -> Iterator[str]:
    """Say what the table shows: signs, test, family, queries; always with its seed."""
    settings = comparison.settings
    yield from aliases(comparison.measures)
    yield f"in brackets: {settings.level:.0%} interval of the mean ({_methods(comparison)})"
    yield f"{how_tested(settings)}; {comparison.family}"
    yield "intervals of differences: at the level that the correction leaves each pair"
    yield _queries(comparison)


def _methods(comparison: Comparison) -> str:
    """Return which methods made the intervals of means."""
    if comparison.weighted and comparison.clusters is None:
        return "weighted Student t"
    methods = interval_methods(mean.interval for mean in comparison.means)
    return methods or METHODS[comparison.settings.interval]


def how_tested(settings: Settings) -> str:
    """Return the test, and how it was computed."""
    drawn = ""
    if settings.test != "t":
        drawn = f", {settings.resamples:,} resamples, seed {settings.seed}"
    return f"{TESTS[settings.test]}, two-sided{drawn}"


def _queries(comparison: Comparison) -> str:
    start = f"{counted(comparison.queries, 'question')}, the same for all runs"
    return "; ".join([start, *_parts(comparison)])


def _parts(comparison: Comparison) -> list[str]:
    """Say what was done to the data."""
    parts = []
    if comparison.clusters is not None:
        parts.append(f"in {counted(comparison.clusters, 'cluster')}, which are the unit of chance")
    if comparison.weighted:
        parts.append("weighted")
    if len(comparison.accounting) > len(comparison.runs):
        parts.append("systems of several runs: for new queries and new runs")
    fates = {"all": "counted as 0", "both": "left out for all runs"}
    lacking = {name: each for name, each in comparison.accounting.items() if each.missing}
    for name, accounting in list(lacking.items())[:NAMED]:
        fate = fates.get(accounting.missing_policy, "")
        missing = counted(accounting.missing, "judged query")
        parts.append(f"{name} lacks {missing}, {fate}")
    if len(lacking) > NAMED:
        parts.append(f"{counted(len(lacking) - NAMED, 'more run')} likewise")
    if comparison.left_out:
        parts.append(f"{counted(comparison.left_out, 'judged query')} left out")
    by_run = {name: data_sentences(run) for name, run in comparison.accounting.items()}
    for sentence in dict.fromkeys(sentence for each in by_run.values() for sentence in each):
        names = [name for name, each in by_run.items() if sentence in each]
        whose = "" if len(names) == len(by_run) else f"{_few(names)}: "
        parts.append(f"{whose}{sentence}")
    without = max(accounting.without_relevant for accounting in comparison.accounting.values())
    if without:
        parts.append(f"{without:,} without a relevant document, scored 0")
    if comparison.profile != "rankscope":
        parts.append(f"rules of {comparison.profile}")
    return parts


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= NAMED else listed(names, NAMED)


def verdicts(comparison: Comparison, most: int = 3) -> list[str]:
    """Say what the data show on the first measure, and in short what the others show."""
    first = next(iter(comparison.measures))
    if len(comparison.pairs.rows(measure=first)) > most:
        is_tested = any(mean.near_best is not None for mean in comparison.means)
        return _of_many(comparison) if is_tested else _against_baseline(comparison)
    main = comparison.pairs.select(measure=first)
    lines = [pair.sentence for pair in main]
    others = [pair for pair in comparison.pairs if pair.measure != first]
    for pair in main if others else []:
        same = [other for other in others if (other.base, other.system) == (pair.base, pair.system)]
        lines.append(f"{pair.system} against {pair.base} otherwise: {_by_verdict(same)}")
    return lines


def _of_many(comparison: Comparison) -> list[str]:
    """Say which of many systems may be the best, by each measure."""
    order = [mean.run for mean in ranked(comparison)]
    lines = []
    for measure in comparison.measures:
        near = {mean.run for mean in comparison.means if mean.measure == measure and mean.near_best}
        best = next(m.run for m in comparison.means if m.measure == measure and m.best)
        others = [run for run in order if run in near and run != best]
        rest = (
            f"is not separated from {listed(others, 5)}"
            if others
            else "is better than all other systems"
        )
        rows = comparison.pairs.rows(measure=measure)
        clear = int(comparison.pairs.separated(rows).sum())
        lines.append(
            f"{measure}: {best} has the best mean of {len(comparison.runs):,} systems, and {rest}; "
            f"{clear:,} of {len(rows):,} pairs differ"
        )
    return lines


def _against_baseline(comparison: Comparison) -> list[str]:
    """Say which systems are better than the baseline, worse, or neither, by each measure."""
    order: tuple[Verdict, ...] = ("better", "worse", "equivalent", "can't tell")
    place = {mean.run: at for at, mean in enumerate(ranked(comparison))}
    lines = []
    for measure in comparison.measures:
        pairs = sorted(
            comparison.pairs.select(measure=measure), key=lambda pair: place[pair.system]
        )
        groups = {
            verdict: [pair.system for pair in pairs if pair.verdict == verdict] for verdict in order
        }
        phrases = "; ".join(f"{word}: {listed(runs, 5)}" for word, runs in groups.items() if runs)
        lines.append(f"{measure}, against {pairs[0].base}: {phrases}")
    return lines


def _by_verdict(pairs: list[Pair]) -> str:
    measures: dict[str, list[str]] = {}
    for pair in pairs:
        measures.setdefault(pair.verdict, []).append(pair.measure)
    return "; ".join(f"{word} on {', '.join(names)}" for word, names in measures.items())


def _means_table(comparison: Comparison, shown: Sequence[str]) -> Table:
    rows = []
    for run in shown:
        note = "baseline" if run == comparison.baseline else ""
        means = (comparison.mean(run, measure) for measure in comparison.measures)
        rows.append((Cell(run, note=note), *(_mean_cell(mean) for mean in means)))
    return Table(
        (Column("run", "text"), *map(Column, comparison.measures)),
        tuple(rows),
        notes=(
            *not_shown(
                len(shown),
                len(comparison.runs),
                next(iter(comparison.measures)),
                tested=True,
            ),
            *notes(comparison),
        ),
        best="best mean",
        columns_are="measure",
    )


def _mean_cell(mean: SystemMean) -> Cell:
    link = queries_link(measure=mean.measure, a=mean.run, sort="a")
    return Cell(mean.mean, ends(mean.interval), best=mean.best, link=link)
