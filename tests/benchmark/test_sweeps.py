"""Sweeps: what they stand for, what is refused, and what the record says of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchmark.world import World, write_world
from rankscope.benchmark.config.loading import read_config
from rankscope.benchmark.config.system_specs import expanded
from rankscope.benchmark.run import run_benchmark
from rankscope.benchmark.verify import verify
from rankscope.diagnosis.swept_options import sweeps
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
    ("sweep", "word"),
    [
        ({}, "empty table"),
        ([1], "got a list"),
        ({"k1": 3}, "got 3"),
        ({"k1": []}, "empty list"),
        ({"k1": [1, 1.0]}, "a second system b k1=1"),
        ({"k1": list(range(300))}, "200"),
        ({"a": ["x/y", "x_y"]}, "a second system b a=x_y"),
    ],
)
def test_what_is_no_sweep(sweep: Any, word: str) -> None:
    with pytest.raises(SpecError, match=re.escape(word)):
        expanded({"b": {"bm25": {"sweep": sweep}}})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0.5, 1.5]", "[0.5, high]", r":4: systems\.words\.bm25\.k1: .*'high'"),
        (
            "  code:",
            "  both: {{fuse: {{of: [code, words]}}}}\n  code:",
            r"systems\.both\.fuse\.of\.1: words is a sweep; .* words k1=0.5,b=0",
        ),
        ("depth: 10", "baseline: words", "baseline: unknown system 'words'"),
    ],
)
def test_what_a_config_cannot_say(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_config(write_world(tmp_path, config=SWEEP.replace(old, new)).config)


def test_systems_and_record(tmp_path: Path) -> None:
    result = run_benchmark(write_world(tmp_path, config=SWEEP).config, output=tmp_path / "out")
    assert [system.name for system in result.report.systems] == [*NAMES, "code"]
    answer = sweeps.of(result.report.analyses)
    assert answer is not None
    assert {row.sweep for row in answer.systems} == {"words"}
    assert [row.options for row in answer.systems] == [
        {"k1": k1, "b": b} for k1 in (0.5, 1.5) for b in (0, 0.75)
    ]
    means = {system.name: system.measures[0].value for system in result.report.systems}
    assert {row.system: row.quality.value for row in answer.systems} == {
        name: means[name] for name in NAMES
    }
    assert verify(result.folder).ok


def test_settings_make_a_sweep(small: World) -> None:
    settings = ["systems.words={bm25: {sweep: {k1: [1, 2]}}}", "systems.both=bm25", "baseline="]
    systems = read_config(small.config, settings=settings).config.systems
    assert list(systems)[:2] == ["words k1=1", "words k1=2"]
    with pytest.raises(FormatError, match="got 1"):
        read_config(small.config, settings=["systems.words.bm25.sweep=1"])
