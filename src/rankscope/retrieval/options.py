"""Options of components: a frozen pydantic model each, checked once, refused in one sentence.

The docstring under a field is its documentation. `read_options` makes a model of raw data, as a
config or a call gives it; what does not fit becomes a `SpecError`, which says what was expected,
what was given, and through which keys it is reached. An option of the type `Secret` is shown and
recorded nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.part import DocumentedSchema

Keys = tuple[str | int, ...]
"""The way from a spec to a value in it."""

Text = Annotated[str, Field(min_length=1)]
"""Text that is not empty."""

TextList = Annotated[tuple[Text, ...], Field(strict=False)]
"""A list of texts."""

Secret = SecretStr
"""A key or password: needed to ask, but no part of what is asked."""


class Unexpanded(str):
    """A text that holds ``${NAME}`` where a value will be; checks of its content have to wait."""

    __slots__ = ()


def _in_words(value: Any) -> Any:
    """Take dates and numbers as they are written, which YAML makes of texts without quotes."""
    if isinstance(value, date):
        return value.isoformat()
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


Snapshot = Annotated[str, BeforeValidator(_in_words), Field(min_length=1)]
"""What is searched, in the user's words: a date, a version, the name of an index."""


class SpecError(InputError):
    """A spec that cannot be used; ``keys`` lead to what is wrong, ``problem`` says what it is."""

    def __init__(self, problem: str, keys: Keys = ()) -> None:
        self.problem = problem
        self.keys = keys
        path = ".".join(map(str, keys))
        ValueError.__init__(self, f"{path}: {problem}" if path else problem)

    def inside(self, *keys: str | int) -> SpecError:
        """Return the same error, seen from further up."""
        return SpecError(self.problem, (*keys, *self.keys))


class UnknownSpecNameError(SpecError, UnknownNameError):
    """A name in a spec that nobody registered; ``nearest`` holds those that look like it."""

    def __init__(self, error: UnknownNameError, keys: Keys = ()) -> None:
        problem = error.problem if isinstance(error, SpecError) else str(error)
        SpecError.__init__(self, problem, keys)
        self.name, self.nearest = error.name, error.nearest

    def inside(self, *keys: str | int) -> SpecError:
        """Return the same error, seen from further up."""
        return UnknownSpecNameError(self, (*keys, *self.keys))


@dataclass(frozen=True, slots=True)
class Reading:
    """What specs are read with.

    ``systems`` are the names that a spec may refer to. ``unexpanded``: a text may still hold
    ``${NAME}`` where the value of a variable will be, and is not checked. ``as_written``: the spec
    is what a config holds, and what is in it will be recorded; a key must not be.
    """

    systems: Iterable[str] = ()
    unexpanded: bool = False
    as_written: bool = False


_KEY_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "api-key", "x-api-key", "x-goog-api-key", "cookie"}
)
"""Headers that hold keys."""

_FROM_ENVIRONMENT = (
    "a key in a config would be recorded; write the name of a variable, as in ${MY_KEY}, and set "
    "it in the environment"
)

AS_GIVEN = Reading()
"""A spec that refers to no other, and holds all values."""


