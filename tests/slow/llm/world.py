"""A small corpus, and specs of stages that ask the local endpoint about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llm.server import Server
from rankscope import Corpus
from rankscope.records.origin import ModelUsage
from rankscope.retrieval.fetch import Fetched, fetch
from rankscope.retrieval.protocol import Component, System, all_parts
from rankscope.retrieval.registry import build_system

DOCUMENTS = {
    **{f"d{n:02}": f"soup number {n} with salt" for n in range(28)},
    "best": "leek soup with cream soup soup soup",
    "good": "leek and salt soup",
}
CORPUS = Corpus(DOCUMENTS)
QUERIES = {"q1": "leek soup cream", "q2": "salt soup"}
INCOMING = {query_id: [*DOCUMENTS] for query_id in QUERIES}
"""Answers with the best documents at the bottom."""
RUN: dict[str, Any] = {
    "run": {
        "path": {
            query_id: {doc_id: float(len(order) - at) for at, doc_id in enumerate(order)}
            for query_id, order in INCOMING.items()
        }
    }
}


def options(server: Server, **more: Any) -> dict[str, Any]:
    return {"url": server.url, "model": "small", "pause": 0.01, "timeout": 600, **more}


def reranked(server: Server, *, of: Any = RUN, depth: int = 50, **more: Any) -> dict[str, Any]:
    return {"rerank": {"of": of, "llm": options(server, **more), "depth": depth}}


def rewritten(server: Server, **more: Any) -> dict[str, Any]:
    return {"rewrite": {"of": "bm25", "llm": options(server, **more)}}


def embedded(server: Server, **more: Any) -> dict[str, Any]:
    return {"vector": {"embedder": {"llm": options(server, **more)}}}


def build(spec: dict[str, Any], cache: Path | None = None, **context: Any) -> System:
    system = build_system(spec, cache=cache, **context)
    system.index(CORPUS)
    return system


def fetched(
    spec: dict[str, Any], cache: Path | None = None, queries: Any = QUERIES, **context: Any
) -> tuple[Fetched, ModelUsage]:
    """Ask all queries, and return the answers and what asking the model took."""
    with build(spec, cache, **context) as system:
        answer = fetch(system, queries, depth=30, retries=0)
    return answer, usage(answer.facts)


def usage(facts: Sequence[Any]) -> ModelUsage:
    (usage,) = [fact for fact in facts if isinstance(fact, ModelUsage)]
    return usage


def part(system: System, kind: type[Component]) -> Any:
    return next(each for each in all_parts(system) if isinstance(each, kind))
