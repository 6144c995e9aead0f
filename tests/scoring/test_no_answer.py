"""Questions that are meant to have no answer leave every mean, and are counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankscope as rs
from rankscope.errors import InputError, UnknownNameError
from rankscope.runs.validation import validate_run
from rankscope.scoring.inputs import as_judgments

GOLDEN: list[dict[str, Any]] = [
    {"question": "a?", "expected_ids": ["d1"]},
    {"question": "b?", "expected_ids": [], "no_answer": True},
    {"question": "c?", "expected_ids": ["d2"], "no_answer": False},
]
PAIRS: list[dict[str, Any]] = [
    {"query_id": "a?", "doc_id": "d1", "no_answer": None},
    {"query_id": "b?", "doc_id": None, "no_answer": True},
    {"query_id": "c?", "doc_id": "d2", "no_answer": False},
]
PLAIN = {"a?": {"d1": 1}, "b?": {}, "c?": {"d2": 1}}
RUN = {"a?": ["d1", "d2"], "b?": ["d9"], "c?": ["d1", "d2"]}


def forms() -> list[Any]:
    """Every form of a golden set that marks one of three questions."""
    turned = [{**record, "is_answerable": not record.get("no_answer")} for record in GOLDEN]
    for record in turned:
        record.pop("no_answer", None)
    frames = pl.DataFrame(GOLDEN), pl.DataFrame(PAIRS)
    return [GOLDEN, turned, PAIRS, rs.Qrels(GOLDEN), *frames]


def test_a_marked_question_is_in_no_mean() -> None:
    for form in forms():
        scores = rs.evaluate(form, RUN, ["RR"])
        accounting = scores.accounting
        assert scores["RR"] == 0.75
        assert (accounting.queries, accounting.no_answer, accounting.unjudged) == (2, 1, 0)
        assert scores.values("RR") == {"a?": 1.0, "c?": 0.5}


FILES = {
    "golden.json": json.dumps(GOLDEN),
    "golden.jsonl": "\n".join(map(json.dumps, GOLDEN)),
    "golden.csv": 'question,expected_ids,no_answer\na?,"[""d1""]",\nb?,[],true\nc?,"[""d2""]",no\n',
    "pairs.csv": "question,doc_id,no_answer\na?,d1,\nb?,,true\nc?,d2,false\n",
}


def test_files_hold_the_mark(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    pl.DataFrame(GOLDEN).write_parquet(tmp_path / "golden.parquet")
    for path in tmp_path.iterdir():
        assert rs.read_qrels(path).no_answer == ("b?",)
        assert rs.evaluate(path, RUN, ["RR"]).accounting.no_answer == 1


@pytest.mark.parametrize("qrels", [PLAIN, rs.Qrels(PLAIN)], ids=["dicts", "table"])
def test_a_rule_marks_questions(qrels: Any) -> None:
    unmarked = rs.evaluate(qrels, RUN, ["RR"])
    assert (unmarked["RR"], unmarked.accounting.without_relevant) == (0.5, 1)
    assert "no_answer" not in unmarked.accounting.to_dict()
    rules: tuple[Any, ...] = ("empty", ["b?"])
    for rule in rules:
        scores = rs.evaluate(qrels, RUN, ["RR"], no_answer=rule)
        assert (scores["RR"], scores.accounting.no_answer) == (0.75, 1)
        assert not scores.accounting.without_relevant


def test_compare_and_gate_leave_them_out() -> None:
    result = rs.compare(GOLDEN, {"one": RUN, "two": RUN}, ["RR"])
    assert {mean.mean for mean in result.means} == {0.75}
    assert rs.gate(RUN, RUN, "RR", qrels=PLAIN, no_answer="empty").queries == 2


def test_marks_and_rules_that_cannot_be_are_refused() -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"expected_ids": ["d1"], "no_answer": True}, "relevant"),
        ({"doc_id": "d1", "no_answer": True}, "relevant"),
        ({"expected_ids": [], "no_answer": "maybe"}, "true or false"),
        ({"expected_ids": [], "no_answer": True}, "every question"),
    ]
    for record, word in refused:
        with pytest.raises(InputError, match=word):
            rs.evaluate([{"q": "a", **record}], {"a": ["d1"]})
    with pytest.raises(InputError, match=r"'a\?'"):
        rs.evaluate(PLAIN, RUN, no_answer=["a?"])
    with pytest.raises(UnknownNameError, match="none"):
        rs.evaluate(PLAIN, RUN, no_answer="none")


def test_judged_distractors_may_stay() -> None:
    qrels = {"a?": {"d1": 1}, "b?": {"d9": 0}}
    scores = rs.evaluate(qrels, RUN, ["RR"], no_answer=["b?", "z?"])
    assert (scores.accounting.queries, scores.accounting.no_answer) == (1, 2)


def test_the_mark_is_part_of_the_judgments() -> None:
    marked, unmarked = as_judgments(GOLDEN), as_judgments(PLAIN)
    assert marked.fingerprint != unmarked.fingerprint
    assert marked.query_ids == ("a?", "c?") == tuple(marked.table.query_ids)


def test_validation_does_not_complain_of_them() -> None:
    assert "RS212" not in [f.code for f in validate_run(RUN, qrels=GOLDEN).findings]
    assert "RS212" in [f.code for f in validate_run(RUN, qrels=PLAIN).findings]
