"""What is not finished yet: files and folders under names of their own, until they are moved.

Their maker holds a lock for as long as it lives, so what a killed process left is known, and is
removed by the next one. Moving them to their place is all at once, and outlasts a power cut.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import shutil
import time
import zlib
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rankscope.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DAY = 24 * 60 * 60


def mark() -> str:
    """Return what makes a temporary name unique, and tells which machine it is of."""
    return f"{_host()}-{os.urandom(8).hex()}"


def _host() -> str:
    from platform import node  # noqa: PLC0415

    return f"{zlib.crc32(node().encode('utf-8', 'surrogateescape')):08x}"


def new_folder(parent: Path, prefix: str) -> tuple[Path, int | None]:
    """Make a folder to fill, and return it with the lock that says so."""
    while True:
        folder = parent / f"{prefix}{mark()}"
        folder.mkdir()
        handle = lock(folder)
        if folder.is_dir():  # else it was swept before it was locked
            return folder, handle
        unlock(handle)


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Make a temporary folder that is removed at the end; so are those of killed processes."""
    from tempfile import gettempdir  # noqa: PLC0415

    parent = Path(gettempdir())
    sweep(parent.glob(f"{prefix}*"))
    folder, handle = new_folder(parent, prefix)
    try:
        yield folder
    finally:
        remove(folder)
        unlock(handle)


@contextmanager
def room_needed(folder: Path, what: str = "rows") -> Iterator[None]:
    """Say it in a sentence if the disk of a temporary folder is full."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{folder.parent}: no room for {what} ({error.strerror}); set TMPDIR to another disk"
        ) from None


def lock(path: Path | str, *, wait: bool = True) -> int | None:
    """Lock a file or folder, and return what holds the lock until `unlock` or the process' end.

    None where there are no such locks: on Windows, and on some file systems.

    Raises:
        BlockingIOError: somebody else holds it, and this is not to ``wait``.
    """
    try:
        import fcntl  # noqa: PLC0415

        handle = os.open(path, os.O_RDONLY)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        os.close(handle)
        if isinstance(error, BlockingIOError):
            raise
        return None
    return handle


def unlock(handle: int | None) -> None:
    """Free a lock, if there is one."""
    if handle is not None:
        os.close(handle)


def sweep(paths: Iterable[Path]) -> None:
    """Remove those whose maker was killed.

    Where there are no locks, or they are those of another machine, a day without a change tells
    that nobody works there any more.
    """
    for path in paths:
        with suppress(OSError):  # in use, or gone already
            handle = lock(path, wait=False) if _host() in path.name else None
            try:
                if handle is not None or path.stat().st_mtime < time.time() - _DAY:
                    remove(path)
            finally:
                unlock(handle)


def below(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield what has such a name in a folder and in those below, while others remove some of it."""
    for place, folders, files in os.walk(folder):  # which passes over what is gone
        yield from (Path(place, name) for name in fnmatch.filter([*folders, *files], pattern))


def remove(path: Path) -> None:
    """Remove a file, or a folder with all in it, as far as possible."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def flush_folder(folder: Path | str) -> None:
    """Make sure that what was moved into a folder outlasts a power cut.

    Raises:
        InputError: the disk does not confirm it; what was moved is there, but may be lost.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders, and some folders may be written but not read
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems know no such call
            raise InputError(
                f"{folder}: the disk does not confirm that what was written here will last "
                f"({error.strerror}); check the disk, and run this again"
            ) from None
    finally:
        os.close(handle)
