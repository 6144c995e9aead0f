"""Compare: from qrels and several runs to differences, how sure they are, and verdicts.

`compare` scores the runs, pairs them by query id and asks `rankscope.statistics`; a `Comparison` is
all that reports read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankscope.document.views import Shown
from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.findings import Finding
from rankscope.measures.language import DEFAULT_MEASURES, Measure
from rankscope.part import Part, Record, left_out
from rankscope.scoring.accounting import Accounting
from rankscope.scoring.evaluate import evaluate
from rankscope.statistics.arrays import row_means
from rankscope.statistics.intervals import Interval
from rankscope.statistics.many import Anova, anova
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.pairwise import (
    Pair,
    Settings,
    compare_pairs,
    group_letters,
    pair_tests,
    row_intervals,
)
from rankscope.statistics.seeds import SeedSplit, split_variance
from rankscope.statistics.sentences import CORRECTIONS, ends, number
from rankscope.statistics.strata import StratifiedPair, stratify

if TYPE_CHECKING:
    from rankscope.runs.order import Order
    from rankscope.scoring.evaluate import Scores
    from rankscope.scoring.rules import Profile, QueryPolicy
    from rankscope.statistics.correction import Correction
    from rankscope.statistics.intervals import Method
    from rankscope.statistics.pairwise import Family, PairTest

__all__ = ["Comparison", "compare"]


class SystemMean(Part):
    """One system's mean of one measure."""

    run: str
    """The system."""
    measure: str
    """The measure."""
    mean: float
    """Its mean over the compared queries."""
    interval: Interval
    """Of the mean."""
    letters: str
    """Systems that share one do not differ significantly."""
    best: bool
    """Whether no other mean is better; not whether the difference is more than chance."""
    seeds: SeedSplit | None = left_out()
    """Where the system is several runs: what its values vary with."""


class Comparison(Record, Shown):
    """Several systems compared: means with intervals and letters, pairs with verdicts."""

    kind: ClassVar[str] = "comparison"

    runs: tuple[str, ...]
    """The systems."""
    measures: dict[str, str]
    """The measures by their canonical names, with the names they were asked for."""
    baseline: str | None
    """What all others are compared with; null: all with each other."""
    queries: int
    """Queries the means and differences are over, the same for all systems."""
    left_out: int
    """Judged queries that are not among them, because a run lacks them and the policy says so."""
    profile: str
    """Whose rules counted."""
    settings: Settings
    """Test, correction, interval, level, resamples, seed."""
    family: str
    """Which tests were corrected together, and how, in words."""
    means: tuple[SystemMean, ...]
    """By system and measure."""
    pairs: tuple[Pair, ...]
    """By pair and measure."""
    anova: dict[str, Anova]
    """With three systems or more, by measure: whether any differs."""
    strata: tuple[StratifiedPair, ...]
    """By measure and pair: the comparison within groups of queries, if any were named."""
    accounting: dict[str, Accounting]
    """What the means are made of, by run."""
    findings: tuple[Finding, ...] = ()
    """What makes the means mean less than they seem, such as queries that a run lacks."""

    def mean(self, run: str, measure: str | Measure | None = None) -> SystemMean:
        """Return one run's mean; of the first measure, if none is named."""
        if run not in self.runs:
            raise UnknownNameError("run", run, self.runs)
        key = self._measure(measure)
        return next(mean for mean in self.means if (mean.run, mean.measure) == (run, key))

    def pair(
        self, system: str, base: str | None = None, measure: str | Measure | None = None
    ) -> Pair:
        """Return the comparison of a system with a base (the baseline, if there is one)."""
        base = self.baseline if base is None else base
        key = self._measure(measure)
        for pair in self.pairs:
            if (pair.system, pair.base, pair.measure) == (system, base, key):
                return pair
        compared = [
            f"{pair.system} against {pair.base}" for pair in self.pairs if pair.measure == key
        ]
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

    def __repr__(self) -> str:
        lines = [f"Comparison of {len(self.runs)} runs over {self.queries:,} queries"]
        wide = max(len(run) for run in self.runs)
        for measure in self.measures:
            lines.append(f"  {measure}")
            for run in self.runs:
                mean = self.mean(run, measure)
                value = f"{number(mean.mean)} {ends(mean.interval)}"
                lines.append(f"    {run:<{wide}}  {value}  {mean.letters}")
            lines += [f"    {pair.sentence}" for pair in self.pairs if pair.measure == measure]
        lines += [f"  warning: {finding.system}: {finding.message}" for finding in self.findings]
        return "\n".join([*lines, f"  {self.family}"])


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
    order: Order = "score",
) -> Comparison:
    """Say whether runs differ by more than chance, by how much, and how sure that is.

    Runs are compared with ``baseline``, or all with each other. ``test``: permutation, bootstrap,
    t, wilcoxon, sign, or tukey; ``correction``: none, bonferroni, holm, bh, over the pairs of one
    measure (``family="measure"``) or of all (``"all"``). With a ``margin``, runs can also be shown
    to be equivalent. ``strata`` gives a label by query id; ``seeds`` gives for a system the names
    of its runs, which are averaged query by query. What each method is and how it errs:
    docs/statistics.md.

    Queries are matched by id. A judged query that a run lacks counts as 0 for it; with
    ``queries="both"`` only those that all runs have count. ``order="given"`` ranks documents as
    they are listed. Fewer than two runs, a run that `evaluate` refuses and a geometric mean (it is
    no mean of values) are an `InputError`.

    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    >>> first = {"q1": {"a": 1.0}, "q2": {"b": 1.0}, "q3": {"x": 1.0}}
    >>> second = {"q1": {"a": 1.0}, "q2": {"x": 1.0}, "q3": {"c": 1.0}}
    >>> result = compare(qrels, {"first": first, "second": second}, ["P@1"], baseline="first")
    >>> result.pair("second").p, result.pair("second").verdict
    (1.0, 'no difference shown')
    """
    settings = Settings.of(
        test=test,
        correction=correction,
        family=family,
        alpha=alpha,
        interval=interval,
        level=level,
        resamples=resamples,
        seed=seed,
        margin=margin,
    )
    scores = evaluate(qrels, runs, measures, profile=profile, queries=queries, order=order)
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
    for measure in scores.measures:
        if Measure.parse(measure).definition.aggregate == "geometric":
            raise InputError(
                f"{measure} is a geometric mean, and the tests are about means; compare AP"
            )
    matrix, splits = _by_system(Matrix.of_scores(scores), seeds or {}, settings.level)
    systems = matrix.systems
    if len(systems) < 2:
        raise InputError(f"at least two runs are needed for a comparison, not {len(systems)}")
    if baseline is not None and baseline not in systems:
        raise UnknownNameError("run", baseline, systems)
    pairs = list(combinations(range(len(systems)), 2))
    if baseline is not None:
        base = systems.index(baseline)
        pairs = [(base, system) for system in range(len(systems)) if system != base]
    tests = pair_tests(matrix, settings)
    labels = None if strata is None else [strata.get(query_id) for query_id in matrix.query_ids]
    accounting = {name: scores.run(name).accounting for name in scores.runs}
    return Comparison(
        runs=systems,
        measures=scores.asked,
        baseline=baseline,
        queries=len(matrix.query_ids),
        left_out=max(run.judged for run in accounting.values()) - len(matrix.query_ids),
        profile=scores.profile.name,
        settings=settings,
        family=_family(len(pairs), len(scores.measures), settings),
        means=tuple(_means(matrix, settings, splits, group_letters(matrix, settings, tests))),
        pairs=tuple(compare_pairs(matrix, pairs, settings, tests=tests)),
        anova={
            scale.name: anova(table)
            for scale, table in zip(matrix.scales, matrix.values, strict=True)
            if len(systems) > 2
        },
        strata=() if labels is None else tuple(stratify(matrix, labels, pairs, settings)),
        accounting=accounting,
        findings=scores.findings,
    )


