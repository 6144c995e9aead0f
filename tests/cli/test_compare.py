"""``rankscope compare``: what its JSON holds, what is shown of many runs, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import Rankscope

SMALL = Path(__file__).parents[1] / "data" / "small"
QRELS = str(SMALL / "qrels.tsv")
RUNS = (str(SMALL / "letters.run"), str(SMALL / "words.run"))


@pytest.fixture
def compared(rankscope: Rankscope) -> Any:
    """Return a function that compares two runs and returns the JSON."""

    def run(*options: str) -> Any:
        done = rankscope(
            "compare", QRELS, *RUNS, *options, "--resamples", "200", "--format", "json"
        )
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    return run


def test_json_holds_the_pair(compared: Any) -> None:
    data = compared("-m", "nDCG@10", "--seed", "3")
    assert data == compared("-m", "nDCG@10", "--seed", "3")
    assert (data["runs"], data["settings"]["seed"]) == (["letters", "words"], 3)
    [pair] = data["pairs"]
    assert pair["interval"]["low"] < pair["difference"] < pair["interval"]["high"]
    assert "holes" not in pair


def test_options_reach_the_comparison(compared: Any) -> None:
    settings = {
        "test": "t",
        "correction": "bh",
        "family": "all",
        "alpha": 0.1,
        "interval": "t",
        "level": 0.9,
        "seed": 0,
        "margin": 0.5,
    }
    options = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    data = compared(*options, "--baseline", "words")
    assert data["baseline"] == "words"
    assert settings.items() <= data["settings"].items()


def test_seeds(compared: Any) -> None:
    assert compared("--seeds", "all=letters")["runs"] == ["all", "words"]


def test_the_best_of_many_runs(rankscope: Rankscope, tmp_path: Path) -> None:
    """The first table has the best runs and the baseline, the full one all."""
    (tmp_path / "qrels.txt").write_text("".join(f"q{query} 0 d 1\n" for query in range(12)))
    for system in range(14):
        lines = [f"q{n} Q0 d 1 {(n + system) % 15} run{system}\n" for n in range(12)]
        lines += [f"q{n} Q0 x 2 4 run{system}\n" for n in range(12)]
        (tmp_path / f"run{system}.run").write_text("".join(lines))
    compare = ("compare", "qrels.txt", *(f"run{n}.run" for n in range(14)), "-m", "RR")
    shown = rankscope(*compare, "--baseline", "run13").stdout
    assert len(set(re.findall(r"^run\d+", shown, re.MULTILINE))) == 11
    assert "3 more systems" in shown
    whole = rankscope(*compare, "--baseline", "run13", "--full").stdout
    assert len(set(re.findall(r"^run\d+", whole, re.MULTILINE))) == 14
