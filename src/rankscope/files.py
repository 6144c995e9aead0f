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
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeGuard, cast
from weakref import WeakSet

from rankscope.errors import FormatError, InputError, shown
from rankscope.printing import put
from rankscope.temporary import flush_folder, lock, mark, sweep, unlock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PathLike = str | os.PathLike[str]

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")

_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError)
_BLOCK = 1 << 17  # bytes read or decompressed at a time
_WHOLE = 1 << 20  # bytes read at a time where all are wanted
_ZSTANDARD_BLOCK = 1 << 11  # of Zstandard, 4 bytes can expand to 128 KB: at most 64 MB at a time

_LARGEST = 64 << 30  # bytes that a file may expand to
_HARMLESS = 256 << 20  # bytes that any file may expand to
_RATIO = 250  # to one, beyond what is harmless; runs and qrels reach 50

PARTS = ".rankscope-*.part"
"""The names of temporary files."""

_SWEPT: set[str] = set()  # folders: once in each process is enough


def is_path(data: object) -> TypeGuard[PathLike]:
    """Tell whether something given is a path rather than data."""
    return isinstance(data, str | os.PathLike)


def source_name(path: PathLike, *, output: bool = False) -> str:
    """Return the name of a file in messages; ``-`` is standard input or output."""
    text = os.fspath(path)
    stream = "standard output" if output else "standard input"
    return stream if text == "-" else text


def suffix_of(path: PathLike) -> str:
    """Return the suffix that tells the format: ``.tsv`` for ``a.tsv.gz``, lower case."""
    suffixes = [suffix.lower() for suffix in Path(os.fspath(path)).suffixes]
    while suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


_MAGIC = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\x00": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"\x04\x22\x4d\x18": ".lz4",  # which is refused by name
}
"""What compressed files begin with."""


def _compression(head: bytes) -> str:
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")
    return "" if kind == ".bz2" and head[4:10] != b"1AY&SY" else kind  # BZh may begin a text


_READ: WeakSet[BinaryIO] = WeakSet()
"""Standard inputs that were read: a second reader would take them for empty files."""


def open_raw(path: PathLike) -> BinaryIO:
    """Open a source as it is, compressed or not; what cannot be opened is an `InputError`."""
    text = os.fspath(path)
    if text == "-":
        if sys.stdin is None or sys.stdin.buffer.closed:
            raise InputError("standard input is closed; name a file")
        if sys.stdin.buffer in _READ:
            raise InputError("standard input (-) can be read once only; name files for the rest")
        _READ.add(sys.stdin.buffer)
        return sys.stdin.buffer
    if not text.strip():
        raise InputError("the name of the file to read is empty; name a file, or - to read a pipe")
    try:
        _refuse_endless(text)
        return open(text, "rb")
    except IsADirectoryError:
        entries = sorted(os.listdir(text))
        example = f", such as {os.path.join(text, entries[0])}" if entries else ""
        raise InputError(f"{text}: is a folder; name a file in it{example}") from None
    except FileNotFoundError:
        near = nearest_file(text)
        hint = f"; did you mean {near}?" if near else ""
        raise InputError(f"{text}: file not found{hint}") from None
    except OSError as error:
        raise InputError(f"{text}: cannot be opened ({error.strerror})") from None


def _refuse_endless(name: str) -> None:
    """Refuse what may never end; the shell's ``<(…)`` is a pipe that somebody fills."""
    check_name(name)
    mode = os.stat(name).st_mode
    if stat.S_ISBLK(mode) or stat.S_ISCHR(mode):
        raise InputError(f"{name}: is a device; name a file")
    if stat.S_ISFIFO(mode) and not os.path.realpath(name).startswith(("/proc/", "/dev/fd/")):
        raise InputError(
            f"{name}: is a named pipe, which nobody may fill; give it as standard input: "
            f"rankscope … - < {name}"
        )


def check_name(name: str) -> None:
    """Refuse a name that no file can have: with a NUL, or with text that no file system knows."""
    try:
        is_name = b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise InputError(f"{shown(name, 200)} cannot be the name of a file; correct it")


def nearest_file(path: PathLike) -> str | None:
    """Return the file whose name is close to that of a missing one, if its folder holds one.

    Close is also the name without suffixes: ``c.tsv`` is not close to ``nope.tsv``.
    """
    from difflib import get_close_matches  # noqa: PLC0415

    folder, name = os.path.split(os.fspath(path))
    try:
        entries = {entry.casefold(): entry for entry in os.listdir(folder or ".")}
    except OSError:
        return None
    name = name.casefold()
    for folded in get_close_matches(name, entries, n=10):
        if get_close_matches(name.partition(".")[0], [folded.partition(".")[0]]):
            return os.path.join(folder, entries[folded])
    return None


