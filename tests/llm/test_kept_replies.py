"""What replies took: the time of each query, tokens and cost, asked for now or kept from before."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx", reason="language models are asked through httpx")

from llm.server import Requests, Server, late, serving
from llm.world import build, reranked, rewritten
from rankscope.entries import write_entry
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.stages.stage import one_request

SEVERAL = [Query(f"q{n}", f"soup {n}") for n in range(4)]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


# --- time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", [reranked, rewritten])
def test_the_time_of_a_query_is_its_own(server: Server, tmp_path: Path, stage: Any) -> None:
    def slow_for_one(_: Requests, body: dict[str, Any]) -> bool:
        time.sleep(0.3 if "soup 2" in json.dumps(body) else 0.0)
        return False

    server.always = slow_for_one
    spec = stage(server, jobs=2, **({"of": "bm25", "depth": 3} if stage is reranked else {}))
    for _ in range(2):  # asked, and kept
        with build(spec, tmp_path) as system:
            spent = [each.seconds for each in system.search(SEVERAL, 5)]
        assert spent[2] >= 0.3
        assert max(*spent[:2], *spent[3:]) < 0.3, "and no share of a slower one's"
    assert len(server.sent) == len(SEVERAL)


def test_a_stage_over_a_model_takes_as_long_as_all_it_asks(server: Server, tmp_path: Path) -> None:
    server.always = late(0.1)
    llm = rewritten(server, jobs=4)
    for _ in range(2):
        with build(llm, tmp_path) as below, one_request() as request:
            began = time.perf_counter()
            answers = below.search(SEVERAL, 5)
            whole = time.perf_counter() - began + request.saved
        assert whole >= sum(answer.seconds for answer in answers) >= 0.4


def test_questions_that_are_asked_at_a_time_are_kept_so(server: Server, tmp_path: Path) -> None:
    server.always = late(0.1)
    spec = reranked(server, method="pointwise", jobs=10, of="bm25", depth=10)
    for _ in range(2):
        with build(spec, tmp_path) as system:
            [answer] = system.search([Query("q1", "soup")], 10)
        assert 0.1 <= answer.seconds < 0.6, "not the sum of ten"
    assert len(server.sent) == 10


def test_keeping_replies_takes_no_time_of_the_query(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(path: Path, content: bytes) -> None:
        time.sleep(1.0)
        write_entry(path, content)

    monkeypatch.setattr("rankscope.retrieval.llm.replies.write_entry", slowly)
    with build(rewritten(server), tmp_path) as system:
        began = time.perf_counter()
        [answer] = system.search([Query("q1", "soup")], 5)
    assert time.perf_counter() - began >= 1.0
    assert answer.seconds < 0.9
