"""What is installed where code runs: two places compute the same only if both have the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import rankscope
from rankscope.benchmark.prepare import versions

_SOURCES = "the source of rankscope"


def installation() -> dict[str, str]:
    """Return what decides results here: versions, and a hash of rankscope's own source files."""
    return {**versions(), _SOURCES: _source_hash()}


@cache
def _source_hash() -> str:
    home = Path(rankscope.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        digest.update(f"{path.relative_to(home).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def difference(here: Mapping[str, str], there: Mapping[str, str]) -> str | None:
    """Say in a few words what another installation has that this one has not; None if nothing.

    >>> difference({"python": "3.12.1", "polars": "1.3"}, {"python": "3.12.1"})
    'no polars, and this machine has polars 1.3'
    >>> difference({"polars": "1.3"}, {"polars": "1.2"})
    'polars 1.2, and this machine has polars 1.3'
    """
    for name, version in here.items():
        other = there.get(name)
        if other == version:
            continue
        if name == _SOURCES:
            return "other source files of rankscope than this machine"
        has = f"no {name}" if other is None else f"{name} {other}"
        return f"{has}, and this machine has {name} {version}"
    return None
