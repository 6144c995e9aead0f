"""What is kept on disk between runs: entries that are complete or absent, and checked when read.

An entry is a SHA-256 followed by what it is the hash of: the entry's key and its content, written
to a temporary file that is renamed. The key is the entry's own name and that of its folder, which
say together what it was made of. An entry that is cut short, damaged, unreadable or found under
another key than its own counts as absent and is made again. Nothing in it can run code: arrays are
stored as NumPy writes them, without pickle.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from rankscope.errors import InputError
from rankscope.files import replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DIGEST = hashlib.sha256().digest_size
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
    head = _head(path)
    digest = hashlib.sha256(head)
    digest.update(content)
    with replacing(path) as sink:
        sink.write(digest.digest())
        sink.write(head)
        sink.write(content)


def read_entry(path: Path, *, use: bool = True) -> bytes | None:
    """Read an entry; None if there is none, or it is not as it was written, or of another key.

    If it is to ``use``, it has the time of this as that of its last change, by which `prune` knows
    what nobody needs any more.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head = _head(path)
    start = _DIGEST + len(head)
    if data[_DIGEST:start] != head:
        return None
    is_whole = hashlib.sha256(memoryview(data)[_DIGEST:]).digest() == data[:_DIGEST]
    if not is_whole:
        return None
    if use:
        with suppress(OSError):  # somebody else's, or on a disk that cannot be written to
            os.utime(path)
    return data[start:]


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write named arrays of numbers as one entry."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    write_entry(path, buffer.getvalue())


def read_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    """Read named arrays; None if there are none as they were written."""
    content = read_entry(path)
    if content is None:
        return None
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (ValueError, OSError, EOFError, TypeError, BadZipFile, AttributeError):
        # of another version
        return None
