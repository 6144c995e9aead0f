"""``rankscope report``: pages of experiments and records, and what cannot be one."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from benchmark.world import made, write_world
from conftest import Rankscope
from rankscope.reports.explorer.packing import unpacked

MARK = "zanzibar"


def text_of(page: Path) -> str:
    """Return a page with what its blocks hold."""
    text = page.read_text("utf-8")
    held = re.findall(r'<script type="text/plain" id="data-[^"]+">([^<]*)<', text)
    return text + "".join(unpacked(block).decode("latin-1") for block in held)


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    return made(write_world(folder), folder / "out")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Write judgments, queries and documents whose texts hold a mark, and two runs."""
    queries = [
        {"_id": f"q{n}", "text": f"{MARK} question {n}", "note": f"{MARK} note {n}", "kind": n % 2}
        for n in range(12)
    ]
    corpus = [
        {"_id": f"d{n}", "title": f"{MARK} title {n % 9}", "text": f"{MARK} question {n} text"}
        for n in range(24)
    ]
    for name, rows in (("queries", queries), ("corpus", corpus)):
        written = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(written)
    judged = [f"q{n} 0 d{n} 2\nq{n} 0 d{n + 12} 0\n" for n in range(12)]
    (tmp_path / "qrels.txt").write_text("".join(judged))
    for run, shift in (("good", 0), ("bad", 5)):
        lines = [
            f"q{n} Q0 d{(n + shift + step) % 24} {step + 1} {9 - step} {run}\n"
            for n in range(12)
            for step in range(6)
        ]
        (tmp_path / f"{run}.run").write_text("".join(lines))
    return tmp_path


TEXTS = ("--queries", "queries.jsonl", "--corpus", "corpus.jsonl")
COMMANDS = (
    ("evaluate", "--worst", "5"),
    ("compare",),
    ("diagnose",),
    ("diagnose", "--only", "failures,leaks,duplicates,holes"),
)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_text_of_the_user_is_in_a_page_without_texts(
    rankscope: Rankscope, command: tuple[str, ...]
) -> None:
    name, *options = command
    arguments = (name, "qrels.txt", "good.run", "bad.run", *options, *TEXTS, "--format", "html")
    assert rankscope(*arguments, "-o", "full.html").returncode == 0
    assert MARK in text_of(Path("full.html"))
    assert rankscope(*arguments, "--no-text", "-o", "bare.html").returncode == 0
    assert MARK not in text_of(Path("bare.html"))


def test_an_experiment_and_less_of_it(rankscope: Rankscope, experiment: Path) -> None:
    done = rankscope("report", str(experiment), "-o", "page.html")
    assert (done.returncode, done.stdout) == (0, "written to page.html\n")
    again = rankscope("report", str(experiment / "BenchmarkReport.json"), "-o", "again.html")
    assert again.returncode == 0
    assert Path("again.html").read_bytes() == Path("page.html").read_bytes()
    assert Path("page.html").read_bytes() == (experiment / "BenchmarkReport.html").read_bytes()
    assert rankscope("report", str(experiment), "--top", "1", "-o", "less.html").returncode == 0
    assert len(text_of(Path("less.html"))) < len(text_of(Path("page.html")))


@pytest.mark.usefixtures("files")
def test_records(rankscope: Rankscope) -> None:
    runs = ("qrels.txt", "good.run", "bad.run")
    commands = {
        "scores": ("evaluate", *runs, "--per-query"),
        "comparison": ("compare", *runs),
        "diagnosis": ("diagnose", *runs),
        "power": ("power", *runs),
        "gate": ("gate", "good.run", "bad.run", "--qrels", "qrels.txt", "-m", "nDCG@10"),
    }
    for name, command in commands.items():
        rankscope(*command, "--format", "json", "-o", f"{name}.json")
        done = rankscope("report", f"{name}.json", "-o", f"{name}.html")
        assert (done.returncode, done.stderr) == (0, ""), name
        page = Path(f"{name}.html").read_text("utf-8")
        assert ('id="data-overview"' in page) == (name == "scores"), name


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.json", None, "file or folder not found"),
        ("empty", "", "no BenchmarkReport.json in this folder"),
        ("list.json", "[1]", "is no record that can be shown"),
        ("other.json", '{"schema": "rankscope/manifest/1"}', "is no record that can be shown"),
        ("text.json", "hello", "text.json"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(
    rankscope: Rankscope, tmp_path: Path, name: str, content: str | None, words: str
) -> None:
    if content == "":
        (tmp_path / name).mkdir()
    elif content is not None:
        (tmp_path / name).write_text(content)
    done = rankscope("report", name)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    "name", ["queries", "qrels", "documents", "results/words", "per_query/words"]
)
def test_tables_of_another_form_are_one_sentence(
    rankscope: Rankscope, experiment: Path, name: str
) -> None:
    shutil.copytree(experiment, "changed")
    path = Path(f"changed/{name}.parquet")
    table = pl.read_parquet(path)
    table.rename({column: f"{column}_" for column in table.columns}).write_parquet(path)
    done = rankscope("report", "changed", "-o", "page.html")
    assert done.returncode == 2
    assert "changed: its tables are not those of an experiment" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_without_its_tables_is_shown_without_queries(
    rankscope: Rankscope, experiment: Path
) -> None:
    shutil.copytree(experiment, "less")
    Path("less/queries.parquet").unlink()
    done = rankscope("report", "less", "-o", "page.html")
    assert done.returncode == 0
    assert "warning: tables are missing from the folder" in done.stderr
    assert 'id="data-overview"' not in Path("page.html").read_text("utf-8")
    Path("less/qrels.parquet").write_bytes(b"garbage")
    shutil.copy(experiment / "queries.parquet", "less/queries.parquet")
    done = rankscope("report", "less", "-o", "page.html")
    assert done.returncode == 2
    assert "qrels.parquet" in done.stderr
