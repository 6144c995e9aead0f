"""Bytes in, bytes out: the only place that opens, decompresses and replaces files.

Reading: a path or ``-`` (standard input); compression is recognised by content, so a wrong suffix
does no harm. Writing: compression by suffix, always to a temporary file that is renamed over the
target once complete, so that a reader never sees half a file and a failed write leaves the old one.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
import zlib
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeGuard, cast

from rankscope.errors import FormatError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "COMPRESSIONS",
    "PathLike",
    "can_be_read_again",
    "is_path",
    "is_plain_file",
    "open_bytes",
    "read_bytes",
    "replacing",
    "source_name",
    "suffix_of",
]

PathLike = str | os.PathLike[str]

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")

_BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError)


def is_path(data: object) -> TypeGuard[PathLike]:
    """Tell whether something given is a path rather than data."""
    return isinstance(data, str | os.PathLike)


def source_name(path: PathLike, *, output: bool = False) -> str:
    """Return how messages call this source."""
    text = os.fspath(path)
    stream = "standard output" if output else "standard input"
    return stream if text == "-" else text


def suffix_of(path: PathLike) -> str:
    """Return the suffix that tells the format: ``.tsv`` for ``a.tsv.gz``, lower case."""
    suffixes = [suffix.lower() for suffix in Path(os.fspath(path)).suffixes]
    while suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _compression(head: bytes) -> str:
    if head.startswith(b"\x1f\x8b"):
        return ".gz"
    if head.startswith(b"BZh") and head[4:10] == b"1AY&SY":
        return ".bz2"
    if head.startswith(b"\xfd7zXZ\x00"):
        return ".xz"
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return ".zst"
    return ""


def _open_raw(path: PathLike) -> BinaryIO:
    text = os.fspath(path)
    if text == "-":
        if sys.stdin is None or sys.stdin.buffer.closed:
            raise InputError("standard input is closed; name a file")
        return sys.stdin.buffer
    try:
        return open(text, "rb")
    except IsADirectoryError:
        inside = sorted(os.listdir(text))
        example = f", such as {os.path.join(text, inside[0])}" if inside else ""
        raise InputError(f"{text}: is a folder; name a file in it{example}") from None
    except FileNotFoundError:
        folder = os.path.dirname(text) or "."
        there = os.listdir(folder) if os.path.isdir(folder) else []
        from difflib import get_close_matches  # noqa: PLC0415

        near = get_close_matches(os.path.basename(text), there, n=1)
        hint = f"; did you mean {os.path.join(os.path.dirname(text), near[0])}?" if near else ""
        raise InputError(f"{text}: no such file{hint}") from None
    except ValueError as error:  # an embedded NUL
        raise InputError(f"{text!r}: not a usable file name ({error})") from None
    except OSError as error:
        raise InputError(f"{text}: cannot be opened ({error.strerror})") from None


def is_plain_file(path: PathLike) -> bool:
    """Tell whether the path is a regular, uncompressed file that others can open by name."""
    if not can_be_read_again(path) or not _is_text(os.fspath(path)):
        return False
    with _open_raw(path) as raw:
        return not _compression(raw.read(10))


def _is_text(name: str) -> bool:
    """Tell whether a name is Unicode; others than Python cannot open one that is not."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def can_be_read_again(path: PathLike) -> bool:
    """Tell whether the path is no stream: what is read from standard input or a pipe is gone.

    Such a path is not opened here, as that alone would disturb the writer at the other end.
    """
    text = os.fspath(path)
    return text != "-" and (os.path.isfile(text) or not os.path.exists(text))


def _decompressed(raw: BinaryIO) -> BinaryIO:
    """Wrap a binary stream so that it yields the decompressed bytes."""
    head = raw.read(10)
    if raw.seekable():
        raw.seek(-len(head), os.SEEK_CUR)
        whole: BinaryIO = raw
    else:
        whole = cast("BinaryIO", io.BufferedReader(_Rejoined(head, raw)))
    kind = _compression(head)
    if kind == ".gz":
        return cast("BinaryIO", gzip.GzipFile(fileobj=whole))
    if kind == ".bz2":
        return cast("BinaryIO", bz2.BZ2File(whole))
    if kind == ".xz":
        return cast("BinaryIO", lzma.LZMAFile(whole))
    if kind == ".zst":
        return cast("BinaryIO", io.BufferedReader(_Zstandard(whole), 1 << 17))
    return whole


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes were already taken."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        block = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(block) :]
        buffer[: len(block)] = block
        return len(block)


