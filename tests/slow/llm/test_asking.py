"""What is sent, what is kept, what it may cost, and what stops it."""

from __future__ import annotations

import json
import logging
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("httpx", reason="language models are asked through httpx")

from llm.server import Server, says, serving, status
from llm.world import (
    INCOMING,
    QUERIES,
    build,
    embedded,
    fetched,
    options,
    reranked,
    rewritten,
)
from rankscope.errors import InputError
from rankscope.retrieval import waiting
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.waiting import Pace, Stop

ONE = {"q1": QUERIES["q1"]}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(endpoint: Server) -> Server:
    endpoint.calm()
    return endpoint


def test_reranking_by_each_method(server: Server) -> None:
    for method in ("listwise", "pointwise"):
        answer, usage = fetched(reranked(server, method=method))
        assert list(answer.run["q1"])[:2] == ["best", "good"], method
        assert usage.part == f"the reranker llm ({method})"
        assert (usage.requests, usage.answered) == (usage.answered, len(server.sent))
        server.sent.clear()


def test_listwise_asks_in_windows_from_the_bottom_up(server: Server) -> None:
    fetched(reranked(server, window=12, step=6), queries=ONE)
    counts = [body["messages"][1]["content"].count("<document id=") for body in server.sent]
    assert counts == [12, 12, 12, 12]
    assert '<document id="12">\nleek and salt soup' in server.sent[0]["messages"][1]["content"]
    assert '<document id="1">\nsoup number 0 ' in server.sent[-1]["messages"][1]["content"]
    answer, _ = fetched(reranked(server, window=12, step=6, depth=5), queries=ONE)
    assert list(answer.run["q1"]) == INCOMING["q1"]  # the best are below the depth


def test_the_parameters_that_are_sent(server: Server) -> None:
    fetched(reranked(server), queries=ONE)
    sent = server.sent[0]
    assert {name: sent[name] for name in sent if name != "messages"} == {
        "model": "small",
        "temperature": 0.0,
        "seed": 0,
        "max_tokens": 1024,
    }
    more = {"temperature": None, "seed": None, "max_tokens": None, "extra": {"top_p": 0.5}}
    fetched(rewritten(server, **more), queries=ONE)
    assert {*server.sent[-1]} == {"model", "messages", "top_p"}


def test_a_rewrite_reaches_the_system_below(server: Server) -> None:
    asked: list[str] = []

    def search(text: str) -> list[str]:
        asked.append(text)
        return ["best"]

    for style in ("keywords", "expansion", "hyde"):
        llm = options(server, style=style)
        fetched({"rewrite": {"of": {"python": search}, "llm": llm}}, queries=ONE)
    assert asked == [
        "cream",
        "leek soup cream number bowl",
        "A number of things about leek soup cream.",
    ]


# --- what is kept --------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", [reranked, rewritten, embedded])
def test_a_second_run_asks_nothing(server: Server, tmp_path: Path, stage: Any) -> None:
    first, usage = fetched(stage(server), tmp_path)
    assert (usage.cached, usage.requests) == (0, len(server.sent))
    again, second = fetched(stage(server), tmp_path)
    assert again.run == first.run
    assert (second.requests, len(server.sent)) == (0, usage.requests)
    assert second.cached == second.answered == (0 if stage is embedded else usage.answered)
    assert (second.prompt_tokens, second.seconds) == (0, 0)


def test_what_changes_answers_is_asked_anew_and_nothing_else(
    server: Server, tmp_path: Path
) -> None:
    known = build(reranked(server)).identity()
    fetched(reranked(server), tmp_path, ONE)
    for change in (
        {"jobs": 1, "rate": 100, "retries": 0, "timeout": 3, "stop_after": 2},
        {"key": "another", "headers": {"X-Team": "search"}},
        {"price": {"prompt": 1}, "budget": {"requests": 50}},
    ):
        _, usage = fetched(reranked(server, **change), tmp_path, ONE)
        assert usage.requests == 0, change
        assert build(reranked(server, **change)).identity() == known
    for other in (
        *({"seed": 1}, {"temperature": 0.5}, {"max_tokens": 99}, {"snapshot": "may"}),
        *({"characters": 10}, {"extra": {"top_p": 0.1}}),
        *({"params": {"version": "2"}}, {"window": 19}),
    ):
        _, usage = fetched(reranked(server, **other), tmp_path, ONE)
        assert usage.cached == 0, other
        assert build(reranked(server, **other)).identity() != known


