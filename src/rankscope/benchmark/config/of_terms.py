"""What is measured where documents are terms of an ontology, or questions are cases."""

from __future__ import annotations

from typing import Any

from rankscope.errors import RankscopeError
from rankscope.measures.language import DEFAULT_MEASURES, parse_measures, strict_and_soft

CASE_MEASURES = "hpo"
"""What is measured for cases if nobody says."""


def with_measures_of_terms(data: dict[str, Any]) -> dict[str, Any]:
    """Return a config, as plain data, in which exact matches and nearness are measured together.

    Cases without measures get those of the benchmark of clinical phrases; without an ontology,
    those of them that need none. What is wrong is left for the checks that follow.
    """
    collection = data.get("collection")
    if not isinstance(collection, dict):
        return data
    has_ontology = collection.get("ontology") is not None
    given = data.get("measures")
    if given is None and collection.get("cases") is not None:
        given = CASE_MEASURES
    elif given is None and has_ontology:
        given = list(DEFAULT_MEASURES)
    if not isinstance(given, str | list) or "retrieval_metrics" in data:
        return data
    try:
        asked = parse_measures(given)
    except RankscopeError:
        return data
    if has_ontology:
        asked = strict_and_soft(asked, of_terms=True)
    elif data.get("measures") is None:
        asked = [parsed for parsed in asked if not parsed.measure.is_soft]
    return {**data, "measures": [parsed.asked for parsed in asked]}
