"""What other tools call our measures: trec_eval, ndeval, ranx, BEIR, MTEB, sentence-transformers.

Each foreign name maps to one exact definition, written in our own language. Where a name means
different things in different tools, it stands for one of them here and the output shows which:

- ``Accuracy@k`` (BEIR, MTEB, sentence-transformers, DPR) is ``Success@k``. ir_measures' accuracy, a
  share of pairs, is written without a cut: ``Accuracy`` and ``Accuracy(depth=10)``.
- ``map@k`` and ``ndcg@k`` are ``AP@k`` and ``nDCG@k`` as in trec_eval, ranx and BEIR. The variants
  of sentence-transformers are known by its prefix: ``cosine_map@100`` is ``AP(norm=min)@100`` and
  ``cosine_ndcg@10`` is ``nDCG(gain=binary)@10``.
- ``rbp`` is trec_eval's, with p = 0.9 and gains scaled to 1; ``rbp.95`` is ranx's, with gains as
  they are; ``RBP`` is ours with p = 0.8, and ``rbp@10`` is that cut at 10.
- ``ndcg@10-l2`` is ranx's: documents below the level gain nothing, the others what they did.
- ``context_precision``, ``context_recall`` and ``hits@k`` are two things each, so it must be said
  which: see `AMBIGUOUS`.
- ``recall``, ``precision``, ``f1`` and ``hit_rate`` without a cutoff are about all that was
  retrieved, as in ranx: ``SetR``, ``SetP``, ``SetF``, ``Success``. (trec_eval's ``recall`` and
  ``success`` are several cutoffs: write ``recall.5,10`` or use ``rankscope trec-eval``.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rankscope.errors import InputError, shown


@dataclass(frozen=True, slots=True)
class Request:
    """A measure asked for, before it is checked: a name of ours, parameters, cutoff.

    ``label`` is what it was asked for as, where one request stands for several measures.
    """

    name: str
    params: Mapping[str, object] = field(default_factory=dict)
    cutoff: object = None
    label: str = ""


def fold(name: str) -> str:
    """Reduce a name to what must match: no case, no hyphens, no underscores."""
    return re.sub(r"[-_]", "", name.casefold()).replace("α", "alpha")


# --- names that take our own notation: parameters in brackets, a cutoff after @ ------------------

_EXACT = {
    "rbp": Request("RBP", {"p": 0.9, "gain": "linear", "scale": "query"}),
    "rbp_resid": Request("RBP_residual", {"p": 0.9, "tail": "unjudged"}),
}
"""Names that must be spelled like this, because in another case they are something else."""

_SPELLED: dict[str, Request] = {
    "map": Request("AP"),
    "average_precision": Request("AP"),
    "mean_average_precision": Request("AP"),
    "map_at_r": Request("AP_R"),
    "mrr": Request("RR"),
    "recip_rank": Request("RR"),
    "reciprocal_rank": Request("RR"),
    "mean_reciprocal_rank": Request("RR"),
    "expected_reciprocal_rank": Request("ERR"),
    "cumulative_gain": Request("CG"),
    "discounted_cumulative_gain": Request("DCG"),
    "normalized_discounted_cumulative_gain": Request("nDCG"),
    "recall": Request("R"),
    "precision": Request("P"),
    "hit": Request("Success"),
    "HR": Request("Success"),
    "hit_rate": Request("Success"),
    "hit_ratio": Request("Success"),
    "top_k_accuracy": Request("Success"),
    "recall_any": Request("Success"),
    "recall_all": Request("SuccessAll"),
    "micro_recall": Request("R", {"mean": "micro"}),
    "f1": Request("F"),
    "f2": Request("F", {"beta": 2.0}),
    "r-precision": Request("Rprec"),
    "ndcg_burges": Request("nDCG", {"gain": "exp"}),
    "dcg_burges": Request("DCG", {"gain": "exp"}),
    "recall_cap": Request("R_cap"),
    "relative_P": Request("R_cap"),
    "unj": Request("Unjudged"),
    "gm_map": Request("GMAP"),
    "gm_bpref": Request("GMBpref"),
    "11pt_avg": Request("11pt"),
    "ideal_dcg": Request("IDCG"),
    "iprec_at_recall": Request("IPrec"),
    "Rprec_mult": Request("Rprec"),
    "set_recall": Request("SetR"),
    "set_map": Request("SetAP"),
    "set_relative_P": Request("SetP", {"relative": True}),
    "SetRelP": Request("SetP", {"relative": True}),
    "q_measure": Request("Q"),
    "graded_average_precision": Request("GAP"),
    "compatibility": Request("Compat"),
    "auroc": Request("AUC"),
    "MAP_IA": Request("AP_IA"),
    "strec": Request("StRecall"),
    "subtopic_recall": Request("StRecall"),
}
_CONTEXTS: dict[str, Request] = {
    "ragas_context_precision": Request("AP", {"norm": "retrieved"}),
    "llm_context_precision_with_reference": Request("AP", {"norm": "retrieved"}),
    "non_llm_context_precision_with_reference": Request("AP", {"norm": "retrieved"}),
    "deepeval_contextual_precision": Request("AP", {"norm": "retrieved"}),
    "contextual_precision": Request("AP", {"norm": "retrieved"}),
    "id_based_context_precision": Request("SetP"),
    "ragas_context_recall": Request("SetR"),
    "non_llm_context_recall": Request("SetR"),
    "id_based_context_recall": Request("SetR"),
    "deepeval_contextual_recall": Request("SetR"),
    "contextual_recall": Request("SetR"),
}
"""What tools for retrieval-augmented generation call measures of the contexts found."""
_SPELLED |= _CONTEXTS

AMBIGUOUS = {
    "context_precision": (
        "ragas_context_precision or contextual_precision (Ragas and DeepEval: AP(norm=retrieved), "
        "which looks at ranks) or id_based_context_precision (Ragas by ids: SetP, which does not)"
    ),
    "context_recall": (
        "id_based_context_recall or contextual_recall (SetR: the share of the relevant contexts "
        "that are found); the share of an answer's statements, by a model, is not measured here"
    ),
    "hits": (
        "Success@k (hit rate: the share of queries with a relevant document among the first k) or "
        "NumRelRet@k (ranx's hits: how many relevant documents are among them)"
    ),
}
"""Names that tools define differently, and what to write instead."""

_ALIASES = {fold(name): request for name, request in _SPELLED.items()}
_READINGS = {fold(name): readings for name, readings in AMBIGUOUS.items()}
SPELLED = (*_SPELLED, *_EXACT)
"""Foreign names as they are written, for the nearest to an unknown one."""
OF_WORDS = sorted(
    (name for name in (*_SPELLED, *AMBIGUOUS) if "_" in name and not name.startswith("set_")),
    key=len,
    reverse=True,
)
"""Names of several words, the longest first; ``set`` by itself is trec_eval's."""

