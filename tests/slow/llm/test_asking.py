"""What is sent, what is kept, what it may cost, and what stops it."""

from __future__ import annotations

import json
import logging
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx", reason="language models are asked through httpx")

from llm.server import Server, late, says, serving, status
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
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system

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
    for method in ("listwise", "pairwise", "pointwise"):
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


def test_pairwise_asks_in_both_orders_and_believes_only_what_holds_in_both(server: Server) -> None:
    fetched(reranked(server, method="pairwise", depth=2), queries=ONE)
    first, second = (body["messages"][1]["content"] for body in server.sent)
    assert first != second
    assert {text.index("number 0 ") < text.index("number 1 ") for text in (first, second)} == {
        True,
        False,
    }
    server.always = says('{"better": 2}')  # whatever is shown second
    answer, usage = fetched(reranked(server, method="pairwise"), queries=ONE)
    assert list(answer.run["q1"]) == INCOMING["q1"]
    assert usage.fallen_back == 0


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
    fetched(rewritten(server, **more, response_format="json_object"), queries=ONE)
    assert {*server.sent[-1]} == {"model", "messages", "top_p", "response_format"}
    fetched(rewritten(server, response_format="json_schema", style="hyde"), queries=ONE)
    schema = server.sent[-1]["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["passage"]


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


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"temperature": 0.5},
        {"max_tokens": 99},
        {"snapshot": "may"},
        {"characters": 10},
        {"extra": {"top_p": 0.1}},
        {"response_format": "json_object"},
        {"params": {"version": "2"}},
        {"window": 19},
    ],
    ids=str,
)
def test_what_changes_answers_is_asked_anew(
    server: Server, tmp_path: Path, change: dict[str, Any]
) -> None:
    fetched(reranked(server), tmp_path, ONE)
    _, usage = fetched(reranked(server, **change), tmp_path, ONE)
    assert usage.cached == 0
    assert build(reranked(server, **change)).identity() != build(reranked(server)).identity()


@pytest.mark.parametrize(
    "change",
    [
        {"jobs": 1},
        {"rate": 100},
        {"retries": 0},
        {"key": "another"},
        {"headers": {"X-Team": "search"}},
        {"price": {"prompt": 1}},
        {"budget": {"requests": 50}},
        {"timeout": 3},
        {"stop_after": 2},
    ],
    ids=str,
)
def test_what_does_not_change_answers_is_not_asked_anew(
    server: Server, tmp_path: Path, change: dict[str, Any]
) -> None:
    fetched(reranked(server), tmp_path, ONE)
    _, usage = fetched(reranked(server, **change), tmp_path, ONE)
    assert usage.requests == 0
    assert build(reranked(server, **change)).identity() == build(reranked(server)).identity()


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


def test_unreadable_answers_are_kept_too(server: Server, tmp_path: Path) -> None:
    server.always = says("no")
    first, usage = fetched(reranked(server), tmp_path)
    server.always = None
    again, second = fetched(reranked(server), tmp_path)
    assert again.run == first.run
    assert second.requests == 0
    names = ("unreadable", "failed", "fallen_back")
    assert [getattr(second, name) for name in names] == [getattr(usage, name) for name in names]


@pytest.mark.parametrize("stage", [reranked, rewritten])
def test_a_kept_reply_counts_with_the_time_it_took(
    server: Server, tmp_path: Path, stage: Any
) -> None:
    server.always = late(0.1)
    queries = [Query(f"q{n}", f"soup {n}") for n in range(4)]
    spec = stage(server, jobs=4, **({"of": "bm25", "depth": 3} if stage is reranked else {}))
    with build(spec, tmp_path) as system:
        first = system.search(queries, 5)
    began = time.monotonic()
    with build(spec, tmp_path) as system:
        again = system.search(queries, 5)
    assert time.monotonic() - began < 0.3
    assert len(server.sent) == 4
    for ranking in (*first, *again):  # and not a quarter of it, as four are asked at a time
        assert ranking.seconds >= 0.1


def test_a_damaged_reply_is_asked_for_again(server: Server, tmp_path: Path) -> None:
    first, usage = fetched(reranked(server), tmp_path)
    replies = sorted(tmp_path.rglob("*.reply"))
    assert len(replies) == usage.requests
    replies[0].write_bytes(replies[0].read_bytes()[:-3])
    replies[1].write_bytes(replies[2].read_bytes())
    again, second = fetched(reranked(server), tmp_path)
    assert again.run == first.run
    assert second.requests == 2


def test_the_same_question_at_the_same_time_is_asked_once(server: Server) -> None:
    server.always = late(0.1)
    queries = [Query(f"q{n}", "leek soup") for n in range(8)]
    with build(rewritten(server, jobs=8)) as system:
        rankings = system.search(queries, 5)
        usage = fetch(system, {"q": "leek soup"}).facts
    assert len(server.sent) == 1
    assert len({ranking.doc_ids for ranking in rankings}) == 1
    assert usage[0].answered == 9  # type: ignore[union-attr]


# --- how fast, how much --------------------------------------------------------------------------


def test_jobs_limit_requests_at_the_same_time(server: Server) -> None:
    server.always = late(0.03)
    fetched(reranked(server, method="pointwise", jobs=3))
    assert server.most_at_once == 3
    server.most_at_once = 0
    fetched(reranked(server, method="pairwise", depth=5, jobs=1))
    assert server.most_at_once == 1


