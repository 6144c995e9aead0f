"""A benchmark with broken systems: they are named, not scored, and compared with nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.world import QUERIES, World, cli, judgments, only_experiment, write_world
from rankscope.benchmark.changes import compare_experiments
from rankscope.benchmark.run import run_benchmark
from rankscope.benchmark.verify import verify
from rankscope.errors import InputError
from rankscope.records.report import BenchmarkReport

CONFIG = """\
name: broken
collection: {{corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}}
depth: 6
baseline: {baseline}
measures: [nDCG@5, R@6, Success@1000]
diagnosis: []
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


def run(made: World, output: Path) -> tuple[int, BenchmarkReport]:
    code, _, _ = cli("benchmark", "run", made.config, "--output", output)
    return code, BenchmarkReport.read(only_experiment(output) / "BenchmarkReport.json")


@pytest.mark.parametrize("baseline", ["words", "wrong"])
def test_broken_systems_are_named_and_left_out(tmp_path: Path, baseline: str) -> None:
    made = world(tmp_path / "in", ["nothing", "words", "more", "wrong", "fused"], baseline)
    code, report = run(made, tmp_path / "out")
    assert code == 1
    errors = {(one.system, one.code) for one in report.findings if one.severity == "error"}
    assert {("nothing", "RS101"), ("wrong", "RS172")} <= errors
    broken = [line for line in report.verdict if "is broken" in line]
    assert [line.split()[0] for line in broken] == ["nothing", "wrong"]
    assert "a prefix" in broken[1]
    others = [line for line in report.verdict if line not in broken]
    assert not any("nothing" in line or "wrong" in line for line in others)
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
    about = [one for one in report.findings if one.code == "RS166"]
    assert len(about) == 1, "about the collection: once"
    assert {one.system for one in about} == {None}


def test_no_system_can_be_scored(tmp_path: Path) -> None:
    made = world(tmp_path / "in", ["nothing", "wrong"], "wrong")
    code, report = run(made, tmp_path / "out")
    assert code == 1
    assert report.verdict[0] == "Nothing was measured."
    assert report.comparison is None
    folder = only_experiment(tmp_path / "out")
    assert verify(folder).ok
    assert cli("benchmark", "list", tmp_path / "out")[0] == 0
    with pytest.raises(InputError, match="scored no system"):
        compare_experiments(folder, folder)


def test_the_experiment_verifies_and_a_change_is_seen(tmp_path: Path) -> None:
    made = world(tmp_path / "in", ["words", "wrong"])
    options = ("--output", tmp_path / "out", "--quiet", "--fail-under", "nDCG@5=0.01")
    code, _, err = cli("benchmark", "run", made.config, *options)
    assert (code, err.split()[0]) == (1, "wrong"), "a limit is about every system"
    folder = only_experiment(tmp_path / "out")
    assert verify(folder).ok
    (tmp_path / "in" / "wrong.run").write_text("".join(f"{q} Q0 d01 1 1 x\n" for q in QUERIES))
    after = run_benchmark(made.config, output=tmp_path / "again").folder
    changed = compare_experiments(folder, after)
    assert any(line.startswith("wrong (broken before") for line in changed.differs)
    assert {change.system for change in changed.changes} == {"words"}


def test_a_poor_system_is_not_broken(tmp_path: Path) -> None:
    """Its documents are in the corpus that holds the judged ones: it is scored, with 0."""
    made = world(tmp_path / "in", ["words", "wrong"])
    text = "".join(f"{query} Q0 d20 1 1 x\n" for query in QUERIES[:3])
    (tmp_path / "in" / "wrong.run").write_text(text)
    _, report = run(made, tmp_path / "out")
    assert [system.broken for system in report.systems] == [None, None]
    assert report.systems[1].measures[0].value == 0
    codes = {(one.system, one.code, one.severity) for one in report.findings}
    assert ("wrong", "RS172", "warning") in codes


def test_a_function_that_always_raises_is_not_called_empty(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    world.trouble("raise", *QUERIES)
    report = run_benchmark(world.config, output=tmp_path / "out").report
    code = next(system for system in report.systems if system.name == "code")
    assert code.broken is not None
    assert "RuntimeError: the engine" in code.broken


def test_what_searches_documents_needs_some(small: World, tmp_path: Path) -> None:
    config = tmp_path / "none.yaml"
    config.write_text(
        f"name: none\ncollection: {{queries: {small.folder / 'queries.jsonl'}, qrels: "
        f"{small.folder / 'qrels.tsv'}}}\nsystems: {{words: bm25}}\n"
    )
    with pytest.raises(InputError, match=r"system words: .* name them in collection\.corpus"):
        run_benchmark(config, output=tmp_path / "out")