_WITHOUT_CUTOFF = {
    "precision": Request("SetP"),
    "recall": Request("SetR"),
    "f1": Request("SetF"),
    "f2": Request("SetF", {"beta": 2.0}),
    "prec": Request("SetP"),
}


def is_exact(name: str, *, cut: bool) -> bool:
    """Tell whether a name is foreign exactly as spelled, though in another case it is ours."""
    return name in _EXACT and not (cut and name == "rbp")


def alias_of(name: str, *, cut: bool) -> Request | None:
    """Return what a foreign name means, if it is known; ``cut`` tells if a cutoff follows it."""
    if name in _EXACT and not (cut and name == "rbp"):
        return _EXACT[name]
    folded = fold(name)
    if folded in _READINGS:
        raise InputError(f"{name} has several definitions; write {_READINGS[folded]}")
    if folded == "accuracy" and cut:
        return Request("Success")
    if not cut and folded in _WITHOUT_CUTOFF:
        return _WITHOUT_CUTOFF[folded]
    return _ALIASES.get(folded)


def renamed_parameters(name: str, params: Mapping[str, object]) -> dict[str, object]:
    """Translate ir_measures' spelling of parameters: ``dcg='exp-log2'``, ``gains={…}``."""
    renamed = dict(params)
    if "gains" in renamed and "gain" not in renamed:
        renamed["gain"] = renamed.pop("gains")
    if "dcg" in renamed and "gain" not in renamed:
        formula = renamed.pop("dcg")
        known = {"log2": "linear", "exp-log2": "exp"}
        if not isinstance(formula, str) or formula not in known:
            raise InputError(f"{name}: dcg must be log2 or exp-log2, not {shown(formula)}")
        renamed["gain"] = known[formula]
    return renamed


