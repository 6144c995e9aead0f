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

NOTICED = 0.005
"""and if one is at least so many seconds: nobody notices less."""

_OPPOSITE: dict[Verdict, Verdict] = {"better": "worse", "worse": "better"}


@dataclass(frozen=True, slots=True)
class Price:
    """What systems cost in one currency."""

    title: str
    """What it is: latency, money, stages."""
    of: Mapping[str, float]
    """By system; less is better."""
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
    if all(pair.is_same for pair in field.pairs):
        value = number(field.means[0].mean)
        return Decision(
            rule="all the same",
            choice=comparison.baseline,
            headline=f"{field.all_of_them} give the same {measure} on every question",
            reason=value,
        )
    if comparison.baseline is None:
        return _without_baseline(field)
    return _with_baseline(field, next(m for m in field.means if m.run == comparison.baseline))


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
class _Field:
    """How systems compare on one measure, and the phrases that say so."""

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
    def pairs(self) -> list[Pair]:
        return self.comparison.pairs.select(measure=self.measure)

    @property
    def questions(self) -> str:
        return counted(self.comparison.queries, "question")

    @property
    def all_of_them(self) -> str:
        systems = len(self.comparison.runs)
        return "Both systems" if systems == 2 else f"All {systems} systems"

    def pair(self, first: SystemMean, second: SystemMean) -> tuple[Pair, bool] | None:
        """Return the pair of two systems, and whether it was compared the other way round."""
        for base, system, turned in ((second, first, False), (first, second, True)):
            pair = self.comparison.pairs.find(
                measure=self.measure, base=base.run, system=system.run
            )
            if pair is not None:
                return pair, turned
        return None

    def relation(self, first: SystemMean, second: SystemMean) -> Verdict:
        """Say whether the first is better: by their pair, or by their letters if there is none."""
        known = self.pair(first, second)
        if known is not None:
            pair, turned = known
            return _OPPOSITE.get(pair.verdict, pair.verdict) if turned else pair.verdict
        unknown = not (first.letters and second.letters)
        if unknown or each_letter(first.letters) & each_letter(second.letters):
            return "can't tell"
        return "better" if (first.mean > second.mean) == self.higher_is_better else "worse"

    def change(self, first: SystemMean, second: SystemMean) -> str:
        """Return how much more the first has than the second: ``+0.010 [-0.015, +0.034]``."""
        known = self.pair(first, second)
        if known is None:
            return number(first.mean - second.mean, signed=True)
        pair, turned = known
        difference = -pair.difference if turned else pair.difference
        return f"{number(difference, signed=True)} {ends(pair.interval, turned=turned, sign=True)}"

    def numbers(self, first: SystemMean, second: SystemMean) -> str:
        """Return the difference of two systems with its measure and p-value."""
        known = self.pair(first, second)
        p = "" if known is None else f", {p_of(known[0])}"
        return f"{self.measure} {self.change(first, second)}{p}"

    def record(self, first: SystemMean, second: SystemMean) -> str:
        """Say on how many questions the first is better, worse and the same."""
        known = self.pair(first, second)
        if known is None:
            return ""
        pair, turned = known
        wins, losses = (pair.losses, pair.wins) if turned else (pair.wins, pair.losses)
        won = f"{first.run} wins {counted(wins, 'question')}"
        return f"{won}, loses {losses:,} and ties {pair.ties:,}."

    def how_many(self, first: SystemMean, second: SystemMean) -> str:
        """Say how many questions would show the difference of two systems."""
        known = self.pair(first, second)
        if known is None:
            return ""
        pair, _ = known
        if pair.is_same:
            return "They are the same on every question."
        if not pair.decidable:
            shown = could_have_shown(pair)
            return f"{shown[:1].upper()}{shown[1:]}."
        if math.isinf(pair.detectable) or not pair.difference:
            return ""
        needed = pair.queries * (pair.detectable / pair.difference) ** 2
        if needed > FARTHEST * pair.queries:
            return (
                f"No number of questions that one could judge would settle {first.run} against "
                f"{second.run}."
            )
        digits = max(0, len(str(int(needed))) - 2)
        rounded = max(round(needed, -digits), pair.queries)
        return f"About {counted(int(rounded), 'question')} like these would settle it."

    def price(self, candidates: Sequence[SystemMean]) -> Price | None:
        """Return the first price that is known for all candidates, and differs."""
        names = [mean.run for mean in candidates]
        return next((price for price in self.prices if price.differs(names)), None)

    def dearer_by(self, dearer: SystemMean, cheaper: SystemMean, price: Price) -> str:
        """Say how much more one system costs than another."""
        both = [dearer.run, cheaper.run]
        times_taken = [each for each in self.prices if each.is_time and each.differs(both)]
        for each in (*times_taken, price):
            if each.of[dearer.run] > each.of[cheaper.run]:
                ratio = times(each.of[dearer.run], each.of[cheaper.run])
                return f"at {ratio} the {each.title}"
        return f"at a higher {price.title}"


