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
    git = next((p / ".git" for p in (place, *place.parents) if (p / ".git").exists()), None)
    if git is None:
        return None
    if git.is_file():  # of a linked worktree or a submodule: "gitdir: PATH"
        git = git.parent / _text(git).removeprefix("gitdir:").strip()
    commit = _text(git / "HEAD")
    if commit.startswith("ref:"):
        name = commit.removeprefix("ref:").strip()
        if not re.fullmatch(r"refs/(?!.*\.\.)\S+", name):
            return None
        common = git / (_text(git / "commondir") or ".")
        packed = re.search(rf"^(\w+) {re.escape(name)}$", _text(common / "packed-refs"), re.M)
        commit = _text(common / name) or (packed[1] if packed else "")
    return GitState(commit=commit) if _COMMIT.fullmatch(commit) else None


def _text(path: Path) -> str:
    """Return what a small regular file holds; '' if it is none."""
    try:
        if path.is_file() and path.stat().st_size < _LARGEST:
            return path.read_text("utf-8", "replace").strip()
    except (OSError, ValueError):
        pass
    return ""
