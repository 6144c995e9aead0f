"""Hybrid search: several systems asked the same, their answers fused into one.

``{fuse: {of: [lexical, vector], method: minmax, weights: [0.5, 0.5]}}``: the methods and their
options are those of `rankscope.fuse`. A query that one of the systems fails on has failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError
from rankscope.retrieval.options import REQUIRED, any_text, option, optional, real, whole
from rankscope.retrieval.registry import SYSTEMS, Context
from rankscope.retrieval.system import Identity, Query, Ranking, System, check_depth, fingerprint
from rankscope.runs.fusion import fuse
from rankscope.runs.run import Run

__all__ = ["Fuse", "FuseOptions"]


def _weights(value: Any) -> tuple[float, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError("a list of numbers from 0 up, one for each system")
    try:
        return tuple(real(0)(one) for one in value)
    except ValueError:
        raise ValueError("a list of numbers from 0 up, one for each system") from None


def _several(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("a list of systems, by name or spec")
    return list(value)


@dataclass(frozen=True, slots=True)
class FuseOptions:
    """Which systems, and how they are mixed."""

    of: list[Any] = option(REQUIRED, "the systems: a list of names or specs", _several)  # noqa: RUF009
    method: str = option("rrf", "rrf, minmax, zscore, combsum, …: see docs/fusion.md", any_text)
    weights: tuple[float, ...] | None = option(
        None, "one for each system; all the same if not given", optional(_weights)
    )
    depth: int = option(
        1000, "how many documents of each system take part, if more are not asked for", whole(1)
    )
    k: float | None = option(None, "of rrf", optional(real(0)))
    p: float | None = option(None, "of rbc", optional(real(0, 1)))
    sigma: float | None = option(None, "of logisr", optional(real(0)))
    normalise: str | None = option(None, "of the comb… methods", optional(any_text))


@SYSTEMS.add("fuse", FuseOptions, summary="several systems' answers mixed (hybrid search)")
class Fuse(System):
    """Several systems as one."""

    def __init__(self, options: FuseOptions, context: Context) -> None:
        self.systems = [context.system(one) for one in options.of]
        self.options = options
        self.batch_size = min(system.batch_size for system in self.systems)
        self.concurrent = all(system.concurrent for system in self.systems)
        chosen = asdict(options)
        self._given = {
            name: chosen[name]
            for name in ("weights", "k", "p", "sigma", "normalise")
            if chosen[name] is not None
        }
        self._fused([[] for _ in self.systems], 1)  # refuses options that do not go together

    def index(self, corpus: Corpus) -> None:
        """Hand the corpus to every system."""
        for system in self.systems:
            system.index(corpus)
        notes = (note for system in self.systems for note in system.notes)
        self.notes = tuple(dict.fromkeys(notes))

    def prepare(self) -> None:
        """Prepare every system."""
        for system in self.systems:
            system.prepare()
        self.seconds_indexing = sum(system.seconds_indexing for system in self.systems)

    def identity(self) -> Identity:
        """Say what exactly answers."""
        inner = [system.identity() for system in self.systems]
        parameters = {
            "of": [one.key for one in inner],
            "method": self.options.method,
            "depth": self.options.depth,
            **self._given,
        }
        snapshots = [one.snapshot for one in inner]
        snapshot = None if None in snapshots else fingerprint(snapshots)
        return Identity("fuse", "fuse 1", parameters, snapshot, self.name)

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Ask every system, and fuse the answers to each query."""
        depth = check_depth(depth)
        pool = max(depth, self.options.depth)
        answers = [system.search(queries, pool) for system in self.systems]
        fused = self._fused(answers, depth)
        rankings = []
        for at, several in enumerate(zip(*answers, strict=True)):
            seconds = sum(one.seconds for one in several)
            errors = [one.error for one in several if one.error is not None]
            if errors:
                rankings.append(Ranking.failed(errors[0], seconds))
            else:
                found = fused[str(at)]
                rankings.append(Ranking(tuple(found), tuple(found.values()), seconds))
        return rankings

    def _fused(self, answers: Sequence[Sequence[Ranking]], depth: int) -> Run:
        """Fuse runs in which queries are called by their place in the batch."""
        runs = {
            f"system{number}": Run(
                {str(at): dict(one.pairs()) for at, one in enumerate(rankings)},
                name=f"system{number}",
            )
            for number, rankings in enumerate(answers, start=1)
        }
        try:
            return fuse(runs, method=self.options.method, depth=depth, **self._given)
        except InputError as error:
            raise InputError(f"fuse: {error}") from None
