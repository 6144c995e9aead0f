"""``rankscope diagnose`` and `rankscope.diagnose`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from conftest import Done, Rankscope
from rankscope.diagnosis.analysis import all_analyses

QRELS = {f"q{n:02}": {"a": 1} for n in range(20)}
RUNS = {
    "first": {
        q: {"x": 2.0, "a": 1.0} if n % 3 else {"a": 3.0, "x": 2.0} for n, q in enumerate(QRELS)
    },
    "second": {q: {"a": 3.0, "x": 2.0} for q in QRELS},
}


@pytest.fixture
def diagnose(tmp_path: Path, rankscope: Rankscope) -> Any:
    """Return a function that diagnoses two runs from files."""
    rs.Qrels(QRELS).write(tmp_path / "qrels.txt")
    for name, rankings in RUNS.items():
        rs.Run(rankings, name=name).write(tmp_path / f"{name}.run")
    rows = [
        {"_id": q, "text": "some words", "kind": "even" if n % 2 else "odd"}
        for n, q in enumerate(QRELS)
    ]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(*arguments: str) -> Done:
        return rankscope("diagnose", "qrels.txt", "first.run", "second.run", *arguments)

    return run


def analyses(done: Done) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["analyses"]


def test_every_analysis_answers(diagnose: Any) -> None:
    done = diagnose("-m", "RR", "--format", "json", "--baseline", "first")
    answers = analyses(done)
    data = json.loads(done.stdout)
    assert (data["runs"], data["queries"], data["baseline"]) == (["first", "second"], 20, "first")
    assert set(answers) == {analysis.name for analysis in all_analyses()}
    assert answers["segments"]["reason"]


def test_some_analyses_with_their_configs(diagnose: Any) -> None:
    options = ("-m", "RR", "--queries", "queries.jsonl", "--format", "json")
    some = analyses(
        diagnose(*options, "--only", "segments,languages", "--only", "languages",
                 "--set", "segments=[kind]", "--set", "languages.field=kind")
    )  # fmt: skip
    assert {name for name, answer in some.items() if answer} == {"segments", "languages"}
    groups = some["segments"]["groups"]
    assert {group["label"]: group["n"] for group in groups} == {"even": 10, "odd": 10}
    cuts = ("--set", "segments.length=[2, 3]")
    groups = analyses(diagnose(*options, "--only", "segments", *cuts))["segments"]["groups"]
    assert {group["field"] for group in groups} == {"length"}
    stages = ("--only", "stages", "--stages", "first, second")
    rows = analyses(diagnose(*options, *stages))["stages"]["stages"]
    assert [(row["system"], row["of"]) for row in rows] == [("first", []), ("second", ["first"])]


# --- in Python -----------------------------------------------------------------------------------


def test_it_is_read_back_as_written() -> None:
    diagnosis = rs.diagnose(QRELS, RUNS, ["RR"], only="ties", baseline="first", alpha=0.01)
    assert diagnosis.settings.alpha == 0.01
    assert type(diagnosis).from_data(diagnosis.to_dict(), source="x") == diagnosis


def test_what_is_given_must_be_about_the_same_queries() -> None:
    with pytest.raises(rs.InputError, match="judged"):
        rs.diagnose(QRELS, RUNS, ["RR"], queries={"other": "words"}, only="ties")
    some = rs.diagnose(QRELS, RUNS, ["RR"], queries={"q00": "words"}, only="ties")
    [finding] = [finding for finding in some.remarks if finding.code == "RS721"]
    assert finding.count == 19
