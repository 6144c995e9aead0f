"""The result of a benchmark in sentences, written from its report and saying no more than it holds.

Three things, each in a sentence where there is something to say: which system is best on the main
measure and whether that is more than chance; whether the other measures agree; what limits the
result. Then, in short, what else a reader must know: measures that look deeper than the runs, from
which nothing is concluded, queries without an answer, targets missed, a group of queries that
contradicts the whole. A system whose run is broken is named
first, and nothing is said about how it compares.

Differences and their p-values are those of the pairs the comparison holds. Systems it holds no pair
of (with a baseline, all others among each other) are compared by their letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankscope.benchmark.fallen_back import fallen_back
from rankscope.diagnosis.repeats import repeats
from rankscope.diagnosis.segments import segments
from rankscope.diagnosis.stages import stages
from rankscope.errors import RankscopeError, counted
from rankscope.measures.language import Measure
from rankscope.reports.figure_targets import figure_text
from rankscope.statistics.letters import each_letter
from rankscope.statistics.sentences import (
    could_have_shown,
    ends,
    equivalent,
    listed,
    measured,
    number,
    p_of,
    percent,
    within,
)

if TYPE_CHECKING:
    from rankscope.diagnosis.stages import StageRow
    from rankscope.records import BenchmarkReport, MeasureInfo, SystemRecord
    from rankscope.statistics.comparison import Comparison, SystemMean
    from rankscope.statistics.system_pairs import Pair, Verdict

FOUND = 0.9
"""From this recall up a better retriever has little to add: at most a tenth is missing."""

MISSED = 0.7
"""Below this recall the retriever is what limits: three in ten relevant documents or more are out
of a reranker's reach."""

NEAR = 0.95
"""A reranker that reaches this share of what the best order of its input would have is near it."""

MOST = 3
"""How many names or values a sentence lists before it counts the rest."""

_OPPOSITE: dict[Verdict, Verdict] = {"better": "worse", "worse": "better"}


def verdict(report: BenchmarkReport) -> list[str]:
    """Return the result in sentences; the report's own are not read."""
    broken = [
        f"{system.name} is broken and was not scored: {system.broken}."
        for system in report.systems
        if system.broken is not None
    ]
    scored = [system for system in report.systems if system.broken is None]
    if not scored or not report.measures:
        return [*broken, "Nothing was measured."]
    deep = [info.measure for info in report.measures if _is_deep(report, info.measure)]
    report = _without(report.model_copy(update={"systems": scored}), deep)
    sentences = list(broken)
    if report.measures:
        sentences += [_main(report), _others(report), _limit(report)]
    again = repeats.of(report.analyses)
    sentences.append("" if again is None else again.sentence)
    sentences += [*_depth(report, deep), *_failures(report), *fallen_back(report)[:MOST]]
    if report.measures:
        sentences += [*_targets(report), *_contradictions(report)]
    sentences += _figures(report)
    return [sentence for sentence in sentences if sentence]


# --- measures that look deeper than the runs -----------------------------------------------------


def _is_deep(report: BenchmarkReport, name: str) -> bool:
    """Tell whether a measure looks at more documents than were asked for, and than there are."""
    try:
        cutoff = Measure.parse(name).cutoff
    except RankscopeError:
        return False
    documents = report.collection.documents
    has_all = documents is not None and report.depth >= documents
    return cutoff is not None and cutoff > report.depth and not has_all


def _without(report: BenchmarkReport, measures: Sequence[str]) -> BenchmarkReport:
    """Return a report in which some measures are not spoken of."""
    systems = [
        system.model_copy(
            update={"measures": [each for each in system.measures if each.measure not in measures]}
        )
        for system in report.systems
    ]
    return report.model_copy(
        update={
            "systems": systems,
            "measures": [info for info in report.measures if info.measure not in measures],
            "kpis": [kpi for kpi in report.kpis if kpi.measure not in measures],
        }
    )


def _depth(report: BenchmarkReport, deep: Sequence[str]) -> list[str]:
    """Say which measures nothing is concluded from."""
    if not deep:
        return []
    verb = "looks" if len(deep) == 1 else "look"
    asked = f"the {counted(report.depth, 'document')} that each query was asked for"
    start = f"Nothing is concluded from {listed(deep, MOST)}, which {verb} deeper than {asked}"
    return [f"{start}; raise depth, or cut earlier."]


