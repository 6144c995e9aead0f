"""Tables on a terminal: columns that never break a number, split into blocks where too many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankscope.cli.console import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["Column", "blocks_needed", "print_columns"]

_GAP = 3
_WIDEST_NAME = 40
"""Names longer than this go on in the next line."""


@dataclass(frozen=True, slots=True)
class Column:
    """A title, and a cell for each row; a cell is text and its style."""

    title: str
    cells: list[tuple[str, str]]
    right: bool = True

    @property
    def width(self) -> int:
        """How many places it takes: numbers all they need, names not more than they should."""
        from rich.cells import cell_len

        title = min(cell_len(visible(self.title)), _WIDEST_NAME)
        cells = max((cell_len(visible(text)) for text, _ in self.cells), default=0)
        return max(title, cells if self.right else min(cells, _WIDEST_NAME))


def _blocks(first: Column, others: list[Column], width: int) -> list[list[Column]]:
    blocks: list[list[Column]] = [[]]
    used = first.width
    for column in others:
        if blocks[-1] and used + _GAP + column.width > width:
            blocks.append([])
            used = first.width
        blocks[-1].append(column)
        used += _GAP + column.width
    return blocks


def blocks_needed(first: Column, others: list[Column], width: int) -> int:
    """Tell how many tables, one below the other, some columns need."""
    return len(_blocks(first, others, width))


def print_columns(console: Console, first: Column, others: list[Column]) -> None:
    """Print columns beside each other; what does not fit the width goes below, the first again."""
    from rich.table import Table
    from rich.text import Text

    def cell(text: str, style: str = "") -> Text:
        return Text(visible(text), style=style)

    for number, block in enumerate(_blocks(first, others, console.width)):
        if number:
            console.print()
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
        for column in (first, *block):
            table.add_column(
                cell(column.title),
                justify="right" if column.right else "left",
                overflow="fold",
                min_width=column.width if column.right else None,
                max_width=column.width,
            )
        for cells in zip(*(column.cells for column in (first, *block)), strict=True):
            table.add_row(*(cell(*one) for one in cells))
        console.print(table)