def test_the_rate_is_kept(server: Server) -> None:
    began = time.monotonic()
    fetched(reranked(server, method="pointwise", depth=8, rate=40), queries=ONE)
    assert len(server.times) == 8
    assert server.times[-1] - began >= 7 / 40


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
        ({"requests": 3}, "budget of 3 requests; used so far: 3 requests, 330 tokens", 3),
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
    with pytest.raises(InputError, match=words) as caught:
        fetched(spec, tmp_path, queries)
    assert "answers so far are kept" in str(caught.value)
    used = len(server.sent)
    assert used <= most if "requests" in budget else 0 < used * 110 <= 1200
    spec["rerank"]["llm"]["budget"] = {"requests": 40 - used}
    answer, usage = fetched(spec, tmp_path, queries)
    assert (answer.failures, usage.cached, usage.requests) == ({}, used, 40 - used)


def test_without_counts_of_the_endpoint_a_budget_takes_estimates(server: Server) -> None:
    server.usage = None
    with pytest.raises(InputError, match="budget of 2,000 tokens"):
        fetched(reranked(server, method="pointwise", budget={"tokens": 2000}, max_tokens=50))
    assert 0 < len(server.sent) < 10


def test_a_cancelled_fetch_ends_at_once(server: Server) -> None:
    server.always = status(500)
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    began = time.monotonic()
    with build(reranked(server, pause=30)) as system, pytest.raises(Exception, match="cancelled"):
        fetch(system, QUERIES, cancel=cancel)
    assert time.monotonic() - began < 5


# --- mistakes ------------------------------------------------------------------------------------


def refused(server: Server, **more: Any) -> str:
    with pytest.raises(InputError) as caught:
        fetched(reranked(server, **more))
    return str(caught.value)


def test_a_wrong_key(server: Server) -> None:
    server.key = "right-key-123"
    text = refused(server, key="wrong-hush")
    assert "answered 401" in text
    assert "check the key and the variable that holds it" in text
    assert "hush" not in text
    answer, _ = fetched(reranked(server, key="right-key-123"))
    assert answer.failures == {}


def test_a_wrong_model(server: Server) -> None:
    text = refused(server, model="smal")
    assert "answered 404: 'The model `smal` does not exist'" in text
    assert "and 'smal' a model of it?" in text
    assert len(server.sent) <= 2


def test_a_wrong_path(server: Server) -> None:
    text = refused(server, url=server.url.removesuffix("/v1"))
    assert "the address that /chat/completions is added to" in text


def test_nothing_listens(server: Server) -> None:
    text = refused(server, url="http://127.0.0.1:9/v1", retries=0)
    assert "nothing answers at 127.0.0.1:9" in text


def test_a_parameter_that_the_endpoint_refuses(server: Server) -> None:
    server.always = status(400, "temperature is not supported")
    text = refused(server, jobs=1)
    assert "temperature is not supported" in text
    assert "even a short question is refused" in text
    assert len(server.sent) == 2


def test_a_question_that_the_endpoint_refuses(server: Server) -> None:
    server.faults = [status(400, "too long")]
    answer, usage = fetched(reranked(server, jobs=1), queries=ONE)
    assert (usage.failed, usage.fallen_back, usage.answered) == (1, 1, 1)
    assert usage.requests == 3  # a short question shows that all else is right
    assert answer.failures == {}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"url": "ftp://host/v1"}, "expected an address such as https://host:9200, got 'ftp"),
        ({"url": "http://me:hush@host/v1"}, "holds a user or password"),
        ({"url": "http://host/v1?key=hush"}, "the address holds a query"),
        ({"url": "http://host/v1/chat/completions"}, "write 'http://host/v1'"),
        ({"model": ""}, "expected text"),
        ({"key": "hush\n"}, "the key is empty, or holds a space, a line break"),
        ({"key": ""}, "the key is empty"),
        ({"extra": {"stream": True}}, "stream cannot be set in extra"),
        ({"key": 7}, "key: expected text"),
        ({"budget": {"money": 1}}, "a budget of money needs the option price"),
        ({"budget": {"coins": 1}}, "unknown option 'coins'"),
        ({"window": 5, "step": 5}, "a window of 5 documents cannot move by 5"),
        ({"method": "listwize"}, "unknown method 'listwize'; nearest: listwise"),
        ({"temperature": -1}, "expected a number from 0 up, got -1"),
        ({"jobs": 0}, "expected a whole number from 1 to 256, got 0"),
        ({"prompt": "none.md"}, "none.md: file not found"),
    ],
    ids=str,
)
def test_options_that_make_no_sense(server: Server, more: dict[str, Any], words: str) -> None:
    with pytest.raises((InputError, LookupError)) as caught:
        build_system(reranked(server, **more))
    assert words in str(caught.value)
    assert "hush" not in str(caught.value)


def test_a_document_that_is_not_in_the_corpus_cannot_be_read(server: Server) -> None:
    spec = reranked(server, of={"run": {"path": {"q1": {"gone": 1.0}}}})
    answer, _ = fetched(spec, queries=ONE)
    assert answer.failures == {
        "q1": "the document 'gone' is not in the corpus, so it cannot be read"
    }


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
    assert "asking again" in caplog.text
    server.key = "another"
    for stage in (reranked, rewritten, embedded):
        with pytest.raises(InputError) as caught:
            fetched(stage(server, **secret))
        written.append("".join(traceback.format_exception(caught.value)))
    written.append(caplog.text)
    for path in tmp_path.rglob("*"):
        written += [str(path), *([path.read_bytes().decode("latin-1")] if path.is_file() else [])]
    assert [text for text in written if "hush" in text] == []
