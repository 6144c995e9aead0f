"""Collections by their ids in ir_datasets, of which a small registry takes the place here."""

from __future__ import annotations

import sys
from collections import namedtuple
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import rankscope as rs
from rankscope.benchmark.collection import load_collection
from rankscope.benchmark.config.loading import read_config
from rankscope.errors import InputError, MissingExtraError

Doc = namedtuple("Doc", "doc_id text title raw")
Topic = namedtuple("Topic", "query_id title description")
Qrel = namedtuple("Qrel", "query_id doc_id relevance iteration")

CONFIG = "name: a\ncollection: {ir_datasets: tiny/test}\nmeasures: [RR]\nsystems: {bm25: bm25}\n"


def dataset(**changes: Any) -> SimpleNamespace:
    asked: list[str] = []

    def rows(kind: str, *items: Any) -> Any:
        def passing() -> Any:
            asked.append(kind)
            return iter(items)

        return passing

    parts = {
        "asked": asked,
        "has_docs": lambda: True,
        "has_queries": lambda: True,
        "has_qrels": lambda: True,
        "docs_iter": rows(
            "docs",
            Doc("d1", "leek soup", "Soup", b"<raw>"),
            Doc("d2", "apple pie", "Pie", b"<raw>"),
            Doc("d3", "plain bread", "Bread", b"<raw>"),
        ),
        "queries_iter": rows("queries", Topic("1", "soup", "a leek"), Topic("2", "apple", "a pie")),
        "qrels_iter": rows("qrels", Qrel("1", "d1", 2, "0"), Qrel("2", "d2", 1, "0")),
    }
    return SimpleNamespace(**{**parts, **changes})


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Put a module in the place of ir_datasets; it downloads nothing."""
    known = {"tiny/test": dataset()}
    module = ModuleType("ir_datasets")
    module.load = known.__getitem__  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ir_datasets", module)
    return known


def config(tmp_path: Path, text: str = CONFIG) -> Path:
    path = tmp_path / "bench.yaml"
    path.write_text(text)
    return path


def test_a_data_set_by_its_id(catalogue: dict[str, Any], tmp_path: Path) -> None:
    loaded = read_config(config(tmp_path))
    planned = load_collection(loaded, tmp_path / "cache", may_read=False)
    assert catalogue["tiny/test"].asked == ["queries", "qrels"]
    assert planned.info.documents is None
    collection = load_collection(loaded, tmp_path / "cache")
    assert catalogue["tiny/test"].asked == ["queries", "qrels", "docs"]
    assert collection.info.name == "tiny/test"
    assert [(q.query_id, q.text, dict(q.metadata)) for q in collection.queries] == [
        ("1", "soup", {"title": "soup", "description": "a leek"}),
        ("2", "apple", {"title": "apple", "description": "a pie"}),
    ]
    assert collection.judgments.by_query == {"1": {"d1": 2}, "2": {"d2": 1}}
    assert collection.corpus is not None
    assert collection.corpus.to_dict()["d1"] == {"title": "Soup", "text": "leek soup"}
    del sys.modules["ir_datasets"]
    again = load_collection(loaded, tmp_path / "cache")  # from the files, without the package
    assert again.info == collection.info


def test_a_benchmark_of_it(catalogue: dict[str, Any], tmp_path: Path) -> None:
    assert catalogue
    result = rs.run_benchmark(config(tmp_path), output=tmp_path / "out")
    assert result.report.systems[0].measures[0].value == 1
    assert result.report.collection.documents == 3


def test_what_cannot_be_had(catalogue: dict[str, Any], tmp_path: Path) -> None:
    def load(dataset_id: str) -> Any:
        loaded = read_config(config(tmp_path, CONFIG.replace("tiny/test", dataset_id)))
        return load_collection(loaded, tmp_path / "cache")

    with pytest.raises(InputError, match="has no data set 'nope'"):
        load("nope")
    catalogue["tiny"] = dataset(has_qrels=lambda: False)
    with pytest.raises(InputError, match="'tiny' has no judgments; name a part of it that has"):
        load("tiny")

    def failing() -> Any:
        raise ConnectionError("no route to host")

    catalogue["far"] = dataset(docs_iter=failing)
    with pytest.raises(InputError, match=r"'far' could not be read \(ConnectionError: 'no route"):
        load("far")
    odd = namedtuple("odd", "query_id doc_id level")
    catalogue["odd"] = dataset(qrels_iter=lambda: iter([odd("1", "d1", 3)]))
    with pytest.raises(InputError, match="its judgments have no relevance, but 'query_id'"):
        load("odd")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rankscope\[ir-datasets\]'"):
        load_collection(read_config(config(tmp_path)), tmp_path / "cache")
    both = CONFIG.replace("tiny/test", "tiny/test, path: here")
    with pytest.raises(InputError, match="cannot be combined with path"):
        read_config(config(tmp_path, both))


def test_the_package_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With files of our own in its registry: nothing is downloaded."""
    package = pytest.importorskip("ir_datasets")
    for name, text in (
        ("docs.tsv", "d1\tleek soup\nd2\tapple pie\n"),
        ("queries.tsv", "1\tsoup\n2\tapple\n"),
        ("qrels.txt", "1 0 d1 2\n2 0 d2 1\n"),
    ):
        (tmp_path / name).write_text(text)
    small = package.create_dataset(
        docs_tsv=str(tmp_path / "docs.tsv"),
        queries_tsv=str(tmp_path / "queries.tsv"),
        qrels_trec=str(tmp_path / "qrels.txt"),
    )
    monkeypatch.setitem(package.registry._registered, "tiny/test", small)
    collection = load_collection(read_config(config(tmp_path)), tmp_path / "cache")
    assert collection.judgments.by_query == {"1": {"d1": 2}, "2": {"d2": 1}}
    assert collection.info.documents == 2
