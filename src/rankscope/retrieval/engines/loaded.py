"""Engines that are given the corpus, or search what the user has in them already.

What is made has a name that follows from its content, so that what is there under that name is what
is wanted. A load that was stopped begins again: an index counts as there only when it is complete.
"""

from __future__ import annotations

import hashlib
import random
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

from pydantic import Field, model_validator

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, counted
from rankscope.records.origin import EngineFacts
from rankscope.retrieval.engines.base import Engine, EngineOptions, Question
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

    ``first`` is the position of the first among all. ``vectors`` has a row for each document, which
    is zero where a text has no direction; None: nothing is embedded. ``values`` are those that
    filters look at: for each document, the texts that each field holds.
    """

    first: int
    doc_ids: list[str]
    texts: list[str]
    vectors: Floats | None
    values: list[dict[str, list[str]]]

    def __len__(self) -> int:
        return len(self.doc_ids)


class LoadedEngine(Engine):
    """An engine that holds the corpus, or searches what is there already."""

    repeats: ClassVar[bool] = False
    """Whether a batch that failed may be sent again."""
    remarks: tuple[str, ...] = ()
    """What a user should know of how the engine is asked."""
    options: LoadedOptions

    def __init__(self, options: Any, context: Context) -> None:
        super().__init__(options, context)
        self.loaded = 0
        self.texts: Texts | None = None
        self._corpus: Corpus | None = None
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

    @abstractmethod
    def finish(self) -> None:
        """Make what searching needs of what was loaded, and let the index be complete."""

    @abstractmethod
    def drop(self) -> None:
        """Take the index away, if it is there; no half of one is left, either."""

    def exists(self) -> bool:
        """Tell whether there is a place that may hold the index; nothing is made to find out."""
        return True

    def ask_stored(self, question: Question, depth: int) -> list[tuple[str, float]] | None:  # noqa: ARG002
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
    def source(self) -> str:
        """What messages call what is searched."""
        return f"the index {self.index_name}"

    def index(self, corpus: Corpus) -> None:
        """Take the corpus; the work is done in `prepare`."""
        if not self.is_attached and corpus is not self._corpus:
            self.texts, self._corpus = Texts.of(corpus, self.options.fields), corpus
            embedder = (note for part in self.parts() for note in part.notes)
            self.notes = (*without_text(self.texts), *embedder, *self.remarks)
            self._ready = False
            for name in ("kept", "values", "content", "_columns"):
                self.__dict__.pop(name, None)

    @cached_property
    def kept(self) -> list[int]:
        """Where documents with text are among `texts`; they are what is loaded."""
        texts = self.texts
        return [] if texts is None else [at for at, text in enumerate(texts.texts) if text.strip()]

    @cached_property
    def values(self) -> list[dict[str, list[str]]]:
        """What filters look at, of each document that is loaded."""
        if self._corpus is None or self.texts is None or not self.options.filters:
            return [{} for _ in self.kept]
        doc_ids = [self.texts.doc_ids[at] for at in self.kept]
        return allowed(self._corpus, doc_ids, list(self.options.filters))

    @cached_property
    def content(self) -> str | None:
        """A hash of what is loaded: ids, texts and what filters look at."""
        if self.texts is None or not self.options.filters:
            return None if self.texts is None else self.texts.snapshot
        return fingerprint(self.texts.snapshot, self.values)

    @property
    def weights(self) -> list[int]:
        """How much each field counts."""
        return list((self.options.fields or {"": 1}).values())

    @cached_property
    def _columns(self) -> list[list[str]]:
        """The text of each field, of each document that is loaded."""
        corpus, texts = self._corpus, self.texts
        assert corpus is not None
        assert texts is not None
        rows = {doc_id: row for row, doc_id in enumerate(corpus.ids)}
        kept = [rows[texts.doc_ids[at]] for at in self.kept]
        columns = ((name, corpus.field(name)) for name in self.options.fields or ())
        return [[field_text(name, column[row]) for row in kept] for name, column in columns]

    def field_texts(self, batch: Batch) -> list[list[str]]:
        """Return the texts of each field; without fields, all of the text as one."""
        if self.options.fields is None:
            return [batch.texts]
        return [column[batch.first : batch.first + len(batch)] for column in self._columns]

    def filters_of(self, query: Query) -> dict[str, list[str]]:
        """Return, for each field of documents, the texts that a query allows."""
        return wanted(query, self.options.filters)

    # --- identity --------------------------------------------------------------------------------

    def snapshot(self) -> str | None:
        """Return what stands for the documents: their hash, or what the user states."""
        return super().snapshot() if self.is_attached else self.content

    def parameters(self) -> dict[str, Any]:
        """Return what of the options changes answers; the same content anywhere is the same."""
        parameters = super().parameters()
        unused = ["batch", "drop", *(() if self.is_attached else ("path",))]
        unused += [] if self.needs_vectors else ["document_prefix"]
        return {name: value for name, value in parameters.items() if name not in unused}

    def shape(self) -> dict[str, Any]:
        """Return the options that shape what is stored; they are part of the index's name."""
        return {name: getattr(self.options, name) for name in ("search", "fields", "create")}

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
        parts = (self.kind, self.content, embedder, prefix, self.shape(), attempt)
        return f"rankscope_{hashlib.sha256(fingerprint(*parts).encode()).hexdigest()[:20]}"

    # --- loading ---------------------------------------------------------------------------------

    def take(self) -> None:
        """Load what the engine does not hold yet, or find what is there."""
        if self.is_attached:
            super().take()
        elif self.kept:
            with self.speaking("be loaded"):
                self._load()

    def _load(self) -> None:
        if self.embeddings is not None:
            self.size = self.embeddings.of(self.embedded([self.kept[0]])).shape[1]
        if self._patiently(self.is_loaded):
            return
        self._patiently(self.create)
        if self._patiently(self.is_loaded):  # another process was faster
            return
        vectors = None if self.embeddings is None else self.embeddings.of(self.embedded(self.kept))
        for low in range(0, len(self.kept), self.options.batch):
            batch = self._batch(low, vectors)
            self._patiently(lambda batch=batch: self.add(batch))  # type: ignore[misc]
            self.loaded += len(batch)
            self.work.report(low + len(batch), len(self.kept))
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

    def embedded(self, places: Sequence[int]) -> list[str]:
        """Return the texts of documents as they are embedded."""
        assert self.texts is not None
        return [self.options.document_prefix + self.texts.texts[at] for at in places]

    def _batch(self, low: int, vectors: Floats | None) -> Batch:
        assert self.texts is not None
        chosen = self.kept[low : low + self.options.batch]
        high = low + len(chosen)
        return Batch(
            first=low,
            doc_ids=[self.texts.doc_ids[at] for at in chosen],
            texts=[self.texts.texts[at] for at in chosen],
            vectors=None if vectors is None else vectors[low:high],
            values=self.values[low:high],
        )

    # --- searching -------------------------------------------------------------------------------

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Ask the engine each query; a corpus without any text has no answers."""
        if not self.is_attached and not self.kept:
            return super().search([Query(query.query_id, "") for query in queries], depth)
        answers = super().search(queries, depth)
        may_miss = self.needs_vectors and not self.capabilities.exact
        if may_miss and not self.is_attached and not self.options.filters:
            self._note_short(queries, answers, min(depth, len(self.kept) // 2))
        return answers

    def _note_short(
        self, queries: Sequence[Query], answers: Sequence[Ranking], wanted: int
    ) -> None:
        """Say how many answers an approximate index cut short."""
        asked = zip(queries, answers, strict=True)
        self._short |= {
            query.query_id for query, answer in asked if 0 < len(answer.doc_ids) < wanted
        }
        if self._short:
            notes = [note for note in self.notes if not note.endswith(_MORE)]
            count = counted(len(self._short), "query")
            self.notes = (*notes, f"{count} got fewer documents than were asked for; {_MORE}")

    def facts(self) -> Sequence[EngineFacts]:
        """Say what the engine says of itself, and how many documents it was sent."""
        return [fact.model_copy(update={"loaded": self.loaded}) for fact in super().facts()]

    def recorded_snapshot(self) -> str | None:
        """Return the hash of what was loaded, or what the user states."""
        return self.options.snapshot if self.is_attached else self.content

    def settings(self) -> dict[str, Any]:
        """Say how it searches: what shapes the index, and what shapes a search."""
        settings = {**self.shape(), "params": self.options.params}
        return {name: value for name, value in settings.items() if value not in (None, {})}

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
            if is_dropped and not self.is_attached and self.kept:
                self._take_away()
                self.texts = self._corpus = None
                self.__dict__.pop("kept", None)
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


_MORE = "an index that is approximate gives more if its params are raised"
