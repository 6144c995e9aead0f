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
from conformance.engine import ENTRY, Engine, EngineSystem, running
from conformance.world import BM25, CASES, CORPUS, QUERIES, Case, words_alike
from rankscope import run_benchmark
from rankscope.errors import InputError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import System
from rankscope.retrieval.registry import SYSTEMS, build_system

NAMES = ["engine", "fuse-engine", "rerank-engine", "rewrite-engine"]

system = rules.system
for _name, _rule in vars(rules).items():
    if _name.startswith("test_") and not _name.startswith("test_every_"):
        globals()[_name] = _rule


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", autouse=True)
def engine() -> Iterator[Engine]:
    with running() as engine, pytest.MonkeyPatch.context() as patch:

        def spec(**options: Any) -> dict[str, Any]:
            return {"engine": {"url": engine.url, "key": "key", "snapshot": "monday", **options}}

        def case(kind: str, **options: Any) -> Case:
            return Case(
                lambda _: {kind: {"of": [BM25, spec()] if kind == "fuse" else spec(), **options}},
                lambda _: {kind: {"of": [BM25] if kind == "fuse" else spec(boost=2), **options}},
                own_documents=kind != "fuse",
            )

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
    fetch(build(engine, snapshot="monday"), QUERIES, store=tmp_path)
    assert engine.asked == texts
    fetch(build(engine, snapshot="tuesday"), QUERIES, store=tmp_path)
    assert engine.asked == 2 * texts
    unstated = fetch(build(engine), QUERIES, store=tmp_path)
    assert "has no stated snapshot, so it is asked again by every process" in unstated.notes[0]
    assert engine.asked == 3 * texts
    fetch(build(engine), QUERIES, store=tmp_path)
    assert engine.asked == 3 * texts  # this process goes on where it was
    monkeypatch.setattr("rankscope.retrieval.protocol.THIS_PROCESS", "another process")
    fetch(build(engine), QUERIES, store=tmp_path)
    assert engine.asked == 4 * texts


def test_another_key_is_the_same_system(engine: Engine, tmp_path: Path) -> None:
    engine.keys = {"old-key", "new-key"}
    old, new = (build(engine, key=key, snapshot="monday") for key in ("old-key", "new-key"))
    assert old.identity() == new.identity()
    first = fetch(old, QUERIES, store=tmp_path)
    asked = list(engine.asked)
    assert fetch(new, QUERIES, store=tmp_path).run == first.run
    assert engine.asked == asked


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
    assert sum(waits) == pytest.approx(30, abs=5)
    engine.busy = [3600.0]
    fetched = fetch(build(engine), QUERIES[:1], pause=0)
    assert "it asks to wait 3600 s" in fetched.failures["q1"]
    assert fetched.timings.retried == 0


CONFIG = """\
name: remote
collection: {{corpus: c.jsonl, queries: q.jsonl, qrels: qrels.tsv}}
systems:
  far: {{engine: {{url: {url}, key: "${{KEY}}", snapshot: 2026-01-31}}}}
  mixed: {{fuse: [far, bm25]}}
measures: [nDCG@10]
"""


def test_a_benchmark_survives_a_new_key(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "bench.yaml"
    config.write_text(CONFIG.format(url=engine.url))
    (tmp_path / "c.jsonl").write_text(
        "".join(json.dumps({"_id": f"d{n}", "text": f"soup {n}"}) + "\n" for n in range(5))
    )
    (tmp_path / "q.jsonl").write_text('{"_id": "q1", "text": "soup 1"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    engine.keys = {"first key", "second key"}
    monkeypatch.setenv("KEY", "first key")
    first = run_benchmark(config, output=tmp_path / "out")
    asked = list(engine.asked)
    assert asked == ["soup 1", "soup 1"]  # at two depths
    monkeypatch.setenv("KEY", "second key")
    second = run_benchmark(config, output=tmp_path / "out")
    assert second.reused
    assert second.folder == first.folder
    fresh = run_benchmark(config, output=tmp_path / "other", cache=tmp_path / "out" / ".cache")
    assert fresh.folder.name == first.folder.name
    assert engine.asked == asked
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"first key" not in stored
