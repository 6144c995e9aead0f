"""Experiment trackers: MLflow for real, W&B and trackio by the calls they get."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankscope as rs
from rankscope.integrations.metrics import metrics_of
from rankscope.integrations.tracking import entry_of, mlflow_names

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


def rows_of(entry: Any) -> list[dict[str, str]]:
    with entry.written() as folder:
        text = (folder / f"{entry.table_name}.csv").read_text("utf-8")
        assert json.loads((folder / "record.json").read_text("utf-8"))["schema"]
        assert "<!doctype html>" in (folder / "report.html").read_text("utf-8").lower()
    assert not folder.exists()
    return list(csv.DictReader(io.StringIO(text)))


def test_scores_come_with_every_query() -> None:
    entry = entry_of(RESULTS["scores"])
    rows = rows_of(entry)
    assert len(rows) == 12
    assert rows[0] == {
        "run": "run", "query_id": "q0", "nDCG@10": "1.0", "nDCG(gain=exp)@10": "1.0"
    }  # fmt: skip
    assert entry.params["measures"] == "nDCG@10, nDCG(gain=exp)@10"
    assert entry.params["rankscope.version"] == rs.__version__
    assert entry.metrics == metrics_of(RESULTS["scores"])


def test_a_retriever_comes_with_its_questions() -> None:
    rows = rows_of(entry_of(RESULTS["retriever"]))
    assert [row["text"] for row in rows] == ["'=1+1 <b>x</b>", "*bold*", "plain"]


def test_a_comparison_comes_with_its_pairs_and_a_gate_with_its_losses() -> None:
    pairs = rows_of(entry_of(RESULTS["comparison"]))
    assert [pair["measure"] for pair in pairs] == MEASURES
    assert pairs[0]["verdict"] == "worse"
    losses = rows_of(entry_of(RESULTS["gate"]))
    assert {loss["measure"] for loss in losses} == set(MEASURES)
    assert all(float(loss["change"]) < 0 for loss in losses)
    assert entry_of(RESULTS["gate"]).params["answer"] == "regression"


# --- names ---------------------------------------------------------------------------------------

TAKEN = re.compile(r"[/\w.\- ]*")


@given(st.sets(st.text(st.sampled_from("aA.@/()=*é \n-"), max_size=8) | st.text(max_size=300)))
def test_names_for_mlflow_are_taken_and_differ(names: set[str]) -> None:
    import posixpath

    given = mlflow_names(names)
    assert len({name.casefold() for name in given.values()}) == len(names)
    for name in given.values():
        assert TAKEN.fullmatch(name)
        assert posixpath.normpath(name) == name
        assert not name.startswith(("/", ".."))
        assert 1 <= len(name) <= 250
        assert name != "."


def test_common_names_stay_readable() -> None:
    assert list(mlflow_names(["nDCG@10", "nDCG@10.low", "bm25/RR", "nDCG(gain=exp)@10"]).values())\
        == ["nDCG_at_10", "nDCG_at_10.low", "bm25/RR", "nDCG_gain_exp_at_10"]  # fmt: skip


# --- trackers ------------------------------------------------------------------------------------


def test_an_unknown_tracker_and_a_missing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(rs.UnknownNameError, match="unknown tracker 'mlfow'; nearest: mlflow"):
        RESULTS["scores"].log("mlfow")
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(rs.MissingExtraError, match=r"pip install 'rankscope\[wandb\]'"):
        RESULTS["scores"].log("wandb")


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Log everything to a real MLflow with a store of files, and return what it then holds.

    In a process of its own: MLflow warns of its own accord, and keeps threads.
    """
    if find_spec("mlflow") is None:
        pytest.skip("MLflow is not installed")
    folder = tmp_path_factory.mktemp("mlflow")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", REAL],
        cwd=folder,
        env={
            **os.environ,
            "MLFLOW_ALLOW_FILE_STORE": "true",  # MLflow 3.17 wants a database otherwise
            "MLFLOW_TRACKING_URI": (folder / "mlruns").as_uri(),
            "PYTHONPATH": ":".join([str(Path(__file__).parent), *sys.path]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


REAL = """
import json, mlflow
import rankscope as rs
from test_tracking import RESULTS

client = mlflow.MlflowClient()
def held(run_id):
    run = client.get_run(run_id)
    places = [file.path for top in client.list_artifacts(run_id)
              for file in (client.list_artifacts(run_id, top.path) if top.is_dir else [top])]
    experiment = mlflow.get_experiment(run.info.experiment_id).name
    return {"metrics": run.data.metrics, "params": run.data.params, "files": sorted(places),
            "name": run.info.run_name, "status": run.info.status, "experiment": experiment}

answer = {name: held(result.log("mlflow")) for name, result in RESULTS.items()}
scores = RESULTS["scores"]
answer["named"] = held(scores.log("mlflow", name="mine", project="search", params={"model": "m"}))
answer["named again"] = held(scores.log("mlflow", project="search"))
answer["plain"] = held(scores.log("mlflow"))
with mlflow.start_run() as run:
    assert scores.log("mlflow", prefix="dev", step=3) == run.info.run_id
    RESULTS["gate"].log("mlflow", prefix="gate")
    try:
        scores.log("mlflow", name="x")
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
    table = entry_of(RESULTS[name]).table_name
    assert logged[name]["files"] == sorted(
        [f"rankscope/{table}.csv", "rankscope/record.json", "rankscope/report.html"]
    )
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
    assert logged["refused"].startswith("a run is active already, and name='x' would change")


class Calls(list[tuple[str, Any]]):
    """What was called, with its arguments."""

    def taking(self, name: str, answer: Any = None) -> Any:
        def call(*given: Any, **options: Any) -> Any:
            self.append((name, (given, options)))
            return answer(*given, **options) if callable(answer) else answer

        return call

    def arguments(self, name: str) -> Any:
        return next(arguments for called, arguments in self if called == name)


@pytest.mark.parametrize("is_active", [False, True])
def test_wandb(monkeypatch: pytest.MonkeyPatch, is_active: bool) -> None:
    calls = Calls()
    run = SimpleNamespace(
        id="r1",
        config=SimpleNamespace(update=calls.taking("config")),
        log=calls.taking("log"),
        log_artifact=calls.taking("log_artifact"),
        finish=calls.taking("finish"),
    )
    fake = SimpleNamespace(
        run=run if is_active else None,
        init=calls.taking("init", run),
        Table=lambda **parts: ("table", parts),
        Html=lambda text, inject: ("html", text[:15], inject),
        Artifact=lambda _, **__: SimpleNamespace(add_dir=calls.taking("add_dir")),
    )
    monkeypatch.setitem(sys.modules, "wandb", fake)
    assert RESULTS["scores"].log("wandb", step=2) == "r1"
    (values,), options = calls.arguments("log")
    assert options == {"step": 2}
    assert values["nDCG@10"] == RESULTS["scores"]["nDCG@10"]
    assert values["per_query"][1]["columns"] == ["run", "query_id", *MEASURES]
    assert values["report"] == ("html", "<!doctype html>", False)
    ended = [name for name, _ in calls if name in ("init", "finish")]
    assert ended == ([] if is_active else ["init", "finish"])
    if is_active:
        with pytest.raises(rs.InputError, match="project='p' would change nothing"):
            RESULTS["scores"].log("wandb", project="p")


def test_wandb_ends_a_run_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("no network")

    run = SimpleNamespace(config=SimpleNamespace(update=fail), finish=calls.taking("finish"))
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(run=None, init=lambda **_: run))
    with pytest.raises(rs.InputError, match="not take the result: no network; run wandb login"):
        RESULTS["gate"].log("wandb")
    assert [name for name, _ in calls] == ["finish"]


@pytest.mark.parametrize("is_active", [False, True])
def test_trackio(monkeypatch: pytest.MonkeyPatch, is_active: bool) -> None:
    calls = Calls()
    run = SimpleNamespace(name="calm-river", config={})
    current = SimpleNamespace(get=lambda: run if is_active else None)
    fake = SimpleNamespace(
        context_vars=SimpleNamespace(current_run=current),
        init=calls.taking("init", run),
        log=calls.taking("log"),
        log_artifact=calls.taking(
            "log_artifact", lambda folder, **_: sorted(path.name for path in folder.iterdir())
        ),
        finish=calls.taking("finish"),
        Table=lambda **parts: parts,
    )
    monkeypatch.setitem(sys.modules, "trackio", fake)
    assert RESULTS["retriever"].log("trackio", prefix="dev") == "calm-river"
    (values,), _ = calls.arguments("log")
    assert values["dev/failing"] == 2
    assert values["dev/per_query"]["data"][1][2] == r"\*bold\*", "it is not taken for Markdown"
    assert run.config["dev/k"] == "3"
    ended = [name for name, _ in calls if name in ("init", "finish")]
    assert ended == ([] if is_active else ["init", "finish"])


def log_in_process(folder: Path, code: str, **environment: str) -> Any:
    """Log the scores with a real MLflow, in a process of its own, and return it."""
    hidden = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{code}\n{LOGS}"],
        cwd=folder,
        env={
            **hidden,
            **environment,
            "PYTHONPATH": ":".join([str(Path(__file__).parent), *sys.path]),
        },
        capture_output=True,
        text=True,
        check=False,
    )


LOGS = """
import rankscope as rs
scores = rs.evaluate({"q": ["a"]}, {"q": ["b", "a"]}, "RR@10")
try:
    print(scores.log("mlflow"))
except rs.RankscopeError as error:
    print(type(error).__name__, error)
"""

needs_mlflow = pytest.mark.skipif(find_spec("mlflow") is None, reason="MLflow is not installed")


@needs_mlflow
@pytest.mark.skipif(find_spec("alembic") is None, reason="the extra mlflow is not whole")
def test_the_default_store_works_with_the_extra(tmp_path: Path) -> None:
    done = log_in_process(tmp_path, "")
    assert re.fullmatch(r"[0-9a-f]{32}\n", done.stdout), done.stderr
    assert (tmp_path / "mlflow.db").exists()


@needs_mlflow
def test_a_database_without_its_packages(tmp_path: Path) -> None:
    hide = "import sys; sys.modules['sqlalchemy'] = None"
    hide += "; import importlib.util as util; known = util.find_spec"
    hide += "; util.find_spec = lambda name: None if name == 'sqlalchemy' else known(name)"
    done = log_in_process(tmp_path, hide)
    assert done.stdout == (
        "MissingExtraError MLflow's store (sqlite) needs the package sqlalchemy; install it with: "
        "pip install 'rankscope[mlflow]'\n"
    ), done.stderr


@needs_mlflow
def test_what_a_tracker_refuses_is_one_sentence(tmp_path: Path) -> None:
    done = log_in_process(tmp_path, "", MLFLOW_TRACKING_URI="nowhere://at.all")
    assert done.stdout.startswith("InputError mlflow did not take the result: "), done.stderr
    assert done.stdout.endswith(
        "; check MLFLOW_TRACKING_URI, and that its server or file can be written\n"
    )
    assert "nowhere://at.all" in done.stdout
