"""Compare: from qrels and several runs to differences, how sure they are, and verdicts.

`compare` scores the runs, pairs them by query id and asks `rankscope.statistics`; a `Comparison` is
all that reports read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from rankscope.document.views import Shown
from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.findings import Finding
from rankscope.measures.language import DEFAULT_MEASURES, Measure
from rankscope.part import Part, Record, json_of
from rankscope.scoring.accounting import Accounting
from rankscope.scoring.evaluate import score
from rankscope.scoring.options import Scoring, ScoringOptions
from rankscope.statistics.arrays import row_means
from rankscope.statistics.clusters import Sample, t_interval, unit_errors
from rankscope.statistics.comparison import (
    as_pairs,
    family_tests,
    family_words,
    mean_rows,
    system_groups,
)
from rankscope.statistics.intervals import Interval
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.noise import RunNoise, add_noise, run_noise
from rankscope.statistics.pair import Pair, Pairs
from rankscope.statistics.sentences import ends, number
from rankscope.statistics.settings import Settings
from rankscope.statistics.strata import StratifiedPair, stratify

if TYPE_CHECKING:
    from rankscope.scoring.scores import Scores
    from rankscope.statistics.choices import Correction, Family, Method, Test
    from rankscope.statistics.noise import Noises

__all__ = ["Comparison", "compare"]


PRINTED = 200
"""So many runs, and so many pairs, of each measure are printed."""

LETTERED = 15
"""Up to so many systems letters are read beside means; of more, who may be the best is marked."""

STRATIFIED = 20_000
"""So many pairs can be compared by stratum: each is a record of its own."""


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
    """Systems that share one are not shown to differ; '' where only a baseline is compared with.
    A letter may have a number behind it: ab2 is a and b2."""
    near_best: bool | None = None
    """Whether it is not shown to be worse than the best mean; null where that is not tested."""
    best: bool
    """Whether no other mean is better; not whether the difference is more than chance."""


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
    note: str = ""
    """What the tests could not have shown, whatever the outcome; '' if nothing."""
    clusters: int | None = None
    """How many clusters the queries are in, where some belong together: the unit of chance."""
    weighted: bool = False
    """Whether queries have weights of their own in all means, intervals and tests."""
    means: tuple[SystemMean, ...]
    """By system and measure."""
    pairs: Pairs
    """By pair and measure."""
    strata: tuple[StratifiedPair, ...]
    """By measure and pair: the comparison within groups of queries, if any were named."""
    accounting: dict[str, Accounting]
    """What the means are made of, by run."""
    findings: tuple[Finding, ...] = ()
    """What makes the means mean less than they seem, such as queries that a run lacks."""

    def json_pieces(self, *, ascii_only: bool = False) -> Iterator[str]:
        """Yield the text of a JSON file, pair by pair: those of 1,000 systems take 600 MB."""
        if not len(self.pairs):
            yield from super().json_pieces(ascii_only=ascii_only)
            return
        empty = self.model_copy(update={"pairs": Pairs.of(())})
        mark = '\n  "pairs": ['  # only a key of the record itself is indented so
        [text] = Record.json_pieces(empty, ascii_only=ascii_only)
        before, after = text.split(f"{mark}]")
        yield before
        yield mark
        comma = ""
        for pair in self.pairs:
            lines = json_of(pair.to_dict(), ascii_only=ascii_only).replace("\n", "\n    ")
            yield f"{comma}\n    {lines}"
            comma = ","
        yield f"\n  ]{after}"

    def mean(self, run: str, measure: str | Measure | None = None) -> SystemMean:
        """Return one run's mean; of the first measure, if none is named."""
        if run not in self.runs:
            raise UnknownNameError("run", run, self.runs)
        return self._by_name[run, self._measure(measure)]

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], SystemMean]:
        return {(mean.run, mean.measure): mean for mean in self.means}

    def pair(
        self, system: str, base: str | None = None, measure: str | Measure | None = None
    ) -> Pair:
        """Return the comparison of a system with a base (the baseline, if there is one)."""
        base = self.baseline if base is None else base
        key = self._measure(measure)
        pair = self.pairs.find(measure=key, base=base, system=system)
        if pair is not None:
            return pair
        raise UnknownNameError("pair", f"{system} against {base}", self.pairs.names(measure=key))

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
            means = [self.mean(run, measure) for run in self.runs]
            for mean in means[:PRINTED]:
                value = f"{number(mean.mean)} {ends(mean.interval)}"
                labels = mean.letters if len(self.runs) <= LETTERED else ""
                lines.append(f"    {mean.run:<{wide}}  {value}  {labels}")
            rows = self.pairs.rows(measure=measure)
            lines += [f"    {pair.sentence}" for pair in self.pairs.at(rows[:PRINTED])]
            left = max(0, len(means) - PRINTED), max(0, len(rows) - PRINTED)
            if any(left):
                lines.append(f"    and {left[0]:,} runs and {left[1]:,} pairs more")
        lines += [
            f"  warning: {finding.system}: {finding.message}" for finding in self.findings[:PRINTED]
        ]
        return "\n".join([*lines, f"  {self.family}"])


