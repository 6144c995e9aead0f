"""The result of a benchmark in sentences, written from its report and saying no more than it holds.

Three things, each in a sentence where there is something to say: who is best on the main measure
and whether that is more than chance; whether the other measures agree; what stands in the way of a
better result. Then, in short, what else a reader must know: queries without an answer, targets
missed, a group of queries that contradicts the whole.

Differences and their p-values are those of the pairs the comparison holds. Systems it holds no pair
of (with a baseline, all others among each other) are told apart by letters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.errors import RankscopeError, counted
from rankscope.measures.language import Measure
from rankscope.statistics.pairwise import POWER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rankscope.records import (
        BenchmarkReport,
        ComparisonRecord,
        IntervalRecord,
        MeanRecord,
        MeasureInfo,
        PairRecord,
        StageRow,
        SystemRecord,
    )

__all__ = ["FOUND", "MISSED", "NEAR", "verdict"]

FOUND = 0.9
"""From this recall up a better retriever has little to add: at most a tenth is missing."""

MISSED = 0.7
"""Below this recall the retriever is what limits: three in ten relevant documents or more are out
of a reranker's reach."""

NEAR = 0.95
"""A reranker that reaches this share of what the best order of its input would have is near it."""

_CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini-Hochberg"}
_MOST = 3
"""How many names or values a sentence lists before it counts the rest."""


def verdict(report: BenchmarkReport) -> list[str]:
    """Return the result in sentences; the report's own are not read."""
    if not report.systems or not report.measures:
        return ["Nothing was measured."]
    said = [_main(report), _others(report), _limit(report)]
    said += [*_failures(report), *_targets(report), *_contradictions(report)]
    return [sentence for sentence in said if sentence]


# --- words ---------------------------------------------------------------------------------------


def _number(value: float, *, sign: bool = False) -> str:
    """Return three decimals, or one digit of what is too small for them."""
    small = 0 < abs(value) < 0.0005
    form = f"{'+' if sign and value else ''}{'.1g' if small else '.3f'}"
    return f"{value or 0.0:{form}}"


def _end(value: float | None, infinite: str) -> str:
    return infinite if value is None else _number(value)


def _gain(
    difference: float, interval: IntervalRecord, info: MeasureInfo, *, sign: bool = False
) -> str:
    """Return how much better, with its interval; for what should be low, how much lower."""
    low, high = interval.low, interval.high
    if not info.higher_is_better:
        difference = -difference
        low, high = (None if high is None else -high), (None if low is None else -low)
    return f"{_number(difference, sign=sign)} [{_end(low, '-∞')}, {_end(high, '∞')}]"


def _listed(names: Iterable[str], most: int | None = None) -> str:
    """Return ``a, b and c``; with ``most``, the rest as a number."""
    every = list(names)
    if most is not None and len(every) > most + 1:
        return f"{', '.join(every[:most])} and {len(every) - most} more"
    return " and ".join(filter(None, [", ".join(every[:-1]), *every[-1:]]))


def _p(pair: PairRecord, comparison: ComparisonRecord) -> str:
    """Return the p-value and how it was corrected; it never is 0."""
    p = pair.p_corrected
    text = f"p = {p:.3g}" if p >= 0.0001 else "p < 0.0001"
    settings = comparison.settings
    if settings.get("test") == "tukey" and settings.get("family") != "all":
        return f"{text}, Tukey"
    alone = settings.get("family") != "all"
    family = [one for one in comparison.pairs if not alone or one.measure == pair.measure]
    if len(family) == 1:
        return text
    by = _CORRECTIONS.get(str(settings.get("correction")))
    return f"{text} after {by}" if by else f"{text}, not corrected"


# --- reading the comparison ----------------------------------------------------------------------


def _means(comparison: ComparisonRecord, info: MeasureInfo) -> list[MeanRecord]:
    """Return the means of a measure, best first; of equal ones the baseline, then as they come."""
    own = [one for one in comparison.means if one.measure == info.measure]
    sign = -1 if info.higher_is_better else 1
    return sorted(own, key=lambda one: (sign * one.mean, one.run != comparison.baseline))


