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
    from rankscope.part import Record


@command(
    "rankscope benchmark run demo/bench.yaml",
    "rankscope report benchmarks/recipes-* -o recipes.html",
)
@click.argument("folder", metavar="DIR")
@shared.TARGET
@shared.OPEN
@shared.PAGE
def report(*, folder: str, output: Output) -> None:
    """Build the HTML report of a benchmark's folder once more, whole or with less in it.

    The page works offline and needs no other file; evaluate, compare, gate, diagnose and power
    write theirs with --html.  [default of --output: report.html]
    """
    from rankscope.benchmark.by_language import LanguageReport
    from rankscope.benchmark.folder import LANGUAGE_REPORT
    from rankscope.benchmark.verify import open_experiment
    from rankscope.benchmark.write import folder_contents
    from rankscope.document.views import document_of
    from rankscope.part import without_texts
    from rankscope.reports.explorer.packing import report_page

    target, place = output.target or "report.html", Path(folder)
    if not os.path.lexists(place):
        raise click.UsageError(f"{folder}: folder not found")
    record: Record
    contents, options = None, {}
    if (place / LANGUAGE_REPORT).is_file():
        record = LanguageReport.read(place / LANGUAGE_REPORT)
    else:
        manifest, record = open_experiment(place)
        contents = folder_contents(
            record, place, manifest, top=output.top, with_text=output.with_text
        )
        options["manifest"] = manifest
        if contents is None:
            put_line(
                "warning: tables are missing from the folder, so that the page has no list of "
                "queries; 'rankscope benchmark verify' says which"
            )
    shown = document_of(record if output.with_text else without_texts(record), **options)
    write_file(target, report_page(shown, contents))
    print_line(f"written to {target}")
    if output.is_opened:
        show_in_browser(target)
