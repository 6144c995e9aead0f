"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from gate.worlds import record, world
from rankscope.integrations.asserting import DataWarning, UndecidedWarning, listeners
from rankscope.integrations.pytest_plugin import Gatekeeper
from rankscope.records.assertions import AssertionReport

pytest_plugins = ["pytester"]

Inner = Callable[..., pytest.RunResult]


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Inner:
    """Run tests with this plugin and no other."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(code: str, *arguments: str) -> pytest.RunResult:
        pytester.makepyfile(code)
        return pytester.runpytest_subprocess(
            "-p", "rankscope.integrations.pytest_plugin", *arguments
        )

    return run


def test_a_regression_fails_with_the_table(pytester: pytest.Pytester, inner: Inner) -> None:
    for name, data in zip(("base.json", "new.json"), world(100, drop=0.05), strict=True):
        (pytester.path / name).write_text(json.dumps(data))
    result = inner(
        """
        def test_no_regression(rankscope):
            rankscope.assert_no_regression("base.json", "new.json", ["nDCG@10"])
        """,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *rankscope: regression: nDCG@10 changed by -0.0*: worse, and by more than 0.01*",
            "E *measure *baseline *candidate *difference*answer",
            "E *nDCG@10 * regression",
            "E *nDCG@10: * of 100 queries lost*",
            "E *query *baseline *candidate *change",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py:*")


def test_passes_warnings_and_what_cannot_be_compared(inner: Inner) -> None:
    result = inner(
        """
        import pytest
        import rankscope as rs

        QRELS = {f"q{n}": {"a": 1, "b": 2} for n in range(12)}
        GOOD = {q: {"b": 2.0, "a": 1.0} for q in QRELS}
        MIXED = {q: {"a": 2.0, "b": 1.0} if q in ("q1", "q2") else GOOD[q] for q in QRELS}

        def test_identical(rankscope):
            result = rankscope.assert_no_regression(GOOD, GOOD, qrels=QRELS)
            assert result.checks[0].p == 1

        def test_scores(rankscope):
            one, other = (rs.evaluate(QRELS, run, "nDCG@10") for run in (MIXED, GOOD))
            with pytest.warns(UserWarning, match="undecided: nDCG@10 changed by"):
                rankscope.assert_no_regression(one, other)

        def test_warns(rankscope):
            rankscope.assert_no_regression(GOOD, MIXED, "nDCG@10", qrels=QRELS)

        def test_an_answer_is_required(rankscope):
            with pytest.raises(AssertionError, match="undecided .counted as a failure.: nDCG@10"):
                rankscope.assert_no_regression(GOOD, MIXED, qrels=QRELS, undecided="fail")

        def test_other_judgments(rankscope):
            one = rs.evaluate(QRELS, GOOD, "nDCG@10")
            with pytest.raises(rs.InputError, match="not comparable: .*judgments"):
                rankscope.assert_no_regression(one, GOOD, qrels={"q1": {"a": 1}})
        """,
    )
    result.assert_outcomes(passed=5, warnings=1)
    result.stdout.fnmatch_lines(
        ["*test_passes_warnings*.py:18: UndecidedWarning: undecided: nDCG@10 changed by*"]
    )


def test_the_fixture_is_documented(inner: Inner) -> None:
    result = inner("", "--fixtures")
    result.stdout.fnmatch_lines(["rankscope * -- *", "*assert_no_regression*"])


def test_all_options_reach_the_gate() -> None:
    sides = record({"AP": [0.1, 0.5, 0.9]}), record({"AP": [0.2, 0.5, 0.8]})
    with pytest.raises(AssertionError, match="its floor is"):
        Gatekeeper().assert_no_regression(*sides, "AP", minimum={"AP": 0.9})
    with pytest.raises(TypeError, match="margins"):
        Gatekeeper().assert_no_regression(*sides, "AP", margins=0.9)


def test_a_warning_is_of_its_own_kind() -> None:
    sides = record({"AP": [0.1, 0.5, 0.9]}), record({"AP": [0.2, 0.5, 0.8]})
    with pytest.warns(UndecidedWarning, match="2 of 3 queries differ"):
        Gatekeeper().assert_no_regression(*sides, "AP")


def test_nothing_heavy_is_imported() -> None:
    code = "import rankscope.integrations.pytest_plugin, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"numpy", "scipy", "polars", "rich"} & set(done.stdout.split()) == set()


LIMITED = {f"q{number}": {"a": 1} for number in range(12)}
SECOND = {
    query_id: {"a": 1.0, "b": 2.0} if number % 3 == 0 else {"a": 2.0, "b": 1.0}
    for number, query_id in enumerate(LIMITED)
}


def test_a_limit_fails_with_the_worst_queries(inner: Inner) -> None:
    result = inner(
        f"""
        def test_search_is_good(rankscope):
            qrels, run = {LIMITED}, {SECOND}
            assert rankscope.assert_at_least(run, {{"MRR": 0.8}}, qrels=qrels)["RR"] > 0.83
            rankscope.assert_at_least(
                run, {{"MRR": 0.8, "hit@1": 0.9}}, qrels=qrels, worst=2, texts={{"q3": "leek soup"}}
            )
        """,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *rankscope: Success@1 = 0.6667, below the limit of 0.9; 95% interval [[]0.*]",
            "E *2 queries with the worst Success@1:",
            "E *  0.0000  q0",
            "E *  0.0000  leek soup (q3)",
        ]
    )
    result.stdout.no_fnmatch_line("*asserting.py:*")


def test_limits_of_several_runs_and_of_measures_where_lower_is_better() -> None:
    runs = {"good": {query_id: {"a": 1.0} for query_id in LIMITED}, "mixed": SECOND}
    rs.assert_at_least(runs, {"unj.1": 0.4}, qrels=LIMITED)
    with pytest.raises(AssertionError) as missed:
        rs.assert_at_least(runs, {"unj.1": 0.3, "P@1": 0.5}, qrels=LIMITED)
    first, *_ = str(missed.value).splitlines()
    assert first.startswith("mixed: Unjudged@1 = 0.3333, above the limit of 0.3; 95% interval [")
    assert "good" not in str(missed.value)


def test_what_a_limit_needs() -> None:
    scores = rs.evaluate(LIMITED, SECOND, "P@1")
    with pytest.raises(rs.InputError, match="no limit was given"):
        rs.assert_at_least(scores, {})
    with pytest.raises(rs.InputError, match="a run needs qrels="):
        rs.assert_at_least(SECOND, {"P@1": 0.5})
    with pytest.raises(rs.InputError, match="scores already, and qrels, ties would change nothing"):
        rs.assert_at_least(scores, {"P@1": 0.5}, qrels=LIMITED, ties="given")
    with pytest.raises(rs.UnknownNameError, match="RR"):
        rs.assert_at_least(scores, {"RR": 0.5})


BAD_LIMITS = {
    "a text": ({"nDCG@10": "0.5"}, "the limit of nDCG@10 must be a finite number, not '0.5'"),
    "no number": ({"RR": float("nan")}, "the limit of RR must be a finite number, not nan"),
    "a bool": ({"RR": True}, "the limit of RR must be a finite number, not True"),
    "nothing": ({"RR": None}, "the limit of RR must be a finite number, not None"),
    "no measure": (0.9, "expected limits by measure, such as {'nDCG@10': 0.35}, got 0.9"),
    "percent": (
        {"nDCG@10": 90},
        "the limit of nDCG@10 must be from 0 to 1, as its values are, not 90; for 90% write 0.9",
    ),
    "not to be missed": ({"RR": -1}, "the limit of RR must be from 0 to 1, as its values are"),
    "open above": ({"DCG@5": -1}, "the limit of DCG@5 must be at least 0, as its values are"),
    "a sum": ({"NumRelRet@5": 0.9}, "NumRelRet@5 is summed over queries, and grows with their"),
}


@pytest.mark.parametrize(("limits", "problem"), BAD_LIMITS.values(), ids=list(BAD_LIMITS))
def test_a_limit_must_be_one_that_can_be_reached_and_missed(limits: Any, problem: str) -> None:
    heard: list[Any] = []
    listeners.append(heard.append)
    try:
        with pytest.raises(rs.InputError, match=re.escape(problem)):
            rs.assert_at_least(SECOND, limits, qrels=LIMITED)
    finally:
        listeners.remove(heard.append)
    [assertion] = heard
    assert assertion.outcome == "no answer"
    assert problem in assertion.verdict


def test_a_limit_that_is_reached_warns_of_the_data() -> None:
    part = {query_id: SECOND[query_id] for query_id in list(SECOND)[1:]}
    with pytest.warns(DataWarning, match="1 of 12 judged queries are missing"):
        rs.assert_at_least(part, {"P@1": 0.5}, qrels=LIMITED)


# --- what a user reads ---------------------------------------------------------------------------

SESSION = f"""
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

