"""A remote engine keeps the rules it says it keeps, alone and below stages, and no secret leaks.

Like an approximate index, the engine finds something for every query, looks at a part of the
documents only, and puts equal scores in another order each time. It wants a key, and can be told to
be busy.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from conformance import test_systems as rules
from conformance.world import BM25, CASES, CORPUS, QUERIES, Case, words_alike
from rankscope import Corpus
from rankscope.errors import InputError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.options import Text
from rankscope.retrieval.protocol import (
    Capabilities,
    Identity,
    Query,
    Ranking,
    RemoteOptions,
    RetryLater,
    Secret,
    System,
    check_depth,
    fingerprint,
    snapshot_of,
)
from rankscope.retrieval.registry import SYSTEMS, Context, Entry, build_system


class Engine:
    """The engine: documents by the name of an index, and what it was asked."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.indexes: dict[str, dict[str, str]] = {}
        self.keys = {"key"}
        self.asked: list[str] = []
        self.busy: list[float] = []
        """For each of the next requests, the seconds it is told to wait."""
        self.numbers = count()

    def answer(self, key: str, index: str, query: str, size: int) -> list[tuple[str, float]]:
        if key not in self.keys:
            raise ConnectionError(f"401: the key {key} is wrong")
        if self.busy:
            raise RetryLater(self.busy.pop())
        self.asked.append(query)
        words = set(query.lower().split())
        scored = [
            (doc_id, len(words & set(text.lower().split())) + 0.5)
            for at, (doc_id, text) in enumerate(self.indexes[index].items())
            if text.strip() and (at % 7 or words & set(text.lower().split()))
        ]
        turn = next(self.numbers) % max(len(scored), 1)
        turned = scored[turn:] + scored[:turn]
        return sorted(turned, key=lambda pair: -pair[1])[:size]


ENGINES: dict[str, Engine] = {}
"""By address."""


class EngineOptions(RemoteOptions):
    """Where the engine is."""

    url: Text
    """The address of the engine."""
    key: Secret
    """The key it asks for."""
    boost: float = 1.0
    """What scores are multiplied with."""


class EngineSystem(System):
    """Asks the engine."""

    batch_size = 4
    capabilities = Capabilities(
        deterministic=False, exact=False, ties="any", concurrent=True, remote=True
    )

    def __init__(self, options: EngineOptions, _: Context) -> None:
        self.options: EngineOptions = options
        self._snapshot, self.notes = snapshot_of(options.snapshot, f"the engine {options.url}")
        self._index = "none"
        self.closed = 0

    def index(self, corpus: Corpus) -> None:
        texts = {
            document.doc_id: f"{document.title} {document.text}" for document in corpus.documents()
        }
        self._index = fingerprint(texts)
        ENGINES[self.options.url].indexes[self._index] = texts

    def identity(self) -> Identity:
        return Identity(
            kind="engine",
            name=self.name,
            version="engine 1",
            parameters=self.options.plain(),
            snapshot=self._snapshot,
        )

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        return [self._answer(query, check_depth(depth)) for query in queries]

    def close(self) -> None:
        super().close()
        self.closed += 1

    def _answer(self, query: Query, depth: int) -> Ranking:
        if not query.text.strip():
            return Ranking()
        key = self.options.key.get_secret_value()
        try:
            pairs = ENGINES[self.options.url].answer(key, self._index, query.text, depth)
        except RetryLater as error:
            return Ranking.failed_by(error)
        scores = tuple(self.options.boost * score for _, score in pairs)
        return Ranking(tuple(doc_id for doc_id, _ in pairs), scores)


ENTRY: Entry[System] = Entry("engine", "a search engine elsewhere", EngineOptions, EngineSystem)


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
