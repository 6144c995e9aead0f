"""Fusion against ranx, where it is installed: where it agrees, and where not and who is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from rankscope.runs.fusion.fuse import fuse, normalize

List = dict[str, float]
Lists = dict[str, List]


def order_of(scores: List) -> list[str]:
    """By score from high to low, then by id from high to low by bytes."""
    return sorted(sorted(scores, key=str.encode, reverse=True), key=lambda d: -scores[d])


ASK_RANX = """
import json, sys
import ranx.fusion
from ranx import Qrels, Run, fuse
from ranx.normalization import norm_switch


def plain(run):
    return {q: {d: float(s) for d, s in docs.items()} for q, docs in run.run.items()}


made = []
for runs, methods, qrels in json.load(sys.stdin):
    made.append({})
    for key, (norm, method, params) in methods.items():
        taken = [Run(run, name="run") for run in runs]
        if method is None:
            rule = norm_switch(norm)
            made[-1][key] = [plain(run) for run in (
                rule(taken) if norm == "borda" else [rule(run) for run in taken])]
            continue
        if "learns" in params:
            train = [Run({q: run[q] for q in qrels}, name="run") for run in runs]
            learnt = params.pop("learns")
            options = {"n_segments": params.pop("n_segments")} if "n_segments" in params else {}
            found = getattr(ranx.fusion, f"{method}_train")(Qrels(qrels), train, **options)
            params[learnt] = found
        made[-1][key] = plain(fuse(taken, norm=norm, method=method, params=params))
