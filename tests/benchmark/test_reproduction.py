"""The commands that a benchmark prints give its numbers again, whatever was searched."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from benchmark.test_cases_benchmark import ENGLISH, TABLE, config, write_cases
from benchmark.test_chunks import world as chunks
from benchmark.world import CONFIG, cli, write_world
from rankscope.benchmark.run import Result, run_benchmark
from rankscope.reports.what_ran import command_of


def check(result: Result) -> None:
    """Run the command of every number, which must print the number that was recorded."""
    for system in result.report.systems:
        for value in system.measures:
            words = shlex.split(command_of(result.report, system, [value.measure]))
            assert words[:2] == ["rankscope", "evaluate"]
            arguments = [word.replace("DIR/", f"{result.folder}/") for word in words[1:]]
            code, out, err = cli(*arguments, "--format", "json")
            assert code == 0, err
            [run] = json.loads(out)["runs"].values()
            assert run["means"][value.measure] == value.value


def test_queries_without_an_answer_of_the_system(tmp_path: Path) -> None:
    small = write_world(tmp_path)
    small.trouble("raise", "q03")
    check(run_benchmark(small.config, output=tmp_path / "out"))


@pytest.mark.parametrize("profile", ["sentence-transformers", "trec_eval-9"])
def test_other_rules(tmp_path: Path, profile: str) -> None:
    """SetF is where a name means something else when it is read twice."""
    measures = "[nDCG@5, AP@10, SetF(beta=2)]"
    text = CONFIG.replace("[nDCG@5, RR@10, R@10]", measures) + f"profile: {profile}\n"
    result = run_benchmark(write_world(tmp_path, config=text).config, output=tmp_path / "out")
    assert result.report.profile == profile
    check(result)


def test_chunks_and_questions_without_an_answer(tmp_path: Path) -> None:
    check(run_benchmark(chunks(tmp_path, doc_id_from="#"), output=tmp_path / "out"))


def test_terms_of_an_ontology(tmp_path: Path) -> None:
    (tmp_path / "tree.tsv").write_text(TABLE)
    write_cases(tmp_path / "cases", "en", ENGLISH)
    measures = "measures: [RR, MaxOntSim@3, Success@3]"
    path = config(tmp_path, cases="cases/standard_v1.json", rest=measures)
    result = run_benchmark(path, output=tmp_path / "out")
    system = result.report.systems[0]
    assert "--ontology" in command_of(result.report, system, ["MaxOntSim@3"])
    check(result)
