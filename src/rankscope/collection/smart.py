"""Collections of SMART's time (Cranfield, CISI, MED, CACM): ``.I 1``, then ``.T``, ``.W``, ….

A record begins with ``.I`` and its id. Each line with a full stop and one capital alone begins a
field, whose text is all lines down to the next: ``.T`` is the title, ``.W`` the text, ``.A`` the
author, ``.B`` the bibliography, ``.K`` the keywords, ``.N`` a note, ``.C`` categories, ``.X``
references; any other goes by its letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from rankscope.errors import shown
from rankscope.files import decoded
from rankscope.tables.detection import BOM
from rankscope.tables.record_rows import Origin, Row

BEGINS = r"\.I[ \t]+\S"
_RECORD = re.compile(r"\.I[ \t]+(\S+)\s*")
_FIELD = re.compile(r"\.([A-Z])\s*")
_NAMES = {
    "T": "title",
    "W": "text",
    "A": "author",
    "B": "bibliography",
    "K": "keywords",
    "N": "note",
    "C": "categories",
    "X": "references",
}


def read_smart(stream: BinaryIO, origin: Origin) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) for every record; one without a title or text has an empty text."""
    begun = 0
    row: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for number, line in enumerate(stream, start=1):
        raw = line.removeprefix(BOM) if number == 1 else line
        text = decoded(raw, source=str(origin.source), line=number).rstrip("\r\n")
        record = _RECORD.fullmatch(text) if text.startswith(".") else None
        if record is not None:
            if begun:
                yield begun, _joined(row)
            begun, row, lines = number, {"_id": [record[1]]}, None
            continue
        field = _FIELD.fullmatch(text) if text.startswith(".") else None
        if field is not None and begun:
            if field[1] == "I":
                raise origin.error("a record without an id; write .I and the id", number)
            lines = row.setdefault(_NAMES.get(field[1], field[1].lower()), [])
        elif lines is not None:
            lines.append(text)
        elif text.strip():
            raise origin.error(
                f"expected .I and an id, or a field, found {shown(text, 40)}", number
            )
    if begun:
        yield begun, _joined(row)


def _joined(row: dict[str, list[str]]) -> Row:
    fields: Row = {name: "\n".join(lines).strip() for name, lines in row.items()}
    return fields if "text" in fields or "title" in fields else {**fields, "text": ""}
