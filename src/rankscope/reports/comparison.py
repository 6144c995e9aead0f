"""A comparison as a document: the verdict, means with intervals, pairs, strata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Bar,
    Cell,
    Chart,
    Column,
    Document,
    Section,
    Sentence,
    Sentences,
    Table,
    Value,
    cells,
    ends,
    marked,
    marker_note,
    plain_rows,
    sentences,
    text_columns,
    warning_lines,
)
from rankscope.document.links import queries_link
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.reports.mean_coverage import Covered, coverage_section, data_sentences
from rankscope.reports.measure_definitions import definitions_section
from rankscope.statistics.choices import METHODS, PAIR_TESTS
from rankscope.statistics.sentences import listed

if TYPE_CHECKING:
    from rankscope.statistics.compare import Comparison, SystemMean
    from rankscope.statistics.intervals import Interval
    from rankscope.statistics.pairwise import Pair, Verdict
    from rankscope.statistics.settings import Settings
    from rankscope.statistics.strata import StratifiedPair


NAMED = 10
"""Up to so many runs are named in the title."""

NEAR = "≈"
"""Marks a system that is not shown to be worse than the best of many."""


@view
def comparison_document(comparison: Comparison) -> Document:
    """Show what the data say of each pair, and the numbers behind it."""
    first = next(iter(comparison.measures))
    chart = Chart(
        first,
        tuple(
            Bar(mean.run, mean.mean, ends(mean.interval), "strong" if mean.best else "plain")
            for mean in ranked(comparison)
        ),
    )
    strata = Section("By stratum", tuple(_strata_blocks(comparison)))
    return Document(
        f"Comparison of {_names(comparison)}",
        (
            Section("Verdict", (sentences(verdicts(comparison)), *_cautions(comparison))),
            Section(
                "Means",
                (chart, _means_table(comparison), *warning_lines(comparison.findings)),
            ),
            Section("Pairs", details=(pairs_table(comparison.pairs),)),
            *_probable_section(comparison),
            *_holes_section(comparison),
            *([strata] if strata.blocks else []),
        ),
        names=frozenset([*comparison.runs, *comparison.measures]),
        data=lambda: _data(comparison),
        appendix=(
            coverage_section(
                {name: Covered(each) for name, each in comparison.accounting.items()},
                profile=comparison.profile,
            ),
            definitions_section(
                list(comparison.measures), asked=comparison.measures, profile=comparison.profile
            ),
        ),
    )


def _names(comparison: Comparison) -> str:
    runs = comparison.runs
    return ", ".join(runs) if len(runs) <= NAMED else f"{len(runs):,} runs"


def ranked(comparison: Comparison) -> list[SystemMean]:
    """Return the means of the first measure, best first; of equal ones in the systems' order."""
    first = next(iter(comparison.measures))
    means = [mean for mean in comparison.means if mean.measure == first]
    best = next((mean.mean for mean in means if mean.best), 0.0)
    return sorted(means, key=lambda mean: abs(mean.mean - best))


def shows_letters(comparison: Comparison) -> bool:
    """Tell whether there are letters, and whether they say more than the verdict does."""
    return len(comparison.runs) > 2 and any(mean.letters for mean in comparison.means)


def shows_near(comparison: Comparison) -> bool:
    """Tell whether who may be the best is marked in place of letters."""
    known = any(mean.near_best is not None for mean in comparison.means)
    return known and not any(mean.letters for mean in comparison.means)


def _cautions(comparison: Comparison) -> tuple[Sentences, ...]:
    """Say what the tests could not have shown."""
    if not comparison.note:
        return ()
    return (Sentences((Sentence(f"warning: {comparison.note}", "warning"),)),)


def notes(comparison: Comparison) -> Iterator[str]:
    """Say what the table shows: signs, test, family, queries; always with its seed."""
    settings = comparison.settings
    yield from aliases(comparison.measures)
    yield f"in brackets: {settings.level:.0%} interval of the mean ({_methods(comparison)})"
    if comparison.baseline is not None:
        yield marker_note(comparison.baseline, alpha=settings.alpha)
    if shows_letters(comparison):
        yield "same letter: not shown to differ"
    if shows_near(comparison):
        yield f"{NEAR}: not shown to be worse than the best"
    yield f"{how_tested(settings)}; {comparison.family}"
    yield f"intervals of differences: {1 - settings.alpha:.0%}, Student t, for the family at once"
    yield _queries(comparison)


