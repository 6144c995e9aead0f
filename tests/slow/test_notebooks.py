"""Every result has a form for notebooks, that of its report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from rankscope.benchmark.project import copy_demo


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    copy_demo(folder)
    return folder


def results(folder: Path) -> dict[str, Callable[[], Any]]:
    qrels, lexical, hybrid = (folder / name for name in ("qrels.tsv", "lexical.run", "hybrid.run"))
    runs = {"lexical": lexical, "hybrid": hybrid}
    return {
        "0.6841": lambda: rs.evaluate(qrels, lexical, ["nDCG@10"]),
        "hybrid is better than lexical": lambda: rs.compare(qrels, runs, ["nDCG@10"]),
        "no regression": lambda: rs.gate(lexical, hybrid, "nDCG@10", qrels=qrels),
        "simulation": lambda: rs.power(qrels, lexical, hybrid, "nDCG@10"),
        "unjudged": lambda: rs.bounds(qrels, lexical, ["nDCG@10"]),
        "RS121": lambda: rs.validate_run(lexical, qrels=qrels),
        "discount": lambda: rs.explain(qrels, lexical, "q001", "nDCG@10"),
        "sentence-transformers": lambda: rs.why(qrels, lexical, "AP@100", numbers=[0.65, "0.59"]),
        "Not applicable": lambda: rs.diagnose(qrels, runs, ["nDCG@10"]),
        "Nothing relevant": lambda: rs.evaluate_retriever(
            lambda _: ["r001"], qrels, queries=folder / "queries.jsonl"
        ),
        "Verdict": lambda: rs.run_benchmark(folder / "bench.yaml", output=folder / "out"),
    }


@pytest.mark.parametrize("words", results(Path()))
def test_it_has_a_notebook_form(folder: Path, words: str) -> None:
    result = results(folder)[words]()
    page = result._repr_html_()
    assert words in page
    assert "nan" not in page.casefold().replace("banana", "").replace("finance", "").replace(
        "pregnan", ""
    )
    assert "<script" not in page
    assert "<table" in page or "<li" in page
