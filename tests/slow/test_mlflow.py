"""Logging to MLflow, for real."""

from __future__ import annotations

import json
import os
import posixpath
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankscope as rs
from benchmark.world import cli, write_world
from rankscope.benchmark.run import run_benchmark
from rankscope.integrations.metrics import metrics_of
from rankscope.integrations.mlflow import files_of, log, mlflow_names, params_of

QRELS = {f"q{n}": {"a": 1, "b": 2} for n in range(12)}
GOOD = {query_id: {"b": 2.0, "a": 1.0} for query_id in QRELS}
MIXED = {
    query_id: {"a": 2.0, "b": 1.0} if n % 3 else GOOD[query_id] for n, query_id in enumerate(QRELS)
}
MEASURES = ["nDCG@10", "nDCG(gain=exp)@10"]


def results() -> dict[str, Any]:
    hostile = {"=1+1 <b>x</b>": ["a"], "*bold*": ["b"], "plain": ["c"]}
    return {
        "scores": rs.evaluate(QRELS, MIXED, MEASURES),
        "comparison": rs.compare(QRELS, {"a+b": GOOD, "a-b": MIXED}, MEASURES, resamples=100),
        "gate": rs.gate(GOOD, MIXED, MEASURES, qrels=QRELS),
        "retriever": rs.evaluate_retriever(lambda _: ["a"], hostile, k=3),
    }


RESULTS = results()


# --- what is logged ------------------------------------------------------------------------------


def test_every_query_comes_along() -> None:
    for name, result in RESULTS.items():
        files = files_of(result)
        assert list(files) == ["report.html", "record.json"]
        assert json.loads(files["record.json"])["schema"], name
    assert '"q11"' in files_of(RESULTS["scores"])["record.json"]
    assert params_of(RESULTS["gate"])["answer"] == "regression"
    with pytest.raises(TypeError, match="cannot be logged"):
        params_of(rs.explain(QRELS, GOOD, "q1", "RR"))


def test_a_benchmark(tmp_path: Path) -> None:
    world, output = write_world(tmp_path), tmp_path / "benchmarks"
    result = run_benchmark(world.config, output=output)
    params, metrics = params_of(result), metrics_of(result)
    systems = [system.name for system in result.report.systems]
    assert systems
    assert params["collection.name"] == result.report.collection.name
    (first, *_) = result.report.systems
    for mean in first.measures:
        assert mean.interval is not None
        assert metrics[f"{first.name}/{mean.measure}"] == mean.value
        assert metrics[f"{first.name}/{mean.measure}.low"] == mean.interval.low
    assert any("-vs-" in name for name in metrics)
    assert "report.html" in files_of(result)
    assert metrics_of(result.report) == metrics
    options = ("--output", output, "--format", "metrics", "--quiet")
    code, printed, _ = cli("benchmark", "run", world.config, *options)
    assert code == 0
    assert json.loads(printed) == pytest.approx(metrics)


# --- names ---------------------------------------------------------------------------------------


@given(st.text(st.sampled_from("aA.@/()=*é \n-"), min_size=1, max_size=8))
def test_names_for_mlflow_are_taken(name: str) -> None:
    plain = mlflow_names([name])[name]
    assert re.fullmatch(r"[/\w.\- ]+", plain)
    assert posixpath.normpath(plain) == plain
    assert not plain.startswith(("/", ".."))
    assert plain != "."


def test_two_names_that_would_be_the_same_are_refused() -> None:
    with pytest.raises(rs.InputError, match="a_b/AP"):
        mlflow_names(["a+b/AP", "a*b/AP"])


# --- MLflow -------------------------------------------------------------------------------------


def test_mlflow_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(rs.MissingExtraError, match=r"rankscope\[mlflow\]"):
        log(RESULTS["scores"])


def in_process(folder: Path, code: str, **environment: str) -> Any:
    """Run code with a real MLflow in a process of its own: it warns and keeps threads."""
    hidden = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    path = ":".join([str(Path(__file__).parent), *sys.path])
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=folder,
        env={**hidden, **environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Log everything to a real MLflow with a store of files, and return what it then holds."""
    if find_spec("mlflow") is None:
        pytest.skip("MLflow is not installed")
    folder = tmp_path_factory.mktemp("mlflow")
    place = (folder / "mlruns").as_uri()
    # MLflow 3.17 wants a database otherwise
    store = {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_TRACKING_URI": place}
    done = in_process(folder, REAL, **store)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


REAL = """
import json, mlflow
import rankscope as rs
from rankscope.integrations.mlflow import log
from test_mlflow import RESULTS

client = mlflow.MlflowClient()
def held(run_id):
    run = client.get_run(run_id)
    places = [file.path for top in client.list_artifacts(run_id)
              for file in (client.list_artifacts(run_id, top.path) if top.is_dir else [top])]
    experiment = mlflow.get_experiment(run.info.experiment_id).name
    return {"metrics": run.data.metrics, "params": run.data.params, "files": sorted(places),
            "name": run.info.run_name, "status": run.info.status, "experiment": experiment}

answer = {name: held(log(result)) for name, result in RESULTS.items()}
scores = RESULTS["scores"]
answer["named"] = held(log(scores, name="mine", project="search", params={"model": "m"}))
answer["named again"] = held(log(scores, project="search"))
answer["plain"] = held(log(scores))
with mlflow.start_run() as run:
    assert log(scores, prefix="dev", step=3) == run.info.run_id
    log(RESULTS["gate"], prefix="gate")
    try:
        log(scores, name="x")
    except rs.InputError as error:
        answer["refused"] = str(error)
answer["both"] = held(run.info.run_id)
print(json.dumps(answer))
"""


@pytest.mark.parametrize("name", RESULTS)
def test_mlflow_holds_all_metrics_and_files(logged: Any, name: str) -> None:
    expected = metrics_of(RESULTS[name])
    names = mlflow_names(expected)
    assert logged[name]["metrics"] == pytest.approx(
        {names[key]: value for key, value in expected.items()}
    )
    files = files_of(RESULTS[name])
    assert logged[name]["files"] == sorted(f"rankscope/{file}" for file in files)
    assert logged[name]["status"] == "FINISHED"
    assert logged[name]["params"]["rankscope.version"] == rs.__version__


def test_mlflow_runs_and_experiments(logged: Any) -> None:
    assert (logged["named"]["name"], logged["named"]["experiment"]) == ("mine", "search")
    assert logged["named"]["params"]["model"] == "m"
    assert logged["named again"]["experiment"] == "search"
    assert logged["plain"]["experiment"] == "Default"
    both = logged["both"]
    assert {"dev/nDCG_at_10", "gate/regression"} <= set(both["metrics"])
    assert {"dev/profile", "gate/profile"} <= set(both["params"])
    assert "rankscope/dev" in both["files"]
    assert logged["refused"].startswith("a run is active already")


LOGS = """
import rankscope as rs
from rankscope.integrations.mlflow import log
scores = rs.evaluate({"q": ["a"]}, {"q": ["b", "a"]}, "RR@10")
try:
    print(log(scores))
except rs.RankscopeError as error:
    print(type(error).__name__, error)
"""

needs_mlflow = pytest.mark.skipif(find_spec("mlflow") is None, reason="MLflow is not installed")


@needs_mlflow
def test_what_mlflow_refuses_is_one_sentence(tmp_path: Path) -> None:
    done = in_process(tmp_path, LOGS, MLFLOW_TRACKING_URI="nowhere://at.all")
    assert done.stdout.startswith("InputError "), done.stderr
    assert "nowhere://at.all" in done.stdout
    assert done.stdout.count("\n") == 1
