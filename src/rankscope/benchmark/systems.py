"""The systems of a config: made by name, each after those it refers to, in whatever order."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankscope.benchmark.collection import Collection
from rankscope.errors import (
    InputError,
    LeftoverWarning,
    MissingExtraError,
    RankscopeError,
    UnknownNameError,
)
from rankscope.retrieval.engines.loaded import LoadedEngine
from rankscope.retrieval.options import Reading
from rankscope.retrieval.protocol import (
    ProcessEndError,
    System,
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

    ``hide`` takes secrets out of warnings.
    """

    def __init__(
        self,
        specs: Mapping[str, Any],
        collection: Collection,
        *,
        folder: Path,
        cache: Path,
        memory: Memory | None = None,
        python: PythonUse = "run",
        attempt: int = 0,
        rebuild: bool = False,
        hide: Callable[[str], str] = str,
    ) -> None:
        self._specs = specs
        self._hide = hide
        self._attempt, self._rebuild = attempt, rebuild
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
                attempt=self._attempt,
                rebuild=self._rebuild,
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

    def know_what_to_drop(self, names: Iterable[str]) -> None:
        """Give the corpus to systems that drop their index, even if all answers were kept.

        The name of an index follows from the corpus, so that closing them can find it.
        """
        for name in names:
            if any(
                isinstance(part, LoadedEngine) and part.options.drop
                for part in all_parts(self[name])
            ):
                self.indexed(name)

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
                problems.append(self._hide(without_secrets(str(error), system)))
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
    except (RankscopeError, ProcessEndError) as error:
        raise _NamedError(f"system {name}: {error}") from error


@dataclass(frozen=True, slots=True)
class Description:
    """What a config says of a system, apart from how it is asked."""

    kind: str
    """bm25, vector, fuse, rerank, …"""
    of: tuple[str, ...]
    """The systems of the config that it asks, through unnamed ones too."""
    depth: int | None
    """How many documents a reranker looks at, if what it reranks is a system of the config."""
    asks_others: bool
    """Whether it puts other systems together, named or not."""


def described(specs: Mapping[str, Any]) -> dict[str, Description]:
    """Describe systems by their specs; nothing is made or imported."""
    reading = Reading(specs, unexpanded=True)
    return {name: _description(SYSTEMS.read(spec, reading)) for name, spec in specs.items()}


def _description(spec: Spec[System]) -> Description:
    below, options = _below(spec), spec.options
    is_visible = all(isinstance(part, str) for part in below)
    depth = options.depth if is_visible and isinstance(options, RerankOptions) else None
    return Description(spec.name, tuple(_names(spec)), depth, asks_others=bool(below))


def _below(spec: Spec[System]) -> list[str | Spec[System]]:
    """Return the systems that a spec puts together: names, and specs without one."""
    of = getattr(spec.options, "of", None) or []
    return of if isinstance(of, list) else [of]


def _names(spec: Spec[System]) -> dict[str, None]:
    names: dict[str, None] = {}
    for part in _below(spec):
        names.update({part: None} if isinstance(part, str) else _names(part))
    return names


def share_parts(system: System, other: System) -> bool:
    """Tell whether two systems are, or ask, the same one: they are not asked at a time."""
    return not {id(part) for part in all_parts(system)}.isdisjoint(
        id(part) for part in all_parts(other)
    )
