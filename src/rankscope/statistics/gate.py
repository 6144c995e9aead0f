"""The gate: is the candidate worse than the baseline, by more than is tolerable and than chance?

Each measure has one of three answers, by the interval of its difference (the one of
`rankscope.statistics.comparison`, which holds for all measures at once):

- *regression*: the interval is below 0, and the drop is larger than the margin;
- *no regression*: the interval rules out a drop as large as the margin (non-inferiority);
- *can't tell*: neither. What the queries could have shown, and how many would settle it, is part of
  the answer.

Beside it there are guards that need no statistics: a floor for a measure, the largest drop of a
single query, queries that the candidate does not answer.

The test is two-sided although only a drop can fail: its p-value and interval are those `compare`
gives for the same scores, and where differences are skewed its error rate strays less than a
one-sided one's (docs/explanation/error-rates.md has numbers).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack

import numpy as np
from pydantic import Field, computed_field

from rankscope.document.text import percent
from rankscope.document.views import Shown
from rankscope.errors import InputError, counted
from rankscope.findings import Finding
from rankscope.measures.language import Measure, parse_measures, strict_and_soft
from rankscope.part import Part, Record
from rankscope.scoring.inputs import as_judgments
from rankscope.scoring.score_files import QrelsRef
from rankscope.scoring.scoring_options import Scoring, ScoringOptions
from rankscope.statistics.arrays import SAME, check_alpha
from rankscope.statistics.clusters import Sample
from rankscope.statistics.comparison import family_tests
from rankscope.statistics.noise import Noises, RunNoise, run_noise
from rankscope.statistics.pairing import PairedRuns, paired_runs
from rankscope.statistics.power import MOST_QUERIES, POWER, must_differ
from rankscope.statistics.sentences import about, differ, ends, listed, number, p_text
from rankscope.statistics.settings import Settings
from rankscope.statistics.system_pairs import Pair

if TYPE_CHECKING:
    from rankscope.statistics.arrays import FloatArray, IntArray
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
CantTell = Literal["pass", "fail"]
Missing = Literal["refuse", "zero"]

ANSWERS: dict[Reason, Answer] = {
    "dropped": "regression",
    "a query broke": "regression",
    "improved": "no regression",
    "not inferior": "no regression",
    "identical": "no regression",
    "small drop": "can't tell",
    "too few queries differ": "can't tell",
    "too uncertain": "can't tell",
}
"""What follows from each reason."""

ORDER: tuple[Answer, ...] = ("regression", "can't tell", "no regression")
"""The worst answer first: it is that of several measures together."""


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


class MeasureCheck(Pair):
    """One measure's answer: how the candidate compares with the baseline, and what follows.

    ``base`` is the baseline and ``system`` the candidate; interval and corrected p-value are for
    all measures at once.
    """

    higher_is_better: bool
    """Whether more is better."""
    reason: Reason
    """Why it is answered so, in a few words."""
    explanation: str
    """Why, in words that follow the measure's name."""
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
    def answer(self) -> Answer:
        """Whether it regressed."""
        return ANSWERS[self.reason]

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


class GateResult(Record, Shown):
    """The gate's answer, measure by measure, and how it was found."""

    kind: ClassVar[str] = "gate"
    version: ClassVar[int] = 2

    answer: Answer
    """Regression if there is one in any measure or guard, can't tell if so for any measure, else no
    regression."""
    passed: bool
    """Whether the build may go on: no regression, or can't tell where that does not stop it."""
    cant_tell: CantTell
    """What "can't tell" means for the build."""
    baseline: str
    """The baseline's run."""
    candidate: str
    """The candidate's run."""
    asked: dict[str, str] = Field(default_factory=dict)
    """The names under which measures were asked for, by their own names."""
    not_compared: dict[str, str] = Field(default_factory=dict)
    """Measures of either side that could not be compared, and why; only where none were named."""
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
    power: float
    """The probability with which a drop as large as the margin should be seen."""
    settings: Settings
    """How differences were tested."""
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
        stop = " (counted as a failure)" if self.cant_tell == "fail" else ""
        more = f"; nor for {len(unclear) - 1} more" if len(unclear) > 1 else ""
        return f"can't tell{stop}: {unclear[0].measure} {unclear[0].explanation}{more}."


