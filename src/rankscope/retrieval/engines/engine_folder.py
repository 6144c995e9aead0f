"""Folders in which engines keep files in this process.

A folder is locked for as long as it is open, so that two processes never write to it at once. In
one process, systems that search the same folder share what is open.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.temporary import lock, remove, unlock

PATIENCE = 60.0
"""Seconds to wait for a folder that another process has open."""


def made_folder(folder: Path) -> Path:
    """Make a folder with all above it.

    Raises:
        InputError: it cannot be made, or is something else.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"{shown(str(folder))} is a file, where a folder is needed") from None
    except OSError as error:
        problem = error.strerror or str(error)
        raise InputError(f"the folder {shown(str(folder))} cannot be made: {problem}") from None
    return folder


@dataclass(slots=True)
class _Open:
    """Something that is open: the client, the lock, and how many use it."""

    client: Any
    handle: int | None
    users: int = 0


_OPEN: dict[tuple[str, Path], _Open] = {}
_ALONE = threading.Lock()


def opened(
    kind: str, folder: Path, connect: Callable[[Path], Any]
) -> tuple[Any, Callable[[], None]]:
    """Open a folder, or share what is open in this process.

    Returned are the client, and what gives it back, which is called once.

    Raises:
        InputError: another process has it open.
    """
    key = kind, made_folder(folder).resolve()
    with _ALONE:
        if key not in _OPEN:
            handle = _waited_for(key[1], PATIENCE)
            try:
                _OPEN[key] = _Open(connect(key[1]), handle)
            except BaseException:
                unlock(handle)
                raise
        entry = _OPEN[key]
        entry.users += 1

    def give_back() -> None:
        with _ALONE:
            entry.users -= 1
            if entry.users == 0:
                del _OPEN[key]
                with suppress(Exception):  # whatever it says, it is not used any more
                    entry.client.close()
                unlock(entry.handle)

    return entry.client, give_back


def remove_folder(kind: str, folder: Path) -> None:
    """Remove a folder that is not needed any more, unless somebody has it open."""
    with _ALONE, suppress(BlockingIOError, FileNotFoundError):
        if (kind, folder.resolve()) in _OPEN:
            return
        handle = lock(folder, wait=False)
        try:
            remove(folder)
        finally:
            unlock(handle)


@contextmanager
def locked(folder: Path, patience: float) -> Iterator[None]:
    """Within it, no other process, and no other thread, is within it for the same folder.

    Raises:
        InputError: somebody else was for too long.
    """
    handle = _waited_for(folder, patience)
    try:
        yield
    finally:
        unlock(handle)


def _waited_for(folder: Path, patience: float) -> int | None:
    """Lock a folder; another process that is done soon is waited for."""
    end = time.monotonic() + patience
    while True:
        try:
            return lock(folder, wait=False)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise InputError(
                    f"the folder {shown(str(folder))} is in use by another process; run again when "
                    "it is done, or name another path"
                ) from None
            time.sleep(0.1)
