"""The skeleton of a Parquet file, checked before an engine sees it.

Engines allocate what a footer or a page header asks for. A damaged one asks for 2^61 bytes, or for
less than nothing, and the process is aborted, which no ``except`` can catch. So the footer and all
page headers (Thrift, compact protocol) are walked here: every size is within the file, every count
agrees with the others, and what the file says it expands to is within the limits of `files`. The
content of pages is not decoded; damage there is an error of the engine's that can be caught.

Of hundreds of thousands of damaged files with the usual encodings, none that passed ended the
process. What is seldom written is seldom tried, by those who write engines too: `check_parquet`
tells where a file has such things, and `parquet_trial` lets a process of its own read it first.
"""

from __future__ import annotations

import mmap
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rankscope.errors import FormatError
from rankscope.files import check_expansion, open_raw
from rankscope.tables.columns import check_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    Buffer = bytes | mmap.mmap

_MAGIC = b"PAR1"
_TAIL = 8  # the length of the footer, and the magic bytes
_DEEPEST = 64
_INT32, _INT64 = range(1 << 31), range(1 << 63)
_DICTIONARY_PAGE = 2
_LARGEST_DEPTH = 32  # levels of nested columns
_FIXED_LENGTH = 7  # the physical type whose values all have the length that the schema states
_WIDEST_VALUE = 1 << 20
_NAME = 100  # bytes of a text in a header that may be its writer's name

# Numbers, truth and text; plain, by dictionary, run lengths and bits; none, Snappy, gzip, Zstandard
# and LZ4.
_USUAL_TYPES = frozenset({0, 1, 2, 4, 5, 6})
_USUAL_ENCODINGS = frozenset({0, 2, 3, 4, 8})
_USUAL_COMPRESSIONS = frozenset({0, 1, 2, 6, 7})

Struct = dict[int, Any]
"""The fields of a Thrift struct by their number."""


class _DamagedError(Exception):
    """What is wrong with the skeleton."""


def check_parquet(data: str | bytes, *, source: str) -> bool:
    """Raise `FormatError` unless the skeleton of a file, by its name or bytes, is sound.

    Returns whether the file is an unusual one: not written by Polars, as rankscope's own are, and
    with nested columns, or with encodings, compressions or types that are seldom used.
    """
    with _bytes_of(data) as content:
        try:
            return _check(content, source)
        except _DamagedError as damage:
            raise FormatError(
                f"not a parquet file that can be read ({damage}); write it again", source=source
            ) from None


@contextmanager
def _bytes_of(data: str | bytes) -> Iterator[Buffer]:
    if isinstance(data, bytes):
        yield data
        return
    with open_raw(data) as file:
        if not file.seek(0, 2):  # an empty file cannot be mapped
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            yield mapped


def _check(content: Buffer, source: str) -> bool:
    end = len(content) - _TAIL
    if end < len(_MAGIC) or content[:4] != _MAGIC or content[-4:] != _MAGIC:
        raise _DamagedError("it does not begin and end with PAR1, or was cut short")
    start = end - int.from_bytes(content[end : end + 4], "little")
    if start < len(_MAGIC):
        raise _DamagedError("its footer is larger than the file")
    footer = _Thrift(content, start, end).struct()
    schema = _structs(footer, 2, "schema")
    check_columns(len(schema) - 1, source=source)
    flat = _leaves(schema)
    groups = _structs(footer, 4, "row groups")
    rows = _number(footer, 3, _INT64, "number of rows")
    if rows != sum(_number(group, 3, _INT64, "number of rows") for group in groups):
        raise _DamagedError("its numbers of rows disagree")
    chunks = [(group, _structs(group, 1, "columns")) for group in groups]
    if any(len(columns) != len(flat) for _, columns in chunks):
        raise _DamagedError("its numbers of columns disagree")
    expanded = sum(
        _number(_struct(column, 3, "column"), 6, _INT64, "size of a column")
        for _, columns in chunks
        for column in columns
    )
    # A run of equal values takes no room in the file, and at least a byte for each row in memory.
    check_expansion(max(expanded, rows * len(flat)), len(content), source)
    unusual = not all(flat)
    for group, columns in chunks:
        for column, is_flat in zip(columns, flat, strict=True):
            chunk = _struct(column, 3, "column")
            values = _check_chunk(content, chunk, start)
            if is_flat and values != group[3]:
                raise _DamagedError("a column has more or fewer values than rows")
            unusual = unusual or _is_unusual(chunk)
    return unusual and not (footer.get(6) or b"").startswith(b"Polars")


def _is_unusual(chunk: Struct) -> bool:
    """Tell whether a column has a type, an encoding or a compression that is seldom used."""
    encodings = chunk.get(2)
    return (
        chunk.get(1) not in _USUAL_TYPES
        or chunk.get(4) not in _USUAL_COMPRESSIONS
        or not isinstance(encodings, list)
        or not _USUAL_ENCODINGS.issuperset(encodings)
    )


