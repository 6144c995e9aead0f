"""What a remote system needs of a fetch: time limits, pauses, a pace, an end, and the one order."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rankscope import Corpus
from rankscope.errors import InputError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Capabilities, Query, Ranking, RetryLater
from rankscope.retrieval.waiting import Stop, TimedOutError, within
from retrieval.test_fetch import QUERIES, Engine

HUNG = "q06"


class HangingError(Exception):
    """Stands for an answer that does not come in time."""


def hangs(query: Query, _: int) -> Ranking:
    if query.query_id == HUNG:
        raise HangingError
    return Ranking(("d",), (1.0,))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up where a system hangs, without waiting."""

    def called(_: float, call: Any, alone: object) -> Any:
        assert alone is None or alone
        try:
            return call()
        except HangingError:
            raise TimedOutError from None

    monkeypatch.setattr("rankscope.retrieval.fetch.within", called)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Stop the clock, and remember how long is waited."""
    seen: list[float] = []
    monkeypatch.setattr(Stop, "sleep", lambda _, seconds: seen.append(seconds))
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    return seen


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("batch", [1, 2])
def test_a_query_that_takes_too_long_fails_alone(batch: int) -> None:
    engine = Engine(hangs)
    engine.capabilities = Capabilities(concurrent=True)
    fetched = fetch(engine, QUERIES, batch=batch, retries=0, timeout=2)
    assert set(fetched.failures) == {HUNG}
    assert "2 s" in fetched.failures[HUNG]
    assert len(fetched.run.query_ids) == 19


def test_a_call_is_given_up_when_its_time_is_over() -> None:
    over = threading.Event()
    with pytest.raises(TimedOutError):
        within(0.01, over.wait, None)
    over.set()


def test_a_system_that_is_not_concurrent_is_not_asked_while_it_hangs() -> None:
    over, alone, asked = threading.Event(), threading.Lock(), threading.Event()
    with pytest.raises(TimedOutError):
        within(0.01, over.wait, alone)
    with pytest.raises(TimedOutError):
        within(0.01, asked.set, alone)
    over.set()
    with alone:
        assert not asked.is_set()


@pytest.mark.parametrize(("remote", "limit"), [(True, 10.0), (False, None)])
def test_a_remote_system_has_a_time_limit_and_is_told(remote: bool, limit: float | None) -> None:
    seen: list[float | None] = []
    engine = Engine(lambda *_: seen.append(engine.work.time_limit) or Ranking())  # type: ignore[func-returns-value]
    engine.capabilities = Capabilities(remote=remote)
    fetch(engine, QUERIES[:1])
    assert seen == [limit]
    fetch(engine, QUERIES[:1], timeout=7)
    assert seen == [limit, 7]
    assert engine.work.time_limit is None


def test_no_more_queries_in_a_second_than_the_rate(waits: list[float]) -> None:
    fetch(Engine(), QUERIES, rate=8)
    assert waits == [0, 0.5, 1, 1.5, 2]


def test_pauses_grow_and_differ(waits: list[float]) -> None:
    for _ in range(2):
        fetch(Engine(lambda *_: Ranking.failed("down")), QUERIES[:1], pause=1, retries=4)
    pauses = [seconds for seconds in waits if seconds]
    assert len(pauses) == 8
    for seconds, middle in zip(pauses, [1, 2, 4, 8] * 2, strict=True):
        assert 0.75 * middle <= seconds <= 1.25 * middle
    assert pauses[:4] != pauses[4:]


@pytest.mark.parametrize(
    "raised", [RetryLater(40), type("Busy", (OSError,), {"retry_after": 40})()]
)
def test_a_system_that_asks_to_wait_is_left_alone(waits: list[float], raised: Exception) -> None:
    def answer(query: Query, times: int) -> Ranking:
        if query.query_id == "q00" and times == 1:
            raise raised
        return Ranking(("d",), (1.0,))

    assert fetch(Engine(answer), QUERIES, pause=0).failures == {}
    assert 40 in waits


def test_an_index_that_asks_to_wait_is_made_later(waits: list[float]) -> None:
    class Busy(Engine):
        def prepare(self) -> None:
            super().prepare()
            if self.prepared < 3:
                raise RetryLater(20, "the quota is used up")

    engine = Busy()
    assert fetch(engine, QUERIES).failures == {}
    assert waits[:2] == [20, 20]
    with pytest.raises(InputError, match="quota"):
        fetch(Busy(), QUERIES, retries=1)


def test_cancelling_stops_before_the_next_batch() -> None:
    cancel = threading.Event()

    def answer(query: Query, _: int) -> Ranking:
        if query.query_id == "q05":
            cancel.set()
        return Ranking(("d",), (1.0,))

    engine = Engine(answer)
    with pytest.raises(CancelledError):
        fetch(engine, QUERIES, cancel=cancel)
    assert len(engine.asked) == 2


@pytest.mark.parametrize("jobs", [1, 3])
def test_cancelling_ends_all_waiting(jobs: int) -> None:
    cancel, asked = threading.Event(), threading.Event()
    engine = Engine(lambda *_: asked.set() or Ranking.failed("down"))  # type: ignore[func-returns-value]
    engine.capabilities = Capabilities(concurrent=True)
    with ThreadPoolExecutor(1) as pool:
        fetching = pool.submit(fetch, engine, QUERIES, pause=3600, jobs=jobs, cancel=cancel)
        assert asked.wait(60)
        cancel.set()
        assert isinstance(fetching.exception(60), CancelledError)


def test_a_batch_that_fails_wakes_the_others() -> None:
    def answer(query: Query, _: int) -> Ranking:
        if query.query_id == "q04":
            raise InputError("no such field")
        return Ranking.failed("down")

    engine = Engine(answer)
    engine.capabilities = Capabilities(concurrent=True)
    with ThreadPoolExecutor(1) as pool:
        fetching = pool.submit(fetch, engine, QUERIES, pause=3600, jobs=3)
        assert isinstance(fetching.exception(60), InputError)


@pytest.mark.parametrize("ties", ["any", "trec"])
def test_rankings_are_put_in_the_one_order(ties: Any) -> None:
    engine = Engine(lambda *_: Ranking(("a", "d", "c", "b"), (1.0, 0.5, 1.0, 1.0)))
    engine.capabilities = Capabilities(ties=ties)  # even if it promises more than it does
    run = fetch(engine, QUERIES[:1]).run
    assert list(run["q00"]) == ["c", "b", "a", "d"]
    assert run.best_first() is None


@pytest.mark.parametrize(
    "options",
    [{"timeout": 0}, {"rate": -1}, {"timeout": "5"}, {"rate": True}],
)
def test_limits_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="above 0"):
        fetch(Engine(), QUERIES, **options)


def test_training_keeps_to_the_pace_of_the_fetch(waits: list[float]) -> None:
    class Trained(Engine):
        below = Engine()

        def parts(self) -> list[Engine]:
            return [self.below]

        def prepare(self) -> None:
            fetch(self.below, QUERIES[:2], batch=1)

    engine = Trained()
    engine.index(Corpus({}))
    fetch(engine, QUERIES[:1], rate=2)
    assert waits == [0, 0.5, 1.0]


# --- killed --------------------------------------------------------------------------------------

SLOW = """
import sys, time
sys.path.insert(0, sys.argv[2])
from retrieval.test_fetch import Engine, QUERIES, Ranking
from rankscope.retrieval.fetch import fetch

