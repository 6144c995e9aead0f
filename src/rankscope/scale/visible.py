"""Can the workers read the files? They do so by path, and may be on other machines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rankscope.errors import InputError
from rankscope.scale.executors import Workers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from rankscope.files import PathLike


def check_visible(executor: Executor | None, paths: Sequence[PathLike]) -> None:
    """Raise unless the workers see the files as this process does, by the same Polars."""
    if executor is None or not paths:
        return
    absolute = [os.path.abspath(os.fspath(path)) for path in paths]
    client = getattr(executor, "_client", None)
    if client is not None:  # each worker of a Dask cluster is asked; one that just died is not
        views = client.run(view_of, absolute, on_error="ignore").items()
    else:
        with Workers(executor) as workers:
            views = [("a worker", view) for view in workers.map(view_of, [absolute])]
    version, sizes = view_of(absolute)
    for worker, (their_version, their_sizes) in views:
        if their_version != version:
            raise InputError(
                f"{worker} runs Polars {their_version} and this process {version}; install the "
                "same version on all machines"
            )
        for path, ours, theirs in zip(absolute, sizes, their_sizes, strict=True):
            if ours != theirs:
                what = "does not see it" if theirs is None else f"sees {theirs:,} bytes"
                raise InputError(
                    f"{path}: has {ours:,} bytes here, and {worker} {what}; workers read files by "
                    "their paths, so put it on a file system that all machines share"
                )


def view_of(paths: Sequence[str]) -> tuple[str, list[int | None]]:
    """Return the version of Polars, and the sizes of files as they are seen here."""
    from importlib.metadata import version  # noqa: PLC0415

    return version("polars"), [_size(path) for path in paths]


def _size(path: str) -> int | None:
    try:
        return os.path.getsize(path)
    except OSError:
        return None
