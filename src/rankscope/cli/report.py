"""``rankscope report``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankscope.cli import shared
from rankscope.cli.help import command
from rankscope.cli.output import Output, print_line, show_in_browser, write_file
from rankscope.printing import put_line

if TYPE_CHECKING:
    from rankscope.document.blocks import Document
    from rankscope.part import Record
    from rankscope.reports.explorer.contents import Contents


@command(
    "rankscope benchmark run demo/bench.yaml",
    "rankscope report benchmarks/recipes-* -o recipes.html",
)
@click.argument("source", metavar="DIR|RECORD")
@shared.TARGET
@shared.OPEN
@shared.PAGE
def report(*, source: str, output: Output) -> None:
    """Build an HTML report of a benchmark's folder, or of a JSON record.

    RECORD is what compare, gate, diagnose or power write with --format json. The page works
    offline and needs no other file.  [default of --output: report.html]
    """
    target = output.target or "report.html"
    document, contents = _read(source, output)
    if contents is None and os.path.isdir(source):
        put_line(
            "warning: tables are missing from the folder, so that the page has no list of queries; "
            "'rankscope benchmark verify' says which"
        )
    from rankscope.reports.explorer.packing import report_page

    write_file(target, report_page(document, contents))
    print_line(f"written to {target}")
    if output.is_opened:
        show_in_browser(target)


def _read(source: str, output: Output) -> tuple[Document, Contents | None]:
    """Read a folder or record; return its document and what its explorer shows."""
    from rankscope.benchmark.folder import LANGUAGE_REPORT, MANIFEST, REPORT
    from rankscope.benchmark.write import folder_contents
    from rankscope.document.views import document_of
    from rankscope.errors import InputError
    from rankscope.part import without_texts
    from rankscope.records.manifest import ExperimentManifest
    from rankscope.records.report import BenchmarkReport

    path = Path(source)
    if not os.path.lexists(path):
        raise InputError(f"{source}: file or folder not found")
    if path.is_dir():
        names = [name for name in (REPORT, LANGUAGE_REPORT) if (path / name).is_file()]
        if not names:
            raise InputError(
                f"{path}: no {REPORT} in this folder; name the folder of an experiment, as "
                "'rankscope benchmark list' does"
            )
        path /= names[0]
    record = _record(path)
    if not output.with_text:
        record = without_texts(record)
    if isinstance(record, BenchmarkReport):
        place = path.parent / MANIFEST
        manifest = ExperimentManifest.read(place) if place.is_file() else None
        made = folder_contents(
            record, path.parent, manifest, top=output.top, with_text=output.with_text
        )
        return document_of(record, manifest=manifest), made
    return document_of(record), None


def _record(path: Path) -> Record:
    """Read a record, whatever its kind."""
    from rankscope.benchmark.by_language import LanguageReport
    from rankscope.errors import FormatError
    from rankscope.files import check_regular, decoded, read_bytes
    from rankscope.records.diagnosis import Diagnosis
    from rankscope.records.report import BenchmarkReport
    from rankscope.statistics.comparison import Comparison
    from rankscope.statistics.gate import GateResult
    from rankscope.statistics.power import PowerReport
    from rankscope.tables.jsontext import parse_json

    source = str(path)
    check_regular(path)
    data = parse_json(decoded(read_bytes(path), source=source), source=source, only_finite=True)
    kinds: tuple[type[Record], ...] = (
        *(BenchmarkReport, LanguageReport, Diagnosis, Comparison),
        *(GateResult, PowerReport),
    )
    for kind in kinds:
        if isinstance(data, dict) and kind.is_kind_of(data):
            record = kind.from_data(data, source=source)
            return record.timed_by(path) if isinstance(record, BenchmarkReport) else record
    schema = data.get("schema") if isinstance(data, dict) else None
    raise FormatError(
        f"is no record that can be shown (its schema is {schema!r}); give a folder of a benchmark, "
        "or what compare, gate, diagnose or power write with --format json",
        source=source,
    )
