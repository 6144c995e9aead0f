"""A terminal: everything fits, nothing is cut, no text steers it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from document.samples import any_text, document
from rankscope.document.blocks import (
    Code,
    Column,
    Document,
    Section,
    Table,
    cells,
    sentences,
)
from rankscope.document.terminal import as_text


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


@settings(deadline=None, max_examples=30)
@given(any_text, st.sampled_from([60, 100]))
def test_no_text_steers_or_overflows(text: str, width: int) -> None:
    page = as_text(without_code(text), width)
    assert all(sign.isprintable() or sign == "\n" for sign in page)
    assert max(map(cell_len, page.splitlines())) <= width
    assert not any(line.endswith(" ") for line in page.splitlines())


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
