"""Risk: does a better mean hide queries that became much worse?

An analysis of `rankscope.statistics.risk`: URisk and TRisk of each system against the baseline, and
GeoRisk, for which all systems together are the baseline.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pydantic import Field

from rankscope.diagnosis.registry import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.document.blocks import Cell, Column, Section, Table, ends, good_if, shortened
from rankscope.errors import counted
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.part import Part, PrivateText, left_out_if_empty
from rankscope.statistics.arrays import row_means, special
from rankscope.statistics.correction import corrected
from rankscope.statistics.intervals import Interval, mean_intervals
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.noise import RunNoise, noisy_difference, run_noise
from rankscope.statistics.paired import paired_tests
from rankscope.statistics.pairwise import agreeing, differences_alone
from rankscope.statistics.risk import Risk, geo_risk, risk, weighted_changes
from rankscope.statistics.settings import Settings

FEWEST = 10
"""With fewer queries a few losses decide everything."""

RISKY_GAIN = declare(
    "RS611",
    "risky-gain",
    "note",
    unit="system",
    advice="look at the queries that lost most before you act on the mean",
    meaning="""A system's mean is shown to be above the baseline's, but with losses weighed more
    than gains it is significantly below it (TRisk).""",
)


class SystemRisk(Part):
    """What one system risks by one measure."""

    system: str
    """The system."""
    measure: str
    """The measure."""
    mean: float
    """Its mean."""
    against: Risk | None
    """Gains and losses against the baseline; null for the baseline, or without one."""
    interval: Interval | None
    """Of URisk, by Student's t, for all systems at once; it agrees with the corrected p-value."""
    p_corrected: float | None
    """Of TRisk as a t statistic, corrected by Holm over the systems."""
    geo_risk: float | None
    """GeoRisk: the mean and the risk against all systems in one number; null where values may be
    negative or less is better."""


class QueryLoss(Part):
    """A query on which a system lost against the baseline."""

    system: str
    """The system."""
    query_id: str
    """The query."""
    text: PrivateText
    """What it asks; null if that is not known."""
    before: float
    """The baseline's value of the main measure."""
    after: float
    """The system's."""


class Risks(Analysed):
    """What systems risk for their means."""

    measure: str
    """The main measure, which reports show."""
    baseline: str | None
    """The system that others are compared with; null: none."""
    loss_weight: float
    """How much more a loss weighs than a gain: losses count 1 + this."""
    alpha: float
    """A corrected p-value up to this counts."""
    critical: float
    """|TRisk| beyond this is significant for a single system, at alpha."""
    systems: tuple[SystemRisk, ...]
    """By measure and system."""
    losses: tuple[QueryLoss, ...] = left_out_if_empty()
    """By system, the queries that lost most against the baseline."""


class RisksConfig(AnalysisConfig):
    """How risk is weighed."""

    loss_weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """How much more a loss weighs than a gain."""
    show: int = Field(default=5, ge=0)
    """How many of the queries that lost most are shown for each system."""


def _look(config: RisksConfig, inputs: Inputs) -> Risks | NotApplicable:
    assert inputs.scores is not None
    matrix = Matrix.of_scores(inputs.scores, only_means=True)
    measures, systems, queries = matrix.shape
    if not measures:
        return RISKS.not_applicable("no measure is a mean over queries")
    if systems < 2 or (inputs.baseline is None and systems < 3):
        return RISKS.not_applicable("it needs a baseline and another system, or three systems")
    if queries < FEWEST:
        are = "is" if queries == 1 else "are"
        return RISKS.not_applicable(
            f"it needs at least {FEWEST} queries, and there {are} {queries}"
        )
    alpha = inputs.settings.alpha
    rows = [
        row
        for measure in range(measures)
        for row in _of_measure(matrix, measure, inputs.baseline, config.loss_weight, alpha)
    ]
    gaining = _gaining(matrix, inputs.baseline, inputs.settings)
    return Risks(
        measure=matrix.scales[0].name,
        baseline=inputs.baseline,
        loss_weight=config.loss_weight,
        alpha=alpha,
        critical=float(special().stdtrit(queries - 1, 1 - alpha / 2)),
        systems=tuple(rows),
        losses=tuple(_losses(matrix, inputs, config.show)),
        findings=tuple(_findings(rows, gaining, inputs)),
    )


