"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from gate.worlds import record, world
from rankscope.integrations.pytest_plugin import Gatekeeper, UndecidedWarning

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
            "*AssertionError:*",
            "*regression: nDCG@10 changed by -0.0*: worse, and by more than 0.01*",
            "*measure *baseline *candidate *difference*answer",
            "*nDCG@10 * regression",
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
