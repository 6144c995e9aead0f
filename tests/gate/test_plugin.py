"""The pytest plugin, in a pytest of its own within this process; its assertions alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from gate.worlds import record
from rankscope.integrations.asserting import CantTellWarning, DataWarning
from rankscope.integrations.pytest_plugin import Gatekeeper

Inner = Callable[..., tuple[int, list[str]]]

LIMITED = {f"q{number}": {"a": 1} for number in range(12)}
SECOND = {
    query_id: {"a": 1.0, "b": 2.0} if number % 3 == 0 else {"a": 2.0, "b": 1.0}
    for number, query_id in enumerate(LIMITED)
}
SESSION = f"""
import pytest
import rankscope as rs

QRELS, SECOND = {LIMITED}, {SECOND}
GOOD = {{q: {{"a": 1.0}} for q in QRELS}}
BAD = {{q: {{"x": 1.0, "a": 0.5}} for q in QRELS}}
GOLDEN = [
    {{"id": "g1", "question": "<b>@all</b> | `reset`?", "expected_ids": ["a"]}},
    {{"id": "g2", "question": "bill?", "expected_ids": ["b"]}},
]

def test_limits(rankscope):
    rankscope.assert_at_least(SECOND, {{"P@1": 0.9, "RR": 0.5, "hit@1": 0.8}}, qrels=QRELS)

def test_reached():
    rs.assert_at_least(SECOND, {{"P@1": 0.5}}, qrels=QRELS)

def test_gate(rankscope):
    texts = {{"q1": "leek soup"}}
    rankscope.assert_no_regression(GOOD, BAD, ["RR", "P@1"], qrels=QRELS, texts=texts)

def test_cant_tell(rankscope):
    rankscope.assert_no_regression(GOOD, {{**GOOD, "q1": BAD["q1"]}}, "RR", qrels=QRELS)

def test_no_answer(rankscope):
    rankscope.assert_no_regression(GOOD, "nowhere.run", qrels=QRELS)

def test_golden():
    rs.assert_at_least({{"g1": ["x"], "g2": ["b"]}}, {{"RR": 0.9}}, qrels=GOLDEN)

def test_other():
    assert 1 == 2
"""


@pytest.fixture
def inner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Inner:
    """Run tests with this plugin and no other, and return the exit code and the lines printed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("CI", "1")  # the summary is not cut
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]")

    def run(*arguments: str) -> tuple[int, list[str]]:
        (tmp_path / "test_session.py").write_text(SESSION, encoding="utf-8")
        options = ["--import-mode=importlib", "-p", "no:cacheprovider", "-W", "always"]
        plugin = ["-p", "rankscope.integrations.pytest_plugin"]
        code = pytest.main([*options, *plugin, *arguments, "test_session.py"])
        printed = capfd.readouterr()
        return int(code), (printed.out + printed.err).splitlines()

    return run


# --- a session -----------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["long", "native"])
def test_the_verdict_comes_first_in_every_style(inner: Inner, style: str) -> None:
    code, lines = inner(f"--tb={style}")
    assert code == pytest.ExitCode.TESTS_FAILED
    summary = [line.partition("::")[2] for line in lines if line.startswith("FAILED")]
    assert len(summary) == 5
    assert summary[0].startswith("test_limits - rankscope.QualityError: P@1 = 0.6667")
    assert summary[1].startswith("test_gate - rankscope.QualityError: Regression: RR")
    assert summary[2].endswith("nowhere.run: file not found")
    assert summary[4] == "test_other - assert 1 == 2"
    assert not any("/rankscope/" in line for line in lines if style != "native")
    [warning] = [line for line in lines if "CantTellWarning: " in line]
    assert "test_session.py:" in warning
    assert any("leek soup" in line for line in lines), "texts of queries"
    assert any("<b>@all</b> | `reset`? (g1)" in line for line in lines)


