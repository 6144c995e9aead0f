"""What is shown of experiments and records: ``report``, ``diagnose DIR`` and ``benchmark list``."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from benchmark.world import made, write_world
from conftest import Rankscope
from rankscope.records.report import BenchmarkReport
from rankscope.reports.explorer.packing import unpacked

WORD = "quince"
"""A word of queries and documents."""


def text_of(page: Path) -> str:
    """Return a page with what its blocks hold."""
    text = page.read_text("utf-8")
    held = re.findall(r'<script type="text/plain" id="data-[^"]+">([^<]*)<', text)
    return text + "".join(unpacked(block).decode("latin-1") for block in held)


def runs_of(experiment: Path) -> list[str]:
    """Return the files of the judgments and of two runs."""
    names = ("qrels.parquet", "runs/words.run.gz", "runs/code.run.gz")
    return [str(experiment / name) for name in names]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    return made(write_world(folder), folder / "out")


@pytest.mark.parametrize("typed", ["evaluate --worst 5", "compare", "diagnose"])
def test_no_text_of_the_user_is_in_a_page_without_texts(
    rankscope: Rankscope, experiment: Path, typed: str
) -> None:
    name, *options = typed.split()
    world = experiment.parents[1]
    texts = ("--queries", f"{world}/queries.jsonl", "--corpus", f"{world}/corpus.jsonl")
    arguments = (name, *runs_of(experiment), *options, *texts, "--format", "html")
    assert rankscope(*arguments, "-o", "full.html").returncode == 0
    assert WORD in text_of(Path("full.html"))
    assert rankscope(*arguments, "--no-text", "-o", "bare.html").returncode == 0
    assert WORD not in text_of(Path("bare.html"))


def test_an_experiment_and_less_of_it(rankscope: Rankscope, experiment: Path) -> None:
    assert rankscope("report", str(experiment), "-o", "page.html").returncode == 0
    assert Path("page.html").read_bytes() == (experiment / "BenchmarkReport.html").read_bytes()
    assert rankscope("report", str(experiment), "--top", "1", "-o", "less.html").returncode == 0
    assert len(text_of(Path("less.html"))) < len(text_of(Path("page.html")))


def test_the_analyses_of_an_experiment_are_those_of_its_report(
    rankscope: Rankscope, experiment: Path
) -> None:
    done = rankscope("diagnose", str(experiment), "--only", "failures", "--format", "json")
    shown = json.loads(done.stdout)["analyses"]
    report = BenchmarkReport.read(experiment / "BenchmarkReport.json")
    assert shown["failures"] == report.to_dict()["analyses"]["failures"]
    assert shown["ties"] is None
    for arguments in ([str(experiment), "--baseline", "words"], ["."], ["qrels.txt"]):
        done = rankscope("diagnose", *arguments)
        assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("none.json", None, "not found"),
        ("empty", "", "benchmark run"),
        ("text.json", "hello", "text.json"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(
    rankscope: Rankscope, tmp_path: Path, name: str, content: str | None, word: str
) -> None:
    if content == "":
        (tmp_path / name).mkdir()
    elif content is not None:
        (tmp_path / name).write_text(content)
    done = rankscope("report", name)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert word in done.stderr
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
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_folder_without_its_tables_is_shown_without_queries(
    rankscope: Rankscope, experiment: Path
) -> None:
    shutil.copytree(experiment, "less")
    Path("less/queries.parquet").unlink()
    done = rankscope("report", "less", "-o", "page.html")
    assert done.returncode == 0
    assert "missing" in done.stderr
    assert 'id="data-overview"' not in Path("page.html").read_text("utf-8")
    Path("less/qrels.parquet").write_bytes(b"garbage")
    shutil.copy(experiment / "queries.parquet", "less/queries.parquet")
    done = rankscope("report", "less", "-o", "page.html")
    assert done.returncode == 2
    assert "qrels.parquet" in done.stderr


def test_names_in_an_experiment_steer_no_terminal(rankscope: Rankscope, experiment: Path) -> None:
    shutil.copytree(experiment, "benchmarks/steering")
    for path in Path("benchmarks/steering").glob("*.json"):
        text = path.read_text("utf-8")
        text = re.sub(r'"finished": "', r'"finished": "\\u001b[31m', text)
        text = re.sub(r'"(measure|asked)": "nDCG@5"', r'"\1": "\\u001b[5mnDCG@5"', text)
        path.write_text(text, "utf-8")
    for format in ("table", "csv", "markdown", "html", "latex", "json"):
        done = rankscope("benchmark", "list", "--format", format, terminal=True)
        assert done.returncode == 0, done.stderr
        shown = re.sub(r"\x1b\[[0124;]*m", "", done.stdout) if format == "table" else done.stdout
        assert "\x1b" not in shown, format
