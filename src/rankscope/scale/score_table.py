"""The values of all queries in a Parquet file, written while runs are scored.

Pieces are put into a folder beside the file; at the end they become the file, all at once. What a
killed process leaves is such a folder, which the next one removes, and never half a file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rankscope.errors import InputError
from rankscope.temporary import flush_folder, new_folder, remove, room_needed, sweep, unlock

if TYPE_CHECKING:
    from types import TracebackType

    from rankscope.files import PathLike
    from rankscope.scoring.scores import RunScores

PIECE_ROWS = 1 << 17
"""About so many rows are a piece, and a row group of the file."""

_PREFIX = ".rankscope-scores-"
_SCHEMA = {"run": pl.String, "query_id": pl.String, "measure": pl.String, "value": pl.Float64}


class ScoreTable:
    """A Parquet file in the making: run, query_id, measure, value; none without a path."""

    def __init__(self, path: PathLike | None) -> None:
        self._waiting: list[pl.DataFrame] = []
        self._pieces: list[Path] = []
        self._folder: Path | None = None
        if path is None:
            return
        self._path = Path(os.path.abspath(os.fspath(path)))
        if self._path.is_dir():
            raise InputError(f"{os.fspath(path)}: is a folder; name a file to write")
        if not self._path.parent.is_dir():
            raise InputError(f"{os.fspath(path)}: its folder is not there; make it first")
        sweep(self._path.parent.glob(f"{_PREFIX}*"))
        try:
            self._folder, self._lock = new_folder(self._path.parent, _PREFIX)
        except OSError as error:
            raise InputError(
                f"{os.fspath(path)}: cannot be written ({error.strerror}); name another place"
            ) from None

    def add(self, *runs: RunScores) -> None:
        """Add the values of runs."""
        if self._folder is None:
            return
        self._waiting += [run.rows() for run in runs]
        if sum(part.height for part in self._waiting) >= PIECE_ROWS:
            self._write(self._folder)

    def _write(self, folder: Path) -> None:
        piece = folder / f"{len(self._pieces)}.parquet"
        frame = pl.concat([pl.DataFrame(schema=_SCHEMA), *self._waiting])
        with room_needed(folder):
            frame.write_parquet(piece)
        self._pieces.append(piece)
        self._waiting = []

    def finish(self) -> None:
        """Make the file."""
        folder = self._folder
        if folder is None:
            return
        if self._waiting or not self._pieces:
            self._write(folder)
        whole = folder / "whole.parquet"
        with room_needed(folder):
            scans = [pl.scan_parquet(piece, glob=False) for piece in self._pieces]
            pl.concat(scans).sink_parquet(whole, row_group_size=PIECE_ROWS, maintain_order=True)
            with open(whole, "rb") as file:
                os.fsync(file.fileno())
            os.replace(whole, self._path)
        flush_folder(self._path.parent)

    def __enter__(self) -> ScoreTable:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._folder is not None:
            remove(self._folder)
            unlock(self._lock)
