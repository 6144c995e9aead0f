"""Runs in files that are scanned in parts: which ones, and who does the work."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from glob import has_magic
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rankscope.files import PathLike

LARGE = 3 << 27
"""A file of so many bytes is read in parts: whole, it would take about a gigabyte of memory."""

_EXECUTOR: ContextVar[Executor | None] = ContextVar("rankscope_executor", default=None)


@contextmanager
def working_on(executor: Executor | None) -> Iterator[None]:
    """Let an executor scan the parts of runs meanwhile; without one nothing changes."""
    if executor is None:
        yield
        return
    token = _EXECUTOR.set(executor)
    try:
        yield
    finally:
        _EXECUTOR.reset(token)


@contextmanager
def alone() -> Iterator[None]:
    """Let this process do the work itself meanwhile."""
    token = _EXECUTOR.set(None)
    try:
        yield
    finally:
        _EXECUTOR.reset(token)


def current_executor() -> Executor | None:
    """Return who scans the parts of runs at present; None for this process."""
    return _EXECUTOR.get()


def is_several(path: PathLike) -> bool:
    """Tell whether a path names several files: a folder, or a pattern."""
    text = os.fspath(path)
    return os.path.isdir(text) or (has_magic(text) and not os.path.lexists(text))


def in_parts(path: PathLike) -> Any:
    """Return a run in several files, or in a large one, as one that is read in parts.

    What is small, or cannot be cut, is returned as it is.
    """
    several = is_several(path)
    if not several and not _is_large(path):
        return path
    scale = import_module("rankscope.scale.run_parts")  # which comes later in the flow
    return scale.RunParts(path) if several else scale.divided(path) or path


def _is_large(path: PathLike) -> bool:
    text = os.fspath(path)
    try:
        status = os.stat(text)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size >= LARGE
