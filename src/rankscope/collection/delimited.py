"""Records in csv and tsv, which carry text, read line by line and written.

Between `records` and `reading`. Any value but text is written as its JSON text and comes back as
text; a cell left empty means "no such field", a quoted empty one (``""``) means empty text.

Quotes: in csv they always quote. In tsv they quote if the header is quoted (as this module writes
when a cell needs it); below a plain header they quote only a cell that a minimal writer would have
quoted (closed, and holding a tab, a line end or a doubled quote); without a header, as in MS MARCO,
they are ordinary characters.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Literal

from rankscope.collection.jsontext import dump_json
from rankscope.collection.records import Kind, Origin, Placed, Row, find_name
from rankscope.errors import shown
from rankscope.tables.columns import folded
from rankscope.tables.delimited import decoded

__all__ = ["delimited_lines", "delimited_rows", "is_header"]

_SPECIAL = re.compile(r'["\t\r\n]')
_QUOTED_IN_CSV = re.compile(r'[",\r\n]|\A\Z')
_QUOTED_IN_TSV = re.compile(r'[\t\r\n"]|\A\Z')
_QUOTES_TSV = re.compile(r'[\t\r\n]|\A"|\A\Z')


# --- reading


def delimited_rows(
    lines: Iterator[bytes], delimiter: str, source: str, kind: Kind
) -> Iterator[Placed]:
    """Yield the rows of a table, with a header or of as many columns as the kind expects."""
    origin = Origin(source, "line")
    numbered = enumerate(lines, start=1)
    texts = ((number, decoded(line, source=source, line=number)) for number, line in numbered)
    cells = _Cells(texts, delimiter, origin)
    if delimiter == "\t":
        line = cells.peek()
        cells.quotes = "always" if line.startswith('"') else "minimal"
        if not is_header(_body(line).replace('"', "").split(delimiter), kind):
            cells.quotes = "never"
    names: list[str] = []
    for number, row in cells:
        if not names:
            names = _column_names(row, number, origin, kind)
            cells.width = len(names)
            id_name = find_name(names, kind.id_names)
            text_name = find_name(names, kind.text_names) if kind.needs_text else None
            if is_header(row, kind):
                continue
        if len(row) != len(names):
            problem = f"has {len(row)} cells; expected {len(names)} ({shown(', '.join(names))})"
            raise origin.error(problem, number)
        fields: Row = {}
        for name, cell in zip(names, row, strict=True):
            if cell is not None or name == id_name:
                fields[name] = cell
            elif name == text_name:
                fields[name] = ""
        yield origin, number, fields


def is_header(cells: Sequence[str | None], kind: Kind) -> bool:
    """Tell whether a first line names columns: the id in front, or the id and a text."""
    names = [folded(cell or "") for cell in cells]
    ids, texts = ({folded(name) for name in known} for known in (kind.id_names, kind.text_names))
    return names[0] in ids or (not ids.isdisjoint(names) and not texts.isdisjoint(names))


def _column_names(row: list[str | None], number: int, origin: Origin, kind: Kind) -> list[str]:
    if is_header(row, kind):
        names = [cell or "" for cell in row]
        if len(set(names)) != len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise origin.error(f"the header names {shown(twice)} twice; rename one", number)
        return names
    for shape in kind.headerless:
        if len(shape) == len(row):
            return list(shape)
    expected = " or ".join(", ".join(names) for names in kind.headerless)
    raise origin.error(
        f"has {len(row)} cells and no header; expected the columns {expected}, or a header that "
        f"names the id {', '.join(kind.id_names[:3])}",
        number,
    )


class _Cells:
    """Splits lines into cells; None is a cell left empty. The module says what quotes mean."""

    def __init__(self, lines: Iterator[tuple[int, str]], delimiter: str, origin: Origin) -> None:
        self._lines = lines
        self._ahead: deque[tuple[int, str]] = deque()
        self._delimiter = delimiter
        self._origin = origin
        self.quotes: Literal["always", "minimal", "never"] = "always"
        self.width = 0

    def peek(self) -> str:
        """Return the first line that is not blank, without taking it."""
        while (taken := self._take()) is not None:
            if taken[1].strip(" \r\n"):
                self._ahead.appendleft(taken)
                return taken[1]
        return ""

    def _take(self) -> tuple[int, str] | None:
        return self._ahead.popleft() if self._ahead else next(self._lines, None)

    def __iter__(self) -> Iterator[tuple[int, list[str | None]]]:
        while (taken := self._take()) is not None:
            number, line = taken
            if not line.strip(" \r\n"):
                continue
            if self.quotes == "never" or '"' not in line:
                yield number, [cell or None for cell in _body(line).split(self._delimiter)]
            else:
                yield number, list(self._split(number, line))

    def _split(self, number: int, line: str) -> Iterator[str | None]:
        start = 0
        while start <= _length(line):
            quoted = self._quoted(number, line, start) if line.startswith('"', start) else None
            if quoted is None:
                end = line.find(self._delimiter, start)
                end = _length(line) if end < 0 else end
                yield line[start:end] or None
            else:
                cell, line, end = quoted
                yield cell
            start = end + 1

    def _quoted(self, number: int, line: str, start: int) -> tuple[str, str, int] | None:
        """Return a quoted cell, the line it ends on and where; None if it is not quoted."""
        pieces: list[str] = []
        taken: list[tuple[int, str]] = []
        position = start + 1
        while True:
            quote = line.find('"', position)
            if quote < 0:
                following = self._following()
                if following is None:
                    self._give_back(number, taken, "is never closed")
                    return None
                pieces.append(line[position:])
                taken.append(following)
                line, position = following[1], 0
            elif line.startswith('"', quote + 1):
                pieces.append(line[position : quote + 1])
                position = quote + 2
            else:
                pieces.append(line[position:quote])
                break
        if quote + 1 < _length(line) and line[quote + 1] != self._delimiter:
            self._give_back(number, taken, "is followed by text")
            return None
        cell = "".join(pieces)
        if self.quotes == "minimal" and cell and not _SPECIAL.search(cell):
            return None  # nobody had to quote this: the quotes belong to the text
        return cell, line, quote + 1

    def _following(self) -> tuple[int, str] | None:
        """Take the next line, unless it is a row of its own below a plain header."""
        taken = self._take()
        own_row = taken and taken[1].count(self._delimiter) + 1 == self.width
        if taken and own_row and self.quotes == "minimal":
            self._ahead.appendleft(taken)
            return None
        return taken

    def _give_back(self, number: int, taken: list[tuple[int, str]], problem: str) -> None:
        """Undo the search for a closing quote; where quotes always quote, it is an error."""
        if self.quotes == "always":
            raise self._origin.error(
                f"a cell in double quotes {problem}; close it, and double the quotes inside", number
            )
        self._ahead.extendleft(reversed(taken))


def _length(line: str) -> int:
    """Return the length of a line without its end."""
    return len(line) - (2 if line.endswith("\r\n") else line.endswith(("\n", "\r")))


def _body(line: str) -> str:
    return line[: _length(line)]


# --- writing


def delimited_lines(rows: list[Row], delimiter: str, kind: Kind) -> Iterator[str]:
    """Yield lines of cells; quotes stand only where needed, in tsv below a quoted header."""
    found = dict.fromkeys(name for row in rows for name in row)
    names = sorted(found, key=lambda name: (name != "_id", name not in kind.columns))
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    needs: re.Pattern[str] | None = None
    if delimiter == ",":
        yield ",".join(_quoted_if(name, _QUOTED_IN_CSV) for name in names) + "\n"
        needs = _QUOTED_IN_CSV
    elif _tsv_needs_quotes([names, *cells]):
        yield "\t".join(_in_quotes(name) for name in names) + "\n"
        needs = _QUOTED_IN_TSV
    else:
        yield "\t".join(names) + "\n"
    for row in cells:
        yield delimiter.join("" if cell is None else _quoted_if(cell, needs) for cell in row) + "\n"


def _tsv_needs_quotes(table: Sequence[Sequence[str | None]]) -> bool:
    return any(cell is not None and _QUOTES_TSV.search(cell) for row in table for cell in row)


def _cell(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else dump_json(value)


def _quoted_if(cell: str, needs: re.Pattern[str] | None) -> str:
    return _in_quotes(cell) if needs is not None and needs.search(cell) else cell


def _in_quotes(cell: str) -> str:
    doubled = cell.replace('"', '""')
    return f'"{doubled}"'
