"""The gate: is the candidate worse than the baseline, by more than is tolerable and than chance?

Each measure has one of three answers, by the interval of its difference (the one that holds for all
measures at once, see `rankscope.statistics.comparison`):

- *regression*: the interval is below 0, and the drop is larger than the margin;
- *no regression*: the interval rules out a drop as large as the margin (non-inferiority);
- *can't tell*: neither. What the queries could have shown, and how many would settle it, is part of
  the answer.

Beside it there are guards that need no statistics: a floor for a measure, the largest drop of a
single query, queries that the candidate does not answer.

The test is two-sided although only a drop can fail: its p-value and interval are those `compare`
gives for the same scores, and where differences are skewed its error rate strays less than a
one-sided one's (docs/explanation/gate.md has numbers).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack

import numpy as np
from pydantic import Field, computed_field

from rankscope.document.views import Shown
from rankscope.errors import InputError, counted
from rankscope.findings import Finding
from rankscope.measures.language import Measure, parse_measures, strict_and_soft
from rankscope.part import Part, Record, Unbounded
from rankscope.scoring.by_language import refuse_mixed
from rankscope.scoring.inputs import as_judgments
from rankscope.scoring.options import Scoring, ScoringOptions
from rankscope.scoring.score_files import QrelsRef
from rankscope.statistics.arrays import SAME, check_alpha
from rankscope.statistics.clusters import Sample
from rankscope.statistics.comparison import family_tests
from rankscope.statistics.intervals import Interval
from rankscope.statistics.noise import Noises, RunNoise, run_noise
from rankscope.statistics.power import MOST_QUERIES, must_differ
from rankscope.statistics.sentences import about, differ, ends, listed, number, p_text, percent
from rankscope.statistics.settings import Settings
from rankscope.statistics.sides import PairedRuns, paired_runs
from rankscope.statistics.system_pairs import Pair, Pairs

if TYPE_CHECKING:
    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.choices import Test
    from rankscope.statistics.matrix import Matrix

__all__ = ["GateResult", "gate"]

WORST = 5
"""How many of the worst losses are kept for each measure."""

NAMED = 20
"""How many queries that broke are listed for each measure; their number is always given."""

Answer = Literal["regression", "no regression", "can't tell"]
Reason = Literal[
    "dropped",
    "a query broke",
    "improved",
    "not inferior",
    "identical",
    "small drop",
    "too few queries differ",
    "too uncertain",
]
Undecided = Literal["pass", "fail"]
Missing = Literal["refuse", "zero"]


class Loss(Part):
    """One query on which the candidate is worse."""

    query_id: str
    """The query."""
    baseline: float
    """The baseline's value."""
    candidate: float
    """The candidate's value."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def change(self) -> float:
        """Candidate minus baseline."""
        return self.candidate - self.baseline


class MeasureCheck(Part):
    """One measure's answer."""

    measure: str
    """The measure."""
    higher_is_better: bool
    """Whether more is better."""
    baseline: float
    """The baseline's mean."""
    candidate: float
    """The candidate's mean."""
    difference: float
    """Mean of candidate minus baseline over the queries."""
    interval: Interval
    """Of the difference, for all measures at once; it decides."""
    p: float
    """Of the test, before correction."""
    corrected_p: float
    """Corrected over the measures."""
    significant: bool
    """Whether that is at most alpha: the interval does not hold 0."""
    max_drop: float
    """The margin: a drop up to this is tolerable."""
    answer: Answer
    """Whether it regressed."""
    reason: Reason
    """Why, in a few words."""
    explanation: str
    """Why, in words that follow the measure's name."""
    queries: int
    """Queries compared."""
    wins: int
    """Queries on which the candidate is better."""
    losses: int
    """Queries on which it is worse."""
    visible_drop: Unbounded
    """About the smallest drop that queries like these show with the power asked for; null: none."""
    settled_by: int | None
    """About how many queries like these would decide, if the difference stays as it is; null: the
    answer is there, or no number would."""
    broken: tuple[Loss, ...] = ()
    """Queries that lost more than a single query may, worst first; the first twenty."""
    broken_queries: int = 0
    """How many there are."""
    worst: tuple[Loss, ...]
    """The largest losses."""
    note: str = ""
    """What else should be known, in words that follow the measure's name."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def drop(self) -> float:
        """How much worse the candidate is: a fall, or a rise where lower is better."""
        return 0.0 - self.difference if self.higher_is_better else self.difference


class FloorCheck(Part):
    """Whether the candidate reaches the least mean it may have."""

    measure: str
    """The measure."""
    floor: float
    """The least mean; where lower is better, the largest."""
    candidate: float
    """The candidate's mean."""
    reached: bool
    """Whether it is reached."""


