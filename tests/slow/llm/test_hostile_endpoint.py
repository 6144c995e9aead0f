"""Endpoints that stall, swell, miscount and repeat themselves: limits hold, counts are exact."""

from __future__ import annotations

import gzip
import json
import socket
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx", reason="language models are asked through httpx")

from llm.server import Requests, Server, late, says, serving, status
from llm.world import CORPUS, QUERIES, build, embedded, fetched, reranked, rewritten, usage
from rankscope import Corpus
from rankscope.errors import InputError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.llm.answer_forms import Passage, Terms
from rankscope.retrieval.protocol import facts_of
from rankscope.retrieval.remote.web import LARGEST_ANSWER, Web, WebError, WebOptions
from rankscope.retrieval.waiting import Pace, Stop

ONE = {"q1": QUERIES["q1"]}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def web(server: Server) -> Iterator[Web]:
    web = Web(WebOptions(url=server.url), needed_for="a test")
    yield web
    web.close()


# --- time and size -------------------------------------------------------------------------------


def slow_head(request: Requests, _: dict[str, Any]) -> bool:
    """Send a header that never ends, and never pauses for long."""
    request.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    for _byte in range(60):
        request.wfile.write(b"a")
        request.wfile.flush()
        time.sleep(0.05)
    return True


def slow_progress(request: Requests, _: dict[str, Any]) -> bool:
    """Say again and again that it is being worked on."""
    for _byte in range(60):
        request.wfile.write(b"HTTP/1.1 102 Processing\r\n\r\n")
        request.wfile.flush()
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("fault", [slow_head, slow_progress])
def test_a_head_that_drips_gets_no_more_time(server: Server, web: Web, fault: Any) -> None:
    server.faults = [fault]
    began = time.monotonic()
    with pytest.raises(WebError, match=r"did not finish its answer within 0\.2 s"):
        web.json("POST", "/chat/completions", {}, seconds=0.2)
    assert time.monotonic() - began < 2
    answer = web.json("POST", "/embeddings", {"model": "small", "input": ["a"]}, seconds=5)
    assert len(answer["data"]) == 1  # what was left behind is in nobody's way


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "zstd"])
def test_an_answer_that_swells_is_not_unpacked(server: Server, web: Web, encoding: str) -> None:
    packed = gzip.compress(b" " * (LARGEST_ANSWER + 2**24), 9)
    if encoding == "gzip, gzip":
        packed = gzip.compress(packed)

    def swell(request: Requests, _: dict[str, Any]) -> bool:
        request.send_response(200)
        request.send_header("Content-Encoding", encoding)
        request.send_header("Content-Length", str(len(packed)))
        request.end_headers()
        request.wfile.write(packed)
        return True

    server.faults = [swell]
    tracemalloc.start()
    try:
        with pytest.raises(WebError, match=r"more than 64 MB|packed its answer as") as caught:
            web.json("POST", "/chat/completions", {}, seconds=20)
        assert tracemalloc.get_traced_memory()[1] < 2.5 * LARGEST_ANSWER
    finally:
        tracemalloc.stop()
    assert not caught.value.may_repeat


def test_gzip_is_asked_for_and_read(server: Server, web: Web) -> None:
    asked = []

    def pack(request: Requests, _: dict[str, Any]) -> bool:
        asked.append(request.headers["Accept-Encoding"])
        content = gzip.compress(b'{"a": 1}')
        request.send_response(200)
        request.send_header("Content-Encoding", "gzip")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)
        return True

    server.faults = [pack]
    assert web.json("POST", "", {}) == {"a": 1}
    assert asked == ["gzip"]


def test_nothing_listens_at_an_address_in_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr("rankscope.retrieval.remote.trust.getproxies", dict)
    monkeypatch.setattr(socket, "create_connection", refuse)
    asked = Web(WebOptions(url="http://192.0.2.1:9/v1"), needed_for="a test")
    with pytest.raises(InputError, match=r"nothing answers at 192\.0\.2\.1:9"):
        asked.reach()


# --- pace ----------------------------------------------------------------------------------------


