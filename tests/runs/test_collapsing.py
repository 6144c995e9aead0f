"""Chunks collapse to documents: by every rule, in every form of a run, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.errors import InputError
from rankscope.runs.collapsing import Chunking
from rankscope.runs.order import ranked

CHUNKS = {"q1": {"a#1": 0.4, "b#2": 0.5, "a#3": 0.7}, "q2": {"c#1": 1.0, "x": 2.0}}

chunk_ids = st.builds("{}#{}".format, st.sampled_from("abcdé"), st.integers(0, 3))
runs = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(chunk_ids, st.sampled_from([0.0, 0.1, 0.25, 0.7, 1.5, 3.0]), max_size=12),
    min_size=1,
)


def naive(documents: Mapping[str, float]) -> dict[str, float]:
    """Collapse one query's chunks, one after the other in the order of the run."""
    best: dict[str, float] = {}
    for chunk_id, score in ranked(documents.items()):
        best.setdefault(chunk_id.split("#")[0], score)
    return best


@settings(max_examples=40, deadline=None)
@given(runs)
def test_tables_and_dicts_collapse_as_the_naive_twin(run: Any) -> None:
    expected = {query_id: naive(documents) for query_id, documents in run.items()}
    table = rs.Run(run).collapsed("#")
    assert table.to_dict() == expected
    qrels = {query_id: {"a": 1, "b": 2} for query_id in run}
    if not any("a" in docs or "b" in docs for docs in expected.values()):
        return
    options: Any = {"doc_id_from": "#"}
    by_table = rs.evaluate(qrels, rs.Run(run), ["nDCG@3", "RR"], **options)
    by_dicts = rs.evaluate(qrels, run, ["nDCG@3", "RR"], **options)
    by_hand = rs.evaluate(qrels, expected, ["nDCG@3", "RR"])
    assert by_table.means == by_dicts.means == by_hand.means
    assert by_table.accounting == by_dicts.accounting


def test_a_rule_finds_the_document() -> None:
    rules: list[tuple[Any, str, str | None]] = [
        ("#", "https://x.org/page#intro#3", "https://x.org/page#intro"),
        ("#", "page", None),
        ("::", "src/a.py::Class::2", "src/a.py::Class"),
        ("_", "my_doc_12", "my_doc"),
        (r"^(.+)_\d+$", "my_doc_12", "my_doc"),
        (r"^[^#]+", "doc#section#3", "doc"),
        (r"^(.+)_\d+$", "my_doc", None),
        ({"c1": "d1"}, "c1", "d1"),
        ({"c1": "d1"}, "c2", None),
        (lambda chunk_id: chunk_id[:2], "d1c7", "d1"),
        ({"c1": 17}, "c1", "17"),
    ]
    for rule, chunk_id, document in rules:
        unmatched = [] if document else [chunk_id]
        assert Chunking.of(rule).documents([chunk_id]) == ([document or chunk_id], unmatched)


def test_rules_that_cannot_be_used_are_refused() -> None:
    rules: list[tuple[Any, str]] = [
        ("((", "regular expression"),
        ("", "separator"),
        (3, "separator"),
        ("chunks.csv", "dict from chunk to document"),
    ]
    for rule, word in rules:
        with pytest.raises(InputError, match=word):
            rs.Run(CHUNKS).collapsed(rule)


def test_scores_say_what_was_collapsed() -> None:
    scores = rs.evaluate({"q1": ["a"], "q2": ["c"]}, CHUNKS, ["RR@1"], doc_id_from="#")
    collapsed = scores.accounting.collapsed
    assert (collapsed.chunks, collapsed.documents, collapsed.unmatched) == (5, 4, 1)
    assert collapsed.rule == "#"
    assert not scores.findings
    plain = rs.evaluate({"q1": ["a"]}, {"q1": {"a": 1.0}}, ["RR@1"])
    assert plain.accounting.collapsed is None
    assert "collapsed" not in plain.accounting.to_dict()


def test_ids_that_a_pattern_does_not_match_are_said() -> None:
    run = {"q1": ["a-1", "b-1", "whole"]}
    scores = rs.evaluate({"q1": ["a"]}, run, ["RR@3"], doc_id_from=r"^(.+)-\d+$")
    assert [finding.code for finding in scores.findings] == ["RS136"]


def test_compare_and_gate_collapse_too() -> None:
    qrels = {f"q{n}": ["a"] for n in range(6)}
    good = {query_id: ["a#1", "a#2", "b#1"] for query_id in qrels}
    bad = {query_id: ["b#1", "a#1"] for query_id in qrels}
    result = rs.compare(qrels, {"good": good, "bad": bad}, ["RR"], doc_id_from="#")
    assert {mean.run: mean.mean for mean in result.means} == {"good": 1.0, "bad": 0.5}
    assert rs.gate(good, bad, "RR", qrels=qrels, doc_id_from="#").answer == "regression"
    assert "RS172" in {finding.code for finding in rs.gate(good, bad, "RR", qrels=qrels).findings}


def test_the_order_of_lists_counts_if_it_is_to() -> None:
    run = {"q1": {"b#1": 0.1, "a#1": 0.9, "b#2": 0.2}}
    for data in (run, rs.Run(run)):
        options: Any = {"doc_id_from": "#", "order": "given"}
        assert rs.evaluate({"q1": ["a"]}, data, ["RR"], **options)["RR"] == 0.5
