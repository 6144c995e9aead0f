"""Tables separated by commas, tabs or semicolons, with quoting as in RFC 4180.

Pairs are parsed at once by Polars (`read_columns`), records line by line (`read_lines`), so that a
corpus can be streamed; both are written by `delimited_bytes`.

Records carry text: any value but text is written as its JSON text and comes back as text. An empty
cell is no field; a quoted empty one (``""``) is empty text. In csv, quotes always quote. In tsv
they quote if the header is quoted (as `delimited_bytes` writes it when a cell needs quotes); below
a plain header they quote only in a row that is well formed, and there only a cell that a writer had
to quote, because it holds a tab, a line end or a quote; without a header, as in MS MARCO, they are
ordinary characters.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, deque
from dataclasses import replace
from functools import reduce
from itertools import chain
from operator import and_
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rankscope.errors import FormatError, shown
from rankscope.files import decoded
from rankscope.tables.cells import written_list
from rankscope.tables.columns import (
    are_case_names,
    check_columns,
    find_list,
    find_name,
    rater_columns,
    refuse_answers,
    refuse_unnamed_value,
    require_columns,
)
from rankscope.tables.detection import BOM, cells_of, shielded
from rankscope.tables.objects import (
    holds_listed,
    questions_in,
    rows_from_cells,
    rows_from_frame,
)
from rankscope.tables.pieces import gold_columns, refuse_gold_pieces
from rankscope.tables.record_rows import headerless_columns
from rankscope.tables.rows import Rows, ranks_or_scores, with_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rankscope.tables.columns import PairLayout, RecordLayout
    from rankscope.tables.record_rows import Origin, Row

    Line = tuple[int, str]

_LONGEST_CELL = 2**31 - 1  # the most that csv takes on every system
_NEEDS_QUOTES = re.compile(r'["\t\r\n]')
_TSV_NEEDS_QUOTES = r'[\t\r\n]|\A"|\A\z'


def _csv_reader(lines: Iterable[str], separator: str) -> Any:
    csv.field_size_limit(_LONGEST_CELL)  # documents may be longer than the usual 128 kB
    return csv.reader(lines, delimiter=separator, strict=True)


# --- pairs


def read_columns(
    data: bytes, layout: PairLayout, *, source: str, separator: str, language: str | None = None
) -> Rows:
    """Read a table with a header, or without one if the first line names no known column.

    Blank lines and comments (``# …``) may precede it. ``language`` is that of cases that do not say
    theirs.
    """
    data = data.removeprefix(BOM)
    begin = _first_row(data)
    above = data.count(b"\n", 0, begin)
    data = data[begin:]
    first = decoded(data.split(b"\n", 1)[0].rstrip(b"\r"), source=source)
    cells = cells_of(first, separator)
    check_columns(len(cells), source=source, line=above + 1)
    is_gold = layout.kind == "qrels" and gold_columns(cells, layout) is not None
    are_cases = are_case_names(cells)
    has_header = layout.is_header(cells) or is_gold
    frame = _parsed(data, above, separator=separator, has_header=has_header, source=source)
    if are_cases:
        empty = pl.all().replace("", None)  # an empty cell is no field
        return rows_from_frame(frame.with_columns(empty), layout, source=source, language=language)
    names = frame.columns
    if has_header:
        refuse_gold_pieces(lambda: _as_dicts(frame), names, layout, source)
    if has_header:
        nested = find_list(names, layout, lambda name: _holds_list(frame[name], layout))
        if nested is not None and _holds_list(frame[nested[1]], layout):
            return rows_from_cells(
                frame.filter(pl.nth(names.index(nested[0])) != ""), nested, layout, source=source
            )
        if nested is not None:
            refuse_answers(frame[nested[1]], nested[1], layout, source=source)
        roles = require_columns(names, layout, source=source, line=above + 1, nested=nested)
        if layout.value not in roles and nested is None and not rater_columns(names):
            numeric = [name for name in names if _holds_numbers(frame[name])]
            refuse_unnamed_value(numeric, roles, layout, source=source)
    elif (columns := layout.headerless.get(len(names))) is not None:
        roles = {role: name for role, name in zip(columns, names, strict=True) if role}
    else:
        expected = " or ".join(str(count) for count in sorted(layout.headerless))
        raise FormatError(
            f"no header and {len(names)} columns, expected {expected} for a {layout.kind} table; "
            f"add a header such as query_id{separator}doc_id{separator}{layout.value}",
            source=source,
            line=above + 1,
        )
    raters = [name for name in rater_columns(names) if name not in roles.values()]
    # by the columns themselves: as a name in an expression, ``*`` would stand for all of them
    blank = reduce(and_, (column == "" for column in frame.iter_columns()))
    numbers = (~blank).arg_true()
    frame = frame.filter(~blank)
    line_of = _line_finder(data, has_header=has_header)
    rows = Rows(
        frame=frame.select(
            *(pl.col(column).alias(role) for role, column in roles.items()), *raters
        ),
        source=source,
        layout=layout,
        line_of=lambda row: above + line_of(numbers[row]),
    )
    if not has_header:
        return ranks_or_scores(rows)
    if nested is not None:
        rows = replace(rows, questions=questions_in(frame, nested[0], layout))
    return with_values(rows)


def read_dicts(data: bytes, *, source: str, separator: str) -> list[dict[str, Any]]:
    """Read the rows of a table with a header, by name; lists are read, an empty cell is None."""
    data = data.removeprefix(BOM)
    begin = _first_row(data)
    above = data.count(b"\n", 0, begin)
    return _as_dicts(
        _parsed(data[begin:], above, separator=separator, has_header=True, source=source)
    )


def _as_dicts(frame: pl.DataFrame) -> list[dict[str, Any]]:
    lists = [name for name in frame.columns if _holds_lists(frame[name])]
    rows = []
    for row in frame.iter_rows(named=True):
        fields: dict[str, Any] = {name: cell or None for name, cell in row.items()}
        rows.append({**fields, **{name: written_list(row[name]) for name in lists}})
    return rows


def _holds_numbers(cells: pl.Series) -> bool:
    return cells.str.strip_chars().cast(pl.Float64, strict=False).null_count() == 0


def _holds_list(cells: pl.Series, layout: PairLayout) -> bool:
    return _holds_lists(cells) or holds_listed(cells, layout)


def _holds_lists(cells: pl.Series) -> bool:
    """Tell whether every cell is a list as JSON or Python writes it, or empty."""
    is_list = cells.str.contains(r"^\s*\[.*\]\s*$") | (cells == "")
    return bool(is_list.all()) and bool((cells != "").any())


def _first_row(data: bytes) -> int:
    """Return where the first line begins that is neither blank nor a comment."""
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin)
        line = data[begin : len(data) if end < 0 else end]
        if _holds_cells(line.decode("utf-8", "replace")):
            return begin
        if end < 0:
            break
        begin = end + 1
    return 0


def _parsed(
    data: bytes, above: int, *, separator: str, has_header: bool, source: str
) -> pl.DataFrame:
    """Parse a table that begins below so many lines of its file."""
    try:
        return pl.read_csv(
            shielded(data),
            separator=separator,
            has_header=has_header,
            infer_schema=False,
            empty_string_is_null=False,
            glob=False,
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _located(data, above, separator, source) or FormatError(
            f"could not be read as a table ({shown(str(error).splitlines()[0])})", source=source
        ) from None


def _located(data: bytes, above: int, separator: str, source: str) -> FormatError | None:
    """Find the first line that does not fit, slowly but surely."""
    text = decoded(data, source=source)
    if not text.strip():
        return FormatError("is empty", source=source)
    reader = _csv_reader(io.StringIO(text, newline=""), separator)
    try:
        width = len(next(reader))
        for record in reader:
            if len(record) > width:
                return FormatError(
                    f"expected {width} columns, found {len(record)}; quote values that hold a "
                    "separator",
                    source=source,
                    line=above + reader.line_num,
                )
    except csv.Error as error:
        return FormatError(
            f"a broken quoted value ({error})", source=source, line=above + reader.line_num
        )
    return None


def _line_finder(data: bytes, *, has_header: bool) -> Callable[[int], int]:
    """Return a function from row to line; only quoted line breaks make it more than an addition."""
    if b'"' not in data:
        return lambda row: row + 1 + has_header

    def find(row: int) -> int:
        text = np.frombuffer(data, np.uint8)
        ends, quotes = np.flatnonzero(text == ord("\n")), np.flatnonzero(text == ord('"'))
        outside = np.searchsorted(quotes, ends) % 2 == 0  # a line end within quotes ends no row
        begins = np.concatenate(([1], np.flatnonzero(outside) + 2))
        return int(begins[min(row + has_header, len(begins) - 1)])

    return find


# --- records


def read_lines(
    lines: Iterator[bytes], origin: Origin, layout: RecordLayout, *, tabs: bool
) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a table, with a header or of as many columns as the kind expects."""
    source = str(origin.source)
    numbered = enumerate(lines, start=1)
    texts = ((number, decoded(line, source=source, line=number)) for number, line in numbered)
    first = next(((number, line) for number, line in texts if _holds_cells(line)), (1, ""))
    cells = _Cells(chain([first], texts), first[1], origin, layout, tabs=tabs)
    names: list[str] = []
    for number, row in cells:
        if not names:
            check_columns(len(row), source=source, line=number)
            header = layout.is_header([cell or "" for cell in row])
            names = _column_names(row, number, origin, layout, header=header)
            cells.width = len(names)
            id_name = find_name(names, layout.id_names)
            text_name = find_name(names, layout.text_names) if layout.needs_text else None
            if header:
                continue
        if len(row) != len(names):
            raise origin.error(
                f"expected {len(names)} cells ({shown(', '.join(names))}), found {len(row)}", number
            )
        fields: Row = {}
        for name, cell in zip(names, row, strict=True):
            if cell is not None or name == id_name:
                fields[name] = cell
            elif name == text_name:
                fields[name] = ""
        yield number, fields


def _holds_cells(line: str) -> bool:
    """Tell a first line of a table from a blank one and from a comment: ``# …``.

    What follows the sign at once may be an id.
    """
    text = line.strip(" \r\n")
    return bool(text) and text != "#" and not text.startswith(("# ", "##"))


def _column_names(
    row: list[str | None], number: int, origin: Origin, layout: RecordLayout, *, header: bool
) -> list[str]:
    if header:
        names = [cell or "" for cell in row]
        if len(set(names)) != len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise origin.error(f"the header names {shown(twice)} twice; rename one", number)
        return names
    if len(row) in layout.headerless:
        return list(layout.headerless[len(row)])
    if not layout.headerless:
        raise origin.error(
            f"no id among the columns {shown(', '.join(cell or '' for cell in row))}; name one of "
            f"them {', '.join(layout.id_names[:3])}",
            number,
        )
    raise origin.error(
        f"has {len(row)} cells and no header; expected the columns "
        f"{' or '.join(headerless_columns(layout))}, or a header that names the id "
        f"{', '.join(layout.id_names[:3])}",
        number,
    )


class _Cells:
    """Splits lines into cells; None is an empty cell. The module says what quotes mean."""

    def __init__(
        self,
        lines: Iterator[Line],
        first: str,
        origin: Origin,
        layout: RecordLayout,
        *,
        tabs: bool,
    ) -> None:
        self._lines = lines
        self._returned: deque[Line] = deque()
        self._origin = origin
        self._separator = "\t" if tabs else max(",;", key=first.count)
        self._quotes: Literal["always", "if needed", "never"] = "always"
        header = layout.is_header(cells_of(_body(first), self._separator))
        if not header and not tabs:
            self._separator = ","
        if tabs and not (header and first.startswith('"')):
            self._quotes = "if needed" if header else "never"
        self.width = 0

    def _next(self) -> Line | None:
        return self._returned.popleft() if self._returned else next(self._lines, None)

    def __iter__(self) -> Iterator[tuple[int, list[str | None]]]:
        while (taken := self._next()) is not None:
            number, line = taken
            if not line.strip(" \r\n"):
                continue
            if self._quotes == "never" or '"' not in line:
                yield number, self._split(line)
            else:
                yield number, self._quoted(number, line)

    def _split(self, line: str) -> list[str | None]:
        return [cell or None for cell in _body(line).split(self._separator)]

    def _quoted(self, number: int, line: str) -> list[str | None]:
        """Split a row with quotes, of which ``line`` is the first line."""
        taken: list[Line] = []
        try:
            cells = next(_csv_reader(self._row(line, taken), self._separator))
        except csv.Error as error:
            if self._quotes == "always":
                raise self._origin.error(
                    f"a broken quoted cell ({error}); close it, and double the quotes inside",
                    number,
                ) from None
            self._returned.extendleft(reversed(taken))
            return self._split(line)
        return list(self._as_written(cells, "".join([line, *(text for _, text in taken)])))

    def _row(self, line: str, taken: list[Line]) -> Iterator[str]:
        """Yield a line and those after it; below a plain header none that is a row of its own."""
        yield line
        while (following := self._next()) is not None:
            columns = following[1].count(self._separator) + 1
            if self._quotes == "if needed" and columns == self.width:
                self._returned.appendleft(following)
                return
            taken.append(following)
            yield following[1]

    def _as_written(self, cells: list[str], row: str) -> Iterator[str | None]:
        """Tell an empty cell from a quoted one, and give back quotes that nobody had to write."""
        start = 0
        for cell in cells:
            end = start + len(cell)
            if not row.startswith('"', start):
                yield cell or None
            else:
                end += 2 + cell.count('"')
                needed = self._quotes == "always" or not cell or _NEEDS_QUOTES.search(cell)
                yield cell if needed else row[start:end]
            start = end + 1


def _body(line: str) -> str:
    """Return a line without its end."""
    return line.removesuffix("\n").removesuffix("\r")


# --- writing


def delimited_bytes(frame: pl.DataFrame, separator: str) -> bytes:
    """Write a frame with a header; quotes are written where they are needed."""
    return frame.write_csv(separator=separator).encode()


def records_as_tsv(frame: pl.DataFrame) -> bytes:
    """Write text; where a cell needs quotes the whole header is quoted, else no quote quotes."""
    names = pl.Series(frame.columns)
    in_cells = frame.select(pl.any_horizontal(pl.all().str.contains(_TSV_NEEDS_QUOTES).any()))
    if not in_cells.item() and not names.str.contains(_TSV_NEEDS_QUOTES).any():
        return frame.write_csv(separator="\t", quote_style="never").encode()
    header = "\t".join('"' + name.replace('"', '""') + '"' for name in frame.columns)
    rows = frame.write_csv(separator="\t", include_header=False)
    return f"{header}\n{rows}".encode()
