"""The comparison: which systems differ by more than chance, by how much, and how sure that is.

One engine for every door. `family_tests` tests pairs of a `Matrix` and corrects their p-values
together; `compare`, the gate, segments, analyses and the comparison of experiments all go through
it. What a family decides is computed for all pairs at once; a `Pair` is made when it is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from rankscope.document.views import Shown, document_of
from rankscope.errors import InputError, UnknownNameError
from rankscope.findings import Finding
from rankscope.measures.language import Measure
from rankscope.part import Part, Record, json_of
from rankscope.scoring.evaluate import score
from rankscope.scoring.score_files import Accounting
from rankscope.scoring.scoring_options import Scoring, ScoringOptions
from rankscope.statistics.choices import CORRECTIONS
from rankscope.statistics.clusters import Sample
from rankscope.statistics.intervals import Interval
from rankscope.statistics.letters import as_good_as_best, letters
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.paired_differences import Differences
from rankscope.statistics.power import POWER, detectable_like
from rankscope.statistics.settings import Settings
from rankscope.statistics.system_pairs import VERDICTS, Equivalence, Pair, Pairs
from rankscope.statistics.tests import ENUMERATED, corrected

if TYPE_CHECKING:
    from rankscope.scoring.scored_runs import Scores
    from rankscope.statistics.arrays import BoolArray, FloatArray, IntArray
    from rankscope.statistics.choices import Correction, Family, Method, Test
    from rankscope.statistics.noise import Noises

__all__ = ["Comparison", "compare"]

LETTERED = 15
"""Up to so many systems letters are read beside means; of more, who may be the best is marked."""

MOST_LETTERED = 200
"""Systems in larger comparisons have no letters: nobody can read hundreds of them."""

MOST_TOGETHER = 50
"""Of more systems than this an analysis compares only the pairs that it is about."""


# --- a family of tests ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tested:
    """Pairs that were tested as a family; arrays have a number for each row, measure by measure."""

    matrix: Matrix
    pairs: IntArray
    """``[pairs, 2]``: base and system."""
    settings: Settings
    rows: Differences
    corrected: FloatArray
    """P-values, corrected over each measure's pairs, or over all rows."""
    same: FloatArray | None
    """P-values of equivalence, corrected likewise; None where no margin was given."""
    power: float

    @property
    def size(self) -> int:
        """How many tests are in a family."""
        if self.settings.correction == "none":
            return 1
        return len(self.rows) if self.settings.family == "all" else len(self.pairs)

    @cached_property
    def means(self) -> FloatArray:
        """The mean of each measure and system."""
        return self.matrix.means()

    @cached_property
    def verdicts(self) -> npt.NDArray[np.int8]:
        """The verdict of each row, as places in `VERDICTS`."""
        alpha = self.settings.alpha
        signs = [1.0 if scale.higher_is_better else -1.0 for scale in self.matrix.scales]
        gains = self.rows.mean * np.repeat(signs, len(self.pairs))
        verdict = np.where(gains > 0, VERDICTS.index("better"), VERDICTS.index("worse"))
        verdict[~self.rows.shown(self.corrected, alpha)] = VERDICTS.index("can't tell")
        if self.same is not None:
            verdict[self.same <= alpha] = VERDICTS.index("equivalent")
        return verdict.astype(np.int8)

    @cached_property
    def decidable(self) -> BoolArray:
        """Tell which rows could have been shown to differ, had their queries said it clearly.

        With the smallest p-value that as many differing queries can have (2 / 2^d), corrected among
        the p-values of the others as they are.
        """
        floor, times = self.rows.floor, np.ones(len(self.rows))
        if self.settings.correction == "bonferroni":
            times[:] = self.size
        elif self.settings.correction == "holm":
            for start in range(0, len(self.rows), max(self.size, 1)):
                part = slice(start, start + self.size)
                smaller = np.searchsorted(np.sort(self.rows.p[part]), floor[part])
                times[part] = np.maximum(self.size - smaller, 1)
        return np.asarray(floor * times <= self.settings.alpha)

    @property
    def hardest(self) -> float:
        """The alpha of the hardest step of the correction."""
        alpha = self.settings.alpha
        return alpha if self.settings.correction in ("none", "bh") else alpha / max(self.size, 1)

    def compared(self) -> Pairs:
        """Return the pairs, measure by measure; each is made when it is looked at."""
        measure, place = np.divmod(np.arange(len(self.rows)), max(len(self.pairs), 1))
        return Pairs(
            self.make,
            measures=[scale.name for scale in self.matrix.scales],
            systems=self.matrix.systems,
            measure=measure,
            base=self.pairs[place, 0],
            system=self.pairs[place, 1],
            verdict=self.verdicts,
        )

    def make(self, chosen: IntArray) -> list[Pair]:
        """Make the pairs of some rows."""
        matrix, rows, settings = self.matrix, self.rows, self.settings
        verdicts, decidable = self.verdicts, self.decidable
        intervals = rows.intervals(self.corrected, settings.alpha, chosen)
        means, detectable = self.means, self._detectable(chosen)
        made = []
        for at, row in enumerate(chosen.tolist()):
            measure, place = divmod(row, len(self.pairs))
            base, system = self.pairs[place].tolist()
            scale, base_mean = matrix.scales[measure], float(means[measure, base])
            wins, losses = int(rows.wins[row]), int(rows.losses[row])
            difference, deviation = float(rows.mean[row]), float(rows.deviation[row])
            effect = math.copysign(math.inf, difference) if difference else 0.0
            if deviation:
                effect = difference / deviation
            equivalence = None
            if self.same is not None and settings.margin is not None:
                equivalence = Equivalence(margin=settings.margin, p=float(self.same[row]))
            made.append(
                Pair(
                    measure=scale.name,
                    base=matrix.systems[base],
                    system=matrix.systems[system],
                    queries=len(matrix.query_ids),
                    base_mean=base_mean,
                    system_mean=float(means[measure, system]),
                    difference=difference,
                    interval=intervals[at],
                    wins=wins if scale.higher_is_better else losses,
                    losses=losses if scale.higher_is_better else wins,
                    d=effect,
                    p=float(rows.p[row]),
                    p_corrected=float(self.corrected[row]),
                    family=self.size,
                    method=self._method(row),
                    verdict=VERDICTS[verdicts[row]],
                    drawn=rows.units,
                    differing=int(rows.differing[row]),
                    decidable=bool(decidable[row]),
                    detectable=detectable[at],
                    equivalence=equivalence,
                )
            )
        return made

    def _method(self, row: int) -> str:
        """Say how a p-value was found."""
        test, is_single = self.settings.test, not math.isnan(self.rows.size[row])
        if test == "t":
            return "sign" if is_single else "t"
        if test == "permutation" and (is_single or self.rows.differing[row] <= ENUMERATED):
            return "permutation, all sign flips"
        drawn = self.settings.resamples_for(self.size)
        return f"{test}, {drawn:,} {'resamples' if test == 'bootstrap' else 'sign flips'}"

    def _detectable(self, chosen: IntArray) -> list[float]:
        """Return the smallest difference each row shows, at the hardest step of the correction.

        Infinite where noise or weights leave more to chance than a formula knows.
        """
        sample, rows = self.matrix.sample, self.rows
        if sample is not None and sample.weights is not None:
            return [math.inf] * len(chosen)
        answers = detectable_like(
            rows.units,
            rows.differing[chosen] / rows.units,
            rows.spread[chosen],
            alpha=self.hardest,
            power=self.power,
            largest=rows.high[chosen],
        )
        return [float(answer) for answer in np.where(rows.noisy[chosen], math.inf, answers)]


