"""Runs in files that are scanned in parts: which ones."""

from __future__ import annotations

import os
import stat
from glob import has_magic
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rankscope.files import PathLike

LARGE = 3 << 27
"""A file of so many bytes is read in parts: whole, it would take about a gigabyte of memory."""


def is_several(path: PathLike) -> bool:
    """Tell whether a path names several files: a folder, or a pattern."""
    text = os.fspath(path)
    return os.path.isdir(text) or (has_magic(text) and not os.path.lexists(text))


def in_parts(path: PathLike, executor: Executor | None = None) -> Any:
    """Return a run in several files, or in a large one, as one that is read in parts.

    What is small, or cannot be cut, is returned as it is.
    """
    several = is_several(path)
    if not several and not _is_large(path):
        return path
    scale = import_module("rankscope.scale.run_parts")  # which comes later in the flow
    if several:
        return scale.RunParts(path, executor=executor)
    return scale.divided(path, executor) or path


def _is_large(path: PathLike) -> bool:
    text = os.fspath(path)
    try:
        status = os.stat(text)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size >= LARGE
