"""The base of a config's sections, types of their values, and how a check refuses one.

Every part of a config with keys of its own is a pydantic model, most of them made from `Section`.
What does not fit becomes a `SpecError`, with the path of keys that leads to it, as for the options
of systems.
"""

from __future__ import annotations

from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from rankscope.errors import RankscopeError, shown
from rankscope.measures.language import Measure, parse_measures
from rankscope.retrieval.options import Keys, SpecError, Text, given_as, refusal

Model = TypeVar("Model", bound=BaseModel)


def refuse(problem: str, *keys: str | int) -> NoReturn:
    """Raise, inside a check of a section, what is wrong with the value that ``keys`` lead to."""
    raise SpecError(problem, keys)


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_TEXT = {"type": "string", "minLength": 1}

Texts = Annotated[
    list[Text],
    BeforeValidator(_listed),
    WithJsonSchema({"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}),
]
"""A list of texts; a single one needs no list."""


def entries_of(value: Any) -> list[tuple[Keys, Any]]:
    """Return what is in a list, each entry with its position; anything else by itself."""
    if isinstance(value, list):
        return [((at,), entry) for at, entry in enumerate(value)]
    return [((), value)]


def _each_once(texts: list[str]) -> list[str]:
    for at, text in enumerate(texts):
        if text in texts[:at]:
            refuse(f"{shown(text)} appears twice; keep one", at)
    return texts


Names = Annotated[Texts, AfterValidator(_each_once)]
"""A list of texts, none of them twice; a single one needs no list."""


def _parsed(given: Any) -> Any:
    """Check that measures can be read."""
    for keys, text in entries_of(given):
        if not isinstance(text, str):
            hint = "quote one that contains a comma"
            refuse(f"expected a measure such as nDCG@10, got {given_as(text)}; {hint}", *keys)
        try:
            parse_measures(text)
        except RankscopeError as error:
            refuse(str(error), *keys)
    return given


def _distinct(asked: list[str]) -> list[str]:
    """Keep each measure once, under the first name it was asked for."""
    if not asked:
        refuse("expected at least one measure, such as nDCG@10, got an empty list")
    return [asked_for(parsed.asked, parsed.measure) for parsed in parse_measures(asked)]


def asked_for(name: str, measure: Measure) -> str:
    """Return the name a measure was asked for, if that alone means it; else its own name."""
    alone = [parsed.measure for parsed in parse_measures(name)]
    return name if alone == [measure] else str(measure)


Measures = Annotated[Texts, BeforeValidator(_parsed), AfterValidator(_distinct)]
"""A list of measures."""


class Section(BaseModel):
    """A part of a config with keys of its own; a key without a value counts as absent."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if value is not None}
        return data


def read_section(model: type[Model], data: Any) -> Model:
    """Make a section of plain data.

    Raises:
        SpecError: what does not fit, and where.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise refusal(model, error, data, noun="key") from None
