"""The threads that ask, in real time: coarse, as the machine may be busy."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm.server import Server, late
from llm.world import build, rewritten
from load.virtual import QUERIES, Fake, settings
from rankscope.errors import InputError, MissingExtraError
from rankscope.retrieval.llm.replies import Replies, Reply
from rankscope.retrieval.load import histograms
from rankscope.retrieval.load.load_checks import load_problem
from rankscope.retrieval.load.load_system import load_system
from rankscope.retrieval.progress import asking_anew, asks_anew
from rankscope.retrieval.protocol import Query, Ranking, RetryLater, time_limit
from rankscope.runs.load_record import LoadRecord

pytest.importorskip("hdrh", reason="hdrhistogram is not installed")


def codes(record: LoadRecord) -> set[str]:
    return {finding.name for finding in record.findings}


class Gauge:
    """How many are inside at the same time, and the most there ever were."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = self.most = 0

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1


def test_slow_answers_do_not_slow_down_the_arrivals() -> None:
    """Each takes 0.3 s; a closed loop of one client would send 3 a second."""
    gauge = Gauge()

    def answer(_: Query) -> None:
        with gauge:
            time.sleep(0.3)

    record = load_system(Fake(answer), QUERIES, settings(rate=60, seconds=1.5, warm_up=0.5))
    assert (record.sent, record.answered, record.warmed_up) == (90, 90, 30)
    assert record.throughput == pytest.approx(60, rel=0.2)
    assert gauge.most > 10
    assert record.service.p50 == pytest.approx(0.3, abs=0.1)
    assert record.held_up == 0
    assert not record.one_at_a_time
    assert load_problem(record, "fake") == ""
    for field, number in (("held_up", 91), ("most_at_once", 0)):
        changed = record.model_copy(update={field: number})
        assert load_problem(changed, "fake") == f"{field} does not fit its other numbers"


def test_a_stall_delays_all_that_arrive_meanwhile() -> None:
    """Nothing is answered for 0.8 s in the middle, as by a pause of a garbage collector."""
    began = time.perf_counter()

    def answer(_: Query) -> None:
        since = time.perf_counter() - began
        if 0.6 < since < 1.4:
            time.sleep(1.4 - since)

    record = load_system(Fake(answer), QUERIES, settings(rate=100, seconds=2))
    assert record.answered == 200
    assert record.response.p90 is not None
    assert record.response.p90 > 0.4, "80 of 200 arrive while it stalls, at even distances"
    assert record.response.max == pytest.approx(0.8, abs=0.3)


def test_one_at_a_time_waiting_counts() -> None:
    gauge = Gauge()

    def answer(_: Query) -> None:
        with gauge:
            time.sleep(0.02)

    system = Fake(answer, concurrent=False)
    record = load_system(system, QUERIES, settings(rate=100, seconds=1))
    assert gauge.most == 1
    assert record.one_at_a_time
    assert record.answered == 100
    assert record.throughput < 60
    assert record.response.max is not None
    assert record.response.max > 0.8, "the last waits for all before"
    assert record.service.p50 == pytest.approx(0.02, abs=0.02)
    assert {"one-at-a-time", "rate-not-reached"} <= codes(record)
    assert set(system.batches) == {1}


def test_no_more_in_flight_than_allowed() -> None:
    gauge = Gauge()

    def answer(_: Query) -> None:
        with gauge:
            time.sleep(0.1)

    record = load_system(Fake(answer), QUERIES, settings(rate=100, seconds=0.5, most_in_flight=3))
    assert gauge.most == 3
    assert record.held_up > 20
    assert "in-flight-limit" in codes(record)
    assert record.most_at_once > 3, "counting those that wait"
    assert record.answered == 50


def test_failures_of_all_kinds_are_sentences() -> None:
    def answer(query: Query) -> Ranking | None:
        match int(query.query_id[1:]):
            case 0:
                raise RuntimeError("the engine\nis full")
            case 1:
                raise RetryLater(30)
            case 2:
                raise SystemExit(3)
            case 3:
                return Ranking(("a", "a"), (1.0, 1.0))
            case 4:
                return Ranking.failed("no such index")
        return None

    record = load_system(Fake(answer), QUERIES, settings(rate=70, seconds=1))
    assert Counter({each.sentence: each.count for each in record.failures}) == {
        "RuntimeError: the engine is full": 10,
        "RetryLater: the engine is busy; it asks to wait 30 s": 10,
        "ProcessEndError: the code raised SystemExit: 3, which would have ended the process": 10,
        "the system gave the document 'a' twice": 10,
        "no such index": 10,
    }
    assert (record.failed, record.answered) == (50, 20)


