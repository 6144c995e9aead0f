"""Profiles: the rules of other tools under one name.

A profile says how ties are broken, in which precision scores are compared, which queries count,
and which of our definitions a tool means by a measure's name. Scoring under a tool's profile gives
that tool's numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankscope.errors import UnknownNameError

if TYPE_CHECKING:
    from rankscope.alignment.rules import Precision, QueryPolicy, Ties
    from rankscope.measures.language import Measure

__all__ = ["PROFILES", "Profile", "profile_named"]


def _unchanged(measure: Measure) -> Measure:
    return measure


def _trec_eval_9(measure: Measure) -> Measure:
    """Use version 9's rule for the rank at which a recall point is reached."""
    has_rule = measure.definition.parameter("rule") is not None
    return measure.replaced(rule=9) if has_rule else measure


def _sentence_transformers(measure: Measure) -> Measure:
    """Gains are binary, and average precision is divided by what could be found."""
    if measure.name in ("nDCG", "DCG"):
        return measure.replaced(gain="binary")
    if measure.name == "AP" and measure.cutoff is not None:
        return measure.replaced(norm="min")
    return measure


@dataclass(frozen=True, slots=True)
class Profile:
    """A tool's rules.

    ``identical_ids`` says whether a document with the query's own id is kept; ``meaning`` turns a
    measure as asked for into the definition the tool uses.
    """

    name: str
    summary: str
    ties: Ties = "trec"
    precision: Precision = "double"
    queries: QueryPolicy = "all"
    identical_ids: bool = True
    meaning: Callable[[Measure], Measure] = _unchanged


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("rankscope", "ties by id descending, double precision, missing queries count as 0"),
        Profile(
            "trec_eval-9",
            "single precision, missing queries left out, version 9's recall points",
            precision="single",
            queries="both",
            meaning=_trec_eval_9,
        ),
        Profile(
            "trec_eval-10",
            "double precision, missing queries are an error",
            queries="strict",
        ),
        Profile(
            "ir_measures",
            "trec_eval's order in single precision, missing queries count as 0",
            precision="single",
            meaning=_trec_eval_9,
        ),
        Profile(
            "ranx",
            "ties in the order given, missing queries are an error",
            ties="given",
            queries="strict",
        ),
        Profile(
            "beir",
            "trec_eval's order in single precision, missing queries left out, a document with the "
            "query's own id left out",
            precision="single",
            queries="both",
            identical_ids=False,
        ),
        Profile(
            "sentence-transformers",
            "ties in the order given, binary gains, average precision divided by min(k, R)",
            ties="given",
            meaning=_sentence_transformers,
        ),
    )
}


def profile_named(name: str | Profile) -> Profile:
    """Return a profile by its name."""
    if isinstance(name, Profile):
        return name
    if name not in PROFILES:
        raise UnknownNameError("profile", name, PROFILES)
    return PROFILES[name]
