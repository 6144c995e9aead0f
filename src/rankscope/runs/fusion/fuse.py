"""Fusion: several runs into one.

The verb over pooling, normalisation and the fusion methods: it takes runs in any form, checks what
was asked for, and makes a run of the scores that a method gives, best document first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import is_path
from rankscope.runs import order
from rankscope.runs.fusion.methods import method_named
from rankscope.runs.fusion.normalisation import normalisation_named
from rankscope.runs.fusion.pooling import SideBySide
from rankscope.runs.naming import run_names
from rankscope.runs.table import Run, as_run

if TYPE_CHECKING:
    from rankscope.runs.fusion.methods import Method
    from rankscope.runs.fusion.pooling import Pool
    from rankscope.runs.order import Floats, Ints

__all__ = ["fuse"]

DEFAULTS: dict[str, Any] = {
    "k": 60,
    "p": 0.9,
    "sigma": 0.0,
    "segments": 25,
    "normalise": None,
    "qrels": None,
    "weights": None,
}
"""What the options are unless they are given."""


def fuse(
    runs: Any,
    *,
    method: str = "rrf",
    k: float = 60,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    normalise: str | None = None,
    depth: int | None = None,
    name: str | None = None,
    p: float = 0.9,
    sigma: float = 0.0,
    segments: int = 25,
    qrels: Any = None,
) -> Run:
    """Fuse runs into one: for each query all documents any run returned, best first.

    ``runs`` is a list, or a dict by name, of runs in any form: tables, dicts, frames, paths. The
    methods with their formulas are in docs/reference/fusion.md; each takes some of the options:

    - ``k`` (rrf), ``p`` (rbc), ``sigma`` (logisr), ``segments`` and ``qrels`` (probfuse)
    - ``weights``: one for each run, in order or by name; only their proportions matter
    - ``normalise`` (comb…): minmax, zscore, rank, sum or max; by default scores are taken as given

    ``depth`` keeps the best so many documents of each fused list. The run is called ``name``, or
    as the method.

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
    options: dict[str, Any] = {"k": k, "p": p, "sigma": sigma, "segments": segments}
    options |= {"normalise": normalise, "qrels": qrels, "weights": weights}
    if depth is not None:
        _check_whole("depth", depth)
    named = named_runs(runs)
    fusion = prepared(named, method, options)
    chosen = weights_of(weights, list(named))
    return fusion.run(chosen, depth=depth, name=name or fusion.method.name)


def prepared(
    runs: Mapping[str, Run],
    method: str,
    options: Mapping[str, Any] | None = None,
    *,
    only: Sequence[str] | None = None,
) -> Fusion:
    """Check what was asked for and bring runs side by side; ``only`` names the queries to fuse."""
    chosen = method_named(method)
    for option in options or {}:
        if option not in DEFAULTS:
            raise UnknownNameError("option of fusion", option, DEFAULTS)
    settings = {**DEFAULTS, **(options or {})}
    for option, value in settings.items():
        default = DEFAULTS[option]
        is_set = value is not default and not (isinstance(value, int | float) and value == default)
        if is_set and option not in chosen.options:
            raise InputError(
                f"{chosen.name} takes no {option}; it takes {' and '.join(chosen.options)}"
            )
    _check(settings)
    side = SideBySide(list(runs.values()), only)
    asked = {name: settings[name] for name in chosen.options if name != "weights"}
    if chosen.prepare is not None:
        asked = chosen.prepare(side, asked)
    return Fusion(side, chosen, asked)


@dataclass(eq=False)
class Fusion:
    """Runs side by side and a method: all that fusing needs but the weights."""

    side: SideBySide
    method: Method
    options: dict[str, Any]
    _pools: list[Pool] | None = None

    def keep(self) -> None:
        """Keep the pools in memory, for fusing many times with different weights."""
        self._pools = list(self.side.pools())

    def run(self, weights: Floats, *, depth: int | None = None, name: str = "fused") -> Run:
        """Fuse with these weights."""
        options = dict(self.options)
        if self.method.is_weighted:
            options["weights"] = weights
        sizes = np.zeros(len(self.side.query_ids), np.int64)
        doc_ids, scores = [pl.Series("doc_id", dtype=pl.String)], [np.empty(0)]
        for pool in self._pools if self._pools is not None else self.side.pools():
            with np.errstate(over="ignore", invalid="ignore"):
                score = self.method.function(pool, **options)
            self._check_finite(pool, score)
            rows, size = _best(pool, score, depth)
            sizes[pool.low : pool.low + pool.queries] = size
            doc_ids.append(pool.doc_id.gather(rows))
            scores.append(score[rows] + 0.0)  # no negative zero
        return Run.trusted(
            self.side.query_ids,
            sizes,
            pl.concat(doc_ids),
            np.concatenate(scores),
            name=name,
            is_best_first=True,
        )

    def _check_finite(self, pool: Pool, score: Floats) -> None:
        bad = np.flatnonzero(~np.isfinite(score))
        if bad.size:
            query_id = self.side.query_ids[pool.low + int(pool.query[bad[0]])]
            raise InputError(
                f"query {shown(query_id)}: the fused score of document "
                f"{shown(pool.doc_id[int(bad[0])])} is too large to be a number; scale the scores "
                "or normalise them"
            )