class GateTest(Part):
    """How the p-values were made."""

    method: str
    """The paired test, and how its p-values were found."""
    correction: str
    """How they are corrected over the measures."""
    seed: int
    """Of the resampling."""


class GateResult(Record, Shown):
    """The gate's answer, measure by measure, and how it was found."""

    kind: ClassVar[str] = "gate"
    version: ClassVar[int] = 2

    answer: Answer
    """Regression if there is one in any measure or guard, can't tell if so for any measure, else no
    regression."""
    passed: bool
    """Whether the build may go on: no regression, or undecided where that does not stop it."""
    undecided: Undecided
    """What an undecided answer means for the build."""
    baseline: str
    """The baseline's run."""
    candidate: str
    """The candidate's run."""
    asked: dict[str, str] = Field(default_factory=dict)
    """The names under which measures were asked for, by their own names."""
    queries: int
    """Queries compared."""
    clusters: int | None = None
    """How many clusters they are in; null: each is drawn by itself."""
    weighted: bool = False
    """Whether queries have weights."""
    lost: int = 0
    """Judged queries that the baseline answers and the candidate does not; they count as 0."""
    lost_queries: tuple[str, ...] = ()
    """Their ids; of a score file the first hundred."""
    qrels: QrelsRef
    """The judgments."""
    profile: str
    """Whose rules counted."""
    max_drop: float
    """The margin: a drop up to this is tolerable."""
    max_query_drop: float | None
    """The most a single query may lose; null: anything."""
    alpha: float
    """A corrected p-value up to this is significant."""
    power: float
    """The probability with which a drop as large as the margin should be seen."""
    test: GateTest
    """How the p-values were made."""
    checks: tuple[MeasureCheck, ...]
    """The answer of each measure."""
    findings: tuple[Finding, ...] = ()
    """What makes the scores of either side mean less than they seem."""
    floors: tuple[FloorCheck, ...] = ()
    """The least means that were named."""
    noise: tuple[RunNoise, ...] = ()
    """By measure: how far repeated runs of one system are apart, where some were given."""
    notes: tuple[str, ...] = ()
    """What else should be known."""

    @property
    def failures(self) -> list[str]:
        """Everything that makes it a regression, in words."""
        failures = [
            f"{check.measure} {check.explanation}"
            for check in self.checks
            if check.answer == "regression"
        ]
        failures += [
            f"{floor.measure} is {number(floor.candidate)}, and its floor is {number(floor.floor)}"
            for floor in self.floors
            if not floor.reached
        ]
        return failures

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        if self.answer == "regression":
            return f"regression: {'; '.join(self.failures)}."
        several = f" in any of {len(self.checks)} measures" if len(self.checks) > 1 else ""
        queries = counted(self.queries, "query")
        if self.answer == "no regression":
            if all(check.reason == "identical" for check in self.checks):
                return f"no regression: the two are identical in each of {queries}."
            return (
                f"no regression: a drop of {self.max_drop:g} or more is ruled out{several} "
                f"over {queries}."
            )
        unclear = [check for check in self.checks if check.answer == "can't tell"]
        stop = " (counted as a failure)" if self.undecided == "fail" else ""
        more = f"; nor for {len(unclear) - 1} more" if len(unclear) > 1 else ""
        return f"can't tell{stop}: {unclear[0].measure} {unclear[0].explanation}{more}."


