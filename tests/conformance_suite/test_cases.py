"""The cases themselves: well-formed, and with answers that are worked out here again."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from rankscope.conformance.cases import CASES, Case, read_cases
from rankscope.errors import FormatError, UnknownNameError

EVERY = read_cases()


def discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def value(case_id: str, name: str) -> Any:
    (case,) = read_cases(only=[case_id])
    return {answer.name: answer.value for answer in case.answers}[name]


def test_each_case_has_a_definition_and_says_why_it_matters() -> None:
    for case in EVERY:
        assert any(answer.kind == "definition" for answer in case.answers), case.id
        assert case.why.endswith("."), case.id
        assert all("#" in thread for thread in case.seen), case.id
        for answer in case.answers:
            assert answer.text.endswith("."), case.id
            assert (answer.kind == "fault") == (answer.name in "WXYZ"), case.id


def test_the_faults_known_in_the_field_are_there() -> None:
    assert {case.id for case in EVERY} >= {
        "ideal-from-retrieved",  # ideal taken from the retrieved list
        "duplicate-ap",  # a document returned twice counts twice
        "duplicate-ndcg",
        "duplicate-recall",
        "ideal-unsorted",  # nDCG above 1
        "ties-rr",  # constant scores
        "ties-ndcg",
        "ties-recall",  # ties in the system's favour
        "one-order",  # MRR 1 and nDCG 0 in one call
        "ap-by-found",
        "same-id",
        "asked-twice",
        "missing-query",
        "empty-answer",
        "unjudged-query",
        "unjudged-at-1",  # Hole@1
        "reranker-credit",
        "negative-scores",
        "negative-grade",
        "near-scores",
        "discount",
        "graded",
        "exactly-one",
        "empty-only",
        "recall-or-hit",
        "other-cutoffs",
        "copies-recall",
    }


def test_values_follow_from_their_formulas() -> None:
    five = sum(discount(rank) for rank in range(1, 6))
    ten = sum(discount(rank) for rank in range(1, 11))
    assert value("ideal-from-retrieved", "A") == pytest.approx(1 / five)
    assert value("ideal-unsorted", "X") == pytest.approx((3 + ten - 1) / ten)
    assert value("duplicate-ndcg", "X") == pytest.approx(1 + discount(2))
    assert [value("ties-rr", name) for name in "ABCEGX"] == pytest.approx(
        [1 / 4, 1 / 2, 1 / 3, 1 / 6, 1 / 5, 1]
    )
    assert value("ties-rr", "D") == pytest.approx(sum(1 / rank for rank in range(1, 7)) / 6)
    assert value("ties-ndcg", "D") == pytest.approx(sum(map(discount, range(1, 7))) / 6)
    assert value("ap-cut", "A") == pytest.approx(2 / 3)
    assert value("reranker-credit", "A") == pytest.approx(discount(2) / (1 + discount(2)))
    assert value("reranker-credit", "X") == pytest.approx((1 + discount(3)) / (1 + discount(2)))
    assert value("negative-grade", "X") == pytest.approx(discount(2) - 1)
    assert value("discount", "X") == pytest.approx(discount(4) / discount(2))
    assert value("graded", "A") == pytest.approx(
        (1 + 2 * discount(2) + 3 * discount(3)) / (3 + 2 * discount(2) + discount(3))
    )
    assert value("graded", "B") == pytest.approx(
        (1 + 3 * discount(2) + 7 * discount(3)) / (7 + 3 * discount(2) + discount(3))
    )
    assert value("exactly-one", "X") == 2 / (2 + 1e-10)
    assert value("other-cutoffs", "A") == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_ties_are_where_the_answers_say() -> None:
    (case,) = read_cases(only=["ties-rr"])
    returned = [doc_id for doc_id, _ in case.run["q1"]]
    (relevant,) = case.qrels["q1"]
    assert returned.index(relevant) + 1 == 2
    assert sorted(returned).index(relevant) + 1 == 3
    assert sorted(returned, reverse=True).index(relevant) + 1 == 4


SMALL: dict[str, Any] = {
    "id": "small",
    "title": "A case",
    "question": "AP",
    "qrels": {"q": {"a": 1}},
    "run": {"q": [["a", 1.0]]},
    "answers": [{"name": "A", "value": 1.0, "kind": "definition", "text": "It is 1."}],
    "why": "It matters.",
    "seen": [],
}


def test_a_case_reads_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(SMALL) + "\n\n")
    (case,) = read_cases(path)
    assert case == Case.model_validate(SMALL)
    assert (case.asked, case.measures, case.tolerance) == ("AP", ("AP",), 1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": "APP"}, "cases.jsonl:1: question: .*unknown measure"),
        ({"question": "ndcg_cut_5"}, "write the measure as nDCG@5"),
        ({"wy": "?"}, "cases.jsonl:1: wy: Extra inputs are not permitted"),
        ({"answers": []}, "answers"),
        ({"answers": SMALL["answers"] * 2}, "answers A and A have the same value"),
        ({"qrels": {"q": {"a": "good"}}}, "qrels.q.a"),
    ],
)
def test_a_broken_case_is_named_with_its_line(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(SMALL | change) + "\n")
    with pytest.raises(FormatError, match=message):
        read_cases(path)


def test_other_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text((json.dumps(SMALL) + "\n") * 2)
    with pytest.raises(FormatError, match=r"cases\.jsonl:2: the id 'small' is used twice"):
        read_cases(path)
    path.write_text("{\n")
    with pytest.raises(FormatError, match=r"cases\.jsonl:1: Invalid JSON"):
        read_cases(path)
    with pytest.raises(UnknownNameError, match="unknown conformance case 'grade'; nearest: graded"):
        read_cases(only=["grade"])


def test_the_file_is_one_line_for_each_case() -> None:
    lines = CASES.read_text("utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == [case.id for case in EVERY]
