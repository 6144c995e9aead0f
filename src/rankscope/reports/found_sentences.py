"""What an analysis found, in one sentence with numbers: all that its closed section shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rankscope.diagnosis.baselines import Baselines, baselines
from rankscope.diagnosis.duplicates import duplicates
from rankscope.diagnosis.failures import Failures, failures
from rankscope.diagnosis.gaps import Gaps, gaps
from rankscope.diagnosis.holes import Holes, holes
from rankscope.diagnosis.leaks import leaks
from rankscope.diagnosis.pareto import Pareto, pareto
from rankscope.diagnosis.stages import Stages, stages
from rankscope.document.blocks import Sentences
from rankscope.document.text import number
from rankscope.statistics.sentences import listed

if TYPE_CHECKING:
    from rankscope.diagnosis.analysis import AnyAnalysis
    from rankscope.document.blocks import Section

_QUIET = (duplicates.name, leaks.name)
"""Analyses that have nothing to show where they found nothing."""

MOST = 3
"""So many systems a sentence names."""


def is_quiet(analysis: AnyAnalysis, answer: Any) -> bool:
    """Tell whether an analysis found nothing that is worth a section."""
    return analysis.name in _QUIET and not answer.findings


def found_sentence(
    analysis: AnyAnalysis, answer: Any, section: Section, focus: str | None = None
) -> str:
    """Return what an analysis found, of the system in ``focus``; '' if it has no sentence."""
    say = _SENTENCES.get(analysis.name)
    if say is not None and (made := say(analysis.result.model_validate(answer), focus)):
        return made
    if answer.findings:
        return f"{answer.findings[0].message}."
    first = next(iter(section.all_blocks), None)
    return first.sentences[0].text if isinstance(first, Sentences) and first.sentences else ""


def _failures(result: Failures, focus: str | None) -> str:
    rows = sorted(result.systems, key=lambda row: (row.failing, row.system != focus))
    if not rows or not rows[-1].failing:
        return ""
    few, many = rows[0], rows[-1]
    worst = f", {many.system} on {many.failing:,}" if len(rows) > 1 else ""
    causes = sorted(few.causes.items(), key=lambda item: -len(item[1]))
    why = f" Of the {few.failing:,}, {len(causes[0][1]):,}: {causes[0][0]}." if causes else ""
    return f"{few.system} fails on {few.failing:,} of {result.queries:,} questions{worst}.{why}"


def _gaps(result: Gaps, focus: str | None) -> str:
    if not result.systems:
        return ""
    row = max(result.systems, key=lambda row: (row.system == focus, row.now))
    order, retrieval = number(row.ranking.value), number(row.retrieval.value)
    lacking = [each.system for each in result.systems if not each.ranking_is_more]
    rest = f" {listed(lacking, MOST)} mainly lack{'s' * (len(lacking) == 1)} retrieval."
    costs = f"Order costs {row.system} {order} {result.measure}, and retrieval {retrieval}."
    return costs + (rest if lacking else "")


def _stages(result: Stages, _: str | None) -> str:
    parts = []
    for row in result.stages:
        changes = [each for each in row.changes if each.measure == result.measure]
        if changes:
            best = min(changes, key=lambda each: abs(each.difference))
            change = number(best.difference, signed=True)
            parts.append(f"{row.system} is {change} against {best.base} ({best.verdict})")
    return f"{listed(parts, MOST)}." if parts else ""


def _baselines(result: Baselines, _: str | None) -> str:
    means = {row.system: row.mean for row in result.ladder}
    rungs = [row for row in result.ladder if row.verdict is not None and row.over in means]
    if not rungs:
        return ""
    best, base = max(rungs, key=lambda row: row.mean), str(rungs[0].over)
    return f"The baseline {base} scores {number(means[base])}, {best.system} {number(best.mean)}."


def _holes(result: Holes, _: str | None) -> str:
    shares = [row.share(result.cutoff) for row in result.systems]
    if result.by_design or not any(shares):
        return ""
    span = f"{min(shares):.0%} to {max(shares):.0%}" if len(shares) > 1 else f"{shares[0]:.0%}"
    turned = [f"{e.better} against {e.worse}" for e in result.conclusions if e.verdict == "open"]
    rest = f" They could turn {listed(turned, MOST)}." if turned else " They can turn no outcome."
    turns = rest if result.conclusions else ""
    return f"{span} of the first {result.cutoff} documents are unjudged.{turns}"


def _pareto(result: Pareto, _: str | None) -> str:
    if not result.fronts:
        return ""
    front = result.fronts[0]
    off = [row.system for row in front.systems if not row.on_front]
    others = f"another system is at least as good and as cheap as {listed(off, MOST)}"
    return f"By {front.cost}, {others if off else 'no system is both worse and dearer'}."


_SENTENCES: dict[str, Callable[[Any, str | None], str]] = {
    failures.name: _failures,
    gaps.name: _gaps,
    stages.name: _stages,
    baselines.name: _baselines,
    holes.name: _holes,
    pareto.name: _pareto,
}
