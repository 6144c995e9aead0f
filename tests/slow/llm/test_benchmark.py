"""A benchmark with stages that ask a language model: kept, resumed, and without any key in it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx", reason="language models are asked through httpx")

from llm.server import Requests, Server, serving
from llm.world import DOCUMENTS
from rankscope import run_benchmark
from rankscope.records.report import BenchmarkReport

CONFIG = """\
name: stack
collection: {{corpus: c.jsonl, queries: q.jsonl, qrels: qrels.tsv}}
systems:
  lexical: bm25
  rewritten: {{rewrite: {{of: lexical, llm: {{url: {url}, model: small, key: "{key}"}}}}}}
  reranked: {{rerank: {{of: lexical, depth: 10, llm: {{url: {url}, model: small,
    headers: {{Authorization: "{header}"}}, method: listwise}}}}}}
measures: [nDCG@10]
"""


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        server.key = "hush-key-77"
        yield server


@pytest.fixture
def config(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LLM_KEY", "hush-key-77")
    rows = [json.dumps({"_id": doc_id, "text": text}) for doc_id, text in DOCUMENTS.items()]
    (tmp_path / "c.jsonl").write_text("\n".join(rows))
    asked = [json.dumps({"_id": f"q{n}", "text": f"soup {n} salt"}) for n in range(20)]
    (tmp_path / "q.jsonl").write_text("\n".join(asked))
    judged = [f"q{n}\td{n:02}\t1" for n in range(20)]
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(judged))
    path = tmp_path / "bench.yaml"
    path.write_text(CONFIG.format(url=server.url, key="${LLM_KEY}", header="Bearer ${LLM_KEY}"))
    return path


def test_a_second_run_asks_nothing_and_no_key_is_written(
    config: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_benchmark(config, output=config.parent / "out")
    assert len(server.sent) == 40
    record = json.loads((first.folder / "BenchmarkReport.json").read_text("utf-8"))
    usage = {system["name"]: system["run"].get("usage") for system in record["systems"]}
    assert usage["lexical"] is None
    for name in ("rewritten", "reranked"):
        (counts,) = usage[name]
        assert (counts["requests"], counts["answered"], counts["fallen_back"]) == (20, 20, 0)
        assert (counts["prompt_tokens"], counts["cost"]) == (2000, None)
    assert run_benchmark(config, output=config.parent / "out").reused
    server.key = "hush-key-88"
    monkeypatch.setenv("LLM_KEY", "hush-key-88")  # a new key is no new system
    cache = config.parent / "out" / ".cache"
    (cache / "answers").rename(config.parent / "answers")  # only replies are left
    again = run_benchmark(config, output=config.parent / "other", cache=cache)
    assert len(server.sent) == 40
    assert again.folder.name == first.folder.name
    written = [path for path in config.parent.rglob("*") if path.is_file()]
    assert [path for path in written if b"hush" in path.read_bytes()] == []


def test_after_an_outage_the_same_command_asks_what_had_no_answer(
    config: Path, server: Server
) -> None:
    def outage(request: Requests, body: dict[str, Any]) -> bool:
        asked = json.dumps(body)
        if "soup 3 salt" in asked:
            return request.error(500, "busy")
        return request.error(400, "too long") if "soup 4 salt" in asked else False

    text = config.read_text()
    config.write_text(text.replace("model: small,", "model: small, pause: 0.01,"))
    server.always = outage
    output = config.parent / "out"
    first = {system.run.system: system.run.usage for system in _report(config, output).systems}
    for name in ("rewritten", "reranked"):
        (spent,) = first[name]
        assert (spent.failed, spent.fallen_back, spent.unanswered) == (2, 2, 1)
    server.always = None
    server.sent.clear()
    again = {system.run.system: system.run.usage for system in _report(config, output).systems}
    # that with status 400 is settled, and asked again only as its batch is
    asked = [json.dumps(body["messages"]) for body in server.sent]
    assert sum("soup 3 salt" in question for question in asked) == 2
    assert all("soup 3 salt" in text or "soup 4 salt" in text for text in asked)
    for name in ("rewritten", "reranked"):
        (spent,) = again[name]  # the first two, asked one by one, were in the store
        assert (spent.answered + spent.failed, spent.unanswered) == (18, 0)
    server.sent.clear()
    _report(config, output)
    assert server.sent == []


def _report(config: Path, output: Path) -> BenchmarkReport:
    return run_benchmark(config, output=output).report


def test_after_a_kill_it_goes_on(config: Path, server: Server) -> None:
    reached, killed = threading.Event(), threading.Event()

    def wait(*_: Any) -> bool:
        if len(server.sent) > 8:
            reached.set()
            killed.wait(600)
        return False

    server.always = wait
    command = [sys.executable, "-m", "rankscope", "benchmark", "run", str(config)]
    started = subprocess.Popen([*command, "--output", str(config.parent / "out")])
    assert reached.wait(600)
    started.kill()
    started.wait()
    killed.set()
    server.always = None
    run_benchmark(config, output=config.parent / "out")
    assert 40 <= len(server.sent) <= 40 + 4  # what was under way is asked again
