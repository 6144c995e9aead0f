"""A benchmark whose cases are in several languages: an experiment for each, and one table of all.

Languages are isolated: every language has runs, scores, tests and a verdict of its own, in a folder
of its own. What they have in common is looked at afterwards, in the table of languages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankscope.benchmark.collection import questions_in
from rankscope.benchmark.collection_files import find_files
from rankscope.benchmark.config.loading import LoadedConfig
from rankscope.benchmark.environment import now
from rankscope.benchmark.folder import LANGUAGE_REPORT, inside, slug, unfinished
from rankscope.diagnosis.languages import Languages, language_table, translations
from rankscope.document.markdown import as_markdown
from rankscope.document.pages import page
from rankscope.document.views import Shown, document_of
from rankscope.errors import InputError, counted
from rankscope.files import replacing
from rankscope.measures.language import Measure
from rankscope.part import Part
from rankscope.records.experiment_files import FileRecord
from rankscope.records.origin import fingerprint
from rankscope.records.report import BenchmarkReport
from rankscope.tables.frames import recorded_frame

if TYPE_CHECKING:
    from rankscope.benchmark.run import Result
    from rankscope.statistics.arrays import FloatArray


class LanguageExperiment(Part):
    """The experiment of one language."""

    language: str
    """Its code."""
    experiment: str
    """The experiment's id, which is the name of its folder beside this one."""
    queries: int
    """How many cases were asked."""
    verdict: tuple[str, ...]
    """What its report says first."""


class LanguageReport(FileRecord):
    """Several languages, each with an experiment of its own."""

    kind: ClassVar[str] = "languages"
    written_by: ClassVar[str] = "rankscope benchmark run"

    name: str
    """What the benchmark is called."""
    created: str
    """When, in UTC (ISO 8601)."""
    experiments: tuple[LanguageExperiment, ...]
    """One for each language, in the order of the cases."""
    table: Languages
    """Every system in every language, how much languages differ, and the worst pair."""


@dataclass(frozen=True, eq=False)
class LanguageResults(Shown):
    """What a benchmark over several languages made: a result for each, and the table of all."""

    folder: Path
    report: LanguageReport
    by_language: Mapping[str, Result]


def languages_to_run(loaded: LoadedConfig) -> list[str]:
    """Return the languages of the cases, if there are several to be kept apart."""
    config = loaded.config.collection
    if config.cases is None or config.language is not None or config.languages == "together":
        return []
    files = find_files(config, loaded.folder, loaded.config.training)
    queries = questions_in(files, config)
    languages = [fields.get("language") for fields in queries.metadata.values()]
    codes = list(dict.fromkeys(str(code) for code in languages if code is not None))
    if len(codes) > 1 and None in languages:
        raise InputError(
            f"{files.source}: {counted(languages.count(None), 'case')} without a language beside "
            f"cases in {', '.join(codes)}; name the language of all of them"
        )
    return codes if len(codes) > 1 else []


def in_language(loaded: LoadedConfig, code: str) -> LoadedConfig:
    """Return the config of one language."""
    config = loaded.config
    collection = config.collection.model_copy(update={"language": code})
    return replace(
        loaded,
        config=config.model_copy(
            update={"name": f"{config.name}-{code}", "collection": collection}
        ),
    )


def refuse_languages(loaded: LoadedConfig, remedy: str) -> None:
    """Refuse cases in several languages, of which one run or mean would be made."""
    codes = languages_to_run(loaded)
    if codes:
        raise InputError(
            f"the cases are in {len(codes)} languages ({', '.join(codes)}); name one of them "
            f"(collection.language={codes[0]}), or {remedy}"
        )


def compare_languages(
    loaded: LoadedConfig, output: Path, results: Mapping[str, Result]
) -> tuple[Path, LanguageReport]:
    """Write what the benchmarks of several languages have in common; return where, and what."""
    values, members = _values(results)
    settings = loaded.config.statistics.settings
    reports = {code: result.report for code, result in results.items()}
    report = LanguageReport(
        name=loaded.config.name,
        created=now(),
        experiments=tuple(
            LanguageExperiment(
                language=code,
                experiment=each.experiment,
                queries=each.collection.queries,
                verdict=tuple(each.verdict),
            )
            for code, each in reports.items()
        ),
        table=language_table(values, settings, cases=_translations(loaded, members)),
    )
    key = fingerprint(*(each.experiment for each in report.experiments))
    name = f"{slug(loaded.config.name)}-languages-{key[:12]}"
    document = document_of(report)
    with unfinished(output, name) as folder:
        for file, text in {
            LANGUAGE_REPORT: report.to_json(),
            "LanguageComparison.md": as_markdown(document),
            "LanguageReport.html": page(document),
        }.items():
            with replacing(folder.path(file)) as sink:
                sink.write(text.encode())
    return output / name, report


def _translations(
    loaded: LoadedConfig, members: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return what the cases of each language are translations of, where all of them say so."""
    config = loaded.config.collection
    queries = questions_in(find_files(config, loaded.folder, loaded.config.training), config)
    asked = [(query_id, queries[query_id], queries.metadata[query_id]) for query_id in queries]
    return translations(asked, members)


_Values = dict[str, dict[str, dict[str, "FloatArray"]]]


def _values(results: Mapping[str, Result]) -> tuple[_Values, dict[str, list[str]]]:
    """Return by measure, system and language the values of all queries, means only.

    The second are the queries of each language, in the order of its values; a language is left
    out whose systems or measures have values for different queries.
    """
    values: _Values = {}
    members: dict[str, list[str]] = {}
    uneven: set[str] = set()
    for code, result in results.items():
        report: BenchmarkReport = result.report
        for system in report.systems:
            if system.broken is not None:
                continue
            file = system.per_query
            table = recorded_frame(inside(result.folder, file.path), file.sha256, source=file.path)
            for info in report.measures:
                if Measure.parse(info.measure).definition.aggregate != "mean":
                    continue
                rows = table.filter(pl.col("measure") == info.measure).sort("query_id")
                query_ids = rows["query_id"].to_list()
                if members.setdefault(code, query_ids) != query_ids:
                    uneven.add(code)
                by_system = values.setdefault(info.measure, {})
                by_system.setdefault(system.name, {})[code] = rows["value"].to_numpy()
    return values, {code: ids for code, ids in members.items() if code not in uneven}
