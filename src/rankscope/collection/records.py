"""Rows with an id: how `Queries` and `Corpus` come from files and frames, and go back to files.

A reader turns one format into `Placed` rows (where it was, what it held) one at a time, so that a
corpus can be streamed; `identify` then finds the id. Nothing is repaired on the way: what cannot be
understood is an error that names file and line.

Text formats and what they carry: ``jsonl`` and ``json`` carry everything. ``parquet`` too: a column
without one plain type is stored as JSON text and named in the file's metadata. ``csv`` and ``tsv``
carry text: any other value is written as its JSON text and comes back as text; a cell left empty
means "no such field", a quoted empty one (``""``) means empty text.

Quotes: in csv they always quote. In tsv they quote if the header is quoted (as this module writes
when a cell needs it); below a plain header they quote only a cell that a minimal writer would have
quoted (closed, and holding a tab, a line end or a doubled quote); without a header, as in MS MARCO,
they are ordinary characters.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from decimal import Decimal
from operator import index
from typing import TYPE_CHECKING, BinaryIO, Literal

import polars as pl

from rankscope.errors import (
    FormatError,
    InputError,
    MissingExtraError,
    RankscopeError,
    UnknownNameError,
    shown,
)
from rankscope.files import PathLike, is_plain_file, open_bytes, source_name, suffix_of

if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Kind",
    "Origin",
    "Placed",
    "Row",
    "delimited_lines",
    "dump_json",
    "frame_of",
    "frame_rows",
    "identify",
    "keyed_rows",
    "listed_rows",
    "parquet_bytes",
    "parse_json",
    "read_rows",
]

Row = dict[str, object]

_HEAD = 1 << 16
_BATCH = 5_000
_DEEPEST = 100
_JSON_COLUMNS = "rankscope.json"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where rows come from, and what their positions count: lines of a file, items, rows."""

    source: str | None
    unit: Literal["line", "item", "row"]

    def error(self, problem: str, position: int | None = None) -> InputError:
        """Return the error to raise for a problem at this position."""
        if self.source is not None and self.unit == "line":
            return FormatError(problem, source=self.source, line=position)
        where = "" if position is None else f"{self.unit} {position}: "
        if self.source is None:
            return InputError(where + problem)
        return FormatError(where + problem, source=self.source)


Placed = tuple[Origin, int, Row]
TextReader = Callable[[str, Origin], Iterator[tuple[int, Row]]]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a table holds and how its files call it; the first names are the ones written."""

    noun: str
    nouns: str
    reader: str
    id_column: str
    id_names: tuple[str, ...]
    text_names: tuple[str, ...]
    columns: tuple[str, ...]
    """Fields kept as columns of text; all others are kept as JSON."""
    headerless: tuple[tuple[str, ...], ...]
    """The columns of a tuple or of a headerless line, by their number."""
    needs_text: bool = False
    readers: Mapping[str, TextReader] = field(default_factory=dict)

    @property
    def formats(self) -> tuple[str, ...]:
        """Formats that can be read."""
        return ("jsonl", "json", "tsv", "csv", "parquet", *self.readers)


# --- values


def _object(pairs: list[tuple[str, object]]) -> Row:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the name {shown(name)} stands twice in one object")
            seen.add(name)
    return made


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def parse_json(text: str, origin: Origin, line: int) -> object:
    """Parse JSON text; anything wrong with it becomes the origin's error."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        problem, line = f"{error.msg} at column {error.colno}", line + error.lineno - 1
    except RecursionError:
        problem = "nested too deeply"
    except ValueError as error:
        problem = "a number has too many digits" if "digits" in str(error) else str(error)
    raise origin.error(f"not valid JSON: {problem}; expected one object", line)


def _plain(value: object) -> object:
    """Say what json should write for a value it does not know."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta):
        return str(value)
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be kept as JSON")


def _depth(value: object, left: int = _DEEPEST) -> int:
    if left < 0 or not isinstance(value, dict | list | tuple) or not value:
        return 0
    inside = value.values() if isinstance(value, dict) else value
    return 1 + max(_depth(item, left - 1) for item in inside)


def dump_json(value: object) -> str:
    """Return JSON text that can be stored as UTF-8; raise ValueError if there is none."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=_plain)
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half a surrogate pair, which is not text") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except TypeError as error:
        raise ValueError(str(error)) from None
    if text.count("[") + text.count("{") > _DEEPEST and _depth(value) > _DEEPEST:
        raise ValueError(f"it is nested more than {_DEEPEST} levels deep")
    return text


def _folded(name: object) -> str:
    return str(name).strip().casefold().replace("-", "_").replace(" ", "_")


