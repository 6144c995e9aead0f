"""Engines that are given the corpus, or search what the user has in them already.

What is made has a name that follows from its content, so that what is there under that name is what
is wanted. A load that was stopped begins again: an index counts as there only when it is complete.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

from pydantic import Field, model_validator

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, counted
from rankscope.records.origin import EngineFacts
from rankscope.retrieval.engines.base import Engine, EngineOptions, Pairs, Question
from rankscope.retrieval.engines.filters import Filters, allowed, wanted
from rankscope.retrieval.options import SpecError
from rankscope.retrieval.protocol import Query, Ranking, fingerprint
from rankscope.retrieval.registry import Context
from rankscope.retrieval.texts import Fields, Texts, field_text, without_text
from rankscope.retrieval.web import WebError

if TYPE_CHECKING:
    from rankscope.retrieval.engines.base import Floats

Answer = TypeVar("Answer")

Way = Literal["text", "vector"]
"""How an engine searches: by words or by vectors; `fuse` puts two systems together."""

ATTEMPTS = 4
"""How often documents are sent to a server before loading is given up."""

LONGEST = 60.0
"""A server that asks to wait longer than this many seconds is not waited for while loading."""


class LoadedOptions(EngineOptions):
    """What an engine is given, and how it searches."""

    search: Way = "text"
    """text: words are searched; vector: vectors are compared."""
    fields: Fields | None = None
    """What is searched, as in bm25. If not given, title and text, under whatever name the corpus
    has them."""
    document_prefix: str = ""
    """Written before each document that is embedded."""
    filters: Filters = Field(default_factory=dict)
    """Which documents a query may find: a field of documents and the metadata of queries that it
    must equal, as in {language: lang}. A query without that metadata finds any."""
    create: dict[str, Any] = Field(default_factory=dict)
    """How the index is made, in the engine's own words."""
    params: dict[str, Any] = Field(default_factory=dict)
    """How it is searched, in the engine's own words."""
    batch: int = Field(default=1024, ge=1, le=100_000)
    """How many documents are sent at once."""
    drop: bool = False
    """Whether the index is taken away when the system is closed, also one that an earlier run left;
    if not, it is used again."""

    @property
    def is_attached(self) -> bool:
        """Whether something is searched that is there already."""
        return False

    @model_validator(mode="after")
    def _all_used(self) -> Self:
        """Refuse what would do nothing: a sweep over it would compare equal systems."""
        given = self.model_fields_set
        if self.search == "text":
            for name in {"embedder", "query_prefix", "document_prefix"} & given:
                raise SpecError(f"{name} is for search: vector; leave it out", (name,))
        if not self.is_attached and self.snapshot is not None:
            problem = "snapshot is about what is there already; what is loaded is known by content"
            raise SpecError(problem, ("snapshot",))
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Documents to load, in the order of ids from high to low by bytes.

    ``first`` is the position of the first among all, ``fields`` the texts of each field that is
    searched (one, with all of the text, if none are named). ``vectors`` has a row for each
    document, which is zero where a text has no direction; None: nothing is embedded. ``values`` are
    those that filters look at: for each document, the texts that each field holds.
    """

    first: int
    doc_ids: list[str]
    texts: list[str]
    fields: list[list[str]]
    vectors: Floats | None
    values: list[dict[str, list[str]]]

    def __len__(self) -> int:
        return len(self.doc_ids)


class LoadedEngine(Engine):
    """An engine that holds the corpus, or searches what is there already.

    ``texts`` are the documents that are loaded: those that have a text. ``places`` are names, which
    any engine takes, for the fields that filters look at.
    """

    repeats: ClassVar[bool] = False
    """Whether a batch that failed may be sent again."""
    options: LoadedOptions

    def __init__(self, options: Any, context: Context) -> None:
        super().__init__(options, context)
        self.loaded = 0
        self.texts: Texts | None = None
        self.values: list[dict[str, list[str]]] = []
        self.content: str | None = None
        self.places = {name: f"f{at}" for at, name in enumerate(sorted(options.filters))}
        self._corpus: Corpus | None = None
        self._without_text: tuple[str, ...] = ()
        self._short: set[str] = set()

    # --- what an adapter says --------------------------------------------------------------------

    @abstractmethod
    def is_loaded(self) -> bool:
        """Tell whether the index is there, and complete."""

    @abstractmethod
    def create(self) -> None:
        """Make an empty index, also where one was left half loaded."""

    @abstractmethod
    def add(self, batch: Batch) -> None:
        """Take documents."""

    def finish(self) -> None:
        """Make what searching needs of what was loaded, and let the index be complete."""

    @abstractmethod
    def drop(self) -> None:
        """Take the index away, if it is there; no half of one is left, either."""

    def exists(self) -> bool:
        """Tell whether there is a place that may hold the index; nothing is made to find out."""
        return True

    def ask_stored(self, question: Question, depth: int) -> Pairs | None:  # noqa: ARG002
        """Search all that is stored, as it is stored, without the index that leads to it.

        What is missed then is lost to quantisation, the rest to the graph or the lists. None: the
        engine does not let one.
        """
        return None

    # --- the corpus ------------------------------------------------------------------------------

    @property
    def is_attached(self) -> bool:
        """Whether something is searched that is there already."""
        return self.options.is_attached

    @property
    def needs_vectors(self) -> bool:
        """Whether anything is embedded."""
        return self.options.search == "vector"

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to search: a corpus without any text."""
        return not (self.is_attached or self.doc_ids)

    @property
    def source(self) -> str:
        """What messages call what is searched."""
        return f"the index {self.index_name}"

    @property
    def doc_ids(self) -> list[str]:
        """The documents that are loaded, by id from high to low."""
        return [] if self.texts is None else self.texts.doc_ids

    def index(self, corpus: Corpus) -> None:
        """Take the corpus; the work is done in `prepare`."""
        if self.is_attached or corpus is self._corpus:
            return
        texts = Texts.of(corpus, self.options.fields)
        self._without_text = without_text(texts)
        self.texts, self.content, self.values = texts.searchable(), texts.snapshot, []
        if self.options.filters:
            self.values = allowed(corpus, self.doc_ids, list(self.options.filters))
            self.content = fingerprint(texts.snapshot, self.values)
        self._corpus, self._ready = corpus, False

    def filters_of(self, query: Query) -> dict[str, list[str]]:
        """Return, for each field of documents, the texts that a query allows."""
        return wanted(query, self.options.filters)

    # --- identity --------------------------------------------------------------------------------

    def snapshot(self) -> str | None:
        """Return what stands for the documents: their hash, or what the user states."""
        return super().snapshot() if self.is_attached else self.content

    def recorded_snapshot(self) -> str | None:
        """Return the hash of what was loaded, or what the user states."""
        return self.options.snapshot if self.is_attached else self.content

    def parameters(self) -> dict[str, Any]:
        """Return what of the options changes answers; the same content anywhere is the same."""
        unused = {"batch", "drop"}
        unused |= set() if self.is_attached else {"path"}
        unused |= set() if self.needs_vectors else {"document_prefix"}
        return {name: value for name, value in super().parameters().items() if name not in unused}

    def shape(self) -> dict[str, Any]:
        """Return the options that shape what is stored; they are part of the index's name."""
        return {name: getattr(self.options, name) for name in ("search", "fields", "create")}

    def settings(self) -> dict[str, Any]:
        """Say how it searches: what shapes the index, and what shapes a search."""
        settings = {**self.shape(), "params": self.options.params}
        return {name: value for name, value in settings.items() if value not in (None, {})}

    @property
    def is_copy(self) -> bool:
        """Whether the index is one more, built anew to see how much answers vary with it."""
        return self.context.rebuild and self.context.attempt > 0

    @property
    def index_name(self) -> str:
        """A name that follows from what the index holds, and how; two of one name are alike."""
        embedder = None if self.embeddings is None else self.embeddings.embedder.described()
        attempt = self.context.attempt if self.is_copy else 0
        prefix = self.options.document_prefix
        key = fingerprint(self.kind, self.content, embedder, prefix, self.shape(), attempt)
        return f"rankscope_{key[:20]}"

    # --- loading ---------------------------------------------------------------------------------

    def take(self) -> None:
        """Load what the engine does not hold yet, or find what is there."""
        if self.is_attached:
            super().take()
        elif not self.is_empty:
            with self.speaking("be loaded"):
                self._load()

    def _load(self) -> None:
        if self.embeddings is not None:
            self.size = self.embeddings.of(self._embedded(0, 1)).shape[1]
        if self._patiently(self.is_loaded):
            return
        self._patiently(self.create)
        if self._patiently(self.is_loaded):  # another process was faster
            return
        vectors, fields, documents = self.vectors(), self._field_texts(), len(self.doc_ids)
        for low in range(0, documents, self.options.batch):
            batch = self._batch(low, vectors, fields)
            self._patiently(lambda batch=batch: self.add(batch))  # type: ignore[misc]
            self.loaded += len(batch)
            self.work.report(low + len(batch), documents)
        self._patiently(self.finish)
        if not self._patiently(self.is_loaded):
            raise InputError(f"{self.source} was changed by others while it was loaded; run again")

    def _patiently(self, call: Callable[[], Answer]) -> Answer:
        """Call until it works, a few times, where the engine lets one and it may help."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return call()
            except Exception as caught:
                error = self.translated(caught)
                wait = getattr(error, "retry_after", None) or 0.25 * 2**attempt
                may_repeat = isinstance(error, WebError) and error.may_repeat
                if not (self.repeats and may_repeat) or wait > LONGEST or attempt == ATTEMPTS:
                    raise error from None
                self.work.sleep(wait * random.uniform(1, 1.25))  # not all at once
        raise AssertionError("unreachable")

    def vectors(self) -> Floats | None:
        """Return the vectors of all documents that are loaded; None: nothing is embedded."""
        if self.embeddings is None:
            return None
        return self.embeddings.of(self._embedded(0, len(self.doc_ids)))

    def _embedded(self, low: int, high: int) -> list[str]:
        """Return the texts of documents as they are embedded."""
        assert self.texts is not None
        return [self.options.document_prefix + text for text in self.texts.texts[low:high]]

    def _field_texts(self) -> list[list[str]]:
        """Return the text of each named field, of each document that is loaded."""
        if self.needs_vectors or self.options.fields is None or self._corpus is None:
            return []
        rows = {doc_id: row for row, doc_id in enumerate(self._corpus.ids)}
        places = [rows[doc_id] for doc_id in self.doc_ids]
        columns = ((name, self._corpus.field(name)) for name in self.options.fields)
        return [[field_text(name, column[row]) for row in places] for name, column in columns]

    @property
    def weights(self) -> list[int]:
        """How much each field of a batch counts."""
        return list((self.options.fields or {"": 1}).values())

    def _batch(self, low: int, vectors: Floats | None, fields: list[list[str]]) -> Batch:
        assert self.texts is not None
        high = min(low + self.options.batch, len(self.doc_ids))
        texts = self.texts.texts[low:high]
        return Batch(
            first=low,
            doc_ids=self.doc_ids[low:high],
            texts=texts,
            fields=[column[low:high] for column in fields] or [texts],
            vectors=None if vectors is None else vectors[low:high],
            values=self.values[low:high] or [{}] * (high - low),
        )

    # --- searching -------------------------------------------------------------------------------

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Ask the engine each query, and note which an approximate index cut short."""
        answers = super().search(queries, depth)
        may_miss = self.needs_vectors and not self.capabilities.exact
        if may_miss and not self.is_attached and not self.options.filters:
            least = min(depth, len(self.doc_ids) // 2)
            pairs = zip(queries, answers, strict=True)
            short = {query.query_id for query, answer in pairs if 0 < len(answer.doc_ids) < least}
            self._short |= short
        return answers

    def remarks(self) -> tuple[str, ...]:
        """Say which documents cannot be found, and how many answers were cut short."""
        if not self._short:
            return self._without_text
        text = (
            f"{counted(len(self._short), 'query')} got fewer documents than were asked for; an "
            "index that is approximate gives more if its params are raised"
        )
        return (*self._without_text, text)

    def facts(self) -> Sequence[EngineFacts]:
        """Say what the engine says of itself, and how many documents it was sent."""
        return [fact.model_copy(update={"loaded": self.loaded}) for fact in super().facts()]

    # --- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Give back the connection; an index that is not to be used again is dropped before.

        That is a copy that was searched, and with the option ``drop`` any index of this system,
        also where all answers were kept and nothing was opened.

        Raises:
            InputError: the index could not be dropped.
        """
        is_dropped = self.options.drop or (self.is_copy and self._ready)
        try:
            if is_dropped and not self.is_attached and not self.is_empty:
                self._take_away()
                self.texts = self._corpus = None
        finally:
            super().close()

    def _take_away(self) -> None:
        """Drop the index, if there may be one; two systems that share it both come here."""
        try:
            with self.speaking("be asked"):
                if self.exists():
                    if not self._ready:
                        self.connect()
                    self.drop()
        except Exception as error:
            reason = f"the index {self.index_name} could not be dropped: {error}"
            raise InputError(reason) from error