# --- the main measure ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Standing:
    """How systems compare on one measure, and the phrases that say so."""

    comparison: Comparison
    info: MeasureInfo

    @property
    def means(self) -> list[SystemMean]:
        """The means, best first; of equal ones the baseline, then in their order."""
        means = [mean for mean in self.comparison.means if mean.measure == self.info.measure]
        sign = -1 if self.info.higher_is_better else 1
        baseline = self.comparison.baseline
        return sorted(means, key=lambda mean: (sign * mean.mean, mean.run != baseline))

    @property
    def pairs(self) -> list[Pair]:
        """The pairs that were compared."""
        return self.comparison.pairs.select(measure=self.info.measure)

    def pair(self, system: SystemMean, other: SystemMean) -> Pair | None:
        """Return the pair of two systems, whichever was the base."""
        pairs = self.comparison.pairs
        for first, second in ((system.run, other.run), (other.run, system.run)):
            pair = pairs.find(measure=self.info.measure, base=first, system=second)
            if pair is not None:
                return pair
        return None

    def relation(self, system: SystemMean, other: SystemMean) -> Verdict:
        """Say whether a system is better, by their pair, or by their letters if there is none."""
        pair = self.pair(system, other)
        if pair is not None:
            if pair.system == system.run:
                return pair.verdict
            return _OPPOSITE.get(pair.verdict, pair.verdict)
        unknown = not (system.letters and other.letters)
        shared = each_letter(system.letters) & each_letter(other.letters)
        if unknown or shared or system.mean == other.mean:
            return "can't tell"
        is_more = system.mean > other.mean
        return "better" if is_more == self.info.higher_is_better else "worse"

    def numbers(self, system: SystemMean, other: SystemMean, *, sign: bool = False) -> str:
        """Return by how much a system is better, with interval and p-value where there is a pair.

        For what should be low it is how much lower.
        """
        pair = self.pair(system, other)
        if pair is None:
            return number(abs(system.mean - other.mean), sign=sign)
        turned = (pair.system != system.run) == self.info.higher_is_better
        if pair.verdict == "equivalent" and pair.equivalence is not None:
            return equivalent(pair, turned=turned)
        return measured(pair.difference, pair.interval, p_of(pair), turned=turned, sign=sign)

    def open_numbers(self, system: SystemMean, other: SystemMean) -> str:
        """Return the numbers of a difference that was not shown, and what would have been shown."""
        numbers = self.numbers(system, other, sign=True)
        pair = self.pair(system, other)
        return "; ".join(filter(None, (numbers, "" if pair is None else could_have_shown(pair))))

    @property
    def measure(self) -> str:
        """The measure's name, and a word where less is better."""
        lower = "" if self.info.higher_is_better else " (lower is better)"
        return f"{self.info.measure}{lower}"

    @property
    def top(self) -> str:
        """What the best mean is called."""
        return f"the {'highest' if self.info.higher_is_better else 'lowest'} {self.info.measure}"

    @property
    def margin(self) -> str:
        """The margin of equivalence, in words."""
        return within(self.comparison.settings.margin)


def _main(report: BenchmarkReport) -> str:
    info = report.measures[0]
    if len(report.systems) == 1:
        return _alone(report, info)
    if report.comparison is None:
        return _untested(report, info)
    standing = _Standing(report.comparison, info)
    means, pairs = standing.means, standing.pairs
    if len(means) < 2 or not pairs:
        return _untested(report, info)
    if all(pair.is_same for pair in pairs):
        systems = "Both systems" if len(means) == 2 else f"All {len(means)} systems"
        queries = counted(report.comparison.queries, "query")
        value = number(means[0].mean)
        return f"{systems} have the same {info.measure} on each of {queries}: {value}."
    leader = means[0]
    base = next((mean for mean in means if mean.run == report.comparison.baseline), leader)
    if base is not leader:
        return _against_baseline(standing, means, base)
    return _leader(standing, leader, means[1:])


def _alone(report: BenchmarkReport, info: MeasureInfo) -> str:
    system = report.systems[0]
    value = next((value for value in system.measures if value.measure == info.measure), None)
    if value is None:
        return f"{system.name} has no {info.measure}."
    lower = "" if info.higher_is_better else " (lower is better)"
    interval = "" if value.interval is None else f" {ends(value.interval)}"
    return (
        f"{system.name} has {info.measure}{lower} of {number(value.value)}{interval} over "
        f"{counted(value.n, 'query')}; there is no other system to compare it with."
    )


