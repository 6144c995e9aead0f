"""The order in which queries are given changes no mean, not even its last bit."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import rankscope as rs
from rankscope.cli import main

MEASURES = ["nDCG@10", "AP", "RR", "R@5", "RBP", "GMAP", "Bpref", "ERR@10", "NumRelRet", "infAP"]
PROFILES = ["rankscope", "trec_eval-9", "trec_eval-10", "ir_measures", "ranx", "beir"]


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


@pytest.mark.parametrize("profile", PROFILES)
def test_means(profile: str) -> None:
    qrels, (run, _) = collection()
    scores = [
        rs.evaluate(shuffled(qrels, seed), shuffled(run, seed + 100), MEASURES, profile=profile)
        for seed in range(6)
    ]
    assert len({json.dumps(result.means) for result in scores}) == 1


@pytest.mark.parametrize("kind", ["trec", "json"])
@pytest.mark.parametrize("command", ["evaluate", "evaluate --bounds", "compare"])
def test_files(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    command: str,
) -> None:
    qrels, runs = collection()
    monkeypatch.chdir(tmp_path)
    printed = set()
    for seed in range(4):
        given: list[dict[str, Any]] = [qrels, *runs]
        tables = [shuffled(table, seed) for table in given]
        names = (
            ["qrels.txt", "a.run", "b.run"] if kind == "trec" else ["q.json", "a.json", "b.json"]
        )
        for name, table in zip(names, tables, strict=True):
            if kind == "json":
                text = json.dumps(table)
            elif name == "qrels.txt":
                text = "".join(
                    f"{q} 0 {d} {g}\n" for q, row in table.items() for d, g in row.items()
                )
            else:
                lines = (
                    f"{q} Q0 {d} 0 {s!r} {name[0]}\n" for q in table for d, s in table[q].items()
                )
                text = "".join(lines)
            Path(name).write_text(text)
        word, *flags = command.split()
        with pytest.raises(SystemExit):
            main([word, *names, *flags, "--format", "json"])
        printed.add(capsys.readouterr().out)
    assert len(printed) == 1
    assert json.loads(printed.pop())["schema"]
