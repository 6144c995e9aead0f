"""Artifacts: what the stages of a benchmark made, kept on disk under their keys.

A stage's result is an object in memory, the same one for all stages that need it. Its `Form` says
how it is kept: as plain data and named tables. An entry is complete or absent, and read back only
if its bytes are those that were written (`rankscope.retrieval.cache_entries`).
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import polars as pl
from pydantic import ValidationError

from rankscope.part import Part
from rankscope.retrieval.cache_entries import make_folder, read_entry, write_entry

Made = TypeVar("Made")
AnyPart = TypeVar("AnyPart", bound=Part)

_LENGTH = 8  # bytes that hold the length of the head


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What is kept of a result: plain data, and tables by name."""

    data: Any = None
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Return a head (the data, and the size of each table) followed by the tables."""
        parts = {name: _ipc(table) for name, table in self.tables.items()}
        sizes = {name: part.nbytes for name, part in parts.items()}
        head = json.dumps({"data": self.data, "tables": sizes}, allow_nan=False).encode()
        return b"".join([len(head).to_bytes(_LENGTH, "big"), head, *parts.values()])

    @classmethod
    def from_bytes(cls, content: bytes) -> Content:
        """Read what `to_bytes` wrote."""
        start = _LENGTH + int.from_bytes(content[:_LENGTH], "big")
        head = json.loads(content[_LENGTH:start])
        tables = {}
        for name, size in head["tables"].items():
            tables[name] = pl.read_ipc(io.BytesIO(memoryview(content)[start : start + size]))
            start += size
        return cls(head["data"], tables)


def _ipc(table: pl.DataFrame) -> memoryview:
    buffer = io.BytesIO()
    table.write_ipc(buffer)
    return buffer.getbuffer()


class Form(Protocol[Made]):
    """How a kind of result is kept."""

    def pack(self, made: Made, /) -> Content:
        """Return what is kept of it."""
        ...

    def unpack(self, content: Content, /) -> Made:
        """Return it as it was."""
        ...


@dataclass(frozen=True, slots=True)
class PartForm(Generic[AnyPart]):
    """A part is kept as its JSON."""

    part: type[AnyPart]

    def pack(self, made: AnyPart, /) -> Content:
        """Return the plain data of a part."""
        return Content(made.model_dump(mode="json"))

    def unpack(self, content: Content, /) -> AnyPart:
        """Make the part again."""
        return self.part.model_validate(content.data)


@dataclass(frozen=True, slots=True)
class Store:
    """A folder that keeps results under the keys of the stages that made them."""

    folder: Path

    def _path(self, key: str) -> Path:
        return self.folder / "stages" / f"{key}.artifact"

    def has(self, key: str) -> bool:
        """Tell whether there is an entry; only reading tells whether it is whole."""
        return self._path(key).is_file()

    def is_empty(self) -> bool:
        """Tell whether nothing was ever kept here."""
        return not any(self._path("").parent.glob("*.artifact"))

    def read(self, key: str, form: Form[Made]) -> Made | None:
        """Return a result; None if it is not there, or damaged."""
        content = read_entry(self._path(key))
        if content is None:
            return None
        try:
            return form.unpack(Content.from_bytes(content))
        except (ValueError, KeyError, OSError, ValidationError, pl.exceptions.PolarsError):
            return None

    def write(self, key: str, form: Form[Made], made: Made) -> None:
        """Keep a result."""
        path = self._path(key)
        make_folder(path.parent)
        write_entry(path, form.pack(made).to_bytes())
