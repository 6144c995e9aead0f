"""Weights of a fusion, learnt from judgments: by a function, and by a stage of a pipeline.

All weights of a grid are tried on the judged queries. Those that a query is fused with are chosen
by what they score on other queries, and by nothing else: `train_weights` splits runs into folds by
the ids of queries, `TrainedWeights` follows the folds of a pipeline's `Training`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, shown
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.retrieval.protocol import Query, System, fingerprint
from rankscope.retrieval.registry import Context
from rankscope.retrieval.stages.training import (
    FoldModels,
    Folds,
    refuse_trained,
    training_answers,
)
from rankscope.runs.fusion.fuse import Fusion, fuse, named_runs
from rankscope.runs.table import Run
from rankscope.scoring.align import align
from rankscope.scoring.inputs import as_judgments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankscope.measures.judged import FloatArray

__all__ = ["Fold", "TrainedFusion", "train_weights"]

MOST_POINTS = 5000
"""A grid of more points is refused."""


class _Search:
    """What the fusions by all weights of a grid score on each judged query."""

    def __init__(
        self,
        qrels: Any,
        runs: Mapping[str, Run],
        *,
        measure: str | Measure,
        step: float,
        method: str,
        options: Mapping[str, Any],
    ) -> None:
        self.measure = Measure.parse(measure)
        self.judgments = judgments = as_judgments(qrels)
        self.grid = _grid(len(runs), step)
        fusion = Fusion(runs, method, options, only=sorted(judgments.query_ids), reuse=True)
        if not fusion.method.is_weighted:
            raise InputError(f"{fusion.method.name} takes no weights, so there are none to train")
        self.method = fusion.method.name
        fused = [align(judgments, fusion.run(point), sound=False).judged for point in self.grid]

        @cache
        def values(highest: float) -> FloatArray:
            return np.stack(
                [compute(self.measure, replace(run, max_grade=highest)) for run in fused]
            )

        self._values = values

    def values(self, highest: float) -> FloatArray:
        """Return values, weights × queries; some measures look at the highest grade."""
        return self._values(highest)

    def best(self, seen: NDArray[np.bool_]) -> tuple[int, float]:
        """Return the place of the best weights for some queries, and the measure over these.

        The highest grade is theirs: that of another query must not show through.
        """
        judgments = self.judgments
        highest = float(judgments.judged_grade[seen[judgments.judged_query]].max(initial=0.0))
        means = [aggregate(self.measure, row[seen]) for row in self.values(highest)]
        sign = 1.0 if self.measure.definition.higher_is_better else -1.0
        best = int(np.argmax(sign * np.array(means)))
        return best, means[best]


def _grid(runs: int, step: float) -> list[FloatArray]:
    """Return all weights that are multiples of ``step`` and add up to 1, the most equal first."""
    if runs < 2:
        raise InputError("weights are trained for two runs or more; there is one")
    is_number = isinstance(step, int | float) and 0 < step <= 1
    if not is_number or abs(round(1 / step) * step - 1) > 1e-9:
        raise InputError(f"step must be 1 divided by a whole number, such as 0.1, not {step}")
    steps = round(1 / step)
    points = comb(steps + runs - 1, runs - 1)
    if points > MOST_POINTS:
        raise InputError(
            f"a grid of {runs} runs in steps of 1/{steps} has {points:,} points, more than "
            f"{MOST_POINTS:,}; take larger steps"
        )
    levels = []
    for bars in combinations(range(steps + runs - 1), runs - 1):
        edges = (-1, *bars, steps + runs - 1)
        levels.append([high - low - 1 for low, high in pairwise(edges)])
    levels.sort(key=lambda each: (sum(level**2 for level in each), each))
    return [np.array(each) / steps for each in levels]


# --- runs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fold:
    """Some queries, scored with weights learnt from the others."""

    query_ids: tuple[str, ...]
    weights: dict[str, float]
    """Learnt from the queries of all other folds."""
    value: float
    """The measure over this fold's queries."""
    trained_value: float
    """The measure over the queries of all other folds, for which the weights are the best."""


@dataclass(frozen=True, slots=True)
class TrainedFusion:
    """Weights, and how good a fusion trained in this way is on queries it has not seen."""

    method: str
    options: dict[str, Any]
    measure: str
    weights: dict[str, float]
    """By run, adding up to 1, learnt from all judged queries: for new ones."""
    value: float
    """Cross-validated: over all judged queries, each fused with the weights of its fold."""
    trained_value: float
    """Over the queries the weights were learnt from: an upper bound, not an expectation."""
    values: dict[str, float]
    """Cross-validated, by query."""
    folds: tuple[Fold, ...]
    seed: int

    def fuse(self, runs: Any, *, depth: int | None = None, name: str | None = None) -> Run:
        """Fuse runs of the same systems with the weights, for queries that were not judged.

        Runs are taken in the order of training, whatever they are called.
        """
        weights = list(self.weights.values())
        return fuse(
            runs, method=self.method, weights=weights, depth=depth, name=name, **self.options
        )

    def held_out(self, runs: Any, *, name: str | None = None) -> Run:
        """Fuse the judged queries, each with the weights of its fold, which have not seen it.

        This run may be scored and compared with others on the same judgments.
        """
        named = named_runs(runs)
        parts = [
            Fusion(named, self.method, self.options, only=fold.query_ids).run(
                np.array(list(fold.weights.values()))
            )
            for fold in self.folds
        ]
        lists = {query_id: part[query_id] for part in parts for query_id in part.query_ids}
        return Run(lists, name=name or self.method)