def test_who_already_waits_heeds_a_pause_too() -> None:
    pace = Pace(Stop(None), rate=10)
    pace.wait_for(1)
    began = time.monotonic()

    class Meanwhile(Stop):
        def sleep(self, seconds: float) -> None:
            if not held:
                held.append(seconds)
                pace.hold(0.4)
            super().sleep(seconds)

    held: list[float] = []
    pace.stop = Meanwhile(None)
    pace.wait_for(1)
    assert time.monotonic() - began >= 0.4


def test_retry_after_is_heeded_by_requests_that_wait_for_their_turn(server: Server) -> None:
    server.faults = [status(429, "slow down", Retry_After="1")]
    spec = reranked(server, method="pointwise", depth=4, jobs=4, rate=5)
    fetched(spec, queries=ONE)
    began = server.times[0]
    assert sum(moment - began < 0.9 for moment in server.times) <= 2


def test_after_the_end_nothing_is_asked(server: Server) -> None:
    server.always = late(0.15)
    with build(reranked(server, window=4, step=1, depth=30)) as system:
        answer = fetch(system, ONE, depth=30, retries=0, timeout=0.4)
    assert answer.failures == {"q1": "no answer within 0.4 s"}
    time.sleep(0.3)
    sent = len(server.sent)
    time.sleep(0.5)
    assert len(server.sent) == sent


# --- counts --------------------------------------------------------------------------------------


def test_the_same_wrong_answer_is_asked_about_each_time(server: Server) -> None:
    server.always = says("no")
    _, spent = fetched(rewritten(server, retries=3), queries=ONE)
    assert (spent.requests, spent.retried, spent.unreadable) == (4, 3, 4)
    assert len(server.sent) == 4


def test_tokens_count_whatever_the_answer_holds(server: Server) -> None:
    counts = {"prompt_tokens": 100, "completion_tokens": 10}
    none = json.dumps({"choices": [], "usage": counts}).encode()
    unanswered = [lambda request, _: request.send(200, none), status(400, "too long")]
    server.faults = [*unanswered, says("{}")]
    _, spent = fetched(rewritten(server, retries=1, jobs=1), queries=ONE)
    # no message in it; refused; a short question to see whether all are; the query as it is
    assert (len(server.sent), spent.requests, spent.fallen_back) == (3, 3, 1)
    assert (spent.prompt_tokens, spent.completion_tokens) == (200, 20)


@pytest.mark.parametrize(
    "count", [pytest.param(10**400, id="huge"), 10**12, -1, 1.5, True, "7", None]
)
def test_counts_that_are_none_are_not_counted(server: Server, count: Any) -> None:
    server.usage = {"prompt_tokens": count, "completion_tokens": 1}
    answer, spent = fetched(rewritten(server, price={"prompt": 1.0}))
    assert (answer.failures, spent.prompt_tokens, spent.cost) == ({}, 0, 0.0)


def test_half_a_pair_in_an_answer_is_sent_back_as_a_sign(server: Server) -> None:
    server.always = says("soup \ud800")
    _, spent = fetched(rewritten(server, retries=1), queries=ONE)
    assert spent.requests == len(server.sent) == 2
    assert server.sent[1]["messages"][2]["content"] == "soup \ufffd"


def test_nothing_that_is_no_text_reaches_the_system_below() -> None:
    assert Passage().read('{"passage": "leek\\u0000 \\ud800soup"}') == "leek soup"
    assert Terms("terms").read('{"terms": ["le\\u0007ek\\udc00"]}') == ["leek"]


@pytest.mark.parametrize("before", ["<think>\nhm\n</think>\n", "hm, {1}\n</think>\n\n", "</think>"])
def test_thoughts_end_where_the_model_says(before: str) -> None:
    assert Passage().read(f'{before}{{"passage": "leek"}}') == "leek"
    assert Passage().read('{"passage": "a </think> b"}') == "a </think> b"


@pytest.mark.parametrize("secret", ["1", "2", "on"])
def test_a_short_header_is_no_key_that_could_hide_an_answer(
    server: Server, tmp_path: Path, secret: str
) -> None:
    spec = reranked(server, method="pointwise", depth=3, headers={"X-Debug": secret})
    _, spent = fetched(spec, tmp_path)
    assert (spent.answered, spent.fallen_back) == (6, 0)


# --- budgets -------------------------------------------------------------------------------------


