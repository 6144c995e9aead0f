"""Logging to MLflow, for real."""

from __future__ import annotations

import csv
import io
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
from rankscope.integrations.mlflow import facts_of, log, mlflow_names

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
        "comparison": rs.compare(QRELS, {"a+b": GOOD, "a*b": MIXED}, MEASURES, resamples=100),
        "gate": rs.gate(GOOD, MIXED, MEASURES, qrels=QRELS),
        "retriever": rs.evaluate_retriever(lambda _: ["a"], hostile, k=3),
    }


RESULTS = results()


# --- what is logged ------------------------------------------------------------------------------


def test_every_query_comes_along() -> None:
    texts = {}
    for name in ("scores", "retriever"):
        files = facts_of(RESULTS[name]).files
        assert json.loads(files["record.json"])["schema"]
        texts[name] = list(csv.DictReader(io.StringIO(files["per_query.csv"])))
    first = ("run", "q0", "1.0", "1.0")
    assert tuple(texts["scores"][0].values()) == first
    assert [row["text"] for row in texts["retriever"]] == ["'=1+1 <b>x</b>", "*bold*", "plain"]
    assert facts_of(RESULTS["gate"]).params["answer"] == "regression"


def test_a_benchmark(tmp_path: Path) -> None:
    world, output = write_world(tmp_path), tmp_path / "benchmarks"
    result = run_benchmark(world.config, output=output)
    facts, metrics = facts_of(result), metrics_of(result)
    systems = [system.name for system in result.report.systems]
    assert facts.params["systems"] == ", ".join(systems)
    assert facts.params["collection"] == result.report.collection.name
    (first, *_) = result.report.systems
    for mean in first.measures:
        assert mean.interval is not None
        assert metrics[f"{first.name}/{mean.measure}"] == mean.value
        assert metrics[f"{first.name}/{mean.measure}.low"] == mean.interval.low
    assert any("-vs-" in name for name in metrics)
    rows = list(csv.DictReader(io.StringIO(facts.files["per_query.csv"])))
    measures = [info.measure for info in result.report.measures]
    assert list(rows[0]) == ["run", "query_id", *measures]
    assert len(rows) == len(systems) * result.report.collection.queries
    values = [float(row[measures[0]]) for row in rows if row["run"] == first.name]
    assert sum(values) / len(values) == pytest.approx(first.measures[0].value)
    assert metrics_of(result.report) == metrics
    options = ("--output", output, "--format", "metrics", "--quiet")
    code, printed, _ = cli("benchmark", "run", world.config, *options)
    assert code == 0
    assert json.loads(printed) == pytest.approx(metrics)


# --- names ---------------------------------------------------------------------------------------


@given(st.sets(st.text(st.sampled_from("aA.@/()=*é \n-"), max_size=8) | st.text(max_size=300)))
def test_names_for_mlflow_are_taken_and_differ(names: set[str]) -> None:
    given = mlflow_names(names)
    assert len({name.casefold() for name in given.values()}) == len(names)
    for name in given.values():
        assert re.fullmatch(r"[/\w.\- ]{1,250}", name)
        assert posixpath.normpath(name) == name
        assert not name.startswith(("/", ".."))
        assert name != "."


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
    files = facts_of(RESULTS[name]).files
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
def test_a_database_without_its_packages(tmp_path: Path) -> None:
    hide = "import sys; sys.modules['sqlalchemy'] = None"
    hide += "; import importlib.util as util; known = util.find_spec"
    hide += "; util.find_spec = lambda name: None if name == 'sqlalchemy' else known(name)"
    done = in_process(tmp_path, hide + LOGS)
    assert done.stdout.startswith("MissingExtraError "), done.stderr
    assert "sqlalchemy" in done.stdout


@needs_mlflow
def test_what_mlflow_refuses_is_one_sentence(tmp_path: Path) -> None:
    done = in_process(tmp_path, LOGS, MLFLOW_TRACKING_URI="nowhere://at.all")
    assert done.stdout.startswith("InputError "), done.stderr
    assert "nowhere://at.all" in done.stdout
    assert done.stdout.count("\n") == 1