def _untested(report: BenchmarkReport, info: MeasureInfo) -> str:
    best = _best(report)
    if best is None:
        return f"No system has a value of {info.measure}."
    value = next(value.value for value in best.measures if value.measure == info.measure)
    names = info.best or [best.name]
    verb = "has" if len(names) == 1 else "have"
    top = "highest" if info.higher_is_better else "lowest"
    return (
        f"{listed(names, MOST)} {verb} the {top} {info.measure}, {number(value)}; "
        "no test says whether that is more than chance."
    )


def _against_baseline(standing: _Standing, means: Sequence[SystemMean], base: SystemMean) -> str:
    """Say whether anything beats the baseline, and whether the best is apart from the rest."""
    leader = means[0]
    others = [mean for mean in means if mean not in (leader, base)]
    relation = standing.relation(leader, base)
    if relation == "better":
        numbers = standing.numbers(leader, base)
        rest = _among(standing, leader, others, also=True)
        return f"{leader.run} is better than {base.run} on {standing.measure} by {numbers}{rest}."
    if relation == "equivalent":
        numbers = standing.numbers(leader, base, sign=True)
        finding = f"and is equivalent to {base.run}{standing.margin}: {numbers}"
    else:
        numbers = standing.open_numbers(leader, base)
        finding = f"but is not shown to be better than {base.run}: {numbers}"
    comma = "" if relation == "equivalent" else ","
    second = ""
    better = [mean for mean in others if standing.relation(mean, base) == "better"]
    if better:
        numbers = standing.numbers(better[0], base)
        second = f"; {better[0].run} is better than {base.run} by {numbers}"
    return f"{leader.run} has {standing.top}{comma} {finding}{second}."


def _leader(standing: _Standing, leader: SystemMean, rest: Sequence[SystemMean]) -> str:
    """Say whether the system with the best mean is apart from all others."""
    near = [mean for mean in rest if standing.relation(leader, mean) != "better"]
    name = leader.run
    if name == standing.comparison.baseline:
        name = f"{name}, the baseline,"
    if not near:
        numbers = standing.numbers(leader, rest[0])
        others = _among(standing, leader, rest[1:], also=True)
        return f"{name} is better than {rest[0].run} on {standing.measure} by {numbers}{others}."
    nearest = near[0]
    start = f"{name} has {standing.top}, {number(leader.mean)}"
    if standing.relation(leader, nearest) == "equivalent":
        numbers = standing.numbers(leader, nearest, sign=True)
        others = _among(standing, leader, [mean for mean in rest if mean is not nearest])
        return f"{start}, and is equivalent to {nearest.run}{standing.margin}: {numbers}{others}."
    unclear = [mean for mean in near if standing.relation(leader, mean) != "equivalent"]
    names = listed((mean.run for mean in unclear), MOST)
    against = f"; against {nearest.run}" if len(unclear) > 1 else ""
    others = _among(standing, leader, [mean for mean in rest if mean not in unclear])
    return (
        f"{start}, but is not shown to differ from {names}{against}: "
        f"{standing.open_numbers(leader, nearest)}{others}."
    )


def _among(
    standing: _Standing,
    leader: SystemMean,
    others: Sequence[SystemMean],
    *,
    also: bool = False,
) -> str:
    """Say which other systems the leader is better than, and which may be as good."""
    names: dict[Verdict, list[str]] = {}
    for mean in others:
        names.setdefault(standing.relation(leader, mean), []).append(mean.run)
    better, equal = names.pop("better", []), names.pop("equivalent", [])
    unclear = [name for group in names.values() for name in group]
    too = " too" if also and not unclear and not equal else ""
    phrases = [
        f"is better than {listed(better, MOST)}{too}" if better else "",
        f"is equivalent to {listed(equal, MOST)}{standing.margin}" if equal else "",
        f"is not shown to differ from {listed(unclear, MOST)}" if unclear else "",
    ]
    phrase = listed(filter(None, phrases))
    return f"; it {phrase}" if phrase else ""


# --- the other measures --------------------------------------------------------------------------


