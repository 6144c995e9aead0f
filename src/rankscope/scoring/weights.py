"""Training: the weights of a fusion, learnt from judgments and tested by cross-validation.

Over fusion and measures. Judged queries are split into folds by their ids. The weights a fold is
scored with come from the queries of all other folds, and from nothing else; the weights to use on
new queries come from all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import comb, gcd
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.runs.fusion.fuse import fuse, joined, named_runs, prepared
from rankscope.scoring.align import align
from rankscope.scoring.by_language import refuse_mixed
from rankscope.scoring.inputs import as_judgments

if TYPE_CHECKING:
    from rankscope.measures.judged import BoolArray, FloatArray, JudgedRun
    from rankscope.runs.fusion.fuse import Fusion
    from rankscope.runs.table import Run
    from rankscope.scoring.judgments import Judgments

__all__ = ["Fold", "Search", "TrainedFusion", "train_weights"]

Search = Literal["grid", "coordinate"]
"""All weights that add up to 1 in steps, or one run's weight after the other until none changes."""

MOST_POINTS = 5000
"""A grid of more points is refused."""

_ROUNDS = 20
_Levels = tuple[int, ...]


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
            prepared(named, self.method, self.options, only=fold.query_ids).run(
                np.array(list(fold.weights.values()))
            )
            for fold in self.folds
        ]
        return joined(parts, name or self.method)


