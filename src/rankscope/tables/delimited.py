"""Tables separated by commas, tabs or semicolons, with quoting as in RFC 4180.

Pairs are parsed at once by Polars (`read_delimited`), records row by row (`delimited_rows`), so
that a corpus can be streamed. Blank lines and comments (``# …``) may precede both.

Quotes quote, except in records that tabs separate: there they quote if the header is quoted, as it
is written when a cell needs quotes. Else they are ordinary characters, as in MS MARCO, but for a
whole cell with doubled quotes inside, which some program has quoted.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from itertools import chain, islice
from typing import TYPE_CHECKING

import polars as pl

from rankscope.errors import FormatError, shown
from rankscope.files import decoded
from rankscope.tables.columns import check_columns
from rankscope.tables.detection import cells_of, shielded
from rankscope.tables.table_columns import is_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rankscope.tables.columns import Columns, PairLayout, RecordLayout

_LONGEST_CELL = 2**31 - 1  # the most that csv takes on every system
_QUOTED = re.compile(r'"((?:[^"]++|"")*+)"')


def _first_row(
    lines: Iterable[bytes], source: str, separators: str
) -> tuple[int, int, str, list[str]]:
    """Return the lines and the bytes above the first row, the row, and its cells."""
    above = size = 0
    for line in lines:
        text = line.decode("utf-8", "replace").strip(" \r\n")
        # what follows the sign at once may be an id
        if text and text != "#" and not text.startswith(("# ", "##")):
            row = decoded(line, source=source, line=above + 1)
            cells = cells_of(row.rstrip("\r\n"), max(separators, key=row.count))
            check_columns(len(cells), source=source, line=above + 1)
            return above, size, row, cells
        above, size = above + 1, size + len(line)
    return above, size, "", []


def _quoted_rows(
    lines: Iterable[str], separator: str, source: str, above: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield line and cells of each row of a table in which quotes quote."""
    csv.field_size_limit(_LONGEST_CELL)  # documents may be longer than the usual 128 kB
    reader = csv.reader(lines, delimiter=separator, strict=True)
    line = above + 1
    try:
        for cells in reader:
            yield line, cells
            line = above + reader.line_num + 1
    except csv.Error as error:
        problem = f"a broken quoted cell ({error}); close it, and double the quotes inside"
        raise FormatError(problem, source=source, line=line) from None


# --- pairs


def read_delimited(
    data: bytes, layout: PairLayout, columns: Columns, *, source: str, separator: str
) -> tuple[pl.DataFrame, Callable[[int], int], bool]:
    """Read a table with a header, or without one if the first line names no known column.

    Return cells of text, a function from row to line, and whether there is a header; if not,
    columns go by their roles. Blank rows are left out.
    """
    above, size, _, cells = _first_row(io.BytesIO(data), source, separator)
    data = data[size:]
    fits = len(cells) in layout.headerless and any(map(is_number, cells))
    has_header = layout.is_header(cells, columns) or not fits

    def rows() -> Iterator[tuple[int, list[str]]]:
        text = io.StringIO(decoded(data, source=source, line=above + 1), newline="")
        return _quoted_rows(text, separator, source, above)

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
        if not data:
            raise FormatError("is empty", source=source) from None
        for line, row in rows():
            if len(row) > len(cells):
                problem = f"expected {len(cells)} columns, found {len(row)}"
                problem = f"{problem}; quote values with a separator"
                raise FormatError(problem, source=source, line=line) from None
        problem = f"could not be read as a table ({shown(str(error).splitlines()[0])})"
        raise FormatError(problem, source=source) from None
    numbers = (
        ~frame.select(pl.all_horizontal(pl.all().fill_null("") == "")).to_series()
    ).arg_true()

    def line_of(row: int) -> int:
        number = int(numbers[row]) + has_header
        if b'"' not in data:
            return above + number + 1
        return next(islice(rows(), number, None), (above + 1, []))[0]  # breaks may be quoted

    frame = frame if len(numbers) == frame.height else frame[numbers]
    if not has_header:
        names = zip(layout.headerless[len(cells)], frame.columns, strict=True)
        frame = frame.select(pl.col(name).alias(role) for role, name in names if role)
    return frame, line_of, has_header


# --- records


def delimited_rows(
    lines: Iterable[bytes], layout: RecordLayout, *, source: str, tabs: bool
) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield line and cells of each row of a table with a header, or of as many columns as is usual.

    An empty cell is left out, but not the id or a text that is needed.
    """
    lines = iter(lines)
    above, _, first, cells = _first_row(lines, source, "\t" if tabs else ",;")
    if not first:
        return
    has_header = layout.is_header(cells)
    numbered = enumerate(lines, start=above + 2)
    texts = chain([first], (decoded(line, source=source, line=n) for n, line in numbered))
    rows: Iterator[tuple[int, list[str]]]
    if tabs and not (has_header and first.startswith('"')):
        rows = enumerate(map(_unquoted_cells, texts), start=above + 1)
    else:
        separator = "\t" if tabs else max(",;", key=first.count) if has_header else ","
        rows = _quoted_rows(texts, separator, source, above)
    head_line, head = next(rows)
    names = head if has_header else list(layout.headerless.get(len(head), ()))
    if not names:
        known = "".join(f"{', '.join(names)} or " for names in layout.headerless.values())
        raise FormatError(
            f"has {len(head)} cells and no header; expected {'the columns ' * bool(known)}{known}"
            f"a header that names the id {', '.join(layout.id_names[:3])}",
            source=source,
            line=head_line,
        )
    [(name, count)] = Counter(names).most_common(1)
    if count > 1:
        problem = f"the header names {shown(name)} twice; rename one"
        raise FormatError(problem, source=source, line=head_line)
    needed = layout.needed(names)
    for line, row in rows if has_header else chain([(head_line, head)], rows):
        if len(row) < 2 and not "".join(row).strip():
            continue
        if len(row) != len(names):
            raise FormatError(
                f"expected {len(names)} cells ({shown(', '.join(names))}), found {len(row)}"
                f"{'; if quotes quote here, quote the header too' if tabs and has_header else ''}",
                source=source,
                line=line,
            )
        yield line, {n: cell for n, cell in zip(names, row, strict=True) if cell or n in needed}


def _unquoted_cells(line: str) -> list[str]:
    """Return the cells of a line in which no quote quotes, but for cells with doubled ones."""
    cells = line.rstrip("\r\n").split("\t")
    if '""' not in line:
        return cells
    quoted = [_QUOTED.fullmatch(cell) if '""' in cell[1:-1] else None for cell in cells]
    pairs = zip(quoted, cells, strict=True)
    return [match[1].replace('""', '"') if match else cell for match, cell in pairs]


# --- writing


def delimited_bytes(frame: pl.DataFrame, separator: str) -> bytes:
    """Write a frame with a header; with tabs it is quoted, too, where a cell needs quotes."""
    content = frame.write_csv(separator=separator)
    if separator != "\t" or '"' not in content:
        return content.encode()
    header = "\t".join('"' + name.replace('"', '""') + '"' for name in frame.columns)
    rows = frame.write_csv(separator="\t", include_header=False)
    return f"{header}\n{rows}".encode()
