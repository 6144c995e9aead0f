"""The order in which queries are given changes no mean, not even its last bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import rankscope as rs
from rankscope.scoring.rules import PROFILES

MEASURES = ["nDCG@10", "AP", "RR", "R@5", "RBP", "GMAP", "Bpref", "ERR@10", "NumRelRet", "infAP"]


def collection() -> tuple[dict[str, dict[str, int]], list[dict[str, dict[str, float]]]]:
    random = Random(20)
    docs = [f"d{n}" for n in range(30)]
    queries = [f"q{n}" for n in range(41)]
    qrels = {q: {d: random.choice([0, 1, 2]) for d in random.sample(docs, 11)} for q in queries}
    runs = [
        {q: {d: random.random() for d in random.sample(docs, 17)} for q in queries}
        for _ in range(2)
    ]
    return qrels, runs


def shuffled(data: dict[str, Any], seed: int) -> dict[str, Any]:
    return {key: data[key] for key in Random(seed).sample(sorted(data), len(data))}


def test_means() -> None:
    qrels, (run, _) = collection()
    for profile in PROFILES:
        scores = [
            rs.evaluate(shuffled(qrels, seed), shuffled(run, seed + 100), MEASURES, profile=profile)
            for seed in range(4)
        ]
        assert len({json.dumps(result.means) for result in scores}) == 1, profile


def test_files(rankscope: Callable[..., Any], tmp_path: Path) -> None:
    qrels, runs = collection()
    for kind, names in (("trec", ["q.qrels", "a.run", "b.run"]),
                        ("json", ["q.json", "a.json", "b.json"])):  # fmt: skip
        printed = set()
        for seed in range(3):
            rs.Qrels(shuffled(qrels, seed)).write(tmp_path / names[0], format=kind)
            for name, run in zip(names[1:], runs, strict=True):
                rs.Run(shuffled(run, seed), name=name[0]).write(tmp_path / name, format=kind)
            printed.add(
                rankscope("evaluate", *names, "--bounds", "--format", "json").stdout
                + rankscope("compare", *names, "--format", "json").stdout
            )
        assert len(printed) == 1
        assert "schema" in printed.pop()
