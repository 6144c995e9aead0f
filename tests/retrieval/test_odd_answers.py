"""Answers of functions that would be misread: distances, repeats, sets, chunks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import rankscope as rs
from rankscope.errors import InputError
from rankscope.retrieval.results import Remarks, pairs_of

GOLDEN = {f"question {n}": [f"d{n}"] for n in range(6)}


def number(question: str) -> int:
    return int(question.split()[1])


def test_distances_are_warned_of() -> None:
    def search(question: str) -> list[tuple[str, float]]:
        return [(f"d{(number(question) + place) % 6}", 0.1 * place) for place in range(3)]

    with pytest.warns(UserWarning, match="6 of 6 answers"):
        result = rs.evaluate_retriever(search, GOLDEN, k=3)
    assert result.means["RR@3"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "scores", [[0.9, 0.5, 0.1], [0.1, 0.9, 0.5], [0.5, 0.5, 0.5], [0.1, 0.2]], ids=str
)
def test_other_scores_are_not(scores: list[float]) -> None:
    remarks = Remarks()
    for _ in range(3):
        pairs_of([(f"d{place}", score) for place, score in enumerate(scores)], None, remarks)
    assert remarks.sentences() == ()


def test_documents_with_distances_keep_their_order() -> None:
    def search(question: str) -> list[tuple[Any, float]]:
        ids = [f"d{(number(question) + place) % 6}" for place in range(3)]
        documents = [SimpleNamespace(page_content="x", metadata={"doc_id": name}) for name in ids]
        return [(document, 0.1 * place) for place, document in enumerate(documents)]

    assert rs.evaluate_retriever(search, GOLDEN, k=3).means["RR@3"] == 1


def test_a_document_twice_counts_once_and_is_noted() -> None:
    def search(question: str) -> list[str]:
        return ["x", f"d{number(question)}", f"d{number(question)}"]

    with pytest.warns(UserWarning, match="6 answers with a document twice"):
        result = rs.evaluate_retriever(search, GOLDEN, k=2)
    assert result.means["RR@2"] == 0.5
    assert result.errors == {}
    with pytest.raises(InputError, match="twice"):
        pairs_of(["a", "a"])


def test_a_set_is_refused() -> None:
    with pytest.raises(InputError, match="a set, which has no order"):
        rs.evaluate_retriever(lambda _: {"d1", "d2"}, GOLDEN)


def test_chunks_against_documents() -> None:
    def search(question: str) -> list[str]:
        return ["x#1", "x#2", f"d{number(question)}#7"]

    result = rs.evaluate_retriever(search, GOLDEN, k=3, doc_id_from="#")
    assert result.means["RR@3"] == 0.5
    assert result.failing == ()
    assert result.accounting.collapsed is not None
