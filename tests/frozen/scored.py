"""Values per query of measures under every profile, in a form that is short to write down."""

from __future__ import annotations

from typing import Any

import rankscope as rs
from rankscope.scoring.rules import PROFILES

DEFAULT = "rankscope"


def under_profiles(qrels: Any, run: Any, measures: list[str], **options: Any) -> dict[str, Any]:
    """Return values under our own rules, and under each profile those that differ from these."""
    found = {DEFAULT: scored(qrels, run, measures, DEFAULT, **options)}
    for profile in PROFILES:
        if profile != DEFAULT:
            theirs = scored(qrels, run, measures, profile, **options)
            found[profile] = {
                measure: value
                for measure, value in theirs.items()
                if value != found[DEFAULT].get(measure) or measure == "queries"
            }
    return found


def scored(
    qrels: Any, run: Any, measures: list[str], profile: str, **options: Any
) -> dict[str, Any]:
    """Return the query ids, and each measure's values in their order, followed by the mean."""
    found: dict[str, Any] = {"queries": []}
    for group in (measures, *([measure] for measure in measures)):
        try:
            scores = rs.evaluate(qrels, run, group, profile=profile, **options)
        except rs.RankscopeError as error:
            found[group[0]] = f"refused: {type(error).__name__}"
            continue
        if len(scores.measures) != len(group):
            continue  # two of them mean the same under this profile: one at a time
        columns = {
            name[0]: frame.sort("query_id")
            for name, frame in scores.per_query.partition_by("measure", as_dict=True).items()
        }
        for text, name in zip(group, scores.measures, strict=True):
            found["queries"] = columns[name]["query_id"].to_list()
            found[text] = [*columns[name]["value"].to_list(), scores.means[name]]
        if len(group) == len(measures):
            break
    refusals = {value for measure, value in found.items() if isinstance(value, str)}
    return found if found["queries"] else {"queries": [], "all": sorted(refusals)}
