"""The base of a config's sections, and the wording of what they refuse.

Every part of a config with keys of its own, in `config`, `config_collection` and `rag_spec`, is a
model made from `Section`. A check inside one says `refuse`; `first_problem` takes what pydantic
collected, and returns where it is wrong and one sentence, to which `overrides` adds file and line.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from rankscope.benchmark.config_keys import Keys, dotted
from rankscope.errors import UnknownNameError, shown

__all__ = ["Section", "Text", "came", "first_problem", "refuse"]

Text = Annotated[str, Field(min_length=1)]
"""Text that is not empty."""


class Section(BaseModel):
    """A part of a config with keys of its own; a key without a value is as if it were not there."""

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


def first_problem(
    error: ValidationError, model: type[Section], above: Keys = ()
) -> tuple[Keys, str]:
    """Return the way to the first thing that is wrong, and what it is, in our words.

    ``above`` is the way to what was checked, if that is not the whole config.
    """
    first = error.errors(include_url=False)[0]
    keys: Keys = tuple(key for key in first["loc"] if key != "[key]")
    kind, context = first["type"], first.get("ctx", {})
    name = dotted((*above, *keys)) or "a config"
    if kind == "refused":
        return (*keys, *context["keys"]), context["problem"]
    if kind == "value_error":
        return keys, str(context["error"])
    if kind == "missing":
        return keys[:-1], _missing(model, keys, above)
    if kind == "extra_forbidden":
        owner = f" of {dotted((*above, *keys[:-1]))}" if above or keys[:-1] else ""
        known = [*_model_at(model, keys[:-1]).model_fields, *([] if owner else TOP_LEVEL)]
        return keys, str(UnknownNameError(f"key{owner}", str(keys[-1]), known))
    if kind == "literal_error":
        known = re.findall(r"'([^']*)'", context["expected"])
        unknown = UnknownNameError("choice", str(first["input"]), known)
        return keys, f"{name} is one of {', '.join(known)}; {unknown}"
    expected = _EXPECTED.get(kind, "something else").format(**context)
    return keys, f"{name} must be {expected}, not {came(first['input'])}"


TOP_LEVEL = ("retrieval_metrics",)
"""Keys at the top of a config that are translated into others."""

_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a whole number from {ge} up",
    "less_than": "a number below {lt}",
    "less_than_equal": "a whole number up to {le}",
}


def came(value: Any) -> str:
    """Say what a value is, for a message about what was expected instead."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return shown(value) if isinstance(value, str) else str(value)


def _missing(model: type[Section], keys: Keys, above: Keys) -> str:
    owner = dotted((*above, *keys[:-1])) or "the config"
    doc = _model_at(model, keys[:-1]).model_fields[str(keys[-1])].description or ""
    return f"{owner} needs {keys[-1]}: {doc[:1].lower()}{doc[1:].rstrip('.')}"


def _model_at(model: type[Section], keys: Keys) -> type[Section]:
    """Return the section that keys lead to."""
    for key in keys:
        inner = model.model_fields[str(key)].annotation
        if not isinstance(inner, type) or not issubclass(inner, Section):
            break
        model = inner
    return model
