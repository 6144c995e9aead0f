"""Files of terms: OBO, and tables of child and parent.

Every reader makes a `TermTable`; nothing is fetched, whatever a file says it imports.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from rankscope.errors import FormatError, InputError, shown
from rankscope.files import suffix_of
from rankscope.ontology.obo import terms_of_obo
from rankscope.ontology.term_table import (
    IS_A,
    Synonym,
    TermEntry,
    TermTable,
    refuse_many,
    table_rows,
)

_MOST_NAMED = 8
"""So many relations are named in a message."""


def read_terms(data: bytes, source: str, relations: Iterable[str] = (IS_A,)) -> TermTable:
    """Read the content of a file; its format is found by looking at it.

    Raises:
        FormatError: it is in no known format, or not as its format asks for.
        InputError: no term has a relation that was asked for.
    """
    wanted = frozenset(relations)
    head = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith((b"<", b"{")) or (head.startswith(b"[") and head[1:].lstrip()[:1] in b'[{"'):
        raise FormatError(
            "it looks like OWL or OBO graphs, and ontologies are read as OBO or as a table of "
            "child and parent; convert it with ROBOT (robot convert -i x.owl -o x.obo) or pronto",
            source=source,
        )
    if _is_table(head, source):
        table = _from_columns(data, source)
    elif suffix_of(source) == ".csv":
        raise FormatError(
            "a table of child and parent has tabs between its columns; write it as tsv",
            source=source,
        )
    else:
        table = terms_of_obo(data, source, wanted)
    if not table.terms:
        raise FormatError("it has no terms", source=source)
    missing = wanted - {IS_A} - table.relations
    if missing:
        known = sorted(table.relations)
        names = ", ".join(shown(name)[1:-1] for name in known[:_MOST_NAMED])
        more = ", …" if len(known) > _MOST_NAMED else ""
        raise InputError(
            f"{source}: no term has the relation {shown(min(missing))}; there are: "
            f"{names or 'none beside is_a'}{more}"
        )
    return table


# --- a table of child and parent -----------------------------------------------------------------

_COLUMNS = {
    "child": ("child", "id", "term", "term_id", "child_id"),
    "parent": ("parent", "is_a", "parent_id"),
    "parents": ("parents",),
    "label": ("label", "name"),
    "definition": ("definition", "def"),
    "synonyms": ("synonyms", "synonym"),
    "alternatives": ("alternatives", "alt_id", "alt_ids"),
    "obsolete": ("obsolete", "is_obsolete"),
    "replaced_by": ("replaced_by",),
}
_LISTS = ("parents", "synonyms", "alternatives", "replaced_by")
"""Columns that list several, with ``|`` between them."""

_Part: TypeAlias = tuple[str, str, str]
"""A child, a column, and what a row says there."""


def _is_table(head: bytes, source: str) -> bool:
    """Tell a table from OBO, whose lines are ``tag: value``."""
    first = next(
        (line for line in head.splitlines() if line.strip() and not line.startswith(b"#")), b""
    )
    if first.startswith((b"format-version:", b"[", b"!")):
        return False
    return b"\t" in first or suffix_of(source) in (".tsv", ".tab")


def _from_columns(data: bytes, source: str) -> TermTable:
    """Read lines ``child<TAB>parent``; a term without a parent is a root.

    A header may name more columns, which are about the child: label, definition, synonyms,
    alternatives (other ids), obsolete (true) and replaced_by, or parents instead of parent; of
    several there is ``|`` between.
    """
    table = TermTable()
    seen: set[_Part] = set()
    for number, cells, named in table_rows(data, source, _header):
        if named is None and not table.terms:
            _refuse_half(cells, source, number)
        places = _PLAIN if named is None else named
        row = {column: cells[place] for column, place in places.items() if place < len(cells)}
        if not row.get("child") or (named is None and any(cells[2:])):
            raise FormatError(
                f"expected child and parent with a tab between them, got {shown(' '.join(cells))}; "
                "name other columns in a header",
                source=source,
                line=number,
            )
        _row(table, row, (source, number), seen)
    other_ids = {other for entry in table.terms.values() for other in entry.alternatives}
    for entry in list(table.terms.values()):
        for parent in entry.parents:
            if parent not in table.terms and parent not in other_ids:  # a root needs no line
                table.add(TermEntry(parent), source)
    return table


_PLAIN = {"child": 0, "parent": 1}


def _named(cells: list[str]) -> dict[str, int]:
    """Return which columns a line names; of several names for one the first counts."""
    folded = [cell.lower().replace(" ", "_") for cell in cells]
    return {
        column: folded.index(name)
        for column, names in _COLUMNS.items()
        for name in reversed(names)
        if name in folded
    }


def _header(cells: list[str]) -> dict[str, int] | None:
    places = _named(cells)
    return places if "child" in places and places.keys() & {"parent", "parents"} else None


def _refuse_half(cells: list[str], source: str, line: int) -> None:
    """Refuse a header that does not say which column is what, lest it becomes a term."""
    named = _named(cells)
    if named:
        missing = "child" if "child" not in named else "parent"
        raise FormatError(
            f"the header {shown(' '.join(cells))} has no column {missing}; name the columns child "
            "and parent",
            source=source,
            line=line,
        )


def _row(table: TermTable, row: dict[str, str], place: tuple[str, int], seen: set[_Part]) -> None:
    """Put what a row says into its term; said again in another row it counts once."""
    source, line = place
    child = row["child"]
    entry = table.terms.get(child)
    if entry is None:
        entry = TermEntry(child)
        table.add(entry, source, line)
    entry.label = entry.label or row.get("label", "")
    entry.definition = entry.definition or row.get("definition", "")
    entry.is_obsolete = entry.is_obsolete or row.get("obsolete", "").lower() in ("true", "1", "yes")
    lists = {
        "parent": entry.parents,
        "parents": entry.parents,
        "alternatives": entry.alternatives,
        "replaced_by": entry.replaced_by,
    }
    for column in (name for name in row if name in lists or name == "synonyms"):
        parts = row[column].split("|") if column in _LISTS else [row[column]]
        for part in filter(None, map(str.strip, parts)):
            if (child, column, part) in seen:
                continue
            seen.add((child, column, part))
            if column == "synonyms":
                entry.synonyms.append(Synonym(part, "EXACT"))
                refuse_many(entry, source, line)
            else:
                lists[column].append(part)
