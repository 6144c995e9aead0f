"""Parcels: what one stage of a benchmark hands to the next, and how it is kept on disk.

A parcel is plain data and named tables. Kept, it is one entry of `rankscope.retrieval.cache`:
complete or absent, and read back only if its bytes are those that were written.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from rankscope.retrieval.cache import make_folder, read_entry, write_entry

__all__ = ["Parcel", "Store"]

_LENGTH = 8  # bytes that hold the length of the head


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """What a stage made: plain data, and tables by name.

    ``complete`` is false where the stage could not do all of its work; such a parcel is never kept,
    nor is what is made from it, so that the next run tries again.
    """

    data: dict[str, Any] = field(default_factory=dict)
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    complete: bool = True

    def to_bytes(self) -> bytes:
        """Return one text of the plain data, followed by the tables."""
        parts = {name: _ipc(table) for name, table in self.tables.items()}
        sizes = {name: len(part) for name, part in parts.items()}
        head = json.dumps({"data": self.data, "tables": sizes}, allow_nan=False).encode()
        return b"".join([len(head).to_bytes(_LENGTH, "big"), head, *parts.values()])

    @classmethod
    def from_bytes(cls, content: bytes) -> Parcel:
        """Read what `to_bytes` wrote."""
        end = _LENGTH + int.from_bytes(content[:_LENGTH], "big")
        head = json.loads(content[_LENGTH:end])
        tables = {}
        for name, size in head["tables"].items():
            tables[name] = pl.read_ipc(io.BytesIO(content[end : end + size]))
            end += size
        return cls(head["data"], tables)


def _ipc(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_ipc(buffer)
    return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class Store:
    """A folder that keeps parcels under the keys of the stages that made them."""

    folder: Path

    def _path(self, key: str) -> Path:
        return self.folder / "stages" / f"{key}.parcel"

    def has(self, key: str) -> bool:
        """Tell whether there is an entry; only reading tells whether it is whole."""
        return self._path(key).is_file()

    def is_empty(self) -> bool:
        """Tell whether nothing was ever kept here."""
        return not any(self._path("").parent.glob("*.parcel"))

    def read(self, key: str) -> Parcel | None:
        """Return a parcel; None if it is not there, or damaged."""
        content = read_entry(self._path(key))
        if content is None:
            return None
        try:
            return Parcel.from_bytes(content)
        except (ValueError, KeyError, OSError, pl.exceptions.PolarsError):
            return None

    def write(self, key: str, parcel: Parcel) -> None:
        """Keep a parcel."""
        path = self._path(key)
        make_folder(path.parent)
        write_entry(path, parcel.to_bytes())
