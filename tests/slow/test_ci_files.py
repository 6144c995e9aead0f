"""What other people's CI uses: the steps of the action, the GitLab job and the hook are run."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import rankscope as rs

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
GITLAB = yaml.safe_load((ROOT / "ci" / "gitlab.yml").read_text("utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))

QRELS = {f"q{n:02}": {"a": 1, "b": 2} for n in range(24)}
GOOD = {query_id: {"b": 2.0, "a": 1.0} for query_id in QRELS}
BAD = {query_id: {"x": 3.0, "y": 2.0, "a": 1.0} for query_id in QRELS}
MIXED = {
    query_id: {"a": 2.0, "b": 1.0} if n in (1, 2) else GOOD[query_id]
    for n, query_id in enumerate(QRELS)
}
HOSTILE = '@all <img src=x> | `x` ](http://evil) $(touch pwned) "'
TEXTS = dict.fromkeys(QRELS, HOSTILE)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with what the jobs compare, and a command to run them with."""
    rs.Qrels(QRELS).write(tmp_path / "qrels.tsv")
    rs.Queries(TEXTS).write(tmp_path / "queries.jsonl")
    for name, run in (("good", GOOD), ("bad", BAD), ("mixed", MIXED)):
        rs.Run(run).write(tmp_path / f"{name}.run")
    program(tmp_path / "bin" / "rankscope", f'exec "{sys.executable}" -m rankscope "$@"')
    return tmp_path


