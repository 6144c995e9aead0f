"""``rankscope judge`` without a server: what is refused, and exports."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from judging_client import serving, stop, write_pool

from conftest import Rankscope

LOG: list[dict[str, Any]] = [
    {"id": "a", "rater": "ann", "query_id": "q1", "doc_id": "d1", "grade": 3},
    {"id": "b", "rater": "bob", "query_id": "q1", "doc_id": "d1", "grade": 1},
    {"id": "c", "rater": "bob", "query_id": "q1", "doc_id": "d2", "grade": None, "cannot": True},
    {"id": "d", "rater": "ann", "query_id": "q2", "doc_id": "d1", "grade": 2},
]


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    write_pool(tmp_path / "pool.jsonl")
    log = tmp_path / "pool.jsonl.judgments.jsonl"
    log.write_text("".join(json.dumps({"seq": 1, **line}) + "\n" for line in LOG))
    return log


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize(
    ("arguments", "content"),
    [
        (["out.qrels"], "q1 0 d1 1\nq2 0 d1 2\n"),
        (["out.txt"], "q1 0 d1 1\nq2 0 d1 2\n"),
        (["out.tsv"], "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td1\t2\n"),
        (
            ["out.csv"],
            (
                'query_id,doc_id,rater,grade,reason\nq1,d1,ann,3,""\nq2,d1,ann,2,""\n'
                'q1,d1,bob,1,""\nq1,d2,bob,,""\n'
            ),
        ),
    ],
)
def test_exports(rankscope: Rankscope, tmp_path: Path, arguments: list[str], content: str) -> None:
    done = rankscope("judge", "pool.jsonl", "--export", *arguments)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / arguments[0]).read_text() == content


def test_an_export_needs_the_log_only(rankscope: Rankscope, judged: Path, tmp_path: Path) -> None:
    done = rankscope("judge", "--log", judged.name, "--export", "out.qrels")
    assert done.returncode == 0
    assert (tmp_path / "out.qrels").is_file()


REFUSED = {
    "": "POOL",
    "nothing.qrels": "nothing.qrels",
    "pool.jsonl --export out.json": "suffix",
    "pool.jsonl --export out.qrels": "nothing was judged",
    "pool.jsonl --qrels out.csv": ".qrels",
    "pool.jsonl --grades 0=no": "--grades",
    "pool.jsonl --rater gold": "name",
    "pool.jsonl --guidelines no.md": "no.md",
    "pool.jsonl --existing no.qrels": "no.qrels",
    "pool.jsonl --log pool.jsonl": "pool.jsonl:1",
    "pool.jsonl --log no/log.jsonl": "no/log.jsonl",
    "pool.jsonl --corpus other.jsonl": "other.jsonl",
    "pool.jsonl --queries other.jsonl": "other.jsonl",
    "pool.jsonl --existing sub.qrels": "sub.qrels",
    "pool.jsonl --log pipe": "pipe",
    "-": "--log",
    ".": "not an experiment",
}


def test_what_is_refused(rankscope: Rankscope, tmp_path: Path) -> None:
    write_pool(tmp_path / "pool.jsonl")
    (tmp_path / "other.jsonl").write_text('{"_id": "x", "text": "y"}\n')
    (tmp_path / "sub.qrels").write_text("q1 1 d1 1\nq1 2 d2 1\n")
    os.mkfifo(tmp_path / "pipe")
    for typed, word in REFUSED.items():
        done = rankscope("judge", *typed.split())
        assert done.returncode == 2, typed
        assert word in done.stderr, typed
        assert "Traceback" not in done.stderr, typed


def test_an_empty_log_has_nothing_to_export(rankscope: Rankscope, judged: Path) -> None:
    judged.write_text("")
    done = rankscope("judge", "pool.jsonl", "--export", "out.qrels")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing is judged yet" in done.stderr


def test_a_taken_port_is_said(rankscope: Rankscope, tmp_path: Path) -> None:
    write_pool(tmp_path / "pool.jsonl")
    with serving(tmp_path, "pool.jsonl") as served:
        port = served.client.host.rpartition(":")[2]
        done = rankscope("judge", "pool.jsonl", "--port", port)
    assert done.returncode == 2
    assert port in done.stderr


def test_runs_are_judged_to_a_depth(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 3 a\nq1 Q0 d2 2 2 a\nq1 Q0 d3 3 1 a\n")
    (tmp_path / "b.run").write_text("q1 Q0 d9 1 3 b\nq1 Q0 d1 2 2 b\n")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "bread", "narrative": "n"}\n')
    arguments = ("--runs", "a.run", "--runs", "b=b.run", "--depth", "2", "--order", "given")
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "d1", "text": "t"}\n{"_id": "x", "text": "t"}\n'
    )
    texts = ("--corpus", "corpus.jsonl", "--queries", "queries.jsonl")
    with serving(tmp_path, *arguments, *texts) as served:
        ask = served.client.ask
        items = [ask("item", rater="ann", key=key)["item"] for key in served.client.keys("ann")]
        assert [item["document"]["id"] for item in items] == ["d1", "d9", "d2"]
        assert items[0]["query"]["needs"] == [{"name": "narrative", "text": "n"}]
        served.client.judge("ann", items[0]["key"], 1)
        code, said_last = stop(served)
    assert code == 0
    assert "a.run.judgments.jsonl" in said_last
    assert "'d2'" in said_last, "the corpus lacks it"


def test_an_experiment_says_what_to_judge(rankscope: Rankscope, tmp_path: Path) -> None:
    rankscope("demo", "--copy", "demo")
    done = rankscope("benchmark", "run", "demo/bench.yaml", "--output", "out")
    assert done.returncode == 0, done.stderr
    [folder] = [path for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")]
    place = f"out/{folder.name}"
    with serving(tmp_path, place) as served:
        item = served.client.ask("next", rater="ann", tab="t")["item"]
        assert item["query"]["text"]
        assert item["document"]["title"]
        served.client.judge("ann", item["key"], 2)
        assert stop(served)[0] == 0
    assert (tmp_path / "out" / f"{folder.name}.judgments.jsonl").is_file()
    assert rankscope("benchmark", "verify", place).returncode == 0, "nothing is added to it"
    texts = {"doc_id": [item["document"]["id"]], "title": ["T"], "text": ["all of it"]}
    pl.DataFrame(texts).write_parquet(folder / "documents.parquet")
    with serving(tmp_path, place) as served:
        item = served.client.ask("item", rater="ann", key=item["key"])["item"]
        assert item["document"]["text"] == "all of it"
    inside = rankscope("judge", place, "--log", f"{place}/log.jsonl")
    assert "is inside the experiment" in inside.stderr
    shutil.rmtree(tmp_path / "out")
