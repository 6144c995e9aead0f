"""The register of systems and their parts, and `build_system`, which makes one from its spec.

A spec is a name, or a name with options: ``"bm25"``, ``{"bm25": {"k1": 1.2}}``. Each system stands
in a file of its own in this package and registers itself; the files are imported when the first
system is looked up, and import their engines only when one is made.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from rankscope.errors import InputError, MissingExtraError, UnknownNameError, shown
from rankscope.retrieval.options import Option, described, read_options
from rankscope.retrieval.protocol import System
from rankscope.retrieval.stages.learning import Training

__all__ = [
    "SYSTEMS",
    "Context",
    "Entry",
    "Registry",
    "build_system",
    "engine",
    "engine_version",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Context:
    """What a spec may refer to.

    ``systems`` are those made before, by name; ``folder`` is where relative paths start and Python
    modules are looked for (None: the current one); ``cache`` keeps indexes and embeddings (None:
    they are made anew each time); ``training`` is what trained parts learn from (None: nothing).
    """

    systems: Mapping[str, System] = field(default_factory=dict)
    folder: Path | None = None
    cache: Path | None = None
    training: Training | None = None

    def taught(self, owner: str) -> Training:
        """Return what to learn from, or say that there is nothing."""
        if self.training is None:
            raise InputError(
                f"{owner} learns from judged questions, and none were given, or fewer than there "
                "are folds; name a split to train on, or pass training="
            )
        return self.training

    def path(self, name: str) -> Path:
        """Return where a file named in a spec is."""
        return Path(name) if self.folder is None else self.folder / name

    def system(self, reference: object) -> System:
        """Return the system that a spec refers to: by name, by a spec of its own, or itself."""
        if isinstance(reference, System):
            return reference
        if isinstance(reference, str) and reference in self.systems:
            return self.systems[reference]
        if isinstance(reference, str) and reference not in SYSTEMS.names():
            known = [*self.systems, *SYSTEMS.names()]
            raise UnknownNameError("system", reference, known)
        return SYSTEMS.build(reference, self)


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """One thing that can be made from a spec."""

    name: str
    summary: str
    options: type[Any]
    make: Callable[[Any, Context], T]

    def described(self) -> list[Option]:
        """List its options."""
        return described(self.options)


class Registry(Generic[T]):
    """Things of one kind that a spec can name."""

    def __init__(self, noun: str) -> None:
        self.noun = noun
        self._entries: dict[str, Entry[T]] = {}

    def add(
        self, name: str, options: type[Any], *, summary: str
    ) -> Callable[[Callable[[Any, Context], T]], Callable[[Any, Context], T]]:
        """Register what the decorated class or function makes of options and a context."""

        def register(make: Callable[[Any, Context], T]) -> Callable[[Any, Context], T]:
            if name in self._entries:
                raise ValueError(f"{self.noun} {name} stands twice")
            self._entries[name] = Entry(name, summary, options, make)
            return make

        return register

    def names(self) -> list[str]:
        """List the registered names."""
        _load_all()
        return sorted(self._entries)

    def __iter__(self) -> Iterator[Entry[T]]:
        return iter([self._entries[name] for name in self.names()])

    def entry(self, name: str) -> Entry[T]:
        """Find one by name."""
        _load_all()
        if name not in self._entries:
            raise UnknownNameError(self.noun, name, self._entries)
        return self._entries[name]

    def build(self, spec: object, context: Context) -> T:
        """Make one from its spec."""
        name, given = named(spec, self.noun)
        entry = self.entry(name)
        return entry.make(read_options(entry.options, given, name), context)


def named(spec: object, noun: str) -> tuple[str, Any]:
    """Take a spec apart: the name and what was said about it."""
    if isinstance(spec, str):
        return spec, None
    article = "an" if noun[0] in "aeiou" else "a"
    if isinstance(spec, Mapping) and len(spec) == 1:
        ((name, given),) = spec.items()
        return str(name), given
    if isinstance(spec, Mapping):
        found = ", ".join(map(str, spec)) or "nothing"
        raise InputError(f"{article} {noun} is one name with its options, but found {found}")
    raise InputError(f"{article} {noun} is a name, or a name with its options, not {shown(spec)}")


SYSTEMS: Registry[System] = Registry("system")
"""Every system, by the name under which a config uses it."""


@cache
def _load_all() -> None:
    import rankscope.retrieval as package  # noqa: PLC0415

    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)


def build_system(
    spec: Mapping[str, Any] | str,
    *,
    name: str = "",
    systems: Mapping[str, System] | None = None,
    folder: Path | str | None = None,
    cache: Path | str | None = None,
    training: Training | None = None,
) -> System:
    """Make a system from its spec, such as ``{"bm25": {"fields": {"title": 2, "text": 1}}}``.

    ``name`` is what it is called; the others are those of `Context`.

    Raises:
        UnknownNameError: a system, option or referred system there is not; names the nearest.
        InputError: an option that is missing or not allowed.
        MissingExtraError: the engine is not installed; says how to.

    >>> build_system({"bm25": {"k1": 1.2}}).identity().parameters["k1"]
    1.2
    """
    context = Context(
        systems or {},
        None if folder is None else Path(folder),
        None if cache is None else Path(cache),
        training,
    )
    made = SYSTEMS.build(spec, context)
    made.name = name or made.name
    return made


def engine(module: str, *, package: str, needed_for: str, extra: str = "retrieval") -> ModuleType:
    """Import an optional package, or say how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # it is there, and something it needs is not
        raise MissingExtraError(package, needed_for=needed_for, extra=extra) from None


def engine_version(package: str) -> str:
    """Return a package and its version, for an identity."""
    return f"{package} {metadata.version(package)}"
