"""What stages of a benchmark are made of: its config and collection, and how a stage is known."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib import metadata
from typing import Any, TypeVar

import rankscope
from rankscope.benchmark.artifacts import Form
from rankscope.benchmark.collection import Collection
from rankscope.benchmark.config.loading import LoadedConfig
from rankscope.benchmark.folders import slug
from rankscope.benchmark.plan import Output, Results, Stage, Step
from rankscope.benchmark.systems import Description
from rankscope.benchmark.targets import Targets
from rankscope.diagnosis.stages import StageSpec
from rankscope.errors import UnknownNameError
from rankscope.records.origin import fingerprint
from rankscope.runs.validation import Reference
from rankscope.statistics.settings import Settings

Made = TypeVar("Made")

_PACKAGES = ("numpy", "polars", "scipy")


@dataclass(frozen=True, eq=False)
class Benchmark:
    """A config with its collection and what is known of its systems: all that stages are made of.

    Nothing in it can be asked: runs come from systems, or from the files of an experiment.
    """

    loaded: LoadedConfig
    collection: Collection
    systems: Mapping[str, Description]
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
    def reference(self) -> Reference:
        """What runs are checked against."""
        ids = [query.query_id for query in self.collection.queries]
        corpus: Any = self.collection.corpus
        if corpus is not None and self.collection.chunking is not None:
            corpus = list(dict.fromkeys(self.collection.chunking.documents(corpus.ids)[0]))
        known = Reference.read(queries=ids, corpus=corpus)
        return replace(known, qrels=self.collection.judgments.table)

    @cached_property
    def experiment(self) -> str:
        """The id: the config's name, and a hash of config, data, systems, versions and targets.

        How many queries are asked at a time decides nothing, and may differ between machines.
        """
        config = self.loaded.plain()
        key = fingerprint(
            {key: value for key, value in config.items() if key != "fetch"},
            self.collection.info.model_dump(),
            dict(self.keys),
            dict(self.versions),
            asdict(self.targets),
        )
        return f"{slug(self.loaded.config.name)}-{key[:12]}"

    def pipeline(self) -> list[StageSpec]:
        """Describe the systems as stages of pipelines."""
        return [
            StageSpec(name, system.kind, system.of, system.depth)
            for name, system in self.systems.items()
        ]


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of what always takes part, and of some packages if they are there."""
    known = {"rankscope": rankscope.__version__, "python": platform.python_version()}
    for package in (*_PACKAGES, *packages):
        try:
            known[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return known


def make_stage(  # noqa: PLR0917
    name: str,
    work: Callable[[Results, Step], Output[Made]],
    form: Form[Made],
    needs: Sequence[Stage[Any]],
    parts: Sequence[Any],
    about: str = "",
) -> Stage[Made]:
    """Make a stage that is known by what it needs and by some more parts."""
    key = fingerprint(name, versions(), [stage.key for stage in needs], list(parts))
    return Stage(name, key, work, form, tuple(needs), about=about)
