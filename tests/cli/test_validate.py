"""``rankscope runs validate``: exit codes, streams, and text that came from strangers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Rankscope

GOOD = "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\n"
BAD = "q1 Q0 d1 1 2.5 t\nq1 Q0 d1 2 high t\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
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
    ("arguments", "code"),
    [
        (["good.run"], 0),
        (["good.run", "--qrels", "qrels.txt", "--queries", "queries.jsonl"], 0),
        (["good.run", "--corpus", "corpus.jsonl"], 0),
        (["bad.run"], 1),
        (["empty.run"], 1),
        (["good.run", "bad.run"], 1),
        (["missing.run"], 2),
        (["bad.run", "missing.run"], 2),
        (["good.run", "--qrels", "missing.txt"], 2),
        (["good.run", "--depth", "0"], 2),
        (["good.run", "--colour", "red"], 2),
        ([], 2),
    ],
)
def test_exit_codes(rankscope: Rankscope, arguments: list[str], code: int) -> None:
    done = rankscope("runs", "validate", *arguments)
    assert done.returncode == code, done.stderr
    assert bool(done.stderr) == (code == 2)


def test_a_table_for_people(rankscope: Rankscope) -> None:
    out = rankscope("runs", "validate", "bad.run", "--depth", "2").stdout
    assert "✗ not valid  bad.run  1 query, 2 lines, 2 documents a query; 2 errors" in out
    assert "RS104 score-not-a-number  1 line" in out
    assert "the score is 'high', which is not a number" in out
    assert "at: bad.run:2, query 'q1', document 'd1'" in out
    assert "do: write the score as a decimal number" in out


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
    done = rankscope("runs", "validate", "missing.run", "bad.run", "--format", "json")
    assert [result["run"] for result in json.loads(done.stdout)] == ["bad.run"]
    assert done.stderr == "rankscope: missing.run: no such file\n"


def test_one_sentence_for_a_mistake(rankscope: Rankscope) -> None:
    done = rankscope("runs", "validate", "god.run")
    assert done.stderr == "rankscope: god.run: no such file; did you mean good.run?\n"
    assert done.stdout == ""


def test_standard_input_once(rankscope: Rankscope) -> None:
    assert rankscope("runs", "validate", "-", given=GOOD).returncode == 0
    done = rankscope("runs", "validate", "-", "--qrels", "-", given=GOOD)
    assert done.returncode == 2
    assert "standard input (-) can be read once only" in done.stderr


@pytest.mark.parametrize("variable", ["NO_COLOR", "TERM", "COLORTERM"])
def test_no_escape_codes_in_a_pipe(
    rankscope: Rankscope, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    done = rankscope("runs", "validate", "bad.run")
    assert "\x1b" not in done.stdout + done.stderr


def test_colours_only_where_they_are_wanted(
    rankscope: Rankscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in rankscope("runs", "validate", "bad.run").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31" not in rankscope("runs", "validate", "bad.run").stdout


def test_a_terminal_that_lacks_the_signs(rankscope: Rankscope, tmp_path: Path) -> None:
    (tmp_path / "grün.run").write_text(BAD, "utf-8")
    done = rankscope("runs", "validate", "grün.run", encoding="ascii")
    assert done.returncode == 1
    assert "\\u2717 not valid  gr\\xfcn.run" in done.stdout
    done = rankscope("runs", "validate", "grün.run", "--format", "json", encoding="latin-1")
    assert json.loads(done.stdout)[0]["run"] == "grün.run"


NASTY = {
    "ansi": "\x1b[31mred\x1b[0m",
    "c1": "\x9b31m",
    "markup": "[red]x[/red]",
    "broken markup": "[/x][",
    "emoji": ":smile:",
    "html": "<script>alert(1)</script>",
    "bidi": "\u202eabc",
    "bell": "\a",
}


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
@pytest.mark.parametrize("format", ["table", "json"])
def test_foreign_text_is_shown_and_does_nothing(
    rankscope: Rankscope, tmp_path: Path, text: str, format: str
) -> None:
    name = f"{text.replace('/', '-')}.run"
    (tmp_path / name).write_text(f"{text} Q0 {text} 1 high {text}\n", "utf-8")
    done = rankscope("runs", "validate", name, "--format", format)
    assert done.returncode == 1
    shown = done.stdout.replace("\n", "")
    assert all(letter.isprintable() for letter in shown)
    if format == "json":
        (found,) = (f for f in json.loads(done.stdout)[0]["findings"] if f["code"] == "RS104")
        assert found["places"] == [{"source": name, "line": 1, "query_id": text, "doc_id": text}]
    elif text.isprintable():
        assert repr(text) in shown
    else:
        assert repr(text)[1:-1] in shown
    missing = rankscope("runs", "validate", f"{name}.missing")
    assert missing.returncode == 2
    assert missing.stderr.count("\n") == 1
    assert all(letter.isprintable() for letter in missing.stderr[:-1])


def test_a_name_with_a_line_end(rankscope: Rankscope) -> None:
    done = rankscope("runs", "validate", "a\nrankscope: all is well\n.run")
    assert done.stderr == "rankscope: a\\nrankscope: all is well\\n.run: no such file\n"


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    path = str(tmp_path).encode() + b"/\xff.run"
    with open(path, "w", encoding="utf-8") as file:
        file.write(BAD)
    for format in ("table", "json"):
        command = [sys.executable.encode(), b"-m", b"rankscope", b"runs", b"validate", path]
        command += [b"--format", format.encode()]
        done = subprocess.run(command, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (1, b"")
        assert b"RS104" in done.stdout


def test_names_that_climb(rankscope: Rankscope, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    done = rankscope("runs", "validate", "sub/../good.run")
    assert "sub/../good.run" in done.stdout


@pytest.mark.parametrize("format", ["table", "json"])
def test_a_reader_that_goes_away(tmp_path: Path, format: str) -> None:
    """As in ``rankscope … | head -1``: no message, and no exit code but that of a good run."""
    (tmp_path / "many.run").write_text(GOOD, "utf-8")
    names = ["many.run"] * 150
    with subprocess.Popen(
        [sys.executable, "-m", "rankscope", "runs", "validate", *names, "--format", format],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.readline()
        writer.stdout.close()
        assert writer.stderr.read() == b""
    assert writer.returncode == 0


def test_unknown_command(rankscope: Rankscope) -> None:
    done = rankscope("rnus")
    assert done.returncode == 2
    assert "unknown command 'rnus'; nearest: runs" in done.stderr


def test_every_listed_command_is_there() -> None:
    import click

    from rankscope.cli.app import app

    def walk(group: click.Group, path: str) -> None:
        context = click.Context(group, info_name=path)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None, f"{path} {name}"
            if isinstance(command, click.Group):
                walk(command, f"{path} {name}")

    walk(app, "rankscope")
