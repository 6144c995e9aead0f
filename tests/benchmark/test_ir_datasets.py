"""Collections by their ids in ir_datasets, of which a small registry takes the place here."""

from __future__ import annotations

import sys
from collections import namedtuple
from functools import partial
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
Odd = namedtuple("Odd", "query_id doc_id level")

CONFIG = "name: a\ncollection: {ir_datasets: tiny/test}\nmeasures: [RR]\nsystems: {bm25: bm25}\n"
DOCS = [Doc("d1", "leek soup", "Soup", b"<raw>"), Doc("d2", "apple pie", "Pie", b"<raw>")]
TOPICS = [Topic("1", "soup", "a leek"), Topic("2", "apple", "a pie")]
QRELS = [Qrel("1", "d1", 2, "0"), Qrel("2", "d2", 1, "0")]


def dataset(**changes: Any) -> SimpleNamespace:
    """Return a data set that notes what it is asked for."""
    asked: list[str] = []
    parts: dict[str, Any] = {"asked": asked}

    def passing(kind: str, rows: Any) -> Any:
        asked.append(kind)
        return iter(rows)

    for kind, rows in (("docs", DOCS), ("queries", TOPICS), ("qrels", QRELS)):
        parts[f"has_{kind}"] = lambda: True
        parts[f"{kind}_iter"] = partial(passing, kind, rows)
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
    result = rs.run_benchmark(config(tmp_path), output=tmp_path / "out")
    assert result.report.systems[0].measures[0].value == 1
    del sys.modules["ir_datasets"]
    again = load_collection(loaded, tmp_path / "cache")  # from the files, without the package
    assert again.info == collection.info


def failing() -> Any:
    raise ConnectionError("no route to host")


def test_what_cannot_be_had(catalogue: dict[str, Any], tmp_path: Path) -> None:
    catalogue["far"] = dataset(docs_iter=failing)
    catalogue["odd"] = dataset(qrels_iter=lambda: iter([Odd("1", "d1", 3)]))
    for name, problem in (("none", "no data set"), ("far", "no route"), ("odd", "no relevance")):
        loaded = read_config(config(tmp_path, CONFIG.replace("tiny/test", name)))
        with pytest.raises(InputError, match=problem):
            load_collection(loaded, tmp_path / "cache")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtraError, match=r"rankscope\[ir-datasets\]"):
        load_collection(read_config(config(tmp_path)), tmp_path / "cache")
    both = CONFIG.replace("tiny/test", "tiny/test, path: here")
    with pytest.raises(InputError, match="cannot be combined with path"):
        read_config(config(tmp_path, both))
