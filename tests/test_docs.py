"""Docs cannot drift: generated pages are current, and every example runs."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rankscope

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.glob("*.md")])
RUNS = ROOT / "tests" / "data" / "recipes" / "runs"
RECIPES = Path(rankscope.__file__).parent / "data" / "recipes"


def test_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "build.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)


PYTHON = [
    pytest.param(page, code, id=f"{page.name}-{number}")
    for page in PAGES
    for number, code in enumerate(blocks(page, "python"), start=1)
]


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with the files the examples name."""
    for name in ("corpus.jsonl", "queries.jsonl"):
        (tmp_path / name).write_bytes((RECIPES / name).read_bytes())
    qrels = rankscope.read_qrels(RECIPES / "qrels" / "test.tsv")
    qrels.write(tmp_path / "qrels.tsv")
    qrels.write(tmp_path / "qrels.trec")
    for name, run in (("bm25", "words"), ("dense", "letters")):
        rankscope.read_run(RUNS / f"{run}.run.gz", name=name).write(tmp_path / f"{name}.run")
    shutil.copytree(RECIPES, tmp_path / "recipes")
    (config, *_) = blocks(DOCS / "benchmark.md", "yaml")
    (tmp_path / "bench.yaml").write_text(config, encoding="utf-8")
    (tmp_path / "benchmarks").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize(("page", "code"), PYTHON)
def test_python_examples_run(page: Path, code: str) -> None:
    if ">>>" in code:
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        test = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), 0)
        assert runner.run(test).failed == 0
    else:
        exec(compile(code, str(page), "exec"), {"__name__": "example"})


COMMANDS = [
    pytest.param(line.removeprefix("$ "), id=line.removeprefix("$ ")[:60])
    for page in PAGES
    if page.name != "commands.md"
    for block in blocks(page, "console")
    for line in block.splitlines()
    if line.startswith("$ rankscope")
]


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("command", COMMANDS)
def test_console_examples_run(command: str) -> None:
    arguments = shlex.split(command, comments=True)[1:]
    done = subprocess.run(
        [sys.executable, "-m", "rankscope", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [page.name for page in DOCS.glob("*.md") if f"docs/{page.name}" not in readme] == []


def test_every_link_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
