"""``rankscope demo``: the bundled benchmark, end to end and offline."""

from __future__ import annotations

from shlex import quote

import click

from rankscope.cli.options import QUIET, OutputName, format_option
from rankscope.cli.output import print_line, program


@click.command()
@click.option(
    "--output",
    type=OutputName(),
    default="rankscope-demo",
    show_default=True,
    metavar="DIR",
    help="Where the reports go.",
)
@click.option(
    "--copy",
    type=OutputName(),
    metavar="DIR",
    help="Run nothing: copy the collection, its config and two runs, to try commands on.",
)
@format_option()
@QUIET
def demo(*, output: str, copy: str | None, format: str, quiet: bool) -> int:
    """Run the bundled benchmark: five ways to search 200 recipes, compared on 120 questions.

    By title, by all words, by meaning, by both, and by both with a reranker that learnt from 60
    other questions. Nothing is downloaded; the engines come with pip install
    'rankscope[retrieval]'.
    """
    from importlib.resources import as_file, files

    from rankscope.benchmark.project import copy_demo
    from rankscope.benchmark.run import run_benchmark
    from rankscope.cli.benchmark_run import show_result
    from rankscope.cli.progress import watching

    if copy is not None:
        copied = copy_demo(copy)
        if not quiet:
            print_line(f"Copied to {copy}: {', '.join(copied)}")
            print_line("Next, for example:")
            for line in _steps(quote(copy)):
                print_line(f"  {line}")
        return 0
    with as_file(files("rankscope") / "data") as data, watching(quiet=quiet) as watcher:
        result = run_benchmark(data / "demo.yaml", output=output, watcher=watcher)
    status = show_result(result, format=format, quiet=quiet)
    if format == "table" and not quiet:
        print_line()
        print_line("Next, to try commands on the same files:")
        for line in (f"{program()} demo --copy demo", *_steps("demo")):
            print_line(f"  {line}")
    return status


def _steps(folder: str) -> list[str]:
    """Return commands that work on a copy of the demo."""
    name = program()
    return [
        f"{name} evaluate {folder}/qrels.tsv {folder}/lexical.run --worst 5",
        f"{name} diagnose {folder}/qrels.tsv {folder}/lexical.run --queries {folder}/queries.jsonl",
        f"{name} compare {folder}/qrels.tsv {folder}/lexical.run {folder}/hybrid.run",
        f"{name} benchmark run {folder}/bench.yaml",
    ]
