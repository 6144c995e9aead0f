"""Whether what is given beside judgments is about the same queries."""

from __future__ import annotations

from rankscope.findings import declare

UNKNOWN_QUERIES = declare(
    "RS721",
    "queries-without-text",
    "warning",
    unit="query",
    advice="give the file that holds all judged queries, or check the ids",
    meaning="""Queries were given, and some judged queries are not among them: their text and
    metadata are not known, so groups of queries are told apart without them.""",
)
