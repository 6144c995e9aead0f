"""Where and when a benchmark runs: the machine, the repository of its config, the time."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path

from rankscope.records.manifest import GitState, Machine

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LARGEST = 1 << 24
"""No file of a repository that is read here is larger: 16 MiB of packed references."""


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine() -> Machine:
    """Describe this machine."""
    try:
        memory: int | None = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = None
    return Machine(
        system=platform.system(),
        release=platform.release(),
        machine=platform.machine(),
        cores=cores(),
        memory=memory,
    )


def git_state(folder: Path) -> GitState | None:
    """Return what is checked out in the folder's repository; None if it is in none.

    Read from the repository's files. Git is not run: the settings of a repository can name programs
    that git then starts, and the folder may come from anywhere.
    """
    place = folder.resolve()
    for parent in (place, *place.parents):
        if (parent / ".git").exists():
            commit = _commit(parent / ".git")
            return None if commit is None else GitState(commit=commit)
    return None


def _commit(git: Path) -> str | None:
    """Return the commit that HEAD leads to."""
    if git.is_file():  # of a linked worktree or a submodule: "gitdir: PATH"
        where = (_text(git) or "").removeprefix("gitdir:").strip()
        if not where:
            return None
        git = git.parent / where
    common = (_text(git / "commondir") or "").strip()
    folders = [git, git / common] if common else [git]
    name = (_text(git / "HEAD") or "").strip()
    for _ in range(10):  # a reference may lead to another
        if _COMMIT.fullmatch(name):
            return name
        reference = name.removeprefix("ref:").strip()
        if reference == name or ".." in reference.split("/") or reference.startswith("/"):
            return None
        name = next(filter(None, (_reference(place, reference) for place in folders)), "")
    return None


def _reference(git: Path, reference: str) -> str | None:
    """Return what a reference holds: in a file of its own, or packed with others."""
    loose = _text(git / reference)
    if loose is not None:
        return loose.strip()
    for line in (_text(git / "packed-refs") or "").splitlines():
        commit, _, name = line.partition(" ")
        if name.strip() == reference:
            return commit
    return None


def _text(path: Path) -> str | None:
    """Return what a small regular file holds; None if it is none."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        return path.read_text("utf-8", "replace")
    except (OSError, ValueError):
        return None
