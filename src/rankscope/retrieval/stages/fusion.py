"""Hybrid search: several systems asked the same, their answers fused into one.

``{fuse: {of: [lexical, vector], method: minmax, weights: [0.5, 0.5]}}``: the methods and their
options are those of `rankscope.fuse`. A query that one of the systems fails on has failed.
``weights: train`` learns the weights from judged questions, by `training`; how it is kept from
questions it is judged on, `learning` says.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError
from rankscope.measures.language import Measure
from rankscope.retrieval.cache import keep, kept, make_folder
from rankscope.retrieval.options import REQUIRED, any_text, choice, option, optional, real, whole
from rankscope.retrieval.protocol import Identity, Query, Ranking, System, check_depth, fingerprint
from rankscope.retrieval.registry import SYSTEMS, Context
from rankscope.retrieval.stages.learning import Folds, is_trained, refuse_trained
from rankscope.retrieval.stages.stage import training_answers
from rankscope.runs.fusion.fuse import fuse
from rankscope.runs.table import Run
from rankscope.scoring.weights import train_weights

__all__ = ["Fuse", "FuseOptions"]

Weights = tuple[float, ...]


TRAIN: Literal["train"] = "train"
MEASURE, STEP, SEARCH = "nDCG@10", 0.1, "grid"


def _weights(value: Any) -> tuple[float, ...] | Literal["train"]:
    if value == TRAIN:
        return TRAIN
    if not isinstance(value, list | tuple):
        raise ValueError("train, or a list of numbers from 0 up, one for each system")
    try:
        return tuple(real(0)(one) for one in value)
    except ValueError:
        raise ValueError("train, or a list of numbers from 0 up, one for each system") from None


def _measure(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a measure, such as {MEASURE}")
    return str(Measure.parse(value))


def _several(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("a list of systems, by name or spec")
    return list(value)


@dataclass(frozen=True, slots=True)
class FuseOptions:
    """Which systems, and how they are mixed."""

    of: list[Any] = option(REQUIRED, "the systems: a list of names or specs", _several)  # noqa: RUF009
    method: str = option("rrf", "rrf, minmax, zscore, combsum, …: see docs/fusion.md", any_text)
    weights: tuple[float, ...] | Literal["train"] | None = option(
        None,
        "one for each system, or train to learn them; all the same if not given",
        optional(_weights),
    )
    depth: int = option(
        1000, "how many documents of each system take part, if more are not asked for", whole(1)
    )
    k: float | None = option(None, "of rrf", optional(real(0)))
    p: float | None = option(None, "of rbc", optional(real(0, 1)))
    sigma: float | None = option(None, "of logisr", optional(real(0)))
    normalise: str | None = option(None, "of the comb… methods", optional(any_text))
    measure: str | None = option(
        None, f"of weights: train, what they are the best for ({MEASURE})", optional(_measure)
    )
    step: float | None = option(
        None, f"of weights: train, the steps in which they are tried ({STEP})", optional(real(0, 1))
    )
    search: str | None = option(
        None,
        f"of weights: train, grid or coordinate: all weights, or one after the other ({SEARCH})",
        optional(choice("search", lambda: ["grid", "coordinate"])),
    )


@SYSTEMS.add("fuse", FuseOptions, summary="several systems' answers mixed (hybrid search)")
class Fuse(System):
    """Several systems as one."""

    def __init__(self, options: FuseOptions, context: Context) -> None:
        self.systems = [context.system(one) for one in options.of]
        self.options = options
        self.batch_size = min(system.batch_size for system in self.systems)
        self.concurrent = all(system.concurrent for system in self.systems)
        self._given = {
            name: value
            for name in ("weights", "k", "p", "sigma", "normalise")
            if (value := getattr(options, name)) not in (None, TRAIN)
        }
        self._learner = _learner(options, self.systems, context, self._given)
        self.trained = self._learner is not None or any(map(is_trained, self.systems))
        self._fused([[] for _ in self.systems], 1, None)  # refuses what does not go together

    def index(self, corpus: Corpus) -> None:
        """Hand the corpus to every system."""
        for system in self.systems:
            system.index(corpus)
        if self._learner is not None:
            self._learner.index(corpus)
        self._take_notes()

    def _take_notes(self) -> None:
        notes = (note for system in self.systems for note in system.notes)
        self.notes = tuple(dict.fromkeys(notes))

    def prepare(self) -> None:
        """Prepare every system."""
        for system in self.systems:
            system.prepare()
        self._take_notes()
        began = time.perf_counter()
        if self._learner is not None:
            self._learner.prepare()
        spent = time.perf_counter() - began
        self.seconds_indexing = spent + sum(system.seconds_indexing for system in self.systems)

    def identity(self) -> Identity:
        """Say what exactly answers."""
        inner = [system.identity() for system in self.systems]
        parameters = {
            "of": [one.key for one in inner],
            "method": self.options.method,
            "depth": self.options.depth,
            **self._given,
        }
        if self._learner is not None:
            parameters |= {"weights": TRAIN, **self._learner.described()}
        snapshots = [one.snapshot for one in inner]
        snapshot = None if None in snapshots else fingerprint(snapshots)
        return Identity("fuse", "fuse 1", parameters, snapshot, self.name)

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Ask every system, and fuse the answers to each query."""
        depth = check_depth(depth)
        pool = max(depth, self.options.depth)
        answers = [system.search(queries, pool) for system in self.systems]
        found: list[Ranking] = [Ranking() for _ in queries]
        for weights, places in self._by_weights(queries).items():
            fused = self._fused([[one[at] for at in places] for one in answers], depth, weights)
            for number, at in enumerate(places):
                found[at] = _answer([one[at] for one in answers], fused[str(number)])
        return found

    def _by_weights(self, queries: Sequence[Query]) -> dict[Weights | None, list[int]]:
        """Return the places of the queries that are fused with the same weights."""
        if self._learner is None:
            return {None: list(range(len(queries)))} if queries else {}
        places: dict[Weights | None, list[int]] = {}
        for at, query in enumerate(queries):
            places.setdefault(self._learner.weights(query), []).append(at)
        return places

    def _fused(
        self, answers: Sequence[Sequence[Ranking]], depth: int, weights: Weights | None
    ) -> Run:
        """Fuse runs in which queries are called by their place in the batch."""
        runs = {
            f"system{number}": Run(
                {str(at): dict(one.pairs()) for at, one in enumerate(rankings)},
                name=f"system{number}",
            )
            for number, rankings in enumerate(answers, start=1)
        }
        options = self._given if weights is None else {**self._given, "weights": weights}
        try:
            return fuse(runs, method=self.options.method, depth=depth, **options)
        except InputError as error:
            raise InputError(f"fuse: {error}") from None


