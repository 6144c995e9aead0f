"""The system http: its options, its errors in one sentence each, how it is asked, and going on."""

from __future__ import annotations

import base64
import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmark.world import cli
from conformance.servers import SearchServer, facts_of, searching
from rankscope.errors import InputError, RankscopeError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.options import Reading
from rankscope.retrieval.protocol import Query, System
from rankscope.retrieval.registry import SYSTEMS, build_system

pytest.importorskip("httpx")

QUERY = Query("q", "leek soup")
BODY = {"q": "{query}", "n": "{depth}"}
TABLE: dict[str, Any] = {"body": BODY, "hits": "hits.hits", "ids": "_id", "scores": "_score"}


@pytest.fixture
def server() -> Iterator[SearchServer]:
    with searching() as server:
        server.indexes["food"] = {"a": "leek soup soup", "b": "leek", "c": "bread"}
        yield server


def system_of(server: SearchServer, **options: Any) -> System:
    table = {"url": f"{server.url}/food/_search", **TABLE, **options}
    return build_system({"http": {key: value for key, value in table.items() if value is not ...}})


# --- what is sent and read -----------------------------------------------------------------------


def test_a_body_and_an_address(
    server: SearchServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("TOKEN", "hush-token")
    body = {**BODY, "about": "of {query}, {depth}", "v": ["{vector}"], "k": "{env.TOKEN}"}
    options: dict[str, Any] = {"embedder": lambda _: [[3.0, 4.0]]}  # whose length becomes 1
    options |= {"url": f"{server.url}/food/{{query}}", "params": {"t": "{env.TOKEN}", "n": [1, 2]}}
    with system_of(server, body=body, headers={"X-Key": "hush-key"}, **options) as system:
        [ranking] = system.search([QUERY], 7)
        seen: list[object] = [system.options, system.identity(), system.facts(), caplog.text]
        server.next_answers = [(500, {})] * 3
        seen.append(fetch(system, [QUERY], retries=0))
    assert ranking.pairs() == [("a", 3.0), ("b", 1.0)]
    asked = server.asked[0]
    assert asked["path"] == "/food/leek soup?t=hush-token&n=1&n=2"
    assert asked["headers"]["x-key"] == "hush-key"
    assert asked["body"] == {
        "q": "leek soup",
        "n": 7,
        "about": "of leek soup, 7",
        "v": [[0.6, 0.8]],
        "k": "hush-token",
    }
    assert "hush" not in "".join(map(repr, seen))
    monkeypatch.delenv("TOKEN")
    with (
        system_of(server, body=body, **options) as system,
        pytest.raises(InputError, match="TOKEN"),
    ):
        system.search([QUERY], 7)


@pytest.mark.parametrize(
    ("reply", "paths", "pairs"),
    [
        ({"r": [["x", "0.25"], [7, 2]]}, ("r", "0", "1"), {"7": 2, "x": 0.25}),
        ({"r": [{"id": 1}, {"id": 2}]}, ("r", "id", ...), {"1": -1, "2": -2}),
        ({"i": [["a", "b"]], "d": [[1, 2]]}, (..., "i.0", "d.0"), {"b": 2, "a": 1}),
        ({"@v": [{"@s.x": 3, "i": "a"}]}, ("@v", "i", ["@s.x"]), {"a": 3}),
        ({"root": {}}, ("root.children?", "id", "relevance"), {}),
    ],
)
def test_paths(server: SearchServer, reply: Any, paths: Any, pairs: dict[str, float]) -> None:
    server.reply = reply
    options = dict(zip(("hits", "ids", "scores"), paths, strict=True))
    with system_of(server, **options) as system:
        assert dict(system.search([QUERY], 5)[0].pairs()) == pairs
    with system_of(server, **options, order="ascending") as system:
        assert len(system.search([QUERY], 1)[0].doc_ids) == min(1, len(pairs))


def hits(*rows: Any) -> Any:
    return {"hits": {"hits": list(rows)}}


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        (hits({"id": "hush", "_score": 1}), "'id'"),
        ({"results": 1}, "results"),
        ({"hits": {"hits": "hush"}}, "expected a list"),
        (hits({"_id": "a"}, {"_id": "b", "_score": 1}), "_score"),
        (hits({"_id": "a", "_score": None}), "null"),
        (hits({"_id": "a", "_score": "hush"}), "a text"),
        (hits({"_id": ["a"], "_score": 1}), "a list"),
        (hits({"_id": 1.5, "_score": 1}), "a number"),
        (hits({"_id": "a", "_score": 10**400}), "scores"),
    ],
)
def test_an_answer_that_cannot_be_read(server: SearchServer, reply: Any, word: str) -> None:
    server.reply = reply
    with system_of(server) as system, pytest.raises(InputError, match=word) as caught:
        fetch(system, [QUERY])
    assert "hush" not in str(caught.value)
    good = hits({"_id": "a", "_score": 1})
    server.reply = lambda body: good if body["q"] == "good" else reply
    with system_of(server) as system:  # later it is one query's failure
        fetched = fetch(system, [Query("q0", "good"), QUERY], retries=0)
    assert list(fetched.run) == ["q0"]
    assert word in fetched.failures["q"]


