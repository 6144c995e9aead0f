"""Intra-list distance: planted embeddings, and a naive twin over all pairs."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import rankscope as rs
from rankscope.diagnosis.novelty import Novelty
from rankscope.findings import NotApplicable

QRELS = {f"q{n}": {"a": 1} for n in range(12)}


def look(documents: dict[str, Any], run: Any, **config: Any) -> Any:
    corpus = {name: {"text": name, **fields} for name, fields in documents.items()}
    configs = {"novelty": config}
    diagnosis = rs.diagnose(QRELS, run, ["RR"], only="novelty", corpus=corpus, configs=configs)
    return getattr(diagnosis.analyses, "novelty")  # noqa: B009


def test_copies_have_no_distance_and_right_angles_have_one() -> None:
    vectors = {"a": [1, 0], "b": [2, 0], "c": [0, 3], "d": [-1, 0]}
    documents = {name: {"embedding": vector} for name, vector in vectors.items()}
    runs = {
        "copies": {query: ["a", "b"] for query in QRELS},
        "angles": {query: ["a", "c"] for query in QRELS},
        "opposite": {query: ["a", "d"] for query in QRELS},
        "one": {query: ["a"] for query in QRELS},
    }
    result = look(documents, runs)
    assert isinstance(result, Novelty)
    means = {row.system: row.distance.value for row in result.systems}
    assert means == pytest.approx({"copies": 0, "angles": 1, "opposite": 2})
    assert [finding.code for finding in result.findings] == ["RS730"]


def test_as_the_mean_over_all_pairs() -> None:
    drawn = np.random.default_rng(3)
    vectors = {name: drawn.normal(size=5) for name in "abcdefghijklmnopqrst"}
    documents: dict[str, Any] = {name: {"v": each.tolist()} for name, each in vectors.items()}
    documents["without"] = {}
    run = {query: [*drawn.permutation(list(vectors))[:12], "without"] for query in QRELS}
    [row] = look(documents, run, field="v").systems

    def distance(first: str, second: str) -> float:
        a, b = vectors[first], vectors[second]
        return float(1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    by_query = [np.mean([distance(*pair) for pair in combinations(top[:10], 2)])
                for top in run.values()]  # fmt: skip
    assert row.distance.value == pytest.approx(np.mean(by_query))
    assert row.queries == 12


@pytest.mark.parametrize(
    "documents",
    [
        {"a": {}, "b": {}},
        {"a": {"embedding": "no"}, "b": {"embedding": [1.0]}},
        {"a": {"embedding": [0.0, 0.0]}, "b": {"embedding": [1.0, 0.0]}},
        {"a": {"embedding": [1.0, 2.0]}, "b": {"embedding": [1.0]}},
    ],
)
def test_without_embeddings_it_says_why(documents: dict[str, Any]) -> None:
    answer = look(documents, {query: ["a", "b"] for query in QRELS})
    assert isinstance(answer, NotApplicable)
    assert "embedding" in answer.reason