def aliases(asked: Mapping[str, str]) -> Iterator[str]:
    """Say which measures were asked for under other names."""
    for measure, name in asked.items():
        if measure != name:
            yield f"{measure}, asked for as {name}"


_INTERVALS = {
    "bca": "BCa bootstrap",
    "percentile": "percentile bootstrap",
    "t": "Student t",
    "wilson": "Wilson",
    "cluster t": "Student t over clusters",
}
"""What the methods that answered are called; values that do not vary have no method."""


def _methods(comparison: Comparison) -> str:
    """Return which methods made the intervals of means."""
    if comparison.weighted and comparison.clusters is None:
        return "weighted Student t"
    methods = interval_methods(mean.interval for mean in comparison.means)
    return methods or METHODS[comparison.settings.interval]


def interval_methods(intervals: Iterable[Interval]) -> str:
    """Return the methods that made some intervals; '' if none varies."""
    methods = dict.fromkeys(interval.method for interval in intervals)
    return " or ".join(_INTERVALS[method] for method in methods if method in _INTERVALS)


def how_tested(settings: Settings) -> str:
    """Return the test, and how it was computed."""
    drawn = ""
    if settings.test not in ("t", "wilcoxon", "sign"):
        drawn = f", {settings.resamples:,} resamples, seed {settings.seed}"
    return f"{PAIR_TESTS[settings.test]}, two-sided{drawn}"


def _queries(comparison: Comparison) -> str:
    parts = [f"{counted(comparison.queries, 'query')}, the same for all runs"]
    if comparison.clusters is not None:
        parts.append(f"in {counted(comparison.clusters, 'cluster')}, which are the unit of chance")
    if comparison.weighted:
        parts.append("weighted")
    if any(mean.seeds for mean in comparison.means):
        parts.append("systems of several runs: for new queries and new runs")
    fates = {"all": "counted as 0", "both": "left out for all runs"}
    for name, accounting in comparison.accounting.items():
        if accounting.missing:
            fate = fates.get(accounting.missing_policy, "")
            missing = counted(accounting.missing, "judged query")
            parts.append(f"{name} lacks {missing}, {fate}")
    if comparison.left_out:
        parts.append(f"{counted(comparison.left_out, 'judged query')} left out")
    by_run = {name: data_sentences(run) for name, run in comparison.accounting.items()}
    for sentence in dict.fromkeys(sentence for each in by_run.values() for sentence in each):
        names = [name for name, each in by_run.items() if sentence in each]
        parts.append(sentence if len(names) == len(by_run) else f"{', '.join(names)}: {sentence}")
    without = max(accounting.without_relevant for accounting in comparison.accounting.values())
    if without:
        parts.append(f"{without:,} without a relevant document, scored 0")
    if comparison.profile != "rankscope":
        parts.append(f"rules of {comparison.profile}")
    return "; ".join(parts)


def verdicts(comparison: Comparison, most: int = 3) -> list[str]:
    """Say what the data show on the first measure, and in short what the others show."""
    first = next(iter(comparison.measures))
    main = [pair for pair in comparison.pairs if pair.measure == first]
    if len(main) > most:
        is_tested = any(mean.near_best is not None for mean in comparison.means)
        return _of_many(comparison) if is_tested else _against_baseline(comparison)
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
        pairs = [pair for pair in comparison.pairs if pair.measure == measure]
        clear = sum(pair.verdict in ("better", "worse") for pair in pairs)
        lines.append(
            f"{measure}: {best} has the best mean of {len(comparison.runs)} systems, and {rest}; "
            f"{clear:,} of {len(pairs):,} pairs differ"
        )
    return lines


