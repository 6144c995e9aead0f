"""Who may be called from several threads: what says so, and nothing else."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from rankscope import Corpus
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.lexical import words
from rankscope.retrieval.lexical.words import Analyzer
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system

CORPUS = Corpus({f"d{n}": f"word{n} soup" for n in range(10)})
QUERIES = [Query(f"q{n}", f"word{n}") for n in range(32)]


class Alone:
    """Counts how many threads are inside at once."""

    def __init__(self) -> None:
        self.inside = self.most = 0

    def __enter__(self) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(0.002)

    def __exit__(self, *_: object) -> None:
        self.inside -= 1


def test_a_stemmer_is_used_by_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = Alone()

    class Stemmer:
        def __init__(self, _: str) -> None: ...

        def stemWord(self, word: str) -> str:  # noqa: N802  (the name it has)
            with alone:
                return word

    monkeypatch.setattr(words, "engine", lambda *_, **__: SimpleNamespace(Stemmer=Stemmer))
    analyzer = Analyzer("english", ())
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: analyzer.terms(f"word{n} other{n}"), range(40)))
    assert alone.most == 1


def with_code(kind: str, code: Any, **options: Any) -> dict[str, Any]:
    part = {"function": code, **options}
    specs: dict[str, dict[str, Any]] = {
        "system": {"python": part},
        "rewriter": {"rewrite": {"of": "bm25", "python": part}},
        "reranker": {"rerank": {"of": "bm25", "python": part}},
        "embedder": {"vector": {"embedder": {"callable": part}}},
    }
    return specs[kind]


def code_for(kind: str, inside: Any) -> Any:
    """Return code of a user that is inside something while it works."""

    def code(first: Any, documents: Any = ()) -> Any:
        with inside:
            answers = {"system": ["d1"], "rewriter": first, "reranker": [1.0] * len(documents)}
            return answers[kind] if kind in answers else [[1.0, len(text)] for text in first]

    return code


KINDS = ["system", "rewriter", "reranker", "embedder"]


@pytest.mark.parametrize("kind", KINDS)
def test_code_of_a_user_is_called_by_one_thread_at_a_time(kind: str) -> None:
    alone = Alone()
    code = code_for(kind, alone)
    systems = [build_system(with_code(kind, code)) for _ in range(3)]  # as stages of a plan do
    for system in systems:
        assert not system.capabilities.concurrent
        system.index(CORPUS)
    with ThreadPoolExecutor(3) as pool:
        fetched = pool.map(lambda system: fetch(system, QUERIES, jobs=8, batch=2), systems)
        assert [result.failures for result in fetched] == [{}, {}, {}]
    assert alone.most == 1


@pytest.mark.parametrize("kind", ["system", "rewriter", "reranker"])
def test_code_that_says_so_is_called_by_several(kind: str) -> None:
    together = threading.Barrier(3, timeout=60)

    class Together:
        def __enter__(self) -> None:
            together.wait()

        def __exit__(self, *_: object) -> None: ...

    code = code_for(kind, Together())
    system = build_system(with_code(kind, code, concurrent=True))
    assert system.capabilities.concurrent
    system.index(CORPUS)
    assert fetch(system, QUERIES[:3], jobs=3, batch=1).failures == {}


def test_a_stage_is_concurrent_only_if_all_below_it_are() -> None:
    slow: dict[str, Any] = {"python": len}
    specs: list[dict[str, Any]] = [
        {"rewrite": {"of": "bm25", "keywords": {}}},
        {"rewrite": {"of": slow, "keywords": {}}},
        {"fuse": {"of": ["bm25", slow]}},
        {"fuse": {"of": ["bm25", {"python": {"function": len, "concurrent": True}}]}},
    ]
    concurrent = [build_system(spec).capabilities.concurrent for spec in specs]
    assert concurrent == [True, False, False, True]
