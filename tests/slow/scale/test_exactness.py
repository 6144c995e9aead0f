"""A run in parts has the scores of the run in memory, whatever the file looks like."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankscope as rs
from rankscope.scale import partials, run_cuts
from rankscope.scale.run_parts import RunParts
from scale.runs_on_disk import ordered, qrels, rows, text

MEASURES = ["nDCG@3", "RR@10", "R@5", "AP", "P@1", "nDCG@1000", "R@9"]
ORDERS = ["best first", "rising", "interleaved", "shuffled"]


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_cuts, "PART_BYTES", 300)
    monkeypatch.setattr(run_cuts, "PART_ROWS", 7)
    monkeypatch.setattr(run_cuts, "_LOOK", 200)
    monkeypatch.setattr(partials, "BUCKET_ROWS", 5)


def told(qrels: Any, run: Any, **options: Any) -> tuple[Any, ...]:
    """Return all that scores say."""
    scores = rs.evaluate(qrels, run, MEASURES, **options)
    (name,) = scores.runs
    result = scores.run(name)
    values = {measure: scores.values(measure) for measure in scores.measures}
    return name, values, scores.means, result.counts, result.remarks


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(2))
def test_trec(tmp_path: Path, seed: int, order: str) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(text(ordered(rows(seed), order, seed)))
    run = RunParts(path)
    assert len(list(run.parts())) > 3
    for options in ({}, {"ties": "id-asc"}, {"ties": "given"}, {"precision": "single"}):
        assert told(qrels(seed), run, **options) == told(qrels(seed), path, **options)
    assert run._loaded is None


@pytest.mark.parametrize("order", ORDERS)
def test_parquet(tmp_path: Path, order: str) -> None:
    path = tmp_path / "a.parquet"
    made = ordered(rows(7), order, 7)
    frame = pl.DataFrame(made, schema=["query_id", "doc_id", "score"], orient="row")
    frame.write_parquet(path, row_group_size=5)
    run = RunParts(path)
    assert len(list(run.parts())) > 3
    assert told(qrels(7), run) == told(qrels(7), path)
    assert run._loaded is None


@pytest.mark.parametrize("order", ORDERS)
def test_compressed(tmp_path: Path, order: str) -> None:
    path = tmp_path / "a.run.gz"
    path.write_bytes(gzip.compress(text(ordered(rows(8), order, 8))))
    run = RunParts(path)
    assert len(list(run.parts())) > 3
    assert told(qrels(8), run) == told(qrels(8), path)
    assert run._loaded is None


@pytest.mark.parametrize("order", ORDERS)
def test_several_files(tmp_path: Path, order: str) -> None:
    made = ordered(rows(9), order, 9)
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(4):
        chunk = made[number * 15 : (number + 1) * 15 if number < 3 else None]
        (folder / f"{number}.run").write_bytes(text(chunk))
    path = tmp_path / "a.run"
    path.write_bytes(text(made))
    expected = told(qrels(9), path)
    if order != "shuffled":  # whose ranks are by place in each file, and so others
        assert told(qrels(9), RunParts(folder)) == expected
        assert told(qrels(9), str(folder / "*.run")) == expected
    means = rs.evaluate(qrels(9), str(folder), MEASURES).means
    assert means == expected[2]
