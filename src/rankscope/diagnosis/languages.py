"""Languages: how each system does in each language of the queries, and which two differ most.

`language_table` needs no collection: where every language has an experiment of its own, it takes
the values of all of them. The pair that is shown was chosen as the worst, so all tests of a table
are one family.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import Analysed, Config, Estimate, Inputs, Row, analysis
from rankscope.diagnosis.query_fields import Query, QueryFields, label_text
from rankscope.diagnosis.show import part_table
from rankscope.document.blocks import Block, sentences
from rankscope.errors import InputError, counted, shown
from rankscope.findings import Finding, declare
from rankscope.part import Part
from rankscope.statistics.arrays import as_rows
from rankscope.statistics.groups import Cases, group_pairs, pair_interval
from rankscope.statistics.intervals import agreeing, mean_intervals
from rankscope.statistics.matrix import Scale, differences
from rankscope.statistics.sentences import listed, p_text
from rankscope.statistics.settings import Settings
from rankscope.statistics.tests import corrected

if TYPE_CHECKING:
    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.groups import GroupPair

LANGUAGE = "language"
"""The field of the metadata that names the language, unless another is named. Queries may lack it:
who did not ask for languages is not told that they are missing."""

PARALLEL = "parallel_id"
"""The field of the metadata that translations of one query share."""

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


class LanguagesConfig(Config):
    """Where the language of a query is."""

    field: str = Field(default=LANGUAGE, min_length=1)
    """The field of the queries' metadata; its values are taken as they are."""


class LanguagePair(Part):
    """Two languages of one system, and how far their means are apart."""

    better: str
    """The language with the better mean."""
    worse: str
    """The other one."""
    difference: Estimate
    """Mean of the better minus that of the worse, below 0 where less is better; its interval is for
    all tests of the table at once, and agrees with the corrected p."""
    p: float
    """Of this pair by itself: of different queries the larger of a permutation of labels and
    Welch's t; of the same cases Student's paired t, or all sign flips where few cases differ."""
    p_corrected: float
    """Corrected by Holm over all pairs of languages of all systems."""
    paired: bool
    """Whether both languages have the same cases, which were compared one by one."""


class SystemLanguages(Row):
    """One system by one measure, language by language."""

    measure: str
    """The measure."""
    means: dict[str, Estimate]
    """By language, in the order of the table; without an interval where there is one query only."""
    queries: dict[str, int]
    """By language: how many queries the mean is over."""
    worst: LanguagePair | None
    """Of the pairs that differ by more than chance the one with the largest difference; of all that
    were tested, if none does; null where all means are equal, or nothing can be tested."""
    differing: int
    """How many pairs differ by more than chance."""
    pairs: int
    """How many were tested: those of languages with two queries or more."""

    @property
    def mean(self) -> float:
        """The mean of the means of the languages, each counting the same."""
        return math.fsum(mean.value for mean in self.means.values()) / len(self.means)

    @property
    def variance(self) -> float:
        """The variance of the means of the languages, divided by their number (as numpy.var)."""
        return float(np.var([mean.value for mean in self.means.values()])) if self.spread else 0.0

    @property
    def spread(self) -> float:
        """The highest mean of a language minus the lowest; what is rounding only is 0."""
        values = [mean.value for mean in self.means.values()]
        return float(differences(np.array(min(values)), np.array(max(values))))

    @property
    def worst_pair(self) -> str:
        """The two languages that differ most, the better one first."""
        pair = self.worst
        return "" if pair is None else f"{name_of(pair.better)}, {name_of(pair.worse)}"

    @property
    def difference(self) -> Estimate | None:
        """How far these are apart."""
        return None if self.worst is None else self.worst.difference

    @property
    def p_worst(self) -> float | None:
        """Whether that may be chance, corrected over all pairs of languages of all systems."""
        return None if self.worst is None else self.worst.p_corrected


class Languages(Analysed):
    """Systems by language of the queries."""

    measure: str
    """The main measure, which findings are about."""
    languages: tuple[str, ...]
    """All languages, in the order of the table: of an analysis, the largest first."""
    level: float
    """The confidence of intervals."""
    systems: tuple[SystemLanguages, ...]
    """By measure and system."""
    unlabelled: int = 0
    """Queries whose language is not known; they are in no language."""


def _check(config: LanguagesConfig, queries: Sequence[Query]) -> None:
    """Refuse a field that was named and that no query has."""
    if config.field != LANGUAGE:
        QueryFields(queries).check(config.field, "languages")