class Options(BaseModel):
    """The options of a component.

    A value that is not a table is that of the first option that is required, or else of the first.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _as_table(cls, data: Any) -> Any:
        if isinstance(data, cls):
            return data
        if isinstance(data, Mapping):
            return {str(name): value for name, value in data.items()}
        if data is None:
            return {}
        required = [name for name, field in cls.model_fields.items() if field.is_required()]
        names = [*required, *cls.model_fields]
        if not names:
            raise SpecError(f"expected no options, got {given_as(data)}")
        return {names[0]: data}

    @field_validator("*", mode="wrap")
    @classmethod
    def _checked(cls, value: Any, check: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        if isinstance(value, str) and "${" in value and info.context and info.context.unexpanded:
            return Unexpanded(value)
        if hasattr(value, "__index__") and not isinstance(value, bool):
            value = int(value)  # NumPy's whole numbers, too
        try:
            checked = check(value)
        except UnknownNameError as error:  # a LookupError, which pydantic does not take
            if isinstance(error, SpecError):
                raise
            raise UnknownSpecNameError(error) from None
        if info.context and info.context.as_written:
            cls._refuse_written_keys(str(info.field_name), checked)
        return checked

    @classmethod
    def _refuse_written_keys(cls, option: str, value: Any) -> None:
        """Refuse a key that is written in a config, of which a copy is kept."""
        if isinstance(value, SecretStr) and cls.gives_away(option, value.get_secret_value()):
            raise SpecError(_FROM_ENVIRONMENT)
        for name, inner in value.items() if isinstance(value, Mapping) else ():
            is_named = isinstance(inner, SecretStr) and "${" not in inner.get_secret_value()
            if is_named and (option != "headers" or name.lower() in _KEY_HEADERS):
                raise SpecError(_FROM_ENVIRONMENT, (name,))

    @classmethod
    def gives_away(cls, option: str, value: str) -> bool:  # noqa: ARG003
        """Tell whether the value of a secret option holds what nobody should read."""
        return True

    def plain(self) -> dict[str, Any]:
        """Return the options without secrets, as an identity holds them."""
        return self.model_dump(exclude={*self._secret_fields()})

    def secrets(self) -> list[str]:
        """Return the values that must not be shown."""
        return [secret for name in self._secret_fields() for secret in _hidden(getattr(self, name))]

    @classmethod
    def _secret_fields(cls) -> list[str]:
        return [
            name
            for name, field in cls.model_fields.items()
            if SecretStr in (field.annotation, *getattr(field.annotation, "__args__", ()))
        ]


def _hidden(value: Any) -> list[str]:
    """Return the secrets in the value of an option: one, a table of them, or none."""
    if isinstance(value, Mapping):
        return [secret for inner in value.values() for secret in _hidden(inner)]
    if not isinstance(value, SecretStr):
        return []
    secret = value.get_secret_value()
    return list(dict.fromkeys([secret, secret.rpartition(" ")[2]]))  # of Bearer KEY, also the key


class RemoteOptions(Options):
    """Options of a component that asks something outside this process."""

    snapshot: Snapshot | None = None
    """What is searched, in your words, such as a date; answers are kept under it. If not given,
    they are asked for again by each process."""


AnyOptions = TypeVar("AnyOptions", bound=Options)


def read_options(model: type[AnyOptions], given: object, reading: Reading = AS_GIVEN) -> AnyOptions:
    """Make options of raw data; what is not given has its default.

    Raises:
        UnknownSpecNameError: an option there is not, or a name that nobody registered.
        SpecError: a value that is not allowed, or one that is missing.
    """
    try:
        return model.model_validate(given, context=reading)
    except ValidationError as error:
        raise refusal(model, error, given) from None


def refusal(
    model: type[BaseModel], error: ValidationError, given: object, *, noun: str = "option"
) -> SpecError:
    """Return the first thing that is wrong, in our words; ``noun`` is what fields are called."""
    errors = error.errors(include_url=False)
    unknown = (problem for problem in errors if problem["type"] == "extra_forbidden")
    first = next(unknown, errors[0])  # a misspelt name explains why another is missing
    kind, location = first["type"], first["loc"]
    keys = _keys(given, location)
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, SpecError):
        return cause.inside(*keys)
    if isinstance(cause, InputError):
        return SpecError(str(cause), keys)
    if cause is not None:  # a check of ours, whose text completes "expected"
        return SpecError(f"expected {cause}, got {given_as(first['input'])}", keys)
    whole = model.model_json_schema(schema_generator=DocumentedSchema)
    owner = _schema_at(whole, location[:-1])
    fields: dict[str, Any] = _within(owner, whole, "properties")
    if kind == "missing":
        doc = " ".join(fields[str(location[-1])].get("description", "").split())
        text = f"{noun} {location[-1]} is required: {doc[:1].lower()}{doc[1:].rstrip('.')}"
        return SpecError(text, keys)
    if kind == "extra_forbidden":
        return UnknownSpecNameError(UnknownNameError(noun, str(location[-1]), fields), keys)
    schema = _schema_at(whole, location)
    if kind == "literal_error" and isinstance(first["input"], str):
        wrong = UnknownNameError(str(location[-1]), first["input"], map(str, _choices(schema)))
        if wrong.nearest:
            return UnknownSpecNameError(wrong, keys)
    got = "" if schema.get("format") == "password" else f", got {given_as(first['input'])}"
    return SpecError(f"expected {_expected(schema, noun)}{got}", keys)


def _keys(given: object, location: Sequence[str | int]) -> Keys:
    """Return the keys in raw data for a location in a model.

    They differ where a value was given instead of a table, and so the first option is not named,
    and where an option is missing.
    """
    keys: list[str | int] = []
    for key in location:
        in_list = isinstance(given, list | tuple) and isinstance(key, int) and key < len(given)
        if in_list or (isinstance(given, Mapping) and key in given):
            given = given[key]  # type: ignore[index]
            keys.append(key)
    return tuple(keys)


def _schema_at(whole: dict[str, Any], location: Sequence[str | int]) -> dict[str, Any]:
    """Return the JSON schema of what a location leads to."""
    schema = _resolved(whole, whole)
    for key in location:
        place = "items" if isinstance(key, int) else "properties"
        inner: Any = _within(schema, whole, place)
        if not isinstance(key, int):
            inner = inner.get(key) or schema.get("additionalProperties") or {}
        schema = _resolved(inner, whole)
    return schema


def _within(schema: dict[str, Any], whole: dict[str, Any], place: str) -> dict[str, Any]:
    """Return what a schema, or one of those it lets choose from, has in ``place``."""
    choices = [schema, *(_resolved(choice, whole) for choice in schema.get("anyOf", ()))]
    return next((choice[place] for choice in choices if place in choice), {})


def _resolved(schema: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """Follow a reference, and leave out that a value may be null."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
    if len(choices) == 1:
        schema = {**schema, **choices[0]}
    if "$ref" in schema:
        return _resolved(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    return schema


def _expected(schema: Mapping[str, Any], noun: str) -> str:
    """Say what a JSON schema allows."""
    kind = schema.get("type", "")
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    if kind == "array":
        return f"a list of {_expected(schema['items'], noun).removeprefix('a ')}s"
    if kind == "object":
        return f"a table of {noun}s"
    if not kind and "anyOf" in schema:
        return " or ".join(_expected(choice, noun) for choice in schema["anyOf"])
    return f"{_NOUNS.get(kind, 'something else')}{_span(schema)}"


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    """Return the values that a JSON schema lists; a list of one is a constant."""
    return schema["enum"] if "enum" in schema else [schema["const"]]


def _span(schema: Mapping[str, Any]) -> str:
    """Say between which ends a number must be; nothing if any will do."""
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    ends = []
    if low is not None:
        ends.append(f"from {_number(low)} {'up' if high is None else f'to {_number(high)}'}")
    elif high is not None:
        ends.append(f"up to {_number(high)}")
    if above is not None:
        ends.append(f"above {_number(above)}")
    if below is not None:
        ends.append(f"below {_number(below)}")
    return f" {' and '.join(ends)}" if ends else ""


def _number(value: float) -> str:
    return f"{value:,}" if 10**6 <= value < 10**15 else f"{value:g}"


_NOUNS = {
    "number": "a number",
    "integer": "a whole number",
    "string": "text",
    "boolean": "true or false",
}


def given_as(value: object) -> str:
    """Say what a value is, for a message about what was expected instead."""
    if isinstance(value, Mapping | list | tuple):
        noun = "table" if isinstance(value, Mapping) else "list"
        return f"a {noun}" if value else f"an empty {noun}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value) if isinstance(value, int | float) else shown(value)