def train_weights(
    qrels: Any,
    runs: Any,
    measure: str | Measure = "nDCG@10",
    *,
    method: str = "minmax",
    folds: int = 5,
    seed: int = 0,
    search: Search = "grid",
    step: float = 0.1,
    **options: Any,
) -> TrainedFusion:
    """Learn the weights of a fusion by the measure they give, and cross-validate them.

    ``search="grid"`` tries all weights that are multiples of ``step`` and add up to 1;
    ``"coordinate"`` begins with equal weights and changes one run's at a time, in the same steps,
    until no change is better. Among equally good weights those nearest to equal ones are taken.
    ``options`` are the method's, as for `rankscope.fuse`.

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
    judgments = as_judgments(qrels)
    refuse_mixed(judgments)
    named = named_runs(runs)
    meant = Measure.parse(measure)
    steps = _steps(step)
    _check(judgments, len(named), folds)
    fusion = prepared(named, method, options, only=sorted(judgments.query_ids))
    if not fusion.method.is_weighted:
        raise InputError(f"{fusion.method.name} takes no weights, so there are none to train")
    fusion.keep()
    trials = _Trials(fusion, judgments, meant)
    find = _searcher(search, len(named), steps)

    def by_name(levels: _Levels) -> dict[str, float]:
        return dict(zip(named, _weights(levels).tolist(), strict=True))

    number = _fold_numbers(judgments.query_ids, folds, seed)
    held_out: dict[str, float] = {}
    made = []
    for fold in range(folds):
        train, test = number != fold, number == fold
        levels, trained = find(trials.on(train))
        values = trials.values(levels, test)
        held_out |= values
        made.append(
            Fold(
                query_ids=tuple(values),
                weights=by_name(levels),
                value=_mean(meant, values.values()),
                trained_value=trained * trials.sign,
            )
        )
    levels, trained = find(trials.on(np.ones_like(number, np.bool_)))
    values = dict(sorted(held_out.items()))
    return TrainedFusion(
        method=fusion.method.name,
        options=options,
        measure=str(meant),
        weights=by_name(levels),
        value=_mean(meant, values.values()),
        trained_value=trained * trials.sign,
        values=values,
        folds=tuple(made),
        seed=seed,
    )


def _check(judgments: Judgments, runs: int, folds: int) -> None:
    if runs < 2:
        raise InputError("weights are trained for two runs or more; there is one")
    queries = len(judgments.query_ids)
    if not hasattr(folds, "__index__") or folds < 2:
        raise InputError(f"folds must be a whole number from 2 up, not {shown(folds)}")
    if queries < folds:
        raise InputError(
            f"{queries} judged queries cannot be split into {folds} folds; ask for fewer folds"
        )


def _steps(step: float) -> int:
    """Return how many steps make 1."""
    is_number = isinstance(step, int | float) and 0 < step <= 1
    if not is_number or abs(round(1 / step) * step - 1) > 1e-9:
        raise InputError(f"step must be 1 divided by a whole number, such as 0.1, not {step}")
    return round(1 / step)


def _fold_numbers(query_ids: Iterable[str], folds: int, seed: int) -> np.ndarray[Any, Any]:
    """Deal queries to folds, as equal in size as can be, by a hash of the seed and the id."""
    ids = list(query_ids)
    digests = [
        hashlib.sha256(f"{seed}\0{query_id}".encode("utf-8", "surrogatepass")).digest()
        for query_id in ids
    ]
    number = np.empty(len(ids), np.int64)
    number[sorted(range(len(ids)), key=digests.__getitem__)] = np.arange(len(ids)) % folds
    return number


def _weights(levels: _Levels) -> FloatArray:
    made: FloatArray = np.array(levels) / sum(levels)
    return made


def _mean(measure: Measure, values: Iterable[float]) -> float:
    return aggregate(measure, np.fromiter(values, np.float64))


_Value = Callable[[_Levels], float]
_Find = Callable[[_Value], tuple[_Levels, float]]


class _Trials:
    """Weights that were tried, each fused and judged once."""

    def __init__(self, fusion: Fusion, judgments: Judgments, measure: Measure) -> None:
        self._fusion = fusion
        self._judgments = judgments
        self._measure = measure
        self.sign = 1.0 if measure.definition.higher_is_better else -1.0
        self._judged: dict[_Levels, JudgedRun] = {}

    def _run(self, levels: _Levels) -> JudgedRun:
        common = gcd(*levels)
        key = tuple(level // common for level in levels)
        if key not in self._judged:
            run = self._fusion.run(_weights(key))
            self._judged[key] = align(self._judgments, run, sound=False).judged
        return self._judged[key]

    def values(self, levels: _Levels, keep: BoolArray, *, alone: bool = False) -> dict[str, float]:
        """Return the values of some queries, by id in order.

        ``alone`` takes these queries for all there are: some measures look at the highest grade of
        all judgments, and that of a query that is not to be seen must not show through.
        """
        part = self._run(levels).only(keep)
        if alone:
            part = replace(part, max_grade=float(part.judged_grade.max(initial=0.0)))
        values = compute(self._measure, part).tolist()
        return dict(sorted(zip(part.query_ids, values, strict=True)))

    def on(self, keep: BoolArray) -> _Value:
        """Return the function to be made large: the measure over some queries, seen alone."""

        def value(levels: _Levels) -> float:
            values = self.values(levels, keep, alone=True)
            return self.sign * _mean(self._measure, values.values())

        return value


def _searcher(search: str, runs: int, steps: int) -> _Find:
    if search == "coordinate":
        return lambda value: _by_coordinate(value, runs, steps)
    if search != "grid":
        raise UnknownNameError("search", str(search), ("grid", "coordinate"))
    points = comb(steps + runs - 1, runs - 1)
    if points > MOST_POINTS:
        raise InputError(
            f"a grid of {runs} runs in steps of 1/{steps} has {points:,} points, more than "
            f"{MOST_POINTS:,}; take larger steps or search='coordinate'"
        )
    return lambda value: _by_grid(value, runs, steps)


def _grid(runs: int, steps: int) -> Iterator[_Levels]:
    """Yield all ways to share ``steps`` among runs."""
    for bars in combinations(range(steps + runs - 1), runs - 1):
        edges = (-1, *bars, steps + runs - 1)
        yield tuple(high - low - 1 for low, high in pairwise(edges))


def _by_grid(value: _Value, runs: int, steps: int) -> tuple[_Levels, float]:
    def spread(levels: _Levels) -> int:
        return sum(level * level for level in levels)  # lowest where all are equal

    points = sorted(_grid(runs, steps), key=lambda levels: (spread(levels), levels))
    values = [value(levels) for levels in points]
    best = int(np.argmax(values))  # the first of equals
    return points[best], values[best]


def _by_coordinate(value: _Value, runs: int, steps: int) -> tuple[_Levels, float]:
    best: _Levels = (steps,) * runs
    reached = value(best)
    for _ in range(_ROUNDS):
        before = best
        for place in range(runs):
            for level in range(steps + 1):
                tried = (*best[:place], level, *best[place + 1 :])
                if any(tried) and (now := value(tried)) > reached:
                    best, reached = tried, now
        if best == before:
            break
    return best, reached