def _pair(
    comparison: ComparisonRecord, measure: str, system: str, base: str
) -> tuple[PairRecord, bool] | None:
    """Return the pair of two systems, and whether it was compared the other way round."""
    for pair in comparison.pairs:
        if pair.measure == measure and {pair.system, pair.base} == {system, base}:
            return pair, pair.system != system
    return None


def _seen_from(pair: PairRecord, turned: bool) -> tuple[str, float, IntervalRecord]:
    """Return verdict, difference and interval, turned round if asked."""
    if not turned:
        return pair.verdict, pair.difference, pair.interval
    word = {"better": "worse", "worse": "better"}.get(pair.verdict, pair.verdict)
    low, high = pair.interval.low, pair.interval.high
    ends = {"low": None if high is None else -high, "high": None if low is None else -low}
    return word, -pair.difference, pair.interval.model_copy(update=ends)


def _relation(
    comparison: ComparisonRecord, info: MeasureInfo, system: MeanRecord, other: MeanRecord
) -> str:
    """Say how a system stands to another: by their pair, or by their letters if there is none."""
    found = _pair(comparison, info.measure, system.run, other.run)
    if found is not None:
        return _seen_from(*found)[0]
    if set(system.letters) & set(other.letters) or system.mean == other.mean:
        return "no difference shown"
    return "better" if (system.mean > other.mean) == info.higher_is_better else "worse"


def _same(pair: PairRecord) -> bool:
    """Tell whether both systems have the same value on every query."""
    return pair.ties == pair.queries


def _detectable(pair: PairRecord, info: MeasureInfo) -> str:
    """Say what difference these queries would have shown; nothing if that is unknown."""
    value = pair.detectable
    if _same(pair):
        return "; they are the same on every query"
    if value is None:
        return ""
    queries = counted(pair.queries, "query")
    if info.low is not None and info.high is not None and value > info.high - info.low:
        return f"; {queries} are too few to show any difference with power {POWER:.0%}"
    return (
        f"; {queries} like these would show a difference of {_number(value)} with power {POWER:.0%}"
    )


# --- the main measure ----------------------------------------------------------------------------


def _mean_word(info: MeasureInfo) -> str:
    return "highest" if info.higher_is_better else "lowest"


def _on(info: MeasureInfo) -> str:
    return info.measure if info.higher_is_better else f"{info.measure} (lower is better)"


def _main(report: BenchmarkReport) -> str:
    info = report.measures[0]
    comparison = report.comparison
    if len(report.systems) == 1:
        return _alone(report, info)
    if comparison is None:
        return _untested(report, info)
    means = _means(comparison, info)
    pairs = [pair for pair in comparison.pairs if pair.measure == info.measure]
    if len(means) < 2 or not pairs:
        return _untested(report, info)
    if all(_same(pair) for pair in pairs):
        who = "Both" if len(means) == 2 else f"All {len(means)}"
        queries = counted(comparison.queries, "query")
        value = _number(means[0].mean)
        return f"{who} systems have the same {info.measure} on each of {queries}: {value}."
    leader = means[0]
    base = next((one for one in means if one.run == comparison.baseline), leader)
    if base is not leader:
        return _against_baseline(comparison, info, means, base)
    return _leader(comparison, info, leader, means[1:])


def _alone(report: BenchmarkReport, info: MeasureInfo) -> str:
    system = report.systems[0]
    value = next((one for one in system.measures if one.measure == info.measure), None)
    if value is None:
        return f"{system.name} has no {info.measure}."
    where = value.interval
    ends = "" if where is None else f" [{_end(where.low, '-∞')}, {_end(where.high, '∞')}]"
    over = f"over {counted(value.n, 'query')}"
    end = "there is no other system to compare it with"
    return f"{system.name} has {_on(info)} of {_number(value.value)}{ends} {over}; {end}."


def _untested(report: BenchmarkReport, info: MeasureInfo) -> str:
    best = _best(report)
    if best is None:
        return f"No system has a value of {info.measure}."
    value = next(one.value for one in best.measures if one.measure == info.measure)
    names = info.best or [best.name]
    verb = "has" if len(names) == 1 else "have"
    return (
        f"{_listed(names, _MOST)} {verb} the {_mean_word(info)} {info.measure}, {_number(value)}; "
        "no test says whether that is more than chance."
    )


