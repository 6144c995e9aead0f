"""A benchmark on the terminal: what is shown, that it lines up, and that no name steers it."""

from __future__ import annotations

import io
import re
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel
from rich.cells import cell_len
from rich.console import Console

from rankscope.benchmark.verdict import verdict
from rankscope.document.terminal import as_text, draw
from rankscope.records import BenchmarkReport
from rankscope.reports.benchmark import benchmark_document
from reports.sample import sample, with_analyses

T = TypeVar("T", bound=BaseModel)


def changed(part: T, **update: Any) -> T:
    return part.model_copy(update=update)


def printed(report: BenchmarkReport, width: int = 100) -> str:
    return as_text(benchmark_document(report), width)


def coloured(report: BenchmarkReport, *, no_color: bool = False) -> str:
    page = io.StringIO()
    console = Console(
        file=page, width=100, force_terminal=True, color_system="standard", no_color=no_color
    )
    draw(benchmark_document(report), console)
    return page.getvalue()


@pytest.fixture(scope="module")
def report() -> BenchmarkReport:
    made: BenchmarkReport = sample()
    return changed(made, verdict=verdict(made))


def table(text: str, first: str) -> list[str]:
    """Return the lines of the table whose head begins with a word."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(first))
    end = next(number for number in range(start, len(lines)) if not lines[number].strip())
    return lines[start:end]


def test_main_table(report: BenchmarkReport) -> None:
    text = printed(report)
    head, *rows = table(text, "measure")
    assert head.split() == ["measure", "words", "(baseline)", "letters", "hybrid", "reranked"]
    assert len(rows) == 2 * len(report.measures), "intervals are below their values"
    for info, row, below in zip(report.measures, rows[::2], rows[1::2], strict=True):
        assert row.startswith(info.measure)
        for system in report.systems:
            value = next(one for one in system.measures if one.measure == info.measure)
            assert f"{value.value:.3f}" in row
            assert value.interval is not None
            assert f"[{value.interval.low:.3f}, {value.interval.high:.3f}]" in below
    assert rows[0].split() == ["nDCG@10", "0.691", "b", "0.672", "b", "0.701", "b", "0.846↑‡*", "a"]
    assert "* best mean\nin brackets: 95% interval of the mean (BCa bootstrap)\n" in text
    assert "†: better" not in text
    assert "† better (↑) or worse (↓) than words at p ≤ 0.05, ‡ at p ≤ 0.01" in text
    assert "same letter: not shown to differ" in text


def test_intervals_are_beside_their_values_where_there_is_room(report: BenchmarkReport) -> None:
    _, *rows = table(printed(report, 140), "measure")
    assert len(rows) == len(report.measures)
    assert re.search(r"0\.846↑‡\* \[0\.\d{3}, 0\.\d{3}\] a$", rows[0])


@pytest.mark.parametrize("width", [100, 140])
def test_numbers_are_below_each_other(report: BenchmarkReport, width: int) -> None:
    _, *rows = table(printed(report, width), "measure")
    lines = [row for row in rows if "[" in row]
    places = {tuple(found.start() for found in re.finditer(r"\[", row)) for row in lines}
    assert len(places) == 1
    assert len(next(iter(places))) == len(report.systems)


def test_an_interval_is_not_half_its_width(report: BenchmarkReport) -> None:
    """1.000 [0.735, 1.000] was once printed as 1.000 ±.132."""
    value = changed(
        report.systems[0].measures[0],
        value=1.0,
        interval=changed(report.systems[0].measures[0].interval, low=0.735, high=1.0),  # type: ignore[type-var]
    )
    alone = changed(report.systems[0], measures=[value])
    text = printed(changed(report, systems=[alone], measures=report.measures[:1], comparison=None))
    assert "1.000 [0.735, 1.000]" in text
    assert "±" not in text


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_fits(report: BenchmarkReport, width: int) -> None:
    text = printed(report, width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "…" not in text


def five(report: BenchmarkReport) -> BenchmarkReport:
    """Return the report with a fifth system and a seventh measure."""
    assert report.comparison is not None
    hybrid = report.systems[2]
    more = changed(report.measures[5], measure="Success@10", asked="Success@10")
    systems = [
        changed(
            one,
            measures=[*one.measures, changed(one.measures[5], measure="Success@10")],
        )
        for one in (*report.systems, changed(hybrid, name="vector"))
    ]
    means = [
        *report.comparison.means,
        *(changed(one, run="vector") for one in report.comparison.means if one.run == "hybrid"),
    ]
    return changed(
        report,
        systems=systems,
        measures=[*report.measures, more],
        comparison=changed(report.comparison, means=means),
    )


def test_five_systems_and_seven_measures_are_one_table(report: BenchmarkReport) -> None:
    head, *rows = table(printed(five(report), 102), "measure")
    names = ["words", "(baseline)", "letters", "hybrid", "reranked", "vector"]
    assert head.split()[1:] == names
    assert len(rows) == 14


def test_many_systems_are_rows(report: BenchmarkReport) -> None:
    many = [changed(report.systems[1], name=f"system-{number}") for number in range(12)]
    text = printed(changed(report, systems=many, measures=report.measures[:2], comparison=None))
    assert table(text, "system")[0].split() == ["system", "nDCG@10", "AP@100"]
    assert len(table(text, "system")) == 13


def test_colours_mean_something(report: BenchmarkReport) -> None:
    text = coloured(report)
    assert "\x1b[1;32m0.846↑‡" in text, "best and better than the baseline"
    assert re.search(r"\x1b\[33m[^\x1b]*0\.691 !", text)
    assert re.search(r"\x1b\[31m[^\x1b]*0\.821 ✗", text)
    assert re.search(r"\x1b\[32m[^\x1b]*0\.701 ✓", text)
    assert "bold: best mean" in text
    assert "\x1b[33mwarning: letters" in text
    without = coloured(report, no_color=True)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", without)
    assert "\x1b[1m0.846↑‡" in without


def test_worse_than_the_baseline_is_red() -> None:
    text = coloured(sample(("words", "reranked"), "reranked"))
    assert re.search(r"\x1b\[31m0\.\d{3}↓[†‡]", text)


def test_stages(report: BenchmarkReport) -> None:
    head, *rows = table(printed(report, 100), "stage")
    assert head.split()[-3:] == ["ceiling", "gained", "lost"]
    assert rows[0].startswith("hybrid (fuse)       words ")
    assert rows[1].startswith("hybrid (fuse)       letters ")
    stage = report.stages[-1]
    assert rows[2].split()[-3:] == [
        *(f"{stage.ceiling['nDCG@10']:.3f}", str(stage.promoted), str(stage.lost)),
    ]
    assert "relevant documents gained / lost in the top 10" in printed(report, 140)
    assert "gained" not in printed(with_analyses(report, stages=report.stages[:2]))


def test_targets_only_where_there_are_some(report: BenchmarkReport) -> None:
    rows = table(printed(report), "target")
    values = ["0.691 !", "0.672 !", "0.701 ✓", "0.846 ✓"]
    assert re.split(r"   +", rows[1]) == ["nDCG@10 ≥ 0.7", *values]
    none = [changed(one, target=None, status="unknown") for one in report.kpis]
    infos = [changed(one, target=None) for one in report.measures]
    text = printed(changed(report, kpis=none, measures=infos))
    assert not any(line.startswith("target") for line in text.splitlines())


def test_the_verdict_comes_first(report: BenchmarkReport) -> None:
    text = printed(report)
    order = ["Benchmark: recipes", "Verdict", "- reranked is better", "Results", "Findings"]
    assert sorted(order, key=text.index) == order
    assert "warning: letters: 31 % of the first 10 documents were never judged [RS107]" in text
    assert "what to do and 1 note: in the reports" in text


def test_many_findings(report: BenchmarkReport) -> None:
    error = changed(report.findings[0], severity="error", system=None, advice="ask again")
    same = [changed(report.findings[0], message=f"{n} documents") for n in range(9)]
    text = printed(changed(report, findings=[error, *same]))
    assert "error: 31 % of" in text
    assert "ask again" in text
    assert text.count("warning:") == 1, "one line for each kind"
    name = report.findings[0].name.replace("-", " ")
    assert f"warning: {report.findings[0].system}: {name} [" in text
    alike = printed(changed(report, findings=[report.findings[0]] * 9))
    assert f"warning: {report.findings[0].system}: {report.findings[0].message} [" in alike


def test_what_a_system_says_of_itself_is_said_in_full(report: BenchmarkReport) -> None:
    note = changed(report.findings[0], name="system-note", severity="warning")
    texts = ["finds up to 16 documents", "finds up to 64 documents"]
    notes = [changed(note, message=text, system=f"s{n % 2}") for n, text in enumerate(texts * 2)]
    text = printed(changed(report, findings=notes))
    assert "warning: s0: finds up to 16 documents [" in text
    assert "warning: s1: finds up to 64 documents [" in text


def test_one_system() -> None:
    text = printed(sample(("hybrid",), None))
    assert table(text, "measure")[0].split() == ["measure", "hybrid"]
    assert "best mean" not in text
    assert "same letter" not in text


def test_two_systems_with_a_baseline_need_no_letters() -> None:
    assert "same letter" not in printed(sample(("words", "letters")))


def test_missing_values(report: BenchmarkReport) -> None:
    words = report.systems[0]
    whole = changed(words.measures[1], value=1234.0, interval=None)
    assert words.measures[2].interval is not None
    open_ = changed(words.measures[2].interval, low=None, high=None)
    measures = [whole, changed(words.measures[2], interval=open_), *words.measures[3:]]
    text = printed(changed(report, systems=[changed(words, measures=measures)], comparison=None))
    _, *rows = table(text, "measure")
    assert [row.split() for row in rows[:3]] == [
        ["nDCG@10", "–"],
        ["AP@100", "1,234"],
        ["RR@10", "(MRR@10)", "0.796", "[-∞,", "∞]"],
    ]


def test_lower_is_better(report: BenchmarkReport) -> None:
    infos = [changed(report.measures[0], higher_is_better=False), *report.measures[1:]]
    text = printed(changed(report, measures=infos))
    assert "nDCG@10 ↓" in text
    assert "nDCG@10 ≤ 0.7" in text


def test_hostile_names(report: BenchmarkReport) -> None:
    bad = "\x1b[31mred\x1b[0m [bold]b[/bold]\nnext\x07\u202e"
    finding = changed(report.findings[0], message=bad, system=bad)
    stage = changed(report.stages[-1], system=bad)
    systems = [changed(report.systems[0], name=bad), *report.systems[1:]]
    hostile = changed(
        report,
        name=bad,
        systems=systems,
        findings=[finding],
        verdict=[bad],
    )
    text = printed(with_analyses(hostile, stages=[stage]))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "\\x1b[31mred" in text
    assert "[bold]" in text, "names are no markup"
    assert max(map(cell_len, text.splitlines())) <= 100
