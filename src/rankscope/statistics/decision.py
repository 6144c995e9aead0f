"""The decision: which system to use, written from a comparison and saying no more than it holds.

The rules, by what the comparison shows on one measure:

- one system: its mean, and that there is nothing to compare it with;
- all the same on every question: that;
- systems that beat the baseline, or without one all that no other beats, are *candidates*;
- one candidate: use it;
- several that the test cannot tell apart: use the cheapest, and say what the dearest would add;
- several that were compared with the baseline only: that, and how to compare them;
- nobody beats the baseline: stay with it, and how many questions would settle the nearest case;
- nobody beats anybody: that, and how many questions it would take.

No system is praised for a mean that the test cannot separate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankscope.document.text import number
from rankscope.errors import counted
from rankscope.measures.language import Measure
from rankscope.part import Part
from rankscope.statistics.sentences import could_have_shown, ends, equivalent, listed, p_of

if TYPE_CHECKING:
    from rankscope.statistics.comparison import Comparison
    from rankscope.statistics.system_pairs import Pair, Verdict

MOST_NAMES = 3
"""How many systems a sentence names before it counts the rest."""

FARTHEST = 100
"""A difference that would take more than so many times the questions is not worth settling."""

CLEARLY = 1.5
"""Times that were taken once differ if one is so many times the other,"""

NOTICED = 0.002
"""and if one is at least so many seconds: nobody notices less."""


@dataclass(frozen=True, slots=True)
class Price:
    """What systems cost in one currency."""

    title: str
    """What it is: latency, money, stages."""
    of: Mapping[str, float]
    """By system; less is better."""
    counted_in: str = ""
    """What is counted, in the singular; '' if it is no count."""
    is_time: bool = False
    """Whether it is in seconds, taken by the clock: it differs from one time to the next."""

    def differs(self, names: Sequence[str]) -> bool:
        """Whether it is known for all systems, and tells them apart."""
        known = [self.of[name] for name in names if name in self.of]
        if len(known) < len(names) or len(set(known)) < 2:
            return False
        return not self.is_time or max(known) >= max(CLEARLY * min(known), NOTICED)


class Decision(Part):
    """Which system to use, and why: what every report says first."""

    choice: str | None
    """The system to use; null: the data do not say."""
    headline: str
    """The decision in a few words."""
    reason: str = ""
    """The number that decides, or the one that could change the decision."""
    evidence: str = ""
    """What it rests on, in sentences."""


def decide(comparison: Comparison, measure: str, prices: Sequence[Price] = ()) -> Decision:
    """Decide by one measure of a comparison.

    Among systems that cannot be told apart the cheapest is chosen, by the first of ``prices`` that
    is known for all of them and differs. How much dearer another is, is said by times if they are
    among the prices: readers feel these.
    """
    field = _Field(comparison, measure, prices)
    first, *others = field.ranked
    base = comparison.baseline
    if all(pair.is_same for pair in comparison.pairs.each(measure=measure)):
        systems = "Both systems" if len(others) == 1 else f"All {len(others) + 1} systems"
        return Decision(
            choice=base,
            headline=f"{systems} give the same {measure} on every question",
            reason=number(comparison.mean(first, measure).mean),
        )
    if len(others) == 1:
        second = base or others[0]
        first = others[0] if first == base else first
        return _of_two(field, field.versus(first, second))
    return _without_baseline(field) if base is None else _with_baseline(field, base)


def decide_alone(name: str, measure: str, mean: float, interval: str, questions: int) -> Decision:
    """Say how good the only system is."""
    return Decision(
        choice=name,
        headline=f"{name} scores {measure} {number(mean)}{interval} on "
        f"{counted(questions, 'question')}",
        evidence="There is no other system to compare it with.",
    )


@dataclass(frozen=True, slots=True)
class _Versus:
    """One system beside another: what their pair shows, whichever way round it was compared."""

    first: str
    second: str
    pair: Pair

    @property
    def turned(self) -> bool:
        """Whether the first is the base of the pair."""
        return self.pair.base == self.first

    @property
    def verdict(self) -> Verdict:
        """Whether the first is better."""
        opposite: dict[Verdict, Verdict] = {"better": "worse", "worse": "better"}
        verdict = self.pair.verdict
        return opposite.get(verdict, verdict) if self.turned else verdict

    @property
    def change(self) -> str:
        """How much more the first has than the second: ``+0.010 [-0.015, +0.034]``."""
        difference = -self.pair.difference if self.turned else self.pair.difference
        interval = ends(self.pair.interval, turned=self.turned, sign=True)
        return f"{number(difference, signed=True)} {interval}"

    @property
    def numbers(self) -> str:
        """The difference with its measure and p-value."""
        return f"{self.pair.measure} {self.change}, {p_of(self.pair)}"

    @property
    def record(self) -> str:
        """On how many questions the first is better, worse and the same."""
        wins, losses = self.pair.wins, self.pair.losses
        wins, losses = (losses, wins) if self.turned else (wins, losses)
        won = f"{self.first} wins {counted(wins, 'question')}"
        return f"{won}, loses {losses:,} and ties {self.pair.ties:,}."

    @property
    def how_many(self) -> str:
        """How many questions would show the difference."""
        pair = self.pair
        if pair.is_same:
            return "They are the same on every question."
        if not pair.decidable:
            shown = could_have_shown(pair)
            return f"{shown[:1].upper()}{shown[1:]}."
        if math.isinf(pair.detectable) or not pair.difference:
            return ""
        needed = pair.queries * (pair.detectable / pair.difference) ** 2
        if needed > FARTHEST * pair.queries:
            both = f"{self.first} against {self.second}"
            return f"No number of questions that one could judge would settle {both}."
        digits = max(0, len(str(int(needed))) - 2)
        rounded = max(round(needed, -digits), pair.queries)
        questions = counted(int(rounded), "question")
        return f"About {questions} like these would show a difference of this size."


@dataclass(frozen=True, slots=True)
class _Field:
    """How systems compare on one measure, and what they cost."""

    comparison: Comparison
    measure: str
    prices: Sequence[Price]

    @property
    def ranked(self) -> list[str]:
        """The systems, best first; of equal ones the baseline."""
        sign = -1 if Measure.parse(self.measure).definition.higher_is_better else 1
        baseline = self.comparison.baseline

        def order(name: str) -> tuple[float, bool]:
            return sign * self.comparison.mean(name, self.measure).mean, name != baseline

        return sorted(self.comparison.runs, key=order)

    @property
    def questions(self) -> str:
        return counted(self.comparison.queries, "question")

    def pair(self, first: str, second: str) -> Pair | None:
        """Return the pair of two systems; None if they were not compared with each other."""
        find = self.comparison.pairs.find
        pair = find(measure=self.measure, base=second, system=first)
        return pair or find(measure=self.measure, base=first, system=second)

    def versus(self, first: str, second: str) -> _Versus:
        """Return what is known of two systems that were compared."""
        pair = self.pair(first, second)
        assert pair is not None
        return _Versus(first, second, pair)

    def not_beaten(self, first: str, others: Sequence[str]) -> list[str]:
        """Return the systems than which the first is not shown to be better."""
        return [name for name in others if self.versus(first, name).verdict != "better"]

    def cheapest(self, candidates: Sequence[str]) -> tuple[str, Price] | None:
        """Return the cheapest by the first price that is known for all candidates and differs."""
        price = next((price for price in self.prices if price.differs(candidates)), None)
        return None if price is None else (min(candidates, key=price.of.__getitem__), price)

    def dearer_by(self, dearer: str, cheaper: str, price: Price) -> str:
        """Say how much more one system costs than another."""
        taken = [each for each in self.prices if each.is_time and each.differs([dearer, cheaper])]
        for each in (*taken, price):
            more = each.of[dearer] - each.of[cheaper]
            if more > 0 and each.counted_in:
                return f"for {counted(int(more), f'more {each.counted_in}')}"
            if more > 0:
                return f"at {times(each.of[dearer], each.of[cheaper])} the {each.title}"
        return f"at a higher {price.title}"


def _with_baseline(field: _Field, base: str) -> Decision:
    """Decide among three systems or more of which one is the baseline."""
    others = [name for name in field.ranked if name != base]
    verdicts = {name: field.versus(name, base).verdict for name in others}
    better = [name for name in others if verdicts[name] == "better"]
    if not better:
        near = [name for name in others if verdicts[name] != "worse"]
        versus = field.versus((near or others)[0], base)
        nearest = f"The nearest is {versus.first}: {versus.numbers}."
        none = f"{field.questions} show no system to be better"
        return Decision(
            choice=base,
            headline=f"Stay with {base}",
            reason=none if near else f"all {len(others)} others are worse",
            evidence=" ".join(filter(None, [nearest, versus.how_many if near else ""])),
        )
    first, *rest = better
    gain = field.versus(first, base).numbers
    if any(field.pair(first, name) is None for name in rest):
        names = listed(better, MOST_NAMES)
        return Decision(
            choice=None,
            headline=f"{names}{' both' if len(better) == 2 else ''} beat {base}",
            reason=f"{first} by {gain}",
            evidence=f"All were compared with {base} only: without a baseline they are compared "
            "with each other.",
        )
    near = field.not_beaten(first, rest)
    if near:
        names = listed([first, *near], MOST_NAMES)
        both = " both" if len(near) == 1 else ""
        return _choose(field, [first, *near], f"{names}{both} beat {base}")
    compared = [name for name in others if name != first and field.pair(first, name)]
    beaten = [name for name in compared if field.versus(first, name).verdict == "better"]
    return Decision(
        choice=first,
        headline=f"Use {first}",
        reason=f"it beats {base} by {gain}",
        evidence=f"It beats {listed(beaten, MOST_NAMES)}, too." if beaten else "",
    )


def _without_baseline(field: _Field) -> Decision:
    """Decide among three systems or more."""
    first, *others = field.ranked
    near = field.not_beaten(first, others)
    if not near:
        return Decision(
            choice=first,
            headline=f"Use {first}",
            reason=f"it beats all {len(others)} others",
            evidence=f"The nearest is {others[0]}: {field.versus(first, others[0]).numbers}.",
        )
    if len(near) < len(others):
        rest = [name for name in others if name not in near]
        best = listed([first, *near], MOST_NAMES).replace(" and ", " or ")
        are = "is" if len(rest) == 1 else "are"
        fact = f"No system beats {best}; {listed(rest, MOST_NAMES)} {are} worse than {first}"
        return _choose(field, [first, *near], fact)
    cheapest, largest = field.cheapest(field.ranked), field.versus(first, others[-1])
    difference = f"The largest difference is {first} against {others[-1]}: {largest.numbers}."
    return Decision(
        choice=None if cheapest is None else cheapest[0],
        headline=f"{field.questions} can't tell the {len(others) + 1} systems apart",
        reason="" if cheapest is None else f"start with {cheapest[0]}, the cheapest",
        evidence=" ".join(filter(None, [difference, largest.how_many])),
    )


def _of_two(field: _Field, versus: _Versus) -> Decision:
    """Decide between two systems."""
    first, second, verdict, pair = versus.first, versus.second, versus.verdict, versus.pair
    if verdict in ("better", "worse"):
        return Decision(
            choice=first if verdict == "better" else second,
            headline=f"{first} is {verdict} than {second}",
            reason=versus.numbers,
            evidence=versus.record,
        )
    cheapest = field.cheapest([first, second])
    choice = field.comparison.baseline or (None if cheapest is None else cheapest[0])
    if verdict == "equivalent":
        margin = "" if pair.equivalence is None else f" within ±{pair.equivalence.margin:g}"
        return Decision(
            choice=choice,
            headline=f"{first} and {second} are equivalent{margin}",
            reason=f"{pair.measure} {equivalent(pair, turned=versus.turned)}",
            evidence=versus.record,
        )
    return Decision(
        choice=choice,
        headline=f"{field.questions} can't tell {first} from {second}",
        reason=versus.numbers,
        evidence=versus.how_many,
    )


def _choose(field: _Field, candidates: Sequence[str], fact: str) -> Decision:
    """Choose the cheapest of systems that cannot be told apart, best first."""
    apart = "the two" if len(candidates) == 2 else "them"
    evidence = f"{fact}. {field.questions} can't tell {apart} apart."
    best, second = candidates[:2]
    cheapest = field.cheapest(candidates)
    if cheapest is None:
        names = listed(candidates, MOST_NAMES).replace(" and ", " or ")
        return Decision(
            choice=None,
            headline=f"Choose {names} by what they cost",
            reason=f"{best} against {second}: {field.versus(best, second).numbers}",
            evidence=evidence,
        )
    name, price = cheapest
    dearer = second if name == best else best
    reason = f"it is the cheapest by {price.title}, and {dearer} adds nothing that shows"
    if dearer == best:
        change = field.versus(dearer, name).change.removeprefix("+")
        reason = f"{dearer} adds {change} {field.dearer_by(dearer, name, price)}"
    return Decision(choice=name, headline=f"Start with {name}", reason=reason, evidence=evidence)


def times(large: float, small: float) -> str:
    """Return a ratio that was measured once: an order of magnitude.

    >>> times(13, 1), times(2.4, 1), times(1.23, 1), times(3, 0)
    ('about 10 ×', 'about 2 ×', 'about 1.2 ×', 'many times')
    """
    if small <= 0 or large <= 0:
        return "many times"
    ratio = large / small
    if ratio < 1.95:
        return f"about {ratio:.1f} ×"
    digits = -math.floor(math.log10(ratio))
    return f"about {int(round(ratio, digits)):,} ×"


def worded(decision: Decision) -> Iterator[str]:
    """Yield the decision as sentences, for records and comments."""
    reason = f": {decision.reason}" if decision.reason else ""
    yield f"{decision.headline}{reason}."
    if decision.evidence:
        yield decision.evidence