def train_weights(
    qrels: Any,
    runs: Any,
    measure: str | Measure = "nDCG@10",
    *,
    method: str = "minmax",
    folds: int = 5,
    seed: int = 0,
    step: float = 0.1,
    **options: Any,
) -> TrainedFusion:
    """Learn the weights of a fusion by the measure they give, and cross-validate them.

    All weights that are multiples of ``step`` and add up to 1 are tried. Among equally good ones
    those nearest to equal weights are taken. ``options`` are the method's, as for `rankscope.fuse`.

    Queries are dealt to folds in the order of a hash of the seed and their id: the same split
    whatever order they come in. A judged query that no run has scores 0, as in `evaluate`.

    Raises:
        InputError: the method has no weights, there are fewer than two runs, fewer queries than
            folds, or too many weights to try.

    >>> qrels = {f"q{n}": {"good": 1} for n in range(4)}
    >>> right = {query_id: {"good": 2, "bad": 1} for query_id in qrels}
    >>> wrong = {query_id: {"good": 1, "bad": 9} for query_id in qrels}
    >>> trained = train_weights(qrels, [right, wrong], "RR", folds=2, step=0.25)
    >>> trained.weights, trained.value
    ({'run1': 0.5, 'run2': 0.5}, 1.0)
    """
    if not hasattr(folds, "__index__") or folds < 2:
        raise InputError(f"folds must be a whole number from 2 up, not {shown(folds)}")
    judgments, named = as_judgments(qrels), named_runs(runs)
    query_ids = judgments.query_ids
    if len(query_ids) < folds:
        raise InputError(
            f"{len(query_ids)} judged queries cannot be split into {folds} folds; ask for fewer "
            "folds"
        )
    search = _Search(judgments, named, measure=measure, step=step, method=method, options=options)
    digests = [
        hashlib.sha256(f"{seed}\0{query_id}".encode("utf-8", "surrogatepass")).digest()
        for query_id in query_ids
    ]
    fold_of = np.empty(len(query_ids), np.int64)
    fold_of[sorted(range(len(digests)), key=digests.__getitem__)] = np.arange(len(digests)) % folds
    held_out = np.empty(len(query_ids))
    made: list[Fold] = []
    for number in range(folds + 1):  # the last learns from all queries
        seen = fold_of != number
        point, trained_value = search.best(seen)
        weights = dict(zip(named, search.grid[point].tolist(), strict=True))
        if number < folds:
            unseen = search.values(judgments.max_grade)[point, ~seen]
            held_out[~seen] = unseen
            tested = tuple(sorted(query_ids[place] for place in np.flatnonzero(~seen)))
            made.append(Fold(tested, weights, aggregate(search.measure, unseen), trained_value))
    return TrainedFusion(
        method=search.method,
        options=options,
        measure=str(search.measure),
        weights=weights,
        value=aggregate(search.measure, held_out),
        trained_value=trained_value,
        values=dict(sorted(zip(query_ids, held_out.tolist(), strict=True))),
        folds=tuple(made),
        seed=seed,
    )


# --- a pipeline ----------------------------------------------------------------------------------

Weights = tuple[float, ...]


class TrainedWeights:
    """The weights of a fusion's systems, by query, learnt from a pipeline's training questions."""

    def __init__(
        self,
        systems: Sequence[System],
        context: Context,
        *,
        method: str,
        options: Mapping[str, Any],
        depth: int,
        measure: str,
        step: float,
    ) -> None:
        self._training = context.training_for("fuse with weights: train")
        refuse_trained("fuse", systems)
        if len(systems) < 2:
            raise InputError("fuse: expected two systems or more to train weights for, got one")
        self._systems, self._depth = systems, depth
        self._measure, self._step = measure, step
        self._method, self._options = method, options
        self._corpus: Corpus | None = None
        self._search: _Search | None = None
        self._models = FoldModels(self._learnt, _loaded, key=self._key, cache=context.cache)

    def index(self, corpus: Corpus) -> None:
        """Forget what was learnt on another corpus."""
        if corpus is not self._corpus:
            self._corpus, self._search = corpus, None
            self._models.forget()

    def described(self) -> dict[str, Any]:
        """Say what is learnt from, and how."""
        return {"training": self._training.key, "measure": self._measure, "step": self._step}

    def prepare(self) -> None:
        """Learn weights without each fold, and from all questions, unless they are known."""
        for folds in self._training.models():
            self._models[folds]
        self._search = None

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
        seen = {query.query_id for query in self._training.without(folds)}
        if len(seen) < 2:
            return json.dumps([1 / len(self._systems)] * len(self._systems)).encode()
        if self._search is None:
            self._search = self._made()
        query_ids = self._search.judgments.query_ids
        point, _ = self._search.best(np.array([query_id in seen for query_id in query_ids]))
        return json.dumps(self._search.grid[point].tolist()).encode()

    def _made(self) -> _Search:
        queries = self._training.queries
        runs = {
            f"system{number}": training_answers("fuse", system, queries, self._depth)
            for number, system in enumerate(self._systems, start=1)
        }
        qrels = {query.query_id: self._training.qrels[query.query_id] for query in queries}
        try:
            return _Search(
                qrels,
                runs,
                measure=self._measure,
                step=self._step,
                method=self._method,
                options=self._options,
            )
        except InputError as error:
            raise InputError(f"fuse: {error}") from error


def _loaded(content: bytes) -> Weights:
    return tuple(json.loads(content))