def _of_measure(
    matrix: Matrix, measure: int, baseline: str | None, loss_weight: float, alpha: float
) -> list[SystemRisk]:
    scale, values = matrix.scales[measure], matrix.oriented(measure)
    together: list[float | None] = [None] * len(values)
    if scale.higher_is_better and values.min() >= 0:
        together = list(geo_risk(values, alpha=loss_weight).tolist())
    base = None if baseline is None else matrix.systems.index(baseline)
    others = [] if base is None else [place for place in range(len(values)) if place != base]
    p_values: dict[int, float] = {}
    intervals: dict[int, Interval] = {}
    if base is not None and others:
        tested = _tested(matrix, measure, base, others, loss_weight, alpha)
        p_values = dict(zip(others, (p for p, _ in tested), strict=True))
        intervals = dict(zip(others, (interval for _, interval in tested), strict=True))
    return [
        SystemRisk(
            system=name,
            measure=scale.name,
            mean=matrix.mean(measure, place),
            against=risk(values[place], values[base], alpha=loss_weight)
            if place in intervals
            else None,
            interval=intervals.get(place),
            p_corrected=p_values.get(place),
            geo_risk=together[place],
        )
        for place, name in enumerate(matrix.systems)
    ]


def _tested(  # noqa: PLR0917
    matrix: Matrix, measure: int, base: int, others: list[int], loss_weight: float, alpha: float
) -> list[tuple[float, Interval]]:
    """Return the corrected p-value and the interval of URisk of each system but the baseline."""
    values = matrix.oriented(measure)
    changes = np.stack([weighted_changes(values[i] - values[base], loss_weight) for i in others])
    lowest, highest = matrix.scales[measure].change
    bounds = (lowest * (1 + loss_weight), highest)
    level = 1 - alpha / len(others)
    tests = [result.p for result in paired_tests(changes, test="t")]
    intervals = mean_intervals(changes, method="t", level=level, bounds=bounds)
    for at, place in enumerate(others):
        noises = _noises(matrix, measure, base, place, loss_weight)
        if noises:
            noisy = noisy_difference(changes[at], noises, level=level, bounds=bounds)
            tests[at] = max(tests[at], noisy.p)
            wider = {
                "low": min(noisy.low, intervals[at].low),
                "high": max(noisy.high, intervals[at].high),
                "method": "t, with noise",
            }
            intervals[at] = intervals[at].model_copy(update=wider)
    p_values = corrected(tests, "holm").tolist()
    means = row_means(changes).tolist()
    return [
        (p, agreeing(interval, mean, p, alpha))
        for p, interval, mean in zip(p_values, intervals, means, strict=True)
    ]


def _noises(
    matrix: Matrix, measure: int, base: int, place: int, loss_weight: float
) -> list[tuple[RunNoise, float]]:
    """Return how far URisk moves when the system, or the baseline, is asked again."""
    sign = 1.0 if matrix.scales[measure].higher_is_better else -1.0
    noises = []
    for asked, way in ((place, 1.0), (base, -1.0)):
        runs = matrix.repeats.get(matrix.systems[asked])
        if runs is not None:
            other = matrix.values[measure, base if asked == place else place]
            changes = weighted_changes(sign * way * (runs[measure] - other), loss_weight)
            noises.append((run_noise(changes), 1.0))
    return [(noise, weight) for noise, weight in noises if noise.deviation > 0]


def _gaining(matrix: Matrix, baseline: str | None, settings: Settings) -> set[tuple[str, str]]:
    """Return the systems, by measure, whose mean is shown to be above the baseline's.

    With losses weighed more, noise alone is a loss; so a gain must be shown to be called risky.
    """
    if baseline is None:
        return set()
    base = matrix.systems.index(baseline)
    pairs = [(base, place) for place in range(len(matrix.systems)) if place != base]
    by_t = settings.model_copy(update={"test": "t"})
    gaining = set()
    for measure, scale in enumerate(matrix.scales):
        changes = differences_alone(matrix.only_measure(measure), pairs, by_t)
        tests = corrected([change.test.p for change in changes], "holm").tolist()
        gaining |= {
            (scale.name, matrix.systems[place])
            for (_, place), p, change in zip(pairs, tests, changes, strict=True)
            if p <= settings.alpha and scale.is_better(change.mean)
        }
    return gaining


