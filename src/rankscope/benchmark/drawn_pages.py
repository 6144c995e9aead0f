"""The pages of an experiment: what its records and tables say, drawn for people to read."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from rankscope.benchmark.folder import read_table
from rankscope.document.markdown import as_markdown
from rankscope.records.manifest import ExperimentManifest
from rankscope.records.report import BenchmarkReport
from rankscope.reports.benchmark import benchmark_document
from rankscope.reports.explorer.contents import Contents, contents_of_experiment
from rankscope.reports.explorer.packing import report_page


def pages(report: BenchmarkReport, manifest: ExperimentManifest, folder: Path) -> dict[str, str]:
    """Draw the pages of a report of what is in its folder, by file."""
    contents = folder_contents(report, folder, manifest)
    return {
        "BenchmarkComparison.md": as_markdown(benchmark_document(report, with_times=False)),
        "BenchmarkReport.html": report_page(
            benchmark_document(report, manifest=manifest), contents
        ),
    }


def folder_contents(
    report: BenchmarkReport,
    folder: Path,
    manifest: ExperimentManifest | None,
    *,
    top: int | None = None,
    with_text: bool = True,
) -> Contents | None:
    """Gather what an explorer shows of an experiment; None if its tables are not there.

    Without a manifest, nothing says that the tables are those that were recorded. ``top``: how many
    documents of each answer are shown; None: as many as were recorded.
    """

    def table(name: str) -> pl.DataFrame | None:
        if manifest is None or not os.path.lexists(folder / name):
            return None
        return read_table(folder, name, manifest)

    return contents_of_experiment(report, table, str(folder), top=top, with_text=with_text)
