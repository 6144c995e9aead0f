"""Compare: from qrels and several runs to differences, how sure they are, and verdicts.

`compare` scores the runs, pairs them by query id and asks `rankscope.statistics`; a `Comparison` is
all that reports read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.measures.language import DEFAULT_MEASURES, Measure
from rankscope.scoring.evaluate import Accounting, Scores, evaluate
from rankscope.statistics.arrays import row_means
from rankscope.statistics.intervals import Interval, mean_intervals
from rankscope.statistics.many import Anova, anova
from rankscope.statistics.pairwise import (
    Pair,
    Scale,
    Settings,
    compare_pairs,
    group_letters,
    pair_tests,
)
from rankscope.statistics.seeds import SeedSplit, split_variance
from rankscope.statistics.strata import StratifiedPair, stratify

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray
    from rankscope.scoring.rules import Profile, QueryPolicy
    from rankscope.statistics.correction import Correction
    from rankscope.statistics.intervals import Method
    from rankscope.statistics.pairwise import Family, PairTest

__all__ = ["Comparison", "SystemMean", "compare", "compare_scores"]

UNLABELLED = "(none)"
"""The stratum of queries nothing is known about."""


@dataclass(frozen=True, slots=True)
class SystemMean:
    """One system's mean of one measure; systems that share a letter cannot be told apart."""

    run: str
    measure: str
    value: float
    interval: Interval
    letters: str
    best: bool
    """Whether no other mean is better; not whether the difference is more than chance."""
    seeds: SeedSplit | None = None
    """Where the system is several runs: what its values vary with."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "run": self.run,
            "measure": self.measure,
            "mean": self.value,
            "interval": self.interval.to_dict(),
            "letters": self.letters,
            "best": self.best,
            **({} if self.seeds is None else {"seeds": self.seeds.to_dict()}),
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """The result of `compare`: means with intervals and letters, pairs with verdicts."""

    runs: tuple[str, ...]
    measures: dict[str, str]
    """For each measure, by its canonical name, the name it was asked for."""
    baseline: str | None
    queries: int
    """Queries the means and differences are over, the same for all runs."""
    left_out: int
    """Judged queries that are not among them, because a run lacks them and the policy says so."""
    means: tuple[SystemMean, ...]
    pairs: tuple[Pair, ...]
    anova: dict[str, Anova]
    """With three runs or more: whether any differs, by measure."""
    strata: tuple[StratifiedPair, ...]
    settings: Settings
    profile: str
    accounting: dict[str, Accounting]

    def mean(self, run: str, measure: str | Measure | None = None) -> SystemMean:
        """Return one run's mean; of the first measure, if none is named."""
        if run not in self.runs:
            raise UnknownNameError("run", run, self.runs)
        key = self._measure(measure)
        return next(one for one in self.means if (one.run, one.measure) == (run, key))

    def pair(
        self, system: str, base: str | None = None, measure: str | Measure | None = None
    ) -> Pair:
        """Return the comparison of a system with a base (the baseline, if there is one)."""
        base = self.baseline if base is None else base
        key = self._measure(measure)
        for one in self.pairs:
            if (one.system, one.base, one.measure) == (system, base, key):
                return one
        compared = [f"{one.system} against {one.base}" for one in self.pairs if one.measure == key]
        raise UnknownNameError("pair", f"{system} against {base}", compared)

    def _measure(self, measure: str | Measure | None) -> str:
        if measure is None:
            return next(iter(self.measures))
        if str(measure) in self.measures:
            return str(measure)
        key = str(Measure.parse(measure))
        if key not in self.measures:
            raise UnknownNameError("measure in this comparison", str(measure), self.measures)
        return key

    @property
    def family(self) -> str:
        """Say which tests were corrected together, and how."""
        count = len(self.pairs) // len(self.measures)
        settings = self.settings
        each = "the one pair" if count == 1 else f"the {count} pairs"
        if settings.family == "all" and len(self.measures) > 1:
            each = f"all {len(self.pairs)} pairs of {len(self.measures)} measures together"
        elif len(self.measures) > 1:
            each += " of each measure"
        if settings.test == "tukey" and settings.family == "measure":
            return "family: all pairs of each measure, by the range of all means (Tukey)"
        names = {"none": "not corrected", "bh": "Benjamini-Hochberg", "holm": "Holm"}
        return f"family: {each}; {names.get(settings.correction, 'Bonferroni')}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        settings = self.settings
        return {
            "schema": "rankscope/comparison/1",
            "runs": list(self.runs),
            "measures": dict(self.measures),
            "baseline": self.baseline,
            "queries": self.queries,
            "left_out": self.left_out,
            "profile": self.profile,
            "settings": {
                "test": settings.test,
                "correction": settings.correction,
                "family": settings.family,
                "alpha": settings.alpha,
                "interval": settings.interval,
                "level": settings.level,
                "resamples": settings.resamples,
                "seed": settings.seed,
                "margin": settings.margin,
            },
            "family": self.family,
            "means": [one.to_dict() for one in self.means],
            "pairs": [one.to_dict() for one in self.pairs],
            "anova": {measure: one.to_dict() for measure, one in self.anova.items()},
            "strata": [one.to_dict() for one in self.strata],
            "accounting": {name: one.to_dict() for name, one in self.accounting.items()},
        }

    def __repr__(self) -> str:
        lines = [f"Comparison of {len(self.runs)} runs over {self.queries:,} queries"]
        wide = max(len(run) for run in self.runs)
        for measure in self.measures:
            lines.append(f"  {measure}")
            for run in self.runs:
                one = self.mean(run, measure)
                lines.append(
                    f"    {run:<{wide}}  {one.value:.4f} ±{one.interval.half_width:.4f}"
                    f"  {one.letters}"
                )
            lines += [f"    {one.sentence}" for one in self.pairs if one.measure == measure]
        return "\n".join([*lines, f"  {self.family}"])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(measure)}</th>" for measure in self.measures)
        rows = []
        for run in self.runs:
            cells = []
            for measure in self.measures:
                one = self.mean(run, measure)
                value = f"<b>{one.value:.4f}</b>" if one.best else f"{one.value:.4f}"
                reach = f"±{one.interval.half_width:.4f}"
                cells.append(f"<td>{value} <small>{reach} {escape(one.letters)}</small></td>")
            rows.append(f"<tr><th>{escape(run)}</th>{''.join(cells)}</tr>")
        said = "".join(f"<li>{escape(one.sentence)}</li>" for one in self.pairs)
        return (
            f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
            f"<p><small>{self.queries:,} queries; bold: best mean; runs that share a letter cannot "
            f"be told apart; {escape(self.family)}</small></p><ul>{said}</ul>"
        )


