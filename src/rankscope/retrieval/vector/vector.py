"""Vector search: embed documents and queries, and rank by the cosine of their angle, exactly.

Every document with a direction is scored, so a query has ``depth`` answers if there are as many
documents. A document cut into chunks is as good as its best chunk. Documents and queries without
text, or whose vector is zero, have no direction: they are not found, and find nothing.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from rankscope.collection.corpus import Corpus
from rankscope.retrieval.cache_entries import Mapped
from rankscope.retrieval.options import Options
from rankscope.retrieval.protocol import (
    Capabilities,
    Component,
    Identity,
    Query,
    Ranking,
    System,
    check_depth,
)
from rankscope.retrieval.registry import SYSTEMS, Context
from rankscope.retrieval.texts import Fields, Texts, without_text
from rankscope.retrieval.vector.chunking import ChunkOptions, chunks_of
from rankscope.retrieval.vector.embedders import EMBEDDERS
from rankscope.retrieval.vector.embeddings import Embeddings
from rankscope.retrieval.vector.query_vectors import query_vectors
from rankscope.retrieval.vector.similarity import Vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS = 1 << 16  # vectors on disk that are looked at together


class VectorOptions(Options):
    """What is embedded, by what, in which chunks."""

    embedder: Annotated[Any, EMBEDDERS] = "wordllama"
    """wordllama, {sentence-transformers: MODEL}, {callable: module:function}, or a function."""
    fields: Fields | None = None
    """What is embedded, as in bm25. If not given, title and text, under whatever name the corpus
    has them."""
    chunk: ChunkOptions | None = None
    """Cut documents into windows: {tokens: 200, overlap: 50}. If not given, they stay whole."""
    query_prefix: str = ""
    """Written before each query, where a model asks for it."""
    document_prefix: str = ""
    """Written before each document or chunk."""


@SYSTEMS.add("vector", VectorOptions, summary="exact search over embeddings")
class VectorSearch(System):
    """Cosine similarity over embeddings."""

    times_each = False
    batch_size = 256
    needs_corpus = True

    def __init__(self, options: VectorOptions, context: Context) -> None:
        self.options: VectorOptions = options
        self.owned: list[Component] = []
        embedder = context.make(EMBEDDERS, options.embedder, self.owned)
        self.embeddings = Embeddings(embedder, context.cache)
        self.capabilities = replace(Capabilities.of(embedder), concurrent=False)
        self._corpus: Corpus | None = None
        self._texts: Texts | None = None
        self._doc_ids: list[str] = []
        self._vectors: Vectors | None = None
        self._ready = False

    def parts(self) -> Sequence[Component]:
        """Return the embedder."""
        return [self.embeddings.embedder]

    def index(self, corpus: Corpus) -> None:
        """Take the corpus; the work is done in `prepare`."""
        if corpus is self._corpus:  # shared by several stages, each of which hands it down
            return
        self._texts = Texts.of(corpus, self.options.fields)
        self._corpus = corpus
        self._ready = False
        self.notes = (*without_text(self._texts), *self.embeddings.embedder.notes)

    def identity(self) -> Identity:
        """Say what exactly answers."""
        chunk = self.options.chunk
        described = self.embeddings.embedder.described()
        return Identity(
            kind="vector",
            name=self.name,
            version=str(described.get("version") or described["embedder"]),
            parameters={
                "embedder": described,
                "fields": self.options.fields,
                "chunk": None if chunk is None else chunk.plain(),
                "query_prefix": self.options.query_prefix,
                "document_prefix": self.options.document_prefix,
            },
            snapshot=None if self._texts is None else self._texts.snapshot,
        )

    def prepare(self) -> None:
        """Embed the documents, or load their embeddings."""
        if self._ready or self._texts is None:
            return
        began = time.perf_counter()
        self._take(self._texts)
        self._ready = True
        self.seconds_indexing = time.perf_counter() - began

    def _take(self, texts: Texts) -> None:
        chunks = _Chunks(texts, self.options)
        vectors = self.embeddings.of_many(chunks)
        directed = _directed(vectors)
        if not directed.all():
            if isinstance(vectors, Mapped):
                chunks = _Chunks(texts, self.options, directed)
                vectors = self.embeddings.of_many(chunks)
            else:
                vectors = vectors[directed]
        owners = chunks.owners[directed] if chunks.takes is None else chunks.owners
        positions, starts = np.unique(owners, return_index=True)
        self._doc_ids = [texts.doc_ids[at] for at in positions.tolist()]
        self._vectors = Vectors(vectors, starts) if len(owners) else None

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Answer each query with the documents in the direction nearest to its own."""
        self.prepare()
        depth = check_depth(depth)
        asked = [at for at, query in enumerate(queries) if query.text.strip()]
        answers = [Ranking() for _ in queries]
        if self._vectors is None or not asked:
            return answers
        texts = [self.options.query_prefix + queries[at].text for at in asked]
        began, saved = time.perf_counter(), self.embeddings.seconds_saved
        vectors, errors = query_vectors(self.embeddings, texts, self._vectors.size)
        best = self._vectors.best(vectors, depth)
        saved = self.embeddings.seconds_saved - saved  # of queries whose embeddings were kept
        share = (time.perf_counter() - began + saved) / len(asked)
        for at, error, vector, (positions, scores) in zip(
            asked, errors, vectors, best, strict=True
        ):
            if error is not None:
                answers[at] = Ranking.failed(error, share)
            elif vector.any():
                doc_ids = tuple([self._doc_ids[place] for place in positions.tolist()])
                answers[at] = Ranking(doc_ids, tuple(scores.tolist()), share)
        return answers


class _Chunks:
    """What is embedded: the chunks of all documents, made anew whenever they are gone through.

    ``owners`` is the position of the document of each, once all were gone through; ``takes`` says
    which of them to take (None: all).
    """

    def __init__(
        self, texts: Texts, options: VectorOptions, takes: NDArray[np.bool_] | None = None
    ) -> None:
        self._texts, self._options = texts, options
        self.takes = takes
        self.owners: NDArray[np.intp] = np.empty(0, np.intp)

    def __iter__(self) -> Iterator[str]:
        prefix, owners, number = self._options.document_prefix, array("q"), 0
        for position, text in enumerate(self._texts.texts):
            for chunk in chunks_of(text, self._options.chunk):
                if self.takes is None or self.takes[number]:
                    owners.append(position)
                    yield prefix + chunk
                number += 1
        self.owners = np.array(owners, np.intp)


def _directed(vectors: NDArray[np.float32] | Mapped) -> NDArray[np.bool_]:
    """Return which vectors have a direction: not all zero."""
    if not isinstance(vectors, Mapped):
        return np.asarray(vectors.any(axis=1))
    directed = np.empty(len(vectors.matrix), np.bool_)
    for low in range(0, len(directed), _ROWS):
        directed[low : low + _ROWS] = vectors.matrix[low : low + _ROWS].any(axis=1)
        vectors.release()
    return directed
