"""``rankscope convert``."""

from __future__ import annotations

from typing import Any

import click

from rankscope.cli import shared
from rankscope.cli.help import command, file_name, option
from rankscope.errors import counted
from rankscope.printing import put_line

NOUNS = {"qrels": "judgment", "run": "line", "queries": "query", "corpus": "document"}


@command(
    "rankscope convert demo/lexical.run lexical.parquet",
    "rankscope convert demo/qrels.tsv qrels.trec",
)
@click.argument("source", metavar="IN")
@click.argument("target", type=file_name, metavar="OUT")
@option("--kind KIND", "What IN holds, if it can't be detected", one_of=NOUNS)
@option("--from source_format FORMAT", "Format of IN  [default: detected]")
@option("--to target_format FORMAT", "Format of OUT  [default: by its suffix]")
@option(
    "--raters RULE",
    "Combine the grades of several raters",
    one_of=["mean", "median", "max", "majority"],
)
@option("--name TAG", "Name of the run, written as its tag")
@option("--lossy", "Drop what the format of OUT can't hold")
@shared.TABLES
def convert(source: str, target: str, *, scoring: dict[str, Any], **options: Any) -> None:
    """Convert qrels, a run, queries or a corpus to another format.

    Qrels and runs: trec, csv, tsv, json, jsonl, parquet. Queries and corpora:
    jsonl, tsv, csv, json, parquet. Traces (OpenTelemetry, OpenInference), TREC topics and TREC
    documents can be read. Suffixes .gz .bz2 .xz .zst compress; - is standard input or output.
    """
    from rankscope.integrations.convert import convert as run_conversion
    from rankscope.scoring.scoring_options import Scoring

    rules = Scoring.of("convert", scoring)
    reading = ("labels", "duplicates", "columns", "chunking")
    options |= {name: getattr(rules, name) for name in reading}
    done = run_conversion(source, target, **options)
    where = "standard output" if target == "-" else target
    put_line(f"{done.kind}: {counted(done.rows, NOUNS[done.kind])} written to {where}")