def test_another_attempt_asks_again_and_shows_the_variation(server: Server, tmp_path: Path) -> None:
    first, usage = fetched(reranked(server), tmp_path)
    server.always = says(json.dumps({"ranking": [*range(20, 0, -1)]}))
    second, repeated = fetched(reranked(server), tmp_path, attempt=1)
    assert (repeated.cached, repeated.requests) == (0, usage.requests)
    assert second.run != first.run
    server.always = None
    _, kept = fetched(reranked(server), tmp_path, attempt=1)
    assert (kept.requests, kept.cached) == (0, usage.answered)
    fetched(embedded(server), tmp_path)
    count = len(server.sent)
    _, anew = fetched(embedded(server), tmp_path, attempt=1)
    assert len(server.sent) - count == anew.requests > 0


def test_a_damaged_reply_is_asked_for_again(server: Server, tmp_path: Path) -> None:
    first, usage = fetched(reranked(server), tmp_path)
    replies = sorted(tmp_path.rglob("*.reply"))
    assert len(replies) == usage.requests
    replies[0].write_bytes(replies[0].read_bytes()[:-3])
    replies[1].write_bytes(replies[2].read_bytes())
    again, second = fetched(reranked(server), tmp_path)
    assert again.run == first.run
    assert second.requests == 2


# --- how fast, how much --------------------------------------------------------------------------


def test_jobs_limit_requests_at_the_same_time(server: Server) -> None:
    together = threading.Barrier(3)  # who waits goes on when three do

    def wait(*_: Any) -> bool:
        together.wait(600)
        return False

    server.faults = [wait] * 3
    fetched(reranked(server, method="pointwise", jobs=3))
    assert server.most_at_once == 3


def test_the_rate_is_kept(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def sleep(_: Stop, seconds: float) -> None:
        now[0] += max(0.0, seconds)

    monkeypatch.setattr(waiting, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(Stop, "sleep", sleep)
    fetched(reranked(server, method="pointwise", depth=8, rate=40, jobs=1), queries=ONE)
    assert now[0] == pytest.approx(7 / 40)
    pace = Pace(Stop(None), rate=None)
    pace.hold(30)  # as an endpoint may ask
    pace.wait_for(1)
    assert now[0] == pytest.approx(30 + 7 / 40)


def test_tokens_and_cost_are_counted(server: Server) -> None:
    price = {"prompt": 2.0, "completion": 10.0}
    _, usage = fetched(reranked(server, price=price))
    assert (usage.prompt_tokens, usage.completion_tokens) == (400, 40)
    assert usage.cost == pytest.approx(400 * 2e-6 + 40 * 10e-6)
    assert usage.p50 is not None
    assert usage.p95 is not None
    assert 0 < usage.p50 <= usage.p95 <= usage.seconds
    _, free = fetched(reranked(server))
    assert free.cost is None


@pytest.mark.parametrize(
    ("budget", "words", "most"),
    [
        ({"requests": 3}, "budget of 3 requests", 3),
        ({"requests": 0}, "budget of 0 requests", 0),
        ({"tokens": 1200}, "budget of 1,200 tokens", 3),
        ({"money": 0.0012}, "budget of 0.0012 in money", 3),
    ],
)
def test_a_budget_stops_before_it_is_exceeded(
    server: Server, tmp_path: Path, budget: dict[str, Any], words: str, most: int
) -> None:
    spec = reranked(
        server,
        of="bm25",
        depth=3,
        budget=budget,
        price={"prompt": 1.0, "completion": 1.0},
        max_tokens=50,
        prompt=None,
        jobs=2,
    )
    queries = {f"q{n}": f"soup {n}" for n in range(40)}
    with pytest.raises(InputError, match=words):
        fetched(spec, tmp_path, queries)
    used = len(server.sent)
    assert used <= most if "requests" in budget else 0 < used * 110 <= 1200
    spec["rerank"]["llm"]["budget"] = {"requests": 40 - used}
    answer, usage = fetched(spec, tmp_path, queries)
    assert (answer.failures, usage.cached, usage.requests) == ({}, used, 40 - used)


def test_after_the_end_nothing_is_asked(server: Server) -> None:
    release, before = threading.Event(), {*threading.enumerate()}

    def wait(*_: Any) -> bool:
        release.wait(600)
        return False

    server.always = wait
    with build(reranked(server, window=4, step=1, depth=30, timeout=600)) as system:
        answer = fetch(system, ONE, depth=30, retries=0, timeout=0.2)
    assert "within 0.2 s" in answer.failures["q1"]
    left = {*threading.enumerate()} - before
    release.set()
    for thread in left:
        thread.join(600)
    assert len(server.sent) <= 1


# --- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"key": "wrong-hush"}, "answered 401"),
        ({"model": "smal"}, "smal"),
        ({"url": "http://127.0.0.1:1/v1", "retries": 0}, "nothing answers"),
    ],
)
def test_what_an_endpoint_does_not_know(server: Server, more: dict[str, Any], word: str) -> None:
    server.key = "right-key-123"
    options: dict[str, Any] = {"key": "right-key-123", **more}
    with pytest.raises(InputError, match=word) as caught:
        fetched(reranked(server, **options))
    assert "hush" not in str(caught.value)
    assert len(server.sent) <= 2


