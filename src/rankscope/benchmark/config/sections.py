"""The base of a config's sections, and the wording of what they refuse.

Every part of a config with keys of its own is a pydantic model, most of them made from `Section`. A
check inside one calls `refuse`; `first_problem` takes what pydantic collected and returns what is
wrong, in one sentence, and where.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from rankscope.benchmark.config.syntax import Keys
from rankscope.errors import UnknownNameError, shown

Text = Annotated[str, Field(min_length=1)]
"""Text that is not empty."""


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Texts = Annotated[
    list[Text],
    BeforeValidator(_listed),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "items": {"type": "string", "minLength": 1}},
            ]
        }
    ),
]
"""A list of texts; a single one needs no list."""


def entries_of(value: Any) -> list[tuple[Keys, Any]]:
    """Return what is in a list, each entry with its position; anything else by itself."""
    if isinstance(value, list):
        return [((at,), entry) for at, entry in enumerate(value)]
    return [((), value)]


class Section(BaseModel):
    """A part of a config with keys of its own; a key without a value counts as absent."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if value is not None}
        return data


def refuse(problem: str, *keys: str | int) -> NoReturn:
    """Raise, inside a check of a section, what is wrong with the value that ``keys`` lead to."""
    raise PydanticCustomError("refused", "{problem}", {"problem": problem, "keys": keys})


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a config.

    ``keys`` lead to the value, and to its line. ``owner`` is the path that the message names: of an
    unknown or missing key that of the section it is in.
    """

    text: str
    keys: Keys = ()
    owner: Keys = ()


def first_problem(
    error: ValidationError, model: type[BaseModel], *, above: Keys = (), also: tuple[str, ...] = ()
) -> Problem:
    """Return the first thing that is wrong, in our words; a wrong key explains a missing one.

    ``above`` is the path to what was checked, if that is not the whole file, and ``also`` are keys
    that are understood beside those of the model.
    """
    details = min(
        error.errors(include_url=False), key=lambda problem: problem["type"] != "extra_forbidden"
    )
    loc: Keys = tuple(key for key in details["loc"] if key != "[key]")
    kind, context, value = details["type"], details.get("ctx", {}), details["input"]
    keys = (*above, *loc)
    if kind == "refused":
        keys = (*keys, *context["keys"])
        return Problem(context["problem"], keys, keys)
    if kind in ("missing", "extra_forbidden"):
        fields = _model_at(model, loc[:-1]).model_fields
        name = str(loc[-1])
        if kind == "missing":
            doc = (fields[name].description or "").rstrip(".")
            text = f"missing key {shown(name)}: {doc[:1].lower()}{doc[1:]}"
        else:
            known = [*fields, *(also if len(loc) == 1 else ())]
            text = str(UnknownNameError("key", name, known))
        return Problem(text, keys, keys[:-1])
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", context["expected"])
        nearest = UnknownNameError("choice", str(value), choices).nearest
        hint = f"; nearest: {', '.join(nearest)}" if nearest else ""
        return Problem(
            f"expected one of {', '.join(choices)}, got {actual(value)}{hint}", keys, keys
        )
    expected = _EXPECTED[kind].format(**context) if kind in _EXPECTED else details["msg"]
    return Problem(f"expected {expected}, got {actual(value)}", keys, keys)


_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "bool_type": "true or false",
    "list_type": "a list",
    "too_short": "at least one entry",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "{ge} or more",
    "less_than": "less than {lt:g}",
    "less_than_equal": "{le} or less",
}


def actual(value: Any) -> str:
    """Say what a value is, for a message about what was expected instead."""
    if isinstance(value, dict | list):
        empty = "" if value else "n empty"
        return f"a{empty} mapping" if isinstance(value, dict) else f"a{empty} list"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    return shown(value) if isinstance(value, str) else str(value)


def _model_at(model: type[BaseModel], keys: Keys) -> type[BaseModel]:
    """Return the model of the section that keys lead to, through lists and mappings too."""
    for key in keys:
        field = model.model_fields.get(str(key))
        inner = None if field is None else _model_in(field.annotation)
        model = inner or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
