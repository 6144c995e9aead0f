"""The system http: its options, its errors in one sentence each, and how it is asked."""

from __future__ import annotations

import datetime
import json
import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rankscope.errors import InputError, RankscopeError
from rankscope.records.origin import EngineFacts
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.options import Reading
from rankscope.retrieval.protocol import Query, System
from rankscope.retrieval.registry import SYSTEMS, build_system
from remote.engines import (
    Asked,
    StandIn,
    running,
)

pytest.importorskip("httpx")


class Plain(StandIn):
    """Answers every request with ``reply``, or what that returns of the request."""

    name = "plain"

    def __init__(self) -> None:
        super().__init__()
        self.reply: Any = {"hits": [{"id": 1, "score": 2.0}, {"id": "b", "score": 3}], "total": 2}

    def answer(self, asked: Asked) -> Any:
        return self.reply(asked) if callable(self.reply) else self.reply


@pytest.fixture
def server() -> Iterator[Plain]:
    server = Plain()
    with running(server):
        yield server


def system_of(server: Plain, **options: Any) -> System:
    table: dict[str, Any] = {"url": server.url, "body": {"q": "{{query}}", "n": "{{depth}}"}}
    table |= {"ids": "hits[*].id", "scores": "hits[*].score"}
    table.update(options)
    return build_system({"http": {key: value for key, value in table.items() if value is not ...}})


QUERY = Query("q", "leek soup", {"lang": "de", "year": 2024, "place": {"city": "Ulm"}, "no": None})


def asked(server: Plain, query: Query = QUERY, **options: Any) -> Asked:
    """Return what is asked for a query."""
    with system_of(server, **options) as system:
        [ranking] = system.search([query], 7)
    assert ranking.error is None
    return server.asked[-1]


# --- what is sent --------------------------------------------------------------------------------


def test_a_body(server: Plain) -> None:
    body = {
        "q": "about {{query}}",
        "n": "{{depth}}",
        "f": {"l": "{{metadata.lang}}", "y": "{{metadata.year}}", "c": "{{metadata.place.city}}"},
        "x": "{{metadata.no?}}",
        "date": "{{metadata.when?}}",
    }
    query = Query("q", "leek", {**QUERY.metadata, "when": datetime.date(2024, 5, 6)})
    request = asked(server, query, body=body, path="/search")
    assert (request.method, request.path) == ("POST", "/search")
    assert request.headers["content-type"] == "application/json"
    assert request.body == {
        "q": "about leek",
        "n": 7,
        "f": {"l": "de", "y": 2024, "c": "Ulm"},
        "date": "2024-05-06",
    }


def test_an_address_with_params(server: Plain) -> None:
    params = {
        "rows": "{{depth}}",
        "fq": ["l:{{metadata.lang}}", "x:{{metadata.x?}}", "y:{{metadata.year}}"],
        "v": "{{vector}}",
        "on": True,
    }
    url = f"{server.url}/api/{{{{index}}}}/"
    options: dict[str, Any] = {"url": url, "path": "/{{metadata.lang}}/find", "index": "a b/c"}
    options["embedder"] = lambda _: [[3.0, 4.0]]  # of which the length becomes 1
    request = asked(server, body=..., params=params, **options)
    assert (request.method, request.body, request.path) == ("GET", None, "/api/a b/c/de/find")
    fields = {"rows": ["7"], "fq": ["l:de", "y:2024"], "v": ["[0.6,0.8]"], "on": ["true"]}
    assert request.params == fields


def test_a_zero_vector_is_not_asked_about(server: Plain) -> None:
    body = {"v": "{{vector}}", "n": "{{depth}}"}
    with system_of(server, body=body, embedder=lambda texts: [[0.0] for _ in texts]) as system:
        assert system.search([QUERY], 3)[0].doc_ids == ()
    assert server.searches() == []