def gate(
    baseline: Any,
    candidate: Any,
    measures: str | Measure | Iterable[str | Measure] = "nDCG@10",
    *,
    qrels: Any = None,
    max_drop: float = 0.01,
    undecided: Undecided = "pass",
    minimum: Mapping[str, float] | None = None,
    max_query_drop: float | None = None,
    missing: Missing = "refuse",
    noise: Sequence[Any] = (),
    clusters: Mapping[str, object] | None = None,
    weights: Mapping[str, float] | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    test: Test = "t",
    resamples: int = 10_000,
    seed: int = 0,
    baseline_run: str | None = None,
    candidate_run: str | None = None,
    **options: Unpack[ScoringOptions],
) -> GateResult:
    """Compare a candidate with a baseline: regression, no regression, or can't tell, by measure.

    Each of the two is a score file, what `Scores.to_dict` returned, `Scores`, or, with ``qrels``, a
    run in any form. ``max_drop`` is the margin: a drop up to it is tolerable. ``undecided`` says
    whether the build goes on where the data cannot tell.

    Guards: ``minimum`` (a least mean by measure), ``max_query_drop`` (the most a single query may
    lose), ``missing`` (a candidate that lacks queries of the baseline is refused, unless they are
    to count as ``"zero"``). ``noise``: repeated runs of one system, which widen all intervals.
    ``clusters`` and ``weights`` as in `compare`, all other ``options`` as in `evaluate`.

    `InputError` ("not comparable") if judgments, queries or rules differ, or if a measure or a
    value is missing.

    >>> qrels = {f"q{n}": {"d": 1} for n in range(8)}
    >>> good = {query_id: {"d": 2.0, "e": 1.0} for query_id in qrels}
    >>> bad = {query_id: {"d": 1.0, "e": 2.0} for query_id in qrels}
    >>> gate(good, bad, "RR@10", qrels=qrels).answer
    'regression'
    >>> gate(bad, good, "RR@10", qrels=qrels).answer
    'no regression'
    """
    _check_options(max_drop, max_query_drop, power)
    settings = Settings.of(
        test=test, family="all", alpha=alpha, level=1 - alpha, resamples=resamples, seed=seed
    )
    floors = _floors(minimum or {})
    scoring = Scoring.of("gate", options, without=("queries", "executor"))
    asked = strict_and_soft(parse_measures(measures), of_terms=scoring.ontology is not None)
    if not asked:
        raise InputError("no measure was asked for; name one such as nDCG@10")
    judgments = None if qrels is None else as_judgments(qrels, scoring)
    if judgments is not None:
        refuse_mixed(judgments)
    everything = [*(parsed.asked for parsed in asked), *floors]
    rules = scoring.profile if options.get("profile") else None
    sides: Any = {"qrels": judgments, "profile": rules, "scoring": scoring}
    both = paired_runs(baseline, candidate, everything, runs=(baseline_run, candidate_run), **sides)
    _check_lost(both, missing)
    names = {str(both.sides[0].find(parsed)): parsed.asked for parsed in asked}
    sample = Sample.of(both.matrix.query_ids, clusters, weights)
    matrix = replace(both.matrix.only_measures(len(names)), sample=sample)
    _check_margin(max_drop, max_query_drop, matrix)
    noises = _noise(matrix, noise, both, everything[: len(asked)], sides)
    judge = _Judge(settings, max_drop, max_query_drop, power)
    checks, pairs = judge.checks(matrix, noises)
    drawn = "" if sample is None else sample.note(len(matrix.query_ids))
    floor_checks = _check_floors(floors, both)
    answers: list[Answer] = [check.answer for check in checks]
    answers += ["regression" for floor in floor_checks if not floor.reached]
    answer = overall(answers)
    return GateResult(
        answer=answer,
        passed=answer == "no regression" or (answer == "can't tell" and undecided == "pass"),
        undecided=undecided,
        baseline=matrix.systems[0],
        candidate=matrix.systems[1],
        asked=names,
        queries=len(matrix.query_ids),
        clusters=None if sample is None or sample.clusters is None else len({*sample.clusters}),
        weighted=weights is not None,
        lost=both.lost.count,
        lost_queries=both.lost.query_ids,
        qrels=QrelsRef(sha256=both.sides[0].qrels),
        profile=both.sides[0].profile,
        max_drop=max_drop,
        max_query_drop=max_query_drop,
        alpha=alpha,
        power=power,
        test=GateTest(
            method=" / ".join(dict.fromkeys(pair.method for pair in pairs)),
            correction=settings.correction,
            seed=seed,
        ),
        checks=checks,
        floors=floor_checks,
        noise=tuple(noise for [(noise, _)] in noises.values()) if noises else (),
        notes=tuple(filter(None, (_lost_note(both), drawn))),
        findings=both.findings,
    )


