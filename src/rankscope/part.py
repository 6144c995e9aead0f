"""Parts: every result is one, defined where it is computed.

A `Part` is a frozen pydantic model with a docstring under each field. It is what a function
returns, what the cache keeps, what the JSON holds and what reports read; nothing mirrors it. A
`Record` is a part that is a file of its own: it names its schema, ``rankscope/<kind>/<version>``,
and reads that version only.

Infinite numbers have no place in JSON: fields of the types `Low` and `High` are null there. A field
that says nothing where it is None is `left_out`.
"""

from __future__ import annotations

import ast
import inspect
import json
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self, TypeAlias, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
)
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from rankscope.errors import FormatError, shown

Model = TypeVar("Model", bound=BaseModel)

Location: TypeAlias = tuple[int | str, ...]
"""Where in nested data something is: keys and numbers, outermost first."""


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


def left_out(default: tuple[()] | None = None) -> Any:
    """Return the default of a field that is None, or empty, and not written unless it is set."""
    return Field(default=default, exclude_if=lambda value: value == default)


@cache
def field_docs(model: type[Any]) -> Mapping[str, str]:
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
            match statement, following:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    docs[name] = inspect.cleandoc(text)
    return docs


class DocumentedSchema(GenerateJsonSchema):
    """A JSON schema in which the docstrings under fields are descriptions.

    Titles that repeat a name are left out.
    """

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        """Give no field a title: it has its name."""
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        """Add the descriptions to a model's schema."""
        return _described(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> dict[str, Any]:
        """Add the descriptions to a dataclass's schema."""
        return _described(super().dataclass_schema(schema), schema["cls"])


def _described(schema: dict[str, Any], cls: type[Any]) -> dict[str, Any]:
    for name, text in field_docs(cls).items():  # type: ignore[arg-type]  # it is hashable
        if name in schema.get("properties", {}):
            schema["properties"][name].setdefault("description", " ".join(text.split()))
    schema.pop("title", None)
    return schema


def json_of(
    data: object,
    *,
    ascii_only: bool = False,
    width: int = 120,
    indent: str = "",
    before: int = 0,
) -> str:
    """Return data as JSON that people can read: what fits into a line is on one.

    ``before`` is how many columns are taken by what stands before it on its line.
    """
    line = json.dumps(data, ensure_ascii=ascii_only, allow_nan=False)
    if not isinstance(data, dict | list) or not data or before + len(line) <= width:
        return line
    inner, entries = f"{indent} ", []
    for key in data if isinstance(data, dict) else range(len(data)):
        name = (
            f"{json.dumps(str(key), ensure_ascii=ascii_only)}: " if isinstance(data, dict) else ""
        )
        start = f"{inner}{name}"
        place: Any = {"width": width, "indent": inner, "before": len(start) + 1}
        entries.append(f"{start}{json_of(data[key], ascii_only=ascii_only, **place)}")
    opening, closing = "{}" if isinstance(data, dict) else "[]"
    return "\n".join((opening, ",\n".join(entries), f"{indent}{closing}"))


class Part(BaseModel):
    """A result, or something inside one."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    def __str__(self) -> str:
        """Return what `repr` does: some results have a form for people."""
        return repr(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return self.model_dump(mode="json")

    def to_json(self) -> str:
        """Return the text of a JSON file."""
        return "".join(self.json_pieces())

    def json_pieces(self, *, ascii_only: bool = False) -> Iterator[str]:
        """Yield the text of a JSON file; what is large does so piece by piece."""
        yield json_of(self.to_dict(), ascii_only=ascii_only) + "\n"

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of `to_dict`."""
        return cls.model_json_schema(schema_generator=DocumentedSchema)


@dataclass(frozen=True, slots=True)
class Private:
    """Marks a field that holds a user's own text."""


PrivateText = Annotated[str | None, Private()]
"""What a query asks, a document's title or text: what `without_texts` leaves out."""


def without_texts(value: Any) -> Any:
    """Return a part without the texts of queries and documents, which may be private."""
    if isinstance(value, tuple | list):
        return type(value)(map(without_texts, value))
    if isinstance(value, dict):
        return {key: without_texts(each) for key, each in value.items()}
    if not isinstance(value, Part):
        return value
    changes: dict[str, Any] = {}
    for name, field in type(value).model_fields.items():
        inner = getattr(value, name)
        if any(isinstance(mark, Private) for mark in field.metadata):
            changes[name] = {} if isinstance(inner, dict) else None
        else:
            changes[name] = without_texts(inner)
    return value.model_copy(update=changes)


class Record(Part):
    """A part that is a file of its own and names its schema."""

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    written_by: ClassVar[str] = ""
    """The command that writes such a file; messages name it."""

    @classmethod
    def schema_name(cls) -> str:
        """Return the schema this version writes."""
        return f"rankscope/{cls.kind}/{cls.version}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON; the schema comes first."""
        return {"schema": self.schema_name(), **super().to_dict()}

    @classmethod
    def is_kind_of(cls, data: Mapping[str, Any]) -> bool:
        """Tell whether data names a schema of this kind, in whatever version."""
        return str(data.get("schema", "")).startswith(f"rankscope/{cls.kind}/")

    @classmethod
    def from_data(cls, data: object, *, source: str) -> Self:
        """Check what a file holds; one of another version is refused."""
        schema = data.get("schema") if isinstance(data, dict) else None
        if schema != cls.schema_name():
            got = "none" if schema is None else shown(schema)
            writer = f", which {cls.written_by!r} writes" if cls.written_by else ""
            remedy = ""
            if isinstance(data, dict) and cls.is_kind_of(data):
                remedy = "; use the version of rankscope that wrote it, or make it again"
            raise FormatError(
                f"expected the schema {cls.schema_name()!r}{writer}; got {got}{remedy}",
                source=source,
            )
        return checked(cls, data, source=source, written_by=cls.written_by)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of the file."""
        schema = super().json_schema()
        name = {
            "const": cls.schema_name(),
            "description": "Which record this is, and of what form.",
        }
        schema["properties"] = {"schema": name, **schema["properties"]}
        schema["required"] = ["schema", *schema.get("required", [])]
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        return schema


class FileRef(Part):
    """A file of an experiment, relative to its folder."""

    path: str
    """Where it is, with forward slashes."""
    sha256: str
    """The hash of its bytes."""
    bytes: int
    """Its size."""


def checked(
    model: type[Model],
    data: object,
    *,
    source: str,
    written_by: str = "",
) -> Model:
    """Make a model of a file's data; what does not fit becomes a `FormatError`, in one sentence.

    ``written_by`` is the command that writes such a file.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = dotted(first["loc"])
        problem = f"{where} is missing"
        if first["type"] != "missing":
            expected = first["msg"].replace("Input should be", "expected")
            problem = f"{where} is {shown(first['input'], 40)}; {expected}"
        remedy = (
            f"write the file again with {written_by!r}"
            if written_by
            else "the file was changed, or another program wrote it"
        )
        raise FormatError(f"{problem}; {remedy}", source=source) from None


_LONGEST_KEY = 100
"""Characters of a key that a message shows as it is."""


def dotted(location: Location) -> str:
    """Write a location as a path.

    >>> dotted(("pairs", 3, "interval", "low"))
    'pairs[3].interval.low'
    """
    path = ""
    for key in location:
        if isinstance(key, str) and not (key.isprintable() and len(key) <= _LONGEST_KEY):
            key = shown(key)  # noqa: PLW2901
        path += f"[{key}]" if isinstance(key, int) else f".{key}" if path else key
    return path or "the whole"
