"""The measures that the benchmark of clinical phrases describes, on answers as Chroma gives them.

Its definitions, written again from its text: HR@k and Recall@k of section 3.2, NDCG@k (binary,
linear gain), AP@k divided by min(R, k), MRR without a cutoff, MaxOntSim@k of section 1.4. Where its
code and its appendix disagree (Precision@k divides by what was retrieved, or by k), the appendix
counts here, as everywhere.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs

KS = (1, 3, 5, 10)


def answer(ids: list[str]) -> dict[str, Any]:
    """What a collection of Chroma returns for one query."""
    return {
        "metadatas": [[{"hpo_id": term_id, "label": f"label of {term_id}"} for term_id in ids]],
        "distances": [[0.1 * place for place in range(len(ids))]],
    }


def twins(ids: list[str], expected: set[str]) -> dict[str, float]:
    ranks = [rank for rank, term_id in enumerate(ids, start=1) if term_id in expected]
    values = {"RR": 1 / ranks[0] if ranks else 0.0}
    for k in KS:
        inside = [rank for rank in ranks if rank <= k]
        ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(expected), k) + 1))
        values |= {
            f"Success@{k}": float(bool(inside)),
            f"R@{k}": len(inside) / len(expected),
            f"P@{k}": len(inside) / k,
            f"nDCG@{k}": sum(1 / math.log2(rank + 1) for rank in inside) / ideal,
            f"AP(norm=min)@{k}": sum(seen / rank for seen, rank in enumerate(inside, start=1))
            / min(len(expected), k),
        }
    return values


def test_all_its_measures(tmp_path: Path) -> None:
    dice = random.Random(7)
    terms = [f"HP:{number:07d}" for number in range(1, 40)]
    cases, answers, values = [], {}, []
    for number in range(30):
        expected = dice.sample(terms, dice.randint(1, 4))
        ids = dice.sample(terms, dice.randint(1, 20))
        case_id = f"de_{number}"
        cases.append({"case_id": case_id, "text": f"Fall {number}", "expected_hpo_ids": expected})
        answers[case_id] = answer(ids)
        values.append(twins(ids, set(expected)))
    cases_path, run_path = tmp_path / "cases.json", tmp_path / "answers.json"
    cases_path.write_text(json.dumps(cases))
    run_path.write_text(json.dumps(answers))
    scores = rs.evaluate(cases_path, run_path, [*values[0]])
    for measure in values[0]:
        mean = sum(each[measure] for each in values) / len(values)
        assert scores[measure] == pytest.approx(mean), measure
    by_hand = rs.evaluate(cases_path, answers, ["RR"])  # the same objects without a file
    assert by_hand["RR"] == pytest.approx(scores["RR"])


def test_hit_rate_is_not_recall() -> None:
    expected = ["HP:0000001", "HP:0000002", "HP:0000003"]
    for hits, recall in ((1, 1 / 3), (2, 2 / 3), (3, 1.0)):
        ids = [*expected[:hits], "HP:0000004"]
        scores = rs.evaluate({"c": expected}, {"c": answer(ids)}, ["HR@3", "Recall@3"])
        assert (scores["HR@3"], scores["Recall@3"]) == (1.0, pytest.approx(recall))


def test_results_of_all_cases_in_their_order(tmp_path: Path) -> None:
    cases = [
        {"text": "Krampfanfälle", "expected_hpo_ids": ["HP:0001250"]},
        {"text": "Ataxie", "expected_hpo_ids": ["HP:0001251"]},
    ]
    path = tmp_path / "german" / "tiny_v1.json"
    path.parent.mkdir()
    path.write_text(json.dumps(cases))
    results = [answer(["HP:0001250"]), answer(["HP:0000001", "HP:0001251"])]
    assert rs.evaluate(path, results, ["MRR"])["MRR"] == pytest.approx((1 + 0.5) / 2)
    batch = {"metadatas": [each["metadatas"][0] for each in results]}
    assert rs.evaluate(path, batch, ["MRR"])["MRR"] == pytest.approx((1 + 0.5) / 2)
