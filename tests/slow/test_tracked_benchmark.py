"""A benchmark's numbers for other tools: flat metrics, and what MLflow gets."""

from __future__ import annotations

import csv
import io
import json

import pytest

from benchmark.world import World, cli, write_world
from rankscope.benchmark.run import run_benchmark
from rankscope.integrations.metrics import metrics_of
from rankscope.integrations.mlflow import facts_of


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return write_world(tmp_path_factory.mktemp("tracked"))


def test_what_mlflow_gets(world: World) -> None:
    result = run_benchmark(world.config, output=world.folder / "benchmarks")
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
    page = (result.folder / "BenchmarkReport.html").read_text("utf-8")
    assert facts.files["report.html"] == page
    assert metrics_of(result.report) == metrics
    assert result._repr_html_() == result.report._repr_html_()


def test_the_command_prints_nothing_but_metrics(world: World) -> None:
    status, output, _ = cli(
        "benchmark", "run", world.config, "--output", world.folder / "benchmarks",
        "--format", "metrics", "--quiet",
    )  # fmt: skip
    metrics = json.loads(output)
    assert status == 0
    assert metrics["queries"] == 12
    assert {type(value) for value in metrics.values()} <= {int, float}
