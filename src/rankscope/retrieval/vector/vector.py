"""Vector search: embed documents and queries, and rank by the cosine of their angle, exactly.

Every document with a direction is scored, so a query has ``depth`` answers if there are as many
documents. A document cut into chunks is as good as its best chunk. Documents and queries without
text, or whose vector is zero, have no direction: they are not found, and find nothing.
"""

from __future__ import annotations

import re
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from rankscope.collection.corpus import Corpus
from rankscope.retrieval.options import Options, SpecError
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
from rankscope.retrieval.vector.embedders import EMBEDDERS
from rankscope.retrieval.vector.embeddings import Embeddings, query_vectors, release
from rankscope.retrieval.vector.similarity import Vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS = 1 << 16  # vectors that are looked at together
_TOKEN = re.compile(r"\w+|[^\w\s]")


class ChunkOptions(Options):
    """How documents are cut: fixed windows, or sliding ones if there is an overlap."""

    tokens: int = Field(ge=1)
    """How many tokens a chunk has at most; a word or a sign is one."""
    overlap: int = Field(default=0, ge=0)
    """How many tokens a chunk shares with the one before it."""

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.overlap >= self.tokens:
            raise SpecError(
                f"chunks of {self.tokens} tokens cannot overlap by {self.overlap}; the overlap "
                "must be smaller"
            )
        return self


def chunks_of(text: str, options: ChunkOptions | None) -> list[str]:
    """Cut a text into windows; the last one ends with the text, an empty text has none.

    >>> chunks_of("one two, three", ChunkOptions(tokens=2, overlap=1))
    ['one two', 'two,', ', three']
    """
    if not text.strip():
        return []
    if options is None:
        return [text]
    spans = [match.span() for match in _TOKEN.finditer(text)]
    step = options.tokens - options.overlap
    last = max(len(spans) - options.overlap, 1)
    windows = (spans[low : low + options.tokens] for low in range(0, last, step))
    return [text[window[0][0] : window[-1][1]] for window in windows]


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
        vectors, count = self.embeddings.of(chunks), 0
        owners = chunks.owners
        for low in range(0, len(vectors), _ROWS):  # leave out, in place, those without direction
            block = vectors[low : low + _ROWS]
            directed = np.flatnonzero(block.any(axis=1))
            vectors[count : count + len(directed)] = block[directed]
            owners[count : count + len(directed)] = owners[low + directed]
            count += len(directed)
            release(vectors)
        positions, starts = np.unique(owners[:count], return_index=True)
        self._doc_ids = [texts.doc_ids[at] for at in positions.tolist()]
        self._vectors = Vectors(vectors[:count], starts) if count else None

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Answer each query with the documents in the direction nearest to its own."""
        self.prepare()
        depth = check_depth(depth)
        places = [at for at, query in enumerate(queries) if query.text.strip()]
        answers = [Ranking() for _ in queries]
        if self._vectors is None or not places:
            return answers
        texts = [self.options.query_prefix + queries[at].text for at in places]
        began, saved = time.perf_counter(), self.embeddings.seconds_saved
        vectors, errors = query_vectors(self.embeddings, texts, self._vectors.size)
        best = self._vectors.best(vectors, depth)
        saved = self.embeddings.seconds_saved - saved  # of queries whose embeddings were kept
        share = (time.perf_counter() - began + saved) / len(places)
        for at, error, vector, (positions, scores) in zip(
            places, errors, vectors, best, strict=True
        ):
            if error is not None:
                answers[at] = Ranking.failed(error, share)
            elif vector.any():
                doc_ids = tuple([self._doc_ids[place] for place in positions.tolist()])
                answers[at] = Ranking(doc_ids, tuple(scores.tolist()), share)
        return answers


class _Chunks:
    """What is embedded: the chunks of all documents, made anew whenever they are gone through.

    ``owners`` is the position of the document of each, once all were gone through.
    """

    def __init__(self, texts: Texts, options: VectorOptions) -> None:
        self._texts, self._options = texts, options
        self.owners: NDArray[np.intp] = np.empty(0, np.intp)

    def __iter__(self) -> Iterator[str]:
        prefix, owners = self._options.document_prefix, array("q")
        for position, text in enumerate(self._texts.texts):
            for chunk in chunks_of(text, self._options.chunk):
                owners.append(position)
                yield prefix + chunk
        self.owners = np.array(owners, np.intp)
