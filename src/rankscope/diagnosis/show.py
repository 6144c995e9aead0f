"""How analyses show what they found: tables and curves made of rows, by the types of their fields.

Columns are written as in the head of a table: ``"now | ranking: lost by order | ideal"`` names
fields (or properties) of the rows, with a title where it is not the field's name. Whole numbers are
counts, others have three decimals, a field ``p_…`` holds p-values, an `Estimate` has its interval,
a `Proportion` is in per cent, a mapping becomes a column for each key (its title then holds
``{}``), a tuple of names is listed, and None is a dash. A legend is the first sentence of a
docstring.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rankscope.diagnosis.analysis import Estimate, Row
from rankscope.document.blocks import (
    Cell,
    Column,
    Curve,
    Plot,
    Table,
    ends,
    named_queries,
)
from rankscope.part import Part, field_docs
from rankscope.statistics.classification import Proportion
from rankscope.statistics.rater_agreement import RaterAgreement
from rankscope.statistics.sentences import listed
from rankscope.statistics.system_pairs import Pair

MOST_CURVES = 5
"""More curves than this run into each other."""

MOST_NAMES = 5
"""So many names are listed in one cell."""


def part_table(
    rows: Sequence[Part],
    title: str = "",
    *,
    notes: Iterable[str] = (),
    legend: Iterable[str] = (),
    names: int = 1,
    columns: str,
) -> Table | None:
    """Make a table of rows, the fields in ``legend`` explained below; None if there are no rows.

    The first column, or as many as ``names`` says, name a row. A column that is empty in all rows
    is left out.
    """
    if not rows:
        return None
    made: list[tuple[Column, list[Cell]]] = []
    shown, titles = set(), _titles(columns)
    for field, heading in titles.items():
        values = [_shown(row, field) for row in rows]
        if all(value in (None, "", ()) for value in values):
            continue
        keys = _keys(values)
        if keys is None:
            column, cells = _column(heading, values)
            if field.startswith("p_") and column.kind == "number":
                column = Column(heading, "p")
            made.append((column, cells))
            shown.add(field)
        for key in keys or ():
            inner = [None if value is None else value.get(key) for value in values]
            key_text = f"{key:,}" if type(key) is int else str(key)
            made.append(_column(heading.replace("{}", key_text), inner))
            shown.add(field)
    docs = field_docs(type(rows[0]))
    explained = [
        f"{titles[field].replace('{}', 'k')}: "
        + _small(docs.get(field) or getattr(type(rows[0]), field).__doc__)
        for field in legend
        if field in shown
    ]
    return Table(
        tuple(column for column, _ in made),
        tuple(zip(*(cells for _, cells in made), strict=True)),
        title=title,
        notes=(*explained, *notes),
        name_columns=names,
    )


def system_table(
    rows: Sequence[Row],
    title: str = "",
    *,
    notes: Iterable[str] = (),
    legend: Iterable[str] = (),
    columns: str,
) -> Table | None:
    """Make a table with a row for each system."""
    return part_table(rows, title, notes=notes, legend=legend, columns=f"system | {columns}")


def query_table(
    rows: Sequence[Any],
    texts: Mapping[str, str],
    title: str = "",
    *,
    notes: Iterable[str] = (),
    columns: str,
) -> Table | None:
    """Make a table with a row for each query: its id, its text where that is known, and more."""
    if not rows:
        return None
    naming, named = named_queries([row.query_id for row in rows], texts)
    made = [
        _column(heading, [getattr(row, field) for row in rows])
        for field, heading in _titles(columns).items()
    ]
    return Table(
        (*naming, *(column for column, _ in made)),
        tuple((*name, *(cells[place] for _, cells in made)) for place, name in enumerate(named)),
        title=title,
        notes=tuple(notes),
        name_columns=len(naming),
    )


def curves(
    rows: Sequence[Row], field: str, title: str, *, x: str, y: str, best: str, **more: Any
) -> Plot | None:
    """Draw a field that maps numbers to values, for the best systems by the field ``best``."""
    drawn = sorted(rows, key=lambda row: -getattr(row, best))[:MOST_CURVES]
    shown = [row for row in rows if row in drawn]
    of_best = f" ({len(shown)} best systems)" if len(shown) < len(rows) else ""
    points = {row.system: tuple(getattr(row, field).items()) for row in shown}
    if not any(points.values()):
        return None
    lines = tuple(
        Curve(name, tuple((float(at), value) for at, value in each))
        for name, each in points.items()
    )
    return Plot(title=f"{title}{of_best}", x=x, y=y, curves=lines, **more)


def _shown(row: Any, field: str) -> Any:
    """Return what a table shows of a field: a pair's difference has the pair's interval."""
    value = getattr(row, field)
    if isinstance(row, Pair) and field == "difference":
        return Estimate.between(row.difference, row.interval)
    if isinstance(row, Pair) and field == "relative":
        return None if row.relative is None else f"{row.relative:+.1%}"
    return value


def _titles(columns: str) -> dict[str, str]:
    """Return by field the title of its column."""
    pairs = [column.partition(": ") for column in columns.split(" | ")]
    return {field: title or field.replace("_", " ") for field, _, title in pairs}


def titled(name: str) -> str:
    """Return a name of the user's as a part of a title: without what separates columns."""
    return name.replace(" | ", " ¦ ")


def _keys(values: Sequence[Any]) -> list[Any] | None:
    """Return the keys of all mappings, in order; None if values are no mappings."""
    mappings = [value for value in values if isinstance(value, Mapping)]
    if not mappings:
        return None
    keys = list(dict.fromkeys(key for mapping in mappings for key in mapping))
    return sorted(keys) if all(isinstance(key, int) for key in keys) else keys


def _column(heading: str, values: Sequence[Any]) -> tuple[Column, list[Cell]]:
    """Make a column, flush left if all that it holds is text."""
    cells = [cell_of(value) for value in values]
    texts = [isinstance(cell.value, str) for cell in cells if cell.value is not None]
    if texts and all(texts):
        return Column(heading, "text"), cells
    is_share = any(isinstance(value, Proportion) for value in values)
    return Column(f"{heading}, %" if is_share else heading, digits=0 if is_share else 3), cells


def cell_of(value: Any) -> Cell:
    """Make a cell of a value, by its type."""
    if isinstance(value, Estimate):
        return Cell(value.value, ends(value))
    if isinstance(value, RaterAgreement):
        return Cell(value.value, ends(value.interval))
    if isinstance(value, Proportion):
        if value.share is None:
            return Cell()
        low, high = ends(value.interval) or (0.0, 1.0)
        return Cell(100 * value.share, (100 * low, 100 * high))
    if isinstance(value, bool):
        return Cell("✓" if value else "")
    if isinstance(value, tuple):
        return Cell(listed(map(str, value), MOST_NAMES))
    return Cell(value)


def _small(sentence: str) -> str:
    """Return a docstring's first sentence as it follows a colon: without a full stop."""
    line = " ".join(sentence.split()).partition(". ")[0].removesuffix(".")
    return line[:1].lower() + line[1:]


def percent(count: float, total: float = 1.0) -> str:
    """Write a share; what is not 0 is never written as 0%, nor what is not all as 100%.

    >>> percent(1, 225), percent(0.25), percent(1999, 2000), percent(0, 0)
    ('0.4%', '25%', '99.9%', '0%')
    """
    share = count / total if total else 0.0
    if share in (0, 1) or 0.01 <= share <= 0.99:
        return f"{share:.0%}"
    return f"{min(max(share, 0.001), 0.999):.1%}"
