"""The ranking stack of ``examples``, up to its cross-encoder, with a small model made here."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import rankscope as rs
from rankscope.diagnosis.stages import Stages

pytest.importorskip("bm25s")
pytest.importorskip("wordllama")

EXAMPLE = Path(__file__).parents[3] / "examples" / "ranking-stack"
MAIN = "nDCG(gain=exp)@10"


def test_the_stack_runs_with_a_cross_encoder(small: Callable[..., Path], tmp_path: Path) -> None:
    """The model has learnt nothing: it can only do harm, and keeps the rules of a reranker."""
    config = yaml.safe_load((EXAMPLE / "bench.yaml").read_text("utf-8"))
    del config["systems"]["llm"]  # asked for in tests/test_example_folders.py
    config["systems"]["cross-encoder"]["rerank"]["cross_encoder"]["model"] = str(
        small("CrossEncoder")
    )
    config["systems"]["cross-encoder"]["rerank"]["depth"] = 5
    shutil.copy(EXAMPLE / "labels.tsv", tmp_path)
    (tmp_path / "bench.yaml").write_text(yaml.safe_dump(config, sort_keys=False), "utf-8")
    result = rs.run_benchmark(tmp_path / "bench.yaml", output=tmp_path / "out")
    stages = result.report.analyses.stages  # type: ignore[attr-defined]
    assert isinstance(stages, Stages)
    rows = {row.system: row for row in stages.stages}
    assert list(rows) == ["bm25", "dense", "hybrid", "cross-encoder"]
    reranked = rows["cross-encoder"]
    assert (reranked.kind, reranked.depth) == ("rerank", 5)
    assert reranked.measures["R@100"] == pytest.approx(rows["hybrid"].measures["R@100"])
    assert reranked.measures[MAIN] != pytest.approx(rows["hybrid"].measures[MAIN])
    assert reranked.measures[MAIN] <= (reranked.ceiling or 0.0)
    codes = {finding.code for finding in stages.findings}
    assert "RS711" in codes  # it makes the order worse, and that is said
    assert "RS701" not in codes  # and it neither adds nor drops documents
