"""How good the systems are on real collections, where these are at hand."""

from __future__ import annotations

from typing import Any

import pytest

import rankscope as rs
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import queries_of
from rankscope.retrieval.registry import build_system
from real import COLLECTIONS

FIELDS = ["title", "text", "ingredients", "steps"]
LEXICAL = {"bm25": {"fields": FIELDS}}
VECTOR = {"vector": {"fields": FIELDS}}
HYBRID = {"fuse": {"of": [LEXICAL, VECTOR], "method": "minmax", "weights": [0.5, 0.5]}}


def scores(name: str, spec: Any) -> Any:
    folder = COLLECTIONS / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here")
    qrels = rs.read_qrels(folder / "qrels" / "test.tsv")
    judged = set(qrels.query_ids)
    queries = [
        query
        for query in queries_of(rs.read_queries(folder / "queries.jsonl"))
        if query.query_id in judged
    ]
    system = build_system(spec)
    system.index(rs.read_corpus(folder / "corpus.jsonl.gz"))
    fetched = fetch(system, queries)
    assert not fetched.failures
    return rs.evaluate(qrels, fetched.run, ["nDCG@10", "Success@5", "RR@10", "R@100"])


def test_bm25_on_scifact() -> None:
    means = scores("scifact", {"bm25": {"k1": 0.9, "b": 0.4}})
    assert means["nDCG@10"] >= 0.67  # bm25s by hand: 0.676
    assert means["R@100"] >= 0.91


def test_character_ngrams_on_cranfield() -> None:
    assert scores("cranfield", {"bm25": {"ngrams": [3, 5]}})["nDCG@10"] >= 0.34


def test_bm25_on_recipes() -> None:
    full = scores("recipes", LEXICAL)["Success@5"]
    assert full >= 0.83
    assert scores("recipes", {"bm25": {"fields": ["title"]}})["Success@5"] < full


def test_hybrid_on_recipes() -> None:
    means = scores("recipes", HYBRID)
    assert means["Success@5"] >= 0.88
    assert means["RR@10"] >= 0.74
