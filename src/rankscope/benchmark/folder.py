"""Experiment folders: they appear all at once, and are found again.

An experiment is put together in a hidden folder beside its place and renamed when it is whole, so
there is never half of one. What a killed process leaves behind is taken away by the next.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rankscope.errors import InputError, shown
from rankscope.files import check_regular
from rankscope.part import FileRef
from rankscope.tables.frames import recorded_frame
from rankscope.temporary import flush_folder, mark, new_folder, remove, sweep, unlock

if TYPE_CHECKING:
    import polars as pl

    from rankscope.records.report import ExperimentManifest

MANIFEST = "ExperimentManifest.json"
REPORT = "BenchmarkReport.json"
LANGUAGE_REPORT = "LanguageReport.json"
"""What the experiments of several languages have in common, in a folder beside theirs."""
_PARTIAL = ".unfinished-"
_ASIDE = ".unfinished-old-"
_END = "~"  # between the name of an experiment and what makes the name beside it its own
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)


def slug(name: str) -> str:
    """Return a name as part of a file's name: letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:40] or "experiment"


def run_file(system: str, time: int = 1) -> str:
    """Return where the run of a system is; ``time``: which, if it was asked more than once."""
    return f"runs/{system}.run.gz" if time == 1 else f"runs/again/{time}/{system}.run.gz"


def report_file(system: str) -> str:
    """Return where the report of a system is."""
    return f"EvaluationReport.{system}.json"


def values_file(system: str) -> str:
    """Return where the values by query of a system are."""
    return f"per_query/{system}.parquet"


def results_file(system: str) -> str:
    """Return where the top of the answers of a system is."""
    return f"results/{system}.parquet"


def file_ref(path: Path, root: Path) -> FileRef:
    """Describe a file of an experiment."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return FileRef(path=path.relative_to(root).as_posix(), sha256=digest, bytes=path.stat().st_size)


def inside(folder: Path, name: str) -> Path:
    """Return where a file of an experiment is.

    One that leads out of the folder is refused, and what is no file, such as a pipe.
    """
    path = folder / name
    try:
        is_inside = path.resolve().is_relative_to(folder.resolve())
    except (ValueError, OSError, RuntimeError):  # a NUL, a long name, or links in a circle
        is_inside = False
    if not is_inside:
        raise InputError(f"{folder}: the file {shown(name)} is outside the experiment")
    check_regular(path)
    return path


def read_table(folder: Path, name: str, manifest: ExperimentManifest) -> pl.DataFrame:
    """Read a table of an experiment, which must be the one that its manifest lists."""
    recorded = {artifact.path: artifact.sha256 for artifact in manifest.artifacts}
    return recorded_frame(inside(folder, name), recorded.get(name, ""), source=name)


def experiment_folders(output: Path) -> list[Path]:
    """Return the experiments in a folder, those that lost one of their main records too."""
    if not output.is_dir():
        return []
    inside = (path for path in output.iterdir() if not path.name.startswith("."))
    return sorted(
        path for path in inside if (path / MANIFEST).is_file() or (path / REPORT).is_file()
    )


class Unfinished:
    """A folder that is being filled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, *parts: str) -> Path:
        """Return where a file goes; its folder is made."""
        path = self.folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def files(self) -> list[FileRef]:
        """Describe all files there are, by name."""
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return [file_ref(path, self.folder) for path in paths]


@contextmanager
def unfinished(output: Path, name: str) -> Iterator[Unfinished]:
    """Fill a folder, and put it in its place under ``output`` at the end.

    A finished experiment of the same name is replaced.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        _sweep(output)
        partial, handle = new_folder(output, f"{_PARTIAL}{name}-")
    except OSError as error:
        raise _unwritable(output, error) from None
    try:
        yield Unfinished(partial)
        _put(partial, output / name)
    except OSError as error:
        raise _unwritable(output, error) from None
    finally:
        remove(partial)
        unlock(handle)


def _unwritable(output: Path, error: OSError) -> InputError:
    reason = error.strerror or str(error)
    return InputError(
        f"{output}: the experiment cannot be written ({reason}); finished experiments are "
        "unchanged, and what was computed is kept: free some space or name another folder with "
        "--output"
    )


def _put(partial: Path, target: Path) -> None:
    """Rename a folder to its place; one that is there is moved aside first, and back on failure."""
    aside = target.with_name(f"{_ASIDE}{target.name}{_END}{mark()}")
    try:
        for _ in range(100):  # another process may put its own there at the same moment
            try:
                os.rename(partial, target)
                break
            except OSError as error:
                if error.errno not in _TAKEN and not target.exists():
                    raise
            with suppress(FileNotFoundError):
                remove(aside)
                os.rename(target, aside)
        else:
            os.rename(partial, target)
    except BaseException:
        with suppress(OSError):  # it is there, or another process put its own
            os.rename(aside, target)
        raise
    remove(aside)
    flush_folder(target.parent)


def _sweep(output: Path) -> None:
    """Take away folders that nobody fills any more; a finished experiment goes back to its place.

    It was moved aside by a process that was killed before it could put another there.
    """
    for folder in output.glob(f"{_ASIDE}*"):
        with suppress(OSError):
            os.rename(folder, output / folder.name.removeprefix(_ASIDE).rpartition(_END)[0])
    sweep(output.glob(f"{_PARTIAL}*"))