_SENTENCE = re.compile(
    r"(?:cosine|cos_sim|dot|dot_score|euclidean|manhattan|max)[_-]"
    r"(accuracy|precision|recall|mrr|ndcg|map)@([0-9]{1,10})",
    re.IGNORECASE,
)
_SENTENCE_NAMES = {
    "accuracy": Request("Success"),
    "precision": Request("P"),
    "recall": Request("R"),
    "mrr": Request("RR"),
    "ndcg": Request("nDCG", {"gain": "binary"}),
    "map": Request("AP", {"norm": "min"}),
}


def from_sentence_transformers(text: str) -> Request | None:
    """Read a name of its information retrieval evaluator, such as ``cosine_ndcg@10``."""
    match = _SENTENCE.fullmatch(text)
    if match is None:
        return None
    meant = _SENTENCE_NAMES[match[1].casefold()]
    return Request(meant.name, meant.params, int(match[2]))


# --- trec_eval: roots with parameters after a dot or underscore ----------------------------------

_CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_TENTHS = tuple(tenth / 10 for tenth in range(11))
_FIFTHS = tuple(fifth / 5 for fifth in range(1, 11))
_PARAMETERS = re.compile(r"[-+0-9.,=pe]+")


_Read = Callable[[str, str], list["Request"]]
"""What makes requests of a root and the text behind it."""


def _numbers(text: str, root: str) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",") if part]
    except ValueError:
        numbers = []
    if not numbers or len(text) > 400:
        raise InputError(f"{root}: expected numbers with commas between them, not {shown(text)}")
    return numbers


def _pairs(text: str, root: str) -> dict[str, float]:
    try:
        return {key: float(value) for key, _, value in (p.partition("=") for p in text.split(","))}
    except ValueError:
        raise InputError(f"{root}: expected pairs such as 1=3,2=9, not {shown(text)}") from None


def _table(pairs: Mapping[str, float], root: str) -> dict[float, float]:
    try:
        return {float(key): value for key, value in pairs.items()}
    except ValueError:
        grades = ", ".join(map(shown, pairs))
        raise InputError(f"{root}: grades must be numbers, not {grades}") from None


def _cuts(name: str, defaults: tuple[int, ...] = _CUTS) -> _Read:
    def read(root: str, text: str) -> list[Request]:
        given = _numbers(text, root) if text else defaults
        if max(map(abs, given)) >= 1e12:
            raise InputError(f"{root}: cutoff {max(given):g} is too large")
        # a fraction is dropped, as trec_eval does
        return [Request(name, {}, k, f"{root}_{k}") for k in sorted({int(k) for k in given})]

    return read


def _points(name: str, parameter: str, defaults: tuple[float, ...]) -> _Read:
    def read(root: str, text: str) -> list[Request]:
        points = sorted(set(_numbers(text, root))) if text else defaults
        return [Request(name, {parameter: x}, None, f"{root}_{x:.2f}") for x in points]

    return read


def _plain(name: str, parameter: str = "", **params: object) -> _Read:
    """Return what reads a measure with one parameter or none: a list of numbers, or gains."""

    def read(root: str, text: str) -> list[Request]:
        if not text:
            return [Request(name, params, None, root)]
        if not parameter:
            raise InputError(f"{root}: takes no parameter, but {shown(text)} was given")
        is_gain = parameter == "gain"
        value = _table(_pairs(text, root), root) if is_gain else tuple(_numbers(text, root))
        return [Request(name, {parameter: value}, None, f"{root}_{text}")]

    return read


def _persistence(root: str, text: str) -> list[Request]:
    meant = _EXACT[root]
    if not text:
        return [Request(meant.name, meant.params, None, root)]
    if "=" not in text:  # ranx: rbp.95
        is_ranx = meant.name == "RBP"
        name, params = ("RBG", {}) if is_ranx else (meant.name, dict(meant.params))
        return [
            Request(name, {**params, "p": p}, None, f"{root}.{part}")
            for part in text.split(",")
            for p in _numbers(f"0.{part}" if part.isdecimal() else part, root)
        ]
    pairs = _pairs(text, root)
    params = {**meant.params, "p": pairs.pop("p", 0.9)}
    if pairs and meant.name == "RBP":
        params["gain"] = _table(pairs, root)
    return [Request(meant.name, params, None, f"{root}_{text}")]


def _set_f(root: str, text: str) -> list[Request]:
    if not text:
        return [Request("SetF", {}, None, root)]
    weights = {part: weight for part in text.split(",") for weight in _numbers(part, root)}
    if min(weights.values()) < 0:
        raise InputError(f"{root}: its parameter is β² and cannot be negative, not {shown(text)}")
    return [
        Request("SetF", {"beta": weight**0.5}, None, f"{root}_{part}")
        for part, weight in weights.items()
    ]