def test_a_body_from_a_file_and_as_text(server: Plain, tmp_path: Path) -> None:
    text = '\ufeff{"q": {{query}}, "n": {{depth}}}'
    (tmp_path / "body.json").write_text(text, "utf-8")
    table = {"url": server.url, "ids": "hits[*].id"}
    for body in ("body.json", text.removeprefix("\ufeff")):
        with build_system({"http": {**table, "body": body}}, folder=tmp_path) as system:
            system.search([QUERY], 7)
        assert server.asked[-1].body == {"q": "leek soup", "n": 7}
    by_name, by_content = (
        build_system({"http": {**table, "body": body}}, folder=tmp_path).identity()
        for body in ("body.json", {"q": "{{query}}", "n": "{{depth}}"})
    )
    assert by_name.parameters == by_content.parameters


def test_keys_are_sent_where_they_are_wanted_and_kept_nowhere(
    server: Plain, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    options: dict[str, Any] = {
        "params": {"token": "{{keys.token}}"},
        "keys": {"token": "hush-token"},
        "headers": {"X-Key": "hush-header"},
    }
    request = asked(server, **options)
    assert request.params == {"token": ["hush-token"]}
    assert request.headers["x-key"] == "hush-header"
    assert "?token=… " in caplog.text
    assert "hush" not in caplog.text
    system = system_of(server, **options)
    seen = repr(system.options) + json.dumps(system.identity().to_dict()) + repr(system.facts())
    assert "hush" not in seen
    other = system_of(server, **{**options, "keys": {"token": "x"}, "headers": {"X-Key": "y"}})
    assert other.identity() == system.identity()


# --- what is read --------------------------------------------------------------------------------


def pairs(server: Plain, reply: Any, depth: int = 10, **options: Any) -> list[tuple[str, float]]:
    server.reply = reply
    with system_of(server, **options) as system:
        [ranking] = system.search([QUERY], depth)
    assert ranking.error is None
    return ranking.pairs()


def test_ids_and_scores(server: Plain) -> None:
    assert pairs(server, server.reply) == [("b", 3.0), ("1", 2.0)]
    assert pairs(server, server.reply, depth=1) == [("b", 3.0)]
    assert pairs(server, server.reply, order="ascending") == [("1", -2.0), ("b", -3.0)]
    assert pairs(server, server.reply, scores=...) == [("1", -1.0), ("b", -2.0)]
    assert pairs(server, server.reply, scores=..., depth=1) == [("1", -1.0)]
    assert pairs(server, {"hits": []}) == []
    assert pairs(server, {"hits": [{"id": "x", "score": "0.25"}]}) == [("x", 0.25)]
    reply = {"hits": [{"id": "id:a:b::c::d", "score": 1}, {"id": "e", "score": 0}]}
    assert pairs(server, reply, id_after="::") == [("c::d", 1.0), ("e", 0.0)]


TWO = {"hits": [{"id": "a"}, {"id": "b", "score": 1}]}


@pytest.mark.parametrize(
    ("reply", "options", "word"),
    [
        ({"hits": [{"_id": "hush", "score": 1}]}, {}, "_id"),
        ({"results": 1}, {}, "results"),
        (TWO, {}, "scores"),
        (TWO, {"scores": "hits[*].score?"}, "2 ids"),
        ({"hits": [{"id": "a", "score": None}]}, {}, "null"),
        ({"hits": [{"id": "a", "score": "hush"}]}, {}, "a text"),
        ({"hits": [{"id": ["a"], "score": 1}]}, {}, "a list"),
        ({"hits": [{"id": 1.5, "score": 1}]}, {}, "a point"),
        ({"hits": [{"id": "a", "score": 10**400}]}, {}, "too large"),
    ],
)
def test_an_answer_that_cannot_be_read(server: Plain, reply: Any, options: Any, word: str) -> None:
    server.reply = reply
    with system_of(server, **options) as system, pytest.raises(InputError, match=word) as caught:
        fetch(system, [QUERY])
    assert "hush" not in str(caught.value)
    good = {"hits": [{"id": "a", "score": 1}]}
    server.reply = lambda asked: good if asked.body["q"] == "good" else reply
    with system_of(server, **options) as system:  # later it is one query's failure
        fetched = fetch(system, [Query("q0", "good"), QUERY], retries=0)
    assert list(fetched.run) == ["q0"]
    assert fetched.failures == {"q": str(caught.value)}


def test_documents_that_are_none_are_a_failure(server: Plain, tmp_path: Path) -> None:
    for second, problem in (("\ud800b", "half a character"), ("a", "twice")):
        server.reply = {"hits": [{"id": "a", "score": 2}, {"id": second, "score": 1}]}
        with system_of(server) as system:
            fetched = fetch(system, [QUERY], retries=0, store=tmp_path)
        assert problem in fetched.failures["q"]


def test_odd_facts_can_be_recorded(server: Plain) -> None:
    odd = {"version": "1.\ud800", "n": "9" * 5000, "index": {"a\udc00": math.nan, "b": ["\ud800"]}}
    server.reply = {"hits": [], "total": "9" * 5000, **odd}
    asks = {"version": "version", "count": "n", "settings": "index"}
    options = {name: {"path": "/about", "at": at} for name, at in asks.items()}
    with system_of(server, total="total", **options) as system:
        assert fetch(system, [QUERY], retries=0).failures == {}
        (facts,) = system.facts()
    assert isinstance(facts, EngineFacts)
    assert (facts.version, facts.documents) == ("1.?", None)
    assert facts.settings["index_settings"] == {"a?": "nan", "b": ["?"]}


# --- what is refused -----------------------------------------------------------------------------

GOOD: dict[str, Any] = {
    "url": "http://localhost:9",
    "body": {"q": "{{query}}", "n": "{{depth}}"},
    "ids": "hits[*].id",
}


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"url": ...}, "url is required"),
        ({"ids": ...}, "ids is required"),
        ({"url": "localhost"}, "http.url"),
        ({"url": "http://u:hush@h"}, "password"),
        ({"url": "http://h/?a=1"}, "params"),
        ({"url": "http://{{index}}/"}, "http.url"),
        ({"path": "x"}, "http.path"),
        ({"path": "/x?q={{query}}"}, "params"),
        ({"ids": "hits..id"}, "http.ids"),
        ({"errors": ["a["]}, "http.errors"),
        ({"body": '{"q": {{query}}'}, "not JSON"),
        ({"body": 7}, "http.body"),
        ({"body": {"q": "{{query}}", "x": float("nan")}}, "http.body"),
        ({"body": {"q": "{{qury}}"}}, "nearest: query"),
        ({"body": {"q": "fixed"}}, "{{query}}"),
        ({"body": {"v": "{{vector}}"}}, "embedder"),
        ({"embedder": "wordllama"}, "{{vector}}"),
        ({"page": 10}, "{{offset}}"),
        ({"path": "/{{index}}"}, "index: NAME"),
        ({"params": {"k": "{{keys.a}}"}}, "keys"),
        ({"version": {"path": "/{{query}}"}}, "http.version"),
        ({"search": "lexical"}, "recipe"),
        ({"verfy": True}, "nearest: verify"),
        ({"recipe": "elasticsearch"}, "index: NAME"),
        ({"body": "none.json"}, "none.json"),
        ({"body": "bad.json"}, "bad.json"),
        ({"body": "odd.json"}, "not UTF-8"),
        ({"body": "fixed.json"}, "{{query}}"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], word: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"q": {{query}},}')
    (tmp_path / "odd.json").write_bytes(b'{"q": "\xff"}')
    (tmp_path / "fixed.json").write_text('{"q": 1}')
    table = {key: value for key, value in {**GOOD, **options}.items() if value is not ...}
    with pytest.raises(RankscopeError) as caught:
        build_system({"http": table}, folder=tmp_path)
    assert word in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("option", ["body", "params", "variables", "path"])
