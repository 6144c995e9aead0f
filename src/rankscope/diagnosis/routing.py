"""Routing: does a router send each question to the right expert, and does it know when not?

An analysis of `rankscope.collection.decisions`. A route is right if it is the best one, or one of
several that are as good; where only allowed routes are named, if it is one of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rankscope.collection.decisions import Decisions
from rankscope.diagnosis.analysis import Config, Inputs, analysis
from rankscope.diagnosis.figures import Figure, share_text, shares
from rankscope.diagnosis.judged_decisions import (
    DecisionFigures,
    about_other_queries,
    judged_decisions,
)
from rankscope.diagnosis.show import part_table
from rankscope.document.blocks import Block
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.part import Part
from rankscope.statistics.classification import Proportion, proportion

MANY = 0.1
"""A warning is given where surely at least this share of the questions is routed wrongly."""

SHOWN_ERRORS = 10
"""So many pairs of confused routes are shown."""

MISROUTED = declare(
    "RS691",
    "questions-misrouted",
    "warning",
    unit="query",
    advice="look at the pair of routes that is confused most: its descriptions or examples overlap",
    meaning="""Surely at least a tenth of the questions is sent to a wrong route: the whole interval
    of the routing accuracy is below 0.9.""",
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
    """Those that are right there, of the questions sent there whose right route is known."""
    recall: Proportion
    """Those that were sent there, of the questions that belong there. A question that may go to
    several routes belongs to the one it was sent to if that is right, else to the first named."""


class RouteConfusion(Part):
    """How often one route is taken where another is right."""

    right: str
    """Where the questions belong."""
    sent: str
    """Where they were sent."""
    count: int
    """How many."""


class Routing(DecisionFigures):
    """How well questions are routed."""

    against: Literal["best", "allowed"]
    """Which column says what is right; where a question has no best route, its allowed ones do."""
    accuracy: Proportion
    """Routing accuracy: questions sent to a right route, of those where it is known."""
    allowed: Proportion | None
    """Questions sent to a best or an allowed route, where both columns are given; else null."""
    routes: tuple[RouteShare, ...]
    """Every route that any column names, the busiest first."""
    confusion: tuple[RouteConfusion, ...]
    """Every pair of routes that occurs, right ones included, the most frequent first."""

    @property
    def busiest(self) -> float:
        """How many questions the busiest route gets, over the mean of all routes: 1 is even."""
        loads = [route.sent.count for route in self.routes]
        return max(loads) * len(loads) / sum(loads)

    @property
    def errors(self) -> list[RouteConfusion]:
        """The pairs of routes that are confused, the most frequent first."""
        return [pair for pair in self.confusion if pair.right != pair.sent]

    @property
    def figures(self) -> list[Figure]:
        """What targets can be set for."""
        return shares(routing_accuracy=self.accuracy)


@analysis(
    title="Routing",
    needs=("decisions",),
    place=34,
)
def routing(_: Config, inputs: Inputs) -> Routing:
    """Whether questions are sent to the right route, and whether the router knows."""
    decisions, level = judged_decisions(inputs), inputs.settings.level
    columns = set(decisions.columns)
    for need, instead in (("route", "routes"), ("best", "allowed")):
        inputs.require({need, instead} & columns, str(decisions.lacking(need)))
    rows = _routed(decisions)
    known = [row for row in rows if row.right]
    inputs.require(known, "no question has both a route and a right route")
    right = [row for row in known if row.is_right]
    may, has_both = sum(row.route in row.allowed for row in known), {"best", "allowed"} <= columns
    confusion = Counter((row.home, row.route) for row in known).items()
    return Routing(
        decisions=len(rows),
        unknown=len(rows) - len(known),
        other_queries=len(inputs.decisions) - len(decisions),
        against="best" if "best" in columns else "allowed",
        accuracy=proportion(len(right), len(known), level=level),
        allowed=proportion(may, len(known), level=level) if has_both else None,
        routes=tuple(_shares(rows, known, level)),
        confusion=tuple(
            RouteConfusion(right=home, sent=sent, count=count)
            for (home, sent), count in sorted(confusion, key=lambda item: (-item[1], item[0]))
        ),
    )


@routing.show
def _show(result: Routing) -> Iterator[Block | None]:
    several = " or one of several that are as good" if result.against == "best" else ""
    total = counted(result.accuracy.total, "question")
    accuracy = f"{share_text(result.accuracy)} of {total}"
    notes = [f"sent to a right route: {accuracy}; right: the {result.against} one{several}"]
    if result.allowed is not None:
        notes.append(f"sent to an allowed route: {share_text(result.allowed)}")
    notes.append(f"the busiest route has {result.busiest:.2f} times the mean load")
    yield part_table(
        result.routes,
        notes=notes,
        legend=("precision",),
        columns="route | sent: sent there | precision: right there | recall: found",
    )
    more = len(result.errors) - SHOWN_ERRORS
    yield part_table(
        result.errors[:SHOWN_ERRORS],
        "The most frequent errors",
        notes=[f"{counted(more, 'more pair')} of routes confused"] if more > 0 else [],
        names=2,
        columns="right: belongs to | sent: sent to | count: questions",
    )


@dataclass(frozen=True, slots=True)
class _Routed:
    """One question: where it was sent, and where it belongs."""

    route: str
    right: tuple[str, ...]
    """The right routes; none: not known."""
    allowed: frozenset[str]
    candidates: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        return self.route in self.right

    @property
    def home(self) -> str:
        """Where it belongs, as one route."""
        return self.route if self.is_right else self.right[0]


def _routed(decisions: Decisions) -> list[_Routed]:
    names = ("route", "best", "allowed", "routes")
    columns = (decisions.column(name).to_list() for name in names)
    rows = []
    for sent, best, allowed, candidates in zip(*columns, strict=True):
        route = sent or (candidates[0] if candidates else None)
        if route is not None:
            right = tuple(best or allowed or ())
            all_allowed = frozenset([*(best or ()), *(allowed or ())])
            rows.append(_Routed(route, right, all_allowed, tuple(candidates or ())))
    return rows


def _shares(rows: list[_Routed], known: list[_Routed], level: float) -> Iterator[RouteShare]:
    names = {name for row in rows for name in (row.route, *row.allowed, *row.candidates)}
    sent, checked = Counter(row.route for row in rows), Counter(row.route for row in known)
    homes = Counter(row.home for row in known)
    right = Counter(row.route for row in known if row.is_right)
    for name in sorted(names, key=lambda name: (-sent[name], name)):
        yield RouteShare(
            route=name,
            sent=proportion(sent[name], len(rows), level=level),
            precision=proportion(right[name], checked[name], level=level),
            recall=proportion(right[name], homes[name], level=level),
        )


@routing.find
def _find(result: Routing, inputs: Inputs) -> Iterator[Finding]:
    accuracy = result.accuracy
    wrong = accuracy.total - accuracy.count
    if accuracy.interval is not None and accuracy.interval.high < 1 - MANY:
        worst = result.errors[0]
        yield MISROUTED.finding(
            f"the router sends {wrong:,} of {counted(accuracy.total, 'question')} to a wrong route "
            f"({share_text(accuracy)} right), most often {worst.right} → {worst.sent} "
            f"({worst.count:,})",
            count=wrong,
        )
    belonging = [route for route in result.routes if route.recall.total]
    for route in belonging:
        sent, total = route.recall.count, route.recall.total
        sure = proportion(sent, total, level=1 - inputs.settings.alpha / len(belonging)).interval
        if sure is not None and sure.high < 0.5:
            yield ROUTE_MISSED.finding(
                f"{route.route} is right for {counted(total, 'question')}, of which {sent:,} "
                f"{'is' if sent == 1 else 'are'} sent there"
            )
    yield from about_other_queries(result)
