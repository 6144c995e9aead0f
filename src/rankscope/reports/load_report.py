"""Load tests as documents, and what reports of benchmarks show of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Cell,
    Column,
    Curve,
    Document,
    Section,
    Sentence,
    Sentences,
    Table,
    Value,
    plain_rows,
    sentences,
    text_columns,
)
from rankscope.document.views import view

if TYPE_CHECKING:
    from rankscope.findings import Finding
    from rankscope.records import SystemRecord
    from rankscope.runs.load_record import Latencies, LoadRecord

_PERCENTILES = ("p50", "p90", "p95", "p99", "p999", "max")
_TITLES = ("p50, ms", "p90, ms", "p95, ms", "p99, ms", "p99.9, ms", "max, ms")


def milliseconds(seconds: float | None) -> Value:
    """Return a time as tables show it."""
    if seconds is None:
        return None
    return 1000 * seconds if seconds >= 0.00001 else "< 0.01"


@view
def load_document(record: LoadRecord) -> Document:
    """Show a load test: what was reached, how long answers took, and what to know about that."""
    sections = (
        Section("Queries", (_counts_table(record),)),
        Section("Latency", (_latency_table(record),)),
        Section("Failures", (_failures_table(record),) if record.failures else ()),
        Section("Findings", tuple(_findings(record.findings))),
    )
    return Document(
        f"{record.system} under load",
        tuple(section for section in sections if section.all_blocks),
        subtitle=_opening(record),
        names=frozenset([record.system]),
        data=lambda: _data(record),
    )


def _opening(record: LoadRecord) -> str:
    settings = record.settings
    times = "at random times" if settings.arrivals == "poisson" else "at equal distances"
    created = record.created.replace("T", " ")[:16]
    end = " It was ended early." if record.interrupted else ""
    return (
        f"{settings.rate:,.6g} queries a second for {settings.seconds:g} s, {times}, after "
        f"{settings.warm_up:g} s to warm up; {_at_once(record)}. Measured {created} UTC.{end}"
    )


def _at_once(record: LoadRecord) -> str:
    if record.one_at_a_time:
        return "one at a time, as the system asks for"
    return f"up to {record.settings.most_in_flight:,} at a time"


def _counts_table(record: LoadRecord) -> Table:
    titles = ("sent", "answered", "failed", "unfinished", "answers a second", "most at once")
    row = (
        record.sent,
        record.answered,
        record.failed,
        record.unfinished,
        record.throughput,
        record.most_at_once,
    )
    return Table(
        tuple(Column(title, digits=1) for title in titles),
        plain_rows([row]),
        notes=("unfinished: without an answer at the end; most at once: on their way or waiting",),
    )


def _latency_table(record: LoadRecord) -> Table:
    kinds = (("response", record.response), ("service", record.service), ("delay", record.lag))
    rows = [(name, *_milliseconds(times)) for name, times in kinds]
    return Table(
        (Column("time", "text"), *(Column(title, digits=2) for title in _TITLES)),
        plain_rows(rows),
        notes=(
            (
                "response: from the time a query was to be sent, so that waiting for a busy system "
                "counts; service: from the time it was sent; delay: how late this program sent it; "
                "–: too few queries for this percentile"
            ),
        ),
    )


def _milliseconds(times: Latencies) -> Iterator[Value]:
    return (milliseconds(getattr(times, name)) for name in _PERCENTILES)


def _failures_table(record: LoadRecord) -> Table:
    rows = plain_rows([(failure.count, failure.sentence) for failure in record.failures])
    return Table((Column("queries"), *text_columns("what the system said")), rows, name_columns=2)


def _findings(findings: Sequence[Finding]) -> Iterator[Sentences]:
    """Say what findings say, each in a sentence; what is no note is a warning."""
    lines = [
        Sentence(
            f"{finding.severity}: {finding.message} [{finding.code}]; {finding.advice}",
            "plain" if finding.severity == "note" else "warning",
        )
        for finding in findings
    ]
    if lines:
        yield Sentences(tuple(lines))


def _data(record: LoadRecord) -> Table:
    """Return one row for each time and percentile, in seconds."""
    rows: list[Sequence[Value]] = [
        (record.system, "throughput", "", record.throughput),
        *(
            (record.system, name, "", getattr(record, name))
            for name in ("sent", "answered", "failed", "unfinished", "held_up")
        ),
    ]
    for kind in ("response", "service", "lag"):
        times = getattr(record, kind)
        rows += [(record.system, kind, name, getattr(times, name)) for name in _PERCENTILES]
    return Table(text_columns("system", "what", "percentile", "value"), plain_rows(rows))


# --- in the report of a benchmark ----------------------------------------------------------------


def load_table(systems: Sequence[SystemRecord]) -> tuple[Table | Sentences, ...]:
    """Show the systems that were loaded, with what to know about each; nothing if none was."""
    loads = [(system.name, system.load) for system in systems if system.load is not None]
    if not loads:
        return ()
    rows = tuple(
        (
            Cell(name),
            Cell(load.settings.rate),
            Cell(load.throughput),
            *(
                Cell(milliseconds(time))
                for time in (load.response.p50, load.response.p95, load.response.p99)
            ),
            Cell(milliseconds(load.service.p95)),
            Cell(load.sent),
            Cell(load.failed, tone="bad" if load.failed else "plain"),
            Cell(load.unfinished, tone="bad" if load.unfinished else "plain"),
        )
        for name, load in loads
    )
    columns = (
        Column("system", "text"),
        Column("arriving, 1/s", digits=None),
        *(
            Column(title, digits=2)
            for title in ("answered, 1/s", "p50, ms", "p95, ms", "p99, ms", "service p95, ms")
        ),
        *(Column(title) for title in ("sent", "failed", "unfinished")),
    )
    findings = [
        f"{name}: {finding.message} [{finding.code}]"
        for name, load in loads
        for finding in load.findings
        if finding.severity != "note"
    ]
    table = Table(
        columns,
        rows,
        title="Under load",
        notes=(
            (
                "queries arrive at this rate, whether or not earlier ones are answered; p50, p95, "
                "p99: response times from the planned time of each query; service: from the time "
                "it was sent"
            ),
        ),
    )
    return (table, sentences(findings, "warning")) if findings else (table,)


LOAD_NOTE = (
    "p50 of queries asked one after the other; marks with a rate: p95 while queries arrive at that "
    "rate"
)
"""What the marks of a chart mean that shows both."""


def load_curve(points: Sequence[tuple[SystemRecord, float, tuple[float, float] | None]]) -> Curve:
    """Return the 95th percentile under load, in ms, against a value: of a system, with interval."""
    marks, names, intervals = [], [], []
    for system, value, interval in points:
        load = system.load
        if load is not None and load.response.p95 is not None:
            marks.append((1000 * load.response.p95, value))
            names.append(f"{load.settings.rate:g}/s {system.name}")
            intervals.append(interval)
    return Curve(
        "p95 under load, with the rate",
        tuple(marks),
        tuple(names),
        joined=False,
        tone="warning",
        intervals=tuple(intervals),
    )
