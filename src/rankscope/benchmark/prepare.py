"""Prepare: a config with its collection, targets and systems, before anything is asked."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path

import rankscope
from rankscope.benchmark.collection import Collection, load_collection
from rankscope.benchmark.config.loading import LoadedConfig
from rankscope.benchmark.folder import slug
from rankscope.benchmark.systems import Systems, described
from rankscope.benchmark.targets import Targets, load_targets
from rankscope.diagnosis.analysis import all_analyses
from rankscope.diagnosis.stages import StageSpec
from rankscope.errors import UnknownNameError
from rankscope.records.origin import fingerprint
from rankscope.statistics.settings import Settings

_PACKAGES = ("numpy", "polars", "scipy")


@dataclass(frozen=True, eq=False)
class Benchmark:
    """A config with its collection and what is known of its systems, which cannot be asked here."""

    loaded: LoadedConfig
    collection: Collection
    systems: Mapping[str, StageSpec]
    keys: Mapping[str, str]
    """What each system is known by, without the corpus, which is known by its own hash."""
    versions: Mapping[str, str]
    """rankscope, Python, and the packages that take part."""
    targets: Targets

    @cached_property
    def settings(self) -> Settings:
        """How systems are compared."""
        return self.loaded.config.statistics.settings

    @cached_property
    def clusters(self) -> dict[str, object] | None:
        """The cluster of each query, where queries belong together."""
        field = self.loaded.config.statistics.cluster
        if field is None:
            return None
        known = dict.fromkeys(name for query in self.collection.queries for name in query.metadata)
        if field not in known:
            raise UnknownNameError("field of the queries (statistics.cluster)", field, known)
        return {query.query_id: query.metadata.get(field) for query in self.collection.queries}

    @cached_property
    def experiment(self) -> str:
        """The id: the config's name, and a hash of config, data, systems, versions and targets.

        How many queries are asked at a time decides nothing, and may differ between machines.
        """
        config = self.loaded.plain()
        key = fingerprint(
            {key: value for key, value in config.items() if key != "fetch"},
            self.collection.info.model_dump(exclude={"documents"}),
            dict(self.keys),
            dict(self.versions),
            asdict(self.targets),
        )
        return f"{slug(self.loaded.config.name)}-{key[:12]}"


@cache
def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of what always takes part, and of some packages if they are there."""
    known = {package: _version(package) for package in (*_PACKAGES, *packages)}
    return {
        "rankscope": rankscope.__version__,
        "python": platform.python_version(),
        **{package: version for package, version in known.items() if version is not None},
    }


@contextmanager
def prepared(
    loaded: LoadedConfig, cache: Path, *, python: bool
) -> Iterator[tuple[Benchmark, Sequence[Systems]]]:
    """Yield a benchmark and its systems, once for each time they are asked.

    They are closed afterwards. Without ``python``, systems that name Python code are refused.
    """
    config = loaded.config
    targets = load_targets(config.targets, config.bands, loaded.folder, measured=config.measured)
    collection = load_collection(loaded, cache)
    config = config.for_cases(_varying_fields(collection))
    loaded = replace(loaded, config=config)
    queries = [(query.query_id, query.text, query.metadata) for query in collection.queries]
    for analysis in all_analyses():
        if analysis.check is not None and analysis.name in config.analyses:
            analysis.check(config.analyses[analysis.name], queries)
    attempts = [
        Systems(loaded, collection, cache=cache, python=python, attempt=attempt)
        for attempt in range(config.repeat.times)
    ]
    systems = attempts[0]
    with ExitStack() as stack:
        for attempt in attempts:
            stack.callback(attempt.close)
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
        yield benchmark, attempts


def _varying_fields(collection: Collection) -> set[str]:
    """Return the fields of the questions that have more than one value."""
    values: dict[str, set[str]] = {}
    for query in collection.queries:
        for name, value in query.metadata.items():
            values.setdefault(name, set()).add(str(value))
    return {name for name, known in values.items() if len(known) > 1}
