"""A run that comes through a pipe: put aside in a temporary file, which can be read again.

It need not fit into memory then. The file is removed when the process ends; what a killed process
left is removed by the next one.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rankscope.errors import InputError
from rankscope.files import can_be_read_again, open_raw
from rankscope.runs.naming import NamedFile
from rankscope.temporary import mark, new_folder, remove, sweep, unlock

if TYPE_CHECKING:
    from rankscope.files import PathLike

_PREFIX = "rankscope-piped-"
_BLOCK = 1 << 20


@cache
def _folder() -> Path:
    """Make the folder of this process."""
    parent = Path(tempfile.gettempdir())
    sweep(parent.glob(f"{_PREFIX}*"))
    folder, handle = new_folder(parent, _PREFIX)

    def end(maker: int = os.getpid()) -> None:
        if os.getpid() == maker:  # and not in a copy of the process
            remove(folder)
            unlock(handle)

    atexit.register(end)
    return folder


def spooled(path: PathLike) -> PathLike:
    """Return a path that can be opened again and again: the same, or that of a copy."""
    if can_be_read_again(path):
        return path
    text = os.fspath(path)
    target = _folder() / f"{mark()}{''.join(Path(text).suffixes)}"
    raw = open_raw(path)
    try:
        with open(target, "xb") as copy:
            shutil.copyfileobj(raw, copy, _BLOCK)
    except OSError as error:
        remove(target)
        raise InputError(
            f"{target.parent.parent}: what comes through the pipe cannot be put aside here "
            f"({error.strerror}); make room, or set TMPDIR to a folder on another disk"
        ) from None
    finally:
        if text != "-":
            raw.close()
    name = path.run_name if isinstance(path, NamedFile) else ""
    return NamedFile.of(str(target), name, given_as=text)