def test_a_parameter_that_the_endpoint_refuses(server: Server) -> None:
    server.always = status(400, "temperature is not supported")
    with pytest.raises(InputError, match="temperature is not supported"):
        fetched(reranked(server, jobs=1))
    assert len(server.sent) == 2  # a short question is refused, too


def test_a_question_that_the_endpoint_refuses(server: Server) -> None:
    server.faults = [status(400, "too long")]
    answer, usage = fetched(reranked(server, jobs=1), queries=ONE)
    assert (usage.failed, usage.fallen_back, usage.answered) == (1, 1, 1)
    assert usage.requests == 3  # a short question shows that all else is right
    assert answer.failures == {}


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"url": "ftp://host/v1"}, "an address"),
        ({"url": "http://me:hush@host/v1"}, "password"),
        ({"url": "http://host/v1?key=hush"}, "a query"),
        ({"url": "http://host/v1/chat/completions"}, "'http://host/v1'"),
        ({"key": "hush\n"}, "the key"),
        ({"key": ""}, "the key"),
        ({"headers": {"X-Key": " hush-key-77"}}, "X-Key"),
        ({"extra": {"stream": True}}, "stream"),
        ({"budget": {"money": 1}}, "price"),
        ({"budget": {"tokens": 100}, "max_tokens": None}, "max_tokens"),
        ({"window": 5, "step": 5}, "a window of 5"),
        ({"method": "listwize"}, "nearest: listwise"),
        ({"jobs": 0}, "from 1 to 256"),
        ({"prompt": "none.md"}, "none.md"),
    ],
)
def test_options_that_make_no_sense(server: Server, more: dict[str, Any], word: str) -> None:
    with pytest.raises((InputError, LookupError)) as caught:
        build_system(reranked(server, **more))
    assert word in str(caught.value)
    assert "hush" not in str(caught.value)


# --- secrets -------------------------------------------------------------------------------------


def test_a_key_is_nowhere(server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "rankscope")
    server.key = "hush/key+1234"
    server.faults = [
        status(500, "cannot do this for Bearer hush/key+1234"),
        says("your key is hush/key+1234"),
    ]
    secret: dict[str, Any] = {"key": "hush/key+1234", "headers": {"X-Other": "hush-header"}}
    written: list[str] = []
    for stage in (reranked, rewritten, embedded):
        with build(stage(server, **secret), tmp_path) as system:
            answer = fetch(system, QUERIES, store=tmp_path)
            written += [repr(system.options), json.dumps(system.identity().to_dict())]
        written += [repr(answer), *(fact.to_json() for fact in answer.facts)]
    assert "retrying" in caplog.text
    server.key = "another"
    for stage in (reranked, rewritten, embedded):
        with pytest.raises(InputError) as caught:
            fetched(stage(server, **secret))
        written.append("".join(traceback.format_exception(caught.value)))
    written.append(caplog.text)
    for path in tmp_path.rglob("*"):
        written += [str(path), *([path.read_bytes().decode("latin-1")] if path.is_file() else [])]
    assert [text for text in written if "hush" in text] == []
