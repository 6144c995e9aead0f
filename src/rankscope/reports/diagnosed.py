"""A diagnosis as a document: what to fix first; behind it a section for each analysis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rankscope.diagnosis.analysis import Analysed, all_analyses
from rankscope.diagnosis.failures import failures
from rankscope.diagnosis.gaps import gaps
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
from rankscope.reports.definitions import definitions_section
from rankscope.reports.found_sentences import found_sentence, is_quiet
from rankscope.reports.target_tables import figure_table

if TYPE_CHECKING:
    from rankscope.diagnosis.analysis import AnyAnalysis
    from rankscope.diagnosis.failures import Failures
    from rankscope.diagnosis.gaps import Gap, Problem
    from rankscope.diagnosis.summary import SummaryLine
    from rankscope.findings import Finding
    from rankscope.part import Part
    from rankscope.records.diagnosis import Diagnosis

Answers = Sequence[tuple["AnyAnalysis", Analysed | NotApplicable]]

MOST_GAINS = 3
"""So many possible gains are shown at first."""

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
    "none: good ranking": ("finds the right documents and ranks them well", ""),
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
        definitions_section(diagnosis.measures, asked={}, profile=diagnosis.profile),
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
        if is_quiet(analysis, answer) and not all_shown:
            reasons.setdefault("found nothing to report", []).append(analysis.name)
            continue
        section = analysis.section(answer)
        sentence = found_sentence(analysis, answer, section, focus)
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
        blocks.append(_gains_table(diagnosis, None if best is None else best.now))
    if failed is not None:
        blocks.append(_failing_table(failed))
    blocks.append(Points(tuple(_points(diagnosis, failed))))
    return Answer(headline, evidence=evidence, blocks=tuple(blocks))


def _gains_table(diagnosis: Diagnosis, now: float | None) -> Table:
    """List what could be gained, the most first."""
    standing = "" if now is None else f" (now {number(now)})"
    head = f"possible gains in {diagnosis.measures[0]}{standing}"
    rows = plain_rows((line.text, line.gain) for line in diagnosis.summary[:MOST_GAINS])
    return Table(
        (Column(head, "text"), Column("up to", signed=True)),
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