def family_tests(
    matrix: Matrix,
    pairs: Sequence[tuple[int, int]],
    settings: Settings,
    *,
    noises: Noises | None = None,
    power: float = POWER,
) -> Tested:
    """Test pairs (base, system), measure by measure, and correct their p-values.

    A verdict of better or worse needs a corrected p-value of at most alpha. With a margin, a pair
    whose two one-sided t tests, corrected likewise, rule out a difference as large as the margin is
    equivalent, be the difference significant or not. ``noises`` is what is known of how far systems
    move by themselves, beside what the matrix knows; ``power`` the one with which the smallest
    detectable difference is seen.
    """
    for scale in matrix.scales:
        if settings.margin is not None and settings.margin >= scale.change[1]:
            raise InputError(
                f"margin is {settings.margin:g}, and {scale.name} cannot differ by more than "
                f"{scale.change[1]:g}; name one below that, such as 0.02"
            )
    families = 1 if settings.family == "all" else len(matrix.scales)
    size = len(pairs) * len(matrix.scales) // max(families, 1)
    together = 1 if settings.correction == "none" else max(len(pairs), 1)
    rows = Differences.of(matrix, pairs, settings, noises=noises, family=size, together=together)

    def as_one(p_values: FloatArray) -> FloatArray:
        parts = np.split(p_values, families)
        return np.concatenate([corrected(part, settings.correction) for part in parts])

    same = None if settings.margin is None else as_one(rows.equivalence_p(settings.margin))
    return Tested(
        matrix=matrix,
        pairs=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        settings=settings,
        rows=rows,
        corrected=as_one(rows.p),
        same=same,
        power=power,
    )


