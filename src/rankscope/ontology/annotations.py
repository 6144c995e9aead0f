"""Annotations: which things (diseases, genes, texts) have which terms."""

from __future__ import annotations

from collections.abc import Iterator

from rankscope.errors import FormatError, shown
from rankscope.ontology.term_files import text_lines

_THING = ("database_id", "entity", "entity_id", "thing", "disease_id", "gene_id", "id")
_TERM = ("hpo_id", "term_id", "term", "ontology_id", "go_id", "mondo_id")


def read_annotations(data: bytes, source: str) -> Iterator[tuple[str, str]]:
    """Yield a thing and a term for each line; rows of `phenotype.hpoa` that say NOT are left out.

    The file has two columns with a tab between them, or a header that names them.
    """
    places: tuple[int, int] | None = None
    negation = -1
    for number, line in text_lines(data, source):
        cells = [cell.strip() for cell in line.split("\t")]
        if places is None:
            names = [cell.lower() for cell in cells]
            thing = next((names.index(name) for name in _THING if name in names), None)
            term = next((names.index(name) for name in _TERM if name in names), None)
            if thing is not None and term is not None:
                places = thing, term
                negation = names.index("qualifier") if "qualifier" in names else -1
                continue
            places = 0, 1
        if len(cells) <= max(places) or not all(cells[place] for place in places):
            raise FormatError(
                f"expected a thing and a term with a tab between them, got {shown(line)}",
                source=source,
                line=number,
            )
        if 0 <= negation < len(cells) and cells[negation].upper() == "NOT":
            continue
        yield cells[places[0]], cells[places[1]]
