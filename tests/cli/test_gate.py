"""``rankscope gate``: exit codes, what is printed where, and the files it writes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as Xml

import pytest

from rankscope.cli import main
from rankscope.scoring.evaluate import evaluate

QUERIES = [f"q{number:02}" for number in range(20)]
QRELS = {query_id: {"a": 2, "b": 1} for query_id in QUERIES}
GOOD = {query_id: {"a": 2.0, "b": 1.0} for query_id in QUERIES}
BAD = {query_id: {"b": 2.0, "x": 1.5, "a": 1.0} for query_id in QUERIES}
MIXED = {
    query_id: (BAD if place % 7 == 0 else GOOD)[query_id] for place, query_id in enumerate(QUERIES)
}


class Done(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in a folder with score files, runs and judgments."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.json").write_text(json.dumps(QRELS))
    for name, data in (("good", GOOD), ("bad", BAD), ("mixed", MIXED)):
        Path(f"{name}.run.json").write_text(json.dumps(data))
        scores = evaluate(QRELS, {name: data}, ["nDCG@10", "RR@10"])
        Path(f"{name}.json").write_text(json.dumps(scores.to_dict(per_query=True)))

    def invoke(*arguments: str) -> Done:
        with pytest.raises(SystemExit) as stop:
            main(["gate", *arguments])
        captured = capsys.readouterr()
        assert isinstance(stop.value.code, int)
        assert "Traceback" not in captured.err
        return Done(stop.value.code, captured.out, captured.err)

    return invoke


def test_a_regression_exits_1(run: Run) -> None:
    done = run("good.json", "bad.json")
    assert (done.code, done.err) == (1, "")
    assert "bad against good, 20 queries" in done.out
    assert "regression: nDCG@10 changed by -0.2398 [" in done.out
    assert "rankscope gate: ✗ regression" in done.out


def test_a_pass_exits_0(run: Run) -> None:
    done = run("bad.json", "good.json", "-m", "nDCG@10", "-m", "MRR@10")
    assert (done.code, done.err) == (0, "")
    assert "rankscope gate: ✓ no regression" in done.out


def test_runs_with_judgments(run: Run) -> None:
    assert run("good.run.json", "bad.run.json", "--qrels", "qrels.json").code == 1
    assert run("good.json", "bad.run.json", "--qrels", "qrels.json").code == 1
    assert run("bad.run.json", "good.run.json", "--qrels", "qrels.json").code == 0


def test_undecided(run: Run) -> None:
    done = run("good.json", "mixed.json")
    assert done.code == 0
    assert "rankscope gate: ? undecided" in done.out
    assert "passed" not in done.out
    assert "3 of 20 queries differ" in " ".join(done.out.split())
    done = run("good.json", "mixed.json", "--undecided", "fail")
    assert done.code == 1
    assert "undecided (counted as a failure): nDCG@10" in done.out
    assert run("good.json", "mixed.json", "--undecided", "fail", "--max-drop", "0.2").code == 0
    assert run("good.json", "mixed.json", "--require-power").code == 1, "the old name"


def test_identical(run: Run) -> None:
    done = run("good.json", "good.json")
    assert done.code == 0
    assert "no regression: the two are identical in each of 20 queries" in done.out
    assert "note: nDCG@10 is identical in all 20 queries" in done.out


def test_guards(run: Run) -> None:
    assert run("good.json", "mixed.json", "--min", "nDCG@10=0.99").code == 1
    assert run("good.json", "mixed.json", "--min", "RR@10=0.1").code == 0
    done = run("good.json", "mixed.json", "--max-query-drop", "0.2")
    assert done.code == 1
    assert "q00 (-0.2398), q07 (-0.2398) and q14 (-0.2398)" in " ".join(done.out.split())
    part = {query_id: GOOD[query_id] for query_id in QUERIES[1:]}
    Path("part.json").write_text(json.dumps(part))
    runs = ("good.run.json", "part.json", "--qrels", "qrels.json")
    done = run(*runs)
    assert done.code == 2
    assert "not comparable: part.json lacks 1 query that the baseline answers ('q00')" in done.err
    assert run(*runs, "--missing", "zero").code == 0


def test_a_report_that_cannot_be_written(run: Run) -> None:
    done = run("good.json", "mixed.json", "--junit", "no/such/folder/report.xml")
    assert (done.code, done.out) == (2, "")
    done = run("good.json", "mixed.json", "--junit", "report.xml", "-o", "no/such/folder/table")
    assert done.code == 2
    assert 'errors="1"' in Path("report.xml").read_text()


def test_anchor(run: Run) -> None:
    done = run("bad.json", "bad.json", "--anchor", "good.json")
    assert done.code == 1
    assert "against the anchor good, nDCG@10 changed by -0.2398" in " ".join(done.out.split())


def test_fields_of_queries(run: Run) -> None:
    lines = (
        {"_id": query_id, "text": "x", "metadata": {"session": place // 4, "asked": place}}
        for place, query_id in enumerate(QUERIES)
    )
    Path("queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run("good.json", "bad.json", "--queries", "queries.jsonl", "--cluster", "session")
    assert "5 clusters of queries" in done.out
    assert done.code == 0, "five sessions show nothing"
    options = ("--queries", "queries.jsonl", "--weights", "asked", "--format", "json")
    assert json.loads(run("good.json", "mixed.json", *options).out)["weighted"] is True
    assert run("good.json", "bad.json", "--cluster", "session").code == 2


def test_json_alone_on_standard_output(run: Run) -> None:
    done = run("good.json", "bad.json", "--format", "json", "--junit", "j.xml")
    data = json.loads(done.out)
    assert (done.code, done.err, data["passed"]) == (1, "", False)
    assert data["schema"] == "rankscope/gate/2"
    assert data["checks"][0]["answer"] == "regression"
    assert len(data["checks"][0]["worst"]) == 5
    assert run("good.json", "bad.json", "--format", "json").out == done.out


def test_every_format(run: Run) -> None:
    for output, start in {
        "table": "rankscope gate: ✗ regression\n",
        "markdown": "### rankscope gate: ✗ regression\n",
        "html": "<!doctype html>\n",
        "latex": "% needs ",
        "csv": "measure,baseline,candidate,difference,difference low,difference high,p,",
    }.items():
        done = run("good.json", "bad.json", "--format", output, "--markdown", "m.md")
        assert (done.code, done.err) == (1, "")
        assert done.out.startswith(start)
        if output == "markdown":
            assert done.out == Path("m.md").read_text("utf-8")


def test_reports(run: Run) -> None:
    assert run("good.json", "bad.json", "--junit", "j.xml", "--markdown", "m.md").code == 1
    assert Xml.parse("j.xml").getroot().get("failures") == "1"
    assert "### rankscope gate: ✗ regression" in Path("m.md").read_text("utf-8")
    assert sorted(path.suffix for path in Path().iterdir() if path.name.startswith(".")) == []


def test_reports_of_what_cannot_be_compared_replace_old_ones(run: Run) -> None:
    Path("j.xml").write_text("old")
    Path("m.md").write_text("old")
    done = run("good.json", "qrels.json", "--junit", "j.xml", "--markdown", "m.md")
    assert done.code == 2
    root = Xml.parse("j.xml").getroot()
    assert (root.get("failures"), root.get("errors")) == ("0", "1")
    assert "### rankscope gate: no answer" in Path("m.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["good.json", "none.json"], "none.json: file not found"),
        (["good.json", "bad.run.json"], "expected the schema 'rankscope/scores/1'"),
        (["good.json", "bad.json", "-m", "AP"], "good.json does not have AP, only nDCG@10, RR@10"),
        (["good.json", "bad.json", "-m", "nDCH"], "unknown measure 'nDCH'"),
        (["good.json", "bad.json", "--run", "x"], "unknown run in good.json 'x'"),
        (["good.json", "bad.json", "--profile", "ranx"], "not comparable: good.json was scored by"),
        (["good.json", "bad.json", "--alpha", "7"], "alpha must be strictly between 0 and 1"),
        (["good.json", "bad.json", "--max-drop", "nan"], "max_drop must be a finite number"),
        (["good.json", "bad.json", "--max-drop", "2"], "cannot drop by more than 1"),
        (["good.json", "bad.json", "--min", "AP"], "--min must be MEASURE=VALUE"),
        (["good.json", "bad.json", "--min", "RR@10=7"], "its values are from 0 to 1"),
        (["good.json", "bad.json", "--noise", "bad.json"], "two or more runs"),
        (["good.json", "bad.json", "--seed", "-1"], "seed must be a whole number"),
        (["good.json", "bad.json", "--test", "z"], "Invalid value for '--test'"),
        (["good.json", "bad.json", "--junit", "-"], "name a file"),
        (["-", "-"], "can be read once only"),
        (["good.json"], "Missing argument"),
    ],
)
def test_a_users_mistake_exits_2(run: Run, arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_not_comparable_exits_2(run: Run) -> None:
    data = json.loads(Path("bad.json").read_text())
    data["qrels"]["sha256"] = "0" * 64
    del data["runs"]["bad"]["per_query"]["q07"]
    Path("bad.json").write_text(json.dumps(data))
    done = run("good.json", "bad.json")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("rankscope: not comparable: the judgments differ (sha256 ")
    assert "1 only in good.json: 'q07'" in done.err
    assert done.err.count("\n") == 1


def test_names_cannot_steer_the_terminal(run: Run) -> None:
    data = json.loads(Path("bad.json").read_text())
    data["runs"] = {"\x1b[31mred": data["runs"]["bad"]}
    Path("bad.json").write_text(json.dumps(data))
    assert "\x1b" not in run("good.json", "bad.json").out


def test_every_test_and_seed(run: Run) -> None:
    for test in ("permutation", "bootstrap", "t", "wilcoxon", "sign"):
        assert run("good.json", "bad.json", "--test", test, "--resamples", "200").code == 1
    first = run("good.json", "mixed.json", "--format", "json", "--seed", "1").out
    assert run("good.json", "mixed.json", "--format", "json", "--seed", "1").out == first


def test_texts_of_lost_queries_are_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {query_id: f"text of {query_id}" for query_id in QUERIES}
    Path("texts.json").write_text(json.dumps(texts))
    gate = ("good.run.json", "bad.run.json", "--qrels", "qrels.json", "--format", "markdown")
    done = run(*gate, "--queries", "texts.json")
    assert done.code == 1
    assert "| `q01` | `text of q01` |" in done.out
    assert "text of" not in run(*gate).out
    lines = "".join(f'{{"_id": "{q}", "text": "piped {q}", "group": "{q}"}}\n' for q in QUERIES)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    done = run(*gate, "--queries", "-", "--cluster", "group")
    assert "`piped q01`" in done.out, "it is read once, for both"
