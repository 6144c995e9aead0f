"""The language: what parses, what it means, how it is written, and how it fails."""

from __future__ import annotations

import pytest
import pytrec_eval
from hypothesis import example, given, settings
from hypothesis import strategies as st

from measures.variants import VARIANTS, measures
from rankscope.errors import InputError, RankscopeError, UnknownNameError
from rankscope.measures.language import (
    DEFAULT_MEASURES,
    Measure,
    Parsed,
    parse_measures,
    parse_trec_measures,
)

MEANINGS = {
    # ours, in any case
    "nDCG@10": "nDCG@10",
    "NDCG@10": "nDCG@10",
    "ndcg@10": "nDCG@10",
    "nDCG(gain=exp)@10": "nDCG(gain=exp)@10",
    "nDCG( gain = 'exp' )@10": "nDCG(gain=exp)@10",
    "nDCG(gain={2:4,1:1,0:0})": "nDCG(gain={0:0,1:1,2:4})",
    "AP(rel=2)@100": "AP(rel=2)@100",
    "AP(norm=rel)": "AP",
    "RBP(p=0.8)": "RBP",
    "RBP(P=.95)": "RBP(p=0.95)",
    "P(judged_only=True)@5": "P(judged_only=True)@5",
    "P(judged_only=true,rel=2)@5": "P(rel=2,judged_only=True)@5",
    "Q": "Q",
    "Q-measure@10": "Q@10",
    "11pt": "11pt",
    # trec_eval
    "map": "AP",
    "gm_map": "GMAP",
    "recip_rank": "RR",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "gm_bpref": "GMBpref",
    "infAP": "infAP",
    "ndcg": "nDCG",
    "ndcg_cut_10": "nDCG@10",
    "ndcg_cut.10": "nDCG@10",
    "map_cut_100": "AP@100",
    "P_5": "P@5",
    "P.5": "P@5",
    "recall_100": "R@100",
    "recall.100": "R@100",
    "success_10": "Success@10",
    "relative_P_5": "R_cap@5",
    "iprec_at_recall_0.10": "IPrec(recall=0.1)",
    "Rprec_mult_0.20": "Rprec(mult=0.2)",
    "11pt_avg": "11pt",
    "set_P": "SetP",
    "set_recall": "SetR",
    "set_relative_P": "SetP(relative=True)",
    "set_map": "SetAP",
    "set_F": "SetF",
    "set_F_4": "SetF(beta=2)",
    "utility": "Utility",
    "utility.2,-1,0,0": "Utility(weights=[2,-1,0,0])",
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "num_nonrel_judged_ret": "NumNonrelJudgedRet",
    "ndcg.1=3,2=9,4=4.5": "nDCG(gain={1:3,2:9,4:4.5})",
    "ndcg_rel": "nDCG_rel",
    "Rndcg": "RnDCG",
    "binG": "binG",
    "G": "G",
    "dcg": "DCG",
    "ideal_dcg": "IDCG",
    "yaap": "YAAP",
    "rbp": "RBP(p=0.9,gain=linear,scale=query)",
    "rbp.p=0.5": "RBP(p=0.5,gain=linear,scale=query)",
    "rbp_resid": "RBP_residual(p=0.9,tail=unjudged)",
    "unj_10": "Unjudged@10",
    # ranx
    "mrr": "RR",
    "mrr@10": "RR@10",
    "map@100": "AP@100",
    "map@100-l2": "AP(rel=2)@100",
    "ndcg_burges@10": "nDCG(gain=exp)@10",
    "dcg_burges@10": "DCG(gain=exp)@10",
    "hit_rate@10": "Success@10",
    "precision@5": "P@5",
    "precision": "SetP",
    "recall@100": "R@100",
    "f1@5": "F@5",
    "f1": "SetF",
    "r-precision": "Rprec",
    "rbp.95": "RBG(p=0.95)",
    "rbp@10": "RBP@10",
    "recall": "SetR",
    "hit_rate": "Success",
    "rbp.95-l2": "RBG(p=0.95,least=2)",
    "ndcg@10-l2": "nDCG(least=2)@10",
    "ndcg_burges@10-l2": "nDCG(gain=exp,least=2)@10",
    "mean_reciprocal_rank": "RR",
    "mean_reciprocal_rank@10": "RR@10",
    "expected_reciprocal_rank@20": "ERR@20",
    "CG@10": "CG@10",
    "cg_at_5": "CG@5",
    "top_k_accuracy@10": "Success@10",
    "F2@10": "F(beta=2)@10",
    "f2": "SetF(beta=2)",
    "MAP@R": "AP_R",
    "map_at_r": "AP_R",
    "NERR@10": "nERR@10",
    "mean_average_precision@10": "AP@10",
    "ragas_context_recall": "SetR",
    "contextual_recall": "SetR",
    "id_based_context_recall": "SetR",
    "ragas_context_precision": "AP(norm=retrieved)",
    "contextual_precision": "AP(norm=retrieved)",
    "non_llm_context_precision_with_reference": "AP(norm=retrieved)",
    "id_based_context_precision": "SetP",
    # BEIR, MTEB
    "MAP@100": "AP@100",
    "Recall@100": "R@100",
    "R_cap@100": "R_cap@100",
    "Accuracy@10": "Success@10",
    "ndcg_at_10": "nDCG@10",
    "map_at_100": "AP@100",
    "mrr_at_10": "RR@10",
    "recall_at_100": "R@100",
    "precision_at_5": "P@5",
    # sentence-transformers
    "accuracy@10": "Success@10",
    "cosine_accuracy@10": "Success@10",
    "cosine_ndcg@10": "nDCG(gain=binary)@10",
    "dot_map@100": "AP(norm=min)@100",
    "cosine_mrr@10": "RR@10",
    # ir_measures, ndeval
    "nDCG(dcg='exp-log2')@10": "nDCG(gain=exp)@10",
    'nDCG(dcg="log2")@10': "nDCG@10",
    "nDCG(gains={0:0,1:2})@10": "nDCG(gain={0:0,1:2})@10",
    "IPrec@0.1": "IPrec(recall=0.1)",
    "NumRet(rel=1)": "NumRelRet",
    "SetF(beta=0.5)": "SetF(beta=0.5)",
    "SetRelP": "SetP(relative=True)",
    "MAP_IA": "AP_IA",
    "α_nDCG@20": "alpha_nDCG@20",
    "alpha-nDCG@20": "alpha_nDCG@20",
    "strec@10": "StRecall@10",
    "ERR-IA@20": "ERR_IA@20",
    "BPM(T=2.,max_rel=3)@5": "BPM(T=2,max_rel=3)@5",
    "Accuracy": "Accuracy",
    "P(cutoff=5)": "P@5",
    "RPrec": "Rprec",
    # the seeds
    "hit@10": "Success@10",
    "HR@5": "Success@5",
    "HitRate@10": "Success@10",
    "Recall@1": "R@1",
}