def _against_baseline(comparison: Comparison) -> list[str]:
    """Say which systems are better than the baseline, worse, or neither, by each measure."""
    words: dict[Verdict, str] = {
        "better": "better",
        "worse": "worse",
        "equivalent": "equivalent",
        "no difference shown": "not shown to differ",
    }
    order = [mean.run for mean in ranked(comparison)]
    lines = []
    for measure in comparison.measures:
        pairs = sorted(
            (pair for pair in comparison.pairs if pair.measure == measure),
            key=lambda pair: order.index(pair.system),
        )
        groups = {
            word: [pair.system for pair in pairs if pair.verdict == verdict]
            for verdict, word in words.items()
        }
        phrases = "; ".join(f"{word}: {listed(runs, 5)}" for word, runs in groups.items() if runs)
        lines.append(f"{measure}, against {pairs[0].base}: {phrases}")
    return lines


def _by_verdict(pairs: list[Pair]) -> str:
    measures: dict[str, list[str]] = {}
    for pair in pairs:
        word = "cannot tell" if pair.verdict == "no difference shown" else pair.verdict
        measures.setdefault(word, []).append(pair.measure)
    return "; ".join(f"{word} on {', '.join(names)}" for word, names in measures.items())


def _means_table(comparison: Comparison) -> Table:
    rows = []
    for run in (mean.run for mean in ranked(comparison)):
        note = "baseline" if run == comparison.baseline else ""
        means = (comparison.mean(run, measure) for measure in comparison.measures)
        rows.append((Cell(run, note=note), *(_mean_cell(comparison, mean) for mean in means)))
    return Table(
        (Column("run", "text"), *map(Column, comparison.measures)),
        tuple(rows),
        notes=tuple(notes(comparison)),
        best="best mean",
        columns_are="measure",
    )


def _mean_cell(comparison: Comparison, mean: SystemMean) -> Cell:
    letters = mean.letters if shows_letters(comparison) else ""
    if shows_near(comparison) and mean.near_best:
        letters = NEAR
    link = queries_link(measure=mean.measure, a=mean.run, sort="a")
    cell = Cell(mean.mean, ends(mean.interval), letters=letters, best=mean.best, link=link)
    if comparison.baseline is None or mean.run == comparison.baseline:
        return cell
    pair = comparison.pair(mean.run, comparison.baseline, mean.measure)
    if pair.verdict not in ("better", "worse"):
        return cell
    is_better = pair.verdict == "better"
    alpha = comparison.settings.alpha
    return marked(cell, pair.p_corrected, alpha=alpha, is_better=is_better)


def _pair_link(pair: Pair, **shown: str) -> str:
    return queries_link(measure=pair.measure, a=pair.system, b=pair.base, **shown)


def pairs_table(pairs: Sequence[Pair], title: str = "") -> Table:
    """Show differences with intervals, tests and verdicts."""
    rows = tuple(
        (
            *cells(pair.measure, pair.system, pair.base),
            Cell(pair.difference, ends(pair.shown), link=_pair_link(pair, sort="-delta")),
            Cell(pair.wins, link=_pair_link(pair, show="improved")),
            Cell(pair.ties),
            Cell(pair.losses, link=_pair_link(pair, show="worsened")),
            *cells(pair.effect.d, pair.p_corrected, pair.verdict),
        )
        for pair in pairs
    )
    return Table(
        (
            *text_columns("measure", "system", "base"),
            Column("difference", signed=True),
            *map(Column, ("wins", "ties", "losses")),
            Column("d", digits=2, signed=True),
            Column("p", "p"),
            Column("verdict", "text"),
        ),
        rows,
        title,
        notes=(
            (
                "difference: mean of system minus base, with the interval that holds for all pairs "
                "of its family at once; wins, ties, losses: queries on which the system is better, "
                "the same, worse; d: standardised mean difference"
            ),
        ),
        name_columns=3,
    )


def _probable_section(comparison: Comparison) -> Iterator[Section]:
    """Show how probable better, about the same and worse are, where a margin says what is same."""
    margin = comparison.settings.margin
    known = [(pair, pair.posterior) for pair in comparison.pairs if pair.posterior is not None]
    if not known or margin is None:
        return
    rows = tuple(
        cells(pair.measure, pair.system, pair.base, answer.better, answer.within, answer.worse)
        for pair, answer in known
    )
    columns = (
        *text_columns("measure", "system", "base"),
        *(Column(title, digits=3) for title in ("better", f"within ±{margin:g}", "worse")),
    )
    note = (
        "P(the mean difference is beyond, or within, the margin), for somebody who knew nothing "
        "before (Student's t as the posterior); one pair at a time, not corrected"
    )
    yield Section("How probable", (Table(columns, rows, notes=(note,), name_columns=3),))