def _others(report: BenchmarkReport) -> str:
    """Say on which other measures the leader compares with its counterpart as on the main one."""
    comparison = report.comparison
    if comparison is None or len(report.measures) < 2:
        return ""
    main = _Standing(comparison, report.measures[0])
    means = main.means
    if len(means) < 2:
        return ""
    leader = means[0]
    other = next((mean for mean in means[1:] if mean.run == comparison.baseline), means[1])
    measures: dict[Verdict, list[str]] = {}
    ahead: dict[str, list[str]] = {}
    for info in report.measures[1:]:
        standing = _Standing(comparison, info)
        by_run = {mean.run: mean for mean in standing.means}
        if leader.run not in by_run or other.run not in by_run:
            continue
        relation = standing.relation(by_run[leader.run], by_run[other.run])
        measures.setdefault(relation, []).append(info.measure)
        top = next(iter(by_run.values()))
        is_ahead = standing.relation(top, by_run[leader.run]) == "better"
        if top.run not in (leader.run, other.run) and is_ahead:
            ahead.setdefault(top.run, []).append(info.measure)
    order: tuple[Verdict, ...] = ("better", "equivalent", "can't tell", "worse")
    total = sum(map(len, measures.values()))
    phrases = [
        f"{relation} on {_several(measures[relation], total)}"
        for relation in order
        if relation in measures
    ]
    phrases += [
        f"{name} is better than {leader.run} on {_several(names, total)}"
        for name, names in ahead.items()
    ]
    if not phrases:
        return ""
    if main.relation(leader, other) == "better" and "better" in measures:
        phrases[0] = f"better than {other.run} on {_several(measures['better'], total)} too"
        return f"{leader.run} is {'; '.join(phrases)}."
    return f"On the other measures, {leader.run} against {other.run}: {'; '.join(phrases)}."


_FEW = 8
"""So many measures are all named."""


def _several(names: list[str], total: int) -> str:
    """Name measures; where there are many, some of them."""
    if len(names) <= _FEW:
        return listed(names)
    return f"all {total} other measures" if len(names) == total else listed(names, _FEW - 2)


# --- what limits the best system -----------------------------------------------------------------


def _recall(system: SystemRecord) -> tuple[str, int, float] | None:
    """Return name, cutoff and value of the recall with the largest cutoff."""
    recalls = []
    for value in system.measures:
        try:
            measure = Measure.parse(value.measure)
        except RankscopeError:
            continue
        if measure.name == "R" and measure.cutoff:
            recalls.append((value.measure, measure.cutoff, value.value))
    return max(recalls, key=lambda recall: recall[1], default=None)


def _best(report: BenchmarkReport) -> SystemRecord | None:
    info = report.measures[0]
    values = {
        system.name: value.value
        for system in report.systems
        for value in system.measures
        if value.measure == info.measure
    }
    if not values:
        return None
    best = (max if info.higher_is_better else min)(values, key=lambda name: values[name])
    return next(system for system in report.systems if system.name == best)


def _limit(report: BenchmarkReport) -> str:
    """Say whether the retriever or the ranking limits the best system."""
    system = _best(report)
    if system is None:
        return ""
    pipeline = stages.of(report.analyses)
    rows = () if pipeline is None else pipeline.stages
    stage = next((row for row in rows if row.system == system.name), None)
    sentence = _about_ceiling(report, system, stage) or _about_recall(report, system)
    return f"{sentence}." if sentence else ""


def _about_recall(report: BenchmarkReport, system: SystemRecord) -> str:
    """Say what the recall at the largest cutoff leaves to a better retriever or ranking."""
    recall = _recall(system)
    if recall is None:
        return ""
    name, cutoff, value = recall
    info = report.measures[0]
    main = next(value.value for value in system.measures if value.measure == info.measure)
    is_share = info.high == 1 and info.higher_is_better and info.measure != name
    documents = report.collection.documents
    if value >= FOUND and documents is not None and cutoff >= documents:
        return ""  # no merit of the retriever: everything was returned
    if value >= FOUND:
        start = f"{name} of {value:.2f} ({system.name}) leaves little for a better retriever"
        if is_share and main >= FOUND:
            return f"{start}, and {info.measure} of {main:.2f} little for a better ranking"
        return f"{start}; the ranking is what limits it" if is_share else start
    missing = f"on average {percent(round(1 - value, 2))} of a query's relevant documents"
    start = f"{name} of {value:.2f} ({system.name}): {missing} are not among its first {cutoff:,}"
    if cutoff < report.depth:
        return f"{start}; how many of them are further down was not measured"
    if value < MISSED:
        return f"{start}; the retriever is what limits it, and no reranker can bring them back"
    if is_share and main < FOUND:
        return f"{start}; a better retriever and a better ranking can both add"
    return f"{start}; a better retriever can add"