def answer(query, _):
    time.sleep(0.02)
    return Ranking((query.text,), (1.0,), 0.25)

print("ready", flush=True)
fetch(Engine(answer), QUERIES, batch=1, store=sys.argv[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_at_any_moment_it_goes_on(tmp_path: Path) -> None:
    tests = str(Path(__file__).parents[1])
    for wait in (0.0, 0.05, 0.2):
        child = subprocess.Popen(
            [sys.executable, "-c", SLOW, str(tmp_path), tests], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(wait)
        child.kill()
        child.wait()
        child.stdout.close()
    stored = len(list(tmp_path.rglob("*.answers")))
    engine = Engine()
    result = fetch(engine, QUERIES, store=tmp_path, batch=1)
    assert len(engine.asked) == 20 - stored
    assert result.run == fetch(Engine(), QUERIES).run


# --- a system that answers nothing ---------------------------------------------------------------


def broken(fails: Any = lambda _: True) -> tuple[Engine, list[str]]:
    """Return a remote system that fails on some queries, and a list of what it is asked."""
    asked: list[str] = []

    def answer(query: Query, _: int) -> Ranking:
        asked.append(query.query_id)
        return Ranking.failed("no reply") if fails(query.query_id) else Ranking(("d",), (1.0,))

    engine = Engine(answer)
    engine.capabilities = Capabilities(remote=True)
    return engine, asked


MANY = [Query(f"q{number:02}", "words") for number in range(60)]


def test_a_remote_system_that_answers_nothing_is_not_asked_to_the_end() -> None:
    engine, asked = broken()
    with pytest.raises(InputError, match=r"first 5 queries: no reply"):
        fetch(engine, MANY, batch=1, retries=0)
    assert len(asked) == 5
    assert len(fetch(engine, MANY[:4], retries=0).failures) == 4


def test_one_answer_is_enough_to_go_on() -> None:
    engine, asked = broken(lambda query_id: query_id != "q03")
    fetched = fetch(engine, MANY, batch=1, retries=0)
    assert len(fetched.failures) == len(asked) - 1 == 59


def test_answers_that_are_kept_count(tmp_path: Path) -> None:
    works, _ = broken(lambda _: False)
    fetch(works, MANY[:1], store=tmp_path, retries=0)
    engine, _ = broken()
    assert len(fetch(engine, MANY, store=tmp_path, retries=0).failures) == 59


def test_a_local_system_is_asked_everything() -> None:
    engine, _ = broken()
    engine.capabilities = Capabilities()
    assert len(fetch(engine, MANY, batch=1, retries=0).failures) == 60
