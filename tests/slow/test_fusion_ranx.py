"""Fusion against ranx, where it is installed: where it agrees, and where not and who is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from rankscope.runs.fusion.fuse import fuse

List = dict[str, float]
Lists = dict[str, List]


def order_of(scores: List) -> list[str]:
    """By score from high to low, then by id from high to low by bytes."""
    return sorted(sorted(scores, key=str.encode, reverse=True), key=lambda d: -scores[d])


ASK_RANX = """
import json, sys
from ranx import Qrels, Run, fuse
from ranx.fusion import probfuse_train

made = []
for runs, methods, qrels in json.load(sys.stdin):
    made.append({})
    for key, (norm, method, params) in methods.items():
        taken = [Run(run, name="run") for run in runs]
        if method == "probfuse":
            train = [Run({q: run[q] for q in qrels}, name="run") for run in runs]
            params = {"probs": probfuse_train(Qrels(qrels), train, **params)}
        fused = fuse(taken, norm=norm, method=method, params=params)
        scores = {q: {d: float(s) for d, s in docs.items()} for q, docs in fused.run.items()}
        made[-1][key] = scores
print(json.dumps(made))
"""

Asked = dict[str, tuple[str | None, str, dict[str, Any]]]
WEIGHTS = [0.5, 0.2, 0.3]

RANX: dict[str, tuple[str | None, str, dict[str, Any], dict[str, Any]]] = {
    # ours: norm, method and params of ranx, our options
    "rrf": (None, "rrf", {"k": 60}, {}),
    "minmax": ("min-max", "wsum", {"weights": WEIGHTS}, {"weights": WEIGHTS}),
    "rank": ("rank", "wsum", {"weights": WEIGHTS}, {"weights": WEIGHTS}),
    "sum": ("sum", "wsum", {"weights": WEIGHTS}, {"weights": WEIGHTS}),
    "max": ("max", "wsum", {"weights": WEIGHTS}, {"weights": WEIGHTS}),
    "combsum": ("zmuv", "sum", {}, {"normalise": "zscore"}),
    "combmnz": ("min-max", "mnz", {}, {"normalise": "minmax"}),
    "combanz": (None, "anz", {}, {}),
    "combmax": (None, "max", {}, {}),
    "combmin": (None, "min", {}, {}),
    "combmed": ("rank", "med", {}, {"normalise": "rank"}),
    "isr": (None, "isr", {}, {}),
    "logisr": (None, "logn_isr", {"sigma": 0.01}, {"sigma": 0.01}),
    "rbc": (None, "rbc", {"phi": 0.8}, {"p": 0.8}),
    "borda": (None, "w_bordafuse", {"weights": WEIGHTS}, {"weights": WEIGHTS}),
    "condorcet": (None, "condorcet", {}, {}),
    "probfuse": (None, "probfuse", {"n_segments": 5}, {"segments": 5}),
}


def shared_world() -> tuple[list[Lists], dict[str, dict[str, int]]]:
    """Three runs of 8 queries and 10 documents of 15 each, without ties; the first five judged."""
    random = np.random.default_rng(5)
    docs = [f"d{n:02}" for n in range(15)]

    def some(count: int) -> list[str]:
        chosen: list[str] = random.permutation(docs)[:count].tolist()
        return chosen

    runs: list[Lists] = [
        {f"q{q}": dict(zip(some(10), random.gamma(3, size=10), strict=True)) for q in range(8)}
        for _ in range(3)
    ]
    return runs, {f"q{q}": dict.fromkeys(some(4), 1) for q in range(5)}


DIFFERENT: list[Lists] = [
    {
        "one": {"a": 0.9},
        "negative": {"a": -1.0, "b": -2.0},
        "list": {"a": 5.0, "b": 4.0, "c": 0.0},
        "majority": {"a": 3.0, "b": 2.0},
    },
    {
        "one": {"b": 3.0, "a": 2.0, "c": 1.0},
        "negative": {"c": 1.0, "d": 0.5},
        "list": {"d": 5.0, "b": 0.0},
        "majority": {"b": 3.0, "a": 2.0},
    },
]

ORDERLY: list[Lists] = [
    {"q": {d: -float(at) for at, d in enumerate(docs)}} for docs in ("abcd", "bacd", "acbd")
]


@pytest.fixture(scope="module")
def ranx() -> list[dict[str, Lists]]:
    """Ask ranx in a Python of its own, without its compiler: that would take a minute."""
    pytest.importorskip("ranx")
    runs, qrels = shared_world()
    agreed: Asked = {name: asked[:3] for name, asked in RANX.items()}
    equal = {"weights": [1, 1]}
    different: Asked = {
        "minmax": ("min-max", "wsum", equal),
        "zscore": ("zmuv", "wsum", equal),
        "max": ("max", "wsum", equal),
        "condorcet": (None, "condorcet", {}),
    }
    majority: Asked = {"condorcet": (None, "condorcet", {})}
    jobs = [(runs, agreed, qrels), (DIFFERENT, different, {}), (ORDERLY, majority, {})]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ASK_RANX],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    found: list[dict[str, Lists]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", [name for name in RANX if name != "condorcet"])
def test_ranx_agrees(name: str, ranx: list[dict[str, Lists]]) -> None:
    """On untied lists with positive scores, and for probfuse on queries not trained on."""
    runs, qrels = shared_world()
    options = RANX[name][3] | ({"qrels": qrels} if name == "probfuse" else {})
    ours = fuse(runs, method=name, **options).to_dict()
    for query_id, scores in ranx[0][name].items():
        if name == "probfuse" and query_id in qrels:
            assert ours[query_id] != pytest.approx(scores)  # ranx tests on what it trained on
        else:
            assert ours[query_id] == pytest.approx(scores)


def test_where_ranx_differs(ranx: list[dict[str, Lists]]) -> None:
    """One query for each difference; ours is what the definition says."""
    theirs = ranx[1]
    ours = {name: fuse(DIFFERENT, method=name).to_dict() for name in theirs}
    # A list of one document is 0/0. ranx makes it 0: as if the document had not been returned.
    assert theirs["minmax"]["one"]["a"] == 0.5
    assert ours["minmax"]["one"]["a"] == 1.5
    # By z-score 0 is the mean of a list. ranx gives it to whatever a list lacks, so that an unseen
    # document stands above the worse half of those seen: d gains 0 where c, which was seen, loses.
    assert theirs["zscore"]["list"]["d"] == pytest.approx(1.0)
    assert theirs["zscore"]["list"]["c"] < -1.0
    assert ours["zscore"]["list"]["d"] == pytest.approx(1.0 + theirs["zscore"]["list"]["c"])
    assert ours["zscore"]["list"]["c"] == pytest.approx(theirs["zscore"]["list"]["c"] - 1.0)
    # ranx divides by the highest score or 1e-9: negative scores explode, below all others.
    assert theirs["max"]["negative"]["a"] == pytest.approx(-1e9)
    assert ours["max"]["negative"] == {"c": 1.0, "a": 1.0, "d": 0.5, "b": 0.0}
    # A draw is won by whoever is compared first, in the order of a set of texts, which Python
    # changes from process to process: ranx always has a winner here, and not always the same.
    assert sorted(theirs["condorcet"]["majority"].values()) == [1, 2]
    assert ours["condorcet"]["majority"] == {"b": 0, "a": 0}


def test_condorcet_agrees_with_ranx_where_majorities_form_an_order(
    ranx: list[dict[str, Lists]],
) -> None:
    theirs = order_of(ranx[2]["condorcet"]["q"])
    assert theirs == list(fuse(ORDERLY, method="condorcet")["q"]) == ["a", "b", "c", "d"]
