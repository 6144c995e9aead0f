"""Tables with tabs between their columns: of child and parent, and of things with their terms.

Lines that begin with ``#`` are comments. The first line may name the columns; where several names
of a column are there, the first that is listed here counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rankscope.errors import FormatError, shown
from rankscope.ontology.term import Synonym, Term, TermFile, text_lines

_COLUMNS = {
    "child": ("child", "id", "term", "term_id", "child_id"),
    "parent": ("parent", "is_a", "parent_id"),
    "parents": ("parents", "parent_ids"),
    "label": ("label", "name"),
    "definition": ("definition", "def"),
    "synonyms": ("synonyms", "synonym"),
    "alternatives": ("alternatives", "alt_id", "alt_ids"),
    "obsolete": ("obsolete", "is_obsolete"),
    "replaced_by": ("replaced_by",),
}
_LISTS = ("parents", "synonyms", "alternatives", "replaced_by")
"""Columns whose cells hold several, with ``|`` between them."""

_ANNOTATIONS = {
    "thing": (
        *("thing", "database_id", "entity", "entity_id", "disease_id", "gene_id"),
        *("ncbi_gene_id", "gene_symbol", "id"),
    ),
    "term": ("hpo_id", "term_id", "term", "ontology_id", "go_id", "mondo_id"),
    "qualifier": ("qualifier",),
}


def read_term_table(data: bytes, source: str) -> TermFile:
    """Read lines ``child<TAB>parent``; a term without a parent is a root.

    A header may name more columns, which are about the child: label, definition, synonyms,
    alternatives (other ids), obsolete (true) and replaced_by, or parents instead of parent. What
    several rows say of a child is put together.
    """
    by_child: dict[
        str, dict[str, dict[str, None]]
    ] = {}  # by child and column; a dict keeps the order
    for _, row in _rows(data, source, _COLUMNS, ("child", "parent")):
        columns = by_child.setdefault(row["child"], {name: {} for name in _COLUMNS})
        for name, cell in row.items():
            parts = cell.split("|") if name in _LISTS else [cell]
            column = columns["parent" if name == "parents" else name]
            column.update(dict.fromkeys(filter(None, map(str.strip, parts))))
    file = TermFile(source)
    for child, columns in by_child.items():
        file.add(
            Term(
                child,
                next(iter(columns["label"]), ""),
                tuple(map(Synonym, columns["synonyms"])),
                next(iter(columns["definition"]), ""),
                tuple(columns["parent"]),
                tuple(columns["alternatives"]),
                any(word.lower() in ("true", "1", "yes") for word in columns["obsolete"]),
                tuple(columns["replaced_by"]),
            )
        )
    known = {other for columns in by_child.values() for other in columns["alternatives"]} | {
        *by_child
    }
    parents = (parent for columns in by_child.values() for parent in columns["parent"])
    for root in dict.fromkeys(parent for parent in parents if parent not in known):
        file.add(Term(root))  # a root needs no line of its own
    return file


def read_annotations(data: bytes, source: str) -> Iterator[tuple[str, str]]:
    """Yield a thing and a term for each line; rows of `phenotype.hpoa` that say NOT are left out.

    The file has two columns with a tab between them, or a header that names them.
    """
    for number, row in _rows(data, source, _ANNOTATIONS, ("thing", "term")):
        if not row.get("term"):
            raise FormatError("a thing without a term", source=source, line=number)
        if row.get("qualifier", "").upper() != "NOT":
            yield row["thing"], row["term"]


def _rows(
    data: bytes, source: str, columns: Mapping[str, tuple[str, ...]], needed: tuple[str, str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number of each row and its cells by column; the first needed is not empty.

    Without a header a row has the two needed columns.
    """
    places: dict[str, int] = {}
    has_header = False
    for number, line in text_lines(data, source):
        if line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if not places:
            folded = [cell.lower().replace(" ", "_") for cell in cells]
            places = {
                column: next(folded.index(name) for name in names if name in folded)
                for column, names in columns.items()
                if any(name in folded for name in names)
            }
            has_header = bool(places)
            missing = [name for name in needed if name not in places and f"{name}s" not in places]
            if has_header and missing:
                raise FormatError(
                    f"the header {shown(' '.join(cells))} has no column {missing[0]}; name the "
                    f"columns {needed[0]} and {needed[1]}",
                    source=source,
                    line=number,
                )
            if has_header:
                continue
            places = {name: place for place, name in enumerate(needed)}
        row = {column: cells[place] for column, place in places.items() if place < len(cells)}
        if not row.get(needed[0]) or (not has_header and any(cells[2:])):
            raise FormatError(
                f"expected {needed[0]} and {needed[1]} with a tab between them, got "
                f"{shown(' '.join(cells))}; name other columns in a header",
                source=source,
                line=number,
            )
        yield number, row
