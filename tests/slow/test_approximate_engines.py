"""A benchmark with an approximate engine: what its record says, and that it can be verified."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.world import write_world
from rankscope.benchmark.run import run_benchmark
from rankscope.benchmark.verify import verify
from rankscope.diagnosis.approximation import approximation

CONFIG = """\
name: near
collection: {{corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}}
systems:
  words: {{bm25: {{language: none}}}}
  code: {{python: "{module}:answer"}}
  lists:
    lancedb: {{create: {{IvfFlat: {{num_partitions: 4}}}}, sweep: {{params.nprobes: [1, 4]}}}}
depth: 10
measures: [nDCG@5, RR@10]
statistics: {{resamples: 200}}
"""


def test_it_holds_though_vectors_are_in_no_folder(tmp_path: Path) -> None:
    pytest.importorskip("lancedb", reason="LanceDB searches the vectors")
    pytest.importorskip("wordllama", reason="wordllama makes them")
    small = write_world(tmp_path, config=CONFIG)
    result = run_benchmark(small.config, output=tmp_path / "out")
    measured = approximation.of(result.report.analyses)
    assert measured is not None
    assert [row.system for row in measured.systems] == [
        "lists nprobes=1",
        "lists nprobes=4",
    ]
    assert "exactness lists nprobes=1" in result.report.seconds
    assert verify(result.folder).ok
