"""``rankscope power``: from scores and from assumptions."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from rankscope.cli import main
from rankscope.scoring.evaluate import evaluate

stats: Any = import_module("scipy.stats")


class Done(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Done]

QUERIES = [f"q{number:02}" for number in range(30)]
QRELS = {query_id: {"a": 1} for query_id in QUERIES}


def ranked(seed: int) -> dict[str, dict[str, float]]:
    """Return a run that has the relevant document somewhere among the first five."""
    random = np.random.default_rng(seed)
    return {
        query_id: {**{f"d{n}": float(n) for n in range(5)}, "a": float(random.integers(0, 5)) + 0.5}
        for query_id in QUERIES
    }


RUNS = {"one": ranked(1), "two": ranked(2)}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in a folder with two runs and judgments."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.json").write_text(json.dumps(QRELS))
    for name, data in RUNS.items():
        Path(f"{name}.json").write_text(json.dumps(data))

    def invoke(*arguments: str) -> Done:
        with pytest.raises(SystemExit) as stop:
            main(["power", *arguments])
        captured = capsys.readouterr()
        assert isinstance(stop.value.code, int)
        assert "Traceback" not in captured.err
        return Done(stop.value.code, captured.out, captured.err)

    return invoke


SCORES = ("qrels.json", "one.json", "two.json")


def power_of(difference: float, count: int, sd: float, alpha: float = 0.05) -> float:
    """Return the power of the paired t test, from the noncentral t distribution."""
    critical = stats.t.isf(alpha / 2, count - 1)
    shift = difference * np.sqrt(count) / sd
    found = stats.nct.sf(critical, count - 1, shift) + stats.nct.cdf(-critical, count - 1, shift)
    return float(found)


def test_from_scores(run: Run) -> None:
    done = run(*SCORES, "-m", "RR@10", "-m", "nDCG@10", "--difference", "0.1", "--format", "json")
    assert (done.code, done.err) == (0, "")
    data = json.loads(done.out)
    assert list(data["measures"]) == ["RR@10", "nDCG@10"]
    scores = evaluate(QRELS, RUNS, "RR@10")
    one, other = (np.array(list(scores.values("RR@10", name).values())) for name in RUNS)
    answer, sd = data["measures"]["RR@10"], (other - one).std(ddof=1)
    assert answer["observed"] == pytest.approx((other - one).mean())
    assert answer["sd"] == pytest.approx(sd)
    moving = (other - one)[other != one]
    share = len(moving) / 30
    assert answer["differing"] == len(moving)

    def spread(difference: float) -> float:
        """Return the deviation if only the queries that differ make the difference."""
        variance = share * moving.var(ddof=1) + difference**2 * (1 / share - 1)
        return float(np.sqrt(variance))

    smallest = answer["detectable"]["formula"]
    assert power_of(smallest, 30, spread(smallest)) == pytest.approx(0.8, abs=1e-6)
    needed = answer["needed"]["formula"]
    assert power_of(0.1, needed, spread(0.1)) >= 0.8 > power_of(0.1, needed - 1, spread(0.1))
    assert "power_observed" not in answer, "of the observed difference it says what p says"
    for both in (answer["detectable"], answer["needed"]):
        assert both["simulation"] == pytest.approx(both["formula"], rel=0.2)
    assert run(*SCORES, "-m", "RR@10", "--difference", "0.1", "--format", "json").out == run(
        *SCORES, "-m", "RR@10", "--difference", "0.1", "--format", "json"
    ).out  # fmt: skip


def test_from_scores_for_people(run: Run) -> None:
    done = run(*SCORES, "-m", "RR@10", "--difference", "0.0009")
    assert done.code == 0
    assert "over 30 queries" in done.out
    assert "formula   " in done.out
    assert "smallest difference seen with 80 % probability" in done.out
    assert "queries that show a difference of 0.0009" in done.out
    assert "too many to simulate" in done.out


def test_identical_runs(run: Run) -> None:
    done = run("qrels.json", "one.json", "one.json", "--difference", "0.1")
    assert done.code == 0
    assert "the difference never varies, so nothing can be said" in done.out
    data = json.loads(run("qrels.json", "one.json", "one.json", "--format", "json").out)
    assert data["measures"]["nDCG@10"]["detectable"] == {"formula": None, "simulation": None}


def test_one_query(run: Run) -> None:
    Path("qrels.json").write_text(json.dumps({"q00": {"a": 1}}))
    assert "one query has no spread" in run(*SCORES).out


SIZES = [part for size in (9, 50, 200, 500) for part in ("--queries", str(size))]


def test_from_assumptions(run: Run) -> None:
    done = run("--sd", "0.2", "--difference", "0.03", *SIZES, "--format", "json")
    assert (done.code, done.err) == (0, "")
    data = json.loads(done.out)
    assert power_of(0.03, data["needed"], 0.2) >= 0.8 > power_of(0.03, data["needed"] - 1, 0.2)
    assert [size["queries"] for size in data["sizes"]] == [9, 50, 200, 500]
    for size in data["sizes"]:
        assert size["power"] == pytest.approx(power_of(0.03, size["queries"], 0.2))
        assert power_of(size["detectable"], size["queries"], 0.2) == pytest.approx(0.8, abs=1e-6)


def test_the_example_of_the_documentation(run: Run) -> None:
    """What docs/how-to/choose-how-many-queries.md shows is what the command prints."""
    done = run("--sd", "0.2", "--difference", "0.03", *SIZES)
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "how-to" / "choose-how-many-queries.md").read_text("utf-8")
    assert "\n".join(line.rstrip() for line in done.out.splitlines()) in page


def test_one_side_of_the_assumptions(run: Run) -> None:
    assert "from 351 queries on" in run("--sd", "0.2", "--difference", "0.03").out
    done = run("--sd", "0.2", "--queries", "1", "--queries", "50")
    assert "none" in done.out
    assert "0.0808" in done.out
    assert "probability to see" not in done.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give QRELS and two RUNs, or --sd"),
        (["qrels.json", "one.json"], "give QRELS and two RUNs"),
        (["--sd", "0.2"], "--sd needs --difference or --queries"),
        (["--sd", "0", "--queries", "5"], "--sd must be a finite number above 0"),
        (["--sd", "nan", "--queries", "5"], "--sd must be a finite number above 0"),
        (["--sd", "0.2", "--difference", "0"], "--difference must be a finite number other than 0"),
        (["--sd", "0.2", "--difference", "1e-9"], "more than 10,000,000 queries"),
        (["--sd", "0.2", "--queries", "5", *SCORES], "--sd replaces files"),
        (["--sd", "0.2", "--queries", "5", "--alpha", "1"], "alpha must be"),
        (["--sd", "0.2", "--queries", "5", "--power", "0.01"], "power must be above alpha"),
        ([*SCORES, "--queries", "5"], "--queries goes with --sd"),
        ([*SCORES, "-m", "NumRet"], "NumRet is summed over queries"),
        (["qrels.json", "one.json", "none.json"], "none.json: file not found"),
        (["qrels.json", "-", "-"], "can be read once only"),
    ],
)
def test_a_users_mistake_exits_2(run: Run, arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