def find_name(row: Iterable[str], names: tuple[str, ...]) -> str | None:
    """Return the key of a row that is one of the names; an exact one goes first."""
    for name in names:
        if name in row:
            return name
    folded = {_folded(key): key for key in row}
    return next((folded[name] for name in names if name in folded), None)


def _id_text(value: object, kind: Kind) -> str:
    if isinstance(value, str):
        if not value.strip():
            raise ValueError(f"the id is empty; give every {kind.noun} one")
        value.encode()
        return value
    try:
        if isinstance(value, bool):
            raise TypeError
        return str(index(value))  # type: ignore[arg-type]
    except TypeError:
        came = "null" if value is None else f"{shown(value)} ({type(value).__name__})"
        raise ValueError(f"the id is {came}; expected text or a whole number") from None


def identify(placed: Placed, kind: Kind) -> tuple[str, Row]:
    """Return the id of a row and its other fields; a query's text is then called ``text``."""
    origin, position, row = placed
    key = find_name(row, kind.id_names)
    if key is None:
        raise origin.error(
            f"no id among the fields {shown(', '.join(map(str, row)))}; "
            f"name one of them {', '.join(kind.id_names[:4])}",
            position,
        )
    try:
        record_id = _id_text(row[key], kind)
    except ValueError as error:  # also text that is no Unicode, and a number with too many digits
        reason = "the id is not valid text" if isinstance(error, UnicodeError) else str(error)
        raise origin.error(reason, position) from None
    fields = {name: value for name, value in row.items() if name != key}
    if kind.needs_text:
        text_key = find_name(fields, kind.text_names)
        text = None if text_key is None else fields.pop(text_key)
        if not isinstance(text, str):
            came = "no text" if text is None else f"{shown(text)} ({type(text).__name__}) as text"
            raise origin.error(
                f"{kind.noun} {shown(record_id)} has {came}; expected a string in a field "
                f"named {', '.join(kind.text_names[:3])}",
                position,
            )
        fields = {"text": text, **fields}
    return record_id, fields


# --- rows from objects, shared with json files


def keyed_rows(data: Mapping[Any, object], origin: Origin, kind: Kind) -> Iterator[Placed]:
    """Yield the rows of a mapping from id to text, or from id to fields."""
    for position, (key, value) in enumerate(data.items(), start=1):
        if isinstance(value, str):
            yield origin, position, {kind.id_names[0]: key, "text": value}
        elif isinstance(value, Mapping):
            inner = value.get(kind.id_names[0], key)
            if str(inner) != str(key):
                problem = f"{kind.noun} {shown(key)} calls itself {shown(inner)}; give it one id"
                raise origin.error(problem, position)
            yield origin, position, {**value, kind.id_names[0]: key}
        else:
            came = f"{shown(value)} ({type(value).__name__})"
            problem = f"{kind.noun} {shown(key)} is {came}; expected text or named fields"
            raise origin.error(problem, position)


def listed_rows(data: Iterable[object], origin: Origin, kind: Kind) -> Iterator[Placed]:
    """Yield the rows of a list of mappings or of tuples."""
    shapes = {len(names): names for names in kind.headerless}
    for position, item in enumerate(data, start=1):
        if isinstance(item, Mapping):
            yield origin, position, dict(item)
        elif isinstance(item, tuple | list) and len(item) in shapes:
            yield origin, position, dict(zip(shapes[len(item)], item, strict=True))
        else:
            expected = " or ".join(f"({', '.join(names)})" for names in kind.headerless)
            problem = f"came {shown(item)}; expected named fields or {expected}"
            raise origin.error(problem, position)


# --- rows from frames and parquet


@contextmanager
def _polars_errors(origin: Origin, what: str) -> Iterator[None]:
    """Turn whatever Polars and Arrow raise, a Rust panic included, into the origin's error."""
    try:
        yield
    except RankscopeError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        reason = shown((str(error).splitlines() or [""])[0], 120)
        raise origin.error(f"{what}: {type(error).__name__} {reason}") from None


class _Stream:
    """Shows Polars nothing of a frame but its Arrow stream."""

    def __init__(self, data: Any) -> None:
        self.__arrow_c_stream__ = data.__arrow_c_stream__


def frame_of(data: object) -> pl.DataFrame:
    """Return a Polars frame of anything that has the Arrow PyCapsule interface."""
    if isinstance(data, pl.DataFrame):
        return data
    try:
        with _polars_errors(
            Origin(None, "row"), "the frame cannot be read, give each column one type"
        ):
            return pl.DataFrame(_Stream(data))
    except ImportError as error:
        raise MissingExtraError(
            error.name or "pyarrow", needed_for="reading this frame", extra="frames"
        ) from None


