"""Formulas as MathML: all of the text in its order, fractions and sums where they are meant."""

from __future__ import annotations

import re
import unicodedata
from xml.etree import ElementTree

import pytest

from rankscope.document.mathml import clauses, formula_lines, mathml
from rankscope.measures.registry import all_definitions, definition_of

FORMULAS = {definition.name: definition.formula for definition in all_definitions()}

ELEMENTS = {
    *("math", "mrow", "mi", "mn", "mo", "mtext"),
    *("mfrac", "msub", "msup", "munder", "munderover", "msqrt", "mspace"),
}


def words_of(text: str) -> list[str]:
    """Return runs of letters, and single digits, whichever way they are set."""
    plain = unicodedata.normalize("NFKC", text).replace("∑", "Σ").replace("∏", "Π")
    return re.findall(r"[^\W\d_]+|\d", plain)


def tree_of(formula: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{formula_lines(formula)}</div>")


def shape(element: ElementTree.Element) -> str:
    """Write an element in short: fractions as [a | b], scripts as a_{b} and a^{c}."""
    parts = [shape(child) for child in element]
    if element.tag == "mfrac":
        return f"[{parts[0]} | {parts[1]}]"
    if element.tag in ("msub", "munder"):
        return f"{parts[0]}_{{{parts[1]}}}"
    if element.tag == "msup":
        return f"{parts[0]}^{{{parts[1]}}}"
    if element.tag == "munderover":
        return f"{parts[0]}_{{{parts[1]}}}^{{{parts[2]}}}"
    if element.tag == "msqrt":
        return f"√{{{''.join(parts)}}}"
    if element.tag == "mspace":
        return " "
    return "".join(parts) or element.text or ""


def shapes(formula: str) -> list[str]:
    """Return the lines of a formula in short; those that are text begin with a quote."""
    return [
        shape(ElementTree.fromstring(clause.markup)) if clause.markup else f"'{clause.text}"
        for clause in clauses(formula)
    ]


@pytest.mark.parametrize("name", FORMULAS)
def test_every_formula_is_well_formed(name: str) -> None:
    for element in tree_of(FORMULAS[name]).iter():
        assert element.tag in ELEMENTS | {"div", "p"}
        wanted = {"mfrac": 2, "msub": 2, "msup": 2, "munder": 2, "munderover": 3}
        assert len(element) == wanted.get(element.tag, len(element))


@pytest.mark.parametrize("name", FORMULAS)
def test_nothing_is_lost_and_the_order_is_kept(name: str) -> None:
    """Only the word between what a sign goes over and what it adds up is left out."""
    for clause in clauses(FORMULAS[name]):
        markup = f"<div>{clause.markup}</div>"
        drawn = words_of(" ".join(ElementTree.fromstring(markup).itertext()))
        if clause.markup:
            written = re.sub(
                r"((?:Σ|Π|mean|max) (?:over|down)[^()+−·/]*?) of ", r"\1 ", clause.text
            )
            assert drawn == words_of(written)
    together = " ".join(clause.text for clause in clauses(FORMULAS[name]))
    assert words_of(together) == words_of(FORMULAS[name])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("P", ["[relevant in the first k | k]"]),
        ("R", ["[relevant in the first k | R]"]),
        ("Success", ["1 if (relevant in the first k)>0,else 0"]),
        ("RR", ["[1 | rank of the first relevant document]", "0 if there is none down to k"]),
        (
            "AP",
            ["[1 | R]∑_{over relevant documents down to k}[relevant so far | rank]"],
        ),
        ("F", ["[(1+β^{2})·P·R | β^{2}·P+R]", "'P and R at k"]),
        ("DCG", ["∑_{down to k}[gain | log_{2}(rank+1)]"]),
        (
            "nDCG",
            [
                "[DCG@k | IDCG@k]",
                "DCG@k=∑_{down to k}[gain | log_{2}(rank+1)]",
                "'IDCG@k is DCG@k of all judged documents in the best order",
            ],
        ),
        (
            "ERR",
            [
                "∑_{down to k}[1 | rank]·s·∏_{over documents above}(1−s)",
                "s=[2^{grade}−1 | 2^{max_{rel}}]",
            ],
        ),
        (
            "RBP",
            [
                "(1−p)∑_{down to k}g·p^{rank−1}",
                (
                    "'g is 1 for a relevant document, or its gain divided by the highest in the "
                    "judgments (scale=query: of the query)"
                ),
            ],
        ),
        (
            "Bpref",
            [
                "[1 | R]∑_{over relevant retrieved}(1−[min(n,R) | min(N,R)])",
                "n=judged nonrelevant above",
                "N=judged nonrelevant in all",
            ],
        ),
        (
            "Compat",
            [
                "∑_{down to D}p^{d−1}·[shared by both in the first d | d]",
                "D=length of the longer",
                "'divided by that of the ideal with itself, or by Σ p^(d − 1)",
            ],
        ),
        (
            "GAP",
            [
                "[∑_{over levels g}w·R(g)·AP(rel=g) | ∑_{over levels}w·R(g)]",
                "w=step from the level below",
                "R(g)=documents of grade g or more",
            ],
        ),
        (
            "infAP",
            [
                "[1 | R]∑_{over relevant retrieved}([1 | i]+[i−1 | i]·[a | i−1]·[r+ε | r+n+2ε])",
                "'above rank i are a pooled documents, r of them judged relevant and n nonrelevant",
                "ε=0.00001",
            ],
        ),
        ("SetAP", ["[(relevant retrieved)^{2} | retrieved·R]"]),
        ("SpanIoU", ["[|gold∩retrieved| | |gold∪retrieved|]", "'in characters or words"]),
        ("MaxOntSim", ["max_{over expected e and retrieved t down to k} sim(e,t)"]),
    ],
)
def test_shapes(name: str, expected: list[str]) -> None:
    assert shapes(definition_of(name).formula) == expected


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("Σ_{i≤k} g_i / log2(i + 1)", "∑_{i≤k}[g_{i} | log_{2}(i+1)]"),
        ("Σ_{i=1}^{k} x", "∑_{i=1}^{k}x"),
        ("√(a + b) / 2", "[√{a+b} | 2]"),
        ("2^(−t/h)", "2^{−t/h}"),
        ("a·b/c", "a·[b | c]"),
        ("a·b / c", "[a·b | c]"),
        ("((a + b) / c)²", "([a+b | c])^{2}"),
        ("a − b - c", "a−b-c"),
        ("x × y", "x×y"),
        ("two words + more words", "two words + more words"),
        ("a <b", "a<b"),
    ],
)
def test_precedence(formula: str, expected: str) -> None:
    assert shapes(formula) == [expected]


@pytest.mark.parametrize(
    "formula",
    [
        "a / b / c",
        "a / b · c",
        "a/b/c",
        "two words/c",
        "a/two words",
        "two words²",
        "2^two words",
        "(a + b",
        "a + b)",
        "1 for each query",
        "words f(x)",
        "words DCG@k",
        "a % b",
        "Σ over all",
        "(" * 500 + "a" + ")" * 500,
        "mean of all",
    ],
)
def test_what_is_not_sure_stays_text(formula: str) -> None:
    assert [clause.text for clause in clauses(formula)] == [formula]
    assert formula_lines(formula) == ""


def test_everything_is_escaped() -> None:
    markup = formula_lines('a < b; <script>"x"</script>, a / b')
    assert "<script" not in markup
    assert "&lt;script&gt;" in markup
    [clause] = clauses("a < b")
    element = ElementTree.fromstring(mathml(clause))
    assert element.attrib == {"display": "block", "alttext": "a < b"}


def test_no_formula_has_no_lines() -> None:
    assert clauses("") == []
    assert formula_lines("") == ""


def test_it_is_deterministic() -> None:
    for formula in FORMULAS.values():
        assert formula_lines(formula) == formula_lines(formula)
