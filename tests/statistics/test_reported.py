"""Result files of MTEB side by side: means only, and so it is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankscope.cli import main
from rankscope.document.terminal import as_text
from rankscope.document.views import document_of
from rankscope.errors import InputError, UnknownNameError
from rankscope.statistics.reported import compare_reported, is_result_file


def new(task: str, ndcg: float, **more: Any) -> dict[str, Any]:
    scores = {
        "ndcg_at_10": ndcg,
        "recall_at_100": 0.9,
        "nauc_ndcg_at_10_max": 0.1,
        "main_score": ndcg,
        "hf_subset": "default",
        "languages": ["eng-Latn"],
    }
    return {
        "dataset_revision": "0228b52cf27578f30900b9e5271d331663a030d7",
        "task_name": task,
        "mteb_version": "1.18.0",
        "scores": {"test": [{**scores, **more}]},
        "evaluation_time": 4.2,
    }


def old(task: str, ndcg: float) -> dict[str, Any]:
    return {
        "mteb_dataset_name": task,
        "mteb_version": "1.0.3",
        "dataset_revision": None,
        "test": {"evaluation_time": 31.5, "ndcg_at_10": ndcg, "recall_at_100": 0.8},
    }


def written(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


def test_both_layouts(tmp_path: Path) -> None:
    a = written(tmp_path / "a.json", new("SciFact", 0.64))
    b = written(tmp_path / "b.json", old("SciFact", 0.66))
    result = compare_reported([a, b])
    assert [(m.run, m.task, m.split, m.measure, m.value) for m in result.means] == [
        ("a", "SciFact", "test", "main_score", 0.64),
        ("b", "SciFact", "test", "main_score", 0.66),
    ]
    both = compare_reported([a, b], ["ndcg_at_10", "R@100"], baseline="b")
    assert both.measures == ("nDCG@10", "R@100")
    assert both.baseline == "b"
    text = as_text(document_of(both))
    assert "0.6400 (-0.0200)" in text
    assert "no interval and no test" in text
    with pytest.raises(InputError, match=r"b\.json: no 'AP@100' among what it reports"):
        compare_reported([b, a], ["AP@100"])
    with pytest.raises(UnknownNameError):
        compare_reported([a, b], baseline="c")


def test_subsets(tmp_path: Path) -> None:
    many = new("MIRACL", 0.5, hf_subset="ar")
    many["scores"]["test"].append({"hf_subset": "de", "ndcg_at_10": 0.7, "main_score": 0.7})
    languages = {"ar": {"ndcg_at_10": 0.4}, "de": {"ndcg_at_10": 0.6}}
    older = {"mteb_dataset_name": "MIRACL", "mteb_version": "1", "test": languages}
    paths = [written(tmp_path / "a.json", many), written(tmp_path / "b.json", older)]
    values = {(m.run, m.subset): m.value for m in compare_reported(paths).means}
    assert values == {("a", "ar"): 0.5, ("a", "de"): 0.7, ("b", "ar"): 0.4, ("b", "de"): 0.6}


def test_folders_of_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for model, value in (("org__small", 0.5), ("org__large", 0.6)):
        home = tmp_path / "results" / model / "abc123"
        written(home / "model_meta.json", {"name": model.replace("__", "/")})
        for task in ("SciFact", "NFCorpus"):
            written(home / f"{task}.json", new(task, value))
    written(home / "Only.json", new("Only", 0.9))
    folders = [str(tmp_path / "results" / model) for model in ("org__small", "org__large")]
    assert compare_reported(folders).runs == ("org/small", "org/large")
    with pytest.raises(SystemExit) as stop:
        main(["compare", *folders, "-m", "nDCG@10"])
    output = capsys.readouterr()
    assert stop.value.code == 0, output.err
    assert "mean of 2 tasks that all have" in output.out
    assert "0.6000 (+0.1000)" in output.out
    assert "Only (test)" in output.out
    with pytest.raises(SystemExit):
        main(["compare", *folders, "--format", "json"])
    assert json.loads(capsys.readouterr().out)["runs"] == ["org/small", "org/large"]
    with pytest.raises(SystemExit):
        main(["compare", *folders, "--format", "csv"])
    assert "org/large,Only,test,default,main_score,0.9" in capsys.readouterr().out


def test_other_files_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels = written(tmp_path / "qrels.json", {"q1": {"d1": 1}, "q2": {"d2": 1}})
    scores = written(tmp_path / "scores.json", {"scores": {"test": [{"ndcg_at_10": 1}]}})
    assert not is_result_file(qrels)
    assert not is_result_file(scores)
    assert not is_result_file(tmp_path / "none.json")
    assert not is_result_file("-")
    result = written(tmp_path / "a.json", new("SciFact", 0.64))
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(result), str(qrels)])
    assert stop.value.code == 2
    assert "compare results with results" in capsys.readouterr().err
    other = written(tmp_path / "b.json", new("NFCorpus", 0.3))
    with pytest.raises(InputError, match="no task is in all of them; there are 'NFCorpus', 'SciF"):
        compare_reported([result, other])
