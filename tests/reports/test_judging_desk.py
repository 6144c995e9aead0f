"""What a rater sees and does: the next pair, undo, skipping, lists, exports."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import rankscope
from rankscope.collection.ratings import as_ratings
from rankscope.errors import InputError
from rankscope.reports.judging.judging_desk import (
    GRADES,
    LONGEST_TEXT,
    LONGEST_TITLE,
    Desk,
    Terms,
    checked_rater,
    parse_grades,
)
from rankscope.reports.judging.judging_pool import DocumentText, JudgingPool, QueryText
from rankscope.reports.judging.judgment_exports import existing_grades, write_export
from rankscope.reports.judging.judgment_log import JudgmentLog, Pair

IDS = count(10_000_000)

POOL = JudgingPool(
    "pool.jsonl",
    tuple(Pair(f"q{q}", f"d{d}") for q in (1, 2) for d in (1, 2, 3)),
    {"q1": QueryText("secret of bread", (("narrative", "what makes it rise"),))},
    {"d1": DocumentText("Yeast", "It rises.", (("price", "3"),))},
)


def make(folder: Path, pool: JudgingPool = POOL, **terms: Any) -> Desk:
    existing = terms.pop("existing", None)
    log = JudgmentLog(folder / "log.jsonl")
    return Desk(pool, log, Terms(grades=GRADES, **{"order": "given", **terms}), existing)


def judge(desk: Desk, rater: str, key: str, grade: int | None, **more: Any) -> dict[str, Any]:
    said_so = {"cannot": True} if grade is None else {"grade": grade}
    body = {"rater": rater, "key": key, "id": str(next(IDS)), "tab": "t", **said_so, **more}
    return desk.answer("judge", body)


def key_of(desk: Desk, query_id: str, doc_id: str) -> str:
    return desk._key[Pair(query_id, doc_id)]


def test_one_request_saves_and_goes_on(tmp_path: Path) -> None:
    desk = make(tmp_path)
    item = desk.answer("next", {"rater": "ann", "tab": "t"})["item"]
    seen = []
    while item is not None:
        seen.append((item["query"]["id"], item["document"]["id"]))
        answer = judge(desk, "ann", item["key"], 2, next=True)
        item = answer["item"]
        assert answer["progress"]["judged"] == len(seen)
    assert seen == [tuple(pair) for pair in POOL.pairs]
    again = make(tmp_path)
    assert again.answer("next", {"rater": "ann", "tab": "t"})["item"] is None, "resumed at the end"
    assert again.answer("next", {"rater": "bob", "tab": "t"})["progress"]["judged"] == 0


def test_nothing_of_systems_reaches_the_page(tmp_path: Path) -> None:
    desk = make(tmp_path)
    key = key_of(desk, "q1", "d1")
    judge(desk, "bob", key, 3, reason="bob's reason")
    for request in ("state", "next", "item"):
        answer = json.dumps(desk.answer(request, {"rater": "ann", "key": key, "tab": "t"}))
        for word in ("rank", "score", "system", "priority", "bm25", "bob's reason", '"grade": 3}'):
            assert word not in answer.replace('{"grade": 3, "label": "perfect"}', ""), request


def test_undo_takes_back_the_last(tmp_path: Path) -> None:
    desk = make(tmp_path)
    first, second = key_of(desk, "q1", "d1"), key_of(desk, "q1", "d2")
    judge(desk, "ann", first, 1)
    judge(desk, "ann", second, 2, reason="why not")
    body = {"rater": "ann", "id": str(next(IDS))}
    answer = desk.answer("undo", body)
    assert (answer["item"]["key"], answer["undone"]["reason"]) == (second, "why not")
    assert desk.answer("undo", body)["item"]["key"] == second, "sent again, it counts once"
    assert desk.log.judgments.get("ann", Pair("q1", "d1"))
    desk.answer("undo", {"rater": "ann", "id": str(next(IDS))})
    judge(desk, "bob", first, 1)
    with pytest.raises(InputError, match="nothing to undo"):
        desk.answer("undo", {"rater": "ann", "id": str(next(IDS))})


def test_what_is_skipped_comes_again_at_the_end(tmp_path: Path) -> None:
    desk = make(tmp_path)
    first = desk.answer("next", {"rater": "ann", "tab": "t"})["item"]["key"]
    order = []
    item = desk.answer("next", {"rater": "ann", "tab": "t", "skip": first})["item"]
    while item is not None:
        order.append(item["key"])
        item = judge(desk, "ann", item["key"], 0, next=True)["item"]
    assert order[-1] == first
    assert len(order) == 6


def test_existing_judgments_are_kept_and_not_asked_again(tmp_path: Path) -> None:
    qrels = tmp_path / "old.qrels"
    qrels.write_text("q1 0 d1 2\nq1 0 d2 -1\nq7 0 d7 1\n")
    desk = make(tmp_path, existing=existing_grades(qrels))
    assert len(desk.pairs) == len(POOL.pairs) - 1
    judge(desk, "ann", key_of(desk, "q1", "d2"), 3)
    write_export(desk.log.judgments, qrels, desk.existing)
    assert rankscope.read_qrels(qrels).to_dict() == {"q1": {"d1": 2, "d2": 3}, "q7": {"d7": 1}}
    later = make(tmp_path, existing=existing_grades(qrels))  # of which ann's is now part
    assert later.answer("item", {"rater": "bob", "key": key_of(desk, "q1", "d2")})["item"]


def test_qrels_that_would_lose_judgments_are_not_replaced(tmp_path: Path) -> None:
    qrels = tmp_path / "mine.qrels"
    qrels.write_text("q9 0 d9 2\n")
    desk = make(tmp_path, qrels=str(qrels))
    judge(desk, "ann", key_of(desk, "q1", "d2"), 3)
    with pytest.raises(InputError, match=r"mine\.qrels: holds 1 judgment that would be lost"):
        desk.write_qrels()
    assert qrels.read_text() == "q9 0 d9 2\n"
    qrels.unlink()
    assert desk.write_qrels() == str(qrels)
    desk.answer("undo", {"rater": "ann", "id": str(next(IDS))})
    judge(desk, "ann", key_of(desk, "q1", "d3"), 1)
    desk.write_qrels()  # what was undone may go
    assert qrels.read_text() == "q1 0 d3 1\n"


@pytest.mark.parametrize("suffix", [".qrels", ".tsv"])
def test_of_several_raters_qrels_have_the_lower_median(tmp_path: Path, suffix: str) -> None:
    desk = make(tmp_path)
    grades = {"ann": (3, 0, 1), "bob": (1, 3, None), "eve": (2, None, None)}
    keys = [key_of(desk, "q1", doc) for doc in ("d1", "d2", "d3")]
    for rater, given in grades.items():
        for key, grade in zip(keys, given, strict=True):
            judge(desk, rater, key, grade)
    judge(desk, "ann", key_of(desk, "q2", "d1"), None)
    content = desk.answer("export", {"suffix": suffix})["content"]
    path = tmp_path / f"out{suffix}"
    path.write_text(content)
    assert rankscope.read_qrels(path).to_dict() == {"q1": {"d1": 2, "d2": 0, "d3": 1}}
    if suffix == ".tsv":
        assert content.startswith("query-id\tcorpus-id\tscore\nq1\td1\t2\n")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_ratings_are_read_back(tmp_path: Path, suffix: str) -> None:
    odd = Pair('q "1",\t', "d\n1")
    pool = JudgingPool("p", (odd, Pair("q", "d")))
    desk = make(tmp_path, pool)
    judge(desk, "ann", desk._key[odd], 2, reason='it says "no",\nthen yes')
    judge(desk, "bob", desk._key[odd], 1)
    judge(desk, "bob", desk._key[Pair("q", "d")], None, reason="no text")
    path = tmp_path / f"ratings{suffix}"
    write_export(desk.log.judgments, path)
    ratings = as_ratings(path)
    assert ratings.to_polars().select("query_id", "doc_id", "rater", "grade").rows() == [
        (*odd, "ann", 2.0), (*odd, "bob", 1.0),
    ]  # fmt: skip
    assert "no text" in path.read_text()


BAD_BODIES: list[dict[str, Any]] = [
    *({"rater": name} for name in ("", "x" * 81, "a\u202eb", "=1+1", "Gold", 7)),
    *({"key": key} for key in ("nope", None)),
    *({"grade": grade} for grade in (4, True, None, "2")),
    *({"id": name} for name in ("short", "bad id with spaces")),
    *({"reason": reason} for reason in ("x" * 2001, "\ud800", 7)),
]


def test_what_is_no_judgment_is_refused(tmp_path: Path) -> None:
    desk = make(tmp_path)
    good = {"rater": "a", "key": key_of(desk, "q1", "d1"), "grade": 1, "id": "a" * 20}
    for body in BAD_BODIES:
        with pytest.raises(InputError):
            desk.answer("judge", {**good, **body})
    assert not desk.log.path.exists()
    assert checked_rater("  Ann-Marie Ö. ") == "Ann-Marie Ö."
    assert parse_grades("1=yes, 0=no") == {0: "no", 1: "yes"}
    for text in ("0=no", "0=no,0=yes", "10=no,1=yes", "a=no,1=yes", "-1=bad,1=yes", "0=,1=yes"):
        with pytest.raises(InputError, match="--grades"):
            parse_grades(text)


HOSTILE = "</script><script>alert(1)</script>\u202e\x00\x1b[31m"


def test_hostile_texts_are_spelt_out_and_cut(tmp_path: Path) -> None:
    pair = Pair(HOSTILE, HOSTILE + "d")
    long = "x" * 1_000_000
    documents = {pair.doc_id: DocumentText(HOSTILE + long, HOSTILE + long, ((HOSTILE, HOSTILE),))}
    asked = QueryText(HOSTILE, (("narrative", HOSTILE),))
    desk = make(tmp_path, JudgingPool(HOSTILE, (pair,), {pair.query_id: asked}, documents))
    answer = desk.answer("next", {"rater": "ann", "tab": "t"})
    texts = json.dumps(answer, ensure_ascii=False)
    assert not any(sign in texts for sign in "\u202e\x00\x1b")
    assert "\\\\u202e\\\\x00" in texts
    document = answer["item"]["document"]
    assert f"({len(HOSTILE + long):,} characters)" in document["title"]
    assert len(document["title"]) < 2 * LONGEST_TITLE
    assert len(document["text"]) < 2 * LONGEST_TEXT
    judge(desk, "ann", answer["item"]["key"], 3, reason=HOSTILE)
    assert JudgmentLog(desk.log.path).judgments.pairs == {pair}, "ids stay as they are"
