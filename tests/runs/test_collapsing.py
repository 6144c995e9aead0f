"""Chunks collapse to documents: by every rule, in every form of a run, and what is said of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.errors import InputError, UnknownNameError
from rankscope.runs.collapsing import Chunking, Collapse
from rankscope.runs.order import ranked

CHUNKS = {"q1": {"a#1": 0.4, "b#2": 0.5, "a#3": 0.7}, "q2": {"c#1": 1.0, "x": 2.0}}

chunk_ids = st.builds("{}#{}".format, st.sampled_from("abcdé"), st.integers(0, 3))
runs = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(chunk_ids, st.sampled_from([0.0, 0.1, 0.25, 0.7, 1.5, 3.0]), max_size=12),
    min_size=1,
)


def naive(documents: Mapping[str, float], collapse: str) -> dict[str, float]:
    """Collapse one query's chunks, one after the other in the order of the run."""
    in_order = ranked(documents.items())
    chunks: dict[str, list[float]] = {}
    for chunk_id, score in in_order:
        chunks.setdefault(chunk_id.split("#")[0], []).append(score)
    if collapse == "first":
        return {document: -float(rank) for rank, document in enumerate(chunks, start=1)}
    combine = max if collapse == "best" else sum
    return {document: float(combine(scores)) for document, scores in chunks.items()}


@settings(deadline=None)
@given(runs, st.sampled_from(get_args(Collapse)))
def test_tables_and_dicts_collapse_as_the_naive_twin(run: Any, collapse: Collapse) -> None:
    expected = {query_id: naive(documents, collapse) for query_id, documents in run.items()}
    table = rs.Run(run).collapsed("#", collapse)
    assert table.to_dict() == expected
    qrels = {query_id: {"a": 1, "b": 2} for query_id in run}
    if not any("a" in docs or "b" in docs for docs in expected.values()):
        return
    options: Any = {"doc_id_from": "#", "collapse": collapse}
    by_table = rs.evaluate(qrels, rs.Run(run), ["nDCG@3", "RR"], **options)
    by_dicts = rs.evaluate(qrels, run, ["nDCG@3", "RR"], **options)
    by_hand = rs.evaluate(qrels, expected, ["nDCG@3", "RR"])
    assert by_table.means == by_dicts.means == by_hand.means
    assert by_table.accounting == by_dicts.accounting


@settings(deadline=None)
@given(runs)
def test_the_first_chunks_keep_their_order(run: Any) -> None:
    collapsed = rs.Run(run).collapsed("#", "first")
    for query_id, documents in run.items():
        order = [doc_id for doc_id, _ in ranked(collapsed[query_id].items())]
        listed = [chunk_id.split("#")[0] for chunk_id, _ in ranked(documents.items())]
        assert order == list(dict.fromkeys(listed))


