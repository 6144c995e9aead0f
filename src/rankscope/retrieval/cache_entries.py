"""What is kept on disk between runs: entries that are complete or absent, and checked when read.

An entry is a SHA-256 followed by what it is the hash of: the entry's key and its content, written
to a temporary file that is renamed. The key is the entry's own name and that of its folder, which
say together what it was made of. An entry that is cut short, damaged, unreadable or found under
another key than its own counts as absent and is made again. Nothing in it can run code: arrays are
stored as NumPy writes them, without pickle. What is large is hashed, written and read in pieces.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
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


@contextmanager
def _writing(path: Path) -> Iterator[BinaryIO]:
    """Write the content of an entry piece by piece; its hash comes last."""
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
