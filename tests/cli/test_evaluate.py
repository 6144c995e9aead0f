"""``rankscope evaluate``: the numbers of every format, every option, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from conftest import Done, Rankscope

QRELS = "q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 1\nq3 0 z 0\n"
BM25 = "q1 Q0 b 1 3.0 bm25\nq1 Q0 a 2 2.0 bm25\nq2 Q0 a 1 9.0 bm25\nq9 Q0 a 1 9.0 bm25\n"
DENSE = "q1 Q0 a 1 0.5 dense\nq1 Q0 x 2 0.5 dense\nq2 Q0 a 1 0.9 dense\nq3 Q0 z 1 0.1 dense\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> Path:
    """Write judgments and runs; of `many` the relevant document is second in every third query."""
    numbers = range(30)
    lines = [
        f"q{n} Q0 {doc_id} 0 {2 - place} many\n"
        for n in numbers
        for place, doc_id in enumerate("ba" if n % 3 == 0 else "ab")
    ]
    for name, text in {
        "qrels": QRELS,
        "bm25.run": BM25,
        "dense.run": DENSE,
        "many.qrels": "".join(f"q{n} 0 a 1\n" for n in numbers),
        "many.run": "".join(lines),
        "texts.json": '{"q0": "what is a?"}',
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def evaluate(rankscope: Rankscope) -> Any:
    """Return a function that evaluates files."""

    def run(*arguments: str) -> Done:
        return rankscope("evaluate", *arguments)

    return run


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_the_table_shows_means(evaluate: Any) -> None:
    done = evaluate("qrels", "bm25.run", "-m", "RR", "-m", "ndcg_cut_10", "--no-intervals")
    assert (done.returncode, done.stderr) == (0, "")
    discount = 1 / math.log2(3)
    ndcg = (2 * discount / (2 + discount) + 1 + 0) / 3
    table = [["run", "RR", "nDCG@10"], ["bm25", "0.500", f"{ndcg:.3f}"]]
    shown = rows(done.stdout)
    assert shown[shown.index(table[0]) :][:2] == table
    assert "RS161" in done.stdout, "a judged query is missing"
    assert "RS133" in done.stdout, "the run is not that deep"


def test_means_have_intervals(evaluate: Any) -> None:
    shown = evaluate("many.qrels", "many.run", "-m", "RR", "-m", "num_ret").stdout
    ends = rs.evaluate("many.qrels", "many.run", ["RR"]).intervals["mrr"]
    assert rows(shown)[3] == ["many", "0.833", f"[{ends.low:.3f},", f"{ends.high:.3f}]", "60"]
    for options in (["--no-intervals"], ["--format", "csv"], ["--format", "trec"]):
        assert "[" not in evaluate("many.qrels", "many.run", "-m", "RR", *options).stdout


def test_worst_queries(evaluate: Any) -> None:
    options = ("-m", "RR", "-m", "P@1", "--worst", "3")
    shown = rows(evaluate("many.qrels", "many.run", *options).stdout)
    for name in ("q0", "q3", "q6"):
        assert [name, "0.500", "a"] in shown
    texts = ("--worst", "1", "--queries", "texts.json")
    assert "what is a?" in evaluate("many.qrels", "many.run", *texts).stdout


@pytest.mark.parametrize("output", ["table", "json", "csv", "trec", "html"])
def test_fail_under(evaluate: Any, output: str) -> None:
    """It is 0.5; what is missed is said on standard error, and the exit code is 1."""
    options = ("qrels", "bm25.run", "-m", "P@1", "--format", output, "--fail-under")
    done = evaluate(*options, "mrr=0.6")
    assert done.returncode == 1
    assert re.search(r"bm25.*RR.*0\.5000.*0\.6\n$", done.stderr)
    assert "RR" in done.stdout or output == "trec", "the measure is shown too"
    assert evaluate(*options, "bm25:RR=0.5").returncode == 0


def test_json_holds_means_and_per_query_values_when_asked_for(evaluate: Any) -> None:
    scores = rs.evaluate("qrels", ["bm25.run", "dense.run"])
    for flags in ([], ["--per-query"]):
        done = evaluate("qrels", "bm25.run", "dense.run", "--format", "json", *flags)
        runs = json.loads(done.stdout)["runs"]
        for name in ("bm25", "dense"):
            assert runs[name]["means"] == scores.means[name]
            assert ("per_query" in runs[name]) == bool(flags)
        assert runs["bm25"]["accounting"]["missing_queries"] == ["q3"]


def test_csv_holds_every_digit(evaluate: Any) -> None:
    options = ("--format", "csv", "-m", "nDCG@10")
    scores = rs.evaluate("qrels", ["bm25.run", "dense.run"], "nDCG@10")["nDCG@10"]
    shown = list(
        csv.reader(io.StringIO(evaluate("qrels", "bm25.run", "dense.run", *options).stdout))
    )
    assert shown[1:] == [[name, "nDCG@10", repr(scores[name]), "3"] for name in ("bm25", "dense")]
    per_query = evaluate("qrels", "bm25.run", "-m", "RR", "--format", "csv", "--per-query").stdout
    assert per_query.splitlines()[1:] == ["bm25,q1,RR,0.5", "bm25,q2,RR,1.0", "bm25,q3,RR,0.0"]


def test_trec_lines_are_trec_evals(rankscope: Rankscope) -> None:
    measures = ("-m", "recip_rank", "-m", "P.5", "-m", "num_ret")
    ours = rankscope("evaluate", "qrels", "bm25.run", *measures, "--format", "trec", "--per-query",
                     "--intersect")  # fmt: skip
    theirs = rankscope("trec-eval", "-q", "--9", *measures, "qrels", "bm25.run")
    assert sorted(ours.stdout.splitlines()) == sorted(theirs.stdout.splitlines())


@pytest.mark.parametrize(
    ("run", "options", "mean"),
    [
        ("bm25", [], (0.5 + 1) / 3),
        ("bm25", ["--intersect"], (0.5 + 1) / 2),
        ("bm25", ["--profile", "trec_eval-9"], (0.5 + 1) / 2),
        ("dense", [], 1.5 / 3),
        ("dense", ["--ties", "id-asc"], 2 / 3),
    ],
)
def test_rules_change_the_mean(evaluate: Any, run: str, options: list[str], mean: float) -> None:
    done = evaluate("qrels", f"{run}.run", "-m", "RR", "--format", "json", *options)
    assert json.loads(done.stdout)["runs"][run]["means"]["RR"] == mean


def test_a_run_is_named_on_the_command_line(rankscope: Rankscope, tmp_path: Path) -> None:
    (tmp_path / "qrels.tsv").write_text("q1\ta\t1\nq2\tb\t1\n")
    for folder, document in (("one", "a"), ("two", "b")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "results.run").write_text(f"q1 Q0 {document} 1 1.0 tag\n")
    (tmp_path / "x=y.run").write_text("q1 Q0 a 1 1.0 tag\n")

    def names(*runs: str) -> list[str]:
        done = rankscope("evaluate", "qrels.tsv", *runs, "--format", "json")
        return list(json.loads(done.stdout)["runs"])

    assert names("old=one/results.run", "new=two/results.run") == ["old", "new"]
    assert names("x=y.run") == ["tag"], "the file of that name"