def test_nothing_is_asked_twice() -> None:
    asked: Counter[str] = Counter()

    def answer(query: Query) -> Ranking | None:
        asked[query.query_id] += 1
        return Ranking.failed("busy", retry_after=0.01) if query.query_id == "q1" else None

    load_system(Fake(answer), QUERIES, settings(rate=70, seconds=1))
    assert asked == Counter({query.query_id: 10 for query in QUERIES})


def test_what_has_no_answer_at_the_end_is_unfinished() -> None:
    release = threading.Event()

    def answer(query: Query) -> None:
        if query.query_id in ("q0", "q1"):
            release.wait(30)

    try:
        began = time.perf_counter()
        record = load_system(Fake(answer), QUERIES, settings(rate=70, seconds=1, grace=0.5))
        assert time.perf_counter() - began < 10
    finally:
        release.set()
    assert (record.sent, record.answered, record.unfinished) == (70, 50, 20)
    assert record.response.count == 70, "they count with the time they had waited"
    assert record.service.count == 50
    assert record.response.max == pytest.approx(1.5, abs=0.3)
    [finding] = [each for each in record.findings if each.name == "load-unfinished"]
    assert finding.message.startswith("20 queries of 70 had no answer 0.5 s after the last")
    assert load_problem(record, "fake") == ""


def test_an_answer_that_takes_longer_than_allowed_has_failed() -> None:
    told: list[float | None] = []

    def answer(query: Query) -> None:
        told.append(time_limit())
        time.sleep(0.3 if query.query_id == "q0" else 0)

    record = load_system(Fake(answer), QUERIES, settings(rate=70, seconds=1), timeout=0.2)
    assert set(told) == {0.2}
    assert [(each.sentence, each.count) for each in record.failures] == [
        ("no answer within 0.2 s", 10)
    ]


def test_systems_are_asked_anew() -> None:
    anew: set[bool] = set()

    def answer(_: Query) -> None:
        anew.add(asks_anew())

    load_system(Fake(answer), QUERIES, settings(rate=20, seconds=0.5))
    assert anew == {True}
    assert not asks_anew()


def test_replies_of_models_are_asked_anew(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask() -> Reply:
        asked.append("model")
        return Reply("leek soup")

    replies = Replies(tmp_path, "model")
    with asking_anew():
        assert replies.get("q1", ask)[:2] == (Reply("leek soup"), "asked")
        assert replies.get("q1", ask)[:2] == (Reply("leek soup"), "asked")
    assert list(tmp_path.iterdir()) == [], "nothing is kept"
    replies.get("q1", ask)
    assert replies.get("q1", ask)[:2] == (Reply("leek soup"), "kept")
    with asking_anew():
        replies.get("q1", ask)
    assert len(asked) == 4


@pytest.mark.parametrize("jobs", [2, 200])
def test_waiting_for_a_model_inside_the_system_is_said(jobs: int) -> None:
    pytest.importorskip("httpx")
    server = Server()
    server.always = late(0.1)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        spec = rewritten(server, jobs=jobs)
        with build(spec) as system:
            record = load_system(system, QUERIES, settings(rate=60, seconds=1), name="it")
    finally:
        server.shutdown()
        server.server_close()
    assert record.answered == 60
    assert server.most_at_once <= jobs
    messages = [finding.message for finding in record.findings if finding.code == "RS737"]
    if jobs == 200:
        assert messages == []
        return
    (message,) = messages
    start = (
        "the option jobs of the model 'small' lets 2 requests be under way at a time, and up to "
    )
    assert message.startswith(start)
    assert message.endswith("were in flight, so waiting for it is in the service time")
    assert record.service.max is not None
    assert record.service.max > 0.5, "60 queries, two at a time, 0.1 s each"


def test_threads_end_with_the_test() -> None:
    before = threading.active_count()
    load_system(Fake(lambda _: time.sleep(0.05)), QUERIES, settings(rate=100, seconds=0.3))
    end = time.perf_counter() + 5
    while threading.active_count() > before and time.perf_counter() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_no_queries_and_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="there are no queries to ask"):
        load_system(Fake(lambda _: None), [], settings())

    def missing(*_: object, **what: str) -> None:
        raise MissingExtraError(what["package"], needed_for=what["needed_for"], extra=what["extra"])

    monkeypatch.setattr(histograms, "check_engine", missing)
    with pytest.raises(MissingExtraError, match=r"pip install 'rankscope\[load\]'"):
        load_system(Fake(lambda _: None), QUERIES, settings())


@pytest.fixture(autouse=True)
def _no_thread_fails(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a thread that ends with an error fail the test."""
    failed: list[object] = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    yield
    assert failed == []
