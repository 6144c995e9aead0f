"""Each measure as it is written by default, with its parameters changed, and at random."""

from __future__ import annotations

from hypothesis import strategies as st

from rankscope.measures.definition import NEARNESS, Definition, Parameter
from rankscope.measures.language import Measure
from rankscope.measures.registry import all_definitions

CHANGED = """
P(norm=retrieved)@7 R(mean=micro)@3 Success SuccessAll SuccessAll(rel=2)@3
P(rel=2)@5 R(rel=2)@3 R_cap@2 F(beta=2)@5 F(beta=0)@3 Success(rel=3)@2 RR RR(rel=2)@3 AP AP@3
AP(rel=2)@5 AP(norm=min)@2 AP(norm=retrieved)@4 AP(norm=retrieved) GMAP@3 Rprec(mult=2)
Rprec(mult=0.5,rel=2) IPrec(recall=0.5) IPrec(recall=1,rule=9) IPrec(recall=0.35,rel=2)
11pt(points=[0.25,0.5,0.75]) 11pt(rule=9) Accuracy Accuracy(rel=2,depth=4) FallOut
FallOut(collection=40)@5 DCG DCG(gain=exp)@3 nDCG nDCG(gain=exp)@5
nDCG(gain=binary)@5 nDCG(gain=binary,rel=2)@3 nDCG(gain={0:1,1:3,2:2,3:0})@4
nDCG(gain={1:3,2:9,5:4.5}) Q Q(beta=10)@3 Q(gain=exp) ERR ERR(max_rel=2)@3 ERR(max_rel=7) nERR
nERR(max_rel=4)@2 SDCG@3 SDCG(min_rel=1,max_rel=4)@5 RBP RBP(p=0.5)@3 RBP(gain=linear)
RBP(gain=exp)@5 RBP(gain=linear,scale=query) RBP(gain={1:3,2:1}) RBP(rel=2) RBP_residual
RBP_residual(p=0.9,tail=unjudged) INST INST(T=0.5,min_rel=1,max_rel=3) INSQ
INSQ(min_rel=1,max_rel=4) BPM@3 BPM(T=0.5,min_rel=1,max_rel=3)@5
Compat Compat(normalize=False) Bpref(rel=2) infAP(rel=2) Judged Unjudged SetP(relative=True)
SetP(rel=2) SetR(rel=2) SetF(beta=2) SetF(beta=0) SetAP(rel=2) NumRel(rel=2) NumRelRet(rel=2)@3
NumNonrelJudgedRet(rel=2) Utility(weights=[2,-1,-3,0.5],collection=100)
Utility(weights=[2,-1,-3,0.5]) IDCG IDCG(gain=exp)@3
binG(rel=2) G(gain=exp) G(gain={0:1,1:3,2:2,3:0}) nDCG_rel(gain=exp)
nDCG_rel(gain={0:1,1:3,2:2,3:0}) RnDCG(gain=exp) RnDCG(gain={0:1,1:3,2:2,3:0}) YAAP(rel=2)
alpha_DCG(alpha=0.9)@3 alpha_DCG@1 alpha_nDCG(alpha=0)@5 alpha_nDCG(alpha=1)@3 ERR_IA@3
ERR_IA(alpha=0.2)@2 nERR_IA(alpha=0.3)@5 P_IA@3 NRBP(alpha=0.2,beta=0.9) nNRBP(beta=0.8)
nNRBP(alpha=0.2) StRecall@2 nDCG(judged_only=True)@5 AP(judged_only=True) Bpref(judged_only=True)
RBP(judged_only=True) infAP(judged_only=True) alpha_nDCG(judged_only=True)@3
Unjudged(judged_only=True)@5 AP_R(rel=2) CG(gain=exp)@3 CG(least=2)@5 DCG(least=2)@3
nDCG(least=2)@5 nDCG(gain=exp,least=3) nDCG(gain={1:3,2:1},least=2)@4 RBG RBG(gain=exp,least=2)@3
Bpref(pooled=True) Judged(pooled=True)@5
"""

BUILT_IN = [
    definition
    for definition in all_definitions()
    # what measures spans or terms has laws of its own: scoring/test_spans.py, test_near_terms.py
    if definition.family != "own" and definition.needs not in ("spans", "terms")
]
EXAMPLES = [Measure.parse(definition.example) for definition in BUILT_IN]
VARIANTS = [*EXAMPLES, *(Measure.parse(text) for text in CHANGED.split())]
IR_MEASURES = ["nDCG@3", "nDCG", "AP", "AP@3", "AP(rel=2)", "RR", "RR@3", "RR(rel=2)@3", "P@3",
               "R@3", "Success@2", "Rprec", "Bpref", "infAP", "SetP", "SetR", "SetF", "IPrec@0.35",
               "Judged@3", "Judged", "P(judged_only=True)@2", "SetF(beta=0.5)", "NumQ",
               "NumRel"]  # fmt: skip
"""What ir_measures is asked. Not NumRet: beside a judged_only measure its value there depends on
Python's hash seed."""


def values(parameter: Parameter) -> st.SearchStrategy[object]:
    low, high = max(parameter.lowest, -1e6), min(parameter.highest, 1e6)
    real = st.floats(low, high, exclude_min=parameter.open_ended, exclude_max=parameter.open_ended)
    if parameter.kind == "flag":
        return st.booleans()
    if parameter.kind == "choice":
        return st.sampled_from(parameter.choices)
    if parameter.kind == "gain":
        grade = st.one_of(st.integers(0, 9), st.floats(0, 1e6))
        table = st.dictionaries(grade, grade, min_size=1, max_size=5)
        return st.one_of(st.sampled_from(parameter.choices), table)
    if parameter.kind == "numbers":
        size = len(parameter.choices)
        return st.lists(real, min_size=size or 1, max_size=size or 5)
    if parameter.kind == "whole":
        return st.integers(int(low) + parameter.open_ended, int(high))
    return real


@st.composite
def measures(draw: st.DrawFn, deepest: int = 10_000_000) -> Measure:
    """Any valid measure."""
    definition: Definition = draw(st.sampled_from(BUILT_IN))
    free = [p for p in definition.parameters if p not in NEARNESS]  # these need an ontology
    chosen = {p.name: draw(values(p)) for p in free if draw(st.booleans())}
    if definition.parameter("gain") is not None and chosen.get("gain") != "binary":
        chosen.pop("rel", None)
    cutoff = draw(st.integers(1, deepest)) if definition.cutoff != "none" else None
    if definition.cutoff == "optional" and draw(st.booleans()):
        cutoff = None
    return Measure.of(definition.name, cutoff=cutoff, **chosen)
