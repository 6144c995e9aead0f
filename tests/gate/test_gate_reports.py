"""JUnit that parses, Markdown that nobody's id can break out of."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from hypothesis import given, settings
from hypothesis import strategies as st

from gate.worlds import record
from rankscope.document.junit import as_junit
from rankscope.document.markdown import as_markdown
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


def test_the_answer_is_the_headline_and_why_is_below() -> None:
    answer = gate_document(three_kinds()).answer
    assert answer is not None
    assert answer.headline == "Regression"
    assert answer.reason.startswith("AP changed by -0.4")


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
    assert cases["RR"].find("failure") is None
    assert cases["Unjudged@10"].find("skipped") is not None
    assert suite.get("skipped") == "1"
    properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert properties["candidate"] == "new"
    assert properties["queries"] == "8"


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters(exclude_categories=[]), max_size=20))
def test_junit_always_parses(name: str) -> None:
    Xml.fromstring(gate_as_junit(hostile([name, f"{name}2", f"{name}3"])))
    Xml.fromstring(error_as_junit(name))


def rows(text: str) -> list[list[str]]:
    """Return the cells of all rows of tables."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def check_markdown(text: str) -> None:
    """Check that all code spans are closed on their line, tables are whole, and no HTML is left."""
    for line in text.splitlines():
        assert line.count("`") % 2 == 0
        if line.startswith("|"):
            assert line.count("|") in (5, 8, 9)
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


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters(exclude_categories=[]), max_size=200))
def test_no_name_leaves_its_code_span(name: str) -> None:
    text = gate_as_markdown(hostile([name, f"{name}2", f"{name}3"]))
    check_markdown(text)
    assert len(text) < 6000
    text.encode()
