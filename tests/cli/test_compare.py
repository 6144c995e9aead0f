"""``rankscope compare``: what its JSON holds, what is shown of many runs, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Done, Rankscope

SMALL = Path(__file__).parents[1] / "data" / "small"
QRELS = str(SMALL / "qrels.tsv")
RUNS = (str(SMALL / "letters.run"), str(SMALL / "words.run"))
BY = ("--queries", str(SMALL / "queries.jsonl"), "--by")


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


def test_strata_and_seeds(compared: Any) -> None:
    labels = {
        one["label"] for part in compared(*BY, "difficulty")["strata"] for one in part["strata"]
    }
    assert "easy" in labels
    assert compared("--seeds", "all=letters")["runs"] == ["all", "words"]


def test_unjudged_documents_bound_the_difference(compared: Any) -> None:
    holes = compared("--bounds", "-m", "nDCG@10")["pairs"][0]["holes"]
    assert holes["lowest"] <= holes["difference"] <= holes["highest"]


def test_the_best_of_many_runs(rankscope: Rankscope, tmp_path: Path) -> None:
    """The table has the best runs and the baseline; JSON and csv hold all, whatever is shown."""
    (tmp_path / "qrels.txt").write_text("".join(f"q{query} 0 d 1\n" for query in range(12)))
    names = [f"run{system}" for system in range(8)]
    for system, name in enumerate(names):
        lines = [f"q{query} Q0 d 1 {(query + system) % 9} {name}\n" for query in range(12)]
        lines += [f"q{query} Q0 x 2 4 {name}\n" for query in range(12)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    paths = [f"{name}.run" for name in names]

    def run(*options: str) -> Done:
        return rankscope("compare", "qrels.txt", *paths, "-m", "RR", *options)

    shown = run("--max-systems", "2", "--baseline", "run0").stdout
    table = shown[shown.index("Means") :].splitlines()
    rows = {line.split()[0] for line in table if line.startswith("run")}
    assert len(rows & set(names)) == 3
    assert "run0" in rows
    for output in ("json", "csv"):
        whole = run("--format", output).stdout
        assert run("--format", output, "--max-systems", "2").stdout == whole
        assert all(name in whole for name in names)
    assert run("--max-systems", "0") == run()