def _with_baseline(field: _Field, base: SystemMean) -> Decision:
    others = [mean for mean in field.means if mean is not base]
    better = [mean for mean in others if field.relation(mean, base) == "better"]
    if better:
        first = better[0]
        near = [mean for mean in better[1:] if field.relation(first, mean) != "better"]
        beaten = f"{_verb([first, *near], 'beat', 'beats')} {base.run}"
        if near:
            return _choose(field, [first, *near], f"{_both([first, *near])} {beaten}")
        if len(others) == 1:
            return _of_two(field, first, base, "better")
        return Decision(
            rule="one winner",
            choice=first.run,
            headline=f"Use {first.run}",
            reason=f"it beats {base.run} by {field.numbers(first, base)}",
            evidence=_rest(field, first, [mean for mean in others if mean is not first]),
        )
    nearest = next((m for m in others if field.relation(m, base) != "worse"), None)
    if len(others) == 1:
        return _of_two(field, others[0], base, field.relation(others[0], base))
    if nearest is None:
        return Decision(
            rule="nobody beats the baseline",
            choice=base.run,
            headline=f"Stay with {base.run}",
            reason=f"all {len(others)} others are worse",
            evidence=f"The nearest is {others[0].run}: {field.numbers(others[0], base)}.",
        )
    return Decision(
        rule="nobody beats the baseline",
        choice=base.run,
        headline=f"Stay with {base.run}",
        reason=f"{field.questions} show no system to be better",
        evidence=_sentences(
            f"The nearest is {nearest.run}: {field.numbers(nearest, base)}.",
            field.how_many(nearest, base),
        ),
    )


def _without_baseline(field: _Field) -> Decision:
    first, *others = field.means
    near = [mean for mean in others if field.relation(first, mean) != "better"]
    if len(others) == 1:
        return _of_two(field, first, others[0], field.relation(first, others[0]))
    if not near:
        return Decision(
            rule="one winner",
            choice=first.run,
            headline=f"Use {first.run}",
            reason=f"it beats all {len(others)} others",
            evidence=f"The nearest is {others[0].run}: {field.numbers(first, others[0])}.",
        )
    if len(near) < len(others):
        rest = [mean.run for mean in others if mean not in near]
        best = listed((mean.run for mean in [first, *near]), MOST_NAMES).replace(" and ", " or ")
        are = "is" if len(rest) == 1 else "are"
        fact = f"No system beats {best}; {listed(rest, MOST_NAMES)} {are} worse than {first.run}"
        return _choose(field, [first, *near], fact)
    cheapest = _cheapest(field, field.means)
    return Decision(
        rule="nothing can be told",
        choice=cheapest,
        headline=f"{field.questions} can't tell the {len(field.means)} systems apart",
        reason="" if cheapest is None else f"start with {cheapest}, the cheapest",
        evidence=_sentences(
            f"The largest difference is {first.run} against {others[-1].run}: "
            f"{field.numbers(first, others[-1])}.",
            field.how_many(first, others[-1]),
        ),
    )


