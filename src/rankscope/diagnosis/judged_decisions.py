"""What the analyses of a router and of a gate have in common: which decisions count.

Where there are qrels, decisions for other queries do not count: they may be of another set.
"""

from __future__ import annotations

from collections.abc import Iterator

from rankscope.collection.decisions import Decisions
from rankscope.diagnosis.analysis import Analysed, Inputs
from rankscope.errors import counted
from rankscope.findings import Finding, declare

OTHER_QUERIES = declare(
    "RS720",
    "decisions-for-other-queries",
    "note",
    unit="decision",
    advice="check that decisions and qrels use the same query ids, and are of the same questions",
    meaning="""Some decisions are for queries that the qrels do not have, neither with judgments nor
    as questions without an answer. They are left out of all figures.""",
)


class DecisionFigures(Analysed):
    """How well something decides, question by question."""

    decisions: int
    """How many decisions count."""
    unknown: int
    """How many questions are left out of shares, as what is right is not known."""
    other_queries: int
    """How many decisions are left out, as they are for queries that are not judged."""


def judged_decisions(inputs: Inputs) -> Decisions:
    """Return the decisions for judged queries; all without qrels."""
    decisions, qrels = inputs.decisions, inputs.qrels
    if not inputs.has("qrels") or qrels.is_numbered:
        return decisions
    part = decisions.only({*qrels.query_ids, *qrels.no_answer})
    inputs.require(
        len(part),
        f"none of {counted(len(decisions), 'decision')} is for a judged query; check that both use "
        "the same query ids",
    )
    return part


def about_other_queries(result: DecisionFigures) -> Iterator[Finding]:
    """Say that decisions for other queries do not count."""
    if result.other_queries:
        yield OTHER_QUERIES.finding(
            f"{counted(result.other_queries, 'decision')} for queries that the qrels do not have: "
            "left out",
            count=result.other_queries,
        )
