"""A benchmark on the terminal: what is shown, that it lines up, and that no name steers it."""

from __future__ import annotations

import io
import re
import runpy
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel
from rich.cells import cell_len
from rich.console import Console

from rankscope.benchmark.verdict import verdict
from rankscope.cli.benchmark_view import show_benchmark, show_plan
from rankscope.records import BenchmarkReport

_SAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "reports" / "sample.py"))
sample, with_analyses = _SAMPLE["sample"], _SAMPLE["with_analyses"]


T = TypeVar("T", bound=BaseModel)


def changed(part: T, **update: Any) -> T:
    return part.model_copy(update=update)


def printed(report: BenchmarkReport, width: int = 100, folder: Path | None = None) -> str:
    page = io.StringIO()
    show_benchmark(report, Console(file=page, width=width, color_system=None), folder=folder)
    return page.getvalue()


def coloured(report: BenchmarkReport, *, no_color: bool = False) -> str:
    page = io.StringIO()
    console = Console(
        file=page, width=100, force_terminal=True, color_system="standard", no_color=no_color
    )
    show_benchmark(report, console)
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
    assert head.split() == ["measure", "words", "letters", "hybrid", "reranked"]
    assert len(rows) == len(report.measures)
    for info, row in zip(report.measures, rows, strict=True):
        assert row.startswith(info.measure)
        for system in report.systems:
            value = next(one.value for one in system.measures if one.measure == info.measure)
            assert f"{value:.3f}" in row
    assert rows[0].split() == [
        *("nDCG@10", "0.691", "±.057", "b", "0.672", "±.056", "b"),
        *("0.701", "±.057", "b", "0.846‡*±.042", "a"),
    ]
    assert "* best mean; ±: half of the 95% interval of the mean (BCa bootstrap)" in text


def test_numbers_stand_below_each_other(report: BenchmarkReport) -> None:
    _, *rows = table(printed(report), "measure")
    places = {tuple(found.start() for found in re.finditer("±", row)) for row in rows}
    assert len(places) == 1
    assert len(next(iter(places))) == len(report.systems)


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
    head, *rows = table(printed(five(report), 100), "measure")
    assert head.split()[1:] == ["words", "letters", "hybrid", "reranked", "vector"]
    assert len(rows) == 7


def test_many_systems_are_rows(report: BenchmarkReport) -> None:
    many = [changed(report.systems[1], name=f"system-{number}") for number in range(12)]
    text = printed(changed(report, systems=many, measures=report.measures[:2], comparison=None))
    assert table(text, "system")[0].split() == ["system", "nDCG@10", "AP@100"]


def test_colours_mean_something(report: BenchmarkReport) -> None:
    text = coloured(report)
    assert "\x1b[1;32m0.846‡ ±.042 a\x1b[0m" in text, "best and better than the baseline"
    assert re.search(r"\x1b\[33m[^\x1b]*0\.691 ! warn", text)
    assert re.search(r"\x1b\[31m[^\x1b]*0\.821 ✗ fail", text)
    assert re.search(r"\x1b\[32m[^\x1b]*0\.701 ✓ pass", text)
    assert "bold: best mean" in text
    assert "\x1b[33mwarning: letters" in text
    without = coloured(report, no_color=True)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", without)
    assert "\x1b[1m0.846‡ ±.042 a\x1b[0m" in without


def test_worse_than_the_baseline_is_red() -> None:
    assert re.search(r"\x1b\[31m0\.\d{3}[†‡]", coloured(sample(("words", "reranked"), "reranked")))


def test_stages(report: BenchmarkReport) -> None:
    head, *rows = table(printed(report, 80), "stage")
    assert head.split("   ")[-1].strip() == "in/out top 10"
    assert rows[0].startswith("hybrid (fuse)       words ")
    assert rows[1].startswith("                    letters "), "a stage is named once"
    stage = report.stages[-1]
    assert f"{stage.ceiling['nDCG@10']:.3f}" in rows[2]
    assert f"+{stage.promoted} -{stage.lost}" in rows[2]
    assert "in/out" not in printed(with_analyses(report, stages=report.stages[:2]))


def test_targets_only_where_there_are_some(report: BenchmarkReport) -> None:
    rows = table(printed(report), "target")
    assert rows[1].split() == [
        *("nDCG@10", "≥", "0.7", "0.691", "!", "warn", "0.672", "!", "warn"),
        *("0.701", "✓", "pass", "0.846", "✓", "pass"),
    ]
    none = [changed(one, target=None, status="unknown") for one in report.kpis]
    text = printed(changed(report, kpis=none))
    assert not any(line.startswith("target") for line in text.splitlines())


def test_warnings_verdict_and_files(report: BenchmarkReport, tmp_path: Path) -> None:
    text = printed(report, folder=tmp_path)
    assert "warning: letters: 31 % of the first 10 documents were never judged [RS107]" in text
    assert "what to do about it and 1 note: in the reports" in text
    assert text.index("warning:") < text.index("- reranked is better") < text.index("written to")
    assert text.splitlines()[-1] == f"written to {tmp_path}"
    (tmp_path / "BenchmarkReport.json").touch()
    (tmp_path / "BenchmarkComparison.md").touch()
    assert printed(report, folder=tmp_path).splitlines()[-2:] == [
        f"written to {tmp_path / 'BenchmarkComparison.md'}",
        f"written to {tmp_path / 'BenchmarkReport.json'}",
    ]


def test_many_findings(report: BenchmarkReport) -> None:
    error = changed(report.findings[0], severity="error", system=None, advice="ask again")
    text = printed(changed(report, findings=[error, *[report.findings[0]] * 9]))
    assert "error: 31 % of" in text
    assert "ask again" in text
    assert text.count("warning:") == 1, "one line for each kind"
    name = report.findings[0].name.replace("-", " ")
    assert f"warning: {report.findings[0].system}: {name} [" in text


def test_one_system() -> None:
    text = printed(sample(("hybrid",), None))
    assert table(text, "measure")[0].split() == ["measure", "hybrid"]
    assert "best mean" not in text
    assert "share a letter" not in text


def test_two_systems_with_a_baseline_need_no_letters() -> None:
    assert "share a letter" not in printed(sample(("words", "letters")))


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
        ["RR@10", "0.796"],
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
    hostile = with_analyses(hostile, stages=[stage])
    text = printed(hostile, folder=Path("out") / "a\x1b[2Jb")
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "\\x1b[31mred" in text
    assert "[bold]" in text, "names are no markup"
    assert max(map(cell_len, text.splitlines())) <= 100


def test_plan() -> None:
    page = io.StringIO()
    rows = [("fetch words", "there", ""), ("score", "to do", "the run of \x1b[1mwords")]
    show_plan(rows, Console(file=page, width=80, color_system=None))
    assert [line.rstrip() for line in page.getvalue().splitlines()] == [
        "stage         state   needs",
        "fetch words   there   –",
        "score         to do   the run of \\x1b[1mwords",
    ]
    empty = io.StringIO()
    show_plan([], Console(file=empty, width=80, color_system=None))
    assert empty.getvalue() == "nothing to do\n"
