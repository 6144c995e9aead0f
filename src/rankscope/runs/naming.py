"""What runs are called where several are given in a list."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.files import PathLike, is_path, source_name


def stem_of(path: PathLike) -> str:
    """Return a file's name without folder and suffixes."""
    name = Path(source_name(path)).name
    return name.split(".")[0] or name


def run_names(runs: Sequence[Any], given: Sequence[Any]) -> list[str]:
    """Name runs by their tags; where these are the same by their files, then by whole paths.

    ``given`` is what each run was made of. What is neither a table nor a file gets a number.
    """
    names = [getattr(run, "name", f"run{number}") for number, run in enumerate(runs, start=1)]
    if len(set(names)) < len(names):
        names = [
            stem_of(source) if is_path(source) else name
            for name, source in zip(names, given, strict=True)
        ]
    if len(set(names)) < len(names):
        names = [
            source_name(source) if is_path(source) else f"{name}-{number}"
            for number, (name, source) in enumerate(zip(names, given, strict=True), start=1)
        ]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two runs are called {shown(twice)}; name them: {{name: run, …}}")
    return names
