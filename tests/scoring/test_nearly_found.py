"""Gold that a run has only under ids that are nearly the same."""

from __future__ import annotations

import rankscope as rs

GOLD = {f"q{n}": {f"doc{n}": 1} for n in range(10)}


def test_it_is_said_where_much_is_missed() -> None:
    for change in ("doc{}#1", "DOC{}", "doc{} ", "doc0{}"):
        run = {f"q{n}": [change.format(n) if n % 3 else f"doc{n}"] for n in range(10)}
        [finding] = [f for f in rs.evaluate(GOLD, run, ["RR"]).findings if f.code == "RS167"]
        assert "6 of 10" in finding.message
        assert "'doc1'" in finding.message


def test_ids_that_are_numbered_are_different_documents() -> None:
    gold = {f"q{n}": {f"doc_{n}": 1} for n in range(10)}
    run = {f"q{n}": ["doc_0", f"other_{n}", "doc_77"] for n in range(10)}
    assert [f.code for f in rs.evaluate(gold, run, ["RR"]).findings if f.code == "RS167"] == []


def test_collapsed_sums_are_in_an_order_of_their_own() -> None:
    run = {f"q{n}": [("x#1", 0.9), (f"doc{n}#1", 0.8), (f"doc{n}#2", 0.7)] for n in range(10)}
    scores = rs.evaluate(GOLD, run, ["RR"], doc_id_from="#", collapse="sum")
    assert scores["RR"] == 1
    assert [finding.code for finding in scores.findings if finding.code == "RS114"] == []
