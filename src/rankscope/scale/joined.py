"""Several files as one run, in memory: for what must see every document of a run in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.runs.table import Run, read_run, scores_of, without_duplicates
from rankscope.tables.columns import RUN
from rankscope.tables.reading import open_table
from rankscope.tables.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.errors import Place
    from rankscope.files import PathLike


@dataclass(frozen=True, slots=True, eq=False)
class _JoinedRows(Rows):
    """The rows of several files, each of which says where its rows are."""

    files: tuple[Rows, ...] = ()

    def place(self, row: int) -> Place:
        """Return where a row was read."""
        ends = np.cumsum([rows.frame.height for rows in self.files])
        at = int(np.searchsorted(ends, row, side="right"))
        return self.files[at].place(row - int(ends[at - 1] if at else 0))


def joined_run(paths: Sequence[PathLike], name: str) -> Run:
    """Read several files as one run; each must be a run by itself."""
    for path in paths:
        read_run(path)  # which says what is wrong with this file
    files = []
    for path in paths:
        with open_table(path, RUN) as file:
            files.append(file.rows(("query_id", "doc_id", "score")))
    frames = [
        pl.DataFrame(
            [
                rows.ids("query_id"),
                rows.ids("doc_id"),
                scores_of(rows),
            ]
        )
        for rows in files
    ]
    joined = _JoinedRows(pl.concat(frames), name, RUN, files=tuple(files))
    return Run.from_rows(without_duplicates(joined, None), name=name)