def compare(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    baseline: str | None = None,
    test: PairTest = "permutation",
    correction: Correction = "holm",
    family: Family = "measure",
    alpha: float = 0.05,
    interval: Method = "bca",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    margin: float | None = None,
    profile: str | Profile = "rankscope",
    queries: QueryPolicy | None = None,
    strata: Mapping[str, object] | None = None,
    seeds: Mapping[str, Sequence[str]] | None = None,
) -> Comparison:
    """Say whether runs differ by more than chance, by how much, and how sure that is.

    Runs are compared with ``baseline``, or all with each other. ``test``: permutation, bootstrap,
    t, wilcoxon, sign, or tukey; ``correction``: none, bonferroni, holm, bh, over the pairs of one
    measure (``family="measure"``) or of all (``"all"``). With a ``margin``, runs can also be shown
    to be equivalent. ``strata`` gives a label by query id; ``seeds`` gives for a system the names
    of its runs, which are averaged query by query. What each method is and how it errs:
    docs/statistics.md.

    Queries are matched by id. A judged query that a run lacks counts as 0 for it; with
    ``queries="both"`` only those that all runs have count. Fewer than two runs, no query in common
    and a geometric mean (it is no mean of values) are an `InputError`.

    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    >>> first = {"q1": {"a": 1.0}, "q2": {"b": 1.0}, "q3": {"x": 1.0}}
    >>> second = {"q1": {"a": 1.0}, "q2": {"x": 1.0}, "q3": {"c": 1.0}}
    >>> result = compare(qrels, {"first": first, "second": second}, ["P@1"], baseline="first")
    >>> result.pair("second").p, result.pair("second").verdict
    (1.0, 'no difference shown')
    """
    options: Any = {"test": test, "correction": correction, "family": family, "alpha": alpha}
    settings = Settings(
        interval=interval, level=level, resamples=resamples, seed=seed, margin=margin, **options
    )
    settings.check()
    scores = evaluate(qrels, runs, measures, profile=profile, queries=queries)
    return compare_scores(scores, baseline=baseline, settings=settings, strata=strata, seeds=seeds)


def compare_scores(
    scores: Scores,
    *,
    baseline: str | None = None,
    settings: Settings,
    strata: Mapping[str, object] | None = None,
    seeds: Mapping[str, Sequence[str]] | None = None,
) -> Comparison:
    """Compare runs that were scored already; see `compare`."""
    query_ids, values = _aligned(scores)
    names, values, splits = _systems(scores, values, seeds or {}, settings.level)
    if len(names) < 2:
        raise InputError(f"at least two runs are needed for a comparison, not {len(names)}")
    if baseline is not None and baseline not in names:
        raise UnknownNameError("run", baseline, names)
    scales = [_scale(measure) for measure in scores.measures]
    order = list(range(len(names)))
    pairs = list(combinations(order, 2))
    if baseline is not None:
        base = names.index(baseline)
        pairs = [(base, system) for system in order if system != base]
    tests = pair_tests(values, settings)
    letters = group_letters(values, scales, settings, tests)
    labels = [] if strata is None else [strata.get(query_id) for query_id in query_ids]
    accounting = {name: scores.run(name).accounting for name in scores.runs}
    return Comparison(
        runs=tuple(names),
        measures=scores.asked,
        baseline=baseline,
        queries=len(query_ids),
        left_out=max(one.judged for one in accounting.values()) - len(query_ids),
        means=tuple(
            _means(values, names, scales, settings=settings, splits=splits, letters=letters)
        ),
        pairs=tuple(compare_pairs(values, names, scales, pairs, settings=settings, tests=tests)),
        anova=_anova(values, scales),
        strata=tuple(_strata(values, names, scales, pairs=pairs, settings=settings, labels=labels)),
        settings=settings,
        profile=scores.profile.name,
        accounting=accounting,
    )


