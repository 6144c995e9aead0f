"""Documents that hold everything there is, with one text wherever a text can be."""

from __future__ import annotations

from hypothesis import strategies as st

from rankscope.document.blocks import (
    Case,
    Cell,
    Code,
    Column,
    Curve,
    Document,
    Findings,
    Notes,
    Plot,
    Section,
    Sentence,
    Sentences,
    Table,
    sentences,
)
from rankscope.errors import Place
from rankscope.findings import Finding

HOSTILE = [
    "<script>alert(1)</script>",
    "</style></td><img src=x onerror=alert(1)>",
    '" onload="alert(1)',
    "![x](http://evil.example/x.png)",
    "[a](javascript:alert(1)) <b>bold</b>",
    "| a | b |\n| --- | --- |",
    "`code` ``more`` **bold** __bold__ ~~gone~~ $x$",
    "# head\n- item\n1. one\n> quote\n---\n===",
    "\x1b[31mred\x1b[0m\x9b31m\a\b\x7f\x00",
    "\u202egnp.exe\u2066\u200b\ufeff\u2028\u2029",
    r"\input{/etc/passwd} \\ & % $ # _ { } ~ ^ ^^M ``quoted''",
    "]]>&amp;&#x3c;",
    "=cmd|' /C calc'!A0",
    "\ud800 lone",
    "x" * 300,
    "文字 と 絵文字 🎉",
    "-",
    "",
    "   ",
]

any_text = st.one_of(
    st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=[]), max_size=120)
)


def table(text: str) -> Table:
    """Return a table with the text as title, column, name, cell, note and marker."""
    return Table(
        (Column(text, "text"), Column("mean", digits=3, note=text), Column("what", "text")),
        (
            (
                Cell(text, note=text),
                Cell(0.5, (0.25, 0.75), "↑†", best=True),
                Cell(text),
            ),
            (Cell("b"), Cell(1024, note=text), Cell(None)),
            (Cell("c"), Cell("none", marker="a_b"), Cell(text, tone="bad")),
        ),
        title=text,
        notes=(text,),
        best="best mean",
    )


def finding(text: str) -> Finding:
    return Finding(
        code="RS101",
        name="a-name",
        severity="warning",
        message=text,
        advice=text,
        count=4,
        unit="query",
        places=(Place(text, 3, text, text),),
        system=text,
    )


def document(text: str) -> Document:
    """Return a document with every kind of block."""
    return Document(
        text,
        (
            Section(
                text,
                (
                    Sentences((Sentence(text), Sentence(text, "bad"))),
                    sentences([text, "plain"], "good", listed=True),
                    table(text),
                    Plot(
                        text,
                        text,
                        text,
                        (
                            Curve(text, ((0.0, 0.1), (1.0, 0.4))),
                            Curve(text, ((0.5, 0.1), (float("nan"), 1.0)), (text, text), False),
                        ),
                    ),
                ),
                (
                    Findings((finding(text),)),
                    Notes((text,)),
                    Code(text, "sh"),
                ),
            ),
            Section("", (Findings((finding(text),)), table("second"))),
        ),
        subtitle=text,
        names=frozenset([text]),
        cases=(
            Case(text, "failed", text, "regression", (text,)),
            Case(text),
            Case("gate", "error", text, "not-comparable"),
        ),
        properties={"baseline": text},
    )