def _numbers(
    comparison: ComparisonRecord,
    info: MeasureInfo,
    system: MeanRecord,
    other: MeanRecord,
    *,
    sign: bool = False,
) -> str:
    """Return ``0.060 [0.030, 0.090], p = 0.002 after Holm``; without a pair, the difference."""
    found = _pair(comparison, info.measure, system.run, other.run)
    if found is None:
        difference = abs(system.mean - other.mean)
        return f"{_number(difference, sign=sign)}"
    _, difference, interval = _seen_from(*found)
    return f"{_gain(difference, interval, info, sign=sign)}, {_p(found[0], comparison)}"


def _open(
    comparison: ComparisonRecord, info: MeasureInfo, system: MeanRecord, other: MeanRecord
) -> str:
    """Return the numbers of a difference that was not shown, and what would have been shown."""
    found = _pair(comparison, info.measure, system.run, other.run)
    numbers = _numbers(comparison, info, system, other, sign=True)
    return numbers if found is None else f"{numbers}{_detectable(found[0], info)}"


def _against_baseline(
    comparison: ComparisonRecord, info: MeasureInfo, means: Sequence[MeanRecord], base: MeanRecord
) -> str:
    """Say whether anything beats the baseline, and whether the best is apart from the rest."""
    leader = means[0]
    others = [one for one in means if one not in (leader, base)]
    relation = _relation(comparison, info, leader, base)
    if relation == "better":
        numbers = _numbers(comparison, info, leader, base)
        said = f"{leader.run} is better than {base.run} on {_on(info)} by {numbers}"
        return f"{said}{_among(comparison, info, leader, others, also=True)}."
    first = f"{leader.run} has the {_mean_word(info)} {info.measure}"
    numbers = _open(comparison, info, leader, base)
    if relation == "equivalent":
        within = _margin(comparison)
        numbers = _numbers(comparison, info, leader, base, sign=True)
        said = f"{first} and is equivalent to {base.run}{within}: {numbers}"
    else:
        said = f"{first}, but is not shown to be better than {base.run}: {numbers}"
    better = [one for one in others if _relation(comparison, info, one, base) == "better"]
    if better:
        numbers = _numbers(comparison, info, better[0], base)
        said += f"; {better[0].run} is better than {base.run} by {numbers}"
    return f"{said}."


def _margin(comparison: ComparisonRecord) -> str:
    margin = comparison.settings.get("margin")
    return f" within ±{margin:g}" if isinstance(margin, int | float) else ""


def _among(
    comparison: ComparisonRecord,
    info: MeasureInfo,
    leader: MeanRecord,
    others: Sequence[MeanRecord],
    *,
    also: bool = False,
) -> str:
    """Say which of the other systems the leader is better than, and which it is not apart from."""
    named: dict[str, list[str]] = {}
    for one in others:
        named.setdefault(_relation(comparison, info, leader, one), []).append(one.run)
    better, equal = named.pop("better", []), named.pop("equivalent", [])
    near = [name for names in named.values() for name in names]
    too = " too" if also and not near and not equal else ""
    parts = [
        f"is better than {_listed(better, _MOST)}{too}" if better else "",
        f"is equivalent to {_listed(equal, _MOST)}{_margin(comparison)}" if equal else "",
        f"cannot be told apart from {_listed(near, _MOST)}" if near else "",
    ]
    said = _listed(filter(None, parts))
    return f"; it {said}" if said else ""


def _leader(
    comparison: ComparisonRecord,
    info: MeasureInfo,
    leader: MeanRecord,
    rest: Sequence[MeanRecord],
) -> str:
    """Say whether the system with the best mean is apart from all others."""
    near = [one for one in rest if _relation(comparison, info, leader, one) != "better"]
    name = f"{leader.run}, the baseline," if leader.run == comparison.baseline else leader.run
    if not near:
        numbers = _numbers(comparison, info, leader, rest[0])
        said = f"{name} is better than {rest[0].run} on {_on(info)} by {numbers}"
        return f"{said}{_among(comparison, info, leader, rest[1:], also=True)}."
    nearest = near[0]
    first = f"{name} has the {_mean_word(info)} {info.measure}, {_number(leader.mean)}"
    if _relation(comparison, info, leader, nearest) == "equivalent":
        numbers = _numbers(comparison, info, leader, nearest, sign=True)
        said = f"{first}, and is equivalent to {nearest.run}{_margin(comparison)}: {numbers}"
        left = [one for one in rest if one is not nearest]
        return f"{said}{_among(comparison, info, leader, left)}."
    open_ = [one for one in near if _relation(comparison, info, leader, one) != "equivalent"]
    said = f"{first}, but cannot be told apart from {_listed([one.run for one in open_], _MOST)}"
    said += f"; against {nearest.run}" if len(open_) > 1 else ""
    said += f": {_open(comparison, info, leader, nearest)}"
    left = [one for one in rest if one not in open_]
    return f"{said}{_among(comparison, info, leader, left)}."


