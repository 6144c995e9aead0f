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
from rankscope.tables.columns import check_columns, find_name
from rankscope.tables.detection import cells_of, shielded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rankscope.tables.columns import Columns, PairLayout, RecordLayout

_LONGEST_CELL = 2**31 - 1  # the most that csv takes on every system
_QUOTED = re.compile(r'"(?:[^"]++|"")*+"')


def _first_row(lines: Iterator[bytes], source: str) -> tuple[int, int, str]:
    """Return the lines and the bytes above the first row, and the row; '' if there is none."""
    above = size = 0
    for line in lines:
        text = line.decode("utf-8", "replace").strip(" \r\n")
        # what follows the sign at once may be an id
        if text and text != "#" and not text.startswith(("# ", "##")):
            return above, size, decoded(line, source=source, line=above + 1)
        above, size = above + 1, size + len(line)
    return above, size, ""


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

    Return cells of text, a function from row to line, and the roles of the columns if there is no
    header.
    """
    above, size, first = _first_row(io.BytesIO(data), source)
    data = data[size:]
    cells = cells_of(first.rstrip("\r\n"), separator)
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
        for line, row in _quoted_rows(io.StringIO(text, newline=""), separator, source, above):
            if len(row) > len(cells):
                problem = f"expected {len(cells)} columns, found {len(row)}"
                raise FormatError(
                    f"{problem}; quote values with a separator", source=source, line=line
                ) from None
        raise FormatError(
            f"could not be read as a table ({shown(str(error).splitlines()[0])})", source=source
        ) from None

    def line_of(row: int) -> int:
        if b'"' not in data:
            return above + row + 1 + has_header
        text = io.StringIO(decoded(data, source=source), newline="")  # line breaks may be quoted
        rows = islice(_quoted_rows(text, separator, source, above), row + has_header, None)
        return next(rows, (above + 1, []))[0]

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


# --- records


def delimited_rows(
    lines: Iterable[bytes], layout: RecordLayout, *, source: str, tabs: bool
) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield line and cells of each row of a table with a header, or of as many columns as is usual.

    An empty cell is left out, but not the id or a text that is needed.
    """
    lines = iter(lines)
    above, _, first = _first_row(lines, source)
    if not first:
        return
    separator = "\t" if tabs else max(",;", key=first.count)
    has_header = layout.is_header(cells_of(first.rstrip("\r\n"), separator))
    numbered = enumerate(lines, start=above + 2)
    texts = chain([first], (decoded(line, source=source, line=n) for n, line in numbered))
    rows: Iterator[tuple[int, list[str]]]
    if tabs and not (has_header and first.startswith('"')):
        rows = enumerate(map(_unquoted_cells, texts), start=above + 1)
    else:
        rows = _quoted_rows(texts, separator if has_header else ",", source, above)
    head_line, head = next(rows)
    check_columns(len(head), source=source, line=head_line)
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
    needed = {find_name(names, layout.id_names)}
    if layout.needs_text:
        needed.add(find_name(names, layout.text_names))
    for line, cells in rows if has_header else chain([(head_line, head)], rows):
        if len(cells) < 2 and not "".join(cells).strip():
            continue
        if len(cells) != len(names):
            raise FormatError(
                f"expected {len(names)} cells ({shown(', '.join(names))}), found {len(cells)}"
                f"{'; if quotes quote here, quote the header too' if tabs and has_header else ''}",
                source=source,
                line=line,
            )
        yield line, {n: cell for n, cell in zip(names, cells, strict=True) if cell or n in needed}


def _unquoted_cells(line: str) -> list[str]:
    """Return the cells of a line in which no quote quotes, but for cells with doubled ones."""
    cells = line.rstrip("\r\n").split("\t")
    if '""' not in line:
        return cells
    return [
        cell[1:-1].replace('""', '"') if '""' in cell[1:-1] and _QUOTED.fullmatch(cell) else cell
        for cell in cells
    ]


# --- writing


def delimited_bytes(frame: pl.DataFrame, separator: str) -> bytes:
    """Write a frame with a header; with tabs it is quoted, too, where a cell needs quotes."""
    content = frame.write_csv(separator=separator)
    if separator != "\t" or '"' not in content:
        return content.encode()
    header = "\t".join('"' + name.replace('"', '""') + '"' for name in frame.columns)
    rows = frame.write_csv(separator="\t", include_header=False)
    return f"{header}\n{rows}".encode()
