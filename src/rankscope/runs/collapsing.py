"""Chunks to documents: a run of chunks, judged by document, is collapsed before it is scored.

Systems often index pieces of documents and judgments name documents. A rule says which document a
chunk belongs to (`Chunking.of`), and a document has the highest score of its chunks. An id that the
rule says nothing about is taken for a document's own; how many there are is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, shown
from rankscope.tables.columns import id_text

if TYPE_CHECKING:
    from collections.abc import Iterable


_SEPARATOR = re.compile(r"[#:/|@_~.,;!%&=-]{1,3}")
_FILE = re.compile(r"[^()\[\]{}^$*+?\\|]+\.(csv|tsv|json|jsonl|parquet)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Chunks:
    """How the chunks of a run became documents."""

    rule: str
    """What says which document a chunk is of: a separator, a regular expression, a function."""
    chunks: int
    """Rows of the run before."""
    documents: int
    """Rows after."""
    unmatched: int
    """Distinct ids that the rule says nothing about; they count as documents."""
    unmatched_ids: tuple[str, ...]
    """The first of them."""
    is_doubtful: bool
    """Whether such ids may be a mistake; without a separator they are whole documents."""


@dataclass(frozen=True, slots=True, eq=False)
class Chunking:
    """Which document each chunk belongs to."""

    document_of: Callable[[str], str | None]
    """Returns None for an id that the rule says nothing about."""
    rule: str
    """In the user's words."""
    is_complete: bool
    """Whether an id that the rule says nothing about may be a mistake; a document that was not cut
    has no separator."""

    @classmethod
    def of(cls, doc_id_from: Any) -> Chunking:
        """Read a rule.

        ``#``, ``::`` or other punctuation of up to three characters separates the document from
        the chunk: what is before the last one counts, since ids of documents may hold it too. Other
        text is a regular expression, searched in the id: its first group, or else what it matches,
        is the document. A mapping gives the document of each chunk; a function returns it.
        """
        if isinstance(doc_id_from, Mapping):
            return cls(doc_id_from.get, "a table", True)
        if callable(doc_id_from):
            name = getattr(doc_id_from, "__name__", "a function")
            return cls(doc_id_from, name, True)
        text = doc_id_from
        if not isinstance(text, str) or not text or _FILE.fullmatch(text):
            raise InputError(
                "doc_id_from: expected a separator such as '#', a regular expression, or in Python "
                f"a dict from chunk to document, got {shown(text)}"
            )
        if _SEPARATOR.fullmatch(text):
            return cls(lambda chunk_id: chunk_id.rpartition(text)[0], text, False)
        try:
            search = re.compile(text).search
        except re.error as error:
            raise InputError(
                f"doc_id_from: {shown(text)} is not a regular expression ({error}); give one whose "
                "first group is the document, such as '^(.+)_[0-9]+$', or '#'"
            ) from None

        def document_of(chunk_id: str) -> str | None:
            match = search(chunk_id)
            return match and match[1 if match.re.groups else 0]

        return cls(document_of, text, True)

    def documents(self, chunk_ids: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the document of each chunk, and the ids the rule says nothing about."""
        documents, unmatched = [], []
        for chunk_id in chunk_ids:
            document = self.document_of(chunk_id)
            if type(document) is not str and document is not None:  # of a dict or a function
                try:
                    document = id_text(document)
                except ValueError as error:
                    problem = f"doc_id_from: the document of {shown(chunk_id)} is {error}"
                    raise InputError(problem) from None
            if not document:
                unmatched.append(chunk_id)
            documents.append(document or chunk_id)
        return documents, unmatched