# --- the other measures --------------------------------------------------------------------------


def _others(report: BenchmarkReport) -> str:
    """Say on which other measures the leader stands to its counterpart as on the main one."""
    comparison = report.comparison
    if comparison is None or len(report.measures) < 2:
        return ""
    main = report.measures[0]
    means = _means(comparison, main)
    if len(means) < 2:
        return ""
    leader = means[0]
    other = next((one for one in means[1:] if one.run == comparison.baseline), means[1])
    named: dict[str, list[str]] = {}
    ahead: dict[str, list[str]] = {}
    for info in report.measures[1:]:
        own = {one.run: one for one in _means(comparison, info)}
        if leader.run not in own or other.run not in own:
            continue
        word = _relation(comparison, info, own[leader.run], own[other.run])
        named.setdefault(word, []).append(info.measure)
        top = next(iter(own.values()))
        apart = _relation(comparison, info, top, own[leader.run]) == "better"
        if top.run not in (leader.run, other.run) and apart:
            ahead.setdefault(top.run, []).append(info.measure)
    order = ("better", "equivalent", "no difference shown", "worse")
    parts = [
        f"{word} on {_listed(named[word])}"
        for word in sorted(named, key=lambda word: (*order, word).index(word))
    ]
    parts += [f"{name} is better than {leader.run} on {_listed(on)}" for name, on in ahead.items()]
    if not parts:
        return ""
    if _relation(comparison, main, leader, other) == "better" and "better" in named:
        parts[0] = f"better than {other.run} on {_listed(named['better'])} too"
        return f"{leader.run} is {'; '.join(parts)}."
    return f"On the other measures, {leader.run} against {other.run}: {'; '.join(parts)}."


# --- what limits the best system -----------------------------------------------------------------


def _recall(system: SystemRecord) -> tuple[str, int, float] | None:
    """Return name, cutoff and value of the recall with the largest cutoff."""
    found = []
    for one in system.measures:
        try:
            measure = Measure.parse(one.measure)
        except RankscopeError:
            continue
        if measure.name == "R" and measure.cutoff:
            found.append((one.measure, measure.cutoff, one.value))
    return max(found, key=lambda one: one[1], default=None)


def _best(report: BenchmarkReport) -> SystemRecord | None:
    info = report.measures[0]
    values = {
        system.name: one.value
        for system in report.systems
        for one in system.measures
        if one.measure == info.measure
    }
    if not values:
        return None
    name = (max if info.higher_is_better else min)(values, key=lambda one: values[one])
    return next(system for system in report.systems if system.name == name)


def _limit(report: BenchmarkReport) -> str:
    """Say whether the retriever or the ranking stands in the way of the best system."""
    system = _best(report)
    if system is None:
        return ""
    stage = next((one for one in report.stages if one.system == system.name), None)
    said = _about_ceiling(report, system, stage) or _about_recall(report, system)
    return f"{said}." if said else ""


def _about_recall(report: BenchmarkReport, system: SystemRecord) -> str:
    """Say what the recall at the largest cutoff leaves to a better retriever or ranking."""
    recall = _recall(system)
    if recall is None:
        return ""
    name, cutoff, value = recall
    info = report.measures[0]
    main = next(one.value for one in system.measures if one.measure == info.measure)
    is_share = info.high == 1 and info.higher_is_better and info.measure != name
    if value >= FOUND:
        said = f"{name} of {value:.2f} ({system.name}) leaves little for a better retriever"
        if is_share and main >= FOUND:
            return f"{said}, and {info.measure} of {main:.2f} little for a better ranking"
        return f"{said}; the ranking is what limits it" if is_share else said
    missing = f"on average {1 - value:.0%} of a query's relevant documents"
    said = f"{name} of {value:.2f} ({system.name}): {missing} are not among its first {cutoff:,}"
    if cutoff < report.depth:
        return f"{said}; how many of them stand further down was not measured"
    if value < MISSED:
        return f"{said}; the retriever is what limits it, and no reranker can bring them back"
    if is_share and main < FOUND:
        return f"{said}; a better retriever and a better ranking can both add"
    return f"{said}; a better retriever can add"


