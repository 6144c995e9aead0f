"""RunParts: a run of any size, in one file or several, that is scanned in parts."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator
from glob import glob, has_magic
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.errors import InputError, RankscopeError, shown
from rankscope.files import is_path
from rankscope.runs.run_files import LazyRun, NamedFile, name_in_file
from rankscope.runs.table import Run, read_run
from rankscope.scale.executors import Workers
from rankscope.scale.partials import PartError, as_scan, merged, open_rows, partial, settled
from rankscope.scale.run_cuts import PartedFile, ranks_in_order, refuse_mixed_files
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.scan_tables import scan_of
from rankscope.tables.columns import RUN
from rankscope.tables.rows import Rows

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rankscope.files import PathLike
    from rankscope.runs.order import Precision
    from rankscope.scale.partials import OpenRows
    from rankscope.scale.run_cuts import Part
    from rankscope.scoring.scans import Scan

__all__ = ["RunParts"]

_TOGETHER = 64  # partials that are merged at a time


class RunParts(LazyRun):
    """A run in files that are read part by part, so that it may be larger than memory.

    ``files`` are a path, a pattern such as ``parts/*.trec``, a folder, or several paths; all are
    parts of one run, TREC or Parquet. Its rows may be in any order. Whatever takes a run takes it,
    and `rankscope.evaluate` needs no more memory for it than for a part at a time; what must see
    every document (docs/how-to/evaluate-at-scale.md) reads it whole.
    """

    def __init__(
        self,
        files: PathLike | Iterable[PathLike],
        *,
        name: str | None = None,
        executor: Executor | None = None,
    ) -> None:
        self._files: list[PartedFile] = []
        for path in paths_of(files):
            file = PartedFile.open(path)
            if file is None:
                raise InputError(
                    f"{os.fspath(path)}: is no TREC run, and no Parquet file with query_id, doc_id "
                    "and score; read it with read_run"
                )
            self._files.append(file)
        refuse_mixed_files(self._files)
        given = files.run_name if isinstance(files, NamedFile) else ""
        first = self._files[0]
        super().__init__(name or given or name_in_file(first.path, first.tag))
        self._executor = executor
        self._scans: dict[tuple[int, Precision], tuple[Judgments, Scan]] = {}
        self._is_list: bool | None = None

    def worked_on(self, executor: Executor) -> RunParts:
        """Return the run with its parts scanned by an executor."""
        shared = copy.copy(self)
        shared._executor = executor
        return shared

    def parts(self) -> Iterator[Part]:
        """Yield the parts, in the order of their rows; each can be sent to another machine."""
        for file in self._files:
            yield from file.parts()

    def _load(self) -> Run:
        runs = [read_run(file.path, name=self.name) for file in self._files]
        if len(runs) == 1:
            return runs[0]
        frame = pl.concat([run.to_polars() for run in runs])
        return Run.from_rows(Rows(frame, self.name, RUN), name=self.name)

    def scan_for(self, judgments: Judgments, precision: Precision) -> Scan:
        """Return the scan of the run for some judgments."""
        key = (id(judgments), precision)  # the judgments are kept too, so their id stays theirs
        if key not in self._scans:
            try:
                with Workers(self._executor) as workers:
                    scan = self._in_parts(judgments, precision, workers)
            except PartError as error:
                # the ordinary reader says what is wrong with the file, and where
                if not len(self.loaded):
                    raise InputError(str(error)) from None
                scan = scan_of(self.loaded, judgments, precision)
            self._scans[key] = judgments, scan
        return self._scans[key][1]

    def _in_parts(self, judgments: Judgments, precision: Precision, workers: Workers) -> Scan:
        known, in_part = [], []
        for result in workers.map(partial, self.parts(), judgments.packed, precision):
            in_part.append(result.queries["query_id"].hash())
            known.append(result)
            if len(known) == _TOGETHER:
                known = [merged(known)]
        if not in_part:
            raise PartError("the run is empty")
        whole = merged(known)
        is_open = whole.queries["parts"] > 1
        if is_open.any():
            marks = whole.queries.filter(is_open)["query_id"].hash().implode()
            again = [bool(hashes.is_in(marks).any()) for hashes in in_part]

            def collect(queries: pl.DataFrame) -> Iterator[OpenRows]:
                return workers.map(open_rows, compress(self.parts(), again), queries, precision)

            whole = settled(whole, judgments, precision, collect)
        return as_scan(whole)

    def _any_scan(self) -> Scan:
        """Return what is known of the queries, whatever was judged."""
        if not self._scans:
            self.scan_for(Judgments({}), "double")
        return next(iter(self._scans.values()))[1]

    @property
    def query_ids(self) -> Any:
        """The queries, in order of first appearance."""
        return self._any_scan().query_ids

    @property
    def is_list(self) -> bool:
        """Whether the order of rows is meant: false for files whose ranks go by score."""
        if self._is_list is None and self._files[0].format == "parquet":
            self._is_list = False  # rows of a flat table may come in any order
        if self._is_list is None:
            scan = self._any_scan()
            is_mixed = 2 * np.count_nonzero(scan.rises) > np.count_nonzero(scan.sizes > 1)
            with Workers(self._executor) as workers:
                in_order = is_mixed and all(workers.map(ranks_in_order, self.parts()))
            self._is_list = not in_order
        return self._is_list

    def documents(self) -> Iterator[str]:
        """Yield the documents of all rows, some of them more than once."""
        for part in self.parts():
            yield from part.run().doc_ids

    def __len__(self) -> int:
        return int(self._any_scan().sizes.sum())

    def __contains__(self, query_id: object) -> bool:
        return query_id in set(self.query_ids)


def paths_of(files: PathLike | Iterable[PathLike]) -> list[PathLike]:
    """Return the files that a path, a pattern, a folder or a list of paths names."""
    paths: list[PathLike] = [files] if is_path(files) else list(files)  # type: ignore[arg-type]
    text = os.fspath(paths[0]) if is_path(files) else ""
    if os.path.isdir(text):
        listed = sorted(entry.path for entry in os.scandir(text) if entry.is_file())
        paths = [path for path in listed if not os.path.basename(path).startswith((".", "_"))]
    elif has_magic(text) and not os.path.lexists(text):
        paths = [path for path in sorted(glob(text, recursive=True)) if os.path.isfile(path)]
    if not paths:
        raise InputError(f"no file is there ({shown(text or files)}); name those of a run's parts")
    return paths


def divided(path: PathLike, executor: Executor | None = None) -> RunParts | None:
    """Return a run in parts, if it can be cut; else the ordinary reader takes it."""
    try:
        return RunParts(path, executor=executor)
    except RankscopeError:
        return None
