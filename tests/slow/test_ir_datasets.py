"""The package ir_datasets itself, with files of our own in its registry: nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.benchmark.collection import load_collection
from rankscope.benchmark.config.loading import read_config

FILES = {
    "docs.tsv": "d1\tleek soup\nd2\tapple pie\n",
    "queries.tsv": "1\tsoup\n2\tapple\n",
    "qrels.txt": "1 0 d1 2\n2 0 d2 1\n",
}


def test_the_package_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = pytest.importorskip("ir_datasets")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    small = package.create_dataset(
        docs_tsv=str(tmp_path / "docs.tsv"),
        queries_tsv=str(tmp_path / "queries.tsv"),
        qrels_trec=str(tmp_path / "qrels.txt"),
    )
    monkeypatch.setitem(package.registry._registered, "tiny/test", small)
    config = tmp_path / "bench.yaml"
    config.write_text("name: a\ncollection: {ir_datasets: tiny/test}\nsystems: {bm25: bm25}\n")
    collection = load_collection(read_config(config), tmp_path / "cache").counted()
    assert collection.judgments.by_query == {"1": {"d1": 2}, "2": {"d2": 1}}
    assert collection.info.documents == 2
