"""An existing run as a system: it answers by the id of the query, whatever the text.

A query that is not in the run found nothing: TREC's format has no other way to say so.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, shown
from rankscope.retrieval.options import Options, Text, given_as
from rankscope.retrieval.protocol import (
    Capabilities,
    Identity,
    Query,
    Ranking,
    System,
    check_depth,
    fingerprint,
)
from rankscope.retrieval.registry import SYSTEMS, Context
from rankscope.runs.run_files import REMEDY
from rankscope.runs.table import Run, read_run
from rankscope.tables.columns import Duplicates


class RunColumns(Options):
    """The columns of a run's file that go by no known name."""

    query: Text | None = None
    """The column of the query."""
    retrieved: Text | None = None
    """The column of what was retrieved: a list, or one document in each row."""
    doc: Text | None = None
    """The column of the document, in a table with a row for each."""
    score: Text | None = None
    """The column of the score."""


class RunOptions(Options):
    """Which run."""

    path: Any
    """The run's file, in any format, or a run."""
    columns: RunColumns = RunColumns()
    """Columns that go by no known name: query, retrieved, doc, score."""
    duplicates: Duplicates | None = None
    """Which row of a document counts that a query has twice: first or best; an error if neither."""


@SYSTEMS.add("run", RunOptions, summary="an existing run file")
class RunSystem(System):
    """Answers with what a run holds."""

    batch_size = 1024
    holds_answers = True
    capabilities = Capabilities(ties="trec", concurrent=True)

    def __init__(self, options: RunOptions, context: Context) -> None:
        self.options: RunOptions = options
        path = options.path
        tables: Any = {**options.columns.model_dump(), "duplicates": options.duplicates}
        if isinstance(path, str | os.PathLike):
            self._run: Run = read_run(context.path(os.fspath(path)), **tables)
        elif path is None or isinstance(path, bool | int | float):
            raise InputError(f"run.path: expected a file or a run, got {given_as(path)}")
        else:
            self._run = path if isinstance(path, Run) else Run(path, **tables)
        self._snapshot = fingerprint(sorted(self._run.query_ids), self._run.fingerprint())

    def index(self, corpus: Corpus) -> None:
        """Do nothing: the answers exist already."""

    def identity(self) -> Identity:
        """Say what exactly answers: the run's content."""
        return Identity(
            kind="run",
            name=self.name or self._run.name,
            version="run",
            parameters={},
            snapshot=self._snapshot,
        )

    def ready_run(self, queries: Sequence[Query], depth: int) -> Run:
        """Return the part of the run that is asked for."""
        self._refuse_numbers(queries)
        return self._run.answers([query.query_id for query in queries], check_depth(depth))

    def _refuse_numbers(self, queries: Sequence[Query]) -> None:
        """Refuse answers that do not say what they are to."""
        if self._run.is_numbered and not any(query.query_id in self._run for query in queries):
            raise InputError(f"run {shown(self._run.name)}: has answers without ids; {REMEDY}")

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Answer each query with the run's documents."""
        depth = check_depth(depth)
        self._refuse_numbers(queries)
        return [
            Ranking.of(self._run[query.query_id].items(), depth)
            if query.query_id in self._run
            else Ranking()
            for query in queries
        ]
