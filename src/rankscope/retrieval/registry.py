"""The registers of systems and their parts, and `build_system`, which makes one from its spec.

A spec is a name, or a name with options: ``"bm25"``, ``{"bm25": {"k1": 1.2}}``. A component is one
class in a file of its own in this package, registered with the model of its options; the check of
a config, its JSON schema, the tables of the documentation and the conformance tests follow from
that. The files are imported when the first name is looked up, and import their engines only when
something is made.

Options refer to other components by their registers: ``embedder: Annotated[Any, EMBEDDERS]``. A
stage whose options are `StageOptions` takes one part of a register by name, as in
``{rerank: {of: lexical, ltr: {}}}``.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar

from pydantic import GetCoreSchemaHandler, ValidationInfo, create_model, model_validator
from pydantic_core import CoreSchema, core_schema

from rankscope.errors import InputError, MissingExtraError, UnknownNameError
from rankscope.part import DocumentedSchema
from rankscope.retrieval.options import (
    AS_GIVEN,
    Keys,
    Options,
    Reading,
    SpecError,
    UnknownSpecNameError,
    given_as,
    read_options,
)
from rankscope.retrieval.protocol import Component, System

if TYPE_CHECKING:
    from rankscope.retrieval.stages.stage import Memory
    from rankscope.retrieval.stages.training import Training

__all__ = [
    "SYSTEMS",
    "Context",
    "Entry",
    "Registry",
    "Spec",
    "StageOptions",
    "build_system",
    "check_engine",
    "engine",
    "engine_version",
]

T = TypeVar("T", bound=Component)

PythonUse = Literal["run", "named", "refused"]
"""What happens to the Python code that a spec names."""

_REGISTRIES: dict[str, Registry[Any]] = {}


@dataclass(frozen=True, slots=True)
class Spec(Generic[T]):
    """A spec that was checked: the name of a component, and its options."""

    name: str
    options: Options


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """A component that a spec can name: what makes it of its options and a context."""

    name: str
    summary: str
    options: type[Options]
    make: Callable[[Any, Context], T]

    @property
    def options_model(self) -> type[Options]:
        """The model that options are checked with; for a stage, with its parts by name."""
        if issubclass(self.options, StageOptions):
            return _with_parts(self.options, tuple(self.options.parts_by_name.names()))
        return self.options

    def read(self, given: object, reading: Reading) -> Spec[T]:
        """Check options."""
        return Spec(self.name, read_options(self.options_model, given, reading))

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the options, with what each is for."""
        schema = self.options_model.model_json_schema(schema_generator=DocumentedSchema)
        table: dict[str, Any] = _resolved(schema, schema.pop("$defs", {}))
        return table