def test_meanings() -> None:
    assert {text: str(Measure.parse(text)) for text in MEANINGS} == MEANINGS
    for text, expected in MEANINGS.items():
        assert Measure.parse(expected) == Measure.parse(text)
        assert hash(Measure.parse(expected)) == hash(Measure.parse(text))


SEVERAL = {
    "ndcg_cut.5,10": ["nDCG@5", "nDCG@10"],
    "recall.50,100": ["R@50", "R@100"],
    "P.10,5": ["P@5", "P@10"],
    "nDCG@5,10": ["nDCG@5", "nDCG@10"],
    "nDCG@10,RR@10": ["nDCG@10", "RR@10"],
    "nDCG@10, P.5,10 AP(rel=2, norm=min)@5": [
        "nDCG@10",
        "P@5",
        "P@10",
        "AP(rel=2,norm=min)@5",
    ],
    "AP map AP": ["AP"],
    "set_F.1.0,0.5,2.4": ["SetF", f"SetF(beta={0.5**0.5})", f"SetF(beta={2.4**0.5})"],
    "rbp.80,95": ["RBG", "RBG(p=0.95)"],
}


def test_several() -> None:
    for text, expected in SEVERAL.items():
        assert [str(found.measure) for found in parse_measures(text)] == expected
        if len(expected) > 1:
            with pytest.raises(InputError, match="one"):
                Measure.parse(text)


