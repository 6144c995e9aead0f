"""A benchmark's numbers for other tools: flat metrics, and what MLflow gets."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from benchmark.world import cli, write_world
from rankscope.benchmark.run import run_benchmark
from rankscope.integrations.metrics import metrics_of
from rankscope.integrations.mlflow import facts_of


def test_what_mlflow_gets(tmp_path: Path) -> None:
    world, output = write_world(tmp_path), tmp_path / "benchmarks"
    result = run_benchmark(world.config, output=output)
    facts, metrics = facts_of(result), metrics_of(result)
    systems = [system.name for system in result.report.systems]
    assert facts.params["systems"] == ", ".join(systems)
    assert facts.params["collection"] == result.report.collection.name
    (first, *_) = result.report.systems
    for mean in first.measures:
        assert mean.interval is not None
        assert metrics[f"{first.name}/{mean.measure}"] == mean.value
        assert metrics[f"{first.name}/{mean.measure}.low"] == mean.interval.low
    assert any("-vs-" in name for name in metrics)
    rows = list(csv.DictReader(io.StringIO(facts.files["per_query.csv"])))
    measures = [info.measure for info in result.report.measures]
    assert list(rows[0]) == ["run", "query_id", *measures]
    assert len(rows) == len(systems) * result.report.collection.queries
    values = [float(row[measures[0]]) for row in rows if row["run"] == first.name]
    assert sum(values) / len(values) == pytest.approx(first.measures[0].value)
    assert metrics_of(result.report) == metrics
    options = ("--output", output, "--format", "metrics", "--quiet")
    code, printed, _ = cli("benchmark", "run", world.config, *options)
    assert code == 0
    assert json.loads(printed) == pytest.approx(metrics)
