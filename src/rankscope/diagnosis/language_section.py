"""Languages as a section: a sentence for each system, then systems by language in one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankscope.diagnosis.language_means import corrected_p, name_of
from rankscope.document.blocks import (
    Block,
    Cell,
    Column,
    Section,
    Table,
    ends,
    sentences,
)
from rankscope.document.text import percent
from rankscope.errors import counted
from rankscope.statistics import sentences as words

if TYPE_CHECKING:
    from rankscope.diagnosis.language_means import (
        LanguageMean,
        LanguagePair,
        Languages,
        SystemLanguages,
    )

MOST_COLUMNS = 8
"""Of more languages than this a table has a row for each, and systems are its columns."""


def languages_section(result: Languages, title: str = "Languages") -> Section:
    """Show the languages of each system by the main measure; on pages, by all measures."""
    by_measure: dict[str, list[SystemLanguages]] = {}
    for row in result.systems:
        by_measure.setdefault(row.measure, []).append(row)
    main = by_measure.pop(result.measure)
    first, *others = _tables(result, main, notes=_notes(result, main))
    details: list[Block] = list(others)
    for measure, rows in by_measure.items():
        details += _tables(result, rows, title=measure)
    return Section(title, (sentences(_sentences(main)), first), tuple(details))


# --- in words ------------------------------------------------------------------------------------


def _sentences(rows: Sequence[SystemLanguages]) -> list[str]:
    """Say which two languages of each system differ most; systems without any are put together."""
    lines: list[str] = []
    alike: list[str] = []
    untested: list[str] = []
    for row in rows:
        if row.shown is not None:
            lines.append(_sentence(row, row.shown))
        else:
            (alike if row.pairs else untested).append(row.system)
    if alike:
        lines.append(
            f"{words.listed(alike)}: no two languages are shown to differ by more than chance."
        )
    if untested:
        lines.append(
            f"{words.listed(untested)}: nothing is tested, as fewer than two languages have two "
            "queries."
        )
    return lines


def _sentence(row: SystemLanguages, pair: LanguagePair) -> str:
    turned = pair.difference < 0
    sizes = words.measured(
        pair.difference, pair.interval, corrected_p(pair), turned=turned, sign=False
    )
    text = (
        f"{row.system}: better in {name_of(pair.better)} than in {name_of(pair.worse)} by {sizes}"
    )
    if row.differing > 1:
        text += f"; {row.differing:,} of {row.pairs:,} pairs of languages differ"
    return f"{text}."


# --- in tables -----------------------------------------------------------------------------------


def _tables(
    result: Languages,
    rows: Sequence[SystemLanguages],
    *,
    title: str = "",
    notes: Sequence[str] = (),
) -> list[Table]:
    """Make a table of systems by language; of many languages another with a row for each."""
    columns = [
        Column(name_of(language), digits=3, note=_size(rows, language))
        for language in result.languages
    ]
    systems = [Cell(row.system) for row in rows]
    means = [[_mean(row.of(language)) for language in result.languages] for row in rows]
    summaries = [_summary(row, result.alpha) for row in rows]
    head = Column("system", "text")
    if len(columns) <= MOST_COLUMNS:
        lines = zip(systems, means, summaries, strict=True)
        cells = tuple((system, *means, *summary) for system, means, summary in lines)
        return [Table((head, *columns, *_SUMMARY), cells, title=title, notes=tuple(notes))]
    summary = tuple((system, *cells) for system, cells in zip(systems, summaries, strict=True))
    by_language = Table(
        (head, *columns),
        tuple((system, *cells) for system, cells in zip(systems, means, strict=True)),
        title=f"{title} by language" if title else "By language",
        columns_are="language",
    ).turned()
    return [Table((head, *_SUMMARY), summary, title=title, notes=tuple(notes)), by_language]


_SUMMARY = (
    Column("mean", digits=3),
    Column("variance"),
    Column("worst pair", "text"),
    Column("difference", digits=3, signed=True),
    Column("p", "p"),
)


def _size(rows: Sequence[SystemLanguages], language: str) -> str:
    """Return how many queries a language has, if that is the same for all systems."""
    sizes = {mean.n for row in rows if (mean := row.of(language)) is not None}
    return f"{sizes.pop():,}" if len(sizes) == 1 else ""


def _mean(mean: LanguageMean | None) -> Cell:
    if mean is None:
        return Cell()
    return Cell(mean.mean, ends(mean.interval), tone="quiet" if mean.interval is None else "plain")


def _summary(row: SystemLanguages, alpha: float) -> tuple[Cell, ...]:
    pair = row.worst
    start = (Cell(row.mean), Cell(row.variance))
    if pair is None:
        return (*start, Cell(), Cell(), Cell())
    is_shown = pair.p_corrected <= alpha
    difference = Cell(
        pair.difference,
        ends(pair.interval),
        marker="†" if is_shown else "",
        tone="bad" if is_shown else "plain",
    )
    names = f"{name_of(pair.better)}, {name_of(pair.worse)}"
    return (*start, Cell(names), difference, Cell(pair.p_corrected))


def _notes(result: Languages, rows: Sequence[SystemLanguages]) -> list[str]:
    """Say how the numbers of the main table were made, and what is in none of them."""
    notes = [
        (
            f"{result.measure} with {percent(result.level)} intervals, behind each language its "
            "queries; mean and variance are those of the means of languages, each counting the same"
        )
    ]
    pairs = [row.worst for row in rows if row.worst is not None]
    if pairs:
        how = "a permutation of labels and Welch's t, the larger p of the two"
        if any(pair.paired for pair in pairs):
            unpaired = "" if all(pair.paired for pair in pairs) else f"; otherwise {how}"
            how = f"case by case where both languages have the same cases, Student's t{unpaired}"
        family = pairs[0].family
        over = f" corrected by Holm over {family:,} tests" if family > 1 else ""
        notes.append(
            f"worst pair: the largest difference, the better language first; {how}; p{over}, and "
            f"the interval agrees with it († p ≤ {result.alpha:g})"
        )
    single = [
        language
        for language in result.languages
        if any(mean.n == 1 for row in rows if (mean := row.of(language)) is not None)
    ]
    if single:
        names = words.listed(map(name_of, single), 5)
        notes.append(
            f"one query only, so no interval and no test, but in mean and variance: {names}"
        )
    if result.unlabelled:
        are = "is" if result.unlabelled == 1 else "are"
        notes.append(f"{counted(result.unlabelled, 'query')} without a language {are} in no column")
    return notes
