"""Engines that are given the corpus: loading with resume, filters, vectors, and what they say.

`LoadedEngine` does what is the same for all of them. An engine says how it is opened, how far it is
loaded, how it takes a batch of documents, how it finishes its index, and how it answers one
query. What it makes has a name that follows from its content, so that what is there under that name
is what is wanted: a load that was stopped goes on, and one that was finished is not repeated.
"""

from __future__ import annotations

import hashlib
import logging
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, RankscopeError, shown
from rankscope.records.origin import EngineFacts
from rankscope.retrieval.hiding import scrub
from rankscope.retrieval.options import Options, Text
from rankscope.retrieval.progress import report
from rankscope.retrieval.protocol import (
    Component,
    Identity,
    Query,
    Ranking,
    System,
    check_depth,
    fingerprint,
    sentence,
    without_secrets,
)
from rankscope.retrieval.registry import Context, engine_version
from rankscope.retrieval.remote.filters import Filters, allowed, wanted
from rankscope.retrieval.remote.idle_options import OnlyFor, refuse_idle
from rankscope.retrieval.texts import Fields, Texts, without_text
from rankscope.retrieval.vector.embedders import EMBEDDERS
from rankscope.retrieval.vector.embeddings import Embeddings
from rankscope.retrieval.vector.query_vectors import query_vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

log = logging.getLogger(__name__)

Way = Literal["text", "vector", "hybrid"]
"""How an engine searches: words, vectors, or both fused by the engine."""


Doing = Literal["open", "load", "compare", "drop"]
"""What an engine may fail to do."""


class LoadedOptions(Options):
    """What an engine is given, and how it searches.

    A subclass lists the options of its own that only some searches and indexes use.
    """

    of_words: ClassVar[tuple[str, ...]] = ()
    """Options that a search for words alone uses, or one for both."""
    of_vectors: ClassVar[tuple[str, ...]] = ()
    """Options that a search for vectors alone uses, or one for both, beside those of embedding."""
    of_fusion: ClassVar[tuple[str, ...]] = ()
    """Options that only a search for both uses."""
    of_index: ClassVar[tuple[OnlyFor, ...]] = ()
    """Options that not all indexes of vectors use."""

    search: Way = "text"
    """text, vector, or hybrid: both, fused by the engine."""
    fields: Fields | None = None
    """What is searched, as in bm25. If not given, title and text, under whatever name the corpus
    has them."""
    embedder: Annotated[Any, EMBEDDERS] = "wordllama"
    """What makes vectors of texts, as in vector; text search needs none."""
    query_prefix: str = ""
    """Written before each query that is embedded, where a model asks for it."""
    document_prefix: str = ""
    """Written before each document that is embedded."""
    filters: Filters = Field(default_factory=dict)
    """Which documents a query may find: a field of documents and the metadata of queries that it
    must equal, as in {language: lang}. A query without that metadata finds any."""
    index: Text | None = None
    """What the index is called; if not given, a name that follows from its content."""
    batch: int = Field(default=1024, ge=1, le=100_000)
    """How many documents are sent at once."""
    drop: bool = False
    """Whether the index is taken away when the system is closed, also one that an earlier run left;
    if not, it is used again."""

    def idle_rules(self) -> Sequence[OnlyFor]:
        """Return what options have an effect only with which others."""
        embedding = ("embedder", "query_prefix", "document_prefix")
        return (
            OnlyFor(self.of_words, "search", ("text", "hybrid")),
            OnlyFor((*embedding, *self.of_vectors), "search", ("vector", "hybrid")),
            OnlyFor(self.of_fusion, "search", ("hybrid",)),
            *self.of_index,
        )

    @model_validator(mode="after")
    def _all_used(self) -> Self:
        refuse_idle(self, self.idle_rules())
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Documents to load, in the order of ids from high to low by bytes.

    ``first`` is the position of the first among all. ``vectors`` has a row for each document, which
    is zero where a text has no direction; None: nothing is embedded. ``values`` are those that
    filters look at: for each document, the texts that each field holds.
    """

    first: int
    doc_ids: list[str]
    texts: list[str]
    vectors: Floats | None
    values: list[dict[str, list[str]]]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One query to an engine: its text, its vector of length 1, and what documents must hold.

    ``filters`` says for each field of documents which texts are allowed: one of them is enough.
    """

    query: Query
    text: str
    vector: Floats | None
    filters: Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class Loading:
    """How far an index is: how many documents it holds for sure, and whether it is finished."""

    documents: int
    is_complete: bool


