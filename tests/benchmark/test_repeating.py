"""The commands that a benchmark prints give its numbers again, whatever was searched."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from benchmark.test_cases_benchmark import ENGLISH, TABLE, config, write_cases
from benchmark.test_chunks import world as chunks
from benchmark.world import write_world
from rankscope.benchmark.run import Result, run_benchmark
from rankscope.cli import main
from rankscope.reports.reproduction import command_of


def printed(result: Result, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, float]]:
    """Run the command of every number, and return the numbers by system and measure."""
    means: dict[str, dict[str, float]] = {}
    for system in result.report.systems:
        for value in system.measures:
            words = shlex.split(command_of(result.report, system, [value.measure]))
            assert words[:2] == ["rankscope", "evaluate"]
            arguments = [word.replace("DIR/", f"{result.folder}/") for word in words[1:]]
            with pytest.raises(SystemExit) as end:
                main([*arguments, "--format", "json"])
            output = capsys.readouterr()
            assert end.value.code in (0, None), output.err
            [run] = json.loads(output.out)["runs"].values()
            means.setdefault(system.name, {})[value.measure] = run["means"][value.measure]
    return means


def recorded(result: Result) -> dict[str, dict[str, float]]:
    return {
        system.name: {value.measure: value.value for value in system.measures}
        for system in result.report.systems
    }


def test_queries_without_an_answer_of_the_system(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = write_world(tmp_path)
    small.trouble("raise", "q03")
    result = run_benchmark(small.config, output=tmp_path / "out")
    assert printed(result, capsys) == recorded(result)


@pytest.mark.parametrize("profile", ["ir_measures", "sentence-transformers", "ranx", "trec_eval-9"])
def test_other_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str], profile: str) -> None:
    """SetF is where a name means something else when it is read twice."""
    small = write_world(tmp_path)
    text = small.config.read_text().replace(
        "[nDCG@5, RR@10, R@10]", "[nDCG@5, AP@10, SetF(beta=2)]"
    )
    small.config.write_text(f"{text}profile: {profile}\n")
    result = run_benchmark(small.config, output=tmp_path / "out")
    assert result.report.profile == profile
    assert printed(result, capsys) == recorded(result)


def test_chunks_and_questions_without_an_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run_benchmark(chunks(tmp_path, doc_id_from="#"), output=tmp_path / "out")
    assert result.report.collection.no_answer == ("none",)
    assert printed(result, capsys) == recorded(result)


def test_terms_of_an_ontology(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tree.tsv").write_text(TABLE)
    write_cases(tmp_path / "cases", "en", ENGLISH)
    path = config(
        tmp_path, cases="cases/standard_v1.json", rest="measures: [RR, MaxOntSim@3, Success@3]"
    )
    result = run_benchmark(path, output=tmp_path / "out")
    assert any(
        "--ontology" in command_of(result.report, system, ["MaxOntSim@3"])
        for system in result.report.systems
    )
    assert printed(result, capsys) == recorded(result)
