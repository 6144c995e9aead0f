"""A benchmark whose cases are in several languages: an experiment for each, and one table of all.

Languages are isolated: every language has runs, scores, tests and a verdict of its own, in a folder
of its own. What they have in common is looked at afterwards, in the table of languages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from rankscope.benchmark.collection import languages_to_run, questions_of_cases
from rankscope.benchmark.config.loading import LoadedConfig, loaded_config
from rankscope.benchmark.environment import now
from rankscope.benchmark.folder import LANGUAGE_REPORT, inside, slug, unfinished
from rankscope.benchmark.run import Result, run_benchmark
from rankscope.diagnosis.languages import Languages, language_table, translations
from rankscope.document.markdown import as_markdown
from rankscope.document.pages import page
from rankscope.document.views import Shown, document_of
from rankscope.errors import InputError
from rankscope.files import PathLike, folder_to_write, replacing
from rankscope.measures.language import Measure
from rankscope.part import Part
from rankscope.records.experiment_files import FileRecord
from rankscope.records.origin import fingerprint
from rankscope.statistics.arrays import FloatArray
from rankscope.tables.frames import recorded_frame

__all__ = ["run_languages"]


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


def run_languages(
    config: PathLike | LoadedConfig,
    *,
    output: PathLike = "benchmarks",
    settings: Sequence[str] = (),
    **options: Any,
) -> LanguageResults:
    """Run a config whose cases are in several languages: an experiment each, and a table of all.

    ``options`` are those of `run_benchmark`.

    Raises:
        InputError: the cases are in one language, or something cannot be used.
    """
    place = folder_to_write(output, "output")
    loaded = loaded_config(config, settings)
    codes = languages_to_run(loaded)
    if not codes:
        raise InputError("the config has no cases in several languages; use run_benchmark")
    results = {
        code: run_benchmark(_in_language(loaded, code), output=place, **options) for code in codes
    }
    folder, report = _compare(loaded, place, results)
    return LanguageResults(folder, report, results)


def _in_language(loaded: LoadedConfig, code: str) -> LoadedConfig:
    """Return the config of one language."""
    config = loaded.config
    collection = config.collection.model_copy(update={"language": code})
    update = {"name": f"{config.name}-{code}", "collection": collection}
    return replace(loaded, config=config.model_copy(update=update))


def _compare(
    loaded: LoadedConfig, output: Path, results: Mapping[str, Result]
) -> tuple[Path, LanguageReport]:
    """Write what the benchmarks of several languages have in common; return where, and what."""
    values, members = _values(results)
    if not values:
        broken = [
            f"{code}: {system.name}: {system.broken}"
            for code, result in results.items()
            for system in result.report.systems
        ]
        raise InputError(f"no system could be scored in any language ({broken[0]})")
    settings = loaded.config.statistics.settings
    queries, _ = questions_of_cases(loaded)
    asked = [(query_id, queries[query_id], queries.metadata[query_id]) for query_id in queries]
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
        table=language_table(values, settings, cases=translations(asked, members)),
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


_Values = dict[str, dict[str, dict[str, FloatArray]]]


def _values(results: Mapping[str, Result]) -> tuple[_Values, dict[str, list[str]]]:
    """Return by measure, system and language the values of all queries, means only.

    The second are the queries of each language, in the order of its values; a language is left
    out whose systems or measures have values for different queries.
    """
    values: _Values = {}
    members: dict[str, list[str]] = {}
    uneven: set[str] = set()
    for code, result in results.items():
        report = result.report
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
