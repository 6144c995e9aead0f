"""A terminal: everything fits, nothing is cut, no text steers it."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from document.samples import HOSTILE, any_text, document, table
from rankscope.document.blocks import (
    Cell,
    Code,
    Column,
    Document,
    Section,
    Table,
    Tone,
    cells,
    sentences,
)
from rankscope.document.terminal import as_text, draw


def drawn(*tables: Table, width: int = 100) -> list[str]:
    return as_text(Document("", (Section("", tables),)), width).splitlines()


def without_code(text: str) -> Document:
    """Return the document without what is never broken."""
    made = document(text)
    sections = tuple(
        Section(one.title, tuple(block for block in one.all_blocks if not isinstance(block, Code)))
        for one in made.sections
    )
    return Document(made.title, sections, made.subtitle)


@settings(deadline=None, max_examples=60)
@given(any_text, st.sampled_from([60, 100]))
def test_no_text_steers_or_overflows(text: str, width: int) -> None:
    page = as_text(without_code(text), width)
    assert all(sign.isprintable() or sign == "\n" for sign in page)
    assert max(map(cell_len, page.splitlines())) <= width
    assert not any(line.endswith(" ") for line in page.splitlines())


@pytest.mark.parametrize("text", HOSTILE)
def test_code_is_shown_line_by_line(text: str) -> None:
    page = as_text(Document("", (Section("", (Code(text),)),)))
    assert all(sign.isprintable() or sign == "\n" for sign in page)
    assert page.count("\n") == text.count("\n") + 1


def test_markup_is_text() -> None:
    page = as_text(Document("", (Section("", (sentences(["[bold]x[/bold] :smile:"]),)),)))
    assert page == "[bold]x[/bold] :smile:\n"


def test_numbers_are_never_broken_and_names_are_repeated() -> None:
    columns = [Column(f"measure-{number}@1000", digits=6) for number in range(12)]
    made = Table(
        (Column("run", "text"), *columns), (cells("a-name", *[0.123456] * 12),), name_columns=1
    )
    lines = drawn(made, width=60)
    assert max(map(len, lines)) <= 60
    assert sum(line.count("0.123456") for line in lines) == 12
    blocks = "\n".join(lines).split("\n\n")
    assert len(blocks) > 2
    assert all(block.splitlines()[1].startswith("a-name") for block in blocks)


def test_a_wide_table_is_turned_where_that_saves_blocks() -> None:
    measures = [Column(f"measure-{number}") for number in range(20)]
    rows = tuple(cells(name, *[0.5] * 20) for name in ("one", "two"))
    made = Table((Column("run", "text"), *measures), rows, columns_are="measure")
    lines = drawn(made, width=60)
    assert lines[0].split() == ["measure", "one", "two"]
    assert len(lines) == 21
    still = drawn(Table(made.columns, made.rows), width=60)
    assert still[0].split()[0] == "run"
    assert "" in still, "it is split into blocks instead"


def test_intervals_go_below_their_values_where_there_is_no_room() -> None:
    row = (Cell("a"), *[Cell(0.5, (0.25, 0.75), "↑†", "ab")] * 3)
    made = Table((Column("run", "text"), *[Column("m", digits=3)] * 3), (row,))
    assert drawn(made, width=100)[1] == "a     " + "   ".join(["0.500↑† [0.250, 0.750] ab"] * 3)
    assert [line.split() for line in drawn(made, width=60)[1:]] == [
        ["a", *["0.500↑†", "ab"] * 3],
        ["[0.250,", "0.750]"] * 3,
    ]


def test_decimals_are_below_each_other() -> None:
    values = [Cell(0.5, marker="↓‡"), Cell(12.25), Cell(-1.0, marker="↑†"), Cell(7), Cell("none")]
    made = Table(
        (Column("run", "text"), Column("m", digits=2)), tuple((Cell("a"), v) for v in values)
    )
    _, *lines = drawn(made)
    assert lines == [
        "a      0.50↓‡",
        "a     12.25",
        "a     -1.00↑†",
        "a         7",
        "a      none",
    ]


def test_text_takes_what_room_there_is() -> None:
    words = "word " * 30
    made = Table(
        (Column("name", "text"), Column("what", "text"), Column("n")), (cells("a", words, 1),)
    )
    lines = drawn(made, width=80)
    assert max(map(len, lines)) <= 80
    assert max(map(len, lines)) > 70
    assert " ".join(lines).count("word") == 30


def coloured(*cells_: Cell) -> str:
    page = io.StringIO()
    console = Console(file=page, width=80, force_terminal=True, color_system="standard")
    made = Table((Column("n", "text"), Column("m")), tuple((Cell("a"), cell) for cell in cells_))
    draw(Document("", (Section("", (made,)),)), console)
    return page.getvalue()


@pytest.mark.parametrize(("tone", "code"), [("good", "32"), ("bad", "31"), ("warning", "33")])
def test_tones_are_colours_on_a_terminal_only(tone: Tone, code: str) -> None:
    cell = Cell(0.5, tone=tone)
    assert re.search(rf"\x1b\[{code}m0\.5000", coloured(cell))
    assert "\x1b" not in "".join(drawn(Table((Column("m"),), ((cell,),))))


def test_the_best_are_bold_or_have_a_star() -> None:
    assert "\x1b[1m0.5000" in coloured(Cell(0.5, best=True))
    lines = drawn(table("name"))
    assert "0.500↑†*" in lines[2]
    assert "* best mean" in lines


def test_details_and_charts_are_left_out() -> None:
    page = as_text(document("text"))
    assert "and 3 more" not in page, "the full finding is a detail"
    assert page.count("warning: text: text [RS101]") == 1