_TREC: dict[str, _Read] = {
    "num_q": _plain("NumQ"),
    "num_ret": _plain("NumRet"),
    "num_rel": _plain("NumRel"),
    "num_rel_ret": _plain("NumRelRet"),
    "map": _plain("AP"),
    "gm_map": _plain("GMAP"),
    "Rprec": _plain("Rprec"),
    "bpref": _plain("Bpref"),
    "recip_rank": _plain("RR"),
    "iprec_at_recall": _points("IPrec", "recall", _TENTHS),
    "P": _cuts("P"),
    "recall": _cuts("R"),
    "infAP": _plain("infAP"),
    "gm_bpref": _plain("GMBpref"),
    "Rprec_mult": _points("Rprec", "mult", _FIFTHS),
    "utility": _plain("Utility", "weights"),
    "11pt_avg": _plain("11pt", "points"),
    "binG": _plain("binG"),
    "G": _plain("G", "gain"),
    "dcg": _plain("DCG", "gain"),
    "ideal_dcg": _plain("IDCG", "gain"),
    "ndcg": _plain("nDCG", "gain"),
    "ndcg_rel": _plain("nDCG_rel", "gain"),
    "Rndcg": _plain("RnDCG", "gain"),
    "ndcg_cut": _cuts("nDCG"),
    "map_cut": _cuts("AP"),
    "relative_P": _cuts("R_cap"),
    "success": _cuts("Success", (1, 5, 10)),
    "set_P": _plain("SetP"),
    "set_relative_P": _plain("SetP", relative=True),
    "set_recall": _plain("SetR"),
    "set_map": _plain("SetAP"),
    "set_F": _set_f,
    "num_nonrel_judged_ret": _plain("NumNonrelJudgedRet"),
    "yaap": _plain("YAAP"),
    "rbp": _persistence,
    "rbp_resid": _persistence,
    "unj": _cuts("Unjudged", (5, 10, 20)),
}
"""trec_eval's measures in the order it prints them; ``runid`` and ``relstring`` are text."""

TREC_NAMES = tuple(_TREC)

_OFFICIAL = "num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P"
_SET = "num_q num_ret num_rel num_rel_ret utility set_P set_recall set_relative_P set_map set_F"
_NOT_IN_ALL = {"dcg", "ideal_dcg", "yaap"}

NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": tuple(root for root in _TREC if root in _OFFICIAL.split()),
    "set": tuple(root for root in _TREC if root in _SET.split()),
    "all_trec": tuple(root for root in _TREC if root not in _NOT_IN_ALL),
}
"""trec_eval's names for several measures, each with its measures in the order they are printed."""

SETS: dict[str, tuple[str, ...]] = {
    "hpo": (
        *("RR", "Success@1,3,5,10", "MaxOntSim@1,3,5,10", "nDCG@1,3,5,10", "R@1,3,5,10"),
        *("P@1,3,5,10", "AP(norm=min)@1,3,5,10"),
    ),
}
"""Our own names for several measures. hpo: those of the benchmark of clinical phrases."""

_AMBIGUOUS = {"P", "recall", "success", "unj", "utility", "G", "set_F"}
"""Bare roots that our own notation reads first."""


def from_trec_eval(text: str, *, strict: bool = False) -> list[Request] | None:
    """Read a name of trec_eval: ``P_5``, ``recall.50,100``, ``ndcg.1=3,2=9``, ``all_trec``.

    Returns None for what is none of its names. A bare ``P`` or ``recall`` is its list of cutoffs
    only if ``strict``, that is, if the text cannot be anything else.
    """
    if text in NICKNAMES:
        return [request for root in NICKNAMES[text] for request in _TREC[root](root, "")]
    folded = text.casefold()
    for root in sorted(_TREC, key=len, reverse=True):
        if strict and not text.startswith(root):
            continue
        if folded == root.casefold():
            if text not in (root, root.casefold()) or (root in _AMBIGUOUS and not strict):
                return None
            return _TREC[root](root, "")
        if folded.startswith((f"{root.casefold()}.", f"{root.casefold()}_")):
            rest = text[len(root) + 1 :]
            if _PARAMETERS.fullmatch(rest):
                return _TREC[root](root, rest)
    return None