@analysis(
    title="Languages",
    needs=("scores", "queries"),
    written="languages: {field: lang}",
    check=_check,
    place=21,
)
def languages(config: LanguagesConfig, inputs: Inputs) -> Languages:
    """Each system by language of the queries: means, consistency, the worst pair."""
    matrix = inputs.matrix()
    column = {query_id: place for place, query_id in enumerate(matrix.query_ids)}
    queries = [query for query in inputs.queries if query[0] in column]
    members = _members(queries, config.field)
    inputs.require(members, f"no query has its language in the field {name_of(config.field)}")
    only = name_of(next(iter(members)))
    inputs.require(len(members) > 1, f"there is only one language, {only}")
    values = {
        scale.name: {
            system: {
                language: matrix.values[measure, row, [column[query_id] for query_id in query_ids]]
                for language, query_ids in members.items()
            }
            for row, system in enumerate(matrix.systems)
        }
        for measure, scale in enumerate(matrix.scales)
    }
    table = language_table(values, inputs.settings, cases=translations(queries, members))
    labelled = sum(map(len, members.values()))
    return table.model_copy(update={"unlabelled": len(column) - labelled})


def show_languages(result: Languages) -> Iterator[Block | None]:
    """Show the languages of each system by the main measure; then by all others."""
    by_measure: dict[str, list[SystemLanguages]] = {}
    for row in result.systems:
        by_measure.setdefault(row.measure, []).append(row)
    main = by_measure[result.measure]
    none = [row.system for row in main if not row.differing]
    if none:
        yield sentences(
            [f"{listed(none, 5)}: no two languages are shown to differ by more than chance."]
        )
    for measure, rows in by_measure.items():
        yield part_table(
            rows,
            "" if measure == result.measure else measure,
            notes=_notes(result, rows) if measure == result.measure else (),
            legend=("mean", "variance") if measure == result.measure else (),
            columns="system | means: {} | mean | variance | worst_pair | difference | p_worst: p",
        )


languages.show(show_languages)


def _notes(result: Languages, rows: Sequence[SystemLanguages]) -> Iterator[str]:
    """Say how the numbers of the main table were made, and what is in none of them."""
    sizes = [f"{name_of(name)} {size:,}" for name, size in rows[0].queries.items()]
    yield f"{result.measure} with {result.level:.0%} intervals; queries: {listed(sizes, 20)}"
    yield (
        "worst pair: the better language first; p by a permutation of labels and Welch's t, the "
        "larger of the two, or case by case by Student's t where both have the same cases; "
        "corrected by Holm over all pairs of languages of all systems"
    )
    if result.unlabelled:
        yield f"without a language, and in no column: {counted(result.unlabelled, 'query')}"


