"""Two experiments side by side, and the experiments of a folder."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from benchmark.world import CONFIG, cli, judgments, made, write_world
from rankscope.benchmark.changes import compare_experiments
from rankscope.statistics.tests import corrected, paired_tests, sign_p, skew_p


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an experiment that finds less than the small one, and has a system renamed."""
    config = CONFIG.replace("depth: 10", "depth: 3").replace("  both:", "  new:")
    world = write_world(tmp_path_factory.mktemp("other"), config=config)
    return made(world, world.folder / "out")


def test_an_experiment_with_itself(experiment: Path) -> None:
    assert cli("benchmark", "compare", experiment, experiment)[::2] == (0, "")
    result = compare_experiments(experiment, experiment)
    assert (result.queries, len(result.changes)) == (12, 9)
    assert {one.verdict for one in result.changes} == {"can't tell"}
    assert {one.difference for one in result.changes} == {0.0}


def test_what_changed_is_tested_over_all_systems_and_measures(
    experiment: Path, second: Path
) -> None:
    code, out, err = cli("benchmark", "compare", experiment, second, "--format", "json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert (data["only_before"], data["only_after"]) == (["both"], ["new"])
    assert data["differs"] == ["systems, depth in the config"]
    rows, means = [], []
    for name in ("words", "code"):
        tables = (
            pl.read_parquet(f / "per_query" / f"{name}.parquet") for f in (experiment, second)
        )
        before, after = (table.sort("query_id") for table in tables)
        for measure in ("nDCG@5", "RR@10", "R@10"):
            sides = [one.filter(pl.col("measure") == measure)["value"] for one in (before, after)]
            rows.append((sides[1] - sides[0]).to_numpy())
            means.append((name, measure, sides[0].mean(), sides[1].mean()))
    expected = corrected([p_of(row) for row in rows], "holm").tolist()
    assert len(data["changes"]) == 6
    for one, (name, measure, old, new), row, p in zip(
        data["changes"], means, rows, expected, strict=True
    ):
        assert (one["system"], one["measure"]) == (name, measure)
        assert [one["base_mean"], one["system_mean"]] == pytest.approx([old, new], abs=1e-12)
        assert one["difference"] == pytest.approx(row.mean(), abs=1e-12)
        assert one["p_corrected"] == pytest.approx(p)
        assert one["interval"]["low"] <= one["difference"] <= one["interval"]["high"]


def p_of(row: Any) -> float:
    """Return the p-value of one of two systems: its differences on one measure."""
    moving = row[row != 0]
    if len({*np.abs(moving)}) == 1:
        return float(sign_p((row > 0).sum(), (row < 0).sum()))
    p, ratio = paired_tests([row], test="t")
    skewed = skew_p(np.array([row]), np.abs(ratio), np.array([len(row) - 1.0]), together=2)
    return max(float(p[0]), float(skewed[0]), 2.0 ** (1 - len(moving)))


RENAMED = CONFIG.replace("  words:", "  a:").replace("  code:", "  b:").replace("  both:", "  c:")


@pytest.mark.parametrize(
    "other",
    [
        {"config": RENAMED.replace("words, code", "a, b").replace("line: words", "line: a")},
        {"config": CONFIG + "profile: trec_eval-9\n"},
        {"qrels": [*judgments(), ("q01", "d10", 2)]},
    ],
    ids=["systems", "rules", "judgments"],
)
def test_what_is_not_comparable(experiment: Path, tmp_path: Path, other: Any) -> None:
    folder = made(write_world(tmp_path / "world", **other), tmp_path / "out")
    code, out, err = cli("benchmark", "compare", experiment, folder)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "not comparable" in err


def test_what_no_experiment_has(experiment: Path, second: Path) -> None:
    for option, name in (("--system", "both"), ("-m", "P@7")):
        assert cli("benchmark", "compare", experiment, second, option, name)[0] == 2


# ---------------------------------------------------------------------------------- damaged


@pytest.fixture
def copy(experiment: Path, tmp_path: Path) -> Path:
    """Return a copy to be damaged."""
    return Path(shutil.copytree(experiment, tmp_path / "copy"))


CHANGES: list[Callable[[pl.DataFrame], pl.DataFrame]] = [
    lambda table: table.drop("value"),
    lambda table: table.with_columns(value=pl.lit("x")),
    lambda table: table.head(0),
    lambda table: pl.concat([table, table]),
    lambda table: table.with_columns(value=pl.lit(None, pl.Float64)),
    lambda table: table.with_columns(value=pl.lit(0.9)),
]


def test_tables_of_another_form_or_other_values_are_one_sentence(
    experiment: Path, copy: Path
) -> None:
    path = copy / "per_query" / "code.parquet"
    table = pl.read_parquet(path)
    for change in CHANGES:
        change(table).write_parquet(path)
        record_again(copy)
        code, out, err = cli("benchmark", "compare", experiment, copy)
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


def test_what_was_changed_is_not_compared(experiment: Path, copy: Path) -> None:
    path = copy / "per_query" / "words.parquet"
    for content in (b"", b"rubbish", path.read_bytes()[:-9] + b"somewhere"):
        path.write_bytes(content)
        code, out, err = cli("benchmark", "compare", experiment, copy)
        assert (code, out, err.count("\n")) == (2, "", 1)
    report = copy / "BenchmarkReport.json"
    report.write_text(report.read_text().replace('"name": "words"', '"name": "wards"'))
    code, out, err = cli("benchmark", "compare", experiment, copy)
    assert (code, out) == (2, "")
    assert "BenchmarkReport.json was changed" in err


# ------------------------------------------------------------------------------------- list


def test_experiments_are_listed_newest_first(
    experiment: Path, second: Path, tmp_path: Path
) -> None:
    for folder, finished in ((experiment, "2025-01-02"), (second, "2025-03-04")):
        path = Path(shutil.copytree(folder, tmp_path / folder.name)) / "Timings.json"
        data = json.loads(path.read_text())
        path.write_text(json.dumps({**data, "created": f"{finished}T00:00:00Z"}))
    for name, content in (("damaged", "{"), ("other", '{"schema": "rankscope/manifest/99"}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ExperimentManifest.json").write_text(content)
    lost = Path(shutil.copytree(experiment, tmp_path / "lost"))
    (lost / "BenchmarkReport.json").unlink()
    (tmp_path / "notes").mkdir()
    (tmp_path / ".unfinished-x").mkdir()
    code, out, err = cli("benchmark", "list", tmp_path, "--format", "json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert [Path(one["folder"]).name for one in data[:2]] == [second.name, experiment.name]
    assert {Path(one["folder"]).name for one in data[2:]} == {"damaged", "lost", "other"}
    assert [bool(one["problem"]) for one in data] == [False, False, True, True, True]
    assert data[1]["measure"] == "nDCG@5"
    assert data[1]["value"] > 0
    out = cli("benchmark", "list", tmp_path)[1]
    assert out.index(second.name) < out.index(experiment.name) < out.index("damaged")
    assert cli("benchmark", "list", tmp_path / "missing")[:2] == (2, "")