class _Zstandard(io.RawIOBase):
    """A Zstandard reader, frame after frame, that reports a stream cut short."""

    def __init__(self, source: BinaryIO) -> None:
        import zstandard  # noqa: PLC0415

        self._frame = zstandard.ZstdDecompressor().decompressobj
        self._damage = zstandard.ZstdError
        self._source = source
        self._current = self._frame()
        self._inside = False
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            block = self._source.read(1 << 17)
            if not block:
                if self._inside:
                    raise EOFError
                return 0
            self._feed(block)
        block, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(block)] = block
        return len(block)

    def _feed(self, block: bytes) -> None:
        out = []
        try:
            while block:
                self._inside = True
                out.append(self._current.decompress(block))
                block = self._current.unused_data if self._current.eof else b""
                if self._current.eof:
                    self._current, self._inside = self._frame(), False
        except self._damage as error:
            raise ValueError(str(error)) from None
        self._ready = b"".join(out)


@contextmanager
def open_bytes(path: PathLike) -> Iterator[BinaryIO]:
    """Open a source for reading decompressed bytes; damage becomes a `FormatError`."""
    raw = _open_raw(path)
    stream = raw
    try:
        stream = _decompressed(raw)
        yield stream
    except (InputError, BrokenPipeError):
        raise
    except _BROKEN as error:
        reason = "it ends too early" if isinstance(error, EOFError) else str(error)
        raise FormatError(
            f"cannot be read to its end ({reason}); the file is damaged or was cut short, "
            "fetch or write it again",
            source=source_name(path),
        ) from None
    finally:
        if stream is not raw:
            stream.close()
        if os.fspath(path) != "-":
            raw.close()


def read_bytes(path: PathLike) -> bytes:
    """Return all decompressed bytes of a source."""
    with open_bytes(path) as stream:
        return stream.read()


@contextmanager
def _compressing(sink: BinaryIO, path: PathLike) -> Iterator[BinaryIO]:
    stream = _compressed(sink, path)
    try:
        yield stream
    finally:
        if stream is not sink:
            stream.close()


def _compressed(sink: BinaryIO, path: PathLike) -> BinaryIO:
    suffix = Path(os.fspath(path)).suffix.lower()
    if suffix == ".gz":  # no name and no time inside: same content, same bytes
        return cast("BinaryIO", gzip.GzipFile("", "wb", compresslevel=6, fileobj=sink, mtime=0))
    if suffix == ".bz2":
        return cast("BinaryIO", bz2.BZ2File(sink, "wb"))
    if suffix == ".xz":
        return cast("BinaryIO", lzma.LZMAFile(sink, "wb"))
    if suffix == ".zst":
        import zstandard  # noqa: PLC0415

        return cast("BinaryIO", zstandard.ZstdCompressor().stream_writer(sink, closefd=False))
    return sink


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """Open ``path`` for writing such that it changes all at once, or not at all.

    ``-`` writes to standard output; a device or pipe is written directly. A symbolic link keeps
    pointing where it did: the file behind it is replaced.
    """
    text = os.fspath(path)
    if "\0" in text:
        raise InputError(f"{text!r}: not a usable file name (it holds a NUL)")
    target = os.path.realpath(text)
    if os.path.isdir(target) and text != "-":
        raise InputError(f"{text}: is a folder; name a file to write")
    try:
        if text == "-":
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        elif os.path.exists(target) and not os.path.isfile(target):
            with open(target, "wb") as device, _compressing(device, text) as stream:
                yield stream
        else:
            with _renamed_when_done(target) as sink, _compressing(sink, text) as stream:
                yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        unchanged = "; the old file is unchanged" if os.path.isfile(target) else ""
        raise InputError(
            f"{source_name(path, output=True)}: cannot be written ({reason}){unchanged}"
        ) from None


@contextmanager
def _renamed_when_done(target: str) -> Iterator[BinaryIO]:
    """Open a temporary file beside the target, and rename it over the target at the end."""
    import tempfile  # noqa: PLC0415

    handle, temporary = tempfile.mkstemp(
        prefix=".rankscope-", suffix=".part", dir=os.path.dirname(target)
    )
    try:
        with os.fdopen(handle, "wb") as sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())
        os.chmod(temporary, _mode_for(target))
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _mode_for(target: str) -> int:
    """Return the permissions of the file to be replaced, or those a new file would get."""
    if os.path.exists(target):
        return stat.S_IMODE(os.stat(target).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
