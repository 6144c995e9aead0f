"""Measures of source spans: how much of the gold text was retrieved, and how much else.

For gold that is spans or texts and not ids (see `rankscope.scoring.coverage`). Units are
characters, or words where gold is known by its text only. What overlapping pieces share is counted
once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.measures.judged import once
from rankscope.measures.parts import ratio
from rankscope.measures.registry import define

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray, JudgedRun


@once
def _units(run: JudgedRun, cutoff: int | None) -> tuple[IntArray, IntArray, IntArray]:
    """By query: gold units that the first pieces cover, units retrieved, and all gold units."""
    spans = run.spans
    assert spans is not None  # `compute` asks for what a measure needs
    return (*spans.within(cutoff, len(run)), spans.gold)


@define("SpanRecall", needs="spans", example="SpanRecall@5")
def span_recall(run: JudgedRun, *, cutoff: int | None) -> FloatArray:
    """Share of the gold text that the first k pieces cover.

    Formula: |gold ∩ retrieved| / |gold|, in characters or words; of the union of all pieces
    Short run: what there is counts
    Reference: Smith & Troynikov 2024 (evaluating chunking strategies)
    """
    covered, _, gold = _units(run, cutoff)
    return ratio(covered, gold)


@define("SpanPrecision", needs="spans", example="SpanPrecision@5")
def span_precision(run: JudgedRun, *, cutoff: int | None) -> FloatArray:
    """Share of the first k pieces' text that is gold.

    Formula: |gold ∩ retrieved| / |retrieved|, in characters or words; of the union of all pieces
    Short run: what there is counts; 0 if it is empty
    Reference: Smith & Troynikov 2024 (evaluating chunking strategies)
    """
    covered, retrieved, _ = _units(run, cutoff)
    return ratio(covered, retrieved)


@define("SpanIoU", needs="spans", example="SpanIoU@5")
def span_intersection_over_union(run: JudgedRun, *, cutoff: int | None) -> FloatArray:
    """Overlap of gold text and the first k pieces' text, of all that is in either.

    Formula: |gold ∩ retrieved| / |gold ∪ retrieved|, in characters or words
    Short run: what there is counts
    Reference: Smith & Troynikov 2024 (evaluating chunking strategies)
    """
    covered, retrieved, gold = _units(run, cutoff)
    return ratio(covered, retrieved + gold - covered)
