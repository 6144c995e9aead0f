"""The table of languages: each system's mean in each language, how far they vary, the worst pair.

It needs no collection: where every language has an experiment of its own, it takes the values of
all of them. The analysis `languages` makes it of one experiment, and `language_section` shows it.
The pair that is shown was chosen as the worst, so all tests of a table are one family.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.diagnosis.analysis import Analysed
from rankscope.errors import InputError, counted, shown
from rankscope.findings import Finding, declare
from rankscope.part import Part
from rankscope.statistics.arrays import as_rows
from rankscope.statistics.groups import Cases, GroupPair, group_pairs, pair_interval
from rankscope.statistics.intervals import Interval, agreeing, mean_intervals
from rankscope.statistics.matrix import Scale, differences
from rankscope.statistics.sentences import p_text
from rankscope.statistics.settings import Settings
from rankscope.statistics.tests import corrected

if TYPE_CHECKING:
    from rankscope.statistics.arrays import FloatArray

LONGEST_NAME = 40
"""Longer names of languages are cut in sentences."""

LANGUAGES_DIFFER = declare(
    "RS606",
    "languages-differ",
    "warning",
    unit="pair",
    advice="look at what fails in the weaker language, and choose a system by the languages that "
    "its users write in",
    meaning="""The means of a system in two languages of the queries differ by more than chance, by
    the main measure; corrected over all pairs of languages of all systems.""",
)


class LanguageMean(Part):
    """One system in one language."""

    language: str
    """The language, as the queries name it."""
    n: int
    """How many queries it has."""
    mean: float
    """Over these."""
    interval: Interval | None
    """Of the mean; null where there is only one query."""


class LanguagePair(Part):
    """Two languages of one system, and how far their means are apart."""

    better: str
    """The language with the better mean."""
    worse: str
    """The other one."""
    difference: float
    """Mean of the better minus that of the worse: below 0 where less is better."""
    interval: Interval
    """Of the difference, for all tests of the table at once; it agrees with the corrected p."""
    p: float
    """Of this pair by itself: of different queries the larger of a permutation of labels and
    Welch's t; of the same cases Student's paired t, or all sign flips where few cases differ."""
    p_corrected: float
    """Corrected by Holm over all pairs of languages of all systems."""
    family: int
    """How many tests that are."""
    paired: bool
    """Whether both languages have the same cases, which were compared one by one."""


class SystemLanguages(Part):
    """One system by one measure, language by language."""

    system: str
    """The system."""
    measure: str
    """The measure."""
    languages: tuple[LanguageMean, ...]
    """Its languages, in the order of the table."""
    mean: float
    """Of the means of the languages, each counting the same however many queries it has."""
    variance: float
    """Of the means of the languages, divided by their number and not by one less (as numpy.var):
    it describes these languages, and holds what chance puts between their means too."""
    spread: float
    """The highest mean of a language minus the lowest."""
    worst: LanguagePair | None
    """Of the pairs that can be tested, the one with the largest difference; null where fewer than
    two languages have two queries, or all their means are equal."""
    shown: LanguagePair | None
    """Of the pairs that differ by more than chance, the one with the largest difference; it may be
    another than the worst, of which few queries may be known. Null: no two are shown to differ."""
    differing: int
    """How many pairs differ by more than chance."""
    pairs: int
    """How many were tested."""

    def of(self, language: str) -> LanguageMean | None:
        """Return what it has in a language; None if nothing."""
        return next((mean for mean in self.languages if mean.language == language), None)


class Languages(Analysed):
    """Systems by language of the queries."""

    measure: str
    """The main measure, which findings are about."""
    languages: tuple[str, ...]
    """All languages, in the order of the table: of an analysis, the largest first."""
    alpha: float
    """A corrected p-value up to this counts as a difference."""
    level: float
    """The confidence of intervals."""
    systems: tuple[SystemLanguages, ...]
    """By measure and system."""
    unlabelled: int = 0
    """Queries whose language is not known; they are in no language."""


# --- the table -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """One system by one measure: its values in each of its languages, and its pairs."""

    scale: Scale
    system: str
    values: dict[str, FloatArray]
    pairs: list[GroupPair]


def language_table(
    values: Mapping[str, Mapping[str, Mapping[str, FloatArray]]],
    settings: Settings | None = None,
    *,
    cases: Mapping[str, Sequence[str]] | None = None,
) -> Languages:
    """Compare the languages of each system; ``values`` are by measure, system and language.

    Each is one value for each query of the language; languages may be those of different
    experiments, and a system may lack some. The first measure is the main one. ``cases`` says by
    language what each query is a translation of, in the order of its values: languages that have
    the same cases, each once, are compared case by case.

    All pairs of languages of all systems by one measure are one family of tests, corrected by Holm
    (with ``settings.family`` "all", those of all measures). A language of one query is shown, and
    counts in mean, variance and spread; it has no interval and takes part in no test.

    Finding: a system's languages differ by more than chance (RS606), by the main measure.

    >>> de, fr = np.array([1.0, 1.0, 0.5, 1.0, 0.5, 1.0]), np.array([0.2, 0.0, 0.5, 0.25, 0.0, 0.2])
    >>> table = language_table({"RR@10": {"bm25": {"de": de, "fr": fr}}})
    >>> row = table.systems[0]
    >>> round(row.mean, 4), round(row.variance, 4), row.worst.worse, round(row.worst.p, 4)
    (0.5125, 0.1029, 'fr', 0.0052)
    """
    settings = settings or Settings()
    keys = {language: _key(names) for language, names in (cases or {}).items()}
    rows = [
        _row(Scale.of(measure), system, by_language, keys)
        for measure, systems in values.items()
        for system, by_language in systems.items()
    ]
    if not rows:
        raise InputError("expected values of at least one measure and system")
    intervals = _intervals(rows, settings)
    families = _corrected(rows, settings)
    systems = [
        _system(row, p_values, family, ranges, settings)
        for row, (p_values, family), ranges in zip(rows, families, intervals, strict=True)
    ]
    main = rows[0].scale.name
    return Languages(
        measure=main,
        languages=tuple(dict.fromkeys(language for row in rows for language in row.values)),
        alpha=settings.alpha,
        level=settings.level,
        systems=tuple(systems),
        findings=tuple(_differing(system for system in systems if system.measure == main)),
    )


_Key = tuple[Cases, list[int]]
"""The cases of a language in order, and the order of its values that gives it."""


def _key(names: Sequence[str]) -> _Key | None:
    """Return how a language's values are put in order by case; None if a case is there twice."""
    if len(set(names)) < len(names):
        return None
    order = sorted(range(len(names)), key=names.__getitem__)
    return tuple(names[place] for place in order), order


