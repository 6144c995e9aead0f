"""Stages that ask a language model keep the rules of all systems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("httpx", reason="language models are asked through httpx")

from llm.server import Server, serving

from conformance import test_systems as rules
from conformance.world import BM25, CASES, Case
from rankscope.retrieval.protocol import System, all_parts
from rankscope.retrieval.stages.rerank import RERANKERS
from rankscope.retrieval.stages.rewrite import REWRITERS
from rankscope.retrieval.vector.embedders import EMBEDDERS

METHODS = ("listwise", "pointwise")
STYLES = ("keywords", "expansion", "hyde")
NAMES = [
    "vector-llm",
    *(f"rerank-llm-{method}" for method in METHODS),
    *(f"rewrite-llm-{style}" for style in STYLES),
]

system = rules.system
test_it_keeps_the_rules = rules.test_it_keeps_the_rules


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[Server]:
    with serving() as server, pytest.MonkeyPatch.context() as patch:

        def options(**more: Any) -> dict[str, Any]:
            return {"url": server.url, "model": "small", **more}

        def stage(kind: str, **more: Any) -> Case:
            depth = {"depth": 4} if kind == "rerank" else {}

            def spec(**changed: Any) -> dict[str, Any]:
                return {kind: {"of": BM25, "llm": options(**more, **changed), **depth}}

            return Case(lambda _: spec(), lambda _: spec(seed=1), by_text=kind == "rerank")

        def vector(**more: Any) -> dict[str, Any]:
            return {"vector": {"embedder": {"llm": options(**more)}}}

        embedder = Case(lambda _: vector(), lambda _: vector(dimensions=8), by_text=False)
        patch.setitem(CASES, "vector-llm", embedder)
        for method in METHODS:
            patch.setitem(CASES, f"rerank-llm-{method}", stage("rerank", method=method))
        for style in STYLES:
            patch.setitem(CASES, f"rewrite-llm-{style}", stage("rewrite", style=style))
        yield server


def test_all_parts_are_tried() -> None:
    kinds = [type(part) for name in NAMES for part in all_parts(rules.build(name))]
    for registry in (EMBEDDERS, REWRITERS, RERANKERS):
        assert registry.entry("llm").make in kinds


def test_they_promise_no_more_than_a_model_keeps(name: str, system: System) -> None:
    assert system.capabilities.remote
    assert not system.capabilities.deterministic
    assert system.capabilities.concurrent is name.startswith(("rerank", "rewrite"))