@pytest.mark.parametrize(
    ("rule", "chunk_id", "document"),
    [
        ("#", "https://x.org/page#intro#3", "https://x.org/page#intro"),
        ("#", "page", None),
        ("::", "src/a.py::Class::2", "src/a.py::Class"),
        ("_", "my_doc_12", "my_doc"),
        (r"^(.+)_\d+$", "my_doc_12", "my_doc"),
        (r"^[^#]+", "doc#section#3", "doc"),
        (r"^(.+)_\d+$", "my_doc", None),
        (re.compile(r"doc\d+"), "part 2 of doc17", "doc17"),
        ({"c1": "d1"}, "c1", "d1"),
        ({"c1": "d1"}, "c2", None),
        (lambda chunk_id: chunk_id[:2], "d1c7", "d1"),
        ({"c1": 17}, "c1", "17"),
    ],
)
def test_a_rule_finds_the_document(rule: Any, chunk_id: str, document: str | None) -> None:
    names, unmatched = Chunking.of(rule).documents([chunk_id])
    assert names == [document or chunk_id]
    assert unmatched == ([] if document else [chunk_id])


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "jsonl", "parquet", "mapping.json"])
def test_a_table_gives_the_document_of_each_chunk(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"table.{suffix}"
    rows = [{"chunk_id": "1", "doc_id": "a", "text": "…"}, {"chunk_id": "2", "doc_id": "b"}]
    frame = pl.DataFrame(rows)
    if suffix == "csv":
        frame.write_csv(path)
    elif suffix == "tsv":
        path.write_text("1\ta\n2\tb\n")
    elif suffix == "json":
        path.write_text(json.dumps(rows))
    elif suffix == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    elif suffix == "parquet":
        frame.write_parquet(path)
    else:
        path.write_text('{"1": "a", "2": "b"}')
    assert Chunking.of(str(path)).documents(["2", "1", "3"]) == (["b", "a", "3"], ["3"])


def test_a_table_with_two_documents_for_a_chunk_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("chunk_id,doc_id\n1,a\n1,b\n")
    with pytest.raises(InputError, match=r"table.csv:3: chunk '1' is of 'a' and of 'b'"):
        Chunking.of(path)
    path.write_text("chunk_id,note\n1,a\n")
    with pytest.raises(InputError, match="chunk '1' has no document among the fields 'note'"):
        Chunking.of(path)
    with pytest.raises(InputError, match="file not found"):
        Chunking.of(str(tmp_path / "missing.csv"))


@pytest.mark.parametrize(
    ("rule", "collapse", "words"),
    [
        ("((", "best", "is not a regular expression"),
        ("", "best", "expected a separator"),
        (3, "best", "expected a separator"),
        ("#", "worst", "unknown way to collapse chunks 'worst'"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused(rule: Any, collapse: Any, words: str) -> None:
    with pytest.raises((InputError, UnknownNameError), match=words):
        rs.Run(CHUNKS).collapsed(rule, collapse)


def test_scores_below_zero_cannot_be_summed_up() -> None:
    for run in ({"q1": ["a#1", "a#2"]}, {"q1": {"a#1": -0.1, "a#2": 3.0}}):
        with pytest.raises(InputError, match="scores below 0 cannot be summed up"):
            rs.evaluate({"q1": ["a"]}, run, doc_id_from="#", collapse="sum")


def test_a_way_to_collapse_needs_a_rule() -> None:
    with pytest.raises(InputError, match="needs doc_id_from"):
        rs.evaluate({"q1": ["a"]}, {"q1": ["a"]}, collapse="sum")


def test_scores_say_what_was_collapsed() -> None:
    scores = rs.evaluate({"q1": ["a"], "q2": ["c"]}, CHUNKS, ["RR@1"], doc_id_from="#")
    collapsed = scores.accounting.collapsed
    assert (collapsed.chunks, collapsed.documents, collapsed.unmatched) == (5, 4, 1)
    assert (collapsed.rule, collapsed.collapse, collapsed.remaining) == ("#", "best", {2: 1})
    assert "5 chunks collapsed to 4 documents by '#' (best)" in scores._repr_html_().replace(
        "&#x27;", "'"
    )
    assert not scores.findings
    plain = rs.evaluate({"q1": ["a"]}, {"q1": {"a": 1.0}}, ["RR@1"])
    assert plain.accounting.collapsed is None
    assert "collapsed" not in plain.accounting.to_dict()


def test_too_few_documents_for_a_cutoff_are_said() -> None:
    run = {"q1": [f"a#{n}" for n in range(9)] + ["b#1"], "q2": ["a#1", "b#1"]}
    qrels = {"q1": ["a"], "q2": ["b"]}
    [finding] = rs.evaluate(qrels, run, ["RR@2", "RR@3"], doc_id_from="#").findings
    assert (finding.code, finding.count) == ("RS135", 1)
    assert finding.message == (
        "RR@3 looks at more documents than remain in 1 query, whose 10 chunks are of as few as 2 "
        "documents"
    )


def test_ids_that_a_pattern_does_not_match_are_said() -> None:
    run = {"q1": ["a-1", "b-1", "whole"]}
    scores = rs.evaluate({"q1": ["a"]}, run, ["RR@3"], doc_id_from=r"^(.+)-\d+$")
    assert [finding.code for finding in scores.findings] == ["RS136"]
    assert "says nothing about 1 id ('whole'), which counts as a document" in (
        scores.findings[0].message
    )


def test_compare_and_gate_collapse_too() -> None:
    qrels = {f"q{n}": ["a"] for n in range(6)}
    good = {query_id: ["a#1", "a#2", "b#1"] for query_id in qrels}
    bad = {query_id: ["b#1", "a#1"] for query_id in qrels}
    result = rs.compare(qrels, {"good": good, "bad": bad}, ["RR"], doc_id_from="#")
    assert {mean.run: mean.mean for mean in result.means} == {"good": 1.0, "bad": 0.5}
    assert rs.gate(good, bad, "RR", qrels=qrels, doc_id_from="#").answer == "regression"
    with pytest.raises(InputError, match="no document id in common"):
        rs.gate(good, bad, "RR", qrels=qrels)


def test_the_order_of_lists_counts_if_it_is_to() -> None:
    run = {"q1": {"b#1": 0.1, "a#1": 0.9, "b#2": 0.2}}
    for data in (run, rs.Run(run)):
        options: Any = {"doc_id_from": "#", "order": "given"}
        assert rs.evaluate({"q1": ["a"]}, data, ["RR"], **options)["RR"] == 0.5


def test_the_corpus_may_hold_chunks() -> None:
    corpus = ["a#1", "a#2", "b#1"]
    scores = rs.evaluate({"q1": ["a"]}, {"q1": ["a#1"]}, ["RR@1"], doc_id_from="#", corpus=corpus)
    assert not scores.findings


def test_collapsed_sums_are_in_an_order_of_their_own() -> None:
    gold = {f"q{n}": {f"doc{n}": 1} for n in range(10)}
    run = {f"q{n}": [("x#1", 0.9), (f"doc{n}#1", 0.8), (f"doc{n}#2", 0.7)] for n in range(10)}
    scores = rs.evaluate(gold, run, ["RR"], doc_id_from="#", collapse="sum")
    assert scores["RR"] == 1
    assert "RS114" not in [finding.code for finding in scores.findings]
