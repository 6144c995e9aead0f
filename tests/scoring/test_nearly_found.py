"""Gold that a run has only under ids that are nearly the same."""

from __future__ import annotations

import pytest

import rankscope as rs

GOLD = {f"q{n}": {f"doc{n}": 1} for n in range(10)}


def messages(run: dict[str, list[str]]) -> list[str]:
    findings = rs.evaluate(GOLD, run, ["RR"]).findings
    return [finding.message for finding in findings if finding.code == "RS167"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("doc{}#1", "a suffix"),
        ("DOC{}", "upper and lower case"),
        ("doc{} ", "blanks"),
        ("doc0{}", "leading zeros"),
    ],
)
def test_it_is_said_where_much_is_missed(change: str, words: str) -> None:
    run = {f"q{n}": [change.format(n) if n % 3 else f"doc{n}"] for n in range(10)}
    [message] = messages(run)
    assert message.startswith("6 of 10 relevant documents are in the run under another id")
    assert words in message
    assert "'doc1'" in message


def test_ids_that_are_numbered_are_different_documents() -> None:
    gold = {f"q{n}": {f"doc_{n}": 1} for n in range(10)}
    run = {f"q{n}": ["doc_0", f"other_{n}", "doc_77"] for n in range(10)}
    assert [f.code for f in rs.evaluate(gold, run, ["RR"]).findings if f.code == "RS167"] == []


def test_collapsed_sums_are_in_an_order_of_their_own() -> None:
    run = {f"q{n}": [("x#1", 0.9), (f"doc{n}#1", 0.8), (f"doc{n}#2", 0.7)] for n in range(10)}
    scores = rs.evaluate(GOLD, run, ["RR"], doc_id_from="#", collapse="sum")
    assert scores["RR"] == 1
    assert [finding.code for finding in scores.findings if finding.code == "RS114"] == []
    few = {f"case-{n}": {f"doc{n}": 1} for n in range(4)}
    scores = rs.evaluate(few, {f"case-{n}": [f"doc{n}"] for n in range(2)}, ["RR"])
    assert "suffix" not in " ".join(finding.message for finding in scores.findings)