def _by_system(
    matrix: Matrix, seeds: Mapping[str, Sequence[str]], level: float
) -> tuple[Matrix, dict[tuple[str, str], SeedSplit]]:
    """Put the runs of one system together: values are averaged, and their variance is split."""
    runs = matrix.systems
    taken: set[str] = set()
    for name, members in seeds.items():
        for run in members:
            if run not in runs:
                raise UnknownNameError("run", run, runs)
            if run in taken:
                raise InputError(f"run {shown(run)} belongs to two systems; name it once")
            taken.add(run)
        if not members or (name in runs and name not in members):
            raise InputError(f"system {shown(name)} needs runs, and a name of its own")
    groups: dict[str, Sequence[str]] = {**seeds, **{run: [run] for run in runs if run not in taken}}
    columns, splits = [], {}
    for name, members in groups.items():
        values = matrix.values[:, [runs.index(run) for run in members]]  # [m, runs, n]
        columns.append(values.mean(axis=1) if len(members) > 1 else values[:, 0])
        if name in seeds:
            for scale, rows in zip(matrix.scales, values, strict=True):
                splits[name, scale.name] = split_variance(rows, level=level)
    return replace(matrix, systems=tuple(groups), values=np.stack(columns, axis=1)), splits


def _means(
    matrix: Matrix,
    settings: Settings,
    splits: Mapping[tuple[str, str], SeedSplit],
    letters: Sequence[Sequence[str]],
) -> Iterable[SystemMean]:
    measures, systems, queries = matrix.shape
    rows = matrix.values.reshape(measures * systems, queries)
    means = row_means(rows).reshape(measures, systems)
    intervals = iter(
        row_intervals(rows, matrix.row_scales(), settings, proportions=matrix.proportions)
    )
    for scale, by_system, letters_of in zip(matrix.scales, means.tolist(), letters, strict=True):
        best = max(by_system) if scale.higher_is_better else min(by_system)
        for name, mean, own_letters in zip(matrix.systems, by_system, letters_of, strict=True):
            yield SystemMean(
                run=name,
                measure=scale.name,
                mean=mean,
                interval=next(intervals),
                letters=own_letters,
                best=mean == best,
                seeds=splits.get((name, scale.name)),
            )


def _family(pairs: int, measures: int, settings: Settings) -> str:
    """Say which tests were corrected together, and how."""
    if settings.is_simultaneous:
        return "family: all pairs of each measure, by the range of all means (Tukey)"
    each = "the one pair" if pairs == 1 else f"the {pairs} pairs"
    if settings.family == "all" and measures > 1:
        each = f"all {pairs * measures} pairs of {measures} measures together"
    elif measures > 1:
        each += " of each measure"
    return f"family: {each}; {CORRECTIONS.get(settings.correction, 'not corrected')}"
