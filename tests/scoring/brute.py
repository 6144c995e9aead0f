"""Every order that equal scores could stand in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, permutations, product

from rankscope.measures.language import Measure
from rankscope.measures.registry import compute
from rankscope.scoring.align import align
from rankscope.scoring.judgments import Judgments


def orders(scores: dict[str, float]) -> Iterator[dict[str, float]]:
    """Yield the documents of a query in each order their scores allow, without ties."""
    ranked = sorted(scores, key=lambda doc: scores[doc], reverse=True)
    groups = [list(group) for _, group in groupby(ranked, key=lambda doc: scores[doc])]
    for parts in product(*(permutations(group) for group in groups)):
        docs = [doc for part in parts for doc in part]
        yield {doc: float(-rank) for rank, doc in enumerate(docs)}


def tie_band(
    grades: dict[str, float], scores: dict[str, float], measures: list[Measure]
) -> dict[Measure, tuple[float, float]]:
    """Return a query's lowest and highest value: each order is a query of one large run."""
    run = {str(number): ordered for number, ordered in enumerate(orders(scores))}
    judged = align(Judgments(dict.fromkeys(run, grades)), run).judged
    values = {measure: compute(measure, judged) for measure in measures}
    return {measure: (float(v.min()), float(v.max())) for measure, v in values.items()}