def overall(answers: Sequence[Answer]) -> Answer:
    """Return the answer of several together: the worst of them."""
    order: tuple[Answer, ...] = ("regression", "can't tell", "no regression")
    return next(answer for answer in order if answer in answers)


# --- one measure ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Judge:
    """Decides measures by their intervals."""

    settings: Settings
    max_drop: float
    max_query_drop: float | None
    power: float

    def checks(self, matrix: Matrix, noises: Noises) -> tuple[tuple[MeasureCheck, ...], Pairs]:
        """Compare the two systems of a matrix, measure by measure."""
        tested = family_tests(matrix, [(0, 1)], self.settings, noises=noises, power=self.power)
        pairs = tested.compared()
        checks = tuple(
            self._check(matrix, row, pair, tested.hardest, noisy=bool(noises))
            for row, pair in enumerate(pairs)
        )
        return checks, pairs

    def _check(
        self, matrix: Matrix, row: int, pair: Pair, alpha: float, *, noisy: bool
    ) -> MeasureCheck:
        """Decide one measure; ``alpha`` is that of the hardest step of the correction."""
        scale = matrix.scales[row]
        differences = matrix.query_differences([(0, 1)])[row]
        gains = differences if scale.higher_is_better else -differences
        broken = _broken(matrix, row, gains, self.max_query_drop)
        units = matrix.differences([(0, 1)])[row]
        enough = len(units) >= (must_differ(alpha))
        reason = self._reason(
            pair, higher=scale.higher_is_better, broken=bool(broken), enough=enough
        )
        settled = None
        if reason in ("small drop", "too uncertain") and not noisy:
            settled = self._settled_by(pair, higher=scale.higher_is_better)
        answer: Answer = "can't tell"
        if reason in ("dropped", "a query broke"):
            answer = "regression"
        elif reason in ("improved", "not inferior", "identical"):
            answer = "no regression"
        return MeasureCheck(
            measure=scale.name,
            higher_is_better=scale.higher_is_better,
            baseline=matrix.mean(row, 0),
            candidate=matrix.mean(row, 1),
            difference=pair.difference,
            interval=pair.interval,
            p=pair.p,
            corrected_p=pair.p_corrected,
            significant=pair.p_corrected <= self.settings.alpha,
            max_drop=self.max_drop,
            answer=answer,
            reason=reason,
            explanation=self._explanation(reason, pair, broken, settled, alpha),
            queries=pair.queries,
            wins=pair.wins,
            losses=pair.losses,
            visible_drop=pair.detectable,
            settled_by=settled,
            broken=tuple(broken[:NAMED]),
            broken_queries=len(broken),
            worst=_losses(matrix, row, gains)[:WORST],
            note=_identical(pair) if reason == "identical" else "",
        )

    def _reason(self, pair: Pair, *, higher: bool, broken: bool, enough: bool) -> Reason:
        """Decide by the interval of the gain; too few queries (not ``enough``) rule nothing out."""
        if pair.is_same:
            return "identical"
        interval = pair.interval
        low = interval.low if higher else -interval.high
        gain = pair.difference if higher else -pair.difference
        significant = pair.p_corrected <= self.settings.alpha
        if significant and gain < 0:
            if gain < -self.max_drop - SAME:
                return "dropped"
            if broken:
                return "a query broke"
            return "not inferior" if low > -self.max_drop + SAME else "small drop"
        if broken:
            return "a query broke"
        if significant and gain > 0:
            return "improved"
        if enough and low > -self.max_drop + SAME:
            return "not inferior"
        return "too uncertain" if pair.decidable else "too few queries differ"

    def _settled_by(self, pair: Pair, *, higher: bool) -> int | None:
        """Return how many queries would move the interval off what it must rule out.

        Its reach falls with the root of their number. A drop beyond the margin must be told from 0,
        any other from the margin.
        """
        gain = pair.difference if higher else -pair.difference
        low = pair.interval.low if higher else -pair.interval.high
        gap = gain + self.max_drop if gain > -self.max_drop else -gain
        reach = gain - low
        if gap <= SAME or not math.isfinite(reach) or reach <= gap:
            return None
        needed = pair.queries * (reach / gap) ** 2
        return math.ceil(needed) if needed < MOST_QUERIES else None

    def _explanation(
        self,
        reason: Reason,
        pair: Pair,
        broken: Sequence[Loss],
        settled: int | None,
        alpha: float,
    ) -> str:
        margin = f"{self.max_drop:g}"
        change = f"{number(pair.difference, sign=True)} {ends(pair.interval)}"
        p = p_text(pair.p_corrected)
        broke = ""
        if broken:
            names = listed(
                (f"{loss.query_id} ({number(loss.change, sign=True)})" for loss in broken), 3
            )
            queries = counted(len(broken), "query")
            broke = f"lost more than {self.max_query_drop:g} on {queries}: {names}"
        match reason:
            case "dropped":
                also = f"; it {broke}" if broke else ""
                return f"changed by {change}, {p}: worse, and by more than {margin}{also}"
            case "a query broke":
                return broke
            case "improved":
                return f"changed by {change}, {p}: better"
            case "not inferior":
                return f"changed by {change}: a drop of {margin} or more is ruled out"
            case "identical":
                return "is identical in every query"
            case "too few queries differ":
                needed = must_differ(alpha)
                return (
                    f"changed by {change}, but {differ(pair)}, and at least {needed} must for any "
                    f"outcome to be significant at {self.settings.alpha:g}; a break that no test "
                    "can show is seen by --max-query-drop and --min"
                )
            case "small drop":
                start = f"changed by {change}, {p}: worse, but not shown to be so by more than"
                return f"{start} {margin}{_settled(settled)}"
        start = f"changed by {change}, {p}: a drop of {margin} is neither shown nor ruled out"
        seen = ""
        if math.isfinite(pair.detectable):
            size = number(pair.detectable)
            seen = f"; {counted(pair.queries, 'query')} like these show a drop of about {size}"
            seen += f" with {percent(self.power)} probability"
        return f"{start}{seen}{_settled(settled)}"


