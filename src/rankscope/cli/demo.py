"""``rankscope demo``: the bundled example, end to end and offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli.console import make_console

if TYPE_CHECKING:
    from rich.console import Console

    from rankscope.comparison import Comparison
    from rankscope.runs.run import Run

__all__ = ["demo"]

MEASURES = ("nDCG@10", "RR@10", "R@50", "Success@5")
BASELINE = "words"


@click.command()
@click.option(
    "--output",
    "folder",
    default="rankscope-demo",
    show_default=True,
    metavar="DIR",
    help="Where the reports go.",
)
def demo(*, folder: str) -> None:
    """Check, fuse, score and compare runs over the bundled recipe collection.

    200 recipes, 120 questions with graded judgments, and three ways to search them: by whole words,
    by pieces of words, and by both.
    """
    from importlib.resources import as_file, files

    from rankscope.comparison import compare

    console = make_console()
    with as_file(files("rankscope") / "data" / "recipes") as data:
        runs = _checked_runs(data, console)
        comparison = compare(data / "qrels" / "test.tsv", runs, MEASURES, baseline=BASELINE)
    written = _write_reports(comparison, runs, Path(folder))
    console.print()
    _show(comparison, console)
    console.print()
    for path in written:
        console.print(f"written to {path}", soft_wrap=True)


def _checked_runs(data: Path, console: Console) -> dict[str, Run]:
    """Read and check the bundled runs, and fuse them into a third."""
    from rankscope.runs.fusion import fuse
    from rankscope.runs.run import read_run
    from rankscope.runs.validation import validate_run

    runs: dict[str, Run] = {}
    for name in (BASELINE, "letters"):
        path = data / "runs" / f"{name}.run.gz"
        result = validate_run(
            path, queries=data / "queries.jsonl", corpus=data / "corpus.jsonl", depth=100
        )
        kinds = ", ".join(finding.name for finding in result.findings) or "nothing to remark"
        said = "valid" if result.ok else "not valid"
        console.print(f"checked {name}: {said}, {result.queries} queries; {kinds}")
        runs[name] = read_run(path)
    runs["both"] = fuse(list(runs.values()), method="minmax", name="both")
    console.print(f"fused both: min-max scores of {BASELINE} and letters, half and half")
    return runs


def _show(comparison: Comparison, console: Console) -> None:
    from rankscope.cli.compare import show_comparison

    show_comparison(comparison, console)


def _write_reports(comparison: Comparison, runs: dict[str, Any], folder: Path) -> list[Path]:
    from rankscope.cli.console import json_text
    from rankscope.errors import InputError
    from rankscope.files import replacing
    from rankscope.reports.comparison import comparison_as_latex, comparison_as_markdown

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}); name another") from None
    reports = {
        "comparison.md": comparison_as_markdown(comparison),
        "comparison.tex": comparison_as_latex(comparison),
        "comparison.json": json_text(comparison.to_dict()),
    }
    for name, text in reports.items():
        with replacing(folder / name) as sink:
            sink.write(text.encode())
    runs["both"].write(folder / "both.run")
    return [folder / name for name in (*reports, "both.run")]
