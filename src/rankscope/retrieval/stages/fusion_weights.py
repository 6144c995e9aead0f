"""Trained weights of a fusion: for each query learnt from questions that do not give it away.

`fusion` fuses with them, `training` keeps the questions apart, and the search for the best weights
is `rankscope.retrieval.stages.weights`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError
from rankscope.retrieval.protocol import Query, System, fingerprint
from rankscope.retrieval.registry import Context
from rankscope.retrieval.stages.stage import training_answers
from rankscope.retrieval.stages.training import FoldModels, Folds, refuse_trained
from rankscope.retrieval.stages.weights import train_weights
from rankscope.runs.table import Run

Weights = tuple[float, ...]

MEASURE = "nDCG@10"
STEP = 0.1


class TrainedWeights:
    """The weights of a fusion's systems, by query."""

    def __init__(
        self,
        systems: Sequence[System],
        context: Context,
        *,
        method: str,
        options: Mapping[str, Any],
        depth: int,
        measure: str | None,
        step: float | None,
    ) -> None:
        self._training = context.training_for("fuse with weights: train")
        refuse_trained("fuse", systems)
        if len(systems) < 2:
            raise InputError("fuse: expected two systems or more to train weights for, got one")
        self._systems, self._depth = systems, depth
        self._method, self._options = method, dict(options)
        self._measure, self._step = measure or MEASURE, step or STEP
        self._corpus: Corpus | None = None
        self._is_prepared = False
        self._runs: list[dict[str, dict[str, float]]] = []
        self._models = FoldModels(self._learnt, _loaded, key=self._key, cache=context.cache)

    def index(self, corpus: Corpus) -> None:
        """Forget what was learnt on another corpus."""
        if corpus is not self._corpus:
            self._corpus, self._is_prepared = corpus, False
            self._models.forget()

    def described(self) -> dict[str, Any]:
        """Say what is learnt from, and how."""
        return {
            "training": self._training.key,
            "measure": self._measure,
            "step": self._step,
        }

    def prepare(self) -> None:
        """Learn weights without each fold, and from all questions, unless they are known."""
        if self._is_prepared:
            return
        for folds in self._training.models():
            self._models[folds]
        self._runs, self._is_prepared = [], True

    def weights(self, query: Query) -> Weights:
        """Return weights learnt without this query."""
        self.prepare()
        return self._models[self._training.kept_from(query)]

    def _key(self) -> str:
        below = [system.identity().key for system in self._systems]
        return fingerprint(
            "fuse 1", below, self._method, self._depth, self._options, self.described()
        )

    def _learnt(self, folds: Folds) -> bytes:
        """Return the best weights for the questions of all other folds; equal ones, if too few."""
        queries = self._training.without(folds)
        if len(queries) < 2:
            return _written((1 / len(self._systems),) * len(self._systems))
        if not self._runs:
            self._runs = [
                {
                    query_id: dict(pairs)
                    for query_id, pairs in training_answers(
                        "fuse", system, self._training.queries, self._depth
                    ).items()
                }
                for system in self._systems
            ]
        query_ids = [query.query_id for query in queries]
        try:
            trained = train_weights(
                {query_id: self._training.qrels[query_id] for query_id in query_ids},
                [Run({query_id: run[query_id] for query_id in query_ids}) for run in self._runs],
                self._measure,
                method=self._method,
                folds=2,
                step=self._step,
                **self._options,
            )
        except InputError as error:
            raise InputError(f"fuse: {error}") from error
        return _written(tuple(trained.weights.values()))


def _written(weights: Weights) -> bytes:
    return json.dumps(weights).encode()


def _loaded(content: bytes) -> Weights:
    return tuple(json.loads(content))
