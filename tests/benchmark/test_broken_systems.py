"""A benchmark with broken systems: they are named, not scored, and compared with nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankscope as rs
from benchmark.world import (
    QUERIES,
    World,
    cli,
    judgments,
    only_experiment,
    write_qrels,
    write_world,
)
from rankscope.benchmark.changes import compare_experiments
from rankscope.benchmark.run import run_benchmark
from rankscope.benchmark.verify import verify
from rankscope.errors import InputError
from rankscope.records import BenchmarkReport

CONFIG = """\
name: broken
collection: {{corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}}
depth: 6
baseline: {baseline}
measures: [nDCG@5, R@6, Success@1000]
systems:
{systems}
"""

SYSTEMS = {
    "words": "{bm25: {}}",
    "more": "{bm25: {k1: 0.2}}",
    "nothing": '{python: "silent:search"}',
    "wrong": "{run: wrong.run}",
    "fused": "{fuse: {of: [words, nothing]}}",
}


def world(folder: Path, systems: list[str], baseline: str = "words") -> World:
    lines = "\n".join(f"  {name}: {SYSTEMS[name]}" for name in systems)
    config = CONFIG.format(baseline=baseline, systems=lines).replace("{", "{{").replace("}", "}}")
    made = write_world(folder, config=config, qrels=[*judgments(), ("q01", "gone", 1)])
    (folder / "silent.py").write_text("def search(text, k=10):\n    return []\n")
    rows = [(query, f"doc:d{n:02}", n) for query in QUERIES for n in range(1, 5)]
    lines = "".join(f"{query} Q0 {doc} {n} {9 - n} x\n" for query, doc, n in rows)
    (folder / "wrong.run").write_text(lines)
    return made


def run(made: World, output: Path, *options: str) -> tuple[int, str, BenchmarkReport]:
    arguments = ("benchmark", "run", made.config, "--output", output, *options)
    code, out, _ = cli(*arguments)
    report = BenchmarkReport.read(only_experiment(output) / "BenchmarkReport.json")
    return code, out, report


@pytest.mark.parametrize("baseline", ["words", "wrong"])
def test_broken_systems_are_named_and_left_out(tmp_path: Path, baseline: str) -> None:
    made = world(tmp_path / "in", ["nothing", "words", "more", "wrong", "fused"], baseline)
    code, out, report = run(made, tmp_path / "out")
    assert code == 1
    errors = {(one.system, one.code) for one in report.findings if one.severity == "error"}
    assert {("nothing", "RS101"), ("wrong", "RS172")} <= errors
    assert report.verdict[0].startswith("nothing is broken and was not scored: the run is empty")
    assert report.verdict[1].startswith("wrong is broken and was not scored: no document id in ")
    assert "begin with 'doc:'" in report.verdict[1]
    assert not any("nothing" in line or "wrong" in line for line in report.verdict[2:])
    by_name = {system.name: system for system in report.systems}
    for name in ("nothing", "wrong"):
        assert by_name[name].broken
        assert by_name[name].measures == []
        assert by_name[name].accounting is None
    assert report.comparison is not None
    assert report.comparison.runs == ("words", "more", "fused")
    assert report.comparison.baseline == ("words" if baseline == "words" else None)
    assert {kpi.system for kpi in report.kpis} == {"words", "more", "fused"}
    assert not {"nothing", "wrong"} & {name for info in report.measures for name in info.best}
    assert "broken" in out
    text = (only_experiment(tmp_path / "out") / "BenchmarkComparison.md").read_text()
    row = next(line for line in text.splitlines() if line.startswith("| nDCG@5 "))
    assert row.count("broken") == 2
    assert "0.000" not in row


def test_what_is_about_the_collection_is_said_once(tmp_path: Path) -> None:
    _, _, report = run(world(tmp_path / "in", ["words", "more"]), tmp_path / "out")
    about = {one.code: one for one in report.findings if one.code in ("RS166", "RS134")}
    assert set(about) == {"RS166", "RS134"}
    assert sum(one.code in about for one in report.findings) == 2
    assert {one.system for one in about.values()} == {None}
    assert "('gone')" in about["RS166"].message
    assert about["RS134"].message.startswith("Success@1000 looks at all of the")
    deeper = {one.message for one in report.findings if one.code == "RS133"}
    assert all(text.startswith("Success@1000 looks deeper") for text in deeper), "6 were asked for"


def test_no_system_can_be_scored(tmp_path: Path) -> None:
    made = world(tmp_path / "in", ["nothing", "wrong"], "wrong")
    code, out, report = run(made, tmp_path / "out")
    assert code == 1
    assert report.verdict[-1] == "Nothing was measured."
    assert report.comparison is None
    assert "broken" in out
    folder = only_experiment(tmp_path / "out")
    assert verify(folder).ok
    assert cli("benchmark", "list", tmp_path / "out")[0] == 0
    with pytest.raises(InputError, match="scored no system"):
        compare_experiments(folder, folder)
    with pytest.raises(InputError, match="wrong was not scored: no document id in common"):
        rs.gate(folder / "EvaluationReport.wrong.json", folder / "EvaluationReport.wrong.json")


def test_the_experiment_verifies_and_a_change_is_seen(tmp_path: Path) -> None:
    run(world(tmp_path / "in", ["words", "wrong"]), tmp_path / "out")
    folder = only_experiment(tmp_path / "out")
    assert verify(folder).ok
    (tmp_path / "in" / "wrong.run").write_text("".join(f"{q} Q0 d01 1 1 x\n" for q in QUERIES))
    cli("benchmark", "run", tmp_path / "in" / "config.yaml", "--output", tmp_path / "again")
    after = only_experiment(tmp_path / "again")
    changed = compare_experiments(folder, after)
    assert any(line.startswith("wrong (broken before: no document") for line in changed.differs)
    assert {change.system for change in changed.changes} == {"words"}


def test_a_limit_is_about_every_system(tmp_path: Path) -> None:
    made = world(tmp_path / "in", ["words", "wrong"])
    options = ("--quiet", "--fail-under", "nDCG@5=0.01")
    code, _, err = cli("benchmark", "run", made.config, "--output", tmp_path / "out", *options)
    assert (code, err) == (1, "wrong is broken and has no nDCG@5\n")


def test_a_poor_system_is_not_broken(tmp_path: Path) -> None:
    """Its documents are in the corpus that holds the judged ones: it is scored, with 0."""
    made = world(tmp_path / "in", ["words", "wrong"])
    write_qrels(tmp_path / "in" / "qrels.tsv", [row for row in judgments() if row[1] != "d23"])
    text = "".join(f"{query} Q0 d23 1 1 x\n" for query in QUERIES)
    (tmp_path / "in" / "wrong.run").write_text(text)
    _, _, report = run(made, tmp_path / "out")
    assert [system.broken for system in report.systems] == [None, None]
    assert report.systems[1].measures[0].value == 0
    codes = {(one.system, one.code, one.severity) for one in report.findings}
    assert ("wrong", "RS172", "warning") in codes
    assert verify(only_experiment(tmp_path / "out")).ok


def test_a_function_that_always_raises_is_not_called_empty(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    world.trouble("raise", *QUERIES)
    report = run_benchmark(world.config, output=tmp_path / "out").report
    code = next(system for system in report.systems if system.name == "code")
    assert code.broken is not None
    assert code.broken.startswith("no query was answered (RuntimeError: the engine")
    assert any("no query was answered" in sentence for sentence in report.verdict)
