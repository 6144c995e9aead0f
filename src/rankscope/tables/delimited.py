"""Tables separated by commas, tabs or semicolons, with quoting as in RFC 4180.

Pairs are parsed at once by Polars (`read_delimited`), records line by line (`read_lines`), so that
a corpus can be streamed; both are written by `delimited_bytes`.

Records carry text: any value but text is written as its JSON text and comes back as text. An empty
cell is no field. In csv, quotes always quote. In tsv they quote if the header is quoted, as
`records_as_tsv` writes it when a cell needs quotes; else only a cell with doubled quotes inside is
taken for quoted, and all other quotes are ordinary characters, as in MS MARCO.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.errors import FormatError, shown
from rankscope.files import decoded
from rankscope.tables.columns import check_columns, find_name
from rankscope.tables.detection import BOM, cells_of, shielded
from rankscope.tables.record_rows import headerless_columns

if TYPE_CHECKING:
    from rankscope.tables.columns import Columns, PairLayout, RecordLayout
    from rankscope.tables.record_rows import Origin, Row

_LONGEST_CELL = 2**31 - 1  # the most that csv takes on every system
_TSV_NEEDS_QUOTES = r'[\t\r\n]|\A"|\A\z'
_QUOTED = re.compile(r'"(?:[^"]|"")*""(?:[^"]|"")*"')


def _csv_reader(lines: Iterable[str], separator: str) -> Any:
    csv.field_size_limit(_LONGEST_CELL)  # documents may be longer than the usual 128 kB
    return csv.reader(lines, delimiter=separator, strict=True)


def _holds_cells(line: str) -> bool:
    """Tell a first line of a table from a blank one and from a comment: ``# …``.

    What follows the sign at once may be an id.
    """
    text = line.strip(" \r\n")
    return bool(text) and text != "#" and not text.startswith(("# ", "##"))


# --- pairs


def read_delimited(
    data: bytes, layout: PairLayout, columns: Columns, *, source: str, separator: str
) -> tuple[pl.DataFrame, Callable[[int], int], dict[str, str] | None]:
    """Read a table with a header, or without one if the first line names no known column.

    Blank lines and comments (``# …``) may precede it. Return cells of text, a function from row to
    line, and the roles of the columns if there is no header.
    """
    data = data.removeprefix(BOM)
    begin = _first_row(data)
    above = data.count(b"\n", 0, begin)
    data = data[begin:]
    first = decoded(data.split(b"\n", 1)[0].rstrip(b"\r"), source=source)
    cells = cells_of(first, separator)
    check_columns(len(cells), source=source, line=above + 1)
    fits = len(cells) in layout.headerless and any(map(_is_number, cells))
    has_header = layout.is_header(cells, columns) or not fits
    try:
        frame = pl.read_csv(
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
    line_of = _line_finder(data, above, has_header=has_header)
    if has_header:
        return frame, line_of, None
    names = layout.headerless[len(cells)]
    roles = {role: name for role, name in zip(names, frame.columns, strict=True) if role}
    kept = ~frame.select(pl.all_horizontal(pl.all() == "")).to_series()
    numbers = kept.arg_true()
    return frame.filter(kept), lambda row: line_of(int(numbers[row])), roles


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _first_row(data: bytes) -> int:
    """Return where the first line begins that is neither blank nor a comment."""
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin)
        end = len(data) if end < 0 else end
        if _holds_cells(data[begin:end].decode("utf-8", "replace")):
            return begin
        begin = end + 1
    return 0


def _located(data: bytes, above: int, separator: str, source: str) -> FormatError | None:
    """Find the first line that does not fit, slowly but surely."""
    text = decoded(data, source=source)
    if not text.strip():
        return FormatError("is empty", source=source)
    reader = _csv_reader(io.StringIO(text, newline=""), separator)
    problem = ""
    try:
        width = len(next(reader))
        wrong = next((len(record) for record in reader if len(record) > width), None)
        if wrong is not None:
            problem = f"expected {width} columns, found {wrong}; quote values with a separator"
    except csv.Error as error:
        problem = f"a broken quoted value ({error})"
    return FormatError(problem, source=source, line=above + reader.line_num) if problem else None


def _line_finder(data: bytes, above: int, *, has_header: bool) -> Callable[[int], int]:
    """Return a function from row to line; only quoted line breaks make it more than an addition."""
    if b'"' not in data:
        return lambda row: above + row + 1 + has_header

    def find(row: int) -> int:
        text = np.frombuffer(data, np.uint8)
        ends, quotes = np.flatnonzero(text == ord("\n")), np.flatnonzero(text == ord('"'))
        outside = np.searchsorted(quotes, ends) % 2 == 0  # a line end within quotes ends no row
        begins = np.concatenate(([1], np.flatnonzero(outside) + 2))
        return above + int(begins[min(row + has_header, len(begins) - 1)])

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
    separator = "\t" if tabs else max(",;", key=first[1].count)
    header = layout.is_header(cells_of(first[1].rstrip("\r\n"), separator))
    separator = separator if header or tabs else ","
    names: list[str] = []
    for number, row in _rows(chain([first], texts), separator, first[1] if header else "", origin):
        if not names:
            check_columns(len(row), source=source, line=number)
            names = _column_names(row, number, origin, layout, header=header)
            id_name = find_name(names, layout.id_names)
            text_name = find_name(names, layout.text_names) if layout.needs_text else None
            if header:
                continue
        if len(row) != len(names):
            raise origin.error(
                f"expected {len(names)} cells ({shown(', '.join(names))}), found {len(row)}",
                number,
            )
        fields: Row = {}
        for name, cell in zip(names, row, strict=True):
            if cell or name == id_name:
                fields[name] = cell or None
            elif name == text_name:
                fields[name] = ""
        yield number, fields


def _rows(
    lines: Iterator[tuple[int, str]], separator: str, first: str, origin: Origin
) -> Iterator[tuple[int, list[str]]]:
    """Split lines into cells; the module says what quotes mean."""
    if separator == "\t" and not first.startswith('"'):
        yield from _plain_rows(lines, len(first.rstrip("\r\n").split("\t")) if first else 0)
        return
    number = 1

    def texts() -> Iterator[str]:
        nonlocal number
        for number, line in lines:  # noqa: B007
            yield line

    reader = _csv_reader(texts(), separator)
    begin = 1
    try:
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                yield begin if number > begin and reader.line_num > begin else number, row
            begin = number + 1
    except csv.Error as error:
        raise origin.error(
            f"a broken quoted cell ({error}); close it, and double the quotes inside", begin
        ) from None


def _plain_rows(lines: Iterator[tuple[int, str]], width: int) -> Iterator[tuple[int, list[str]]]:
    """Split lines below a plain header; only a cell that needs quotes is in quotes.

    Without a header (``width`` 0) none is.
    """
    following = next(lines, None)
    while following is not None:
        number, text = following
        following = next(lines, None)
        cells = text.rstrip("\r\n").split("\t")
        if width and '"' in text and (len(cells) != width or text.count('"') % 2):
            while text.count('"') % 2 and following is not None:  # a cell goes on in the next line
                if len(following[1].rstrip("\r\n").split("\t")) == width:
                    break
                text += following[1]
                following = next(lines, None)
            whole = io.StringIO(text.rstrip("\r\n"), newline="")
            quoted = next(csv.reader(whole, delimiter="\t"), [])
            cells = quoted if len(quoted) == width else cells
        if text.strip(" \r\n"):
            yield number, [_unquoted(cell) if width else cell for cell in cells]


def _unquoted(cell: str) -> str:
    """Return a cell below a plain header; only one with doubled quotes inside is in quotes."""
    return cell[1:-1].replace('""', '"') if _QUOTED.fullmatch(cell) else cell


def _column_names(
    row: list[str], number: int, origin: Origin, layout: RecordLayout, *, header: bool
) -> list[str]:
    if header:
        if len(set(row)) != len(row):
            twice = Counter(row).most_common(1)[0][0]
            raise origin.error(f"the header names {shown(twice)} twice; rename one", number)
        return row
    if len(row) in layout.headerless:
        return list(layout.headerless[len(row)])
    if not layout.headerless:
        raise origin.error(
            f"no id among the columns {shown(', '.join(row))}; name one of them "
            f"{', '.join(layout.id_names[:3])}",
            number,
        )
    raise origin.error(
        f"has {len(row)} cells and no header; expected the columns "
        f"{' or '.join(headerless_columns(layout))}, or a header that names the id "
        f"{', '.join(layout.id_names[:3])}",
        number,
    )


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
