"""Endpoints that stall, miscount and repeat themselves: limits hold, counts are exact."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("httpx", reason="language models are asked through httpx")

from llm.server import Server, says, serving, silent, status
from llm.world import QUERIES, embedded, fetched, reranked, rewritten
from rankscope.errors import InputError
from rankscope.retrieval.llm.answer_forms import read_passage, read_terms

ONE = {"q1": QUERIES["q1"]}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


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


@pytest.mark.parametrize("count", [pytest.param(10**400, id="huge"), -1, 1.5, True, "7", None])
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
    assert read_passage('{"passage": "leek\\u0000 \\ud800soup"}') == "leek soup"
    assert read_terms('{"terms": ["le\\u0007ek\\udc00"]}', "terms") == ["leek"]


def test_thoughts_end_where_the_model_says() -> None:
    for before in ("<think>\nhm\n</think>\n", "hm, {1}\n</think>\n\n", "</think>"):
        assert read_passage(f'{before}{{"passage": "leek"}}') == "leek"
    assert read_passage('{"passage": "a </think> b"}') == "a </think> b"


def test_a_short_header_is_no_key_that_could_hide_an_answer(server: Server) -> None:
    spec = reranked(server, method="pointwise", depth=3, headers={"X-Debug": "1"})
    _, spent = fetched(spec)
    assert (spent.answered, spent.fallen_back) == (6, 0)


# --- budgets -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent", [{"max_tokens": None, "extra": {"max_completion_tokens": 900}}, {"extra": {"n": 9}}]
)
def test_the_longest_answer_is_what_is_sent(server: Server, sent: dict[str, Any]) -> None:
    server.usage = {"prompt_tokens": 100, "completion_tokens": 900}
    spec = rewritten(server, budget={"tokens": 2500}, **{"max_tokens": 100, **sent})
    with pytest.raises(InputError, match="budget of 2,500 tokens"):
        fetched(spec, queries={f"q{n}": f"soup {n}" for n in range(9)})
    assert 0 < len(server.sent) * 1000 <= 2500


def test_a_request_that_timed_out_may_be_charged(server: Server) -> None:
    server.always = silent
    spec = rewritten(server, budget={"tokens": 3000}, timeout=0.1, retries=0, jobs=1)
    with pytest.raises(InputError, match="tokens that nobody counted"):
        fetched(spec, queries={f"q{n}": f"soup {n}" for n in range(9)})
    assert len(server.sent) == 2


# --- embeddings ----------------------------------------------------------------------------------


def test_vectors_of_several_lengths(server: Server) -> None:
    def longer(*_: Any) -> bool:
        server.dimensions += 1
        return False

    server.always = longer
    with pytest.raises(InputError, match="length 17"):
        fetched(embedded(server, batch=8, jobs=1))
