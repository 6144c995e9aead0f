"""Records that are kept in files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from rankscope.files import read_bytes
from rankscope.part import Record
from rankscope.tables.delimited import decoded
from rankscope.tables.jsontext import parse_json


class KeptRecord(Record):
    """A record of an experiment's folder."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a record from its file."""
        source = str(path)
        text = decoded(read_bytes(path), source=source)
        return cls.from_data(parse_json(text, source=source), source=source)