def compare(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    baseline: str | None = None,
    test: Test = "t",
    correction: Correction = "holm",
    family: Family = "measure",
    alpha: float = 0.05,
    interval: Method = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    margin: float | None = None,
    strata: Mapping[str, object] | None = None,
    seeds: Mapping[str, Sequence[str]] | None = None,
    clusters: Mapping[str, object] | None = None,
    weights: Mapping[str, float] | None = None,
    **options: Unpack[ScoringOptions],
) -> Comparison:
    """Say whether runs differ by more than chance, by how much, and how sure that is.

    Runs are compared with ``baseline``, or all with each other. ``test``: t (Student's paired t,
    the sign test for values 0 and 1), permutation or bootstrap, with a ``correction`` (holm, or
    bonferroni, bh, none) over the pairs of one measure (``family="measure"``) or of all
    (``"all"``). With a ``margin``, runs can also be shown to be
    equivalent. ``strata`` gives a label by query id; ``seeds`` gives for a system the names of its
    runs, which are averaged query by query. ``clusters`` gives a label by query id: queries that
    share one (paraphrases, a session) are not independent; ``weights`` what each query weighs in
    all means and tests. What each method is and how it errs: docs/explanation/statistics.md.

    Queries are matched by id. A judged query that a run lacks counts as 0 for it; with
    ``queries="both"`` only those that all runs have count. All other ``options`` are those of
    `evaluate`. Fewer than two runs, a run that `evaluate` refuses and a geometric mean (it is no
    mean of values) are an `InputError`.

    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    >>> first = {"q1": {"a": 1.0}, "q2": {"b": 1.0}, "q3": {"x": 1.0}}
    >>> second = {"q1": {"a": 1.0}, "q2": {"x": 1.0}, "q3": {"c": 1.0}}
    >>> result = compare(qrels, {"first": first, "second": second}, ["P@1"], baseline="first")
    >>> result.pair("second").p, result.pair("second").verdict
    (1.0, "can't tell")
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
    scored = score(qrels, runs, measures, Scoring.of("compare", options), apart=False)
    return compare_scores(
        scored.scores,
        baseline=baseline,
        settings=settings,
        strata=strata,
        seeds=seeds,
        clusters=clusters,
        weights=weights,
    )


def compare_scores(
    scores: Scores,
    *,
    baseline: str | None = None,
    settings: Settings,
    strata: Mapping[str, object] | None = None,
    seeds: Mapping[str, Sequence[str]] | None = None,
    clusters: Mapping[str, object] | None = None,
    weights: Mapping[str, float] | None = None,
    all_pairs: bool = False,
) -> Comparison:
    """Compare runs that were scored already; see `compare`.

    With a baseline and ``all_pairs`` the others are compared among each other too, in one family.
    """
    for measure in scores.measures:
        kind = Measure.parse(measure).definition.aggregate
        if kind in ("geometric", "pooled"):
            how = "a geometric mean" if kind == "geometric" else "pooled over queries"
            raise InputError(
                f"{measure} is {how}, and the tests are about means by query; compare AP or R@100"
            )
    by_run = Matrix.of_scores(scores)
    by_run = replace(by_run, sample=Sample.of(by_run.query_ids, clusters, weights))
    groups = _systems(by_run, seeds or {})
    matrix = _averaged(by_run, groups)
    systems, sample = matrix.systems, matrix.sample
    if len(systems) < 2:
        raise InputError(f"at least two runs are needed for a comparison, not {len(systems)}")
    if baseline is not None and baseline not in systems:
        raise UnknownNameError("run", baseline, systems)
    base = None if baseline is None else systems.index(baseline)
    pairs = [
        (second, first) if second == base else (first, second)
        for first, second in combinations(range(len(systems)), 2)
        if all_pairs or base is None or base in (first, second)
    ]
    if strata is not None and len(pairs) * len(matrix.scales) > STRATIFIED:
        raise InputError(
            f"strata can be had for {STRATIFIED:,} pairs of systems and measures, and there are "
            f"{len(pairs) * len(matrix.scales):,}; name a baseline, or compare fewer runs"
        )
    noises = _noises(by_run, groups)
    tested = family_tests(matrix, pairs, settings, noises=_pair_noises(noises, pairs))
    compared = as_pairs(tested)
    labels = None if strata is None else [strata.get(query_id) for query_id in matrix.query_ids]
    accounting = {name: scores.run(name).accounting for name in scores.runs}
    every_pair = len(pairs) == math.comb(len(systems), 2)
    near = system_groups(matrix, compared) if every_pair else None
    drawn = "" if sample is None else sample.note(len(matrix.query_ids))
    return Comparison(
        runs=systems,
        measures=scores.asked,
        baseline=baseline,
        queries=len(matrix.query_ids),
        left_out=max(run.judged for run in accounting.values()) - len(matrix.query_ids),
        profile=scores.profile.name,
        settings=settings,
        family=family_words(len(pairs), len(scores.measures), settings),
        note="; ".join(filter(None, (tested.note, drawn))),
        clusters=None if sample is None or sample.clusters is None else len({*sample.clusters}),
        weighted=weights is not None,
        means=tuple(_means(matrix, settings, noises, near)),
        pairs=compared,
        strata=() if labels is None else tuple(stratify(matrix, labels, pairs, settings)),
        accounting=accounting,
        findings=scores.findings,
    )


def _systems(matrix: Matrix, seeds: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
    """Return the runs of each system: those named together, and each other run by itself."""
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
    return {name: [runs.index(run) for run in members] for name, members in groups.items()}


def _averaged(matrix: Matrix, groups: Mapping[str, list[int]]) -> Matrix:
    """Average the runs of each system query by query."""
    columns = [
        matrix.values[:, members].mean(axis=1) if len(members) > 1 else matrix.values[:, members[0]]
        for members in groups.values()
    ]
    alone = {name for name, members in groups.items() if len(members) == 1}
    repeats = {name: runs for name, runs in matrix.repeats.items() if name in alone}
    values = np.stack(columns, axis=1)
    return replace(matrix, systems=tuple(groups), values=values, repeats=repeats)


def _noises(
    matrix: Matrix, groups: Mapping[str, list[int]]
) -> dict[tuple[int, int], tuple[RunNoise, float]]:
    """Return how far systems of several runs move, and its weight in a mean over these runs.

    By measure and system.
    """
    return {
        (measure, system): (run_noise(matrix.units(table[members])), 1 / len(members))
        for system, members in enumerate(groups.values())
        if len(members) > 1
        for measure, table in enumerate(matrix.values)
    }


def _pair_noises(
    known: Mapping[tuple[int, int], tuple[RunNoise, float]], pairs: Sequence[tuple[int, int]]
) -> Noises:
    """Return the noise of each pair's systems, by measure and pair."""
    noises = {}
    for place, pair in enumerate(pairs):
        for measure in {measure for measure, _ in known}:
            noise = [known[measure, system] for system in pair if (measure, system) in known]
            if noise:
                noises[measure, place] = noise
    return noises


