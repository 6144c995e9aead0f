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
from rankscope.measures.parsing import Reader


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

_MEANINGS: dict[str, tuple[str, ...]] = {
    "AP": ("map", "average_precision", "mean_average_precision"),
    "AP_R": ("map_at_r", "map@r", "ap@r"),
    "RR": ("mrr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank"),
    "ERR": ("expected_reciprocal_rank",),
    "CG": ("cumulative_gain",),
    "DCG": ("discounted_cumulative_gain",),
    "nDCG": ("normalized_discounted_cumulative_gain",),
    "R": ("recall",),
    "R(mean=micro)": ("micro_recall",),
    "P": ("precision",),
    "Success": ("hit", "HR", "hit_rate", "hit_ratio", "top_k_accuracy", "recall_any"),
    "SuccessAll": ("recall_all",),
    "F": ("f1",),
    "F(beta=2)": ("f2",),
    "Rprec": ("r-precision", "Rprec_mult"),
    "nDCG(gain=exp)": ("ndcg_burges",),
    "DCG(gain=exp)": ("dcg_burges",),
    "R_cap": ("recall_cap", "relative_P"),
    "Unjudged": ("unj",),
    "GMAP": ("gm_map",),
    "GMBpref": ("gm_bpref",),
    "11pt": ("11pt_avg",),
    "IDCG": ("ideal_dcg",),
    "IPrec": ("iprec_at_recall",),
    "SetP": ("id_based_context_precision",),
    "SetP(relative=True)": ("set_relative_P", "SetRelP"),
    "SetR": (
        *("set_recall", "ragas_context_recall", "non_llm_context_recall"),
        *("id_based_context_recall", "deepeval_contextual_recall", "contextual_recall"),
    ),
    "SetAP": ("set_map",),
    "AP(norm=retrieved)": (
        *("ragas_context_precision", "llm_context_precision_with_reference"),
        *("non_llm_context_precision_with_reference", "deepeval_contextual_precision"),
        "contextual_precision",
    ),
    "Q": ("q_measure",),
    "Compat": ("compatibility",),
    "AP_IA": ("MAP_IA",),
    "StRecall": ("strec", "subtopic_recall"),
}
"""What other tools call our measures, by what they mean."""

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

_ALIASES = {fold(name): text for text, names in _MEANINGS.items() for name in names}
_READINGS = {fold(name): readings for name, readings in AMBIGUOUS.items()}
SPELLED = (*(name for names in _MEANINGS.values() for name in names), *_EXACT)
"""Foreign names as they are written, for the nearest to an unknown one."""

_WITHOUT_CUTOFF = {
    "precision": "SetP",
    "prec": "SetP",
    "recall": "SetR",
    "f1": "SetF",
    "f2": "SetF(beta=2)",
}


def is_exact(name: str, *, cut: bool) -> bool:
    """Tell whether a name is foreign exactly as spelled, though in another case it is ours."""
    return name in _EXACT and not (cut and name == "rbp")


def alias_of(name: str, *, cut: bool) -> Request | None:
    """Return what a foreign name means, if it is known; ``cut`` tells if a cutoff follows it."""
    if is_exact(name, cut=cut):
        return _EXACT[name]
    folded = fold(name)
    if folded in _READINGS:
        raise InputError(f"{name} has several definitions; write {_READINGS[folded]}")
    if folded == "accuracy" and cut:
        return Request("Success")
    text = None if cut else _WITHOUT_CUTOFF.get(folded)
    text = text or _ALIASES.get(folded)
    return None if text is None else request_of(text)


def request_of(text: str) -> Request:
    """Read a measure in our own notation, without a cutoff."""
    reader = Reader(text)
    return Request(reader.name("a name"), reader.parameters() if reader.take("(") else {})


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
    r"((?:accuracy|precision|recall|mrr|ndcg|map)@[0-9]{1,10})",
    re.IGNORECASE,
)


def from_sentence_transformers(text: str) -> str:
    """Read a name of its information retrieval evaluator, such as ``cosine_ndcg@10``.

    Its ndcg has binary gains, and its map is divided by what could be found.
    """
    match = _SENTENCE.fullmatch(text)
    if match is None:
        return text
    name = match[1].casefold()
    return name.replace("ndcg", "nDCG(gain=binary)").replace("map", "AP(norm=min)")


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


def _pairs(text: str, root: str) -> dict[object, float]:
    """Read gains by grade, and a persistence under its name: ``1=3,2=9``, ``p=0.5``."""
    parts = (part.partition("=") for part in text.split(","))
    try:
        return {key if key == "p" else float(key): float(value) for key, _, value in parts}
    except ValueError:
        raise InputError(f"{root}: expected pairs such as 1=3,2=9, not {shown(text)}") from None


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
        value = _pairs(text, root) if is_gain else tuple(_numbers(text, root))
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
        params["gain"] = pairs
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
