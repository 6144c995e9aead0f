"""The time of a pipeline is that of all it asks, also where the answers were known already."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rankscope import Corpus
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Capabilities, Identity, Query, Ranking, System
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.stages.rerank import Candidates, Rerank, Reranker, Scored
from rankscope.retrieval.stages.stage import Memory

QUERIES = [Query(f"q{number}", f"leek {number}") for number in range(3)]
CORPUS = Corpus({"a": "leek soup", "b": "apple pie", "c": "leek pie"})


class Slow(System):
    """Says that each query took so many seconds, and counts what it is asked."""

    capabilities = Capabilities(concurrent=True)

    def __init__(self, name: str, seconds: float) -> None:
        self.name, self._seconds, self.asked = name, seconds, 0

    def index(self, corpus: Corpus) -> None:
        """Do nothing."""

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        self.asked += len(queries)
        answer = Ranking(("a", "b")[:depth], (2.0, 1.0)[:depth], self._seconds)
        return [answer for _ in queries]

    def identity(self) -> Identity:
        return Identity(kind="slow", version="1", parameters={"name": self.name})


def built(spec: dict[str, Any], systems: dict[str, System], memory: Memory | None) -> System:
    system = build_system(spec, systems=systems, memory=memory)
    system.index(CORPUS)
    return system


def seconds(system: System) -> list[float]:
    return [ranking.seconds for ranking in system.search(QUERIES, 10)]


@pytest.fixture
def systems() -> dict[str, System]:
    return {"fast": Slow("fast", 100 * 3600.0), "slow": Slow("slow", 1000 * 3600.0)}


FUSE: dict[str, Any] = {"fuse": {"of": ["fast", "slow"]}}


def hours(spent: float) -> int:
    """Return what the systems say they took; what the tests themselves take is less than one."""
    return int(spent // 3600)


@pytest.mark.parametrize("memory", [None, Memory()])
def test_a_fusion_takes_as_long_as_all_it_asks(
    systems: dict[str, System], memory: Memory | None
) -> None:
    hybrid = built(FUSE, systems, memory)
    first = seconds(hybrid)
    again = seconds(hybrid)
    assert all(spent > 1100 * 3600 for spent in first + again), "and fusing takes some time, too"
    assert {hours(spent) for spent in first + again} == {1100}


def test_what_another_system_has_asked_counts(systems: dict[str, System]) -> None:
    memory = Memory()
    seconds(built(FUSE, systems, memory))
    asked = [system.asked for system in systems.values() if isinstance(system, Slow)]
    other = built({"fuse": {"of": ["fast", "slow"], "method": "minmax"}}, systems, memory)
    assert {hours(spent) for spent in seconds(other)} == {1100}
    assert [system.asked for system in systems.values() if isinstance(system, Slow)] == asked


class Scripted(Reranker):
    """Gives back what it is told to."""

    def __init__(self, answers: Sequence[Any]) -> None:
        self._answers = answers

    def described(self) -> dict[str, Any]:
        return {"reranker": "scripted"}

    def scores(self, batch: Sequence[Candidates]) -> Sequence[Any]:
        return self._answers[: len(batch)]


def test_a_reranker_that_knows_the_time_of_each_query_says_it(systems: dict[str, System]) -> None:
    reranked = built({"rerank": {"of": "fast", "python": len}}, systems, None)
    assert isinstance(reranked, Rerank)
    order = [1.0, 2.0]
    hour = 3600.0
    reranked.part = Scripted(
        [Scored(order, 5 * hour), Scored("no", 50 * hour), Scored(order, 500 * hour)]
    )
    answers = reranked.search(QUERIES, 10)
    assert [hours(answer.seconds) for answer in answers] == [105, 150, 600]
    assert [answer.error for answer in answers] == [None, "no", None]
    assert answers[0].doc_ids == ("b", "a")
    reranked.part = Scripted([order] * 3)  # in one go: nobody knows which query took how long
    assert [hours(spent) for spent in seconds(reranked)] == [100] * 3


def test_a_kept_embedding_takes_as_long_as_it_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    def slowly(texts: list[str]) -> list[list[float]]:
        clock[0] += 3600.0 * len(texts)
        return [[float(text.count(letter)) for letter in "aelp"] for text in texts]

    spec = {"vector": {"embedder": {"callable": {"function": slowly, "version": "1"}}}}
    system = build_system(spec, cache=tmp_path)
    system.index(CORPUS)
    system.prepare()
    assert {hours(spent) for spent in seconds(system)} == {1}
    now = clock[0]
    assert {hours(spent) for spent in seconds(system)} == {1}
    assert clock[0] == now, "nothing was embedded"


def test_queries_in_a_second() -> None:
    fetched = fetch(Slow("x", 0.25), QUERIES, depth=10)
    assert fetched.timings.per_second == pytest.approx(4.0)
    nothing = fetch(Slow("x", 0.0), QUERIES, depth=10)
    assert nothing.timings.per_second is None