def _means(
    matrix: Matrix,
    settings: Settings,
    noises: Mapping[tuple[int, int], tuple[RunNoise, float]],
    groups: Sequence[tuple[list[str], set[int]]] | None,
) -> Iterable[SystemMean]:
    intervals = iter(mean_rows(matrix, settings))
    for measure, (scale, by_system) in enumerate(
        zip(matrix.scales, matrix.means().tolist(), strict=True)
    ):
        best = max(by_system) if scale.higher_is_better else min(by_system)
        letters, near = ([""] * len(by_system), None) if groups is None else groups[measure]
        for system, (name, mean) in enumerate(zip(matrix.systems, by_system, strict=True)):
            interval = next(intervals)
            if (measure, system) in noises:
                noise = noises[measure, system]
                interval = _noisy_mean(matrix, measure, system, level=settings.level, noise=noise)
            yield SystemMean(
                run=name,
                measure=scale.name,
                mean=mean,
                interval=interval,
                letters=letters[system],
                near_best=None if near is None else system in near,
                best=mean == best,
            )


def _noisy_mean(
    matrix: Matrix, measure: int, system: int, *, level: float, noise: tuple[RunNoise, float]
) -> Interval:
    """Return the interval of the mean of a system of several runs, for new queries and new runs."""
    units = matrix.units(matrix.values[measure, [system]])
    means = row_means(units)
    errors, freedom = unit_errors(units, means, matrix.shares())
    error, free = add_noise(float(errors[0]), freedom, [noise])
    known: Any = {"level": level, "bounds": matrix.scales[measure].bounds}
    return t_interval(float(means[0]), error, free, method="t, with noise", **known)
