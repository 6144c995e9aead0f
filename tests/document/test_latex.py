"""LaTeX: whatever the text, no command, no open brace, no new column or row."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

from document.samples import any_text, document, table
from rankscope.document.blocks import Document, Section
from rankscope.document.latex import as_latex, escaped

COMMANDS = {
    *("textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar"),
    *("symbol", "pm", "leq", "geq", "infty", "times", "cdot", "Sigma", "Pi", "surd", "to"),
    *("uparrow", "downarrow", "dagger", "ddagger", "ldots"),
}


@settings(deadline=None)
@given(any_text)
def test_only_known_commands(text: str) -> None:
    made = escaped(text)
    assert set(re.findall(r"\\([a-zA-Z]+)", made)) <= COMMANDS
    bare = re.sub(r"\\[a-zA-Z]+(\{\d*\})?|\\[&%$#_{}]|\$\\?[a-zA-Z-]+\$|\{[\[*]\}", "", made)
    assert not set(bare) & set('\\&%#_{}~^<>|"[*`'), bare
    assert made.isprintable()


@settings(deadline=None)
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


def test_a_table() -> None:
    page = as_latex(Document("", (Section("", (table("a_b"),)),)))
    signs = r"$^{\uparrow\dagger\mathrm{ab}}$ {\scriptsize {[}0.250, 0.750]}"
    first = rf"a\_b (a\_b) & \textbf{{0.500}}{signs} (+0.100) & a\_b \\"
    assert page.splitlines() == [
        r"% needs \usepackage{booktabs}",
        "",
        r"\begin{table}",
        r"\centering",
        r"\caption{a\_b}",
        r"\begin{tabular}{lrl}",
        r"\toprule",
        r"a\_b & mean (a\_b) & what \\",
        r"\midrule",
        first,
        r"b & 1,024 (a\_b) & -- \\",
        r"c & none$^{\mathrm{a\_b}}$ & \textbf{a\_b} \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip",
        r"{\footnotesize Bold: best mean. A\_b.\par}",
        r"\end{table}",
    ]
