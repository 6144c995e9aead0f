"""Records that are kept in files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from rankscope.files import check_regular, decoded, read_bytes
from rankscope.part import Record
from rankscope.tables.jsontext import parse_json


class KeptRecord(Record):
    """A record of an experiment's folder."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a record from its file, which may be anything."""
        source = str(path)
        check_regular(path)
        text = decoded(read_bytes(path), source=source)
        data = parse_json(text, source=source, only_finite=True)
        return cls.from_data(data, source=source)
