"""Long documents in pieces: windows of words, and the way from pieces back to documents.

A chunk's id is its document's id, ``#`` and a number, so rankings of chunks become rankings of
documents (`project`) and one set of judgments stays valid however documents are cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rankscope.errors import InputError
from rankscope.retrieval.options import REQUIRED, option, whole
from rankscope.retrieval.protocol import Ranking

__all__ = ["Chunk", "ChunkOptions", "chunks_of", "document_of", "project"]

_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    """How documents are cut: fixed windows, or sliding ones if there is an overlap."""

    tokens: int = option(
        REQUIRED, "how many tokens a chunk has at most; a word or a sign is one", whole(1)
    )
    overlap: int = option(0, "how many tokens a chunk shares with the one before it", whole(0))

    def __post_init__(self) -> None:
        if self.overlap >= self.tokens:
            raise InputError(
                f"chunks of {self.tokens} tokens cannot overlap by {self.overlap}; the overlap "
                "must be smaller"
            )


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: the text from ``start`` to ``end``."""

    doc_id: str
    number: int
    start: int
    end: int
    text: str

    @property
    def chunk_id(self) -> str:
        """The document's id and the chunk's number."""
        return f"{self.doc_id}#{self.number}"


def chunks_of(doc_id: str, text: str, options: ChunkOptions | None) -> list[Chunk]:
    """Cut a text into windows; the last one ends with the text, an empty text has none.

    >>> [chunk.text for chunk in chunks_of("d1", "one two, three", ChunkOptions(2, 1))]
    ['one two', 'two,', ', three']
    """
    if not text.strip():
        return []
    if options is None:
        return [Chunk(doc_id, 0, 0, len(text), text)]
    spans = [match.span() for match in _TOKEN.finditer(text)]
    step = options.tokens - options.overlap
    last = max(len(spans) - options.overlap, 1)
    found = []
    for number, low in enumerate(range(0, last, step)):
        window = spans[low : low + options.tokens]
        start, end = window[0][0], window[-1][1]
        found.append(Chunk(doc_id, number, start, end, text[start:end]))
    return found


def document_of(chunk_id: str) -> str:
    """Return the document a chunk is from.

    >>> document_of("d#1#12")
    'd#1'
    """
    doc_id, sign, number = chunk_id.rpartition("#")
    if not sign or not number.isdecimal():
        raise InputError(f"{chunk_id!r} is not the id of a chunk: a document id, # and a number")
    return doc_id


def project(pairs: Iterable[tuple[str, float]], depth: int | None = None) -> Ranking:
    """Make a ranking of documents from scored chunks: a document is as good as its best chunk.

    >>> project([("a#0", 0.2), ("b#0", 0.5), ("a#1", 0.7)]).pairs()
    [('a', 0.7), ('b', 0.5)]
    """
    best: dict[str, float] = {}
    for chunk_id, score in pairs:
        doc_id = document_of(chunk_id)
        best[doc_id] = max(score, best.get(doc_id, score))
    return Ranking.of(best.items(), depth)
