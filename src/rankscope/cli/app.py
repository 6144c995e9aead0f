"""The tree of commands; each one's module is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

import rankscope
from rankscope.cli.examples import epilog


class ReaderGoneError(Exception):
    """A broken pipe under a name that click does not know: it would end with exit code 1."""


class LazyGroup(click.Group):
    """A group whose commands are imported by name: ``{command: (module, attribute, summary)}``."""

    def __init__(
        self,
        *args: Any,
        lazy: dict[str, tuple[str, str, str]],
        is_root: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy
        self.is_root = is_root

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what was typed, for options that are looked at before the others are known."""
        ctx.meta["rankscope.typed"] = tuple(args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order they are used, not by alphabet."""
        return [*self._lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command's module."""
        if cmd_name not in self._lazy:
            return super().get_command(ctx, cmd_name)
        module, attribute, _ = self._lazy[cmd_name]
        command = getattr(import_module(f"rankscope.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        if not isinstance(command, click.Group):
            command.epilog = epilog(cmd_name if self.is_root else f"{self.name} {cmd_name}")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
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
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            error = UnknownNameError("command", name, self.list_commands(ctx))
            raise click.UsageError(str(error), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from their one-line descriptions, importing nothing."""
        rows = [(name, line) for name, (_, _, line) in self._lazy.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

RUNS = LazyGroup(
    name="runs",
    help="Check and make runs.",
    context_settings=_SETTINGS,
    lazy={
        "validate": (
            "runs_validate",
            "validate",
            "Every problem of a run, and what to do about it.",
        ),
        "fetch": ("runs_fetch", "fetch", "Run files made by the systems of a config."),
        "fuse": ("runs_fuse", "fuse", "Several runs made into one."),
    },
)

BENCHMARK = LazyGroup(
    name="benchmark",
    help="From a config to a verdict: make the runs of all systems, score and compare them.",
    context_settings=_SETTINGS,
    lazy={
        "run": ("benchmark_run", "run", "Run a config, and write its experiment."),
        "verify": ("benchmark_verify", "verify", "Is an experiment still what was recorded?"),
        "compare": ("benchmark_compare", "compare", "What changed between two experiments."),
        "list": ("benchmark_list", "list_", "The experiments of a folder, newest first."),
        "schema": ("benchmark_schema", "schema", "The JSON schema of configs and records."),
    },
)

CASES = LazyGroup(
    name="cases",
    help="Golden sets: questions with the documents or terms they expect.",
    context_settings=_SETTINGS,
    lazy={
        "validate": (
            "cases_validate",
            "validate",
            "Every problem of a golden set, and what it can show.",
        ),
        "schema": ("cases_schema", "schema", "The JSON schema of phrases with expected terms."),
    },
)


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the version, and with ``--verbose`` that of what it is built on."""
    if not wanted:
        return
    from rankscope.printing import put

    put(f"rankscope, version {rankscope.__version__}\n")
    if "--verbose" in context.meta["rankscope.typed"]:
        from rankscope.cli.debugging import built_on

        for line in built_on():
            put(f"{line}\n")
    context.exit()


@click.group(
    cls=LazyGroup,
    is_root=True,
    context_settings=_SETTINGS,
    lazy={
        "demo": ("demo", "demo", "The bundled example, end to end."),
        "init": ("init", "init", "A small project around a golden set, yours or an example."),
        "benchmark": (
            "app",
            "BENCHMARK",
            "From a config to a verdict: run, verify, compare, list.",
        ),
        "evaluate": ("evaluate", "evaluate", "Score runs against judgments."),
        "compare": ("compare", "compare", "Is one run really better than another?"),
        "gate": ("gate", "gate", "Stop a regression: exit 1 on a real and relevant drop."),
        "diagnose": ("diagnose", "diagnose", "What lies behind the means: every analysis."),
        "report": ("report", "report", "One page of an experiment or record, to look around in."),
        "judge": ("judge", "judge", "A page to judge documents on: one key, saved at once."),
        "judge-llm": ("judge_llm", "judge_llm", "A language model judges, beside people."),
        "power": ("power", "power", "What these queries can and cannot show."),
        "runs": ("app", "RUNS", "Check and make runs: validate, fetch, fuse."),
        "cases": ("app", "CASES", "Check golden sets: validate."),
        "explain": ("explain", "explain", "One query's score, rank by rank."),
        "why": ("why", "why", "Why two tools give one run different numbers."),
        "measures": ("measures", "measures", "Every measure, its formula and its edges."),
        "trec-eval": ("trec_eval", "trec_eval", "Byte for byte what trec_eval prints."),
        "convert": ("convert", "convert", "From one file format to another."),
        "mcp": ("mcp", "mcp", "A server for assistants (MCP), read-only over a folder."),
    },
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit; with --verbose, what it runs on too.",
)
@click.option("--verbose", is_flag=True, expose_value=False, hidden=True)
@click.option(
    "--debug",
    is_flag=True,
    envvar="RANKSCOPE_DEBUG",
    help="Show what is done, and the traceback of an error (also RANKSCOPE_DEBUG=1).",
)
def app(*, debug: bool) -> None:
    """Retrieval evaluation: how good is it, is it really better, and why.

    Exit codes: 0 fine, 1 the answer is no (validation failed), 2 the question cannot be answered
    (bad input or usage), 70 a fault of rankscope itself.
    """
    if debug:
        from rankscope.cli.debugging import listen

        listen()
