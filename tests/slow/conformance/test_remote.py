"""A remote engine keeps the rules it says it keeps, alone and below stages, and no secret leaks."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance import test_systems as rules
from conformance.engine import ENGINES, ENTRY, Engine, EngineSystem
from conformance.world import BM25, CASES, CORPUS, QUERIES, Case, words_alike
from rankscope.errors import InputError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import System
from rankscope.retrieval.registry import SYSTEMS, build_system

NAMES = ["engine", "fuse-engine", "rerank-engine", "rewrite-engine"]

system = rules.system
test_it_keeps_the_rules = rules.test_it_keeps_the_rules


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", autouse=True)
def engine() -> Iterator[Engine]:
    engine = Engine("https://engine.example")
    with pytest.MonkeyPatch.context() as patch:

        def spec(**options: Any) -> dict[str, Any]:
            return {"engine": {"url": engine.url, "key": "key", "snapshot": "monday", **options}}

        def case(kind: str, **options: Any) -> Case:
            return Case(
                lambda _: {kind: {"of": [BM25, spec()] if kind == "fuse" else spec(), **options}},
                lambda _: {kind: {"of": [BM25] if kind == "fuse" else spec(boost=2), **options}},
                own_documents=kind != "fuse",
            )

        patch.setitem(ENGINES, engine.url, engine)
        patch.setitem(SYSTEMS._entries, "engine", ENTRY)
        patch.setitem(
            CASES,
            "engine",
            Case(lambda _: spec(), lambda _: spec(boost=2), own_documents=True),
        )
        patch.setitem(CASES, "fuse-engine", case("fuse"))
        patch.setitem(CASES, "rerank-engine", case("rerank", python=words_alike))
        patch.setitem(CASES, "rewrite-engine", case("rewrite", keywords={}))
        yield engine


@pytest.fixture(autouse=True)
def _calm(engine: Engine) -> None:
    engine.busy, engine.keys, engine.asked = [], {"key"}, []


def build(engine: Engine, **options: Any) -> EngineSystem:
    system = build_system({"engine": {"url": engine.url, "key": "key", **options}})
    assert isinstance(system, EngineSystem)
    system.index(CORPUS)
    return system


def test_stages_promise_no_more_than_what_is_below(name: str, system: System) -> None:
    assert system.capabilities.remote
    assert not system.capabilities.exact
    assert not system.capabilities.deterministic
    assert system.capabilities.ties == (
        "trec" if name in ("fuse-engine", "rerank-engine") else "any"
    )
    assert system.capabilities.concurrent is (name != "rerank-engine")  # code of the user


def test_a_stage_closes_what_it_made_and_nothing_else(engine: Engine) -> None:
    inner = build(engine)
    with build_system({"rewrite": {"of": "inner", "keywords": {}}}, systems={"inner": inner}):
        pass
    assert inner.closed == 0
    spec: dict[str, Any] = {"engine": {"url": engine.url, "key": "key"}}
    with build_system({"fuse": {"of": [{"rewrite": {"of": spec, "keywords": {}}}]}}) as stage:
        below = stage.parts()[0].parts()[0]
    assert isinstance(below, EngineSystem)
    assert below.closed == 1


def test_a_stated_snapshot_keeps_answers_and_nothing_else_does(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [query.text for query in QUERIES]
    stated = fetch(build(engine, snapshot="monday"), QUERIES, store=tmp_path)
    assert (engine.asked, stated.notes) == (texts, ())
    engine.keys = {"key", "new-key"}
    fetch(build(engine, snapshot="monday", key="new-key"), QUERIES, store=tmp_path)
    assert engine.asked == texts  # another key is the same system
    fetch(build(engine, snapshot="tuesday"), QUERIES, store=tmp_path)
    assert engine.asked == 2 * texts
    unstated = fetch(build(engine), QUERIES, store=tmp_path)
    assert "snapshot" in unstated.notes[0]
    assert engine.asked == 3 * texts
    fetch(build(engine), QUERIES, store=tmp_path)
    assert engine.asked == 3 * texts  # this process goes on where it was
    monkeypatch.setattr("rankscope.retrieval.protocol.THIS_PROCESS", "another process")
    fetch(build(engine), QUERIES, store=tmp_path)
    assert engine.asked == 4 * texts


def fails(text: str) -> None:
    raise InputError(f"{text} is out of reach")


def test_a_secret_is_nowhere(
    engine: Engine,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.INFO)
    system = build(engine, key="hush/hush")
    fetched = fetch(system, QUERIES[:2], store=tmp_path, pause=0)
    assert fetched.failures["q1"] == "ConnectionError: 401: the key … is wrong"
    seen = [repr(system.options), str(system.options), json.dumps(system.identity().to_dict())]
    seen += [repr(fetched), caplog.text]
    for key in (7, ["hush/hush"]):
        with pytest.raises(InputError, match=r"engine\.key: expected text$") as caught:
            build_system({"engine": {"url": engine.url, "key": key}})
        seen.append(str(caught.value))
    assert "hush" not in "".join(seen)
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"hush" not in stored
    address = "https://x/?key=hush%2Fhush"  # not in a line that a traceback shows
    monkeypatch.setattr(system, "prepare", lambda: fails(address))
    with pytest.raises(InputError) as refused:
        fetch(system, QUERIES[:1])
    assert "".join(traceback.format_exception(refused.value)).count("hush") == 0
    assert str(refused.value) == "https://x/?key=… is out of reach"


def test_retry_after_is_heeded(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("rankscope.retrieval.waiting.Stop.sleep", lambda _, s: waits.append(s))
    engine.busy = [30.0]
    fetched = fetch(build(engine), QUERIES[:1], pause=0)
    assert (fetched.failures, fetched.timings.retried) == ({}, 1)
    assert 0 < sum(waits) <= 30
    engine.busy = [3600.0]
    fetched = fetch(build(engine), QUERIES[:1], pause=0)
    assert "3600 s" in fetched.failures["q1"]
    assert fetched.timings.retried == 0