def _settled(queries: int | None) -> str:
    if queries is None:
        return ""
    return f"; {about(queries)} would settle it if the difference stays what it is"


def _identical(pair: Pair) -> str:
    """Say what values that do not vary leave open."""
    if not math.isfinite(pair.interval.high):
        return ""
    mean = number(pair.interval.high)
    queries = counted(pair.queries, "query")
    return f"is identical in all {queries}; over other queries the mean may differ by up to {mean}"


def _losses(matrix: Matrix, row: int, gains: FloatArray) -> tuple[Loss, ...]:
    """Return all losses, the largest first; equal ones in the order of their ids."""
    return tuple(
        Loss(
            query_id=matrix.query_ids[place],
            baseline=matrix.values[row, 0, place],
            candidate=matrix.values[row, 1, place],
        )
        for place in np.argsort(gains, kind="stable").tolist()
        if gains[place] < 0
    )


def _broken(matrix: Matrix, row: int, gains: FloatArray, most: float | None) -> list[Loss]:
    """Return the queries that lost more than a single query may."""
    if most is None:
        return []
    return [loss for loss in _losses(matrix, row, gains) if abs(loss.change) > most + SAME]


# --- options, guards, noise ----------------------------------------------------------------------


def _check_options(max_drop: float, max_query_drop: float | None, power: float) -> None:
    for name, value in (("max_drop", max_drop), ("max_query_drop", max_query_drop)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise InputError(f"{name} must be a finite number from 0 up, not {value}")
    check_alpha(power, "power")


def _check_margin(max_drop: float, max_query_drop: float | None, matrix: Matrix) -> None:
    """Refuse limits that no drop could exceed."""
    for scale in matrix.scales:
        width = scale.bounds[1] - scale.bounds[0]
        for name, limit in (("max_drop", max_drop), ("max_query_drop", max_query_drop)):
            if limit is not None and limit >= width:
                raise InputError(
                    f"{name} is {limit:g}, and {scale.name} cannot drop by more than {width:g}; "
                    "give it in the measure's own unit, such as 0.01"
                )


def _check_lost(both: PairedRuns, missing: Missing) -> None:
    if both.lost.count and missing == "refuse":
        raise InputError(
            f"not comparable: {both.lost}; answer them, or count them as 0 with missing='zero' "
            "(--missing zero)"
        )


def _floors(minimum: Mapping[str, float]) -> dict[str, float]:
    for measure, value in minimum.items():
        if not math.isfinite(value):
            raise InputError(f"the least {measure} must be a finite number, not {value}")
    return dict(minimum)


def _check_floors(floors: Mapping[str, float], both: PairedRuns) -> tuple[FloorCheck, ...]:
    """Say whether the candidate reaches each floor."""
    checks = []
    names = [scale.name for scale in both.matrix.scales]
    for asked, floor in floors.items():
        name = both.sides[0].find(parse_measures(asked)[0])
        assert name is not None  # paired by this name already
        row = names.index(name)
        scale, mean = both.matrix.scales[row], both.matrix.mean(row, 1)
        low, high = scale.bounds
        if not low <= floor <= high:
            raise InputError(
                f"the least {scale.name} is {floor:g}, and its values are from {low:g} to {high:g}"
            )
        reached = mean >= floor - SAME if scale.higher_is_better else mean <= floor + SAME
        checks.append(FloorCheck(measure=scale.name, floor=floor, candidate=mean, reached=reached))
    return tuple(checks)


def _noise(
    matrix: Matrix, runs: Sequence[Any], both: PairedRuns, measures: Sequence[str], sides: Any
) -> Noises:
    """Return how far repeated runs of one system are apart; it is in a difference twice."""
    if not runs:
        return {}
    if len(runs) < 2:
        raise InputError("noise is seen in two or more runs of the same system; got one")
    rows = []
    for run in runs:
        again = paired_runs(both.sides[0], run, measures, **sides).matrix
        rows.append(matrix.units(again.values[:, 1]))
    values = np.stack(rows, axis=1)  # [m, runs, units]
    return {(row, 0): [(run_noise(table), 2.0)] for row, table in enumerate(values)}


def _lost_note(both: PairedRuns) -> str:
    return f"{both.lost}; they count as 0" if both.lost.count else ""
