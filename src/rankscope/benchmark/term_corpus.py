"""A corpus made of an ontology: its terms, or each of their names, as documents to be searched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from rankscope.benchmark.collection_files import NAME_MARK
from rankscope.collection.corpus import Document

if TYPE_CHECKING:
    from rankscope.ontology.terms import Ontology, Term

Unit = Literal["terms", "names"]


def _fields(term: Term) -> dict[str, Any]:
    """Return what is known of a term; ``text`` is all of it but the label, which is the title."""
    synonyms = [synonym.text for synonym in term.synonyms]
    text = "\n".join(filter(None, ["; ".join(synonyms), term.definition]))
    return {
        "title": term.label,
        "text": text,
        "label": term.label,
        "synonyms": synonyms,
        "definition": term.definition,
    }


def _names(term: Term) -> Iterator[dict[str, Any]]:
    """Yield the label and each synonym that differs from it."""
    yield {"title": term.label, "label": term.label, "kind": "label"}
    seen = {term.label.casefold()}
    for synonym in term.synonyms:
        if synonym.text.casefold() not in seen:
            seen.add(synonym.text.casefold())
            kind = synonym.kind or synonym.scope.lower()
            yield {"title": synonym.text, "synonyms": [synonym.text], "kind": kind}


def documents_of(ontology: Ontology, unit: Unit) -> Iterator[Document]:
    """Yield a document for each term, or for each name of a term; a term without any has none."""
    for term in ontology.terms:
        if unit == "terms":
            yield Document(term.term_id, _fields(term))
            continue
        for number, fields in enumerate(_names(term)):
            if fields["title"]:
                yield Document(f"{term.term_id}{NAME_MARK}{number}", fields)
