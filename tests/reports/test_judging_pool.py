"""Pools: every form gives the same pairs, and raters see them in an order of their own."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from rankscope import Run, read_queries
from rankscope.diagnosis.judge_next import POOLS, ToJudge, write_pool
from rankscope.errors import InputError
from rankscope.reports.judging.judging_pool import (
    JudgingPool,
    QueryText,
    document_texts,
    ordered,
    pool_of_runs,
    query_texts,
    read_pool,
)
from rankscope.reports.judging.judgment_log import Pair

PAIRS = [
    ToJudge(query_id=query, doc_id=doc, text=f"what is {query}", title=f"on {doc}",
            ranks={"bm25": rank, "dense": rank + 3}, change=0.5, probability=0.2)
    for query, doc, rank in (("q2", "d1", 4), ("q1", "d1", 2), ("q2", "d2", 1), ("q1", "d 3", 9))
]  # fmt: skip


@pytest.mark.parametrize("suffix", [*POOLS, ".jsonl.gz", ".tsv.zst", ".qrels.xz"])
def test_what_a_diagnosis_writes_is_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"pool{suffix}"
    write_pool(PAIRS, path)
    pool = read_pool(path)
    assert set(pool.pairs) == {Pair(each.query_id, each.doc_id) for each in PAIRS}
    if suffix.startswith((".qrels", ".txt")):
        return
    assert list(pool.pairs) == [Pair(each.query_id, each.doc_id) for each in PAIRS]
    assert pool.queries["q1"] == QueryText("what is q1")
    assert pool.documents["d2"].title == "on d2"


def test_a_list_to_judge_needs_ids_only(tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    rows = [{"query_id": "q", "doc_id": "a"}, {"query_id": "q", "doc_id": 7, "snippet": "so it is"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, rows[0]]))
    pool = read_pool(path)
    assert pool.pairs == (Pair("q", "a"), Pair("q", "7"))
    assert pool.documents["7"].text == "so it is"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"query_id": "q"}', "doc_id"),
        ('{"query_id": "q", "doc_id": ""}', "doc_id"),
        ('{"query_id": "q", "doc_id": 1.5}', "doc_id"),
        ('{"query_id": "\\ud800", "doc_id": "d"}', "query_id"),
        ("", "empty"),
    ],
)
def test_what_is_no_pool_is_refused(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=rf"pool\.jsonl.*{problem}"):
        read_pool(path)


def test_runs_are_pooled_to_a_depth_with_the_rule_for_ties() -> None:
    first = Run({"q1": {"a": 3.0, "b": 2.0, "c": 2.0}, "q2": {"z": 1.0}})
    second = Run({"q1": {"d": 9.0, "a": 1.0}, "q3": {"y": 1.0}})
    pool = pool_of_runs([first, second], 2, "runs")
    assert pool.pairs == (  # of b and c, which tie, the higher id is first
        Pair("q1", "a"), Pair("q1", "d"), Pair("q1", "c"), Pair("q2", "z"), Pair("q3", "y"),
    )  # fmt: skip


def test_needs_and_fields_come_from_queries_and_corpus(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "fish", "metadata": {"narrative": "hot ones", "lang": "en"}}\n'
    )
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "T", "text": "body", "steps": ["one", "two"]}\n'
        '{"_id": "other", "text": "not in the pool"}\n'
    )
    pool = JudgingPool("p", (Pair("q1", "d1"),))
    pool = pool.with_texts(query_texts(read_queries(tmp_path / "queries.jsonl")))
    pool = pool.with_texts(documents=document_texts(tmp_path / "corpus.jsonl", {"d1"}))
    assert pool.queries["q1"] == QueryText("fish", (("narrative", "hot ones"),))
    assert pool.documents.keys() == {"d1"}
    document = pool.documents["d1"]
    assert (document.title, document.text, document.fields) == (
        "T",
        "body",
        (("steps", "one\ntwo"),),
    )


PAIRED = [Pair(f"q{q}", f"d{d}") for d in range(8) for q in range(5)]


def test_a_random_order_is_stable_differs_by_rater_and_keeps_queries_together() -> None:
    ann, bob = ordered(PAIRED, "ann", "random"), ordered(PAIRED, "bob", "random")
    assert ann == ordered(PAIRED, "ann", "random")
    assert ann != bob
    assert set(ann) == set(bob) == set(PAIRED)
    queries = [pair.query_id for pair in ann]
    assert len([1 for a, b in pairwise(queries) if a != b]) == 4
    larger = ordered([*PAIRED, Pair("q9", "d1")], "ann", "random")
    assert [pair for pair in larger if pair.query_id != "q9"] == ann