def _best(pool: Pool, score: Floats, depth: int | None) -> tuple[Ints, Ints]:
    """Return the candidates in their new order, cut at a depth, and how many each query has."""
    rows, size = pool.by_query, pool.candidates
    offsets = np.concatenate([[0], np.cumsum(size)])
    best = order.best_first(offsets, score[rows], lambda at: pool.doc_id.gather(rows[at]))
    in_order = rows if best is None else rows[best]
    if depth is None:
        return in_order, size
    place = np.arange(len(rows)) - np.repeat(offsets[:-1], size)
    return in_order[place < depth], np.minimum(size, depth)


def joined(runs: Sequence[Run], name: str) -> Run:
    """Put runs of different queries, each of them best first, together."""
    return Run.trusted(
        [query_id for run in runs for query_id in run.query_ids],
        np.concatenate([run.sizes for run in runs]),
        pl.concat([run.doc_ids for run in runs]),
        np.concatenate([run.scores.to_numpy() for run in runs]),
        name=name,
        is_best_first=all(run.best_first() is None for run in runs),
    )


def named_runs(runs: Any) -> dict[str, Run]:
    """Take a list or a dict of runs in any form, each under its name."""
    if isinstance(runs, Run) or is_path(runs) or hasattr(runs, "__arrow_c_stream__"):
        runs = [runs]
    if isinstance(runs, Mapping):
        named = {str(name): _taken(run, str(name)) for name, run in runs.items()}
    elif isinstance(runs, Iterable):
        given = list(runs)
        listed = [_taken(run, f"run{number}") for number, run in enumerate(given, start=1)]
        named = dict(zip(run_names(listed, given), listed, strict=True))
    else:
        raise InputError(f"expected a list of runs, got {shown(type(runs).__name__)}")
    if not named:
        raise InputError("there is no run to fuse; give a list of runs")
    return named


def _taken(run: Any, name: str) -> Run:
    """Take one run in any form; tell a run in the place of a list of runs."""
    if isinstance(run, Mapping) and any(isinstance(v, int | float) for v in run.values()):
        raise InputError(
            f"{name} holds numbers where lists of documents should be; give a list of runs, each "
            "{query_id: {doc_id: score}}"
        )
    return as_run(run, name=name)


def weights_of(
    weights: Sequence[float] | Mapping[str, float] | None, names: Sequence[str]
) -> Floats:
    """Return one weight for each run, in order; 1 for all if none is given."""
    if weights is None:
        return np.ones(len(names))
    if isinstance(weights, Mapping):
        for name in weights:
            if name not in names:
                raise UnknownNameError("run in the weights", str(name), names)
        missing = [name for name in names if name not in weights]
        if missing:
            raise InputError(f"run {shown(missing[0])} has no weight; give one for each run")
        weights = [weights[name] for name in names]
    listed = list(weights)
    if len(listed) != len(names):
        raise InputError(
            f"there are {len(names)} runs and {len(listed)} weights; give one weight for each run"
        )
    for weight in listed:
        if not _is_number(weight) or weight < 0:
            raise InputError(f"a weight must be a number from 0 up, not {_plain(weight)}")
    if not any(listed):
        raise InputError("all weights are 0; give at least one run a weight above 0")
    return np.array(listed, np.float64)


def _check(settings: Mapping[str, Any]) -> None:
    """Refuse options out of their range."""
    if not _is_number(settings["k"]) or settings["k"] <= 0:
        raise InputError(f"k must be a number above 0, not {_plain(settings['k'])}")
    if not _is_number(settings["p"]) or not 0 < settings["p"] < 1:
        raise InputError(f"p must be strictly between 0 and 1, not {_plain(settings['p'])}")
    if not _is_number(settings["sigma"]) or settings["sigma"] < 0:
        raise InputError(f"sigma must be a number from 0 up, not {_plain(settings['sigma'])}")
    _check_whole("segments", settings["segments"])
    if settings["normalise"] is not None:
        normalisation_named(settings["normalise"])


def _check_whole(name: str, value: Any) -> None:
    whole = hasattr(value, "__index__") and not isinstance(value, bool)
    if not whole or value < 1:
        raise InputError(f"{name} must be a whole number from 1 up, not {_plain(value)}")


def _is_number(value: Any) -> bool:
    is_real = hasattr(value, "__float__") and not isinstance(value, bool | str)
    return is_real and math.isfinite(float(value))


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else shown(value).strip("'\"")
