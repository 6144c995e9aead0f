"""The pages of an experiment: what its records and tables say, drawn for people to read."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from rankscope.benchmark.folders import read_table, slug
from rankscope.document.blocks import PICTURES, Document, Picture
from rankscope.document.markdown import as_markdown
from rankscope.document.pages import page
from rankscope.document.pictures import standalone
from rankscope.records import BenchmarkReport, ExperimentManifest
from rankscope.reports.benchmark import benchmark_document
from rankscope.reports.explorer.contents import Contents
from rankscope.reports.explorer.of_folder import contents_of_experiment
from rankscope.reports.explorer.query_pictures import with_query_pictures
from rankscope.reports.explorer.whole_page import report_page


def pages(report: BenchmarkReport, manifest: ExperimentManifest, folder: Path) -> dict[str, str]:
    """Draw the pages of a report of what is in its folder, and their pictures, by file."""
    contents = folder_contents(report, folder, manifest)
    plain = with_query_pictures(benchmark_document(report), contents)
    html = report_page(benchmark_document(report, manifest=manifest), contents)
    return {**_drawn(plain, "BenchmarkComparison.md"), "BenchmarkReport.html": html}


def pages_of(document: Document, markdown: str, html: str) -> dict[str, str]:
    """Draw a document as the two files of these names, and its pictures as files beside them."""
    return {**_drawn(document, markdown), html: page(document)}


def _drawn(document: Document, markdown: str) -> dict[str, str]:
    """Write a document as Markdown, and its pictures as files beside it."""
    charts = chart_files(document)
    drawn = {name: standalone(picture) for picture, name in charts.items()}
    return {markdown: as_markdown(document, pictures=charts), **drawn}


def folder_contents(
    report: BenchmarkReport, folder: Path, manifest: ExperimentManifest | None
) -> Contents | None:
    """Gather what an explorer shows of an experiment; None if its tables are not there.

    Without a manifest, nothing says that the tables are those that were recorded.
    """

    def table(name: str) -> pl.DataFrame | None:
        if manifest is None or not os.path.lexists(folder / name):
            return None
        return read_table(folder, name, manifest)

    return contents_of_experiment(report, table, str(folder))


def chart_files(document: Document) -> dict[Picture, str]:
    """Return where each picture of a document is kept: a file named after section and title."""
    names: dict[Picture, str] = {}
    for section in document.sections:
        for block in section.all_blocks:
            if not isinstance(block, PICTURES) or block in names or not standalone(block):
                continue
            stem = f"{slug(section.title)}-{slug(block.title)}"
            taken = set(names.values())
            numbers = (f"{stem}-{number}" for number in range(2, len(taken) + 3))
            free = (f"charts/{name}.svg" for name in (stem, *numbers))
            names[block] = next(name for name in free if name not in taken)
    return names
