"""The summary: at most five things to fix, of all analyses, ordered by what would gain most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rankscope.diagnosis.analysis import Analysed
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
