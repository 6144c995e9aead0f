"""What all engines share: loading, resume, filters, facts; and recall against exact search."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from rankscope import Corpus
from rankscope.errors import InputError
from rankscope.records.origin import EngineFacts
from rankscope.retrieval.cache_entries import is_whole
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.progress import watched
from rankscope.retrieval.protocol import Capabilities, Query
from rankscope.retrieval.registry import Context
from rankscope.retrieval.remote.compared_exactly import Compared, approximate, exactness
from rankscope.retrieval.remote.filters import passes
from rankscope.retrieval.remote.loaded_engine import (
    Asked,
    Batch,
    LoadedEngine,
    LoadedOptions,
    Loading,
)


class ShelfOptions(LoadedOptions):
    """An engine in this process."""

    lists: int = 1
    """How the index is built."""
    probes: int = 1
    """How much of it is searched."""


SHELVES: dict[str, dict[str, Any]] = {}
"""What is stored, by the name of an index: as a server would keep it."""


class Shelf(LoadedEngine):
    """Keeps documents in a dict; searches a part of them, with vectors rounded to one digit."""

    kind = "shelf"
    build = ("lists",)
    capabilities = Capabilities(deterministic=False, exact=False)
    options: ShelfOptions
    breaks_at: ClassVar[int | None] = None

    def open(self) -> None:
        pass

    def loading(self) -> Loading | None:
        shelf = SHELVES.get(self.index_name)
        return None if shelf is None else Loading(len(shelf["rows"]), shelf["complete"])

    def create(self) -> None:
        SHELVES[self.index_name] = {"rows": [], "complete": False}

    def add(self, batch: Batch) -> None:
        rows = SHELVES[self.index_name]["rows"]
        if self.breaks_at is not None and batch.first >= self.breaks_at:
            raise ConnectionError("the engine\nwent away")
        assert len(rows) == batch.first
        vectors = batch.vectors if batch.vectors is not None else [None] * len(batch.doc_ids)
        rows += zip(batch.doc_ids, batch.texts, vectors, batch.values, strict=True)

    def finish(self) -> None:
        SHELVES[self.index_name]["complete"] = True

    def drop(self) -> None:
        del SHELVES[self.index_name]

    def ask(self, asked: Asked, depth: int) -> list[tuple[str, float]]:
        if asked.text == "fail":
            raise ValueError("no such\nword")
        return self._scored(asked, depth, self.options.probes)

    def ask_stored(self, asked: Asked, depth: int) -> list[tuple[str, float]]:
        return self._scored(asked, depth, self.options.lists)

    def version(self) -> str:
        return "shelf 7"

    def count(self) -> int:
        return len(SHELVES[self.index_name]["rows"])

    def _scored(self, asked: Asked, depth: int, probes: int) -> list[tuple[str, float]]:
        scored = []
        for at, (doc_id, text, vector, values) in enumerate(SHELVES[self.index_name]["rows"]):
            if at % self.options.lists >= probes or not passes(values, asked.filters):
                continue
            if vector is None:
                shared = len({*asked.text.split()} & {*text.split()})
                scored += [(doc_id, float(shared))] if shared else []
            elif asked.vector is not None:
                scored.append((doc_id, float(np.round(vector, 1) @ asked.vector)))
        return sorted(scored, key=lambda pair: -pair[1])[:depth]


def letters(texts: list[str]) -> Any:
    return np.array([[text.count(letter) for letter in "abcdefgh"] for text in texts])


WORDS = ["abba", "cafe", "dead", "beef", "face", "hag", "bead", "cage", "fade", "head"]
CORPUS = Corpus(
    {
        f"d{n:02}": {
            "text": f"{WORDS[n % 10]} {WORDS[(n * 3 + 1) % 10]} {WORDS[(n * 7) % 10]}",
            "tags": ["even", "all"] if n % 2 == 0 else ["all"],
            "year": 2000 + n % 3,
        }
        for n in range(40)
    }
    | {"blank": {"text": " ", "tags": [], "year": None}}
)


@pytest.fixture(autouse=True)
def _empty() -> None:
    SHELVES.clear()
    Shelf.breaks_at = None


def make(corpus: Corpus = CORPUS, *, context: Context | None = None, **options: Any) -> Shelf:
    from rankscope.retrieval.options import read_options

    given = {"search": "vector", "batch": 7, **options}
    given |= {} if given["search"] == "text" else {"embedder": letters}
    shelf = Shelf(read_options(ShelfOptions, given), context or Context())
    shelf.index(corpus)
    return shelf


def test_a_load_that_was_stopped_goes_on() -> None:
    whole = make(index="whole")
    whole.prepare()
    Shelf.breaks_at = 21
    with pytest.raises(InputError, match="21 documents"), make(drop=True) as broken:
        broken.prepare()  # and is not dropped
    Shelf.breaks_at = None
    steps: list[tuple[int, int]] = []
    rest = make()
    with watched(lambda done, total: steps.append((done, total))):
        rest.prepare()
    assert rest.loaded == 19
    assert steps[-1] == (40, 40)
    queries = [Query("q", "cafe beef")]
    assert rest.search(queries, 10)[0].pairs() == whole.search(queries, 10)[0].pairs()
    again = make()
    again.prepare()
    assert again.loaded == 0


def test_the_name_follows_from_what_shapes_the_index() -> None:
    name = make().index_name
    assert make(probes=5).index_name == name
    assert make(batch=3).index_name == name
    assert make(query_prefix="x").index_name == name
    others = [
        make(lists=5),
        make(search="text"),
        make(document_prefix="x"),
        make(filters={"tags": "tag"}),
        make(Corpus({"d": "cafe"})),
        make(context=Context(attempt=1, rebuild=True)),
    ]
    assert len({name, *(other.index_name for other in others)}) == 1 + len(others)
    assert make(context=Context(attempt=1)).index_name == name


def test_facts_are_kept_with_the_answers(tmp_path: Path) -> None:
    first = fetch(make(lists=2), {"q": "cafe"}, depth=5, store=tmp_path)
    stored = fetch(make(lists=2), {"q": "cafe"}, depth=5, store=tmp_path)
    assert stored.timings.asked == 0
    [before], [after] = first.facts, stored.facts
    assert isinstance(before, EngineFacts)
    assert (before.version, before.documents, before.loaded) == ("shelf 7", 40, 40)
    assert before.settings == {"search": "vector", "lists": 2}
    assert after == before.model_copy(update={"loaded": 0})
    entries = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(entries) == 2
    assert all(map(is_whole, entries))


def test_dropping_needs_no_question(tmp_path: Path) -> None:
    with make(index="other") as other, make() as shelf:
        other.prepare()
        fetch(shelf, {"q": "cafe"}, depth=5, store=tmp_path)
    for _ in range(2):  # the second time there is nothing to drop
        with make(drop=True) as shelf:
            assert fetch(shelf, {"q": "cafe"}, depth=5, store=tmp_path).timings.asked == 0
            shelf.close()
        assert (list(SHELVES), shelf.loaded) == (["other"], 0)


QUERIES = [Query(f"q{n}", f"{WORDS[n]} {WORDS[(n + 4) % 10]}") for n in range(10)]


def measured(k: int = 10, queries: list[Query] = QUERIES, **options: Any) -> Any:
    shelf = make(**options)
    run = fetch(shelf, queries, depth=20).run
    engine = approximate(shelf)
    assert engine is not None
    return exactness(engine, queries, run, Compared(k, 20, 1e-5), "shelf")


def exact_hits(query: Query, answer: list[str], k: int, allowed: Callable[[str], bool]) -> int:
    """Count hits the slow way, from the definition."""
    scores = {}
    (wanted,) = letters([query.text])
    for document in CORPUS.documents():
        (vector,) = letters([str(document.fields["text"])])
        if vector.any() and allowed(document.doc_id):
            cosine = vector @ wanted / np.linalg.norm(vector) / np.linalg.norm(wanted)
            scores[document.doc_id] = float(cosine)
    floor = sorted(scores.values(), reverse=True)[: min(k, len(scores))][-1]
    return sum(scores[doc_id] >= floor - 1e-5 for doc_id in answer[:k])


@pytest.mark.parametrize("k", [1, 5, 10])
def test_hits_are_those_of_the_definition_near_ties_included(k: int) -> None:
    shelf = make(lists=3, probes=2)
    run = fetch(shelf, QUERIES, depth=20).run
    result = exactness(shelf, QUERIES, run, Compared(k, 20, 1e-5), "shelf")
    for row, query in zip(result.queries, QUERIES, strict=True):
        counted = exact_hits(query, list(run[query.query_id]), k, lambda _: True)
        assert row.hits == min(counted, row.wanted)


def test_filters_are_those_of_exact_search_too() -> None:
    queries = [
        Query("free", "cafe beef"),
        Query("half", "cafe beef", {"tag": "even"}),
        Query("third", "cafe beef", {"years": 2001}),
    ]
    options: Any = {"filters": {"tags": "tag", "year": "years"}, "lists": 2, "probes": 1}
    result = measured(queries=queries, **options)
    assert [row.wanted for row in result.queries] == [10, 10, 10]
    run = fetch(make(**options), queries, depth=20).run
    evens = {doc.doc_id for doc in CORPUS.documents() if "even" in str(doc.fields["tags"])}
    assert result.queries[1].hits == exact_hits(
        queries[1], list(run["half"]), 10, lambda doc_id: doc_id in evens
    )
