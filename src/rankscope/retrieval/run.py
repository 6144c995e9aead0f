"""An existing run as a system: it answers by the id of the query, whatever the text.

A query that the run does not have found nothing: TREC's format has no other way to say so.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, shown
from rankscope.retrieval.options import REQUIRED, as_is, option
from rankscope.retrieval.ordering import ranked
from rankscope.retrieval.registry import SYSTEMS, Context
from rankscope.retrieval.system import Identity, Query, Ranking, System, check_depth, fingerprint
from rankscope.runs.run import Run, as_run, read_run

__all__ = ["RunOptions", "RunSystem"]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Which run."""

    path: Any = option(REQUIRED, "the run's file, in any format, or a run", as_is)  # noqa: RUF009


@SYSTEMS.add("run", RunOptions, summary="an existing run file")
class RunSystem(System):
    """Answers with what a run holds."""

    batch_size = 1024
    concurrent = True

    def __init__(self, options: RunOptions, context: Context) -> None:
        path = options.path
        if isinstance(path, str | os.PathLike):
            self._run: Run = read_run(context.path(os.fspath(path)))
        elif path is None or isinstance(path, bool | int | float):
            raise InputError(f"option path of run must be a file or a run, not {shown(path)}")
        else:
            self._run = as_run(path)
        rows = self._run.to_polars().sort("query_id", "doc_id").rows()
        self._snapshot = fingerprint(sorted(self._run.query_ids), rows)

    def index(self, corpus: Corpus) -> None:
        """Do nothing: the run is there."""

    def identity(self) -> Identity:
        """Say what exactly answers: the run's content."""
        return Identity("run", "run", {}, self._snapshot, self.name or self._run.name)

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Answer each query with the run's documents."""
        depth = check_depth(depth)
        return [
            ranked(self._run[query.query_id].items(), depth)
            if query.query_id in self._run
            else Ranking()
            for query in queries
        ]