def _aligned(scores: Scores) -> tuple[list[str], FloatArray]:
    """Return the queries all runs have, by id, and ``[measures, runs, queries]``."""
    runs = [scores.run(name).complete() for name in scores.runs]
    places = [{query_id: place for place, query_id in enumerate(run.query_ids)} for run in runs]
    common = sorted(set(places[0]).intersection(*places[1:]))
    if not common:
        raise InputError("not comparable: the runs have no judged query in common")
    parts = [
        run.values[:, [place[query_id] for query_id in common]]
        for run, place in zip(runs, places, strict=True)
    ]
    return common, np.stack(parts, axis=1)


def _systems(
    scores: Scores, values: FloatArray, seeds: Mapping[str, Sequence[str]], level: float
) -> tuple[list[str], FloatArray, dict[tuple[str, str], SeedSplit]]:
    """Put the runs of one system together: values are averaged, and their variance is split."""
    taken: set[str] = set()
    for name, own in seeds.items():
        for run in own:
            if run not in scores.runs:
                raise UnknownNameError("run", run, scores.runs)
            if run in taken:
                raise InputError(f"run {shown(run)} stands in two systems")
            taken.add(run)
        if not own or (name in scores.runs and name not in own):
            raise InputError(f"system {shown(name)} needs runs, and a name of its own")
    groups: dict[str, list[str]] = {name: list(own) for name, own in seeds.items()}
    groups.update({run: [run] for run in scores.runs if run not in taken})
    rows, splits = [], {}
    for name, own in groups.items():
        part = values[:, [scores.runs.index(run) for run in own]]
        rows.append(part.mean(axis=1) if len(own) > 1 else part[:, 0])
        if name in seeds:
            for measure, one in zip(scores.measures, part, strict=True):
                splits[name, measure] = split_variance(one, level=level)
    return list(groups), np.stack(rows, axis=1), splits


def _scale(measure: str) -> Scale:
    definition = Measure.parse(measure).definition
    if definition.aggregate == "geometric":
        raise InputError(
            f"{measure} is a geometric mean, which no paired test is about; compare AP"
        )
    return Scale(measure, definition.range, definition.higher_is_better)


def _means(
    values: FloatArray,
    names: Sequence[str],
    scales: Sequence[Scale],
    *,
    settings: Settings,
    splits: Mapping[tuple[str, str], SeedSplit],
    letters: Sequence[Sequence[str]],
) -> Iterable[SystemMean]:
    every = _intervals(values, scales, settings)
    for one, scale, own, intervals in zip(values, scales, letters, every, strict=True):
        means = row_means(one).tolist()
        best = max(means) if scale.higher_is_better else min(means)
        for name, mean, interval, letter in zip(names, means, intervals, own, strict=True):
            split = splits.get((name, scale.name))
            yield SystemMean(name, scale.name, mean, interval, letter, mean == best, split)


def _intervals(
    values: FloatArray, scales: Sequence[Scale], settings: Settings
) -> list[list[Interval]]:
    """Return intervals of each measure's means; Wilson's where it can be and is asked for."""
    count, systems, queries = values.shape
    options: Any = {"level": settings.level, **settings.resampling}
    method: Method = "bca" if settings.interval == "wilson" else settings.interval
    bounds = [scale.bounds for scale in scales for _ in range(systems)]
    found = mean_intervals(values.reshape(-1, queries), method=method, bounds=bounds, **options)
    every = [found[row * systems : (row + 1) * systems] for row in range(count)]
    if settings.interval == "wilson":
        for row, one in enumerate(values):
            if np.isin(one, (0.0, 1.0)).all():
                every[row] = mean_intervals(one, method="wilson", **options)
    return every


def _anova(values: FloatArray, scales: Sequence[Scale]) -> dict[str, Anova]:
    if values.shape[1] < 3:
        return {}
    return {scale.name: anova(one) for one, scale in zip(values, scales, strict=True)}


def _strata(
    values: FloatArray,
    names: Sequence[str],
    scales: Sequence[Scale],
    *,
    pairs: Sequence[tuple[int, int]],
    settings: Settings,
    labels: Sequence[object],
) -> Iterable[StratifiedPair]:
    if not labels:
        return
    if all(label is None for label in labels):
        raise InputError("strata: no label is known for any of the compared queries")
    named = [UNLABELLED if label is None else str(label) for label in labels]
    options: Any = {
        "test": "permutation" if settings.test == "tukey" else settings.test,
        "interval": "bca" if settings.interval == "wilson" else settings.interval,
        "correction": settings.correction,
        "level": settings.level,
        **settings.resampling,
    }
    for one, scale in zip(values, scales, strict=True):
        for base, system in pairs:
            found = stratify(one[base], one[system], named, bounds=scale.bounds, **options)
            yield StratifiedPair(scale.name, names[base], names[system], found)
