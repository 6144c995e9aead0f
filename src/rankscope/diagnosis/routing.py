"""Routing: does a router send each question to the right expert, and does it know when not?

An analysis of `rankscope.collection.decisions`. A route is right if it is the best one, or one of
several that are as good; where only allowed routes are named, if it is one of these.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from rankscope.diagnosis.analysis import (
    Advice,
    Analysed,
    Analysis,
    AnalysisConfig,
    Inputs,
    register,
)
from rankscope.diagnosis.decided import (
    OTHER_QUERIES,
    QualityGap,
    judged_decisions,
    other_queries,
    quality_gap,
)
from rankscope.diagnosis.figures import Figure, share_text, shares
from rankscope.diagnosis.routing_tables import routing_section
from rankscope.errors import counted
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.part import Part
from rankscope.statistics.calibration import Calibration, calibration
from rankscope.statistics.proportions import LoadBalance, Proportion, load_balance, proportion

if TYPE_CHECKING:
    from rankscope.collection.decisions import Decisions
    from rankscope.document.blocks import Section

MANY = 0.1
"""A warning is given where surely at least this share of the questions is routed wrongly."""

FAR_OFF = 0.1
"""From this expected calibration error on, confidences mislead whoever sets a threshold."""

MISROUTED = declare(
    "RS691",
    "questions-misrouted",
    "warning",
    unit="query",
    advice="look at the pair of routes that is confused most: its descriptions or examples overlap",
    meaning="""Surely at least a tenth of the questions is sent to a wrong route: the whole interval
    of the routing accuracy is below 0.9.""",
)
MISCALIBRATED = declare(
    "RS692",
    "confidence-miscalibrated",
    "warning",
    unit="decision",
    advice="do not compare confidences with a threshold before they are calibrated, for example by "
    "isotonic regression on other questions",
    meaning="""The confidences of a router or gate do not say how often it is right: the expected
    calibration error is larger than that of exact confidences would be, by more than chance. A
    note where it is below 0.1.""",
)
ROUTE_MISSED = declare(
    "RS693",
    "route-hardly-chosen",
    "warning",
    unit="route",
    advice="check that the route is known to the router under this name, and describe it better",
    meaning="""Most questions that belong to a route are sent elsewhere: the whole interval of their
    share is below one half, corrected for how many routes there are.""",
)


class RouteShare(Part):
    """One route: what was sent there, and what belongs there."""

    route: str
    """The route."""
    sent: Proportion
    """Questions sent there, of all that were routed."""
    precision: Proportion
    """Of these, where the right route is known: those that are right there."""
    recall: Proportion
    """Of the questions that belong there: those that were sent there. A question that may go to
    several routes belongs to the one it was sent to if that is right, else to the first named."""


class RouteConfusion(Part):
    """How often one route is taken where another is right."""

    right: str
    """Where the questions belong."""
    sent: str
    """Where they were sent."""
    count: int
    """How many."""


class TopRoutes(Part):
    """Whether a right route is among the first candidates."""

    n: int
    """How many candidates are looked at."""
    right: Proportion
    """Questions with a right route among them."""


class Routing(Analysed):
    """How well questions are routed."""

    decisions: int
    """How many questions were routed."""
    unknown: int
    """Of these, how many are left out of the accuracy, as no right route is known."""
    other_queries: int
    """How many decisions are left out, as they are for queries that are not judged."""
    against: Literal["best", "allowed"]
    """Which column says what is right; where a question has no best route, its allowed ones do."""
    accuracy: Proportion
    """Routing accuracy: questions sent to a right route, of those where it is known."""
    allowed: Proportion | None
    """Questions sent to a best or an allowed route, where both columns are given; else null."""
    top: tuple[TopRoutes, ...]
    """By number of candidates; none where the candidates are not given."""
    routes: tuple[RouteShare, ...]
    """Every route that any column names, the busiest first."""
    confusion: tuple[RouteConfusion, ...]
    """Every pair of routes that occurs, right ones included, the most frequent first."""
    load: LoadBalance
    """How evenly questions are spread over the routes."""
    load_if_right: LoadBalance | None
    """The same if every question went where it belongs; null where that is not known of any."""
    calibration: Calibration | None
    """Confidence against being right; null where no confidence is given."""
    quality: QualityGap | None
    """How the best system does on questions routed rightly and wrongly; null where too few of them
    are judged."""
    figures: tuple[Figure, ...]
    """What targets can be set for."""


class RoutingConfig(AnalysisConfig):
    """How routing is looked at."""

    bins: int = Field(default=10, ge=1, le=100)
    """Bins of equal width for the calibration."""
    top: int = Field(default=3, ge=1, le=100)
    """Up to how many candidates a right one is looked for."""


@dataclass(frozen=True, slots=True)
class _Routed:
    """One question: where it was sent, and where it belongs."""

    query_id: str
    route: str
    right: tuple[str, ...]
    """The right routes; none: not known."""
    allowed: frozenset[str]
    candidates: tuple[str, ...]
    confidence: float | None

    @property
    def is_right(self) -> bool:
        return self.route in self.right

    @property
    def home(self) -> str:
        """Where it belongs, as one route."""
        return self.route if self.is_right else self.right[0]


def _routed(decisions: Decisions) -> list[_Routed]:
    names = ("route", "best", "allowed", "routes", "confidence")
    columns = [decisions.query_ids, *(decisions.column(name).to_list() for name in names)]
    rows = []
    for query_id, sent, best, allowed, candidates, confidence in zip(*columns, strict=True):
        route = sent or (candidates[0] if candidates else None)
        if route is not None:
            rows.append(
                _Routed(
                    query_id,
                    route,
                    tuple(best or allowed or ()),
                    frozenset([*(best or ()), *(allowed or ())]),
                    tuple(candidates or ()),
                    confidence,
                )
            )
    return rows


def _look(config: RoutingConfig, inputs: Inputs) -> Routing | NotApplicable:
    assert inputs.decisions is not None
    decisions = judged_decisions(inputs)
    if isinstance(decisions, str):
        return ROUTING.not_applicable(decisions)
    if not {"route", "routes"} & set(decisions.columns):
        return ROUTING.not_applicable(str(decisions.lacking("route")))
    if not {"best", "allowed"} & set(decisions.columns):
        return ROUTING.not_applicable(str(decisions.lacking("best")))
    rows = _routed(decisions)
    known = [row for row in rows if row.right]
    if not known:
        return ROUTING.not_applicable("no question has both a route and a right route")
    level, alpha = inputs.settings.level, inputs.settings.alpha

    def share(part: list[_Routed], of: list[_Routed]) -> Proportion:
        return proportion(len(part), len(of), level=level)

    right = [row for row in known if row.is_right]
    confusion = Counter((row.home, row.route) for row in known)
    names = dict.fromkeys(
        name for row in rows for name in (row.route, *row.right, *row.allowed, *row.candidates)
    )
    routes = _shares(list(names), rows, known, level)
    calibrated = None
    stated = [(row.confidence, row.is_right) for row in known if row.confidence is not None]
    if stated:
        calibrated = calibration(
            [confidence for confidence, _ in stated],
            [is_right for _, is_right in stated],
            bins=config.bins,
            level=level,
            resamples=min(inputs.settings.resamples, 1000),
            seed=inputs.settings.seed,
        )
    accuracy = share(right, known)
    has_both = {"best", "allowed"} <= set(decisions.columns)
    homes = Counter(row.home for row in known)
    wrong = [row.query_id for row in known if not row.is_right]
    quality = quality_gap(inputs, [row.query_id for row in right], wrong)
    result = Routing(
        decisions=len(rows),
        unknown=len(rows) - len(known),
        other_queries=len(inputs.decisions) - len(decisions),
        against="best" if "best" in decisions.columns else "allowed",
        accuracy=accuracy,
        allowed=share([row for row in known if row.route in row.allowed], known)
        if has_both
        else None,
        top=_top(known, config.top, level),
        routes=routes,
        confusion=tuple(
            RouteConfusion(right=home, sent=sent, count=count)
            for (home, sent), count in sorted(
                confusion.items(), key=lambda item: (-item[1], item[0])
            )
        ),
        load=load_balance([route.sent.count for route in routes]),
        load_if_right=load_balance([homes[route.route] for route in routes]),
        calibration=calibrated,
        quality=quality,
        figures=(
            *shares(routing_accuracy=accuracy),
            *([] if calibrated is None else [Figure(name="routing_ece", value=calibrated.ece)]),
        ),
        advice=_advice(accuracy, confusion, quality),
    )
    return result.model_copy(update={"findings": tuple(_findings(result, alpha))})


def _top(known: list[_Routed], most: int, level: float) -> tuple[TopRoutes, ...]:
    """Count questions with a right route among the first candidates."""
    listed = [row for row in known if row.candidates]
    longest = max((len(row.candidates) for row in listed), default=0)
    return tuple(
        TopRoutes(
            n=n,
            right=proportion(
                sum(not set(row.right).isdisjoint(row.candidates[:n]) for row in listed),
                len(listed),
                level=level,
            ),
        )
        for n in range(1, min(most, longest) + 1)
    )


def _shares(
    names: list[str], rows: list[_Routed], known: list[_Routed], level: float
) -> tuple[RouteShare, ...]:
    sent, checked = Counter(row.route for row in rows), Counter(row.route for row in known)
    homes = Counter(row.home for row in known)
    right = Counter(row.route for row in known if row.is_right)
    return tuple(
        RouteShare(
            route=name,
            sent=proportion(sent[name], len(rows), level=level),
            precision=proportion(right[name], checked[name], level=level),
            recall=proportion(right[name], homes[name], level=level),
        )
        for name in sorted(names, key=lambda name: (-sent[name], name))
    )


def _errors(confusion: Counter[tuple[str, str]]) -> list[tuple[tuple[str, str], int]]:
    wrong = [item for item in confusion.items() if item[0][0] != item[0][1]]
    return sorted(wrong, key=lambda item: (-item[1], item[0]))


def _errors_in_words(accuracy: Proportion, confusion: Counter[tuple[str, str]]) -> str:
    """Say how many questions go wrong, and which error is the most frequent."""
    wrong = accuracy.total - accuracy.count
    (home, sent), count = _errors(confusion)[0]
    return (
        f"the router sends {wrong:,} of {counted(accuracy.total, 'question')} to a wrong route "
        f"({share_text(accuracy)} right), most often {home} → {sent} ({count:,})"
    )


def _advice(
    accuracy: Proportion, confusion: Counter[tuple[str, str]], quality: QualityGap | None
) -> tuple[Advice, ...]:
    if quality is None or not quality.gain:
        return ()
    groups = quality.groups
    text = (
        f"Routing: {_errors_in_words(accuracy, confusion)}; {quality.system} has "
        f"{quality.measure} of {groups.second:.3f} there, and {groups.first:.3f} where the route "
        "is right"
    )
    return (Advice(text=text, gain=quality.gain),)


def _findings(result: Routing, alpha: float) -> list[Finding]:
    findings = []
    accuracy = result.accuracy
    confusion = Counter({(pair.right, pair.sent): pair.count for pair in result.confusion})
    if accuracy.interval is not None and accuracy.interval.high < 1 - MANY:
        findings.append(
            MISROUTED.finding(
                _errors_in_words(accuracy, confusion),
                count=accuracy.total - accuracy.count,
                evidence=accuracy.to_dict(),
            )
        )
    calibrated = result.calibration
    if calibrated is not None and calibrated.p <= alpha:
        findings.append(miscalibrated("the router", calibrated))
    belonging = [route for route in result.routes if route.recall.total]
    level = 1 - alpha / max(1, len(belonging))
    missed = [
        route
        for route in belonging
        if (sure := proportion(route.recall.count, route.recall.total, level=level).interval)
        is not None
        and sure.high < 0.5
    ]
    findings += [
        ROUTE_MISSED.finding(
            f"{route.route} is right for {counted(route.recall.total, 'question')}, and "
            f"{route.recall.count or 'none'} of them {'is' if route.recall.count < 2 else 'are'} "
            "sent there",
            evidence={"route": route.route} | route.recall.to_dict(),
        )
        for route in missed
    ]
    return [*findings, *other_queries(result.other_queries)]


def miscalibrated(who: str, calibrated: Calibration) -> Finding:
    """Say that confidences do not say how often decisions are right."""
    right = calibrated.right.share or 0.0
    kind = "over" if calibrated.confidence > right else "under"
    bias = (
        f"it is {kind}confident by {abs(calibrated.confidence - right):.3f} on average"
        if abs(calibrated.confidence - right) >= calibrated.ece / 2
        else "it is too sure of some decisions and too unsure of others"
    )
    finding = MISCALIBRATED.finding(
        f"the confidences of {who} are off by {calibrated.ece:.3f} on average (ECE; exact ones "
        f"would give {calibrated.expected:.3f} on {counted(calibrated.n, 'decision')}): {bias}",
        count=calibrated.n,
        evidence={"ece": calibrated.ece, "expected": calibrated.expected, "p": calibrated.p},
        severity="warning" if calibrated.ece >= FAR_OFF else "note",
    )
    if calibrated.ece >= FAR_OFF:
        return finding
    mild = "calibrate them on other questions before a threshold is set to a hundredth"
    return finding.model_copy(update={"advice": mild})


def _section(result: Routing) -> Section:
    return routing_section(result, ROUTING.title)


ROUTING = register(
    Analysis(
        name="routing",
        title="Routing",
        summary="Whether questions are sent to the right route, and whether the router knows.",
        config=RoutingConfig,
        written="routing: {bins: 10, top: 3}",
        result=Routing,
        needs=("decisions",),
        uses=("scores", "qrels"),
        look=_look,
        section=_section,
        codes=(MISROUTED, MISCALIBRATED, ROUTE_MISSED, OTHER_QUERIES),
        place=34,
    )
)
