"""The values of all queries in a Parquet file, written while runs are scored.

Pieces are put into a temporary folder, and at the end they become the file, all at once.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankscope.files import replacing
from rankscope.temporary import room_needed, temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rankscope.files import PathLike
    from rankscope.scoring.scored_runs import RunScores

PIECE_ROWS = 1 << 17
"""About so many rows are a piece, and a row group of the file."""

_SCHEMA = {"run": pl.String, "query_id": pl.String, "measure": pl.String, "value": pl.Float64}


class ScoreTable:
    """A Parquet file in the making: run, query_id, measure, value; none without a folder."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._waiting = [pl.DataFrame(schema=_SCHEMA)]
        self._pieces: list[Path] = []

    def add(self, *runs: RunScores) -> None:
        """Add the values of runs."""
        if self._folder is None:
            return
        self._waiting += [run.rows() for run in runs]
        if sum(part.height for part in self._waiting) >= PIECE_ROWS:
            piece = self._folder / f"{len(self._pieces)}.parquet"
            with room_needed(self._folder):
                pl.concat(self._waiting).write_parquet(piece)
            self._pieces.append(piece)
            self._waiting = self._waiting[:1]

    def write(self, sink: BinaryIO) -> None:
        """Write all pieces, one after the other."""
        frames = [pl.scan_parquet(piece, glob=False) for piece in self._pieces]
        whole = pl.concat([*frames, pl.concat(self._waiting).lazy()])
        whole.sink_parquet(sink, row_group_size=PIECE_ROWS, maintain_order=True)


@contextmanager
def score_table(path: PathLike | None) -> Iterator[ScoreTable]:
    """Open a table to add runs to; the file is there, or replaced, if nothing goes wrong."""
    if path is None:
        yield ScoreTable(None)
        return
    with replacing(path) as sink, temporary_folder("rankscope-scores-") as folder:
        table = ScoreTable(folder)
        yield table
        table.write(sink)
