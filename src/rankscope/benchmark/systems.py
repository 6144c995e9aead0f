"""The systems of a config: made by name, each after those it refers to, in whatever order."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankscope.benchmark.collection import Collection
from rankscope.benchmark.config.loading import LoadedConfig
from rankscope.diagnosis.stages import StageSpec
from rankscope.errors import (
    InputError,
    LeftoverWarning,
    MissingExtraError,
    RankscopeError,
    UnknownNameError,
)
from rankscope.retrieval.options import Reading
from rankscope.retrieval.protocol import (
    System,
    UnansweredError,
    all_parts,
    contained,
    packages_of,
    without_secrets,
)
from rankscope.retrieval.registry import SYSTEMS, PythonUse, Spec, build_system
from rankscope.retrieval.stages.rerank import RerankOptions
from rankscope.retrieval.stages.stage import Memory


class Systems(Mapping[str, System]):
    """Systems by name, each made when it is first asked for, and given the corpus by `indexed`.

    ``attempt`` is 0, or which time they are asked again: then nothing is kept of another time.
    """

    def __init__(
        self,
        loaded: LoadedConfig,
        collection: Collection,
        *,
        cache: Path,
        python: bool = True,
        attempt: int = 0,
    ) -> None:
        self._loaded, self._collection = loaded, collection
        self._specs = loaded.systems()
        self._attempt, self._memory = attempt, Memory()
        self._python: PythonUse = "run" if python else "refused"
        self._cache = cache
        self._made: dict[str, System] = {}
        self._making: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)

    def __contains__(self, name: object) -> bool:
        return name in self._specs

    def __getitem__(self, name: str) -> System:
        if name in self._made:
            return self._made[name]
        if name not in self._specs:
            raise UnknownNameError("system", name, self._specs)
        if name in self._making:
            circle = " → ".join([*self._making[self._making.index(name) :], name])
            raise _NamedError(f"systems refer to each other in a circle: {circle}")
        self._making.append(name)
        try:
            system = self._build(name)
        finally:
            self._making.pop()
        self._made[name] = system
        return system

    def indexed(self, name: str) -> System:
        """Return a system that has been given the corpus, which is read for that."""
        system = self[name]
        with naming(name):
            if self._collection.corpus is not None:
                system.index(self._collection.corpus)
            elif any(part.needs_corpus for part in all_parts(system)):
                raise InputError("there are no documents to search; name them in collection.corpus")
        return system

    def _build(self, name: str) -> System:
        with naming(name):
            return build_system(
                self._specs[name],
                name=name,
                systems=self,
                folder=self._loaded.folder,
                cache=self._cache,
                training=self._collection.training,
                memory=self._memory,
                python=self._python,
                attempt=self._attempt,
                rebuild=self._attempt > 0 and self._loaded.config.repeat.rebuild,
            )

    def identities(self) -> dict[str, str]:
        """Return what each system is known by, without the corpus, which has a hash of its own."""
        keys = {}
        for name in self:
            with naming(name):
                keys[name] = self[name].identity().key
        return keys

    def packages(self) -> list[str]:
        """Return the distributions that the systems compute with."""
        return sorted({package for name in self for package in packages_of(self[name])})

    def close(self) -> None:
        """Close every system that was made.

        An index that could not be dropped is a warning: whatever was computed is not lost by it.
        """
        problems = []
        for name, system in self._made.items():
            try:
                with naming(name):
                    system.close()
            except RankscopeError as error:
                problems.append(self._loaded.secrets.hide(without_secrets(str(error), system)))
        for problem in problems:
            warnings.warn(problem, LeftoverWarning, stacklevel=2)


class _NamedError(InputError):
    """An error that says which system it is about."""


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Say in an error which system it is about."""
    try:
        with contained():
            yield
    except (MissingExtraError, _NamedError):  # the latter of one that it refers to
        raise
    except (RankscopeError, UnansweredError) as error:
        raise _NamedError(f"system {name}: {error}") from error


def described(specs: Mapping[str, Any]) -> dict[str, StageSpec]:
    """Describe systems by their specs, as stages of pipelines; nothing is made or imported."""
    reading, stages = Reading(specs, unexpanded=True), {}
    for name, written in specs.items():
        spec = SYSTEMS.read(written, reading)
        options, is_visible = spec.options, all(isinstance(part, str) for part in _below(spec))
        depth = options.depth if is_visible and isinstance(options, RerankOptions) else None
        stages[name] = StageSpec(name, spec.name, tuple(_names(spec)), depth)
    return stages


def _below(spec: Spec[System]) -> list[str | Spec[System]]:
    """Return the systems that a spec puts together: names, and specs without one."""
    of = getattr(spec.options, "of", None) or []
    return of if isinstance(of, list) else [of]


def _names(spec: Spec[System]) -> dict[str, None]:
    names: dict[str, None] = {}
    for part in _below(spec):
        names.update({part: None} if isinstance(part, str) else _names(part))
    return names
