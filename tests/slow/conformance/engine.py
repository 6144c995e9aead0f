"""A search engine elsewhere, and a system that asks it: what the protocol must bear.

Like an approximate index, the engine finds something for every query, looks at a part of the
documents only, and puts equal scores in another order each time. It wants a key, and can be told to
be busy.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from rankscope import Corpus
from rankscope.retrieval.options import Text
from rankscope.retrieval.protocol import (
    Capabilities,
    Identity,
    Query,
    Ranking,
    RemoteOptions,
    RetryLater,
    Secret,
    System,
    check_depth,
    fingerprint,
    snapshot_of,
)
from rankscope.retrieval.registry import Context, Entry


class Engine:
    """The engine: documents by the name of an index, and what it was asked."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.indexes: dict[str, dict[str, str]] = {}
        self.keys = {"key"}
        self.asked: list[str] = []
        self.busy: list[float] = []
        """For each of the next requests, the seconds it is told to wait."""
        self.numbers = count()

    def answer(self, key: str, index: str, query: str, size: int) -> list[tuple[str, float]]:
        if key not in self.keys:
            raise ConnectionError(f"401: the key {key} is wrong")
        if self.busy:
            raise RetryLater(self.busy.pop())
        self.asked.append(query)
        words = set(query.lower().split())
        scored = [
            (doc_id, len(words & set(text.lower().split())) + 0.5)
            for at, (doc_id, text) in enumerate(self.indexes[index].items())
            if text.strip() and (at % 7 or words & set(text.lower().split()))
        ]
        turn = next(self.numbers) % max(len(scored), 1)
        turned = scored[turn:] + scored[:turn]
        return sorted(turned, key=lambda pair: -pair[1])[:size]


ENGINES: dict[str, Engine] = {}
"""By address."""


class EngineOptions(RemoteOptions):
    """Where the engine is."""

    url: Text
    """The address of the engine."""
    key: Secret
    """The key it asks for."""
    boost: float = 1.0
    """What scores are multiplied with."""


class EngineSystem(System):
    """Asks the engine."""

    batch_size = 4
    capabilities = Capabilities(
        deterministic=False, exact=False, ties="any", concurrent=True, remote=True
    )

    def __init__(self, options: EngineOptions, _: Context) -> None:
        self.options: EngineOptions = options
        self._snapshot, self.notes = snapshot_of(options.snapshot, f"the engine {options.url}")
        self._index = "none"
        self.closed = 0

    def index(self, corpus: Corpus) -> None:
        texts = {
            document.doc_id: f"{document.title} {document.text}" for document in corpus.documents()
        }
        self._index = fingerprint(texts)
        ENGINES[self.options.url].indexes[self._index] = texts

    def identity(self) -> Identity:
        return Identity(
            kind="engine",
            name=self.name,
            version="engine 1",
            parameters=self.options.plain(),
            snapshot=self._snapshot,
        )

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        return [self._answer(query, check_depth(depth)) for query in queries]

    def close(self) -> None:
        super().close()
        self.closed += 1

    def _answer(self, query: Query, depth: int) -> Ranking:
        if not query.text.strip():
            return Ranking()
        key = self.options.key.get_secret_value()
        try:
            pairs = ENGINES[self.options.url].answer(key, self._index, query.text, depth)
        except RetryLater as error:
            return Ranking.failed_by(error)
        scores = tuple(self.options.boost * score for _, score in pairs)
        return Ranking(tuple(doc_id for doc_id, _ in pairs), scores)


ENTRY: Entry[System] = Entry("engine", "a search engine elsewhere", EngineOptions, EngineSystem)
