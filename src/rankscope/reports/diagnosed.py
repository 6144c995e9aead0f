"""A diagnosis as a document: what to fix first; behind it a section for each analysis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankscope.diagnosis.analysis import Analysed, all_analyses
from rankscope.diagnosis.baselines import Baselines, baselines
from rankscope.diagnosis.duplicates import duplicates
from rankscope.diagnosis.failures import Failures, failures
from rankscope.diagnosis.gaps import Gaps, gaps
from rankscope.diagnosis.holes import Holes, holes
from rankscope.diagnosis.leaks import leaks
from rankscope.diagnosis.pareto import Pareto, pareto
from rankscope.diagnosis.stages import Stages, stages
from rankscope.document.blocks import (
    Answer,
    Block,
    Column,
    Document,
    Findings,
    Point,
    Points,
    Section,
    Sentences,
    Table,
    Value,
    finding_lines,
    plain_rows,
    sentences,
)
from rankscope.document.text import number
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.findings import NotApplicable
from rankscope.reports.system_tables import FEW
from rankscope.reports.verdict import figure_table
from rankscope.statistics.sentences import listed

if TYPE_CHECKING:
    from rankscope.diagnosis.analysis import AnyAnalysis
    from rankscope.diagnosis.gaps import Gap, Problem
    from rankscope.diagnosis.summary import SummaryLine
    from rankscope.findings import Finding
    from rankscope.part import Part
    from rankscope.records.diagnosis import Diagnosis

Answers = Sequence[tuple["AnyAnalysis", Analysed | NotApplicable]]


MOST_CAREFUL = 4
"""So many warnings are shown at first."""


MOST_SYSTEMS = 5
"""So many systems have a column of failing questions at first."""

_HEADLINES: dict[Problem, tuple[str, str]] = {
    "ranking": ("finds the right documents but ranks them too low", "Fix ranking first."),
    "retrieval": ("does not find the right documents", "Fix retrieval first."),
    "both": (
        "misses right documents, and ranks those it finds too low",
        "Fix retrieval and ranking.",
    ),
    "too short": (
        "returns too few documents to tell what it misses",
        "Fetch deeper answers, and diagnose again.",
    ),
    "none: good ranking": ("finds the right documents, and ranks most of them high", ""),
    "none: perfect": ("is perfect on these questions", ""),
}
"""By what a system loses most by: what is said of it, and what to do."""


@view
def diagnosis_document(diagnosis: Diagnosis) -> Document:
    """Show what to fix first; behind it every analysis. What only some found is shown in full."""
    answers = diagnosis.answers()
    is_part = len(answers) < len(all_analyses())
    names = [*diagnosis.runs, *diagnosis.measures]
    findings, kpis = diagnosis.findings, diagnosis.figure_kpis
    sections = [
        *([Section("Targets", (figure_table(kpis),))] if kpis else []),
        findings_section(findings),
        *analysis_sections(answers, names, all_shown=is_part),
    ]
    sizes = [counted(len(diagnosis.runs), "system"), counted(diagnosis.queries, "question")]
    if diagnosis.no_answer:
        sizes[1] += f" and {diagnosis.no_answer:,} without an answer, which are in no mean"
    return Document(
        "Diagnosis",
        tuple(section for section in sections if section.all_blocks),
        subtitle=f"{', '.join(sizes)}; {', '.join(diagnosis.measures)}",
        answer=None if is_part else _answer(diagnosis),
        names=frozenset(names),
    )


def findings_section(findings: Sequence[Finding]) -> Section:
    """List findings, with a count of each severity."""
    counts = Counter(finding.severity for finding in findings)
    severities = ", ".join(counted(count, severity) for severity, count in counts.items())
    blocks = (Findings(tuple(findings)),) if findings else ()
    finding = f"{severities}." if severities else ""
    return Section("Findings", blocks, part="diagnosis", finding=finding)


def analysis_sections(
    answers: Answers, names: Sequence[str], *, focus: str | None = None, all_shown: bool = False
) -> Iterator[Section]:
    """Yield a section for each analysis that found something, and one that lists the others.

    Systems come in the order of ``names``, and a sentence that begins with one of these with no
    capital; ``focus`` is the system to speak of. ``all_shown``: also those that found nothing are
    shown, and all on a terminal.
    """
    reasons: dict[str, list[str]] = {}
    for analysis, answer in answers:
        if isinstance(answer, NotApplicable):
            reasons.setdefault(answer.reason, []).append(analysis.name)
            continue
        if _is_quiet(analysis, answer) and not all_shown:
            reasons.setdefault("found nothing to report", []).append(analysis.name)
            continue
        section = analysis.section(answer)
        sentence = _found_sentence(analysis, answer, section, focus)
        if sentence.split(" ")[0].rstrip(":,") not in names:
            sentence = f"{sentence[:1].upper()}{sentence[1:]}"
        blocks = [_ranked(block, names) for block in section.all_blocks]
        first = blocks[0] if blocks and not all_shown else None
        if isinstance(first, Sentences) and [each.text for each in first.sentences] == [sentence]:
            blocks = blocks[1:]  # it is said already
        shown = len(blocks) if all_shown else 1  # on a terminal, too
        yield replace(
            section,
            blocks=tuple(blocks[:shown]),
            details=tuple(blocks[shown:]),
            part="diagnosis",
            finding=sentence,
        )
    if reasons:
        lines = [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
        others = counted(sum(map(len, reasons.values())), "other check")
        sentence = f"{others} found nothing, or could not look."
        yield Section("Also", (sentences(lines, listed=True),), part="diagnosis", finding=sentence)


def _ranked(block: Block, names: Sequence[str]) -> Block:
    """Return a table with its systems, in rows or in columns, in the order of names."""
    if not isinstance(block, Table) or not block.columns:
        return block
    place = {name: at for at, name in enumerate(names)}
    titles = [column.title for column in block.columns]
    if titles[0] == "system" and all(row[0].value in place for row in block.rows):
        rows = sorted(block.rows, key=lambda row: place[str(row[0].value)])
        return replace(block, rows=tuple(rows))
    if len(titles) > 1 and all(title in place for title in titles[1:]):
        order = [0, *sorted(range(1, len(titles)), key=lambda at: place[titles[at]])]
        columns = tuple(block.columns[at] for at in order)
        return replace(
            block, columns=columns, rows=tuple(tuple(r[at] for at in order) for r in block.rows)
        )
    return block


def _answer(diagnosis: Diagnosis) -> Answer:
    losses, failed = gaps.of(diagnosis.analyses), failures.of(diagnosis.analyses)
    rows = () if losses is None else losses.systems
    best = max(rows, key=lambda row: row.now, default=None)
    headline, evidence = "No problems found", ""
    if best is not None:
        words, evidence = _HEADLINES[best.problem]
        headline = f"{best.system} {words}"
    elif diagnosis.summary:
        headline = diagnosis.summary[0].text
    blocks: list[Block] = []
    if diagnosis.summary:
        now = None if best is None else best.now
        blocks.append(gains_table(diagnosis.summary, diagnosis.measures[0], now))
    if failed is not None:
        blocks.append(_failing_table(failed))
    blocks.append(Points(tuple(_points(diagnosis, failed))))
    return Answer(headline, evidence=evidence, blocks=tuple(blocks))


def gains_table(summary: Sequence[SummaryLine], measure: str, now: float | None) -> Table:
    """List what could be gained, the most first."""
    standing = "" if now is None else f" (now {number(now)})"
    rows = plain_rows(
        (f"{line.text}: {line.fix}", line.gain, f"--only {line.analysis}") for line in summary
    )
    columns = (
        Column(f"possible gains in {measure}{standing}", "text"),
        Column("up to", signed=True),
        Column("more", "text"),
    )
    return Table(
        columns,
        rows,
        notes=("gains overlap: don't add them up",) if len(rows) > 1 else (),
    )


def _failing_table(result: Failures) -> Table:
    """Count the questions that fail, by cause."""
    rows = result.systems[:MOST_SYSTEMS]
    causes = dict.fromkeys(cause for row in rows for cause in row.causes)
    counts: list[list[Value]] = [
        [cause, *(len(row.causes.get(cause, ())) for row in rows)] for cause in causes
    ]
    counts.append([f"total of {result.queries:,}", *(row.failing for row in rows)])
    columns = (Column("failing questions", "text"), *(Column(row.system) for row in rows))
    return Table(columns, plain_rows(counts))


def _points(diagnosis: Diagnosis, failed: Failures | None) -> Iterator[Point]:
    yield from careful_point((), diagnosis.findings)
    names = [diagnosis.summary[0].analysis] if diagnosis.summary else []
    if failed is not None and any(row.failing for row in failed.systems):
        names.append("failures")
    ways = [*(f"--only {name}" for name in dict.fromkeys(names)), "--full for everything"]
    yield Point("Next", (f"the same command with {', or '.join(ways)}",))


def careful_point(
    grave: Iterable[str], findings: Iterable[Finding], lesser: Iterable[str] = (), *, note: str = ""
) -> Iterator[Point]:
    """Yield what to be careful about, the gravest first, in at most `MOST_CAREFUL` lines.

    ``note``: whether the decision still stands.
    """
    grave_findings = [finding for finding in findings if finding.severity != "note"]
    lines = [*grave, *finding_lines(grave_findings, advised=False), *lesser]
    if len(lines) > MOST_CAREFUL:
        left = counted(len(lines) - MOST_CAREFUL + 1, "more warning")
        lines[MOST_CAREFUL - 1 :] = [f"{left}: --full"]
    if lines:
        yield Point("Careful", tuple(lines), "warning", note=note)


def fix_first(
    analyses: Part, system: str | None, summary: Sequence[SummaryLine]
) -> Iterator[Point]:
    """Yield what to fix first of a system: its ranking, its retrieval, or what gains most."""
    losses = gaps.of(analyses)
    row = next((row for row in losses.systems if row.system == system), None) if losses else None
    if row is not None and row.problem in ("ranking", "retrieval", "both"):
        yield Point("Fix first", (_fix_of(row),), parts=_parts_of(row))
    elif summary:
        line = f"{summary[0].text} ({number(summary[0].gain, signed=True)} at most)."
        yield Point("Fix first", (line,))


def _fix_of(row: Gap) -> str:
    if row.problem == "ranking" or (row.problem == "both" and row.ranking_is_more):
        k, value = row.enough
        gain = number(value - row.now, signed=True)
        better = f"{row.system}'s first {k:,} in perfect order would score {number(value)}"
        return f"Ranking. {better} ({gain})."
    most = number(row.retrieval.value)
    misses = f"{row.system} misses {row.missing:,} of {counted(row.relevant, 'relevant document')}"
    return f"Retrieval. {misses}, which costs up to {most}."


def _parts_of(row: Gap) -> tuple[tuple[str, float], ...]:
    """Return what a system has and loses, where that is a share of 1."""
    if not 0 <= row.now <= row.ideal <= 1:
        return ()
    lost = (("better order", row.ranking.value), ("better retrieval", row.retrieval.value))
    return (("now", row.now), *lost)


# --- what an analysis found, in one sentence with numbers: all that its closed section shows ------

_QUIET = (duplicates.name, leaks.name)
"""Analyses that have nothing to show where they found nothing."""


def _is_quiet(analysis: AnyAnalysis, answer: Any) -> bool:
    """Tell whether an analysis found nothing that is worth a section."""
    return analysis.name in _QUIET and not answer.findings


def _found_sentence(
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
    rest = f" {listed(lacking, FEW)} mainly lack{'s' * (len(lacking) == 1)} retrieval."
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
    return f"{listed(parts, FEW)}." if parts else ""


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
    turns = f" They could turn {listed(turned, FEW)}." if turned else ""
    if result.conclusions and not turned:
        turns = " They can turn no outcome."
    return f"{span} of the first {result.cutoff} documents are unjudged.{turns}"


def _pareto(result: Pareto, _: str | None) -> str:
    if not result.fronts:
        return ""
    front = result.fronts[0]
    off = [row.system for row in front.systems if not row.on_front]
    others = f"another system is at least as good and as cheap as {listed(off, FEW)}"
    return f"By {front.cost}, {others if off else 'no system is both worse and dearer'}."


_SENTENCES: dict[str, Callable[[Any, str | None], str]] = {
    failures.name: _failures,
    gaps.name: _gaps,
    stages.name: _stages,
    baselines.name: _baselines,
    holes.name: _holes,
    pareto.name: _pareto,
}
