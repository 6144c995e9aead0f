"""The rules of scoring, and profiles: the rules of other tools under one name.

A profile says how ties are broken, in which precision scores are compared, which queries count,
and which of our definitions a tool means by a measure's name. Scoring under a tool's profile gives
that tool's numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rankscope.errors import UnknownNameError

if TYPE_CHECKING:
    from rankscope.measures.language import Measure
    from rankscope.runs.order import Precision, Ties

QueryPolicy = Literal["all", "both", "strict"]
"""Which queries count: ``all`` judged ones (missing ones score 0), those judged and in ``both``, or
``strict``ly all, with an error if one is missing from the run."""

NoRelevant = Literal["zero", "out"]
"""What happens to queries without a relevant document: they score 0, or are left out."""


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


def _never(measure: Measure) -> bool:  # noqa: ARG001
    return False


@dataclass(frozen=True, slots=True)
class Profile:
    """A tool's rules.

    ``identical_ids`` says whether a document with the query's own id is kept, ``no_relevant``
    whether queries without a relevant document stay in the mean; ``meaning`` turns a measure as
    asked for into the definition the tool uses. Some tools break their own rules for some measures:
    where ``is_apart`` says so, the rules of ``apart`` count.
    """

    name: str
    summary: str
    ties: Ties = "trec"
    precision: Precision = "double"
    queries: QueryPolicy = "all"
    identical_ids: bool = True
    no_relevant: NoRelevant = "zero"
    meaning: Callable[[Measure], Measure] = _unchanged
    is_apart: Callable[[Measure], bool] = _never
    apart: Profile | None = None

    def rules_for(self, measure: Measure) -> Profile:
        """Return the rules that count for a measure."""
        return self.apart if self.apart is not None and self.is_apart(measure) else self


def _ir_measures_apart(measure: Measure) -> bool:
    return measure.name == "Judged" or (measure.name == "RR" and measure.cutoff is not None)


def _beir_apart(measure: Measure) -> bool:
    return measure.name in ("RR", "R_cap", "Success")


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
            "trec_eval 9's order, missing queries count as 0; RR@k and Judged by id ascending in "
            "double precision",
            precision="single",
            meaning=_trec_eval_9,
            is_apart=_ir_measures_apart,
            apart=Profile("ir_measures", "by id ascending, double precision", ties="id-asc"),
        ),
        Profile(
            "ranx",
            "ties in the order given (which its sort keeps in lists of up to 15 documents), "
            "missing queries are an error",
            ties="given",
            queries="strict",
        ),
        Profile(
            "beir",
            "trec_eval 9's order, missing queries left out; RR, R_cap and Success in the order "
            "given, missing queries count as 0; a document with the query's own id left out",
            precision="single",
            queries="both",
            identical_ids=False,
            is_apart=_beir_apart,
            apart=Profile("beir", "in the order given", ties="given", identical_ids=False),
        ),
        Profile(
            "sentence-transformers",
            "ties by id ascending, binary gains, average precision divided by min(k, R), queries "
            "without a relevant document left out",
            ties="id-asc",
            no_relevant="out",
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