print(json.dumps(made))
"""

Asked = dict[str, tuple[str | None, str | None, dict[str, Any]]]
WEIGHTS = [0.5, 0.2, 0.3]
WEIGHTED = {"weights": WEIGHTS}

RANX: dict[str, tuple[str | None, str, dict[str, Any], dict[str, Any]]] = {
    # a name: norm, method and params of ranx, our options beside the same method and normalisation
    "rrf": (None, "rrf", {"k": 60}, {}),
    "wsum": ("min-max", "wsum", WEIGHTED, WEIGHTED),
    "wsum, rank": ("rank", "wsum", WEIGHTED, WEIGHTED),
    "wsum, sum": ("sum", "wsum", WEIGHTED, WEIGHTED),
    "wsum, max": ("max", "wsum", WEIGHTED, WEIGHTED),
    "wsum, inverted": ("min-max-inverted", "wsum", WEIGHTED, WEIGHTED),
    "wsum, borda": ("borda", "wsum", WEIGHTED, WEIGHTED),
    "sum": ("zmuv", "sum", {}, {}),
    "mnz": ("min-max", "mnz", {}, {}),
    "mnz, borda": ("borda", "mnz", {}, {}),
    "gmnz": ("min-max", "gmnz", {"gamma": 0.3}, {"gamma": 0.3}),
    "wmnz": ("min-max", "wmnz", WEIGHTED, WEIGHTED),
    "mixed": (None, "mixed", WEIGHTED, WEIGHTED),
    "anz": (None, "anz", {}, {}),
    "max": (None, "max", {}, {}),
    "min": (None, "min", {}, {}),
    "med": ("rank", "med", {}, {}),
    "isr": (None, "isr", {}, {}),
    "log_isr": (None, "log_isr", {}, {}),
    "logn_isr": (None, "logn_isr", {}, {}),
    "rbc": (None, "rbc", {"phi": 0.8}, {"p": 0.8}),
    "bordafuse": (None, "bordafuse", {}, {}),
    "w_bordafuse": (None, "w_bordafuse", WEIGHTED, WEIGHTED),
    "bayesfuse": (None, "bayesfuse", {"learns": "log_odds"}, {}),
    "mapfuse": (None, "mapfuse", {"learns": "map_scores"}, {}),
    "posfuse": (None, "posfuse", {"learns": "probs"}, {}),
    "segfuse": ("min-max", "segfuse", {"learns": "probs"}, {}),
    "slidefuse": (None, "slidefuse", {"learns": "probs", "w": 2}, {"window": 2}),
    "probfuse": (None, "probfuse", {"learns": "probs", "n_segments": 4}, {"segments": 4}),
}

NORMS = ["min-max", "min-max-inverted", "zmuv", "rank", "sum", "max", "borda"]


def shared_world() -> tuple[list[Lists], dict[str, dict[str, int]]]:
    """Three runs of 12 queries and 2 to 40 documents of 60 each, without ties; nine are judged."""
    random = np.random.default_rng(5)
    docs = [f"d{n:02}" for n in range(60)]

    def some(count: int) -> list[str]:
        chosen: list[str] = random.permutation(docs)[:count].tolist()
        return chosen

    def ranking() -> List:
        count = int(random.integers(2, 41))
        return dict(zip(some(count), random.gamma(3, size=count).tolist(), strict=True))

    runs: list[Lists] = [{f"q{q:02}": ranking() for q in range(12)} for _ in range(3)]
    return runs, {f"q{q:02}": dict.fromkeys(some(12), 1) for q in range(9)}


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
def ranx() -> list[dict[str, Any]]:
    """Ask ranx in a Python of its own, without its compiler: that would take a minute."""
    pytest.importorskip("ranx")
    runs, qrels = shared_world()
    agreed: Asked = {name: asked[:3] for name, asked in RANX.items()}
    equal = {"weights": [1, 1]}
    different: Asked = {
        "minmax": ("min-max", "wsum", equal),
        "zscore": ("zmuv", "wsum", equal),
        "combsum, max": ("max", "wsum", equal),
        "condorcet": (None, "condorcet", {}),
    }
    majority: Asked = {"condorcet": (None, "condorcet", {})}
    alone: Asked = {norm: (norm, None, {}) for norm in NORMS}
    jobs = [(runs, agreed, qrels), (DIFFERENT, different, {}), (ORDERLY, majority, {})]
    jobs.append((runs, alone, {}))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ASK_RANX],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", RANX)
def test_ranx_agrees(name: str, ranx: list[dict[str, Any]]) -> None:
    """By ranx's own names, on untied lists; trained methods on queries not trained on."""
    runs, qrels = shared_world()
    norm, method, params, options = RANX[name]
    is_trained = "learns" in params
    ours = fuse(
        runs, method=method, normalise=norm, qrels=qrels if is_trained else None, **options
    ).to_dict()
    for query_id, scores in ranx[0][name].items():
        if is_trained and query_id in qrels:
            assert ours[query_id] != pytest.approx(scores)  # ranx tests on what it trained on
        else:
            assert ours[query_id] == pytest.approx(scores, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("norm", NORMS)
def test_ranx_normalises_alike(norm: str, ranx: list[dict[str, Any]]) -> None:
    runs, _ = shared_world()
    for ours, theirs in zip(normalize(runs, norm), ranx[3][norm], strict=True):
        for query_id, scores in theirs.items():
            assert ours[query_id] == pytest.approx(scores, rel=1e-9, abs=1e-9)


def test_where_ranx_differs(ranx: list[dict[str, Any]]) -> None:
    """One query for each difference; ours is what the definition says."""
    theirs = ranx[1]
    ours = {
        name: fuse(DIFFERENT, method=name).to_dict() for name in ("minmax", "zscore", "condorcet")
    }
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
    assert theirs["combsum, max"]["negative"]["a"] == pytest.approx(-1e9)
    by_max = fuse(DIFFERENT, method="combsum", normalise="max")["negative"]
    assert by_max == {"c": 1.0, "a": 1.0, "d": 0.5, "b": 0.0}
    # A draw is won by whoever is compared first, in the order of a set of texts, which Python
    # changes from process to process: ranx always has a winner here, and not always the same.
    assert sorted(theirs["condorcet"]["majority"].values()) == [1, 2]
    assert ours["condorcet"]["majority"] == {"b": 0, "a": 0}


def test_condorcet_agrees_with_ranx_where_majorities_form_an_order(
    ranx: list[dict[str, Any]],
) -> None:
    theirs = order_of(ranx[2]["condorcet"]["q"])
    assert theirs == list(fuse(ORDERLY, method="condorcet")["q"]) == ["a", "b", "c", "d"]
