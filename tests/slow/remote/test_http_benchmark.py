"""A benchmark over a search API: its record, its secrets, what is wrong, and going on later."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmark.world import cli, command, only_experiment
from remote.engines import DOCUMENTS, Asked, Documents, Elasticsearch, running

pytest.importorskip("httpx")

KEY = "hush-elastic"
COUNT = 24
CONFIG = """\
name: remote
collection: {corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}
systems:
  live:
    http:
      recipe: elasticsearch
      url: "${ES_URL}"
      index: food
      headers: {Authorization: "ApiKey ${ES_KEY}"}
      snapshot: 2026-11-17
      variables:
        filter: [{term: {lang: "{{metadata.lang?}}"}}]
measures: [nDCG@5]
depth: 5
fetch: {batch: 4, retries: 1}
"""


@pytest.fixture
def server() -> Iterator[Elasticsearch]:
    server = Elasticsearch()
    with running(server):
        yield server


@pytest.fixture
def world(tmp_path: Path, server: Elasticsearch, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [{"_id": doc_id, **fields} for doc_id, fields in DOCUMENTS.items()]
    queries = [
        {"_id": f"q{n:02}", "text": f"leek soup bake salt {n}", "lang": "en" if n % 2 else "de"}
        for n in range(COUNT)
    ]
    for name, table in {"corpus": rows, "queries": queries}.items():
        text = "".join(json.dumps(row) + "\n" for row in table)
        (tmp_path / f"{name}.jsonl").write_text(text)
    qrels = [f"{query['_id']}\tdoc-{5 if query['lang'] == 'de' else 0}\t1\n" for query in queries]
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(qrels))
    (tmp_path / "bench.yaml").write_text(CONFIG)
    (tmp_path / "vectors.py").write_text(
        "def long(texts):\n    return [[1.0] * 17 for _ in texts]\n"
    )
    monkeypatch.setenv("ES_URL", server.url)
    monkeypatch.setenv("ES_KEY", KEY)
    return tmp_path


def run(world: Path, *settings: str, output: str = "out") -> tuple[int, str, str]:
    arguments = [part for setting in settings for part in ("--set", setting)]
    return cli("benchmark", "run", world / "bench.yaml", "--output", world / output, *arguments)


def content_of(folder: Path) -> bytes:
    return b"\n".join(
        str(path).encode() + (path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
    )


def test_the_record_and_no_secret_anywhere(
    world: Path, server: Elasticsearch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    code, out, err = run(world)
    assert code == 0
    folder = only_experiment(world / "out")
    report = (folder / "BenchmarkReport.json").read_text()
    for part in ('"2026-11-17"', '"/food/_search"', '"${ES_URL}"', '"9.1.0"', "number_of_shards"):
        assert part in report
    best = Documents().by_words("leek soup bake salt 1", "en")
    lines = gzip.decompress((folder / "runs" / "live.run.gz").read_bytes()).decode()
    assert f"q01 Q0 {best[0][0]} 1 " in lines.replace("\t", " ")
    code, again, _ = run(world)
    assert (code, len(server.searches())) == (0, COUNT)
    written = content_of(world / "out") + (out + err + again + caplog.text).encode()
    for secret in (
        KEY,
        KEY[::-1],
        base64.b64encode(KEY.encode()).decode()[:12],
        KEY.encode().hex(),
    ):
        assert secret.encode() not in written


VECTOR = (
    "systems.live.http.search=vector",
    "systems.live.http.variables={}",
    "systems.live.http.embedder={callable: vectors:long}",
)


def test_what_is_wrong_is_one_sentence_and_work_is_kept(
    world: Path, server: Elasticsearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ES_OTHER", "hush-other-key")
    authorization = "systems.live.http.headers.Authorization=${ES_OTHER}"
    assert run(world)[0] == 0
    for settings, word in (
        (["systems.live.http.url=http://127.0.0.1:1"], "nothing answers"),
        (["systems.live.http.url=es:9200"], "systems.live.http.url"),
        ([authorization, "systems.live.http.snapshot=today"], "check the key in headers"),
        (["systems.live.http.ids=hits.hits[*].id"], "hits.hits[*]"),
        (["systems.live.http.index=wine"], "no such index [wine]"),
        (VECTOR, "[17]"),
        (['systems.live.http.body="{1}"'], "systems.live.http.body"),
        (["systems.live.http.body=none.json"], "'none.json'"),
    ):
        code, out, err = run(world, *settings)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert word in err
        assert "hush" not in err
    asked = len(server.searches())
    assert run(world)[0] == 0
    assert len(server.searches()) == asked


def test_an_engine_that_goes_away_in_the_middle(world: Path, server: Elasticsearch) -> None:
    server.lasts = 10
    run(world)
    assert len(server.searches()) == 10
    server.lasts = COUNT
    for _ in range(2):
        assert run(world)[0] == 0
        assert len(server.searches()) == COUNT


def test_a_benchmark_that_is_killed_goes_on(world: Path, server: Elasticsearch) -> None:
    whole, reached, killed = server.answer, threading.Event(), threading.Event()

    def answer(asked: Asked) -> Any:
        if len(server.searches()) > 10 and not killed.is_set():
            reached.set()
            killed.wait(600)
        return whole(asked)

    server.answer = answer  # type: ignore[method-assign]
    arguments = ["benchmark", "run", world / "bench.yaml", "--output", world / "out"]
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(command(*arguments), stdout=nothing, stderr=nothing)
    assert reached.wait(600)
    process.kill()
    process.wait()
    killed.set()
    before = len(server.searches())
    assert run(world)[0] == 0
    asked_again = len(server.searches()) - COUNT
    assert 0 <= asked_again <= 4  # no more than the batch that was under way
    assert before < COUNT
