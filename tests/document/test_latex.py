"""LaTeX: whatever the text, no command, no open brace, no new column or row."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

import rankscope as rs
from document.samples import any_text, document
from rankscope.document.latex import as_latex, escaped
from rankscope.document.views import document_of

COMMANDS = {
    *("textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar"),
    *("symbol", "pm", "leq", "geq", "infty", "times", "cdot", "Sigma", "Pi", "surd", "to"),
    *("uparrow", "downarrow", "dagger", "ddagger", "ldots"),
}


@settings(deadline=None, max_examples=40)
@given(any_text)
def test_only_known_commands(text: str) -> None:
    made = escaped(text)
    assert set(re.findall(r"\\([a-zA-Z]+)", made)) <= COMMANDS
    bare = re.sub(r"\\[a-zA-Z]+(\{\d*\})?|\\[&%$#_{}]|\$\\?[a-zA-Z-]+\$|\{[\[*]\}", "", made)
    assert not set(bare) & set('\\&%#_{}~^<>|"[*`'), bare
    assert made.isprintable()


@settings(deadline=None, max_examples=40)
@given(any_text)
def test_the_whole_is_well_formed(text: str) -> None:
    page = as_latex(document(text))
    bare = re.sub(r"\\[{}]", "", page.replace(r"\\", ""))
    assert bare.count("{") == bare.count("}")
    assert page.count(r"\begin{") == page.count(r"\end{")
    rows = [line for line in page.splitlines() if line.endswith(r" \\")]
    for row in rows:
        assert len(re.findall(r"(?<!\\)&", row)) in (2, 5)


@pytest.mark.parametrize("text", ["[a]", "*"])
def test_a_row_cannot_start_with_an_argument_of_the_line_break(text: str) -> None:
    assert escaped(text).startswith("{")


def test_an_answer_is_one_table_with_the_decision_as_its_caption() -> None:
    made = rs.compare({"q": {"a": 1}, "p": {"a": 1}}, [{"q": ["a"]}, {"q": ["b", "a"]}], "RR")
    short, full = (as_latex(document_of(made), full=full) for full in (False, True))
    assert short.count(r"\begin{table}") == short.count(r"\caption{") == 1
    assert short.count(r"\label{tab:rankscope-1}") == 1
    assert full.count(r"\begin{table}") > 1