def _of_two(field: _Field, first: SystemMean, second: SystemMean, relation: Verdict) -> Decision:
    """Decide between two systems."""
    if relation in ("better", "worse"):
        winner = first if relation == "better" else second
        return Decision(
            rule="one winner" if winner.run == first.run else "nobody beats the baseline",
            choice=winner.run,
            headline=f"{first.run} is {relation} than {second.run}",
            reason=field.numbers(first, second),
            evidence=field.record(first, second),
        )
    candidates = [first, second]
    cheapest = _cheapest(field, candidates)
    choice = field.comparison.baseline or cheapest
    known = field.pair(first, second)
    if relation == "equivalent" and known is not None:
        pair, turned = known
        margin = "" if pair.equivalence is None else f" within ±{pair.equivalence.margin:g}"
        return Decision(
            rule="several cannot be told apart",
            choice=choice,
            headline=f"{first.run} and {second.run} are equivalent{margin}",
            reason=f"{field.measure} {equivalent(pair, turned=turned)}",
            evidence=field.record(first, second),
        )
    return Decision(
        rule="nothing can be told",
        choice=choice,
        headline=f"{field.questions} can't tell {first.run} from {second.run}",
        reason=field.numbers(first, second),
        evidence=field.how_many(first, second),
    )


def _choose(field: _Field, candidates: Sequence[SystemMean], fact: str) -> Decision:
    """Choose the cheapest of systems that cannot be told apart, best first."""
    apart = "the two" if len(candidates) == 2 else "them"
    evidence = f"{fact}. {field.questions} can't tell {apart} apart."
    cheapest = _cheapest(field, candidates)
    if cheapest is None:
        names = listed((mean.run for mean in candidates), MOST_NAMES)
        return Decision(
            rule="several cannot be told apart",
            choice=None,
            headline=f"Choose {names.replace(' and ', ' or ')} by what they cost",
            reason=f"{candidates[0].run} against {candidates[1].run}: "
            f"{field.numbers(candidates[0], candidates[1])}",
            evidence=evidence,
        )
    chosen = next(mean for mean in candidates if mean.run == cheapest)
    dearer = next(mean for mean in candidates if mean is not chosen)
    price = field.price(candidates)
    assert price is not None
    reason = (
        f"{dearer.run} adds {field.change(dearer, chosen).removeprefix('+')} "
        f"{field.dearer_by(dearer, chosen, price)}"
        if dearer is candidates[0]
        else f"it is the cheapest by {price.title}, and {dearer.run} adds nothing that shows"
    )
    return Decision(
        rule="several cannot be told apart",
        choice=cheapest,
        headline=f"Start with {cheapest}",
        reason=reason,
        evidence=evidence,
    )


def _cheapest(field: _Field, candidates: Sequence[SystemMean]) -> str | None:
    price = field.price(candidates)
    if price is None:
        return None
    return min((mean.run for mean in candidates), key=price.of.__getitem__)


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


def _both(means: Sequence[SystemMean]) -> str:
    names = listed((mean.run for mean in means), MOST_NAMES)
    return f"{names} both" if len(means) == 2 else names


def _verb(means: Sequence[SystemMean], several: str, single: str) -> str:
    return single if len(means) == 1 else several


def _rest(field: _Field, winner: SystemMean, others: Sequence[SystemMean]) -> str:
    """Say how the winner compares with the rest."""
    by_relation: dict[Verdict, list[str]] = {}
    for mean in others:
        by_relation.setdefault(field.relation(winner, mean), []).append(mean.run)
    beaten = by_relation.get("better", [])
    base = field.comparison.baseline
    names = [name for name in beaten if name != base]
    if not names:
        return ""
    return f"It beats {listed(names, MOST_NAMES)}, too."


def _sentences(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def worded(decision: Decision) -> Iterator[str]:
    """Yield the decision as sentences, for records and comments."""
    reason = f": {decision.reason}" if decision.reason else ""
    yield f"{decision.headline}{reason}."
    if decision.evidence:
        yield decision.evidence
