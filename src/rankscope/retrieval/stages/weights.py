"""Training: the weights of a fusion, learnt from judgments and tested by cross-validation.

Over fusion and measures. Judged queries are split into folds by their ids. The weights a fold is
scored with come from the queries of all other folds, and from nothing else; the weights to use on
new queries come from all of them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError, shown
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.runs.fusion.fuse import Fusion, fuse, named_runs
from rankscope.runs.table import Run
from rankscope.scoring.align import align
from rankscope.scoring.inputs import as_judgments

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray

__all__ = ["Fold", "TrainedFusion", "train_weights"]

MOST_POINTS = 5000
"""A grid of more points is refused."""


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
    judgments, named = as_judgments(qrels), named_runs(runs)
    meant, query_ids = Measure.parse(measure), judgments.query_ids
    grid = _grid(len(named), step)
    if not hasattr(folds, "__index__") or folds < 2:
        raise InputError(f"folds must be a whole number from 2 up, not {shown(folds)}")
    if len(query_ids) < folds:
        raise InputError(
            f"{len(query_ids)} judged queries cannot be split into {folds} folds; ask for fewer "
            "folds"
        )
    fusion = Fusion(named, method, options, only=sorted(query_ids), reuse=True)
    if not fusion.method.is_weighted:
        raise InputError(f"{fusion.method.name} takes no weights, so there are none to train")
    fused = [align(judgments, fusion.run(weights), sound=False).judged for weights in grid]

    @cache
    def values(highest: float) -> FloatArray:
        """Measure all fusions: weights × queries; some measures look at the highest grade."""
        return np.stack([compute(meant, replace(run, max_grade=highest)) for run in fused])

    digests = [
        hashlib.sha256(f"{seed}\0{query_id}".encode("utf-8", "surrogatepass")).digest()
        for query_id in query_ids
    ]
    fold_of = np.empty(len(query_ids), np.int64)
    fold_of[sorted(range(len(digests)), key=digests.__getitem__)] = np.arange(len(digests)) % folds
    sign = 1.0 if meant.definition.higher_is_better else -1.0
    held_out = np.empty(len(query_ids))
    made: list[Fold] = []
    for number in range(folds + 1):  # the last learns from all queries
        seen = fold_of != number
        # that of a query that is not to be seen must not show through
        highest = float(judgments.judged_grade[seen[judgments.judged_query]].max(initial=0.0))
        means = [aggregate(meant, row[seen]) for row in values(highest)]
        best = int(np.argmax(sign * np.array(means)))
        weights = dict(zip(named, grid[best].tolist(), strict=True))
        if number < folds:
            unseen = values(judgments.max_grade)[best, ~seen]
            held_out[~seen] = unseen
            tested = tuple(sorted(query_ids[place] for place in np.flatnonzero(~seen)))
            made.append(Fold(tested, weights, aggregate(meant, unseen), means[best]))
    return TrainedFusion(
        method=fusion.method.name,
        options=options,
        measure=str(meant),
        weights=weights,
        value=aggregate(meant, held_out),
        trained_value=means[best],
        values=dict(sorted(zip(query_ids, held_out.tolist(), strict=True))),
        folds=tuple(made),
        seed=seed,
    )


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
