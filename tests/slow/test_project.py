"""``rankscope init`` and ``rankscope demo --copy``: what is written runs as it is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rankscope.benchmark.project import copy_demo, start_project
from rankscope.benchmark.run import run_benchmark
from rankscope.errors import InputError
from rankscope.scoring.evaluate import evaluate

GOLDEN = [
    {"question": "how to boil leeks", "expected_ids": ["leek"]},
    {"question": "bake an apple pie", "expected_ids": ["pie", "apple"]},
]
CORPUS = {"leek": "boil leeks in stock", "pie": "bake apple in pastry", "rice": "steam rice"}


def in_folder(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the project's test as a user does."""
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)


def written(tmp_path: Path) -> Path:
    path = tmp_path / "questions 'n' answers.json"
    path.write_text(json.dumps(GOLDEN), encoding="utf-8")
    return path


def means(config: Path) -> dict[str, dict[str, float | None]]:
    """Run a config, and return the means by system and measure."""
    report = run_benchmark(config, output=config.parent / "out").report
    return {
        system.name: {score.measure: score.value for score in system.measures}
        for system in report.systems
    }


def test_a_golden_set_and_a_corpus_of_ones_own(tmp_path: Path) -> None:
    golden = written(tmp_path)
    corpus = tmp_path / "documents.jsonl"
    corpus.write_text(
        "".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in CORPUS.items())
    )
    project = start_project(tmp_path / "project", golden=golden, corpus=corpus)
    assert golden.name in project.files
    assert project.to_write == ""
    done = in_folder(project.folder)
    assert done.returncode == 0, done.stdout
    assert means(project.folder / "rankscope.yaml")["mine"]["Success@5"] == 1


def test_without_a_corpus_the_search_waits_to_be_written(tmp_path: Path) -> None:
    golden = written(tmp_path)
    (tmp_path / "README.md").write_text("mine")
    project = start_project(tmp_path, golden=golden)
    assert not {golden.name, "README.md"} & set(project.files)  # they are there already
    assert project.to_write == "retriever.py"
    done = in_folder(tmp_path)
    assert done.returncode == 1
    assert "call your search here" in done.stdout
    search = "def search(question, k):\n    return ['leek', 'pie'][:k]\n"
    (tmp_path / "retriever.py").write_text(search)
    assert in_folder(tmp_path).returncode == 0


def test_nothing_is_overwritten_and_the_example_runs(tmp_path: Path) -> None:
    (tmp_path / "rankscope.yaml").write_text("mine")
    with pytest.raises(InputError, match=r"'rankscope\.yaml' is there already"):
        start_project(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["rankscope.yaml"]
    (tmp_path / "bench.yaml").symlink_to("nowhere")
    with pytest.raises(InputError, match="there already"):
        copy_demo(tmp_path)
    with pytest.raises(InputError, match="golden set"):
        start_project(tmp_path / "x", corpus="corpus.jsonl")
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "z", "text": "zebra"}\n')
    with pytest.raises(InputError, match="'leek'"):
        start_project(tmp_path / "x", golden=written(tmp_path), corpus=corpus)
    assert not (tmp_path / "x").exists()
    project = start_project(tmp_path / "x")
    assert (project.questions, project.to_write) == (24, "")
    assert "golden.json" in (project.folder / "README.md").read_text()
    assert set(means(project.folder / "rankscope.yaml")) == {"mine", "lexical"}


def test_the_copied_runs_score_as_in_the_demo(tmp_path: Path) -> None:
    copy_demo(tmp_path)
    qrels = tmp_path / "qrels.tsv"
    runs = {name: tmp_path / f"{name}.run" for name in ("lexical", "hybrid")}
    scores = evaluate(qrels, runs, ["nDCG@10", "AP@100"])
    recorded = means(tmp_path / "bench.yaml")
    with pytest.raises(InputError, match="'categry'"):
        run_benchmark(tmp_path / "bench.yaml", settings=["segments=[categry]"])
    for name in runs:
        for measure in ("nDCG@10", "AP@100"):
            value = scores.run(name).means[measure]
            assert value == pytest.approx(recorded[name][measure], abs=1e-9)
    [report] = tmp_path.rglob("BenchmarkReport.json")
    assert report.stat().st_size < 150_000, "what can be derived is not stored"