def _about_ceiling(report: BenchmarkReport, system: SystemRecord, stage: StageRow | None) -> str:
    """Say how far a reranker is from the best order of what it was given."""
    info = report.measures[0]
    if stage is None or not info.higher_is_better:
        return ""
    ceiling, value = stage.ceiling.get(info.measure), stage.measures.get(info.measure)
    if not ceiling or value is None:
        return ""
    given = "its input" if stage.depth is None else f"the {stage.depth:,} documents it looks at"
    said = (
        f"{stage.system} has {info.measure} of {_number(value)}, where the best order of {given} "
        f"would have {_number(ceiling)}"
    )
    if value < NEAR * ceiling:
        return f"{said}: a better reranker has {_number(ceiling - value)} to gain"
    if ceiling >= FOUND and info.high == 1:
        return f"{said}: little is left to gain"
    recall = _recall(system)
    if recall is None or stage.input_recall is None or stage.depth is None:
        return f"{said}: more must come from what it is given"
    name, cutoff, found = recall
    if cutoff > stage.depth and found - stage.input_recall > 1 - found:
        return (
            f"{said}: more must come from what it is given, and most of what is missing stands "
            f"below rank {stage.depth:,} (R@{stage.depth} of {stage.input_recall:.2f}, {name} of "
            f"{found:.2f})"
        )
    return (
        f"{said}: more must come from what it is given, which holds "
        f"{stage.input_recall:.0%} of a query's relevant documents"
    )


# --- what else a reader must know ----------------------------------------------------------------


def _failures(report: BenchmarkReport) -> list[str]:
    policy = {"all": "; they count as 0", "both": "; they are left out for all systems"}
    asked = counted(report.collection.queries, "query")
    said = []
    for system in report.systems:
        if system.run.failures:
            fate = policy.get(system.accounting.missing_policy, "")
            count = f"{len(system.run.failures):,} of {asked}"
            said.append(f"{system.name} could not answer {count}{fate}.")
    if len(said) > _MOST:
        return [*said[: _MOST - 1], f"{len(said) - _MOST + 1} more systems have such failures."]
    return said


def _targets(report: BenchmarkReport) -> list[str]:
    system = _best(report)
    if system is None:
        return []
    own = [one for one in report.kpis if one.system == system.name and one.target is not None]
    missed = [one for one in own if one.status in ("warn", "fail")]
    if not missed:
        return []
    parts = [
        f"{one.measure} ({_number(one.value)}, target {one.target:g})"
        for one in missed
        if one.target is not None
    ]
    count = f"{len(missed)} of {counted(len(own), 'target')}"
    return [f"{system.name} misses {count}: {_listed(parts, _MOST)}."]


def _contradictions(report: BenchmarkReport) -> list[str]:
    """Name groups of queries in which a system shown to differ from the baseline does the opposite.

    Only groups whose own difference is shown after correction count.
    """
    comparison, info = report.comparison, report.measures[0]
    if comparison is None or report.baseline is None:
        return []
    alpha = comparison.settings.get("alpha", 0.05)
    whole = {
        pair.system: pair.verdict
        for pair in comparison.pairs
        if pair.measure == info.measure and pair.base == report.baseline
    }
    found = []
    for segment in report.segments:
        for group in segment.groups:
            for mean in group.means:
                if mean.measure != info.measure or not mean.difference or mean.p_corrected is None:
                    continue
                word = "better" if (mean.difference > 0) == info.higher_is_better else "worse"
                if {word, whole.get(mean.system)} != {
                    "better",
                    "worse",
                } or mean.p_corrected > alpha:
                    continue
                where = f"where {segment.field} is {group.label} ({counted(group.n, 'query')})"
                found.append(f"{mean.system} is {word} than {report.baseline} {where}")
    if not found:
        return []
    return [f"Contrary to the whole, {_listed(found, _MOST)}."]
