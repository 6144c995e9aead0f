"""The summary: at most five sentences of all analyses, ordered by what would gain most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rankscope.diagnosis.analysis import Analysed
from rankscope.document.blocks import Section, sentences
from rankscope.part import Part

if TYPE_CHECKING:
    from rankscope.diagnosis.analysis import AnyAnalysis
    from rankscope.findings import NotApplicable

MOST = 5
"""So many sentences at most: who reads more acts on none."""

MOST_OF_ONE = 2
"""So many of one analysis at most."""

LEAST = 0.001
"""A gain below this is not worth a sentence."""

TITLE = "What would gain most"

NOTHING = "Nothing stands out"
"""What is said where there is no advice."""


class SummaryLine(Part):
    """One sentence of the summary."""

    text: str
    """What was seen, on how many questions, and what would mend it."""
    gain: float
    """How much the mean of the main measure could gain at most, or how much of it is in doubt."""
    analysis: str
    """The analysis that says it, by name: ``--only`` shows all that it found."""


def summarise(
    answers: Iterable[tuple[AnyAnalysis, Analysed | NotApplicable | None]],
) -> tuple[SummaryLine, ...]:
    """Put the advice of all analyses in order; none where nothing stands out."""
    lines = []
    for analysis, answer in answers:
        if isinstance(answer, Analysed):
            advised = [(advice.text, advice.gain) for advice in answer.advice]
            advised += [
                (finding.message, finding.gain)
                for finding in answer.findings
                if finding.gain is not None
            ]
            lines += [
                SummaryLine(text=text, gain=gain, analysis=analysis.name)
                for text, gain in sorted(advised, key=lambda each: -each[1])[:MOST_OF_ONE]
                if gain >= LEAST
            ]
    return tuple(sorted(lines, key=lambda line: -line.gain)[:MOST])


def summary_section(lines: Sequence[SummaryLine], command: str) -> Section:
    """Show the summary; ``command`` shows all of an analysis, once its name is added."""
    if not lines:
        return Section(TITLE, (sentences([f"{NOTHING}."], "quiet"),))
    texts = [f"{line.text} [{line.analysis}]" for line in lines]
    note = f"more about one of them, by its name in brackets: {command} --only {lines[0].analysis}"
    return Section(TITLE, (sentences(texts, listed=True), sentences([note], "quiet")))
