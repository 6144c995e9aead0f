"""Stages: systems over another system, which they ask and whose answers they may change."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any, ClassVar

from rankscope.collection.corpus import Corpus
from rankscope.retrieval.answers import query_key
from rankscope.retrieval.protocol import (
    Capabilities,
    Component,
    Identity,
    Query,
    Ranking,
    System,
)
from rankscope.retrieval.registry import SYSTEMS, Context, StageOptions


class Part(Component):
    """What a stage works with: a rewriter, a reranker."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Say what it does, as plain data, for an identity."""


class Stage(System):
    """A system over one other, ``inner``, by means of a part; it can do what both can.

    It takes batches as the system below likes them.
    """

    kind: ClassVar[str]
    """The name of the stage."""

    def __init__(self, options: StageOptions, context: Context) -> None:
        self.options: StageOptions = options
        self.owned: list[Component] = []
        self.inner = context.make(SYSTEMS, options.of, self.owned)
        self.part: Part = context.make(options.parts_by_name, options.part, self.owned)
        self.batch_size = self.inner.batch_size
        self.capabilities = Capabilities.of(
            self.inner, self.part, ties=self.inner.capabilities.ties
        )
        self.trained = self.inner.trained or self.part.trained

    def parts(self) -> Sequence[Component]:
        """Return the system below, and the part."""
        return [self.inner, self.part]

    def index(self, corpus: Corpus) -> None:
        """Hand the corpus down."""
        self.inner.index(corpus)
        self.notes = notes_of(self.parts())

    def prepare(self) -> None:
        """Prepare the system below."""
        self.inner.prepare()
        self.seconds_indexing = self.inner.seconds_indexing
        self.notes = notes_of(self.parts())

    def identity(self) -> Identity:
        """Say what exactly answers."""
        inner, options = self.inner.identity(), self.options
        names = (*type(options).parts_by_name.names(), "of")
        stated = {name: value for name, value in options.plain().items() if name not in names}
        return Identity(
            kind=self.kind,
            name=self.name,
            version=inner.version,
            parameters={
                "of": inner.key,
                **stated,
                options.parts_by_name.noun: self.part.described(),
            },
            snapshot=inner.snapshot,
        )


def notes_of(components: Sequence[Component]) -> tuple[str, ...]:
    """Return the notes of several components, each once."""
    return tuple(dict.fromkeys(note for component in components for note in component.notes))


class Memory:
    """Answers of systems that several stages ask the same, as long as they are few enough.

    A benchmark makes one, so that a fusion, a trained one and a reranker over the same systems do
    not search three times. It holds answers by the system's identity, the depth and the query, with
    the seconds that they took, and forgets the oldest.
    """

    def __init__(self, documents: int = 2_000_000) -> None:
        self._left = documents
        self._rankings: OrderedDict[tuple[str, int, str], Ranking] = OrderedDict()
        self._lock = Lock()

    def get(self, key: tuple[str, int, str]) -> Ranking | None:
        """Return an answer, if it is known."""
        with self._lock:
            return self._rankings.get(key)

    def add(self, key: tuple[str, int, str], ranking: Ranking) -> None:
        """Take an answer, and forget others if there are too many documents."""
        with self._lock:
            if key not in self._rankings:
                self._rankings[key] = ranking
                self._left -= len(ranking.doc_ids)
            while self._left < 0:
                _, oldest = self._rankings.popitem(last=False)
                self._left += len(oldest.doc_ids)


def ask(
    system: System, queries: Sequence[Query], depth: int, memory: Memory | None
) -> list[Ranking]:
    """Search, for a stage above; what another stage asked before is not asked again."""
    if memory is None or not system.capabilities.deterministic:
        return system.search(queries, depth)
    identity = system.identity().key
    keys = [(identity, depth, query_key(query)) for query in queries]
    known = {at: ranking for at, key in enumerate(keys) if (ranking := memory.get(key))}
    missing = [at for at in range(len(queries)) if at not in known]
    if missing:
        answers = system.search([queries[at] for at in missing], depth)
        for at, ranking in zip(missing, answers, strict=True):
            known[at] = ranking
            if ranking.error is None:
                memory.add(keys[at], ranking)
    return [known[at] for at in range(len(queries))]
