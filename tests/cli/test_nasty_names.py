"""Ids and names that could steer a terminal, a spreadsheet, a page or a paper."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree as Xml

import polars as pl
import pytest

from conftest import Rankscope
from rankscope import Qrels, Run

NASTY = (
    *("\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x9b2J", "a\rb", "\u202egnp.exe"),
    *("=1+1", "+1+1", "-x", "@SUM(1)", "'=1"),
    *("[6pt]", "*", "\\input{x}", "{x}%", "#1", "$x$ and $`y`$"),
    *("a|b", "<script>alert(1)</script>", "]]>", "a b"),
)
"""No control character may reach a terminal; each of the others is special to some form."""

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def nasty(tmp_path: Path) -> Path:
    """Return a folder with judgments and two runs, all of whose ids are nasty."""
    qrels = {query_id: dict.fromkeys(NASTY[:3], 1) for query_id in NASTY}
    Qrels(qrels).write(tmp_path / "qrels.parquet")
    for name, scale in {"[a] $x$.parquet": 1.0, "=b.parquet": -1.0}.items():
        rows = {
            query_id: {doc_id: scale * at for at, doc_id in enumerate(NASTY)} for query_id in NASTY
        }
        Run(rows).write(tmp_path / name)
    return tmp_path


EVALUATE = ("evaluate", "qrels.parquet", "[a] $x$.parquet", "=b.parquet", "--per-query")
COMMANDS = (
    EVALUATE,
    ("compare", "qrels.parquet", "[a] $x$.parquet", "=b.parquet"),
    ("diagnose", "qrels.parquet", "[a] $x$.parquet", "=b.parquet"),
    ("explain", "qrels.parquet", "=b.parquet", "--query", NASTY[0]),
    ("runs", "validate", "=b.parquet", "--qrels", "qrels.parquet"),
    ("power", "qrels.parquet", "[a] $x$.parquet", "=b.parquet"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.usefixtures("nasty")
def test_nothing_steers_a_terminal(rankscope: Rankscope, command: tuple[str, ...]) -> None:
    for format in ("table", "markdown", "html", "latex", "csv", "json"):
        done = rankscope(*command, "--format", format, terminal=True)
        assert done.returncode in (0, 1), done.stderr
        plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout) if format == "table" else done.stdout
        assert CONTROL.search(plain) is None, format
        assert CONTROL.search(done.stderr) is None, format


@pytest.mark.usefixtures("nasty")
def test_pipes_and_files_get_ids_as_they_are(rankscope: Rankscope) -> None:
    done = rankscope(*EVALUATE, "--format", "csv", "--raw")
    rows = list(csv.DictReader(io.StringIO(done.stdout, newline="")))
    assert {row["query_id"] for row in rows} >= set(NASTY)
    assert {row["run"] for row in rows} == {"[a] $x$", "=b"}
    assert rankscope(*EVALUATE, "--format", "csv", "--raw", "-o", "out.csv").returncode == 0
    assert Path("out.csv").read_bytes() == done.stdout.encode()
    safe = rankscope(*EVALUATE, "--format", "csv").stdout
    for row in csv.DictReader(io.StringIO(safe, newline="")):
        assert row["query_id"][:1] not in tuple("=+-@\t\r")
    done = rankscope(*EVALUATE, "--format", "trec")
    for query_id in NASTY:
        spelt = query_id.replace("\r", "\\r")
        assert f"\t{spelt}\t" in done.stdout
    names = json.loads(rankscope(*EVALUATE, "--format", "json").stdout)["runs"]["=b"]["per_query"]
    assert set(names) == set(NASTY)


@pytest.mark.usefixtures("nasty")
def test_markup_stays_text(rankscope: Rankscope) -> None:
    page = rankscope(*EVALUATE, "--format", "html").stdout
    assert set(re.findall("<script[^>]*>", page)) <= {
        "<script>",
        *(f'<script type="text/plain" id="data-{name}-0">' for name in ("answers", "documents")),
        '<script type="text/plain" id="data-overview">',
    }
    assert page.count("<script>") == 1, "the page's own"
    latex = rankscope(*EVALUATE, "--format", "latex").stdout
    assert re.search(r"\\\\\s*[\[*]", latex) is None  # an argument of the line break
    assert r"\input" not in latex
    markdown = rankscope(*EVALUATE, "--format", "markdown").stdout
    assert re.search(r"(?<!\\)\$", markdown) is None  # math, where pages show it
    assert "<script" not in markdown


@pytest.mark.usefixtures("nasty")
def test_files_on_a_terminal_and_elsewhere(rankscope: Rankscope) -> None:
    convert = ("convert", "qrels.parquet", "-", "--to", "csv", "--kind", "qrels")
    refused = rankscope(*convert, terminal=True)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "write json" in refused.stderr
    assert CONTROL.search(refused.stderr) is None
    binary = rankscope("convert", "qrels.parquet", "-", "--to", "parquet", terminal=True)
    assert (binary.returncode, binary.stdout) == (2, "")
    assert "is a terminal" in binary.stderr
    fuse = ("runs", "fuse", "=b.parquet", "[a] $x$.parquet", "-o", "-", "--format", "jsonl")
    assert CONTROL.search(rankscope(*fuse, terminal=True).stdout) is None


def test_converted_jsonl_comes_back(rankscope: Rankscope, nasty: Path) -> None:
    for kind, name in {"qrels": "qrels.parquet", "run": "=b.parquet"}.items():
        assert rankscope("convert", name, "x.jsonl", "--kind", kind).returncode == 0
        assert rankscope("convert", "x.jsonl", "back.parquet", "--kind", kind).returncode == 0
        assert pl.read_parquet(nasty / "back.parquet").equals(pl.read_parquet(nasty / name))


@pytest.mark.usefixtures("nasty")
def test_gate_reports_hold_the_names(rankscope: Rankscope, nasty: Path) -> None:
    done = rankscope(
        *("gate", "=b.parquet", "[a] $x$.parquet", "--qrels", "qrels.parquet", "-m", "P@5"),
        *("--junit", "out.xml", "--markdown", "out.md"),
    )
    assert done.returncode in (0, 1), done.stderr
    Xml.parse(nasty / "out.xml")
    comment = (nasty / "out.md").read_text("utf-8")
    assert re.search(r"(?<![\\`])\$(?!`)", re.sub("`[^`]*`", "", comment)) is None


def test_what_was_typed_is_repeated_visibly(rankscope: Rankscope) -> None:
    for arguments in (("evaluate", "--\x1b[31m"), ("\x1b[31m",), ("evaluate", "\x1b[31m", "x")):
        done = rankscope(*arguments)
        assert done.returncode == 2
        assert "\\x1b[31m" in done.stderr
        assert CONTROL.search(done.stderr) is None


def test_half_a_sign_is_no_name(rankscope: Rankscope) -> None:
    for arguments in (("report", "\ud800"), ("benchmark", "verify", "\ud800"), ("init", "\ud800")):
        done = rankscope(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert "\\ud800" in done.stderr
