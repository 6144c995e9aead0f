"""Annotations: which things (diseases, genes, texts) have which terms."""

from __future__ import annotations

from collections.abc import Iterator

from rankscope.errors import FormatError, shown
from rankscope.ontology.term_table import table_rows

_THING = (
    *("database_id", "databaseid", "entity", "entity_id", "thing", "disease_id", "gene_id"),
    *("ncbi_gene_id", "gene_symbol", "id"),
)
_TERM = ("hpo_id", "term_id", "term", "ontology_id", "go_id", "mondo_id")


def read_annotations(data: bytes, source: str) -> Iterator[tuple[str, str]]:
    """Yield a thing and a term for each line; rows of `phenotype.hpoa` that say NOT are left out.

    The file has two columns with a tab between them, or a header that names them.
    """
    for number, cells, places in table_rows(data, source, _header):
        thing, term, negation = places or (0, 1, len(cells))
        if len(cells) <= max(thing, term) or not (cells[thing] and cells[term]):
            raise FormatError(
                "expected a thing and a term with a tab between them, got "
                f"{shown(' '.join(cells))}",
                source=source,
                line=number,
            )
        if negation >= len(cells) or cells[negation].upper() != "NOT":
            yield cells[thing], cells[term]


def _header(cells: list[str]) -> tuple[int, int, int] | None:
    """Return the columns of thing, term and qualifier; None if the first two are not named."""
    names = [cell.lower() for cell in cells]
    thing = next((names.index(name) for name in _THING if name in names), None)
    term = next((names.index(name) for name in _TERM if name in names), None)
    if thing is None or term is None:
        return None
    return thing, term, names.index("qualifier") if "qualifier" in names else len(names)