# --- the table -----------------------------------------------------------------------------------


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

    All pairs of languages of all systems by one measure are one family of tests, corrected by Holm.
    A language of one query is shown, and takes part in no test.

    Finding: a system's languages differ by more than chance (RS606), by the main measure.

    >>> de, fr = np.array([1.0, 1.0, 0.5, 1.0, 0.5, 1.0]), np.array([0.2, 0.0, 0.5, 0.25, 0.0, 0.2])
    >>> table = language_table({"RR@10": {"bm25": {"de": de, "fr": fr}}})
    >>> row = table.systems[0]
    >>> round(row.mean, 4), round(row.variance, 4), row.worst.worse, round(row.worst.p, 4)
    (0.5125, 0.1029, 'fr', 0.0052)
    """
    settings = settings or Settings()
    rows = [
        row
        for measure, systems in values.items()
        for row in _measured(Scale.of(measure), systems, cases or {}, settings)
    ]
    if not rows:
        raise InputError("expected values of at least one measure and system")
    return Languages(
        measure=rows[0].measure,
        languages=tuple(dict.fromkeys(language for row in rows for language in row.means)),
        level=settings.level,
        systems=tuple(rows),
        findings=tuple(_differing(row for row in rows if row.measure == rows[0].measure)),
    )


def _measured(
    scale: Scale,
    systems: Mapping[str, Mapping[str, FloatArray]],
    cases: Mapping[str, Sequence[str]],
    settings: Settings,
) -> Iterator[SystemLanguages]:
    """Compare the languages of all systems by one measure."""
    tested: list[tuple[str, dict[str, FloatArray], list[GroupPair]]] = []
    for system, by_language in systems.items():
        rows, keys = {}, []
        for language, given in by_language.items():
            if len(given):
                rows[language], key = _in_order(as_rows(given)[0], cases.get(language), system)
                keys.append(key)
        if not rows:
            raise InputError(f"{system}: expected values of at least one language")
        tested.append((system, rows, group_pairs(list(rows.values()), keys)))
    family = [pair.p for _, _, pairs in tested for pair in pairs]
    p_values = iter(corrected(family).tolist())
    level = 1 - (1 - settings.level) / max(len(family), 1)
    for system, rows, pairs in tested:
        apart = [(pair, p) for pair, p in zip(pairs, p_values, strict=False) if pair.difference]
        proven = [(pair, p) for pair, p in apart if p <= settings.alpha]
        worst = max(proven or apart, key=lambda each: abs(each[0].difference), default=None)
        yield SystemLanguages(
            system=system,
            measure=scale.name,
            means={name: _mean(row, scale, settings) for name, row in rows.items()},
            queries={name: len(row) for name, row in rows.items()},
            worst=None if worst is None else _pair(rows, *worst, scale, level, settings),
            differing=len(proven),
            pairs=len(pairs),
        )


def _in_order(
    values: FloatArray, cases: Sequence[str] | None, system: str
) -> tuple[FloatArray, Cases | None]:
    """Put the values of a language in the order of its cases; None if one is there twice."""
    if cases is None or len(set(cases)) < len(cases):
        return values, None
    if len(cases) != len(values):
        raise InputError(
            f"{system}: expected a case for each of {counted(len(values), 'query')}, got "
            f"{len(cases):,}"
        )
    order = sorted(range(len(cases)), key=cases.__getitem__)
    return values[order], tuple(cases[place] for place in order)


def _mean(values: FloatArray, scale: Scale, settings: Settings) -> Estimate:
    """Estimate the mean of a language; one query has no interval."""
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Estimate(value=mean, low=-math.inf, high=math.inf)
    [interval] = mean_intervals(
        values,
        method=settings.interval,
        level=settings.level,
        bounds=scale.bounds,
        **settings.resampling,
    )
    return Estimate.between(mean, interval)


def _pair(  # noqa: PLR0917
    rows: Mapping[str, FloatArray],
    pair: GroupPair,
    p_corrected: float,
    scale: Scale,
    level: float,
    settings: Settings,
) -> LanguagePair:
    """Describe a pair, the better language first, with an interval that agrees with its test."""
    names, groups = list(rows), list(rows.values())
    worse, better = pair.first, pair.second
    if scale.is_better(pair.difference):
        worse, better = better, worse
    difference = pair.difference if better == pair.first else -pair.difference
    interval = pair_interval(
        groups[better], groups[worse], paired=pair.paired, level=level, bounds=scale.change
    )
    interval = agreeing(interval, difference, p_corrected, settings.alpha)
    return LanguagePair(
        better=names[better],
        worse=names[worse],
        difference=Estimate.between(difference, interval),
        p=pair.p,
        p_corrected=p_corrected,
        paired=pair.paired,
    )


# --- the languages of queries --------------------------------------------------------------------


def name_of(language: str) -> str:
    """Return a language as a sentence names it: as it is, or quoted where it would not fit."""
    is_plain = language.isprintable() and len(language) <= LONGEST_NAME
    return language if is_plain else shown(language, LONGEST_NAME)


def _members(queries: Sequence[Query], field: str) -> dict[str, list[str]]:
    """Return the queries of each language, the largest first, then by name.

    A query that names several languages is in none.
    """
    members: dict[str, list[str]] = {}
    for query_id, value in QueryFields(queries).values(field).items():
        labels = value if isinstance(value, list) else [value]
        if len(labels) == 1:
            members.setdefault(label_text(labels[0]), []).append(query_id)
    order = sorted(members, key=lambda language: (-len(members[language]), language))
    return {language: members[language] for language in order}


def translations(
    queries: Sequence[Query], members: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return what the queries of a language are translations of, where all of them say so."""
    parallel = {
        query_id: label_text(value)
        for query_id, value in QueryFields(queries).values(PARALLEL).items()
        if not isinstance(value, list)
    }
    return {
        language: [parallel[query_id] for query_id in query_ids]
        for language, query_ids in members.items()
        if all(query_id in parallel for query_id in query_ids)
    }


# --- findings ------------------------------------------------------------------------------------


def _differing(rows: Iterator[SystemLanguages]) -> Iterator[Finding]:
    """Name each system that has two languages which differ, and the two that differ most."""
    for row in rows:
        pair = row.worst
        if pair is None or not row.differing:
            continue
        better, worse = (
            f"{row.means[language].value:.3f} in {name_of(language)} "
            f"({counted(row.queries[language], 'query')})"
            for language in (pair.better, pair.worse)
        )
        yield LANGUAGES_DIFFER.finding(
            f"{row.system}: {row.measure} is {better} and {worse}, a difference of "
            f"{abs(pair.difference.value):.3f} ({p_text(pair.p_corrected)} corrected); "
            f"{row.differing:,} of {counted(row.pairs, 'pair')} of languages differ",
            count=row.differing,
        )
