"""What replies took: the time of each query, tokens and cost, asked for now or kept from before."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("httpx", reason="language models are asked through httpx")

from llm.server import Requests, Server, late, says, serving
from llm.world import DOCUMENTS, build, embedded, fetched, reranked, rewritten, usage
from rankscope import run_benchmark
from rankscope.document.blocks import Table
from rankscope.entries import read_entry, write_entry
from rankscope.errors import InputError
from rankscope.records.report import BenchmarkReport
from rankscope.reports.asked_engines import _kept, asked_section
from rankscope.reports.llm_judging import usage_table
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.stages.stage import one_request
from rankscope.runs.origin import KeptUsage, ModelUsage

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


# --- tokens and cost -----------------------------------------------------------------------------

PRICE = {"prompt": 2.0, "completion": 10.0}
EACH = 100 * 2e-6 + 10 * 10e-6
"""What a reply of the endpoint costs."""
MANY = {f"q{n}": f"soup {n}" for n in range(40)}


def took(usage: ModelUsage) -> tuple[Any, ...]:
    """Return what a fetch asked: requests, tokens and cost."""
    return (usage.requests, usage.prompt_tokens, usage.completion_tokens, usage.cost)


def had_taken(usage: ModelUsage) -> tuple[Any, ...]:
    """Return the same of what was kept from before."""
    kept = usage.kept
    assert kept is not None
    assert (kept.uncounted, kept.untimed, kept.unknown_answers) == (0, 0, 0)
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


def test_unreadable_replies_had_their_cost_too(server: Server, tmp_path: Path) -> None:
    server.always = says("no")
    _, first = fetched(rewritten(server, price=PRICE, retries=1), tmp_path)
    assert took(first)[0] == 4
    _, again = fetched(rewritten(server, price=PRICE, retries=1), tmp_path)
    assert had_taken(again) == of_replies(4)


def test_a_reply_counts_once_and_none_that_this_run_asked_for(
    server: Server, tmp_path: Path
) -> None:
    twins = {f"q{n}": "leek soup" for n in range(10)}
    _, first = fetched(rewritten(server, price=PRICE), tmp_path, twins)
    assert (took(first), had_taken(first)) == (of_replies(1), of_replies(0))
    _, again = fetched(rewritten(server, price=PRICE), tmp_path, {**twins, "other": "salt"})
    assert (took(again), had_taken(again)) == (of_replies(1), of_replies(1))


def test_another_depth_uses_what_was_asked_before(server: Server, tmp_path: Path) -> None:
    spec = rewritten(server, price=PRICE)
    with build(spec, tmp_path) as system:
        fetch(system, MANY, depth=5, store=tmp_path)
    with build(spec, tmp_path) as system:
        answer = fetch(system, MANY, depth=9, store=tmp_path)
    assert (answer.timings.stored, answer.timings.asked) == (0, 40)
    assert had_taken(usage(answer.facts)) == of_replies(40)


def test_after_a_budget_all_that_the_answers_took_is_said(server: Server, tmp_path: Path) -> None:
    spec = reranked(server, of="bm25", depth=3, price=PRICE, jobs=2, budget={"requests": 25})
    with build(spec, tmp_path) as system, pytest.raises(InputError, match="budget of 25 requests"):
        fetch(system, MANY, depth=5, store=tmp_path, batch=7)
    spec["rerank"]["llm"]["budget"] = {"requests": 15}
    with build(spec, tmp_path) as system:
        answer = fetch(system, MANY, depth=5, store=tmp_path, batch=7)
    assert answer.timings.stored == 21  # whole batches, of which no reply is looked up
    assert took(usage(answer.facts)) == of_replies(15)
    assert had_taken(usage(answer.facts)) == of_replies(25)
    with build(spec, tmp_path) as system:
        stored = fetch(system, {"q3": MANY["q3"], "q30": MANY["q30"]}, depth=5, store=tmp_path)
    assert stored.timings.asked == 0
    assert had_taken(usage(stored.facts)) == of_replies(2)
    assert stored.timings.p50 is not None


def test_the_parts_of_a_pipeline_are_told_apart(server: Server, tmp_path: Path) -> None:
    spec = reranked(server, of=rewritten(server, price=PRICE), depth=3, price=PRICE)

    def counts() -> dict[str, tuple[Any, ...]]:
        with build(spec, tmp_path) as system:
            facts = fetch(system, MANY, depth=5, store=tmp_path).facts
        return {each.part: had_taken(each) for each in facts if isinstance(each, ModelUsage)}

    counts()
    asked = len(server.sent)
    assert asked == 80
    names = ("the rewriter llm (keywords)", "the reranker llm (listwise)")
    assert counts() == dict.fromkeys(names, of_replies(40))
    assert len(server.sent) == asked


def test_what_an_endpoint_does_not_count_is_not_known(server: Server, tmp_path: Path) -> None:
    server.usage = None
    fetched(rewritten(server, price=PRICE), tmp_path)
    _, again = fetched(rewritten(server, price=PRICE), tmp_path)
    kept = again.kept
    assert kept is not None
    assert (kept.requests, kept.uncounted, kept.untimed) == (2, 2, 0)
    assert (kept.prompt_tokens, kept.completion_tokens, kept.cost) == (None, None, None)


def test_replies_of_an_earlier_version_are_read(server: Server, tmp_path: Path) -> None:
    fetched(rewritten(server, price=PRICE), tmp_path)
    first, *_ = sorted(tmp_path.rglob("*.reply"))
    content = read_entry(first)
    assert content is not None
    reply = json.loads(content)
    write_entry(first, json.dumps({"content": reply["content"], "finish": "stop"}).encode())
    server.sent.clear()
    answer, again = fetched(rewritten(server, price=PRICE), tmp_path)
    assert server.sent == []
    assert answer.failures == {}
    kept = again.kept
    assert kept is not None
    assert (kept.requests, kept.uncounted, kept.untimed) == (2, 1, 1)
    assert kept.prompt_tokens == 100
    assert kept.cost == pytest.approx(EACH)


def test_answers_of_an_earlier_version_are_read(server: Server, tmp_path: Path) -> None:
    spec = rewritten(server, price=PRICE)
    with build(spec, tmp_path) as system:
        fetch(system, MANY, depth=5, store=tmp_path)
    for path in tmp_path.rglob("*.answers"):
        content = read_entry(path)
        assert content is not None
        buffer = io.BytesIO()
        pl.read_ipc(io.BytesIO(content)).drop("replies").write_ipc(buffer)
        write_entry(path, buffer.getvalue())
    with build(spec, tmp_path) as system:
        answer = fetch(system, MANY, depth=5, store=tmp_path)
    assert answer.timings.asked == 0
    kept = usage(answer.facts).kept
    assert kept is not None
    assert (kept.requests, kept.unknown_answers) == (0, 40)
    assert (kept.prompt_tokens, kept.cost, kept.seconds) == (None, None, None)


def test_vectors_are_kept_without_what_they_took(server: Server, tmp_path: Path) -> None:
    _, spent = fetched(embedded(server), tmp_path)
    assert spent.kept is None


def test_the_budget_counts_what_is_asked_only(server: Server, tmp_path: Path) -> None:
    fetched(rewritten(server, price=PRICE), tmp_path, MANY)
    spec = rewritten(server, price=PRICE, budget={"requests": 1, "tokens": 3000, "money": 0.05})
    _, spent = fetched(spec, tmp_path, {**MANY, "other": "leek"})
    assert (took(spent), had_taken(spent)) == (of_replies(1), of_replies(40))


# --- what a report shows -------------------------------------------------------------------------


def test_the_report_of_a_judge_shows_what_was_kept(server: Server, tmp_path: Path) -> None:
    def rows(spent: ModelUsage) -> dict[Any, Any]:
        return {name.value: number.value for name, number in usage_table(spent).rows}

    _, first = fetched(rewritten(server, price=PRICE), tmp_path)
    assert not any(str(name).startswith("kept from before") for name in rows(first))
    _, again = fetched(rewritten(server, price=PRICE), tmp_path)
    shown = rows(again)
    assert (shown["requests sent"], shown["tokens sent"]) == (0, 0)
    assert shown["kept from before: requests"] == 2
    assert shown["kept from before: tokens sent"] == 200
    assert shown["kept from before: cost"] == pytest.approx(2 * EACH)


def test_the_report_shows_what_was_asked_and_what_was_kept(server: Server, tmp_path: Path) -> None:
    rows = [json.dumps({"_id": doc_id, "text": text}) for doc_id, text in DOCUMENTS.items()]
    (tmp_path / "c.jsonl").write_text("\n".join(rows))
    asked = [json.dumps({"_id": query_id, "text": text}) for query_id, text in MANY.items()]
    (tmp_path / "q.jsonl").write_text("\n".join(asked))
    judged = [f"{query_id}\tbest\t1" for query_id in MANY]
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(judged))
    config = tmp_path / "bench.yaml"

    def run(requests: int) -> BenchmarkReport:
        budget = {"requests": requests}
        llm = {"url": server.url, "model": "small", "price": PRICE, "budget": budget}
        plan = {
            "name": "kept",
            "collection": {"corpus": "c.jsonl", "queries": "q.jsonl", "qrels": "qrels.tsv"},
            "systems": {"lexical": "bm25", "rewritten": {"rewrite": {"of": "lexical", "llm": llm}}},
            "measures": ["nDCG@10"],
        }
        config.write_text(json.dumps(plan))
        return run_benchmark(config, output=tmp_path / "out").report

    with pytest.raises(InputError, match="raise the budget and go on"):
        run(25)
    report = run(15)
    (spent,) = report.systems[1].run.usage
    assert (took(spent), had_taken(spent)) == (of_replies(15), of_replies(25))
    tables = {
        block.title: block for block in asked_section(report).details if isinstance(block, Table)
    }

    def shown(title: str) -> dict[str, Any]:
        table = tables[title]
        (row,) = table.rows
        return {column.title: cell.value for column, cell in zip(table.columns, row, strict=True)}

    now = shown("Language models: asked in this run")
    assert (now["requests"], now["tokens sent"]) == (15, 1500)
    assert now["cost"] == pytest.approx(EACH * 15)
    before = shown("Language models: kept from before")
    assert (before["requests"], before["tokens sent"], before["tokens in all"]) == (25, 2500, 4400)
    assert before["cost"] == pytest.approx(EACH * 25)
    assert before["cost in all"] == pytest.approx(EACH * 40)
    kept = KeptUsage.model_validate({**spent.kept.to_dict(), "uncounted": 1})  # type: ignore[union-attr]
    partly = spent.model_copy(update={"kept": kept})
    (table,) = _kept([("rewritten", partly)])
    cells = dict(zip([column.title for column in table.columns], table.rows[0], strict=True))
    assert cells["cost"].value == pytest.approx(EACH * 25)
    assert (cells["cost in all"].value, cells["no tokens"].value) == (None, 1)
    assert len(table.notes) == 2
    assert _kept([("rewritten", spent.model_copy(update={"kept": None}))]) == []