class LoadedEngine(System):
    """An engine that holds the corpus.

    A subclass sets ``kind``, ``packages`` and ``capabilities``, and says in ``build`` which options
    shape the index: these are part of its name, and options of searching alone are not, so a sweep
    over them uses one index.
    """

    kind: ClassVar[str]
    build: ClassVar[tuple[str, ...]] = ()
    """Options that shape what is stored."""
    longest_name: ClassVar[int] = 255
    """Bytes that the name of an index may have."""
    batch_size = 64
    options: LoadedOptions

    def __init__(self, options: LoadedOptions, context: Context) -> None:
        self.options = options
        self.context = context
        self.owned: list[Component] = []
        self.embeddings: Embeddings | None = None
        if self.needs_vectors:
            embedder = context.make(EMBEDDERS, options.embedder, self.owned)
            self.embeddings = Embeddings(embedder, context.cache)
        self.loaded = 0
        self._corpus: Corpus | None = None
        self._texts: Texts | None = None
        self._size = 0
        self._ready = False
        self._is_left = False  # closing drops nothing: a load can go on, or nothing is there

    # --- what an engine says ---------------------------------------------------------------------

    @abstractmethod
    def open(self) -> None:
        """Connect; an InputError if there is nothing to connect to."""

    @abstractmethod
    def loading(self) -> Loading | None:
        """Say how far the index `index_name` is; None: there is none."""

    @abstractmethod
    def create(self) -> None:
        """Make an empty index."""

    @abstractmethod
    def add(self, batch: Batch) -> None:
        """Take documents. A batch may come again after it was interrupted."""

    @abstractmethod
    def finish(self) -> None:
        """Make what searching needs of what was loaded, and mark the index as complete."""

    @abstractmethod
    def drop(self) -> None:
        """Take the index away, which is there."""

    def reach(self) -> bool:
        """Open what may hold the index, to drop it; False: there is nothing, and nothing is made.

        It may have been opened to search, or not.
        """
        self.open()
        return True

    @abstractmethod
    def ask(self, asked: Asked, depth: int) -> list[tuple[str, float]]:
        """Answer one query: at most ``depth`` pairs of id and score, more is better.

        What it raises is this query's failure; an InputError ends all of it.
        """

    def ask_stored(self, asked: Asked, depth: int) -> list[tuple[str, float]] | None:  # noqa: ARG002
        """Search all that is stored, as it is stored, without the index that leads to it.

        With the same rescoring as in `ask`. What is missed then is lost to quantisation, the rest
        to the graph or the lists. None: the engine does not let one.
        """
        return None

    def version(self) -> str:
        """Say which version the engine is; empty if it does not say."""
        return ""

    def count(self) -> int | None:
        """Say how many documents it searches; None if it does not say."""
        return None

    def settings(self) -> dict[str, Any]:
        """Say how it searches: the index, its parameters, and what the engine chose itself."""
        return {name: getattr(self.options, name) for name in ("search", *self.build)}

    # --- what is the same for all of them --------------------------------------------------------

    @property
    def needs_vectors(self) -> bool:
        """Whether anything is embedded."""
        return self.options.search != "text"

    @property
    def size(self) -> int:
        """The length of a vector."""
        return self._size

    @property
    def texts(self) -> Texts | None:
        """The documents that are searched: those with text."""
        return self._texts

    def parts(self) -> Sequence[Component]:
        """Return the embedder, if there is one."""
        return [] if self.embeddings is None else [self.embeddings.embedder]

    def index(self, corpus: Corpus) -> None:
        """Take the corpus; the work is done in `prepare`."""
        if corpus is self._corpus:
            return
        texts = Texts.of(corpus, self.options.fields)
        embedder_notes = () if self.embeddings is None else self.embeddings.embedder.notes
        self.notes = (*without_text(texts), *embedder_notes)
        self._corpus, self._texts = corpus, texts
        self._ready = self._is_left = False
        self.__dict__.pop("values", None)
        self.__dict__.pop("content", None)

    @cached_property
    def values(self) -> list[dict[str, list[str]]]:
        """What filters look at, of each document in the order of `texts`."""
        if self._corpus is None or self._texts is None or not self.options.filters:
            return []
        return allowed(self._corpus, self._texts.doc_ids, list(self.options.filters))

    @cached_property
    def content(self) -> str | None:
        """A hash of what is loaded: ids, texts and what filters look at."""
        if self._texts is None:
            return None
        if not self.options.filters:
            return self._texts.snapshot
        return fingerprint(self._texts.snapshot, self.values)

    def identity(self) -> Identity:
        """Say what exactly answers."""
        parameters = self.options.plain()
        for name in ("index", "batch", "drop"):  # these change no answer
            parameters.pop(name, None)
        parameters.pop("embedder", None)
        if self.embeddings is not None:
            parameters["embedder"] = self.embeddings.embedder.described()
        else:
            for name in ("query_prefix", "document_prefix"):
                parameters.pop(name, None)
        return Identity(
            kind=self.kind,
            name=self.name,
            version=", ".join(engine_version(package) for package in self.packages),
            parameters=parameters,
            snapshot=self.content,
        )

    @property
    def is_copy(self) -> bool:
        """Whether the index is one more, built anew to see how much answers vary with it."""
        return self.context.rebuild and self.context.attempt > 0

    @property
    def index_name(self) -> str:
        """What the index is called: the name given, or one that follows from its content.

        A copy of an index called mine is mine-2, mine-3 and so on.
        """
        given = self.options.index
        if given is None or not self.is_copy:
            return given or self.content_name
        name = f"{given}-{self.context.attempt + 1}"
        return name if len(name.encode()) <= self.longest_name else self.content_name

    @property
    def content_name(self) -> str:
        """A name that follows from what the index holds, and how; two of one name are alike."""
        embedder = None if self.embeddings is None else self.embeddings.embedder.described()
        attempt = self.context.attempt if self.is_copy else 0
        shape = {name: getattr(self.options, name) for name in ("search", *self.build)}
        parts = (self.kind, self.content, embedder, self.options.document_prefix, shape, attempt)
        return f"rankscope_{hashlib.sha256(fingerprint(*parts).encode()).hexdigest()[:20]}"

    def prepare(self) -> None:
        """Open the engine, and load what it does not hold yet."""
        if self._ready or self._texts is None:
            return
        began = time.perf_counter()
        self._is_left = True
        with self.speaking("open"):
            self.open()
        if any(text.strip() for text in self._texts.texts):
            with self.speaking("load"):
                self._load(self._texts)
        self._ready, self._is_left = True, False
        self.seconds_indexing = time.perf_counter() - began

    def _load(self, texts: Texts) -> None:
        kept = [at for at, text in enumerate(texts.texts) if text.strip()]
        state = self.loading()
        if self.embeddings is not None:
            self._size = self.embeddings.of([self._embedded_text(texts, kept[0])]).shape[1]
        if state is not None and state.is_complete:
            return
        if state is None:
            self.create()
        start = 0 if state is None else state.documents
        if start:
            log.info("%s: %d of %d documents are loaded already", self.kind, start, len(kept))
        rest = kept[start:]
        vectors = None
        if self.embeddings is not None and rest:
            vectors = self.embeddings.of([self._embedded_text(texts, at) for at in rest])
        for low in range(0, len(rest), self.options.batch):
            chosen = rest[low : low + self.options.batch]
            batch = Batch(
                first=start + low,
                doc_ids=[texts.doc_ids[at] for at in chosen],
                texts=[texts.texts[at] for at in chosen],
                vectors=None if vectors is None else vectors[low : low + len(chosen)],
                values=[self.values[at] if self.values else {} for at in chosen],
            )
            self.add(batch)
            self.loaded += len(chosen)
            report(start + low + len(chosen), len(kept))
        self.finish()

    def _embedded_text(self, texts: Texts, at: int) -> str:
        return self.options.document_prefix + texts.texts[at]

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Ask the engine each query."""
        self.prepare()
        depth = check_depth(depth)
        answers = [Ranking() for _ in queries]
        if self._texts is None or not any(text.strip() for text in self._texts.texts):
            return answers
        chosen = [at for at, query in enumerate(queries) if query.text.strip()]
        for at, asked in zip(chosen, self.asked([queries[at] for at in chosen]), strict=True):
            answers[at] = asked if isinstance(asked, Ranking) else self._answer(*asked, depth)
        return answers

    def asked(self, queries: Sequence[Query]) -> Iterator[Ranking | tuple[Asked, float]]:
        """Yield each query as the engine is asked it, with the seconds that embedding took.

        A query that cannot be embedded is its failure, one whose vector is zero finds nothing.
        """
        began, saved = time.perf_counter(), self._seconds_saved
        vectors, errors = self._query_vectors(queries)
        spent = time.perf_counter() - began + self._seconds_saved - saved
        share = spent / max(len(queries), 1)
        for at, (query, error) in enumerate(zip(queries, errors, strict=True)):
            vector = None if vectors is None else vectors[at]
            if error is not None:
                yield Ranking.failed(error, share)
            elif vector is not None and not vector.any() and self.options.search == "vector":
                yield Ranking(seconds=share)
            else:
                filters = wanted(query, self.options.filters)
                yield Asked(query, query.text, vector, filters), share

    @property
    def _seconds_saved(self) -> float:
        """How long making the embeddings took that were kept, of all queries so far."""
        return 0.0 if self.embeddings is None else self.embeddings.seconds_saved

    def _query_vectors(self, queries: Sequence[Query]) -> tuple[Floats | None, list[str | None]]:
        if self.embeddings is None or not queries:
            return None, [None] * len(queries)
        texts = [self.options.query_prefix + query.text for query in queries]
        return query_vectors(self.embeddings, texts, self._size)

    def _answer(self, asked: Asked, share: float, depth: int) -> Ranking:
        began = time.perf_counter()
        try:
            pairs = self.ask(asked, depth)
            return Ranking.of(pairs, depth, seconds=share + time.perf_counter() - began)
        except RankscopeError:
            raise
        except Exception as error:
            scrub(error, lambda text: without_secrets(text, self))
            log.debug("query %s failed", asked.query.query_id, exc_info=True)
            return Ranking.failed_by(error, share + time.perf_counter() - began)

    def facts(self) -> Sequence[EngineFacts]:
        """Say what the engine says of itself, if it was asked."""
        if not self._ready:
            return ()
        try:
            version, documents = self.version(), self.count()
        except RankscopeError:
            raise
        except Exception as error:  # it was there a moment ago
            problem = without_secrets(sentence(error), self)
            log.info("%s says nothing of itself: %s", self.kind, problem)
            version, documents = "", None
        facts = EngineFacts(
            engine=self.kind,
            version=version,
            documents=documents,
            settings=self.settings(),
            snapshot=self.content,
            loaded=self.loaded,
        )
        return (facts,)

    def close(self) -> None:
        """Give back the connection; an index that is not to be used again is dropped before.

        That is a copy that was searched, and with the option ``drop`` any index of this system,
        also where all answers were kept and nothing was opened. A load that was stopped is left.

        Raises:
            InputError: the index could not be dropped.
        """
        is_dropped = self.options.drop or (self.is_copy and self._ready)
        try:
            if is_dropped and self._texts is not None and not self._is_left:
                self._ready, self._is_left = False, True
                self._take_away()
        finally:
            super().close()

    def _take_away(self) -> None:
        """Drop the index, if there is one; two systems that share it both come here."""
        try:
            with self.speaking("drop"):
                if self.reach() and self.loading() is not None:
                    self.drop()
        except Exception as error:
            reason = str(error) if isinstance(error, RankscopeError) else sentence(error)
            name = shown(self.index_name)
            raise InputError(f"the index {name} could not be dropped: {reason}") from error

    @contextmanager
    def speaking(self, doing: Doing) -> Iterator[None]:
        """Say in one sentence what an engine could not do."""
        try:
            yield
        except RankscopeError:
            raise
        except Exception as error:
            if hasattr(error, "retry_after"):
                raise
            done = f" to the end ({self.loaded:,} documents are; the next run goes on from there)"
            problem = {
                "open": "cannot be opened",
                "load": f"could not be loaded{done if self.loaded else ''}",
                "compare": "could not be asked once more, to compare it with exact search",
                "drop": "could not be asked",
            }[doing]
            raise InputError(f"{self.kind} {problem}: {sentence(error)}") from error
