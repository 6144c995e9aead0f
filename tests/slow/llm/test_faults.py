"""Whatever an endpoint does, a query has an answer, and what happened is counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx", reason="language models are asked through httpx")

from llm.server import (
    Fault,
    Server,
    cut_short,
    raw,
    reset,
    says,
    serving,
    silent,
    status,
)
from llm.world import INCOMING, QUERIES, embedded, fetched, reranked, rewritten
from rankscope.errors import InputError

ONE = {"q1": QUERIES["q1"]}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(endpoint: Server) -> Server:
    endpoint.calm()
    return endpoint


def ranked(numbers: list[Any]) -> Fault:
    return says(json.dumps({"ranking": numbers}))


PERMANENT: dict[str, Fault] = {
    "500": status(500),
    "502": status(502),
    "429": status(429, "slow down"),
    "429 with Retry-After": status(429, "slow down", Retry_After="0.01"),
    "garbage": raw(b"\x00\xff not json"),
    "an empty answer": raw(b""),
    "JSON that is no chat": raw(b'{"choices": []}'),
    "JSON that is a list": raw(b"[1, 2]"),
    "a page": raw(b"<html>login</html>"),
    "truncated": cut_short,
    "truncated JSON of the right length": raw(b'{"choices": [{"message": {"content": "'),
    "a reset": reset,
    "content that is a list": raw(b'{"choices": [{"message": {"content": [1]}}]}'),
}
"""Faults after which a request is repeated."""


@pytest.mark.parametrize("name", PERMANENT)
def test_a_fault_is_repeated_and_then_leaves_the_incoming_order(server: Server, name: str) -> None:
    usual, _ = fetched(reranked(server), queries=ONE)
    server.faults = [PERMANENT[name], PERMANENT[name]]
    answer, usage = fetched(reranked(server), queries=ONE)
    assert (answer.run, answer.failures) == (usual.run, {})
    assert (usage.requests, usage.retried, usage.answered) == (4, 2, 2)
    assert (usage.failed, usage.fallen_back) == (0, 0)
    server.always = PERMANENT[name]
    answer, usage = fetched(reranked(server), queries=ONE)
    assert answer.failures == {}
    assert list(answer.run["q1"]) == INCOMING["q1"]
    assert (usage.answered, usage.failed, usage.fallen_back) == (0, 2, 2)
    assert (usage.requests, usage.retried) == (6, 4)


UNREADABLE: dict[str, Fault] = {
    "prose": says("The best document is number 3."),
    "a thought after the answer": says('{"ranking": [1]} <think>or not</think>'),
    "prose around JSON": says('Here it is: {"ranking": [1, 2]}'),
    "missing ids": ranked([2, 1]),
    "duplicate ids": ranked([1, 1, *range(3, 21)]),
    "unknown ids": ranked([99, *range(2, 21)]),
    "zero": ranked([0, *range(2, 21)]),
    "text ids": ranked([str(n) for n in range(1, 21)]),
    "fractions": ranked([1.5, *range(2, 21)]),
    "true": ranked([True, *range(2, 21)]),
    "nested": ranked([[n] for n in range(1, 21)]),
    "another key": says(json.dumps({"order": list(range(1, 21))})),
    "one key too many": says(json.dumps({"ranking": list(range(1, 21)), "why": "so"})),
    "a key twice": says('{"ranking": [], "ranking": []}'),
    "NaN": says('{"ranking": [NaN]}'),
    "a list": says(json.dumps(list(range(1, 21)))),
    "null": says(None),
    "nothing": says(""),
    "a refusal": says(None, "stop", refusal="I cannot help with that."),
    "a filter": says("", "content_filter"),
    "cut off": says('{"ranking": [1, 2, ', "length"),
    "deep": says("[" * 100_000),
}
"""Answers that are not what was asked for."""


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_answer_that_cannot_be_read_is_asked_for_again(server: Server, name: str) -> None:
    usual, _ = fetched(reranked(server), queries=ONE)
    server.faults = [UNREADABLE[name]]
    server.sent.clear()
    answer, usage = fetched(reranked(server), queries=ONE)
    assert (answer.run, answer.failures) == (usual.run, {})
    assert (usage.requests, usage.retried, usage.unreadable) == (3, 1, 1)
    assert (usage.answered, usage.failed, usage.fallen_back) == (2, 0, 0)
    first, second = server.sent[:2]
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert [message["role"] for message in second["messages"][-2:]] == ["assistant", "user"]
    server.always = UNREADABLE[name]
    answer, usage = fetched(reranked(server), queries=ONE)
    assert answer.failures == {}
    assert list(answer.run["q1"]) == INCOMING["q1"]
    assert (usage.unreadable, usage.failed, usage.fallen_back) == (6, 2, 2)


def test_a_window_that_fails_leaves_the_others(server: Server) -> None:
    server.faults = [says("no")] * 3  # the bottom window of two
    answer, usage = fetched(reranked(server), queries=ONE)
    assert (usage.answered, usage.failed, usage.fallen_back) == (1, 1, 1)
    assert list(answer.run["q1"])[-10:] == INCOMING["q1"][-10:]


def test_silence_is_not_waited_for(server: Server) -> None:
    server.always = silent
    answer, usage = fetched(reranked(server, timeout=0.2, window=50, retries=1), queries=ONE)
    assert (usage.requests, usage.retried, usage.failed, usage.fallen_back) == (2, 1, 1, 1)
    assert list(answer.run["q1"]) == INCOMING["q1"]


def test_retry_after_is_heeded_by_all_requests(server: Server) -> None:
    server.faults = [status(429, "slow down", Retry_After="0.4")]
    _, usage = fetched(reranked(server, window=50), queries=ONE)
    assert (usage.requests, usage.failed) == (2, 0)
    assert server.times[1] - server.times[0] >= 0.4


def test_an_endpoint_that_wants_to_be_left_alone_for_hours_stops_it(server: Server) -> None:
    server.always = status(429, "quota used up", Retry_After="7200")
    with pytest.raises(InputError, match=r"quota used up.*asks to wait 7,200 s; answers so far"):
        fetched(reranked(server))
    assert len(server.sent) <= 2


def test_an_endpoint_that_goes_away_stops_it(server: Server, tmp_path: Path) -> None:
    queries = {f"q{n}": f"soup {n}" for n in range(30)}
    spec = reranked(server, of="bm25", depth=3, stop_after=3, jobs=1)
    server.faults = [lambda *_: False] * 10
    server.always = reset
    with pytest.raises(InputError, match=r"no answer to the last 3 questions .*run this again"):
        fetched(spec, tmp_path, queries)
    assert len(server.sent) == 10 + 3 * 3
    server.always = None
    answer, usage = fetched(spec, tmp_path, queries)
    assert (usage.cached, usage.requests) == (10, 20)  # finished work is kept
    assert answer.failures == {}


WRONG_FORMS: list[tuple[str, dict[str, Any]]] = [
    ("keywords", {"keywords": []}),
    ("keywords", {"keywords": ["soup", ""]}),
    ("keywords", {"keywords": "soup"}),
    ("keywords", {"keywords": ["x" * 201]}),
    ("keywords", {"keywords": ["x"] * 51}),
    ("expansion", {"keywords": ["soup"]}),
    ("hyde", {"passage": " "}),
    ("hyde", {"passage": "x" * 8001}),
]


def test_a_rewrite_of_another_form_is_none(server: Server) -> None:
    for style, wrong in WRONG_FORMS:
        server.faults = [says(json.dumps(wrong))]
        _, usage = fetched(rewritten(server, style=style), queries=ONE)
        assert (usage.unreadable, usage.answered, usage.requests) == (1, 1, 2), wrong


def test_grades_out_of_range_leave_the_incoming_order(server: Server) -> None:
    server.always = says('{"grades": [{"document": 1, "grade": 4}]}')
    answer, usage = fetched(reranked(server, method="pointwise", depth=3), queries=ONE)
    assert list(answer.run["q1"]) == INCOMING["q1"]
    assert usage.answered == 0
    assert usage.fallen_back == usage.failed > 0


WRONG_VECTORS = {
    "too few": {"data": []},
    "none": {},
    "texts": {"data": [{"index": n, "embedding": ["a"]} for n in range(30)]},
    "empty": {"data": [{"index": n, "embedding": []} for n in range(30)]},
    "of several lengths": {"data": [{"index": n, "embedding": [1.0] * (n + 1)} for n in range(30)]},
    "the same twice": {"data": [{"index": 0, "embedding": [1.0]}] * 30},
    "infinite": {"data": [{"index": n, "embedding": [1e999]} for n in range(30)]},
    "huge": {"data": [{"index": n, "embedding": [10**400, 1.0]} for n in range(30)]},
}


def test_vectors_that_are_none_are_asked_for_again_and_refused(server: Server) -> None:
    for content in WRONG_VECTORS.values():
        server.calm()
        wrong = raw(json.dumps(content).encode())
        server.faults = [wrong]
        answer, usage = fetched(embedded(server))
        assert (usage.requests, usage.retried, answer.failures) == (4, 1, {})
        server.always = wrong
        with pytest.raises(InputError, match="sent something"):
            fetched(embedded(server))


def test_vectors_of_another_length_than_asked_for(server: Server) -> None:
    answer, _ = fetched(embedded(server, dimensions=8))
    assert answer.failures == {}
    assert server.sent[0]["dimensions"] == 8
    eight = [{"index": n, "embedding": [0.5] * 8} for n in range(30)]
    server.always = raw(json.dumps({"data": eight}).encode())
    with pytest.raises(InputError, match="length 8"):
        fetched(embedded(server, dimensions=4))
