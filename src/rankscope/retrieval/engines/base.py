"""What every engine is: it embeds queries, asks, times, names itself, and says what went wrong.

`Engine` is a system that asks something which holds documents already; `LoadedEngine` (in
`loaded`) is one that is given the corpus first. An adapter says how the engine is reached and how
it answers one question. Repeating, pauses, rate and time limits are those of
`rankscope.retrieval.fetch`.
"""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, RankscopeError
from rankscope.records.origin import EngineFacts
from rankscope.retrieval.hiding import hidden_in_errors
from rankscope.retrieval.options import RemoteOptions
from rankscope.retrieval.protocol import (
    Capabilities,
    Component,
    Identity,
    Query,
    Ranking,
    System,
    check_depth,
    sentence,
    snapshot_of,
    without_secrets,
)
from rankscope.retrieval.registry import Context, check_engine, engine_version
from rankscope.retrieval.vector.embedders import EMBEDDERS
from rankscope.retrieval.vector.embeddings import Embeddings, query_vectors
from rankscope.runs.order import ranked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]

log = logging.getLogger(__name__)

Pairs = list[tuple[str, float]]
"""Ids of documents and their scores; more is better."""


class EngineOptions(RemoteOptions):
    """What an engine is asked with."""

    embedder: Annotated[Any, EMBEDDERS] = "wordllama"
    """What makes vectors of texts, as in vector; a search for words needs none."""
    query_prefix: str = ""
    """Written before each query that is embedded, where a model asks for it."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One query to an engine: its vector of length 1, and what documents must hold.

    ``filters`` says for each field of documents which texts are allowed: one of them is enough.
    """

    query: Query
    vector: Floats | None
    filters: Mapping[str, list[str]]

    @property
    def text(self) -> str:
        """The text of the query."""
        return self.query.text

    @property
    def has_direction(self) -> bool:
        """Whether the vector can be compared with others."""
        return self.vector is not None and bool(self.vector.any())