def frame_rows(
    frame: pl.DataFrame, origin: Origin, kind: Kind, *, before: int = 0
) -> Iterator[Placed]:
    """Yield the rows of a frame; a null is no field, except as id or needed text."""
    keep = {find_name(frame.columns, kind.id_names)}
    if kind.needs_text:
        keep.add(find_name(frame.columns, kind.text_names))
    for position, row in enumerate(frame.iter_rows(named=True), start=before + 1):
        yield origin, position, {k: v for k, v in row.items() if v is not None or k in keep}


def parquet_bytes(frame: pl.DataFrame, json_columns: list[str]) -> bytes:
    """Return a parquet file that remembers which of its columns hold JSON text."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata={_JSON_COLUMNS: json.dumps(json_columns)})
    return buffer.getvalue()


def _parquet_rows(
    source: str | bytes, origin: Origin, kind: Kind, *, ids_only: bool
) -> Iterator[Placed]:
    """Yield the rows of a parquet file, decoding one batch at a time."""
    broken = "is not a parquet file that can be read, write it again"
    with _polars_errors(origin, broken):
        lazy = pl.scan_parquet(source, glob=False, hive_partitioning=False)
        columns = lazy.collect_schema().names()
        noted = pl.read_parquet_metadata(
            io.BytesIO(source) if isinstance(source, bytes) else source
        )
        as_json = set(json.loads(noted.get(_JSON_COLUMNS, "[]"))).intersection(columns)
    id_key = find_name(columns, kind.id_names)
    if ids_only and id_key is not None:
        lazy, as_json = lazy.select(id_key), as_json & {id_key}
    before = 0
    while True:
        with _polars_errors(origin, broken):
            batch = lazy.slice(before, _BATCH).collect()
        if not batch.height:
            return
        for placed in frame_rows(batch, origin, kind, before=before):
            row = placed[2]
            for name in as_json.intersection(row):
                row[name] = parse_json(str(row[name]), origin, placed[1])
            yield placed
        before += batch.height


# --- rows from text


def _lines(head: bytes, stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file of which the head was read already, ends and all."""
    start = io.BytesIO(head.removeprefix(codecs.BOM_UTF8))
    for line in start:
        yield line if line.endswith(b"\n") else line + stream.readline()
    yield from stream


def _decoded(data: bytes, origin: Origin, line: int = 1) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        raise FormatError(
            f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8",
            source=origin.source or "",
            line=line,
        ) from None


_FIRST_ID = re.compile(rb'\s*\{\s*"_id"\s*:\s*"([^"\\\x00-\x1f\x80-\xff]+)"\s*,')


def _jsonl_rows(lines: Iterator[bytes], origin: Origin, *, ids_only: bool) -> Iterator[Placed]:
    for number, line in enumerate(lines, start=1):
        if ids_only and (first := _FIRST_ID.match(line)) and line.rstrip().endswith(b"}"):
            yield origin, number, {"_id": first[1].decode()}
            continue
        text = _decoded(line, origin, number).strip()
        if not text:
            continue
        row = parse_json(text, origin, number)
        if not isinstance(row, dict):
            raise origin.error(f"came {shown(text)}; expected one JSON object on a line", number)
        yield origin, number, row


def _json_rows(text: str, origin: Origin, kind: Kind) -> Iterator[Placed]:
    data = parse_json(text, origin, 1)
    items = Origin(origin.source, "item")
    if isinstance(data, dict):
        yield from keyed_rows(data, items, kind)
    elif isinstance(data, list):
        yield from listed_rows(data, items, kind)
    else:
        raise origin.error(f"came {shown(text)}; expected a list of objects, or an object by id")


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


_SPECIAL = re.compile(r'["\t\r\n]')


def _length(line: str) -> int:
    """Return the length of a line without its end."""
    return len(line) - (2 if line.endswith("\r\n") else line.endswith(("\n", "\r")))


def _body(line: str) -> str:
    return line[: _length(line)]


def _is_header(cells: list[str | None], kind: Kind) -> bool:
    names = [_folded(cell or "") for cell in cells]
    ids = [name in kind.id_names for name in names]
    return ids[0] or (any(ids) and any(name in kind.text_names for name in names))


