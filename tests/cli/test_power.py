"""``rankscope power``: what it prints is what the functions of `statistics` answer."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import rankscope as rs
from conftest import Rankscope
from rankscope.statistics.power import plan_power

QRELS = {f"q{number:02}": {"a": 1} for number in range(30)}


def ranked(seed: int) -> dict[str, dict[str, float]]:
    """Return a run that has the relevant document somewhere among the first five."""
    random = np.random.default_rng(seed)
    others = {f"d{n}": float(n) for n in range(5)}
    return {query_id: {**others, "a": random.integers(0, 5) + 0.5} for query_id in QRELS}


def test_from_scores(rankscope: Rankscope, tmp_path: Path) -> None:
    runs = {"one": ranked(1), "two": ranked(2)}
    for name, data in {"qrels": QRELS, **runs}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    options = ("-m", "RR@10", "--difference", "0.1", "--format", "json")
    done = rankscope("power", "qrels.json", "one.json", "two.json", *options)
    assert (done.returncode, done.stderr) == (0, "")
    answer = rs.power(QRELS, runs["one"], runs["two"], "RR@10", target=0.1).to_dict()
    assert json.loads(done.stdout)["measures"] == answer["measures"]
    same = rankscope("power", "qrels.json", "one.json", "one.json", *options)
    detectable = json.loads(same.stdout)["measures"]["RR@10"]["detectable"]
    assert detectable is None


def test_from_assumptions(rankscope: Rankscope) -> None:
    counts = [9, 50, 200, 500]
    sizes = [part for count in counts for part in ("--queries", str(count))]
    assumed = ("power", "--sd", "0.2", "--difference", "0.03", *sizes)
    done = rankscope(*assumed, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    plan = plan_power(sd=0.2, difference=0.03, queries=counts)
    assert json.loads(done.stdout) == plan.to_dict()
