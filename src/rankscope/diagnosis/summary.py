"""The summary: at most five things to fix, of all analyses, ordered by what would gain most."""

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
    """What was seen, on how many questions."""
    fix: str = ""
    """What to do about it."""
    gain: float
    """How much the mean of the main measure could gain at most, or how much of it is in doubt."""
    analysis: str
    """The analysis that says it, by name: ``--only`` shows all that it found."""


def summarise(
    answers: Iterable[tuple[AnyAnalysis, Analysed | NotApplicable | None]],
) -> tuple[SummaryLine, ...]:
    """Put what analyses found in order of its gain; none where nothing stands out."""
    lines = []
    for analysis, answer in answers:
        if isinstance(answer, Analysed):
            of_analysis = [
                SummaryLine(
                    text=finding.message,
                    fix=finding.advice,
                    gain=finding.gain,
                    analysis=analysis.name,
                )
                for finding in answer.findings
                if finding.gain is not None and finding.gain >= LEAST
            ]
            lines += sorted(of_analysis, key=lambda line: -line.gain)[:MOST_OF_ONE]
    return tuple(sorted(lines, key=lambda line: -line.gain)[:MOST])


def summary_section(lines: Sequence[SummaryLine], command: str) -> Section:
    """Show the summary; ``command`` shows all of an analysis, once its name is added."""
    if not lines:
        return Section(TITLE, (sentences([f"{NOTHING}."], "quiet"),))
    texts = [f"{line.text}; {line.fix} (up to {line.gain:.3f}) [{line.analysis}]" for line in lines]
    notes = [f"more about one of them, by its name: {command} --only {lines[0].analysis}"]
    if len(lines) > 1:
        notes.insert(0, "gains overlap: what one fix wins another may win as well, so do not add")
    return Section(TITLE, (sentences(texts, listed=True), sentences(notes, "quiet")))
