"""Relations of DuckDB are tables as any other."""

from __future__ import annotations

import pyarrow as pa
import pytest

import rankscope as rs

duckdb = pytest.importorskip("duckdb")


def test_relations_are_tables() -> None:
    rows = {"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [2.5, 1.5]}
    run = rs.Run(duckdb.from_arrow(pa.table(rows)))
    assert run.to_dict() == {"q1": {"d1": 2.5, "d2": 1.5}}
    texts = {"id": [7, 2**53 + 1], "text": ["a", "b"], "lang": ["de", None]}
    queries = rs.Queries(duckdb.from_arrow(pa.table(texts)))
    assert queries.to_dict() == {
        "7": {"text": "a", "lang": "de"},
        "9007199254740993": {"text": "b"},
    }
    corpus = rs.Corpus(duckdb.from_arrow(pa.table({"id": [1], "title": ["A"], "tags": [["x"]]})))
    assert corpus["1"].fields == {"title": "A", "tags": ["x"]}
