"""What replies took: the time of each query, tokens and cost, asked for now or kept from before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx", reason="language models are asked through httpx")

from llm.server import Server, serving
from llm.world import build, embedded, fetched, reranked, rewritten
from rankscope.records.origin import ModelUsage
from rankscope.retrieval.cache_entries import read_entry, write_entry
from rankscope.retrieval.protocol import Query

SEVERAL = [Query(f"q{n}", f"soup {n}") for n in range(4)]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


# --- time ----------------------------------------------------------------------------------------


def took_seconds(folder: Path, seconds: float, word: str = "") -> None:
    """Let the kept replies, or those that hold a word, have taken as long as this."""
    for path in folder.rglob("*.reply"):
        reply = json.loads(read_entry(path) or b"")
        if word in reply["content"]:
            write_entry(path, json.dumps({**reply, "seconds": seconds}).encode())


def test_the_time_of_a_query_is_its_own(server: Server, tmp_path: Path) -> None:
    spec = rewritten(server, jobs=2, style="hyde")
    with build(spec, tmp_path) as system:
        system.search(SEVERAL, 5)
    took_seconds(tmp_path, 1000, "soup 2")
    with build(spec, tmp_path) as system:
        spent = [each.seconds for each in system.search(SEVERAL, 5)]
    assert len(server.sent) == len(SEVERAL)
    assert spent[2] >= 1000
    assert max(*spent[:2], *spent[3:]) < 1000, "and no share of a slower one's"


def test_questions_that_are_asked_at_a_time_are_kept_so(server: Server, tmp_path: Path) -> None:
    spec = reranked(server, method="pointwise", jobs=10, of="bm25", depth=10)
    for _ in range(2):
        with build(spec, tmp_path) as system:
            [answer] = system.search([Query("q1", "soup")], 10)
        took_seconds(tmp_path, 1000)
    assert 1000 <= answer.seconds < 5000, "not the sum of ten"
    assert len(server.sent) == 10


# --- tokens and cost -----------------------------------------------------------------------------

PRICE = {"prompt": 2.0, "completion": 10.0}
EACH = 100 * 2e-6 + 10 * 10e-6
"""What a reply of the endpoint costs."""


def took(usage: ModelUsage) -> tuple[Any, ...]:
    """Return what a fetch asked: requests, tokens and cost."""
    return (usage.requests, usage.prompt_tokens, usage.completion_tokens, usage.cost)


def had_taken(usage: ModelUsage) -> tuple[Any, ...]:
    """Return the same of what was kept from before."""
    kept = usage.kept
    assert kept is not None
    assert kept.uncounted == 0
    return (kept.requests, kept.prompt_tokens, kept.completion_tokens, kept.cost)


def of_replies(count: int) -> tuple[Any, ...]:
    return (count, 100 * count, 10 * count, pytest.approx(EACH * count))


@pytest.mark.parametrize("stage", [reranked, rewritten])
def test_what_kept_replies_had_cost_is_said(server: Server, tmp_path: Path, stage: Any) -> None:
    _, first = fetched(stage(server, price=PRICE), tmp_path)
    count = len(server.sent)
    assert took(first) == of_replies(count)
    assert had_taken(first) == of_replies(0)
    _, again = fetched(stage(server, price=PRICE), tmp_path)
    assert took(again) == of_replies(0)
    assert had_taken(again) == of_replies(count)
    assert again.kept is not None
    assert again.kept.seconds is not None
    assert again.kept.seconds >= first.seconds
    percentiles = (again.kept.p50, again.kept.p95)
    assert None not in percentiles
    assert again.p50 is None
    _, unpriced = fetched(stage(server), tmp_path)
    assert unpriced.kept is not None
    assert (unpriced.kept.requests, unpriced.kept.cost) == (count, None)


def test_what_an_endpoint_does_not_count_is_not_known(server: Server, tmp_path: Path) -> None:
    server.usage = None
    fetched(rewritten(server, price=PRICE), tmp_path)
    _, again = fetched(rewritten(server, price=PRICE), tmp_path)
    kept = again.kept
    assert kept is not None
    assert (kept.requests, kept.uncounted) == (2, 2)
    assert (kept.prompt_tokens, kept.completion_tokens, kept.cost) == (None, None, None)


def test_vectors_are_kept_without_what_they_took(server: Server, tmp_path: Path) -> None:
    _, spent = fetched(embedded(server), tmp_path)
    assert spent.kept is None
