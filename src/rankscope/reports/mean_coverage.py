"""What each mean covers: which queries are in it, which are not, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rankscope.document.blocks import Cell, Column, Section, Table, Value, text_columns
from rankscope.errors import counted, shown
from rankscope.scoring.rules import PROFILES

if TYPE_CHECKING:
    from rankscope.records.report import BenchmarkReport
    from rankscope.scoring.score_files import Accounting

TITLE = "What each mean covers"

_MISSING = {"all": "counted as 0", "both": "left out of the mean", "strict": "an error"}
_WITHOUT = {"zero": "which score 0", "out": "left out of the mean"}


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


@dataclass(frozen=True, slots=True)
class _Count:
    """A column: its title, its number, what it means, and whether it is always shown."""

    title: str
    number: Callable[[Covered, Accounting], int]
    note: Callable[[Accounting], str]
    always: bool = False


def _note(text: str) -> Callable[[Accounting], str]:
    return lambda _: text


_COUNTS = (
    _Count(
        "in the mean",
        lambda _, accounting: accounting.queries,
        _note("queries that were averaged"),
        always=True,
    ),
    _Count(
        "judged",
        lambda _, accounting: accounting.judged,
        _note("queries in the judgments"),
        always=True,
    ),
    _Count(
        "missing",
        lambda _, accounting: accounting.missing,
        lambda accounting: (
            f"judged queries that the run lacks, {_MISSING[accounting.missing_policy]}"
        ),
        always=True,
    ),
    _Count(
        "failed",
        lambda covered, _: covered.failures,
        _note("queries that the system could not answer; they are missing from the run"),
    ),
    _Count(
        "nothing relevant",
        lambda _, accounting: accounting.without_relevant,
        lambda accounting: (
            "queries that have no document relevant to some measure, "
            f"{_WITHOUT[accounting.without_relevant_policy]}"
        ),
        always=True,
    ),
    _Count(
        "no answer",
        lambda _, accounting: accounting.no_answer or 0,
        _note("queries that are marked as having no answer, left out of every mean"),
    ),
    _Count(
        "not judged",
        lambda _, accounting: accounting.unjudged,
        _note("queries of the run that nobody judged, left out of every mean"),
    ),
    _Count(
        "tied hits",
        lambda _, accounting: accounting.tied_hits,
        _note("judged documents that share their score with another document of the query"),
    ),
)


def coverage_section(covered: Mapping[str, Covered], *, profile: str) -> Section:
    """Show what the means of each system are made of; ``profile`` names the rules that counted."""
    known = [each.accounting for each in covered.values() if each.accounting is not None]
    if not known:
        return Section(TITLE)
    counts = [count for count in _COUNTS if count.always or _is_seen(count, covered)]
    cutoffs = _tied_cutoffs(known)
    apart = any(_differing(each) for each in covered.values())
    rows = []
    for name, each in covered.items():
        which = "all others" if _differing(each) else "all"
        names = [Cell(name), *([Cell(which)] if apart else [])]
        rows.append((*names, *_numbers(each, counts, cutoffs)))
        rows += [
            (Cell(name), Cell(measure), Cell(queries), *(Cell("") for _ in (*counts[1:], *cutoffs)))
            for measure, queries in _differing(each).items()
        ]
    titles = [count.title for count in counts] + [f"ties at {cutoff}" for cutoff in cutoffs]
    table = Table(
        (*text_columns("system", *(["measure"] if apart else [])), *map(Column, titles)),
        tuple(rows),
        notes=tuple(_notes(covered, counts, cutoffs, profile)),
        name_columns=2 if apart else 1,
    )
    least, most = min(each.queries for each in known), max(each.queries for each in known)
    queries = counted(most, "question") if least == most else f"{least:,} to {most:,} questions"
    finding = f"Each mean covers {queries}."
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


def _is_seen(count: _Count, covered: Mapping[str, Covered]) -> bool:
    return any(
        count.number(each, each.accounting) > 0
        for each in covered.values()
        if each.accounting is not None
    )


def _differing(covered: Covered) -> dict[str, int]:
    """Return the measures that average other queries than the accounting says."""
    if covered.accounting is None:
        return {}
    usual = covered.accounting.queries
    return {name: queries for name, queries in covered.measures.items() if queries != usual}


def _tied_cutoffs(known: list[Accounting]) -> list[int]:
    """Return the cutoffs that equal scores lie across."""
    cutoffs = {
        cutoff
        for accounting in known
        for cutoff, queries in accounting.tied_across_cutoff.items()
        if queries
    }
    return sorted(cutoffs)


def _numbers(covered: Covered, counts: list[_Count], cutoffs: list[int]) -> Iterator[Cell]:
    accounting = covered.accounting
    if accounting is None:
        yield Cell("not scored", tone="bad")
        yield from (Cell() for _ in range(len(counts) + len(cutoffs) - 1))
        return
    numbers: list[Value] = [count.number(covered, accounting) for count in counts]
    numbers += [accounting.tied_across_cutoff.get(cutoff, 0) for cutoff in cutoffs]
    yield from map(Cell, numbers)


def _notes(
    covered: Mapping[str, Covered], counts: list[_Count], cutoffs: list[int], profile: str
) -> Iterator[str]:
    """Explain every column, what was done to the data, and rules that some measures have apart."""
    known = {name: each.accounting for name, each in covered.items() if each.accounting is not None}
    first = next(iter(known.values()))
    for count in counts:
        yield f"{count.title}: {count.note(first)}"
    if cutoffs:
        yield (
            "ties at a rank: queries where equal scores lie across it, so that the order of equal "
            "scores decides which documents are above"
        )
    for name, each in covered.items():
        if each.why_not:
            yield f"{name} was not scored: {each.why_not}"
    by_system = {name: data_sentences(accounting) for name, accounting in known.items()}
    for sentence in dict.fromkeys(line for lines in by_system.values() for line in lines):
        names = [name for name, lines in by_system.items() if sentence in lines]
        yield sentence if len(names) == len(by_system) else f"{', '.join(names)}: {sentence}"
    if profile in PROFILES and profile != "rankscope":
        yield f"rules of {profile}: {PROFILES[profile].summary}"


def data_sentences(accounting: Accounting) -> list[str]:
    """Say how the data became what is scored: questions left out, chunks collapsed, overlaps."""
    parts = []
    if accounting.no_answer:
        verb = "has" if accounting.no_answer == 1 else "have"
        parts.append(f"{counted(accounting.no_answer, 'question')} {verb} no answer, left out")
    if accounting.collapsed is not None:
        chunks = accounting.collapsed
        parts.append(
            f"{counted(chunks.chunks, 'chunk')} collapsed to "
            f"{counted(chunks.documents, 'document')} by {shown(chunks.rule)} ({chunks.collapse})"
        )
        if chunks.unmatched:
            noun = "a whole document" if chunks.unmatched == 1 else "whole documents"
            parts.append(f"{counted(chunks.unmatched, 'id')} taken as {noun}")
    if accounting.spans is not None:
        spans = accounting.spans
        parts.append(
            f"{counted(spans.gold, 'gold passage')}, matched as wholes"
            if spans.unit == "passages"
            else f"{counted(spans.gold, 'gold span')}, found where {spans.overlap:.0%} of the "
            f"{spans.unit} are retrieved; gains by the share"
        )
    if accounting.ontology is not None:
        terms = accounting.ontology
        version = f", {terms.version}" if terms.version else ""
        parts.append(
            f"nearness in {shown(terms.source)[1:-1]}{version}: {counted(terms.terms, 'term')}, "
            f"{counted(terms.depth, 'step')} deep (longest path"
            f"{', by ' + ', '.join(terms.relations) if len(terms.relations) > 1 else ''})"
        )
    if accounting.languages:
        parts.append(
            f"{len(accounting.languages)} languages together ({', '.join(accounting.languages)}), "
            "as asked for"
        )
    return parts