def _row(
    scale: Scale,
    system: str,
    by_language: Mapping[str, FloatArray],
    keys: Mapping[str, _Key | None],
) -> _Row:
    values: dict[str, FloatArray] = {}
    cases: list[Cases | None] = []
    for language, given in by_language.items():
        if not len(given):
            continue
        row, key = as_rows(given)[0], keys.get(language)
        if key is not None and len(key[1]) != len(row):
            raise InputError(
                f"{system}, {name_of(language)}: expected a case for each of "
                f"{counted(len(row), 'query')}, got {len(key[1]):,}"
            )
        values[language] = row if key is None else row[key[1]]
        cases.append(None if key is None else key[0])
    if not values:
        raise InputError(f"{system}: expected values of at least one language")
    return _Row(scale, system, values, group_pairs(list(values.values()), cases))


def _intervals(rows: Sequence[_Row], settings: Settings) -> list[dict[str, Interval]]:
    """Return the interval of each mean by row and language, of at least two queries.

    Languages of the same size share their resamples.
    """
    alike: dict[int, list[tuple[int, str]]] = {}
    for place, row in enumerate(rows):
        for language, values in row.values.items():
            if len(values) > 1:
                alike.setdefault(len(values), []).append((place, language))
    intervals: list[dict[str, Interval]] = [{} for _ in rows]
    for places in alike.values():
        answers = mean_intervals(
            np.stack([rows[place].values[language] for place, language in places]),
            method=settings.interval,
            level=settings.level,
            bounds=[rows[place].scale.bounds for place, _ in places],
            **settings.resampling,
        )
        for (place, language), interval in zip(places, answers, strict=True):
            intervals[place][language] = interval
    return intervals


