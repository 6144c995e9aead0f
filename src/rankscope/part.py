"""Parts: every result is one, defined where it is computed.

A `Part` is a frozen pydantic model with a docstring under each field. It is what a function
returns, what the cache keeps, what the JSON holds and what reports read; nothing mirrors it. A
`Record` is a part that is a file of its own: it names its schema, ``rankscope/<kind>/<version>``,
and reads files of earlier versions.

Infinite numbers have no place in JSON: fields of the types `Low`, `High` and `Unbounded` are null
there.
"""

from __future__ import annotations

import ast
import inspect
import json
import math
import textwrap
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
)
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from rankscope.errors import FormatError, shown

Model = TypeVar("Model", bound=BaseModel)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _null_is(infinite: float) -> Callable[[Any], Any]:
    return lambda value: infinite if value is None else value


_NULLABLE = WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "null"}]})
_FINITE = PlainSerializer(_finite, when_used="json")

Low = Annotated[float, BeforeValidator(_null_is(-math.inf)), _FINITE, _NULLABLE]
"""A lower end: minus infinity is null in JSON."""

High = Annotated[float, BeforeValidator(_null_is(math.inf)), _FINITE, _NULLABLE]
"""An upper end: infinity is null in JSON."""

Unbounded = High
"""A positive number that may be infinite, such as a difference no number of queries shows."""


def field_docs(model: type[Any]) -> dict[str, str]:
    """Return the docstring under each field of a model, its bases included.

    Read from the source when a schema or a page of documentation is made: doing so for every model
    when it is defined would double the time of a first import.
    """
    docs: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if base in (object, BaseModel):
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        except (OSError, TypeError):  # made at run time: there is no source
            continue
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for statement, following in pairwise(body):
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and isinstance(following, ast.Expr)
                and isinstance(following.value, ast.Constant)
                and isinstance(following.value.value, str)
            ):
                docs[statement.target.id] = inspect.cleandoc(following.value.value)
    return docs


class DocumentedSchema(GenerateJsonSchema):
    """A JSON schema in which the docstrings under fields are descriptions."""

    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        """Add the descriptions to a model's schema."""
        return _described(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> dict[str, Any]:
        """Add the descriptions to a dataclass's schema."""
        return _described(super().dataclass_schema(schema), schema["cls"])


def _described(schema: dict[str, Any], cls: type[Any]) -> dict[str, Any]:
    for name, text in field_docs(cls).items():
        if name in schema.get("properties", {}):
            schema["properties"][name].setdefault("description", text)
    return schema


class Part(BaseModel):
    """A result, or something inside one."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return self.model_dump(mode="json")

    def to_json(self) -> str:
        """Return the text of a JSON file."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of `to_dict`."""
        return cls.model_json_schema(schema_generator=DocumentedSchema)


class Record(Part):
    """A part that is a file of its own and names its schema."""

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    upgrades: ClassVar[Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]]] = {}
    """From a version, how its data becomes that of the next."""

    @classmethod
    def schema_name(cls) -> str:
        """Return the schema this version writes."""
        return f"rankscope/{cls.kind}/{cls.version}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON; the schema comes first."""
        return {"schema": self.schema_name(), **super().to_dict()}

    @classmethod
    def from_data(cls, data: object, *, source: str) -> Self:
        """Check what a file holds; one of an earlier version is brought up to date."""
        family = f"rankscope/{cls.kind}/"
        schema = data.get("schema") if isinstance(data, dict) else None
        number = schema.removeprefix(family) if isinstance(schema, str) else ""
        if not isinstance(data, dict) or not number.isdecimal() or schema == number:
            got = "none" if schema is None else shown(schema)
            raise FormatError(
                f"expected the schema {cls.schema_name()!r}, got {got}", source=source
            )
        if int(number) > cls.version:
            raise FormatError(
                f"has the schema {shown(schema)}, and this version of rankscope reads up to "
                f"{cls.schema_name()!r}; use a newer one",
                source=source,
            )
        for version in range(int(number), cls.version):
            data = cls.upgrades[version](data)
        return checked(cls, data, source=source)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of the file."""
        made = super().json_schema()
        schema = {
            "const": cls.schema_name(),
            "description": "Which record this is, and of what form.",
        }
        made["properties"] = {"schema": schema, **made["properties"]}
        made["required"] = ["schema", *made.get("required", [])]
        made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        return made


def checked(model: type[Model], data: object, *, source: str) -> Model:
    """Make a model of a file's data; what does not fit becomes a `FormatError`."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise FormatError(
            f"{where}: {first['msg'].lower()}; the file was changed, or is of another program",
            source=source,
        ) from None