def _answer(several: Sequence[Ranking], fused: Mapping[str, float]) -> Ranking:
    """Return the fused answer to one query; failed, if one of the systems failed."""
    seconds = sum(one.seconds for one in several)
    errors = [one.error for one in several if one.error is not None]
    if errors:
        return Ranking.failed(errors[0], seconds)
    return Ranking(tuple(fused), tuple(fused.values()), seconds)


class Learner:
    """Learns the weights: for each query from the judged questions that do not give it away."""

    def __init__(
        self,
        options: FuseOptions,
        systems: Sequence[System],
        context: Context,
        given: Mapping[str, Any],
    ) -> None:
        self._training = context.taught("fuse with weights: train")
        refuse_trained("fuse", systems)
        if len(systems) < 2:
            raise InputError("fuse: weights are trained for two systems or more; there is one")
        self._options, self._systems, self._cache = options, systems, context.cache
        self._given = dict(given)
        self._corpus: Corpus | None = None
        self._learnt: dict[Folds, Weights] = {}

    def index(self, corpus: Corpus) -> None:
        """Forget what was learnt on another corpus."""
        if corpus is not self._corpus:
            self._corpus, self._learnt = corpus, {}

    def described(self) -> dict[str, Any]:
        """Say what is learnt from, and how."""
        return {
            "training": self._training.key,
            "measure": self._options.measure or MEASURE,
            "step": self._options.step or STEP,
            "search": self._options.search or SEARCH,
        }

    def prepare(self) -> None:
        """Learn weights without each fold, and from all questions, unless they are known."""
        self._need([folds for folds in self._training.models() if folds not in self._learnt])

    def weights(self, query: Query) -> Weights:
        """Return weights learnt without this query."""
        self.prepare()
        folds = self._training.kept_from(query)
        if folds not in self._learnt:
            self._need([folds])
        return self._learnt[folds]

    def _need(self, wanted: Sequence[Folds]) -> None:
        missing = []
        for folds in wanted:
            path = self._path(folds)
            content = None if path is None else kept(path)
            if content is None:
                missing.append(folds)
            else:
                self._learnt[folds] = tuple(json.loads(content))
        if not missing:
            return
        runs = self._runs()
        for folds in missing:
            weights = self._trained(runs, self._training.without(folds))
            path = self._path(folds)
            if path is not None:
                keep(path, json.dumps(weights).encode())
            self._learnt[folds] = weights

    def _path(self, folds: Folds) -> Path | None:
        if self._cache is None:
            return None
        below = [system.identity().key for system in self._systems]
        options = (self._options.method, self._options.depth, self._given, self.described())
        key = fingerprint("fuse 1", below, options, sorted(folds))
        return make_folder(self._cache / "models") / f"{key}.fuse"

    def _runs(self) -> list[dict[str, dict[str, float]]]:
        """Ask every system the training questions."""
        queries, depth = self._training.queries, self._options.depth
        return [
            {
                query_id: dict(pairs)
                for query_id, pairs in training_answers("fuse", system, queries, depth).items()
            }
            for system in self._systems
        ]

    def _trained(self, runs: Sequence[Mapping[str, Any]], queries: Sequence[Query]) -> Weights:
        """Return the best weights for some questions; equal ones, if these are too few."""
        if len(queries) < 2:
            return (1 / len(self._systems),) * len(self._systems)
        asked = [query.query_id for query in queries]
        options = self.described()
        try:
            trained = train_weights(
                {query_id: self._training.qrels[query_id] for query_id in asked},
                [Run({query_id: run[query_id] for query_id in asked}) for run in runs],
                options["measure"],
                method=self._options.method,
                folds=2,
                search=options["search"],
                step=options["step"],
                **self._given,
            )
        except InputError as error:
            raise InputError(f"fuse: {error}") from None
        return tuple(trained.weights.values())


def _learner(
    options: FuseOptions, systems: Sequence[System], context: Context, given: Mapping[str, Any]
) -> Learner | None:
    """Return what learns the weights, if they are to be learnt."""
    if options.weights == TRAIN:
        return Learner(options, systems, context, given)
    for name in ("measure", "step", "search"):
        if getattr(options, name) is not None:
            raise InputError(f"fuse: the option {name} goes with weights: train")
    return None
