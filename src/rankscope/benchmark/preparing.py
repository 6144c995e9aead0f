"""A config made ready: read, its collection loaded, its systems made and closed again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from rankscope.benchmark.basis import Benchmark, versions
from rankscope.benchmark.collection import Collection, load_collection
from rankscope.benchmark.config.loading import LoadedConfig, read_config
from rankscope.benchmark.in_languages import languages_to_run
from rankscope.benchmark.systems import Systems, described
from rankscope.benchmark.targets import load_targets
from rankscope.diagnosis.analysis import all_analyses
from rankscope.errors import InputError
from rankscope.files import PathLike
from rankscope.retrieval.registry import PythonUse
from rankscope.retrieval.stages.stage import Memory


def loaded_config(config: PathLike | LoadedConfig, settings: Sequence[str]) -> LoadedConfig:
    """Return a config, which is read if it is not yet."""
    if isinstance(config, LoadedConfig):
        return config
    return read_config(config, settings=settings)


def refuse_languages(loaded: LoadedConfig, remedy: str) -> None:
    """Refuse cases in several languages, of which one run or mean would be made."""
    codes = languages_to_run(loaded)
    if codes:
        raise InputError(
            f"the cases are in {len(codes)} languages ({', '.join(codes)}); name one of them "
            f"(collection.language={codes[0]}), or {remedy}"
        )


@contextmanager
def prepared(
    loaded: LoadedConfig, cache: Path, python: PythonUse, *, may_read: bool = True
) -> Iterator[tuple[Benchmark, Systems]]:
    """Yield a benchmark and its systems, which are closed afterwards."""
    config = loaded.config
    targets = load_targets(config.targets, config.bands, loaded.folder, measured=config.measured)
    collection = load_collection(loaded, cache, may_read=may_read)
    grades = (grades.values() for grades in collection.judgments.by_query.values())
    if all(grade <= 0 or grade == 1 for group in grades for grade in group):
        loaded = replace(loaded, config=config.for_binary_grades())
    loaded = replace(loaded, config=loaded.config.for_cases(_grouping(collection)))
    config = loaded.config
    queries = [(query.query_id, query.text, query.metadata) for query in collection.queries]
    for analysis in all_analyses():
        if analysis.check is not None and analysis.name in config.analyses:
            analysis.check(config.analyses[analysis.name], queries)
    systems = Systems(
        loaded.systems(),
        collection,
        folder=loaded.folder,
        cache=cache,
        memory=Memory(),
        python=python,
        hide=loaded.secrets.hide,
    )
    with closing(systems):
        if not any(systems[name].trained for name in systems):
            info = collection.info.model_copy(update={"training": None})
            collection = replace(collection, info=info)
        benchmark = Benchmark(
            loaded,
            collection,
            described(loaded.systems()),
            systems.identities(),
            versions(*systems.packages()),
            targets,
        )
        yield benchmark, systems


def _grouping(collection: Collection) -> set[str]:
    """Return the fields of the questions that have more than one value."""
    values: dict[str, set[str]] = {}
    for query in collection.queries:
        for name, value in query.metadata.items():
            values.setdefault(name, set()).add(str(value))
    return {name for name, known in values.items() if len(known) > 1}
