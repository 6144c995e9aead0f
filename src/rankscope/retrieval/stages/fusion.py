"""Hybrid search: several systems asked the same, their answers fused into one.

``{fuse: {of: [lexical, vector], method: minmax, weights: [0.5, 0.5]}}``: the methods and their
options are those of `rankscope.fuse`. A query that one of the systems fails on has failed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import polars as pl
from pydantic import BeforeValidator, Field

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError
from rankscope.retrieval.options import Options
from rankscope.retrieval.protocol import (
    Capabilities,
    Component,
    Identity,
    Query,
    Ranking,
    System,
    check_depth,
    fingerprint,
)
from rankscope.retrieval.registry import SYSTEMS, Context
from rankscope.retrieval.stages.stage import ask, notes_of
from rankscope.runs.fusion.fuse import fuse
from rankscope.runs.table import Run


def _several(value: Any) -> Any:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("a list of systems, by name or spec")
    return list(value)


Weight = Annotated[float, Field(ge=0)]


class FuseOptions(Options):
    """Which systems, and how they are mixed."""

    of: Annotated[list[Annotated[Any, SYSTEMS]], BeforeValidator(_several), Field(min_length=1)]
    """The systems: a list of names or specs."""
    method: str = "rrf"
    """rrf, minmax, zscore, combsum, …: see docs/how-to/fuse-and-train.md."""
    weights: Annotated[tuple[Weight, ...], Field(strict=False)] | None = None
    """One for each system. If not given, all are the same."""
    depth: int = Field(default=1000, ge=1)
    """How many documents of each system take part, if more are not asked for."""
    k: float | None = Field(default=None, ge=0)
    """Of rrf."""
    p: float | None = Field(default=None, ge=0, le=1)
    """Of rbc."""
    sigma: float | None = Field(default=None, ge=0)
    """Of lognisr."""
    normalise: str | None = None
    """Of the comb… methods."""

    def of_method(self) -> dict[str, Any]:
        """Return the options that are handed to `rankscope.fuse`."""
        values = {name: getattr(self, name) for name in ("weights", "k", "p", "sigma", "normalise")}
        return {name: value for name, value in values.items() if value is not None}


@SYSTEMS.add("fuse", FuseOptions, summary="several systems' answers mixed (hybrid search)")
class Fuse(System):
    """Several systems as one."""

    def __init__(self, options: FuseOptions, context: Context) -> None:
        self.options: FuseOptions = options
        self.owned: list[Component] = []
        self.systems = [context.make(SYSTEMS, system, self.owned) for system in options.of]
        self.batch_size = min(system.batch_size for system in self.systems)
        self.capabilities = Capabilities.of(*self.systems)
        self._memory = context.memory
        self.trained = any(system.trained for system in self.systems)
        self._fused([[] for _ in self.systems], 1)  # refuses what does not go together

    def parts(self) -> Sequence[Component]:
        """Return the systems."""
        return self.systems

    def index(self, corpus: Corpus) -> None:
        """Hand the corpus to every system."""
        for system in self.systems:
            system.index(corpus)
        self.notes = notes_of(self.systems)

    def prepare(self) -> None:
        """Prepare every system."""
        for system in self.systems:
            system.prepare()
        self.notes = notes_of(self.systems)
        self.seconds_indexing = sum(system.seconds_indexing for system in self.systems)

    def identity(self) -> Identity:
        """Say what exactly answers."""
        identities = [system.identity() for system in self.systems]
        parameters = {
            "of": [identity.key for identity in identities],
            "method": self.options.method,
            "depth": self.options.depth,
            **self.options.of_method(),
        }
        snapshots = [identity.snapshot for identity in identities]
        return Identity(
            kind="fuse",
            name=self.name,
            version="fuse 1",
            parameters=parameters,
            snapshot=None if None in snapshots else fingerprint(snapshots),
        )

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Ask every system, one after the other, and fuse the answers to each query.

        A query takes as long as all of them together, and its share of fusing.
        """
        depth = check_depth(depth)
        pool = max(depth, self.options.depth)
        answers = [ask(system, queries, pool, self._memory) for system in self.systems]
        began = time.perf_counter()
        run = self._fused(answers, depth)
        fused = [
            _answer([rankings[at] for rankings in answers], run[str(at)])
            for at in range(len(queries))
        ]
        share = (time.perf_counter() - began) / max(len(queries), 1)
        return [replace(ranking, seconds=ranking.seconds + share) for ranking in fused]

    def _fused(self, answers: Sequence[Sequence[Ranking]], depth: int) -> Run:
        """Fuse runs in which queries are called by their place in the batch."""
        runs = {
            f"system{number}": _as_run(rankings, f"system{number}")
            for number, rankings in enumerate(answers, start=1)
        }
        options = self.options.of_method()
        try:
            return fuse(runs, method=self.options.method, depth=depth, **options)
        except InputError as error:
            raise InputError(f"fuse: {error}") from error


def _answer(rankings: Sequence[Ranking], fused: Mapping[str, float]) -> Ranking:
    """Return the fused answer to one query; failed, if one of the systems failed."""
    seconds = sum(ranking.seconds for ranking in rankings)
    for ranking in rankings:
        if ranking.error is not None:
            return Ranking.failed(ranking.error, seconds, retry_after=ranking.retry_after)
    return Ranking(tuple(fused), tuple(fused.values()), seconds)


def _as_run(rankings: Sequence[Ranking], name: str) -> Run:
    """Put the answers to a batch into a run; each query is called by its place."""
    doc_ids = [doc_id for ranking in rankings for doc_id in ranking.doc_ids]
    scores = [score for ranking in rankings for score in ranking.scores]
    return Run.trusted(
        [str(at) for at in range(len(rankings))],
        np.array([len(ranking.doc_ids) for ranking in rankings], np.int64),
        pl.Series("doc_id", doc_ids, pl.String),
        pl.Series("score", scores, pl.Float64),
        name=name,
    )
