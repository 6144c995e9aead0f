"""Sweeps: what they stand for, what is refused, and what the record says of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchmark.world import write_world
from rankscope.benchmark.config.loading import read_config
from rankscope.benchmark.config.sweeps import expanded
from rankscope.benchmark.run import plan_benchmark, run_benchmark
from rankscope.benchmark.verify import verify
from rankscope.cli import main
from rankscope.diagnosis.swept_options import SWEEPS, Sweep, Sweeps, SweptSystem
from rankscope.document.blocks import Table
from rankscope.errors import FormatError
from rankscope.retrieval.options import SpecError

SWEEP = """\
name: tuned
collection: {{corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}}
systems:
  words: {{bm25: {{language: none, sweep: {{k1: [0.5, 1.5], b: [0, 0.75]}}}}}}
  code: {{python: "{module}:answer"}}
depth: 10
measures: [nDCG@5, RR@10]
statistics: {{resamples: 200}}
"""

NAMES = ["words k1=0.5,b=0", "words k1=0.5,b=0.75", "words k1=1.5,b=0", "words k1=1.5,b=0.75"]


def test_all_combinations_in_order() -> None:
    systems, swept = expanded(
        {"a": "bm25", "b": {"bm25": {"language": "none", "sweep": {"k1": [1, 2], "b": [0]}}}}
    )
    assert systems == {
        "a": "bm25",
        "b k1=1,b=0": {"bm25": {"language": "none", "k1": 1, "b": 0}},
        "b k1=2,b=0": {"bm25": {"language": "none", "k1": 2, "b": 0}},
    }
    assert swept["b k1=2,b=0"] == {"of": "b", "options": {"k1": 2, "b": 0}}


def test_options_inside_others_and_values_that_are_no_file_names() -> None:
    spec = {"vector": {"sweep": {"embedder.wordllama.dimensions": [64, 128], "fields": [["a/b"]]}}}
    systems, _ = expanded({"v": spec})
    assert list(systems) == ["v dimensions=64,fields=a_b", "v dimensions=128,fields=a_b"]
    inner = systems["v dimensions=64,fields=a_b"]["vector"]
    assert inner == {"embedder": {"wordllama": {"dimensions": 64}}, "fields": ["a/b"]}


@pytest.mark.parametrize(
    ("sweep", "problem"),
    [
        ({}, "expected options with lists of values, got an empty table"),
        ([1], "expected options with lists of values, got a list"),
        ({"k1": 3}, "expected a list of values, got 3"),
        ({"k1": []}, "expected a list of values, got an empty list"),
        ({"k1": [1, 1]}, "a value is listed twice; list each once"),
        ({"k1": [1, 1.0]}, "a value is listed twice; list each once"),
        ({"k1": list(range(300))}, "the sweep stands for 300 systems, and 200 are the most"),
        ({"a": ["x/y", "x_y"]}, "the sweep makes a second system b a=x_y"),
    ],
)
def test_what_is_no_sweep(sweep: Any, problem: str) -> None:
    with pytest.raises(SpecError, match=re.escape(problem)):
        expanded({"b": {"bm25": {"sweep": sweep}}})


def test_a_wrong_value_is_refused_with_the_line_of_the_sweep(tmp_path: Path) -> None:
    small = write_world(tmp_path, config=SWEEP.replace("[0.5, 1.5]", "[0.5, high]"))
    with pytest.raises(FormatError) as error:
        read_config(small.config)
    assert str(error.value) == (
        f"{small.config}:4: systems.words.bm25.k1: expected a number from 0 to 1000, got 'high'"
    )


def test_a_system_over_a_sweep_names_one_of_its_systems(tmp_path: Path) -> None:
    over = SWEEP.replace("  code:", "  both: {{fuse: {{of: [code, words]}}}}\n  code:")
    small = write_world(tmp_path, config=over)
    with pytest.raises(FormatError) as error:
        read_config(small.config)
    assert str(error.value).endswith(
        "systems.both.fuse.of.1: words is a sweep; name a system it stands for, such as words "
        "k1=0.5,b=0"
    )


def test_a_sweep_cannot_be_the_baseline(tmp_path: Path) -> None:
    small = write_world(tmp_path, config=f"{SWEEP}baseline: words\n")
    with pytest.raises(
        FormatError, match="baseline: unknown system 'words'; there are: code, words k1"
    ):
        read_config(small.config)


def test_systems_record_and_section(tmp_path: Path) -> None:
    small = write_world(tmp_path, config=SWEEP)
    result = run_benchmark(small.config, output=tmp_path / "out")
    assert [system.name for system in result.report.systems] == [*NAMES, "code"]
    sweeps = SWEEPS.of(result.report.analyses)
    assert sweeps is not None
    [sweep] = sweeps.sweeps
    assert sweep.name == "words"
    assert [row.options for row in sweep.systems] == [
        {"k1": k1, "b": b} for k1 in (0.5, 1.5) for b in (0, 0.75)
    ]
    means = {system.name: system.measures[0].value for system in result.report.systems}
    assert {row.system: row.quality for row in sweep.systems} == {
        name: means[name] for name in NAMES
    }
    fastest = min(sweep.systems, key=lambda row: (row.p50 or 0.0, -row.quality))
    assert fastest.on_front
    text = (result.folder / "BenchmarkComparison.md").read_text()
    assert "words: k1, b" in text
    assert verify(result.folder).ok


@pytest.mark.parametrize("higher", [True, False])
def test_the_best_value_is_the_lowest_where_less_is_better(higher: bool) -> None:
    rows = [
        SweptSystem(
            system=f"s k={k}",
            options={"k": k},
            quality=k / 10,
            interval=None,
            p50=None,
            p95=None,
            on_front=False,
        )
        for k in (1, 2, 3)
    ]
    sweeps = (Sweep(name="s", systems=tuple(rows)),)
    section = SWEEPS.section(Sweeps(measure="m", higher_is_better=higher, sweeps=sweeps))
    [table] = section.blocks
    assert isinstance(table, Table)
    assert [row[1].best for row in table.rows] == [not higher, False, higher]


def test_a_sweep_changes_nothing_of_configs_without_one(tmp_path: Path) -> None:
    small = write_world(tmp_path)
    plain = read_config(small.config).plain()
    assert "swept" not in plain
    assert "repeat" not in plain


def test_settings_make_a_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = write_world(tmp_path)
    states = plan_benchmark(
        small.config,
        output=tmp_path / "out",
        settings=["systems.words={bm25: {sweep: {k1: [1, 2]}}}", "systems.both=bm25", "baseline="],
    )
    assert [state.stage for state in states][:2] == ["fetch words k1=1", "fetch words k1=2"]
    with pytest.raises(SystemExit) as end:
        main(["benchmark", "run", str(small.config), "--set", "systems.words.bm25.sweep=1"])
    assert end.value.code == 2
    assert "expected options with lists of values" in capsys.readouterr().err
