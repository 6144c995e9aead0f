"""``rankscope convert``."""

from __future__ import annotations

from typing import Any

import click

from rankscope.cli.options import (
    MAX_SIZE,
    OutputName,
    given_chunking,
    given_columns,
    given_options,
    table_options,
)
from rankscope.errors import counted
from rankscope.printing import put_line


@click.command()
@click.argument("source", metavar="IN")
@click.argument("target", type=OutputName(), metavar="OUT")
@click.option(
    "--kind",
    type=click.Choice(["qrels", "run", "queries", "corpus"]),
    help="What IN holds; found from its columns and name if not given.",
)
@click.option("--from", "source_format", metavar="FORMAT", help="The format of IN.")
@click.option("--to", "target_format", metavar="FORMAT", help="The format of OUT.")
@click.option(
    "--raters",
    type=click.Choice(["mean", "median", "max", "majority"]),
    help="How several raters' grades of one pair become one.",
)
@click.option("--name", metavar="TAG", help="The run's name, written as its tag.")
@click.option("--lossy", is_flag=True, help="Drop what the format of OUT cannot hold.")
@table_options
@MAX_SIZE
def convert(source: str, target: str, **options: Any) -> None:
    """Convert IN to OUT: qrels, a run, queries or a corpus, between any two formats.

    Formats are found from content and names. Qrels and runs: trec, msmarco (runs), csv, tsv, json,
    jsonl, parquet. Queries and corpora: jsonl, tsv, csv, json, parquet. Only read: runs and queries
    of traces (OpenTelemetry, OpenInference), TREC topics and documents. Endings .gz .bz2 .xz .zst
    compress; - is standard input or output.
    """
    from rankscope.integrations.convert import convert as run_conversion

    given = given_options()
    done = run_conversion(
        source,
        target,
        labels=given.get("labels"),
        duplicates=given.get("duplicates"),
        columns=given_columns(),
        chunking=given_chunking(),
        **options,
    )
    noun = {"qrels": "judgment", "run": "line", "queries": "query", "corpus": "document"}
    where = "standard output" if target == "-" else target
    count = counted(done.rows, noun[done.kind])
    put_line(f"{done.kind}: {count} written to {where}")