class Registry(Generic[T]):
    """Components of one kind, ``base``, by the names under which specs use them.

    ``callables`` is the name of the one that is made of a Python function.
    """

    def __init__(self, noun: str, base: type[T], *, callables: str | None = None) -> None:
        self.noun = noun
        self.base = base
        self._callables = callables
        self._entries: dict[str, Entry[T]] = {}
        _REGISTRIES[noun] = self

    def add(
        self, name: str, options: type[Options], *, summary: str
    ) -> Callable[[Callable[[Any, Context], T]], Callable[[Any, Context], T]]:
        """Register the decorated class, which is made of options and a context."""

        def register(make: Callable[[Any, Context], T]) -> Callable[[Any, Context], T]:
            if name in self._entries:
                raise ValueError(f"the {self.noun} {name} is registered twice")
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
        if name not in self.names():
            raise UnknownSpecNameError(UnknownNameError(self.noun, name, self._entries))
        return self._entries[name]

    def read(self, spec: object, reading: Reading = AS_GIVEN) -> Spec[T]:
        """Check a spec, with all that it holds.

        Raises:
            SpecError: what is wrong, and where in the spec.
        """
        if callable(spec) and self._callables is not None:
            return self.entry(self._callables).read(spec, reading)
        keys: Keys = ()
        if isinstance(spec, str):
            name, options = spec, None
        elif isinstance(spec, Mapping) and len(spec) == 1:
            ((name, options),) = spec.items()
            keys = (name,)
        else:
            got = ", ".join(map(str, spec)) if isinstance(spec, Mapping) else given_as(spec)
            raise SpecError(
                f"expected one {self.noun}, by its name or as a name with its options, got "
                f"{got or 'nothing'}"
            )
        try:
            entry = self.entry(str(name))
        except SpecError as error:
            raise error.inside(*keys) from None
        try:
            return entry.read(options, reading)
        except SpecError as error:
            raise error.inside(entry.name) from None

    def build(self, spec: object, context: Context) -> T:
        """Make a component from its spec."""
        if not isinstance(spec, Spec):
            spec = self.read(spec, Reading(context.systems))
        return self.entry(spec.name).make(spec.options, context)

    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        """Let a register be the type of an option: ``Annotated[Any, EMBEDDERS]``."""
        return core_schema.with_info_plain_validator_function(self._taken)

    def __get_pydantic_json_schema__(self, _: Any, __: Any) -> dict[str, Any]:
        """Mark where a component of this register is expected."""
        return {_REFERENCE: self.noun}

    def _taken(self, value: Any, info: ValidationInfo) -> Any:
        """Check the value of an option: a component, the name of one made before, or a spec."""
        reading = info.context or AS_GIVEN
        if isinstance(value, self.base | Spec):
            return value
        if isinstance(value, str) and self.base is System:
            known = list(reading.systems)
            if value in known:
                return value
            if value not in self.names():
                names = [*known, *self.names()]
                raise UnknownSpecNameError(UnknownNameError(self.noun, value, names))
        return self.read(value, reading)


SYSTEMS: Registry[System] = Registry("system", System)  # type: ignore[type-abstract]
"""Every system, by the name under which a config uses it."""


class StageOptions(Options):
    """Options of a stage over one system, which also names one part of a register."""

    parts_by_name: ClassVar[Registry[Any]]

    of: Annotated[Any, SYSTEMS]
    """The system that is asked: its name, or a spec."""

    @model_validator(mode="after")
    def _one_part(self) -> Self:
        names = self.parts_by_name.names()
        chosen = [name for name in names if getattr(self, name, None) is not None]
        if len(chosen) != 1:
            got = ", ".join(chosen) or "none"
            raise SpecError(f"expected exactly one of {', '.join(names)}, got {got}")
        return self

    @property
    def part(self) -> Spec[Any]:
        """The part that was named."""
        values = (getattr(self, name) for name in self.parts_by_name.names())
        spec: Spec[Any] = next(value for value in values if value is not None)
        return spec


@dataclass(frozen=True, slots=True)
class _NamedPart:
    """The type of an option that has the name of a part: the options of that part."""

    registry: Registry[Any]
    name: str

    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self._taken)

    def __get_pydantic_json_schema__(self, _: Any, __: Any) -> dict[str, Any]:
        return {_REFERENCE: [self.registry.noun, self.name]}

    def _taken(self, value: Any, info: ValidationInfo) -> Any:
        if value is None:
            return None
        return self.registry.entry(self.name).read(value, info.context or AS_GIVEN)


@lru_cache
def _with_parts(options: type[StageOptions], names: tuple[str, ...]) -> type[StageOptions]:
    """Return the options of a stage with a field for each part it may name."""
    registry = options.parts_by_name
    fields: dict[str, Any] = {
        name: (Annotated[Any, _NamedPart(registry, name)], None) for name in names
    }
    return create_model(options.__name__, __base__=options, **fields)


_REFERENCE = "x-rankscope"
"""Marks, in a JSON schema that pydantic made, where a component is expected."""


