"""``rankscope runs validate``: exit codes, streams, and text that came from strangers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Rankscope

GOOD = "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\n"
BAD = "q1 Q0 d1 1 2.5 t\nq1 Q0 d1 2 high t\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name, content in {
        "good.run": GOOD,
        "bad.run": BAD,
        "empty.run": "",
        "qrels.txt": "q1 0 d1 1\n",
        "queries.jsonl": '{"_id": "q1", "text": "x"}\n',
        "corpus.jsonl": '{"_id": "d1", "text": ""}\n{"_id": "d2", "text": ""}\n',
    }.items():
        (tmp_path / name).write_text(content, "utf-8")


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("good.run", 0),
        ("good.run --qrels qrels.txt --queries queries.jsonl", 0),
        ("good.run --corpus corpus.jsonl", 0),
        ("sub/../good.run", 0),
        ("-", 0),
        ("bad.run", 1),
        ("empty.run", 1),
        ("good.run bad.run", 1),
        ("missing.run", 2),
        ("bad.run missing.run", 2),
        ("good.run --qrels missing.txt", 2),
        ("good.run --max-depth 0", 2),
        ("good.run --max-depth 1", 0),
        ("good.run --max-depth 1 --strict", 1),
        ("good.run --strict --qrels qrels.txt --queries queries.jsonl", 0),
        ("good.run --colour red", 2),
        ("- --qrels -", 2),
        ("", 2),
    ],
)
def test_exit_codes(rankscope: Rankscope, typed: str, code: int) -> None:
    done = rankscope("runs", "validate", *typed.split(), given=GOOD)
    assert done.returncode == code, done.stderr
    assert bool(done.stderr) == (code == 2)


def test_json_and_nothing_else(rankscope: Rankscope) -> None:
    done = rankscope("runs", "validate", "good.run", "bad.run", "--format", "json")
    good, bad = json.loads(done.stdout)
    assert done.stderr == ""
    assert (good["run"], good["ok"], bad["run"], bad["ok"]) == ("good.run", True, "bad.run", False)
    assert [f["code"] for f in bad["findings"] if f["severity"] == "error"] == ["RS104", "RS106"]
    assert bad["findings"][0]["places"] == [
        {"source": "bad.run", "line": 2, "query_id": "q1", "doc_id": "d1"}
    ]


def test_one_missing_run_does_not_hide_the_others(rankscope: Rankscope) -> None:
    done = rankscope("runs", "validate", "god.run", "bad.run", "--format", "json")
    assert [result["run"] for result in json.loads(done.stdout)] == ["bad.run"]
    assert "good.run" in done.stderr, "what it may have meant"
    assert done.stderr.count("\n") == 1


def test_a_terminal_that_lacks_the_signs(rankscope: Rankscope, tmp_path: Path) -> None:
    (tmp_path / "grün.run").write_text(BAD, "utf-8")
    done = rankscope("runs", "validate", "grün.run", encoding="ascii")
    assert done.returncode == 1
    assert "gr\\xfcn.run" in done.stdout
    done = rankscope("runs", "validate", "grün.run", "--format", "json", encoding="latin-1")
    assert json.loads(done.stdout)[0]["run"] == "grün.run"


NASTY = (
    *("\x1b[31mred\x1b[0m", "\x9b31m", "[red]x[/red]", "[/x][", ":smile:", "\a", "\u202eabc"),
    "<script>alert(1)</script>",
)


def test_foreign_text_is_shown_and_does_nothing(rankscope: Rankscope, tmp_path: Path) -> None:
    for text in NASTY:
        name = f"{text.replace('/', '-')}.run"
        (tmp_path / name).write_text(f"{text} Q0 {text} 1 high {text}\n", "utf-8")
        table = rankscope("runs", "validate", name)
        assert table.returncode == 1
        assert repr(text)[1:-1] in table.stdout.replace("\n", "")
        data = rankscope("runs", "validate", name, "--format", "json")
        (found,) = (f for f in json.loads(data.stdout)[0]["findings"] if f["code"] == "RS104")
        assert found["places"] == [{"source": name, "line": 1, "query_id": text, "doc_id": text}]
        missing = rankscope("runs", "validate", f"{name}.missing")
        assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
        for printed in (table.stdout, data.stdout, missing.stderr):
            assert all(sign.isprintable() or sign == "\n" for sign in printed)


def test_a_name_with_a_line_end_or_of_no_text(rankscope: Rankscope, tmp_path: Path) -> None:
    done = rankscope("runs", "validate", "a\nrankscope: all is well\n.run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    (tmp_path / "\udcff.run").write_text(BAD)
    for format in ("table", "json"):
        done = rankscope("runs", "validate", "\udcff.run", "--format", format)
        assert (done.returncode, done.stderr) == (1, "")
        assert "RS104" in done.stdout
