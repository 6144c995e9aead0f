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
from math import comb, gcd
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
    from collections.abc import Iterator, Sequence

    from rankscope.measures.judged import BoolArray, IntArray, JudgedRun

__all__ = ["Fold", "TrainedFusion", "train_weights"]

MOST_POINTS = 5000
"""A grid of more points is refused."""

_Levels = tuple[int, ...]
"""Weights as whole numbers of steps, by run."""


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
    meant = Measure.parse(measure)
    steps = _steps(len(named), len(judgments.query_ids), folds, step)
    only = sorted(judgments.query_ids)
    fusion = Fusion(named, method, options, only=only, reuse=True)
    if not fusion.method.is_weighted:
        raise InputError(f"{fusion.method.name} takes no weights, so there are none to train")
    sign = 1.0 if meant.definition.higher_is_better else -1.0

    @cache
    def judged(levels: _Levels) -> JudgedRun:
        weights = np.array(levels) / sum(levels)
        return align(judgments, fusion.run(weights), sound=False).judged

    def part(levels: _Levels, keep: BoolArray) -> JudgedRun:
        """Return some queries; all weights of the same proportions are fused and aligned once."""
        return judged(tuple(level // gcd(*levels) for level in levels)).only(keep)

    def value(levels: _Levels, keep: BoolArray) -> float:
        """Return the measure over some queries, the higher the better."""
        seen = part(levels, keep)
        # some measures look at the highest grade of all judgments: that of a query that is not to
        # be seen must not show through
        seen = replace(seen, max_grade=float(seen.judged_grade.max(initial=0.0)))
        return sign * aggregate(meant, compute(meant, seen))

    # equal weights first: the squares of levels add up to least, and the first of equals is taken
    points = sorted(_grid(len(named), steps), key=lambda each: (sum(n**2 for n in each), each))
    numbers = _fold_numbers(judgments.query_ids, folds, seed)
    held_out: dict[str, float] = {}
    made: list[Fold] = []
    for fold in (*range(folds), -1):  # the last learns from all queries
        values = [value(levels, numbers != fold) for levels in points]
        best = int(np.argmax(values))
        levels, trained_value = points[best], sign * values[best]
        weights = {name: level / sum(levels) for name, level in zip(named, levels, strict=True)}
        if fold >= 0:
            unseen = part(levels, numbers == fold)
            measured = compute(meant, unseen)
            held_out.update(zip(unseen.query_ids, measured.tolist(), strict=True))
            query_ids = tuple(sorted(unseen.query_ids))
            made.append(Fold(query_ids, weights, aggregate(meant, measured), trained_value))
    by_query = dict(sorted(held_out.items()))
    return TrainedFusion(
        method=fusion.method.name,
        options=options,
        measure=str(meant),
        weights=weights,
        value=aggregate(meant, np.array(list(by_query.values()))),
        trained_value=trained_value,
        values=by_query,
        folds=tuple(made),
        seed=seed,
    )


def _steps(runs: int, queries: int, folds: int, step: float) -> int:
    """Refuse what cannot be trained; return how many steps make 1."""
    if runs < 2:
        raise InputError("weights are trained for two runs or more; there is one")
    if not hasattr(folds, "__index__") or folds < 2:
        raise InputError(f"folds must be a whole number from 2 up, not {shown(folds)}")
    if queries < folds:
        raise InputError(
            f"{queries} judged queries cannot be split into {folds} folds; ask for fewer folds"
        )
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
    return steps


def _fold_numbers(query_ids: Sequence[str], folds: int, seed: int) -> IntArray:
    """Deal queries to folds, as equal in size as can be, by a hash of the seed and the id."""
    digests = [
        hashlib.sha256(f"{seed}\0{query_id}".encode("utf-8", "surrogatepass")).digest()
        for query_id in query_ids
    ]
    number = np.empty(len(digests), np.int64)
    number[sorted(range(len(digests)), key=digests.__getitem__)] = np.arange(len(digests)) % folds
    return number


def _grid(runs: int, steps: int) -> Iterator[_Levels]:
    """Yield all ways to share ``steps`` among runs."""
    for bars in combinations(range(steps + runs - 1), runs - 1):
        edges = (-1, *bars, steps + runs - 1)
        yield tuple(high - low - 1 for low, high in pairwise(edges))
