"""Verify: no byte of an experiment, and no score that was made up, goes unnoticed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from benchmark.world import cli, made, write_world
from rankscope.benchmark.verify import verify

MANIFEST, REPORT = "ExperimentManifest.json", "BenchmarkReport.json"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = write_world(tmp_path_factory.mktemp("world"))
    return made(world, world.folder / "out")


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """Return a copy to be changed."""
    return Path(shutil.copytree(original, tmp_path / "experiment"))


def problems(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in verify(folder).checks:
        if one.problem:
            found.setdefault(one.what, one.problem)
    return found


def changed(folder: Path, name: str, change: Callable[[Any], None]) -> None:
    """Change the data of a record; unless it is the manifest, with its hash in the manifest."""
    path = folder / name
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if name != MANIFEST:
        hashed(folder, name)


def hashed(folder: Path, name: str) -> None:
    """Make the manifest believe in a file."""
    data = (folder / name).read_bytes()

    def change(manifest: Any) -> None:
        (entry,) = (one for one in manifest["artifacts"] if one["path"] == name)
        entry.update(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))

    changed(folder, MANIFEST, change)


def test_an_untouched_experiment_holds(original: Path) -> None:
    code, out, err = cli("benchmark", "verify", original)
    assert (code, err) == (0, "")
    assert "every file and every score is as recorded" in out
    code, out, _ = cli("benchmark", "verify", original, "--format", "json")
    assert code == 0
    data = json.loads(out)
    assert data["ok"]
    assert {one["what"] for one in data["checks"]} >= {"config", "judgments", "scores of both"}


@pytest.mark.parametrize(
    "name",
    [
        "runs/code.run.gz",
        "per_query/words.parquet",
        "results/both.parquet",
        "queries.parquet",
        "qrels.parquet",
        "EvaluationReport.words.json",
        "BenchmarkComparison.md",
    ],
)
def test_one_byte(folder: Path, name: str) -> None:
    path = folder / name
    data = bytearray(path.read_bytes())
    for at in range(3, len(data), max(len(data) // 9, 1)):
        path.write_bytes(bytes([*data[:at], data[at] ^ 1, *data[at + 1 :]]))
        assert problems(folder)[name] == "was changed: its hash differs from the one recorded"
    code, out, _ = cli("benchmark", "verify", folder)
    assert code == 1
    assert f"✗ {name}: was changed" in out
    path.unlink()
    assert problems(folder)[name] == "is missing"
    path.mkdir()
    assert problems(folder)[name].startswith("cannot be read")


def test_one_byte_of_the_report(folder: Path) -> None:
    path = folder / REPORT
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"name": "small"', '"name": "smell"', 1), encoding="utf-8")
    assert problems(folder)[REPORT] == "was changed: its hash differs from the one recorded"
    path.write_text(text[:-20], encoding="utf-8")
    code, out, err = cli("benchmark", "verify", folder)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_a_file_more(folder: Path) -> None:
    (folder / "runs" / "new \x1b[31m.run").write_text("")
    code, out, _ = cli("benchmark", "verify", folder)
    assert code == 1
    assert "is not in the manifest: it was added later" in out
    assert "\x1b" not in out


def raised(data: Any) -> None:
    data["measures"][0]["value"] += 0.1


def test_a_better_score_in_one_record(folder: Path) -> None:
    changed(folder, "EvaluationReport.code.json", raised)
    said = "EvaluationReport.code.json and BenchmarkReport.json give different values"
    assert problems(folder) == {"scores of code": said}


def test_a_better_score_in_both_records(folder: Path) -> None:
    changed(folder, "EvaluationReport.code.json", raised)
    changed(folder, REPORT, lambda data: raised(data["systems"][1]))
    (said,) = problems(folder).values()
    assert said.startswith("nDCG@5 is 0.")
    assert said.endswith("is recorded")
    assert cli("benchmark", "verify", folder)[0] == 1


def test_a_better_score_where_the_report_repeats_it(folder: Path) -> None:
    def target(data: Any) -> None:
        data["kpis"][0]["value"] += 0.1

    def mean(data: Any) -> None:
        data["kpis"][0]["value"] -= 0.1
        data["comparison"]["means"][0]["mean"] += 0.1

    changed(folder, REPORT, target)
    assert list(problems(folder)) == ["scores of words"]
    changed(folder, REPORT, mean)
    assert list(problems(folder)) == ["scores of words"]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("per_query/code.parquet", pl.col("value") + 0.01),
        ("results/code.parquet", pl.col("grade") + 1),
        ("results/code.parquet", pl.col("score") + 1),
        ("results/code.parquet", pl.col("rank").reverse()),
        ("qrels.parquet", pl.col("grade") + 1),
    ],
)
def test_tables_that_the_manifest_believes_in(folder: Path, name: str, change: pl.Expr) -> None:
    pl.read_parquet(folder / name).with_columns(change).write_parquet(folder / name)
    hashed(folder, name)
    assert problems(folder)


def test_another_run_that_the_manifest_believes_in(folder: Path) -> None:
    shutil.copy(folder / "runs" / "words.run.gz", folder / "runs" / "code.run.gz")
    hashed(folder, "runs/code.run.gz")
    assert problems(folder) == {"scores of code": "the run is not the one that was scored"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "other"),
        ("seed", 99),
        ("runs", []),
        ("snapshots", {}),
        ("seconds", {}),
        ("experiment", "other-0123"),
    ],
)
def test_a_manifest_that_says_something_else(folder: Path, key: str, value: object) -> None:
    changed(folder, MANIFEST, lambda data: data.update({key: value}))
    assert len(problems(folder)) == 1


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity"])
def test_a_record_with_a_number_that_is_none(folder: Path, number: str) -> None:
    data = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    data["config"]["depth"] = "here"
    (folder / MANIFEST).write_text(json.dumps(data).replace('"here"', number), encoding="utf-8")
    code, out, err = cli("benchmark", "verify", folder)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"'{number}' is not a finite number" in err


@pytest.mark.parametrize("value", ["\ud800", 7])
def test_another_config(folder: Path, value: object) -> None:
    changed_text = (folder / MANIFEST).read_text(encoding="utf-8")
    data = json.loads(changed_text)
    data["config"]["depth"] = value
    (folder / MANIFEST).write_text(json.dumps(data), encoding="utf-8")
    assert problems(folder) == {
        "config": "its hash differs from the one recorded: the manifest was changed"
    }


@pytest.mark.parametrize("path", ["../outside", "/etc/hostname", "runs/../../outside", "a\0b"])
def test_paths_that_lead_out(folder: Path, path: str) -> None:
    (folder.parent / "outside").write_text("secret")

    def change(data: Any) -> None:
        data["artifacts"][0]["path"] = path

    changed(folder, MANIFEST, change)
    code, out, err = cli("benchmark", "verify", folder)
    assert (code, err) == (1, "")
    assert "secret" not in out
    assert problems(folder)[path].startswith("cannot be read")

    def elsewhere(data: Any) -> None:
        data["systems"][0]["run"]["file"]["path"] = path
        data["systems"][1]["report"] = path
        data["systems"][2]["per_query"]["path"] = path

    changed(folder, REPORT, elsewhere)
    found = problems(folder)
    for name in ("words", "code", "both"):
        assert found[f"scores of {name}"].startswith("cannot be computed again")
    for other in (("compare", folder, folder), ("list", folder.parent)):
        assert cli("benchmark", *other)[0] in (0, 2)


def test_a_link_that_leads_out(folder: Path) -> None:
    outside = folder.parent / "outside"
    shutil.move(folder / "runs" / "code.run.gz", outside)
    os.symlink(outside, folder / "runs" / "code.run.gz")
    assert "is outside the experiment" in problems(folder)["runs/code.run.gz"]


@pytest.mark.parametrize("name", [MANIFEST, REPORT])
def test_a_record_of_the_future(folder: Path, name: str) -> None:
    def later(data: Any) -> None:
        data["schema"] = data["schema"].rpartition("/")[0] + "/99"

    changed(folder, name, later)
    code, out, err = cli("benchmark", "verify", folder)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "use a newer one" in err


def test_what_is_no_experiment(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing"):
        code, out, err = cli("benchmark", "verify", place)
        assert (code, out) == (2, "")
        assert "not an experiment" in err
    (tmp_path / MANIFEST).write_text("{}")
    code, _, err = cli("benchmark", "verify", tmp_path)
    assert code == 2
    assert "expected the schema" in err
