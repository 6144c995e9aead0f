"""JUnit that parses, Markdown that nobody's id can break out of."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.worlds import record, world
from rankscope.document.junit import as_junit
from rankscope.document.markdown import as_markdown
from rankscope.document.terminal import as_text
from rankscope.reports.gating import SUITE, gate_document, no_answer_document
from rankscope.statistics.gate import GateResult, gate

HOSTILE = [
    "<script>alert(1)</script>",
    "@everyone",
    "a|b\\|c",
    "`code` **bold**",
    "![x](http://evil.example/x.png)",
    "\x00\x1b[31m\ud800\ufffe",
    "line\nbreak\r\n# head",
    "]]>&amp;",
]


def gate_as_junit(result: GateResult) -> str:
    return as_junit(gate_document(result), suite=SUITE)


def gate_as_markdown(result: GateResult) -> str:
    return as_markdown(gate_document(result), level=3, names_as_code=True)


def error_as_junit(message: str) -> str:
    return as_junit(no_answer_document(message), suite=SUITE)


def error_as_markdown(message: str) -> str:
    return as_markdown(no_answer_document(message), level=3, names_as_code=True)


def three_kinds() -> GateResult:
    """Return a result with a regression, an improvement and noise."""
    one = {"AP": [0.9] * 8, "RR": [0.1] * 8, "Unjudged@10": [0.1, 0.2] * 4}
    other = {"AP": [0.5] * 8, "RR": [0.6] * 8, "Unjudged@10": [0.2, 0.1] * 4}
    return gate(record(one), record(other, run="new"), list(one))


def hostile(ids: list[str]) -> GateResult:
    baseline, candidate = (
        record({"AP": [value] * len(ids)}, query_ids=ids, run=name)
        for value, name in ((1.0, ids[0]), (0.0, ids[-1]))
    )
    return gate(baseline, candidate, "AP")


def test_junit_has_a_case_for_each_measure() -> None:
    root = Xml.fromstring(gate_as_junit(three_kinds()))
    assert root.tag == "testsuites"
    suite = root[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "0")
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert list(cases) == ["AP", "RR", "Unjudged@10"]
    failure = cases["AP"].find("failure")
    assert failure is not None
    assert failure.get("type") == "dropped"
    assert "regression: AP changed by -0.4000 [" in str(failure.get("message"))
    assert "query q0000: 0.9000 to 0.5000" in str(failure.text)
    assert cases["RR"].find("failure") is None
    skipped = cases["Unjudged@10"].find("skipped")
    assert skipped is not None
    assert "undecided: Unjudged@10 changed by" in str(skipped.get("message"))
    assert suite.get("skipped") == "1"
    properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert properties["candidate"] == "new"
    assert properties["queries"] == "8"


def test_junit_with_hostile_names() -> None:
    root = Xml.fromstring(gate_as_junit(hostile(HOSTILE)).encode())
    text = "".join(root.itertext())
    assert "<script>alert(1)</script>" in text
    assert "query @everyone: 1.0000 to 0.0000" in text


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(exclude_categories=[]), max_size=20))
def test_junit_always_parses(name: str) -> None:
    Xml.fromstring(gate_as_junit(hostile([name, f"{name}2", f"{name}3"])))
    Xml.fromstring(error_as_junit(name))


def test_markdown_puts_the_worst_first() -> None:
    text = gate_as_markdown(three_kinds())
    head, losses = text.split("#### Worst losses by query")
    assert "### rankscope gate: ✗ regression" in head
    assert [row[0] for row in rows(head)[2:]] == ["`AP`", "`Unjudged@10 ↓`", "`RR`"]
    assert rows(head)[2][1:3] == ["0.9000", "0.5000"]
    assert rows(head)[2][3].startswith("-0.4000 [")
    assert [row[-1] for row in rows(head)[2:]] == ["**regression**", "undecided", "no regression"]
    assert rows(losses)[2] == ["`q0000`", "0.9000", "0.5000", "-0.4000"]
    assert "undecided: `Unjudged@10` changed by 0.0000" in head


def test_guards_and_anchor_are_shown() -> None:
    one, other = world(60, drop=0.05, sd=0.01)
    result = gate(one, other, minimum={"nDCG@10": 0.99}, max_query_drop=0.06, anchor=one)
    text = " ".join(as_text(gate_document(result)).split())
    assert "and its floor is 0.9900" in text
    assert "not reached" in text
    assert "it lost more than 0.06 on" in text
    assert "Against the anchor bm25" in text
    names = [case.name for case in gate_document(result).cases]
    assert names == ["nDCG@10", "nDCG@10 floor", "nDCG@10 against the anchor"]


def test_a_hostile_query_that_broke() -> None:
    ids = [*HOSTILE, *(f"q{number}" for number in range(8))]
    one, other = (record({"AP": [value] * 16}, query_ids=ids) for value in (1.0, 0.0))
    check_markdown(gate_as_markdown(gate(one, other, "AP", max_query_drop=0.5)))


def rows(text: str) -> list[list[str]]:
    """Return the cells of all rows of tables."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def check_markdown(text: str) -> None:
    """Check that all code spans are closed on their line, tables are whole, and no HTML is left."""
    for line in text.splitlines():
        assert line.count("`") % 2 == 0
        if line.startswith("|"):
            assert line.count("|") in (5, 8)
    bare = re.sub(r"`[^`]*`|\\[\[\]]| < 0\.0001 ", "", text)  # intervals and p-values
    assert not re.search(r"[<@!\\]", bare)


def test_markdown_with_hostile_names() -> None:
    text = gate_as_markdown(hostile(HOSTILE[:5]))
    check_markdown(text)
    names = [row[0] for row in rows(text)]
    assert "`<script>alert(1)</script>`" in names
    assert "`a\\x7cb\\x5c\\x7cc`" in names
    assert "`\\x60code\\x60 **bold**`" in names
    check_markdown(gate_as_markdown(hostile(HOSTILE[3:])))
    assert "`line\\x0abreak\\x0d\\x0a# head`" in gate_as_markdown(hostile(HOSTILE[6:]))


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=[]), max_size=200))
def test_no_name_leaves_its_code_span(name: str) -> None:
    text = gate_as_markdown(hostile([name, f"{name}2", f"{name}3"]))
    check_markdown(text)
    assert len(text) < 6000
    text.encode()


def test_an_error_is_a_block_of_code() -> None:
    text = error_as_markdown("no <b>file</b> @all\n# head")
    assert text.endswith("\n\n```\nno <b>file</b> @all\n# head\n```\n")
    case = Xml.fromstring(error_as_junit("a\x00<b>")).find("testsuite/testcase/error")
    assert case is not None
    assert case.get("message") == "a\ufffd<b>"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"drop": 0.3}, "regression: nDCG@10 changed by -0.2"),
        ({"drop": 0.02, "sd": 0.2}, "undecided: nDCG@10 changed by "),
        ({"drop": 0.0, "sd": 0.005}, "no regression: a drop of 0.01 or more is ruled out"),
    ],
)
def test_the_answer_in_one_sentence(options: dict[str, Any], said: str) -> None:
    text = as_text(gate_document(gate(*world(30, **options))))
    assert said in " ".join(text.split())
    head = next(line for line in text.splitlines() if line.startswith("measure"))
    titles = ["measure", "baseline", "candidate", "difference (95 % interval)", "p"]
    assert re.split(r"   +", head) == [*titles, "visible", "answer"]
    assert text.index(said[:11]) < text.index(head), "the answer comes first"
    assert "margin: a drop up to 0.01 is tolerable; the interval from 30 queries" in " ".join(
        text.split()
    )