def is_plain_file(path: PathLike) -> bool:
    """Tell whether the path is a regular, uncompressed file that Polars can open by name."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:  # only Python can open a name that is not UTF-8
        return False
    if not can_be_read_again(path):
        return False
    with open_raw(path) as raw:
        return not _compression(raw.read(10))


def can_be_read_again(path: PathLike) -> bool:
    """Tell whether the path can be opened twice; standard input and pipes cannot.

    The path is not opened here: opening and closing a pipe would already end its writer.
    """
    text = os.fspath(path)
    return text != "-" and (os.path.isfile(text) or not os.path.exists(text))


def _decompressor(packed: io.BufferedReader[Any], source: str) -> BinaryIO | None:
    """Return a stream of the decompressed bytes; None if they are not compressed."""
    openers: dict[str, Callable[[io.BufferedReader[Any]], Any]] = {
        ".gz": lambda packed: gzip.GzipFile(fileobj=packed),
        ".bz2": bz2.BZ2File,
        ".xz": lzma.LZMAFile,
        ".zst": lambda packed: io.BufferedReader(_Zstandard(packed), _BLOCK),
    }
    kind = _compression(packed.peek(10)[:10])
    if kind == ".lz4":
        raise FormatError(
            "is compressed by lz4, which is not read; unpack it (lz4 -d), or use gzip or zstd",
            source=source,
        )
    return cast("BinaryIO", openers[kind](packed)) if kind else None


class _Zstandard(io.RawIOBase):
    """A reader of Zstandard frames, one after the other; a stream cut short is an error."""

    def __init__(self, source: io.BufferedReader[Any]) -> None:
        import zstandard  # noqa: PLC0415

        self._frame = zstandard.ZstdDecompressor().decompressobj
        self._damage = zstandard.ZstdError
        self._source = source
        self._current = self._frame()
        self._inside = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            block = self._source.read(_ZSTANDARD_BLOCK)
            if not block and self._inside:
                raise EOFError
            if not block:
                return 0
            self._ready = memoryview(b"".join(self._decompressed(block)))
        piece = self._ready[: len(buffer)]
        self._ready = self._ready[len(buffer) :]  # a view: nothing is copied
        buffer[: len(piece)] = piece
        return len(piece)

    def _decompressed(self, block: bytes) -> Iterator[bytes]:
        try:
            while block:
                self._inside = True
                yield self._current.decompress(block)
                block = self._current.unused_data if self._current.eof else b""
                if self._current.eof:
                    self._current, self._inside = self._frame(), False
        except self._damage as error:
            raise ValueError(str(error)) from None


class _Guarded(io.RawIOBase):
    """A stream whose own errors become a `FormatError`; those of whoever reads it do not.

    ``packed`` is the stream that this one is decompressed from: it must not expand too much.
    """

    def __init__(self, stream: BinaryIO, source: str, packed: _Guarded | None = None) -> None:
        self._stream = stream
        self._source = source
        self._packed = packed
        self.passed = 0
        """The number of bytes that were read so far."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        with _damage_reported(self._source):
            size: int = self._stream.readinto(buffer)  # type: ignore[attr-defined]
        self.passed += size
        if self._packed is not None:
            check_expansion(self.passed, self._packed.passed, self._source)
        return size

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(_WHOLE) or b"", b""))


@contextmanager
def _damage_reported(source: str) -> Iterator[None]:
    try:
        yield
    except InputError:  # a ValueError too
        raise
    except _DAMAGE as error:
        reason = "it ends too early" if isinstance(error, EOFError) else str(error)
        raise FormatError(
            f"cannot be read to its end ({reason}); the file is damaged or was cut short, "
            "fetch or write it again",
            source=source,
        ) from None


def _guarded(
    stream: BinaryIO, source: str, packed: _Guarded | None = None
) -> io.BufferedReader[_Guarded]:
    return io.BufferedReader(_Guarded(stream, source, packed), _BLOCK)


def decoded(data: bytes, *, source: str, line: int = 1) -> str:
    """Decode UTF-8 that begins on this line of its file, or say on which line it is not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8",
            source=source,
            line=line + data.count(b"\n", 0, error.start),
        ) from None


def check_expansion(expanded: int, packed: int, source: str) -> None:
    """Refuse a file that expands to more than any should, or far more than its size explains."""
    limit = min(_LARGEST, max(_HARMLESS, _RATIO * packed))
    if expanded > limit:
        raise FormatError(
            f"expands from {packed:,} to more than {limit:,} bytes; if that is meant, unpack it, "
            "or write it as several files",
            source=source,
        )


def folder_to_write(path: PathLike, setting: str) -> Path:
    """Return a folder to write to; an empty name, which is the current folder's, is refused."""
    text = os.fspath(path)
    if not text.strip():
        raise InputError(f"{setting}: the name is empty; name a folder to write to")
    return Path(text)