def test_letters_of_other_scripts_are_more_tokens(server: Server) -> None:
    texts = {f"d{n}": f"韭菜汤和盐奶油锅烤箱菜肴{n}" * 20 for n in range(6)}
    server.answer = lambda body: json.dumps(
        {"ranking": [*range(1, body["messages"][1]["content"].count("<document ") + 1)]}
    )
    used = []

    def counting(request: Requests, body: dict[str, Any]) -> bool:
        letters = sum(len(message["content"]) for message in body["messages"])
        used.append(letters + 10)
        request.server.usage = {"prompt_tokens": letters, "completion_tokens": 10}
        return False

    server.always = counting
    run = {"run": {"path": {f"q{n}": dict.fromkeys(texts, 1.0) for n in range(9)}}}
    spec = reranked(server, of=run, budget={"tokens": 10_000}, max_tokens=20, jobs=1)
    system = build(spec)
    system.index(Corpus(texts))
    with system, pytest.raises(InputError, match="budget of 10,000 tokens"):
        fetch(system, {f"q{n}": f"汤 {n}" for n in range(9)}, retries=0)
    assert 0 < sum(used) <= 10_000


@pytest.mark.parametrize(
    "sent", [{"max_tokens": None, "extra": {"max_completion_tokens": 900}}, {"extra": {"n": 9}}]
)
def test_the_longest_answer_is_what_is_sent(server: Server, sent: dict[str, Any]) -> None:
    server.usage = {"prompt_tokens": 100, "completion_tokens": 900}
    spec = rewritten(server, budget={"tokens": 2500}, **{"max_tokens": 100, **sent})
    with pytest.raises(InputError, match="budget of 2,500 tokens"):
        fetched(spec, queries={f"q{n}": f"soup {n}" for n in range(9)})
    assert 0 < len(server.sent) * 1000 <= 2500


def test_a_budget_without_a_longest_answer(server: Server) -> None:
    with pytest.raises(InputError, match="needs to know the longest answer: set max_tokens"):
        build(rewritten(server, budget={"tokens": 100}, max_tokens=None))
    build(rewritten(server, budget={"requests": 100}, max_tokens=None)).close()


def test_a_request_that_timed_out_may_be_charged(server: Server) -> None:
    server.always = late(0.3)
    spec = rewritten(server, budget={"tokens": 3000}, timeout=0.05, retries=0, jobs=1)
    with pytest.raises(InputError, match=r"and up to 2,\d+ tokens that nobody counted"):
        fetched(spec, queries={f"q{n}": f"soup {n}" for n in range(9)})
    assert len(server.sent) == 2


# --- embeddings ----------------------------------------------------------------------------------


def test_vectors_of_several_lengths(server: Server) -> None:
    def longer(*_: Any) -> bool:
        server.dimensions += 1
        return False

    server.always = longer
    with pytest.raises(InputError, match="vectors of length 17 and of length"):
        fetched(embedded(server, batch=8, jobs=1))


@pytest.mark.parametrize("value", [pytest.param(10**400, id="huge"), 1e300])
def test_numbers_that_no_vector_holds(server: Server, value: float) -> None:
    count = len(CORPUS)
    rows = [{"index": place, "embedding": [value, 1.0]} for place in range(count)]
    content = json.dumps({"data": rows}).encode()
    server.always = lambda request, _: request.send(200, content)
    with pytest.raises(InputError, match="an embedding is not a list of numbers"):
        fetched(embedded(server, retries=0))


def test_what_was_used_is_told_after_the_end(server: Server) -> None:
    with build(rewritten(server)) as system:
        fetch(system, QUERIES, retries=0)
    assert usage(facts_of(system)).requests == len(server.sent) == 2


# --- headers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["hush-key-77\n", " hush-key-77", "hush\r\nX-Other: key-77", "é"])
def test_a_header_that_cannot_be_sent_is_refused_and_not_shown(server: Server, value: str) -> None:
    with pytest.raises(InputError, match=r"headers\.X-Key: the value of the header") as caught:
        build(rewritten(server, headers={"X-Key": value}))
    assert "hush" not in str(caught.value)


def test_a_name_that_is_none_of_a_header(server: Server) -> None:
    with pytest.raises(InputError, match="'X Key' cannot be the name of a header"):
        build(rewritten(server, headers={"X Key": "1"}))
