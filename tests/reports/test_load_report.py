"""Load tests in reports: the chart of quality against latency, tables, and by themselves."""

from __future__ import annotations

from typing import Any

import pytest

from load.virtual import settings, simulated
from rankscope.document.blocks import Document, Plot, Sentences, Table
from rankscope.document.csv_text import as_csv
from rankscope.document.markdown import as_markdown
from rankscope.document.terminal import as_text
from rankscope.document.views import document_of
from rankscope.records import BenchmarkReport
from rankscope.reports.benchmark import benchmark_document
from rankscope.runs.load_record import LoadRecord
from reports.sample import sample

pytest.importorskip("hdrh", reason="hdrhistogram is not installed")


def loaded(system: str, *, service: float = 0.005, **changes: Any) -> LoadRecord:
    errors = changes.pop("errors", lambda _: None)
    record, _, _ = simulated(settings(**changes), lambda _: service, errors)
    return record.model_copy(update={"system": system})


def with_loads(report: BenchmarkReport, **loads: LoadRecord) -> BenchmarkReport:
    systems = [
        system.model_copy(update={"load": loads.get(system.name)}) for system in report.systems
    ]
    return report.model_copy(update={"systems": systems})


def blocks(document: Document, kind: type[Any]) -> list[Any]:
    return [
        block
        for section in document.sections
        for block in section.all_blocks
        if isinstance(block, kind)
    ]


def latency_plot(report: BenchmarkReport) -> Plot:
    plots = blocks(benchmark_document(report), Plot)
    [plot] = [plot for plot in plots if "latency" in plot.title]
    assert isinstance(plot, Plot)
    return plot


def test_the_chart_shows_the_latency_under_load_with_its_rate() -> None:
    report = sample()
    record = loaded("hybrid")
    plot = latency_plot(with_loads(report, hybrid=record))
    alone, under = plot.curves
    assert alone.names == tuple(system.name for system in report.systems)
    assert under.names == ("50/s hybrid",)
    assert record.response.p95 is not None
    quality = next(system for system in report.systems if system.name == "hybrid").measures[0]
    assert under.points == ((1000 * record.response.p95, quality.value),)
    assert len(under.intervals) == 1
    assert plot.x == "latency, ms"
    assert "marks with a rate: p95 while queries arrive at that rate" in plot.note


def test_without_a_load_test_the_chart_is_as_it_was() -> None:
    plot = latency_plot(sample())
    assert (plot.x, plot.note, len(plot.curves)) == ("p50, ms", "", 1)
    tables = blocks(benchmark_document(sample()), Table)
    assert not any(table.title == "Under load" for table in tables)


def test_a_test_with_too_few_queries_has_no_mark_and_is_in_the_table() -> None:
    report = with_loads(sample(), hybrid=loaded("hybrid", rate=10, seconds=1))
    assert len(latency_plot(report).curves) == 1
    [table] = [
        table for table in blocks(benchmark_document(report), Table) if table.title == "Under load"
    ]
    assert [row[0].value for row in table.rows] == ["hybrid"]
    assert table.rows[0][4].value is None


def test_the_table_and_what_to_know_about_it() -> None:
    slow = loaded("words", service=0.04)
    failing = loaded("hybrid", errors=lambda number: None if number % 2 else "full")
    document = benchmark_document(with_loads(sample(), words=slow, hybrid=failing))
    [table] = [table for table in blocks(document, Table) if table.title == "Under load"]
    rows = {str(row[0].value): [cell.value for cell in row[1:]] for row in table.rows}
    assert rows["words"][0] == 50
    assert rows["words"][1] == pytest.approx(25, rel=0.05)
    assert rows["hybrid"][-3:] == [200, 100, 0]
    said = [
        sentence.text
        for block in blocks(document, Sentences)
        for sentence in block.sentences
        if "RS73" in sentence.text
    ]
    assert [text.partition(":")[0] for text in said] == ["words", "hybrid"]
    assert "[RS733]" in said[0]
    assert "[RS731]" in said[1]
    markdown = as_markdown(document)
    assert "### Under load" in markdown


def test_a_load_test_by_itself() -> None:
    failing = loaded("words", errors=lambda number: None if number % 4 else "the engine is full")
    document = document_of(failing)
    text = as_text(document)
    assert "words under load" in text
    assert "50 queries a second for 4 s, at equal distances, after 0 s to warm up" in text
    assert "error: 50 queries of 200 failed, such as: the engine is full [RS731]" in text
    assert document.warnings
    rows = as_csv(document).splitlines()
    assert rows[0] == "system,what,percentile,value"
    assert "words,failed,,50" in rows
    assert any(row.startswith("words,response,p999,") for row in rows)
    assert "<table" in failing._repr_html_()


def test_one_that_was_ended_early_says_so() -> None:
    record = loaded("words").model_copy(update={"interrupted": True})
    assert "It was ended early." in as_text(document_of(record))
