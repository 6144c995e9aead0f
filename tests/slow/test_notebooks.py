"""Every result has a form for notebooks, that of its report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.benchmark.project import copy_demo


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    copy_demo(folder)
    return folder


def test_every_result_has_a_notebook_form(folder: Path) -> None:
    qrels, lexical, hybrid = (folder / name for name in ("qrels.tsv", "lexical.run", "hybrid.run"))
    runs = {"lexical": lexical, "hybrid": hybrid}
    for result in (
        rs.evaluate(qrels, lexical, ["nDCG@10"]),
        rs.compare(qrels, runs, ["nDCG@10"]),
        rs.gate(lexical, hybrid, "nDCG@10", qrels=qrels),
        rs.power(qrels, lexical, hybrid, "nDCG@10"),
        rs.bounds(qrels, lexical, ["nDCG@10"]),
        rs.validate_run(lexical, qrels=qrels),
        rs.explain(qrels, lexical, "q001", "nDCG@10"),
        rs.why(qrels, lexical, "AP@100", numbers=[0.65, "0.59"]),
        rs.diagnose(qrels, runs, ["nDCG@10"]),
        rs.evaluate_retriever(lambda _: ["r001"], qrels, queries=folder / "queries.jsonl"),
        rs.run_benchmark(folder / "bench.yaml", output=folder / "out"),
    ):
        page = result._repr_html_()
        assert re.search(r"\bnan\b", page) is None, type(result)
        assert "<script" not in page, type(result)
        assert "<table" in page or "<li" in page, type(result)