def test_lists_of_texts_and_measures() -> None:
    found = parse_measures(["nDCG@10", Measure.of("RR", cutoff=10), "map"])
    assert [str(item) for item in found] == ["nDCG@10", "RR@10", "AP, asked for as map"]


def test_a_relevance_level_for_all_but_those_that_name_one() -> None:
    asked = "AP(rel=1) AP AP(rel=3)@5 P@5 nDCG@10 nDCG(gain=binary)@10 RBP rbp NumRet map@9-l1"
    found = parse_measures(asked, relevance_level=2)
    assert [str(parsed.measure) for parsed in found] == [
        *("AP", "AP(rel=2)", "AP(rel=3)@5", "P(rel=2)@5", "nDCG@10"),
        *("nDCG(gain=binary,rel=2)@10", "RBP(rel=2)", "RBP(p=0.9,gain=linear,scale=query)"),
        *("NumRet", "AP@9"),
    ]


def test_foreign_names_show_both() -> None:
    assert str(parse_measures("map_cut_100")[0]) == "AP@100, asked for as map_cut_100"
    assert [found.asked for found in parse_measures("recall.50,100")] == ["recall_50", "recall_100"]
    assert [found.asked for found in parse_measures("recall@5,10")] == ["recall@5", "recall@10"]
    assert not Parsed(Measure.parse("AP"), "AP").is_foreign


def test_all_trec_is_in_the_order_trec_eval_prints() -> None:
    labels = [found.asked for found in parse_trec_measures("all_trec")]
    assert labels[:6] == ["num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map"]
    assert labels[9] == "iprec_at_recall_0.00"
    assert labels[-5:] == ["rbp", "rbp_resid", "unj_5", "unj_10", "unj_20"]
    assert len(labels) == len(set(labels)) == 98


def test_bare_names_expand_as_in_trec_eval() -> None:
    for root in ("P", "recall", "ndcg_cut", "map_cut", "relative_P", "success", "iprec_at_recall",
                 "Rprec_mult"):  # fmt: skip
        theirs = pytrec_eval.RelevanceEvaluator({"q": {"d": 1}}, {root}).evaluate({"q": {"d": 1.0}})
        assert {found.asked for found in parse_trec_measures(root)} == set(theirs["q"])


def test_trec_eval_parameters_that_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="ndcg_cut"):
        parse_trec_measures("ndgc_cut_10")
    for text in ("ndcg.1", "ndcg.1=3,2", "P.,", "P.1e12", "P." + "5," * 200 + ","):
        with pytest.raises(InputError):
            parse_trec_measures(text)
    assert [found.asked for found in parse_trec_measures("P." + "5," * 200)] == ["P_5"]


def test_default_measures() -> None:
    assert [str(found) for found in parse_measures(DEFAULT_MEASURES)] == list(DEFAULT_MEASURES)


def test_accuracy_is_two_things_under_two_names() -> None:
    assert Measure.parse("Accuracy@10").name == "Success"
    assert str(Measure.parse("accuracy(depth=10)")) == "Accuracy(depth=10)"


