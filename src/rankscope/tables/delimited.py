"""Tables separated by commas, tabs or semicolons, with quoting as in RFC 4180.

Pairs are parsed at once by Polars (`read_delimited`), records line by line (`delimited_rows`), so
that a corpus can be streamed.

Quotes quote, except in records that tabs separate: there they quote if the header is quoted, as it
is written when a cell needs quotes. Else they are ordinary characters, as in MS MARCO, but for a
cell below a header with doubled quotes inside, which some program has quoted.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.errors import FormatError, shown
from rankscope.files import decoded
from rankscope.tables.columns import check_columns, find_name
from rankscope.tables.detection import cells_of, shielded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rankscope.tables.columns import Columns, PairLayout, RecordLayout

_LONGEST_CELL = 2**31 - 1  # the most that csv takes on every system
_WAS_QUOTED = re.compile(r'"(?:[^"]|"")*""(?:[^"]|"")*"')

_Row = tuple[int, list[str]]
"""The line on which a row begins, and its cells."""


def _is_data(line: str) -> bool:
    """Tell a line of a table from a blank one and from a comment (``# …``) above it.

    What follows the sign at once may be an id.
    """
    text = line.strip(" \r\n")
    return bool(text) and text != "#" and not text.startswith(("# ", "##"))


def _rows(lines: Iterable[str], separator: str, source: str, above: int) -> Iterator[_Row]:
    """Yield the rows of a table in which quotes quote; a blank line is one without cells."""
    csv.field_size_limit(_LONGEST_CELL)  # documents may be longer than the usual 128 kB
    reader = csv.reader(lines, delimiter=separator, strict=True)
    line = above + 1
    try:
        for cells in reader:
            yield line, cells
            line = above + reader.line_num + 1
    except csv.Error as error:
        raise FormatError(
            f"a broken quoted cell ({error}); close it, and double the quotes inside",
            source=source,
            line=line,
        ) from None


# --- pairs


def read_delimited(
    data: bytes, layout: PairLayout, columns: Columns, *, source: str, separator: str
) -> tuple[pl.DataFrame, Callable[[int], int], dict[str, str] | None]:
    """Read a table with a header, or without one if the first line names no known column.

    Blank lines and comments (``# …``) may precede it. Return cells of text, a function from row to
    line, and the roles of the columns if there is no header.
    """
    above, begin = 0, 0
    for raw in io.BytesIO(data):
        if _is_data(raw.decode("utf-8", "replace")):
            break
        above, begin = above + 1, begin + len(raw)
    data = data[begin:]
    first = decoded(data.partition(b"\n")[0].rstrip(b"\r"), source=source, line=above + 1)
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
        text = decoded(data, source=source, line=above + 1)
        if not text:
            raise FormatError("is empty", source=source) from None
        for line, row in _rows(io.StringIO(text, newline=""), separator, source, above):
            if len(row) > len(cells):
                problem = f"expected {len(cells)} columns, found {len(row)}"
                raise FormatError(
                    f"{problem}; quote values with a separator", source=source, line=line
                ) from None
        raise FormatError(
            f"could not be read as a table ({shown(str(error).splitlines()[0])})", source=source
        ) from None
    line_of = _line_finder(data, above, has_header=has_header)
    if has_header:
        return frame, line_of, None
    names = layout.headerless[len(cells)]
    roles = {role: name for role, name in zip(names, frame.columns, strict=True) if role}
    present = ~frame.select(pl.all_horizontal(pl.all() == "")).to_series()
    numbers = present.arg_true()
    return frame.filter(present), lambda row: line_of(int(numbers[row])), roles


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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


def delimited_rows(
    lines: Iterable[bytes], layout: RecordLayout, *, source: str, tabs: bool
) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield line and cells of each row of a table with a header, or of as many columns as is usual.

    An empty cell is left out, but not the id or a text that is needed.
    """
    numbered = enumerate(lines, start=1)
    texts = ((number, decoded(line, source=source, line=number)) for number, line in numbered)
    begin, first = next(((number, line) for number, line in texts if _is_data(line)), (1, ""))
    separator = "\t" if tabs else max(",;", key=first.count)
    has_header = layout.is_header(cells_of(first.rstrip("\r\n"), separator))
    separator = separator if has_header or tabs else ","
    numbered_texts = chain([(begin, first)], texts)
    if separator == "\t" and not (has_header and first.startswith('"')):
        rows = _unquoted_rows(numbered_texts, below_header=has_header)
    else:
        rows = _rows((text for _, text in numbered_texts), separator, source, begin - 1)
    names: list[str] = []
    for number, cells in rows:
        if len(cells) < 2 and not "".join(cells).strip():
            continue
        if not names:
            check_columns(len(cells), source=source, line=number)
            names = _column_names(cells, layout, source, number, has_header=has_header)
            needed = {find_name(names, layout.id_names)}
            if layout.needs_text:
                needed.add(find_name(names, layout.text_names))
            if has_header:
                continue
        if len(cells) != len(names):
            raise FormatError(
                f"expected {len(names)} cells ({shown(', '.join(names))}), found {len(cells)}"
                f"{'; if quotes quote here, quote the header too' if tabs and has_header else ''}",
                source=source,
                line=number,
            )
        yield number, {n: cell for n, cell in zip(names, cells, strict=True) if cell or n in needed}


def _unquoted_rows(texts: Iterable[tuple[int, str]], *, below_header: bool) -> Iterator[_Row]:
    """Yield the rows of a table in which no quote quotes, but for cells with doubled ones."""
    for number, text in texts:
        cells = text.rstrip("\r\n").split("\t")
        if below_header and '""' in text:
            quoted = map(_WAS_QUOTED.fullmatch, cells)
            cells = [
                cell[1:-1].replace('""', '"') if was_quoted else cell
                for cell, was_quoted in zip(cells, quoted, strict=True)
            ]
        yield number, cells


def _column_names(
    cells: list[str], layout: RecordLayout, source: str, line: int, *, has_header: bool
) -> list[str]:
    [(name, count)] = Counter(cells).most_common(1)
    if has_header and count == 1:
        return cells
    if has_header:
        problem = f"the header names {shown(name)} twice; rename one"
    elif len(cells) in layout.headerless:
        return list(layout.headerless[len(cells)])
    else:
        known = "".join(f"{', '.join(names)} or " for names in layout.headerless.values())
        problem = (
            f"has {len(cells)} cells and no header; expected {'the columns ' * bool(known)}{known}"
            f"a header that names the id {', '.join(layout.id_names[:3])}"
        )
    raise FormatError(problem, source=source, line=line)


# --- writing


def delimited_bytes(frame: pl.DataFrame, separator: str) -> bytes:
    """Write a frame with a header; with tabs it is quoted, too, where a cell needs quotes."""
    content = frame.write_csv(separator=separator)
    if separator != "\t" or '"' not in content:
        return content.encode()
    header = "\t".join('"' + name.replace('"', '""') + '"' for name in frame.columns)
    rows = frame.write_csv(separator="\t", include_header=False)
    return f"{header}\n{rows}".encode()