def test_an_answer_that_says_it_is_partial_is_a_failure(server: SearchServer) -> None:
    server.reply = {**hits({"_id": "a", "_score": 1}), "failed": ["a shard is gone"]}
    with system_of(server, errors=["timed_out", "failed.0"]) as system:
        assert "a shard is gone" in fetch(system, [QUERY], retries=0).failures["q"]


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"url": ...}, "url is required"),
        ({"ids": ...}, "ids is required"),
        ({"url": "localhost"}, "http.url"),
        ({"url": "http://u:hush@h"}, "password"),
        ({"url": "http://h/?a=1"}, "params"),
        ({"body": '{"q": 1}'}, "a table"),
        ({"body": {"q": "fixed"}}, "{query}"),
        ({"body": {"v": "{vector}"}}, "embedder"),
        ({"embedder": "wordllama"}, "{vector}"),
        ({"verfy": True}, "nearest: verify"),
        ({"recipe": "elasticsearch"}, "recipe"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], word: str) -> None:
    table = {"url": "http://localhost:9", **TABLE, **options}
    with pytest.raises(RankscopeError) as caught:
        build_system({"http": {key: value for key, value in table.items() if value is not ...}})
    assert word in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("option", ["body", "params"])
def test_a_secret_where_it_would_be_recorded_is_refused(option: str) -> None:
    given = {"url": "http://h", **TABLE, option: {"q": "{query}", "k": ["x ${KEY}"]}}
    with pytest.raises(InputError, match=r"env\.NAME"):
        SYSTEMS.read({"http": given}, Reading(unexpanded=True))
    SYSTEMS.read(
        {"http": {**TABLE, "headers": {"K": "${KEY}"}, "url": "${URL}"}}, Reading(unexpanded=True)
    )


def test_every_known_api_is_a_system() -> None:
    text = (Path(__file__).parents[3] / "docs" / "search_apis.yaml").read_text()
    for engine in yaml.safe_load(text).values():
        for spec in engine["systems"].values():
            SYSTEMS.read(spec, Reading(unexpanded=True))


# --- how it is asked -----------------------------------------------------------------------------


