"""A benchmark's numbers for other tools: flat metrics, and what trackers get."""

from __future__ import annotations

import json

import pytest

from benchmark.world import World, cli, write_world
from rankscope.benchmark.run import run_benchmark
from rankscope.integrations.metrics import metrics_of
from rankscope.integrations.tracking import entry_of


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return write_world(tmp_path_factory.mktemp("tracked"))


def test_what_trackers_get(world: World) -> None:
    result = run_benchmark(world.config, output=world.folder / "benchmarks")
    entry = entry_of(result)
    systems = [system.name for system in result.report.systems]
    assert entry.params["systems"] == ", ".join(systems)
    assert entry.params["collection"] == result.report.collection.name
    (first, *_) = result.report.systems
    for mean in first.measures:
        assert mean.interval is not None
        assert entry.metrics[f"{first.name}/{mean.measure}"] == mean.value
        assert entry.metrics[f"{first.name}/{mean.measure}.low"] == mean.interval.low
    assert any("-vs-" in name for name in entry.metrics)
    titles = [column.title for column in entry.table.columns]
    assert titles == ["run", "query_id", *(info.measure for info in result.report.measures)]
    assert len(entry.table.rows) == len(systems) * result.report.collection.queries
    values = [row[2].value for row in entry.table.rows if row[0].value == first.name]
    assert sum(map(float, values)) / len(values) == pytest.approx(first.measures[0].value)  # type: ignore[arg-type]
    page = (result.folder / "BenchmarkReport.html").read_text("utf-8")
    assert entry.files["report.html"] == page
    assert metrics_of(result.report) == entry.metrics
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
