"""The tree of commands; each one's module is imported when it is called."""

from __future__ import annotations

import inspect
import platform
from importlib import import_module
from typing import Any

import click

import rankscope
from rankscope.cli.help import HELP_ROW, Option, option, write_rows


class ReaderGoneError(Exception):
    """A broken pipe under a name that click does not know: it would end with exit code 1."""


_VERBOSE = "rankscope.verbose"


class LazyGroup(click.Group):
    """A group whose commands are imported by name, ``{command: (module, summary)}`` by heading.

    The module has an attribute of the command's name, with ``_`` for ``-``.
    """

    def __init__(
        self, *args: Any, lazy: dict[str, dict[str, tuple[str, str]]], **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self._headings = {heading: list(commands) for heading, commands in lazy.items()}
        self._lazy = {name: place for each in lazy.values() for name, place in each.items()}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show help where no command is named."""
        ctx.meta[_VERBOSE] = "--verbose" in args
        return super().parse_args(ctx, args or ["--help"])

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name the commands in the order they are used, not by alphabet."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command's module."""
        if cmd_name not in self._lazy:
            return None
        module = import_module(f"rankscope.cli.{self._lazy[cmd_name][0]}")
        name = cmd_name.replace("-", "_")
        command = getattr(module, name, None) or getattr(module, f"{name}_")
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderGoneError from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or name the nearest."""
        from rankscope.errors import UnknownNameError

        name = args[0]
        if name not in self._lazy and not name.startswith("-"):
            error = UnknownNameError("command", name, self.list_commands(ctx))
            raise click.UsageError(str(error), ctx)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from their summaries, importing nothing."""
        summary, *details = inspect.cleandoc(self.help or "").split("\n\n")
        formatter.write(f"{summary}\n\nUsage: {ctx.command_path} COMMAND [OPTIONS] ...\n\n")
        wide = max(map(len, self._lazy))
        edge = max(map(len, self._headings))
        for heading, names in self._headings.items():
            for place, name in enumerate(names):
                first = "" if place else heading
                formatter.write(f"{first:<{edge}}  {name:<{wide}}  {self._lazy[name][1]}\n")
        formatter.write("\n")
        rows = [each.row() for each in self.params if isinstance(each, Option)]
        write_rows(formatter, [*rows, HELP_ROW], 10)
        for paragraph in details:
            formatter.write(f"\n{paragraph}\n")


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def _group(name: str, text: str, **summaries: str) -> LazyGroup:
    """Return a group whose commands are in the module of its name."""
    lazy = {"": {command: (name, summary) for command, summary in summaries.items()}}
    return LazyGroup(name=name, help=text, context_settings=_SETTINGS, lazy=lazy)


runs = _group(
    "runs",
    "Fetch, check and fuse runs.",
    fetch="Make the run files of a config's systems",
    validate="List every problem of a run, and what to do about it",
    fuse="Fuse several runs into one",
)
benchmark = _group(
    "benchmark",
    "Run and compare systems from a config.",
    run="Run and compare the systems of a config, and write a report",
    verify="Check that an experiment's record holds",
    compare="Show what changed between two experiments",
    list="List the experiments of a folder, newest first",
    schema="Print the JSON schema of configs",
)
cases = _group(
    "cases",
    "Check golden sets: questions with the documents or terms they expect.",
    validate="List every problem of a golden set, and what it can show",
    schema="Print the JSON schema of phrases with expected terms",
)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"rankscope, version {rankscope.__version__}")
        if ctx.meta[_VERBOSE]:
            from rankscope.tables.native import library

            scan = "in Python (no native library)" if library() is None else "native"
            click.echo(f"Python {platform.python_version()}; scan of TREC files: {scan}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings=_SETTINGS,
    lazy={
        "Start": {
            "demo": ("demo", "Compare five ways to search 200 recipes"),
            "init": ("demo", "Start a project from your golden set, or from an example"),
        },
        "Score": {
            "evaluate": ("evaluate", "Score runs against judgments or a golden set"),
            "compare": ("compare", "Test whether one run is really better than another"),
            "gate": ("gate", "Fail a build when search gets worse"),
            "diagnose": ("diagnose", "Find what to fix"),
            "explain": ("explain", "Show how a score is made, or why another tool's differs"),
        },
        "Benchmark": {
            "benchmark": ("app", "Run and compare systems from a config"),
            "report": ("report", "Build an HTML report"),
            "judge": ("judge", "Judge documents, yourself or with a language model"),
        },
        "Data": {
            "runs": ("app", "Fetch, check and fuse runs"),
            "cases": ("app", "Check golden sets"),
            "convert": ("convert", "Convert between file formats"),
        },
        "Look up": {
            "measures": ("measures", "List measures, or explain one"),
            "power": ("power", "Find out how many questions you need"),
        },
        "Other": {
            "trec-eval": ("trec_eval", "Print exactly what trec_eval prints"),
            "mcp": ("mcp", "Let an assistant evaluate files (MCP server)"),
        },
    },
)
@option("--version", "Show the version", is_eager=True, expose_value=False, callback=_print_version)
@option("--verbose", "With --version: also Python and how TREC files are read", expose_value=False)
@option(
    "--debug",
    "Log what happens, and show the traceback of an error (RANKSCOPE_DEBUG=1)",
    envvar="RANKSCOPE_DEBUG",
)
def app(*, debug: bool) -> None:
    """Evaluate retrieval: how good is it, is it really better, and what should I fix?

    Exit codes: 0 fine, 1 the answer is no, 2 bad input or usage, 70 a fault of rankscope.
    """
    if debug:
        from rankscope.cli import listen

        listen()