def compare_pairs(
    matrix: Matrix,
    pairs: Sequence[tuple[int, int]],
    settings: Settings,
    *,
    noises: Noises | None = None,
) -> Pairs:
    """Compare pairs (base, system), measure by measure; see `family_tests`."""
    return family_tests(matrix, pairs, settings, noises=noises).compared()


def compare_with_all(
    matrix: Matrix, pairs: Sequence[tuple[int, int]], settings: Settings
) -> tuple[Pair, ...]:
    """Compare pairs (base, system) by the first measure, as one family with all other pairs.

    So what an analysis says of two systems never contradicts a comparison of all of them.
    """
    known = {frozenset(pair) for pair in pairs}
    count = len(matrix.systems)
    others = [pair for pair in combinations(range(count), 2) if frozenset(pair) not in known]
    family = [*pairs, *(others if count <= MOST_TOGETHER else [])]
    return compare_pairs(matrix.only_measures(1), family, settings)[: len(pairs)]


def system_groups(matrix: Matrix, compared: Pairs) -> list[tuple[list[str], set[int]]]:
    """Return letters of each system, and who is not separated from the best, by measure.

    The pairs must be all pairs, and their own tests decide: two systems share a letter if and only
    if no difference between them is shown.
    """
    groups = []
    for scale, means in zip(matrix.scales, matrix.means(), strict=True):
        apart = compared.apart(scale.name, matrix.systems)
        few = len(matrix.systems) <= MOST_LETTERED
        order = np.argsort(-means if scale.higher_is_better else means, kind="stable").tolist()
        labels = letters(apart, order) if few else [""] * len(order)
        groups.append((labels, set(as_good_as_best(apart, order))))
    return groups