def gate(
    baseline: Any,
    candidate: Any,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    qrels: Any = None,
    max_drop: float = 0.01,
    cant_tell: CantTell = "pass",
    minimum: Mapping[str, float] | None = None,
    max_query_drop: float | None = None,
    missing: Missing = "refuse",
    noise: Sequence[Any] = (),
    clusters: Mapping[str, object] | None = None,
    weights: Mapping[str, float] | None = None,
    alpha: float = 0.05,
    power: float = POWER,
    test: Test = "t",
    resamples: int = 10_000,
    seed: int = 0,
    baseline_run: str | None = None,
    candidate_run: str | None = None,
    **options: Unpack[ScoringOptions],
) -> GateResult:
    """Compare a candidate with a baseline: regression, no regression, or can't tell, by measure.

    Each of the two is a score file, what `Scores.to_dict` returned, `Scores`, or, with ``qrels``, a
    run in any form. Without ``measures``, every measure that both hold is compared, and the result
    says which could not be; of two runs the measures of `evaluate`. ``max_drop`` is the margin: a
    drop up to it is tolerable. ``cant_tell`` says whether the build goes on where the data cannot
    tell.

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
    for name, value in (("max_drop", max_drop), ("max_query_drop", max_query_drop)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise InputError(f"{name} must be a finite number from 0 up, not {value}")
    check_alpha(power, "power")
    settings = Settings.of(
        test=test, family="all", alpha=alpha, level=1 - alpha, resamples=resamples, seed=seed
    )
    scoring = Scoring.of("gate", options, without=("queries", "executor"))
    asked = None
    if measures is not None:
        of_terms = scoring.ontology is not None
        asked = strict_and_soft(parse_measures(measures), of_terms=of_terms)
    if asked == []:
        raise InputError("no measure was asked for; name one such as nDCG@10")
    judgments = None if qrels is None else as_judgments(qrels, scoring)
    sides: Any = {
        "qrels": judgments,
        "profile": scoring.profile if options.get("profile") else None,
        "scoring": scoring,
    }
    both = paired_runs(
        baseline,
        candidate,
        asked,
        needed=parse_measures(list(minimum or {})),
        runs=(baseline_run, candidate_run),
        **sides,
    )
    if both.lost and missing == "refuse":
        raise InputError(
            f"not comparable: {both.lost_text}; answer them, or count them as 0 with "
            "missing='zero' (--missing zero)"
        )
    sample = Sample.of(both.matrix.query_ids, clusters, weights)
    matrix = replace(both.matrix.only_measures(len(both.measures)), sample=sample)
    noises = _noises(matrix, noise, both, sides)
    rule = Rule(settings, max_drop, max_query_drop, power)
    checks = rule.checks(matrix, noises)
    floors = _check_floors(minimum or {}, both)
    answers = {check.answer for check in checks}
    answers |= {"regression" for floor in floors if not floor.reached}
    answer = next(answer for answer in ORDER if answer in answers)
    notes = [f"{both.lost_text}; they count as 0"] if both.lost else []
    notes += [sample.note(len(matrix.query_ids))] if sample is not None else []
    return GateResult(
        answer=answer,
        passed=answer == "no regression" or (answer == "can't tell" and cant_tell == "pass"),
        cant_tell=cant_tell,
        baseline=matrix.systems[0],
        candidate=matrix.systems[1],
        asked=both.measures,
        not_compared=both.left_out,
        queries=len(matrix.query_ids),
        clusters=None if sample is None or sample.clusters is None else len({*sample.clusters}),
        weighted=weights is not None,
        lost=both.lost,
        lost_queries=both.lost_queries,
        qrels=QrelsRef(sha256=both.sides[0].fingerprint),
        profile=both.sides[0].profile.name,
        max_drop=max_drop,
        max_query_drop=max_query_drop,
        power=power,
        settings=settings,
        checks=checks,
        floors=floors,
        noise=tuple(noise for [(noise, _)] in noises.values()),
        notes=tuple(filter(None, notes)),
        findings=both.findings,
    )


# --- one measure ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    """Decides measures by their intervals."""

    settings: Settings
    max_drop: float
    max_query_drop: float | None
    power: float

    def checks(self, matrix: Matrix, noises: Noises) -> tuple[MeasureCheck, ...]:
        """Compare the two systems of a matrix, measure by measure."""
        for scale in matrix.scales:
            width = scale.bounds[1] - scale.bounds[0]
            for name in ("max_drop", "max_query_drop"):
                limit = getattr(self, name)
                if limit is not None and limit >= width:
                    raise InputError(
                        f"{name} is {limit:g}, and {scale.name} cannot drop by more than "
                        f"{width:g}; give it in the measure's own unit, such as 0.01"
                    )
        tested = family_tests(matrix, [(0, 1)], self.settings, noises=noises, power=self.power)
        needed = must_differ(tested.hardest)
        changes = matrix.query_differences([(0, 1)])
        return tuple(
            self._check(matrix, row, pair, changes[row], needed, noisy=(row, 0) in noises)
            for row, pair in enumerate(tested.compared())
        )

    def _check(
        self, matrix: Matrix, row: int, pair: Pair, change: FloatArray, needed: int, *, noisy: bool
    ) -> MeasureCheck:
        """Decide one measure; so many queries are ``needed`` for any outcome to be significant."""
        higher = matrix.scales[row].higher_is_better
        gains = change if higher else -change
        ranked = np.argsort(gains, kind="stable")  # the largest losses first, equal ones by id
        most = math.inf if self.max_query_drop is None else self.max_query_drop
        broken = _losses(matrix, row, ranked[: np.count_nonzero(gains < -most - SAME)])
        worst = _losses(matrix, row, ranked[: min(WORST, np.count_nonzero(gains < 0))])
        gain = pair.difference if higher else -pair.difference
        low = pair.interval.low if higher else -pair.interval.high
        reason = self._reason(pair, gain, low, broken=bool(broken), enough=pair.drawn >= needed)
        settled = None
        if reason in ("small drop", "too uncertain") and not noisy:
            settled = self._settled_by(pair.queries, gain, low)
        return MeasureCheck(
            **{name: getattr(pair, name) for name in Pair.model_fields},
            higher_is_better=higher,
            reason=reason,
            explanation=self._explanation(reason, pair, broken, settled, needed),
            settled_by=settled,
            broken=tuple(broken[:NAMED]),
            broken_queries=len(broken),
            worst=tuple(worst),
            note=_identical(pair) if reason == "identical" else "",
        )

    def _reason(self, pair: Pair, gain: float, low: float, *, broken: bool, enough: bool) -> Reason:
        """Decide by the gain and its lower end; too few queries rule nothing out."""
        if pair.is_same:
            return "identical"
        significant = pair.p_corrected <= self.settings.alpha
        is_ruled_out = low > -self.max_drop + SAME
        if significant and gain < 0:
            if gain < -self.max_drop - SAME:
                return "dropped"
            if broken:
                return "a query broke"
            return "not inferior" if is_ruled_out else "small drop"
        if broken:
            return "a query broke"
        if significant and gain > 0:
            return "improved"
        if enough and is_ruled_out:
            return "not inferior"
        return "too uncertain" if pair.decidable else "too few queries differ"

    def _settled_by(self, queries: int, gain: float, low: float) -> int | None:
        """Return how many queries would move the interval off what it must rule out.

        Its reach falls with the root of their number. A drop beyond the margin must be told from 0,
        any other from the margin.
        """
        gap = gain + self.max_drop if gain > -self.max_drop else -gain
        reach = gain - low
        if gap <= SAME or not math.isfinite(reach) or reach <= gap:
            return None
        needed = queries * (reach / gap) ** 2
        return math.ceil(needed) if needed < MOST_QUERIES else None

    def _explanation(
        self,
        reason: Reason,
        pair: Pair,
        broken: Sequence[Loss],
        settled: int | None,
        needed: int,
    ) -> str:
        margin, queries = f"{self.max_drop:g}", counted(len(broken), "query")
        changed = f"changed by {number(pair.difference, sign=True)} {ends(pair.interval)}"
        tested = f"{changed}, {p_text(pair.p_corrected)}"
        each = [f"{loss.query_id} ({number(loss.change, sign=True)})" for loss in broken]
        broke = f"lost more than {self.max_query_drop or 0:g} on {queries}: {listed(each, 3)}"
        also = f"; it {broke}" if broken else ""
        seen = settle = ""
        if math.isfinite(pair.detectable):
            seen = (
                f"; {counted(pair.queries, 'query')} like these show a drop of about "
                f"{number(pair.detectable)} with {percent(self.power)} probability"
            )
        if settled is not None:
            settle = f"; {about(settled)} would settle it if the difference stays what it is"
        texts: dict[Reason, str] = {
            "dropped": f"{tested}: worse, and by more than {margin}{also}",
            "a query broke": broke,
            "improved": f"{tested}: better",
            "not inferior": f"{changed}: a drop of {margin} or more is ruled out",
            "identical": "is identical in every query",
            "too few queries differ": f"{changed}, but {differ(pair)}, and at least {needed} must "
            f"for any outcome to be significant at {self.settings.alpha:g}; a break that no test "
            "can show is seen by --max-query-drop and --min",
            "small drop": f"{tested}: worse, but not shown to be so by more than {margin}{settle}",
            "too uncertain": f"{tested}: a drop of {margin} is neither shown nor ruled out{seen}"
            f"{settle}",
        }
        return texts[reason]


def _identical(pair: Pair) -> str:
    """Say what values that do not vary leave open."""
    if not math.isfinite(pair.interval.high):
        return ""
    mean = number(pair.interval.high)
    queries = counted(pair.queries, "query")
    return f"is identical in all {queries}; over other queries the mean may differ by up to {mean}"


def _losses(matrix: Matrix, row: int, places: IntArray) -> list[Loss]:
    """Return what some queries lost."""
    return [
        Loss(
            query_id=matrix.query_ids[place],
            baseline=matrix.values[row, 0, place],
            candidate=matrix.values[row, 1, place],
        )
        for place in places.tolist()
    ]


# --- floors, noise -------------------------------------------------------------------------------


def _check_floors(minimum: Mapping[str, float], both: PairedRuns) -> tuple[FloorCheck, ...]:
    """Say whether the candidate reaches each floor."""
    checks = []
    names = [scale.name for scale in both.matrix.scales]
    for asked, floor in minimum.items():
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


def _noises(matrix: Matrix, runs: Sequence[Any], both: PairedRuns, sides: Any) -> Noises:
    """Return how far repeated runs of one system are apart; it is in a difference twice."""
    if not runs:
        return {}
    if len(runs) < 2:
        raise InputError("noise is seen in two or more runs of the same system; got one")
    measures = parse_measures(list(both.measures.values()))
    values = [
        matrix.units(paired_runs(both.sides[0], run, measures, **sides).matrix.values[:, 1])
        for run in runs
    ]
    return {
        (row, 0): [(run_noise(table), 2.0)] for row, table in enumerate(np.stack(values, axis=1))
    }