def test_debugging_shows_where_an_error_is_from(
    inner: Inner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKSCOPE_DEBUG", "1")
    assert any("/rankscope/" in line for line in inner("-k", "no_answer")[1])


# --- assertions alone ----------------------------------------------------------------------------


def test_all_options_reach_the_gate() -> None:
    sides = record({"AP": [0.1, 0.5, 0.9]}), record({"AP": [0.2, 0.5, 0.8]})
    with pytest.warns(CantTellWarning):
        Gatekeeper().assert_no_regression(*sides, "AP")
    with pytest.raises(AssertionError, match="tell"):
        Gatekeeper().assert_no_regression(*sides, "AP", cant_tell="fail")
    with pytest.raises(AssertionError, match="floor"):
        Gatekeeper().assert_no_regression(*sides, "AP", minimum={"AP": 0.9})
    with pytest.raises(TypeError, match="margins"):
        Gatekeeper().assert_no_regression(*sides, "AP", margins=0.9)


def test_a_limit_names_the_worst_queries() -> None:
    texts = {"q3": "leek soup"}
    assert rs.assert_at_least(SECOND, {"MRR": 0.8}, qrels=LIMITED)["RR"] > 0.83
    with pytest.raises(AssertionError) as missed:
        rs.assert_at_least(SECOND, {"hit@1": 0.9}, qrels=LIMITED, worst=2, texts=texts)
    first, _, *worst, why = str(missed.value).splitlines()
    assert first.startswith("Success@1 = 0.6667")
    assert "explain(qrels, run, 'q0', 'Success@1')" in why
    assert [line.split(maxsplit=1)[1] for line in worst] == ["q0", "leek soup (q3)"]
    with pytest.raises(rs.QualityError) as missed:
        rs.assert_at_least(SECOND, {"P@1": 0.9}, qrels=LIMITED, worst=0)
    assert "\n" not in str(missed.value)


def test_limits_of_several_runs_and_of_measures_where_lower_is_better() -> None:
    runs = {"good": {query_id: {"a": 1.0} for query_id in LIMITED}, "mixed": SECOND}
    rs.assert_at_least(runs, {"unj.1": 0.4}, qrels=LIMITED)
    with pytest.raises(AssertionError, match=r"^mixed: Unjudged@1 = 0\.3333") as missed:
        rs.assert_at_least(runs, {"unj.1": 0.3, "P@1": 0.5}, qrels=LIMITED)
    assert "good" not in str(missed.value)


SCORES = rs.evaluate(LIMITED, SECOND, "P@1")


@pytest.mark.parametrize(
    ("run", "limits", "options", "problem"),
    [
        (SCORES, {}, {}, "expected limits"),
        (SECOND, {"P@1": 0.5}, {}, "qrels="),
        (SCORES, {"P@1": 0.5}, {"qrels": LIMITED, "ties": "given"}, "qrels, ties"),
        (SCORES, {"RR": 0.5}, {}, "RR"),
        (SECOND, {"P@1": 0.5}, {"qrels": LIMITED, "texts": "texts.jsonl"}, "texts.jsonl"),
        (SECOND, {"nDCG@10": "0.5"}, {"qrels": LIMITED}, "'0.5'"),
        (SECOND, {"RR": float("nan")}, {"qrels": LIMITED}, "nan"),
        (SECOND, {"RR": True}, {"qrels": LIMITED}, "True"),
        (SECOND, 0.9, {"qrels": LIMITED}, "0.9"),
        (SECOND, {"nDCG@10": 90}, {"qrels": LIMITED}, "0.9"),
        (SECOND, {"RR": -1}, {"qrels": LIMITED}, "from 0 to 1"),
        (SECOND, {"DCG@5": -1}, {"qrels": LIMITED}, "from 0"),
        (SECOND, {"NumRelRet@5": 0.9}, {"qrels": LIMITED}, "summed"),
    ],
)
def test_what_a_limit_needs(run: Any, limits: Any, options: Any, problem: str) -> None:
    with pytest.raises(rs.RankscopeError, match=problem):
        rs.assert_at_least(run, limits, **options)


def test_a_limit_that_is_reached_warns_of_the_data() -> None:
    part = {query_id: SECOND[query_id] for query_id in list(SECOND)[1:]}
    with pytest.warns(DataWarning, match="1 of 12"):
        rs.assert_at_least(part, {"P@1": 0.5}, qrels=LIMITED)


def test_a_retriever_against_a_baseline(tmp_path: Path) -> None:
    golden = {f"question {n}?": [f"d{n}"] for n in range(12)}
    good = rs.evaluate_retriever(lambda text: [f"d{text.split()[1][:-1]}", "x", "y"], golden, k=3)
    bad = rs.evaluate_retriever(lambda _: ["x", "d1", "y"], golden, k=3)
    baseline = tmp_path / "baseline.json"
    baseline.write_text(good.record().to_json(), encoding="utf-8")
    assert Gatekeeper().assert_no_regression(baseline, good, "RR@3").answer == "no regression"
    with pytest.raises(rs.QualityError, match="RR@3"):
        Gatekeeper().assert_no_regression(baseline, bad, "RR@3")


def test_columns_are_named_as_everywhere(tmp_path: Path) -> None:
    gate = Gatekeeper()
    both = [{"ask": f"q{n}", "wanted": ["a"], "got": ["a"] if n else ["b", "a"]} for n in range(12)]
    columns: dict[str, Any] = {"query": "ask", "relevant": "wanted", "retrieved": "got"}
    scores = gate.assert_at_least(both, {"RR": 0.9}, **columns)
    assert scores["RR"] == pytest.approx(11.5 / 12)
    with pytest.raises(rs.InputError, match="retrieved="):
        gate.assert_at_least(both, {"RR": 0.9})
    gold, run = tmp_path / "gold.csv", tmp_path / "run.csv"
    gold.write_text("ask,wanted\n" + "".join(f"q{n},a\n" for n in range(12)))
    run.write_text("ask,got,points\n" + "".join(f"q{n},a,1\n" for n in range(12)))
    result = gate.assert_no_regression(run, run, "RR", qrels=gold, score="points", **columns)
    assert result.passed
    with pytest.raises(rs.InputError):
        gate.assert_no_regression(run, run, "RR", qrels=gold)