@contextmanager
def enough_memory(source: str) -> Iterator[None]:
    """Turn a lack of memory into an `InputError` about what was being read."""
    try:
        yield
    except MemoryError:
        raise InputError(
            f"{source}: not enough memory to read it; split it, or use a machine with more"
        ) from None


@contextmanager
def open_bytes(path: PathLike) -> Iterator[io.BufferedReader[_Guarded]]:
    """Open a source for reading decompressed bytes; damage becomes a `FormatError`."""
    source = source_name(path)
    with ExitStack() as opened:
        raw = open_raw(path)
        if os.fspath(path) != "-":
            opened.callback(raw.close)
        stream = opened.enter_context(_guarded(raw, source))
        unpacked = _decompressor(stream, source)
        if unpacked is not None:
            opened.enter_context(unpacked)
            stream = opened.enter_context(_guarded(unpacked, source, stream.raw))
        yield stream


def check_regular(path: Path) -> None:
    """Refuse what exists and is no file, such as a pipe or a device, which might never end."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: expected a regular file, got a folder, a pipe or a device")


def read_bytes(path: PathLike) -> bytes:
    """Return all decompressed bytes of a source."""
    with enough_memory(source_name(path)), open_bytes(path) as stream:
        return stream.read()


@contextmanager
def _compressing(sink: BinaryIO, path: PathLike) -> Iterator[BinaryIO]:
    """Yield a stream that compresses into ``sink`` as the suffix of ``path`` says."""
    suffix = Path(os.fspath(path)).suffix.lower()
    if suffix == ".zst":
        import zstandard  # noqa: PLC0415

        try:
            with zstandard.ZstdCompressor().stream_writer(sink, closefd=False) as stream:
                yield cast("BinaryIO", stream)
        except zstandard.ZstdError as error:  # nothing else goes wrong when it compresses
            raise MemoryError(str(error)) from None
    elif suffix == ".gz":
        # no name and no time inside: same content, same bytes; runs shrink no more at higher levels
        with gzip.GzipFile("", "wb", compresslevel=1, fileobj=sink, mtime=0) as packed:
            yield cast("BinaryIO", packed)
    elif suffix in (".bz2", ".xz"):
        with bz2.BZ2File(sink, "wb") if suffix == ".bz2" else lzma.LZMAFile(sink, "wb") as file:
            yield cast("BinaryIO", file)
    else:
        yield sink


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """Open ``path`` for writing such that it changes all at once, or not at all.

    ``-`` writes to standard output; a device or pipe is written directly. A symbolic link keeps
    pointing where it did: the file behind it is replaced.
    """
    text = os.fspath(path)
    if not text.strip():
        raise InputError("the name of the file to write is empty; name a file, or - to print")
    check_name(text)
    target = os.path.realpath(text)
    if os.path.isdir(target) and text != "-":
        raise InputError(f"{text}: is a folder; name a file to write")
    try:
        if text == "-":
            with _standard_output() as stream:
                yield stream
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
def _standard_output() -> Iterator[BinaryIO]:
    """Open standard output; a terminal gets text, in which nothing can steer it."""
    if not sys.stdout.isatty():
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    content = io.BytesIO()
    yield content
    try:
        put(content.getvalue().decode())
    except UnicodeDecodeError:
        raise InputError(
            "standard output is a terminal, and this format is not text; name a file"
        ) from None


@contextmanager
def _renamed_when_done(target: str) -> Iterator[BinaryIO]:
    """Open a temporary file beside the target, and rename it over the target at the end."""
    folder = os.path.dirname(target)
    if folder not in _SWEPT:
        _SWEPT.add(folder)
        sweep(Path(folder).glob(PARTS))
    replaced = os.path.exists(target)
    mode = stat.S_IMODE(os.stat(target).st_mode) if replaced else 0o666

    def created(name: str, flags: int) -> int:
        return os.open(name, flags, mode)  # the kernel takes the umask from the mode

    while True:
        temporary = os.path.join(folder, PARTS.replace("*", mark()))
        sink = open(temporary, "xb", opener=created)  # noqa: SIM115
        handle = lock(temporary)
        if os.path.exists(temporary):  # else it was swept before it was locked
            break
        sink.close()
        unlock(handle)
    try:
        with sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())
        if replaced:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        unlock(handle)
    flush_folder(folder)