def _leaves(schema: list[Struct]) -> list[bool]:
    """Tell for each column that holds values whether it has exactly one for each row."""
    if not schema:
        raise _DamagedError("its schema is empty")
    leaves: list[bool] = []
    position = 0

    def walk(depth: int, *, flat: bool) -> None:
        nonlocal position
        if position >= len(schema) or depth > _LARGEST_DEPTH:
            raise _DamagedError("its schema is not a tree")
        element = schema[position]
        position += 1
        flat = flat and element.get(3, 0) != 2  # 2: repeated
        children = _number(element, 5, _INT32, "number of columns") if 5 in element else 0
        if not children and 1 in element:
            if element[1] == _FIXED_LENGTH:
                _number(element, 2, range(1, _WIDEST_VALUE), "length of values")
            leaves.append(flat)
        elif depth and not children:
            raise _DamagedError("a column has no type")
        for _ in range(children):
            walk(depth + 1, flat=flat)

    walk(0, flat=True)
    if position != len(schema):
        raise _DamagedError("its schema is not a tree")
    return leaves


def _check_chunk(content: Buffer, chunk: Struct, footer: int) -> int:
    """Check the pages of one column in one row group, and return how many values they hold."""
    values = _number(chunk, 5, _INT64, "number of values")
    size = _number(chunk, 7, _INT64, "size of a column")
    # Some writers say 0 where there is no dictionary, or no page because there is no value.
    offsets = [field for field in (9, 11) if chunk.get(field)]
    if not offsets and not values and not size:
        return 0
    inside = range(len(_MAGIC), footer + 1)
    position = min(_number(chunk, field, inside, "offset of a page") for field in offsets or [9])
    end = position + size
    if end > footer:
        raise _DamagedError("a column goes beyond its end")
    seen = expanded = 0
    while position < end:
        thrift = _Thrift(content, position, end)
        page = thrift.struct()
        packed = _number(page, 3, _INT32, "size of a page")
        unpacked = _number(page, 2, _INT32, "size of a page")
        expanded += unpacked + thrift.position - position
        position = thrift.position + packed
        seen += _values_of(page, unpacked)
    if position != end or seen != values:
        raise _DamagedError("its pages disagree with the size or the number of values of a column")
    if expanded > chunk[6]:
        raise _DamagedError("its pages are larger than their column")
    return values


def _values_of(page: Struct, size: int) -> int:
    """Return how many values of its column a page holds: those of a dictionary do not count."""
    kind = _number(page, 1, range(4), "kind of a page")
    if kind == 1:  # an index, which nobody writes
        return 0
    header = _struct(page, {0: 5, 2: 7, 3: 8}[kind], "page header")
    values = _number(header, 1, _INT32, "number of values in a page")
    if kind == _DICTIONARY_PAGE:
        if values > 8 * size:
            raise _DamagedError("a dictionary has more values than bytes")
        return 0
    if kind == 3:
        _number(header, 2, range(values + 1), "number of nulls")
        _number(header, 3, range(values + 1), "number of rows in a page")
        levels = [_number(header, field, _INT32, "size of levels") for field in (5, 6)]
        if sum(levels) > size:
            raise _DamagedError("the levels of a page are larger than the page")
    return values


# --- fields


def _number(struct: Struct, field: int, allowed: range, what: str) -> int:
    value = struct.get(field)
    if type(value) is not int or value not in allowed:
        shown = "missing" if value is None or type(value) is not int else f"{value:,}"
        raise _DamagedError(f"the {what} is {shown}")
    return value


def _struct(struct: Struct, field: int, what: str) -> Struct:
    value = struct.get(field)
    if not isinstance(value, dict):
        raise _DamagedError(f"a {what} is missing")
    return value


def _structs(struct: Struct, field: int, what: str) -> list[Struct]:
    values = struct.get(field)
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise _DamagedError(f"its {what} are missing")
    return values


class _Thrift:
    """A reader of Thrift's compact protocol that never leaves the bytes from position to end."""

    def __init__(self, content: Buffer, position: int, end: int) -> None:
        self._content = content
        self.position = position
        self._end = end

    def struct(self, depth: int = 0) -> Struct:
        """Return the fields of the struct here; what has no meaning here is None."""
        if depth > _DEEPEST:
            raise _DamagedError("a header is nested too deeply")
        fields: Struct = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._zigzag()
            if number in fields:
                raise _DamagedError("a header has a field twice")
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind == 8:  # binary
            size = self._varint()
            begin = self.position
            self._skip(size)
            return bytes(self._content[begin : begin + size]) if size <= _NAME else None
        if kind in (4, 5, 6):  # integers of 16, 32 and 64 bits
            return self._zigzag()
        if kind == 12:
            return self.struct(depth + 1)
        if kind in (9, 10):  # list, set
            return self._list(depth)
        if kind in (1, 2, 3):  # a truth value in a list, a byte
            return self._skip(1)
        if kind == 7:  # double
            return self._skip(8)
        raise _DamagedError("a header has a field of unknown type")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        count = head >> 4
        if count == 15:
            count = self._varint()
        if depth > _DEEPEST or count > self._end - self.position:  # each takes a byte or more
            raise _DamagedError("a header has a list that is longer than the header")
        return [self._value(head & 15, depth + 1) for _ in range(count)]

    def _byte(self) -> int:
        if self.position >= self._end:
            raise _DamagedError("a header was cut short")
        self.position += 1
        return self._content[self.position - 1]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) > 127:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise _DamagedError("a header has a number of more than 64 bits")
        return value | byte << shift

    def _zigzag(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)

    def _skip(self, size: int) -> None:
        if size > self._end - self.position:
            raise _DamagedError("a header was cut short")
        self.position += size
