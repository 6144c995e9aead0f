"""The log of judgments: nothing acknowledged is lost, whatever happens to who writes it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rankscope.errors import FormatError
from rankscope.reports.judging.judgment_log import Judgment, JudgmentLog, LogError, Pair

PAIR = Pair("q1", "d1")


def judgment(
    name: str, grade: int | None = 1, rater: str = "ann", pair: Pair = PAIR, **more: str
) -> Judgment:
    if more.get("undo"):
        grade = None
    query_id, doc_id = pair
    return Judgment(
        id=name,
        rater=rater,
        query_id=query_id,
        doc_id=doc_id,
        grade=grade,
        **more,  # type: ignore[arg-type]
    )


def add(log: JudgmentLog, *judgments: Judgment) -> None:
    for each in judgments:
        log.add(lambda _, wanted=each: wanted)  # type: ignore[misc]


@pytest.fixture
def log(tmp_path: Path) -> JudgmentLog:
    return JudgmentLog(tmp_path / "log.jsonl")


def test_a_judgment_is_a_line_that_is_read_again(log: JudgmentLog) -> None:
    odd = Judgment(id="b", rater="ann", query_id="q", doc_id="é\n", cannot=True)
    add(log, judgment("a", 2, reason="fits, “well”"), odd)
    lines = log.path.read_text("utf-8").splitlines()
    first = json.loads(lines[0])
    assert first.pop("at").endswith("+00:00")
    assert first == {
        "seq": 1, "id": "a", "rater": "ann", "query_id": "q1", "doc_id": "d1", "grade": 2,
        "reason": "fits, “well”",
    }  # fmt: skip
    assert len(lines) == 2
    assert json.loads(lines[1])["cannot"] is True
    assert JudgmentLog(log.path).judgments.get("ann", odd.pair) == log.judgments.by_id["b"]


def test_undo_brings_back_what_was_before(log: JudgmentLog) -> None:
    add(log, judgment("a", 2), judgment("b", 3), judgment("c", undo="b"))
    held = log.judgments.get("ann", PAIR)
    assert held is not None
    assert held.grade == 2
    add(log, judgment("d", undo="a"))
    assert log.judgments.get("ann", PAIR) is None
    assert log.judgments.raters == []
    assert JudgmentLog(log.path).judgments.last_of("ann") is None
    assert len(log.path.read_text().splitlines()) == 4, "nothing is ever removed"


def test_a_line_that_was_cut_short_harms_no_other(log: JudgmentLog) -> None:
    """Killed while it wrote the second line: half of it, none, zeros, or no line end."""
    add(log, judgment("a", 2), judgment("b", 3, pair=Pair("q2", "d2")))
    content = log.path.read_bytes()
    first = content.index(b"\n") + 1
    for rest in (*(content[first : first + kept] for kept in range(1, 90, 7)), b"\0" * 100):
        log.path.write_bytes(content[:first] + rest)
        again = JudgmentLog(log.path)
        assert set(again.judgments.by_id) == {"a"}
        add(again, judgment("c", 1, pair=Pair("q3", "d3")))
        assert set(JudgmentLog(log.path).judgments.by_id) == {"a", "c"}
        assert JudgmentLog(log.path).cut_short == 1
    log.path.write_bytes(content.rstrip(b"\n"))
    again = JudgmentLog(log.path)
    add(again, judgment("c", 1), judgment("c", 1))
    last = JudgmentLog(log.path)
    assert set(last.judgments.by_id) == {"a", "b", "c"}, "nothing is lost, an id counts once"
    assert last.cut_short == 0


def test_another_file_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "other.txt"
    for text in ("q1 0 d1 1", "[]", "PAR1", "{}\n", '{"id": "a"}\n', "7\n", "q1 0 d1 1\n"):
        path.write_text(text)
        with pytest.raises(FormatError, match=r"other\.txt:1"):
            JudgmentLog(path)
        assert path.read_text() == text


def test_two_logs_of_one_file_see_each_other(log: JudgmentLog) -> None:
    other = JudgmentLog(log.path)
    add(log, judgment("a", 2))
    add(other, judgment("b", 1, rater="bob"))
    add(log, judgment("c", 0, pair=Pair("q2", "d")))
    assert [each.seq for each in JudgmentLog(log.path).judgments.by_id.values()] == [1, 2, 3]
    with other.held() as judgments:
        assert set(judgments.by_id) == {"a", "b", "c"}


def test_what_cannot_be_written_is_not_acknowledged(
    log: JudgmentLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(log, judgment("a", 2))
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:10]))
    with pytest.raises(LogError, match=r"cannot be written \(No space left"):
        add(log, judgment("b", 1))
    monkeypatch.undo()
    assert len(log.path.read_text().splitlines()) == 1, "the disk holds no half of a line"
    add(log, judgment("b", 1))
    assert set(JudgmentLog(log.path).judgments.by_id) == {"a", "b"}


def test_what_the_disk_does_not_confirm_is_not_acknowledged(
    log: JudgmentLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    log.create()
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(LogError, match="Input/output error"):
        add(log, judgment("a", 2))
    monkeypatch.undo()
    add(log, judgment("a", 2))
    assert len(log.path.read_text().splitlines()) == 1, "sent again, it is there once"


def test_a_log_that_vanishes_is_noticed(log: JudgmentLog) -> None:
    add(log, judgment("a", 2))
    content = log.path.read_bytes()
    log.path.unlink()
    with pytest.raises(LogError, match="was removed while it was in use"):
        add(log, judgment("b", 1))
    log.path.write_bytes(content[:10])
    with pytest.raises(LogError, match="got shorter"):
        add(log, judgment("b", 1))