class Engine(System):
    """Something that holds documents and is asked for them.

    A subclass sets ``kind``, ``packages`` (what it computes with) and ``module`` (what must be
    installed, by the extra of the same name as the kind).
    """

    kind: ClassVar[str]
    module: ClassVar[str | None] = None
    batch_size = 16
    options: EngineOptions

    def __init__(self, options: Any, context: Context) -> None:
        if self.module is not None:
            check_engine(self.module, **self.package)
        self.options = options
        self.context = context
        self.owned: list[Component] = []
        self.embeddings: Embeddings | None = None
        self.size = 0
        self._ready = False
        promised = Capabilities()
        if self.needs_vectors:
            embedder = context.make(EMBEDDERS, options.embedder, self.owned)
            self.embeddings = Embeddings(embedder, context.cache)
            promised = embedder.capabilities
        self.capabilities = Capabilities(
            deterministic=self.is_exact and promised.deterministic,
            exact=self.is_exact and promised.exact,
            ties="trec",
            concurrent=True,  # embeddings are made one call at a time
            remote=self.is_remote or promised.remote,
        )

    # --- what an adapter says --------------------------------------------------------------------

    @property
    def is_exact(self) -> bool:
        """Whether no document is missed, so that every answer is the same each time."""
        return False

    @property
    def is_remote(self) -> bool:
        """Whether it is asked over the network."""
        return True

    @abstractmethod
    def connect(self) -> None:
        """Reach the engine; an InputError if there is nothing to reach."""

    def disconnect(self) -> None:
        """Give back what was opened; may be called more than once."""

    def attach(self) -> int | None:
        """Find what is searched; return the length of its vectors, if it says that."""
        return None

    @abstractmethod
    def ask(self, question: Question, depth: int) -> Pairs:
        """Answer one question that can find something: at most ``depth`` documents.

        What it raises is this query's failure; an InputError ends all of it.
        """

    def translated(self, error: Exception) -> Exception:
        """Return an error of the engine's client as one that says what is wrong in a sentence.

        An InputError is one that no other query would be spared.
        """
        return error

    def version(self) -> str:
        """Say which version the engine is; empty if it does not say."""
        return ""

    def count(self) -> int | None:
        """Say how many documents it searches; None if it does not say."""
        return None

    def settings(self) -> dict[str, Any]:
        """Say how it searches, for the record."""
        return {}

    def parameters(self) -> dict[str, Any]:
        """Return what of the options changes answers, for the identity; no secret is in it."""
        unused = {"snapshot", "embedder", "query_prefix", "verify"}
        return {name: value for name, value in self.options.plain().items() if name not in unused}

    # --- what is the same for all of them --------------------------------------------------------

    @property
    def package(self) -> dict[str, str]:
        """What `registry.engine` is told of the package that is needed."""
        return {
            "package": self.packages[0],
            "needed_for": f"the system {self.kind}",
            "extra": self.kind,
        }

    @property
    def needs_vectors(self) -> bool:
        """Whether anything is embedded."""
        return True

    @property
    def needs_direction(self) -> bool:
        """Whether a query without a direction finds nothing."""
        return self.needs_vectors

    @property
    def is_attached(self) -> bool:
        """Whether something is searched that is there already."""
        return True

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to search."""
        return False

    @property
    def source(self) -> str:
        """What messages call what is searched."""
        return self.kind

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What a user should know of the answers, and of what makes the vectors."""
        notes = self.remarks()
        if self.is_attached:
            notes = (*snapshot_of(self.options.snapshot, f"{self.kind}: {self.source}")[1], *notes)
        return (*notes, *(note for part in self.parts() for note in part.notes))

    def remarks(self) -> tuple[str, ...]:
        """Return what a user should know of this engine."""
        return ()

    def parts(self) -> Sequence[Component]:
        """Return the embedder, if there is one."""
        return [] if self.embeddings is None else [self.embeddings.embedder]

    def index(self, corpus: Corpus) -> None:
        """Do nothing: what is searched is there already."""

    def snapshot(self) -> str | None:
        """Return what stands for the documents that are searched."""
        return snapshot_of(self.options.snapshot, "")[0]

    def identity(self) -> Identity:
        """Say what exactly answers."""
        parameters = self.parameters()
        if self.embeddings is not None:
            parameters["embedder"] = self.embeddings.embedder.described()
            parameters["query_prefix"] = self.options.query_prefix
        return Identity(
            kind=self.kind,
            name=self.name,
            version=", ".join(engine_version(package) for package in self.packages),
            parameters=parameters,
            snapshot=self.snapshot(),
        )

    def prepare(self) -> None:
        """Reach the engine, and find what is searched."""
        if self._ready:
            return
        began = time.perf_counter()
        with self.speaking("be used"):
            self.connect()
            self.take()
        self._ready = True
        self.seconds_indexing = time.perf_counter() - began

    def take(self) -> None:
        """Find what is searched, and make sure that the embedder fits it."""
        size = self.attach()
        if self.embeddings is None:
            return
        made = self.embeddings.of([f"{self.options.query_prefix}text"]).shape[1]
        if size not in (None, made):
            raise InputError(
                f"{self.source} has vectors of length {size}, and the embedder "
                f"{self.embeddings.embedder.name} makes vectors of length {made}; name the "
                "embedder that made them"
            )
        self.size = made

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Ask the engine each query."""
        depth = check_depth(depth)
        answers = [Ranking() for _ in queries]
        chosen = [at for at, query in enumerate(queries) if query.text.strip()]
        if not chosen or self.is_empty:
            return answers
        self.prepare()
        questions = self.questions([queries[at] for at in chosen])
        for at, (question, seconds) in zip(chosen, questions, strict=True):
            if isinstance(question, str):
                answers[at] = Ranking.failed(question, seconds)
            else:
                answers[at] = self._answer(question, depth, seconds)
        return answers

    def questions(self, queries: Sequence[Query]) -> Iterator[tuple[Question | str, float]]:
        """Yield each query as the engine is asked it, or why not, and what embedding it took.

        Embeddings that were kept took what making them had taken.
        """
        began, saved = time.perf_counter(), 0.0
        vectors: Floats | None = None
        errors: list[str | None] = [None] * len(queries)
        if self.embeddings is not None:
            saved = -self.embeddings.seconds_saved
            texts = [self.options.query_prefix + query.text for query in queries]
            vectors, errors = query_vectors(self.embeddings, texts, self.size)
            saved += self.embeddings.seconds_saved
        share = (time.perf_counter() - began + saved) / len(queries)
        for at, (query, error) in enumerate(zip(queries, errors, strict=True)):
            vector = None if vectors is None else vectors[at]
            yield error or Question(query, vector, self.filters_of(query)), share

    def filters_of(self, query: Query) -> dict[str, list[str]]:  # noqa: ARG002
        """Return, for each field of documents, the texts that a query allows."""
        return {}

    def _answer(self, question: Question, depth: int, share: float) -> Ranking:
        is_lost = self.needs_direction and not question.has_direction
        if is_lost or not all(question.filters.values()):  # a list of allowed texts without one
            return Ranking(seconds=share)
        began = time.perf_counter()
        try:
            pairs = self.ask(question, depth)
            return Ranking.of(pairs, depth, seconds=share + time.perf_counter() - began)
        except Exception as caught:
            error = self.translated(caught)
            if isinstance(error, RankscopeError):
                raise error from None
            answer = Ranking.failed_by(error, share + time.perf_counter() - began)
            problem = self._hidden(answer.error or "")
            log.debug("query %s failed: %s", question.query.query_id, problem)
            return replace(answer, error=problem)

    def _hidden(self, text: str) -> str:
        """Take the secrets of the options out of a text."""
        return without_secrets(text, self)

    def facts(self) -> Sequence[EngineFacts]:
        """Say what the engine says of itself, if it was asked."""
        if not self._ready:
            return ()
        version, documents, settings = "", None, {}
        try:
            version, documents, settings = self.version(), self.count(), self.settings()
        except Exception as error:  # it was there a moment ago
            problem = self._hidden(sentence(self.translated(error)))
            log.info("%s says nothing of itself: %s", self.kind, problem)
        facts = EngineFacts(
            engine=self.kind,
            version=version,
            documents=documents,
            settings=settings,
            snapshot=self.recorded_snapshot(),
        )
        return (facts,)

    def recorded_snapshot(self) -> str | None:
        """Return what the user states of the documents that are searched."""
        return self.options.snapshot

    def close(self) -> None:
        """Give back the connection."""
        try:
            super().close()
        finally:
            self._ready = False
            self.disconnect()

    @contextmanager
    def speaking(self, doing: str) -> Iterator[None]:
        """Say in one sentence what could not be done, such as ``be used``."""
        with hidden_in_errors(self._hidden):
            try:
                yield
            except Exception as caught:
                error = self.translated(caught)
                if isinstance(error, RankscopeError) or hasattr(error, "retry_after"):
                    raise error from None
                problem = Ranking.failed_by(error).error
                raise InputError(f"{self.kind} could not {doing}: {problem}") from error


def ties_at_cut(ask: Callable[[int], Pairs], depth: int) -> Pairs:
    """Return the best ``depth`` documents, those of equal score by id from high to low.

    ``ask`` returns so many documents at most, best first. It is asked for more until a score falls,
    or there are no more; then which documents are in the top does not depend on the engine.

    >>> ties_at_cut(lambda limit: [("a", 2.0), ("b", 1.0), ("c", 1.0), ("d", 0.5)][:limit], 2)
    [('a', 2.0), ('c', 1.0)]
    """
    limit = depth + 16
    while True:
        pairs = ask(limit)
        if len(pairs) < limit or pairs[-1][1] < pairs[depth - 1][1]:
            return ranked(pairs)[:depth]
        limit *= 4
