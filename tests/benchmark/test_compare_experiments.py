"""Two experiments side by side, and the experiments of a folder."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from benchmark.world import CONFIG, World, cli, judgments, made, write_qrels, write_world
from rankscope.benchmark.changes import compare_experiments
from rankscope.benchmark.listing import list_experiments
from rankscope.benchmark.run import run_benchmark
from rankscope.statistics.correction import corrected
from rankscope.statistics.paired import paired_tests


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return write_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def first(world: World) -> Path:
    return made(world, world.folder / "out")


@pytest.fixture(scope="module")
def second(world: World, first: Path) -> Path:
    """Return an experiment that finds less, lacks a system and has another."""
    text = world.config.read_text().replace("depth: 10", "depth: 3")
    (world.folder / "other.yaml").write_text(text.replace("  both:", "  new:"))
    return run_benchmark(world.folder / "other.yaml", output=first.parent).folder


def test_an_experiment_with_itself(first: Path) -> None:
    code, out, err = cli("benchmark", "compare", first, first)
    assert (code, err) == (0, "")
    assert "different: nothing: config, corpus and versions are the same" in out
    result = compare_experiments(first, first)
    assert (result.queries, len(result.changes)) == (12, 9)
    assert {one.verdict for one in result.changes} == {"no difference shown"}
    assert {one.difference for one in result.changes} == {0.0}


def test_what_changed_is_tested_over_all_systems_and_measures(first: Path, second: Path) -> None:
    code, out, err = cli("benchmark", "compare", first, second, "--format", "json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert (data["only_before"], data["only_after"]) == (["both"], ["new"])
    assert data["differs"] == ["systems, depth in the config"]
    rows, means = [], []
    for name in ("words", "code"):
        before, after = (
            pl.read_parquet(folder / "per_query" / f"{name}.parquet").sort("query_id")
            for folder in (first, second)
        )
        for measure in ("nDCG@5", "RR@10", "R@10"):
            sides = [one.filter(pl.col("measure") == measure)["value"] for one in (before, after)]
            rows.append((sides[1] - sides[0]).to_numpy())
            means.append((name, measure, sides[0].mean(), sides[1].mean()))
    tests = paired_tests(np.array(rows), resamples=10_000, seed=0)
    expected = corrected([one.p for one in tests], "holm").tolist()
    assert len(data["changes"]) == 6
    for one, (name, measure, old, new), row, p in zip(
        data["changes"], means, rows, expected, strict=True
    ):
        assert (one["system"], one["measure"]) == (name, measure)
        assert one["before"] == pytest.approx(old, abs=1e-12)
        assert one["after"] == pytest.approx(new, abs=1e-12)
        assert one["difference"] == pytest.approx(row.mean(), abs=1e-12)
        assert one["p_corrected"] == pytest.approx(p)
        assert one["interval"]["low"] <= one["difference"] <= one["interval"]["high"]
    code, out, _ = cli("benchmark", "compare", first, second)
    assert code == 0
    assert "only in the first: both" in out
    assert "only in the second: new" in out


def test_some_systems_and_measures(first: Path, second: Path) -> None:
    arguments = ("compare", first, second, "--system", "code", "-m", "RR@10", "--format", "json")
    code, out, _ = cli("benchmark", *arguments)
    assert code == 0
    (change,) = json.loads(out)["changes"]
    assert (change["system"], change["measure"]) == ("code", "RR@10")
    code, out, err = cli("benchmark", "compare", first, second, "--system", "both")
    assert (code, out) == (2, "")
    assert "unknown system of both experiments 'both'" in err
    code, _, err = cli("benchmark", "compare", first, second, "-m", "P@7")
    assert (code, err.count("\n")) == (2, 1)
    assert "P@7" in err


def test_systems_that_answer_different_queries(tmp_path: Path) -> None:
    """By these rules a query that failed is left out, for the one system only."""
    world = write_world(tmp_path / "world")
    world.config.write_text(world.config.read_text() + "profile: trec_eval-9\n")
    world.trouble("raise", "q03")
    folder = run_benchmark(world.config, output=tmp_path / "out").folder
    result = compare_experiments(folder, folder, resamples=100)
    assert result.queries == 12
    assert {one.system for one in result.changes} == {"words", "code", "both"}
    assert {one.difference for one in result.changes} == {0.0}


def test_no_system_in_common(world: World, first: Path) -> None:
    text = world.config.read_text().replace("words", "lexical").replace("code:", "python:")
    text = text.replace("  both:", "  fused:").replace("lexical, code", "lexical, python")
    (world.folder / "renamed.yaml").write_text(text)
    other = run_benchmark(world.folder / "renamed.yaml", output=world.folder / "renamed").folder
    code, out, err = cli("benchmark", "compare", first, other)
    assert (code, out) == (2, "")
    assert "not comparable" in err
    assert "none in common" in err


def test_other_judgments_are_not_comparable(first: Path, tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    write_qrels(world.folder / "qrels.tsv", [*judgments(), ("q01", "d10", 2)])
    other = made(world, tmp_path / "out")
    code, out, err = cli("benchmark", "compare", first, other)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "not comparable" in err
    reports = [folder / "EvaluationReport.words.json" for folder in (first, other)]
    code, _, err = cli("gate", *reports, "-m", "nDCG@5")
    assert code == 2
    assert "not comparable" in err


def test_other_rules_are_not_comparable(tmp_path: Path, first: Path) -> None:
    world = write_world(tmp_path / "world", config=CONFIG + "profile: trec_eval-9\n")
    code, _, err = cli("benchmark", "compare", first, made(world, tmp_path / "out"))
    assert code == 2
    assert "not comparable" in err


def test_the_gate_takes_reports_of_two_experiments(first: Path, second: Path) -> None:
    reports = [folder / "EvaluationReport.words.json" for folder in (first, second)]
    code, out, err = cli("gate", *reports, "-m", "R@10", "-m", "nDCG@5", "--format", "json")
    assert code in (0, 1), err
    checks = {one["measure"]: one for one in json.loads(out)["checks"]}
    for change in compare_experiments(first, second, systems=["words"]).changes:
        if change.measure in checks:
            assert checks[change.measure]["difference"] == pytest.approx(change.difference)
    assert cli("gate", reports[0], reports[0], "-m", "nDCG@5")[0] == 0


@pytest.mark.parametrize("name", ["per_query/code.parquet", "BenchmarkReport.json"])
def test_a_damaged_experiment_is_one_sentence(first: Path, tmp_path: Path, name: str) -> None:
    copy = Path(shutil.copytree(first, tmp_path / "copy"))
    for content in (b"", b"rubbish", (first / name).read_bytes()[:-9]):
        (copy / name).write_bytes(content)
        code, out, err = cli("benchmark", "compare", first, copy)
        assert (code, out, err.count("\n")) == (2, "", 1)
    (copy / name).unlink()
    assert cli("benchmark", "compare", first, copy)[0] == 2


def test_tables_of_another_form_are_one_sentence(first: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(first, tmp_path / "copy"))
    path = copy / "per_query" / "code.parquet"
    table = pl.read_parquet(path)
    for other in (
        table.drop("value"),
        table.with_columns(value=pl.lit("x")),
        table.head(0),
        table.head(5),
        pl.concat([table, table]),
        table.with_columns(value=pl.lit(None, pl.Float64)),
    ):
        other.write_parquet(path)
        record_again(copy)
        code, out, err = cli("benchmark", "compare", first, copy)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "SHA-256" not in err


def record_again(folder: Path) -> None:
    """Repair the hashes of an experiment whose files were changed."""

    def repaired(value: Any) -> Any:
        if isinstance(value, dict):
            value = {key: repaired(item) for key, item in value.items()}
            if {"path", "sha256", "bytes"} <= set(value):
                content = (folder / value["path"]).read_bytes()
                digest = hashlib.sha256(content).hexdigest()
                return {**value, "sha256": digest, "bytes": len(content)}
        return [repaired(item) for item in value] if isinstance(value, list) else value

    records = [*folder.glob("EvaluationReport.*.json"), folder / "BenchmarkReport.json"]
    for path in (*records, folder / "ExperimentManifest.json"):
        path.write_text(json.dumps(repaired(json.loads(path.read_text()))))


@pytest.mark.parametrize("repair", [False, True])
def test_values_that_were_changed_are_not_compared(
    first: Path, tmp_path: Path, repair: bool
) -> None:
    copy = Path(shutil.copytree(first, tmp_path / "copy"))
    path = copy / "per_query" / "words.parquet"
    pl.read_parquet(path).with_columns(value=pl.lit(0.9)).write_parquet(path)
    if repair:
        record_again(copy)
    reports = [folder / "EvaluationReport.words.json" for folder in (first, copy)]
    for arguments in (
        ("gate", *reports, "-m", "nDCG@5"),
        ("gate", *reversed(reports), "-m", "nDCG@5"),
        ("benchmark", "compare", first, copy),
    ):
        code, out, err = cli(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        problem = "the recorded mean of nDCG@5 is" if repair else "its SHA-256 differs"
        assert problem in err
    assert cli("benchmark", "verify", copy)[0] != 0


def test_a_report_that_was_changed_is_not_compared(first: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(first, tmp_path / "copy"))
    path = copy / "BenchmarkReport.json"
    path.write_text(path.read_text().replace('"name": "words"', '"name": "wards"'))
    code, out, err = cli("benchmark", "compare", first, copy)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "BenchmarkReport.json was changed after it was recorded" in err


# ------------------------------------------------------------------------------------- list


def test_experiments_are_listed_newest_first(first: Path, second: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    for at, (folder, finished) in enumerate([(first, "2025-01-02"), (second, "2025-03-04")]):
        copy = Path(shutil.copytree(folder, output / f"{at}-{folder.name}"))
        _finished(copy, f"{finished}T00:00:00Z")
    for name, content in (("damaged", "{"), ("other", '{"schema": "rankscope/manifest/99"}')):
        (output / name).mkdir()
        (output / name / "ExperimentManifest.json").write_text(content)
    (output / "notes").mkdir()
    (output / ".unfinished-x").mkdir()
    found = list_experiments(output)
    assert [one.experiment for one in found[:2]] == [second.name, first.name]
    assert {Path(one.folder).name for one in found[2:]} == {"damaged", "other"}
    assert all(one.problem for one in found[2:])
    code, out, err = cli("benchmark", "list", output)
    assert (code, err) == (0, "")
    assert out.index(second.name) < out.index(first.name) < out.index("damaged")
    assert "use the version of rankscope that wrote it" in " ".join(out.split())
    code, out, _ = cli("benchmark", "list", output, "--format", "json")
    data = json.loads(out)
    assert [bool(one["problem"]) for one in data] == [False, False, True, True]
    assert data[1]["measure"] == "nDCG@5"
    assert data[1]["value"] > 0
    assert data[1]["verdict"]


def _finished(folder: Path, when: str) -> None:
    path = folder / "ExperimentManifest.json"
    data: dict[str, Any] = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "finished": when}))


def test_an_experiment_that_lost_a_record_is_shown_as_damaged(first: Path, tmp_path: Path) -> None:
    for name in ("ExperimentManifest.json", "BenchmarkReport.json"):
        copy = Path(shutil.copytree(first, tmp_path / f"without {name}"))
        (copy / name).unlink()
    found = list_experiments(tmp_path)
    assert len(found) == 2
    assert all(one.problem for one in found)


def test_a_report_without_measures(first: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(first, tmp_path / "copy"))
    data = json.loads((copy / "BenchmarkReport.json").read_text())
    (copy / "BenchmarkReport.json").write_text(json.dumps({**data, "measures": []}))
    (found,) = list_experiments(tmp_path)
    assert "contains no measure" in found.problem


def test_folders_without_experiments(tmp_path: Path) -> None:
    code, out, _ = cli("benchmark", "list", tmp_path)
    assert code == 0
    assert "holds no experiment" in " ".join(out.split())
    assert json.loads(cli("benchmark", "list", tmp_path, "--format", "json")[1]) == []
    code, out, err = cli("benchmark", "list", tmp_path / "missing")
    assert (code, out) == (2, "")
    assert "is not a folder" in err
