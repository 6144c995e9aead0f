"""What a cache holds: how much of which kind, whether it is whole, and taking some of it away.

Everything in a cache can be made again, so anything may be removed at any time, by whoever needs
the space. What does not look like an entry is not touched: a folder may be another than was meant.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rankscope.document.views import Shown
from rankscope.entries import is_whole
from rankscope.errors import InputError
from rankscope.part import Part, left_out

KINDS = {
    "stages": "results of finished stages",
    "answers": "answers of systems",
    "indexes": "indexes of words",
    "embeddings": "vectors of texts",
    "models": "models that were trained",
    "replies": "replies of language models",
    "corpora": "sizes and hashes of corpora",
}
"""The folders of a cache, and what each holds."""

CACHE = ".cache"
"""In the output folder of benchmarks: indexes, embeddings, answers and stages."""

_ENTRY = re.compile(
    r"[0-9a-f]{64}\.(artifact|answers|facts|bm25|vectors|matrix|texts|model|json|reply)"
)
DAY = 24 * 60 * 60


class KindOfEntry(Part):
    """The entries of one kind."""

    kind: str
    """The folder they are in."""
    what: str
    """What they hold."""
    entries: int
    """How many there are."""
    bytes: int
    """Their size."""
    last_used: str | None
    """When one was last written or read, in UTC (ISO 8601); null: there is none."""


class CacheContents(Part, Shown):
    """What a cache holds."""

    folder: str
    """Where it is."""
    entries: int
    """How many there are."""
    bytes: int
    """Their size."""
    kinds: tuple[KindOfEntry, ...]
    """By kind, the largest first."""


class CachePruned(Part, Shown):
    """What was taken away from a cache."""

    folder: str
    """Where it is."""
    removed: int
    """How many entries were taken away, or would be."""
    removed_bytes: int
    """Their size."""
    entries: int
    """How many are left."""
    bytes: int
    """Their size."""
    is_plan: bool | None = left_out()
    """True where nothing was touched, and this is what would be."""


class CacheCheck(Part, Shown):
    """Whether the entries of a cache are as they were written, each under its own key."""

    folder: str
    """Where it is."""
    ok: bool
    """Whether all are."""
    entries: int
    """How many were read."""
    bytes: int
    """Their size."""
    damaged: tuple[str, ...]
    """Those that are not: cut short, changed, or of another key; they count as absent."""
    removed: bool
    """Whether these were taken away."""


@dataclass(frozen=True, slots=True, order=True)
class _Entry:
    """A file of a cache; the one that was not used for the longest time is the smallest."""

    used: float
    path: Path
    kind: str
    bytes: int


def cache_folder(folder: Path) -> Path:
    """Return the cache that a folder is, or that benchmarks keep in it."""
    for place in (folder / CACHE, folder):
        if any((place / kind).is_dir() for kind in KINDS):
            return place
    raise InputError(
        f"{folder}: holds no cache; name the folder that 'benchmark run' wrote to, or its --cache"
    )


def _entries(folder: Path) -> Iterator[_Entry]:
    for kind in KINDS:
        for path in (folder / kind).rglob("*"):
            with suppress(OSError):  # another process may take it away
                if _ENTRY.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                    status = path.stat()
                    yield _Entry(status.st_mtime, path, kind, status.st_size)


def cache_contents(folder: Path) -> CacheContents:
    """Say what a cache holds."""
    entries = list(_entries(folder))
    kinds = []
    for kind, what in KINDS.items():
        of_kind = [entry for entry in entries if entry.kind == kind]
        last = max((entry.used for entry in of_kind), default=None)
        kinds.append(
            KindOfEntry(
                kind=kind,
                what=what,
                entries=len(of_kind),
                bytes=sum(entry.bytes for entry in of_kind),
                last_used=None if last is None else _moment(last),
            )
        )
    return CacheContents(
        folder=str(folder),
        entries=len(entries),
        bytes=sum(entry.bytes for entry in entries),
        kinds=tuple(sorted(kinds, key=lambda row: -row.bytes)),
    )


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def prune(
    folder: Path,
    *,
    max_bytes: int | None = None,
    unused_days: float | None = None,
    dry_run: bool = False,
) -> CachePruned:
    """Take entries away, those first that were not used for the longest time.

    ``unused_days``: all that were not used for so long; ``max_bytes``: until the rest fits.
    """
    entries = sorted(_entries(folder))
    oldest = None if unused_days is None else time.time() - unused_days * DAY
    left, removed = sum(entry.bytes for entry in entries), []
    for entry in entries:
        is_old = oldest is not None and entry.used < oldest
        if is_old or (max_bytes is not None and left > max_bytes):
            removed.append(entry)
            left -= entry.bytes
    if not dry_run:
        for entry in removed:
            _remove(entry.path)
    return CachePruned(
        folder=str(folder),
        removed=len(removed),
        removed_bytes=sum(entry.bytes for entry in removed),
        entries=len(entries) - len(removed),
        bytes=left,
        is_plan=dry_run or None,
    )


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
    with suppress(OSError):  # it is empty now, or not
        path.parent.rmdir()


def check_cache(folder: Path, *, remove: bool = False) -> CacheCheck:
    """Read every entry; with ``remove``, those that are not as they were written are taken away."""
    entries = sorted(_entries(folder), key=lambda entry: entry.path)
    damaged = [entry.path for entry in entries if not is_whole(entry.path)]
    if remove:
        for path in damaged:
            _remove(path)
    return CacheCheck(
        folder=str(folder),
        ok=not damaged,
        entries=len(entries),
        bytes=sum(entry.bytes for entry in entries),
        damaged=tuple(path.relative_to(folder).as_posix() for path in damaged),
        removed=remove,
    )