def test_no_answer(rankscope):
    rankscope.assert_no_regression(GOOD, "nowhere.run", qrels=QRELS)

def test_golden():
    rs.assert_at_least({{"g1": ["x"], "g2": ["b"]}}, {{"RR": 0.9}}, qrels=GOLDEN)

def test_other():
    assert 1 == 2
"""


@pytest.mark.parametrize("style", ["long", "short", "native"])
def test_the_verdict_comes_first_in_every_style(
    inner: Inner, monkeypatch: pytest.MonkeyPatch, style: str
) -> None:
    monkeypatch.setenv("CI", "1")  # the summary is not cut
    result = inner(SESSION, f"--tb={style}")
    result.assert_outcomes(failed=5, passed=1)
    lines = result.stdout.lines
    summary = [line.partition("::")[2] for line in lines if line.startswith("FAILED")]
    assert summary[0].startswith(
        "test_limits - rankscope: P@1 = 0.6667, below the limit of 0.9; 95% interval [0."
    )
    assert summary[0].endswith("; 1 more limit missed")
    assert summary[1].startswith("test_gate - rankscope: regression: RR changed by -0.5")
    assert summary[1].endswith("; 1 more reason")
    assert summary[2].endswith("Error: nowhere.run: file not found")
    assert summary[4] == "test_other - assert 1 == 2"
    assert not any("QualityError: " in line for line in lines)
    assert not any("/rankscope/" in line for line in lines if style != "native")


def test_questions_of_a_golden_set_are_named_by_their_texts(inner: Inner) -> None:
    result = inner(SESSION, "-k", "golden or gate")
    result.stdout.fnmatch_lines(["E *q1 *leek soup *1.0000 *0.5000 *-0.5000"])
    result.stdout.fnmatch_lines(["E *0.0000  <b>@all</b> | `reset`[?] (g1)"])


OUTCOMES = {
    "test_gate": "failed",
    "test_golden": "failed",
    "test_limits": "failed",
    "test_no_answer": "no answer",
    "test_reached": "passed",
}


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")], ids=["alone", "xdist"])
def test_one_report_of_the_whole_session(
    pytester: pytest.Pytester, inner: Inner, workers: tuple[str, ...]
) -> None:
    target = pytester.path / "out" / "report.json"
    result = inner(SESSION, *workers, f"--rankscope-report={target}")
    result.stdout.fnmatch_lines([f"*rankscope report: {target}*"])
    report = AssertionReport.from_data(json.loads(target.read_text("utf-8")), source="report")
    outcomes = {
        assertion.test.partition("::")[2]: assertion.outcome for assertion in report.assertions
    }
    assert outcomes == OUTCOMES
    assert list(outcomes) == sorted(outcomes)
    gate = next(assertion.gate for assertion in report.assertions if assertion.gate)
    assert gate.answer == "regression"
    golden = next(assertion for assertion in report.assertions if "golden" in assertion.test)
    assert golden.texts == {"g1": "<b>@all</b> | `reset`?", "g2": "bill?"}


def test_a_report_as_markdown_and_as_html(pytester: pytest.Pytester, inner: Inner) -> None:
    markdown, html = pytester.path / "report.md", pytester.path / "report.html"
    inner(SESSION, f"--rankscope-report={markdown}")
    text = markdown.read_text("utf-8")
    assert text.startswith("# rankscope assertions: ✗ 1 passed, 3 failed, 1 no answer\n")
    assert r"| `<b>@all</b> \x7c \x60reset\x60?` |" in text, "nothing in it is markup"
    assert "nowhere.run: file not found" in text
    assert "leek soup" in text
    inner(SESSION, f"--rankscope-report={html}")
    text = html.read_text("utf-8")
    assert "&lt;b&gt;@all&lt;/b&gt;" in text
    assert "<b>@all" not in text


def test_a_report_of_nothing_says_so(pytester: pytest.Pytester, inner: Inner) -> None:
    inner("def test_other(): pass", "--rankscope-report=report.md")
    text = (pytester.path / "report.md").read_text("utf-8")
    assert text.startswith("no test called")


def test_a_report_needs_a_suffix(inner: Inner) -> None:
    result = inner("def test_other(): pass", "--rankscope-report=report.txt")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --rankscope-report must end with .html, .md or .json*"])


def test_debugging_shows_where_an_error_is_from(
    inner: Inner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKSCOPE_DEBUG", "1")
    result = inner(SESSION, "-k", "no_answer")
    assert any("/rankscope/" in line for line in result.stdout.lines)


def test_a_retriever_against_a_baseline(tmp_path: Path) -> None:
    golden = {f"question {n}?": [f"d{n}"] for n in range(12)}
    good = rs.evaluate_retriever(lambda text: [f"d{text.split()[1][:-1]}", "x", "y"], golden, k=3)
    bad = rs.evaluate_retriever(lambda _: ["x", "d1", "y"], golden, k=3)
    baseline = tmp_path / "baseline.json"
    baseline.write_text(good.scores.record().to_json(), encoding="utf-8")
    assert Gatekeeper().assert_no_regression(baseline, good, "RR@3").answer == "no regression"
    with pytest.raises(rs.QualityError, match=r"^regression: RR@3 changed by -0\.9"):
        Gatekeeper().assert_no_regression(baseline, bad, "RR@3")


def test_collecting_writes_no_report(pytester: pytest.Pytester, inner: Inner) -> None:
    inner(SESSION, "--rankscope-report=report.md", "--collect-only")
    assert not (pytester.path / "report.md").exists()


def test_a_wrong_file_of_texts_is_noticed_before_it_is_needed() -> None:
    good = {query_id: ["a"] for query_id in LIMITED}
    with pytest.raises(rs.InputError, match=r"texts\.jsonl: file not found"):
        rs.assert_at_least(good, {"P@1": 0.5}, qrels=LIMITED, texts="texts.jsonl")
    with pytest.raises(rs.InputError, match=r"texts\.jsonl: file not found"):
        Gatekeeper().assert_no_regression(good, good, qrels=LIMITED, texts="texts.jsonl")


def test_no_query_is_listed_if_none_is_wanted() -> None:
    with pytest.raises(rs.QualityError) as missed:
        rs.assert_at_least(SECOND, {"P@1": 0.9}, qrels=LIMITED, worst=0)
    assert "\n" not in str(missed.value)
