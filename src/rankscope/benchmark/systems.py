"""The systems of a config: made by name, each after those it refers to, in whatever order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rankscope.benchmark.collection import Collection
from rankscope.errors import InputError, MissingExtraError, RankscopeError, UnknownNameError
from rankscope.retrieval.protocol import System
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.stages.rerank import Rerank
from rankscope.retrieval.stages.stage import Memory

__all__ = ["Systems", "builds_on", "rerank_depth"]


class Systems(Mapping[str, System]):
    """Systems by name, each made and given the corpus when it is first asked for."""

    def __init__(
        self,
        specs: Mapping[str, Any],
        collection: Collection,
        *,
        folder: Path,
        cache: Path,
        memory: Memory | None = None,
    ) -> None:
        self._specs = specs
        self._memory = memory
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
            raise InputError(f"systems refer to each other in a circle: {circle}")
        self._making.append(name)
        try:
            system = self._build(name)
        finally:
            self._making.pop()
        self._made[name] = system
        return system

    def _build(self, name: str) -> System:
        try:
            system = build_system(
                self._specs[name],
                name=name,
                systems=self,
                folder=self._folder,
                cache=self._cache,
                training=self._collection.training,
                memory=self._memory,
            )
            if self._collection.corpus is not None:
                system.index(self._collection.corpus)
        except MissingExtraError:
            raise
        except RankscopeError as error:
            if str(error).startswith(("system ", "systems ")):  # of one it refers to
                raise
            raise InputError(f"system {name}: {error}") from error
        return system

    def close(self) -> None:
        """Close every system that was made."""
        for system in self._made.values():
            system.close()


def builds_on(system: System) -> list[System]:
    """Return the systems that a system asks, directly."""
    return [part for part in system.parts() if isinstance(part, System)]


def rerank_depth(system: System) -> int | None:
    """Return how many documents a reranker looks at; None for another system."""
    return system.depth if isinstance(system, Rerank) else None
