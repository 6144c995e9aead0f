"""A benchmark over several languages as a document: the table of languages, then each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.diagnosis.languages import languages
from rankscope.document.blocks import Document, Section, sentences
from rankscope.document.views import view
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.benchmark.by_language import LanguageReport


@view
def languages_document(report: LanguageReport) -> Document:
    """Show what each language says first, and how much they differ."""
    created = report.created.replace("T", " ")[:16]
    sizes = ", ".join(
        f"{experiment.language} {experiment.queries:,}" for experiment in report.experiments
    )
    lines = [
        f"{experiment.language}: {experiment.verdict[0]}"
        for experiment in report.experiments
        if experiment.verdict
    ]
    folders = [
        f"{experiment.language}: {experiment.experiment}" for experiment in report.experiments
    ]
    return Document(
        f"Benchmark: {report.name}",
        (
            Section("Verdict by language", (sentences(lines, listed=True),)),
            languages.section(report.table),
            Section("Experiments", details=(sentences(folders, listed=True),)),
        ),
        subtitle=f"{counted(len(report.experiments), 'language')}, each an experiment of its own: "
        f"{sizes} cases. Made {created} UTC.",
        names=frozenset(
            [
                *(row.system for row in report.table.systems),
                *(row.measure for row in report.table.systems),
            ]
        ),
    )
