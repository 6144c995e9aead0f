"""``rankscope gate``: exit codes, what is printed where, and the files it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from conftest import Done, Rankscope
from rankscope.scoring.evaluate import evaluate

QUERIES = [f"q{number:02}" for number in range(20)]
QRELS = {query_id: {"a": 2, "b": 1} for query_id in QUERIES}
GOOD = {query_id: {"a": 2.0, "b": 1.0} for query_id in QUERIES}
BAD = {query_id: {"b": 2.0, "x": 1.5, "a": 1.0} for query_id in QUERIES}
MIXED = {
    query_id: (BAD if place % 7 == 0 else GOOD)[query_id] for place, query_id in enumerate(QUERIES)
}


@pytest.fixture
def gate(tmp_path: Path, rankscope: Rankscope) -> Any:
    """Return a function that runs the command beside score files, runs and judgments."""
    (tmp_path / "qrels.json").write_text(json.dumps(QRELS))
    part = {query_id: GOOD[query_id] for query_id in QUERIES[1:]}
    for name, data in (("good", GOOD), ("bad", BAD), ("mixed", MIXED), ("part", part)):
        (tmp_path / f"{name}.run.json").write_text(json.dumps(data))
        scores = evaluate(QRELS, {name: data}, ["nDCG@10", "RR@10"])
        (tmp_path / f"{name}.json").write_text(json.dumps(scores.to_dict(per_query=True)))
    rows = [
        {"_id": query_id, "text": f"text of {query_id}", "session": place // 4, "asked": place}
        for place, query_id in enumerate(QUERIES)
    ]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(*arguments: str, **options: Any) -> Done:
        done = rankscope("gate", *arguments, **options)
        assert "Traceback" not in done.stderr
        return done

    return run


JUDGED = ("--qrels", "qrels.json")


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("good.json bad.json", 1),
        ("bad.json good.json -m nDCG@10 -m MRR@10", 0),
        ("good.run.json bad.run.json --qrels qrels.json", 1),
        ("good.json bad.run.json --qrels qrels.json", 1),
        ("bad.run.json good.run.json --qrels qrels.json", 0),
        ("good.json good.json", 0),
        ("good.json mixed.json", 0),  # three queries of twenty show nothing
        ("good.json mixed.json --cant-tell fail", 1),
        ("good.json mixed.json --cant-tell fail --max-drop 0.2", 0),
        ("good.json mixed.json --min nDCG@10=0.99", 1),
        ("good.json mixed.json --min RR@10=0.1", 0),
        ("good.json mixed.json --max-query-drop 0.2", 1),
        ("good.run.json part.run.json --qrels qrels.json", 2),
        ("good.run.json part.run.json --qrels qrels.json --missing zero", 0),
        # five sessions show nothing
        ("good.json bad.json --queries queries.jsonl --cluster session", 0),
        *((f"good.json bad.json --test {test} --resamples 200", 1)
          for test in ("permutation", "bootstrap", "t")),
    ],
)  # fmt: skip
def test_exit_codes(gate: Any, typed: str, code: int) -> None:
    done = gate(*typed.split())
    assert done.returncode == code
    assert bool(done.stderr) == (code == 2)


def test_json_alone_on_standard_output(gate: Any) -> None:
    done = gate("good.json", "bad.json", "--format", "json", "--junit", "j.xml")
    data = json.loads(done.stdout)
    assert (done.returncode, done.stderr, data["passed"]) == (1, "", False)
    assert data["checks"][0]["answer"] == "regression"
    assert data["checks"][0]["difference"] == pytest.approx(-0.2398, abs=5e-5)
    assert len(data["checks"][0]["worst"]) == 5
    assert gate("good.json", "bad.json", "--format", "json").stdout == done.stdout
    weights = ("--queries", "queries.jsonl", "--weights", "asked", "--format", "json")
    assert json.loads(gate("good.json", "mixed.json", *weights).stdout)["weighted"] is True


def test_reports(gate: Any) -> None:
    files = ("--junit", "j.xml", "--markdown", "m.md")
    done = gate("good.json", "bad.json", "--format", "markdown", *files)
    assert done.returncode == 1
    assert Xml.parse("j.xml").getroot().get("failures") == "1"
    assert Path("m.md").read_text("utf-8") == done.stdout
    assert not [path for path in Path().iterdir() if path.name.startswith(".")]


def test_reports_of_what_cannot_be_compared_replace_old_ones(gate: Any) -> None:
    Path("j.xml").write_text("old")
    Path("m.md").write_text("old")
    done = gate("good.json", "qrels.json", "--junit", "j.xml", "--markdown", "m.md")
    assert done.returncode == 2
    root = Xml.parse("j.xml").getroot()
    assert (root.get("failures"), root.get("errors")) == ("0", "1")
    assert Path("m.md").read_text("utf-8") != "old"


def test_a_report_that_cannot_be_written(gate: Any) -> None:
    done = gate("good.json", "mixed.json", "--junit", "no/such/folder/report.xml")
    assert (done.returncode, done.stdout) == (2, "")
    done = gate("good.json", "mixed.json", "--junit", "report.xml", "-o", "no/such/folder/table")
    assert done.returncode == 2
    assert 'errors="1"' in Path("report.xml").read_text()


def test_score_files_of_other_judgments_or_queries_are_not_compared(gate: Any) -> None:
    data = json.loads(Path("bad.json").read_text())
    data["qrels"]["sha256"] = "0" * 64
    del data["runs"]["bad"]["per_query"]["q07"]
    Path("bad.json").write_text(json.dumps(data))
    done = gate("good.json", "bad.json")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "sha256" in done.stderr
    assert "'q07'" in done.stderr


def test_names_cannot_steer_the_terminal(gate: Any) -> None:
    data = json.loads(Path("bad.json").read_text())
    data["runs"] = {"\x1b[31mred": data["runs"]["bad"]}
    Path("bad.json").write_text(json.dumps(data))
    assert "\x1b" not in gate("good.json", "bad.json").stdout
