"""``rankscope demo`` and ``rankscope init``: where to begin."""

from __future__ import annotations

from shlex import quote

import click

from rankscope.cli import shared
from rankscope.cli.help import command, file_name, option
from rankscope.cli.output import Output, print_line, program
from rankscope.cli.progress import watching
from rankscope.errors import counted, shown


@command("rankscope demo", "rankscope demo --copy demo")
@option("--output folder DIR", "Folder of the reports", default="rankscope-demo")
@option("--copy DIR", "Copy the files to try commands on, and run nothing")
@shared.formats()
@shared.OPEN
@shared.QUIET
def demo(*, folder: str, copy: str | None, quiet: bool, output: Output) -> int:
    """Compare five ways to search 200 recipes, on 120 questions.

    By title, by all words, by meaning, by both, and by both with a reranker. Nothing is downloaded;
    the search engines come with the extra 'retrieval'.
    """
    from importlib.resources import as_file, files

    from rankscope.benchmark.project import copy_demo
    from rankscope.benchmark.run import run_benchmark
    from rankscope.cli.benchmark import show_result

    if copy is not None:
        copied = copy_demo(copy)
        if not quiet:
            print_line(f"Copied to {copy}: {', '.join(copied)}")
            judged = f"{quote(copy)}/qrels.tsv {quote(copy)}/lexical.run"
            print_line(f"Next, for example: {program()} evaluate {judged} --worst 5")
        return 0
    with as_file(files("rankscope") / "data") as data, watching(quiet=quiet) as watcher:
        result = run_benchmark(data / "demo.yaml", output=folder, watcher=watcher)
    status = show_result(result, output, quiet=quiet)
    if output.format == "table" and not quiet:
        print_line(f"To try commands on the same files: {program()} demo --copy demo")
    return status


@command("rankscope init my-search")
@click.argument("folder", type=file_name, default=".", metavar="[DIR]")
@option("--from golden FILE", "Golden set: questions with the ids of documents that answer them")
@option("--corpus FILE", "Documents, for a first search over them")
def init(*, folder: str, golden: str | None, corpus: str | None) -> None:
    """Start a project that measures a search: golden set, config, test, CI workflow, README.

    Without --from it holds an example: 24 questions about a coffee machine and 24 help pages. No
    existing file is changed.
    """
    from rankscope.benchmark.project import start_project

    project = start_project(folder, golden=golden, corpus=corpus)
    where = "this folder" if folder == "." else shown(folder)
    print_line(f"Written to {where}, for {counted(project.questions, 'question')}:")
    for name in project.files:
        print_line(f"  {name}")
    print_line("Next:")
    if folder != ".":
        print_line(f"  cd {quote(folder)}")
    if project.to_write:
        print_line(f"  put your search into {project.to_write}")
    print_line("  pytest")
    print_line(f"  {program(anywhere=True)} benchmark run rankscope.yaml")