def program(path: Path, script: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def environment(place: Path) -> dict[str, str]:
    return {**os.environ, "PATH": f"{place / 'bin'}:{os.environ['PATH']}"}


# --- GitHub --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """What a run of the action left behind."""

    status: int
    outputs: dict[str, str]
    summary: str
    log: str


def run_action(place: Path, *, number: str = "", **inputs: str) -> Job:
    """Run the steps as a runner does: inputs in the environment, outputs in files, -e in bash."""
    unknown = {name.replace("_", "-") for name in inputs} - ACTION["inputs"].keys()
    assert not unknown
    known = {name: setting.get("default", "") for name, setting in ACTION["inputs"].items()}
    known |= {"command": "rankscope", "token": "t"}
    known |= {name.replace("_", "-"): value for name, value in inputs.items()}
    contexts = {
        **{f"inputs.{name}": value for name, value in known.items()},
        "github.action_path": str(ROOT),
        "github.repository": "owner/search",
        "github.event.pull_request.number": number,
    }

    def filled(text: object) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda name: contexts[name[1]], str(text))

    summary = place / "summary.md"
    summary.touch()
    log, status = "", 0
    for step in ACTION["runs"]["steps"]:
        if "if" in step and not (known["comment"] == "true" and number):
            continue
        outputs = place / "outputs"
        outputs.write_text("", encoding="utf-8")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=place / filled(step.get("working-directory", ".")),
            env={
                **environment(place),
                **{name: filled(value) for name, value in step.get("env", {}).items()},
                "RUNNER_TEMP": str(place),
                "GITHUB_OUTPUT": str(outputs),
                "GITHUB_STEP_SUMMARY": str(summary),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        for line in outputs.read_text("utf-8").splitlines():
            name, _, value = line.partition("=")
            contexts[f"steps.{step['id']}.outputs.{name}"] = value
        log += done.stdout + done.stderr
        status = done.returncode
        if status:
            break
    values = {name: filled(output["value"]) for name, output in ACTION["outputs"].items()}
    return Job(status, values, summary.read_text("utf-8"), log)


GATE = {"baseline": "good.run", "qrels": "qrels.tsv", "queries": "queries.jsonl"}


@pytest.mark.parametrize(
    ("candidate", "cant_tell", "status", "answer"),
    [
        ("good.run", "pass", 0, "no regression"),
        ("bad.run", "pass", 1, "regression"),
        ("mixed.run", "pass", 0, "can't tell"),
        ("mixed.run", "fail", 1, "can't tell"),
        ("nowhere.run", "pass", 2, "no answer"),
    ],
)
def test_the_action_answers(
    place: Path, candidate: str, cant_tell: str, status: int, answer: str
) -> None:
    job = run_action(place, **GATE, candidate=candidate, **{"cant-tell": cant_tell})
    assert (job.status, job.outputs["answer"]) == (status, answer), job.log
    assert job.summary == Path(job.outputs["report"]).read_text("utf-8")
    assert job.summary.startswith("### rankscope gate: ")
    if status < 2:
        metrics = json.loads(Path(job.outputs["metrics"]).read_text("utf-8"))
        assert metrics["RR.baseline"] == 1
        assert ET.parse(job.outputs["junit"]).getroot().tag == "testsuites"
    else:
        assert "nowhere.run: file not found" in job.summary
        assert "nowhere.run: file not found" in job.log


def test_the_summary_shows_lost_queries_and_renders_nothing_of_them(place: Path) -> None:
    job = run_action(place, **GATE, candidate="bad.run")
    text = r"`@all <img src=x> \x7c \x60x\x60 ](http://evil) $(touch pwned) \"`"
    assert text in job.summary or text.replace(r"\"", '"') in job.summary
    outside = re.sub(r"`[^`]*`", "", job.summary)
    assert "@all" not in outside
    assert "<img" not in outside
    assert not list(place.rglob("pwned"))


def test_measures_and_limits(place: Path) -> None:
    several = {"measures": "RR@10\n  nDCG@10 nDCG(gain=exp)@10", "min": "RR@10=0.2\nR@1=0.9"}
    job = run_action(place, **GATE, candidate="good.run", **several)
    assert job.status == 1
    metrics = json.loads(Path(job.outputs["metrics"]).read_text("utf-8"))
    assert {"RR@10", "nDCG@10", "nDCG(gain=exp)@10", "R@1.floor"} <= set(metrics)


def test_inputs_are_never_run(place: Path) -> None:
    attack = '$(touch pwned); `touch pwned`; "; touch pwned; #'
    for name in (
        "baseline",
        "candidate",
        "qrels",
        "queries",
        "measures",
        "min",
        "max_drop",
        "name",
    ):
        job = run_action(place, **{**GATE, "candidate": "good.run", name: attack})
        assert job.status in (0, 2), name
    assert run_action(place, **{**GATE, "candidate": "--help"}).status == 2
    assert not list(place.rglob("pwned"))


@pytest.mark.parametrize("step", ACTION["runs"]["steps"])
def test_nothing_is_interpolated_into_a_script(step: dict[str, Any]) -> None:
    assert "${{" not in step["run"]
    assert step["shell"] == "bash"
    assert "uses" not in step


@pytest.mark.parametrize(
    ("run", "limit", "status", "answer"),
    [
        ("good.run", "nDCG@10=0.5", 0, "reached"),
        ("bad.run", "nDCG@10=0.99", 1, "missed"),
        ("good.run", "nDCG@10=1.5", 2, "no answer"),
        ("good.run", "nDCG@10", 2, "no answer"),
    ],
)
def test_without_a_baseline_the_candidate_is_held_to_limits(
    place: Path, run: str, limit: str, status: int, answer: str
) -> None:
    job = run_action(place, candidate=run, qrels="qrels.tsv", min=limit)
    assert (job.status, job.outputs["answer"]) == (status, answer), job.log
    if status < 2:
        assert "nDCG@10" in job.summary
        value = json.loads(Path(job.outputs["metrics"]).read_text("utf-8"))["nDCG@10"]
        assert (value == 1) == (run == "good.run")
    if status:
        assert "    " in job.summary, "the sentence is there as code"


def test_a_name_mentions_nobody(place: Path) -> None:
    (place / "good.run").rename(place / "@all.run")
    text = (place / "@all.run").read_text("utf-8")
    (place / "@all.run").write_text(re.sub(r"\S+$", "@all", text, flags=re.M), encoding="utf-8")
    job = run_action(place, candidate="@all.run", qrels="qrels.tsv", min="nDCG@10=0.5")
    assert "| @<!-- -->all |" in job.summary
    job = run_action(place, baseline="bad.run", candidate="@all.run", qrels="qrels.tsv")
    assert "`@all`" in job.summary
    assert "@all" not in job.summary.replace("`@all`", "")


def test_a_folder_to_work_in(place: Path) -> None:
    job = run_action(
        place.parent, working_directory=place.name, **GATE, candidate="good.run",
        command=str(place / "bin" / "rankscope"),
    )  # fmt: skip
    assert job.status == 0


GH = r"""
printf '%s\n' "$*" >> "$RUNNER_TEMP/calls"
case "$*" in
  *--jq*) printf '%s' "$KNOWN" ;;
  *) for last; do :; done; cp "${last#body=@}" "$RUNNER_TEMP/body.md" ;;
esac
exit "${GH_STATUS:-0}"
"""


@pytest.mark.parametrize(("known", "method"), [("", "POST"), ("41\n57", "PATCH")])
def test_one_comment_is_written_and_then_replaced(
    place: Path, monkeypatch: pytest.MonkeyPatch, known: str, method: str
) -> None:
    program(place / "bin" / "gh", GH)
    monkeypatch.setenv("KNOWN", known)
    job = run_action(
        place, number="12", comment="true", name="a b-->@x", **GATE, candidate="bad.run"
    )
    assert job.status == 1, "the answer is given after the comment"
    listing, writing = (place / "calls").read_text("utf-8").splitlines()
    assert listing.startswith("api --paginate repos/owner/search/issues/12/comments --jq ")
    target = "issues/12/comments" if method == "POST" else "issues/comments/41"
    assert writing.startswith(f"api --method {method} repos/owner/search/{target} -F body=@")
    marker, _, body = (place / "body.md").read_text("utf-8").partition("\n")
    assert marker == "<!-- rankscope a-b----x -->"
    assert body == job.summary


def test_a_comment_that_cannot_be_written_changes_no_answer(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(place / "bin" / "gh", GH)
    monkeypatch.setenv("GH_STATUS", "1")
    job = run_action(place, number="12", comment="true", **GATE, candidate="good.run")
    assert job.status == 0
    assert "::warning::rankscope could not comment" in job.log


def test_no_comment_unless_asked_for_or_without_a_pull_request(place: Path) -> None:
    program(place / "bin" / "gh", GH)
    run_action(place, number="12", **GATE, candidate="good.run")
    run_action(place, comment="true", **GATE, candidate="good.run")
    assert not (place / "calls").exists()


# --- GitLab --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("candidate", "cant_tell", "status", "word"),
    [
        ("good.run", "pass", 0, "no regression"),
        ("bad.run", "pass", 1, "✗ regression"),
        ("mixed.run", "pass", 0, "can't tell"),
        ("mixed.run", "fail", 1, "can't tell"),
        ("nowhere.run", "pass", 2, "no answer"),
        ("$(touch pwned)", "pass", 2, "no answer"),
    ],
)
def test_the_gitlab_job(
    place: Path, candidate: str, cant_tell: str, status: int, word: str
) -> None:
    job = GITLAB["rankscope"]
    settings = {**job["variables"], "BASELINE": "good.run", "CANDIDATE": candidate}
    settings |= {"QRELS": "qrels.tsv", "QUERIES": "queries.jsonl", "MEASURES": "nDCG@10 RR@10"}
    settings["CANT_TELL"] = cant_tell
    done = subprocess.run(
        ["sh", "-ec", "\n".join(job["script"])],
        cwd=place,
        env={**environment(place), **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert word in done.stdout
    assert not list(place.rglob("pwned"))
    reports = [*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]]
    there = [name for name in reports if (place / name).exists()]
    assert there == (reports if status < 2 else ["rankscope.md", "rankscope.xml"])


# --- pre-commit ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "status"), [("good.run", 0), ("broken.run", 1)])
def test_the_hook(place: Path, name: str, status: int) -> None:
    hook = HOOKS[0]
    (place / "broken.run").write_text("q1 Q0 a 1 1.0 t\nq1 Q0 a 2 0.5 t\n", encoding="utf-8")
    assert re.search(hook["files"], name)
    assert re.search(hook["files"], f"{name}.gz")
    assert not re.search(hook["files"], "run.py")
    done = subprocess.run(
        [*hook["entry"].split(), name],
        cwd=place,
        env=environment(place),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr


@pytest.mark.parametrize(("ids", "status"), [(["a"], 0), (["a", "a"], 1)])
def test_the_hook_of_golden_sets(place: Path, ids: list[str], status: int) -> None:
    hook = HOOKS[1]
    golden = [{"question": "why?", "expected_ids": ids}]
    (place / "golden-1.json").write_text(json.dumps(golden), encoding="utf-8")
    assert re.search(hook["files"], "data/golden-1.json")
    assert not re.search(hook["files"], "golden.py")
    done = subprocess.run(
        [*hook["entry"].split(), "golden-1.json"],
        cwd=place,
        env=environment(place),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr


# --- the page about all of it --------------------------------------------------------------------


def test_the_examples_of_the_docs_name_what_there_is() -> None:
    page = (ROOT / "docs" / "how-to" / "gate-in-ci.md").read_text("utf-8")
    github, gitlab, hook = map(
        yaml.safe_load, re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S)
    )
    (step,) = (step for step in github["jobs"]["gate"]["steps"] if "with" in step)
    assert set(step["with"]) <= set(ACTION["inputs"])
    assert all(given["description"] for given in ACTION["inputs"].values())
    assert set(gitlab["rankscope"]["variables"]) <= set(GITLAB["rankscope"]["variables"])
    assert [entry["id"] for entry in hook["repos"][0]["hooks"]] == [entry["id"] for entry in HOOKS]
