"""The systems of a config: made by name, each after those it refers to, in whatever order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankscope.benchmark.collection import Collection
from rankscope.errors import InputError, MissingExtraError, RankscopeError, UnknownNameError
from rankscope.retrieval.protocol import ProcessEndError, System, contained
from rankscope.retrieval.registry import PythonUse, build_system
from rankscope.retrieval.stages.rerank import Rerank
from rankscope.retrieval.stages.stage import Memory


class Systems(Mapping[str, System]):
    """Systems by name, each made when it is first asked for, and given the corpus by `indexed`."""

    def __init__(
        self,
        specs: Mapping[str, Any],
        collection: Collection,
        *,
        folder: Path,
        cache: Path,
        memory: Memory | None = None,
        python: PythonUse = "run",
    ) -> None:
        self._specs = specs
        self._memory = memory
        self._python: PythonUse = python
        self._collection = collection
        self._folder, self._cache = folder, cache
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
        if self._collection.corpus is not None:
            with naming(name):
                system.index(self._collection.corpus)
        return system

    def _build(self, name: str) -> System:
        with naming(name):
            return build_system(
                self._specs[name],
                name=name,
                systems=self,
                folder=self._folder,
                cache=self._cache,
                training=self._collection.training,
                memory=self._memory,
                python=self._python,
            )

    def close(self) -> None:
        """Close every system that was made."""
        for system in self._made.values():
            system.close()


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
    except (RankscopeError, ProcessEndError) as error:
        raise _NamedError(f"system {name}: {error}") from error


def builds_on(system: System) -> list[System]:
    """Return the systems that a system asks, directly."""
    return [part for part in system.parts() if isinstance(part, System)]


def rerank_depth(system: System) -> int | None:
    """Return how many documents a reranker looks at; None for another system."""
    return system.depth if isinstance(system, Rerank) else None
