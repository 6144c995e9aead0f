"""Fetching: batches, failures, what is stored, and jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from rankscope import Corpus, Queries
from rankscope.errors import InputError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Capabilities, Identity, Query, Ranking, System

QUERIES = [Query(f"q{n:02}", f"text {n}") for n in range(20)]


class Engine(System):
    """A stand-in for a remote engine: answers as it is told, and remembers what it was asked."""

    def __init__(self, answer: Callable[[Query, int], Ranking] | None = None) -> None:
        self.batch_size = 4
        self.answer = answer or (lambda query, _: Ranking((query.text,), (1.0,), 0.25))
        self.asked: list[list[str]] = []
        self.prepared = 0
        self.version = "1"

    def index(self, corpus: Corpus) -> None:
        pass

    def prepare(self) -> None:
        self.prepared += 1

    def identity(self) -> Identity:
        return Identity(kind="engine", version=self.version, parameters={}, snapshot="x")

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        assert depth
        self.asked.append([query.query_id for query in queries])
        times = [sum(query.query_id in batch for batch in self.asked) for query in queries]
        return [self.answer(*pair) for pair in zip(queries, times, strict=True)]


def fetched(engine: System, **options: Any) -> Any:
    return fetch(engine, QUERIES, **{"pause": 0, **options})


def test_all_queries_in_batches_and_in_order() -> None:
    engine, seen = Engine(), []
    result = fetched(engine, progress=lambda done, total: seen.append((done, total)))
    assert result.run.query_ids == [query.query_id for query in QUERIES]
    assert [len(batch) for batch in engine.asked] == [4] * 5
    assert seen == [(done, 20) for done in range(0, 24, 4)]
    assert result.run.name == "engine"
    assert result.timings.p50 == result.timings.p99 == 0.25
    assert (result.timings.asked, result.timings.stored, result.timings.retried) == (20, 0, 0)
    engine = Engine()
    fetched(engine, batch=7)
    assert [len(batch) for batch in engine.asked] == [7, 7, 6]


def test_queries_in_any_form() -> None:
    for queries in (Queries({"q": "text 1"}), {"q": "text 1"}, [Query("q", "text 1")]):
        assert fetch(Engine(), queries).run["q"] == {"text 1": 1.0}
    assert len(fetch(Engine(), []).run) == 0
    with pytest.raises(InputError, match="query 'q00' appears twice"):
        fetch(Engine(), [QUERIES[0], QUERIES[0]])


def test_found_nothing_is_in_the_run_and_failed_is_not() -> None:
    def answer(query: Query, _: int) -> Ranking:
        if query.query_id == "q03":
            return Ranking.failed("the engine is down")
        return Ranking() if query.query_id == "q04" else Ranking(("d",), (1.0,))

    engine = Engine(answer)
    result = fetched(engine)
    assert result.failures == {"q03": "the engine is down"}
    assert "q03" not in result.run
    assert result.run["q04"] == {}
    assert sum("q03" in batch for batch in engine.asked) == 3
    assert engine.asked[1:3] == [["q03"], ["q03"]]
    assert result.timings.retried == 2


def test_a_failure_that_passes_is_no_failure() -> None:
    def answer(_: Query, times: int) -> Ranking:
        return Ranking(("d",), (1.0,)) if times == 3 else Ranking.failed("busy")

    assert fetched(Engine(answer)).failures == {}
    assert len(fetched(Engine(answer), retries=1).failures) == 20
    assert len(fetched(Engine(answer), retries=0).failures) == 20


def test_one_query_that_breaks_its_batch_does_not_take_others_along() -> None:
    def answer(query: Query, _: int) -> Ranking:
        if query.query_id == "q06":
            raise ConnectionError("reset\nby peer")
        return Ranking(("d",), (1.0,))

    result = fetched(Engine(answer))
    assert result.failures == {"q06": "ConnectionError: reset by peer"}
    assert len(result.run.query_ids) == 19


@pytest.mark.parametrize(
    ("ranking", "message"),
    [
        (Ranking(("a", "a"), (1.0, 0.5)), "'a' twice"),
        (Ranking(("a",), (float("nan"),)), "finite"),
        (Ranking(("a",), ()), "0 scores"),
        (Ranking(("a", "b", "c"), (3.0, 2.0, 1.0)), "3 documents"),
        (Ranking(("",), (1.0,)), "without an id"),
    ],
)
def test_an_answer_that_is_none(ranking: Ranking, message: str) -> None:
    result = fetched(Engine(lambda *_: ranking), depth=2, retries=0)
    assert len(result.failures) == 20
    assert message in result.failures["q00"]


def test_an_engine_that_loses_answers() -> None:
    class Short(Engine):
        def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
            return super().search(queries, depth)[1:]

    assert "3 answers to 4 queries" in fetched(Short(), retries=0).failures["q00"]


def test_a_mistake_in_the_spec_is_not_a_failed_query() -> None:
    def answer(*_: object) -> Ranking:
        raise InputError("no such field")

    with pytest.raises(InputError, match="no such field"):
        fetched(Engine(answer))


def test_what_is_stored_is_not_asked_again(tmp_path: Path) -> None:
    first = fetched(Engine(), store=tmp_path)
    again = Engine()
    result = fetched(again, store=tmp_path, batch=3)
    assert again.asked == []
    assert again.prepared == 0
    assert result.run == first.run
    assert result.timings.stored == 20
    assert result.timings.p50 == 0.25
    for other in ({"depth": 5}, {"version": "2"}, {"text": True}):
        engine = Engine()
        engine.version = str(other.get("version", "1"))
        queries = [Query("q00", "other")] if "text" in other else QUERIES
        fetch(engine, queries, store=tmp_path, depth=int(other.get("depth", 100)))
        assert engine.asked, other


def test_failed_queries_are_asked_again_next_time(tmp_path: Path) -> None:
    broken = Engine(
        lambda query, _: (
            Ranking.failed("down") if query.query_id > "q09" else Ranking(("d",), (1.0,))
        )
    )
    assert len(fetched(broken, store=tmp_path).failures) == 10
    engine = Engine()
    assert fetched(engine, store=tmp_path).failures == {}
    assert sorted(chain(*engine.asked)) == [f"q{n}" for n in range(10, 20)]


def test_a_damaged_answer_is_asked_again(tmp_path: Path) -> None:
    fetched(Engine(), store=tmp_path)
    files = sorted(tmp_path.rglob("*.answers"))
    assert len(files) == 5
    files[0].write_bytes(files[0].read_bytes()[:-9])
    files[1].write_bytes(b"")
    engine = Engine()
    assert len(fetched(engine, store=tmp_path).run) == 20
    assert sum(map(len, engine.asked)) == 8


def test_jobs_ask_at_the_same_time_where_the_engine_allows_it() -> None:
    together = threading.Barrier(3, timeout=20)

    def answer(query: Query, _: int) -> Ranking:
        if query.query_id in ("q00", "q04", "q08"):
            together.wait()
        return Ranking(("d",), (1.0,))

    engine = Engine(answer)
    engine.capabilities = Capabilities(concurrent=True)
    result = fetched(engine, jobs=3)
    assert result.run.query_ids == [query.query_id for query in QUERIES]
    threads: set[int] = set()
    alone = Engine(lambda *_: threads.add(threading.get_ident()) or Ranking())  # type: ignore[func-returns-value]
    fetched(alone, jobs=3)
    assert threads == {threading.get_ident()}


def test_an_interrupt_keeps_what_is_finished(tmp_path: Path) -> None:
    def answer(query: Query, _: int) -> Ranking:
        if query.query_id == "q09":
            raise KeyboardInterrupt
        return Ranking(("d",), (1.0,))

    with pytest.raises(KeyboardInterrupt):
        fetched(Engine(answer), store=tmp_path)
    engine = Engine()
    fetched(engine, store=tmp_path)
    assert engine.asked[0][0] == "q08"


def test_what_cannot_be_done(tmp_path: Path) -> None:
    for options in ({"batch": 0}, {"jobs": 0}, {"retries": -1}, {"depth": 0}, {"jobs": True}):
        with pytest.raises(InputError, match="whole number"):
            fetched(Engine(), **options)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="folder"):
        fetched(Engine(), store=tmp_path / "file")
