"""The accounting of a mean: what it is made of, and what was left out.

Part of every result of `evaluate`. Apart from it, because a first evaluation of plain dicts loads
this (and pydantic with it) only when the accounting is looked at.
"""

from __future__ import annotations

from typing import Literal

from pydantic import field_serializer

from rankscope.part import Part, left_out
from rankscope.runs.collapsing import Collapse
from rankscope.scoring.rules import NoRelevant, QueryPolicy

__all__ = ["Accounting"]

LISTED = 100
"""How many missing queries JSON lists; their number is always given."""


class Collapsed(Part):
    """How the chunks of a run became documents."""

    rule: str
    """What says which document a chunk is of: a separator, a regular expression, a table."""
    collapse: Collapse
    """What a document scores: the best of its chunks, or their sum."""
    chunks: int
    """Rows of the run before."""
    documents: int
    """Rows after."""
    unmatched: int
    """Distinct ids that the rule says nothing about; they count as documents."""
    unmatched_ids: tuple[str, ...]
    """The first of them."""
    is_doubtful: bool
    """Whether such ids may be a mistake; without a separator they are whole documents."""
    depth: int
    """The most chunks that a query has."""
    fewest: int
    """The fewest documents that the chunks of such a query are of."""


class SpanAccounting(Part):
    """How gold that is spans or texts was compared with what was retrieved."""

    unit: Literal["characters", "words", "passages"]
    """What overlaps are counted in; passages match as wholes."""
    overlap: float
    """The share of a gold span that must be covered for it to be found."""
    gold: int
    """Gold spans of all queries."""
    retrieved: int
    """Retrieved pieces of all queries."""


class OntologyAccounting(Part):
    """How documents were found in an ontology."""

    source: str
    """The file of the ontology."""
    version: str
    """What it says its version is."""
    sha256: str
    """The hash of its content and of the relations that count."""
    relations: tuple[str, ...] = ("is_a",)
    """What puts a term below another."""
    undefined: int = 0
    """Ids that terms are said to be below and that are not defined."""
    terms: int
    """Terms that are not obsolete."""
    depth: int
    """The most steps from a root to a term."""
    expected: int
    """Expected ids of all judged queries."""
    expected_unknown: int
    """Of these, those that are no terms or obsolete without one replacement."""
    expected_other: int
    """Of these, obsolete ones with a replacement and alternative ids."""
    retrieved: int
    """Retrieved ids of all queries that are averaged."""
    retrieved_unknown: int
    """Of these, those that are no terms."""
    unknown_ids: tuple[str, ...]
    """The first of them."""


class Accounting(Part):
    """What a mean is made of."""

    queries: int
    """Queries that were averaged."""
    judged: int
    """Queries in the judgments."""
    missing: int
    """Judged queries that the run lacks."""
    missing_queries: tuple[str, ...]
    """Their ids; in JSON the first hundred."""
    missing_policy: QueryPolicy
    """What happens to them: count as 0 (all), left out (both), an error (strict)."""
    unjudged: int
    """Queries of the run that nobody judged; they are left out."""
    no_answer: int | None = left_out()
    """Queries that are marked as having no answer, if there are any; they are left out."""
    without_relevant: int
    """Queries that have no document relevant to some measure."""
    without_relevant_policy: NoRelevant
    """What happens to them: they score 0 (zero), or are left out of the mean (out)."""
    tied_hits: int
    """Judged documents that share their score with another document of the query."""
    tied_across_cutoff: dict[int, int]
    """By cutoff: queries with a tie across it, where the order of equal scores decides."""
    collapsed: Collapsed | None = left_out()
    """How chunks became documents, if they did."""
    spans: SpanAccounting | None = left_out()
    """How overlaps were counted, where gold is spans or texts."""
    ontology: OntologyAccounting | None = left_out()
    """How documents were found in an ontology, if there is one."""
    languages: tuple[str, ...] = left_out(())
    """The languages of cases that are averaged together, as was asked for."""

    @field_serializer("missing_queries", when_used="json")
    def _first(self, query_ids: tuple[str, ...]) -> tuple[str, ...]:
        return query_ids[:LISTED]