def test_an_engine_that_is_busy(server: SearchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("rankscope.retrieval.waiting.Stop.sleep", lambda _, s: waits.append(s))
    with system_of(server) as system:
        server.next_answers = [(429, {"Retry-After": "30"})]
        fetched = fetch(system, [QUERY], pause=0)
        assert (fetched.failures, fetched.timings.retried) == ({}, 1)
        assert 0 < sum(waits) <= 30
        server.next_answers = [(503, {}), (502, {})]
        fetched = fetch(system, [QUERY], pause=0)
        assert (fetched.failures, fetched.timings.retried) == ({}, 2)
        server.next_answers = [(429, {"Retry-After": "3600"})]
        fetched = fetch(system, [QUERY], pause=0)
    assert "answered 429: 'unwell'" in fetched.failures["q"]
    assert fetched.timings.retried == 0


def test_one_that_accepts_and_never_answers_is_given_up(
    server: SearchServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.hangs.set()
    queries = [Query(f"q{at}", "leek") for at in range(500)]
    began = time.monotonic()
    with system_of(server) as system, pytest.raises(InputError, match="answered none of the first"):
        fetch(system, queries, timeout=0.2, pause=0.01, jobs=4)
    assert time.monotonic() - began < 60
    assert len(server.asked) < 40
    assert "none of the first 2 queries" in caplog.text


def test_what_it_is_known_by(server: SearchServer) -> None:
    system, key = system_of(server, snapshot="monday"), {"Authorization": "Bearer x"}
    identity = system.identity()
    assert (identity.snapshot, system.notes) == ("monday", ())
    assert system_of(server, snapshot="monday", headers=key).identity() == identity
    for changed in ({"order": "ascending"}, {"body": {**BODY, "n": 5}}, {"snapshot": "x"}):
        assert system_of(server, **{"snapshot": "monday", **changed}).identity() != identity
    assert "no stated snapshot" in system_of(server).notes[0]
    system.prepare()
    assert facts_of(system).snapshot == "monday"


# --- a benchmark ---------------------------------------------------------------------------------

KEY, COUNT = "hush-elastic", 24
CONFIG = """\
name: remote
collection: {corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}
systems:
  live:
    http:
      url: "${ES_URL}"
      headers: {Authorization: "ApiKey ${ES_KEY}"}
      snapshot: 2026-11-17
      body: {q: "{query}", n: "{depth}"}
      hits: hits.hits
      ids: _id
      scores: _score
measures: [nDCG@5]
depth: 5
fetch: {batch: 4, retries: 1}
"""


@pytest.fixture
def world(tmp_path: Path, server: SearchServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [{"_id": doc_id, "text": text} for doc_id, text in server.indexes["food"].items()]
    queries = [{"_id": f"q{n:02}", "text": f"leek soup {n}"} for n in range(COUNT)]
    for name, table in {"corpus": rows, "queries": queries}.items():
        text = "".join(json.dumps(row) + "\n" for row in table)
        (tmp_path / f"{name}.jsonl").write_text(text)
    qrels = [f"{query['_id']}\ta\t1\n" for query in queries]
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(qrels))
    (tmp_path / "bench.yaml").write_text(CONFIG)
    monkeypatch.setenv("ES_URL", f"{server.url}/food")
    monkeypatch.setenv("ES_KEY", KEY)
    return tmp_path


def run(world: Path, *settings: str) -> tuple[int, str, str]:
    arguments = [part for setting in settings for part in ("--set", setting)]
    return cli("benchmark", "run", world / "bench.yaml", "--output", world / "out", *arguments)


def test_the_record_and_no_secret_anywhere(
    world: Path, server: SearchServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    code, out, err = run(world)
    assert code == 0
    code, again, _ = run(world)
    assert (code, len(server.asked)) == (0, COUNT)
    files = [path for path in (world / "out").rglob("*") if path.is_file()]
    written = b"".join(str(path).encode() + path.read_bytes() for path in files)
    written += (out + err + again + caplog.text).encode()
    assert b"2026-11-17" in written
    base64ed = base64.b64encode(KEY.encode()).decode()[:12]
    for secret in (KEY, KEY[::-1], base64ed, KEY.encode().hex()):
        assert secret.encode() not in written


def test_what_is_wrong_is_one_sentence_and_work_is_kept(world: Path, server: SearchServer) -> None:
    assert run(world)[0] == 0
    for setting, word in (
        ("systems.live.http.url=http://127.0.0.1:1", "nothing answers"),
        ("systems.live.http.url=es:9200", "systems.live.http.url"),
        ("systems.live.http.ids=id", "leads nowhere"),
    ):
        code, out, err = run(world, setting)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert word in err
        assert "hush" not in err
    server.next_answers = [(401, {})] * 20
    code, _, err = run(world, "systems.live.http.snapshot=today")
    assert code == 2
    assert "check the key in headers" in err
    asked = len(server.asked)
    assert run(world)[0] == 0
    assert len(server.asked) == asked
