"""Collapsing: a stage that turns the chunks a system returns into the documents they are of.

``{collapse: {of: SYSTEM, doc_id_from: '#'}}``. More chunks are asked for than documents are wanted:
several may be of one document.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from rankscope.errors import InputError
from rankscope.retrieval.options import Options, Text
from rankscope.retrieval.protocol import Capabilities, Identity, Query, Ranking, check_depth
from rankscope.retrieval.registry import SYSTEMS, Context
from rankscope.retrieval.stages.stage import Over
from rankscope.runs.collapsing import Chunking, names_table

CHUNKS = 5
"""How many chunks are asked for each document wanted, if nobody says."""


class CollapseOptions(Options):
    """Which system, and what its chunks are of."""

    of: Annotated[Any, SYSTEMS]
    """The system that returns chunks: its name, or a spec."""
    doc_id_from: Text
    """What document a chunk is of: a separator such as '#', a regular expression, or a table."""
    chunks: int | None = Field(default=None, ge=1)
    """How many chunks are asked for; if not given, five for each document wanted."""


@SYSTEMS.add("collapse", CollapseOptions, summary="the documents of another system's chunks")
class CollapsedSystem(Over):
    """A system of documents over one of chunks."""

    def __init__(self, options: CollapseOptions, context: Context) -> None:
        super().__init__(options.of, context)
        self.options: CollapseOptions = options
        table = context.path(options.doc_id_from)
        rule: Any = table if names_table(str(table)) else options.doc_id_from
        self._chunking = Chunking.of(rule)
        # fewer documents than wanted may be in the chunks that a small depth asks for
        self.capabilities = replace(Capabilities.of(self.inner), exact=False)

    def identity(self) -> Identity:
        """Say what exactly answers."""
        inner = self.inner.identity()
        _, table = self._chunking.identity
        return Identity(
            kind="collapse",
            name=self.name,
            version=inner.version,
            parameters={
                "of": inner.key,
                "doc_id_from": self.options.doc_id_from,
                "table": table,
                "chunks": self.options.chunks,
            },
            snapshot=inner.snapshot,
        )

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Ask for chunks, and answer with their documents."""
        depth = check_depth(depth)
        rankings = self.inner.search(queries, max(depth, self.options.chunks or CHUNKS * depth))
        return [self._collapsed(ranking, depth) for ranking in rankings]

    def _collapsed(self, ranking: Ranking, depth: int) -> Ranking:
        if not ranking.doc_ids:
            return ranking
        began = time.perf_counter()
        try:
            pairs = self._chunking.pairs(ranking.pairs())
        except InputError as error:
            return Ranking.failed(str(error), ranking.seconds)
        best = Ranking.of(pairs, depth)
        return replace(best, seconds=ranking.seconds + time.perf_counter() - began)