def test_a_secret_where_it_would_be_recorded_is_refused(option: str) -> None:
    value: Any = "/${KEY}/{{query}}" if option == "path" else {"q": "{{query}}", "k": "x ${KEY}"}
    with pytest.raises(InputError, match="kept secret in headers and keys only") as caught:
        SYSTEMS.read({"http": {**GOOD, option: value}}, Reading(unexpanded=True))
    assert str(caught.value).startswith(f"http.{option}: ")
    table = {**GOOD, "headers": {"K": "${KEY}"}, "keys": {"k": "${KEY}"}, "url": "${URL}"}
    SYSTEMS.read({"http": table}, Reading(unexpanded=True))


def test_what_no_query_has_ends_the_fetch_at_once(server: Plain) -> None:
    queries = [Query(f"q{n}", "leek", {"lang": "de"}) for n in range(3)]
    body = {"q": "{{query}}", "n": "{{depth}}", "l": "{{metadata.language}}"}
    with system_of(server, body=body) as system, pytest.raises(InputError, match="'language'"):
        fetch(system, queries)
    assert server.asked == []
    queries[1] = Query("q1", "leek", {"language": "de"})
    with system_of(server, body=body) as system:
        fetched = fetch(system, queries, retries=0)
    assert list(fetched.run) == ["q1"]
    assert {*fetched.failures} == {"q0", "q2"}


