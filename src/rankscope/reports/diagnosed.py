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
    Cell,
    Column,
    Document,
    Findings,
    Point,
    Points,
    Section,
    Sentences,
    Table,
    cells,
    finding_lines,
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
        answer=None if is_part else _answer(diagnosis, answers),
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
    answers: Answers, names: Sequence[str], *, all_shown: bool = False
) -> Iterator[Section]:
    """Yield a section for each analysis that found something, and one that lists the others.

    Systems come in the order of ``names``, and a sentence that begins with one of these with no
    capital. ``all_shown``: also those that found nothing are shown, and all on a terminal.
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
        sentence = section.finding or found_sentence(analysis, answer, section)
        sentence = (
            sentence
            if sentence.split(" ")[0].rstrip(":,") in names
            else f"{sentence[:1].upper()}{sentence[1:]}"
        )
        held = [_ranked(block, names) for block in section.all_blocks]
        first = held[0] if held and not all_shown else None
        if isinstance(first, Sentences) and [each.text for each in first.sentences] == [sentence]:
            held = held[1:]  # it is said already
        shown = len(held) if all_shown else 1  # on a terminal, too
        yield replace(
            section,
            blocks=tuple(held[:shown]),
            details=tuple(held[shown:]),
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


def _answer(diagnosis: Diagnosis, answers: Answers) -> Answer:
    row = focus_gap(answers)
    measure = diagnosis.measures[0]
    if row is not None:
        words, evidence = _HEADLINES[row.problem]
        headline = f"{row.system} {words}"
    elif diagnosis.summary:
        headline, evidence = diagnosis.summary[0].text, ""
    else:
        headline, evidence = "No problems found", ""
    blocks: list[Block] = []
    if diagnosis.summary:
        blocks.append(gains_table(diagnosis.summary, measure, None if row is None else row.now))
    failed = next((answer for analysis, answer in answers if analysis is failures), None)
    if failed is not None and not isinstance(failed, NotApplicable):
        blocks.append(failing_table(failures.result.model_validate(failed)))
    blocks.append(Points(tuple(_points(diagnosis))))
    return Answer(headline, evidence=evidence, blocks=tuple(blocks))


def focus_gap(answers: Answers) -> Gap | None:
    """Return what the best system loses, as the analysis of gaps has it."""
    for analysis, answer in answers:
        if analysis is gaps and not isinstance(answer, NotApplicable):
            rows = gaps.result.model_validate(answer).systems
            return max(rows, key=lambda row: row.now, default=None)
    return None


def gains_table(summary: Sequence[SummaryLine], measure: str, now: float | None) -> Table:
    """List what could be gained, the most first."""
    standing = "" if now is None else f" (now {number(now)})"
    rows = [
        (Cell(f"{line.text}: {line.fix}"), Cell(line.gain), Cell(f"--only {line.analysis}"))
        for line in summary
    ]
    columns = (
        Column(f"possible gains in {measure}{standing}", "text"),
        Column("up to", signed=True),
        Column("more", "text"),
    )
    return Table(
        columns,
        tuple(rows),
        notes=("gains overlap: don't add them up",) if len(rows) > 1 else (),
    )


def failing_table(result: Failures) -> Table:
    """Count the questions that fail, by cause."""
    rows = result.systems[:MOST_SYSTEMS]
    causes = dict.fromkeys(cause for row in rows for cause in row.causes)
    counts = [
        (Cell(cause), *(Cell(len(row.causes.get(cause, ()))) for row in rows)) for cause in causes
    ]
    total = (Cell(f"total of {result.queries:,}"), *cells(*(row.failing for row in rows)))
    return Table(
        (Column("failing questions", "text"), *(Column(row.system) for row in rows)),
        (*counts, total),
    )


def _points(diagnosis: Diagnosis) -> Iterator[Point]:
    yield from careful_point((), diagnosis.findings)
    names = [diagnosis.summary[0].analysis] if diagnosis.summary else []
    failing = failures.of(diagnosis.analyses)
    if failing is not None and any(row.failing for row in failing.systems):
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
    answers: Answers, system: str | None, summary: Sequence[SummaryLine]
) -> Iterator[Point]:
    """Yield what to fix first of a system: its ranking, its retrieval, or what gains most."""
    gap = next((answer for analysis, answer in answers if analysis is gaps), None)
    if gap is not None and not isinstance(gap, NotApplicable):
        rows = gaps.result.model_validate(gap).systems
        row = next((row for row in rows if row.system == system), None)
        if row is not None and row.problem in ("ranking", "retrieval", "both"):
            yield Point("Fix first", (_fix_of(row),), parts=_parts_of(row))
            return
    if summary:
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
