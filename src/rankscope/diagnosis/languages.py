"""Languages: how each system does in each language of the queries, and which two differ most.

An analysis of `language_means`; the language of a query is a field of its metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from rankscope.diagnosis.analysis import Analysis, AnalysisConfig, Inputs, register
from rankscope.diagnosis.labels import Query, check_field, field_values, label_text
from rankscope.diagnosis.language_means import (
    LANGUAGES_DIFFER,
    Languages,
    language_table,
    name_of,
)
from rankscope.errors import InputError, UnknownNameError, counted
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.statistics.matrix import Matrix

if TYPE_CHECKING:
    from rankscope.document.blocks import Section

LANGUAGE = "language"
"""The field of the metadata that names the language, unless another is named. Queries may lack it:
who did not ask for languages is not told that they are missing."""

PARALLEL = "parallel_id"
"""The field of the metadata that translations of one query share."""

MOST_NAMED = 5
"""So many languages are named with their sizes, the largest first."""

MIXED_LANGUAGES = declare(
    "RS607",
    "mixed-languages",
    "note",
    unit="language",
    advice="read it by language, or weigh languages as your users write them",
    meaning="""A mean over all queries mixes languages that have different numbers of queries, so
    the largest ones decide it.""",
)


class LanguagesConfig(AnalysisConfig):
    """Where the language of a query is, and by which measures languages are compared."""

    field: str = Field(default=LANGUAGE, min_length=1)
    """The field of the queries' metadata; its values are taken as they are."""
    measures: tuple[str, ...] = ()
    """The measures, the main one first; none: all that are means over queries."""


def _look(config: LanguagesConfig, inputs: Inputs) -> Languages | NotApplicable:
    assert inputs.scores is not None
    assert inputs.queries is not None
    matrix = Matrix.of_scores(inputs.scores, only_means=True)
    names = [scale.name for scale in matrix.scales]
    try:
        measures = [inputs.scores.name_of(measure) for measure in config.measures] or names
    except UnknownNameError as error:
        return LANGUAGES.not_applicable(str(error))
    for measure in measures:
        if measure not in names:
            return LANGUAGES.not_applicable(f"{measure} is no mean over queries")
    if not measures:
        return LANGUAGES.not_applicable("no measure is a mean over queries")
    columns = {query_id: column for column, query_id in enumerate(matrix.query_ids)}
    queries = [query for query in inputs.queries if query[0] in columns]
    members = _members(queries, config.field)
    if len(members) < 2:
        return LANGUAGES.not_applicable(_too_few(config, inputs.queries, members))
    places = {
        language: [columns[query_id] for query_id in query_ids]
        for language, query_ids in members.items()
    }
    values = {
        measure: {
            system: {
                language: matrix.values[names.index(measure), row, columns_of]
                for language, columns_of in places.items()
            }
            for row, system in enumerate(matrix.systems)
        }
        for measure in measures
    }
    table = language_table(values, inputs.settings, cases=translations(queries, members))
    sizes = {language: len(query_ids) for language, query_ids in members.items()}
    unlabelled = len(columns) - sum(sizes.values())
    findings = (*table.findings, *_mixed(sizes, unlabelled))
    return table.model_copy(update={"unlabelled": unlabelled, "findings": findings})


def _mixed(sizes: Mapping[str, int], unlabelled: int) -> list[Finding]:
    """Say that a mean over all queries mixes languages, where they are not of the same size."""
    if len(set(sizes.values())) == 1:
        return []
    largest = sorted(sizes, key=lambda language: -sizes[language])
    names = [f"{name_of(language)} {sizes[language]:,}" for language in largest[:MOST_NAMED]]
    more = f" and {len(largest) - MOST_NAMED} more" if len(largest) > MOST_NAMED else ""
    total = sum(sizes.values()) + unlabelled
    without = f", and {unlabelled:,} without a language" if unlabelled else ""
    return [
        MIXED_LANGUAGES.finding(
            f"the mean over all {total:,} queries mixes {len(sizes):,} languages: "
            f"{', '.join(names)}{more}{without}",
            count=len(sizes),
            evidence={"queries": total, "languages": dict(sizes), "unlabelled": unlabelled},
        )
    ]


def _members(queries: Sequence[Query], field: str) -> dict[str, list[str]]:
    """Return the queries of each language, the largest first, then by name.

    A query that names several languages is in none.
    """
    members: dict[str, list[str]] = {}
    for query_id, value in field_values(queries, field).items():
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
        for query_id, value in field_values(queries, PARALLEL).items()
        if not isinstance(value, list)
    }
    return {
        language: [parallel[query_id] for query_id in query_ids]
        for language, query_ids in members.items()
        if all(query_id in parallel for query_id in query_ids)
    }


def _too_few(
    config: LanguagesConfig, queries: Sequence[Query], members: Mapping[str, Sequence[str]]
) -> str:
    """Say why there are no two languages."""
    if members:
        [(language, query_ids)] = members.items()
        size = counted(len(query_ids), "query")
        return f"there is only one language, {name_of(language)} ({size})"
    if config.field != LANGUAGE:
        try:
            check_field(queries, config.field)
        except InputError as error:
            return str(error)
    return f"no query has its language in the field {name_of(config.field)}"


def _check(config: LanguagesConfig, queries: Sequence[Query]) -> None:
    """Refuse a field that was named and that no query has."""
    if config.field != LANGUAGE:
        try:
            check_field(queries, config.field)
        except InputError as error:
            raise InputError(f"languages: {error}") from None


def _section(result: Languages) -> Section:
    from rankscope.diagnosis.language_section import languages_section  # noqa: PLC0415

    return languages_section(result, LANGUAGES.title)


LANGUAGES = register(
    Analysis(
        name="languages",
        title="Languages",
        summary="Each system by language of the queries: means, consistency, the worst pair.",
        config=LanguagesConfig,
        written="languages: {field: lang, measures: [nDCG@10]}",
        result=Languages,
        needs=("scores", "queries"),
        look=_look,
        section=_section,
        check=_check,
        codes=(LANGUAGES_DIFFER, MIXED_LANGUAGES),
        place=21,
    )
)
