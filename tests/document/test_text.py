"""How values are written, and that foreign text stays one visible line."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from document.samples import any_text
from rankscope.document.blocks import (
    Cell,
    Column,
    Document,
    Section,
    Table,
    cells,
    ends,
    marked,
    together,
)
from rankscope.document.text import interval, number, p_value, plain_cell
from rankscope.printing import visible


@pytest.mark.parametrize(
    ("value", "options", "written"),
    [
        (0.5, {}, "0.5000"),
        (0.5, {"digits": 3, "signed": True}, "+0.500"),
        (-0.0006, {"digits": 3, "signed": True}, "-0.001"),
        (-0.00001, {"digits": 3, "signed": True}, "0.000"),
        (0.0004, {"digits": 3, "signed": True}, "0.000"),
        (0.0, {"signed": True}, "0.0000"),
        (-0.0, {}, "0.0000"),
        (0.05, {"digits": None}, "0.05"),
        (1024, {}, "1,024"),
        (1024.0, {"digits": 0}, "1024"),
        (7, {"signed": True}, "+7"),
        (math.inf, {}, "∞"),
        (-math.inf, {}, "-∞"),
        (math.nan, {}, "undefined"),
    ],
)
def test_numbers(value: float, options: dict[str, object], written: str) -> None:
    assert number(value, **options) == written  # type: ignore[arg-type]


def test_intervals_are_written_as_they_are() -> None:
    assert interval((0.735, 1.0), digits=3) == "[0.735, 1.000]"
    assert interval((-0.009, 0.018), digits=3, signed=True) == "[-0.009, +0.018]"
    assert interval((-math.inf, math.inf)) == "[-∞, ∞]"


@settings(deadline=None)
@given(st.floats(0, 1))
def test_a_p_value_is_never_0(p: float) -> None:
    assert p_value(p) == "< 0.0001" or float(p_value(p)) > 0


@settings(deadline=None)
@given(any_text)
def test_visible_text_is_one_printable_line(text: str) -> None:
    line = visible(text)
    assert line.isprintable()
    assert line == text or not text.isprintable()


def test_a_cell_as_plain_text() -> None:
    cell = Cell(0.5, (0.25, 0.75), "↑†", "ab", 0.1, note="baseline")
    assert plain_cell(cell, Column("x", digits=2)) == "0.50↑† [0.25, 0.75] ab (+0.10) (baseline)"
    assert plain_cell(Cell(), Column("x")) == "–"
    assert plain_cell(Cell(""), Column("x")) == ""
    assert plain_cell(Cell(0.00001), Column("p", "p")) == "< 0.0001"


def test_markers() -> None:
    cell = Cell(0.5)
    assert marked(cell, None, alpha=0.05, is_better=True) == cell
    assert marked(cell, 0.051, alpha=0.05, is_better=True) == cell
    assert marked(cell, 0.05, alpha=0.05, is_better=True) == Cell(0.5, marker="↑†", tone="good")
    assert marked(cell, 0.01, alpha=0.05, is_better=False) == Cell(0.5, marker="↓‡", tone="bad")


def test_ends_that_do_not_exist_are_infinite() -> None:
    class Open:
        low = None
        high = 1.0

    assert ends(None) is None
    assert ends(Open()) == (-math.inf, 1.0)


def test_a_turned_table_has_rows_for_columns() -> None:
    table = Table(
        (Column("run", "text"), Column("P@1", note="a"), Column("RR")),
        ((Cell("x", note="baseline"), *cells(1.0, 2)), cells("y", 3.0, None)),
        columns_are="measure",
    )
    turned = table.turned()
    assert [(column.title, column.note) for column in turned.columns] == [
        ("measure", ""),
        ("x", "baseline"),
        ("y", ""),
    ]
    assert turned.rows == ((Cell("P@1", note="a"), *cells(1.0, 3.0)), cells("RR", 2, None))
    assert turned.columns_are == "run"
    again = turned.turned()
    assert (again.columns, again.rows) == (table.columns, table.rows)


def test_documents_together_keep_their_titles() -> None:
    one, other = (Document(name, (Section(""), Section("more"))) for name in ("one", "other"))
    assert together("both", [one]) is one
    sections = together("both", [one, other]).sections
    assert [section.title for section in sections] == ["one", "more", "other", "more"]