def _about_ceiling(report: BenchmarkReport, system: SystemRecord, stage: StageRow | None) -> str:
    """Say how far a reranker is from the best order of what it was given."""
    info = report.measures[0]
    if stage is None or stage.role == "fuse" or not info.higher_is_better:
        return ""
    ceiling, value = stage.ceiling, stage.mean
    if not ceiling:
        return ""
    given = "its input" if stage.depth is None else f"the {stage.depth:,} documents it looks at"
    start = (
        f"{stage.system} has {info.measure} of {number(value)}, where the best order of {given} "
        f"would have {number(ceiling)}"
    )
    if value < NEAR * ceiling:
        return f"{start}: a better reranker has {number(ceiling - value)} to gain"
    if ceiling >= FOUND and info.high == 1:
        return f"{start}: little is left to gain"
    start += ": more must come from what it is given"
    recall = _recall(system)
    if recall is None or stage.input_recall is None or stage.depth is None:
        return start
    name, cutoff, value = recall
    if cutoff > stage.depth and value - stage.input_recall > 1 - value:
        return (
            f"{start}, and most of what is missing is below rank {stage.depth:,} "
            f"(R@{stage.depth} of {stage.input_recall:.2f}, {name} of {value:.2f})"
        )
    share = percent(round(stage.input_recall, 2))
    return f"{start}, which holds {share} of a query's relevant documents"


# --- what else a reader must know ----------------------------------------------------------------


def _failures(report: BenchmarkReport) -> list[str]:
    policy = {"all": "; they count as 0", "both": "; they are left out for all systems"}
    queries = counted(report.collection.queries, "query")
    sentences = [
        f"{system.name} could not answer {len(system.run.failures):,} of {queries}"
        f"{policy.get(system.accounting.missing_policy, '')}."
        for system in report.systems
        if system.run.failures and system.accounting is not None
    ]
    if len(sentences) > MOST:
        more = len(sentences) - MOST + 1
        return [*sentences[: MOST - 1], f"{more} more systems have such failures."]
    return sentences


def _targets(report: BenchmarkReport) -> list[str]:
    system = _best(report)
    if system is None:
        return []
    kpis = [kpi for kpi in report.kpis if kpi.system == system.name and kpi.target is not None]
    missed = [
        f"{kpi.measure} ({number(kpi.value)}, target {kpi.target:g})"
        for kpi in kpis
        if kpi.status in ("warn", "fail")
    ]
    if not missed:
        return []
    count = f"{len(missed)} of {counted(len(kpis), 'target')}"
    return [f"{system.name} misses {count}: {listed(missed, MOST)}."]


def _figures(report: BenchmarkReport) -> list[str]:
    """Name the figures of analyses that miss their targets."""
    measured = [kpi for kpi in report.figure_kpis if kpi.value is not None]
    missed = [figure_text(kpi) for kpi in measured if kpi.status in ("warn", "fail")]
    if not missed:
        return []
    verb = "is" if len(missed) == 1 else "are"
    count = f"{len(missed)} of {counted(len(measured), 'target')} of figures"
    return [f"{count} {verb} missed: {listed(missed, MOST)}."]


def _contradictions(report: BenchmarkReport) -> list[str]:
    """Name groups of queries in which a system shown to differ from the baseline does the opposite.

    Only groups whose own difference is shown after correction count.
    """
    comparison, info = report.comparison, report.measures[0]
    if comparison is None or report.baseline is None:
        return []
    whole = {
        pair.system: pair.verdict
        for pair in comparison.pairs.select(measure=info.measure, base=report.baseline)
    }
    by_group = segments.of(report.analyses)
    contradictions = []
    for group in () if by_group is None else by_group.groups:
        for system, change in group.changes.items():
            relation = "better" if (change.value > 0) == info.higher_is_better else "worse"
            is_opposite = {relation, whole.get(system)} == {"better", "worse"}
            if is_opposite and change.value and change.p_corrected <= comparison.settings.alpha:
                where = f"where {group.field} is {group.label} ({counted(group.n, 'query')})"
                contradictions.append(f"{system} is {relation} than {report.baseline} {where}")
    if not contradictions:
        return []
    return [f"Contrary to the whole, {listed(contradictions, MOST)}."]