def _corrected(rows: Sequence[_Row], settings: Settings) -> list[tuple[list[float], int]]:
    """Return for each row its corrected p-values, and how many tests they are corrected over."""
    families: dict[str, list[_Row]] = {}
    for row in rows:
        families.setdefault("" if settings.family == "all" else row.scale.name, []).append(row)
    answers: dict[int, tuple[list[float], int]] = {}
    for family in families.values():
        p_values = corrected([pair.p for row in family for pair in row.pairs]).tolist()
        start = 0
        for row in family:
            end = start + len(row.pairs)
            answers[id(row)] = p_values[start:end], len(p_values)
            start = end
    return [answers[id(row)] for row in rows]


def _system(
    row: _Row,
    p_values: Sequence[float],
    family: int,
    intervals: Mapping[str, Interval],
    settings: Settings,
) -> SystemLanguages:
    """Put together what is known of one system by one measure."""
    means = {language: math.fsum(values) / len(values) for language, values in row.values.items()}
    lowest, highest = min(means.values()), max(means.values())
    spread = float(differences(np.array(lowest), np.array(highest)))
    apart = [place for place, pair in enumerate(row.pairs) if pair.difference]
    proven = [place for place in apart if p_values[place] <= settings.alpha]

    def largest(places: Sequence[int]) -> LanguagePair | None:
        if not places:
            return None
        place = max(places, key=lambda place: abs(row.pairs[place].difference))
        return _pair(row, row.pairs[place], p_values[place], family, settings)

    return SystemLanguages(
        system=row.system,
        measure=row.scale.name,
        languages=tuple(
            LanguageMean(
                language=language,
                n=len(values),
                mean=means[language],
                interval=intervals.get(language),
            )
            for language, values in row.values.items()
        ),
        mean=math.fsum(means.values()) / len(means),
        variance=float(np.var(list(means.values()))) if spread else 0.0,
        spread=spread,
        worst=largest(apart),
        shown=largest(proven),
        differing=len(proven),
        pairs=len(row.pairs),
    )


def _pair(
    row: _Row, pair: GroupPair, p_corrected: float, family: int, settings: Settings
) -> LanguagePair:
    """Describe a pair, the better language first, with an interval that agrees with its test."""
    names, groups = list(row.values), list(row.values.values())
    better, worse = pair.first, pair.second
    if not row.scale.is_better(pair.difference):
        better, worse = worse, better
    difference = pair.difference if better == pair.first else -pair.difference
    interval = pair_interval(
        groups[better],
        groups[worse],
        paired=pair.paired,
        level=1 - (1 - settings.level) / family,
        bounds=row.scale.change,
    ).model_copy(update={"level": settings.level})
    return LanguagePair(
        better=names[better],
        worse=names[worse],
        difference=difference,
        interval=agreeing(interval, difference, p_corrected, settings.alpha),
        p=pair.p,
        p_corrected=p_corrected,
        family=family,
        paired=pair.paired,
    )


# --- what is said about it -----------------------------------------------------------------------


def name_of(language: str) -> str:
    """Return a language as a sentence names it: as it is, or quoted where it would not fit."""
    is_plain = language.isprintable() and len(language) <= LONGEST_NAME
    return language if is_plain else shown(language, LONGEST_NAME)


def corrected_p(pair: LanguagePair) -> str:
    """Return the p-value of a pair, and over how many tests it is corrected."""
    text = p_text(pair.p_corrected)
    return f"{text} corrected for {pair.family:,} tests" if pair.family > 1 else text


def _differing(systems: Iterable[SystemLanguages]) -> Iterable[Finding]:
    """Name each system that has two languages which differ, and the two that differ most."""
    for row in systems:
        pair = row.shown
        if pair is None:
            continue
        better, worse = row.of(pair.better), row.of(pair.worse)
        assert better is not None
        assert worse is not None
        message = (
            f"{row.system}: {row.measure} is {better.mean:.3f} in {name_of(better.language)} "
            f"({counted(better.n, 'query')}) and {worse.mean:.3f} in {name_of(worse.language)} "
            f"({counted(worse.n, 'query')}), a difference of {abs(pair.difference):.3f} "
            f"({corrected_p(pair)})"
        )
        if row.differing > 1:
            message += f"; {row.differing:,} of {row.pairs:,} pairs of languages differ"
        yield LANGUAGES_DIFFER.finding(
            message,
            count=row.differing,
            evidence={"system": row.system, "measure": row.measure, **pair.to_dict()},
        )