def _losses(matrix: Matrix, inputs: Inputs, show: int) -> Iterator[QueryLoss]:
    """Yield the queries on which each system lost most against the baseline."""
    if inputs.baseline is None:
        return
    values = matrix.oriented(0)
    texts = {query_id: text for query_id, text, _ in inputs.queries or ()}
    base = matrix.systems.index(inputs.baseline)
    for place, name in enumerate(matrix.systems):
        changes = values[place] - values[base]
        for column in np.argsort(changes, kind="stable")[:show].tolist():
            if changes[column] < 0:
                query_id = matrix.query_ids[column]
                yield QueryLoss(
                    system=name,
                    query_id=query_id,
                    text=texts.get(query_id),
                    before=float(matrix.values[0, base, column]),
                    after=float(matrix.values[0, place, column]),
                )


def _findings(
    rows: list[SystemRisk], gaining: set[tuple[str, str]], inputs: Inputs
) -> list[Finding]:
    """Name each system that is shown to gain and is significantly worse with losses weighed."""
    findings = []
    alpha, baseline = inputs.settings.alpha, inputs.baseline
    for row in rows:
        if row.against is None or row.p_corrected is None or row.p_corrected > alpha:
            continue
        gain = row.against.reward - row.against.loss
        if (row.measure, row.system) in gaining and row.against.u_risk < 0:
            findings.append(
                RISKY_GAIN.finding(
                    f"{row.system} gains {gain:.4f} on {row.measure} against {baseline}, and loses "
                    f"on {counted(row.against.losses, 'query')}: with losses weighed more it is "
                    f"significantly below (URisk {row.against.u_risk:+.4f})",
                    evidence={"system": row.system, "measure": row.measure} | row.against.to_dict(),
                )
            )
    return findings


def _section(result: Risks) -> Section:
    """Show the first measure in one table."""
    rows = []
    for row in result.systems:
        if row.measure != result.measure:
            continue
        cells = [Cell(row.system), Cell(row.mean)]
        if result.baseline is not None:
            cells += _against(row, result.alpha)
        rows.append((*cells, Cell(row.geo_risk)))
    weight = f"{1 + result.loss_weight:g}"
    notes = [f"{result.measure}; of all risks, higher is better; the JSON holds the other measures"]
    columns = [Column("system", "text"), Column("mean")]
    if result.baseline is not None:
        columns += [
            Column("won"),
            Column("lost"),
            Column("URisk", signed=True),
            Column("TRisk", digits=2, signed=True),
        ]
        notes += [
            (
                f"URisk: mean difference to {result.baseline}, a loss counting {weight} times, "
                "with its interval by Student's t"
            ),
            (
                f"TRisk: URisk over its standard error; beyond ±{result.critical:.2f} is "
                "significant for a single system; ↑ and ↓ mark p ≤ "
                f"{result.alpha:g}, corrected over the systems"
            ),
        ]
    notes.append("GeoRisk: mean and risk against all systems together in one number")
    table = Table((*columns, Column("GeoRisk")), tuple(rows), notes=tuple(notes))
    return Section(RISKS.title, details=(table, *_losses_tables(result)))


def _losses_tables(result: Risks) -> Iterator[Table]:
    """Show the queries that lost most, where any did."""
    for name in dict.fromkeys(loss.system for loss in result.losses):
        losses = [loss for loss in result.losses if loss.system == name]
        rows = [
            (
                Cell(shortened(loss.text or loss.query_id)),
                Cell(loss.before),
                Cell(loss.after),
                Cell(loss.after - loss.before),
            )
            for loss in losses
        ]
        yield Table(
            (
                Column("query", "text"),
                Column(str(result.baseline), digits=3),
                Column(name, digits=3),
                Column("change", digits=3, signed=True),
            ),
            tuple(rows),
            title=f"Where {name} lost most",
            notes=(f"{result.measure} of single queries",),
        )


def _against(row: SystemRisk, alpha: float) -> list[Cell]:
    against = row.against
    if against is None:
        return [Cell(), Cell(), Cell(), Cell()]
    ratio = Cell(against.t_risk)
    if row.p_corrected is not None and row.p_corrected <= alpha and against.u_risk:
        is_good = against.u_risk > 0
        ratio = Cell(against.t_risk, marker="↑" if is_good else "↓", tone=good_if(is_good))
    return [
        Cell(against.wins),
        Cell(against.losses),
        Cell(against.u_risk, ends(row.interval)),
        ratio,
    ]


RISKS = register(
    Analysis(
        name="risk",
        title="Risk",
        summary="Whether a mean hides queries that became much worse: URisk, TRisk, GeoRisk.",
        config=RisksConfig,
        written="risk: {loss_weight: 2}",
        result=Risks,
        needs=("scores",),
        uses=("queries",),
        look=_look,
        section=_section,
        codes=(RISKY_GAIN,),
        place=30,
    )
)
