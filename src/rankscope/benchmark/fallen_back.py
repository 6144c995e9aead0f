"""Where a language model did not do its part, and something else took its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankscope.records import BenchmarkReport
    from rankscope.runs.origin import ModelUsage


def fallen_back(report: BenchmarkReport) -> list[str]:
    """Say where a language model did not do its part, and the system is the one below it."""
    return [
        f"{system.name} is in part what it builds on: {fell_back_words(usage)}."
        for system in report.systems
        for usage in system.run.usage
        if usage.fallen_back
    ]


def fell_back_words(usage: ModelUsage) -> str:
    """Say to how many questions a language model gave no usable answer.

    >>> from rankscope.runs.origin import ModelUsage
    >>> counts = dict.fromkeys(("requests", "cached", "retried", "unreadable"), 0)
    >>> none = dict.fromkeys(("prompt_tokens", "completion_tokens", "seconds"), 0)
    >>> none |= dict.fromkeys(("cost", "p50", "p95"))
    >>> fell_back_words(
    ...     ModelUsage(
    ...         part="it", model="tiny", answered=8, failed=2, fallen_back=2, **counts, **none
    ...     )
    ... )
    'the model tiny had no usable answer to 2 of 10 questions'
    """
    asked = usage.answered + usage.failed
    whole = "any" if usage.failed >= asked else f"{usage.failed:,}"
    return f"the model {usage.model} had no usable answer to {whole} of {asked:,} questions"
