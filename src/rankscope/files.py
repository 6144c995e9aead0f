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
import re
import stat
import sys
import zlib
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeGuard, cast

from rankscope.errors import FormatError, InputError, shown
from rankscope.printing import put
from rankscope.temporary import flush_folder, lock, mark, move, sweep, unlock

if TYPE_CHECKING:
    from collections.abc import Iterator

PathLike = str | os.PathLike[str]

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")

_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError)
_BLOCK = 1 << 17  # bytes read or decompressed at a time
_PATIENCE = 5  # seconds in which somebody must begin to fill a named pipe
_WHOLE = 1 << 20  # bytes decompressed at a time where all are wanted
_ZSTANDARD_BLOCK = 1 << 11  # of Zstandard, 4 bytes can expand to 128 KB: at most 64 MB at a time

_LIMIT = "RANKSCOPE_MAX_BYTES"
_LARGEST = 64 << 30  # bytes that a file may expand to, unless the environment says otherwise
_HARMLESS = 256 << 20  # bytes that any file may expand to
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,9})?) ?(?:([kKmMgGtT])(i)?)?[bB]?", re.ASCII)
_RATIO = 250  # to one, beyond what is harmless; runs and qrels reach 50

PARTS = ".rankscope-*.part"
"""The names of temporary files."""

_SWEPT: set[str] = set()  # folders: once in each process is enough


def is_path(data: object) -> TypeGuard[PathLike]:
    """Tell whether something given is a path rather than data."""
    return isinstance(data, str | os.PathLike)


def source_name(path: PathLike, *, output: bool = False) -> str:
    """Return the name of a file in messages; ``-`` is standard input or output."""
    text = getattr(path, "given_as", "") or os.fspath(path)
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


def open_raw(path: PathLike) -> BinaryIO:
    """Open a source as it is, compressed or not; what cannot be opened is an `InputError`."""
    text = os.fspath(path)
    if text == "-":
        if sys.stdin is None or sys.stdin.buffer.closed:
            raise InputError("standard input is closed; name a file")
        return sys.stdin.buffer
    if not text.strip():
        raise InputError("the name of the file to read is empty; name a file, or - to read a pipe")
    try:
        return open(text, "rb", opener=_opened)
    except InputError:
        raise
    except IsADirectoryError:
        entries = sorted(os.listdir(text))
        example = f", such as {os.path.join(text, entries[0])}" if entries else ""
        raise InputError(f"{text}: is a folder; name a file in it{example}") from None
    except FileNotFoundError:
        near = nearest_file(text)
        hint = f"; did you mean {near}?" if near else ""
        raise InputError(f"{text}: file not found{hint}") from None
    except ValueError as error:  # an embedded NUL
        raise InputError(f"{text!r}: not a usable file name ({error})") from None
    except OSError as error:
        raise InputError(f"{text}: cannot be opened ({error.strerror})") from None


def _opened(name: str, flags: int) -> int:
    """Open a file or a pipe, and nothing that never ends; a pipe that nobody fills is refused."""
    waits_not = getattr(os, "O_NONBLOCK", 0)  # Windows has no named pipes among its files
    descriptor = os.open(name, flags | waits_not)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not os.isatty(descriptor)):
            raise InputError(f"{name}: is a device; name a file")
        if stat.S_ISFIFO(mode) and not _is_filled(name, descriptor):
            raise InputError(
                f"{name}: is a pipe, and nothing was written to it for {_PATIENCE} seconds; name a "
                "file, or give what fills the pipe as standard input: … | rankscope … -"
            )
        if waits_not:
            os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _is_filled(name: str, descriptor: int) -> bool:
    """Tell whether something comes through a pipe, or will: the shell's ``<(…)`` has a writer."""
    if os.path.realpath(name).startswith(("/proc/", "/dev/fd/")):
        return True
    from select import select  # noqa: PLC0415

    return bool(select([descriptor], [], [], _PATIENCE)[0])


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
    if not can_be_read_again(path) or not _is_text(os.fspath(path)):
        return False
    with open_raw(path) as raw:
        return not _compression(raw.read(10))


