"""A document as LaTeX for papers: booktabs tables with their notes, everything escaped.

The text compiles with pdfLaTeX and the package booktabs, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Code,
    Findings,
    Notes,
    Plot,
    Points,
    Table,
)
from rankscope.document.text import (
    finding_texts,
    for_text,
    interval_of,
    note_of,
    readable,
    table_notes,
    title_of,
    value_of,
)

if TYPE_CHECKING:
    from rankscope.document.blocks import Block, Cell, Column, Document

_ESCAPES = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\symbol{34}",
        "`": r"\symbol{96}",
        "[": "{[}",  # at the start of a row it would be an argument of the line break
        "*": "{*}",  # likewise
        "±": r"$\pm$",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "∞": r"$\infty$",
        "×": r"$\times$",
        "·": r"$\cdot$",
        "Σ": r"$\Sigma$",
        "Π": r"$\Pi$",
        "√": r"$\surd$",
        "→": r"$\to$",
        "↑": r"$\uparrow$",
        "↓": r"$\downarrow$",
        "†": r"$\dagger$",
        "‡": r"$\ddagger$",
        "✓": r"$\surd$",
        "✗": r"$\times$",
        "−": "$-$",
        "–": "--",
        "…": r"\ldots{}",
    }
)


def escaped(text: object) -> str:
    """Return text that LaTeX shows as it is."""
    return readable(text).translate(_ESCAPES)


def as_latex(document: Document, *, full: bool = False) -> str:
    """Return a document as LaTeX: the table of its answer, or with ``full`` everything.

    The decision is the caption of that table. What is no table is a paragraph.
    """
    parts, answer = [r"% needs \usepackage{booktabs}"], document.answer
    blocks: Iterable[Block] = document.blocks
    if answer is not None:
        decision = " ".join(answer.lines)
        tables = [block for block in answer.blocks if isinstance(block, Table)]
        if tables and not full:
            blocks = [replace(table, title=table.title or decision) for table in tables]
        else:
            parts.append(escaped(decision))
    for number, block in enumerate(blocks, start=1):
        parts += _block(block, number)
    return "\n\n".join(parts) + "\n"


def _block(block: Block, number: int) -> Iterator[str]:
    if isinstance(block, Plot):
        return
    if isinstance(block, Table):
        yield _table(for_text(block), number)
    elif isinstance(block, Points):
        for point in block.points:
            yield rf"\noindent\textbf{{{escaped(point.label)}}} " + " ".join(
                map(escaped, point.all_lines)
            )
    elif isinstance(block, Findings):
        yield from (escaped("; ".join(finding_texts(each))) for each in block.findings)
    elif isinstance(block, Notes):
        yield _small(block.texts)
    elif isinstance(block, Code):
        lines = r"\\".join(escaped(line) for line in block.text.split("\n"))
        yield rf"\noindent\texttt{{{lines}}}"
    else:
        yield from (escaped(sentence.text) for sentence in block.sentences)


def _small(texts: tuple[str, ...] | list[str]) -> str:
    joined = ". ".join(text[:1].upper() + text[1:] for text in texts)
    return rf"{{\footnotesize {escaped(joined)}.\par}}"


def _table(table: Table, number: int) -> str:
    kinds = "".join("l" if column.is_words else "r" for column in table.columns)
    rows = [
        " & ".join(_cell(cell, column) for cell, column in zip(row, table.columns, strict=True))
        for row in table.rows
    ]
    notes = table_notes(table, "bold:")
    lines = [
        r"\begin{table}",
        r"\centering",
        *([rf"\caption{{{escaped(table.title)}}}"] if table.title else []),
        *([rf"\label{{tab:rankscope-{number}}}"] if table.title else []),
        rf"\begin{{tabular}}{{{kinds}}}",
        r"\toprule",
        " & ".join(escaped(title_of(column)) for column in table.columns) + r" \\",
        r"\midrule",
        *(rf"{row} \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        *([r"\par\smallskip", _small(notes)] if notes else []),
        r"\end{table}",
    ]
    return "\n".join(lines)


def _cell(cell: Cell, column: Column) -> str:
    value = escaped(value_of(cell, column))
    is_bold = cell.best or (isinstance(cell.value, str) and cell.tone in ("strong", "bad"))
    shown = rf"\textbf{{{value}}}" if is_bold and value else value
    shown += escaped(cell.marker)
    ends = interval_of(cell, column)
    small = rf"{{\scriptsize {escaped(ends)}}}" if ends else ""
    return " ".join(filter(None, [shown, small, escaped(note_of(cell))]))