def _holes_section(comparison: Comparison) -> Iterator[Section]:
    """Show what unjudged documents could make of each difference."""
    known = [(pair, pair.holes) for pair in comparison.pairs if pair.holes is not None]
    if not known:
        return
    rows = []
    for pair, holes in known:
        if holes.lowest is None or holes.highest is None:
            answer, interval = holes.note, None
        else:
            interval = (holes.lowest, holes.highest)
            answer = "no" if holes.is_certain else "yes"
        difference = Cell(holes.difference, interval)
        names = cells(pair.measure, pair.system, pair.base)
        rows.append((*names, difference, *cells(holes.unjudged, answer)))
    columns = (
        *text_columns("measure", "system", "base"),
        Column("difference", signed=True, note="lowest, highest"),
        Column("unjudged"),
        Column("may turn", "text"),
    )
    note = (
        "in brackets: over all ways to judge the unjudged documents of either run that the measure "
        "looks at, the same in both runs; this is not about chance"
    )
    yield Section(
        "Unjudged documents", (Table(columns, tuple(rows), notes=(note,), name_columns=3),)
    )


def _strata_blocks(comparison: Comparison) -> Iterator[Table | Sentences]:
    for part in comparison.strata:
        yield _strata_table(part)
        if part.finding is not None:
            yield Sentences((Sentence(f"warning: {part.finding.sentence}", "warning"),))


def _strata_table(part: StratifiedPair) -> Table:
    return Table(
        (
            Column("stratum", "text"),
            *map(Column, ("queries", "base", "system")),
            Column("difference", signed=True),
            Column("p", "p"),
        ),
        tuple(
            (
                *cells(stratum.label, stratum.n, stratum.base_mean, stratum.system_mean),
                Cell(stratum.difference, ends(stratum.interval)),
                Cell(stratum.p_corrected),
            )
            for stratum in part.strata
        ),
        title=(
            f"{part.measure}, {part.system} against {part.base}, by stratum (p: {part.correction})"
        ),
    )


_DATA = (
    "stratum",
    "measure",
    "base",
    "system",
    "queries",
    "base_mean",
    "system_mean",
    "difference",
    "low",
    "high",
    "level",
    "low_alone",
    "high_alone",
    "relative",
    "wins",
    "ties",
    "losses",
    "d",
    "d_low",
    "d_high",
    "p",
    "p_corrected",
    "method",
    "correction",
    "verdict",
    "detectable",
)
"""The columns of csv."""


def _data(comparison: Comparison) -> Table:
    """Return a row for each measure and pair, then, with its name, one for each stratum of it."""
    correction = comparison.settings.correction or comparison.settings.test
    rows: list[dict[str, Value]] = []
    for pair in comparison.pairs:
        row = {name: getattr(pair, name, None) for name in _DATA}
        row |= {"stratum": "", "correction": correction}
        row |= {"low": pair.shown.low, "high": pair.shown.high, "level": pair.shown.level}
        row |= {"low_alone": pair.interval.low, "high_alone": pair.interval.high}
        row |= {"d": pair.effect.d, "d_low": pair.effect.low, "d_high": pair.effect.high}
        rows.append(row)
    for part in comparison.strata:
        for stratum in part.strata:
            row = {name: getattr(stratum, name, None) for name in _DATA}
            row |= {"measure": part.measure, "base": part.base, "system": part.system}
            row |= {"stratum": stratum.label, "queries": stratum.n, "correction": correction}
            row |= {
                "low": stratum.interval.low,
                "high": stratum.interval.high,
                "level": stratum.interval.level,
            }
            rows.append(row)
    return Table(text_columns(*_DATA), plain_rows([row[name] for name in _DATA] for row in rows))
