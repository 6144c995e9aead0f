"""Write: an experiment's folder, with its runs, tables, records and pages."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from rankscope.benchmark.environment import machine, now
from rankscope.benchmark.folder import (
    MANIFEST,
    REPORT,
    Unfinished,
    file_ref,
    read_table,
    report_file,
    results_file,
    run_file,
    values_file,
)
from rankscope.benchmark.outcome import TOP, Outcome, manifest_of, reports_of
from rankscope.diagnosis.pareto import pareto
from rankscope.document.markdown import as_markdown
from rankscope.files import replacing
from rankscope.measures.language import Measure
from rankscope.part import FileRef
from rankscope.records.experiment_files import (
    ANNOTATIONS,
    DOCUMENTS,
    ONTOLOGY,
    QRELS,
    QUERIES,
    TIMINGS,
)
from rankscope.records.report import BenchmarkReport, ExperimentManifest, ExperimentTimings
from rankscope.records.tops import best_judged, tops
from rankscope.reports.benchmark import benchmark_document
from rankscope.reports.explorer.contents import Contents, contents_of_experiment
from rankscope.reports.explorer.packing import report_page
from rankscope.tables.frames import parquet_bytes
from rankscope.tables.writing import write_trec_or_jsonl

PAGE = "BenchmarkReport.html"
COMPARISON_PAGE = "BenchmarkComparison.md"

LONGEST_TEXT = 1_000
"""So many characters of a document's text are kept."""


def write_experiment(
    outcome: Outcome,
    folder: Unfinished,
    *,
    models: Mapping[str, Sequence[Mapping[str, Any]]],
    started: str,
) -> BenchmarkReport:
    """Write everything into a folder that is being filled; return the report.

    What depends on the clock comes behind the manifest, which does not list it. ``models`` are
    those that took part, by system.
    """

    def write(name: str, content: str | bytes) -> None:
        with replacing(folder.path(name)) as sink:
            sink.write(content.encode() if isinstance(content, str) else content)

    def described(name: str) -> FileRef:
        return file_ref(folder.path(name), folder.folder)

    for name, table in tables(outcome):
        write(name, parquet_bytes(table))  # Polars itself has errors of its own for a full disk
    ontology = outcome.benchmark.collection.judgments.ontology
    if ontology is not None:
        write(ONTOLOGY, ontology.table())
        if ontology.annotations:
            write(ANNOTATIONS, ontology.annotation_table())
    for name, answers in outcome.fetched.items():
        for time, answer in enumerate(answers, start=1):
            if len(answer.run):
                write_trec_or_jsonl(answer.run, folder.path(run_file(name, time)))
            else:
                write(run_file(name, time), "")
    report, evaluations = reports_of(outcome, described, created=now())
    for name, evaluation in evaluations.items():
        write(report_file(name), evaluation.to_json())
    write(REPORT, report.to_json())
    write(COMPARISON_PAGE, comparison_page(report))
    manifest = manifest_of(
        outcome,
        report,
        models=models,
        machine=machine(),
        artifacts=folder.files(),
    )
    write(MANIFEST, manifest.to_json())
    write(PAGE, _page(report, manifest, folder.folder))
    timings = ExperimentTimings.of(report, started, [described(PAGE)])
    write(TIMINGS, timings.to_json())
    return report


def tables(outcome: Outcome) -> Iterator[tuple[str, pl.DataFrame]]:
    """Return queries, judgments, values by query and the top of each answer, by file."""
    collection = outcome.benchmark.collection
    yield (
        QUERIES,
        pl.DataFrame(
            {
                "query_id": [query.query_id for query in collection.queries],
                "text": [query.text for query in collection.queries],
                "metadata": [
                    json.dumps(dict(query.metadata), ensure_ascii=False, default=str)
                    for query in collection.queries
                ],
            }
        ),
    )
    grades = collection.judgments.pairs.select(
        "query_id", "doc_id", pl.col("grade").cast(pl.Float64)
    )
    best = {name: _top(outcome, name) for name in outcome.benchmark.systems}
    judged = collection.judgments.table.to_polars()
    shown = [top["doc_id"] for top in best.values()] + [best_judged(grades, TOP)["doc_id"]]
    shown_ids = pl.concat(shown).unique(maintain_order=True)
    ids = pl.concat([judged["doc_id"], shown_ids]).unique(maintain_order=True)
    titles = pl.DataFrame(
        {"doc_id": ids, "title": pl.Series(map(collection.title_of, ids), dtype=pl.String)}
    )

    def titled(table: pl.DataFrame) -> pl.DataFrame:
        return table.join(titles, on="doc_id", how="left", maintain_order="left")

    yield QRELS, titled(judged)
    values = outcome.scores.per_query
    for name, top in best.items():
        yield values_file(name), values.filter(pl.col("run") == name).drop("run")
        graded = titled(top).join(
            grades, on=["query_id", "doc_id"], how="left", maintain_order="left"
        )
        columns = ["query_id", "rank", "doc_id", "title", "score", "grade", "adds"]
        yield results_file(name), graded.select(columns)
    texts = [text and text[:LONGEST_TEXT] for text in map(collection.text_of, shown_ids)]
    documents = pl.DataFrame({"doc_id": shown_ids, "text": pl.Series(texts, dtype=pl.String)})
    yield DOCUMENTS, titled(documents).select("doc_id", "title", "text")


def _top(outcome: Outcome, name: str) -> pl.DataFrame:
    """Return the first documents of each answer, with what each adds to the main measure."""
    scores, run = outcome.scores, outcome.fetched[name][0].run
    if name in scores.runs:
        main, judgments = Measure.parse(scores.measures[0]), outcome.benchmark.collection.judgments
        return tops(judgments, run, main, profile=scores.profile, depth=TOP)
    ranked = run.trec_columns().select("query_id", "rank", "doc_id", "score")
    unknown = pl.lit(None, pl.Float64).alias("adds")
    return ranked.filter(pl.col("rank") <= TOP).with_columns(unknown)


# --- pages ---------------------------------------------------------------------------------------


def comparison_page(report: BenchmarkReport) -> str:
    """Draw what a report says but for times, so that every run of a benchmark draws the same."""
    analyses = report.analyses.model_copy(update={pareto.name: None})
    untimed = report.model_copy(update={"analyses": analyses, "created": ""})
    return as_markdown(benchmark_document(untimed, with_times=False))


def pages(report: BenchmarkReport, manifest: ExperimentManifest, folder: Path) -> dict[str, str]:
    """Draw the pages of a report of what is in its folder, by file."""
    return {COMPARISON_PAGE: comparison_page(report), PAGE: _page(report, manifest, folder)}


def _page(report: BenchmarkReport, manifest: ExperimentManifest, folder: Path) -> str:
    document = benchmark_document(report, manifest=manifest)
    return report_page(document, folder_contents(report, folder, manifest))


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