def _is_text(name: str) -> bool:
    """Tell whether a name is valid Unicode; only Python can open one that is not."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def can_be_read_again(path: PathLike) -> bool:
    """Tell whether the path can be opened twice; standard input and pipes cannot.

    The path is not opened here: opening and closing a pipe would already end its writer.
    """
    text = os.fspath(path)
    return text != "-" and (os.path.isfile(text) or not os.path.exists(text))


def _decompressor(packed: io.BufferedReader[Any]) -> BinaryIO | None:
    """Return a stream of the decompressed bytes; None if they are not compressed."""
    kind = _compression(packed.peek(10)[:10])
    if kind == ".gz":
        return cast("BinaryIO", gzip.GzipFile(fileobj=packed))
    if kind == ".bz2":
        return cast("BinaryIO", bz2.BZ2File(packed))
    if kind == ".xz":
        return cast("BinaryIO", lzma.LZMAFile(packed))
    if kind == ".zst":
        return cast("BinaryIO", io.BufferedReader(_Zstandard(packed), _BLOCK))
    return None


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
            if not block:
                if self._inside:
                    raise EOFError
                return 0
            self._feed(block)
        piece = self._ready[: len(buffer)]
        self._ready = self._ready[len(buffer) :]  # a view: nothing is copied
        buffer[: len(piece)] = piece
        return len(piece)

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
        self._ready = memoryview(b"".join(out))


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
        if self._packed is None:
            with _damage_reported(self._source):
                content = self._stream.read()
            self.passed += len(content)
            return content
        return b"".join(iter(lambda: self.read(_WHOLE) or b"", b""))


@contextmanager
def _damage_reported(source: str) -> Iterator[None]:
    try:
        yield
    except InputError:
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


def size_in_bytes(text: str, setting: str) -> int:
    """Read a size such as ``500000``, ``10 GB`` or ``2GiB``; ``setting`` is what it was given for.

    >>> size_in_bytes("1.5 kB", "--max-size"), size_in_bytes("2GiB", "--max-size")
    (1500, 2147483648)
    """
    size = _SIZE.fullmatch(text.strip())
    if size is None:
        raise InputError(f"{setting} is {shown(text)}; expected a size such as 500000000 or 10GB")
    number, letter, binary = size.groups()
    scale = (1024 if binary else 1000) ** " kmgt".index((letter or " ").lower())
    return int(float(number) * scale) if "." in number else int(number) * scale


@contextmanager
def max_size(size: str) -> Iterator[None]:
    """Let files that are read meanwhile expand to this size and not further, in this process.

    It does what ``RANKSCOPE_MAX_BYTES`` in the environment does, and takes its place.
    """
    size_in_bytes(size, "max_size")
    before = os.environ.get(_LIMIT)
    os.environ[_LIMIT] = size
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_LIMIT, None)
        else:
            os.environ[_LIMIT] = before


def check_expansion(expanded: int, packed: int, source: str) -> None:
    """Refuse a file that expands to more than the limit, or far more than its size explains.

    With ``RANKSCOPE_MAX_BYTES`` in the environment, that size is the only limit.
    """
    setting = os.environ.get(_LIMIT, "")
    most = min(_LARGEST, max(_HARMLESS, _RATIO * packed))
    limit = size_in_bytes(setting, _LIMIT) if setting else most
    if expanded > limit:
        raise FormatError(
            f"expands from {packed:,} to more than {limit:,} bytes; if that is meant, give the "
            f"size it may have: --max-size 10GB, or {_LIMIT} in the environment",
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
        unpacked = _decompressor(stream)
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
    stream = _compressed(sink, path)
    try:
        try:
            yield stream
        finally:
            if stream is not sink:
                stream.close()
    except Exception as error:
        if type(error).__name__ != "ZstdError":
            raise
        raise MemoryError(str(error)) from None  # nothing else goes wrong when it compresses


def _compressed(sink: BinaryIO, path: PathLike) -> BinaryIO:
    suffix = Path(os.fspath(path)).suffix.lower()
    if suffix == ".gz":
        # no name and no time inside: same content, same bytes; runs shrink no more at higher levels
        return cast("BinaryIO", gzip.GzipFile("", "wb", compresslevel=1, fileobj=sink, mtime=0))
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
    if not text.strip():
        raise InputError("the name of the file to write is empty; name a file, or - to print")
    if "\0" in text:
        raise InputError(f"{text!r}: not a usable file name (it holds a NUL)")
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
        text = content.getvalue().decode()
    except UnicodeDecodeError:
        raise InputError(
            "standard output is a terminal, and this format is not text; name a file"
        ) from None
    put(text)


@contextmanager
def _renamed_when_done(target: str) -> Iterator[BinaryIO]:
    """Open a temporary file beside the target, and rename it over the target at the end."""
    folder = os.path.dirname(target)
    if folder not in _SWEPT:
        _SWEPT.add(folder)
        sweep(Path(folder).glob(PARTS))
    replaced = os.path.exists(target)
    mode = stat.S_IMODE(os.stat(target).st_mode) if replaced else 0o666
    temporary, sink, handle = _new_temporary(folder, mode)
    try:
        with sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())
        if replaced:
            os.chmod(temporary, mode)
        move(os.replace, temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        unlock(handle)
    flush_folder(folder)


def _new_temporary(folder: str, mode: int) -> tuple[str, BinaryIO, int | None]:
    """Create a temporary file: its name, itself, and the lock that says it is being written."""

    def created(name: str, flags: int) -> int:
        return os.open(name, flags, mode)  # the kernel takes the umask from the mode

    while True:
        temporary = os.path.join(folder, PARTS.replace("*", mark()))
        sink = open(temporary, "xb", opener=created)  # noqa: SIM115
        handle = lock(temporary)
        if os.path.exists(temporary):  # else it was swept before it was locked
            return temporary, sink, handle
        sink.close()
        unlock(handle)
