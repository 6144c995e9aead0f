"""Fusion: several runs into one, and the scores of a run brought to another scale.

The verbs over pooling, normalisation and the fusion methods: they take runs in any form, check the
options, and make a run of the scores that a method gives, best document first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import is_path
from rankscope.runs import order
from rankscope.runs.fusion.learning import Training
from rankscope.runs.fusion.methods import method_named
from rankscope.runs.fusion.pooling import (
    INVERTED,
    NORMALISATIONS,
    Pool,
    SideBySide,
    normalisation_named,
)
from rankscope.runs.run_files import run_names
from rankscope.runs.table import Run, as_run
from rankscope.tables.columns import NO_COLUMNS, Columns

if TYPE_CHECKING:
    from rankscope.runs.order import Floats

__all__ = ["fuse", "normalize"]


def fuse(
    runs: Any,
    *,
    method: str = "rrf",
    weights: Sequence[float] | Mapping[str, float] | None = None,
    normalise: str | None = None,
    qrels: Any = None,
    depth: int | None = None,
    name: str | None = None,
    query: str | None = None,
    retrieved: str | None = None,
    doc: str | None = None,
    score: str | None = None,
    **constants: float | None,
) -> Run:
    """Fuse runs into one: for each query all documents any run returned, best first.

    ``runs`` is a list, or a dict by name, of runs in any form: tables, dicts, frames, paths. The
    methods with their formulas are in docs/how-to/fuse-and-train.md; ranx's names work too. Each
    method takes some of the options:

    - ``weights``: one for each run, in order or by name; only their proportions matter
    - ``normalise``, of methods that use scores: a rule of `normalize`; by default scores are taken
      as given
    - ``qrels``: the judgments that trained methods learn from, of queries in the runs. A query is
      fused by what the other judged queries show, never by its own judgments
    - ``constants``: ``k`` (rrf: 60), ``p`` (rbc: 0.9), ``sigma`` (lognisr: 0.01), ``gamma``
      (gmnz: 1), ``segments`` (probfuse: 25), ``window`` (slidefuse: 5)

    ``depth`` keeps the best so many documents of each fused list. The run is called ``name``, or
    as the method. ``query``, ``retrieved``, ``doc`` and ``score`` name columns of tables, as in
    `evaluate`.

    Documents are ranked, in the runs as in the result, by score from high to low and then by id
    from high to low by bytes. A query that only some runs have is fused from these; one for which
    no run has a document stays, empty. A single run is allowed.

    Raises:
        UnknownNameError: no such method, normalisation, or run in the weights.
        InputError: an option the method does not take or that is out of range, weights that are
            not one number from 0 up for each run, no run, or fused scores that are not finite.

    >>> fuse([{"q": {"a": 9, "b": 8}}, {"q": {"b": 0.7, "c": 0.2}}], method="minmax")["q"]
    {'b': 1.0, 'a': 1.0, 'c': 0.0}
    >>> fuse({"bm25": {"q": ["a", "b"]}, "dense": {"q": ["b", "c"]}}, depth=1)
    Run 'rrf': 1 rows, 1 queries
    ...
    """
    columns = Columns(query=query, retrieved=retrieved, doc=doc, score=score)
    named = named_runs(runs, columns)
    options = {"weights": weights, "normalise": normalise, "qrels": qrels, **constants}
    fusion = Fusion(named, method, options)
    by_run = _weights(weights, list(named))
    return fusion.run(by_run, depth=depth, name=name or fusion.method.name)


def normalize(run: Any, method: str = "minmax") -> Any:
    """Bring the scores of a run to another scale, query by query.

    ``method`` is minmax, minmaxinverted (of distances: the lowest first), zscore, rank, sum, max or
    borda, or ranx's name for it, such as min-max or zmuv; docs/how-to/fuse-and-train.md has the
    formulas. ``run`` is a run in any form, or a list of runs, for which a list is returned: by
    borda, each of them then has all documents that any of them returned.

    >>> normalize({"q": {"a": 9.0, "b": 8.0, "c": 5.0}})["q"]
    {'a': 1.0, 'b': 0.75, 'c': 0.0}
    >>> normalize({"q": {"near": 0.1, "far": 0.9}}, "min-max-inverted")["q"]
    {'near': 1.0, 'far': 0.0}
    """
    rule = normalisation_named(method)
    if not isinstance(run, list | tuple):
        return _normalised([as_run(run)], rule)[0]
    runs = [as_run(each, name=f"run{number}") for number, each in enumerate(run, start=1)]
    together = [runs] if rule == "borda" and runs else [[each] for each in runs]
    return [each for group in together for each in _normalised(group, rule)]


def _normalised(runs: Sequence[Run], rule: str) -> list[Run]:
    """Normalise runs together."""
    side = SideBySide([_turned(run, rule) for run in runs])
    tables = [(pool, NORMALISATIONS[rule](pool)) for pool in side.pools()]
    return [
        _ranked(side, ((pool, table[:, which]) for pool, table in tables), run.name)
        for which, run in enumerate(runs)
    ]


def _turned(run: Run, rule: str | None) -> Run:
    """Return a run that is to be normalised; of distances, such that the lowest are the best."""
    if rule != INVERTED:
        return run
    scores = -run.scores.to_numpy()
    return Run.trusted(run.query_ids, run.sizes, run.doc_ids, scores, name=run.name)


class Fusion:
    """Runs side by side, a method and its options, checked: all that fusing needs but the weights.

    ``only`` names the queries to fuse. ``reuse`` keeps in memory what the method looks at, for
    fusing many times with different weights.
    """

    def __init__(
        self,
        runs: Mapping[str, Run],
        method: str,
        options: Mapping[str, Any],
        *,
        only: Sequence[str] | None = None,
        reuse: bool = False,
    ) -> None:
        self.method = method_named(method)
        given = {option: value for option, value in options.items() if value is not None}
        for option, value in given.items():
            if option not in self.method.options:
                takes = " and ".join(self.method.options)
                raise InputError(f"{self.method.name} takes no {option}; it takes {takes}")
            if option in _RANGES:
                _check(option, value, *_RANGES[option])
        settings = {**self.method.options, **given}
        settings.pop("weights", None)
        rule, qrels = settings.pop("normalise", None), settings.pop("qrels", None)
        self._settings, self._rule = settings, rule and normalisation_named(rule)
        self._side = SideBySide([_turned(run, self._rule) for run in runs.values()], only)
        self._training: Training | None = None
        if self.method.learns is not None:
            lesson = self.method.learns(settings)
            self._training = Training(self._side, self.method.name, qrels, lesson)
        self._known = list(self._inputs()) if reuse else None

    def _inputs(self) -> Iterator[tuple[Pool, dict[str, Any]]]:
        """Yield the pools, each with what the method looks at."""
        for pool in self._side.pools():
            known: dict[str, Any] = {"pool": pool, "rank": pool.table(pool.rank)}
            if "score" in self.method.inputs:
                rule = self._rule and NORMALISATIONS[self._rule]
                known["score"] = rule(pool) if rule else pool.table(pool.score)
            if self._training is not None:
                known["chances"] = self._training.chances(pool)
                known["chance"] = pool.table(known["chances"])
            yield pool, {name: known[name] for name in self.method.inputs if name in known}

    def run(self, weights: Floats, *, depth: int | None = None, name: str = "fused") -> Run:
        """Fuse with these weights."""
        if depth is not None:
            _check("depth", depth, *_WHOLE)
        settings = self._settings | ({"weights": weights} if self.method.is_weighted else {})

        def scored() -> Iterator[tuple[Pool, Floats]]:
            for pool, inputs in self._known or self._inputs():
                with np.errstate(over="ignore", invalid="ignore"):
                    values = self.method.function(**inputs, **settings)
                bad = np.flatnonzero(~np.isfinite(values))
                if bad.size:
                    number, doc_id = pool.known.row(int(bad[0]))
                    raise InputError(
                        f"query {shown(self._side.query_ids[pool.low + number])}, document "
                        f"{shown(doc_id)}: the fused score is too large; normalise the scores"
                    )
                yield pool, values

        return _ranked(self._side, scored(), name, depth)


def _ranked(
    side: SideBySide,
    scored: Iterable[tuple[Pool, Floats]],
    name: str,
    depth: int | None = None,
) -> Run:
    """Make a run of candidates with their scores; one whose score is NaN is left out."""
    sizes = np.zeros(len(side.query_ids), np.int64)
    doc_ids, scores = [pl.Series("doc_id", dtype=pl.String)], [np.empty(0)]
    for pool, score in scored:
        rows = pool.by_query[~np.isnan(score[pool.by_query])]
        size = np.bincount(pool.query_of[rows], minlength=pool.queries)
        offsets = np.concatenate([[0], np.cumsum(size)])
        documents, values = pool.known["doc_id"].gather(rows), score[rows] + 0.0  # no negative zero
        best = order.best_first(offsets, values, documents.gather)
        best = np.arange(len(rows)) if best is None else best
        if depth is not None:
            best = best[np.arange(len(rows)) - np.repeat(offsets[:-1], size) < depth]
            size = np.minimum(size, depth)
        sizes[pool.low : pool.low + pool.queries] = size
        doc_ids.append(documents.gather(best))
        scores.append(values[best])
    documents, values = pl.concat(doc_ids), np.concatenate(scores)
    return Run.trusted(side.query_ids, sizes, documents, values, name=name, is_best_first=True)


def named_runs(runs: Any, columns: Columns = NO_COLUMNS) -> dict[str, Run]:
    """Take a list or a dict of runs in any form, each under its name."""
    if isinstance(runs, Run) or is_path(runs) or hasattr(runs, "__arrow_c_stream__"):
        runs = [runs]
    if isinstance(runs, Mapping):
        named = {str(n): as_run(run, name=str(n), columns=columns) for n, run in runs.items()}
    elif isinstance(runs, Iterable):
        given = list(runs)
        listed = [
            as_run(run, name=f"run{n}", columns=columns) for n, run in enumerate(given, start=1)
        ]
        named = dict(zip(run_names(listed, given), listed, strict=True))
    else:
        raise InputError(f"expected a list of runs, got {shown(type(runs).__name__)}")
    if not named:
        raise InputError("there is no run to fuse; give a list of runs")
    return named


def _weights(weights: Sequence[float] | Mapping[str, float] | None, names: Sequence[str]) -> Floats:
    """Return one weight for each run, in order; 1 for all if none is given."""
    if weights is None:
        return np.ones(len(names))
    if isinstance(weights, Mapping):
        unknown = [str(name) for name in weights if name not in names]
        if unknown:
            raise UnknownNameError("run in the weights", unknown[0], names)
        weights = [weights[name] for name in names if name in weights]
    listed = list(weights)
    if len(listed) != len(names):
        raise InputError(
            f"there are {len(names)} runs and {len(listed)} weights; give one weight for each run"
        )
    for weight in listed:
        _check("a weight", weight, *_FROM_0)
    if not any(listed):
        raise InputError("all weights are 0; give at least one run a weight above 0")
    return np.array(listed, np.float64)


_FROM_0 = ("a number from 0 up", lambda value: value >= 0)
_WHOLE = ("a whole number from 1 up", lambda value: value >= 1 and isinstance(value, Integral))
_RANGES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "k": ("a number above 0", lambda value: value > 0),
    "p": ("strictly between 0 and 1", lambda value: 0 < value < 1),
    "sigma": _FROM_0,
    "gamma": _FROM_0,
    "segments": _WHOLE,
    "window": _WHOLE,
}
"""The numbers that may be set: what they must be, in words and as a test."""


def _check(name: str, value: Any, words: str, is_right: Callable[[Any], bool]) -> None:
    """Refuse a number out of its range."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not is_right(value):
        given = f"{value:g}" if is_number else shown(value)
        raise InputError(f"{name} must be {words}, not {given}")
