"""The summary: few sentences, the largest gain first, and "nothing" where there is nothing."""

from __future__ import annotations

from typing import Any

from rankscope.diagnosis.analysis import Analysed, all_analyses
from rankscope.diagnosis.gaps import RANKING
from rankscope.diagnosis.summary import LEAST, MOST, MOST_OF_ONE, summarise
from rankscope.findings import NotApplicable
from rankscope.reports.diagnosed import gains_table


def answered(*gains: float) -> Analysed:
    findings = [RANKING.finding(f"Gain {gain}").model_copy(update={"gain": gain}) for gain in gains]
    return Analysed(findings=tuple(findings))


def lines(*answers: Any) -> list[tuple[str, float]]:
    pairs = zip(all_analyses(), answers, strict=False)
    return [(line.analysis, line.gain) for line in summarise(pairs)]


def test_the_largest_gain_comes_first() -> None:
    names = [analysis.name for analysis in all_analyses()]
    assert lines(answered(0.1), answered(0.3), answered()) == [(names[1], 0.3), (names[0], 0.1)]


def test_there_are_few_sentences() -> None:
    assert MOST == 5
    assert [gain for _, gain in lines(*[answered(0.5, 0.4, 0.3)] * 6)] == [0.5] * 5
    assert MOST_OF_ONE == 2
    assert [gain for _, gain in lines(answered(0.3, 0.5, 0.4))] == [0.5, 0.4]


def test_what_gains_nothing_is_not_advised() -> None:
    skipped = NotApplicable(name="x", reason="y")
    assert lines(answered(0.0, LEAST / 2, -0.2), skipped, None) == []


def test_each_line_says_what_to_do_its_gain_and_where_more_is() -> None:
    [line] = summarise([(all_analyses()[0], answered(0.25))])
    assert (line.text, line.fix, line.gain) == ("Gain 0.25", RANKING.advice, 0.25)
    shown = str(gains_table([line, line], "RR", 0.5))
    for part in (line.fix, "0.25", f"--only {line.analysis}", "overlap"):
        assert part in shown