def test_a_refused_query_is_that_querys_failure(server: Plain) -> None:
    """The first one, too: a plain word shows that the request is right."""

    class TooLongError(ValueError):
        pass

    def reply(asked: Asked) -> Any:
        if len(asked.body["q"]) > 100:
            raise TooLongError("at most 100 characters")
        return {"hits": [{"id": "a", "score": 1}]}

    server.reply = reply
    queries = [Query("long", "leek " * 50), Query("q1", "leek"), Query("long2", "soup " * 50)]
    with system_of(server) as system:
        fetched = fetch(system, queries, retries=0)
    assert list(fetched.run) == ["q1"]
    assert {*fetched.failures} == {"long", "long2"}
    assert "answered 400" in fetched.failures["long"]
    assert [asked.body["q"] for asked in server.asked].count("test") == 1


# --- how it is asked -----------------------------------------------------------------------------


def test_an_engine_that_is_busy(server: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("rankscope.retrieval.waiting.Stop.sleep", lambda _, s: waits.append(s))
    server.busy = [(429, {"Retry-After": "30"})]
    with system_of(server, path="/search") as system:
        fetched = fetch(system, [QUERY], pause=0)
        assert (fetched.failures, fetched.timings.retried) == ({}, 1)
        assert 0 < sum(waits) <= 30
        server.busy = [(503, {}), (502, {})]
        fetched = fetch(system, [QUERY], pause=0)
        assert (fetched.failures, fetched.timings.retried) == ({}, 2)
        server.busy = [(429, {"Retry-After": "3600"})]
        fetched = fetch(system, [QUERY], pause=0)
    assert "answered 429: 'busy'" in fetched.failures["q"]
    assert fetched.timings.retried == 0


def test_long_settings_are_a_hash_and_secrets_are_left_out(server: Plain) -> None:
    server.reply = {"hits": [], "x": "y" * 30_000}
    with system_of(server, settings="/s") as system:
        system.prepare()
        assert {*system.facts()[0].settings["index_settings"]} == {"sha256", "characters"}  # type: ignore[union-attr]
    server.reply = {"hits": [], "a": [{"apiKey": "1", "tokenizer": "2", "url": "say hush-1"}]}
    with system_of(server, settings="/s", headers={"K": "hush-1"}) as system:
        system.prepare()
        assert system.facts()[0].settings["index_settings"]["a"] == [  # type: ignore[union-attr]
            {"apiKey": "…", "tokenizer": "2", "url": "…"}
        ]


def test_identity(server: Plain) -> None:
    system = system_of(server, snapshot="monday")
    identity = system.identity()
    changes: list[dict[str, Any]] = [
        {"body": {"q": "{{query}}!", "n": "{{depth}}"}},
        {"ids": "hits[*].name"},
        {"order": "ascending"},
        {"params": {"a": "b"}},
        {"path": "/x"},
        {"snapshot": "tuesday"},
    ]
    for options in changes:
        assert system_of(server, **{"snapshot": "monday", **options}).identity().key != identity.key
    changes = [{"total": "total"}, {"version": "/"}, {"headers": {"a": "b"}}]
    for options in changes:
        assert system_of(server, snapshot="monday", **options).identity().key == identity.key
