"""The decision: which system to use, written from a comparison and saying no more than it holds.

The rules, by what the comparison shows on one measure:

- one system: its mean, and that there is nothing to compare it with;
- all the same on every question: that;
- systems that beat the baseline, or without one all that no other beats, are *candidates*;
- one candidate: use it;
- several that the test cannot tell apart: use the cheapest, and say what the dearest would add;
- nobody beats the baseline: stay with it, and how many questions would settle the nearest case;
- nobody beats anybody: that, and how many questions it would take.

No system is praised for a mean that the test cannot separate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rankscope.document.text import number
from rankscope.errors import counted
from rankscope.measures.language import Measure
from rankscope.part import Part
from rankscope.statistics.letters import each_letter
from rankscope.statistics.sentences import could_have_shown, ends, equivalent, listed, p_of

if TYPE_CHECKING:
    from rankscope.statistics.comparison import Comparison, SystemMean
    from rankscope.statistics.system_pairs import Pair, Verdict

Rule = Literal[
    "one system",
    "all the same",
    "one winner",
    "several cannot be told apart",
    "nobody beats the baseline",
    "nothing can be told",
]
"""Which rule made the decision."""

MOST_NAMES = 3
"""How many systems a sentence names before it counts the rest."""

FARTHEST = 100
"""A difference that would take more than so many times the questions is not worth settling."""

CLEARLY = 1.5
"""Times that were taken once differ if one is so many times the other,"""

NOTICED = 0.002
"""and if one is at least so many seconds: nobody notices less."""

_OPPOSITE: dict[Verdict, Verdict] = {"better": "worse", "worse": "better"}


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

    rule: Rule
    """Which rule made it."""
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
    first, *others = field.means
    base = next((mean for mean in field.means if mean.run == comparison.baseline), None)
    if all(pair.is_same for pair in comparison.pairs.each(measure=measure)):
        systems = "Both systems" if len(others) == 1 else f"All {len(others) + 1} systems"
        return Decision(
            rule="all the same",
            choice=comparison.baseline,
            headline=f"{systems} give the same {measure} on every question",
            reason=number(first.mean),
        )
    if len(others) == 1:
        other = next(mean for mean in field.means if mean is not base) if base else first
        return _of_two(field, field.versus(other, base or others[0]))
    return _without_baseline(field, first, others) if base is None else _with_baseline(field, base)


def decide_alone(name: str, measure: str, mean: float, interval: str, questions: int) -> Decision:
    """Say how good the only system is."""
    return Decision(
        rule="one system",
        choice=name,
        headline=f"{name} scores {measure} {number(mean)}{interval} on "
        f"{counted(questions, 'question')}",
        evidence="There is no other system to compare it with.",
    )


@dataclass(frozen=True, slots=True)
class _Versus:
    """One system beside another: what their pair shows, whichever way round it was compared."""

    measure: str
    first: SystemMean
    second: SystemMean
    pair: Pair | None
    """None where the two were not compared with each other."""
    turned: bool
    """Whether the first is the base of the pair."""
    higher_is_better: bool

    @property
    def verdict(self) -> Verdict:
        """Whether the first is better: by their pair, or by their letters if there is none."""
        if self.pair is not None:
            verdict = self.pair.verdict
            return _OPPOSITE.get(verdict, verdict) if self.turned else verdict
        letters = each_letter(self.first.letters), each_letter(self.second.letters)
        if not all(letters) or letters[0] & letters[1]:
            return "can't tell"
        return (
            "better" if (self.first.mean > self.second.mean) == self.higher_is_better else "worse"
        )

    @property
    def change(self) -> str:
        """How much more the first has than the second: ``+0.010 [-0.015, +0.034]``."""
        if self.pair is None:
            return number(self.first.mean - self.second.mean, signed=True)
        difference = -self.pair.difference if self.turned else self.pair.difference
        interval = ends(self.pair.interval, turned=self.turned, sign=True)
        return f"{number(difference, signed=True)} {interval}"

    @property
    def numbers(self) -> str:
        """The difference with its measure and p-value."""
        p = "" if self.pair is None else f", {p_of(self.pair)}"
        return f"{self.measure} {self.change}{p}"

    @property
    def record(self) -> str:
        """On how many questions the first is better, worse and the same."""
        if self.pair is None:
            return ""
        wins, losses = self.pair.wins, self.pair.losses
        wins, losses = (losses, wins) if self.turned else (wins, losses)
        won = f"{self.first.run} wins {counted(wins, 'question')}"
        return f"{won}, loses {losses:,} and ties {self.pair.ties:,}."

    @property
    def how_many(self) -> str:
        """How many questions would show the difference."""
        pair = self.pair
        if pair is None:
            return ""
        if pair.is_same:
            return "They are the same on every question."
        if not pair.decidable:
            shown = could_have_shown(pair)
            return f"{shown[:1].upper()}{shown[1:]}."
        if math.isinf(pair.detectable) or not pair.difference:
            return ""
        needed = pair.queries * (pair.detectable / pair.difference) ** 2
        if needed > FARTHEST * pair.queries:
            both = f"{self.first.run} against {self.second.run}"
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
    def higher_is_better(self) -> bool:
        return Measure.parse(self.measure).definition.higher_is_better

    @property
    def means(self) -> list[SystemMean]:
        """The means, best first; of equal ones the baseline."""
        means = [mean for mean in self.comparison.means if mean.measure == self.measure]
        sign = -1 if self.higher_is_better else 1
        baseline = self.comparison.baseline
        return sorted(means, key=lambda mean: (sign * mean.mean, mean.run != baseline))

    @property
    def questions(self) -> str:
        return counted(self.comparison.queries, "question")

    def versus(self, first: SystemMean, second: SystemMean) -> _Versus:
        """Return what is known of two systems."""
        both = {"measure": self.measure}
        pair = self.comparison.pairs.find(base=second.run, system=first.run, **both)
        turned = pair is None
        if pair is None:
            pair = self.comparison.pairs.find(base=first.run, system=second.run, **both)
        return _Versus(self.measure, first, second, pair, turned, self.higher_is_better)

    def cheapest(self, candidates: Sequence[SystemMean]) -> tuple[str, Price] | None:
        """Return the cheapest by the first price that is known for all candidates and differs."""
        names = [mean.run for mean in candidates]
        price = next((price for price in self.prices if price.differs(names)), None)
        return None if price is None else (min(names, key=price.of.__getitem__), price)

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


def _with_baseline(field: _Field, base: SystemMean) -> Decision:
    """Decide among three systems or more of which one is the baseline."""
    others = [mean for mean in field.means if mean is not base]
    verdicts = {mean.run: field.versus(mean, base).verdict for mean in others}
    better = [mean for mean in others if verdicts[mean.run] == "better"]
    if not better:
        near = [mean for mean in others if verdicts[mean.run] != "worse"]
        versus = field.versus((near or others)[0], base)
        nearest = f"The nearest is {versus.first.run}: {versus.numbers}."
        none = f"{field.questions} show no system to be better"
        return Decision(
            rule="nobody beats the baseline",
            choice=base.run,
            headline=f"Stay with {base.run}",
            reason=none if near else f"all {len(others)} others are worse",
            evidence=_sentences(nearest, versus.how_many if near else ""),
        )
    first, *rest = better
    near = [mean for mean in rest if field.versus(first, mean).verdict != "better"]
    if near:
        names = listed((mean.run for mean in [first, *near]), MOST_NAMES)
        both = " both" if len(near) == 1 else ""
        return _choose(field, [first, *near], f"{names}{both} beat {base.run}")
    beaten = [
        mean.run
        for mean in others
        if mean is not first and field.versus(first, mean).verdict == "better"
    ]
    return Decision(
        rule="one winner",
        choice=first.run,
        headline=f"Use {first.run}",
        reason=f"it beats {base.run} by {field.versus(first, base).numbers}",
        evidence=f"It beats {listed(beaten, MOST_NAMES)}, too." if beaten else "",
    )


def _without_baseline(field: _Field, first: SystemMean, others: Sequence[SystemMean]) -> Decision:
    """Decide among three systems or more, best first."""
    near = [mean for mean in others if field.versus(first, mean).verdict != "better"]
    if not near:
        nearest = field.versus(first, others[0]).numbers
        return Decision(
            rule="one winner",
            choice=first.run,
            headline=f"Use {first.run}",
            reason=f"it beats all {len(others)} others",
            evidence=f"The nearest is {others[0].run}: {nearest}.",
        )
    if len(near) < len(others):
        rest = [mean.run for mean in others if mean not in near]
        best = listed((mean.run for mean in [first, *near]), MOST_NAMES).replace(" and ", " or ")
        are = "is" if len(rest) == 1 else "are"
        fact = f"No system beats {best}; {listed(rest, MOST_NAMES)} {are} worse than {first.run}"
        return _choose(field, [first, *near], fact)
    cheapest, largest = field.cheapest(field.means), field.versus(first, others[-1])
    return Decision(
        rule="nothing can be told",
        choice=None if cheapest is None else cheapest[0],
        headline=f"{field.questions} can't tell the {len(field.means)} systems apart",
        reason="" if cheapest is None else f"start with {cheapest[0]}, the cheapest",
        evidence=_sentences(
            f"The largest difference is {first.run} against {others[-1].run}: {largest.numbers}.",
            largest.how_many,
        ),
    )


def _of_two(field: _Field, versus: _Versus) -> Decision:
    """Decide between two systems."""
    first, second, verdict, pair = versus.first, versus.second, versus.verdict, versus.pair
    if verdict in ("better", "worse"):
        return Decision(
            rule="one winner" if verdict == "better" else "nobody beats the baseline",
            choice=first.run if verdict == "better" else second.run,
            headline=f"{first.run} is {verdict} than {second.run}",
            reason=versus.numbers,
            evidence=versus.record,
        )
    cheapest = field.cheapest([first, second])
    choice = field.comparison.baseline or (None if cheapest is None else cheapest[0])
    if verdict == "equivalent" and pair is not None:
        margin = "" if pair.equivalence is None else f" within ±{pair.equivalence.margin:g}"
        return Decision(
            rule="several cannot be told apart",
            choice=choice,
            headline=f"{first.run} and {second.run} are equivalent{margin}",
            reason=f"{versus.measure} {equivalent(pair, turned=versus.turned)}",
            evidence=versus.record,
        )
    return Decision(
        rule="nothing can be told",
        choice=choice,
        headline=f"{field.questions} can't tell {first.run} from {second.run}",
        reason=versus.numbers,
        evidence=versus.how_many,
    )


def _choose(field: _Field, candidates: Sequence[SystemMean], fact: str) -> Decision:
    """Choose the cheapest of systems that cannot be told apart, best first."""
    apart = "the two" if len(candidates) == 2 else "them"
    evidence = f"{fact}. {field.questions} can't tell {apart} apart."
    cheapest = field.cheapest(candidates)
    if cheapest is None:
        names = listed((mean.run for mean in candidates), MOST_NAMES).replace(" and ", " or ")
        versus = field.versus(candidates[0], candidates[1])
        headline = f"Choose {names} by what they cost"
        reason = f"{versus.first.run} against {versus.second.run}: {versus.numbers}"
    else:
        name, price = cheapest
        chosen = next(mean for mean in candidates if mean.run == name)
        dearer = next(mean for mean in candidates if mean is not chosen)
        headline = f"Start with {name}"
        reason = f"it is the cheapest by {price.title}, and {dearer.run} adds nothing that shows"
        if dearer is candidates[0]:
            change = field.versus(dearer, chosen).change.removeprefix("+")
            reason = f"{dearer.run} adds {change} {field.dearer_by(dearer.run, name, price)}"
    return Decision(
        rule="several cannot be told apart",
        choice=None if cheapest is None else cheapest[0],
        headline=headline,
        reason=reason,
        evidence=evidence,
    )


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


def _sentences(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def worded(decision: Decision) -> Iterator[str]:
    """Yield the decision as sentences, for records and comments."""
    reason = f": {decision.reason}" if decision.reason else ""
    yield f"{decision.headline}{reason}."
    if decision.evidence:
        yield decision.evidence
