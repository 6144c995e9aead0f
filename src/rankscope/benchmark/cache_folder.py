"""The cache of a benchmark: where indexes, embeddings and answers are kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankscope.files import PARTS, PathLike, folder_to_write
from rankscope.retrieval.cache_entries import make_folder
from rankscope.temporary import below, new_folder, remove, sweep, unlock

CACHE = ".cache"
"""In the output folder of benchmarks."""

_FRESH = ".fresh-"


def cache_place(output: Path, cache: PathLike | None) -> Path:
    """Return where a cache is: the folder that was named, or one in the output folder."""
    return output / CACHE if cache is None else folder_to_write(cache, "cache")


@contextmanager
def cache_folder(
    output: Path, cache: PathLike | None, *, fresh: bool = False, keep: bool = True
) -> Iterator[Path]:
    """Yield the folder in which indexes and answers are kept.

    If ``fresh``, it is an empty one: nothing is found there, and what was made in it goes to the
    real one afterwards, also when the benchmark was stopped, unless nothing is to be kept.
    """
    folder = make_folder(cache_place(output, cache))
    for names in (PARTS, f"{_FRESH}*"):
        sweep(list(below(folder, names)))
    if fresh or not keep:
        with _emptied(folder, keep=keep) as empty:
            yield empty
    else:
        yield folder


@contextmanager
def _emptied(folder: Path, *, keep: bool) -> Iterator[Path]:
    """Yield an empty folder whose files go to another one afterwards, if they are kept."""
    empty, handle = new_folder(folder, _FRESH)
    try:
        try:
            yield empty
        finally:
            if keep:
                _move_files(empty, folder)
    finally:
        remove(empty)
        unlock(handle)


def _move_files(source: Path, target: Path) -> None:
    """Move files in the order in which they were written; each replaces its predecessor."""
    files = [path for path in source.rglob("*") if path.is_file() and path.suffix != ".part"]
    for path in sorted(files, key=lambda path: path.stat().st_mtime_ns):
        place = target / path.relative_to(source)
        make_folder(place.parent)
        os.replace(path, place)