def test_made_by_hand() -> None:
    measure = Measure.of("nDCG", cutoff=10, gain={1: 3})
    assert str(measure) == "nDCG(gain={1:3})@10"
    assert measure.replaced(cutoff=5, gain="linear") == Measure.parse("nDCG@5")
    assert measure.options == {
        "gain": ((1.0, 3.0),),
        "rel": 1.0,
        "least": None,
        "judged_only": False,
        "sim": None,
        "depth": "longest",
        "ic": "structure",
    }
    assert repr(measure) == "Measure('nDCG(gain={1:3})@10')"


BAD = {
    "": "nDCG@10",
    "P": "P@5",
    "Rprec@10": "no cutoff",
    "P@0": "not 0",
    "P@-3": "not -3",
    "P@2.5": "2.5",
    "P@99999999999": "10000000",
    "P@1" + "0" * 5000: "too long",
    "P@ten": "'ten'",
    "Accuracy(depth=2.5)": "depth",
    "P(x=3)@5": "'x'; it takes rel, norm, judged_only",
    "P(cutoff=3)@5": "'cutoff'",
    "INST(T=0.1)": "from 0.5",
    "P(rel=2,rel=3)@5": "twice",
    "P(rel=high)@5": "'high'",
    "P(rel=-1)@5": "-1",
    "P(rel=nan)@5": "rel must",
    "P(rel=1e999)@5": "rel must",
    "P(judged_only=1)@5": "True or False",
    "context_precision": "contextual_precision",
    "hits@5": "Success@k",
    "RBP(p=1)": "between 0 and 1",
    "AP(norm=max)": "retrieved",
    "nDCG(gain=log)@5": "linear, exp, binary",
    "nDCG(gain={1:-1})@5": "gain must",
    "nDCG(gain={})@5": "gain must",
    "nDCG(gain={1})@5": ":",
    "nDCG(rel=2)@10": "gain=binary",
    "nDCG(dcg=ln)@5": "exp-log2",
    "Utility(weights=[1,2])": "4 numbers",
    "11pt(points=[])": "points must",
    "11pt(points=[2])": "between 0 and 1",
    "P(rel=2": ")",
    "P)@5": "nothing more",
    "((((": "name",
    "nDCG@10 extra junk(": "'extra'",
    "P_0": "between 1",
    "P.1e999": "too large",
    "ndcg.1=x": "nothing more",
    "set_F.-1": "negative",
    "map.5": "no parameter",
    "iprec_at_recall_7": "recall must",
    "__import__('os').system('x')": "cannot read",
    "lambda: 1": "nothing more",
}


def test_what_cannot_be_read_is_one_clear_sentence() -> None:
    for text, word in BAD.items():
        with pytest.raises(RankscopeError) as caught:
            parse_measures(text)
        assert word in str(caught.value), text
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 300
    with pytest.raises(InputError, match="text"):
        parse_measures([10])  # type: ignore[list-item]
    with pytest.raises(InputError, match="text"):
        parse_measures(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="text"):
        Measure.parse(["nDCG@10"])  # type: ignore[arg-type]


def test_unknown_name_gets_the_three_nearest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        Measure.parse("ndgc@10")
    assert "nDCG" in caught.value.nearest
    assert len(caught.value.nearest) == 3


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(st.text(max_size=40), st.text("nDCGPRap@0123456789.,=(){}[]:'_- -+e", max_size=25))
)
@example("P@\u0661")
@example("\x00")
@example("P(rel=\ud800)@5")
def test_any_text_is_a_measure_or_one_of_our_errors(text: str) -> None:
    try:
        found = parse_measures(text)
    except RankscopeError:
        return
    for item in found:
        assert Measure.parse(str(item.measure)) == item.measure


@settings(max_examples=100, deadline=None)
@given(measures())
def test_written_and_read_back(measure: Measure) -> None:
    if len(str(measure)) <= 500:
        assert Measure.parse(str(measure)) == measure
        assert str(Measure.parse(str(measure))) == str(measure)


def test_two_measures_never_share_a_label() -> None:
    assert len({str(measure) for measure in VARIANTS}) == len(set(VARIANTS))
