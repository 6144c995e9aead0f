"""What is kept on disk between runs: entries that are complete or absent, and checked when read.

An entry is a SHA-256 followed by what it is the hash of: the entry's key and its content, written
to a temporary file that is renamed. The key is the entry's own name and that of its folder, which
say together what it was made of. An entry that is cut short, damaged, unreadable or found under
another key than its own counts as absent and is made again. Nothing in it can run code: arrays are
stored as NumPy writes them, without pickle. What is large is hashed, written and read in pieces,
and a matrix can stay on disk (`Mapped`).
"""

from __future__ import annotations

import io
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from zipfile import BadZipFile

import numpy as np

from rankscope.errors import InputError
from rankscope.files import replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DIGEST = 32  # bytes of a SHA-256
_LENGTH = 2  # bytes that hold the length of the key
_ALIGNED = 64  # bytes: where the numbers of a matrix begin is a multiple of this


def make_folder(folder: Path) -> Path:
    """Make a folder for entries, if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot create this folder ({error.strerror}); name another one for what is "
            "kept"
        ) from error
    return folder


def _head(path: Path) -> bytes:
    """Return what an entry at this place has before its content: its key."""
    key = f"{path.parent.name}/{path.name}".encode("utf-8", "surrogateescape")
    return len(key).to_bytes(_LENGTH, "big") + key


def write_entry(path: Path, content: bytes) -> None:
    """Write an entry, all at once."""
    with _writing(path) as sink:
        sink.write(content)


def read_entry(path: Path) -> bytes | None:
    """Read an entry; None if there is none, or it is not as it was written, or of another key."""
    with _reading(path) as stream:
        return None if stream is None else stream.read()


def is_whole(path: Path) -> bool:
    """Tell whether an entry is as it was written, under its own key; nothing of it is kept."""
    with _reading(path) as stream:
        return stream is not None


@contextmanager
def _writing(path: Path) -> Iterator[BinaryIO]:
    """Write the content of an entry piece by piece, here and there; its hash comes last."""
    with replacing(path) as sink:
        sink.write(bytes(_DIGEST))
        sink.write(_head(path))
        yield sink
        sink.flush()
        with open(sink.name, "rb") as stream:
            stream.seek(_DIGEST)
            digest = file_digest(stream, "sha256").digest()
        sink.seek(0)
        sink.write(digest)


@contextmanager
def _reading(path: Path) -> Iterator[io.BufferedReader | None]:
    """Open an entry at its content; None if there is none as it was written."""
    with ExitStack() as stack:
        whole, head = None, _head(path)
        with suppress(OSError):
            stream = stack.enter_context(path.open("rb"))
            digest = stream.read(_DIGEST)
            if stream.read(len(head)) == head:  # of this key; then its content is checked in pieces
                stream.seek(_DIGEST)
                whole = stream if file_digest(stream, "sha256").digest() == digest else None
                stream.seek(_DIGEST + len(head))
        yield whole


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write named arrays of numbers as one entry."""
    with _writing(path) as sink:
        np.savez(sink, allow_pickle=False, **arrays)


def read_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    """Read named arrays; None if there are none as they were written."""
    with _reading(path) as stream:
        if stream is None:
            return None
        try:
            with np.load(stream, allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}
        except (ValueError, OSError, EOFError, TypeError, BadZipFile, AttributeError):
            # of another version
            return None


@dataclass(frozen=True, slots=True, eq=False)
class Mapped:
    """A matrix of an entry that stays on disk; what is looked at is in memory until `release`."""

    matrix: NDArray[np.float32]
    _map: mmap.mmap

    def release(self) -> None:
        """Give back the memory of what was looked at; it is read again where it is needed."""
        if hasattr(self._map, "madvise"):  # not on Windows
            self._map.madvise(mmap.MADV_DONTNEED)


@contextmanager
def writing_matrix(
    path: Path, shape: tuple[int, int]
) -> Iterator[Callable[[NDArray[np.intp], NDArray[np.float32]], None]]:
    """Write a matrix as one entry, in any order: yields what takes rows and their places.

    All rows must be written by the end.
    """
    with _writing(path) as sink:
        sink.write(bytes(-sink.tell() % _ALIGNED))
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(sink, header)
        start, width = sink.tell(), 4 * shape[1]

        def write(places: NDArray[np.intp], rows: NDArray[np.float32]) -> None:
            ends = np.flatnonzero(np.diff(places) != 1) + 1  # rows that follow each other: at once
            for low, high in zip([0, *ends], [*ends, len(places)], strict=True):
                sink.seek(start + int(places[low]) * width)
                sink.write(np.ascontiguousarray(rows[low:high], "<f4").tobytes())

        yield write


def map_matrix(path: Path) -> Mapped | None:
    """Open a matrix that stays on disk; None if there is none as it was written."""
    with _reading(path) as stream:
        if stream is None:
            return None
        stream.seek(-stream.tell() % _ALIGNED, os.SEEK_CUR)
        try:
            np.lib.format.read_magic(stream)
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            if dtype != np.dtype("<f4"):
                return None
            flat = np.frombuffer(content, dtype, shape[0] * shape[1], stream.tell())
        except (ValueError, OSError):  # of another version
            return None
        return Mapped(flat.reshape(shape), content)
