"""What each mean covers: which queries are in it, which are not, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rankscope.document.blocks import Cell, Column, Section, Table, text_columns
from rankscope.errors import counted, shown
from rankscope.scoring.rules import PROFILES

if TYPE_CHECKING:
    from rankscope.records.report import BenchmarkReport
    from rankscope.scoring.score_files import Accounting

TITLE = "What each mean covers"

_MISSING = {"all": "counted as 0", "both": "left out of the means", "strict": "an error"}
_WITHOUT = {"zero": "scored 0", "out": "left out"}


@dataclass(frozen=True, slots=True)
class Covered:
    """What is known about the means of one system."""

    accounting: Accounting | None
    """Of its means; None for a system that was not scored."""
    measures: Mapping[str, int] = field(default_factory=dict)
    """By measure: the queries averaged, where that is recorded."""
    failures: int = 0
    """Queries that it could not answer."""
    why_not: str = ""
    """Why it was not scored."""

    @property
    def counts(self) -> dict[str, int | None]:
        """By column: how many queries there are of a kind."""
        held = self.accounting
        if held is None:
            return {}
        return {
            "in the mean": held.queries,
            "judged": held.judged,
            "missing": held.missing,
            "failed": self.failures,
            "nothing relevant": held.without_relevant,
            "no answer": held.no_answer or 0,
            "not judged": held.unjudged,
        }


def coverage_section(covered: Mapping[str, Covered], *, profile: str) -> Section:
    """Show what the means of each system are made of; ``profile`` names the rules that counted."""
    known = [each.accounting for each in covered.values() if each.accounting is not None]
    if not known:
        return Section(TITLE)
    all_counts = [each.counts for each in covered.values()]
    always = ("in the mean", "judged", "missing", "nothing relevant")
    titles = [
        title
        for title in next(filter(None, all_counts))
        if title in always or any(counts.get(title) for counts in all_counts)
    ]
    rows = tuple(
        (
            Cell(name, note="" if each.accounting else "not scored"),
            *(Cell(each.counts.get(title)) for title in titles),
        )
        for name, each in covered.items()
    )
    meanings = {
        "missing": f"judged queries that the run lacks, {_MISSING[known[0].missing_policy]}",
        "failed": "queries that the system could not answer; they are missing from the run",
        "nothing relevant": "queries that have no document relevant to some measure, "
        f"{_WITHOUT[known[0].without_relevant_policy]}",
        "no answer": "queries that are marked as having no answer, left out of every mean",
        "not judged": "queries of the run that nobody judged, left out of every mean",
    }
    notes = [f"{title}: {meanings[title]}" for title in titles if title in meanings]
    table = Table(
        (*text_columns("system"), *map(Column, titles)),
        rows,
        notes=(*notes, *_notes(covered, profile)),
    )
    least, most = min(each.queries for each in known), max(each.queries for each in known)
    queries = counted(most, "question") if least == most else f"{least:,} to {most:,} questions"
    missing = max(each.missing for each in known)
    lacking = f"; up to {missing:,} are missing from a run" if missing else "; none is missing"
    finding = f"Each mean covers {queries}{lacking}."
    return Section(TITLE, details=(table,), part="method", finding=finding)


def coverage_of(report: BenchmarkReport) -> Section:
    """Show what the means of a benchmark's systems are made of."""
    covered = {
        system.name: Covered(
            system.accounting,
            {value.measure: value.n for value in system.measures},
            len(system.run.failures),
            system.broken or "",
        )
        for system in report.systems
    }
    return coverage_section(covered, profile=report.profile)


def _notes(covered: Mapping[str, Covered], profile: str) -> Iterator[str]:
    """Say what was done to the data, and which measures average other queries."""
    known = {name: each.accounting for name, each in covered.items() if each.accounting is not None}
    for name, each in covered.items():
        if each.why_not:
            yield f"{name} was not scored: {each.why_not}"
        for measure, queries in each.measures.items():
            if each.accounting is not None and queries != each.accounting.queries:
                yield f"{name}, {measure}: {counted(queries, 'query')} in the mean"
    by_system = {name: data_sentences(accounting) for name, accounting in known.items()}
    for sentence in dict.fromkeys(line for lines in by_system.values() for line in lines):
        names = [name for name, lines in by_system.items() if sentence in lines]
        yield sentence if len(names) == len(by_system) else f"{', '.join(names)}: {sentence}"
    if profile in PROFILES and profile != "rankscope":
        yield f"rules of {profile}: {PROFILES[profile].summary}"


def accounting_sentences(accounting: Accounting) -> list[str]:
    """Say what a mean is made of; the first sentence is always there."""
    questions = counted(accounting.queries, "question")
    if accounting.missing:
        fate = _MISSING[accounting.missing_policy]
        parts = [questions, f"{accounting.missing:,} missing from the run, {fate}"]
    else:
        parts = [f"{questions}, none missing"]
    if accounting.without_relevant:
        fate = _WITHOUT[accounting.without_relevant_policy]
        parts.append(f"{accounting.without_relevant:,} without a relevant document, {fate}")
    if accounting.unjudged:
        parts.append(f"{accounting.unjudged:,} of the run not judged, left out")
    return parts + data_sentences(accounting)


def data_sentences(accounting: Accounting) -> list[str]:
    """Say how the data became what is scored: questions left out, chunks collapsed, overlaps."""
    parts = []
    if accounting.no_answer:
        verb = "has" if accounting.no_answer == 1 else "have"
        parts.append(f"{counted(accounting.no_answer, 'question')} {verb} no answer, left out")
    if chunks := accounting.collapsed:
        parts.append(
            f"{counted(chunks.chunks, 'chunk')} collapsed to "
            f"{counted(chunks.documents, 'document')} by {shown(chunks.rule)}"
        )
        if chunks.unmatched:
            noun = "a whole document" if chunks.unmatched == 1 else "whole documents"
            parts.append(f"{counted(chunks.unmatched, 'id')} taken as {noun}")
    if spans := accounting.spans:
        parts.append(
            f"{counted(spans.gold, 'gold passage')}, matched as wholes"
            if spans.unit == "passages"
            else f"{counted(spans.gold, 'gold span')}, found where {spans.overlap:.0%} of the "
            f"{spans.unit} are retrieved; gains by the share"
        )
    if terms := accounting.ontology:
        version = f", {terms.version}" if terms.version else ""
        several = f", by {', '.join(terms.relations)}" if len(terms.relations) > 1 else ""
        parts.append(
            f"nearness in {shown(terms.source)[1:-1]}{version}: {counted(terms.terms, 'term')}, "
            f"{counted(terms.depth, 'step')} deep (longest path{several})"
        )
    if accounting.languages:
        parts.append(
            f"{len(accounting.languages)} languages together ({', '.join(accounting.languages)}), "
            "as asked for"
        )
    return parts