def _resolved(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Put in what a JSON schema refers to: models inside it, systems and their parts."""
    if isinstance(schema, list):
        return [_resolved(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    rest = {name: value for name, value in schema.items() if name not in ("$ref", _REFERENCE)}
    resolved = {name: _resolved(value, definitions) for name, value in rest.items()}
    if "$ref" in schema:
        inner = definitions[schema["$ref"].rpartition("/")[2]]
        return {**_resolved(inner, definitions), **resolved}
    match schema.get(_REFERENCE):
        case "system":
            return {**resolved, "anyOf": [{"type": "string"}, {"$ref": "#/$defs/System"}]}
        case str(noun):
            return {**resolved, "$ref": f"#/$defs/{noun.capitalize()}"}
        case [noun, name]:
            resolved.pop("default", None)
            return {**resolved, **entry_schema(_REGISTRIES[noun].entry(name))}
    return resolved


def entry_schema(entry: Entry[Any]) -> dict[str, Any]:
    """Return the JSON schema of what may be written after a component's name."""
    short = {"type": ["string", "number", "boolean", "array", "null"]}
    return {"description": entry.summary, "anyOf": [entry.json_schema(), short]}


def spec_schema(registry: Registry[Any]) -> dict[str, Any]:
    """Return the JSON schema of a spec: a name, or one name with its options."""
    names = [{"const": entry.name, "description": entry.summary} for entry in registry]
    table = {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "properties": {entry.name: entry_schema(entry) for entry in registry},
    }
    return {"anyOf": [{"type": "string", "anyOf": names}, table]}


@cache
def _load_all() -> None:
    import rankscope.retrieval as package  # noqa: PLC0415

    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)


@dataclass(frozen=True, slots=True)
class Context:
    """What a spec may refer to.

    ``systems`` are those made before, by name; ``folder`` is where relative paths start and Python
    modules are looked for (None: the current one); ``cache`` keeps indexes and embeddings (None:
    they are made anew each time); ``training`` is what trained parts learn from (None: nothing);
    ``memory`` holds answers that several stages ask for (None: each stage asks for itself).
    ``python`` says what happens to Python code of the user's: it is run, only named (in a plan:
    nothing is imported), or refused. ``attempt`` is 0, or where a system is asked again to see how
    much its answers vary, which time this is: nothing kept from another attempt is used, and if
    ``rebuild``, an engine makes its index anew.
    """

    systems: Mapping[str, System] = field(default_factory=dict)
    folder: Path | None = None
    cache: Path | None = None
    training: Training | None = None
    memory: Memory | None = None
    python: PythonUse = "run"
    attempt: int = 0
    rebuild: bool = False

    def training_for(self, owner: str) -> Training:
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

    def make(self, registry: Registry[T], spec: Any, owned: list[Component]) -> T:
        """Return the component that an option refers to.

        It is one made before, the object itself, or a new one, which is added to ``owned``.
        """
        if isinstance(spec, registry.base):
            return spec
        if isinstance(spec, str) and registry.base is System and spec in self.systems:
            return self.systems[spec]  # type: ignore[return-value]
        component = registry.build(spec, self)
        owned.append(component)
        return component


def build_system(
    spec: Mapping[str, Any] | str,
    *,
    name: str = "",
    systems: Mapping[str, System] | None = None,
    folder: Path | str | None = None,
    cache: Path | str | None = None,
    training: Training | None = None,
    memory: Memory | None = None,
    python: PythonUse = "run",
    attempt: int = 0,
    rebuild: bool = False,
) -> System:
    """Make a system from its spec, such as ``{"bm25": {"fields": {"title": 2, "text": 1}}}``.

    ``name`` is what it is called; the others are those of `Context`. A system that asks something
    outside this process should be closed, or used in a ``with`` statement.

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
        memory,
        python,
        attempt,
        rebuild,
    )
    system = SYSTEMS.build(spec, context)
    system.name = name or system.name
    return system


def engine(module: str, *, package: str, needed_for: str, extra: str = "retrieval") -> ModuleType:
    """Import an optional package, or say how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # it is installed, and something it needs is not
        raise MissingExtraError(package, needed_for=needed_for, extra=extra) from None


def check_engine(module: str, *, package: str, needed_for: str, extra: str = "retrieval") -> None:
    """Say how to get an optional package that is not installed; it is not imported.

    What is only described, in a plan, needs no engine, and importing one can take seconds.
    """
    try:
        installed = find_spec(module) is not None
    except ModuleNotFoundError:
        installed = False
    if not installed:
        raise MissingExtraError(package, needed_for=needed_for, extra=extra)


@cache
def engine_version(package: str) -> str:
    """Return a package and its version, for an identity."""
    return f"{package} {metadata.version(package)}"