def _delimited_rows(
    lines: Iterator[tuple[int, str]], delimiter: str, origin: Origin, kind: Kind
) -> Iterator[Placed]:
    cells = _Cells(lines, delimiter, origin)
    if delimiter == "\t":
        line = cells.peek()
        plain: list[str | None] = [*_body(line).replace('"', "").split(delimiter)]
        cells.quotes = "always" if line.startswith('"') else "minimal"
        if not _is_header(plain, kind):
            cells.quotes = "never"
    names: list[str] = []
    for number, row in cells:
        if not names:
            names = _column_names(row, number, origin, kind)
            cells.width = len(names)
            keep = find_name(names, kind.id_names), find_name(names, kind.text_names)
            if _is_header(row, kind):
                continue
        if len(row) != len(names):
            problem = f"has {len(row)} cells; expected {len(names)} ({shown(', '.join(names))})"
            raise origin.error(problem, number)
        fields: Row = {
            name: cell if cell is not None or name == keep[0] else ""
            for name, cell in zip(names, row, strict=True)
            if cell is not None or name == keep[0] or (kind.needs_text and name == keep[1])
        }
        yield origin, number, fields


def _column_names(row: list[str | None], number: int, origin: Origin, kind: Kind) -> list[str]:
    if _is_header(row, kind):
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


# --- files


def _json_or_jsonl(start: bytes, suffix: str, kind: Kind) -> str:
    """Tell one big object from an object on each line."""
    if suffix in (".jsonl", ".ndjson"):
        return "jsonl"
    first, _, rest = start.partition(b"\n")
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return "json" if suffix == ".json" or rest or len(start) < _HEAD else "jsonl"
    if rest.strip():
        return "jsonl"
    named = isinstance(row, dict) and find_name(row, kind.id_names) and "text" in row
    return "jsonl" if named else "json"


def _format_of(head: bytes, suffix: str, kind: Kind, source: str) -> str:
    """Tell the format from content and name."""
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if head.startswith(b"PAR1") or suffix == ".parquet":
        return "parquet"
    if not start:
        raise FormatError(f"is empty; expected {kind.nouns}", source=source)
    if suffix in (".tsv", ".csv"):
        return suffix[1:]
    if start[:1] == b"<" and "trec" in kind.readers:
        return "trec"
    if start[:1] == b"[":
        return "json"
    if start[:1] == b"{":
        return _json_or_jsonl(start, suffix, kind)
    line = start.split(b"\n")[0].decode(errors="replace").replace('"', "")
    if "\t" in line:
        return "tsv"
    if _is_header([*_body(line).split(",")], kind):
        return "csv"
    if suffix in (".jsonl", ".ndjson", ".json"):
        return "json" if suffix == ".json" else "jsonl"  # its reader says what is wrong
    raise FormatError(
        f"does not look like {kind.nouns} ({shown(line, 40)}); name its format, one of "
        f"{', '.join(kind.formats)}",
        source=source,
    )


def read_rows(
    path: PathLike, kind: Kind, *, format: str | None = None, ids_only: bool = False
) -> Iterator[Placed]:
    """Yield the rows of a file one by one; ``ids_only`` may leave out fields other than the id.

    Only ``json`` and topics, and parquet that is compressed or piped, are held in memory whole.
    """
    if format is not None and format not in kind.formats:
        raise UnknownNameError("format", format, kind.formats)
    source = source_name(path)
    empty = True
    with open_bytes(path) as stream:
        head = stream.read(_HEAD)
        name = format or _format_of(head, suffix_of(path), kind, source)
        for placed in _rows_as(name, path, head, stream, kind, ids_only=ids_only):
            empty = False
            yield placed
    if empty:
        raise FormatError(f"is empty; expected {kind.nouns}", source=source)


def _rows_as(
    name: str, path: PathLike, head: bytes, stream: BinaryIO, kind: Kind, *, ids_only: bool
) -> Iterator[Placed]:
    source = source_name(path)
    origin = Origin(source, "row" if name == "parquet" else "line")
    if name == "parquet":
        plain = is_plain_file(path)
        data = os.path.abspath(os.fspath(path)) if plain else head + stream.read()
        yield from _parquet_rows(data, origin, kind, ids_only=ids_only)
    elif name == "jsonl":
        yield from _jsonl_rows(_lines(head, stream), origin, ids_only=ids_only)
    elif name in ("tsv", "csv"):
        numbered = enumerate(_lines(head, stream), start=1)
        lines = ((number, _decoded(line, origin, number)) for number, line in numbered)
        yield from _delimited_rows(lines, "\t" if name == "tsv" else ",", origin, kind)
    else:
        whole = (head + stream.read()).removeprefix(codecs.BOM_UTF8)
        text = _decoded(whole, origin)
        if not text.strip():
            return
        if name == "json":
            yield from _json_rows(text, origin, kind)
        else:
            for line, row in kind.readers[name](text, origin):
                yield origin, line, row


# --- delimited text to files


_QUOTED_IN_CSV = re.compile(r'[",\r\n]|\A\Z')
_QUOTED_IN_TSV = re.compile(r'[\t\r\n"]|\A\Z')
_QUOTES_TSV = re.compile(r'[\t\r\n]|\A"|\A\Z')


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
