"""``rankscope init``."""

from __future__ import annotations

from shlex import quote

import click

from rankscope.cli.options import MAX_SIZE, OutputName
from rankscope.cli.output import print_line, program
from rankscope.errors import counted, shown


@click.command()
@click.argument("folder", type=OutputName(), default=".", metavar="[DIR]")
@click.option(
    "--from",
    "golden",
    metavar="FILE",
    help="Your golden set: questions with the ids of the documents that answer them.",
)
@click.option("--corpus", metavar="FILE", help="Your documents, for a first search over them.")
@MAX_SIZE
def init(*, folder: str, golden: str | None, corpus: str | None) -> None:
    """Write a small project that measures a search: golden set, config, test and CI workflow.

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
