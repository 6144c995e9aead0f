"""A benchmark as a document: its numbers in each form, and that no name breaks or steers one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from markdown_it import MarkdownIt
from pydantic import BaseModel
from rich.cells import cell_len

from rankscope.diagnosis.segments import segments
from rankscope.document.blocks import Document, Section, sentences
from rankscope.document.markdown import as_markdown
from rankscope.document.terminal import as_text
from rankscope.records.report import BenchmarkReport
from rankscope.reports.benchmark import benchmark_document
from rankscope.reports.verdict import verdict
from reports.sample import sample, with_analyses

HOSTILE = "a|b`c<script>alert(1)</script>\n# **x** [y](z) [bold]b[/bold] \x1b[31m\x07\u202e \\"
PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")
TAGS = {
    *("h1", "h2", "h3", "p", "ul", "li", "strong", "code", "pre"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}

T = TypeVar("T", bound=BaseModel)


def markdown(report: BenchmarkReport) -> str:
    return as_markdown(benchmark_document(report))


def printed(report: BenchmarkReport, width: int = 100) -> str:
    return as_text(benchmark_document(report), width)


def changed(part: T, **update: Any) -> T:
    return part.model_copy(update=update)


@pytest.fixture(scope="module")
def report() -> BenchmarkReport:
    made = sample()
    return changed(made, verdict=verdict(made))


def test_every_mean_is_in_both_forms(report: BenchmarkReport) -> None:
    wide, page = as_text(benchmark_document(report), 140, full=True), markdown(report)
    for system in report.systems:
        assert system.name in page
        for value in system.measures:
            assert value.interval is not None
            ends = f"[{value.interval.low:.3f}, {value.interval.high:.3f}]"
            for text in (wide, page):
                assert f"{value.value:.3f}" in text
                assert ends in text


@pytest.mark.parametrize("width", [60, 80, 140])
def test_it_fits_a_terminal(report: BenchmarkReport, width: int) -> None:
    text = printed(report, width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "…" not in text


def test_an_interval_is_not_half_its_width(report: BenchmarkReport) -> None:
    """1.000 [0.735, 1.000] was once printed as 1.000 ±.132."""
    first = report.systems[0]
    assert first.measures[0].interval is not None
    interval = changed(first.measures[0].interval, low=0.735, high=1.0)
    value = changed(first.measures[0], value=1.0, interval=interval)
    system = changed(first, measures=[value])
    alone = changed(report, systems=[system], measures=report.measures[:1], comparison=None)
    assert "1.000 [0.735, 1.000]" in printed(alone)
    assert "0.735–1.000" in printed(alone)


def test_less_than_everything_is_drawn(report: BenchmarkReport) -> None:
    bare = changed(report, verdict=[], findings=[], comparison=None)
    bare = with_analyses(bare, stages={"stages": ()}, segments={"groups": ()})
    some = [bare, sample(("hybrid",), None), sample(("words", "letters"), None)]
    for less in some:
        assert less.systems[0].name in printed(less)
        check_tables(markdown(less))


def test_missing_values_are_dashes_and_open_intervals_infinite(report: BenchmarkReport) -> None:
    words = report.systems[0]
    whole = changed(words.measures[1], value=1234.0, interval=None)
    assert words.measures[2].interval is not None
    endless = changed(words.measures[2].interval, low=None, high=None)
    slow = changed(words.timing, p50=None, p95=None, p99=None)
    measures = [whole, changed(words.measures[2], interval=endless), *words.measures[3:]]
    system = changed(words, measures=measures, timing=slow)
    text = markdown(changed(report, systems=[system, *report.systems[1:]]))
    text = text[text.index("## Measures") :]
    row = next(line for line in text.splitlines() if line.startswith("| words (baseline) "))
    first, second, third = row.split("|")[2:5]
    assert first.strip() == "–"
    assert "1,234" in second
    assert "0.796 [-∞, ∞]" in third


# --- hostile names -------------------------------------------------------------------------------


def check_tables(text: str) -> None:
    """See that a renderer finds every table, and nothing that is no markup of ours."""
    page = PARSER.render(text)
    assert set(re.findall(r"<(\w+)", page)) <= TAGS
    starts = re.findall(r"(?<!\|)\n\n\|", text)
    assert page.count("<table>") == len(starts)


def renamed(report: BenchmarkReport, old: str, new: str) -> BenchmarkReport:
    """Return the report with one name replaced wherever it stands."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [walk(inner) for inner in value]
        return new if value == old else value

    return BenchmarkReport.model_validate(walk(json.loads(report.to_json())))


def with_label(report: BenchmarkReport) -> BenchmarkReport:
    found: Any = segments.of(report.analyses)
    groups = [changed(group, field=HOSTILE) for group in found.groups]
    groups[0] = changed(groups[0], label=HOSTILE)
    changes = {"groups": tuple(groups), "unlabelled": {HOSTILE: 0}}
    return with_analyses(report, segments=changes)


def with_message(report: BenchmarkReport) -> BenchmarkReport:
    texts = dict.fromkeys(("message", "advice", "code", "system"), HOSTILE)
    return changed(report, findings=[changed(report.findings[0], **texts)])


@pytest.mark.parametrize(
    "change",
    [
        lambda report: renamed(report, "letters", HOSTILE),
        lambda report: renamed(report, "words", HOSTILE),
        lambda report: changed(report, name=HOSTILE, verdict=[HOSTILE], experiment=HOSTILE),
        lambda report: changed(report, collection=changed(report.collection, name=HOSTILE)),
        lambda report: changed(
            report, systems=[changed(report.systems[0], spec={HOSTILE: HOSTILE}, kind=HOSTILE)]
        ),
        with_message,
        with_label,
    ],
)
def test_hostile_names(
    report: BenchmarkReport, change: Callable[[BenchmarkReport], BenchmarkReport]
) -> None:
    hostile = change(report)
    page, text = markdown(hostile), printed(hostile)
    check_tables(page)
    for form in (page, text):
        assert all(sign.isprintable() or sign == "\n" for sign in form)
    assert not re.search(r"^# \**x", page, re.MULTILINE), "no name begins a line"
    assert max(map(cell_len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("name", "shown"),
    [("- item", "\\- item"), ("1. one", "1\\. one"), ("3) three", "3\\) three"), ("+", "\\+"),
     ("-5 to 3", "-5 to 3"), ("13+", "13+"), ("a_b", "a\\_b"), ("x & y", "x &amp; y")],
)  # fmt: skip
def test_no_sentence_becomes_a_list(name: str, shown: str) -> None:
    document = Document("", (Section("", (sentences([name], listed=True),)),))
    assert f"- {shown}\n" in as_markdown(document)