# --- what a user gets ----------------------------------------------------------------------------


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
    """Systems that share one are not shown to differ; '' where only a baseline is compared with,
    or of more than 200 systems.
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
    """What clusters and weights leave of the queries, where that is little or guessed."""
    clusters: int | None = None
    """How many clusters the queries are in, where some belong together: the unit of chance."""
    weighted: bool = False
    """Whether queries have weights of their own in all means, intervals and tests."""
    means: tuple[SystemMean, ...]
    """By system and measure."""
    pairs: Pairs
    """By pair and measure."""
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
        mark = '\n "pairs": ['  # only a key of the record itself is indented so
        [text] = Record.json_pieces(empty, ascii_only=ascii_only)
        before, after = text.split(f"{mark}]")
        yield before
        yield mark
        comma = ""
        for pair in self.pairs:
            lines = json_of(pair.to_dict(), ascii_only=ascii_only).replace("\n", "\n  ")
            yield f"{comma}\n  {lines}"
            comma = ","
        yield f"\n ]{after}"

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
        from rankscope.document.terminal import as_text  # noqa: PLC0415

        return as_text(document_of(self)).rstrip()


def compare(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure] | None = None,
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
    seeds: Mapping[str, Sequence[str]] | None = None,
    clusters: Mapping[str, object] | None = None,
    weights: Mapping[str, float] | None = None,
    **options: Unpack[ScoringOptions],
) -> Comparison:
    """Say whether runs differ by more than chance, by how much, and how sure that is.

    Runs are compared with ``baseline``, or all with each other. ``test``: t (Student's paired t,
    cautious where differences are skewed; the sign test for values 0 and 1), permutation or
    bootstrap, with a ``correction`` (holm, or bonferroni, bh, none) over the pairs of one measure
    (``family="measure"``) or of all (``"all"``). With a ``margin``, runs can also be shown to be
    equivalent. ``seeds`` gives for a system the names of its runs, which are averaged query by
    query. ``clusters`` gives a label by query id: queries that share one (paraphrases, a session)
    are not independent; ``weights`` what each query weighs in all means and tests. What each method
    is and how it errs: docs/explanation/statistics.md.

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
    scored = score(qrels, runs, measures, Scoring.of("compare", options))
    return compare_scores(
        scored.scores,
        baseline=baseline,
        settings=settings,
        seeds=seeds,
        clusters=clusters,
        weights=weights,
    )


def compare_scores(
    scores: Scores,
    *,
    baseline: str | None = None,
    settings: Settings,
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
    matrix = Matrix.of_scores(scores)
    sample = Sample.of(matrix.query_ids, clusters, weights)
    matrix = replace(matrix, sample=sample).averaged_over(seeds or {})
    systems = matrix.systems
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
    tested = family_tests(matrix, pairs, settings)
    compared = tested.compared()
    accounting = {name: scores.run(name).accounting for name in scores.runs}
    groups = None
    if len(pairs) == math.comb(len(systems), 2):
        groups = system_groups(matrix, compared)
    return Comparison(
        runs=systems,
        measures=scores.asked,
        baseline=baseline,
        queries=len(matrix.query_ids),
        left_out=max(run.judged for run in accounting.values()) - len(matrix.query_ids),
        profile=scores.profile.name,
        settings=settings,
        family=_family_words(len(pairs), len(scores.measures), settings),
        note="" if sample is None else sample.note(len(matrix.query_ids)),
        clusters=None if sample is None or sample.clusters is None else len({*sample.clusters}),
        weighted=weights is not None,
        means=tuple(_system_means(matrix, settings, groups)),
        pairs=compared,
        accounting=accounting,
        findings=scores.findings,
    )


def _family_words(pairs: int, measures: int, settings: Settings) -> str:
    """Say which tests were corrected together, and how."""
    each = "the one pair" if pairs == 1 else f"the {pairs:,} pairs"
    if settings.family == "all" and measures > 1:
        each = f"all {pairs * measures:,} pairs of {measures} measures together"
    elif measures > 1:
        each += " of each measure"
    if pairs == 1 and (settings.family == "measure" or measures == 1):
        return f"family: {each}"
    return f"family: {each}; {CORRECTIONS[settings.correction]}"


def _system_means(
    matrix: Matrix, settings: Settings, groups: Sequence[tuple[list[str], set[int]]] | None
) -> Iterator[SystemMean]:
    intervals = iter(matrix.mean_intervals(settings))
    for measure, (scale, means) in enumerate(
        zip(matrix.scales, matrix.means().tolist(), strict=True)
    ):
        best = max(means) if scale.higher_is_better else min(means)
        labels, near = ([""] * len(means), None) if groups is None else groups[measure]
        for system, (name, mean) in enumerate(zip(matrix.systems, means, strict=True)):
            yield SystemMean(
                run=name,
                measure=scale.name,
                mean=mean,
                interval=next(intervals),
                letters=labels[system],
                near_best=None if near is None else system in near,
                best=mean == best,
            )
