"""RunParts: a run of any size, in one file or several, that is scanned in parts."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator
from glob import glob, has_magic
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.errors import InputError, RankscopeError, shown
from rankscope.files import is_path
from rankscope.runs.run_files import LazyRun, NamedFile, name_in_file
from rankscope.runs.table import Run, read_run
from rankscope.scale.executors import Workers
from rankscope.scale.joined import joined_run
from rankscope.scale.partials import PartError, Tally, as_scan, partial, unpacked
from rankscope.scale.rank_order import ranks_go_by_score
from rankscope.scale.run_cuts import PartedFile, refuse_mixed_files
from rankscope.scale.spool import open_rows, settled
from rankscope.scale.visible import check_visible
from rankscope.scoring.judged_pairs import PackedPairs
from rankscope.scoring.scan_tables import scan_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rankscope.files import PathLike
    from rankscope.runs.order import Precision
    from rankscope.scale.partials import Partial
    from rankscope.scale.run_cuts import Part
    from rankscope.scale.spool import OpenRows
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.scans import Scan

__all__ = ["RunParts"]


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
        paths = paths_of(files)
        opened = [PartedFile.open(path) for path in paths]
        for path, file in zip(paths, opened, strict=True):
            if file is None:
                raise InputError(
                    f"{os.fspath(path)}: cannot be read in parts, which TREC runs and Parquet "
                    "files with the columns query_id, doc_id and score can; read it with read_run"
                )
        self._files = [file for file in opened if file is not None]
        refuse_mixed_files(self._files)
        given = files.run_name if isinstance(files, NamedFile) else ""
        first = self._files[0].table
        super().__init__(name or given or name_in_file(first.path, first.first_tag))
        self._executor = executor
        self._scans: dict[tuple[int, Precision], tuple[Judgments, Scan]] = {}
        self._is_list: bool | None = None
        self._unjudged: Scan | None = None

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
        if len(self._files) == 1:
            return read_run(self._files[0].path, name=self.name)
        return joined_run([file.path for file in self._files], self.name)

    def scan_for(self, judgments: Judgments, precision: Precision) -> Scan:
        """Return the scan of the run for some judgments."""
        key = (id(judgments), precision)  # the judgments are kept too, so their id stays theirs
        if key not in self._scans:
            self._scans[key] = judgments, self._scanned(judgments.packed, precision)
        return self._scans[key][1]

    def _scanned(self, packed: PackedPairs, precision: Precision) -> Scan:
        check_visible(self._executor, [file.path for file in self._files if file.is_plain])
        with Workers(self._executor) as workers:
            try:
                return self._in_parts(packed, precision, workers)
            except PartError as error:
                # the ordinary reader says what is wrong with the file, and where
                run = self.loaded
                if not len(run):
                    raise InputError(str(error)) from None
                return scan_of(run, unpacked(packed), precision)

    def _in_parts(self, packed: PackedPairs, precision: Precision, workers: Workers) -> Scan:
        tally, in_part = Tally(), []
        for result in workers.map(partial, self.parts(), packed, precision):
            in_part.append(result.queries["query_id"].hash())
            tally.add(result)
        if not in_part:
            raise PartError("the run is empty")
        whole = tally.total()
        marks = whole.queries.filter(pl.col("parts") > 1)["query_id"].hash().implode()
        again = [bool(hashes.is_in(marks).any()) for hashes in in_part]
        parts = (part for part, is_left in zip(self.parts(), again, strict=True) if is_left)
        return self._settled(whole, parts, packed, precision, workers)

    def _settled(
        self,
        whole: Partial,
        parts: Iterable[Part],
        packed: PackedPairs,
        precision: Precision,
        workers: Workers,
    ) -> Scan:
        """Bring the rows of open queries together; ``parts`` are those that hold some."""

        def collect(queries: pl.DataFrame) -> Iterator[OpenRows]:
            return workers.map(open_rows, parts, queries, precision)

        if (whole.queries["parts"] > 1).any():
            whole = settled(whole, packed, precision, collect)
        return as_scan(whole)

    def adopt(
        self, judgments: Judgments, whole: Partial, *, precision: Precision = "double"
    ) -> None:
        """Take what was found elsewhere: the partials of all parts, merged in their order.

        `rankscope.evaluate` with these judgments then scans no part again, but those that hold rows
        of a query that is in several.

        Raises:
            PartError: a document is in two parts of a query.
        """
        with Workers(self._executor) as workers:
            scan = self._settled(whole, self.parts(), judgments.packed, precision, workers)
        self._scans[id(judgments), precision] = judgments, scan

    def _any_scan(self) -> Scan:
        """Return what is known of the queries, whatever was judged."""
        for _, scan in self._scans.values():
            return scan
        if self._unjudged is None:
            self._unjudged = self._scanned(PackedPairs.of((), np.zeros(1, np.int64), ()), "double")
        return self._unjudged

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
            with Workers(self._executor) as workers:
                self._is_list = not ranks_go_by_score(self._any_scan(), self.parts, workers)
        return self._is_list

    def documents(self) -> Iterator[str]:
        """Yield the documents of all rows, some of them more than once."""
        for part in self.parts():
            yield from part.run().doc_ids

    def __len__(self) -> int:
        return int(self._any_scan().sizes.sum())

    def __contains__(self, query_id: object) -> bool:
        return query_id in set(self.query_ids)

    def __repr__(self) -> str:
        return f"RunParts({[os.fspath(file.path) for file in self._files]!r}, name={self.name!r})"


def paths_of(files: PathLike | Iterable[PathLike]) -> list[PathLike]:
    """Return the files that a path, a pattern, a folder or a list of paths names."""
    if not is_path(files):
        paths: list[PathLike] = list(files)  # type: ignore[arg-type]
        if not paths:
            raise InputError("a run in parts needs at least one file; the list of files is empty")
        return paths
    text = os.fspath(files)
    if os.path.isdir(text):
        listed = sorted(entry.path for entry in os.scandir(text) if entry.is_file())
        paths = [path for path in listed if not os.path.basename(path).startswith((".", "_"))]
        if not paths:
            raise InputError(f"{text}: the folder holds no file; name one that holds a run's parts")
        return paths
    if has_magic(text) and not os.path.lexists(text):
        matching = sorted(path for path in glob(text, recursive=True) if os.path.isfile(path))
        if not matching:
            raise InputError(f"no file matches {shown(text)}; name files that there are")
        return list(matching)
    return [files]


def divided(path: PathLike, executor: Executor | None = None) -> RunParts | None:
    """Return a file as a run in parts, if it can be cut; else the ordinary reader takes it."""
    try:
        file = PartedFile.open(path)
    except RankscopeError:
        return None
    return None if file is None else RunParts([path], executor=executor)
