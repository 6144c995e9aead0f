"""The rules of scoring, and profiles: the rules of other tools under one name.

A profile says how ties are broken, in which precision scores are compared, which queries count,
and which of our definitions a tool means by a measure's name. Scoring under a tool's profile gives
that tool's numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from rankscope.errors import InputError, UnknownNameError

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


def _always(_: Measure) -> None:
    return None


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


def _ir_measures(measure: Measure) -> Measure:
    """Apply version 9's recall points, gdeval's highest grade, trec_eval's β² and what is judged.

    Its ``SetF(beta=b)`` is trec_eval's ``set_F_b``, whose parameter is β².
    """
    options = measure.options
    if measure.name == "ERR" and options["max_rel"] is None:
        return measure.replaced(max_rel=4)
    if measure.name == "SetF":
        return measure.replaced(beta=cast("float", options["beta"]) ** 0.5)
    if measure.name == "Judged":
        return measure.replaced(pooled=True)
    return _trec_eval_9(measure)


def _ranx(measure: Measure) -> Measure:
    """Multiply by the grade where others count 1, and take negative grades for nonrelevant."""
    if measure.name == "RBP" and measure.options["gain"] == "binary":
        from rankscope.measures.language import Measure  # noqa: PLC0415

        options = measure.options
        if measure.cutoff is not None and "p" not in dict(measure.params):
            raise InputError(
                "ranx has no rbp with a cutoff: its rbp@95 is a persistence of 0.95; write rbp.95"
            )
        level = {} if options["rel"] == 1.0 else {"least": options["rel"]}
        return Measure.of("RBG", cutoff=measure.cutoff, p=options["p"], **level)
    if measure.name == "Bpref":
        return measure.replaced(pooled=True)
    return measure


DIFFERENT = {
    ("ir_measures", "Accuracy"): "it leaves out queries without a retrieved relevant document",
    ("ir_measures", "Compat"): "its ideal has equal scores in the order of the judgments",
    ("ir_measures", "ERR"): "it rounds the value of each query to five decimals",
    ("ranx", "NumRelRet"): "it prints the mean over queries, not the sum",
    ("ranx", "Bpref"): "it has no number for a query that lacks relevant or nonrelevant judgments",
}
"""By profile and measure: why a tool's own number is another one."""

# --- profiles ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Profile:
    """A tool's rules.

    ``identical_ids`` says whether a document with the query's own id is kept, ``no_relevant``
    whether queries without a relevant document stay in the mean; ``meaning`` turns a measure as
    asked for into the definition the tool uses. Some tools break their own rules for some measures:
    ``apart`` returns the rules that count for these.
    """

    name: str
    summary: str
    ties: Ties = "trec"
    precision: Precision = "double"
    queries: QueryPolicy = "all"
    identical_ids: bool = True
    no_relevant: NoRelevant = "zero"
    meaning: Callable[[Measure], Measure] = _unchanged
    apart: Callable[[Measure], Profile | None] = _always

    def rules_for(self, measure: Measure) -> Profile:
        """Return the rules that count for a measure."""
        return self.apart(measure) or self

    def doubt(self, measure: Measure) -> str:
        """Say why a measure under this profile is not the tool's own number; '' if it is."""
        return DIFFERENT.get((self.name, measure.name), "")


_IR_ASCENDING = Profile("ir_measures", "by id ascending, double precision", ties="id-asc")
_IR_GIVEN = Profile("ir_measures", "in the order given, double precision", ties="given")
_IR_GDEVAL = Profile("ir_measures", "by id descending, double precision")
_IR_PRESENT = Profile("ir_measures", "queries of the run only", precision="single", queries="both")
_IR_CWL = {"RBP", "BPM", "SDCG", "INST", "INSQ", "Accuracy"}


def _ir_measures_apart(measure: Measure) -> Profile | None:
    """Each measure goes to another package, and each package sorts in its own way."""
    is_cut = measure.cutoff is not None
    if measure.name in ("Judged", "Compat") or measure.needs == "subtopics":
        return _IR_ASCENDING
    if measure.name == "RR" and is_cut:
        return _IR_ASCENDING
    if measure.name in _IR_CWL:
        return _IR_GIVEN
    if measure.name == "ERR" or (measure.name == "nDCG" and measure.options["gain"] == "exp"):
        return _IR_GDEVAL
    return _IR_PRESENT if measure.name in ("NumQ", "NumRel") else None


_BEIR_GIVEN = Profile("beir", "in the order given", ties="given", identical_ids=False)


def _beir_apart(measure: Measure) -> Profile | None:
    return _BEIR_GIVEN if measure.name in ("RR", "R_cap", "Success") else None


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
            "trec_eval 9's order, missing queries count as 0; in double precision RR@k, Judged, "
            "Compat and diversity by id ascending, RBP, BPM, SDCG, INST and INSQ in the order "
            "given; NumQ and NumRel of the queries of the run",
            precision="single",
            meaning=_ir_measures,
            apart=_ir_measures_apart,
        ),
        Profile(
            "ranx",
            "ties in the order given (which its sort keeps in lists of up to 15 documents), "
            "missing queries are an error; rbp multiplies by the grade",
            ties="given",
            queries="strict",
            meaning=_ranx,
        ),
        Profile(
            "beir",
            "trec_eval 9's order, missing queries left out; RR, R_cap and Success in the order "
            "given, missing queries count as 0; a document with the query's own id left out",
            precision="single",
            queries="both",
            identical_ids=False,
            apart=_beir_apart,
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


OURS = PROFILES["rankscope"]
"""What counts where no profile is named."""


def profile_named(name: str | Profile) -> Profile:
    """Return a profile by its name."""
    if isinstance(name, Profile):
        return name
    if name not in PROFILES:
        raise UnknownNameError("profile", name, PROFILES)
    return PROFILES[name]
